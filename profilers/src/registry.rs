//! All profilers by name. Each is described in the file of its policy, in `policy/`, and listed here.

use crate::policy::{
    Policy, dispatch, interrupt, lbr, lci, nci, pebs, software, spe, timed_pebs, tip,
};
use crate::schedule::{Period, Spread, Unit};

/// A profiler that watches a run and changes nothing.
#[derive(Clone, Copy)]
pub struct Profiler {
    /// Name on the command line and in results.
    pub name: &'static str,
    /// Modelled hardware, in one line.
    pub about: &'static str,
    /// The hardware that it takes.
    pub hardware: &'static str,
    /// Default unit of the period.
    pub counts: Counts,
    /// How its records come into memory.
    pub records: Records,
    /// Whether the profile is what the handler has stored, where a run is charged with it; else it is what the policy
    /// credits.
    pub is_stored: bool,
    /// Makes its policy.
    pub policy: fn() -> Box<dyn Policy>,
}

/// Default unit of a profiler's period.
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
    /// Description of the counted unit.
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
    /// The profiler needs a processor whose interrupts drain the window. Ours squash, so its cost is not simulated.
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
    pub const SHORT: Records = Records::Interrupt {
        words: 4,
        delay_cycles: 0,
    };
    /// A record of several addresses with flags.
    pub const GROUP: Records = Records::Interrupt {
        words: 8,
        delay_cycles: 0,
    };
}

/// Cycles from the overflow of a counter to the recognition of its interrupt, for software sampling: DCPI's
/// machines took six (Anderson and others, SOSP 1997, section 4.1).
pub(crate) const SKID_CYCLES: u64 = 6;

/// All of them, in the order in which they are listed.
pub const PROFILERS: &[Profiler] = &[
    software::SOFTWARE,
    interrupt::INTERRUPT,
    interrupt::DCPI,
    dispatch::IBS,
    dispatch::IBS_ROW,
    spe::SPE,
    spe::SPE_LATENCY,
    lci::LCI,
    lci::LCI_BEFORE,
    nci::NCI,
    nci::NCI_ILP,
    pebs::PEBS,
    pebs::PEBS_PDIR,
    timed_pebs::PEBS_TIMED,
    tip::TIP,
    tip::TEA,
    lbr::LBR,
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

    /// Period for about `samples` samples in a run of so many cycles and instructions: the next prime, or a random
    /// period around the mean for a profiler that counts instructions.
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
