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
 *   -DHPS_SHIM_NEW    each entry of the stack has a mark, which an observer takes off when it has
 *                     seen the entry: it then finds calls, each once.
 *
 * An exit looks for its function on the stack, so that frames which longjmp or an exception skipped
 * are taken off. Coroutines that switch stacks within a thread confuse the order: then the tag is
 * that of the last entered function until the next exit that fits. */
#include "hps_shim.h"

#define EXPORT __attribute__((visibility("default"), no_instrument_function))
#define INTERN __attribute__((no_instrument_function))

EXPORT void __cyg_profile_func_enter(void *function, void *call_site);
EXPORT void __cyg_profile_func_exit(void *function, void *call_site);

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

/* The mark of an entry that nobody has seen. Addresses of programs do not have this bit. */
#if defined HPS_SHIM_NEW
#define MARK (UINT64_C(1) << 62)
#else
#define MARK UINT64_C(0)
#endif

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
  if (HPS_SHIM_LIKELY(at < HPS_SHIM_STACK))
    return __atomic_load_n(&slot->stack[at], __ATOMIC_RELAXED) & ~MARK;
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
  HPS_SHIM_NEXT(slot->stack[depth], function | MARK);
  HPS_SHIM_ORDER();
  HPS_SHIM_NEXT(slot->tag, function);
}

/* A thread's first entry, and every entry of a thread that counts, or that nobody observes. */
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
  if (!HPS_SHIM_LIKELY(slot != NULL) && !(slot = hps_shim_counting_slot())) return;
  word = slot->depth + HPS_SHIM_ENTRY_GONE;
  depth = HPS_SHIM_DEPTH(word);
  /* The top frame is ours; depth 0 wraps, and is not. */
  if (HPS_SHIM_LIKELY(depth < HPS_SHIM_STACK && entry(slot, depth) == (uint64_t)function)) {
    HPS_SHIM_NEXT(slot->depth, word);
    HPS_SHIM_ORDER();
    HPS_SHIM_NEXT(slot->tag, HPS_SHIM_LIKELY(depth > 0) ? entry(slot, depth - 1) : 0);
  } else {
    leave_slowly(slot, (uint64_t)function, (uint64_t)call_site);
  }
}

#endif
