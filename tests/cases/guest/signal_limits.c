/* Signals that count (signal(7), sigqueue(3), getrlimit(2)): those that wait are as many as were said to be queued; with RLIMIT_SIGPENDING 0 sigqueue says EAGAIN,
   and kill still sends. kill and rt_sigqueueinfo take the number of any thread for its process (Linux kernel/signal.c). Measured natively on x86-64 Linux. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int pipes[2][2];
static void *other(void *a) {
  int tid = syscall(SYS_gettid);
  char c;
  write(pipes[0][1], &tid, sizeof tid);
  read(pipes[1][0], &c, 1);
  return 0;
}
int main(void) {
  sigset_t set;
  siginfo_t info;
  struct timespec nothing = {0, 0};
  union sigval value = {.sival_int = 1};
  int said = 0, got = 0, error = 0;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN + 5);
  sigprocmask(SIG_BLOCK, &set, 0);
  struct rlimit limit;
  getrlimit(RLIMIT_SIGPENDING, &limit);
  struct rlimit small = {1000, limit.rlim_max};
  setrlimit(RLIMIT_SIGPENDING, &small);
  for (int i = 0; i < 5000; i++)
    if (sigqueue(getpid(), SIGRTMIN + 5, value) == 0)
      said++;
    else
      error = errno;
  while (sigtimedwait(&set, &info, &nothing) > 0)
    got++;
  printf("as many as said %d, limited %d\n", said == got, said > 0 && said <= 1000 && error == EAGAIN);

  struct rlimit none = {0, limit.rlim_max};
  setrlimit(RLIMIT_SIGPENDING, &none);
  error = sigqueue(getpid(), SIGRTMIN + 5, value) == 0 ? 0 : errno;
  int sent = kill(getpid(), SIGRTMIN + 5) == 0;
  int taken = sigtimedwait(&set, &info, &nothing);
  printf("no more EAGAIN %d, kill %d %d\n", error == EAGAIN, sent, taken == SIGRTMIN + 5 ? 11 : taken);
  setrlimit(RLIMIT_SIGPENDING, &small);

  pthread_t t;
  int tid;
  pipe(pipes[0]);
  pipe(pipes[1]);
  pthread_create(&t, 0, other, 0);
  read(pipes[0][0], &tid, sizeof tid);
  int result = kill(tid, SIGRTMIN + 5) == 0 ? 1 : 0;
  int first = sigtimedwait(&set, &info, &nothing) == SIGRTMIN + 5;
  result = 10 * result + (sigqueue(tid, SIGRTMIN + 5, value) == 0);
  int second = sigtimedwait(&set, &info, &nothing) == SIGRTMIN + 5;
  printf("other %d\n", first && second ? result : 0);
  write(pipes[1][1], "", 1);
  pthread_join(t, 0);
  return 0;
}
