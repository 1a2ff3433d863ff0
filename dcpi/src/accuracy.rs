//! How far estimates are from the truth: the histograms of the paper's figures 8 and 9, cycles of instructions, and
//! the share of stalls whose causes are among the named ones.

use hps_isa::inst::OpClass;
use hps_system::cfg::{Cfg, EdgeKind};
use serde::{Deserialize, Serialize};

use crate::analysis::directions::shares;
use crate::analysis::{Confidence, InstructionRow, Kind, Procedure};
use crate::collect::truth::{Spent, Truth};
use crate::samples::{Counts, Event, Samples};

/// Weights by relative error: twenty buckets of five percent around zero, and one on either side.
///
/// A bucket is named by its lower end: that of -15% holds errors from -15% to -10%.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Weights below -45%, then by bucket from -45% on, and from 45% on.
    pub buckets: [f64; 20],
    /// Weight of what has no estimate.
    pub unknown: f64,
    /// Weight of errors of more than 15% with more than low confidence.
    pub confident: f64,
    /// Weight by the absolute error: at most 5%, 10% and 15%.
    pub within: [f64; 3],
    /// Weight by confidence, from low on: all of it, and that of errors of at most 10%.
    pub calibration: [[f64; 2]; 3],
}

impl Histogram {
    /// Adds an estimate against the truth.
    pub fn add(&mut self, estimate: Option<(f64, Confidence)>, truth: f64, weight: f64) {
        let Some((estimate, confidence)) = estimate else {
            self.unknown += weight;
            return;
        };
        let error = if truth > 0.0 {
            estimate / truth - 1.0
        } else if estimate == 0.0 {
            0.0
        } else {
            f64::INFINITY
        };
        let place = ((error + 0.5) / 0.05).floor().clamp(0.0, 19.0);
        self.buckets[place as usize] += weight;
        for (within, limit) in self.within.iter_mut().zip([0.05, 0.10, 0.15]) {
            if error.abs() <= limit {
                *within += weight;
            }
        }
        let [all, near] = &mut self.calibration[confidence as usize];
        *all += weight;
        if error.abs() <= 0.10 {
            *near += weight;
        }
        if error.abs() > 0.15 && confidence > Confidence::Low {
            self.confident += weight;
        }
    }

    /// Adds another histogram, each of its weights times a factor.
    pub fn merge(&mut self, other: &Histogram, factor: f64) {
        for (mine, theirs) in self.buckets.iter_mut().zip(other.buckets) {
            *mine += factor * theirs;
        }
        for (mine, theirs) in self.within.iter_mut().zip(other.within) {
            *mine += factor * theirs;
        }
        for (mine, theirs) in self.calibration.iter_mut().zip(other.calibration) {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine += factor * theirs;
            }
        }
        self.unknown += factor * other.unknown;
        self.confident += factor * other.confident;
    }

    /// All weights.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.buckets.iter().sum::<f64>() + self.unknown
    }

    /// Shares of the weight within 5%, 10% and 15%, in percent.
    #[must_use]
    pub fn shares(&self) -> [f64; 3] {
        let total = self.total().max(f64::MIN_POSITIVE);
        self.within.map(|w| 100.0 * w / total)
    }
}

/// How much of the stalls is explained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Explained {
    /// Cycles that instructions really stalled dynamically.
    pub stalls: f64,
    /// Cycles whose real cause is among the causes that the analysis names at the instruction.
    pub named: f64,
    /// Cycles at instructions at which the analysis names no cause.
    pub silent: f64,
    /// Cycles of causes, instruction by instruction, that lie in the range which the analysis gives the cause.
    pub in_range: f64,
    /// Cycles of causes at instructions at which the analysis names them.
    pub ranged: f64,
}

/// How far the stalls that the analysis blames on a cause are really its, in cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Blame {
    /// Stalls that are blamed on the cause: a stall is divided among its culprits by the most that each may take.
    pub blamed: f64,
    /// Stalls that have the cause.
    pub real: f64,
    /// Stalls that have it and are blamed on it, instruction by instruction.
    pub both: f64,
}

impl Blame {
    /// Share of the blamed stalls that have the cause; none if nothing is blamed on it.
    #[must_use]
    pub fn precision(self) -> Option<f64> {
        (self.blamed > 0.0).then(|| self.both / self.blamed)
    }

    /// Share of the stalls with the cause that are blamed on it; none if there are no such stalls.
    #[must_use]
    pub fn recall(self) -> Option<f64> {
        (self.real > 0.0).then(|| self.both / self.real)
    }
}

/// The causes of stalls that the truth tells apart and culprits name.
pub const CAUSES: [Spent; 9] = [
    Spent::ICache,
    Spent::Itb,
    Spent::DCache,
    Spent::Dtb,
    Spent::WriteBuffer,
    Spent::Synchronization,
    Spent::Mispredict,
    Spent::MulDiv,
    Spent::Fetch,
];

/// How far edge samples tell the directions of blocks with several edges, in executions of these edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Directions {
    /// All of them.
    pub executions: f64,
    /// Executions out of blocks with edge samples.
    pub met: f64,
    /// Executions of edges whose share of edge samples is within 10% of the true share.
    pub within_10: f64,
}

