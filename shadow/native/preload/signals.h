/* Signals of a run that is instrumented as a whole.
 *
 * The kernel knows one handler for all signals that the program handles. A signal that arrives in copied code or in this
 * library is kept, with all signals blocked, until the end of the unit. There the program's registers are known; the
 * signal is sent again and let through while the stack pointer is the program's, so that the kernel builds the frame
 * where the program expects it, and the handler fills in the registers. Then the program's handler runs as copied code.
 * Its return is a system call, whose frame gets the address of a copy. */
#ifndef HPS_SHADOW_SIGNALS_H
#define HPS_SHADOW_SIGNALS_H

#include "calls.h"

static void put_break(void);
static void close_slot(enum ending ending, uint32_t detail);

static volatile uint32_t pending;
static uint8_t pending_info[128];
static uint64_t saved_mask, delivery_mask, delivery_pc;
static uint32_t is_delivering, is_detached;
/* Where the program is about to go on. */
static uint64_t going_to;

extern char hps_unblocked[] __attribute__((visibility("hidden")));
extern char hps_call_again[] __attribute__((visibility("hidden")));
__asm__(
    "hps_unblock:\n"
    "  mov %gs:40, %rsp\n"
    "  mov $2, %edi\n"
    "  xor %edx, %edx\n"
    "  mov $8, %r10d\n"
    "  mov $14, %eax\n"
    "  syscall\n"
    "hps_unblocked:\n"
    "  ud2\n");

static int is_in_copies(uint64_t address) {
  for (int i = 0; i < AREAS; i++)
    if ((uint64_t)areas[i].begin <= address && address < (uint64_t)areas[i].at) return 1;
  return 0;
}

/* Runs the program's handler of a signal, whose frame holds what the program was doing. */
__attribute__((noreturn)) static void run_handler(int signal, uint64_t info, struct context *frame) {
  struct action_of_signal action = actions[signal];
  uint64_t mask = frame->mask | action.mask;
  if (!(action.flags & 0x40000000)) mask |= UINT64_C(1) << (signal - 1);
  if (action.flags & 0x80000000) actions[signal].handler = 0;
  S.rdi = (uint64_t)signal;
  S.rsi = info;
  S.rdx = (uint64_t)frame;
  S.rsp = (uint64_t)frame - 8;
  S.rax = 0;
  S.flags = 0x202;
  going_to = action.handler;
  {
    const uint8_t *entry = copy_of(action.handler)->entry;
    put_break();
    kernel(NR_rt_sigprocmask, 2, &mask, 0, 8);
    go_on_at(entry);
  }
}

static void catch_signal(int signal, uint8_t *info, struct context *frame) {
  uint64_t rip = frame->r[U_RIP];
  int is_fault = (signal == 4 || signal == 5 || signal == 7 || signal == 8 || signal == 11) &&
                 *(int32_t *)(info + 8) > 0;
  if (is_detached || kernel(NR_gettid, 0, 0, 0, 0) != program_tid) {
    ((void (*)(int, uint8_t *, struct context *))actions[signal].handler)(signal, info, frame);
    return;
  }
  if (is_delivering && rip == (uint64_t)hps_unblocked) {
    const uint64_t now[18] = {S.r8_15[0], S.r8_15[1], S.r8_15[2], S.r8_15[3], S.r8_15[4], S.r8_15[5],
                              S.r8_15[6], S.r8_15[7], S.rdi,      S.rsi,      S.rbp,      S.rbx,
                              S.rdx,      S.rax,      S.rcx,      S.rsp,      delivery_pc, S.flags};
    is_delivering = 0;
    copy_bytes(frame->r, now, sizeof now);
    frame->mask = saved_mask;
    run_handler(signal, (uint64_t)info, frame);
  }
  if (is_fault && is_in_copies(rip)) {
    const struct copy *copy = copy_at(rip);
    frame->r[U_RIP] = copy->pc + (rip > (uint64_t)copy->body ? rip - (uint64_t)copy->body : 0);
    run_handler(signal, (uint64_t)info, frame);
  }
  copy_bytes(pending_info, info, sizeof pending_info);
  saved_mask = frame->mask;
  frame->mask = ~UINT64_C(0);
  pending = (uint32_t)signal;
  if ((uint64_t)hps_call_begin <= rip && rip <= (uint64_t)hps_call_insn)
    frame->r[U_RIP] = (uint64_t)hps_call_again;
}

/* Lets the pending signal through in front of the program's instruction at pc. */
__attribute__((noreturn)) static void deliver(uint64_t pc) {
  uint32_t signal = pending;
  pending = 0;
  delivery_pc = pc;
  delivery_mask = saved_mask & ~(UINT64_C(1) << (signal - 1));
  is_delivering = 1;
  kernel(NR_rt_tgsigqueueinfo, program_pid, program_tid, signal, pending_info);
  __asm__ volatile("jmp hps_unblock" : : "S"(&delivery_mask) : "memory");
  __builtin_unreachable();
}

static int64_t action_of_program(const uint64_t *a) {
  struct action_of_signal given = {0, 0, 0, 0}, old;
  uint64_t signal = a[0];
  if (signal == 0 || signal > 64 || a[3] != 8) return -22;
  old = actions[signal];
  if (a[1]) {
    struct action_of_signal ours = given = *(struct action_of_signal *)a[1];
    int64_t result;
    if (given.handler > 1) {
      ours.handler = (uint64_t)catch_signal;
      ours.flags = (given.flags | SA_SIGINFO) & ~UINT64_C(0xc0000000);
      ours.mask = ~UINT64_C(0);
    }
    result = kernel(NR_rt_sigaction, signal, &ours, 0, 8);
    if (result < 0) return result;
    actions[signal] = given;
  }
  if (a[2]) *(struct action_of_signal *)a[2] = old;
  return 0;
}

static void from_frame(uint64_t rsp) {
  struct context *frame = (struct context *)rsp;
  going_to = frame->r[U_RIP];
  if (is_shadow || can_copy(going_to)) {
    frame->r[U_RIP] = (uint64_t)copy_of(going_to)->entry;
    put_break();
  } else {
    close_slot(FAR_CODE, 0);
    is_detached = 1;
  }
  return_from_signal(rsp);
}

#endif
