/* Tags and counters that a program shows to SHIM's observer (`hps shim`), for C and C++.
 *
 *     #include "hps_shim.h"
 *
 *     uint64_t parsing = hps_shim_name("parsing");   once: a small tag with a text
 *     hps_shim_tag(parsing);                         what this thread is in from now on
 *     hps_shim_push(parsing); ... hps_shim_pop();    what it is in between the two
 *     hps_shim_count(0, bytes);                      one of 8 counters of this thread
 *     { hps_shim::scope in(parsing); ... }           C++: push and pop
 *
 * There is no library to link. hps_shim_leave() gives a thread's slot back before the thread's
 * end does; hps_shim_wait() waits until the observer runs, for programs that are over soon.
 *
 * The program and the observer share one memory region, a memfd sealed against shrinking. The
 * environment variable HPS_SHIM_REGION names it by a path that can be opened ("/proc/PID/fd/N"), or
 * is "self": then the program makes the region and an observer may come later. Without the variable
 * nothing is mapped and every call below costs two tests.
 *
 * Threads take a slot at their first tag, and give it back when they end. A forked child takes
 * slots of its own. A program that the observed one executes is not observed: its code has other
 * addresses. Once a thread has its slot, its signal handlers may use everything but hps_shim_name.
 * A thread that nobody observes, because all slots are taken, is counted in the region.
 *
 * Layout, version 2, little endian, all offsets in bytes:
 *
 *        0  header, 4096 bytes
 *     4096  64 slots of 2048 bytes, one for each thread
 *   135168  4096 names of 128 bytes, indexed by small tags
 *   659456  end
 *
 * The same layout stands in shim/src/region.rs; tests of shim/tags compare the two.
 *
 * A tag is a 64-bit word that says what the thread is in. 0 says nothing. Tags below 65536 are
 * small: those below 4096 may have a text in the table of names. Tags from 65536 on are addresses
 * of code in the program. Writing a tag is one plain store, push and pop are three and two; the
 * observer may miss any of them.
 *
 * If the observer asks for events of the processor (header.events), each thread counts them for itself
 * and writes its counts with each tag: what came before belongs to the tag before.
 */
#ifndef HPS_SHIM_H
#define HPS_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#elif defined __STRICT_ANSI__
long syscall(long number, ...); /* which -std=c11 hides */
#endif

#define HPS_SHIM_MAGIC UINT64_C(0x314d494853535048) /* "HPSSHIM1" in memory order */
#define HPS_SHIM_VERSION 2
#define HPS_SHIM_HEADER_BYTES 4096
#define HPS_SHIM_SLOTS 64
#define HPS_SHIM_SLOT_BYTES 2048
#define HPS_SHIM_STACK 224
/* Added to hps_shim_slot.depth for each entry that comes and each that goes: the upper half of the
 * word counts changes, so that an observer knows whether the stack changed while it was read. */
#define HPS_SHIM_ENTRY_MORE UINT64_C(0x100000001)
#define HPS_SHIM_ENTRY_GONE UINT64_C(0x0ffffffff)
#define HPS_SHIM_DEPTH(word) ((uint64_t)(uint32_t)(word))
#define HPS_SHIM_COUNTERS 8
#define HPS_SHIM_EVENTS 4
#define HPS_SHIM_NAMES 4096
#define HPS_SHIM_NAME_BYTES 128
#define HPS_SHIM_NAME_TEXT_BYTES 120
#define HPS_SHIM_REGION_BYTES 659456
#define HPS_SHIM_FIRST_ADDRESS UINT64_C(65536)

/* Values of hps_shim_slot.live. */
#define HPS_SHIM_FREE 0  /* nobody's */
#define HPS_SHIM_LIVE 1  /* a thread writes it */
#define HPS_SHIM_ENDED 2 /* its thread ended; the slot may be taken again */

/* Values of hps_shim_name.state. */
#define HPS_SHIM_NAME_EMPTY 0
#define HPS_SHIM_NAME_WRITING 1
#define HPS_SHIM_NAME_READY 2 /* length and text may be read (acquire) */

/* An event of the kernel's perf subsystem that each thread is asked to count for itself. */
struct hps_shim_event {
  uint32_t type;        /* as in perf_event_attr */
  uint32_t user_only;   /* without kernel and hypervisor */
  uint64_t config;
  uint64_t config1;
};

