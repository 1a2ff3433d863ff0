/* A budget of overhead: what the monitor, forks and copies of pages have cost the program, what the next fork is expected
 * to cost, and whether the program has earned that.
 *
 * Faults are counted by the kernel (getrusage). Those beyond the program's growth since a fork, and beyond the usual rate
 * of such faults, are the fork's, at most one for each page that was private then. A fault costs what was measured when
 * the monitor began, or, where there are many, the system time beyond its usual rate. What forks have cost is learned by
 * private page. */
#ifndef HPS_SHADOW_BUDGET_H
#define HPS_SHADOW_BUDGET_H

#include "memory.h"

#define MADV_COLLAPSE 25
/* A signal until its handler runs, and the way back: docs/formats/shadows.md, `signal_ns`. */
#define SIGNAL_NS 1100
/* Pages that cost as much as what a fork costs without any. */
#define FIXED_PAGES 2048
/* Of a first fork, whose cost nobody knows: without pages, for each page, and to put a page back into a huge one. */
#define FIRST_NS 1000000
#define FIRST_PAGE_NS 100
#define FIRST_HUGE_NS 2000
/* The most that a fault is believed to cost, and faults from which on system time says it. */
#define MOST_FAULT_NS 12000
#define MANY_FAULTS 2000
/* Processor time after a fork, without a shadow alive, behind which the program's faults are its own again. */
#define SETTLED_NS UINT64_C(2000000000)
/* Processor time after a fork in which pages that are expected to be copied still may be. */
#define LATE_NS UINT64_C(1000000000)
/* Huge pages without which a program's own code may take twice as long. */
#define HUGE_LOSS_BYTES (UINT64_C(64) << 20)
/* Bytes that one signal puts back into huge pages. */
#define RESTORED_AT_ONCE (UINT64_C(16) << 20)
/* How much longer than asked for a sample may become, and instructions of a shadow in a microsecond before one ended. */
#define LONGEST_SAMPLES 64
#define FIRST_SPEED 50

struct usage {
  uint64_t cpu_ns, system_ns, faults;
};

static struct {
  struct usage last, at_fork;
  /* As usual, in a second of processor time: faults that are no growth, and system time. */
  int64_t faults_a_second, system_ns_a_second;
  uint64_t last_pages;
  uint64_t pages, faults, fork_ns, lost_ns, restore_ns, expected_ns; /* of the last fork */
  uint64_t closed_ns, closed_faults; /* copies of the forks before */
  uint64_t learned_ns, learned_pages;
  struct range split[HUGE_RANGES]; /* huge pages when it was forked, which are not put back yet */
  unsigned splits;
  uint64_t split_bytes;
  int is_open;
} cost;
/* The kernel can put small pages back into huge ones (Linux 6.1). */
static int can_restore;

static struct usage usage_so_far(void) {
  uint64_t u[18] = {0};
  kernel(NR_getrusage, 0, u, 0, 0);
  return (struct usage){(u[0] + u[2]) * 1000000000 + (u[1] + u[3]) * 1000,
                        u[2] * 1000000000 + u[3] * 1000, u[8]};
}

/* Processor time of this thread. The forks of an attached program are made by another process, for which it waits: there
 * it is time. */
static uint64_t own_ns(void) {
  uint64_t t[2];
  kernel(NR_clock_gettime, region->is_attached ? 1 : 3, t, 0, 0);
  return t[0] * 1000000000 + t[1];
}

/* What it takes to touch a page for the first time, in nanoseconds of this thread. */
static uint64_t price_of_fault(void) {
  const uint64_t pages = 64;
  uint64_t began;
  uint8_t *room = map_memory(0, pages * 4096, PROT_RW, MAP_PRIVATE_ANONYMOUS);
  if (!room) return MOST_FAULT_NS;
  began = own_ns();
  for (uint64_t i = 0; i < pages; i++) ((volatile uint8_t *)room)[i * 4096] = 1;
  began = own_ns() - began;
  kernel(NR_munmap, room, pages * 4096, 0, 0);
  return began / pages + 1;
}

static int64_t toward(int64_t usual, int64_t seen, uint64_t passed_ns, uint64_t horizon_ns) {
  if (passed_ns > horizon_ns) passed_ns = horizon_ns;
  return usual + (seen - usual) * (int64_t)(passed_ns / 1000) / (int64_t)(horizon_ns / 1000);
}

