/* Writes a tag at each function entry and exit of a program compiled with -finstrument-functions,
 * without a change in its sources: preloaded (LD_PRELOAD) or linked.
 *
 * The tag of a function is its address. On entry it goes onto the thread's stack of tags and into
 * its tag; on exit the caller's tag comes back from the stack. That is three stores an entry and
 * two an exit, all to lines that the thread owns. Variants, chosen when this file is compiled:
 *
 *   -DHPS_SHIM_FLAT   no stack: one store an entry, and one an exit, of the return address, which
 *                     lies in the caller. Wrong where functions are inlined: the return address of
 *                     an inlined function is that of the function around it.
 *   -DHPS_SHIM_CALLS  no tags: each entry is counted in the file that HPS_SHIM_CALLS names, by
 *                     function. Exact, and slow.
 *
 * An exit looks for its function on the stack, so that frames which longjmp or an exception skipped
 * are taken off. Coroutines that switch stacks within a thread confuse the order: then the tag is
 * that of the last entered function until the next exit that fits. */
#include <stdio.h>

#include "hps_shim.h"

#define EXPORT __attribute__((visibility("default"), no_instrument_function))
#define INTERN __attribute__((no_instrument_function))

EXPORT void __cyg_profile_func_enter(void *function, void *call_site);
EXPORT void __cyg_profile_func_exit(void *function, void *call_site);

#if defined HPS_SHIM_CALLS

/* The file: a header of four words, then the table. */
struct calls {
  uint64_t magic; /* "HPSCALLS" */
  uint64_t capacity; /* rows, a power of two */
  uint64_t lost; /* entries that found no row */
  uint64_t entries; /* all counted entries */
  struct row {
    uint64_t function;
    uint64_t count;
  } rows[];
};

#define CALLS_MAGIC UINT64_C(0x534c4c4143535048)

static struct calls *calls;

INTERN static void copy_maps(const char *path) {
  char name[4096], buffer[4096];
  FILE *from, *to;
  size_t n;
  if (snprintf(name, sizeof name, "%s.maps", path) >= (int)sizeof name) return;
  from = fopen("/proc/self/maps", "r");
  to = from ? fopen(name, "w") : NULL;
  while (to && (n = fread(buffer, 1, sizeof buffer, from)) > 0) fwrite(buffer, 1, n, to);
  if (to) fclose(to);
  if (from) fclose(from);
}

__attribute__((constructor)) INTERN static void start(void) {
  const char *path = getenv("HPS_SHIM_CALLS");
  struct stat status;
  struct calls *at;
  int fd = path ? open(path, O_RDWR) : -1;
  if (fd < 0) return;
  if (fstat(fd, &status) == 0 && status.st_size > (off_t)sizeof *at) {
    at = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED && at->magic == CALLS_MAGIC &&
        at->capacity <= ((size_t)status.st_size - sizeof *at) / sizeof at->rows[0]) {
      copy_maps(path);
      calls = at;
    }
  }
  close(fd);
}

EXPORT void __cyg_profile_func_enter(void *function, void *call_site) {
  uint64_t key = (uint64_t)function, mask, at, tries;
  (void)call_site;
  if (!calls) return;
  mask = calls->capacity - 1;
  at = (key ^ key >> 16) & mask;
  for (tries = 0; tries <= mask; tries++, at = (at + 1) & mask) {
    struct row *row = &calls->rows[at];
    uint64_t seen = __atomic_load_n(&row->function, __ATOMIC_RELAXED);
    if (seen == 0 && __atomic_compare_exchange_n(&row->function, &seen, key, 0, __ATOMIC_RELAXED,
                                                 __ATOMIC_RELAXED))
      seen = key;
    if (seen == key) {
      __atomic_fetch_add(&row->count, 1, __ATOMIC_RELAXED);
      __atomic_fetch_add(&calls->entries, 1, __ATOMIC_RELAXED);
      return;
    }
  }
  __atomic_fetch_add(&calls->lost, 1, __ATOMIC_RELAXED);
}

EXPORT void __cyg_profile_func_exit(void *function, void *call_site) {
  (void)function;
  (void)call_site;
}

#else

INTERN static void end(void) { hps_shim_leave(); }

__attribute__((constructor)) INTERN static void start(void) {
  hps_shim_wait();
  /* Not a destructor: programs that start without the C library, but end through it, run none. */
  atexit(end);
}

#if defined HPS_SHIM_FLAT

EXPORT void __cyg_profile_func_enter(void *function, void *call_site) {
  (void)call_site;
  hps_shim_tag((uint64_t)function);
}

EXPORT void __cyg_profile_func_exit(void *function, void *call_site) {
  (void)function;
  hps_shim_tag((uint64_t)call_site);
}

#else

