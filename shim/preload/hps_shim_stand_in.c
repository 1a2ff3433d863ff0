/* The tag library's entry and exit hooks for a program that runs in the simulator, where nobody
 * observes: the same stores to a slot of its own, so that an instrumented program spends there what
 * it spends natively. Freestanding; to be linked, compiled without -finstrument-functions. */
#include <stdint.h>

#define STACK 224
#define ENTRY_MORE UINT64_C(0x100000001)
#define ENTRY_GONE UINT64_C(0x0ffffffff)

static struct {
  uint64_t tag, depth, pad[30], stack[STACK];
} only_slot __attribute__((aligned(128)));

/* Loaded at each entry and exit, as a thread's own slot is. */
static void *self = &only_slot;

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

#define SLOT ((__typeof__(&only_slot))__atomic_load_n(&self, __ATOMIC_RELAXED))
#define PUT(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELAXED)

__attribute__((no_instrument_function)) void __cyg_profile_func_enter(void *function,
                                                                      void *call_site) {
  __typeof__(&only_slot) slot = SLOT;
  uint64_t word = slot->depth, depth = (uint32_t)word;
  (void)call_site;
  PUT(slot->depth, word + ENTRY_MORE);
  if (depth < STACK) PUT(slot->stack[depth], (uint64_t)function);
  PUT(slot->tag, (uint64_t)function);
}

__attribute__((no_instrument_function)) void __cyg_profile_func_exit(void *function,
                                                                     void *call_site) {
  __typeof__(&only_slot) slot = SLOT;
  uint64_t word = slot->depth + ENTRY_GONE, depth = (uint32_t)word;
  (void)call_site;
  if (depth < STACK && slot->stack[depth] != (uint64_t)function) return;
  PUT(slot->depth, word);
  PUT(slot->tag, depth > 0 && depth <= STACK ? slot->stack[depth - 1] : 0);
}
