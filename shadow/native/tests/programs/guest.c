/* Computes, has children, sends itself SIGURG, and says whether all of that went as it does alone.
 *
 * guest OUTPUT KIND: forks the worker and waits for whatever ends, shadows too if they were its children. The worker of
 * kind `waits` says "ready" and its number, and computes until its input is closed; of kind `ends` for a fixed time. Of
 * other kinds it does something special and computes until it is killed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_FOR_ALL 0x40000000

static volatile int urgent, ended;
static void on_urgent(int signal) { urgent++; }
static void on_child(int signal) { ended++; }

#define TURN x = x * 6364136223846793005u + (x >> 60 ? 3 : 5)
__attribute__((noinline)) uint64_t hot(uint64_t x) {
  for (int i = 0; i < 45000; i++) TURN;
  return x;
}
__attribute__((noinline)) uint64_t cold(uint64_t x) {
  for (int i = 0; i < 5000; i++) TURN;
  return x;
}

static int wrong;
static void check(int holds, const char *what) {
  if (!holds) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    wrong++;
  }
}

static uint64_t turn(uint64_t x, int number) {
  x = cold(hot(x));
  if (number % 16 == 0) {
    int before = urgent, children = ended, status = 0;
    raise(SIGURG);
    check(urgent == before + 1, "SIGURG");
    pid_t child = fork();
    if (child == 0) {
      raise(SIGURG); /* its handler is inherited */
      _exit(urgent == before + 2 ? 3 : 4);
    }
    check(waitpid(-1, &status, 0) == child && WEXITSTATUS(status) == 3, "child");
    check(waitpid(-1, &status, 0) == -1 && errno == ECHILD, "another child");
    check(ended == children + 1, "SIGCHLD");
  }
  return x;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}

/* Waits in calls that a tracer interrupts. */
static void wait_in_calls(void) {
  struct epoll_event event;
  struct timespec time = {0, 700000000};
  char byte;
  double began;
  check(read(0, &byte, 1) == 1, "read");
  puts("sleeps"), fflush(stdout);
  began = seconds();
  check(nanosleep(&time, NULL) == 0, "nanosleep");
  check(seconds() - began >= 0.7, "the time of nanosleep");
  puts("polls"), fflush(stdout);
  check(epoll_wait(epoll_create1(0), &event, 1, 700) == 0, "epoll_wait");
}

int main(int argc, char **argv) {
  const char *kind = argv[2];
  struct pollfd input = {0, POLLIN | POLLHUP, 0};
  struct sigaction action = {.sa_handler = on_urgent};
  FILE *output;
  uint64_t x = 1;
  int turns = 0;
  if (strcmp(kind, "ends") != 0) {
    int status = 0, ends = 0;
    pid_t worker = fork();
    if (worker) {
      while (waitpid(-1, &status, WAIT_FOR_ALL) > 0) {
        if (WIFSTOPPED(status)) continue;
        ends++;
      }
      return ends == 1 && WIFEXITED(status) ? WEXITSTATUS(status) : 100 + ends;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
  }
  sigaction(SIGCHLD, &(struct sigaction){.sa_handler = on_child, .sa_flags = SA_RESTART}, NULL);
  sigaction(SIGURG, &action, NULL);
  if (strcmp(kind, "adopts") == 0) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  if (strcmp(kind, "traced") == 0) ptrace(PTRACE_TRACEME, 0, 0, 0);
  printf("ready %d\n", getpid()), fflush(stdout);
  if (strcmp(kind, "filters") == 0) prctl(PR_SET_SECCOMP, 1);
  if (strcmp(kind, "blocks") == 0) wait_in_calls();
  else if (strcmp(kind, "waits") == 0)
    for (; !turns || turns % 64 || poll(&input, 1, 0) == 0; turns++) check(turn(1, turns) == turn(1, 1), "sum");
  else if (strcmp(kind, "ends") != 0)
    for (;;) x = hot(x);
  for (turns = 0; turns < 4000; turns++) x = turn(x, turns);
  output = fopen(argv[1], "w");
  fprintf(output, "%llx %d\n", (unsigned long long)x, wrong);
  fclose(output);
  return 5;
}
