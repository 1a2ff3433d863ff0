/* Stays in three tags, 40 ms each time, with a known number of instructions: what is left of the time is the kernel's,
 * which fills a buffer. aarch64 only. */
#include "hps_shim.h"

static uint64_t ticks(void) {
  uint64_t now;
  __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(now));
  return now;
}

int main(void) {
  static const uint64_t instructions[] = {40000000, 20000000, 10000000};
  static char buffer[1 << 18];
  uint64_t step, begin;
  int zeros = open("/dev/zero", O_RDONLY);
  int round, phase, number = 0;
  __asm__("mrs %0, cntfrq_el0" : "=r"(step));
  step /= 25;
  hps_shim_wait();
  begin = ticks();
  for (round = 0; round < 6; round++)
    for (phase = 0; phase < 3; phase++) {
      uint64_t turns = instructions[phase] / 2, end = begin + step * (uint64_t)++number;
      hps_shim_tag((uint64_t)phase + 1);
      __asm__ volatile("1: subs %0, %0, #1; b.ne 1b" : "+r"(turns) : : "cc");
      while (ticks() < end)
        if (read(zeros, buffer, sizeof buffer) != sizeof buffer) return 1;
    }
  hps_shim_tag(0);
  hps_shim_leave();
  return 0;
}
