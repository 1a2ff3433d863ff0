/* Shows or counts each call of a program compiled with -finstrument-functions, without a change in its
 * sources: preloaded (LD_PRELOAD). Variants, chosen when this file is compiled:
 *
 *   -DHPS_SHIM_CALLS     each call is counted in the file that HPS_SHIM_CALLS names, by caller and
 *                        callee. Exact, and slow.
 *   -DHPS_SHIM_PAIRS     each call is written into a ring of the thread, as caller and callee.
 *   -DHPS_SHIM_SEQUENCE  each call and each return is written into a ring of the thread.
 *
 * A full ring takes nothing until the observer has read it, which it does when the ring is full
 * (Olsauskas-Warren, ANU thesis 2015, section 4.4): nobody writes what is read.
 *
 * A caller is the function of the thread's innermost frame, so that it is right where functions were
 * inlined; 0 stands for what begins the thread. An exit looks for its function among the frames, so that
 * those which longjmp or an exception skipped are taken off. */
#include <stdio.h>

#include "hps_shim.h"

#define EXPORT __attribute__((visibility("default"), no_instrument_function))
#define INTERN __attribute__((no_instrument_function))
#define INLINE static inline __attribute__((always_inline, no_instrument_function))

EXPORT void __cyg_profile_func_enter(void *function, void *call_site);
EXPORT void __cyg_profile_func_exit(void *function, void *call_site);

#if defined HPS_SHIM_CALLS || defined HPS_SHIM_PAIRS

/* The functions that the thread is in, outermost first; those beyond the room are forgotten. */
#define FRAMES (UINT64_C(1) << 20)
static __thread uint64_t *frames;
static __thread uint64_t depth;

HPS_SHIM_SLOW void make_frames(void) {
  /* Pages are there when they are touched. A thread that ends leaves them to the process. */
  void *pages = mmap(NULL, FRAMES * 8, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | 0x20 /* ANONYMOUS */ | 0x4000 /* NORESERVE */, -1, 0);
  frames = pages == MAP_FAILED ? NULL : (uint64_t *)pages;
}

/* Enters a function: what calls it. */
INLINE uint64_t push(uint64_t function) {
  uint64_t caller;
  if (!HPS_SHIM_LIKELY(frames != NULL)) make_frames();
  if (!frames) return 0;
  caller = depth > 0 && depth <= FRAMES ? frames[depth - 1] : 0;
  if (HPS_SHIM_LIKELY(depth < FRAMES)) frames[depth] = function;
  depth++;
  return caller;
}

INLINE void pop(uint64_t function) {
  uint64_t at = depth;
  if (!frames) return;
  while (at > 0) {
    at--;
    if (at >= FRAMES || frames[at] == function) {
      depth = at;
      return;
    }
  }
}

#endif

#if defined HPS_SHIM_CALLS

/* The file: a header of four words, then the table. */
struct calls {
  uint64_t magic; /* "HPSCALL2" */
  uint64_t capacity; /* rows, a power of two */
  uint64_t lost; /* calls that found no row */
  uint64_t entries; /* all counted calls */
  struct row {
    uint64_t function; /* 0: free, 1: just being taken */
    uint64_t caller;
    uint64_t count;
  } rows[];
};

#define CALLS_MAGIC UINT64_C(0x324c4c4143535048)

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

/* Whether a row is that of a call, which it becomes if it was free. */
INTERN static int is_row_of(struct row *row, uint64_t caller, uint64_t function) {
  uint64_t seen = __atomic_load_n(&row->function, __ATOMIC_ACQUIRE);
  if (seen == 0 && __atomic_compare_exchange_n(&row->function, &seen, 1, 0, __ATOMIC_ACQ_REL,
                                               __ATOMIC_ACQUIRE)) {
    HPS_SHIM_PUT(row->caller, caller);
    __atomic_store_n(&row->function, function, __ATOMIC_RELEASE);
    return 1;
  }
  while (seen == 1) seen = __atomic_load_n(&row->function, __ATOMIC_ACQUIRE);
  return seen == function && __atomic_load_n(&row->caller, __ATOMIC_RELAXED) == caller;
}

EXPORT void __cyg_profile_func_enter(void *function, void *call_site) {
  uint64_t callee = (uint64_t)function, caller, mask, at, tries;
  (void)call_site;
  if (!calls) return;
  caller = push(callee);
  mask = calls->capacity - 1;
  at = (callee ^ callee >> 16 ^ caller * 31) & mask;
  for (tries = 0; tries <= mask; tries++, at = (at + 1) & mask) {
    struct row *row = &calls->rows[at];
    if (is_row_of(row, caller, callee)) {
      __atomic_fetch_add(&row->count, 1, __ATOMIC_RELAXED);
      __atomic_fetch_add(&calls->entries, 1, __ATOMIC_RELAXED);
      return;
    }
  }
  __atomic_fetch_add(&calls->lost, 1, __ATOMIC_RELAXED);
}

