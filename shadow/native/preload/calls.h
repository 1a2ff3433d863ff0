/* System calls of a shadow: the policy says what becomes of each, and the guard says which calls nobody outside of the
 * shadow can notice. A call that the policy lets run but the guard does not ends the shadow. */
#ifndef HPS_SHADOW_CALLS_H
#define HPS_SHADOW_CALLS_H

#include "entry.h"

/* What the program had at the fork. */
#define DESCRIPTORS_KNOWN 256
static int64_t offsets[DESCRIPTORS_KNOWN];
static uint8_t is_own[DESCRIPTORS_KNOWN];
static int64_t program_pid, program_tid, program_parent;

/* Signal actions as the program knows them. */
static struct action_of_signal actions[65];

/* Memory shared with others that the shadow can read only. */
static struct range shared[64];
static unsigned shares;

static int overlaps(const struct range *ranges, unsigned count, uint64_t from, uint64_t bytes) {
  for (unsigned i = 0; i < count; i++)
    if (ranges[i].start < from + bytes && from < ranges[i].end) return 1;
  return 0;
}

/* Kept copies do not outlive the code that they are made of. */
static void code_may_change(uint64_t from, uint64_t bytes) {
  if (overlaps(executable, executables, from, bytes)) {
    slot->flushes++;
    forget_copies();
  }
  ranges_are_stale = 1;
}

