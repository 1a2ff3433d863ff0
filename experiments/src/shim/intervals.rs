//! Samples of a run, held against the truth.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hps_lab::observer::shown::own_counters;
use hps_lab::observer::{Reads, Reckoning, Sample};
use hps_shim::region::FIRST_ADDRESS;
use hps_shim::{Dte, Stamps};
use hps_system::image::ProgramImage;

/// How far a sample's count may be from the truth, as a share of that, before it counts as damaged.
pub const DAMAGE: f64 = 0.05;

/// From one sample to the next.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    before: Stamps,
    after: Stamps,
    /// Instructions of the program as the counters say.
    pub measured: f64,
    /// Instructions of the program that committed from start stamp to start stamp.
    pub truth: f64,
    /// Instructions of the observer.
    pub own: f64,
    /// The share of the cycles that the program spent in the function of the tag that was read.
    pub purity: f64,
    /// Place of the tag that was read ([`Places`]).
    pub place: usize,
}

impl Interval {
    /// Cycles between the start stamps.
    #[must_use]
    pub fn cycles(&self) -> f64 {
        (self.after.start - self.before.start) as f64
    }

    /// Cycles from the start stamp to the end stamp of the sample that ends it.
    #[must_use]
    pub fn window_cycles(&self) -> f64 {
        self.after.end.wrapping_sub(self.after.start) as f64
    }

    /// Cycles per cycle.
    #[must_use]
    pub fn cpc(&self) -> f64 {
        Dte::cycles_per_cycle(self.before, self.after)
    }

    /// Whether double-time error correction keeps it.
    #[must_use]
    pub fn is_kept(&self, dte: Dte) -> bool {
        dte.keeps(self.before, self.after)
    }

    /// Whether its count is not that of the interval it claims to speak of. A count that is off by one instruction is none.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        (self.measured - self.truth).abs() > (DAMAGE * self.truth).max(1.0)
    }

    /// Instructions a cycle that it measured.
    #[must_use]
    pub fn ipc(&self) -> f64 {
        self.measured / self.cycles()
    }

    /// Instructions a cycle that there were.
    #[must_use]
    pub fn true_ipc(&self) -> f64 {
        self.truth / self.cycles()
    }
}

/// The stamps of a sample, for the correction.
pub(super) fn stamps(sample: &Sample) -> Stamps {
    Stamps {
        start: sample.start,
        end: sample.end,
    }
}

/// Which counters hold what the program did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// The first one, of the core, less the second one, the observer's own.
    CoreLessOwn,
    /// The third one, of the program's processor.
    Remote,
    /// Exact work of the program, by the truth: for samples without counters.
    Exact,
    /// None.
    Nothing,
}

/// Meaning of tags, which is also the key of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Places {
    /// Tags are addresses of code, and stand for its function: its place in the list of symbols, or [`usize::MAX`].
    Functions,
    /// Tags are the program's own: each stands for itself, but for those that are addresses of code, which stand for
    /// the beginning of their function.
    Own,
}

/// A counter of the program's own as the samples say, and what it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnCount {
    /// Samples.
    pub samples: u64,
    /// Samples with the value that the counter had in the cycle of the read.
    pub exact: u64,
    /// Value in the last sample, less the value in the first one.
    pub counted: u64,
    /// True increase from the first sample to the last one.
    pub truth: u64,
    first: (u64, u64),
}

/// Cycles and instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Cycles.
    pub cycles: f64,
    /// Instructions of the program.
    pub instructions: f64,
}

impl Work {
    /// Instructions a cycle.
    #[must_use]
    pub fn ipc(&self) -> f64 {
        self.instructions / self.cycles.max(1.0)
    }

    fn add(&mut self, cycles: f64, instructions: f64) {
        self.cycles += cycles;
        self.instructions += instructions;
    }
}

