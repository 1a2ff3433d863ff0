//! How an event is counted, decided from a description of the machine: nothing is opened here.
//!
//! A counter can be read without a disturbance from the core that it counts on, and from there alone. The observer sits on
//! the program's core with SMT placement only, and there it sees the program's share of an event as that of the whole core
//! minus its own, which takes a PMU that counts for all threads of a core (Intel's AnyThread: up to Skylake and its
//! descendants; not since Ice Lake, never on AMD or Arm). Every other count of the program is brought up to date by the
//! kernel on the program's processor, by an interrupt for each sample, software events among them. So where the processor
//! lets programs read their own counters, the program's threads do that, with each tag that they write.

use perf_event_open_sys::bindings as sys;

use super::event::{Event, EventKind};
use super::pmu::Pmu;
use crate::affinity::listed;
use crate::error::ShimError;
use crate::placement::{Placement, Seat};

/// Request to `perf_event_open`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The event's name, for messages.
    pub name: String,
    /// `perf_event_attr.type`.
    pub type_number: u32,
    /// `perf_event_attr.config`.
    pub config: u64,
    /// Kernel and hypervisor are left out.
    pub user_only: bool,
    /// A PMU counts it.
    pub needs_pmu: bool,
}

/// How an event is counted, and what a sample of it costs the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// In the program's slot of the region: a load.
    Memory(usize),
    /// The cycles of the observer's own thread, which never halts: the clock of the core that it shares with the program.
    CoreClock(Asked),
    /// Over all threads of the core, minus the observer's own.
    CoreMinusOwn {
        /// Over all threads of the core.
        core: Asked,
        /// Of the observer's thread.
        own: Asked,
    },
    /// By the program's own threads, which write their counts beside each tag.
    AtTags(Asked),
    /// Of the program, by system call: an interrupt of the program's processor for each sample.
    Interrupt(Asked),
}

/// Fields of a raw x86 event that make it count cycles: the counter mask, and its inversion.
const COUNTS_CYCLES: u64 = 0xff80_0000;

impl Asked {
    /// An event on whatever PMU the kernel chooses; `None` for a counter of the region, which is no event.
    #[must_use]
    pub fn plain(event: &Event) -> Option<Self> {
        let (type_number, config) = match event.kind {
            EventKind::Hardware(config) => (sys::PERF_TYPE_HARDWARE, config),
            EventKind::Cache(config) => (sys::PERF_TYPE_HW_CACHE, config),
            EventKind::Software(config) => (sys::PERF_TYPE_SOFTWARE, config),
            EventKind::Raw(config) => (sys::PERF_TYPE_RAW, config),
            EventKind::Region(_) => return None,
        };
        Some(Self {
            name: event.name.clone(),
            type_number,
            config,
            user_only: event.user_only,
            needs_pmu: event.needs_pmu(),
        })
    }

    /// An event on the PMU that counts on these CPUs.
    fn on(event: &Event, pmus: &[Pmu], cpus: &[usize]) -> Result<Option<Self>, ShimError> {
        let Some(mut asked) = Self::plain(event) else {
            return Ok(None);
        };
        // With one PMU the kernel has no choice; without one it says so itself.
        if !event.needs_pmu() || pmus.len() < 2 {
            return Ok(Some(asked));
        }
        let all = |pmu: &&Pmu| cpus.iter().all(|&cpu| pmu.counts_on(cpu));
        let Some(pmu) = pmus.iter().find(all) else {
            return Err(ShimError::Hybrid {
                event: event.name.clone(),
                cpus: listed(cpus),
                pmus: pmus
                    .iter()
                    .map(|pmu| format!("{} counts on {}", pmu.name, listed(&pmu.cpus)))
                    .collect::<Vec<_>>()
                    .join(", "),
            });
        };
        match event.kind {
            EventKind::Raw(_) => asked.type_number = pmu.type_number,
            // The number of the PMU stands above perf's generic event.
            _ => asked.config |= u64::from(pmu.type_number) << 32,
        }
        Ok(Some(asked))
    }
}