static int64_t in(uint64_t passed_ns, int64_t a_second) {
  return (int64_t)(passed_ns / 1000) * a_second / 1000000;
}

/* What code may lose in this time because so many bytes lie in small pages. */
static uint64_t loss(uint64_t ns, uint64_t bytes) {
  if (bytes > HUGE_LOSS_BYTES) bytes = HUGE_LOSS_BYTES;
  return ns / 2 / (HUGE_LOSS_BYTES >> 12) * (bytes >> 12);
}

/* What copies of pages since the last fork have cost. */
static uint64_t cost_of_copies(void) {
  /* A copy reads a page besides. */
  uint64_t by_price = cost.faults * region->fault_ns * 3 / 2, most = cost.faults * MOST_FAULT_NS;
  int64_t system =
      (int64_t)(cost.last.system_ns - cost.at_fork.system_ns) -
      in(cost.last.cpu_ns - cost.at_fork.cpu_ns, cost.system_ns_a_second);
  if (cost.faults >= MANY_FAULTS && system > (int64_t)by_price)
    by_price = (uint64_t)system < most ? (uint64_t)system : most;
  return by_price + cost.lost_ns;
}

/* Looks at what the program has used since the last look. `live`: shadows that are alive. */
static void look(unsigned live) {
  struct usage now = usage_so_far();
  uint64_t passed = now.cpu_ns - cost.last.cpu_ns, since = now.cpu_ns - cost.at_fork.cpu_ns;
  int64_t faults, system, grown = (int64_t)(region->private_pages - cost.last_pages);
  int is_first = !cost.last.cpu_ns, knows_growth = cost.last_pages > 0;
  int is_usual = !cost.is_open || (!live && since > SETTLED_NS);
  uint64_t horizon = cost.is_open && is_usual ? 10 * LATE_NS : LATE_NS / 2;
  if (is_first) region->fault_ns = price_of_fault();
  if (passed < 1000) return;
  if (is_first) horizon = passed;
  faults = (int64_t)(now.faults - cost.last.faults) - (grown > 0 ? grown : 0);
  faults = (faults > 0 ? faults : 0) * 1000000 / (int64_t)(passed / 1000);
  system = (int64_t)(now.system_ns - cost.last.system_ns) * 1000 / (int64_t)(passed / 1000) * 1000;
  if (cost.split_bytes && passed > now.system_ns - cost.last.system_ns)
    cost.lost_ns += loss(passed - (now.system_ns - cost.last.system_ns), cost.split_bytes);
  cost.last = now;
  cost.last_pages = region->private_pages;
  if (cost.is_open) {
    int64_t made = (int64_t)(now.faults - cost.at_fork.faults) - in(since, cost.faults_a_second);
    grown = (int64_t)(cost.last_pages - cost.pages);
    if (grown > 0) made -= grown;
    if (made > (int64_t)cost.pages) made = (int64_t)cost.pages;
    if (made > (int64_t)cost.faults) cost.faults = (uint64_t)made;
  }
  if (knows_growth && (is_usual || faults < cost.faults_a_second))
    cost.faults_a_second = toward(cost.faults_a_second, faults, passed, horizon);
  if (is_usual) cost.system_ns_a_second = toward(cost.system_ns_a_second, system, passed, horizon);
  region->cpu_ns = now.cpu_ns;
  region->copied = cost.closed_faults + cost.faults;
  region->copied_ns = cost.closed_ns + (cost.is_open ? cost_of_copies() : 0);
}

/* Puts pages together that were huge before a fork, some at each signal, once no shadow shares them. */
static void restore_huge_pages(void) {
  uint64_t began = own_ns(), left = RESTORED_AT_ONCE;
  if (!can_restore) return;
  while (cost.splits && left) {
    struct range *range = &cost.split[cost.splits - 1];
    uint64_t bytes = range->end - range->start < left ? range->end - range->start : left;
    kernel(NR_madvise, range->start, bytes, MADV_COLLAPSE, 0);
    range->start += bytes;
    cost.split_bytes -= bytes < cost.split_bytes ? bytes : cost.split_bytes;
    left -= bytes;
    if (range->start >= range->end) cost.splits--;
  }
  cost.restore_ns += own_ns() - began;
}

static uint64_t scaled(uint64_t ns, uint64_t from_pages, uint64_t to_pages) {
  return ns / (from_pages + FIXED_PAGES) * (to_pages + FIXED_PAGES);
}

