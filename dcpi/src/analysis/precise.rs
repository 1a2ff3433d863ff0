//! How often blocks ran on any machine, from precise samples: each names an instruction that retired.
//!
//! A sample each so many retired instructions (PEBS by instructions, operations that IBS or SPE tag) finds every
//! instruction in proportion to its executions, whoever stalls. So an instruction has as many samples as it has executions
//! for each period, in order or out of order: the estimate of a class is DCPI's with a minimum head time of one for all
//! instructions, and nothing stalls.
//!
//! Errors have two parts. Samples are counts of rare events. And what is named may depend on who retires beside whom:
//! PEBS names the first instruction of a group, so that others of a block have fewer samples or none. That shows in
//! the samples: instructions of one class run equally often, so that their counts differ by chance and by this
//! *unevenness*, whose variance is estimated over all classes of the program.

use hps_system::cfg::{Cfg, Code};
use hps_system::symbols::Function;

use super::equivalence::Classes;
use super::flow::propagate;
use super::frequency::Estimate;
use crate::samples::Counts;

/// Standard deviations to both sides of a normal distribution's middle 95%.
const SIDES: f64 = 1.96;

/// A frequency with its 95% interval, in executions for each period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The estimate.
    pub frequency: f64,
    /// The lower end of the interval.
    pub least: f64,
    /// The upper end of the interval.
    pub most: f64,
}

/// The frequencies of a procedure.
#[derive(Clone, Debug)]
pub struct Frequencies {
    /// Control-flow graph of the procedure.
    pub cfg: Cfg,
    classes: Classes,
    intervals: Vec<Option<Interval>>,
}

impl Frequencies {
    /// The frequency of a block, if anything is known of it.
    #[must_use]
    pub fn block(&self, block: usize) -> Option<Interval> {
        self.intervals[self.classes.of_block[block]]
    }

    /// The frequency of an edge, by its place in the graph.
    #[must_use]
    pub fn edge(&self, edge: usize) -> Option<Interval> {
        self.intervals[self.classes.of_edge[edge]]
    }
}

/// Instructions of a class, and their samples.
#[derive(Clone, Debug, Default)]
struct Class {
    counts: Vec<u64>,
}

impl Class {
    fn samples(&self) -> f64 {
        self.counts.iter().sum::<u64>() as f64
    }

    fn mean(&self) -> f64 {
        self.samples() / self.counts.len() as f64
    }

    /// Variance of the mean: that of chance, and that of unevenness by its relative variance. A class without samples
    /// may have run as often as a sample comes once in its instructions.
    fn variance(&self, unevenness: f64) -> f64 {
        let count = self.counts.len() as f64;
        let mean = self.mean();
        self.samples().max(1.0) / count.powi(2) + mean.powi(2) * unevenness / count
    }
}

/// Frequencies of the procedures of a program from precise samples of instructions.
#[must_use]
pub fn frequencies(code: &Code<'_>, counts: &Counts) -> Vec<Frequencies> {
    let with_classes = |function: &Function| {
        let cfg = Cfg::of(code, function);
        let classes = Classes::of(&cfg);
        let mut all = vec![Class::default(); classes.count];
        for (block, class) in classes.of_block.iter().enumerate() {
            let insts = cfg.block_insts(block).iter();
            all[*class].counts.extend(insts.map(|i| counts.at(i.pc)));
        }
        (cfg, classes, all)
    };
    let procedures: Vec<_> = code.functions().iter().map(with_classes).collect();
    let unevenness = unevenness(procedures.iter().flat_map(|(_, _, all)| all));
    let of = |(cfg, classes, all): (Cfg, Classes, Vec<Class>)| {
        let intervals = intervals(&cfg, &classes, &all, unevenness);
        Frequencies {
            cfg,
            classes,
            intervals,
        }
    };
    procedures.into_iter().map(of).collect()
}

/// Relative variance of the samples of instructions of one class beyond that of chance. Classes count by the square of
/// their samples: what is hot shows it best.
fn unevenness<'a>(classes: impl Iterator<Item = &'a Class>) -> f64 {
    let (mut beyond, mut squares) = (0.0, 0.0);
    for class in classes.filter(|class| class.counts.len() > 1) {
        let (count, mean) = (class.counts.len() as f64, class.mean());
        let deviations = class.counts.iter().map(|c| (*c as f64 - mean).powi(2));
        beyond += deviations.sum::<f64>() * count / (count - 1.0) - count * mean;
        squares += count * mean.powi(2);
    }
    (beyond / squares.max(f64::MIN_POSITIVE)).max(0.0)
}

