/* Calls a function of six arguments so many times: five are constant, the second one counts; it returns it times seven. */
#include <stdint.h>
#include <stdlib.h>

static volatile uint64_t sink;

__attribute__((noinline)) uint64_t callee(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f) {
  sink = a + c + d + e + f;
  return b * 7;
}

__attribute__((noinline)) static uint64_t caller(uint64_t turns) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < turns; i++) sum += callee(0x11, i & 1, 0x33, 0x44, 0x55, 0x66);
  return sum;
}

int main(int argc, char **argv) {
  (void)argc;
  return caller(strtoul(argv[1], 0, 10)) == 0;
}
