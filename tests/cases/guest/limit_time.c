/* Each way to spend the host's time for ever, or for long: a limit on time ends the run with a clear message. Without an argument it spins. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *spin(void *a) {
  for (;;)
    __asm__ volatile("");
}
static void handler(int s) {}
static void tick(int notify, int signal) {
  timer_t t;
  struct sigevent e = {.sigev_notify = notify, .sigev_signo = signal};
  struct itimerspec each = {{0, 1}, {0, 1}};
  timer_create(CLOCK_MONOTONIC, &e, &t);
  timer_settime(t, 0, &each, 0);
}

int main(int count, char **words) {
  static char block[1 << 20];
  const char *way = count > 1 ? words[1] : "spin";
  size_t much = 32 << 20;
  char *memory = mmap(0, much, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int zero = open("/dev/zero", O_RDONLY);
  if (!strcmp(way, "spin")) {
    pthread_t t;
    for (int i = 1; i < 4; i++)
      pthread_create(&t, 0, spin, 0);
    spin(0);
  } else if (!strcmp(way, "calls")) {
    for (;;)
      getppid();
  } else if (!strcmp(way, "zero")) {
    for (;;)
      read(zero, memory, much);
  } else if (!strcmp(way, "random")) {
    for (;;)
      getrandom(memory, much, 0);
  } else if (!strcmp(way, "advise")) {
    for (;;) {
      memset(memory, 1, much);
      madvise(memory, much, MADV_DONTNEED);
    }
  } else if (!strcmp(way, "file")) {
    int f = memfd_create("f", 0);
    for (int i = 0; i < 16; i++)
      write(f, block, sizeof block);
    for (;;) {
      lseek(f, 0, SEEK_SET);
      read(f, memory, much);
    }
  } else if (!strcmp(way, "input")) {
    read(0, block, sizeof block);
  } else if (!strcmp(way, "output")) {
    for (;;)
      write(1, block, sizeof block);
  } else if (!strcmp(way, "handler")) {
    signal(SIGUSR1, handler);
    tick(SIGEV_SIGNAL, SIGUSR1);
    spin(0);
  } else if (!strcmp(way, "waiter")) {
    /* A time that comes again each nanosecond wakes who waits for what never comes. */
    int pair[2];
    pipe(pair);
    signal(SIGUSR1, handler);
    tick(SIGEV_SIGNAL, SIGUSR1);
    for (;;)
      read(pair[0], block, 1);
  } else if (!strcmp(way, "forks")) {
    for (;;)
      if (fork() == 0)
        _exit(0);
      else
        wait(0);
  }
  return 0;
}
