//! SHIM inside the machine (Yang, Blackburn and McKinley, ISCA 2015): an observer on another hardware context samples a
//! program while it runs, as guest code that competes for what the contexts share; and the truth beside each sample.
//!
//! The observer is a thread of instructions in the memory of the program ([`code`]), which the program's operating
//! system does not know. Its samples go into a ring in that memory, which the laboratory empties between two stretches of
//! the run, at no cost. A probe ([`watch`]) knows in which cycle each part of a sample was read, and how many
//! instructions the program had committed then.
//!
//! An observer follows the program that it comes with. Child processes run without tags, as on a machine whose operating
//! system gives each process productions of its own; samples beside them say so by the word of the thread
//! ([`Sample::is_apart`]). It ends with that program, or when the process executes another one. The run goes on.
//!
//! | part | holds |
//! | --- | --- |
//! | [`area`] | where code, tag and samples lie |
//! | [`code`] | the observer in assembly, for both instruction sets |
//! | [`watch`] | when samples were taken, and what the program did |
//! | [`disturbed`] | what holds observers up |
//! | [`operated`] | clocks and prefetchers that samples switch |
//! | [`shown`] | what a program shows by itself |
//! | [`paths`] | its tag stack by cycle |
//! | [`stack`] | which calls were under way in each cycle |
//! | [`tally`] | how often each call was made, and what was done meanwhile |
//! | [`calls`] | calls and calling contexts as observers find them, beside the truth |
//! | [`run`] | a run with an observer |

mod area;
mod calls;
mod code;
mod disturbed;
mod operated;
pub mod paths;
mod run;
pub mod shown;
mod stack;
mod tally;
pub(crate) mod watch;

pub use area::TAG;
pub use calls::{ObservedCall, ObservedContext, SeenCall};
pub use operated::{Operating, Switch};
pub use run::Observed;
pub use tally::{Spent, Tally};
pub use watch::{Reads, Reckoning};

use hps_pipeline::config::MachineConfig;
use hps_system::os::PID;

/// Place of the observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// On the second context of the program's core.
    Smt,
    /// On a core of its own.
    Cmp,
}

impl Placement {
    /// Text that says which contexts the machine lacks, and why.
    pub(crate) fn lacking(self) -> &'static str {
        match self {
            Placement::Smt => "on the core of the program (chip.contexts is 1)",
            Placement::Cmp => "on another core (chip.cores is 1)",
        }
    }

    /// The processor of the observer, if the machine has one that is placed so. The program's first thread is on
    /// processor 0; observers have the last contexts.
    #[must_use]
    pub fn processor(self, machine: &MachineConfig) -> Option<usize> {
        let (cores, contexts) = (machine.chip.cores as usize, machine.chip.contexts as usize);
        match self {
            Placement::Smt => (contexts > 1).then(|| cores * (contexts - 1)),
            Placement::Cmp => (cores > 1).then(|| cores * contexts - 1),
        }
    }
}

/// Signals that the observer reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signals {
    /// The tag alone, into a histogram in the observer's memory.
    Tag,
    /// The paper's order: start stamp, so many counters (`hpmcounter3` and those behind it), end stamp, the word of the
    /// thread, the tag; into a ring of samples. RISC-V has counters, Alpha stamps only.
    Samples {
        /// Counters in each sample, 0 to 3.
        counters: usize,
    },
    /// The signals of [`Signals::Samples`], as the thread on the program's context shows them by itself: a program with
    /// `hps_shim.h` and [`shown::VARIABLE`] in its environment.
    Shown {
        /// Counters of the hardware in each sample, as in [`Signals::Samples`].
        counters: usize,
        /// Set of the program's own counters in each sample, behind those of the hardware: bit 0 stands for the first
        /// one. A sample has at most three counters together.
        own: u8,
        /// Entries of the tag stack in each sample, outermost first, up to [`MOST_ENTRIES`]; 0: no stack.
        depth: usize,
    },
    /// Stamps and counters, and the calling context from the tag stack (`call_stack.dise`).
    Context {
        /// Counters in each sample, 0 to 2.
        counters: usize,
        /// The innermost tags, at most so many, up to [`DEEPEST`].
        depth: usize,
    },
    /// Calls on the tag stack (`call_stack.dise`) that the observer has not seen yet.
    NewCalls {
        /// Depth from the top of the stack; `None`: all of it.
        depth: Option<u64>,
    },
    /// Calls out of a ring (`call_pairs.dise`), once it is full.
    CallPairs {
        /// Bytes of the ring, a power of two from 32 to [`MOST_RING_BYTES`].
        bytes: u64,
    },
    /// Calls out of a ring of calls and returns (`call_sequence.dise`), once it is full.
    CallSequence {
        /// Bytes of the ring, a power of two from 16 to [`MOST_RING_BYTES`].
        bytes: u64,
    },
}

