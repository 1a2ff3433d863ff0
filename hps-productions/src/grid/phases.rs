//! The profiles of a point at any phase of its schedule, from what one functional pass has recorded.
//!
//! Where the first burst falls is chance, and decides what a sparse schedule sees. [`PhasedGrid`] is a [`GridProbe`] that
//! also keeps the sequence of events and of data references, so that [`EventTrace::profiles`] can apply any schedule
//! to them afterwards, on any thread. A pass that needs no phases uses [`GridProbe`] and pays nothing.
//! Events are calls and back-edges: tail calls are not told apart.

use hps_isa::inst::{Inst, OpClass};
use hps_isa::probe::Probe;
use hps_isa::random::Random;
use hps_profile::{StreamConfig, StreamConfigError};

use super::events::{EventKind, Transfer};
use super::{GridProbe, GridResult, PointProfiles};
use crate::point::SamplePoint;
use crate::stream::StreamRecorder;

/// Most events whose sequence is kept: 512 MiB with where they lie among the references.
const MAX_EVENTS: usize = 1 << 26;
/// Most references that are kept: 1 GiB.
const MAX_REFERENCES: usize = 1 << 27;

/// How far a schedule is ahead of one that begins with a whole sparsity, as a share of its period: 0 up to 1.
///
/// Schedules of any period have the same phases, so that points can be compared phase by phase.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Phase(f64);

impl Phase {
    /// The phase of the DISE engine: the first burst comes behind a whole sparsity.
    pub const ENGINE: Phase = Phase(0.0);

    /// A phase drawn evenly by the number of the draw; the same in every run.
    #[must_use]
    pub fn drawn(number: u64) -> Phase {
        let drawn = Random::from_number(0, number).number();
        Phase((drawn >> 11) as f64 / (1_u64 << 53) as f64)
    }

    /// By how many events the schedule of a point is ahead: less than its period.
    #[must_use]
    pub fn events(self, point: SamplePoint) -> u64 {
        let period = point.period();
        ((self.0 * period as f64) as u64).min(period - 1)
    }
}

/// A [`GridProbe`] that keeps the sequence of events, and with `MEMORY` that of data references.
#[derive(Debug)]
pub struct PhasedGrid<const MEMORY: bool> {
    grid: GridProbe<MEMORY>,
    /// The kind of each event.
    events: Vec<u32>,
    /// References before the end of each event.
    marks: Vec<u32>,
    references: Vec<u64>,
    /// There were more events than are kept.
    is_full: bool,
    /// There were more references than are kept.
    is_full_of_references: bool,
}

impl<const MEMORY: bool> PhasedGrid<MEMORY> {
    /// The probe around a grid.
    #[must_use]
    pub fn new(grid: GridProbe<MEMORY>) -> Self {
        PhasedGrid {
            grid,
            events: Vec::new(),
            marks: Vec::new(),
            references: Vec::new(),
            is_full: false,
            is_full_of_references: !MEMORY,
        }
    }

    /// The profiles of the grid, and the trace; none of a program that has more than 67 million events.
    #[must_use]
    pub fn finish(mut self) -> (GridResult, Option<EventTrace>) {
        self.take_references();
        let trace = (!self.is_full).then(|| EventTrace {
            kinds: self.grid.events.kinds().to_vec(),
            events: self.events,
            marks: self.marks,
            references: (!self.is_full_of_references).then_some(self.references),
        });
        (self.grid.finish(), trace)
    }

    #[inline]
    fn event(&mut self, site: u64, target: u64, transfer: Transfer) {
        let kind = self.grid.event(site, target, transfer);
        if self.is_full {
            return;
        }
        if self.events.len() == MAX_EVENTS {
            self.stop();
            return;
        }
        self.events.push(kind as u32);
        if MEMORY && !self.is_full_of_references {
            let before = self.references.len() + self.grid.references.waiting().len();
            self.marks.push(before as u32);
        }
    }

    #[cold]
    fn stop(&mut self) {
        self.is_full = true;
        self.events = Vec::new();
        self.stop_references();
    }

    #[cold]
    fn stop_references(&mut self) {
        self.is_full_of_references = true;
        self.references = Vec::new();
        self.marks = Vec::new();
    }

