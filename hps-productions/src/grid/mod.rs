//! One functional run feeds every burst × sparsity × profile.
//!
//! Decisions of a sampler depend only on the retired stream: calls, back-edges, memory references. [`GridProbe`]
//! watches that stream once and keeps the exhaustive profiles and those of all points, which are, count for count, what
//! the DISE engine collects with [`Collector`](crate::Collector).
//!
//! The state of all points is one bit mask that changes only when the number of completed events
//! reaches the next toggle, so that an event costs a comparison beside its exhaustive count, and a
//! memory reference a store: references are collected in batches, and where in the batch a point
//! was switched on and off says which of them it samples.

mod events;
mod phases;
mod references;
mod schedule;
#[cfg(test)]
mod tests;
mod worker;

use std::sync::Arc;

use hps_isa::inst::{Inst, OpClass};
use hps_isa::likely::seldom;
use hps_isa::probe::Probe;
use hps_profile::{CallPair, Profile, StreamConfig, StreamConfigError};
use hps_system::symbols::Entries;

use crate::counts::{AddressCounts, MethodMap};
use crate::point::{SamplePoint, SamplePointError};
use crate::statistics::ProgramStatistics;
use crate::stream::StreamRecorder;
use events::{EventKind, EventTable, Transfer};
use references::References;
use schedule::Schedule;

pub use phases::{EventTrace, Phase, PhasedGrid};
pub use schedule::MAX_POINTS;

