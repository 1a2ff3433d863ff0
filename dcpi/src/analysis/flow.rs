//! Propagates estimates along the edges of a graph: a block runs as often as the edges into it, and as those out of
//! it (section 6.1.4 of the paper).

use std::collections::VecDeque;

use hps_sim_core::cfg::Cfg;

use super::equivalence::Classes;
use super::frequency::{Confidence, Estimate};

/// Gives estimates to classes that have none, as far as flow constraints determine them. No estimate is negative:
/// where the known edges of a block run more often than the block, the unknown one gets zero. Each constraint is used
/// a number of times that is bounded by its edges, so that the time is linear in the size of the graph.
///
/// Without all edges there are no constraints, and nothing is changed.
pub fn propagate(cfg: &Cfg, classes: &Classes, known: &mut [Option<Estimate>]) {
    if cfg.missing_edges {
        return;
    }
    // A constraint: a block, and the edges on one of its sides.
    let sides = |block: usize| [cfg.into(block), cfg.out_of(block)];
    let mut where_used: Vec<Vec<usize>> = vec![Vec::new(); classes.count];
    for block in 0..cfg.blocks.len() {
        where_used[classes.of_block[block]].push(block);
        for edge in sides(block).into_iter().flatten() {
            where_used[classes.of_edge[*edge]].push(block);
        }
    }
    let mut open: VecDeque<usize> = (0..cfg.blocks.len()).collect();
    while let Some(block) = open.pop_front() {
        for side in sides(block) {
            let Some((class, estimate)) = solve(block, side, classes, known) else {
                continue;
            };
            known[class] = Some(estimate);
            open.extend(&where_used[class]);
        }
    }
}

/// The class on one side of a block that the constraint determines, if exactly one is unknown.
fn solve(
    block: usize,
    side: &[usize],
    classes: &Classes,
    known: &[Option<Estimate>],
) -> Option<(usize, Estimate)> {
    if side.is_empty() {
        return None;
    }
    let of_block = classes.of_block[block];
    let mut unknown = None;
    let mut times = 0;
    let mut sum = 0.0;
    let mut confidence = Confidence::Medium;
    for edge in side {
        let class = classes.of_edge[*edge];
        match known[class] {
            Some(e) => {
                sum += e.frequency;
                confidence = confidence.min(e.confidence);
            }
            None if unknown.is_none_or(|u| u == class) => {
                unknown = Some(class);
                times += 1;
            }
            None => return None,
        }
    }
    let (class, frequency) = match (known[of_block], unknown) {
        (None, None) => (of_block, sum),
        (Some(block), Some(class)) => {
            confidence = confidence.min(block.confidence);
            let rest = (block.frequency - sum).max(0.0);
            // The difference of two large estimates is known badly.
            if rest < 0.1 * block.frequency {
                confidence = Confidence::Low;
            }
            (class, rest / f64::from(times))
        }
        _ => return None,
    };
    Some((
        class,
        Estimate {
            frequency,
            confidence,
        },
    ))
}

#[cfg(test)]
pub(super) mod tests {
    use super::propagate;
    use crate::analysis::equivalence::Classes;
    use crate::analysis::frequency::{Confidence, Estimate};
    use hps_sim_core::cfg::{Cfg, Code};
    use hps_sim_core::image::ProgramImage;
    use hps_sim_core::random::Random;

    /// Graphs of functions of a program.
    pub(in crate::analysis) fn graphs() -> Vec<Cfg> {
        let workload = hps_workloads::find("minicc").expect("the program exists");
        let bytes = workload.image("alpha").expect("an image");
        let image = ProgramImage::parse(bytes, "minicc").expect("a program");
        let code = Code::new(&image);
        let all = code.functions().iter().map(|f| Cfg::of(&code, f));
        all.filter(|cfg| !cfg.missing_edges).collect()
    }

    fn estimate(frequency: f64) -> Option<Estimate> {
        Some(Estimate {
            frequency,
            confidence: Confidence::High,
        })
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
                known[*class] = estimate(blocks[block]);
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
    fn no_estimate_is_negative_however_wrong_those_of_blocks_are() {
        let mut random = Random::new(6);
        let mut zeros = 0;
        for cfg in graphs() {
            let classes = Classes::of(&cfg);
            let mut known = vec![None; classes.count];
            for class in &classes.of_block {
                if random.below(4) > 0 {
                    known[*class] = estimate(random.below(1000) as f64);
                }
            }
            let given = known.clone();
            propagate(&cfg, &classes, &mut known);
            for (before, after) in given.iter().zip(&known) {
                assert!(before.is_none() || before == after, "what is known stays");
                assert!(after.is_none_or(|e| e.frequency >= 0.0));
                zeros += u32::from(before.is_none() && after.is_some_and(|e| e.frequency == 0.0));
            }
        }
        assert!(zeros > 10, "{zeros}");
    }
}
