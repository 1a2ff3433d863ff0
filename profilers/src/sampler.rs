//! Samplers: a policy, a schedule, and what it has credited. Any number of them watch one run, and none changes it.
//!
//! On a chip with several hardware contexts each has every sampler once, as each has its counters: periods and policies
//! know of one context. What they find is added up. A sample that is due while a context has no thread is nobody's: what
//! is idle has no cycles in the exact profile either.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hps_isa::state::{SaveState, Saved, StateError, save_value};
use hps_pipeline::core::{Cause, EventSet, State};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::beat::{Beat, Key, Observer};
use crate::oracle::units_per_cycle;
use crate::policy::{BranchRecords, Moment, Policy};
use crate::schedule::{NOT_DUE, Period, Schedule};

/// Credits of the samples of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credits {
    /// Units of a sample: shares of it are whole numbers.
    pub units_per_sample: u64,
    /// Units by instruction and by the events that the policy saw.
    pub weights: FxHashMap<(Key, EventSet), u64>,
    /// Samples that were credited.
    pub credited: u64,
    /// Samples that were lost: their instruction was squashed, or the run ended first.
    pub lost: u64,
    /// Samples that were not taken since the one before was still under way.
    pub collided: u64,
}

hps_isa::save_state! { Credits { units_per_sample: same, weights, credited, lost, collided } }

impl Credits {
    /// Credits a whole sample to an instruction.
    pub fn credit(&mut self, key: Key, events: EventSet) {
        self.credited += 1;
        *self.weights.entry((key, events)).or_insert(0) += self.units_per_sample;
    }

    /// Credits a sample in equal parts, to as many instructions as commit in one cycle at most.
    pub fn credit_equally(&mut self, keys: impl ExactSizeIterator<Item = (Key, EventSet)>) {
        self.credit_samples(1, keys);
    }

    /// Credits one record that stands for several samples in equal parts, to as many instructions as commit in one cycle at
    /// most.
    pub fn credit_samples(
        &mut self,
        samples: u64,
        keys: impl ExactSizeIterator<Item = (Key, EventSet)>,
    ) {
        let Some(share) = self.units_per_sample.checked_div(keys.len() as u64) else {
            return;
        };
        self.credited += 1;
        for entry in keys {
            *self.weights.entry(entry).or_insert(0) += samples * share;
        }
    }

    /// Units by instruction alone.
    #[must_use]
    pub fn by_instruction(&self) -> FxHashMap<Key, u64> {
        by_instruction(&self.weights)
    }

    /// Takes away what there was at an earlier time.
    pub fn subtract(&mut self, earlier: &Credits) {
        for (cell, units) in &earlier.weights {
            if let Some(mine) = self.weights.get_mut(cell) {
                *mine -= units;
            }
        }
        self.weights.retain(|_, units| *units > 0);
        self.credited -= earlier.credited;
        self.lost -= earlier.lost;
        self.collided -= earlier.collided;
    }

    /// Lets the samples stand for so many times as much. Their numbers stay those that were taken.
    pub fn scale(&mut self, factor: f64) {
        for units in self.weights.values_mut() {
            *units = (*units as f64 * factor).round() as u64;
        }
    }

    /// Adds the samples of another hardware context, or of another part of the run.
    pub fn add(&mut self, other: Credits) {
        self.units_per_sample = self.units_per_sample.max(other.units_per_sample);
        for (cell, units) in other.weights {
            *self.weights.entry(cell).or_insert(0) += units;
        }
        self.credited += other.credited;
        self.lost += other.lost;
        self.collided += other.collided;
    }
}

/// Units by instruction and events, summed over events.
fn by_instruction(cells: &FxHashMap<(Key, EventSet), u64>) -> FxHashMap<Key, u64> {
    let mut sums = FxHashMap::default();
    for (&(key, _), &units) in cells {
        *sums.entry(key).or_insert(0) += units;
    }
    sums
}

/// One profiler of a run.
struct Sampler {
    policy: Box<dyn Policy>,
    schedule: Schedule,
    credits: Credits,
}

impl SaveState for Sampler {
    fn save_to(&self, to: &mut Vec<u8>) {
        let Sampler {
            policy,
            schedule,
            credits,
        } = self;
        save_value(policy.name(), to);
        policy.save_to(to);
        schedule.save_to(to);
        credits.save_to(to);
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        from.expect(&self.policy.name().to_owned(), "another profiler sampled")?;
        self.policy.restore_from(from)?;
        self.schedule.restore_from(from)?;
        self.credits.restore_from(from)
    }
}

