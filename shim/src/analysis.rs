//! Analysis of samples: tags, rates, periods, and how many can be trusted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::distribution::{Distribution, DistributionResult};
use crate::dte::Dte;
use crate::rates::{RateCollector, RateResult, RateSpec};
use crate::sample::{Sample, Sink};
use crate::tags::TagCounts;
use crate::threads::{ThreadCounts, ThreadTags};
use crate::timeline::{Timeline, TimelineResult};

/// Where the samples went: `sent = kept + discarded + dropped`, always.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Account {
    /// Taken by the observer.
    pub sent: u64,
    /// Samples whose interval can be trusted.
    pub kept: u64,
    /// Samples whose interval cannot be trusted, and the first sample, which has no interval.
    pub discarded: u64,
    /// For which the ring or a table had no room.
    pub dropped: u64,
}

impl Account {
    /// Whether the parts are the whole.
    #[must_use]
    pub fn balances(&self) -> bool {
        self.sent == self.kept + self.discarded + self.dropped
    }
}

/// Consumes samples one by one, in the observer's loop or behind a ring.
#[derive(Debug)]
pub struct Analyzer {
    dte: Dte,
    counters: usize,
    depth: Depth,
    /// The sample before, its counters as far as they are in use.
    previous: Sample,
    last_kept: u64,
    seen: u64,
    kept: u64,
    tags: TagCounts,
    /// Kept samples by the tag's place in the table.
    kept_at: Box<[u64]>,
    threads: ThreadCounts,
    /// Cycles per cycle of discarded intervals, and of kept ones.
    cpc: [Distribution; 2],
    period: Distribution,
    gap: Distribution,
    rates: Vec<RateCollector>,
    timeline: Timeline,
}

/// How much is computed for each sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// Tags, and double-time error correction with its counts.
    Tags,
    /// Everything.
    Full,
}

/// Results of an analysis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Analysis {
    /// Samples whose interval can be trusted.
    pub kept: u64,
    /// The others.
    pub discarded: u64,
    /// All samples by tag, the most first: a tag is right whenever it is read within its interval.
    pub tags: Vec<(u64, u64)>,
    /// Samples whose tag found no place in the table.
    pub tags_lost: u64,
    /// Kept samples by tag.
    pub kept_tags: Vec<(u64, u64)>,
    /// All samples by thread and tag, the most first.
    #[serde(default)]
    pub threads: Vec<ThreadTags>,
    /// Cycles per cycle before correction.
    pub cpc_before: DistributionResult,
    /// Cycles per cycle of what was kept.
    pub cpc_after: DistributionResult,
    /// Cycles of kept intervals.
    pub period: DistributionResult,
    /// Cycles from kept sample to kept sample.
    pub gap: DistributionResult,
    /// Rates.
    pub rates: Vec<RateResult>,
    /// Timeline of the run.
    pub timeline: TimelineResult,
}

impl Analyzer {
    /// An analysis of samples with `counters` counters that computes `rates`, with room for `tags`
    /// different tags.
    #[must_use]
    pub fn new(dte: Dte, depth: Depth, counters: usize, rates: Vec<RateSpec>, tags: usize) -> Self {
        let tags = TagCounts::new(tags);
        let places = tags.places();
        Self {
            dte,
            counters,
            depth,
            previous: Sample::default(),
            last_kept: 0,
            seen: 0,
            kept: 0,
            tags,
            kept_at: vec![0; places].into_boxed_slice(),
            threads: ThreadCounts::new(places),
            cpc: Default::default(),
            period: Distribution::default(),
            gap: Distribution::default(),
            rates: rates
                .into_iter()
                .map(|spec| RateCollector::new(spec, places))
                .collect(),
            timeline: Timeline::new(places),
        }
    }

    /// Takes the next sample.
    ///
    /// The observer's next time stamp waits for all of this, so nothing is copied that is not needed,
    /// and no branch hangs on what a sample says where a sum does as well.
    #[inline(always)]
    pub fn add(&mut self, sample: &Sample) {
        let place = self.tags.add(sample.tag);
        self.threads.add(sample.thread, place);
        self.seen += 1;
        if self.seen == 1 {
            self.previous = *sample;
            self.last_kept = sample.start;
            return;
        }
        let keep = self.dte.keeps(self.previous.stamps(), sample.stamps());
        self.kept += u64::from(keep);
        if let Some(place) = place {
            self.kept_at[place] += u64::from(keep);
        }
        if self.depth == Depth::Full {
            self.add_fully(sample, place, keep);
        }
        self.previous.become_like(sample, self.counters);
    }

    #[inline(always)]
    fn add_fully(&mut self, sample: &Sample, place: Option<usize>, keep: bool) {
        let before = &self.previous;
        let cpc = Dte::cycles_per_cycle(before.stamps(), sample.stamps());
        self.cpc[usize::from(keep)].add(cpc);
        for rate in &mut self.rates {
            rate.any(before, sample);
        }
        if keep {
            let cycles = |since: u64| sample.start.wrapping_sub(since) as f64;
            self.period.add(cycles(before.start));
            self.gap.add(cycles(self.last_kept));
            self.last_kept = sample.start;
            for rate in &mut self.rates {
                rate.kept(before, sample, place, self.dte);
            }
        }
        let since = keep.then_some(before);
        self.timeline.add(sample, place, since, self.counters);
    }

    /// Samples by tag so far.
    #[must_use]
    pub fn tags(&self) -> &TagCounts {
        &self.tags
    }

    /// Samples kept and discarded so far.
    #[must_use]
    pub fn judged(&self) -> (u64, u64) {
        (self.kept, self.seen - self.kept)
    }

    /// Results of the analysis.
    #[must_use]
    pub fn result(&self) -> Analysis {
        let (kept, discarded) = self.judged();
        let [apart, after] = &self.cpc;
        let mut before = after.clone();
        before.merge(apart);
        Analysis {
            kept,
            discarded,
            tags: self.tags.listing(),
            tags_lost: self.tags.lost(),
            kept_tags: self.tags.listing_of(&self.kept_at),
            threads: self.threads.result(|place| self.tags.tag_at(place)),
            cpc_before: before.result(),
            cpc_after: after.result(),
            period: self.period.result(),
            gap: self.gap.result(),
            rates: self
                .rates
                .iter()
                .map(|rate| rate.result(|place| self.tags.tag_at(place)))
                .collect(),
            timeline: self.timeline.result(),
        }
    }
}

impl Sink for Analyzer {
    #[inline(always)]
    fn take(&mut self, sample: &Sample) -> bool {
        self.add(sample);
        true
    }
}
