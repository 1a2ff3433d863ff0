/* The library that is put into a program whose shadows are wanted: it forks them when a timer of the program's
 * processor time expires, and runs their code as copies (translate.h) under a policy of system calls (calls.h).
 *
 * The loader preloads it, or a tracer injects it into a program that has no loader or runs already (src/inject.rs).
 *
 * A shadow is a sibling of the program (CLONE_PARENT): the supervisor's child. So the program never hears of it, and the
 * kernel ends it with the supervisor. If the supervisor is not the program's parent, a shadow is an orphan, which the
 * system's init adopts, and ends once the supervisor shows no sign of life.
 *
 * With mode FULL the program itself runs as copies from its first constructor on and makes its calls; with END_TO_END it
 * also forks a shadow wherever a sample ends.
 *
 * No C library, no vector registers: what a shadow runs may be in the middle of either. */
#include "budget.h"
#include "threads.h"

#define SIGNAL 23 /* SIGURG: ignored by default, so that one that comes with an exec does no harm */
#define VARIABLE "HPS_SHADOW_REGION="

static int32_t timer_id = -1;
__attribute__((used)) static uint8_t c_stack[65536] __attribute__((aligned(64)));
/* The program's own action for SIGNAL. */
static struct action_of_signal own_action;

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
    if (signal == SIGNAL) actions[signal] = own_action;
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
  if (!region->is_attached) kernel(NR_prctl, 1, 9, 0, 0); /* ends with the supervisor */
  if (supervisor_is_gone() ||
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
  for (int i = 0; i < AREAS; i++) areas[i].at = areas[i].begin;
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
        supervisor_is_gone())
      return;
    kernel(NR_futex, &taken->is_apart, 0, 0, pause);
  }
  end_process(pid);
}

#define CLONE_FILES 0x400
#define CLONE_PARENT 0x8000
#define CLONE_UNTRACED 0x800000

/* Forks as `clone` with these flags, from a process that shares the program's memory, holds the calling thread up
 * (CLONE_VFORK), writes the number of its child and exits. Returns the number of this process; 0 in its child. */
int64_t hps_fork_orphan(uint64_t flags, int64_t *child) __attribute__((visibility("hidden")));
__asm__(
    "hps_fork_orphan:\n"
    "  mov %rdi, %r8\n"
    "  mov %rsi, %r9\n"
    "  mov $0x804700, %edi\n" /* CLONE_VM, CLONE_FS, CLONE_FILES, CLONE_VFORK, CLONE_UNTRACED; no signal at its end */
    "  xor %esi, %esi\n"
    "  xor %edx, %edx\n"
    "  xor %r10d, %r10d\n"
    "  mov $56, %eax\n"
    "  syscall\n"
    "  test %rax, %rax\n"
    "  jnz 1f\n"
    "  mov %r8, %rdi\n"
    "  mov $56, %eax\n"
    "  syscall\n"
    "  test %rax, %rax\n"
    "  jz 1f\n"
    "  mov %rax, (%r9)\n"
    "  mov $60, %eax\n"
    "  xor %edi, %edi\n"
    "  syscall\n"
    "1:\n"
    "  ret\n");

/* Forks a process that is not a child of the program's: neither `wait` nor SIGCHLD tells of it. */
static int64_t fork_orphan(uint64_t flags) {
  const uint64_t all_kinds = 0x40000000; /* __WALL */
  int64_t orphan = -ECHILD, parent = hps_fork_orphan(flags, &orphan);
  if (parent > 0) kernel(NR_wait4, parent, 0, all_kinds, 0);
  return parent > 0 ? orphan : parent;
}

/* Forks into a slot: 0 in the shadow, whose slot it is then. The program's table of descriptors is shared until the
 * shadow leaves it, if the kernel can leave and close it in one call: no copy of a descriptor is made that another thread
 * could miss. */
