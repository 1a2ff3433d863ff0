//! What the samples of a run say, and what was.

use std::collections::{BTreeSet, HashMap};

use hps_lab::observer::{Reads, Reckoning, Sample};
use hps_shim::{Dte, Stamps};
use hps_sim_core::image::ProgramImage;

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
    /// None.
    Nothing,
}

/// Collects the intervals of a run.
pub struct Intervals<'a> {
    image: &'a ProgramImage,
    counting: Counting,
    last: Option<(Sample, Reads, u64)>,
    /// All of them, in order.
    pub all: Vec<Interval>,
    /// Samples by the function of their tag.
    pub sampled: HashMap<usize, f64>,
    /// Samples by their tags.
    pub tags: HashMap<u64, u64>,
    /// Cycles by function.
    pub true_cycles: HashMap<usize, f64>,
    /// Words of the threads that were on the program's processor; 0 says that none was.
    pub threads: BTreeSet<u64>,
    /// Samples with another thread than the one before them.
    pub thread_switches: u64,
}

impl<'a> Intervals<'a> {
    /// For a program whose work some counters count.
    #[must_use]
    pub fn new(image: &'a ProgramImage, counting: Counting) -> Self {
        Intervals {
            image,
            counting,
            last: None,
            all: Vec::new(),
            sampled: HashMap::new(),
            tags: HashMap::new(),
            true_cycles: HashMap::new(),
            threads: BTreeSet::new(),
            thread_switches: 0,
        }
    }

    /// The function at an address; one number for all that have none.
    fn function(&self, addr: u64) -> usize {
        let found = self.image.symbols.function_index(addr);
        found.unwrap_or(usize::MAX)
    }

    fn count(&self, sample: &Sample) -> u64 {
        let [core, own, remote] = sample.counters;
        match self.counting {
            Counting::CoreLessOwn => core.wrapping_sub(own),
            Counting::Remote => remote,
            Counting::Nothing => 0,
        }
    }

    /// Takes the next sample.
    pub fn see(&mut self, sample: &Sample, reads: &Reads, reckoning: &Reckoning) {
        let done = reckoning.before(reads.start);
        let function = self.function(sample.tag);
        *self.sampled.entry(function).or_default() += 1.0;
        *self.tags.entry(sample.tag).or_default() += 1;
        self.threads.insert(sample.thread);
        if let Some((last, last_reads, done_then)) = self.last {
            let (mut at_tag, mut all) = (0, 0);
            reckoning.each_place(last_reads.start, reads.start, |place, cycles| {
                let here = self
                    .image
                    .symbols
                    .function_index(place)
                    .unwrap_or(usize::MAX);
                *self.true_cycles.entry(here).or_default() += cycles as f64;
                all += cycles;
                at_tag += if here == function { cycles } else { 0 };
            });
            self.thread_switches += u64::from(sample.thread != last.thread);
            let own = reads.observer_instructions - last_reads.observer_instructions;
            self.all.push(Interval {
                before: stamps(&last),
                after: stamps(sample),
                measured: self.count(sample).wrapping_sub(self.count(&last)) as f64,
                truth: (done - done_then) as f64,
                own: own as f64,
                purity: at_tag as f64 / all.max(1) as f64,
            });
        }
        self.last = Some((*sample, *reads, done));
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
