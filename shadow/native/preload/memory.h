/* What lies where in the process, and copies in place of memory that others see. */
#ifndef HPS_SHADOW_MEMORY_H
#define HPS_SHADOW_MEMORY_H

#include "ring.h"

static char maps_text[65536];

static uint64_t hexadecimal(const char **at) {
  uint64_t value = 0;
  for (;; (*at)++) {
    char c = **at;
    if (c >= '0' && c <= '9') value = value * 16 + (uint64_t)(c - '0');
    else if (c >= 'a' && c <= 'f') value = value * 16 + (uint64_t)(c - 'a' + 10);
    else return value;
  }
}

static struct range to_copy[64];
static unsigned to_copy_count;

/* One line of /proc/self/maps. `collects`: shared mappings too. */
static void take_line(const char *line, int collects) {
  const char *at = line, *rights, *path;
  struct range r = {0};
  r.start = hexadecimal(&at);
  at++;
  r.end = hexadecimal(&at);
  rights = ++at;
  path = rights;
  for (int words = 0; words < 4; words++) { /* rights, offset, device, inode */
    while (*path && *path != ' ') path++;
    while (*path == ' ') path++;
  }
  for (int i = 0; i < 2; i++)
    if (r.start == (uint64_t)areas[i].begin) return;
  if (r.start >= (uint64_t)region && r.end <= (uint64_t)region + REGION_BYTES) return;
  if (rights[0] == 'r' && rights[2] == 'x' && executables < MOST_RANGES) {
    uint64_t bytes = 0;
    r.writable = rights[1] == 'w';
    executable[executables++] = r;
    while (line[bytes]) bytes++;
    if (slot && slot->maps_bytes + bytes + 1 <= sizeof slot->maps) {
      copy_bytes(slot->maps + slot->maps_bytes, line, bytes);
      slot->maps[slot->maps_bytes + bytes] = '\n';
      slot->maps_bytes += (uint32_t)bytes + 1;
    }
  }
  if (rights[3] != 's' || !collects) return;
  /* Memory that is sealed, or counts who is attached, notices readers too. */
  if (rights[1] != 'w' && !begins(path, "/memfd:") && !begins(path, "/SYSV")) {
    if (shares == sizeof shared / sizeof *shared) end_shadow(SHARED_MEMORY, 0);
    shared[shares++] = r;
    return;
  }
  if (rights[0] != 'r' || to_copy_count == sizeof to_copy / sizeof *to_copy ||
      (begins(path, "/dev/") && !begins(path, "/dev/shm/") && !begins(path, "/dev/zero")))
    end_shadow(SHARED_MEMORY, 0);
  to_copy[to_copy_count++] = r;
}

static void read_maps(int collects) {
  int64_t fd = kernel(NR_open, "/proc/self/maps", 0, 0, 0), got;
  uint64_t kept = 0;
  executables = 0;
  ranges_are_stale = 0;
  if (slot) slot->maps_bytes = 0;
  if (fd < 0) return;
  while ((got = kernel(NR_read, fd, maps_text + kept, sizeof maps_text - 1 - kept, 0)) > 0) {
    char *line = maps_text, *end = maps_text + kept + got;
    for (char *at = line; at < end; at++) {
      if (*at != '\n') continue;
      *at = 0;
      take_line(line, collects);
      line = at + 1;
    }
    kept = (uint64_t)(end - line);
    copy_bytes(maps_text, line, kept);
  }
  kernel(NR_close, fd, 0, 0, 0);
}

static void read_ranges(void) { read_maps(0); }

/* Puts copies in place of memory that others see: a mapping keeps its file as a descriptor does. */
static void own_memory(void) {
  uint64_t most = UINT64_C(256) << 20;
  read_maps(1);
  for (unsigned i = 0; i < to_copy_count; i++) {
    uint64_t bytes = to_copy[i].end - to_copy[i].start;
    void *copy = bytes <= most ? map_memory(0, bytes, PROT_RW, MAP_PRIVATE_ANONYMOUS) : 0;
    if (!copy) end_shadow(SHARED_MEMORY, 0);
    most -= bytes;
    copy_bytes(copy, (void *)to_copy[i].start, bytes);
    if (kernel6(NR_mremap, (uint64_t)copy, bytes, bytes, 3, to_copy[i].start, 0) < 0)
      end_shadow(SHARED_MEMORY, 0);
  }
}

#endif
