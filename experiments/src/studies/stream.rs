//! Reference samplers: one pass over a program's events and references feeds many schedules.
//!
//! Where [`GridProbe`](hps_productions::GridProbe) has fixed points and profiles of the whole run,
//! this has any schedule of bursts and profiles at any number of events. A batch of events is kept
//! and each sampler jumps through it from burst to burst, so that a schedule costs what it samples
//! and memory does not grow with the run.

use hps_isa::editor::NoEditor;
use std::collections::HashMap;
use std::ops::Range;

use hps_isa::inst::Inst;
use hps_isa::probe::Probe;
use hps_productions::random::RandomGaps;
use hps_productions::{AddressCounts, MethodMap, SamplePoint, StreamRecorder, TraceDigest};
use hps_profile::{CallPair, Profile, ProfileKind, StreamConfig, StreamProfile};
use hps_system::symbols::SymbolTable;

use super::common::AnyProfile;

/// Bursts in ascending order, as the numbers of the events (from 0) that lie in them.
///
/// References between two events are judged with the later one, as
/// [`SamplePoint::is_on`](hps_productions::SamplePoint::is_on) says.
pub type Bursts = Box<dyn Iterator<Item = Range<u64>> + Send>;

/// Every event.
#[must_use]
pub fn exhaustive() -> Bursts {
    Box::new(std::iter::once(0..u64::MAX))
}

/// The bursts of a fixed point.
#[must_use]
pub fn fixed(point: SamplePoint) -> Bursts {
    if point.sparsity == 0 {
        return exhaustive();
    }
    let starts = std::iter::successors(Some(point.sparsity), move |start| {
        start.checked_add(point.period())
    });
    Box::new(starts.map(move |start| start..start.saturating_add(point.burst)))
}

/// Bursts at random distances, as [`Scheme::Randomized`](hps_productions::Scheme::Randomized) has them.
#[must_use]
pub fn randomized(point: SamplePoint, seed: u64) -> Bursts {
    let mut gaps = RandomGaps::new(point, seed);
    let mut end = 0_u64;
    Box::new(std::iter::from_fn(move || {
        let start = end.checked_add(gaps.next_gap())?;
        end = start.saturating_add(point.burst);
        Some(start..end)
    }))
}

/// Events in a batch.
const BATCH: usize = 1 << 16;
/// References in a batch: a loop without events must not grow it for ever.
const BATCH_REFERENCES: usize = 1 << 20;

/// Kinds of events: call site or branch, and where it leads to.
#[derive(Debug, Default)]
struct Kinds {
    index: HashMap<(u64, u64), u32>,
    /// Site, target, whether it is a call.
    all: Vec<(u64, u64, bool)>,
}

impl Kinds {
    fn intern(&mut self, site: u64, target: u64, is_call: bool) -> u32 {
        let next = self.all.len() as u32;
        let id = *self.index.entry((site, target)).or_insert(next);
        if id == next {
            self.all.push((site, target, is_call));
        }
        id
    }
}

/// Samples of one schedule.
#[derive(Clone, Debug)]
pub struct Sampled {
    /// Events by kind, in the order in which kinds first occurred in the program.
    counts: Vec<u64>,
    /// References, bursts with references and the digest of the trace, if references are recorded.
    pub trace: Option<(u64, u64, TraceDigest)>,
    /// The hot data streams among them.
    pub streams: Option<StreamProfile>,
}

impl Sampled {
    /// References sampled; 0 if they are not recorded.
    #[must_use]
    pub fn references(&self) -> u64 {
        self.trace.map_or(0, |(references, ..)| references)
    }
}

struct Sampler {
    bursts: Bursts,
    burst: Option<Range<u64>>,
    /// A burst ended since the last reference.
    ended: bool,
    counts: Vec<u64>,
    recorder: Option<StreamRecorder>,
}

impl Sampler {
    /// Takes what lies in a batch whose first event has the number `base`. `starts[i]` is where the
    /// references in front of event `i` begin; one more entry ends those in front of the event that
    /// comes next.
    fn take(&mut self, base: u64, events: &[u32], references: &[u64], starts: &[u32]) {
        let end = base + events.len() as u64;
        while let Some(burst) = self.burst.clone().filter(|burst| burst.start < end) {
            let from = (burst.start.max(base) - base) as usize;
            let to = (burst.end.min(end) - base) as usize;
            for &kind in &events[from..to] {
                self.count(kind);
            }
            self.record(&references[starts[from] as usize..starts[to] as usize]);
            if burst.end > end {
                break;
            }
            self.ended = true;
            self.burst = self.bursts.next();
        }
    }

