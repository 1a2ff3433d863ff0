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
use hps_sim_core::os::PID;

/// Where the observer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// On the second context of the program's core.
    Smt,
    /// On a core of its own.
    Cmp,
}

impl Placement {
    /// Where there is no such context, and why.
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

/// What the observer reads.
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
    /// As [`Signals::Samples`], of what the thread on the program's context shows by itself: a program with `hps_shim.h`
    /// and [`shown::VARIABLE`] in its environment.
    Shown {
        /// Counters of the hardware in each sample, as there.
        counters: usize,
        /// Counters of the program's own in each sample, behind those: bit 0 stands for the first one. There are at most
        /// three counters together.
        own: u8,
        /// Also the tag stack, up to so many of its outermost entries, up to [`MOST_ENTRIES`]; 0: no stack.
        depth: usize,
    },
    /// Stamps and counters, and the calling context from the tag stack (`call_stack.dise`).
    Context {
        /// Counters in each sample, 0 to 2.
        counters: usize,
        /// The innermost tags, at most so many, up to [`DEEPEST`].
        depth: usize,
    },
    /// Calls on the tag stack (`call_stack.dise`) that nobody has seen yet.
    NewCalls {
        /// So many from the top; none: all.
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
    /// Whether it reads what calls and returns write.
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
    /// The word that says how deep it is.
    pub word: u64,
    /// The tag.
    pub tag: u64,
    /// The outermost entries; what stands behind those that there were is of older samples.
    pub entries: &'a [u64],
    /// The tag again.
    pub tag_after: u64,
    /// The word again.
    pub word_after: u64,
}

/// What the observer does between two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Throttle {
    /// Nothing.
    None,
    /// Turns of an empty loop.
    Spin(u64),
    /// It sleeps so many cycles: its context is free meanwhile.
    Sleep(u64),
}

/// An observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Observer {
    /// Where it runs.
    pub placement: Placement,
    /// What it reads.
    pub signals: Signals,
    /// What slows it down.
    pub throttle: Throttle,
}

/// What holds the observer up, as interrupts of its processor would: at random times it stands still for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Disturbance {
    /// Instructions of all contexts from one time to the next, in the mean; they are uniform from half to one and a half
    /// of that.
    pub every_instructions: u64,
    /// Cycles each time.
    pub cycles: u64,
    /// What the times are drawn with.
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
    /// Whether a process other than that of the observed program was on the program's context, as the word of the thread
    /// says: a child, whose tags and counts are not the program's.
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
