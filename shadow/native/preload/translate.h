/* Makes units: copies of code that write their number into the ring when they are entered.
 *
 * A unit begins where control arrives and ends at the first instruction that may move it. Its copy differs in its
 * displacements, and in its end: a transfer leads to the copy of its target, once there is one. Nothing of the program
 * changes: its own code stays as it is, return addresses are those of its own code, flags and the bytes below the stack
 * pointer are left alone. What instrumentation needs it finds through the register GS, which Linux programs do not use.
 *
 * Entering a unit takes eight instructions without a flag: `jrcxz` sees whether a chunk of the ring is full, because
 * chunks end where the low 16 bits of an address are 0. Indirect transfers look their target up in a table that holds
 * negated addresses, so that a sum of 0 says that the entry fits. */
#ifndef HPS_SHADOW_TRANSLATE_H
#define HPS_SHADOW_TRANSLATE_H

#include "decode.h"
#include "kernel.h"
#include "layout.h"

/* What the code reaches through GS. The order is known to the assembly below and in entry.h. */
struct state {
  uint64_t ring;     /*   0: where the next event goes */
  uint64_t rcx;      /*   8 */
  uint64_t rax;      /*  16 */
  uint64_t rdx;      /*  24 */
  uint64_t rbx;      /*  32 */
  uint64_t rsp;      /*  40 */
  uint64_t rbp;      /*  48 */
  uint64_t rsi;      /*  56 */
  uint64_t rdi;      /*  64 */
  uint64_t r8_15[8]; /*  72 */
  uint64_t flags;    /* 136 */
  uint64_t jump;     /* 144 */
  uint64_t on_exit;  /* 152 */
  uint64_t on_full;  /* 160 */
  uint64_t stack;    /* 168 */
  uint64_t lookup;   /* 176 */
  uint64_t table;    /* 184 */
  uint64_t target;   /* 192 */
  uint64_t reason;   /* 200 */
  uint64_t native;   /* 208: where a child goes on, as the program has it */
  uint64_t value;    /* 216: where values of the next call or return go */
};
static struct state S __attribute__((aligned(4096)));

/* Where code of the program may lie. */
struct range {
  uint64_t start, end;
  int writable;
  uint64_t protection; /* of memory that is copied */
};
#define MOST_RANGES 512
static struct range executable[MOST_RANGES];
static unsigned executables;
static int ranges_are_stale = 1;
static void read_ranges(void);

/* Room for copies: beside the program's own file, beside the libraries, and beside what is far from both. */
#define AREAS 4
#define AREA_BYTES (UINT64_C(32) << 20)
struct area {
  uint8_t *begin, *at, *end;
};
static struct area areas[AREAS];

/* Units by address. */
struct copy {
  uint64_t pc;
  uint8_t *entry;
  uint8_t *body; /* the copy of the first instruction */
  uint32_t id;
  uint32_t next;
};
#define HEADS (1 << 14)
static struct copy copies[UNITS];
static uint32_t copied; /* 0 is none */
static uint32_t heads[HEADS];
static uint32_t units_made;

/* Transfers that have no copy of their target yet. */
enum exit_kind { BRANCH, CALL_OF_SYSTEM, STOP };
struct exit {
  uint64_t target;
  uint8_t *stub;
  uint8_t *condition; /* the displacement of a conditional jump to the stub, or NULL */
  uint32_t kind;
};
#define EXITS (2 * UNITS)
static struct exit exits[EXITS];
static uint32_t exits_made;

struct entry {
  uint64_t negated, copy;
};
static struct entry table[65536] __attribute__((aligned(4096)));
static uint32_t epoch;

static struct slot *slot;
static struct header *region;
static void end_shadow(enum ending ending, uint32_t detail) __attribute__((noreturn));

static void put8(uint8_t **at, uint8_t byte) { *(*at)++ = byte; }
static void put32(uint8_t **at, uint32_t word) {
  for (int i = 0; i < 4; i++) put8(at, (uint8_t)(word >> 8 * i));
}
static void put64(uint8_t **at, uint64_t word) {
  put32(at, (uint32_t)word);
  put32(at, (uint32_t)(word >> 32));
}
/* An operation on a word of S, 9 bytes: `opcode` with the register `reg` (0 to 7). */
static void put_gs(uint8_t **at, uint8_t opcode, unsigned reg, uint32_t offset) {
  put8(at, 0x65);
  put8(at, 0x48);
  put8(at, opcode);
  put8(at, (uint8_t)(reg << 3 | 4));
  put8(at, 0x25);
  put32(at, offset);
}
#define SAVE_RCX(at) put_gs(at, 0x89, 1, 8)
#define LOAD_RCX(at) put_gs(at, 0x8b, 1, 8)
static void put_jump_gs(uint8_t **at, uint32_t offset) {
  put8(at, 0x65);
  put8(at, 0xff);
  put8(at, 0x24);
  put8(at, 0x25);
  put32(at, offset);
}