impl Signals {
    /// Whether the observer reads records of calls and returns.
    pub(crate) fn is_of_calls(self) -> bool {
        !matches!(
            self,
            Signals::Tag | Signals::Samples { .. } | Signals::Shown { .. }
        )
    }
}

/// Most tags in a sample of [`Signals::Context`].
pub const DEEPEST: usize = 123;
/// Most entries of the tag stack in a sample of [`Signals::Shown`].
pub const MOST_ENTRIES: usize = 118;
/// Most bytes of a ring of calls.
pub const MOST_RING_BYTES: u64 = 4 << 20;

/// The words of a tag stack as the observer read them ([`Signals::Shown`]), in the order of its reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackRead<'a> {
    /// The word with the stack's depth.
    pub word: u64,
    /// The tag.
    pub tag: u64,
    /// The outermost entries. Words beyond the stack's depth are of older samples.
    pub entries: &'a [u64],
    /// The tag, read once more.
    pub tag_after: u64,
    /// The word with the depth, read once more.
    pub word_after: u64,
}

/// Pause of the observer between two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Throttle {
    /// No pause.
    None,
    /// Turns of an empty loop.
    Spin(u64),
    /// A sleep of so many cycles, during which the observer's context is free.
    Sleep(u64),
}

/// An observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Observer {
    /// Place of the observer.
    pub placement: Placement,
    /// Signals that the observer reads.
    pub signals: Signals,
    /// Pause between two samples.
    pub throttle: Throttle,
}

/// Holds of the observer, as interrupts of its processor would cause: at random times it stands still for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Disturbance {
    /// Instructions of all contexts from one hold to the next, in the mean; the distances are uniform from half to one
    /// and a half of the mean.
    pub every_instructions: u64,
    /// Cycles of a hold.
    pub cycles: u64,
    /// Seed of the random times.
    pub seed: u64,
}

/// A sample as the observer stored it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The start stamp, in cycles.
    pub start: u64,
    /// Counters, in their order.
    pub counters: [u64; 3],
    /// The end stamp, in cycles.
    pub end: u64,
    /// The word of the thread on the program's context: `process << 32 | thread`, 0 while there is none.
    pub thread: u64,
    /// The tag.
    pub tag: u64,
}

impl Sample {
    /// Whether a process other than the observed program's was on the program's context, as the word of the thread
    /// says. Tags and counts of such a child are not the program's.
    #[must_use]
    pub fn is_apart(&self) -> bool {
        let process = (self.thread >> 32) as u32;
        process != 0 && process != PID
    }

    /// The sample with stamps of 64 bits, if those it has are their low 32.
    fn with_long_stamps(mut self, reads: &Reads) -> Sample {
        let long = |stamp: u64, read: u64| {
            let behind = (stamp as u32).wrapping_sub(read as u32) as i32;
            read.wrapping_add_signed(i64::from(behind))
        };
        self.start = long(self.start, reads.start);
        self.end = long(self.end, reads.end);
        self
    }
}
