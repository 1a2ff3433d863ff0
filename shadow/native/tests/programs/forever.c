/* Computes until it is killed. */
#include <stdint.h>
volatile uint64_t result;
int main(void) {
  for (uint64_t x = 1;; x = x * 6364136223846793005u + 1) result = x;
}