struct hps_shim_header {
  uint64_t magic;       /* HPS_SHIM_MAGIC */
  uint32_t version;     /* HPS_SHIM_VERSION */
  uint32_t slot_count;  /* HPS_SHIM_SLOTS */
  uint32_t slot_bytes;  /* HPS_SHIM_SLOT_BYTES */
  uint32_t name_count;  /* HPS_SHIM_NAMES */
  uint64_t region_bytes;/* HPS_SHIM_REGION_BYTES */
  uint32_t pid;         /* of the observed program, 0 until it has mapped the region */
  uint32_t threads;     /* slots taken so far, at most slot_count: slots from here on are unused */
  uint32_t refused;     /* threads that found no free slot: seen by nobody, and counted here */
  uint32_t names_refused; /* names that did not fit into the table */
  uint32_t gate;        /* 0: run on; 1: a program that asks for it waits until this is 0 */
  uint32_t event_count; /* events below that threads count, written before the program begins */
  struct hps_shim_event events[HPS_SHIM_EVENTS];
};

struct hps_shim_slot {
  /* Line 0: what each function entry and exit writes and the observer reads. */
  uint64_t tag;         /* what the thread is in now */
  uint64_t depth;       /* entries on the stack in its lower half, which may exceed HPS_SHIM_STACK,
                           then the rest is lost; changes of the stack in its upper half */
  uint64_t events[HPS_SHIM_EVENTS]; /* counts of the header's events when the tag was written */
  uint64_t pad0[10];    /* to 128: lines are fetched in pairs */
  /* Line 2: written once for each thread. */
  uint32_t live;        /* HPS_SHIM_FREE, _LIVE, _ENDED */
  uint32_t tid;         /* the kernel's thread id */
  uint64_t generation;  /* how often the slot was taken */
  uint32_t counting;    /* events that the thread counts: none, or all of the header's */
  uint32_t refused;     /* why it counts none, or not any more: the kernel's errno */
  uint64_t pad1[5];
  /* Line 3: software counters, wrapping. */
  uint64_t counters[HPS_SHIM_COUNTERS];
  /* From 256 on: the tags that the thread is in, outermost first. */
  uint64_t stack[HPS_SHIM_STACK];
};

struct hps_shim_name {
  uint32_t state;       /* HPS_SHIM_NAME_* */
  uint32_t length;      /* bytes of text */
  char text[HPS_SHIM_NAME_TEXT_BYTES]; /* UTF-8, not terminated */
};

struct hps_shim_region {
  struct hps_shim_header header;
  char pad[HPS_SHIM_HEADER_BYTES - sizeof(struct hps_shim_header)];
  struct hps_shim_slot slots[HPS_SHIM_SLOTS];
  struct hps_shim_name names[HPS_SHIM_NAMES];
};


/* The region of this process, and whether it has one. One copy in the whole program: the
 * definitions are weak. */
#define HPS_SHIM_SHARED __attribute__((weak))
enum { HPS_SHIM_UNKNOWN, HPS_SHIM_OPENING, HPS_SHIM_ON, HPS_SHIM_OFF };
HPS_SHIM_SHARED struct hps_shim_region *hps_shim_shared;
HPS_SHIM_SHARED int hps_shim_state;
HPS_SHIM_SHARED pthread_key_t hps_shim_key;
/* This thread's slot, unless the thread counts events, and whether it is just taking one (a signal handler may come in
 * between). */
HPS_SHIM_SHARED __thread struct hps_shim_slot *hps_shim_self;
/* The slot of a thread that counts events: it has none above, so that others do not look whether they count. */
HPS_SHIM_SHARED __thread struct hps_shim_slot *hps_shim_counted;
HPS_SHIM_SHARED __thread int hps_shim_taking;

#define HPS_SHIM_LIKELY(x) __builtin_expect(!!(x), 1)
#define HPS_SHIM_SLOW static __attribute__((noinline, cold, unused, no_instrument_function))
#define HPS_SHIM_FAST static inline __attribute__((always_inline, unused, no_instrument_function))
/* Stores of push and pop are seen in program order, by a signal handler and by an observer. On x86-64
 * they are the same plain stores. Older releases of GCC make exchanges of all atomic stores for RISC-V. */
#if defined __riscv && defined __GNUC__ && !defined __clang__ && __GNUC__ < 13
#define HPS_SHIM_PUT(place, value) (*(volatile __typeof__(place) *)&(place) = (value))
#define HPS_SHIM_NEXT(place, value) \
  (__atomic_thread_fence(__ATOMIC_RELEASE), HPS_SHIM_PUT(place, value))
