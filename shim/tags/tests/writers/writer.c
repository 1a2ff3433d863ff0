#include <stdint.h>
void second_unit(uint64_t tag);
#include "writer.inc"

int main(void) {
  scenario();
  return 0;
}
