/* The library that is preloaded into a program whose shadows are wanted: it forks them when a timer of the program's
 * processor time expires, and runs their code as copies (translate.h) under a policy of system calls (calls.h).
 *
 * A shadow is a sibling of the program (CLONE_PARENT): the supervisor's child. So the program never hears of it, and the
 * kernel ends it with the supervisor. With mode FULL the program itself runs as copies from its first constructor on and
 * makes its calls; with END_TO_END it also forks a shadow wherever a sample ends.
 *
 * No C library, no vector registers: what a shadow runs may be in the middle of either. */
#include "memory.h"

#define SIGNAL 23 /* SIGURG: ignored by default, so that one that comes with an exec does no harm */
#define VARIABLE "HPS_SHADOW_REGION="

static int32_t timer_id = -1;
static uint8_t c_stack[65536] __attribute__((aligned(64)));

extern char hps_restorer[] __attribute__((visibility("hidden")));
__asm__("hps_restorer:\n  mov $15, %eax\n  syscall\n");

static void set_action(int signal, void *handler, uint64_t flags) {
  struct action_of_signal action = {(uint64_t)handler, flags | SA_RESTORER, (uint64_t)hps_restorer,
                                    ~UINT64_C(0)};
  kernel(NR_rt_sigaction, signal, &action, 0, 8);
}

static void on_fault(int signal) { end_shadow(FAULT, (uint32_t)signal); }

static void note_identity(void) {
  program_pid = kernel(NR_getpid, 0, 0, 0, 0);
  program_tid = kernel(NR_gettid, 0, 0, 0, 0);
  program_parent = kernel(NR_getppid, 0, 0, 0, 0);
}

static void note_actions(void) {
  for (int signal = 1; signal <= 64; signal++) {
    kernel(NR_rt_sigaction, signal, 0, &actions[signal], 8);
    if (signal == SIGNAL) actions[signal] = (struct action_of_signal){0};
  }
}

/* Cuts a fresh shadow off from everything that others could notice. The program waits until `is_apart`. */
static void become_shadow(int copies_units) {
  static const int faults[] = {4, 5, 7, 8, 11};
  const uint64_t no_core[2] = {0, 0};
  is_shadow = 1;
  slot->pid = (int32_t)kernel(NR_getpid, 0, 0, 0, 0);
  __atomic_store_n(&slot->state, RUNNING, __ATOMIC_RELEASE);
  if (!leave_descriptors()) end_shadow(CALL_REFUSED, NR_close_range);
  kernel(NR_prctl, 1, 9, 0, 0); /* ends with the supervisor */
  if (kernel(NR_getppid, 0, 0, 0, 0) != region->supervisor ||
      __atomic_load_n(&region->closing, __ATOMIC_SEQ_CST))
    end_shadow(CLOSED, 0);
  kernel(NR_setrlimit, 4, no_core, 0, 0);
  if (!copies_units) note_actions();
  for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
    set_action(faults[i], on_fault, SA_SIGINFO | SA_ONSTACK);
  own_memory();
  __atomic_store_n(&slot->is_apart, 1, __ATOMIC_RELEASE);
  kernel(NR_futex, &slot->is_apart, 1, 1, 0);
  hold_numbers();
  for (int signal = 1; signal <= 64; signal++) {
    struct action_of_signal action = {0};
    kernel(NR_rt_sigaction, signal, 0, &action, 8);
    if (action.handler > 1 && action.handler != (uint64_t)on_fault) set_action(signal, 0, 0);
  }
}

/* What copied code finds through GS. */
static void prepare_state(void) {
  S.on_exit = (uint64_t)hps_on_exit;
  S.on_full = (uint64_t)hps_on_full;
  S.lookup = (uint64_t)hps_lookup;
  S.table = (uint64_t)table;
  S.stack = (uint64_t)(c_stack + sizeof c_stack);
  for (int i = 0; i < 2; i++) areas[i].at = areas[i].begin;
}

/* Makes the interrupted program go on as copies when the handler returns. 0 if that cannot be. */
static int begin_at(struct context *frame) {
  uint64_t gs = 0;
  kernel(NR_arch_prctl, 0x1004, &gs, 0, 0);
  if (gs && is_shadow) end_shadow(SEGMENT, 0);
  ranges_are_stale |= !is_shadow; /* the supervisor wants the map */
  prepare_state();
  going_to = frame->r[U_RIP];
  if (!is_shadow && (gs || !can_copy(going_to))) {
    close_slot(gs ? SEGMENT : FAR_CODE, 0);
    return 0;
  }
  kernel(NR_arch_prctl, 0x1001, &S, 0, 0);
  frame->r[U_RIP] = (uint64_t)copy_of(going_to)->entry;
  begin_chunk();
  slot->start_ns = now_ns() - forked_ns;
  return 1;
}

