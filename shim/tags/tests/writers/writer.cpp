#include <cstdint>
#include <cstdlib>
extern "C" void second_unit(uint64_t tag);
#include "writer.inc"

int main() {
  scenario();
  hps_shim_push(1);
  {
    hps_shim::scope in(2);
    if (hps_shim_self && hps_shim_self->tag != 2) std::abort();
  }
  if (hps_shim_self && hps_shim_self->tag != 1) abort();
  hps_shim_pop();
  return 0;
}
