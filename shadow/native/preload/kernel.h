/* Calls of the kernel without a C library: the library's own code may be what a shadow runs instrumented. */
#ifndef HPS_SHADOW_KERNEL_H
#define HPS_SHADOW_KERNEL_H

#include <stdint.h>

#define NR_read 0
#define NR_close 3
#define NR_fstat 5
#define NR_lseek 8
#define NR_mmap 9
#define NR_mprotect 10
#define NR_munmap 11
#define NR_rt_sigaction 13
#define NR_rt_sigprocmask 14
#define NR_rt_sigreturn 15
#define NR_mremap 25
#define NR_madvise 28
#define NR_dup3 292
#define NR_readlink 89
#define NR_getdents64 217
#define NR_eventfd2 290
#define NR_close_range 436
#define NR_kill 62
#define NR_nanosleep 35
#define NR_getpid 39
#define NR_clone 56
#define NR_fork 57
#define NR_vfork 58
#define NR_execve 59
#define NR_exit 60
#define NR_wait4 61
#define NR_fcntl 72
#define NR_getrusage 98
#define NR_getppid 110
#define NR_arch_prctl 158
#define NR_setrlimit 160
#define NR_gettid 186
#define NR_futex 202
#define NR_timer_create 222
#define NR_timer_settime 223
#define NR_timer_delete 226
#define NR_clock_gettime 228
#define NR_exit_group 231
#define NR_tgkill 234
#define NR_open 2
#define NR_openat 257
#define NR_newfstatat 262
#define NR_rt_tgsigqueueinfo 297
#define NR_execveat 322
#define NR_prctl 157
#define NR_clone3 435

#define O_CLOEXEC 02000000

#define EINTR 4
#define EBADF 9
#define ENOMEM 12
#define ECHILD 10
#define EBUSY 16
#define EINVAL 22
#define ENOTTY 25
#define ENOSYS 38
#define EPROTO 71
#define ETIME 62

static inline int64_t kernel6(int64_t nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                              uint64_t f) {
  register uint64_t r10 __asm__("r10") = d;
  register uint64_t r8 __asm__("r8") = e;
  register uint64_t r9 __asm__("r9") = f;
  int64_t result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#define U(x) ((uint64_t)(x))
#define kernel(nr, a, b, c, d) kernel6(nr, U(a), U(b), U(c), U(d), 0, 0)

/* The kernel's forms. */
struct action_of_signal {
  uint64_t handler;
  uint64_t flags;
  uint64_t restorer;
  uint64_t mask;
};
#define SA_SIGINFO UINT64_C(4)
#define SA_RESTORER UINT64_C(0x04000000)
#define SA_ONSTACK UINT64_C(0x08000000)
#define SA_RESTART UINT64_C(0x10000000)
#define SA_NODEFER UINT64_C(0x40000000)
#define SA_RESETHAND UINT64_C(0x80000000)

/* ucontext_t: flags, link, stack, then the registers in the kernel's order. */
enum { U_R8, U_R9, U_R10, U_R11, U_R12, U_R13, U_R14, U_R15, U_RDI, U_RSI, U_RBP, U_RBX, U_RDX, U_RAX,
       U_RCX, U_RSP, U_RIP, U_FLAGS };
struct context {
  uint64_t flags, link, stack[3];
  uint64_t r[23]; /* with segments, error, trap, mask, cr2 */
  uint64_t fpu, reserved[8];
  uint64_t mask;
};

struct status { /* struct stat */
  uint64_t device, inode, links;
  uint32_t mode, user, group, pad;
  uint64_t kind, rest[12];
};
#define S_FORMAT 0170000
#define S_FILE 0100000
#define S_FOLDER 0040000
#define S_CHARACTER 0020000
#define S_PIPE 0010000
#define S_SOCKET 0140000

/* Kills one process. Zero and less would be groups of processes, ours among them: what has no number yet, or none any
 * more, is not killed. */
static inline void end_process(int64_t pid) {
  if (pid > 0) kernel(NR_kill, pid, 9, 0, 0);
}

static inline uint64_t now_ns(void) {
  uint64_t t[2];
  kernel(NR_clock_gettime, 1, t, 0, 0);
  return t[0] * UINT64_C(1000000000) + t[1];
}

static inline void *map_memory(uint64_t at, uint64_t bytes, int protection, int flags) {
  int64_t got = kernel6(NR_mmap, at, bytes, (uint64_t)protection, (uint64_t)flags, ~UINT64_C(0), 0);
  return got < 0 && got > -4096 ? (void *)0 : (void *)got;
}
#define PROT_RWX 7
#define PROT_RW 3
#define MAP_PRIVATE_ANONYMOUS 0x22
#define MAP_NORESERVE 0x4000
#define MAP_FIXED_NOREPLACE 0x100000

static inline int begins(const char *text, const char *with) {
  while (*with)
    if (*text++ != *with++) return 0;
  return 1;
}

static inline void copy_bytes(void *to, const void *from, uint64_t count) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}
static inline void zero_bytes(void *to, uint64_t count) {
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(0) : "memory");
}

#endif
