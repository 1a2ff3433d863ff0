/* Stops at known places, each time until a byte comes, for preload.rs. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((no_instrument_function, patchable_function_entry(0))) static void stop(void) {
  char byte;
  if (write(1, ".", 1) != 1 || read(0, &byte, 1) != 1) _exit(9);
}

static jmp_buf out;
volatile int sink;

static void leaf(int n) {
  sink += n;
  if (n == 7) stop();
}
static void caller(void) {
  leaf(7);
  stop();
}
static void jumper(int n) {
  if (n == 0) longjmp(out, 1);
  jumper(n - 1);
}
static void survivor(void) {
  if (setjmp(out) == 0) jumper(10);
  stop();
}
static int deeper(int n) {
  int below = n == 0 ? 0 : deeper(n - 1);
  if (n == 0 || n == 300 || n == 400) stop();
  return below + 1;
}
static void *thread(void *none) {
  leaf(7);
  return none;
}
static void forker(void) {
  pid_t child = fork();
  if (child == 0) {
    leaf(7);
    exit(0);
  }
  waitpid(child, NULL, 0);
  stop();
}

int main(void) {
  pthread_t other;
  int i;
  for (i = 0; i < 1000; i++) leaf(1);
  caller();
  survivor();
  sink += deeper(400);
  if (pthread_create(&other, NULL, thread, NULL) != 0) return 1;
  pthread_join(other, NULL);
  forker();
  return 0;
}