    /// Takes over what waits in the grid's batch.
    fn take_references(&mut self) {
        if self.is_full_of_references {
            return;
        }
        let waiting = self.grid.references.waiting();
        if self.references.len() + waiting.len() > MAX_REFERENCES {
            self.stop_references();
        } else {
            self.references.extend_from_slice(waiting);
        }
    }
}

impl<const MEMORY: bool> Probe for PhasedGrid<MEMORY> {
    const WANTS_CONTROL: bool = true;
    const WANTS_MEMORY: bool = MEMORY;

    #[inline]
    fn control(&mut self, pc: u64, inst: &Inst, target: u64, _taken: bool) {
        if inst.class.is_call() {
            self.event(pc, target, Transfer::Call);
            return;
        }
        self.grid.branches += u64::from(inst.class != OpClass::Return);
        if inst.is_back_edge() {
            self.event(pc, inst.direct_target(pc), Transfer::BackEdge);
        }
    }

    #[inline(always)]
    fn memory_quickly(&mut self, _class: OpClass, addr: u64) -> bool {
        self.grid.references.push_quickly(addr)
    }

    #[inline]
    fn memory(&mut self, _pc: u64, _inst: &Inst, addr: u64) {
        if !self.grid.references.push_quickly(addr) {
            // The grid's batch has room for this one, and is emptied with it.
            self.take_references();
            if !self.is_full_of_references {
                self.references.push(addr);
            }
            self.grid.references.push(addr);
        }
    }
}

/// The events and data references of a run, in order.
#[derive(Clone, Debug)]
pub struct EventTrace {
    kinds: Vec<EventKind>,
    events: Vec<u32>,
    marks: Vec<u32>,
    references: Option<Vec<u64>>,
}

impl EventTrace {
    /// Whether there are references: they were asked for, and were at most 134 million.
    #[must_use]
    pub fn has_references(&self) -> bool {
        self.references.is_some()
    }

    /// Events of the run.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events.len() as u64
    }

    /// Methods and call pairs of a point at a phase: what it samples is what an engine samples whose counter begins that
    /// much further on.
    #[must_use]
    pub fn profiles(&self, point: SamplePoint, phase: Phase) -> PointProfiles {
        let mut counts = vec![0_u64; self.kinds.len()];
        for (from, to) in self.bursts(point, phase) {
            let to = to.min(self.events());
            for &kind in &self.events[from.min(to) as usize..to as usize] {
                counts[kind as usize] += 1;
            }
        }
        PointProfiles::new(point, self.kinds.iter().zip(counts), None)
    }

    /// The data references of a point at a phase, recorded for the analysis that `streams` asks for; `None` without
    /// references.
    ///
    /// # Errors
    /// Impossible settings.
    pub fn references(
        &self,
        point: SamplePoint,
        phase: Phase,
        streams: Option<&StreamConfig>,
    ) -> Result<Option<StreamRecorder>, StreamConfigError> {
        let Some(references) = &self.references else {
            return Ok(None);
        };
        // References before the event of this number ends; behind the last event: all.
        let before = |events: u64| match events {
            0 => 0,
            n if n > self.events() => references.len(),
            n => self.marks[n as usize - 1] as usize,
        };
        let mut recorder = StreamRecorder::new(streams)?;
        for (from, to) in self.bursts(point, phase) {
            let burst = &references[before(from)..before(to)];
            if !burst.is_empty() {
                recorder.next_burst();
                recorder.push_all(burst);
            }
        }
        Ok(Some(recorder))
    }

    /// Each burst, from which event to before which one. The last one may end behind the last event, and what comes
    /// behind the last event belongs to an event that does not come.
    fn bursts(&self, point: SamplePoint, phase: Phase) -> impl Iterator<Item = (u64, u64)> {
        let ahead = phase.events(point);
        let last = self.events();
        let (period, sparsity) = match point.sparsity {
            // One burst that never ends.
            0 => (u64::MAX, 0),
            sparsity => (point.period(), sparsity),
        };
        let bursts = (0..).map(move |number: u64| {
            let begin = number.saturating_mul(period);
            let from = begin.saturating_add(sparsity).saturating_sub(ahead);
            (from, begin.saturating_add(period).saturating_sub(ahead))
        });
        let bursts = bursts.take_while(move |&(from, _)| from <= last);
        bursts.take(if point.sparsity == 0 { 1 } else { usize::MAX })
    }
}