/* A free slot, taken; NULL if there is none. */
static struct slot *take_slot(void) {
  for (unsigned i = 1; i < SLOTS; i++) {
    uint32_t expected = FREE;
    if (__atomic_compare_exchange_n(&slot_at(i)->state, &expected, STARTING, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED))
      return slot_at(i);
  }
  return 0;
}

/* Waits, in the program, until a shadow holds nothing of the program's: it says so, or it has ended. A shadow that does
 * neither is killed. */
static void wait_until_apart(struct slot *taken, uint64_t sequence, int64_t pid) {
  const uint64_t pause[2] = {0, 1000000};
  for (int tries = 0; tries < 2000; tries++) {
    if (__atomic_load_n(&taken->is_apart, __ATOMIC_ACQUIRE) ||
        __atomic_load_n(&taken->state, __ATOMIC_ACQUIRE) == FREE ||
        __atomic_load_n(&taken->sequence, __ATOMIC_ACQUIRE) != sequence ||
        kernel(NR_getppid, 0, 0, 0, 0) != region->supervisor)
      return;
    kernel(NR_futex, &taken->is_apart, 0, 0, pause);
  }
  end_process(pid);
}

#define CLONE_FILES 0x400
#define CLONE_PARENT 0x8000
#define CLONE_UNTRACED 0x800000

/* Forks into a slot: 0 in the shadow, whose slot it is then. The program's table of descriptors is shared until the
 * shadow leaves it, if the kernel can leave and close it in one call: no copy of a descriptor is made that another thread
 * could miss. */
static int64_t fork_into(struct slot *taken) {
  uint64_t before = now_ns(), sequence;
  int64_t pid;
  taken->ending = taken->detail = taken->in_call = 0;
  taken->pid = 0;
  taken->instructions = taken->events = 0;
  taken->units = taken->head = taken->tail = taken->flushes = 0;
  taken->is_apart = taken->opens_files = 0;
  taken->held_ns = 0;
  sequence = __atomic_add_fetch(&region->forks, 1, __ATOMIC_RELAXED);
  taken->sequence = sequence;
  pid = kernel(NR_clone, CLONE_PARENT | CLONE_UNTRACED | (can_leave_table ? CLONE_FILES : 0), 0, 0, 0);
  if (pid == 0) {
    slot = taken;
    forked_ns = before;
    S.ring = 0;
    return 0;
  }
  if (pid < 0) {
    __atomic_fetch_sub(&region->forks, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&region->failed, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&taken->state, FREE, __ATOMIC_RELEASE);
  } else {
    wait_until_apart(taken, sequence, pid);
  }
  __atomic_fetch_add(&region->fork_ns, now_ns() - before, __ATOMIC_RELAXED);
  return pid;
}

/* A shadow has one thread, whichever took the signal. */
static void note_threads(void) {
  struct status status;
  if (kernel(NR_newfstatat, -100, "/proc/self/task", &status, 0) == 0 && status.links > 3)
    __atomic_fetch_add(&region->threads, 1, __ATOMIC_RELAXED);
}

static unsigned live_shadows(void) {
  unsigned live = 0;
  for (unsigned i = 1; i < SLOTS; i++) {
    uint32_t state = __atomic_load_n(&slot_at(i)->state, __ATOMIC_RELAXED);
    live += state == STARTING || state == RUNNING;
  }
  return live;
}

/* Whether monitor and forks have taken as much of the program's time as they may. The first fork, whose cost nobody
 * knows, is free. */
static int is_over_budget(void) {
  uint64_t cpu[2];
  if (!region->most_overhead_millionths || !region->forks) return 0;
  kernel(NR_clock_gettime, 2 /* of the process, on processors */, cpu, 0, 0);
  return region->monitor_ns / 1000 * 1000000 >
         (cpu[0] * 1000000 + cpu[1] / 1000) * region->most_overhead_millionths;
}

/* A call that was interrupted by the timer's signal and that the kernel does not begin anew: it is begun anew here, if
 * the code in front of it says which one it was. */
