/* Offsets of the shared memory. */
#include <stdio.h>

#include "layout.h"

#define H(field) printf("%zu\n", offsetof(struct header, field))
#define T(field) printf("%zu\n", offsetof(struct slot, field))

int main(void) {
  H(mode), H(supervisor), H(pid), H(closing), H(sample), H(load_millionths), H(signals), H(restarted);
  H(spared), H(is_attached), H(by_turn), H(private_pages), H(huge), H(expected_ns), H(ended_ns), H(alive_ns), H(policy), H(guard), H(descriptor), H(pretend), H(calls);
  printf("%zu\n", sizeof(struct header));
  T(ending), T(sequence), T(units), T(head), T(tail), T(life_ns), T(held_ns), T(first), T(count);
  T(maps_bytes), T(is_apart), T(sample), T(thread), T(name), T(maps);
  T(unit), T(ring), T(value);
  printf("%zu\n%zu\n", sizeof(struct slot), sizeof(struct unit));
  printf("%d\n%zu\n", HEADER_BYTES, REGION_BYTES);
  return 0;
}
