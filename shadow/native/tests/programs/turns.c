/* Three threads that run a function each: two as often as they can, the third one 20 turns for each 2000 of theirs. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_ulong done;
static uint64_t all;
static volatile uint64_t sink;

#define SPIN(name)                                                            \
  __attribute__((noinline)) static void name(void) {                         \
    uint64_t x = sink;                                                        \
    for (int i = 0; i < 20000; i++) x = x * UINT64_C(6364136223846793005) + 1; \
    sink = x;                                                                 \
  }
SPIN(first)
SPIN(second)
SPIN(seldom)

static void *often(void *function) {
  pthread_setname_np(pthread_self(), function == (void *)first ? "first" : "second");
  while (atomic_fetch_add(&done, 1) < all) ((void (*)(void))function)();
  return 0;
}

static void *rarely(void *unused) {
  uint64_t next = 2000;
  pthread_setname_np(pthread_self(), "seldom");
  while (atomic_load(&done) < all)
    if (atomic_load(&done) >= next) {
      for (int i = 0; i < 20; i++) seldom();
      next += 2000;
    } else {
      usleep(1000);
    }
  return 0;
}

int main(int argc, char **argv) {
  pthread_t threads[3];
  all = strtoul(argv[1], 0, 10);
  pthread_create(&threads[0], 0, often, (void *)first);
  pthread_create(&threads[1], 0, often, (void *)second);
  pthread_create(&threads[2], 0, rarely, 0);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
  return 0;
}
