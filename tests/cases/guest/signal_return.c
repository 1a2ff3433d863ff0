// Handlers of signals that return to code of the operating system, since none names code of the program for that. (The C
// library of Alpha always does.) One of the two asks for information on its signal, which makes another frame on Alpha.
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

struct action {
  void (*handler)(int);
  unsigned long flags, mask;
};
static volatile int handled;
static void handler(int signal) { handled += signal == SIGUSR1 ? 1 : 100; }

int main(void) {
  int signals[] = {SIGUSR1, SIGUSR2};
  for (int i = 0; i < 2; i++) {
    struct action action = {handler, i ? SA_SIGINFO : 0, 0};
    syscall(SYS_rt_sigaction, signals[i], &action, 0, 8, 0);
    for (int n = 0; n < 10; n++)
      raise(signals[i]);
  }
  printf("%d\n", handled);
}