/// The accuracy of a program's profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// Samples of cycles.
    pub samples: u64,
    /// Frequencies of instructions, weighted by samples.
    pub frequencies: Histogram,
    /// Frequencies of edges inside procedures, weighted by executions.
    pub edges: Histogram,
    /// Cycles of instructions at the head, weighted by samples.
    pub cycles: Histogram,
    /// Directions by edge samples alone.
    pub directions: Directions,
    /// Stalls and their causes.
    pub explained: Explained,
    /// Stalls by cause, in the order of [`CAUSES`].
    pub blame: [Blame; CAUSES.len()],
    /// Samples of dynamic stalls to which the analysis gives no cause.
    pub unexplained_samples: f64,
}

impl Accuracy {
    /// Adds a procedure.
    pub fn add(&mut self, procedure: &Procedure, samples: &Samples, truth: &Truth) {
        let Some(counts) = samples.of(Event::Cycles) else {
            return;
        };
        let period = counts.period.mean();
        self.samples += procedure.samples;
        self.direct(procedure, counts, truth);
        for row in &procedure.rows {
            let truth_row = truth.rows.get(&row.pc).copied().unwrap_or_default();
            let executions = truth_row.executions as f64;
            let weight = row.samples as f64;
            let estimate = row.frequency.map(|e| (e.frequency * period, e.confidence));
            self.frequencies.add(estimate, executions, weight);
            if executions > 0.0 {
                let cycles = row.cycles().zip(row.frequency.map(|e| e.confidence));
                self.cycles
                    .add(cycles, truth_row.head_cycles() as f64 / executions, weight);
            }
            if row.dynamic > 0.0 && row.culprits.is_empty() {
                self.unexplained_samples += row.dynamic;
            }
            self.explain(row, &truth_row, period);
        }
        for (at, edge) in procedure.cfg.edges.iter().enumerate() {
            if let Some(executions) = edge_executions(&procedure.cfg, at, truth) {
                let estimate = procedure
                    .edge(at)
                    .map(|e| (e.frequency * period, e.confidence));
                if edge.kind != EdgeKind::Entry {
                    self.edges
                        .add(estimate, executions as f64, executions as f64);
                }
            }
        }
    }

    /// Adds what the edge samples of a procedure tell.
    fn direct(&mut self, procedure: &Procedure, counts: &Counts, truth: &Truth) {
        let cfg = &procedure.cfg;
        for (at, edge) in cfg.edges.iter().enumerate() {
            if edge.from < cfg.blocks.len() && cfg.out_of(edge.from).len() > 1 {
                let executions = edge_executions(cfg, at, truth).unwrap_or(0);
                self.directions.executions += executions as f64;
            }
        }
        for share in shares(cfg, counts) {
            let last = cfg.block_insts(cfg.edges[share.edge].from).last();
            let all = last.map_or(0, |last| truth.executions(last.pc));
            let Some(executions @ 1..) = edge_executions(cfg, share.edge, truth) else {
                continue;
            };
            let executions = executions as f64;
            self.directions.met += executions;
            if (share.ratio() * all as f64 / executions - 1.0).abs() <= 0.10 {
                self.directions.within_10 += executions;
            }
        }
    }

    fn explain(&mut self, row: &InstructionRow, truth: &crate::collect::truth::Row, period: f64) {
        let stalls = dynamic_stalls(row, truth);
        let most: f64 = row.culprits.iter().map(|c| c.most).sum();
        for (cause, blame) in CAUSES.iter().zip(&mut self.blame) {
            let of_cause = row.culprits.iter().filter(|c| c.kind.explains(*cause));
            let share = of_cause.map(|c| c.most).sum::<f64>() / most.max(f64::MIN_POSITIVE);
            let blamed = share * row.dynamic.max(0.0) * period;
            let real = stalls.iter().filter(|(what, _)| what == cause);
            let real: f64 = real.map(|(_, cycles)| cycles).sum();
            blame.blamed += blamed;
            blame.real += real;
            blame.both += blamed.min(real);
        }
        for (what, cycles) in stalls {
            let named = row.culprits.iter().filter(|c| c.kind.explains(what));
            let (mut least, mut most, mut is_named) = (0.0, 0.0, false);
            for culprit in named {
                is_named = true;
                least += culprit.least * period;
                most += culprit.most * period;
            }
            self.explained.stalls += cycles;
            if is_named {
                self.explained.named += cycles;
                self.explained.ranged += cycles;
                // Samples have an error of their own: a tenth, or two samples.
                let slack = (0.1 * most).max(2.0 * period);
                if cycles >= least - slack && cycles <= most + slack {
                    self.explained.in_range += cycles;
                }
            } else if row.culprits.is_empty() {
                self.explained.silent += cycles;
            }
        }
    }
}

