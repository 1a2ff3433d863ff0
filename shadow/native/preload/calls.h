/* System calls of a shadow: the policy says what becomes of each, and the guard says which calls nobody outside of the
 * shadow can notice. A call that the policy lets run but the guard does not ends the shadow. */
#ifndef HPS_SHADOW_CALLS_H
#define HPS_SHADOW_CALLS_H

#include "descriptors.h"

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

static int64_t plain(uint64_t nr, const uint64_t *a) {
  return kernel6((int64_t)nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Whether the path in the second argument begins at the descriptor in the first one. */
static int begins_at_descriptor(const uint64_t *a) {
  return (int32_t)a[0] != -100 && *(const char *)a[1] != '/';
}

/* Makes a call if nobody outside of the shadow can notice. */
static int64_t run_guarded(uint64_t nr, const uint64_t *a, enum on on, const struct status *status) {
  uint32_t fd = (uint32_t)a[0];
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
  case IN_FILE:
    if (on == NOTHING) return -EBADF;
    if (!own_description(fd, nr)) break;
    return plain(nr, a);
  case STATUS:
    if (on == NOTHING) return -EBADF;
    *(struct status *)a[1] = *status;
    return 0;
  case IN_FOLDER: /* a path that may begin at a descriptor */
    if ((int32_t)a[0] >= 0 && *(const char *)a[1] == 0 && nr == NR_newfstatat && (a[3] & 0x1000)) {
      struct status own;
      if (kind_of(fd, nr, &own) == NOTHING) return -EBADF;
      *(struct status *)a[2] = own;
      return 0;
    }
    if (!begins_at_descriptor(a)) return plain(nr, a);
    if (!noted_at(fd, nr)) return -EBADF;
    if (!own_description(fd, nr)) break;
    return plain(nr, a);
  case OPEN: return open_to_read((uint64_t)-100, a[0], a[1]);
  case OPEN_AT:
    if (begins_at_descriptor(a)) {
      if (!noted_at(fd, nr)) return -EBADF;
      if (!own_description(fd, nr)) break;
    }
    return open_to_read(a[0], a[1], a[2]);
  case CLOSE:
    if (on == NOTHING) return -EBADF;
    noted[fd] = (struct noted){0};
    return plain(nr, a);
  case DUPLICATE:
  case DUPLICATE_TO:
    if (on == NOTHING) return -EBADF;
    if (region->guard[nr] == DUPLICATE_TO) noted_at(a[1], nr);
    return copied_descriptor(fd, plain(nr, a), nr);
  case CONTROL: /* get and set flags of the descriptor, and duplicates of it */
    if (on == NOTHING) return -EBADF;
    if (a[1] == 0 || a[1] == 1030) return copied_descriptor(fd, plain(nr, a), nr);
    if (a[1] == 1 || a[1] == 2) return plain(nr, a);
    if (a[1] == 3) return noted[fd].held == NOTED ? noted[fd].flags : plain(nr, a);
    break;
  case DEVICE: /* whether it is a terminal, what there is to read, flags of the descriptor */
    if (on == NOTHING) return -EBADF;
    if (a[1] == 0x5450 || a[1] == 0x5451) return plain(nr, a);
    if (a[1] == 0x5401 || a[1] == 0x5413 || a[1] == 0x540f) {
      uint32_t format = status->mode & S_FORMAT;
      if (can_be_read_again(status) || format == S_PIPE || format == S_SOCKET) return -ENOTTY;
    }
    if (a[1] == 0x541b && own_description(fd, nr)) return plain(nr, a);
    break;
  case MAP: {
    uint64_t b[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};
    if (!(a[3] & 0x20)) { /* of a file */
      if (!noted_at(a[4], nr)) return -EBADF;
      if (!own_description((uint32_t)a[4], nr)) break;
    }
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
  if (region->descriptor[nr]) on = kind_of(a[region->descriptor[nr] - 1], nr, &status);
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