/// Why there is no such grid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GridError {
    /// Too many points for one pass.
    #[error(
        "{0} sampling points are too many for one pass: use at most {MAX_POINTS}, and several passes for more"
    )]
    TooManyPoints(usize),
    /// A point that the counters cannot count.
    #[error(transparent)]
    Point(#[from] SamplePointError),
    /// Impossible settings of the analysis of data streams.
    #[error(transparent)]
    Streams(#[from] StreamConfigError),
}

/// Feeds the exhaustive profiles and those of every point from one run; see the [module](self).
///
/// `MEMORY` switches data references on: a probe without them costs nothing per reference.
#[derive(Debug)]
pub struct GridProbe<const MEMORY: bool> {
    schedule: Schedule,
    events: EventTable,
    branches: u64,
    references: References,
    points: Vec<SamplePoint>,
    /// The program's functions, if tail calls are counted.
    tail_calls: Option<Arc<Entries>>,
}

impl GridProbe<false> {
    /// A probe for methods and call pairs.
    ///
    /// # Errors
    /// Too many points, or an impossible one.
    pub fn new(points: &[SamplePoint]) -> Result<Self, GridError> {
        Self::build(points, None)
    }
}

impl GridProbe<true> {
    /// A probe for methods, call pairs and data references. With a configuration the references
    /// are analyzed for hot data streams, the exhaustive trace as well as that of each point;
    /// without one only their numbers and digests are kept.
    ///
    /// # Errors
    /// Too many points, or an impossible one; impossible settings.
    pub fn with_memory(
        points: &[SamplePoint],
        streams: Option<&StreamConfig>,
    ) -> Result<Self, GridError> {
        Self::build(points, streams)
    }

    /// Spreads the pass over at most this many threads, this one among them, which keeps the machine
    /// and what is counted by events. The analysis of the exhaustive trace, which takes longer than all
    /// the rest, gets the second one, and further ones share those of the points. Threads wait for each
    /// other through bounded channels of batches that are used again and again, so that memory stays
    /// bounded. The result is the same for any number; 1 leaves everything here.
    ///
    /// To be called before the run; behind [`Self::without_streams_from`].
    #[must_use]
    pub fn on_threads(mut self, threads: usize) -> Self {
        self.references.spread(threads, &self.points);
        self
    }

    /// The exhaustive trace is not analyzed, of which only the number and digest of its references are kept then: for
    /// those who know its hot data streams, or do not ask for them. It takes longer than all the rest.
    #[must_use]
    pub fn without_exhaustive_streams(mut self) -> Self {
        self.references.drop_exhaustive_analysis();
        self
    }

    /// Points from index `from` on keep only the numbers and digests of their references.
    #[must_use]
    pub fn without_streams_from(mut self, from: usize) -> Self {
        self.references.drop_analyses(from);
        self
    }
}

impl<const MEMORY: bool> GridProbe<MEMORY> {
    fn build(points: &[SamplePoint], streams: Option<&StreamConfig>) -> Result<Self, GridError> {
        if points.len() > MAX_POINTS {
            return Err(GridError::TooManyPoints(points.len()));
        }
        points.iter().try_for_each(SamplePoint::validate)?;
        let schedule = Schedule::new(points);
        Ok(GridProbe {
            references: References::new(points.len(), schedule.mask(), streams)?,
            schedule,
            events: EventTable::new(points.len()),
            branches: 0,
            points: points.to_vec(),
            tail_calls: None,
        })
    }

    /// Also counts tail calls, as [`CollectorOptions::tail_calls`](crate::CollectorOptions::tail_calls) does. They are no
    /// events: all points sample what they sample without.
    #[must_use]
    pub fn with_tail_calls(mut self, functions: Option<Arc<Entries>>) -> Self {
        self.tail_calls = functions;
        self
    }

    /// Events completed so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.schedule.completed()
    }

    /// Counts an event; the identity of its kind.
    #[inline]
    fn event(&mut self, site: u64, target: u64, transfer: Transfer) -> usize {
        let id = self.count(site, target, transfer);
        let changed = self.schedule.complete_event();
        if MEMORY && changed != 0 {
            self.references.toggle(changed);
        }
        id
    }

    /// Counts what may be no event; the identity of its kind.
    #[inline]
    fn count(&mut self, site: u64, target: u64, transfer: Transfer) -> usize {
        let id = self.events.count(site, target, transfer);
        let mask = self.schedule.mask();
        if mask != 0 {
            self.events.count_sampled(id, mask);
        }
        id
    }

    /// A jump where tail calls are counted; a backward one is an event.
    #[inline(never)]
    fn jump(&mut self, pc: u64, inst: &Inst, target: u64) {
        let functions = self.tail_calls.as_deref();
        let is_tail_call = functions.is_some_and(|functions| match inst.class {
            OpClass::Jump => functions.is_tail_call(pc, target),
            _ => functions.begins_function(target),
        });
        let transfer = match is_tail_call {
            true => Transfer::TailCall,
            false => Transfer::BackEdge,
        };
        if inst.is_back_edge() {
            self.event(pc, target, transfer);
        } else if is_tail_call {
            self.count(pc, target, transfer);
        }
    }

    /// The profiles.
    #[must_use]
    pub fn finish(self) -> GridResult {
        let events = &self.events;
        let traces = self.references.finish();
        let all = events.kinds().iter().map(|kind| (kind, kind.count));
        let exhaustive = PointProfiles::new(
            SamplePoint::EXHAUSTIVE,
            all,
            MEMORY.then_some(traces.exhaustive),
        );
        let points = self.points.iter().zip(traces.points).enumerate();
        let points = points
            .map(|(i, (&point, recorder))| {
                PointProfiles::new(point, events.at_point(i), MEMORY.then_some(recorder))
            })
            .collect();
        GridResult {
            exhaustive,
            points,
            branches: self.branches,
            memory_references: MEMORY.then_some(traces.total),
        }
    }
}

impl<const MEMORY: bool> Probe for GridProbe<MEMORY> {
    const WANTS_CONTROL: bool = true;
    const WANTS_MEMORY: bool = MEMORY;

    #[inline]
    fn control(&mut self, pc: u64, inst: &Inst, target: u64, _taken: bool) {
        if inst.class.is_call() {
            self.event(pc, target, Transfer::Call);
            return;
        }
        self.branches += u64::from(inst.class != OpClass::Return);
        if seldom(self.tail_calls.is_some())
            && matches!(inst.class, OpClass::Jump | OpClass::JumpIndirect)
        {
            self.jump(pc, inst, target);
        } else if inst.is_back_edge() {
            self.event(pc, inst.direct_target(pc), Transfer::BackEdge);
        }
    }