impl Way {
    /// How an event is counted with this placement. `at_tags`: the program's threads can count for themselves.
    /// `may_interrupt`: the user has accepted an interrupt of the program's processor for each sample.
    ///
    /// # Errors
    /// [`ShimError::Interrupts`] if there is no other way and it was not accepted, [`ShimError::Hybrid`] if the CPUs have
    /// no PMU in common.
    pub fn of(
        event: &Event,
        pmus: &[Pmu],
        placement: &Placement,
        at_tags: bool,
        may_interrupt: bool,
    ) -> Result<Self, ShimError> {
        if let EventKind::Region(index) = event.kind {
            return Ok(Self::Memory(index));
        }
        let why = match Self::in_core(event, pmus, placement)? {
            Ok(way) => return Ok(way),
            Err(why) => why,
        };
        match Asked::on(event, pmus, &placement.program)? {
            Some(asked) if may_interrupt => Ok(Self::Interrupt(asked)),
            Some(asked) if at_tags && asked.needs_pmu => Ok(Self::AtTags(asked)),
            _ => Err(ShimError::Interrupts {
                event: event.name.clone(),
                why,
            }),
        }
    }

    /// How an event is counted from the program's own core; or else why it cannot be.
    fn in_core(
        event: &Event,
        pmus: &[Pmu],
        placement: &Placement,
    ) -> Result<Result<Self, &'static str>, ShimError> {
        if !event.needs_pmu() {
            return Ok(Err("the kernel counts it on the program's processor"));
        }
        let here = |pmu: &&Pmu| pmu.counts_on(placement.observer);
        let pmu = pmus.iter().find(here);
        let any = pmu.and_then(|pmu| Some((pmu, pmu.any_bit?)));
        let Some((pmu, any)) = any else {
            return Ok(Err(
                "its counter belongs to the program's hardware thread, and this processor has none for all \
                 threads of a core (Intel's had, up to Skylake and its descendants)",
            ));
        };
        if placement.seat != Seat::Smt {
            return Ok(Err(
                "its counter belongs to the program's core; from there (--placement smt) it is read without",
            ));
        }
        let Some(own) = Asked::on(event, pmus, &[placement.observer])? else {
            return Ok(Err("it is no event"));
        };
        let base = match event.kind {
            EventKind::Hardware(number) if is_clock(number) => return Ok(Ok(Self::CoreClock(own))),
            EventKind::Hardware(number) if is_stall(number) => None,
            EventKind::Raw(config) => (config & COUNTS_CYCLES == 0).then_some(config),
            _ => pmu.encodings.get(event.base()).copied(),
        };
        let Some(base) = base else {
            return Ok(Err(
                "it counts cycles in which some thread of the core does something, from which the observer's \
                 own cannot be subtracted",
            ));
        };
        let type_number = if pmus.len() < 2 {
            sys::PERF_TYPE_RAW
        } else {
            pmu.type_number
        };
        let core = Asked {
            name: format!("{} (core)", event.name),
            type_number,
            config: base | 1 << any,
            ..own.clone()
        };
        Ok(Ok(Self::CoreMinusOwn { core, own }))
    }
}

/// Events that count while a thread of the core runs: with the observer on it, always.
fn is_clock(number: u64) -> bool {
    [
        sys::PERF_COUNT_HW_CPU_CYCLES,
        sys::PERF_COUNT_HW_BUS_CYCLES,
        sys::PERF_COUNT_HW_REF_CPU_CYCLES,
    ]
    .map(u64::from)
    .contains(&number)
}

fn is_stall(number: u64) -> bool {
    [
        sys::PERF_COUNT_HW_STALLED_CYCLES_FRONTEND,
        sys::PERF_COUNT_HW_STALLED_CYCLES_BACKEND,
    ]
    .map(u64::from)
    .contains(&number)
}

/// How far the kernel lets a process count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Nothing: the kernel has no perf events.
    NoPerf,
    /// Nothing.
    Nothing,
    /// User space of own programs.
    User,
    /// Own programs, the kernel for them included.
    Own,
    /// Whole CPUs.
    Cpus,
}

impl Reach {
    /// Rights by `kernel.perf_event_paranoid`; the capability `CAP_PERFMON` (or `CAP_SYS_ADMIN`) lifts it.
    ///
    /// Levels above 2 are Debian's and Ubuntu's (3, 4) and Android's (3): they refuse every event.
    #[must_use]
    pub fn of(paranoid: Option<i32>, is_capable: bool) -> Self {
        match paranoid {
            None => Self::NoPerf,
            Some(_) if is_capable => Self::Cpus,
            Some(..=0) => Self::Cpus,
            Some(1) => Self::Own,
            Some(2) => Self::User,
            Some(_) => Self::Nothing,
        }
    }
}
