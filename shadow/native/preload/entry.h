/* Between copied code and C: saves what the program has in its registers, and loads it again. Vector registers stay as
 * they are, because this library is compiled without their use. */
#ifndef HPS_SHADOW_ENTRY_H
#define HPS_SHADOW_ENTRY_H

#include "translate.h"

/* Comes here from copied code with the program's rcx in S; the argument is in rcx. Returns where to go on. */
__attribute__((used)) static uint64_t leave(uint64_t argument, uint64_t reason);

enum { ON_EXIT, ON_FULL, ON_MISS };

extern char hps_on_exit[] __attribute__((visibility("hidden")));
extern char hps_on_full[] __attribute__((visibility("hidden")));
extern char hps_lookup[] __attribute__((visibility("hidden")));
extern char hps_go_on[] __attribute__((visibility("hidden")));

__asm__(
    ".text\n"
    "hps_on_exit:\n"
    "  movq $0, %gs:200\n"
    "  jmp 1f\n"
    "hps_on_full:\n"
    "  movq $1, %gs:200\n"
    "  jmp 1f\n"
    "hps_on_miss:\n"
    "  movq $2, %gs:200\n"
    "1:\n"
    "  mov %rax, %gs:16\n"
    "  mov %rdx, %gs:24\n"
    "  mov %rbx, %gs:32\n"
    "  mov %rsp, %gs:40\n"
    "  mov %rbp, %gs:48\n"
    "  mov %rsi, %gs:56\n"
    "  mov %rdi, %gs:64\n"
    "  mov %r8, %gs:72\n"
    "  mov %r9, %gs:80\n"
    "  mov %r10, %gs:88\n"
    "  mov %r11, %gs:96\n"
    "  mov %r12, %gs:104\n"
    "  mov %r13, %gs:112\n"
    "  mov %r14, %gs:120\n"
    "  mov %r15, %gs:128\n"
    "  mov %gs:168, %rsp\n"
    "  pushfq\n"
    "  popq %gs:136\n"
    "  cld\n"
    "  mov %rcx, %rdi\n"
    "  mov %gs:200, %rsi\n"
    "  call leave\n"
    "hps_go_on:\n" /* at rax, with the registers of S */
    "  mov %rax, %gs:144\n"
    "  mov %gs:168, %rsp\n"
    "  pushq %gs:136\n"
    "  popfq\n"
    "  mov %gs:16, %rax\n"
    "  mov %gs:24, %rdx\n"
    "  mov %gs:32, %rbx\n"
    "  mov %gs:48, %rbp\n"
    "  mov %gs:56, %rsi\n"
    "  mov %gs:64, %rdi\n"
    "  mov %gs:72, %r8\n"
    "  mov %gs:80, %r9\n"
    "  mov %gs:88, %r10\n"
    "  mov %gs:96, %r11\n"
    "  mov %gs:104, %r12\n"
    "  mov %gs:112, %r13\n"
    "  mov %gs:120, %r14\n"
    "  mov %gs:128, %r15\n"
    "  mov %gs:40, %rsp\n"
    "  mov %gs:8, %rcx\n"
    "  jmp *%gs:144\n"
    /* The target of an indirect transfer is in rcx. */
    "hps_lookup:\n"
    "  mov %rax, %gs:16\n"
    "  mov %rdx, %gs:24\n"
    "  mov %rcx, %gs:192\n"
    "  movzwl %cx, %eax\n"
    "  mov %gs:184, %rdx\n"
    "  lea (%rdx,%rax,8), %rdx\n"
    "  lea (%rdx,%rax,8), %rdx\n"
    "  mov (%rdx), %rax\n"
    "  lea (%rcx,%rax), %rcx\n"
    "  jrcxz 2f\n"
    "  mov %gs:192, %rcx\n"
    "  mov %gs:16, %rax\n"
    "  mov %gs:24, %rdx\n"
    "  jmp hps_on_miss\n"
    "2:\n"
    "  mov 8(%rdx), %rax\n"
    "  mov %rax, %gs:144\n"
    "  mov %gs:16, %rax\n"
    "  mov %gs:24, %rdx\n"
    "  mov %gs:8, %rcx\n"
    "  jmp *%gs:144\n");

