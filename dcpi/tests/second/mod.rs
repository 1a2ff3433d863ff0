//! The analysis a second time: slow and plain, from the paper's section 6 and the documents of the crate.
//!
//! Nothing here calls the library but for graphs of control flow, upper bounds of costs, and types of results.

pub mod classes;
pub mod culprits;
pub mod frequencies;
pub mod schedule;

use hps_dcpi::analysis::{Costs, Culprit};
use hps_dcpi::samples::{Event, Samples};
use hps_pipeline::config::MachineConfig;
use hps_system::cfg::{Cfg, EdgeKind, Placed};

use frequencies::{Known, Point};

/// Findings about an instruction.
pub struct Row {
    pub pc: u64,
    pub head_cycles: u32,
    pub dynamic: f64,
    pub culprits: Vec<Culprit>,
}

/// Findings about a procedure.
pub struct Findings {
    /// Class of each block, then of each edge.
    pub classes: Vec<usize>,
    /// The estimate of each class.
    pub known: Vec<Option<Known>>,
    pub rows: Vec<Row>,
}

/// Instructions at the end of a block that matter to the block behind it.
const BEFORE: usize = 12;
/// Share of the ways to a block beyond which other minimum head times make a point uncertain.
const UNCERTAIN: f64 = 0.1;
/// Dynamic stalls below this share of a cycle at each execution are noise.
const LEAST_STALL: f64 = 0.25;

/// Analyzes a procedure.
pub fn analyze(cfg: &Cfg, machine: &MachineConfig, samples: &Samples) -> Findings {
    let costs = Costs::of(machine);
    let classes = classes::of(cfg);
    let mut known: Vec<Option<Known>> = vec![None; classes.iter().max().map_or(0, |c| c + 1)];
    // First without frequencies of edges, then with them.
    for _ in 0..2 {
        let mut points = vec![Vec::new(); known.len()];
        for block in 0..cfg.blocks.len() {
            points[classes[block]].push(points_of(cfg, machine, samples, block, &classes, &known));
        }
        let longest = 2.0 * costs.load_fill + costs.dtb_miss;
        known = points
            .iter()
            .map(|p| frequencies::estimate(p, longest))
            .collect();
        frequencies::propagate(cfg, &classes, &mut known);
    }
    let frequency = |block: usize| known[classes[block]].map(|k| k.frequency);
    let mut rows = Vec::new();
    for block in 0..cfg.blocks.len() {
        let insts = cfg.block_insts(block);
        for (place, (head_cycles, _)) in schedule::heads(machine, &[], false, insts)
            .into_iter()
            .enumerate()
        {
            let pc = insts[place].pc;
            let executions = frequency(block).unwrap_or(0.0);
            let dynamic = match frequency(block) {
                Some(f) => samples.at(Event::Cycles, pc) as f64 - f * f64::from(head_cycles),
                None => 0.0,
            };
            let culprits = if dynamic > LEAST_STALL * executions && dynamic > 0.0 {
                let scene = culprits::Scene {
                    cfg,
                    costs: &costs,
                    samples,
                    frequency: &frequency,
                };
                scene.culprits(block, place, dynamic)
            } else {
                Vec::new()
            };
            rows.push(Row {
                pc,
                head_cycles,
                dynamic,
                culprits,
            });
        }
    }
    Findings {
        classes,
        known,
        rows,
    }
}

/// The points of a block: minimum head times are means over the ways to the block.
fn points_of(
    cfg: &Cfg,
    machine: &MachineConfig,
    samples: &Samples,
    block: usize,
    classes: &[usize],
    known: &[Option<Known>],
) -> Vec<Point> {
    let insts = cfg.block_insts(block);
    let alone = schedule::heads(machine, &[], false, insts);
    let mut ways: Vec<(Vec<u32>, Option<f64>)> = Vec::new();
    for edge in cfg.into(block) {
        let of = known[classes[cfg.blocks.len() + edge]].map(|k| k.frequency);
        let edge = cfg.edges[*edge];
        let before: &[Placed] = match edge.kind {
            EdgeKind::Entry => &[],
            _ => cfg.block_insts(edge.from),
        };
        let before = match before.last() {
            Some(last) if !last.inst.class.is_call() => {
                &before[before.len().saturating_sub(BEFORE)..]
            }
            _ => &[],
        };
        let heads = schedule::heads(machine, before, edge.kind != EdgeKind::Next, insts);
        ways.push((heads.iter().map(|h| h.0).collect(), of));
    }
    if ways.is_empty() {
        ways.push((alone.iter().map(|h| h.0).collect(), None));
    }
    if ways.iter().any(|w| w.1.is_none()) || ways.iter().all(|w| w.1 == Some(0.0)) {
        ways.iter_mut().for_each(|w| w.1 = Some(1.0));
    }
    let total: f64 = ways.iter().filter_map(|w| w.1).sum();
    let point = |place: usize| {
        let share = |time: u32| -> f64 {
            let with = ways.iter().filter(|w| w.0[place] == time);
            with.filter_map(|w| w.1).sum::<f64>() / total
        };
        let times: std::collections::BTreeSet<u32> = ways.iter().map(|w| w.0[place]).collect();
        Point {
            samples: samples.at(Event::Cycles, insts[place].pc) as f64,
            minimum: times.iter().map(|t| f64::from(*t) * share(*t)).sum(),
            waits_for: alone[place].1,
            is_uncertain: times.iter().all(|t| share(*t) < 1.0 - UNCERTAIN),
        }
    };
    (0..insts.len()).map(point).collect()
}