/* Entries beyond the slot's own, for exits alone; the observer does not see them. */
#define DEEP_ENTRIES (UINT64_C(1) << 20)
static __thread uint64_t *deep;

HPS_SHIM_SLOW void deep_put(struct hps_shim_slot *slot, uint64_t depth, uint64_t tag) {
  uint64_t at = depth - HPS_SHIM_STACK;
  if (!deep) {
    /* Pages are there when they are touched. A thread that ends leaves them to the process. */
    void *pages = mmap(NULL, DEEP_ENTRIES * 8, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | 0x20 /* ANONYMOUS */ | 0x4000 /* NORESERVE */, -1, 0);
    if (pages != MAP_FAILED) deep = (uint64_t *)pages;
  }
  if (deep && at < DEEP_ENTRIES) deep[at] = tag;
  HPS_SHIM_ORDER();
  HPS_SHIM_NEXT(slot->tag, tag);
}

INTERN static uint64_t entry(const struct hps_shim_slot *slot, uint64_t at) {
  if (HPS_SHIM_LIKELY(at < HPS_SHIM_STACK)) return slot->stack[at];
  at -= HPS_SHIM_STACK;
  return deep && at < DEEP_ENTRIES ? deep[at] : 0;
}

/* Where `function` stands on the stack, from the top; the depth itself if it is not there. */
HPS_SHIM_SLOW uint64_t find(const struct hps_shim_slot *slot, uint64_t function) {
  uint64_t at = HPS_SHIM_DEPTH(slot->depth);
  while (at > 0)
    if (entry(slot, --at) == function) return at;
  return HPS_SHIM_DEPTH(slot->depth);
}

HPS_SHIM_FAST void enter(struct hps_shim_slot *slot, uint64_t function) {
  uint64_t word = slot->depth, depth = HPS_SHIM_DEPTH(word);
  HPS_SHIM_NEXT(slot->depth, word + HPS_SHIM_ENTRY_MORE);
  HPS_SHIM_ORDER();
  if (!HPS_SHIM_LIKELY(depth < HPS_SHIM_STACK)) {
    deep_put(slot, depth, function);
    return;
  }
  HPS_SHIM_NEXT(slot->stack[depth], function);
  HPS_SHIM_ORDER();
  HPS_SHIM_NEXT(slot->tag, function);
}

/* A thread's first entry, and every entry of a thread that nobody observes. */
HPS_SHIM_SLOW void enter_without_slot(uint64_t function) {
  struct hps_shim_slot *slot = hps_shim_thread();
  if (slot) enter(slot, function);
}

EXPORT void __cyg_profile_func_enter(void *function, void *call_site) {
  struct hps_shim_slot *slot = hps_shim_self;
  (void)call_site;
  if (HPS_SHIM_LIKELY(slot != NULL))
    enter(slot, (uint64_t)function);
  else
    enter_without_slot((uint64_t)function);
}

/* Frames were skipped or lie deeper than the slot's stack, or this one was entered before the thread
 * had its slot (in the parent of a fork): then the return address says what the thread is in. */
HPS_SHIM_SLOW void leave_slowly(struct hps_shim_slot *slot, uint64_t function, uint64_t site) {
  uint64_t depth = HPS_SHIM_DEPTH(slot->depth);
  uint64_t found = find(slot, function);
  if (found == depth) HPS_SHIM_NEXT(slot->tag, site);
  /* One by one, so that an observer finds a stack that fits the tag at any moment. */
  while (depth > found) {
    depth--;
    HPS_SHIM_NEXT(slot->depth, slot->depth + HPS_SHIM_ENTRY_GONE);
    HPS_SHIM_ORDER();
    HPS_SHIM_NEXT(slot->tag, depth > 0 ? entry(slot, depth - 1) : 0);
  }
}

EXPORT void __cyg_profile_func_exit(void *function, void *call_site) {
  struct hps_shim_slot *slot = hps_shim_self;
  uint64_t word, depth;
  if (!HPS_SHIM_LIKELY(slot != NULL)) return;
  word = slot->depth + HPS_SHIM_ENTRY_GONE;
  depth = HPS_SHIM_DEPTH(word);
  /* The top frame is ours; depth 0 wraps, and is not. */
  if (HPS_SHIM_LIKELY(depth < HPS_SHIM_STACK && slot->stack[depth] == (uint64_t)function)) {
    HPS_SHIM_NEXT(slot->depth, word);
    HPS_SHIM_ORDER();
    HPS_SHIM_NEXT(slot->tag, HPS_SHIM_LIKELY(depth > 0) ? slot->stack[depth - 1] : 0);
  } else {
    leave_slowly(slot, (uint64_t)function, (uint64_t)call_site);
  }
}

#endif
#endif