static void restart_call(struct context *frame) {
  const uint8_t *code = (const uint8_t *)frame->r[U_RIP];
  if (frame->r[U_RAX] != (uint64_t)-EINTR || (frame->r[U_RIP] & 4095) < 7 || code[-2] != 0x0f ||
      code[-1] != 0x05 || code[-7] != 0xb8)
    return;
  frame->r[U_RAX] = (uint32_t)signed_at(code - 6, 4);
  frame->r[U_RIP] -= 2;
  if (frame->r[U_RAX] == NR_nanosleep && frame->r[U_RSI]) frame->r[U_RDI] = frame->r[U_RSI];
  if (frame->r[U_RAX] == 230 && !(frame->r[U_RSI] & 1) && frame->r[U_R10])
    frame->r[U_RDX] = frame->r[U_R10];
  __atomic_fetch_add(&region->restarted, 1, __ATOMIC_RELAXED);
}

static void begin_full(struct context *frame);

/* The monitor. */
static void on_signal(int signal, const int32_t *info, struct context *frame) {
  uint64_t began = now_ns(), signals, live;
  int is_wanted;
  (void)signal;
  if (kernel(NR_getpid, 0, 0, 0, 0) != region->pid) return;
  if (region->mode != SAMPLE) {
    begin_full(frame);
    return;
  }
  if (info[2] != -2 /* SI_TIMER */) return;
  if (kernel(NR_getppid, 0, 0, 0, 0) != region->supervisor || region->closing) {
    kernel(NR_timer_delete, timer_id, 0, 0, 0);
    return;
  }
  restart_call(frame);
  signals = __atomic_add_fetch(&region->signals, 1, __ATOMIC_RELAXED);
  live = __atomic_add_fetch(&region->live, live_shadows(), __ATOMIC_RELAXED);
  is_wanted = live * UINT64_C(1000000) < region->load_millionths * signals;
  if (is_wanted && is_over_budget()) {
    __atomic_fetch_add(&region->spared, 1, __ATOMIC_RELAXED);
    is_wanted = 0;
  }
  if (is_wanted) {
    static uint32_t is_forking; /* in another thread */
    int alone = !__atomic_exchange_n(&is_forking, 1, __ATOMIC_ACQUIRE);
    struct slot *taken = alone ? take_slot() : 0;
    if (!taken) {
      __atomic_fetch_add(&region->crowded, 1, __ATOMIC_RELAXED);
    } else {
      note_descriptors();
      note_identity();
      note_threads();
      if (fork_into(taken) == 0) {
        remaining = (int64_t)region->sample;
        become_shadow(0);
        begin_at(frame);
        return;
      }
      __atomic_fetch_add(&region->live, 1, __ATOMIC_RELAXED);
    }
    if (alone) __atomic_store_n(&is_forking, 0, __ATOMIC_RELEASE);
  }
  __atomic_fetch_add(&region->monitor_ns, now_ns() - began, __ATOMIC_RELAXED);
}

/* --- the program as a whole --- */

/* Forks a shadow where the instrumented program is, once there is room for it. */
static void fork_stretch(void) {
  struct slot *taken, *whole = slot;
  uint32_t last, in_call;
  const uint64_t pause[2] = {0, 100000};
  while (!(taken = take_slot())) {
    if (kernel(NR_getppid, 0, 0, 0, 0) != region->supervisor) return;
    kernel(NR_nanosleep, pause, 0, 0, 0);
  }
  note_descriptors();
  remaining = (int64_t)region->sample;
  in_call = S.ring && (last = ((uint32_t *)S.ring)[-1]) != BREAK &&
            (slot->unit[last].kind == CALL || slot->unit[last].kind == CALL_INDIRECT);
  if (fork_into(taken) != 0) return;
  slot->in_call = in_call;
  become_shadow(1);
  copy_bytes(slot->unit, whole->unit, units_made * sizeof *slot->unit);
  __atomic_store_n(&slot->units, units_made, __ATOMIC_RELEASE);
  slot->start_ns = now_ns() - forked_ns;
}

static void begin_full(struct context *frame) {
  set_action(SIGNAL, 0, 0);
  slot = slot_at(0);
  slot->pid = region->pid;
  slot->state = RUNNING;
  forked_ns = now_ns();
  note_identity();
  note_actions();
  if (region->mode == END_TO_END) remaining = (int64_t)region->sample;
  if (begin_at(frame) && region->mode == END_TO_END) {
    S.ring = 0;
    fork_stretch();
    begin_chunk();
  }
}

