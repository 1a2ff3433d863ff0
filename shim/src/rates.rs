//! Rates: what a counter gained over what the clock, or another counter, gained.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::distribution::{Distribution, DistributionResult};
use crate::dte::Dte;
use crate::sample::Sample;

/// Every how many kept samples a rate is computed: the sampling period and its multiples (SHIM,
/// Figure 1: medium and low frequency data are subsamples of the high frequency data).
pub const FACTORS: [u64; 4] = [1, 10, 100, 1000];

/// Which rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RateSpec {
    /// Name: `IPC`, `page-faults per cycle`.
    pub name: String,
    /// The counter above the line.
    pub numerator: usize,
    /// The counter below; the clock if there is none.
    pub denominator: Option<usize>,
    /// The counts are those at the thread's last tag: what they gain belongs to the tag before.
    #[serde(default)]
    pub at_tags: bool,
}

impl RateSpec {
    /// Each counter over the clock, and instructions over cycles where both are counted.
    ///
    /// `of_core`: counts are those of the core minus the observer's own. Instructions over the clock are the program's IPC
    /// then, as SHIM has it (section 3): cycles are the core's clock, and where they are not counted the time stamp counter
    /// is, which runs at one rate. `at_tags` says of each counter whether the program's threads count it.
    #[must_use]
    pub fn of_counters(names: &[String], at_tags: &[bool], of_core: bool) -> Vec<Self> {
        let at_tags = |counter: usize| at_tags.get(counter) == Some(&true);
        let place = |wanted: &str| {
            names
                .iter()
                .position(|name| name.split([':', ' ']).next() == Some(wanted))
        };
        let mut rates = Vec::new();
        let denominator = place("cycles");
        if let Some(numerator) = place("instructions")
            && (denominator.is_some() || of_core)
        {
            rates.push(Self {
                name: "IPC".to_owned(),
                numerator,
                denominator,
                at_tags: at_tags(numerator),
            });
        }
        rates.extend(names.iter().enumerate().map(|(numerator, name)| Self {
            name: format!("{name} per cycle of the clock"),
            numerator,
            denominator: None,
            at_tags: at_tags(numerator),
        }));
        rates
    }

    fn between(&self, before: &Sample, after: &Sample) -> f64 {
        let gained = |i: usize| after.counters[i].wrapping_sub(before.counters[i]) as f64;
        let below = match self.denominator {
            Some(counter) => gained(counter),
            None => after.start.wrapping_sub(before.start) as f64,
        };
        gained(self.numerator) / below
    }
}

/// Collects the distributions of one rate.
#[derive(Debug)]
pub struct RateCollector {
    /// Which rate.
    pub spec: RateSpec,
    before_dte: Distribution,
    periods: Vec<AtPeriod>,
    by_tag: Vec<Option<Box<Distribution>>>,
}

#[derive(Debug, Default)]
struct AtPeriod {
    factor: u64,
    left: u64,
    last: Option<Sample>,
    rates: Distribution,
    cycles: Distribution,
}

/// A rate's distribution at one period.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateAtPeriod {
    /// Every how many kept samples.
    pub factor: u64,
    /// Mean cycles of an interval.
    pub mean_cycles: f64,
    /// The rates.
    pub rates: DistributionResult,
}

/// A rate's distributions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateResult {
    /// Which rate.
    #[serde(flatten)]
    pub spec: RateSpec,
    /// Rates of all samples, before double-time error correction.
    pub before_dte: DistributionResult,
    /// Rates of kept samples by period; the first period is each kept sample's own interval.
    pub periods: Vec<RateAtPeriod>,
    /// Rates of kept samples by tag.
    pub by_tag: Vec<(u64, DistributionResult)>,
}

impl RateCollector {
    /// `places` is the size of the tag table whose places [`RateCollector::kept`] is given.
    #[must_use]
    pub fn new(spec: RateSpec, places: usize) -> Self {
        let factors = if spec.at_tags {
            &FACTORS[..1]
        } else {
            &FACTORS[..]
        };
        let periods = factors.iter().map(|&factor| AtPeriod {
            factor,
            ..AtPeriod::default()
        });
        Self {
            spec,
            before_dte: Distribution::default(),
            periods: periods.collect(),
            by_tag: (0..places).map(|_| None).collect(),
        }
    }

    /// An interval before it is judged.
    pub fn any(&mut self, before: &Sample, after: &Sample) {
        self.before_dte.add(self.spec.between(before, after));
    }

    /// An interval that was kept.
    pub fn kept(&mut self, before: &Sample, after: &Sample, place: Option<usize>, dte: Dte) {
        let rate = self.spec.between(before, after);
        let [own, longer @ ..] = &mut self.periods[..] else {
            return;
        };
        own.rates.add(rate);
        own.cycles
            .add(after.start.wrapping_sub(before.start) as f64);
        for period in longer {
            period.step(&self.spec, after, dte);
        }
        if let Some(place) = place {
            self.by_tag[place].get_or_insert_default().add(rate);
        }
    }

    /// Adds the rate of a thread's stay in the tag at `place`, between the samples that saw its begin and its end.
    pub fn stay(&mut self, before: &Sample, after: &Sample, place: Option<usize>) {
        let rate = self.spec.between(before, after);
        self.before_dte.add(rate);
        if let Some(own) = self.periods.first_mut() {
            own.rates.add(rate);
            own.cycles
                .add(after.start.wrapping_sub(before.start) as f64);
        }
        if let Some(place) = place {
            self.by_tag[place].get_or_insert_default().add(rate);
        }
    }

    /// Distributions that results keep; `tag_at` gives the tag of a place.
    #[must_use]
    pub fn result(&self, tag_at: impl Fn(usize) -> u64) -> RateResult {
        let by_tag = self.by_tag.iter().enumerate().filter_map(|(place, rates)| {
            let rates = rates.as_ref()?;
            Some((tag_at(place), rates.result()))
        });
        RateResult {
            spec: self.spec.clone(),
            before_dte: self.before_dte.result(),
            periods: self
                .periods
                .iter()
                .map(|period| RateAtPeriod {
                    factor: period.factor,
                    mean_cycles: period.cycles.mean(),
                    rates: period.rates.result(),
                })
                .collect(),
            by_tag: by_tag.collect(),
        }
    }
}

impl AtPeriod {
    /// Every `factor`-th kept sample closes an interval, judged by the same rule as short ones.
    fn step(&mut self, spec: &RateSpec, sample: &Sample, dte: Dte) {
        if self.left > 0 {
            self.left -= 1;
            return;
        }
        self.left = self.factor - 1;
        if let Some(last) = self.last.replace(*sample)
            && dte.keeps(last.stamps(), sample.stamps())
        {
            self.rates.add(spec.between(&last, sample));
            self.cycles
                .add(sample.start.wrapping_sub(last.start) as f64);
        }
    }
}