/// The cycles that an instruction really stalled beyond its minimum head time, by cause. What the static schedule has
/// it wait for anyway is taken from waits in the back-end, waits without a cause of their own first.
#[must_use]
pub fn dynamic_stalls(
    row: &InstructionRow,
    truth: &crate::collect::truth::Row,
) -> Vec<(Spent, f64)> {
    let minimum = row.slotted.head_cycles.saturating_sub(1);
    let mut fixed = truth.executions as f64 * f64::from(minimum);
    let mut found = Vec::new();
    for what in [
        Spent::Slotting,
        Spent::Dependence,
        Spent::Unit,
        Spent::MulDiv,
        Spent::DCache,
        Spent::Dtb,
        Spent::WriteBuffer,
        Spent::Synchronization,
        Spent::ICache,
        Spent::Itb,
        Spent::Mispredict,
        Spent::Fetch,
    ] {
        let cycles = truth.spent_on(what) as f64;
        let rest = (cycles - fixed).max(0.0);
        fixed = (fixed - cycles).max(0.0);
        if rest > 0.0 && Kind::ALL.iter().any(|k| k.explains(what)) {
            found.push((what, rest));
        }
    }
    found
}

/// How often control followed an edge inside a procedure; none for edges out of it or into it.
#[must_use]
pub fn edge_executions(cfg: &Cfg, edge: usize, truth: &Truth) -> Option<u64> {
    let edge = cfg.edges[edge];
    if edge.from >= cfg.blocks.len() || edge.to >= cfg.blocks.len() {
        return None;
    }
    let last = cfg.block_insts(edge.from).last()?;
    let class = last.inst.class;
    Some(
        if class.is_control() && !class.is_call() && class != OpClass::Return {
            let transfer = (last.pc, cfg.block_start(edge.to));
            truth.transfers.get(&transfer).copied().unwrap_or(0)
        } else {
            truth.executions(last.pc)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of samples of each cycle, and its truth: 100 executions, 400 cycles in the data cache and 100 in fetch.
    fn stalled(culprits: &[(Kind, f64)]) -> (InstructionRow, crate::collect::truth::Row) {
        let culprits = culprits
            .iter()
            .map(|&(kind, most)| crate::analysis::Culprit {
                kind,
                least: 0.0,
                most,
                from: Vec::new(),
            });
        let row = InstructionRow {
            pc: 0,
            text: String::new(),
            block: 0,
            samples: 600,
            slotted: hps_pipeline::static_schedule::Slotted {
                head_cycles: 1,
                stalls: Vec::new(),
                pipe: None,
            },
            static_stalls: Vec::new(),
            frequency: None,
            dynamic: 500.0,
            culprits: culprits.collect(),
        };
        let mut truth = crate::collect::truth::Row {
            executions: 100,
            ..Default::default()
        };
        truth.spent[Spent::DCache as usize] = 400;
        truth.spent[Spent::Fetch as usize] = 100;
        (row, truth)
    }

    #[test]
    fn a_stall_is_divided_among_its_culprits_by_the_most_that_each_may_take() {
        let of = |accuracy: &Accuracy, cause| {
            let at = CAUSES.iter().position(|c| *c == cause).expect("a cause");
            accuracy.blame[at]
        };
        let mut accuracy = Accuracy::default();
        // 500 * 500 / 1000 for each.
        let (row, truth) = stalled(&[(Kind::DCache, 500.0), (Kind::Mispredict, 500.0)]);
        accuracy.explain(&row, &truth, 1.0);
        let dcache = of(&accuracy, Spent::DCache);
        assert_eq!(
            (dcache.blamed, dcache.real, dcache.both),
            (250.0, 400.0, 250.0)
        );
        assert_eq!(dcache.precision().zip(dcache.recall()), Some((1.0, 0.625)));
        let mispredict = of(&accuracy, Spent::Mispredict);
        assert_eq!(
            (mispredict.blamed, mispredict.precision()),
            (250.0, Some(0.0))
        );
        assert_eq!(mispredict.recall(), None);
        assert_eq!(of(&accuracy, Spent::Fetch).recall(), Some(0.0));
        // Nothing is blamed where no culprit is named.
        let (row, truth) = stalled(&[]);
        accuracy.explain(&row, &truth, 1.0);
        assert_eq!(of(&accuracy, Spent::DCache).recall(), Some(250.0 / 800.0));
        assert_eq!(accuracy.explained.silent, 500.0);
    }

    #[test]
    fn errors_fall_into_the_buckets_that_the_paper_describes() {
        let mut histogram = Histogram::default();
        // 0.87 of the truth lies in the bucket of -15%, the seventh behind that below -45%.
        histogram.add(Some((87.0, Confidence::High)), 100.0, 1.0);
        assert_eq!(histogram.buckets[7], 1.0);
        histogram.add(Some((103.0, Confidence::Low)), 100.0, 2.0);
        assert_eq!(histogram.buckets[10], 2.0);
        histogram.add(Some((500.0, Confidence::Low)), 100.0, 4.0);
        histogram.add(Some((1.0, Confidence::Medium)), 0.0, 8.0);
        assert_eq!(histogram.buckets[19], 12.0);
        histogram.add(None, 100.0, 16.0);
        assert_eq!(histogram.total(), 31.0);
        assert_eq!(histogram.within, [2.0, 2.0, 3.0]);
        // The one without executions.
        assert_eq!(histogram.confident, 8.0);
    }
}