/// Results of a sampler.
#[derive(Debug)]
pub struct Sampled {
    /// The name of its policy.
    pub policy: &'static str,
    /// When it sampled.
    pub period: Period,
    /// Credits of the samples.
    pub credits: Credits,
    /// The branch records that its policy has kept, if it keeps any.
    pub branches: Option<BranchRecords>,
}

impl Sampled {
    /// Units by instruction and by the events that the policy saw, as the profiler would show them: of branch records,
    /// the cycles of straight-line code spread over the instructions that ran there. `executed` are the addresses of
    /// all instructions that ran ([`ExactProfile::executed`](crate::ExactProfile::executed)).
    #[must_use]
    pub fn cells(&self, executed: &[u64]) -> Cow<'_, FxHashMap<(Key, EventSet), u64>> {
        match &self.branches {
            None => Cow::Borrowed(&self.credits.weights),
            Some(records) => {
                Cow::Owned(records.by_instruction(executed, self.credits.units_per_sample))
            }
        }
    }

    /// Units by instruction alone.
    #[must_use]
    pub fn by_instruction(&self, executed: &[u64]) -> FxHashMap<Key, u64> {
        by_instruction(&self.cells(executed))
    }
}

/// All samplers of a run.
#[derive(Default)]
pub struct Samplers {
    units: u64,
    periods: Vec<Period>,
    /// Samplers of the context whose beats come now.
    now: Bench,
    here: usize,
    /// Samplers of all contexts that have had beats, but for the one whose beats come now.
    others: Vec<Bench>,
    /// The policies as they were added, for contexts that come later.
    fresh: Vec<Box<dyn Policy>>,
}

impl SaveState for Samplers {
    fn save_to(&self, to: &mut Vec<u8>) {
        let Samplers {
            units: _,
            periods: _,
            now,
            here,
            others,
            fresh: _,
        } = self;
        save_value(&(here, others.len()), to);
        now.save_to(to);
        others.iter().for_each(|bench| bench.save_to(to));
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        let (here, contexts): (usize, usize) = from.value()?;
        self.now.restore_from(from)?;
        (self.here, self.others) = (here, Vec::new());
        for context in 0..contexts {
            let mut bench = self.bench_beside(context);
            bench.restore_from(from)?;
            self.others.push(bench);
        }
        Ok(())
    }
}

/// The samplers of one hardware context.
#[derive(Default)]
struct Bench {
    all: Vec<Sampler>,
    /// The samplers by the cycle in which their next sample is due, the earliest first.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    /// Samplers whose policies wait for commits.
    waiting: Vec<usize>,
    /// Samplers that count commits, and samplers that see every beat.
    counting: Vec<usize>,
    watching: Vec<usize>,
}

hps_isa::save_state! { Bench { all: each, due, waiting, counting: skip, watching: skip } }

impl Samplers {
    /// An empty list, for a machine with this commit width.
    #[must_use]
    pub fn new(commit_width: u64) -> Self {
        Samplers {
            units: units_per_cycle(commit_width),
            ..Samplers::default()
        }
    }

    /// Adds a sampler, before the run.
    pub fn add(&mut self, policy: Box<dyn Policy>, period: Period) {
        self.periods.push(period);
        self.fresh.push(policy.again());
        self.now.add(policy, period, self.units);
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.periods.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.periods.is_empty()
    }

    /// Results of all samplers after the end of a run, in the order in which the samplers were added.
    #[must_use]
    pub fn finish(self) -> Vec<Sampled> {
        let mut sampled: Vec<Sampled> = Vec::new();
        let benches = std::iter::once(self.now).chain(self.others);
        for bench in benches.filter(|bench| !bench.all.is_empty()) {
            let found = bench.finish(&self.periods);
            if sampled.is_empty() {
                sampled = found;
                continue;
            }
            for (sum, more) in sampled.iter_mut().zip(found) {
                sum.credits.add(more.credits);
                if let (Some(sum), Some(more)) = (&mut sum.branches, &more.branches) {
                    sum.add(more);
                }
            }
        }
        sampled
    }

    /// Samples so far of the context whose beats come now, of a run that has no other one.
    #[must_use]
    pub fn so_far(&self) -> Vec<Sampled> {
        let all = self.now.all.iter().zip(&self.periods);
        all.map(|(sampler, &period)| Sampled {
            policy: sampler.policy.name(),
            period,
            branches: sampler.policy.branches().cloned(),
            credits: sampler.credits.clone(),
        })
        .collect()
    }

    /// The samplers of a context that had none yet; none of the context whose beats come now.
    fn bench_beside(&self, context: usize) -> Bench {
        match context == self.here {
            true => Bench::default(),
            false => self.bench_of(context),
        }
    }