/* What a fork is expected to cost now. */
static uint64_t expected_cost(uint64_t pages) {
  uint64_t price = 2 * region->fault_ns, so_far = cost.last.system_ns / (cost.last.faults + 1), expected;
  uint64_t huge = region->huge_bytes, back = 0;
  if (cost.learned_ns) {
    expected = scaled(cost.learned_ns, cost.learned_pages, pages);
  } else {
    for (unsigned i = 0; can_restore && i < region->huge_ranges && i < HUGE_RANGES; i++)
      back += region->huge[i][1] - region->huge[i][0];
    if (back > huge) back = huge;
    if (so_far > 4000) so_far = 4000;
    if (so_far > price) price = so_far;
    /* Each page is written, and pages that cannot be put back are lost for as long as the program ran so far. */
    expected = FIRST_NS + pages * (price + FIRST_PAGE_NS) + (back >> 12) * FIRST_HUGE_NS +
               loss(LATE_NS / 10, back) + loss(cost.last.cpu_ns, huge - back);
  }
  if (cost.is_open) {
    uint64_t last = scaled(cost.fork_ns + cost_of_copies() + cost.restore_ns, cost.pages, pages);
    if (last > expected) expected = last;
  }
  return expected;
}

/* Whether the program has earned what a fork is expected to cost. */
static int is_earned(void) {
  uint64_t pages = region->private_pages, since = cost.last.cpu_ns - cost.at_fork.cpu_ns;
  uint64_t spent, expected, earned, to_come = 0;
  if (!pages) return 0; /* the supervisor has not looked yet */
  expected = expected_cost(pages);
  spent = region->spent_ns + region->signals * SIGNAL_NS + region->copied_ns;
  earned = cost.last.cpu_ns / 1000000 * region->most_overhead_millionths;
  if (cost.is_open && since < LATE_NS) {
    uint64_t so_far = cost.fork_ns + cost_of_copies() + cost.restore_ns;
    if (so_far < cost.expected_ns)
      to_come = (cost.expected_ns - so_far) / 1000 * ((LATE_NS - since) / 1000) / (LATE_NS / 1000) * 1000;
  }
  region->expected_ns = expected;
  region->expected_pages = pages;
  return !(can_restore && cost.splits) && spent + to_come + expected <= earned;
}

/* Instructions of the next shadow: where the budget makes forks rare, as many as keep the wanted number of shadows alive
 * until the next fork is earned. */
static uint64_t length_of_sample(void) {
  uint64_t sample = region->sample, most, wanted, speed = FIRST_SPEED, between_us;
  most = sample >> 50 ? sample : sample * LONGEST_SAMPLES;
  if (!region->most_overhead_millionths || region->huge_bytes) return sample;
  if (region->ended_ns > 1000000) speed = region->ended_instructions * 1000 / region->ended_ns + 1;
  between_us = region->expected_ns / (region->most_overhead_millionths / 1000 + 1);
  wanted = between_us * speed / 1000 * region->load_millionths / 1000;
  return wanted < sample ? sample : wanted > most ? most : wanted;
}

/* Counts and learns what the last fork has cost, in front of the next one. */
static void close_fork(void) {
  uint64_t copies = cost_of_copies(), whole = cost.fork_ns + copies + cost.restore_ns;
  uint64_t before = cost.learned_ns ? scaled(cost.learned_ns, cost.learned_pages, cost.pages) : cost.expected_ns;
  if (!cost.is_open) return;
  cost.learned_ns = whole > before ? whole : (whole + before) / 2;
  cost.learned_pages = cost.pages;
  cost.closed_ns += copies;
  cost.closed_faults += cost.faults;
  cost.is_open = 0;
}

/* Begins to count for a fork that took `fork_ns`. */
static void open_fork(uint64_t fork_ns) {
  unsigned ranges = __atomic_load_n(&region->huge_ranges, __ATOMIC_ACQUIRE);
  close_fork();
  cost.last = cost.at_fork = usage_so_far();
  cost.pages = cost.last_pages = region->private_pages;
  cost.faults = cost.lost_ns = cost.restore_ns = 0;
  cost.fork_ns = fork_ns;
  cost.expected_ns = region->expected_ns;
  cost.split_bytes = region->huge_bytes;
  cost.is_open = 1;
  for (cost.splits = 0; cost.splits < ranges && cost.splits < HUGE_RANGES; cost.splits++) {
    cost.split[cost.splits].start = region->huge[cost.splits][0];
    cost.split[cost.splits].end = region->huge[cost.splits][1];
  }
}

#endif
