/* Three parts: a preparation, the work between markers, and what comes behind it. The exit code is 0. */
#include "../../../workloads/include/hps_region.h"
#include <stdio.h>
static volatile long sum;
__attribute__((noinline)) void prepare(void) { for (long i = 0; i < 20000; i++) sum += i; }
__attribute__((noinline)) void work(void) { for (long i = 0; i < 1000; i++) sum += 3 * i; }
__attribute__((noinline)) void behind(void) { for (long i = 0; i < 5000; i++) sum -= i; }
int main(void) {
  prepare();
  HPS_REGION_BEGIN();
  work();
  HPS_REGION_END();
  behind();
  puts("done");
  return 0;
}