    /// Takes references in front of event `next`, which has not come yet.
    fn take_ahead(&mut self, next: u64, references: &[u64]) {
        if self
            .burst
            .as_ref()
            .is_some_and(|burst| burst.contains(&next))
        {
            self.record(references);
        }
    }

    fn count(&mut self, kind: u32) {
        let kind = kind as usize;
        if kind >= self.counts.len() {
            self.counts.resize(kind + 1, 0);
        }
        self.counts[kind] += 1;
    }

    fn record(&mut self, references: &[u64]) {
        let Some(recorder) = &mut self.recorder else {
            return;
        };
        if references.is_empty() {
            return;
        }
        if std::mem::take(&mut self.ended) {
            recorder.next_burst();
        }
        recorder.push_all(references);
    }

    /// Samples so far. The analysis is finished here: only its result is kept.
    fn sampled(&self) -> Sampled {
        let trace = |r: &StreamRecorder| (r.references(), r.bursts(), r.digest());
        Sampled {
            counts: self.counts.clone(),
            trace: self.recorder.as_ref().map(trace),
            streams: self.recorder.clone().and_then(StreamRecorder::finish),
        }
    }
}

/// The state of every sampler after a number of events.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Events of the program so far.
    pub events: u64,
    /// In the order in which samplers were added.
    pub sampled: Vec<Sampled>,
}

/// The probe; `MEMORY` switches references on.
pub struct EventStream<const MEMORY: bool> {
    kinds: Kinds,
    /// Number of the first event of the batch.
    base: u64,
    events: Vec<u32>,
    references: Vec<u64>,
    starts: Vec<u32>,
    samplers: Vec<Sampler>,
    /// Ascending numbers of events, and which is next.
    checkpoints: Vec<u64>,
    reached: usize,
    snapshots: Vec<Snapshot>,
}

impl<const MEMORY: bool> EventStream<MEMORY> {
    /// A stream without samplers that takes a snapshot at each of these numbers of events, which ascend.
    #[must_use]
    pub fn new(checkpoints: Vec<u64>) -> Self {
        EventStream {
            kinds: Kinds::default(),
            base: 0,
            events: Vec::with_capacity(BATCH),
            references: Vec::new(),
            starts: vec![0],
            samplers: Vec::new(),
            checkpoints,
            reached: 0,
            snapshots: Vec::new(),
        }
    }

    /// Adds a schedule. With a configuration it records references and analyzes them.
    ///
    /// # Errors
    /// Impossible settings of the analysis.
    pub fn add(
        &mut self,
        mut bursts: Bursts,
        streams: Option<&StreamConfig>,
    ) -> Result<(), String> {
        let recorder = streams
            .map(|config| StreamRecorder::new(Some(config)))
            .transpose()
            .map_err(|e| e.to_string())?;
        let burst = bursts.next();
        self.samplers.push(Sampler {
            bursts,
            burst,
            ended: false,
            counts: Vec::new(),
            recorder,
        });
        Ok(())
    }

    /// Schedules added so far, which is the index of the next one.
    #[must_use]
    pub fn samplers(&self) -> usize {
        self.samplers.len()
    }

    /// Events of the program so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.base + self.events.len() as u64
    }

    fn event(&mut self, site: u64, target: u64, is_call: bool) {
        let kind = self.kinds.intern(site, target, is_call);
        self.events.push(kind);
        // References behind the event are judged with the next one.
        self.starts.push(self.references.len() as u32);
        let completed = self.events();
        if self.checkpoints.get(self.reached) == Some(&completed) {
            self.flush();
            self.snapshot();
            self.reached += 1;
        } else if self.events.len() >= BATCH {
            self.flush();
        }
    }

    fn snapshot(&mut self) {
        let sampled = self.samplers.iter().map(Sampler::sampled);
        self.snapshots.push(Snapshot {
            events: self.base,
            sampled: sampled.collect(),
        });
    }

    /// Hands the batch to the samplers.
    fn flush(&mut self) {
        let last = self.starts.last().map_or(0, |&start| start as usize);
        let next = self.events();
        for sampler in &mut self.samplers {
            sampler.take(self.base, &self.events, &self.references, &self.starts);
            sampler.take_ahead(next, &self.references[last..]);
        }
        self.base = next;
        self.events.clear();
        self.references.clear();
        self.starts.clear();
        self.starts.push(0);
    }

    /// Samples of the whole run.
    #[must_use]
    pub fn finish(mut self) -> Passed {
        self.flush();
        let events = self.base;
        let sampled = self.samplers.iter().map(Sampler::sampled).collect();
        Passed {
            kinds: self.kinds.all,
            snapshots: self.snapshots,
            end: Snapshot { events, sampled },
        }
    }
}

