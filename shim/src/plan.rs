//! How a program is to be observed, and the counters that this takes.

use serde::{Deserialize, Serialize};

use crate::analysis::Depth;
use crate::calls::Collector;
use crate::counters::{Counter, Event, EventKind, PerfEvent, Target};
use crate::dte::Dte;
use crate::error::ShimError;
use crate::machine::Machine;
use crate::pace::Pace;
use crate::placement::{Placement, Seat};

/// What the observer does with what it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Tags alone into a histogram, no time stamps: the fastest.
    Tally,
    /// Samples with time stamps, analysed in the observer's own loop.
    Inline(Depth),
    /// Samples with time stamps through a ring to a thread that analyses them.
    Ring {
        /// Samples that the ring holds.
        capacity: usize,
    },
    /// Calls.
    Calls(Collector),
}

/// How a program is to be observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The wait between samples.
    pub pace: Pace,
    /// What is done with them.
    pub mode: Mode,
    /// Which intervals are kept.
    pub dte: Dte,
    /// What is counted.
    pub events: Vec<Event>,
    /// Number of different tags for which there is room.
    pub tags: usize,
    /// Number of calling contexts for which there is room; `None` if stacks of tags are not read.
    pub stacks: Option<usize>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            pace: Pace::Fast,
            mode: Mode::Inline(Depth::Full),
            dte: Dte::default(),
            events: Vec::new(),
            tags: 16_384,
            stacks: None,
        }
    }
}

/// Calling contexts that there is room for, unless somebody asks for more: 2 MiB.
pub const CONTEXTS: usize = 65_536;

/// A counter as results name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterInfo {
    /// The event.
    pub name: String,
    /// How it is read: `rdpmc`, `read(2)` or `memory`.
    pub path: String,
}

impl Plan {
    /// Whether it wants hardware events, which only a neighbour on the same core sees by `rdpmc`.
    #[must_use]
    pub fn wants_pmu(&self) -> bool {
        self.events.iter().any(Event::needs_pmu)
    }

    /// Refuses what cannot be had together.
    ///
    /// # Errors
    /// [`ShimError::StacksInTally`], [`ShimError::CallsAlone`].
    pub fn check(&self) -> Result<(), ShimError> {
        match self.mode {
            Mode::Tally if self.stacks.is_some() => Err(ShimError::StacksInTally),
            Mode::Calls(_) if self.stacks.is_some() || !self.events.is_empty() => {
                Err(ShimError::CallsAlone)
            }
            _ => Ok(()),
        }
    }

    /// Opens the counters; called on the observer's thread, which some of them are bound to.
    ///
    /// With SMT placement a hardware event is counted for the whole core, minus the observer's own.
    /// Otherwise events are counted for the program and read by system call.
    ///
    /// # Errors
    /// [`ShimError::Event`] with the remedy.
    pub fn open(
        &self,
        machine: &Machine,
        placement: &Placement,
        pid: u32,
    ) -> Result<Vec<Counter>, ShimError> {
        let open = |event: &Event| -> Result<Counter, ShimError> {
            if let EventKind::Region(index) = event.kind {
                return Ok(Counter::Region(index));
            }
            let whole = (placement.seat == Seat::Smt && event.needs_pmu())
                .then(|| event.core_wide(machine.pmu.as_deref()?))
                .flatten();
            match whole {
                Some(core) => Ok(Counter::CoreMinusOwn {
                    core: PerfEvent::open(&core, Target::Cpu(placement.observer))?,
                    own: PerfEvent::open(event, Target::OwnThread)?,
                }),
                None => PerfEvent::open(event, Target::Process(pid)).map(Counter::Perf),
            }
        };
        self.events.iter().map(open).collect()
    }

    /// The counters' names and how they are read.
    #[must_use]
    pub fn infos(&self, counters: &[Counter]) -> Vec<CounterInfo> {
        let all = self.events.iter().zip(counters);
        all.map(|(event, counter)| CounterInfo {
            name: event.name.clone(),
            path: counter.path().to_owned(),
        })
        .collect()
    }
}
