// The second file of prof_cxx.cc: a static function of the same name as one there.
#include <vector>
static __attribute__((noinline)) int helper(int x) { asm volatile(""); return x + 7; }
int other(int x) { return helper(x) + 1; }
