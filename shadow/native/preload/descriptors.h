/* Descriptors of a shadow: it has none of its program's.
 *
 * Whoever holds a copy of a descriptor keeps its open file description: locks, leases, ends of pipes, listening ports,
 * members of epoll sets. So the table is left at once, and every number that was in use holds a placeholder, so that new
 * descriptors get the numbers that the program would get. What the program had is noted before the fork. A shadow that
 * reads a file opens it anew, through the program's own table, if the same file is still there. */
#ifndef HPS_SHADOW_DESCRIPTORS_H
#define HPS_SHADOW_DESCRIPTORS_H

#include "leases.h"

#define DESCRIPTORS_KNOWN 256
/* So many unused numbers in a row end the notes. */
#define MOST_UNUSED 32

enum held {
  UNUSED,
  NOTED, /* a placeholder holds its number */
  OWN    /* a description of the shadow's own */
};

struct noted {
  int64_t offset;
  uint32_t flags; /* of the description */
  uint8_t held;
  uint8_t closes_on_exec;
  struct status status;
};
static struct noted noted[DESCRIPTORS_KNOWN];
/* Numbers below this one are known. */
static unsigned known_descriptors;
/* The program watches files: opening one would be reported to it. */
static int watches_files;
/* The kernel can leave a shared table and close it in one call. */
static int can_leave_table;

static int64_t program_pid, program_tid, program_parent;
static uint64_t forked_ns;

#define CLOSE_RANGE_UNSHARE 2

static char *put_number(char *at, uint64_t number) {
  uint64_t power = 1;
  while (number / power >= 10) power *= 10;
  for (; power; power /= 10) *at++ = (char)('0' + number / power % 10);
  *at = 0;
  return at;
}

static char *put_text(char *at, const char *text) {
  while (*text) *at++ = *text++;
  *at = 0;
  return at;
}

/* Notes the program's descriptors, in the program. */
static void note_descriptors(void) {
  unsigned unused = 0;
  watches_files = 0;
  for (known_descriptors = 0; known_descriptors < DESCRIPTORS_KNOWN && unused < MOST_UNUSED;
       known_descriptors++) {
    uint64_t fd = known_descriptors;
    struct noted *n = &noted[fd];
    int64_t closes = kernel(NR_fcntl, fd, 1, 0, 0);
    if (closes < 0 || kernel(NR_fstat, fd, &n->status, 0, 0) < 0) {
      if (n->held) *n = (struct noted){0};
      unused++;
      continue;
    }
    unused = 0;
    n->held = NOTED;
    n->closes_on_exec = (uint8_t)closes & 1;
    n->flags = (uint32_t)kernel(NR_fcntl, fd, 3, 0, 0);
    n->offset = kernel(NR_lseek, fd, 0, 1, 0);
    if ((n->status.mode & S_FORMAT) == 0) {
      char path[48], kind[24] = {0};
      put_number(put_text(path, "/proc/self/fd/"), fd);
      kernel(NR_readlink, path, kind, sizeof kind - 1, 0);
      if (begins(kind, "anon_inode:inotify") || begins(kind, "anon_inode:[fanotify]")) watches_files = 1;
    }
  }
}

/* Closes every descriptor that /proc lists. */
static void close_listed(void) {
  char entries[2048];
  int64_t folder = kernel(NR_open, "/proc/self/fd", 0200000, 0, 0), got;
  if (folder < 0) {
    for (uint64_t fd = 0; fd < 65536; fd++) kernel(NR_close, fd, 0, 0, 0);
    return;
  }
  while ((got = kernel(NR_getdents64, folder, entries, sizeof entries, 0)) > 0)
    for (int64_t at = 0; at < got; at += *(uint16_t *)(entries + at + 16)) {
      uint64_t fd = 0;
      const char *digit = entries + at + 19;
      if (*digit < '0' || *digit > '9') continue;
      for (; *digit; digit++) fd = fd * 10 + (uint64_t)(*digit - '0');
      if (fd != (uint64_t)folder) kernel(NR_close, fd, 0, 0, 0);
    }
  kernel(NR_close, folder, 0, 0, 0);
}

/* Leaves the program's descriptors, first of all in a shadow. 0 if it cannot. */
static int leave_descriptors(void) {
  uint64_t began = can_leave_table ? now_ns() : forked_ns;
  if (can_leave_table) {
    if (kernel(NR_close_range, 0, UINT32_MAX, CLOSE_RANGE_UNSHARE, 0) < 0) return 0;
  } else if (kernel(NR_close_range, 0, UINT32_MAX, 0, 0) < 0) {
    close_listed();
  }
  slot->held_ns = now_ns() - began;
  return 1;
}

