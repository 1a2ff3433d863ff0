//! What samples say: tags, rates, periods, and how many can be trusted.

use serde::{Deserialize, Serialize};

use crate::distribution::{Distribution, DistributionResult};
use crate::dte::Dte;
use crate::rates::{RateCollector, RateResult, RateSpec};
use crate::sample::{Sample, Sink};
use crate::tags::TagCounts;
use crate::timeline::{Timeline, TimelineResult};

/// Where the samples went: `sent = kept + discarded + dropped`, always.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Account {
    /// Taken by the observer.
    pub sent: u64,
    /// Whose interval can be trusted.
    pub kept: u64,
    /// Whose interval cannot, the first sample (which has none) among them.
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
    previous: Option<Sample>,
    last_kept: Option<u64>,
    kept: u64,
    discarded: u64,
    tags: TagCounts,
    kept_tags: TagCounts,
    cpc_before: Distribution,
    cpc_after: Distribution,
    period: Distribution,
    gap: Distribution,
    rates: Vec<RateCollector>,
    timeline: Timeline,
}

/// How much is computed for each sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// Tags, and double-time error correction with its counts.
    Tags,
    /// Everything.
    Full,
}

/// What an analysis found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// What happened when.
    pub timeline: TimelineResult,
}

impl Analyzer {
    /// An analysis of samples with `counters` counters that computes `rates`, with room for `tags`
    /// different tags.
    #[must_use]
    pub fn new(dte: Dte, depth: Depth, counters: usize, rates: Vec<RateSpec>, tags: usize) -> Self {
        let table = TagCounts::new(tags);
        let places = table.places();
        Self {
            dte,
            counters,
            depth,
            previous: None,
            last_kept: None,
            kept: 0,
            discarded: 0,
            kept_tags: table.clone(),
            tags: table,
            cpc_before: Distribution::default(),
            cpc_after: Distribution::default(),
            period: Distribution::default(),
            gap: Distribution::default(),
            rates: rates
                .into_iter()
                .map(|spec| RateCollector::new(spec, places))
                .collect(),
            timeline: Timeline::default(),
        }
    }

    /// Takes the next sample.
    #[inline(always)]
    pub fn add(&mut self, sample: &Sample) {
        let place = self.tags.add(sample.tag);
        let Some(before) = self.previous.replace(*sample) else {
            self.discarded += 1;
            self.last_kept = Some(sample.start);
            return;
        };
        let keep = self.dte.keeps(before.stamps(), sample.stamps());
        if keep {
            self.kept += 1;
            self.kept_tags.add(sample.tag);
        } else {
            self.discarded += 1;
        }
        if self.depth == Depth::Full {
            self.add_fully(&before, sample, place, keep);
        }
    }

    fn add_fully(&mut self, before: &Sample, sample: &Sample, place: Option<usize>, keep: bool) {
        let cpc = Dte::cycles_per_cycle(before.stamps(), sample.stamps());
        self.cpc_before.add(cpc);
        for rate in &mut self.rates {
            rate.any(before, sample);
        }
        if keep {
            self.cpc_after.add(cpc);
            self.period
                .add(sample.start.wrapping_sub(before.start) as f64);
            if let Some(last) = self.last_kept.replace(sample.start) {
                self.gap.add(sample.start.wrapping_sub(last) as f64);
            }
            for rate in &mut self.rates {
                rate.kept(before, sample, place, self.dte);
            }
        }
        self.timeline
            .add(sample, keep.then_some(before), self.counters);
    }

    /// Samples by tag so far.
    #[must_use]
    pub fn tags(&self) -> &TagCounts {
        &self.tags
    }

    /// Samples kept and discarded so far.
    #[must_use]
    pub fn judged(&self) -> (u64, u64) {
        (self.kept, self.discarded)
    }

    /// What was found.
    #[must_use]
    pub fn result(&self) -> Analysis {
        Analysis {
            kept: self.kept,
            discarded: self.discarded,
            tags: self.tags.listing(),
            tags_lost: self.tags.lost(),
            kept_tags: self.kept_tags.listing(),
            cpc_before: self.cpc_before.result(),
            cpc_after: self.cpc_after.result(),
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
