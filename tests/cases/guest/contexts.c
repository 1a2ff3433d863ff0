// Signals, alternate stacks, jumps out of handlers, coroutines, and stacks that grow by a copy. The program counts the
// calls of its functions itself: built with -finstrument-functions it prints each name with its count.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#define QUIET __attribute__((no_instrument_function))
#define FN __attribute__((noinline)) static

volatile unsigned sink;

// A handler of a signal raises another one; a timer interrupts whatever runs.
FN void second_work(void) { sink++; }
FN void second(int s) { second_work(); sink += s; }
FN void first_work(void) { sink++; }
FN void first(int s) { first_work(); raise(SIGUSR2); first_work(); sink += s; }
FN void interrupted(void) { sink++; raise(SIGUSR1); sink++; }
FN void tick_work(void) { for (int i = 0; i < 20; i++) sink++; }
FN void tick(int s) { tick_work(); sink += s; }
FN void busy(void) { for (int i = 0; i < 200; i++) sink += i; }
FN void outer(void) {
  struct itimerval on = {{0, 4}, {0, 4}}, off = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &on, 0);
  for (int i = 0; i < 40; i++) { busy(); if (i % 4 == 0) interrupted(); }
  setitimer(ITIMER_REAL, &off, 0);
}

// Handlers on an alternate stack, above and below the thread's stack, with and without a jump out of them.
static __thread sigjmp_buf env;
FN void alternate_work(void) { sink++; }
FN void alternate(int s) { alternate_work(); sink += s; }
FN void jumps_out(int s) { alternate_work(); siglongjmp(env, s); }
FN void left(void) { raise(SIGTERM); sink++; }
FN void raises(void) { raise(SIGHUP); sink++; }
FN void stays(void) { if (sigsetjmp(env, 1) == 0) left(); sink++; }
FN void *on_thread(void *stack) {
  stack_t alternate_stack = {.ss_sp = stack, .ss_size = 1 << 16};
  sigaltstack(&alternate_stack, 0);
  for (int i = 0; i < 5; i++) { raises(); stays(); }
  return 0;
}
FN void threads(void) {
  char *block = aligned_alloc(1 << 16, 3 << 18);
  for (int place = 0; place < 3; place += 2) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, block + (1 << 18), 1 << 18);
    pthread_create(&thread, &attributes, on_thread, block + (place << 18));
    pthread_join(thread, 0);
  }
}

// Coroutines of the C library.
static ucontext_t to_main, to_a, to_b;
FN void work_a(void) { for (int i = 0; i < 30; i++) sink++; }
FN void work_b(void) { for (int i = 0; i < 10; i++) sink++; }
FN void co_a(void) { for (int i = 0; i < 50; i++) { work_a(); swapcontext(&to_a, &to_b); } }
FN void co_b(void) { for (int i = 0; i < 50; i++) { work_b(); swapcontext(&to_b, &to_a); } }
FN void prepare(ucontext_t *context, void (*run)(void)) {
  getcontext(context);
  context->uc_stack.ss_sp = malloc(1 << 16);
  context->uc_stack.ss_size = 1 << 16;
  context->uc_link = &to_main;
  makecontext(context, run, 0);
}
FN void coroutines(void) { prepare(&to_a, co_a); prepare(&to_b, co_b); swapcontext(&to_main, &to_a); }

// Coroutines of the program's own, two of one function, whose stacks grow by a copy as those of goroutines do.
void switch_stacks(void **save, void *load);
void move_stack(long by);
char *stack_pointer(void);
#if defined(__riscv)
enum { SAVED = 112 };
__asm__(".text\n.globl switch_stacks\n.type switch_stacks, @function\nswitch_stacks:\n addi sp, sp, -112\n sd ra, 0(sp)\n"
        " sd s0, 8(sp)\n sd s1, 16(sp)\n sd s2, 24(sp)\n sd s3, 32(sp)\n sd s4, 40(sp)\n sd s5, 48(sp)\n sd s6, 56(sp)\n"
        " sd s7, 64(sp)\n sd s8, 72(sp)\n sd s9, 80(sp)\n sd s10, 88(sp)\n sd s11, 96(sp)\n sd sp, 0(a0)\n mv sp, a1\n"
        " ld ra, 0(sp)\n ld s0, 8(sp)\n ld s1, 16(sp)\n ld s2, 24(sp)\n ld s3, 32(sp)\n ld s4, 40(sp)\n ld s5, 48(sp)\n"
        " ld s6, 56(sp)\n ld s7, 64(sp)\n ld s8, 72(sp)\n ld s9, 80(sp)\n ld s10, 88(sp)\n ld s11, 96(sp)\n"
        " addi sp, sp, 112\n ret\n.size switch_stacks, .-switch_stacks\n"
        ".globl move_stack\n.type move_stack, @function\nmove_stack:\n add sp, sp, a0\n ret\n.size move_stack, .-move_stack\n"
        ".globl stack_pointer\n.type stack_pointer, @function\nstack_pointer:\n mv a0, sp\n ret\n"
        ".size stack_pointer, .-stack_pointer\n");
