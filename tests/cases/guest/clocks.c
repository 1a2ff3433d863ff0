/* Processor time of threads and processes (clock_gettime(2), getrusage(2), times(2), clock(3), pthread_getcpuclockid(3)), and timers on these clocks. Prints what
   does not hold, and then the number of processors. The argument is how many there should be. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(c) ((c) ? 0 : printf("%s:%d %s\n", where, __LINE__, #c))
static const char *where = "main";
static sem_t go;
static double idle, idle_usage, of[4];
static double at(clockid_t c) {
  struct timespec t;
  if (clock_gettime(c, &t))
    return -1;
  return t.tv_sec * 1e9 + t.tv_nsec;
}
static double usage(int who) {
  struct rusage r;
  getrusage(who, &r);
  return r.ru_utime.tv_sec * 1e9 + r.ru_utime.tv_usec * 1e3;
}
static void work(long n) {
  for (volatile long i = 0; i < n; i++)
    ;
}
static void *waits(void *a) {
  double before = at(CLOCK_THREAD_CPUTIME_ID), own = usage(RUSAGE_THREAD);
  sem_wait(&go);
  idle = at(CLOCK_THREAD_CPUTIME_ID) - before;
  idle_usage = usage(RUSAGE_THREAD) - own;
  return 0;
}
static void *busy(void *a) {
  double before = at(CLOCK_THREAD_CPUTIME_ID);
  work(50000);
  of[(long)a] = at(CLOCK_THREAD_CPUTIME_ID) - before;
  return 0;
}
static volatile int come;
static void count(int s) { come++; }

int main(int words, char **word) {
  int processors = atoi(word[1]);
  pthread_t t[4];
  clockid_t other;
  sem_init(&go, 0, 0);
  pthread_create(t, 0, waits, 0);
  usleep(100);
  pthread_getcpuclockid(t[0], &other);
  double own = at(CLOCK_THREAD_CPUTIME_ID), seen = at(other), all = at(CLOCK_PROCESS_CPUTIME_ID), real = at(CLOCK_MONOTONIC);
  clock_t ticks = clock();
  work(400000);
  own = at(CLOCK_THREAD_CPUTIME_ID) - own, all = at(CLOCK_PROCESS_CPUTIME_ID) - all, real = at(CLOCK_MONOTONIC) - real;
  CHECK(at(other) == seen && seen > 0);
  CHECK(own > 0.97 * real && own <= 1.001 * real);
  CHECK(all > 0.97 * own && all < 1.03 * own);
  CHECK(clock() - ticks >= (clock_t)(own / 1000) - 1);
  sem_post(&go);
  pthread_join(t[0], 0);
  CHECK(idle < 0.1 * own && idle_usage < 0.1 * own);
  CHECK(at(other) == -1);

  where = "threads";
  all = at(CLOCK_PROCESS_CPUTIME_ID), real = at(CLOCK_MONOTONIC);
  for (long i = 0; i < processors; i++)
    pthread_create(t + i, 0, busy, (void *)i);
  for (long i = 0; i < processors; i++)
    pthread_join(t[i], 0);
  all = at(CLOCK_PROCESS_CPUTIME_ID) - all, real = at(CLOCK_MONOTONIC) - real;
  double sum = of[0] + of[1] + of[2] + of[3];
  CHECK(sum > 0.9 * all && sum <= all);
  CHECK(all > 0.9 * processors * real && all <= 1.001 * processors * real);
  CHECK(usage(RUSAGE_SELF) > all);

  where = "sleep";
  all = at(CLOCK_PROCESS_CPUTIME_ID), own = usage(RUSAGE_THREAD);
  usleep(20000);
  CHECK(at(CLOCK_PROCESS_CPUTIME_ID) - all < 1e6 && usage(RUSAGE_THREAD) - own < 1e6);

  where = "children";
  double children = usage(RUSAGE_CHILDREN);
  clockid_t of_child;
  pid_t pid = fork();
  if (pid == 0) {
    CHECK(at(CLOCK_PROCESS_CPUTIME_ID) < all && at(CLOCK_THREAD_CPUTIME_ID) < all);
    work(300000);
    _exit(0);
  }
  if (pid > 0) {
    CHECK(clock_getcpuclockid(pid, &of_child) == 0 && at(of_child) >= 0);
    wait(0);
    CHECK(usage(RUSAGE_CHILDREN) - children > 100e3);
    CHECK(at(of_child) == -1);
  } else
    CHECK(errno == ENOSYS);

  where = "timers";
  clockid_t clocks[] = {CLOCK_THREAD_CPUTIME_ID, CLOCK_PROCESS_CPUTIME_ID};
  signal(SIGUSR1, count);
  for (int i = 0; i < 2; i++) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec each = {{0, 50000}, {0, 50000}};
    CHECK(timer_create(clocks[i], &event, &timer) == 0);
    come = 0;
    CHECK(timer_settime(timer, 0, &each, 0) == 0);
    usleep(1000);
    CHECK(come == 0);
    all = at(clocks[i]);
    work(300000);
    int expected = (at(clocks[i]) - all) / 50000;
    CHECK(come >= expected - 1 && come <= expected + 1 && come > 0);
    timer_delete(timer);
  }
  printf("%d processors\n", processors);
  return 0;
}