static int reaches(const uint8_t *from, const uint8_t *to) {
  int64_t distance = to - from;
  return distance == (int32_t)distance;
}

/* Writes the event of a unit; returns its entry. */
static uint8_t *put_entry(uint8_t **at, uint32_t id) {
  uint8_t *entry;
  put8(at, 0x48), put8(at, 0x8d), put8(at, 0x0d), put32(at, 50); /* lea back(%rip), %rcx */
  put_jump_gs(at, offsetof(struct state, on_full));
  entry = *at;
  SAVE_RCX(at);
  put_gs(at, 0x8b, 1, 0);                                        /* mov %gs:ring, %rcx */
  put8(at, 0xc7), put8(at, 0x01), put32(at, id);                 /* movl $id, (%rcx) */
  put8(at, 0x48), put8(at, 0x8d), put8(at, 0x49), put8(at, 4);   /* lea 4(%rcx), %rcx */
  put_gs(at, 0x89, 1, 0);                                        /* mov %rcx, %gs:ring */
  put8(at, 0x0f), put8(at, 0xb7), put8(at, 0xc9);                /* movzwl %cx, %ecx */
  put8(at, 0xe3), put8(at, (uint8_t)-57);                        /* jrcxz the first of these */
  LOAD_RCX(at);
  return entry;
}

#define STUB_BYTES 22
/* A transfer to code that has no copy yet. `condition` is the displacement that leads to it. */
static void put_exit(uint8_t **at, uint64_t target, enum exit_kind kind, uint8_t *condition) {
  struct exit *e = &exits[exits_made];
  *e = (struct exit){target, *at, condition, kind};
  if (condition) {
    uint8_t *place = condition;
    put32(&place, (uint32_t)(*at - (condition + 4)));
  }
  SAVE_RCX(at);
  put8(at, 0xb9), put32(at, exits_made++); /* mov $number, %ecx */
  put_jump_gs(at, offsetof(struct state, on_exit));
}

/* Leads a transfer to the copy of its target. */
static void link_exit(const struct exit *e, uint8_t *entry) {
  uint8_t *at = e->stub;
  if (e->condition && reaches(e->condition + 4, entry)) {
    at = e->condition;
    put32(&at, (uint32_t)(entry - (e->condition + 4)));
  } else if (reaches(at + 5, entry)) {
    put8(&at, 0xe9), put32(&at, (uint32_t)(entry - (e->stub + 5)));
  } else {
    put8(&at, 0xff), put8(&at, 0x25), put32(&at, 0), put64(&at, (uint64_t)entry);
  }
}

/* pushes an address of the program, without a flag. */
static void put_push(uint8_t **at, uint64_t address) {
  put8(at, 0x68), put32(at, (uint32_t)address);
  put8(at, 0xc7), put8(at, 0x44), put8(at, 0x24), put8(at, 4), put32(at, (uint32_t)(address >> 32));
}

static int notes_all_values(void) { return region->call_values == CALL_VALUES; }

/* Writes the register that has the first argument of a call, or all that have arguments, beside the events. */
static void put_arguments(uint8_t **at) {
  static const uint8_t registers[CALL_VALUES] = {7, 6, 2, 1, 8, 9}; /* rdi, rsi, rdx, rcx, r8, r9 */
  put_gs(at, 0x89, 0, offsetof(struct state, rax));
  put_gs(at, 0x8b, 0, offsetof(struct state, value));
  for (unsigned i = 0; i < region->call_values; i++) { /* mov register, 8 * i(%rax) */
    put8(at, registers[i] < 8 ? 0x48 : 0x4c), put8(at, 0x89);
    put8(at, (uint8_t)(0x40 | (registers[i] & 7) << 3)), put8(at, (uint8_t)(8 * i));
  }
  put8(at, 0x48), put8(at, 0x8d), put8(at, 0x40);
  put8(at, (uint8_t)(8 * region->call_values)); /* lea 8 * values(%rax), %rax */
  put_gs(at, 0x89, 0, offsetof(struct state, value));
  put_gs(at, 0x8b, 0, offsetof(struct state, rax));
}

