//! How a program is to be observed, and the counters that this takes.

use std::sync::atomic::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analysis::Depth;
use crate::calls::Collector;
use crate::counters::{
    Asked, Counter, Event, EventKind, PerfEvent, Reach, Target, Way, remedy, user_access,
};
use crate::dte::Dte;
use crate::error::ShimError;
use crate::machine::Machine;
use crate::pace::Pace;
use crate::placement::Placement;
use crate::region::{EVENTS, Region};
use crate::sample::MAX_COUNTERS;

/// Processing of samples by the observer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Processing of the samples.
    pub mode: Mode,
    /// Which intervals are kept.
    pub dte: Dte,
    /// Events that are counted.
    pub events: Vec<Event>,
    /// The program's threads may be asked to count for themselves: it has not begun.
    pub at_tags: bool,
    /// Events may be counted that take an interrupt of the program's processor for each sample.
    pub may_interrupt: bool,
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
            at_tags: true,
            may_interrupt: false,
            tags: 16_384,
            stacks: None,
        }
    }
}

/// Calling contexts that there is room for, unless somebody asks for more: 2 MiB.
pub const CONTEXTS: usize = 65_536;

/// A counter as results name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CounterInfo {
    /// The event.
    pub name: String,
    /// How it is read, and what that costs the program: [`Counter::path`].
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
    /// [`ShimError::StacksInTally`], [`ShimError::CallsAlone`], [`ShimError::TooManyCounters`].
    pub fn check(&self) -> Result<(), ShimError> {
        if self.events.len() > MAX_COUNTERS {
            return Err(ShimError::TooManyCounters {
                asked: self.events.len(),
                most: MAX_COUNTERS,
            });
        }
        match self.mode {
            Mode::Tally if self.stacks.is_some() => Err(ShimError::StacksInTally),
            Mode::Calls(_) if self.stacks.is_some() || !self.events.is_empty() => {
                Err(ShimError::CallsAlone)
            }
            _ => Ok(()),
        }
    }

    /// How each event is counted.
    ///
    /// # Errors
    /// [`ShimError::NoEvents`] if the machine counts none of its kind, [`ShimError::Event`] if the program's threads would be
    /// refused, and as for [`Way::of`].
    pub fn ways(&self, machine: &Machine, placement: &Placement) -> Result<Vec<Way>, ShimError> {
        let way = |event: &Event| {
            let refused = match event.kind {
                EventKind::Region(_) => &None,
                EventKind::Software(_) => &machine.software_refused,
                EventKind::Hardware(_) | EventKind::Cache(_) | EventKind::Raw(_) => {
                    &machine.hardware_refused
                }
            };
            if let Some(why) = refused {
                return Err(ShimError::NoEvents {
                    event: event.name.clone(),
                    why: why.clone(),
                });
            }
            let at_tags = self.at_tags && machine.user_reads;
            let way = Way::of(event, &machine.pmus, placement, at_tags, self.may_interrupt)?;
            let reach = Reach::of(machine.paranoid, machine.is_capable);
            match &way {
                // The program would be refused, when nobody can say it any more.
                Way::AtTags(asked) if !asked.user_only && reach < Reach::Own => {
                    Err(ShimError::Event {
                        event: event.name.clone(),
                        source: std::io::Error::from_raw_os_error(libc::EACCES),
                        remedy: remedy(asked, Target::OwnThread, libc::EACCES, machine.paranoid),
                    })
                }
                _ => Ok(way),
            }
        };
        let ways: Vec<Way> = self.events.iter().map(way).collect::<Result<_, _>>()?;
        let asked = asked_of_threads(&ways).count();
        if asked > EVENTS {
            return Err(ShimError::TooManyCounters {
                asked,
                most: EVENTS,
            });
        }
        Ok(ways)
    }

    /// Writes into the region which events the program's threads are to count.
    ///
    /// # Errors
    /// The errors of [`Plan::ways`].
    pub fn ask(
        &self,
        machine: &Machine,
        placement: &Placement,
        region: &Region,
    ) -> Result<(), ShimError> {
        let ways = self.ways(machine, placement)?;
        let header = &region.layout().header;
        for (event, asked) in header.events.iter().zip(asked_of_threads(&ways)) {
            event
                .type_number
                .store(asked.type_number, Ordering::Relaxed);
            event
                .user_only
                .store(asked.user_only.into(), Ordering::Relaxed);
            event.config.store(asked.config, Ordering::Relaxed);
            event.config1.store(user_access(), Ordering::Relaxed);
        }
        let count = asked_of_threads(&ways).count() as u32;
        header.event_count.store(count, Ordering::Release);
        Ok(())
    }

    /// Opens the counters; called on the observer's thread, which some of them are bound to.
    ///
    /// # Errors
    /// The errors of [`Plan::ways`], and [`ShimError::Event`] with the remedy.
    pub fn open(
        &self,
        machine: &Machine,
        placement: &Placement,
        pid: u32,
    ) -> Result<Vec<Counter>, ShimError> {
        let own = |asked: &Asked| PerfEvent::open_asked(asked, Target::OwnThread);
        let mut places = 0..;
        let open = |way: &Way| -> Result<Counter, ShimError> {
            Ok(match way {
                Way::AtTags(_) => Counter::AtTags(places.next().unwrap_or_default()),
                Way::Memory(index) => Counter::Region(*index),
                Way::CoreClock(asked) => Counter::CoreClock(own(asked)?),
                Way::CoreMinusOwn { core, own: alone } => Counter::CoreMinusOwn {
                    core: PerfEvent::open_asked(core, Target::Cpu(placement.observer))?,
                    own: own(alone)?,
                },
                Way::Interrupt(asked) => {
                    Counter::Perf(PerfEvent::open_asked(asked, Target::Process(pid))?)
                }
            })
        };
        self.ways(machine, placement)?.iter().map(open).collect()
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

/// Events that the program's threads count for themselves.
fn asked_of_threads(ways: &[Way]) -> impl Iterator<Item = &Asked> {
    ways.iter().filter_map(|way| match way {
        Way::AtTags(asked) => Some(asked),
        _ => None,
    })
}