static int64_t make_child(uint64_t nr, const uint64_t *a, uint64_t next) {
  uint64_t b[6] = {a[0], a[1], a[2], a[3], a[4], a[5]}, own_stack = 0;
  uint64_t extended[16] = {0};
  S.native = next;
  if (nr == NR_clone && a[1]) {
    own_stack = 1;
    b[1] -= 8;
    *(uint64_t *)b[1] = next;
  }
  if (nr == NR_clone3 && a[1] >= 64 && a[1] <= sizeof extended) {
    copy_bytes(extended, (void *)a[0], a[1]);
    if (extended[5]) {
      own_stack = 1;
      extended[6] -= 8;
      *(uint64_t *)(extended[5] + extended[6]) = next;
    }
    b[0] = (uint64_t)extended;
  } else if (nr == NR_clone3) {
    return -ENOSYS;
  }
  __atomic_fetch_add(&region->threads, 1, __ATOMIC_RELAXED);
  return hps_call_for_child((int64_t)nr, b, own_stack);
}

static int64_t call_of_program(uint64_t next) {
  uint64_t nr = S.rax;
  uint64_t a[6] = {S.rdi, S.rsi, S.rdx, S.r8_15[2], S.r8_15[0], S.r8_15[1]};
  int64_t result;
  if (pending) return AGAIN;
  if (nr < CALLS) region->calls[nr][RUN]++;
  switch (nr) {
  case NR_exit:
  case NR_exit_group:
    close_slot(PROGRAM_ENDED, 0);
    is_detached = 1;
    for (;;) plain(nr, a);
  case NR_execve:
  case NR_execveat:
    end_chunk();
    slot->ending = EXECUTES;
    result = plain(nr, a);
    slot->ending = NOT_ENDED;
    begin_chunk();
    return result;
  case NR_rt_sigaction: return action_of_program(a);
  case NR_rt_sigreturn: from_frame(S.rsp);
  case NR_clone:
  case NR_fork:
  case NR_vfork:
  case NR_clone3: return make_child(nr, a, next);
  case NR_munmap:
  case NR_mremap:
  case NR_mprotect: code_may_change(a[0], a[1]); break;
  case NR_mmap:
    if (a[3] & 16) code_may_change(a[0], a[1]);
    break;
  default: break;
  }
  return hps_call((int64_t)nr, a, (const uint32_t *)&pending);
}

/* --- between units --- */

static uint64_t chunk_is_full(uint64_t resume) {
  if (pending) {
    /* The unit has not run yet. */
    uint32_t *last = (uint32_t *)(S.ring - 4);
    uint64_t pc = slot->unit[*last].start;
    *last = BREAK;
    end_chunk();
    begin_chunk();
    deliver(pc);
  }
  end_chunk();
  if (remaining <= 0) {
    if (is_shadow) {
      S.ring = 0;
      end_shadow(BUDGET, 0);
    }
    fork_stretch();
  }
  begin_chunk();
  return resume;
}

static uint64_t leave(uint64_t argument, uint64_t reason) {
  struct copy *copy;
  if (reason == ON_FULL) return chunk_is_full(argument);
  if (reason == ON_MISS) {
    going_to = argument;
    copy = copy_of(argument);
    table[argument & 65535] = (struct entry){-argument, (uint64_t)copy->entry};
  } else {
    const struct exit exit = exits[argument];
    going_to = exit.target;
    if (exit.kind == STOP) end_shadow(FOREIGN_CODE, 0);
    if (exit.kind == CALL_OF_SYSTEM) {
      int64_t result = is_shadow ? call_of_shadow() : call_of_program(exit.target);
      if (result == AGAIN) deliver(exit.target - 2);
      S.rax = (uint64_t)result;
      S.rcx = exit.target;
      S.r8_15[3] = S.flags;
      copy = copy_of(exit.target);
    } else {
      uint32_t before = epoch;
      copy = copy_of(exit.target);
      if (epoch == before) link_exit(&exits[argument], copy->entry);
    }
  }
  if (pending) deliver(copy->pc);
  return (uint64_t)copy->entry;
}

/* --- the start --- */