hps_lab::functional_loops! { NoEditor: EventStream<false>, EventStream<true> }

impl<const MEMORY: bool> Probe for EventStream<MEMORY> {
    const WANTS_CONTROL: bool = true;
    const WANTS_MEMORY: bool = MEMORY;

    #[inline]
    fn control(&mut self, pc: u64, inst: &Inst, target: u64, _taken: bool) {
        if inst.class.is_call() {
            self.event(pc, target, true);
        } else if inst.is_back_edge() {
            self.event(pc, inst.direct_target(pc), false);
        }
    }

    #[inline]
    fn memory(&mut self, _pc: u64, _inst: &Inst, addr: u64) {
        self.references.push(addr);
        if self.references.len() >= BATCH_REFERENCES {
            self.flush();
        }
    }
}

/// Results of a pass.
#[derive(Clone, Debug)]
pub struct Passed {
    kinds: Vec<(u64, u64, bool)>,
    /// At the checkpoints that were reached.
    pub snapshots: Vec<Snapshot>,
    /// At the end.
    pub end: Snapshot,
}

impl Passed {
    /// Which method an address belongs to, as
    /// [`GridResult::method_map`](hps_productions::GridResult::method_map) says.
    #[must_use]
    pub fn method_map(&self, symbols: &SymbolTable) -> MethodMap {
        let calls = self.kinds.iter().filter(|(_, _, is_call)| *is_call);
        MethodMap::new(symbols, calls.map(|&(_, target, _)| target))
    }

    /// Sampled events by address.
    #[must_use]
    pub fn addresses(&self, sampled: &Sampled) -> AddressCounts {
        let kinds = self.kinds.iter().zip(&sampled.counts);
        kinds
            .map(|(&(_, target, _), &count)| (target, count))
            .collect()
    }

    /// Sampled calls by call site and target.
    #[must_use]
    pub fn call_pairs(&self, sampled: &Sampled) -> Profile<CallPair> {
        let kinds = self.kinds.iter().zip(&sampled.counts);
        kinds
            .filter(|((_, _, is_call), _)| *is_call)
            .map(|(&(site, target, _), &count)| (CallPair { site, target }, count))
            .collect()
    }

    /// One kind of profile of what was sampled.
    #[must_use]
    pub fn profile(&self, kind: ProfileKind, sampled: &Sampled, methods: &MethodMap) -> AnyProfile {
        match kind {
            ProfileKind::Method => {
                AnyProfile::Method(self.addresses(sampled).methods(|a| methods.entry(a)))
            }
            ProfileKind::CallPair => AnyProfile::CallPair(self.call_pairs(sampled)),
            ProfileKind::DataStream => AnyProfile::DataStream(
                sampled
                    .streams
                    .as_ref()
                    .map_or_else(Profile::new, |s| s.profile.clone()),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::common::{Reference, functional};
    use super::super::testing::program;
    use super::*;

    /// Batches, bursts over their ends and references without events against the grid.
    #[test]
    fn fixed_bursts_are_those_of_the_grid() {
        let program = program("interp");
        let limit = 700_000;
        let points = [
            (1, 0),
            (1, 1),
            (1, 99),
            (7, 1000),
            (100, 900),
            (70_000, 1000),
            (1, 1 << 30),
        ];
        let points = points.map(|(burst, sparsity)| SamplePoint { burst, sparsity });
        let mut stream = EventStream::<true>::new(vec![1, 777, 70_001]);
        for point in points {
            stream
                .add(fixed(point), Some(&StreamConfig::default()))
                .expect("added");
        }
        let passed = functional(&program, limit, stream)
            .expect("runs")
            .0
            .finish();
        let reference = Reference::of(&program, limit, &points, false).expect("reference");
        assert_eq!(passed.end.events, reference.exhaustive.events());
        assert!(passed.end.events > BATCH as u64, "one batch shows little");
        for (sampled, expected) in passed.end.sampled.iter().zip(&reference.points) {
            let point = expected.point;
            assert_eq!(passed.addresses(sampled), expected.addresses, "{point}");
            assert_eq!(passed.call_pairs(sampled), expected.call_pairs, "{point}");
            let stream = expected.stream.as_ref().expect("references");
            let trace = (stream.references(), stream.bursts(), stream.digest());
            assert_eq!(sampled.trace, Some(trace), "{point}");
        }
        let at: Vec<u64> = passed.snapshots.iter().map(|s| s.events).collect();
        assert_eq!(at, [1, 777, 70_001]);
        let events = |point: usize| {
            passed
                .addresses(&passed.snapshots[1].sampled[point])
                .total()
        };
        assert_eq!([events(0), events(2)], [777, 7]);
    }
}