    #[inline(always)]
    fn memory_quickly(&mut self, _class: OpClass, addr: u64) -> bool {
        self.references.push_quickly(addr)
    }

    #[inline]
    fn memory(&mut self, _pc: u64, _inst: &Inst, addr: u64) {
        self.references.push(addr);
    }
}

/// The profiles of one point.
#[derive(Clone, Debug)]
pub struct PointProfiles {
    /// The point.
    pub point: SamplePoint,
    /// Events by address (hot method, before addresses become methods).
    pub addresses: AddressCounts,
    /// Calls by call site and target.
    pub call_pairs: Profile<CallPair>,
    /// Tail calls by site and target ([`GridProbe::with_tail_calls`]).
    pub tail_calls: Profile<CallPair>,
    /// Data references, if the probe was asked for them.
    pub stream: Option<StreamRecorder>,
}

impl PointProfiles {
    fn new<'a>(
        point: SamplePoint,
        counts: impl Iterator<Item = (&'a EventKind, u64)>,
        stream: Option<StreamRecorder>,
    ) -> Self {
        let mut addresses = AddressCounts::default();
        let mut call_pairs = Profile::new();
        let mut tail_calls = Profile::new();
        for (kind, count) in counts {
            addresses.add(kind.target, count);
            let pair = CallPair {
                site: kind.site,
                target: kind.target,
            };
            match kind.transfer {
                Transfer::Call => call_pairs.add(pair, count),
                Transfer::TailCall => tail_calls.add(pair, count),
                Transfer::BackEdge => {}
            }
        }
        PointProfiles {
            point,
            addresses,
            call_pairs,
            tail_calls,
            stream,
        }
    }

    /// Events that were sampled, and tail calls if they were counted.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.addresses.total()
    }
}

/// Everything that one pass found.
#[derive(Clone, Debug)]
pub struct GridResult {
    /// The exhaustive profiles.
    pub exhaustive: PointProfiles,
    /// The profiles of each point, in the order in which the points were given.
    pub points: Vec<PointProfiles>,
    /// Branches and jumps executed, see [`ProgramStatistics::branches`].
    pub branches: u64,
    /// Loads, stores and atomics executed, if the probe was asked for them.
    pub memory_references: Option<u64>,
}

impl GridResult {
    /// Which method an address belongs to, by the program's symbols and the calls that were seen.
    #[must_use]
    pub fn method_map(&self, symbols: &hps_system::symbols::SymbolTable) -> MethodMap {
        MethodMap::new(
            symbols,
            self.exhaustive
                .call_pairs
                .iter()
                .map(|(pair, _)| pair.target),
        )
    }

    /// The statistics of Figure 6. `instructions` and `unique_addresses` come from the machine and
    /// from a [`UniqueAddresses`](crate::UniqueAddresses) probe beside this one. Tail calls are no back-edges here: the
    /// report knows none, and a pass for its figures does not count them.
    #[must_use]
    pub fn statistics(
        &self,
        methods: &MethodMap,
        instructions: u64,
        unique_addresses: Option<u64>,
    ) -> ProgramStatistics {
        let pairs = &self.exhaustive.call_pairs;
        let tail_calls = &self.exhaustive.tail_calls;
        let mut sites: Vec<u64> = pairs.iter().map(|(pair, _)| pair.site).collect();
        sites.sort_unstable();
        sites.dedup();
        ProgramStatistics {
            methods: self
                .exhaustive
                .addresses
                .methods(|address| methods.entry(address))
                .len() as u64,
            call_sites: sites.len() as u64,
            call_pairs: pairs.len() as u64,
            calls: pairs.total(),
            branches: self.branches,
            back_edges: self.exhaustive.events() - pairs.total() - tail_calls.total(),
            memory_references: self.memory_references,
            instructions,
            unique_addresses,
        }
    }
}
