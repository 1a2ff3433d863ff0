/* A program that others can watch: it reads, writes, renames and removes files, forks, waits, uses signals, timers, pipes
 * and shared memory, starts threads, and computes in between, so that shadows are in the middle of all of it. All that
 * it does is in the folder that it is given. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t children, alarms, users;
static void on_signal(int signal) {
  if (signal == SIGCHLD) children++;
  if (signal == SIGALRM) alarms++;
  if (signal == SIGUSR1) users++;
}

__attribute__((noinline)) static uint64_t work(uint64_t x, int turns) {
  for (int i = 0; i < turns; i++) x = x * 6364136223846793005u + (x >> 33 & 1 ? 1442695040888963407u : 11);
  return x;
}

static void *thread(void *sum) {
  *(uint64_t *)sum = work(7, 300000);
  return NULL;
}

int main(int argc, char **argv) {
  int turns = argc > 2 ? atoi(argv[2]) : 6;
  uint64_t sum = 1;
  char name[512], other[512], buffer[1000];
  volatile uint32_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  int file, mapped, pipes[2];
  FILE *out;
  uint32_t *in_file;
  sigaction(SIGCHLD, &action, NULL);
  sigaction(SIGALRM, &action, NULL);
  sigaction(SIGUSR1, &action, NULL);
  if (argc < 2 || chdir(argv[1]) != 0 || shared == MAP_FAILED || pipe(pipes) != 0) return 1;
  out = fopen("said", "w");
  if (!out) return 1;
  mapped = open("mapped", O_RDWR | O_CREAT, 0600);
  if (ftruncate(mapped, 4096) != 0) return 1;
  in_file = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, mapped, 0);
  file = open("input", O_RDONLY);
  for (int turn = 0; turn < turns; turn++) {
    ssize_t got;
    pid_t child;
    int status, log;
    uint64_t threads_sum = 0;
    pthread_t id;
    struct pollfd wait = {.fd = pipes[0], .events = POLLIN};
    sum = work(sum, 1000000);
    /* Input in pieces, whose place moves while shadows live. */
    while ((got = read(file, buffer, sizeof buffer)) > 0) {
      for (ssize_t i = 0; i < got; i++) sum = sum * 31 + (uint8_t)buffer[i];
      sum = work(sum, 1000);
    }
    lseek(file, turn, SEEK_SET);
    log = open("log", O_WRONLY | O_CREAT | O_APPEND, 0600);
    dprintf(log, "turn %d %llx\n", turn, (unsigned long long)sum);
    close(log);
    sum = work(sum, 300000);
    snprintf(name, sizeof name, "made-%d", turn);
    snprintf(other, sizeof other, "kept-%d", turn);
    close(open(name, O_WRONLY | O_CREAT, 0600));
    if (turn % 2) rename(name, other);
    else unlink(name);
    mkdir("folder", 0700);
    sum = work(sum, 300000);
    rmdir("folder");
    shared[0]++;
    in_file[turn] += (uint32_t)turn + 1;
    sum = work(sum, 300000);
    child = fork();
    if (child == 0) {
      shared[1]++;
      _exit((int)(work(3, 1000) & 7));
    }
    waitpid(child, &status, 0);
    sum += (uint64_t)WEXITSTATUS(status);
    kill(getpid(), SIGUSR1);
    sum = work(sum, 300000);
    if (write(pipes[1], "x", 1) != 1 || poll(&wait, 1, 1000) != 1 || read(pipes[0], buffer, 1) != 1) return 2;
    if (turn == 0) {
      struct itimerval soon = {.it_value = {.tv_usec = 1000}};
      struct timespec pause = {.tv_nsec = 1000000};
      setitimer(ITIMER_REAL, &soon, NULL);
      while (!alarms) nanosleep(&pause, NULL);
    }
    pthread_create(&id, NULL, thread, &threads_sum);
    sum = work(sum, 300000);
    pthread_join(id, NULL);
    sum += threads_sum;
    fprintf(out, "%d %llx\n", turn, (unsigned long long)sum);
  }
  fprintf(out, "%u %u %d %d %d %d\n", shared[0], shared[1], (int)children, (int)alarms, (int)users,
         waitpid(-1, NULL, 0) == -1 && errno == ECHILD);
  return 7;
}