static enum on kind_of(uint64_t fd, struct status *status) {
  if (kernel(NR_fstat, fd, status, 0, 0) < 0) return NOTHING;
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

/* Gives a descriptor a description of its own, at the place where the program's was. */
static int own_description(uint64_t fd) {
  char path[32] = "/proc/self/fd/";
  unsigned at = 14;
  int64_t flags, fresh;
  if (fd >= DESCRIPTORS_KNOWN) return 0;
  if (is_own[fd]) return 1;
  for (uint64_t power = fd >= 100 ? 100 : fd >= 10 ? 10 : 1; power; power /= 10)
    path[at++] = (char)('0' + fd / power % 10);
  flags = kernel(NR_fcntl, fd, 3, 0, 0);
  /* non-blocking, direct, folder */
  fresh = kernel(NR_open, path, (flags & (04000 | 040000 | 0200000)) | 02000000, 0, 0);
  if (fresh < 0) return 0;
  if (offsets[fd] >= 0) kernel(NR_lseek, fresh, offsets[fd], 0, 0);
  if (kernel(NR_dup3, fresh, fd, 0, 0) < 0) return 0;
  kernel(NR_close, fresh, 0, 0, 0);
  is_own[fd] = 1;
  return 1;
}

static void copied_descriptor(uint64_t from, int64_t to) {
  if (to < 0 || to >= DESCRIPTORS_KNOWN) return;
  is_own[to] = from < DESCRIPTORS_KNOWN && is_own[from];
  offsets[to] = from < DESCRIPTORS_KNOWN ? offsets[from] : -1;
}

#define OPENS_TO_CHANGE(flags) (((flags) & 3) != 0 || ((flags) & (0100 | 01000 | 02000 | 020000000)))

static int64_t open_to_read(uint64_t folder, uint64_t path, uint64_t flags) {
  struct status status;
  int64_t fd;
  if (OPENS_TO_CHANGE(flags)) end_shadow(CALL_REFUSED, NR_openat);
  fd = kernel(NR_newfstatat, folder, path, &status, flags & 0400000 ? 0x100 : 0);
  if (fd < 0) return fd;
  if (!can_be_read_again(&status) && !(flags & 010000000)) end_shadow(CALL_REFUSED, NR_openat);
  fd = kernel(NR_openat, folder, path, flags, 0);
  if (fd >= 0 && fd < DESCRIPTORS_KNOWN) is_own[fd] = 1;
  return fd;
}

static int64_t plain(uint64_t nr, const uint64_t *a) {
  return kernel6((int64_t)nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Makes a call if nobody outside of the shadow can notice. */
static int64_t run_guarded(uint64_t nr, const uint64_t *a, enum on on, const struct status *status) {
  int64_t result;
  switch (region->guard[nr]) {
  case PLAIN: return plain(nr, a);
  case IDENTITY:
    return nr == NR_getpid ? program_pid : nr == NR_getppid ? program_parent : program_tid;
  case ACTION_OF_SIGNAL: {
    struct action_of_signal *known = &actions[a[0] & 63], old = *known;
    if (a[0] == 0 || a[0] > 64 || a[3] != 8) return -22;
    if (a[0] == 64) known = &actions[64], old = *known;
    if (a[1]) *known = *(struct action_of_signal *)a[1];
    if (a[2]) *(struct action_of_signal *)a[2] = old;
    return 0;
  }
  case AT_POSITION:
    if (on == NOTHING) return -EBADF;
    if (!can_be_read_again(status)) break;
    if ((status->mode & S_FORMAT) != S_CHARACTER && !own_description(a[0])) break;
    return plain(nr, a);
  case IN_FILE:
    if (on == NOTHING) return -EBADF;
    if (!can_be_read_again(status)) break;
    return plain(nr, a);
  case OPEN: return open_to_read((uint64_t)-100, a[0], a[1]);
  case OPEN_AT: return open_to_read(a[0], a[1], a[2]);
  case CLOSE:
    if (a[0] < DESCRIPTORS_KNOWN) is_own[a[0]] = 0, offsets[a[0]] = -1;
    return plain(nr, a);
  case DUPLICATE:
  case DUPLICATE_TO:
    result = plain(nr, a);
    copied_descriptor(a[0], result);
    return result;
  case CONTROL: /* get and set flags of the descriptor, and duplicates of it */
    if (a[1] == 0 || a[1] == 1030) {
      result = plain(nr, a);
      copied_descriptor(a[0], result);
      return result;
    }
    if (a[1] >= 1 && a[1] <= 3) return plain(nr, a);
    break;
  case DEVICE: /* what a terminal is like, what there is to read */
    if (a[1] == 0x5401 || a[1] == 0x5413 || a[1] == 0x541b || a[1] == 0x540f || a[1] == 0x5450 ||
        a[1] == 0x5451)
      return plain(nr, a);
    break;
  case MAP: {
    uint64_t b[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};
    if ((a[3] & 3) != 2) b[3] = (a[3] & ~UINT64_C(15)) | 2;
    if (a[3] & 16) code_may_change(a[0], a[1]);
    if (a[2] & 4) ranges_are_stale = 1;
    return plain(nr, b);
  }
  case RANGE:
    if (overlaps(shared, shares, a[0], a[1])) break;
    if (nr == NR_madvise && a[2] == 9) break;
    if (nr != NR_madvise) code_may_change(a[0], a[1]);
    if (nr == NR_mprotect && (a[2] & 4)) ranges_are_stale = 1;
    return plain(nr, a);
  case MUTEX: {
    unsigned what = a[1] & 127;
    if (what == 0 || what == 6 || what == 9 || what == 11 || what == 13) end_shadow(WAITS, 0);
    if (overlaps(shared, shares, a[0], 4)) break;
    return plain(nr, a);
  }
  case PROCESS: /* prctl: what changes the name of the shadow alone, and questions */
    if (a[0] == 15 || a[0] == 16 || a[0] == 3 || a[0] == 0x53564d41) return plain(nr, a);
    break;
  case LIMIT:
    if (a[0] == 0 || (int64_t)a[0] == program_pid) {
      uint64_t b[6] = {0, a[1], a[2], a[3], 0, 0};
      return plain(nr, b);
    }
    break;
  default: break;
  }
  end_shadow(CALL_REFUSED, (uint32_t)nr);
}

static int64_t pretended(uint64_t nr, const uint64_t *a) {
  switch (region->pretend[nr]) {
  case THIRD: return (int64_t)a[2];
  case FOURTH: return (int64_t)a[3];
  case FIFTH: return (int64_t)a[4];
  case VECTOR: {
    const uint64_t *v = (const uint64_t *)a[1];
    uint64_t sum = 0;
    for (uint64_t i = 0; i < a[2] && i < 1024; i++) sum += v[2 * i + 1];
    return (int64_t)sum;
  }
  default: return 0;
  }
}

static void from_frame(uint64_t rsp) __attribute__((noreturn));

/* The call that the program's registers ask for; returns its result. */
static int64_t call_of_shadow(void) {
  uint64_t nr = S.rax;
  uint64_t a[6] = {S.rdi, S.rsi, S.rdx, S.r8_15[2], S.r8_15[0], S.r8_15[1]};
  struct status status = {0};
  enum on on = NOTHING;
  int writes = 0;
  enum action action;
  if (nr >= CALLS) end_shadow(CALL_ENDS, (uint32_t)nr);
  if (region->guard[nr] == EXIT) end_shadow(PROGRAM_ENDED, 0);
  if (region->guard[nr] == RETURN_FROM_SIGNAL) from_frame(S.rsp);
  if (region->descriptor[nr]) on = kind_of(a[region->descriptor[nr] - 1], &status);
  if (region->guard[nr] == OPEN) writes = OPENS_TO_CHANGE(a[1]);
  if (region->guard[nr] == OPEN_AT) writes = OPENS_TO_CHANGE(a[2]);
  if (region->guard[nr] == MAP) writes = (a[3] & 3) != 2 && (a[2] & 2);
  action = region->policy[nr][on][writes];
  __atomic_fetch_add(&region->calls[nr][action & 7], 1, __ATOMIC_RELAXED);
  switch (action) {
  case RUN:
  case LATE:
  case REOPEN: return run_guarded(nr, a, on, &status);
  case PRETEND: return pretended(nr, a);
  case SKIP: return 0;
  default: end_shadow(CALL_ENDS, (uint32_t)nr);
  }
}

#endif
