//! SHIM inside the machine (Yang, Blackburn and McKinley, ISCA 2015): an observer on another hardware context samples a
//! program while it runs, as guest code that competes for what the contexts share; and the truth beside each sample.
//!
//! The observer is a thread of instructions in the memory of the program ([`code`]), which the program's operating
//! system does not know. Its samples go into a ring in that memory, which the laboratory empties between two stretches of
//! the run, at no cost. A probe ([`watch`]) knows in which cycle each part of a sample was read, and how many
//! instructions the program had committed then.
//!
//! | part | holds |
//! | --- | --- |
//! | [`area`] | where code, tag and samples lie |
//! | [`code`] | the observer in assembly, for both instruction sets |
//! | [`watch`] | when samples were taken, and what the program did |
//! | [`run`] | a run with an observer |

mod area;
mod code;
mod run;
mod watch;

pub use area::TAG;
pub use run::Observed;
pub use watch::{Reads, Reckoning};

use hps_pipeline::config::MachineConfig;

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
}

/// What the observer does between two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Throttle {
    /// Nothing.
    None,
    /// So many turns of an empty loop.
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

/// A sample as the observer stored it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The start stamp, in cycles.
    pub start: u64,
    /// Counters, in their order.
    pub counters: [u64; 3],
    /// The end stamp, in cycles.
    pub end: u64,
    /// The word of the thread on the program's context.
    pub thread: u64,
    /// The tag.
    pub tag: u64,
}

impl Sample {
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