/* Takes the numbers that the program uses. */
static void hold_numbers(void) {
  int64_t placeholder = kernel(NR_eventfd2, 0, 0, 0, 0);
  if (placeholder != 0) end_shadow(CALL_REFUSED, NR_eventfd2);
  for (unsigned fd = 1; fd < known_descriptors; fd++)
    if (noted[fd].held) kernel(NR_dup3, 0, fd, noted[fd].closes_on_exec ? O_CLOEXEC : 0, 0);
  if (!noted[0].held)
    kernel(NR_close, 0, 0, 0, 0);
  else if (noted[0].closes_on_exec)
    kernel(NR_fcntl, 0, 2, 1, 0);
}

/* A shadow cannot go on with a descriptor that nobody has noted. */
static struct noted *noted_at(uint64_t fd, uint64_t nr) {
  uint32_t number = (uint32_t)fd;
  if (number >= known_descriptors && number < UINT32_C(1) << 31) end_shadow(CALL_REFUSED, (uint32_t)nr);
  return number < known_descriptors && noted[number].held ? &noted[number] : 0;
}

static enum on kind_of(uint64_t fd, uint64_t nr, struct status *status) {
  const struct noted *n = noted_at(fd, nr);
  if (!n) return NOTHING;
  if (n->held == NOTED)
    *status = n->status;
  else if (kernel(NR_fstat, fd, status, 0, 0) < 0)
    return NOTHING;
  switch (status->mode & S_FORMAT) {
  case S_FILE:
  case S_FOLDER: return fd == 1 || fd == 2 ? OUTPUT : ON_FILE;
  case S_PIPE:
  case S_SOCKET: return fd == 0 ? INPUT : fd <= 2 ? OUTPUT : ON_PIPE;
  case S_CHARACTER:
    if (status->kind >> 8 != 1 || fd - 1 < 2) return fd == 0 ? INPUT : fd <= 2 ? OUTPUT : MADE_UP;
    return MADE_UP;
  case 0: return EVENT;
  default: return MADE_UP;
  }
}

/* Whether reading it takes nothing away from others. */
static int can_be_read_again(const struct status *status) {
  uint32_t format = status->mode & S_FORMAT;
  return format == S_FILE || format == S_FOLDER || (format == S_CHARACTER && status->kind >> 8 == 1);
}

/* Whether a shadow can open files unnoticed. */
static int may_open(void) { return !watches_files && no_lease_is_near(); }

/* Gives a noted descriptor a description of its own, at the place where the program's was. */
static int own_description(uint64_t fd, uint64_t nr) {
  struct noted *n = noted_at(fd, nr);
  struct status status;
  char path[64];
  int64_t fresh;
  if (!n || (n->held == NOTED && (!can_be_read_again(&n->status) || !may_open()))) return 0;
  if (n->held == OWN) return 1;
  put_number(put_text(put_number(put_text(path, "/proc/"), (uint64_t)program_pid), "/fd/"), (uint32_t)fd);
  /* non-blocking, direct, folder */
  fresh = kernel(NR_open, path, (n->flags & (04000 | 040000 | 0200000)) | O_CLOEXEC, 0, 0);
  if (fresh < 0) return 0;
  /* The program may have closed it since, and opened another file. */
  if (kernel(NR_fstat, fresh, &status, 0, 0) < 0 || status.device != n->status.device ||
      status.inode != n->status.inode ||
      (n->offset >= 0 && kernel(NR_lseek, fresh, n->offset, 0, 0) < 0) ||
      kernel(NR_dup3, fresh, fd, n->closes_on_exec ? O_CLOEXEC : 0, 0) < 0) {
    kernel(NR_close, fresh, 0, 0, 0);
    return 0;
  }
  kernel(NR_close, fresh, 0, 0, 0);
  n->held = OWN;
  return 1;
}

/* A call has made a copy of a descriptor. */
static int64_t copied_descriptor(uint64_t from, int64_t to, uint64_t nr) {
  if (to < 0 || (uint64_t)to == from) return to;
  if ((uint64_t)to >= known_descriptors) end_shadow(CALL_REFUSED, (uint32_t)nr);
  noted[to] = noted[from];
  return to;
}

#define OPENS_TO_CHANGE(flags) (((flags) & 3) != 0 || ((flags) & (0100 | 01000 | 02000 | 020000000)))

static int64_t open_to_read(uint64_t folder, uint64_t path, uint64_t flags) {
  struct status status;
  int64_t fd;
  if (OPENS_TO_CHANGE(flags)) end_shadow(CALL_REFUSED, NR_openat);
  fd = kernel(NR_newfstatat, folder, path, &status, flags & 0400000 ? 0x100 : 0);
  if (fd < 0) return fd;
  if ((!can_be_read_again(&status) && !(flags & 010000000)) || !may_open())
    end_shadow(CALL_REFUSED, NR_openat);
  fd = kernel(NR_openat, folder, path, flags, 0);
  if (fd < 0) return fd;
  if ((uint64_t)fd >= known_descriptors) end_shadow(CALL_REFUSED, NR_openat);
  noted[fd] = (struct noted){.held = OWN, .flags = (uint32_t)flags};
  return fd;
}

#endif
