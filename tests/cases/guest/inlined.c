// All time is in `mixed`, which is inlined into `work`.
#include <stdio.h>
volatile unsigned sink;
static inline __attribute__((always_inline)) void mixed(unsigned i) { sink = sink * 31 + i; }
__attribute__((noinline)) void work(unsigned n) { for (unsigned i = 0; i < n; i++) mixed(i); }
int main(void) { work(20000); printf("%u\n", sink & 1); }
