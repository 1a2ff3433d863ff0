/* Leases: a file that a shadow opens asks back a lease, and refuses a lease for writing while it is open. So shadows open
 * no file where somebody holds a lease, and none at all once their program takes one: its fcntl comes here first. */
#ifndef HPS_SHADOW_LEASES_H
#define HPS_SHADOW_LEASES_H

#include "entry.h"

#define F_SETLEASE 1024
#define F_UNLCK 2
#define RTLD_NEXT ((void *)-1)

#define SEEN_BY_PROGRAMS __attribute__((visibility("default")))

static int is_shadow;

extern void *dlsym(void *, const char *) __attribute__((weak, visibility("default")));
extern int *__errno_location(void) __attribute__((weak, visibility("default")));

typedef int64_t fcntl_function(int64_t fd, int64_t command, uint64_t argument);

static struct slot *slot_at(unsigned i) {
  return (struct slot *)((uint8_t *)region + HEADER_BYTES + i * SLOT_BYTES);
}

/* A supervisor that is silent for longer is gone, in nanoseconds. */
#define LONGEST_SILENCE INT64_C(5000000000)

/* Whether nobody reads any more what shadows write. */
static int supervisor_is_gone(void) {
  if (region->is_attached)
    return (int64_t)(now_ns() - __atomic_load_n(&region->alive_ns, __ATOMIC_RELAXED)) > LONGEST_SILENCE;
  return kernel(NR_getppid, 0, 0, 0, 0) != region->supervisor;
}

/* Whether somebody holds a lease on a file. */
static int are_leases_held(void) {
  char text[1024];
  int64_t fd = kernel(NR_open, "/proc/locks", O_CLOEXEC, 0, 0), got;
  uint64_t kept = 0;
  int found = 0;
  if (fd < 0) return 0;
  while (!found && (got = kernel(NR_read, fd, text + kept, sizeof text - kept, 0)) > 0) {
    uint64_t bytes = kept + (uint64_t)got;
    for (uint64_t at = 0; at + 6 <= bytes && !found; at++) found = begins(text + at, " LEASE");
    kept = bytes < 5 ? bytes : 5;
    copy_bytes(text, text + bytes - kept, kept);
  }
  kernel(NR_close, fd, 0, 0, 0);
  return found;
}

/* Whether a shadow can open files without a lease to miss it. It says first that it will, so that it either learns of a
 * lease that the program is about to take, or is seen and ended by `end_readers`. */
static int no_lease_is_near(void) {
  __atomic_store_n(&slot->opens_files, 1, __ATOMIC_SEQ_CST);
  return !__atomic_load_n(&region->takes_leases, __ATOMIC_SEQ_CST) && !are_leases_held();
}

/* Ends shadows that have opened files, in the program, before it takes a lease, and waits until they are gone. */
static void end_readers(void) {
  const uint64_t pause[2] = {0, 100000};
  __atomic_store_n(&region->takes_leases, 1, __ATOMIC_SEQ_CST);
  for (unsigned i = 1; i < SLOTS; i++) {
    struct slot *reader = slot_at(i);
    uint64_t sequence = __atomic_load_n(&reader->sequence, __ATOMIC_ACQUIRE);
    for (int tries = 0; tries < 20000; tries++) {
      /* The number comes first: what the state says behind it is said of this shadow. */
      int32_t pid = __atomic_load_n(&reader->pid, __ATOMIC_ACQUIRE);
      uint32_t state = __atomic_load_n(&reader->state, __ATOMIC_ACQUIRE);
      if (state == FREE || state == STARTING || !__atomic_load_n(&reader->opens_files, __ATOMIC_SEQ_CST) ||
          __atomic_load_n(&reader->sequence, __ATOMIC_ACQUIRE) != sequence ||
          supervisor_is_gone())
        break;
      if (tries == 0) end_process(pid);
      kernel(NR_nanosleep, pause, 0, 0, 0);
    }
  }
}

static int64_t control_file(const char *name, fcntl_function **next, int64_t fd, int64_t command,
                            uint64_t argument) {
  int64_t result;
  if ((int32_t)command == F_SETLEASE && (int32_t)argument != F_UNLCK && region && !is_shadow &&
      kernel(NR_getpid, 0, 0, 0, 0) == region->pid)
    end_readers();
  if (!*next && dlsym) *next = (fcntl_function *)dlsym(RTLD_NEXT, name);
  if (*next) return (*next)(fd, command, argument);
  result = kernel(NR_fcntl, fd, command, argument, 0);
  if (result < 0 && __errno_location) *__errno_location() = (int)-result;
  return result < 0 ? -1 : result;
}

SEEN_BY_PROGRAMS int64_t fcntl(int64_t fd, int64_t command, uint64_t argument) {
  static fcntl_function *next;
  return control_file("fcntl", &next, fd, command, argument);
}

SEEN_BY_PROGRAMS int64_t fcntl64(int64_t fd, int64_t command, uint64_t argument) {
  static fcntl_function *next;
  return control_file("fcntl64", &next, fd, command, argument);
}

#endif
