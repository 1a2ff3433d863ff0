//! All profilers by name. A new policy is a file in `policy/` and a line here.

use crate::policy::{
    DispatchTag, Interrupt, LastCommitted, Lbr, NextCommitting, NextGroup, OperationTag, Pebs,
    Policy, Software, Tea, Tip,
};
use crate::schedule::{Period, Spread, Unit};

/// A profiler that watches a run and changes nothing.
#[derive(Clone, Copy)]
pub struct Profiler {
    /// Its name on the command line and in results.
    pub name: &'static str,
    /// What it models, in one line.
    pub about: &'static str,
    /// The hardware that it takes.
    pub hardware: &'static str,
    /// What its period counts by default.
    pub counts: Counts,
    /// How its records come into memory.
    pub records: Records,
    /// Makes its policy.
    pub policy: fn() -> Box<dyn Policy>,
}

/// What a profiler's period counts by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Cycles.
    Cycles,
    /// Cycles, with periods that vary randomly by three percent, as DCPI's do.
    RandomCycles,
    /// Instructions, with a random jitter.
    Instructions,
}

impl Counts {
    /// What it counts, in words.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Counts::Cycles => "cycles",
            Counts::RandomCycles => "cycles, randomly",
            Counts::Instructions => "instructions, randomly",
        }
    }
}

/// How the records of a profiler come into memory, which decides what it costs the program. Words have 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Records {
    /// Somebody outside the processor reads them: the program pays nothing.
    Outside,
    /// It goes with a processor whose interrupts drain the window. Ours squash, so that its cost is not simulated.
    OtherMachine,
    /// Each sample interrupts the program; the handler stores the record.
    Interrupt {
        /// Words of a record.
        words: u32,
        /// From the sample to the interrupt, in cycles: the hardware completes the record.
        delay_cycles: u32,
    },
    /// Each sample interrupts the program; the handler counts it in a hash table with overflow buffers, as DCPI's does.
    Table,
    /// The hardware stops the program, stores the record into a buffer, and interrupts when the buffer is full.
    Assist {
        /// Words of a record.
        words: u32,
    },
    /// The hardware stores the record into a buffer while the program runs, and interrupts when the buffer is full.
    Beside {
        /// Words of a record.
        words: u32,
    },
}

impl Records {
    /// Whether the program pays for them.
    #[must_use]
    pub fn cost(self) -> bool {
        !matches!(self, Records::Outside | Records::OtherMachine)
    }

    /// How they come into memory, in a few words.
    #[must_use]
    pub fn describe(self) -> String {
        match self {
            Records::Outside => "from outside".to_string(),
            Records::OtherMachine => "not simulated".to_string(),
            Records::Interrupt {
                words,
                delay_cycles: 0,
            } => format!("interrupt, {words} words"),
            Records::Interrupt {
                words,
                delay_cycles,
            } => format!("interrupt after {delay_cycles} cycles, {words} words"),
            Records::Table => "interrupt, hash table".to_string(),
            Records::Assist { words } => format!("assist, {words} words"),
            Records::Beside { words } => format!("beside, {words} words"),
        }
    }

    /// A record of an address, its source, a count and a cycle, or of as much.
    const SHORT: Records = Records::Interrupt {
        words: 4,
        delay_cycles: 0,
    };
    /// A record of several addresses with flags.
    const GROUP: Records = Records::Interrupt {
        words: 8,
        delay_cycles: 0,
    };
    /// AMD's IBS: eight registers describe an operation (AMD64 Architecture Programmer's Manual volume 2, "IBS
    /// Execution Data"), and the interrupt comes when the operation is over. Assumed: after as many cycles as nearly
    /// no operation is in flight.
    const TAGGED: Records = Records::Interrupt {
        words: 8,
        delay_cycles: 211,
    };
    /// A ring of branch records: three words for each, and where the interrupt was taken.
    const RING: Records = Records::Interrupt {
        words: 4 + 3 * LBR_ENTRIES as u32,
        delay_cycles: 0,
    };
    /// Intel's PEBS with general registers: 192 bytes.
    const PEBS: Records = Records::Assist { words: 24 };
    /// Arm's SPE: records of up to 64 bytes.
    const SPE: Records = Records::Beside { words: 8 };
}

/// Cycles from the overflow of a counter to the recognition of its interrupt, for software sampling: DCPI's
/// machines took six (Anderson and others, SOSP 1997, section 4.1).
const SKID_CYCLES: u64 = 6;

/// Records of a ring, as in Intel's processors since Skylake.
const LBR_ENTRIES: usize = 32;

