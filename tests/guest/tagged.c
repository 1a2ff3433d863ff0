/* A program that shows SHIM's observer what it is in: names, tags, a stack and a counter. Prints a number that depends on
 * all that it has computed.
 *
 *     tagged             a quarter of its time in "light", three quarters in "heavy", both within "outer"
 *     tagged threads     so in a second thread as well
 *     tagged drop        hides its slots half-way, and takes the region away in the next round
 */
#include <stdio.h>

#include "hps_shim.h"

#define ROUNDS 60

static uint64_t light, heavy, outer;

static __attribute__((noinline)) uint64_t work(uint64_t sum, unsigned turns) {
  while (turns-- > 0) sum = sum * 6364136223846793005u + 1442695040888963407u;
  return sum;
}

static void drop(int is_hidden) {
  char *region = (char *)hps_shim_shared;
  hps_shim_self = NULL;
  hps_shim_state = HPS_SHIM_OFF;
  if (is_hidden)
    munmap(region, HPS_SHIM_REGION_BYTES);
  else {
    /* The header stays, where pages are small enough. */
    int header = getpagesize() <= HPS_SHIM_HEADER_BYTES ? HPS_SHIM_HEADER_BYTES : 0;
    mprotect(region + header, HPS_SHIM_REGION_BYTES - header, PROT_NONE);
  }
}

static void *rounds(void *result) {
  uint64_t sum = 1;
  int drops = *(uint64_t *)result != 0;
  hps_shim_push(outer);
  for (int round = 0; round < ROUNDS; round++) {
    /* Rounds of one length would be in step with an observer that samples at equal intervals. */
    unsigned turns = 120 + round % 7 * 3;
    hps_shim_push(light);
    sum = work(sum, turns);
    hps_shim_pop();
    hps_shim_push(heavy);
    sum = work(sum, 3 * turns);
    hps_shim_pop();
    hps_shim_count(2, 5);
    if (drops && hps_shim_shared && round / 2 == ROUNDS / 4) drop(round % 2);
  }
  hps_shim_pop();
  *(uint64_t *)result = sum;
  return NULL;
}

int main(int argc, char **argv) {
  uint64_t own = argc > 1 && strcmp(argv[1], "drop") == 0, other = 0;
  pthread_t thread;
  int has_thread = argc > 1 && strcmp(argv[1], "threads") == 0;
  light = hps_shim_name("light");
  heavy = hps_shim_name("heavy");
  outer = hps_shim_name("outer");
  if (has_thread && pthread_create(&thread, NULL, rounds, &other) != 0) return 1;
  rounds(&own);
  if (has_thread) pthread_join(thread, NULL);
  printf("%016llx\n", (unsigned long long)(own + other));
  return 0;
}