/// Collects the intervals of a run.
pub struct Intervals<'a> {
    image: &'a ProgramImage,
    counting: Counting,
    places: Places,
    /// Which counters of the program's own samples hold, and at which place among all counters.
    own: Vec<(usize, usize)>,
    last: Option<(Sample, Reads, u64)>,
    /// All of them, in order.
    pub all: Vec<Interval>,
    /// Samples by the function of their tag.
    pub sampled: HashMap<usize, f64>,
    /// Samples by their tags.
    pub tags: HashMap<u64, u64>,
    /// Cycles by function.
    pub true_cycles: HashMap<usize, f64>,
    /// True work, by place ([`Places`]).
    pub true_work: HashMap<usize, Work>,
    /// Counters of the program's own, by their numbers.
    pub own_counts: BTreeMap<usize, OwnCount>,
    /// Words of the threads that were on the program's processor; 0 says that none was.
    pub threads: BTreeSet<u64>,
    /// Samples with another thread than the one before them.
    pub thread_switches: u64,
    /// Samples and intervals that are not the program's, and what the words of threads do not tell of them.
    pub apart: Apart,
}

/// Samples beside a process other than that of the observed program. They, and the intervals that begin or end with one,
/// count nowhere else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Apart {
    /// Samples whose word of the thread names another process.
    pub samples: u64,
    /// Samples whose word names another process than that of the last instruction before the read: the operating system
    /// writes the word some cycles before the first instruction of the next process commits.
    pub early: u64,
    /// Intervals between two samples of the program in which another process had the processor all the same.
    pub hidden: u64,
    /// Cycles of other processes in those.
    pub hidden_cycles: u64,
}

impl<'a> Intervals<'a> {
    /// For a program whose work some counters count.
    #[must_use]
    pub fn new(image: &'a ProgramImage, counting: Counting) -> Self {
        Intervals {
            image,
            counting,
            places: Places::Functions,
            own: Vec::new(),
            last: None,
            all: Vec::new(),
            sampled: HashMap::new(),
            tags: HashMap::new(),
            true_cycles: HashMap::new(),
            true_work: HashMap::new(),
            own_counts: BTreeMap::new(),
            threads: BTreeSet::new(),
            thread_switches: 0,
            apart: Apart::default(),
        }
    }

    /// Of a program that shows tags and counters by itself: `counters` of the hardware come before those of the set `own`
    /// ([`Signals::Shown`](hps_lab::observer::Signals)).
    #[must_use]
    pub fn shown(mut self, counters: usize, own: u8) -> Self {
        self.places = Places::Own;
        self.own = own_counters(own).zip(counters..).collect();
        self
    }

    /// Meaning of tags.
    #[must_use]
    pub fn places(&self) -> Places {
        self.places
    }

    /// Place of a tag.
    fn place(&self, tag: u64) -> usize {
        let symbols = &self.image.symbols;
        let function = || symbols.function_index(tag);
        match self.places {
            Places::Functions => function().unwrap_or(usize::MAX),
            Places::Own if tag < FIRST_ADDRESS => tag as usize,
            Places::Own => function().map_or(tag, |f| symbols.functions()[f].addr) as usize,
        }
    }

    fn count(&self, sample: &Sample) -> u64 {
        let [core, own, remote] = sample.counters;
        match self.counting {
            Counting::CoreLessOwn => core.wrapping_sub(own),
            Counting::Remote => remote,
            Counting::Exact | Counting::Nothing => 0,
        }
    }