#else
#define HPS_SHIM_PUT(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELAXED)
#define HPS_SHIM_NEXT(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELEASE)
#endif
#define HPS_SHIM_ORDER() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* Counts of this thread: the page that the kernel maps for each event, and how many there are. */
HPS_SHIM_SHARED __thread const void *hps_shim_pages[HPS_SHIM_EVENTS];
HPS_SHIM_SHARED __thread unsigned hps_shim_counting;
#define HPS_SHIM_PAGE_BYTES 4096

/* A program that defines HPS_SHIM_NO_EVENTS counts none. */
#if !defined HPS_SHIM_NO_EVENTS && defined SYS_perf_event_open && \
    (defined __x86_64__ || defined __aarch64__ || (defined __riscv && __riscv_xlen == 64))

/* The processor's counter of this number. */
HPS_SHIM_FAST uint64_t hps_shim_counter(uint32_t number) {
#if defined __x86_64__
  uint32_t low, high;
  __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(number));
  return (uint64_t)high << 32 | low;
#else
#if defined __aarch64__
#define HPS_SHIM_NUMBERED(n) case n: __asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(value)); break;
#define HPS_SHIM_OTHER "mrs %0, pmccntr_el0"
#else
#define HPS_SHIM_NUMBERED(n) case n: __asm__ volatile("csrr %0, 0xc00 + " #n : "=r"(value)); break;
#define HPS_SHIM_OTHER "csrr %0, 0xc00 + 31"
#endif
#define HPS_SHIM_FOUR(a, b, c, d) \
  HPS_SHIM_NUMBERED(a) HPS_SHIM_NUMBERED(b) HPS_SHIM_NUMBERED(c) HPS_SHIM_NUMBERED(d)
  uint64_t value;
  switch (number) {
    HPS_SHIM_FOUR(0, 1, 2, 3) HPS_SHIM_FOUR(4, 5, 6, 7) HPS_SHIM_FOUR(8, 9, 10, 11)
    HPS_SHIM_FOUR(12, 13, 14, 15) HPS_SHIM_FOUR(16, 17, 18, 19) HPS_SHIM_FOUR(20, 21, 22, 23)
    HPS_SHIM_FOUR(24, 25, 26, 27) HPS_SHIM_NUMBERED(28) HPS_SHIM_NUMBERED(29) HPS_SHIM_NUMBERED(30)
    default: __asm__ volatile(HPS_SHIM_OTHER : "=r"(value));
  }
  return value;
#endif
}

/* Writes this thread's counts into its slot. The protocol of the pages is the one in perf_event.h. */
HPS_SHIM_SLOW void hps_shim_write_events(struct hps_shim_slot *slot) {
  unsigned i;
  for (i = 0; i < hps_shim_counting; i++) {
    const char *page = (const char *)hps_shim_pages[i];
    const volatile uint32_t *lock = (const volatile uint32_t *)(page + 8);
    uint32_t before, index;
    uint64_t count;
    do {
      before = __atomic_load_n(lock, __ATOMIC_ACQUIRE);
      index = *(const volatile uint32_t *)(page + 12);
      count = *(const volatile uint64_t *)(page + 16);
      if (index) {
        unsigned unused = 64 - *(const volatile uint16_t *)(page + 48);
        count += (uint64_t)((int64_t)(hps_shim_counter(index - 1) << unused) >> unused);
      }
      __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } while (before & 1 || *lock != before);
    if (index)
      HPS_SHIM_PUT(slot->events[i], count);
    else
      HPS_SHIM_PUT(slot->refused, (uint32_t)EBUSY); /* pinned, and yet without a counter */
  }
}

HPS_SHIM_SLOW void hps_shim_end_events(void) {
  while (hps_shim_counting > 0)
    munmap((void *)(uintptr_t)hps_shim_pages[--hps_shim_counting], HPS_SHIM_PAGE_BYTES);
}

