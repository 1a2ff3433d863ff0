//! A procedure by instruction: how often each ran, how long it took, and why it stalled.

use hps_pipeline::config::MachineConfig;
use hps_pipeline::static_schedule::{NotInOrder, Slotted, StaticScheduler};
use hps_system::cfg::{Cfg, Code};
use hps_system::symbols::Function;

use super::costs::Costs;
use super::culprits::{Bounds, Culprit, Suspect};
use super::directions::{agree, shares};
use super::equivalence::Classes;
use super::flow::propagate;
use super::frequency::{Estimate, Point, Rules, estimate};
use super::minimums::Minimums;
use crate::samples::{Event, Samples};

/// Inputs of the analysis of a program beside samples.
pub struct Analyst<'a> {
    code: &'a Code<'a>,
    scheduler: StaticScheduler,
    costs: Costs,
    rules: Rules,
}

/// An instruction of a procedure.
#[derive(Clone, Debug)]
pub struct InstructionRow {
    /// Address of the instruction.
    pub pc: u64,
    /// Disassembled text of the instruction.
    pub text: String,
    /// Number of its block.
    pub block: usize,
    /// Samples of cycles at the instruction.
    pub samples: u64,
    /// Minimum head time, and the reason for its length.
    pub slotted: Slotted,
    /// Letters of its static stalls with their culprits, one for each cycle.
    pub static_stalls: Vec<(char, Option<u64>)>,
    /// How often it ran, in samples; none if nothing is known.
    pub frequency: Option<Estimate>,
    /// Samples beyond what its frequency and minimum head time explain: negative if it has fewer.
    pub dynamic: f64,
    /// Possible causes of the dynamic stalls.
    pub culprits: Vec<Culprit>,
}

impl InstructionRow {
    /// Cycles that it spent at the head of the issue queue, on average.
    #[must_use]
    pub fn cycles(&self) -> Option<f64> {
        let frequency = self.frequency?.frequency;
        (frequency > 0.0).then(|| self.samples as f64 / frequency)
    }
}

/// The analysis of a procedure.
#[derive(Clone, Debug)]
pub struct Procedure {
    /// Name of the procedure.
    pub name: String,
    /// Control-flow graph of the procedure.
    pub cfg: Cfg,
    /// Equivalence classes of the procedure.
    pub classes: Classes,
    /// The estimate of each class.
    pub estimates: Vec<Option<Estimate>>,
    /// Instructions of the procedure, block by block.
    pub rows: Vec<InstructionRow>,
    /// All samples of cycles in its address range: also of code that control cannot reach by its graph.
    pub samples: u64,
}

/// Dynamic stalls shorter than this share of a cycle at each execution are not explained: they are noise.
const LEAST_STALL: f64 = 0.25;

/// Times that frequencies are estimated: first without those of edges, then with them.
const PASSES: usize = 2;