    /// Takes the next sample.
    pub fn see(&mut self, sample: &Sample, reads: &Reads, reckoning: &Reckoning) {
        let done = reckoning.before(reads.start);
        let is_of_program = reckoning.is_of_program(reads.tag);
        self.apart.early += u64::from(sample.thread != 0 && sample.is_apart() == is_of_program);
        if sample.is_apart() {
            self.apart.samples += 1;
            self.last = None;
            return;
        }
        let function = self.place(sample.tag);
        *self.sampled.entry(function).or_default() += 1.0;
        *self.tags.entry(sample.tag).or_default() += 1;
        self.threads.insert(sample.thread);
        if let Some((last, last_reads, done_then)) = self.last {
            let (mut at_tag, mut all) = (0, 0);
            reckoning.each_place(last_reads.start, reads.start, |place, cycles| {
                let here = self.place(place);
                *self.true_cycles.entry(here).or_default() += cycles as f64;
                let at = last_reads.start + all;
                all += cycles;
                let done = reckoning.before(at + cycles) - reckoning.before(at);
                let work = self.true_work.entry(here).or_default();
                work.add(cycles as f64, done as f64);
                at_tag += if here == function { cycles } else { 0 };
            });
            self.thread_switches += u64::from(sample.thread != last.thread);
            let of_others = reckoning.cycles_of_others(last_reads.start, reads.start);
            self.apart.hidden += u64::from(of_others > 0);
            self.apart.hidden_cycles += of_others;
            let own = reads.observer_instructions - last_reads.observer_instructions;
            self.all.push(Interval {
                before: stamps(&last),
                after: stamps(sample),
                measured: match self.counting {
                    Counting::Exact => (done - done_then) as f64,
                    _ => self.count(sample).wrapping_sub(self.count(&last)) as f64,
                },
                truth: (done - done_then) as f64,
                own: own as f64,
                purity: at_tag as f64 / all.max(1) as f64,
                place: function,
            });
        }
        self.count_own(sample, reads, reckoning);
        self.last = Some((*sample, *reads, done));
    }

    fn count_own(&mut self, sample: &Sample, reads: &Reads, reckoning: &Reckoning) {
        for (number, at) in &self.own {
            let truth = reckoning.own_before(*number, reads.counters[*at]);
            let read = sample.counters[*at];
            let count = self.own_counts.entry(*number).or_insert(OwnCount {
                first: (read, truth),
                ..OwnCount::default()
            });
            count.samples += 1;
            count.exact += u64::from(read == truth);
            count.counted = read.wrapping_sub(count.first.0);
            count.truth = truth.wrapping_sub(count.first.1);
        }
    }

    /// Measured work of each place: cycles and instructions of the kept intervals whose tag stands for it.
    #[must_use]
    pub fn measured_work(&self, dte: Dte) -> HashMap<usize, Work> {
        let mut by_place: HashMap<usize, Work> = HashMap::new();
        for interval in self.all.iter().filter(|i| i.is_kept(dte)) {
            let work = by_place.entry(interval.place).or_default();
            work.add(interval.cycles(), interval.measured);
        }
        by_place
    }

    /// Of the cycles of the intervals whose tag stands for a place, the share that was spent there.
    #[must_use]
    pub fn precision(&self) -> HashMap<usize, f64> {
        let mut by_place: HashMap<usize, (f64, f64)> = HashMap::new();
        for interval in &self.all {
            let (there, all) = by_place.entry(interval.place).or_default();
            *there += interval.purity * interval.cycles();
            *all += interval.cycles();
        }
        let shares = by_place.into_iter();
        shares
            .map(|(place, (there, all))| (place, there / all.max(1.0)))
            .collect()
    }

    /// The overlap of samples by function with cycles by function.
    #[must_use]
    pub fn overlap(&self) -> f64 {
        let total = |map: &HashMap<usize, f64>| map.values().sum::<f64>().max(1.0);
        let (samples, cycles) = (total(&self.sampled), total(&self.true_cycles));
        let common = self.true_cycles.iter().map(|(function, spent)| {
            let sampled = self.sampled.get(function).copied().unwrap_or(0.0);
            (spent / cycles).min(sampled / samples)
        });
        common.sum()
    }

    /// Every `factor` kept samples as one interval: instructions a cycle as subsamples give them (SHIM, Figure 1).
    #[must_use]
    pub fn ipc_of_every(&self, factor: usize, dte: Dte) -> Vec<f64> {
        let kept: Vec<&Interval> = self.all.iter().filter(|i| i.is_kept(dte)).collect();
        let groups = kept.chunks_exact(factor);
        let ipc = |group: &[&Interval]| {
            let measured: f64 = group.iter().map(|i| i.measured).sum();
            measured / group.iter().map(|i| i.cycles()).sum::<f64>()
        };
        groups.map(ipc).collect()
    }
}

/// The value below which a share of the values lies; `None` without values.
#[must_use]
pub fn percentile(values: &mut [f64], share: f64) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    values.sort_by(f64::total_cmp);
    let at = (share * (values.len() - 1) as f64).round() as usize;
    Some(values[at])
}
