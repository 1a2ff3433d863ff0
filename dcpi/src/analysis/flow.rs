//! Estimates and flow: a block runs as often as the edges into it, and as those out of it (section 6.1.4 of the paper).
//!
//! The paper uses these constraints for classes without samples of their own. Here each class gets the estimate whose
//! error has the least variance: its own, or what a constraint makes of the estimates of others, whose variances then
//! add. So a class of one issue point, which may have stalled each time, does not stand against its neighbours. A class
//! of high confidence keeps its own.
//!
//! A sum is never known better than its parts, and neither is here what several edges of one class share. So the least variances are found in ascending order, as the shortest
//! ways in a graph are (Knuth, "A Generalization of Dijkstra's Algorithm", 1977).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

use hps_system::cfg::Cfg;

use super::equivalence::Classes;
use super::frequency::{Confidence, Estimate};

/// Gives each class that has no estimate of high confidence the one with the least variance that flow constraints allow. No estimate is negative: where
/// the known edges of a block run more often than the block, the unknown one gets zero.
///
/// Without all edges there are no constraints, and nothing is changed.
pub fn propagate(cfg: &Cfg, classes: &Classes, known: &mut [Option<Estimate>]) {
    if cfg.missing_edges {
        return;
    }
    let constraints = constraints(cfg, classes);
    let mut where_used: Vec<Vec<usize>> = vec![Vec::new(); classes.count];
    for (at, constraint) in constraints.iter().enumerate() {
        for (class, _) in constraint {
            where_used[*class].push(at);
        }
    }
    let own = known.iter().enumerate();
    let mut offers: BinaryHeap<Offer> = own
        .filter_map(|(class, estimate)| Some(Offer::own(class, (*estimate)?)))
        .collect();
    let mut settled: Vec<Option<Offer>> = vec![None; classes.count];
    while let Some(offer) = offers.pop() {
        if settled[offer.class].is_some() {
            continue;
        }
        settled[offer.class] = Some(offer);
        let using = where_used[offer.class].iter();
        offers.extend(using.filter_map(|at| solve(&constraints[*at], &settled)));
    }
    for (class, offer) in settled.iter().enumerate() {
        known[class] = offer.map(|offer| offer.estimate(known[class]));
    }
}

/// A sum of classes, each with a factor, that is zero.
type Constraint = Vec<(usize, f64)>;

/// The constraints of both sides of all blocks, without those that are always met.
fn constraints(cfg: &Cfg, classes: &Classes) -> Vec<Constraint> {
    let blocks = 0..cfg.blocks.len();
    let sides = blocks.flat_map(|block| [(block, cfg.into(block)), (block, cfg.out_of(block))]);
    let sides = sides.filter(|(_, edges)| !edges.is_empty());
    let of_side = sides.map(|(block, edges)| {
        let mut factors = BTreeMap::from([(classes.of_block[block], -1.0)]);
        for edge in edges {
            *factors.entry(classes.of_edge[*edge]).or_insert(0.0) += 1.0;
        }
        factors.retain(|_, factor| *factor != 0.0);
        factors.into_iter().collect::<Constraint>()
    });
    of_side
        .filter(|constraint| !constraint.is_empty())
        .collect()
}

/// The offer of a constraint for its only class that is not settled.
fn solve(constraint: &Constraint, settled: &[Option<Offer>]) -> Option<Offer> {
    let mut open = constraint.iter().filter(|(c, _)| settled[*c].is_none());
    let &(class, own) = open.next()?;
    if open.next().is_some() {
        return None;
    }
    let (mut sum, mut variance) = (0.0, 0.0);
    for (other, factor) in constraint.iter().filter(|(c, _)| *c != class) {
        let offer = settled[*other]?;
        sum -= factor * offer.frequency;
        variance += factor * factor * offer.variance;
    }
    Some(Offer {
        class,
        frequency: (sum / own).max(0.0),
        variance,
        is_own: false,
        is_firm: false,
    })
}

/// An estimate of a class and the variance of its error.
#[derive(Clone, Copy)]
struct Offer {
    class: usize,
    frequency: f64,
    variance: f64,
    is_own: bool,
    /// Points of its own agree so well that no constraint speaks against it: a minimum head time that is wrong makes
    /// a neighbour look rare, and what is rare has little variance.
    is_firm: bool,
}

impl Offer {
    fn own(class: usize, estimate: Estimate) -> Offer {
        // A class without samples may have run less often than once for each of them.
        let deviation = estimate.deviation * estimate.frequency.max(1.0);
        Offer {
            class,
            frequency: estimate.frequency,
            variance: deviation * deviation,
            is_own: true,
            is_firm: estimate.confidence == Confidence::High,
        }
    }

