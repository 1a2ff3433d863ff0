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
    /// Rates whose counts the program's threads write with their tags.
    stays: Vec<RateCollector>,
    /// Of each thread: the first sample that saw its counts as they are, and the place of its tag.
    begun: Vec<(Sample, Option<usize>)>,
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
        let collector = |spec| RateCollector::new(spec, places);
        let (stays, rates): (Vec<_>, Vec<_>) = rates.into_iter().partition(|spec| spec.at_tags);
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
            rates: rates.into_iter().map(collector).collect(),
            stays: stays.into_iter().map(collector).collect(),
            begun: Vec::new(),
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
            self.begun.push((*sample, place));
            return;
        }
        let keep = self.dte.keeps(self.previous.stamps(), sample.stamps());
        self.kept += u64::from(keep);
        if let Some(place) = place {
            self.kept_at[place] += u64::from(keep);
        }
        if self.depth == Depth::Full {
            self.add_fully(sample, place, keep);
            if !self.stays.is_empty() {
                self.add_stay(sample, place);
            }
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

    /// Counts that a thread writes with its tags: if they are others than before, the stay has ended in which it was then.
    fn add_stay(&mut self, sample: &Sample, place: Option<usize>) {
        if sample.thread == 0 {
            return;
        }
        let thread = |(before, _): &&mut (Sample, _)| before.thread == sample.thread;
        let Some(begun) = self.begun.iter_mut().find(thread) else {
            self.begun.push((*sample, place));
            return;
        };
        let (before, of) = *begun;
        let changed = |rate: &RateCollector| {
            let counter = rate.spec.numerator;
            before.counters[counter] != sample.counters[counter]
        };
        if self.stays.iter().any(changed) {
            self.stays
                .iter_mut()
                .for_each(|rate| rate.stay(&before, sample, of));
            *begun = (*sample, place);
        }
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
                .stays
                .iter()
                .chain(&self.rates)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of stays belong to the tag in which they were counted, thread by thread, whatever lies between two samples.
    #[test]
    fn counts_written_with_tags_belong_to_the_tag_before() {
        let names = ["instructions:u".to_owned(), "cycles:u".to_owned()];
        let rates = RateSpec::of_counters(&names, &[true, true], false);
        let mut analyzer = Analyzer::new(Dte::default(), Depth::Full, 2, rates, 16);
        // Thread 1: 100 instructions in 400 cycles of tag 5, then 600 in 300 of tag 6. Thread 2: 50 in 100 of tag 5.
        for (start, thread, tag, instructions, cycles) in [
            (0, 1, 5, 10, 10),
            (100, 2, 5, 0, 0),
            (200, 1, 5, 10, 10),
            (300, 0, 0, 0, 0),
            (400, 1, 6, 110, 410),
            (500, 2, 0, 50, 100),
            (600, 1, 6, 110, 410),
            (700, 1, 0, 710, 710),
        ] {
            analyzer.add(&Sample {
                start,
                end: start + 1,
                thread,
                tag,
                counters: [instructions, cycles, 0, 0, 0, 0, 0, 0],
            });
        }
        let result = analyzer.result();
        let ipc = &result.rates[0];
        assert_eq!((ipc.spec.name.as_str(), ipc.periods.len()), ("IPC", 1));
        let mut by_tag: Vec<_> = ipc
            .by_tag
            .iter()
            .map(|(tag, rates)| (*tag, rates.count, rates.mean))
            .collect();
        by_tag.sort_by_key(|row| row.0);
        // Of the stays in tag 5: (100 / 400 + 50 / 100) / 2.
        assert_eq!(by_tag, [(5, 2, 0.375), (6, 1, 2.0)]);
        // Over the clock: 100 and 600 in 400 and 300 ticks, 50 in 400.
        let clock = &result.rates[1];
        assert_eq!(clock.before_dte.count, 3);
        assert_eq!(clock.before_dte.mean, (0.25 + 2.0 + 0.125) / 3.0);
    }
}