/* Writes the register that has the result of a function. The program's rcx is saved. */
static void put_result(uint8_t **at) {
  put_gs(at, 0x8b, 1, offsetof(struct state, value));
  put8(at, 0x48), put8(at, 0x89), put8(at, 0x01);              /* mov %rax, (%rcx) */
  put8(at, 0x48), put8(at, 0x8d), put8(at, 0x49), put8(at, 8); /* lea 8(%rcx), %rcx */
  put_gs(at, 0x89, 1, offsetof(struct state, value));
}

/* Loads the operand of an indirect transfer into rcx: `mov operand, %rcx` with the operand's own bytes. */
static int put_operand(uint8_t **at, const uint8_t *p, const struct insn *i, uint64_t pc) {
  unsigned operand_bytes = i->length - i->modrm - 1u;
  SAVE_RCX(at);
  if (i->prefix & 4) put8(at, 0x64);
  if (i->prefix & 2) put8(at, 0x67);
  put8(at, (uint8_t)(0x48 | (i->rex & 3)));
  put8(at, 0x8b);
  put8(at, (uint8_t)((p[i->modrm] & 0xc7) | 1 << 3));
  if (i->rip) {
    int64_t distance = (int64_t)(pc + i->length + (uint64_t)(int64_t)signed_at(p + i->rip, 4)) -
                       (int64_t)(*at + 4);
    if (distance != (int32_t)distance) return 0;
    put32(at, (uint32_t)distance);
  } else {
    copy_bytes(*at, p + i->modrm + 1, operand_bytes);
    *at += operand_bytes;
  }
  return 1;
}

static const struct range *range_of(uint64_t pc) {
  for (int tries = 0; tries < 2; tries++) {
    if (ranges_are_stale || tries == 1) read_ranges();
    for (unsigned i = 0; i < executables; i++)
      if (executable[i].start <= pc && pc < executable[i].end) return &executable[i];
  }
  return 0;
}

static struct area *area_for(uint64_t pc) {
  for (int i = 0; i < AREAS; i++) {
    int64_t low = (int64_t)((uint64_t)areas[i].begin - pc), high = (int64_t)((uint64_t)areas[i].end - pc);
    const int64_t reach = INT64_C(0x78000000);
    if (areas[i].begin && low > -reach && high < reach) return &areas[i];
  }
  return 0;
}

static int can_copy(uint64_t pc) {
  const struct range *range = range_of(pc);
  return range && !range->writable && area_for(pc) && units_made < UNITS;
}

/* Forgets all copies. Their numbers stay taken: the supervisor knows them. */
static void forget_copies(void) {
  zero_bytes(heads, sizeof heads);
  zero_bytes(table, sizeof table);
  copied = 0;
  exits_made = 0;
  epoch++;
  for (int i = 0; i < AREAS; i++) areas[i].at = areas[i].begin;
}

/* Most instructions of a unit, and bytes of its copy. */
#define MOST_IN_UNIT 128
#define MOST_BYTES 4096