    fn estimate(self, own: Option<Estimate>) -> Estimate {
        match own {
            Some(own) if self.is_own => own,
            _ => Estimate::new(
                self.frequency,
                self.variance.sqrt() / self.frequency.max(1.0),
            ),
        }
    }
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
    /// The one with the least variance is the greatest. Two ways to one sum have variances that differ in their last bits
    /// alone; of these, the greater frequency is the one that needed no negative estimate to be made zero.
    fn cmp(&self, other: &Offer) -> Ordering {
        let by_variance = (other.variance as f32).total_cmp(&(self.variance as f32));
        let by_own = self.is_own.cmp(&other.is_own);
        let by_firmness = self.is_firm.cmp(&other.is_firm);
        by_firmness
            .then(by_variance)
            .then(by_own)
            .then(other.class.cmp(&self.class))
            .then(self.frequency.total_cmp(&other.frequency))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::propagate;
    use crate::analysis::equivalence::Classes;
    use crate::analysis::frequency::Estimate;
    use hps_isa::random::Random;
    use hps_system::cfg::{Cfg, Code};
    use hps_system::image::ProgramImage;

    /// Graphs of functions of a program.
    pub(in crate::analysis) fn graphs() -> Vec<Cfg> {
        let workload = hps_workloads::find("minicc").expect("the program exists");
        let bytes = workload.image("alpha").expect("an image");
        let image = ProgramImage::parse(bytes, "minicc").expect("a program");
        let code = Code::new(&image);
        let all = code.functions().iter().map(|f| Cfg::of(&code, f));
        all.filter(|cfg| !cfg.missing_edges).collect()
    }

    /// Executions of every edge and block of a number of random walks from the entry to the exit.
    pub(in crate::analysis) fn walk(cfg: &Cfg, random: &mut Random) -> (Vec<f64>, Vec<f64>) {
        let (mut blocks, mut edges) = (vec![0.0; cfg.blocks.len()], vec![0.0; cfg.edges.len()]);
        for _ in 0..20 {
            let mut node = cfg.entry();
            while node != cfg.exit() {
                let out = cfg.out_of(node);
                // Blocks that never end a walk are in infinite loops, which no program of ours has.
                let edge = out[random.below(out.len() as u64) as usize];
                edges[edge] += 1.0;
                node = cfg.edges[edge].to;
                if node < blocks.len() {
                    blocks[node] += 1.0;
                }
            }
        }
        (blocks, edges)
    }

    #[test]
    fn true_frequencies_of_some_blocks_give_true_ones_of_others_and_edges() {
        let mut random = Random::new(5);
        let (mut found, mut unknown) = (0, 0);
        for cfg in graphs() {
            let (blocks, edges) = walk(&cfg, &mut random);
            let classes = Classes::of(&cfg);
            let mut known = vec![None; classes.count];
            for (block, class) in classes.of_block.iter().enumerate() {
                known[*class] = Some(Estimate::new(blocks[block], 0.01));
            }
            propagate(&cfg, &classes, &mut known);
            for (edge, truth) in edges.iter().enumerate() {
                match known[classes.of_edge[edge]] {
                    Some(e) => {
                        assert_eq!(e.frequency, *truth);
                        found += 1;
                    }
                    None => unknown += 1,
                }
            }
        }
        assert!(found > 20 * unknown, "{found} edges, {unknown} unknown");
    }

    #[test]
    fn a_class_that_is_known_badly_gets_what_its_neighbours_leave() {
        let cfg = graphs().into_iter().find(|cfg| cfg.out_of(0).len() == 2);
        let cfg = cfg.expect("a graph whose first block branches");
        let classes = Classes::of(&cfg);
        let [one, other] = [0, 1].map(|at| classes.of_edge[cfg.out_of(0)[at]]);
        let mut known = vec![None; classes.count];
        known[classes.of_block[0]] = Some(Estimate::new(100.0, 0.02));
        known[one] = Some(Estimate::new(30.0, 0.02));
        known[other] = Some(Estimate::new(90.0, 0.5));
        propagate(&cfg, &classes, &mut known);
        // 100 - 30, with a standard deviation of the root of 2 * 2 + 0.6 * 0.6.
        let found = known[other].expect("an estimate");
        assert_eq!(found.frequency, 70.0);
        assert!((found.deviation - 4.36f64.sqrt() / 70.0).abs() < 1e-12);
    }
}
