/* Which thread a shadow has: each as it runs, or the threads in turn. */
#ifndef HPS_SHADOW_THREADS_H
#define HPS_SHADOW_THREADS_H

#include "memory.h"

#define THREADS_KNOWN 64
/* A thread runs if the timer expired in it among so many signals; for no more signals than these one is waited for. */
#define LONGEST_WAIT 512

static struct thread {
  int32_t number;
  uint32_t shadows;
  uint64_t last_signal;
} known[THREADS_KNOWN];
static uint64_t waits_since;

static int runs(const struct thread *thread, uint64_t signal) {
  return thread->number && signal - thread->last_signal < LONGEST_WAIT;
}

/* The running thread with the fewest shadows, if one has fewer than `than`; NULL if none has. */
static struct thread *least_seen(uint64_t signal, uint32_t than) {
  struct thread *least = 0;
  for (unsigned i = 0; i < THREADS_KNOWN; i++)
    if (runs(&known[i], signal) && known[i].shadows < than) {
      least = &known[i];
      than = least->shadows;
    }
  return least;
}

/* Notes that the timer expired in this thread. A new one, and one that did not run for long, is owed nothing. NULL if
 * there is no room. */
static struct thread *note_running(int32_t number, uint64_t signal) {
  struct thread *place = 0, *least;
  for (unsigned i = 0; i < THREADS_KNOWN; i++) {
    if (known[i].number == number) {
      place = &known[i];
      break;
    }
    if (!runs(&known[i], signal)) place = &known[i];
  }
  if (!place) return 0;
  if (place->number != number || !runs(place, signal)) {
    if (place->number != number) *place = (struct thread){number, 0, 0};
    least = least_seen(signal, UINT32_MAX);
    if (least && place->shadows < least->shadows) place->shadows = least->shadows;
  }
  place->last_signal = signal;
  return place;
}

/* Whether this thread is to be forked now: none that runs has been seen less often, or that one was waited for in vain. */
static int is_in_turn(struct thread *thread, uint64_t signal) {
  struct thread *least;
  if (!thread) return 1;
  while ((least = least_seen(signal, thread->shadows)) &&
         kernel(NR_tgkill, region->pid, least->number, 0, 0) < 0)
    least->number = 0; /* it has ended */
  if (!least) return 1;
  if (!waits_since) waits_since = signal;
  if (signal - waits_since >= LONGEST_WAIT) return 1;
  __atomic_fetch_add(&region->waited, 1, __ATOMIC_RELAXED);
  return 0;
}

#endif