/* Makes the copy of the code at pc. */
static struct copy *make_copy(uint64_t pc) {
  const struct range *range = range_of(pc);
  struct area *area = area_for(pc);
  struct copy *made;
  struct unit *unit;
  uint64_t start = pc, last = pc;
  uint32_t count = 0, id;
  uint8_t *at;
  unsigned last_bytes = 0;
  enum kind kind = SPLIT;
  int going = 1;
  if (!range) end_shadow(UNKNOWN_CODE, 0);
  if (range->writable) end_shadow(WRITABLE_CODE, 0);
  if (!area) end_shadow(FAR_CODE, 0);
  if (units_made >= UNITS) end_shadow(TOO_MUCH_CODE, 0);
  if (area->at + MOST_BYTES > area->end || copied + 2 > UNITS || exits_made + 4 > EXITS) {
    slot->flushes++;
    forget_copies();
  }
  at = area->at;
  id = units_made++;
  made = &copies[++copied];
  made->pc = pc;
  made->id = id;
  made->entry = put_entry(&at, id);
  made->body = at;
  while (going) {
    uint8_t window[16] = {0};
    const uint8_t *p = (const uint8_t *)pc;
    struct insn i;
    uint64_t next;
    if (range->end - pc < 15) {
      copy_bytes(window, p, range->end - pc);
      p = window;
    }
    decode(p, &i);
    if (i.flow == F_INVALID || i.length > range->end - pc) i.flow = F_FOREIGN;
    next = pc + i.length;
    last = pc;
    last_bytes = i.length;
    count++;
    going = 0;
    switch (i.flow) {
    case F_NEXT: {
      uint8_t *from = at;
      if (i.rip) {
        int64_t distance = (int64_t)(next + (uint64_t)(int64_t)signed_at(p + i.rip, 4)) -
                           (int64_t)(at + i.length);
        if (distance != (int32_t)distance) end_shadow(FAR_CODE, 0);
        copy_bytes(at, p, i.length);
        at = from + i.rip;
        put32(&at, (uint32_t)distance);
        at = from + i.length;
      } else {
        copy_bytes(at, p, i.length);
        at += i.length;
      }
      going = count < MOST_IN_UNIT && next < range->end;
      if (!going) put_exit(&at, next, BRANCH, 0);
      break;
    }
    case F_JCC: {
      uint8_t *condition;
      kind = CONDITIONAL;
      put8(&at, 0x0f), put8(&at, (uint8_t)(0x80 | (i.opcode & 15)));
      condition = at;
      at += 4;
      put_exit(&at, next, BRANCH, 0);
      put_exit(&at, next + (uint64_t)(int64_t)i.distance, BRANCH, condition);
      break;
    }
    case F_LOOP: { /* Ex over; jmp not taken; over: taken */
      uint8_t *condition;
      kind = CONDITIONAL;
      if (i.prefix & 2) put8(&at, 0x67);
      if (i.rex) put8(&at, i.rex);
      put8(&at, i.opcode), put8(&at, 5);
      put8(&at, 0xe9);
      condition = at;
      at += 4;
      put_exit(&at, next + (uint64_t)(int64_t)i.distance, BRANCH, 0);
      put_exit(&at, next, BRANCH, condition);
      break;
    }
    case F_JMP:
      kind = JUMP;
      put_exit(&at, next + (uint64_t)(int64_t)i.distance, BRANCH, 0);
      break;
    case F_CALL:
      kind = CALL;
      put_arguments(&at);
      put_push(&at, next);
      put_exit(&at, next + (uint64_t)(int64_t)i.distance, BRANCH, 0);
      break;
    case F_CALL_IND:
    case F_JMP_IND:
      kind = i.flow == F_CALL_IND ? CALL_INDIRECT : JUMP_INDIRECT;
      if (i.flow == F_CALL_IND) put_arguments(&at);
      if (!put_operand(&at, p, &i, pc)) end_shadow(FAR_CODE, 0);
      if (i.flow == F_CALL_IND) put_push(&at, next);
      put_jump_gs(&at, offsetof(struct state, lookup));
      break;
    case F_RET:
      kind = RETURN;
      SAVE_RCX(&at);
      if (notes_all_values()) put_result(&at);
      put8(&at, 0x59); /* pop %rcx */
      if (i.distance) { /* lea distance(%rsp), %rsp */
        put8(&at, 0x48), put8(&at, 0x8d), put8(&at, 0xa4), put8(&at, 0x24);
        put32(&at, (uint32_t)i.distance);
      }
      put_jump_gs(&at, offsetof(struct state, lookup));
      break;
    case F_SYSCALL:
      kind = SYSTEM_CALL;
      put_exit(&at, next, CALL_OF_SYSTEM, 0);
      break;
    default:
      kind = FOREIGN;
      put_exit(&at, pc, STOP, 0);
      break;
    }
    pc = next;
  }
  area->at = at;
  unit = &slot->unit[id];
  *unit = (struct unit){start, last, count, (uint16_t)last_bytes, (uint16_t)kind};
  __atomic_store_n(&slot->units, units_made, __ATOMIC_RELEASE);
  {
    uint32_t *head = &heads[(start ^ start >> 14) & (HEADS - 1)];
    made->next = *head;
    *head = copied;
  }
  return made;
}

/* The copy of the code at pc. */
static struct copy *copy_of(uint64_t pc) {
  uint32_t at = heads[(pc ^ pc >> 14) & (HEADS - 1)];
  for (; at; at = copies[at].next)
    if (copies[at].pc == pc) return &copies[at];
  return make_copy(pc);
}

/* The unit whose copy an address lies in; NULL for other code. Copies of an area ascend. */
static struct copy *copy_at(uint64_t address) {
  struct copy *best = 0;
  for (uint32_t i = 1; i <= copied; i++)
    if ((uint64_t)copies[i].entry <= address && (!best || copies[i].entry > best->entry)) best = &copies[i];
  return best;
}

#endif
