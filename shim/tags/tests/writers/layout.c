/* Prints the layout as this compiler sees it, one number a line. */
#include <stddef.h>
#include <stdio.h>

#include "hps_shim.h"

#define SHOW(what) printf(#what " %zu\n", (size_t)(what))

int main(void) {
  SHOW(sizeof(struct hps_shim_region));
  SHOW(sizeof(struct hps_shim_slot));
  SHOW(sizeof(struct hps_shim_name));
  SHOW(offsetof(struct hps_shim_region, slots));
  SHOW(offsetof(struct hps_shim_region, names));
  SHOW(offsetof(struct hps_shim_header, magic));
  SHOW(offsetof(struct hps_shim_header, version));
  SHOW(offsetof(struct hps_shim_header, slot_count));
  SHOW(offsetof(struct hps_shim_header, slot_bytes));
  SHOW(offsetof(struct hps_shim_header, name_count));
  SHOW(offsetof(struct hps_shim_header, region_bytes));
  SHOW(offsetof(struct hps_shim_header, pid));
  SHOW(offsetof(struct hps_shim_header, threads));
  SHOW(offsetof(struct hps_shim_header, refused));
  SHOW(offsetof(struct hps_shim_header, names_refused));
  SHOW(offsetof(struct hps_shim_header, gate));
  SHOW(offsetof(struct hps_shim_header, event_count));
  SHOW(offsetof(struct hps_shim_header, events[1].user_only));
  SHOW(offsetof(struct hps_shim_header, events[3].config1));
  SHOW(offsetof(struct hps_shim_slot, tag));
  SHOW(offsetof(struct hps_shim_slot, depth));
  SHOW(offsetof(struct hps_shim_slot, events));
  SHOW(offsetof(struct hps_shim_slot, live));
  SHOW(offsetof(struct hps_shim_slot, tid));
  SHOW(offsetof(struct hps_shim_slot, generation));
  SHOW(offsetof(struct hps_shim_slot, counting));
  SHOW(offsetof(struct hps_shim_slot, refused));
  SHOW(offsetof(struct hps_shim_slot, counters));
  SHOW(offsetof(struct hps_shim_slot, stack));
  SHOW(offsetof(struct hps_shim_name, state));
  SHOW(offsetof(struct hps_shim_name, length));
  SHOW(offsetof(struct hps_shim_name, text));
  SHOW(HPS_SHIM_MAGIC);
  SHOW(HPS_SHIM_VERSION);
  SHOW(HPS_SHIM_FIRST_ADDRESS);
  SHOW(HPS_SHIM_ENTRY_MORE);
  SHOW(HPS_SHIM_ENTRY_GONE);
  SHOW(HPS_SHIM_LIVE);
  SHOW(HPS_SHIM_ENDED);
  return 0;
}