#else
enum { SAVED = 80 };
__asm__(".text\n.globl switch_stacks\n.ent switch_stacks\nswitch_stacks:\n .frame $30,0,$26,0\n .prologue 0\n"
        " lda $30,-80($30)\n stq $26,0($30)\n stq $9,8($30)\n stq $10,16($30)\n stq $11,24($30)\n stq $12,32($30)\n"
        " stq $13,40($30)\n stq $14,48($30)\n stq $15,56($30)\n stq $30,0($16)\n mov $17,$30\n ldq $26,0($30)\n"
        " ldq $9,8($30)\n ldq $10,16($30)\n ldq $11,24($30)\n ldq $12,32($30)\n ldq $13,40($30)\n ldq $14,48($30)\n"
        " ldq $15,56($30)\n lda $30,80($30)\n mov $26,$27\n ret $31,($26),1\n.end switch_stacks\n"
        ".globl move_stack\n.ent move_stack\nmove_stack:\n .frame $30,0,$26,0\n .prologue 0\n addq $30,$16,$30\n"
        " ret $31,($26),1\n.end move_stack\n.globl stack_pointer\n.ent stack_pointer\nstack_pointer:\n"
        " .frame $30,0,$26,0\n .prologue 0\n mov $30,$0\n ret $31,($26),1\n.end stack_pointer\n");
#endif
static struct { char *stack, *top; void *saved; } green[2];
static void *scheduler;
static int runs;
QUIET __attribute__((noinline)) static void grow(void) {
  char *low = stack_pointer() - 512, *top = green[runs].top;
  long size = 2 * (top - green[runs].stack);
  char *stack = aligned_alloc(4096, size);
  memcpy(stack + size - (top - low), low, top - low);
  green[runs].stack = stack;
  green[runs].top = stack + size;
  move_stack(stack + size - top);
}
FN void yields(void) { switch_stacks(&green[runs].saved, scheduler); }
FN void green_work(void) { sink++; }
FN void deep(int depth) {
  green_work();
  if (depth == 10 || depth == 20) grow();
  if (depth < 30) deep(depth + 1); else for (int i = 0; i < 20; i++) yields();
  sink++;
}
FN void green_main(void) { for (;;) { deep(0); yields(); } }
FN void resume(int which) { runs = which; switch_stacks(&scheduler, green[which].saved); }
FN void green_threads(void) {
  for (int i = 0; i < 2; i++) {
    green[i].stack = aligned_alloc(4096, 8192);
    green[i].top = green[i].stack + 8192;
    green[i].saved = green[i].top - SAVED;
    *(void (**)(void))green[i].saved = green_main;
  }
  for (int i = 0; i < 60; i++) resume(i % 2);
}
FN void tail(void) { busy(); }

#define NAME(of) {#of, (void *)of}
int main(void);
static struct { const char *name; void *function; unsigned calls; } known[] = {
  NAME(second_work), NAME(second), NAME(first_work), NAME(first), NAME(interrupted), NAME(tick_work), NAME(tick),
  NAME(busy), NAME(outer), NAME(alternate_work), NAME(alternate), NAME(jumps_out), NAME(left), NAME(raises), NAME(stays),
  NAME(on_thread), NAME(threads), NAME(work_a), NAME(work_b), NAME(co_a), NAME(co_b), NAME(prepare), NAME(coroutines),
  NAME(yields), NAME(green_work), NAME(deep), NAME(green_main), NAME(resume), NAME(green_threads), NAME(tail), NAME(main),
};
QUIET void __cyg_profile_func_enter(void *function, void *site) {
  (void)site;
  for (unsigned i = 0; i < sizeof known / sizeof *known; i++) if (known[i].function == function) known[i].calls++;
}
QUIET void __cyg_profile_func_exit(void *function, void *site) { (void)function; (void)site; }
QUIET static void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  sigaction(signal, &action, 0);
}
int main(void) {
  handle(SIGUSR1, first, 0);
  handle(SIGUSR2, second, 0);
  handle(SIGALRM, tick, SA_RESTART);
  handle(SIGHUP, alternate, SA_ONSTACK);
  handle(SIGTERM, jumps_out, SA_ONSTACK | SA_NODEFER);
  outer();
  threads();
  coroutines();
  green_threads();
  tail();
  for (unsigned i = 0; i < sizeof known / sizeof *known; i++) printf("%s %u\n", known[i].name, known[i].calls);
}