static int64_t fork_into(struct slot *taken) {
  uint64_t before = now_ns(), sequence, flags = CLONE_UNTRACED | (can_leave_table ? CLONE_FILES : 0);
  int64_t pid;
  taken->ending = taken->detail = taken->in_call = 0;
  taken->pid = 0;
  taken->thread = (uint32_t)kernel(NR_gettid, 0, 0, 0, 0);
  kernel(NR_prctl, 16 /* this thread's name */, taken->name, 0, 0);
  taken->instructions = taken->events = 0;
  taken->units = taken->head = taken->tail = taken->flushes = 0;
  taken->is_apart = taken->opens_files = 0;
  taken->held_ns = 0;
  sequence = __atomic_add_fetch(&region->forks, 1, __ATOMIC_RELAXED);
  taken->sequence = sequence;
  pid = region->is_attached ? fork_orphan(flags) : kernel(NR_clone, CLONE_PARENT | flags, 0, 0, 0);
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

/* The action for SIGNAL: calls `on_signal`, and then the program's own handler, if that returns one, as the kernel
 * would call it: nothing of this library is left on the stack. */
extern char hps_on_signal[] __attribute__((visibility("hidden")));
__asm__(
    "hps_on_signal:\n"
    "  push %rdi\n"
    "  push %rsi\n"
    "  push %rdx\n"
    "  call on_signal\n"
    "  pop %rdx\n"
    "  pop %rsi\n"
    "  pop %rdi\n"
    "  mov %rax, %r11\n"
    "  xor %eax, %eax\n"
    "  test %r11, %r11\n"
    "  jz 1f\n"
    "  jmp *%r11\n"
    "1:\n"
    "  ret\n");

/* The program's own handler for a signal that the monitor did not send, with the mask and the way back that the program
 * asked for; NULL if it has none. */
static void *own_handler(struct context *frame) {
  void *handler = (void *)own_action.handler;
  uint64_t mask = frame->mask | own_action.mask;
  if (own_action.handler <= 1) return 0;
  if (!(own_action.flags & SA_NODEFER)) mask |= UINT64_C(1) << (SIGNAL - 1);
  if (own_action.flags & SA_RESETHAND) own_action.handler = 0;
  ((uint64_t *)frame)[-1] = own_action.restorer;
  kernel(NR_rt_sigprocmask, 2, &mask, 0, 8);
  return handler;
}

/* Ends the monitor, in the program. */
static void end_monitor(void) {
  int32_t timer = __atomic_exchange_n(&timer_id, -1, __ATOMIC_RELAXED);
  struct action_of_signal action = {0};
  if (timer >= 0) kernel(NR_timer_delete, timer, 0, 0, 0);
  kernel(NR_rt_sigaction, SIGNAL, 0, &action, 8);
  if (action.handler == (uint64_t)hps_on_signal) kernel(NR_rt_sigaction, SIGNAL, &own_action, 0, 8);
  __atomic_store_n(&region->closing, 1, __ATOMIC_SEQ_CST);
}

static void monitor(struct context *frame);

__attribute__((used)) static void *on_signal(int signal, const int32_t *info, struct context *frame) {
  (void)signal;
  if (kernel(NR_getpid, 0, 0, 0, 0) != region->pid) return own_handler(frame);
  if (region->mode != SAMPLE) {
    begin_full(frame);
    return 0;
  }
  if (info[2] != -2 /* SI_TIMER */ || *(const uint64_t *)(info + 6) != (uint64_t)&timer_id)
    return own_handler(frame);
  if (region->closing || supervisor_is_gone())
    end_monitor();
  else
    monitor(frame);
  return 0;
}

/* Forks a shadow that goes on at `frame`: 0 in the shadow. */
static int64_t fork_here(struct context *frame) {
  struct slot *taken = take_slot();
  uint64_t before = own_ns();
  int64_t pid;
  if (!taken) {
    __atomic_fetch_add(&region->crowded, 1, __ATOMIC_RELAXED);
    return -EBUSY;
  }
  note_descriptors();
  note_identity();
  note_threads();
  taken->sample = length_of_sample();
  pid = fork_into(taken);
  if (pid == 0) {
    remaining = (int64_t)taken->sample;
    become_shadow(0);
    begin_at(frame);
    return 0;
  }
  __atomic_fetch_add(&region->live, 1, __ATOMIC_RELAXED);
  if (pid > 0 && region->most_overhead_millionths) open_fork(own_ns() - before);
  return pid;
}

/* Whether a wanted shadow may be forked at this signal, in this thread. */
static int may_fork(int is_wanted, unsigned live, uint64_t signal, struct thread *thread) {
  if (region->most_overhead_millionths) {
    look(live);
    if (cost.splits && !live) restore_huge_pages();
    if (is_wanted && !is_earned()) {
      __atomic_fetch_add(&region->spared, 1, __ATOMIC_RELAXED);
      return 0;
    }
  }
  return is_wanted && (!region->by_turn || is_in_turn(thread, signal));
}

/* Takes one signal of the timer. */
static void monitor(struct context *frame) {
  static uint32_t is_busy; /* in another thread */
  uint64_t began = now_ns(), own = own_ns(), signals, sum;
  unsigned live = live_shadows();
  int is_wanted;
  restart_call(frame);
  signals = __atomic_add_fetch(&region->signals, 1, __ATOMIC_RELAXED);
  sum = __atomic_add_fetch(&region->live, live, __ATOMIC_RELAXED);
  is_wanted = sum * UINT64_C(1000000) < region->load_millionths * signals;
  if (__atomic_exchange_n(&is_busy, 1, __ATOMIC_ACQUIRE)) {
    if (is_wanted) __atomic_fetch_add(&region->crowded, 1, __ATOMIC_RELAXED);
  } else {
    struct thread *thread =
        region->by_turn ? note_running((int32_t)kernel(NR_gettid, 0, 0, 0, 0), signals) : 0;
    if (may_fork(is_wanted, live, signals, thread)) {
      int64_t pid = fork_here(frame);
      if (pid == 0) return;
      if (pid > 0) waits_since = 0;
      if (pid > 0 && thread) thread->shadows++;
    }
    __atomic_store_n(&is_busy, 0, __ATOMIC_RELEASE);
  }
  __atomic_fetch_add(&region->spent_ns, own_ns() - own, __ATOMIC_RELAXED);
  __atomic_fetch_add(&region->monitor_ns, now_ns() - began, __ATOMIC_RELAXED);
}

/* --- the program as a whole --- */

/* Forks a shadow where the instrumented program is, once there is room for it. */
static void fork_stretch(void) {
  struct slot *taken, *whole = slot;
  uint32_t last, in_call;
  const uint64_t pause[2] = {0, 100000};
  while (!(taken = take_slot())) {
    if (supervisor_is_gone()) return;
    kernel(NR_nanosleep, pause, 0, 0, 0);
  }
  note_descriptors();
  remaining = (int64_t)region->sample;
  taken->sample = region->sample;
  in_call = 0;
  if (S.ring && (last = ((uint32_t *)S.ring)[-1]) != BREAK) {
    enum kind kind = slot->unit[last].kind;
    in_call = kind == CALL || kind == CALL_INDIRECT ? region->call_values
              : kind == RETURN && notes_all_values()   ? RETURN_VALUES
                                                       : 0;
  }
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

/* Where the region is, with what aligns it. */
static void *reserved;

/* Maps the region where addresses are multiples of a chunk; 0, or an error. */
static int64_t map_region(const char *path) {
  int64_t fd = kernel(NR_open, path, 2 | 02000000, 0, 0), got = -ENOMEM;
  if (fd < 0) return fd;
  reserved = map_memory(0, REGION_BYTES + CHUNK_BYTES, 0, MAP_PRIVATE_ANONYMOUS | MAP_NORESERVE);
  if (reserved) {
    uint64_t at = ((uint64_t)reserved + CHUNK_BYTES - 1) & ~(uint64_t)(CHUNK_BYTES - 1);
    got = kernel6(NR_mmap, at, REGION_BYTES, PROT_RW, 0x11 /* shared, fixed */, (uint64_t)fd, 0);
  }
  kernel(NR_close, fd, 0, 0, 0);
  if (got < 0) return got;
  region = (struct header *)got;
  return 0;
}

/* Gives back what `begin` has mapped. */
static void unmap(void) {
  for (int i = 0; i < AREAS; i++)
    if (areas[i].begin) kernel(NR_munmap, areas[i].begin, AREA_BYTES, 0, 0);
  region = 0;
  if (reserved) kernel(NR_munmap, reserved, REGION_BYTES + CHUNK_BYTES, 0, 0);
}

static int64_t start_timer(void) {
  struct {
    uint64_t value;
    int32_t signal, notify;
    uint64_t pad[6];
  } event = {(uint64_t)&timer_id, SIGNAL, 0, {0}};
  int64_t error;
  uint64_t period[4] = {region->period_ns / 1000000000, region->period_ns % 1000000000, 0, 0};
  period[2] = period[0];
  period[3] = period[1];
  /* Processor time: a program that sleeps is not woken. */
  error = kernel(NR_timer_create, 2, &event, &timer_id, 0);
  return error < 0 ? error : kernel(NR_timer_settime, timer_id, 0, period, 0);
}

/* Makes room for copies within reach of all code. */
static void find_rooms(void) {
  unsigned made = 0;
  read_ranges();
  for (unsigned i = 0; i < executables && made < AREAS; i++)
    if (!area_for(executable[i].start)) {
      uint8_t *room = find_room(executable[i].start);
      if (room) areas[made++] = (struct area){room, room, room + AREA_BYTES};
    }
}

/* Begins in a program, of which nothing else runs in this thread meanwhile: 0, or an error. */
static int64_t begin(const char *path) {
  int32_t nobody = 0, adopts = 0;
  int64_t own = kernel(NR_getpid, 0, 0, 0, 0), error = map_region(path);
  uint64_t began;
  if (error < 0) return error;
  if (region->magic != MAGIC) return -EPROTO;
  began = own_ns();
  if (supervisor_is_gone()) return -ETIME;
  /* It would adopt shadows, and its `wait` would tell of them. */
  if (region->is_attached && (kernel(NR_prctl, 37, &adopts, 0, 0) < 0 || adopts || own == 1))
    return -ECHILD;
  /* A program that is executed later in this process, and children, are not profiled. */
  if (!__atomic_compare_exchange_n(&region->pid, &nobody, (int32_t)own, 0, __ATOMIC_ACQ_REL,
                                   __ATOMIC_RELAXED))
    return -EBUSY;
  find_rooms();
  /* Asks for nothing: no kernel knows this flag. */
  can_leave_table = kernel(NR_close_range, UINT32_MAX, UINT32_MAX, 1 << 30, 0) == -EINVAL;
  kernel(NR_rt_sigaction, SIGNAL, 0, &own_action, 8);
  set_action(SIGNAL, hps_on_signal,
             SA_SIGINFO | SA_RESTART | (own_action.handler > 1 ? own_action.flags & SA_ONSTACK : SA_ONSTACK));
  if (region->mode == SAMPLE) {
    error = start_timer();
    if (error < 0) end_monitor();
    can_restore = kernel(NR_madvise, 0, 0, MADV_COLLAPSE, 0) == 0;
    __atomic_fetch_add(&region->spent_ns, own_ns() - began, __ATOMIC_RELAXED);
    return error;
  }
  return kernel(NR_tgkill, own, kernel(NR_gettid, 0, 0, 0, 0), SIGNAL, 0);
}

__attribute__((constructor)) static void start(void) {
  static char path[256];
  if (find_variable(path, sizeof path)) begin(path);
}

/* What a tracer calls: with the region's path to begin, with NULL to end. */
__attribute__((used)) static int64_t enter(const char *path) {
  int64_t error = 0;
  if (path)
    error = begin(path);
  else
    end_monitor();
  if (!path || error < 0) unmap();
  return error;
}

/* Uses a stack of its own, and ends with a system call that no kernel knows and the tracer sees, whose argument is the
 * result of `enter`. */
__asm__(
    ".globl hps_shadow_enter\n"
    "hps_shadow_enter:\n"
    "  lea c_stack+65536(%rip), %rsp\n"
    "  cld\n"
    "  call enter\n"
    "  mov %rax, %rdi\n"
    "  mov $0x7fff0001, %eax\n"
    "  syscall\n"
    "  ud2\n");
