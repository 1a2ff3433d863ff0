/* What the program, its shadows and the supervisor share; src/layout.rs says the same to Rust, and a test compares the
 * two. */
#ifndef HPS_SHADOW_LAYOUT_H
#define HPS_SHADOW_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define MAGIC UINT64_C(0x31574f4441485348) /* "HSHADOW1" */
#define SLOTS 8
/* A chunk of the ring: its end is where the low 16 bits of an address are 0. */
#define CHUNK_BYTES 65536
#define CHUNK_EVENTS (CHUNK_BYTES / 4)
#define CHUNKS 16
#define UNITS (1 << 19)
#define CALLS 512
#define ACTIONS 8
#define DESCRIPTORS 7
/* Values beside the events: of a call the registers of its arguments, of a return that of its result. */
#define CALL_VALUES 6
#define RETURN_VALUES 1
/* Ranges of memory in huge pages that are known. */
#define HUGE_RANGES 32
/* The event of control that came from nowhere: a signal. */
#define BREAK UINT32_MAX

enum mode { SAMPLE, FULL, END_TO_END };

enum stage { FREE, STARTING, RUNNING, ENDED };

/* How a unit of code ends. */
enum kind {
  SPLIT,
  CONDITIONAL,
  JUMP,
  CALL,
  CALL_INDIRECT,
  JUMP_INDIRECT,
  RETURN,
  SYSTEM_CALL,
  FOREIGN /* an instruction that is not executed under instrumentation */
};

/* Why a shadow ended. */
enum ending {
  NOT_ENDED,
  BUDGET,
  PROGRAM_ENDED,
  CALL_ENDS,    /* the policy says so; detail: the call */
  CALL_REFUSED, /* the policy lets it run, but others would notice; detail: the call */
  WAITS,        /* for another thread */
  FAULT,        /* detail: the signal */
  FOREIGN_CODE,
  WRITABLE_CODE,
  UNKNOWN_CODE, /* nothing executable is there */
  FAR_CODE,     /* no cache of code within reach */
  TOO_MUCH_CODE,
  SHARED_MEMORY,
  SEGMENT, /* the program uses the register GS */
  CLOSED,  /* the program or the supervisor has ended */
  EXECUTES
};

struct unit {
  uint64_t start;
  uint64_t last; /* its last instruction */
  uint32_t instructions;
  uint16_t last_bytes;
  uint16_t kind;
};

struct slot {
  uint32_t state;
  int32_t pid;
  uint32_t ending;
  uint32_t detail;
  uint64_t sequence;
  uint64_t instructions;
  uint64_t events;
  uint32_t units;
  uint32_t head; /* chunks written */
  uint32_t tail; /* chunks read */
  uint32_t flushes;
  uint64_t start_ns; /* from the fork to the first instruction */
  uint64_t life_ns;
  uint64_t held_ns; /* how long the program's descriptors had a second holder */
  uint32_t first[CHUNKS]; /* first event of a chunk */
  uint32_t count[CHUNKS];
  uint32_t maps_bytes;
  uint32_t in_call; /* values of the unit that it begins in: that ends with a call or a return */
  uint32_t is_apart; /* it holds nothing of the program's: the program may go on */
  uint32_t opens_files; /* or has opened some */
  uint64_t sample; /* its length, in instructions */
  uint32_t thread; /* which it goes on as */
  uint32_t pad;
  char name[16]; /* of the thread */
  char maps[65536 - 128 - 8 * CHUNKS]; /* lines of /proc/self/maps with code */
  struct unit unit[UNITS];
  uint32_t ring[CHUNKS][CHUNK_EVENTS];
  uint64_t value[CHUNKS][CALL_VALUES * CHUNK_EVENTS]; /* of each call and return, in the order of events */
};

struct header {
  uint64_t magic;
  uint32_t mode;
  int32_t supervisor;
  int32_t pid; /* of the program, once it has begun */
  uint32_t closing; /* no shadow may begin any more; the program says so when it ends the monitor */
  uint64_t sample;
  uint64_t period_ns;
  uint64_t load_millionths;
  uint64_t signals;
  uint64_t live; /* shadows, summed over signals */
  uint64_t forks;
  uint64_t failed; /* forks that the kernel refused */
  uint64_t crowded; /* signals without a free slot */
  uint64_t threads; /* forks in a process of several threads */
  uint64_t monitor_ns; /* in the handler without forks, and in forks */
  uint64_t fork_ns;
  uint64_t restarted; /* system calls that the signal interrupted */
  uint64_t most_overhead_millionths; /* of the program's processor time that shadows may cost it; 0: no limit */
  uint64_t spared; /* forks that this limit prevented */
  uint32_t takes_leases; /* the program does: shadows open no files */
  uint32_t is_attached; /* the supervisor is not the program's parent */
  uint32_t by_turn; /* threads are forked in turn */
  uint32_t call_values; /* of each call: 1, or all CALL_VALUES and those of returns */
  uint32_t pad;
  uint32_t huge_ranges; /* of `huge` */
  uint64_t waited; /* signals at which another thread was waited for */
  uint64_t private_pages; /* resident in the program and its own; the supervisor counts them, if there is a budget */
  uint64_t huge_bytes; /* of them in huge pages */
  uint64_t huge[HUGE_RANGES][2]; /* where these are, and nothing but them */
  uint64_t spent_ns; /* processor time of the program in the monitor, with forks */
  uint64_t fault_ns; /* what a fault was measured to cost */
  uint64_t copied; /* faults because of forks */
  uint64_t copied_ns; /* what they have cost, and code that ran without its huge pages */
  uint64_t expected_ns; /* what the next fork is expected to cost */
  uint64_t expected_pages; /* private pages then */
  uint64_t cpu_ns; /* processor time of the program at the last signal */
  uint64_t ended_instructions; /* of shadows that have ended */
  uint64_t ended_ns; /* how long they lived */
  uint64_t alive_ns; /* when the supervisor last showed that it lives; only if it is not the parent */
  uint8_t policy[CALLS][DESCRIPTORS][2];
  uint8_t guard[CALLS];
  uint8_t descriptor[CALLS]; /* argument that is a descriptor, from 1 on; 0 for none */
  uint8_t pretend[CALLS];
  uint64_t calls[CALLS][ACTIONS];
};

/* Where slots begin. */
#define HEADER_BYTES 65536
#define SLOT_BYTES sizeof(struct slot)
#define REGION_BYTES (HEADER_BYTES + SLOTS * SLOT_BYTES)

/* hps_shadow::policy::Action. */
enum action { RUN, LATE, REOPEN, REPLAY, PRETEND, SKIP, END };

/* hps_shadow::policy::On. */
enum on { NOTHING, INPUT, OUTPUT, ON_FILE, ON_PIPE, EVENT, MADE_UP };

/* What must hold for a call to be made by a shadow. */
enum guard {
  DENY,
  PLAIN,
  IDENTITY,
  ACTION_OF_SIGNAL,
  RETURN_FROM_SIGNAL,
  EXIT,
  IN_FILE, /* through a description of the shadow's own */
  STATUS,
  IN_FOLDER,
  OPEN,
  OPEN_AT,
  CLOSE,
  DUPLICATE,
  DUPLICATE_TO,
  CONTROL,
  DEVICE,
  MAP,
  RANGE,
  MUTEX,
  PROCESS,
  LIMIT
};

/* What a pretended call returns. */
enum pretended { ZERO, THIRD, VECTOR, FOURTH, FIFTH };

#endif