    /// The samplers of a context that had none yet.
    fn bench_of(&self, context: usize) -> Bench {
        let mut bench = Bench::default();
        for (policy, period) in self.fresh.iter().zip(&self.periods) {
            bench.add(policy.again(), period.of_context(context), self.units);
        }
        bench
    }
}

impl Bench {
    fn add(&mut self, policy: Box<dyn Policy>, period: Period, units: u64) {
        let number = self.all.len();
        let schedule = Schedule::new(period);
        if schedule.counts_commits() {
            self.counting.push(number);
        } else {
            self.due.push(Reverse((schedule.due(), number)));
        }
        if policy.watches() {
            self.watching.push(number);
        }
        self.all.push(Sampler {
            policy,
            schedule,
            credits: Credits {
                units_per_sample: units,
                ..Credits::default()
            },
        });
    }

    fn finish(self, periods: &[Period]) -> Vec<Sampled> {
        let all = self.all.into_iter().zip(periods);
        all.map(|(mut sampler, &period)| {
            sampler.policy.finish(&mut sampler.credits);
            Sampled {
                policy: sampler.policy.name(),
                period,
                branches: sampler.policy.branches().cloned(),
                credits: sampler.credits,
            }
        })
        .collect()
    }

    /// Lets the policies that wait see a beat.
    fn pass_on(&mut self, beat: &Beat<'_>) {
        let all = &mut self.all;
        self.waiting.retain(|&number| {
            let sampler = &mut all[number];
            sampler.policy.resume(beat, &mut sampler.credits)
        });
    }

    /// Takes all samples that are due in a beat.
    fn take_due(&mut self, beat: &Beat<'_>) {
        while let Some(&Reverse((cycle, number))) = self.due.peek() {
            if cycle > beat.end_cycle {
                break;
            }
            self.due.pop();
            let sampler = &mut self.all[number];
            let overflow_cycle = cycle - u64::from(sampler.schedule.counts_commits());
            let moment = Moment::new(beat, cycle, overflow_cycle);
            let is_idle = (moment.stretch).is_some_and(|s| s.state == State::Drained(Cause::Idle));
            let waits = !is_idle && sampler.policy.sample(&moment, &mut sampler.credits);
            if waits && !self.waiting.contains(&number) {
                self.waiting.push(number);
            }
            sampler.schedule.taken();
            if sampler.schedule.due() != NOT_DUE {
                self.due.push(Reverse((sampler.schedule.due(), number)));
            }
        }
    }

    /// Samples that are due while another program runs are of that one.
    fn miss_due(&mut self, beat: &Beat<'_>) {
        while let Some(&Reverse((cycle, number))) = self.due.peek() {
            if cycle > beat.end_cycle {
                break;
            }
            self.due.pop();
            let schedule = &mut self.all[number].schedule;
            schedule.taken();
            if schedule.due() != NOT_DUE {
                self.due.push(Reverse((schedule.due(), number)));
            }
        }
    }

    /// Counts the commits of a beat for periods of instructions and events.
    fn count(&mut self, beat: &Beat<'_>) {
        for &number in &self.counting {
            let schedule = &mut self.all[number].schedule;
            let was_due = schedule.due() != NOT_DUE;
            for commit in beat.group {
                schedule.count(commit);
            }
            if !was_due && schedule.due() != NOT_DUE {
                self.due.push(Reverse((schedule.due(), number)));
            }
        }
    }
}

impl Observer for Samplers {
    fn elsewhere(&mut self, beat: &Beat<'_>) {
        self.now.miss_due(beat);
    }

    fn turn_to(&mut self, context: usize) {
        for number in self.others.len()..=context.max(self.here) {
            let bench = self.bench_beside(number);
            self.others.push(bench);
        }
        std::mem::swap(&mut self.now, &mut self.others[self.here]);
        std::mem::swap(&mut self.now, &mut self.others[context]);
        self.here = context;
    }

    fn stand_in(&self) -> Option<Self> {
        Some(Samplers {
            units: self.units,
            ..Samplers::default()
        })
    }

    #[inline]
    fn beat(&mut self, beat: &Beat<'_>) {
        self.now.beat(beat);
    }
}

impl Bench {
    #[inline]
    fn beat(&mut self, beat: &Beat<'_>) {
        if !self.watching.is_empty() {
            for &number in &self.watching {
                self.all[number].policy.watch(beat);
            }
        }
        if self
            .due
            .peek()
            .is_some_and(|Reverse((cycle, _))| *cycle <= beat.end_cycle)
        {
            self.take_due(beat);
        }
        if !self.waiting.is_empty() {
            self.pass_on(beat);
        }
        if !self.counting.is_empty() {
            self.count(beat);
        }
    }
}