/// All of them, in the order in which they are listed.
pub const PROFILERS: &[Profiler] = &[
    Profiler {
        name: "software",
        about: "interrupt on a processor that drains: the first instruction that was not dispatched",
        hardware: "a counter and its interrupt",
        counts: Counts::Cycles,
        records: Records::OtherMachine,
        policy: || Box::new(Software::new(SKID_CYCLES)),
    },
    Profiler {
        name: "interrupt",
        about: "interrupt on a processor that squashes: the instruction with which the program goes on",
        hardware: "a counter and its interrupt",
        counts: Counts::Cycles,
        records: Records::SHORT,
        policy: || Box::new(Interrupt::new("interrupt", SKID_CYCLES)),
    },
    Profiler {
        name: "dcpi",
        about: "DCPI: as interrupt, at random intervals and counted in a hash table",
        hardware: "a counter and its interrupt",
        counts: Counts::RandomCycles,
        records: Records::Table,
        policy: || Box::new(Interrupt::new("dcpi", SKID_CYCLES)),
    },
    Profiler {
        name: "ibs",
        about: "dispatch tagging in cycles (AMD IBS): the next instruction to be dispatched",
        hardware: "a tag in each operation, a record",
        counts: Counts::Cycles,
        records: Records::TAGGED,
        policy: || Box::<DispatchTag>::default(),
    },
    Profiler {
        name: "spe",
        about: "dispatch tagging in operations (Arm SPE), a record counts once",
        hardware: "a tag in each operation, a record, a buffer",
        counts: Counts::Instructions,
        records: Records::SPE,
        policy: || Box::new(OperationTag::new(false)),
    },
    Profiler {
        name: "spe-latency",
        about: "dispatch tagging in operations (Arm SPE), a record counts by its latency",
        hardware: "a tag in each operation, a record, a buffer",
        counts: Counts::Instructions,
        records: Records::SPE,
        policy: || Box::new(OperationTag::new(true)),
    },
    Profiler {
        name: "lci",
        about: "external monitor: the last committed instruction",
        hardware: "a port that shows the last committed address",
        counts: Counts::Cycles,
        records: Records::Outside,
        policy: || Box::new(LastCommitted),
    },
    Profiler {
        name: "nci",
        about: "the next committing instruction",
        hardware: "the address of the oldest instruction",
        counts: Counts::Cycles,
        records: Records::SHORT,
        policy: || Box::new(NextCommitting),
    },
    Profiler {
        name: "nci-ilp",
        about: "the next committing group, equally",
        hardware: "the addresses of the oldest instructions",
        counts: Counts::Cycles,
        records: Records::GROUP,
        policy: || Box::new(NextGroup),
    },
    Profiler {
        name: "pebs",
        about: "precise events (Intel PEBS) on cycles: the next instruction to retire, with its shadow",
        hardware: "a record at retirement, a buffer",
        counts: Counts::Cycles,
        records: Records::PEBS,
        policy: || Box::new(Pebs::new("pebs")),
    },
    Profiler {
        name: "pebs-pdir",
        about: "precise distribution (Intel PDIR) on instructions with random periods",
        hardware: "a record at retirement, a buffer",
        counts: Counts::Instructions,
        records: Records::PEBS,
        policy: || Box::new(Pebs::new("pebs-pdir")),
    },
    Profiler {
        name: "tip",
        about: "time-proportional (TIP): what the oracle blames in that cycle",
        hardware: "the oldest instructions, the last committed one and its flush flags",
        counts: Counts::Cycles,
        records: Records::GROUP,
        policy: || Box::new(Tip),
    },
    Profiler {
        name: "tea",
        about: "time-proportional with event stacks (TEA)",
        hardware: "as tip, and event bits in each entry of the window",
        counts: Counts::Cycles,
        records: Records::GROUP,
        policy: || Box::new(Tea),
    },
    Profiler {
        name: "lbr",
        about: "last branch records: cycles of straight-line code, spread over its instructions",
        hardware: "a ring of 32 taken branches with cycles",
        counts: Counts::Cycles,
        records: Records::RING,
        policy: || Box::new(Lbr::new(LBR_ENTRIES)),
    },
];

/// The profiler of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Profiler> {
    PROFILERS.iter().find(|p| p.name == name)
}

impl Profiler {
    /// A period of this mean, in what it counts: fixed for cycles, random for instructions and random cycles.
    #[must_use]
    pub fn period_of(&self, mean: u64, seed: u64) -> Period {
        match self.counts {
            Counts::Cycles => Period::cycles(mean),
            Counts::RandomCycles => Period {
                spread: Spread::Random { percent: 3, seed },
                ..Period::cycles(mean.max(1))
            },
            Counts::Instructions => Period {
                mean: mean.max(1),
                unit: Unit::Instructions,
                spread: Spread::Random { percent: 50, seed },
                phase: 0,
            },
        }
    }

    /// Its period, if a run of so many cycles and instructions is to give about so many samples: the next prime,
    /// or for what counts instructions a random period around it.
    #[must_use]
    pub fn period(&self, cycles: u64, instructions: u64, samples: u64, seed: u64) -> Period {
        let samples = samples.max(1);
        match self.counts {
            Counts::Cycles => self.period_of(Period::prime_from(cycles / samples), seed),
            Counts::RandomCycles => self.period_of(cycles / samples, seed),
            Counts::Instructions => self.period_of(instructions / samples, seed),
        }
    }
}
