/* What lies where in the process, and copies in place of memory that others see. */
#ifndef HPS_SHADOW_MEMORY_H
#define HPS_SHADOW_MEMORY_H

#include "ring.h"

static char text_read[65536];

/* Calls `take` for each line of a file, without the line's end. */
static void read_lines(const char *path, void (*take)(const char *line)) {
  int64_t fd = kernel(NR_open, path, 0, 0, 0), got;
  uint64_t kept = 0;
  if (fd < 0) return;
  while ((got = kernel(NR_read, fd, text_read + kept, sizeof text_read - 1 - kept, 0)) > 0) {
    char *line = text_read, *end = text_read + kept + got;
    for (char *at = line; at < end; at++) {
      if (*at != '\n') continue;
      *at = 0;
      take(line);
      line = at + 1;
    }
    kept = (uint64_t)(end - line);
    copy_bytes(text_read, line, kept);
  }
  kernel(NR_close, fd, 0, 0, 0);
}

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

/* Files with locks of open file descriptions, and with leases. */
static uint64_t locked[64];
static unsigned locked_files;

static uint64_t decimal(const char *at) {
  uint64_t value = 0;
  for (; *at >= '0' && *at <= '9'; at++) value = value * 10 + (uint64_t)(*at - '0');
  return value;
}

/* One line of /proc/locks: number, kind, two words, process, device and inode, range. */
static void take_lock(const char *at) {
  int words = 0, colons = 0, counts = 0;
  for (; *at && words < 5; words++) {
    while (*at && *at != ' ') at++;
    while (*at == ' ') at++;
    if (words == 0) {
      /* Waits for another one: the kind comes behind an arrow. */
      if (begins(at, "->")) words--;
      else counts = begins(at, "FLOCK") || begins(at, "OFDLCK") || begins(at, "LEASE");
    }
  }
  for (; *at && colons < 2; at++) colons += *at == ':';
  if (counts && locked_files < sizeof locked / sizeof *locked) locked[locked_files++] = decimal(at);
}

static void read_locks(void) {
  locked_files = 0;
  read_lines("/proc/locks", take_lock);
}

/* Whether the program could miss that a mapping keeps the description of its file open: it has the file open still, and
 * may lock it and close it, or the file is locked, or the program watches when files are closed. */
static int is_kept(uint64_t inode) {
  if (!inode) return 0;
  if (watches_files || known_descriptors == DESCRIPTORS_KNOWN ||
      locked_files == sizeof locked / sizeof *locked)
    return 1;
  for (unsigned fd = 0; fd < known_descriptors; fd++)
    if (noted[fd].held && noted[fd].status.inode == inode) return 1;
  for (unsigned i = 0; i < locked_files; i++)
    if (locked[i] == inode) return 1;
  return 0;
}

/* One line of /proc/self/maps. `collects`: shared mappings too. */
static void take_line(const char *line, int collects) {
  const char *at = line, *rights, *path;
  struct range r = {0};
  uint64_t inode = 0;
  r.start = hexadecimal(&at);
  at++;
  r.end = hexadecimal(&at);
  rights = ++at;
  path = rights;
  for (int words = 0; words < 4; words++) { /* rights, offset, device, inode */
    if (words == 3) inode = decimal(path);
    while (*path && *path != ' ') path++;
    while (*path == ' ') path++;
  }
  for (int i = 0; i < AREAS; i++)
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
  if (!collects || (rights[3] != 's' && (rights[2] == 'x' || !is_kept(inode)))) return;
  /* Memory that is sealed, or counts who is attached, notices readers too. */
  if (rights[3] == 's' && rights[1] != 'w' && !begins(path, "/memfd:") && !begins(path, "/SYSV") &&
      !is_kept(inode)) {
    if (shares == sizeof shared / sizeof *shared) end_shadow(SHARED_MEMORY, 0);
    shared[shares++] = r;
    return;
  }
  r.protection = (rights[0] == 'r') | (rights[1] == 'w') << 1;
  if ((rights[3] == 's' && rights[0] != 'r') || to_copy_count == sizeof to_copy / sizeof *to_copy ||
      (begins(path, "/dev/") && !begins(path, "/dev/shm/") && !begins(path, "/dev/zero")))
    end_shadow(SHARED_MEMORY, 0);
  to_copy[to_copy_count++] = r;
}

static void take_shared_too(const char *line) { take_line(line, 1); }
static void take_executable(const char *line) { take_line(line, 0); }

static void read_maps(void (*take)(const char *line)) {
  executables = 0;
  ranges_are_stale = 0;
  if (slot) slot->maps_bytes = 0;
  read_lines("/proc/self/maps", take);
}

static void read_ranges(void) { read_maps(take_executable); }

/* Puts copies in place of memory that others see: a mapping keeps its file as a descriptor does. */
static void own_memory(void) {
  uint64_t most = UINT64_C(256) << 20;
  read_locks();
  read_maps(take_shared_too);
  for (unsigned i = 0; i < to_copy_count; i++) {
    uint64_t bytes = to_copy[i].end - to_copy[i].start;
    void *copy = bytes <= most ? map_memory(0, bytes, PROT_RW, MAP_PRIVATE_ANONYMOUS) : 0;
    if (!copy) end_shadow(SHARED_MEMORY, 0);
    most -= bytes;
    if (to_copy[i].protection & 1) copy_bytes(copy, (void *)to_copy[i].start, bytes);
    if (kernel6(NR_mremap, (uint64_t)copy, bytes, bytes, 3, to_copy[i].start, 0) < 0 ||
        (to_copy[i].protection != PROT_RW &&
         kernel(NR_mprotect, to_copy[i].start, bytes, to_copy[i].protection, 0) < 0))
      end_shadow(SHARED_MEMORY, 0);
  }
}

#endif
