// Functions that run without a stack of their own, as futures of Rust do: an executor polls state machines, which poll
// others. And stacks that grow as those of goroutines do: a function that finds no room left calls `morestack`, which
// goes to the stack of the scheduler; a function there copies the small stack into a larger one, and continues on that.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FN __attribute__((noinline)) static
volatile unsigned sink;

struct future {
  int (*poll)(struct future *);
  int state;
  struct future *first, *second;
};
FN void tick(void) { sink++; }
FN void parse(void) { sink += 2; }
FN void finish(void) { sink += 3; }
/* Ready when it is polled for the fourth time. */
FN int poll_timer(struct future *f) {
  tick();
  return ++f->state == 4;
}
/* Ready when it is polled for the third time. */
FN int poll_read(struct future *f) {
  if (f->state < 2) {
    parse();
    f->state++;
    return 0;
  }
  finish();
  return 1;
}
/* Awaits one, and then another one: is polled six times with a timer and a read. */
FN int poll_both(struct future *f) {
  if (f->state == 0) {
    if (!f->first->poll(f->first))
      return 0;
    f->state = 1;
  }
  return f->second->poll(f->second);
}
enum { TASKS = 20 };
FN void executor(void) {
  static struct future tasks[TASKS], inner[TASKS][2];
  struct future *queue[TASKS];
  int waiting = TASKS;
  for (int i = 0; i < TASKS; i++) {
    inner[i][0].poll = poll_timer;
    inner[i][1].poll = poll_read;
    tasks[i].poll = i % 2 ? poll_both : poll_read;
    tasks[i].first = &inner[i][0];
    tasks[i].second = &inner[i][1];
    queue[i] = &tasks[i];
  }
  while (waiting) {
    int left = 0;
    for (int i = 0; i < waiting; i++)
      if (!queue[i]->poll(queue[i]))
        queue[left++] = queue[i];
    waiting = left;
  }
}

void switch_stacks(void **save, void *load);
void go_on(void *load);
void morestack(void **save, void *scheduler, void (*grow)(void));
#if defined(__riscv)
enum { SAVED = 112 };
#define SAVE " addi sp, sp, -112\n sd ra, 0(sp)\n sd s0, 8(sp)\n sd s1, 16(sp)\n sd s2, 24(sp)\n sd s3, 32(sp)\n" \
  " sd s4, 40(sp)\n sd s5, 48(sp)\n sd s6, 56(sp)\n sd s7, 64(sp)\n sd s8, 72(sp)\n sd s9, 80(sp)\n" \
  " sd s10, 88(sp)\n sd s11, 96(sp)\n sd sp, 0(a0)\n mv sp, a1\n"
#define LOAD " ld ra, 0(sp)\n ld s0, 8(sp)\n ld s1, 16(sp)\n ld s2, 24(sp)\n ld s3, 32(sp)\n ld s4, 40(sp)\n" \
  " ld s5, 48(sp)\n ld s6, 56(sp)\n ld s7, 64(sp)\n ld s8, 72(sp)\n ld s9, 80(sp)\n ld s10, 88(sp)\n" \
  " ld s11, 96(sp)\n addi sp, sp, 112\n ret\n"
#define BEGIN(of) ".globl " of "\n.type " of ", @function\n" of ":\n"
#define END(of) ".size " of ", .-" of "\n"
#define MOVE " mv sp, a0\n"
#define GROW " jalr ra, a2\n unimp\n"
#else
enum { SAVED = 80 };
#define SAVE " lda $30,-80($30)\n stq $26,0($30)\n stq $9,8($30)\n stq $10,16($30)\n stq $11,24($30)\n" \
  " stq $12,32($30)\n stq $13,40($30)\n stq $14,48($30)\n stq $15,56($30)\n stq $30,0($16)\n mov $17,$30\n"
#define LOAD " ldq $26,0($30)\n ldq $9,8($30)\n ldq $10,16($30)\n ldq $11,24($30)\n ldq $12,32($30)\n" \
  " ldq $13,40($30)\n ldq $14,48($30)\n ldq $15,56($30)\n lda $30,80($30)\n mov $26,$27\n ret $31,($26),1\n"
#define BEGIN(of) ".globl " of "\n.ent " of "\n" of ":\n .frame $30,0,$26,0\n .prologue 0\n"
#define END(of) ".end " of "\n"
#define MOVE " mov $16,$30\n"
#define GROW " mov $18,$27\n jsr $26,($27),0\n halt\n"
#endif
__asm__(".text\n" BEGIN("switch_stacks") SAVE LOAD END("switch_stacks")
        BEGIN("go_on") MOVE LOAD END("go_on")
        BEGIN("morestack") SAVE GROW END("morestack"));

enum { ROUTINES = 2, DEPTH = 24, RESUMED = 20 };
static struct { char *stack, *top; void *saved; int grown; } routines[ROUTINES];
static void *scheduler;
static int runs;
FN void newstack(void) {
  char *low = routines[runs].saved, *top = routines[runs].top;
  long size = 2 * (top - routines[runs].stack);
  char *stack = aligned_alloc(4096, size);
  memcpy(stack + size - (top - low), low, top - low);
  memset(routines[runs].stack, -1, top - routines[runs].stack);
  routines[runs].stack = stack;
  routines[runs].top = stack + size;
  routines[runs].saved = stack + size - (top - low);
  routines[runs].grown++;
  go_on(routines[runs].saved);
}
FN void work(void) { sink += 5; }
FN void yields(void) { switch_stacks(&routines[runs].saved, scheduler); }
FN void recurse(int depth) {
  work();
  if (depth % 8 == 0 && routines[runs].grown < depth / 8)
    morestack(&routines[runs].saved, scheduler, newstack);
  if (depth + 1 < DEPTH) recurse(depth + 1); else yields();
  sink++;
}
/* Two of the times that it runs go by for each time that it goes down. */
FN void routine(void) { for (;;) { recurse(0); yields(); } }
FN void resume(int which) { runs = which; switch_stacks(&scheduler, routines[which].saved); }
FN void schedule(void) {
  for (int i = 0; i < ROUTINES; i++) {
    routines[i].stack = aligned_alloc(4096, 8192);
    routines[i].top = routines[i].stack + 8192;
    routines[i].saved = routines[i].top - SAVED;
    *(void (**)(void))routines[i].saved = routine;
  }
  for (int i = 0; i < ROUTINES * RESUMED; i++) resume(i % ROUTINES);
}
int main(void) {
  executor();
  schedule();
  printf("%u\n", sink);
}
