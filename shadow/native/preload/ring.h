/* The ring of events, which the supervisor reads, and the end of a shadow. */
#ifndef HPS_SHADOW_RING_H
#define HPS_SHADOW_RING_H

#include "signals.h"

/* Instructions to the end of the sample. */
static int64_t remaining = INT64_MAX;
static uint64_t instructions, events;
static uint32_t chunk;
static uint64_t forked_ns;

static void begin_chunk(void) {
  uint32_t head = slot->head, events_left = CHUNK_EVENTS;
  for (;;) {
    uint32_t tail = __atomic_load_n(&slot->tail, __ATOMIC_ACQUIRE);
    uint64_t pause[2] = {0, 50000000};
    int is_full = head - tail >= CHUNKS;
    /* An orphan looks at each chunk: nothing else ends it. */
    if ((is_full || region->is_attached) &&
        (__atomic_load_n(&region->closing, __ATOMIC_RELAXED) || supervisor_is_gone())) {
      S.ring = 0;
      end_shadow(CLOSED, 0);
    }
    if (!is_full) break;
    kernel(NR_futex, &slot->tail, 0, tail, pause);
  }
  if (remaining != INT64_MAX) {
    /* So many events that the sample does not end within them, if they are as long as those before. */
    uint64_t length = events ? instructions / events + 1 : 8, fit = remaining > 0 ? (uint64_t)remaining / length : 0;
    fit -= fit / 4;
    if (fit < events_left) events_left = fit ? (uint32_t)fit : 1;
  }
  chunk = head % CHUNKS;
  slot->first[chunk] = CHUNK_EVENTS - events_left;
  S.ring = (uint64_t)&slot->ring[chunk][CHUNK_EVENTS - events_left];
  S.value = (uint64_t)slot->value[chunk];
}

/* Hands the events so far to the supervisor. */
static void end_chunk(void) {
  uint32_t first = slot->first[chunk];
  uint32_t count = (uint32_t)((S.ring - (uint64_t)&slot->ring[chunk][first]) / 4);
  uint64_t sum = 0;
  for (uint32_t i = first; i < first + count; i++)
    if (slot->ring[chunk][i] != BREAK) sum += slot->unit[slot->ring[chunk][i]].instructions;
  instructions += sum;
  events += count;
  slot->instructions += sum;
  slot->events += count;
  if (remaining != INT64_MAX) remaining -= (int64_t)sum;
  slot->count[chunk] = count;
  __atomic_store_n(&slot->head, slot->head + 1, __ATOMIC_RELEASE);
  kernel(NR_futex, &slot->head, 1, 1, 0);
}

/* Control goes on where no transfer leads. */
static void put_break(void) {
  *(uint32_t *)S.ring = BREAK;
  S.ring += 4;
  if ((S.ring & (CHUNK_BYTES - 1)) == 0) {
    end_chunk();
    begin_chunk();
  }
}

static void close_slot(enum ending ending, uint32_t detail) {
  if (S.ring) end_chunk();
  slot->life_ns = now_ns() - forked_ns;
  slot->ending = ending;
  slot->detail = detail;
  if (ending == BUDGET) {
    __atomic_fetch_add(&region->ended_instructions, slot->instructions, __ATOMIC_RELAXED);
    __atomic_fetch_add(&region->ended_ns, slot->life_ns, __ATOMIC_RELAXED);
  }
  __atomic_store_n(&slot->state, ENDED, __ATOMIC_RELEASE);
  kernel(NR_futex, &slot->head, 1, 1, 0);
}

/* Ends a shadow. A program that runs instrumented goes on without instrumentation instead. */
static void end_shadow(enum ending ending, uint32_t detail) {
  close_slot(ending, detail);
  if (is_shadow)
    for (;;) kernel(NR_exit_group, 0, 0, 0, 0);
  is_detached = 1;
  if (pending) {
    kernel(NR_rt_tgsigqueueinfo, program_pid, program_tid, pending, pending_info);
    kernel(NR_rt_sigprocmask, 2, &saved_mask, 0, 8);
  }
  go_on_at((const uint8_t *)going_to);
}

#endif