impl<'a> Analyst<'a> {
    /// The analysis of a program that ran on a machine.
    ///
    /// # Errors
    /// [`NotInOrder`] if the machine issues out of order.
    pub fn new(code: &'a Code<'a>, machine: &MachineConfig) -> Result<Analyst<'a>, NotInOrder> {
        StaticScheduler::new(machine)?;
        Ok(Analyst::as_if_in_order(code, machine))
    }

    /// The analysis of a program that ran on any machine. One that issues out of order is taken to issue in order.
    #[must_use]
    pub fn as_if_in_order(code: &'a Code<'a>, machine: &MachineConfig) -> Analyst<'a> {
        let costs = Costs::of(machine);
        Analyst {
            code,
            scheduler: StaticScheduler::in_order(machine),
            costs,
            rules: Rules {
                longest_stall: 2.0 * costs.load_fill + costs.dtb_miss,
                ..Rules::default()
            },
        }
    }

    /// With other rules of the estimate.
    #[must_use]
    pub fn ruled(mut self, rules: Rules) -> Analyst<'a> {
        self.rules = rules;
        self
    }

    /// The rules of the estimate.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Analyzes a procedure.
    #[must_use]
    pub fn procedure(&self, function: &Function, samples: &Samples) -> Procedure {
        let cfg = Cfg::of(self.code, function);
        let classes = Classes::of(&cfg);
        let schedules: Vec<Vec<Slotted>> = (0..cfg.blocks.len())
            .map(|block| self.scheduler.schedule(cfg.block_insts(block)))
            .collect();
        let shares = samples
            .of(Event::Cycles)
            .map(|counts| shares(&cfg, counts))
            .unwrap_or_default();
        let minimums = Minimums::of(&cfg, &self.scheduler, &schedules);
        let mut estimates = vec![None; classes.count];
        for _ in 0..PASSES {
            estimates =
                self.estimates(&cfg, &classes, (&schedules, &minimums), &estimates, samples);
            if !shares.is_empty() {
                agree(&cfg, &classes, &shares, &mut estimates);
            }
            propagate(&cfg, &classes, &mut estimates);
        }
        let rows = self.rows(&cfg, &classes, &estimates, schedules, samples);
        Procedure {
            name: function.name.clone(),
            samples: samples
                .of(Event::Cycles)
                .map_or(0, |c| c.within(cfg.range.clone())),
            cfg,
            classes,
            estimates,
            rows,
        }
    }

    /// The estimate of each class that has samples to be estimated from. `before` are the estimates of the pass before:
    /// how often each edge runs decides how long the first instructions of a block are at the head on average.
    fn estimates(
        &self,
        cfg: &Cfg,
        classes: &Classes,
        (schedules, minimums): (&[Vec<Slotted>], &Minimums),
        before: &[Option<Estimate>],
        samples: &Samples,
    ) -> Vec<Option<Estimate>> {
        let of_edge = |edge: usize| before[classes.of_edge[edge]].map(|e| e.frequency);
        let mut points: Vec<Vec<Vec<Point>>> = vec![Vec::new(); classes.count];
        for (block, schedule) in schedules.iter().enumerate() {
            let insts = cfg.block_insts(block);
            let means = minimums.means(block, of_edge);
            let points_of = insts.iter().zip(schedule).zip(means);
            let points_of = points_of.map(|((placed, slotted), mean)| Point {
                samples: samples.at(Event::Cycles, placed.pc),
                minimum: mean.cycles,
                waits_for: slotted.producer(),
                is_uncertain: mean.is_uncertain,
            });
            points[classes.of_block[block]].push(points_of.collect());
        }
        points
            .iter()
            .map(|blocks| estimate(blocks, &self.rules))
            .collect()
    }

    fn rows(
        &self,
        cfg: &Cfg,
        classes: &Classes,
        estimates: &[Option<Estimate>],
        schedules: Vec<Vec<Slotted>>,
        samples: &Samples,
    ) -> Vec<InstructionRow> {
        let of_block = |block: usize| estimates[classes.of_block[block]];
        let blocks: Vec<Option<f64>> = (0..cfg.blocks.len())
            .map(|block| of_block(block).map(|e| e.frequency))
            .collect();
        let period = samples.of(Event::Cycles).map_or(1.0, |c| c.period.mean());
        // Samples of cycles that so many samples of another event stand for at most.
        let bound = |event: Event, count: u64, cycles: f64| {
            let counts = samples.of(event)?;
            Some(count as f64 * counts.period.mean() * cycles / period)
        };
        let dtbmiss = samples
            .of(Event::Dtbmiss)
            .map(|c| c.within(cfg.range.clone()));
        let mut rows = Vec::new();
        for (block, schedule) in schedules.into_iter().enumerate() {
            for (place, slotted) in schedule.into_iter().enumerate() {
                let pc = cfg.block_insts(block)[place].pc;
                let count = samples.at(Event::Cycles, pc);
                let frequency = of_block(block);
                let executions = frequency.map_or(0.0, |e| e.frequency);
                let dynamic = match frequency {
                    Some(_) => count as f64 - executions * f64::from(slotted.head_cycles),
                    None => 0.0,
                };
                let suspect = Suspect {
                    isa: self.code.image().isa,
                    cfg,
                    block,
                    place,
                    frequency: executions,
                    blocks: &blocks,
                    costs: &self.costs,
                    slotted: &slotted,
                };
                let bounds = Bounds {
                    imiss: bound(
                        Event::Imiss,
                        samples.at(Event::Imiss, pc),
                        self.costs.instruction_fill,
                    ),
                    itbmiss: bound(
                        Event::Itbmiss,
                        samples.at(Event::Itbmiss, pc),
                        self.costs.itb_miss,
                    ),
                    dtbmiss: dtbmiss.and_then(|n| {
                        let cycles = self.costs.dtb_miss + self.costs.load_fill;
                        bound(Event::Dtbmiss, n, cycles)
                    }),
                };
                let culprits = if dynamic > LEAST_STALL * executions && dynamic > 0.0 {
                    suspect.culprits(dynamic, &bounds)
                } else {
                    Vec::new()
                };
                let (text, static_stalls) = (suspect.text(), suspect.static_stalls());
                rows.push(InstructionRow {
                    pc,
                    text,
                    block,
                    samples: count,
                    static_stalls,
                    frequency,
                    dynamic,
                    culprits,
                    slotted,
                });
            }
        }
        rows
    }
}

impl Procedure {
    /// The estimate of a block.
    #[must_use]
    pub fn block(&self, block: usize) -> Option<Estimate> {
        self.estimates[self.classes.of_block[block]]
    }

    /// The estimate of an edge, by its place in the graph.
    #[must_use]
    pub fn edge(&self, edge: usize) -> Option<Estimate> {
        self.estimates[self.classes.of_edge[edge]]
    }
}