/* The value of the variable that names the region. */
static int find_variable(char *to, uint64_t bytes) {
  const uint64_t most = UINT64_C(4) << 20;
  char *text = map_memory(0, most, PROT_RW, MAP_PRIVATE_ANONYMOUS);
  int64_t fd = kernel(NR_open, "/proc/self/environ", 0, 0, 0), got;
  uint64_t size = 0;
  int found = 0;
  if (!text) return 0;
  if (fd >= 0) {
    while (size < most - 1 && (got = kernel(NR_read, fd, text + size, most - 1 - size, 0)) > 0)
      size += (uint64_t)got;
    kernel(NR_close, fd, 0, 0, 0);
  }
  for (char *at = text; at < text + size && !found; at++) {
    if (begins(at, VARIABLE)) {
      uint64_t i = 0;
      at += sizeof VARIABLE - 1;
      for (; at[i] && i + 1 < bytes; i++) to[i] = at[i];
      to[i] = 0;
      found = 1;
    }
    while (*at) at++;
  }
  kernel(NR_munmap, text, most, 0, 0);
  return found;
}

/* Room for copies within reach of the code at `near`: below it, so that the program's heap can grow, else above. */
static uint8_t *find_room(uint64_t near) {
  const uint64_t step = UINT64_C(64) << 20, reach = UINT64_C(0x70000000);
  for (int above = 0; above < 2; above++)
    for (uint64_t away = above ? UINT64_C(0x60000000) : 2 * step; away < reach; away += step) {
      uint64_t at = (above ? near + away : near - away) & ~UINT64_C(0xfffff);
      if (!above && near < away + step) break;
      uint8_t *got = map_memory(at, AREA_BYTES, PROT_RWX,
                                MAP_PRIVATE_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE);
      if ((uint64_t)got == at) return got;
      if (got) kernel(NR_munmap, got, AREA_BYTES, 0, 0);
    }
  return 0;
}

/* Maps the region where addresses are multiples of a chunk. */
static struct header *map_region(const char *path) {
  int64_t fd = kernel(NR_open, path, 2 | 02000000, 0, 0), got;
  uint64_t at;
  if (fd < 0) return 0;
  at = (uint64_t)map_memory(0, REGION_BYTES + CHUNK_BYTES, 0, MAP_PRIVATE_ANONYMOUS | MAP_NORESERVE);
  if (!at) return 0;
  at = (at + CHUNK_BYTES - 1) & ~(uint64_t)(CHUNK_BYTES - 1);
  got = kernel6(NR_mmap, at, REGION_BYTES, PROT_RW, 0x11 /* shared, fixed */, (uint64_t)fd, 0);
  kernel(NR_close, fd, 0, 0, 0);
  return got == (int64_t)at ? (struct header *)at : 0;
}

static void start_timer(void) {
  struct {
    uint64_t value;
    int32_t signal, notify;
    uint64_t pad[6];
  } event = {0, SIGNAL, 0, {0}};
  uint64_t period[4] = {region->period_ns / 1000000000, region->period_ns % 1000000000, 0, 0};
  period[2] = period[0];
  period[3] = period[1];
  /* Processor time: a program that sleeps is not woken. */
  if (kernel(NR_timer_create, 2, &event, &timer_id, 0) < 0) return;
  kernel(NR_timer_settime, timer_id, 0, period, 0);
}

__attribute__((constructor)) static void start(void) {
  static char path[256];
  int32_t nobody = 0;
  if (!find_variable(path, sizeof path)) return;
  region = map_region(path);
  if (!region || region->magic != MAGIC || kernel(NR_getppid, 0, 0, 0, 0) != region->supervisor) return;
  /* A program that is executed later in this process, and children, are not profiled. */
  if (!__atomic_compare_exchange_n(&region->pid, &nobody, (int32_t)kernel(NR_getpid, 0, 0, 0, 0), 0,
                                   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    return;
  read_ranges();
  if (executables) areas[0].begin = find_room(executable[0].start);
  areas[1].begin = find_room((uint64_t)start);
  for (int i = 0; i < 2; i++)
    if (areas[i].begin) areas[i].at = areas[i].begin, areas[i].end = areas[i].begin + AREA_BYTES;
  /* Closes nothing: no descriptor has this number. Alone, the process leaves no table. */
  can_leave_table = kernel(NR_close_range, UINT32_MAX, UINT32_MAX, CLOSE_RANGE_UNSHARE, 0) == 0;
  set_action(SIGNAL, on_signal, SA_SIGINFO | SA_RESTART | SA_ONSTACK);
  if (region->mode == SAMPLE)
    start_timer();
  else
    kernel(NR_tgkill, kernel(NR_getpid, 0, 0, 0, 0), kernel(NR_gettid, 0, 0, 0, 0), SIGNAL, 0);
}
