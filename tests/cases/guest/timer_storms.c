/* Timers that come each nanosecond, or each millisecond of a long sleep, while nobody can tell that they come. POSIX: a sleep ends at its time, with EINTR only
   where a handler has run; a timer's signal waits once, and says how often the timer has come since. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static void handler(int s) {}
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}
static timer_t storm(int notify, int signal) {
  timer_t t;
  struct sigevent e = {.sigev_notify = notify, .sigev_signo = signal};
  struct itimerspec each = {{0, 1}, {0, 1}};
  timer_create(CLOCK_MONOTONIC, &e, &t);
  timer_settime(t, 0, &each, 0);
  return t;
}
static void work(void) {
  for (volatile long i = 0; i < 20000; i++)
    ;
}
static void say(const char *what, int is_right) { printf("%s %s\n", what, is_right ? "ok" : "WRONG"); }

int main(void) {
  setvbuf(stdout, 0, _IOFBF, 4096);
  sigset_t set;
  siginfo_t info;
  struct itimerspec left;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN + 3);
  sigprocmask(SIG_BLOCK, &set, 0);

  double begin = now();
  timer_t timers[10];
  for (int i = 0; i < 10; i++)
    timers[i] = storm(SIGEV_NONE, 0);
  work();
  int is_set = timer_gettime(timers[0], &left) == 0 && left.it_value.tv_nsec == 1;
  say("none", is_set);
  for (int i = 0; i < 10; i++)
    timer_delete(timers[i]);

  begin = now();
  timer_t blocked = storm(SIGEV_SIGNAL, SIGRTMIN + 3);
  work();
  double passed = now() - begin;
  int got = sigwaitinfo(&set, &info);
  /* It has come each nanosecond, and has been said to have done so. */
  int is_all = info.si_overrun > 0.9 * passed && info.si_overrun < 1.5 * passed + 1000;
  struct timespec nothing = {0, 0};
  timer_delete(blocked);
  sigtimedwait(&set, &info, &nothing);
  say("blocked", got == SIGRTMIN + 3 && is_all && sigtimedwait(&set, &info, &nothing) == -1);

  signal(SIGUSR1, SIG_IGN);
  timer_t ignored = storm(SIGEV_SIGNAL, SIGUSR1);
  work();
  timer_delete(ignored);
  signal(SIGUSR1, SIG_DFL);
  say("ignored", 1);

  int f = timerfd_create(CLOCK_MONOTONIC, 0);
  struct itimerspec each = {{0, 1}, {0, 1}};
  begin = now();
  timerfd_settime(f, 0, &each, 0);
  work();
  uint64_t count;
  passed = now() - begin;
  int is_read = read(f, &count, 8) == 8;
  say("file", is_read && count > 0.9 * passed && count < 1.5 * passed + 1000);
  close(f);

  /* More comings than looks after which waiting counts as a deadlock. */
  struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
  struct timespec long_time = {11, 0};
  int is_slept = 1;
  signal(SIGALRM, SIG_IGN);
  setitimer(ITIMER_REAL, &often, 0);
  begin = now();
  is_slept &= nanosleep(&long_time, 0) == 0 && now() - begin < 11.1e9;
  signal(SIGALRM, handler);
  sigaddset(&set, SIGALRM);
  sigprocmask(SIG_BLOCK, &set, 0);
  is_slept &= nanosleep(&long_time, 0) == 0;
  f = timerfd_create(CLOCK_MONOTONIC, 0);
  struct itimerspec each_ms = {{0, 1000000}, {0, 1000000}};
  timerfd_settime(f, 0, &each_ms, 0);
  is_slept &= nanosleep(&long_time, 0) == 0;
  close(f);
  setitimer(ITIMER_REAL, &never, 0);
  while (sigtimedwait(&set, &info, &nothing) > 0)
    ;
  say("sleep", is_slept);
  sigprocmask(SIG_UNBLOCK, &set, 0);
  setitimer(ITIMER_REAL, &often, 0);
  say("handler", nanosleep(&long_time, 0) == -1 && errno == EINTR);
  return 0;
}
