//! Edge samples: how often control took each edge out of a block (section 7 of the paper).
//!
//! The paper has edge samples and does not say what an analysis makes of them. Here the share of an edge among the edge
//! samples of its block ties two classes together: that of the edge runs as often as that of the block, times the share.
//! Each class has an estimate of its own, from the samples of its instructions, or none. The estimates that fit both best
//! are those of least squares over logarithms, in which what is known better weighs more.
//!
//! Which instruction a sample finds depends on stalls, but where a branch leads hardly depends on who stalled before
//! it. Shares therefore need no minimum head times, and hold out of order too.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use hps_system::cfg::{Cfg, EdgeKind};

use super::equivalence::Classes;
use super::frequency::Estimate;
use crate::samples::Counts;

/// The share of an edge among the edges out of its block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The edge, by its place in the graph.
    pub edge: usize,
    /// Edge samples of the edge.
    pub samples: u64,
    /// Edge samples of its block.
    pub of: u64,
}

impl Share {
    /// The share, from 0 to 1.
    #[must_use]
    pub fn ratio(self) -> f64 {
        self.samples as f64 / self.of as f64
    }

    /// Variance of its logarithm: that of a share of so many independent samples.
    fn variance(self) -> f64 {
        // A share that no sample speaks against is not certain either.
        let against = (self.of - self.samples) as f64 + 0.5;
        against / self.of as f64 / self.samples as f64
    }
}

/// The shares of all edges out of blocks that have several and edge samples.
#[must_use]
pub fn shares(cfg: &Cfg, counts: &Counts) -> Vec<Share> {
    let mut found = Vec::new();
    for block in 0..cfg.blocks.len() {
        let Some(last) = cfg.block_insts(block).last() else {
            continue;
        };
        let out = cfg.out_of(block);
        if out.len() < 2 || !last.inst.class.is_control() {
            continue;
        }
        let from = last.pc;
        let of = counts.by_edge.range((from, 0)..=(from, u64::MAX));
        let of: u64 = of.map(|(_, count)| count).sum();
        if of == 0 {
            continue;
        }
        let to = |edge: usize| cfg.edges[edge].to;
        let samples = |edge: usize| {
            let target = (to(edge) < cfg.blocks.len()).then(|| cfg.block_start(to(edge)));
            target.map_or(0, |pc| {
                counts.by_edge.get(&(from, pc)).copied().unwrap_or(0)
            })
        };
        let inside: u64 = out.iter().map(|edge| samples(*edge)).sum();
        let leaves = |edge: usize| cfg.edges[edge].kind == EdgeKind::Exit;
        for &edge in out {
            let samples = match leaves(edge) {
                true => of - inside,
                false => samples(edge),
            };
            found.push(Share { edge, samples, of });
        }
    }
    found
}

/// Least deviation of a share: the head of the queue is not quite independent of where a branch leads.
const LEAST_DEVIATION: f64 = 0.02;

/// A tie of a class to another one.
#[derive(Clone, Copy)]
struct Tie {
    to: usize,
    /// How often the other one runs for each time of this one.
    ratio: f64,
    /// Variance of the logarithm of the ratio.
    variance: f64,
}

/// An estimate of a class that comes from its own samples, or from another class over ties.
#[derive(Clone, Copy)]
struct Offer {
    class: usize,
    frequency: f64,
    variance: f64,
}

impl PartialEq for Offer {
    fn eq(&self, other: &Offer) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Offer {}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Offer) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Offer {
    /// The one with the least variance is the greatest.
    fn cmp(&self, other: &Offer) -> Ordering {
        let by_variance = other.variance.total_cmp(&self.variance);
        by_variance.then(other.class.cmp(&self.class))
    }
}

/// Gives each class the estimate that can be trusted most: its own, or that of a class to which shares tie it.
pub fn agree(cfg: &Cfg, classes: &Classes, shares: &[Share], known: &mut [Option<Estimate>]) {
    let mut ties: Vec<Vec<Tie>> = vec![Vec::new(); known.len()];
    let mut offers = BinaryHeap::new();
    for share in shares {
        let edge = cfg.edges[share.edge];
        let (block, edge) = (classes.of_block[edge.from], classes.of_edge[share.edge]);
        if share.samples == 0 {
            // The edge may have run too rarely to be sampled.
            known[edge].get_or_insert(Estimate::new(0.0, 1.0));
            continue;
        }
        let least = LEAST_DEVIATION * LEAST_DEVIATION;
        let variance = share.variance().max(least);
        let ratio = share.ratio();
        ties[block].push(Tie {
            to: edge,
            ratio,
            variance,
        });
        ties[edge].push(Tie {
            to: block,
            ratio: 1.0 / ratio,
            variance,
        });
    }
    for (class, estimate) in known.iter().enumerate() {
        let own = estimate.filter(|e| e.frequency > 0.0);
        offers.extend(own.map(|e| Offer {
            class,
            frequency: e.frequency,
            variance: e.deviation * e.deviation,
        }));
    }
    // The shortest ways from classes with estimates of their own, variances being lengths.
    let mut is_settled = vec![false; known.len()];
    while let Some(offer) = offers.pop() {
        if std::mem::replace(&mut is_settled[offer.class], true) {
            continue;
        }
        let settled = Estimate::new(offer.frequency, offer.variance.sqrt());
        known[offer.class] = Some(settled);
        let ties = ties[offer.class].iter();
        offers.extend(ties.filter(|tie| !is_settled[tie.to]).map(|tie| Offer {
            class: tie.to,
            frequency: offer.frequency * tie.ratio,
            variance: offer.variance + tie.variance,
        }));
    }
}