EXPORT void __cyg_profile_func_exit(void *function, void *call_site) {
  (void)call_site;
  if (calls) pop((uint64_t)function);
}

#else

/* The rings: a header of a page, then for each ring a page with its two ends and its words. The same
 * layout stands in shim/src/rings.rs. */
struct rings {
  uint64_t magic; /* "HPSRINGS" */
  uint64_t words; /* of a ring, a power of two */
  uint64_t count; /* of rings */
  uint64_t taken; /* rings that threads have taken; more than there are: the rest is seen by nobody */
};

struct ring {
  uint64_t written; /* words so far */
  uint64_t skipped; /* calls (and returns) that found the ring full */
  uint64_t pad0[14];
  uint64_t room; /* words that may have been written; the observer's */
  uint64_t pad1[495];
  uint64_t word[];
};

#define RINGS_MAGIC UINT64_C(0x53474e4952535048)
#define RETURNS (UINT64_C(1) << 63)

static struct rings *rings;
static __thread struct ring *own;
static __thread uint64_t mask;
static __thread int is_refused;

/* Maps the rings that the environment names. */
INTERN static void map(void) {
  const char *path = getenv("HPS_SHIM_RINGS");
  struct stat status;
  struct rings *at;
  int fd = path ? open(path, O_RDWR | 02000000 /* O_CLOEXEC */) : -1;
  if (fd < 0) return;
  if (fstat(fd, &status) == 0 && status.st_size > 4096) {
    at = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED && at->magic == RINGS_MAGIC &&
        (uint64_t)status.st_size >= 4096 + at->count * (4096 + 8 * at->words))
      rings = at;
  }
  close(fd);
}

HPS_SHIM_SLOW struct ring *take(void) {
  uint64_t number;
  if (is_refused || !rings) return NULL;
  number = __atomic_fetch_add(&rings->taken, 1, __ATOMIC_ACQ_REL);
  is_refused = number >= rings->count;
  if (is_refused) return NULL;
  mask = rings->words - 1;
  own = (struct ring *)((char *)rings + 4096 + number * (4096 + 8 * rings->words));
  return own;
}

/* A forked child has calls of its own, which nobody observes. */
INTERN static void forked(void) {
  rings = NULL;
  own = NULL;
}

/* The thread's ring, if it has room. */
INLINE struct ring *with_room(void) {
  struct ring *ring = own;
  if (!HPS_SHIM_LIKELY(ring != NULL) && !(ring = take())) return NULL;
  if (HPS_SHIM_LIKELY(ring->written != __atomic_load_n(&ring->room, __ATOMIC_ACQUIRE))) return ring;
  HPS_SHIM_PUT(ring->skipped, ring->skipped + 1);
  return NULL;
}

INTERN static void end(void) { hps_shim_leave(); }

__attribute__((constructor)) INTERN static void start(void) {
  map();
  pthread_atfork(NULL, NULL, forked);
  /* The slot says that the program is there, and holds it until somebody observes. */
  hps_shim_wait();
  hps_shim_tag(1);
  /* Not a destructor: programs that start without the C library, but end through it, run none. */
  atexit(end);
}

#if defined HPS_SHIM_PAIRS

EXPORT void __cyg_profile_func_enter(void *function, void *call_site) {
  uint64_t caller = push((uint64_t)function);
  struct ring *ring = with_room();
  (void)call_site;
  if (!ring) return;
  HPS_SHIM_PUT(ring->word[ring->written & mask], caller);
  HPS_SHIM_PUT(ring->word[(ring->written + 1) & mask], (uint64_t)function);
  __atomic_store_n(&ring->written, ring->written + 2, __ATOMIC_RELEASE);
}

EXPORT void __cyg_profile_func_exit(void *function, void *call_site) {
  (void)call_site;
  pop((uint64_t)function);
}

#else

INLINE void put(uint64_t word) {
  struct ring *ring = with_room();
  if (!ring) return;
  HPS_SHIM_PUT(ring->word[ring->written & mask], word);
  __atomic_store_n(&ring->written, ring->written + 1, __ATOMIC_RELEASE);
}

EXPORT void __cyg_profile_func_enter(void *function, void *call_site) {
  (void)call_site;
  put((uint64_t)function);
}

EXPORT void __cyg_profile_func_exit(void *function, void *call_site) {
  (void)call_site;
  put((uint64_t)function | RETURNS);
}

#endif
#endif