/// The intervals of all classes: of their own samples, or of what constraints of flow make of others.
fn intervals(
    cfg: &Cfg,
    classes: &Classes,
    all: &[Class],
    unevenness: f64,
) -> Vec<Option<Interval>> {
    // Deviations are relative to a sample at least.
    let own = |class: &Class| {
        let deviation = class.variance(unevenness).sqrt() / class.mean().max(1.0);
        (!class.counts.is_empty()).then(|| Estimate::new(class.mean(), deviation))
    };
    let own: Vec<Option<Estimate>> = all.iter().map(own).collect();
    let mut known = own.clone();
    propagate(cfg, classes, &mut known);
    let each = known.iter().zip(&own).zip(all);
    each.map(|((known, own), class)| {
        let known = (*known)?;
        Some(match *own == Some(known) {
            true => of_counts(class, unevenness),
            false => normal(known),
        })
    })
    .collect()
}

/// The interval of a class by its own samples: that of a gamma distribution (Wilson and Hilferty, "The Distribution of
/// Chi-square", 1931), which chance gives exactly.
fn of_counts(class: &Class, unevenness: f64) -> Interval {
    let frequency = class.mean();
    // The number of samples that have this variance by chance alone.
    let samples = match class.samples() {
        0.0 => 0.0,
        _ => frequency.powi(2) / class.variance(unevenness),
    };
    let unit = if samples > 0.0 {
        frequency / samples
    } else {
        1.0 / class.counts.len() as f64
    };
    let end = |count: f64, sides: f64| {
        let root = 1.0 - 1.0 / (9.0 * count) + sides / (3.0 * count.sqrt());
        unit * count * root.max(0.0).powi(3)
    };
    let least = if samples > 0.0 {
        end(samples, -SIDES)
    } else {
        0.0
    };
    Interval {
        frequency,
        least,
        most: end(samples + 1.0, SIDES),
    }
}

/// The interval of an estimate that comes from others.
fn normal(known: Estimate) -> Interval {
    let reach = SIDES * known.deviation * known.frequency.max(1.0);
    Interval {
        frequency: known.frequency,
        least: (known.frequency - reach).max(0.0),
        most: known.frequency + reach,
    }
}

#[cfg(test)]
mod tests {
    use hps_isa::random::Random;

    use super::*;

    fn class(counts: &[u64]) -> Class {
        Class {
            counts: counts.to_vec(),
        }
    }

    #[test]
    fn intervals_of_counts_are_those_of_the_poisson_distribution() {
        // Exact ends for 0, 1, 10 and 100 events: Garwood, "Fiducial Limits for the Poisson Distribution", 1936.
        let exact = [
            (0, 0.0, 3.69),
            (1, 0.03, 5.57),
            (10, 4.80, 18.39),
            (100, 81.36, 121.63),
        ];
        for (count, least, most) in exact {
            let found = of_counts(&class(&[count]), 0.0);
            assert_eq!(found.frequency, count as f64);
            assert!((found.least - least).abs() < 0.02, "{count}: {found:?}");
            assert!((found.most - most).abs() < 0.05, "{count}: {found:?}");
        }
    }

    #[test]
    fn unevenness_is_what_chance_does_not_explain() {
        let mut random = Random::new(3);
        let mut draw =
            |mean: u64| (0..100 * mean).filter(|_| random.below(100) == 0).count() as u64;
        let even: Vec<Class> = (0..100)
            .map(|_| class(&[draw(50), draw(50), draw(50)]))
            .collect();
        assert!(unevenness(even.iter()) < 0.02);
        // One of two has all samples: values 2 and 0 times the mean differ by 1 to both sides, with one degree of freedom.
        let first: Vec<Class> = (0..100).map(|_| class(&[draw(100), 0])).collect();
        assert!((unevenness(first.iter()) - 2.0).abs() < 0.1);
    }
}
