//! Minimum head times behind each block that leads to another one.
//!
//! The first instructions of a block may join the group of the block before, or wait for its results. The paper ignores
//! what ran before a block. Here the scheduler runs each block behind each one that leads to it, and a minimum head time
//! is the mean over these ways, each weighted by how often it is taken.

use hps_pipeline::static_schedule::{Slotted, StaticScheduler};
use hps_system::cfg::{Cfg, EdgeKind, Placed};

/// Instructions at the end of a block that matter to the one behind it.
const BEFORE: usize = 12;

/// Minimum head times of all instructions by the edge over which control comes.
pub(super) struct Minimums {
    /// By block: edges into it and the times behind them.
    of: Vec<Vec<(Option<usize>, Vec<u32>)>>,
}

/// The minimum head time of an instruction over all ways to its block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mean {
    pub cycles: f64,
    /// Ways with other times matter, so that the mean rests on how often each is taken.
    pub is_uncertain: bool,
}

/// Share of the ways to a block that may have other times.
const UNCERTAIN: f64 = 0.1;

impl Minimums {
    /// The times of all blocks of a graph; `alone` are their schedules with nothing in flight.
    pub fn of(cfg: &Cfg, scheduler: &StaticScheduler, alone: &[Vec<Slotted>]) -> Minimums {
        let times = |block: usize| alone[block].iter().map(|s| s.head_cycles).collect();
        let behind = |block: usize, edge: usize| {
            let from = cfg.edges[edge].from;
            // Behind a call ran another procedure.
            let before = (from < cfg.blocks.len()).then(|| cfg.block_insts(from));
            let is_known =
                |insts: &&[Placed]| insts.last().is_some_and(|i| !i.inst.class.is_call());
            let Some(before) = before.filter(is_known) else {
                return times(block);
            };
            let before = &before[before.len().saturating_sub(BEFORE)..];
            let jumps = cfg.edges[edge].kind != EdgeKind::Next;
            scheduler.head_cycles_behind(before, jumps, cfg.block_insts(block))
        };
        let blocks = 0..cfg.blocks.len();
        let of = blocks.map(|block| {
            let edges = cfg.into(block).iter();
            let ways: Vec<_> = edges
                .map(|edge| (Some(*edge), behind(block, *edge)))
                .collect();
            // Nothing is known to lead there.
            match ways.is_empty() {
                true => vec![(None, times(block))],
                false => ways,
            }
        });
        Minimums { of: of.collect() }
    }

    /// The means of the instructions of a block, by the frequencies of edges, as far as they are known.
    pub fn means(&self, block: usize, frequency: impl Fn(usize) -> Option<f64>) -> Vec<Mean> {
        let ways = &self.of[block];
        let known: Option<Vec<f64>> = ways.iter().map(|(edge, _)| frequency((*edge)?)).collect();
        let known = known.filter(|all| all.iter().sum::<f64>() > 0.0);
        let weights = known.unwrap_or_else(|| vec![1.0; ways.len()]);
        let total: f64 = weights.iter().sum();
        let count = ways.iter().map(|(_, times)| times.len()).max().unwrap_or(0);
        let mean = |place: usize| {
            let times = || ways.iter().map(|(_, times)| times[place]).zip(&weights);
            let cycles = times()
                .map(|(time, weight)| f64::from(time) * weight)
                .sum::<f64>()
                / total;
            let mut by_time: Vec<(u32, f64)> = Vec::new();
            for (time, weight) in times() {
                match by_time.iter_mut().find(|(t, _)| *t == time) {
                    Some((_, sum)) => *sum += weight / total,
                    None => by_time.push((time, weight / total)),
                }
            }
            let largest = by_time.iter().map(|(_, share)| *share).fold(0.0, f64::max);
            Mean {
                cycles,
                is_uncertain: largest < 1.0 - UNCERTAIN,
            }
        };
        (0..count).map(mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use hps_isa::asm::program::assemble;
    use hps_isa::isa::Isa;
    use hps_pipeline::config::MachineConfig;
    use hps_system::cfg::Code;
    use hps_system::image::ProgramImage;

    use super::*;

    #[test]
    fn a_block_waits_for_the_load_of_the_one_before_as_often_as_control_comes_from_there() {
        // The load takes two cycles. Its branch issues beside it: behind both, the sum is at the head in the cycle after
        // and issues in the next one. From the other way it issues in the first cycle.
        let text = ".align 16\nldq t0, 0(sp)\nbeq a0, use\nbis a1, a1, t0\nbr far\n.align 16\nuse:\naddq t0, 1, v0\nret\n\
                    .align 16\nfar:\nbr use";
        let program = assemble(Isa::Alpha, text).expect("it assembles");
        let image = ProgramImage::parse(&program.file, "text").expect("a program");
        let code = Code::new(&image);
        let cfg = Cfg::of(&code, &code.functions()[0]);
        let machine = MachineConfig::preset("ev5").expect("the preset exists");
        let scheduler = StaticScheduler::new(&machine).expect("it issues in order");
        let blocks = 0..cfg.blocks.len();
        let alone: Vec<_> = blocks
            .map(|block| scheduler.schedule(cfg.block_insts(block)))
            .collect();
        let minimums = Minimums::of(&cfg, &scheduler, &alone);
        let uses = cfg
            .edges
            .iter()
            .find(|e| e.from == 0 && e.kind == EdgeKind::Taken);
        let block = uses.expect("an edge").to;
        assert_eq!(alone[block][0].head_cycles, 1);
        let first = |from_load: f64, from_other: f64| {
            let of = |edge: usize| match cfg.edges[edge].from {
                0 => Some(from_load),
                _ => Some(from_other),
            };
            minimums.means(block, of)[0]
        };
        let mean = |cycles, is_uncertain| Mean {
            cycles,
            is_uncertain,
        };
        assert_eq!(first(10.0, 0.0), mean(2.0, false));
        assert_eq!(first(0.0, 10.0), mean(1.0, false));
        assert_eq!(first(5.0, 15.0), mean(1.25, true));
        // Nobody knows how often: all ways count the same.
        assert_eq!(minimums.means(block, |_| None)[0], mean(1.5, true));
    }
}