#[cfg(test)]
mod tests {
    use hps_isa::random::Random;
    use hps_system::cfg::Cfg;

    use super::{Share, agree, shares};
    use crate::analysis::equivalence::Classes;
    use crate::analysis::flow::tests::{graphs, walk};
    use crate::analysis::frequency::Estimate;
    use crate::samples::{Counts, Range};

    /// Edge samples of all executions of edges.
    fn counts(cfg: &Cfg, edges: &[f64]) -> Counts {
        let mut counts = Counts::new(Range::fixed(1));
        for (edge, executions) in cfg.edges.iter().zip(edges) {
            if edge.from < cfg.blocks.len() {
                let last = cfg.block_insts(edge.from).last().expect("an instruction");
                let to = match edge.to < cfg.blocks.len() {
                    true => cfg.block_start(edge.to),
                    false => 0,
                };
                *counts.by_edge.entry((last.pc, to)).or_default() += *executions as u64;
            }
        }
        counts.by_edge.retain(|_, count| *count > 0);
        counts
    }

    #[test]
    fn one_known_block_and_all_edge_samples_give_what_ties_reach() {
        let mut random = Random::new(7);
        let (mut found, mut wrong) = (0, 0);
        for cfg in graphs() {
            let (blocks, edges) = walk(&cfg, &mut random);
            let classes = Classes::of(&cfg);
            let mut known = vec![None; classes.count];
            known[classes.of_block[0]] = Some(Estimate::new(blocks[0], 0.05));
            agree(
                &cfg,
                &classes,
                &shares(&cfg, &counts(&cfg, &edges)),
                &mut known,
            );
            for (block, class) in classes.of_block.iter().enumerate() {
                if let Some(e) = known[*class] {
                    found += 1;
                    wrong += u32::from((e.frequency - blocks[block]).abs() > 1e-6 * blocks[block]);
                }
            }
        }
        assert!(found > 300, "{found}");
        assert_eq!(wrong, 0, "of {found}");
    }

    #[test]
    fn every_class_gets_the_estimate_with_the_least_variance() {
        let mut random = Random::new(8);
        let mut moved = 0;
        for cfg in graphs() {
            let (_, edges) = walk(&cfg, &mut random);
            let classes = Classes::of(&cfg);
            let known: Vec<Option<Estimate>> = (0..classes.count)
                .map(|_| {
                    let deviation = [0.05, 0.1, 0.4][random.below(3) as usize];
                    (random.below(3) > 0)
                        .then(|| Estimate::new(random.below(1000) as f64, deviation))
                })
                .collect();
            let shares = shares(&cfg, &counts(&cfg, &edges));
            let mut agreed = known.clone();
            agree(&cfg, &classes, &shares, &mut agreed);
            let variances = relaxed(&cfg, &classes, &shares, &known);
            for class in 0..classes.count {
                let (before, after) = (known[class], agreed[class]);
                assert!(after.is_none_or(|e| e.frequency >= 0.0));
                assert!(
                    before.is_none() || after.is_some(),
                    "what is known stays known"
                );
                let own = before.filter(|e| e.frequency > 0.0);
                let own = own.map(|e| e.deviation * e.deviation);
                if own == Some(variances[class]) {
                    assert_eq!(before, after, "nothing is better than its own");
                } else if variances[class].is_finite() {
                    let deviation = after.map_or(f64::NAN, |e| e.deviation);
                    assert!((deviation - variances[class].sqrt()).abs() < 1e-12);
                    moved += 1;
                }
            }
        }
        assert!(moved > 100, "{moved}");
    }

    /// The least variance of each class, by going over all ties until nothing changes.
    fn relaxed(
        cfg: &Cfg,
        classes: &Classes,
        shares: &[Share],
        known: &[Option<Estimate>],
    ) -> Vec<f64> {
        let of = |e: &Option<Estimate>| match e.filter(|e| e.frequency > 0.0) {
            Some(e) => e.deviation * e.deviation,
            None => f64::INFINITY,
        };
        let mut variances: Vec<f64> = known.iter().map(of).collect();
        loop {
            let before = variances.clone();
            for share in shares.iter().filter(|s| s.samples > 0) {
                let edge = classes.of_edge[share.edge];
                let block = classes.of_block[cfg.edges[share.edge].from];
                let tie = share.variance().max(super::LEAST_DEVIATION.powi(2));
                variances[edge] = variances[edge].min(variances[block] + tie);
                variances[block] = variances[block].min(variances[edge] + tie);
            }
            if variances == before {
                return variances;
            }
        }
    }

    #[test]
    fn a_share_that_was_never_seen_is_known_badly_and_one_of_many_samples_well() {
        let share = |samples, of| {
            Share {
                edge: 0,
                samples,
                of,
            }
            .variance()
        };
        assert!(share(1, 2) > share(10, 20) && share(10, 20) > share(1000, 2000));
        // The rarer of two edges is known worse.
        assert!(share(10, 1000) > share(990, 1000));
        assert!(share(10, 10) > 0.0);
    }
}