/* Goes on in copied code with the registers of S. */
__attribute__((noreturn)) static void go_on_at(const uint8_t *copy) {
  __asm__ volatile("jmp hps_go_on" : : "a"(copy) : "memory");
  __builtin_unreachable();
}

/* Returns from a signal whose frame the program's stack holds. */
__attribute__((noreturn)) static void return_from_signal(uint64_t rsp) {
  __asm__ volatile("mov %0, %%rsp\n mov $15, %%eax\n syscall" : : "r"(rsp) : "memory");
  __builtin_unreachable();
}

/* A system call of the program in the run that is instrumented as a whole. A signal that comes before the instruction,
 * or makes the kernel begin the call anew, makes it return AGAIN (signals.h). */
#define AGAIN (-512)
extern char hps_call_begin[] __attribute__((visibility("hidden")));
extern char hps_call_insn[] __attribute__((visibility("hidden")));
extern char hps_call_end[] __attribute__((visibility("hidden")));
int64_t hps_call(int64_t nr, const uint64_t *arguments, const uint32_t *pending)
    __attribute__((visibility("hidden")));
__asm__(
    "hps_call:\n"
    "  mov %rdi, %rax\n"
    "  mov %rdx, %r11\n"
    "  mov 0(%rsi), %rdi\n"
    "  mov 16(%rsi), %rdx\n"
    "  mov 24(%rsi), %r10\n"
    "  mov 32(%rsi), %r8\n"
    "  mov 40(%rsi), %r9\n"
    "  mov 8(%rsi), %rsi\n"
    "hps_call_begin:\n"
    "  cmpl $0, (%r11)\n"
    "  jne hps_call_again\n"
    "hps_call_insn:\n"
    "  syscall\n"
    "hps_call_end:\n"
    "  ret\n"
    "hps_call_again:\n"
    "  mov $-512, %rax\n"
    "  ret\n");

/* A call that makes a process or a thread, which goes on in the program's own code with the program's registers: at
 * S.native if it has this stack, else at the address that its stack holds. */
int64_t hps_call_for_child(int64_t nr, const uint64_t *arguments, uint64_t own_stack)
    __attribute__((visibility("hidden")));
__asm__(
    "hps_call_for_child:\n"
    "  push %rbx\n"
    "  push %rbp\n"
    "  push %r12\n"
    "  push %r13\n"
    "  push %r14\n"
    "  push %r15\n"
    "  mov %rdi, %rax\n"
    "  mov 0(%rsi), %rdi\n"
    "  mov 24(%rsi), %r10\n"
    "  mov 32(%rsi), %r8\n"
    "  mov 40(%rsi), %r9\n"
    "  mov %gs:32, %rbx\n"
    "  mov %gs:48, %rbp\n"
    "  mov %gs:104, %r12\n"
    "  mov %gs:112, %r13\n"
    "  mov %gs:120, %r14\n"
    "  mov %gs:128, %r15\n"
    "  test %rdx, %rdx\n"
    "  mov 16(%rsi), %rdx\n"
    "  mov 8(%rsi), %rsi\n"
    "  jz 5f\n"
    "  syscall\n"
    "  test %rax, %rax\n"
    "  jnz 6f\n"
    "  ret\n" /* the child, on its own stack */
    "5:\n"
    "  syscall\n"
    "  test %rax, %rax\n"
    "  jnz 6f\n"
    "  mov %gs:40, %rsp\n"
    "  jmp *%gs:208\n"
    "6:\n"
    "  pop %r15\n"
    "  pop %r14\n"
    "  pop %r13\n"
    "  pop %r12\n"
    "  pop %rbp\n"
    "  pop %rbx\n"
    "  ret\n");

#endif