/* Lets this thread count the events that the observer asks for: all of them, or none. */
HPS_SHIM_SLOW void hps_shim_begin_events(struct hps_shim_slot *slot) {
  uint32_t i, count = hps_shim_shared->header.event_count;
  int saved = errno, fd;
  HPS_SHIM_PUT(slot->counting, 0);
  HPS_SHIM_PUT(slot->refused, 0);
  for (i = 0; i < count && i < HPS_SHIM_EVENTS; i++) {
    const struct hps_shim_event *event = &hps_shim_shared->header.events[i];
    /* struct perf_event_attr of 72 bytes: pinned, and exclude_kernel and exclude_hv if asked for. */
    uint64_t attr[9] = {0};
    void *page = MAP_FAILED;
    attr[0] = UINT64_C(72) << 32 | event->type;
    attr[1] = event->config;
    attr[5] = 1u << 2 | (event->user_only ? 3u << 5 : 0);
    attr[7] = event->config1;
    fd = (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, 8ul /* CLOEXEC */);
    if (fd >= 0) {
      /* The mapping keeps the event. */
      page = mmap(NULL, HPS_SHIM_PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
      close(fd);
    }
    if (page != MAP_FAILED) hps_shim_pages[hps_shim_counting++] = page;
    /* Bit 2 of the capabilities: user space may read the counter. */
    if (page == MAP_FAILED || !(((const volatile uint64_t *)page)[5] & 4)) {
      HPS_SHIM_PUT(slot->refused, (uint32_t)(page == MAP_FAILED ? errno : EOPNOTSUPP));
      hps_shim_end_events();
      break;
    }
  }
  hps_shim_write_events(slot);
  HPS_SHIM_PUT(slot->counting, hps_shim_counting);
  errno = saved;
}

/* The slot of a thread that counts, with its counts of now; NULL for other threads. */
HPS_SHIM_SLOW struct hps_shim_slot *hps_shim_counting_slot(void) {
  if (hps_shim_counted) hps_shim_write_events(hps_shim_counted);
  return hps_shim_counted;
}

#else
HPS_SHIM_FAST struct hps_shim_slot *hps_shim_counting_slot(void) { return NULL; }
HPS_SHIM_FAST void hps_shim_end_events(void) {}
HPS_SHIM_FAST void hps_shim_begin_events(struct hps_shim_slot *slot) { (void)slot; }
#endif

/* Gives a slot back. */
HPS_SHIM_SLOW void hps_shim_release(void *slot_of_thread) {
  struct hps_shim_slot *slot = (struct hps_shim_slot *)slot_of_thread;
  hps_shim_counting_slot();
  hps_shim_end_events();
  hps_shim_self = hps_shim_counted = NULL;
  HPS_SHIM_PUT(slot->tag, 0);
  __atomic_store_n(&slot->live, HPS_SHIM_ENDED, __ATOMIC_RELEASE);
}

/* In a forked child: the slot is the parent's. */
HPS_SHIM_SLOW void hps_shim_forked(void) {
  hps_shim_self = hps_shim_counted = NULL;
  hps_shim_counting = 0; /* the pages are the parent's */
  if (hps_shim_state == HPS_SHIM_ON) pthread_setspecific(hps_shim_key, NULL);
}

/* An empty region of one's own. */
HPS_SHIM_SLOW int hps_shim_new_region(void) {
#ifdef SYS_memfd_create
  int fd = (int)syscall(SYS_memfd_create, "hps-shim", 3 /* CLOEXEC | ALLOW_SEALING */);
  if (fd >= 0 && syscall(SYS_ftruncate, fd, (long)HPS_SHIM_REGION_BYTES) == 0 &&
      fcntl(fd, 1033 /* F_ADD_SEALS */, 7 /* SEAL | SHRINK | GROW */) == 0)
    return fd;
  if (fd >= 0) close(fd);
#endif
  return -1;
}

/* Maps the region that the environment names; NULL if there is none or it is not ours. */
HPS_SHIM_SLOW struct hps_shim_region *hps_shim_map(void) {
  const char *path = getenv("HPS_SHIM_REGION");
  int fd, fresh;
  struct stat status;
  void *at;
  struct hps_shim_region *region;
  uint32_t nobody = 0, self = (uint32_t)getpid();
  if (!path || !*path) return NULL;
  fresh = strcmp(path, "self") == 0;
  fd = fresh ? hps_shim_new_region() : open(path, O_RDWR | 02000000 /* O_CLOEXEC */);
  if (fd < 0) return NULL;
  if (fstat(fd, &status) != 0 || status.st_size < HPS_SHIM_REGION_BYTES ||
      (at = mmap(NULL, HPS_SHIM_REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) ==
          MAP_FAILED) {
    close(fd);
    return NULL;
  }
  /* The descriptor stays open: by it an observer finds the region of a running program. */
  region = (struct hps_shim_region *)at;
  if (fresh) {
    region->header.version = HPS_SHIM_VERSION;
    region->header.slot_count = HPS_SHIM_SLOTS;
    region->header.slot_bytes = HPS_SHIM_SLOT_BYTES;
    region->header.name_count = HPS_SHIM_NAMES;
    region->header.region_bytes = HPS_SHIM_REGION_BYTES;
    __atomic_store_n(&region->header.magic, HPS_SHIM_MAGIC, __ATOMIC_RELEASE);
  }
  if (__atomic_load_n(&region->header.magic, __ATOMIC_ACQUIRE) == HPS_SHIM_MAGIC &&
      region->header.version == HPS_SHIM_VERSION &&
      (__atomic_compare_exchange_n(&region->header.pid, &nobody, self, 0, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE) ||
       nobody == self))
    return region;
  munmap(at, HPS_SHIM_REGION_BYTES);
  close(fd);
  return NULL;
}

/* Whether somebody may observe this process. Opens the region at the first call. */
HPS_SHIM_SLOW int hps_shim_open(void) {
  int expected = HPS_SHIM_UNKNOWN;
  if (__atomic_compare_exchange_n(&hps_shim_state, &expected, HPS_SHIM_OPENING, 0,
                                  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    struct hps_shim_region *region = hps_shim_map();
    if (region && (pthread_key_create(&hps_shim_key, hps_shim_release) != 0 ||
                   pthread_atfork(NULL, NULL, hps_shim_forked) != 0))
      region = NULL;
    hps_shim_shared = region;
    __atomic_store_n(&hps_shim_state, region ? HPS_SHIM_ON : HPS_SHIM_OFF, __ATOMIC_RELEASE);
    return region != NULL;
  }
  return expected == HPS_SHIM_ON;
}

/* The slot of a thread that counts, or a new one for this thread; NULL if nobody observes or all slots are taken. */
HPS_SHIM_SLOW struct hps_shim_slot *hps_shim_take(void) {
  struct hps_shim_header *header;
  struct hps_shim_slot *counting = hps_shim_counting_slot();
  uint32_t i;
  if (counting) return counting;
  if (hps_shim_taking || !hps_shim_open()) return NULL;
  hps_shim_taking = 1;
  header = &hps_shim_shared->header;
  for (i = 0; i < HPS_SHIM_SLOTS; i++) {
    struct hps_shim_slot *slot = &hps_shim_shared->slots[i];
    uint32_t seen = __atomic_load_n(&slot->live, __ATOMIC_RELAXED);
    uint32_t threads;
    if (seen == HPS_SHIM_LIVE ||
        !__atomic_compare_exchange_n(&slot->live, &seen, HPS_SHIM_LIVE, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
      continue;
    HPS_SHIM_PUT(slot->tid, (uint32_t)syscall(SYS_gettid));
    HPS_SHIM_PUT(slot->tag, 0);
    HPS_SHIM_PUT(slot->depth, slot->depth + HPS_SHIM_DEPTH(slot->depth) * HPS_SHIM_ENTRY_GONE);
    HPS_SHIM_PUT(slot->generation, slot->generation + 1);
    hps_shim_begin_events(slot);
    threads = __atomic_load_n(&header->threads, __ATOMIC_RELAXED);
    while (threads < i + 1 &&
           !__atomic_compare_exchange_n(&header->threads, &threads, i + 1, 0, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
    pthread_setspecific(hps_shim_key, slot);
    if (hps_shim_counting)
      hps_shim_counted = slot;
    else
      hps_shim_self = slot;
    hps_shim_taking = 0;
    return slot;
  }
  /* Not asked again: the next tags of this thread cost two tests. */
  __atomic_fetch_add(&header->refused, 1, __ATOMIC_RELAXED);
  return NULL;
}

/* This thread's slot, with its counts of now, or NULL. */
HPS_SHIM_FAST struct hps_shim_slot *hps_shim_thread(void) {
  struct hps_shim_slot *slot = hps_shim_self;
  if (HPS_SHIM_LIKELY(slot != NULL)) return slot;
  if (__atomic_load_n(&hps_shim_state, __ATOMIC_RELAXED) == HPS_SHIM_OFF) return NULL;
  return hps_shim_take();
}

/* Says what this thread is in from now on. */
HPS_SHIM_FAST void hps_shim_tag(uint64_t tag) {
  struct hps_shim_slot *slot = hps_shim_thread();
  if (HPS_SHIM_LIKELY(slot != NULL)) HPS_SHIM_PUT(slot->tag, tag);
}

/* Says what this thread is in until the matching hps_shim_pop. */
HPS_SHIM_FAST void hps_shim_push(uint64_t tag) {
  struct hps_shim_slot *slot = hps_shim_thread();
  if (HPS_SHIM_LIKELY(slot != NULL)) {
    uint64_t word = slot->depth, depth = HPS_SHIM_DEPTH(word);
    HPS_SHIM_NEXT(slot->depth, word + HPS_SHIM_ENTRY_MORE);
    HPS_SHIM_ORDER();
    if (HPS_SHIM_LIKELY(depth < HPS_SHIM_STACK)) HPS_SHIM_NEXT(slot->stack[depth], tag);
    HPS_SHIM_ORDER();
    HPS_SHIM_NEXT(slot->tag, tag);
  }
}

/* Says that this thread is again in what it was in before the last hps_shim_push. Deeper than the
 * stack the tag below is not known and is 0. */
HPS_SHIM_FAST void hps_shim_pop(void) {
  struct hps_shim_slot *slot = hps_shim_thread();
  if (HPS_SHIM_LIKELY(slot != NULL) && HPS_SHIM_DEPTH(slot->depth) > 0) {
    uint64_t word = slot->depth + HPS_SHIM_ENTRY_GONE, below = HPS_SHIM_DEPTH(word) - 1;
    HPS_SHIM_NEXT(slot->depth, word);
    HPS_SHIM_ORDER();
    HPS_SHIM_NEXT(slot->tag, below < HPS_SHIM_STACK ? slot->stack[below] : 0);
  }
}

/* Adds to one of the counters of this thread, which wrap around; a counter that does not exist is
 * left alone. */
HPS_SHIM_FAST void hps_shim_count(unsigned counter, uint64_t amount) {
  struct hps_shim_slot *slot = hps_shim_thread();
  if (HPS_SHIM_LIKELY(slot != NULL) && counter < HPS_SHIM_COUNTERS)
    HPS_SHIM_PUT(slot->counters[counter], slot->counters[counter] + amount);
}

/* A small tag with this text (its first 120 bytes), the same for the same text; 0 if nobody
 * observes or the table is full. Two threads that name the same text at the same moment may get two
 * tags with one text. Not for inner loops. */
HPS_SHIM_SLOW uint64_t hps_shim_name(const char *text) {
  uint64_t tag;
  size_t length = strlen(text);
  if (!hps_shim_open()) return 0;
  if (length > HPS_SHIM_NAME_TEXT_BYTES) {
    length = HPS_SHIM_NAME_TEXT_BYTES;
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) length--;
  }
  for (tag = 1; tag < HPS_SHIM_NAMES; tag++) {
    struct hps_shim_name *name = &hps_shim_shared->names[tag];
    uint32_t state = __atomic_load_n(&name->state, __ATOMIC_ACQUIRE);
    if (state == HPS_SHIM_NAME_READY && name->length == length &&
        memcmp(name->text, text, length) == 0)
      return tag;
    if (state == HPS_SHIM_NAME_EMPTY &&
        __atomic_compare_exchange_n(&name->state, &state, HPS_SHIM_NAME_WRITING, 0,
                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      memcpy(name->text, text, length);
      name->length = (uint32_t)length;
      __atomic_store_n(&name->state, HPS_SHIM_NAME_READY, __ATOMIC_RELEASE);
      return tag;
    }
  }
  __atomic_fetch_add(&hps_shim_shared->header.names_refused, 1, __ATOMIC_RELAXED);
  return 0;
}

/* Gives this thread's slot back now; the next tag takes one again. */
HPS_SHIM_SLOW void hps_shim_leave(void) {
  struct hps_shim_slot *slot = hps_shim_self ? hps_shim_self : hps_shim_counted;
  if (slot) {
    pthread_setspecific(hps_shim_key, NULL);
    hps_shim_release(slot);
  }
}

/* Waits until the observer lets the program run on, at most 10 seconds. */
HPS_SHIM_SLOW void hps_shim_wait(void) {
  int left = 10000;
  if (hps_shim_open())
    while (left-- > 0 && __atomic_load_n(&hps_shim_shared->header.gate, __ATOMIC_ACQUIRE))
      poll(NULL, 0, 1);
}

#ifdef __cplusplus
}

namespace hps_shim {
/* What this thread is in while the object lives. */
class scope {
 public:
  explicit scope(uint64_t tag) { hps_shim_push(tag); }
  ~scope() { hps_shim_pop(); }
  scope(const scope &) = delete;
  scope &operator=(const scope &) = delete;
};
}  // namespace hps_shim
#endif
#endif
