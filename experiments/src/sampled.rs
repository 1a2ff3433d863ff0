//! Points with sampled timing: the units of a run with a collector against those of the same run
//! without.
//!
//! Units lie at the same instructions of the program in both, so they are pairs: what two of them differ
//! in is what the collector cost there, however much the program itself varies from unit to unit. Whether
//! a unit meets a burst is chance, and would be most of the uncertainty; but how much DISE puts into the
//! whole run is known exactly, from the functional machine, so that the cost is taken by regression on it. So are the
//! events that functional warming meets more than without the collector, some of which happen once in a run, where no
//! unit is.

use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::CoreKind;
use hps_pipeline::core::{WARM_EVENTS, WarmEvents};
use hps_pipeline::sampled::{Samples, SamplingPlan};
use hps_productions::Collector;
use hps_sim_core::machine::RetiredCounts;
use hps_system::process::Process;

use crate::interval::Interval;
use crate::plan::{Plan, Point};
use crate::regression::{self, PairedUnit, Term};
use crate::row::{Sampled, TimingResult};
use crate::timed::{collector, guarded};
use hps_lab::{Install, Lab, Program, Ran, SampledLoop, Timed};

/// Relative error of functional warming in the cycles an instruction: the root mean square over the ten programs that
/// come with the project, large, for both instruction sets on `hps-4wide` (`docs/measurements/sampled-timing.md`).
pub const WARMING_ERROR: f64 = 0.0052;

/// Part of a run that its `n` known units may have missed, in units: with a probability of 95% a share of at most `3 / n`
/// of the run lies in phases that none of them met (the rule of three: Hanley and Lippman-Hand, JAMA 249, 1983).
const UNMET: f64 = 3.0;

/// The design of samples and of estimates, part of the identity of results: units lie at drawn places of their periods
/// behind warm-ups of drawn lengths, and events cost what is thought until units know better.
pub const DESIGN: &str = "drawn places and warm-ups, thought costs";

/// Cycles that an instruction which DISE inserts is thought to cost: something between nothing and one.
const INSERTED: f64 = 0.5;

/// Cycles that each event of functional warming is thought to cost before units tell: a mispredicted branch the least that
/// the machine lets it, a miss half of the time that the machine takes for it, since a core that executes out of order hides
/// between none and all of it. No number here comes of a measurement.
fn thought_cycles(machine: &MachineConfig) -> WarmEventCosts {
    let memory = &machine.memory.in_cycles_of(machine.clock_mhz);
    let half = |cycles: u32| f64::from(cycles) / 2.0;
    [
        f64::from(machine.min_mispredict_penalty_cycles()),
        half(memory.l2.hit_cycles),
        half(memory.l2.hit_cycles),
        half(memory.latency_cycles),
        half(memory.dtlb.miss_cycles),
    ]
}

/// A number of cycles for each event of functional warming.
type WarmEventCosts = [f64; WARM_EVENTS];

/// Cycles an instruction, by sampled timing.
#[derive(Clone, Copy, Debug)]
pub struct SampledCpi {
    /// With its 95% confidence interval, which allows for sampling, for what no unit met, and for warming.
    pub cpi: Interval,
    /// Half of the interval that would allow for sampling alone: the units' own spread.
    pub sampling_half_width: f64,
}

/// Estimates the cycles per instruction of a whole run from its units. Units differ mostly in mispredictions and cache
/// misses, and functional warming counts these events in the whole run; so the estimate is a regression on them, with what
/// the machine's times let one think of their costs. Its uncertainty is the rest, with [`WARMING_ERROR`], and with phases
/// of the run that no unit met: units do not tell of them by their spread. An instruction there may
/// take no time or twice as much as in the mean ([`UNMET`]).
#[must_use]
pub fn cycles_per_instruction(
    machine: &MachineConfig,
    plan: &SamplingPlan,
    samples: &Samples,
    instructions: u64,
) -> SampledCpi {
    // The 0.975 quantile of the normal distribution.
    const QUANTILE: f64 = 1.96;
    let rates = |events: &[u64; WARM_EVENTS], instructions: u64| {
        events.map(|count| count as f64 / instructions as f64)
    };
    let cycles = samples.unit_cycles.iter();
    let cycles: Vec<f64> = cycles.map(|&c| c as f64 / plan.unit as f64).collect();
    let known = samples.unit_events.iter();
    let known: Vec<_> = known.map(|events| rates(events, plan.unit)).collect();
    // The beginning that was timed is known; the units stand for the rest.
    let head = &samples.head;
    let rest = instructions.saturating_sub(head.instructions).max(1);
    let met = std::array::from_fn(|i| samples.events[i].saturating_sub(head.events[i]));
    let whole = rates(&met, rest);
    let thought = thought_cycles(machine);
    let terms = std::array::from_fn::<_, WARM_EVENTS, _>(|i| Term::about(whole[i], thought[i]));
    let step = 1.0 / plan.unit as f64;
    let sampled = regression::mean(&cycles, &known, &terms, step, None);
    let warming = QUANTILE * WARMING_ERROR * sampled.mean;
    let unmet = UNMET / cycles.len() as f64 * sampled.mean;
    let share = rest as f64 / instructions as f64;
    SampledCpi {
        cpi: Interval {
            mean: share * sampled.mean + head.cycles as f64 / instructions as f64,
            half_width: share * sampled.half_width.hypot(warming).hypot(unmet),
        },
        sampling_half_width: share * sampled.half_width,
    }
}

/// Results of sampled timing of a whole run.
#[derive(Clone, Debug)]
pub struct Units {
    plan: SamplingPlan,
    /// Cycles of each unit.
    cycles: Vec<u64>,
    /// Cycles an instruction, estimated.
    cpi: Interval,
    /// Instructions that DISE put into each.
    inserted: Vec<u64>,
    /// Events that warming met in each unit, and in the whole run.
    events: Vec<WarmEvents>,
    all_events: WarmEvents,
    /// Instructions of the whole run, exact.
    retired: RetiredCounts,
}

/// Units of a program on a machine without DISE.
pub type UnitBaseline = Result<Units, String>;

/// Times units of a program without DISE.
pub fn baseline(program: &Program, machine: &MachineConfig, plan: SamplingPlan) -> UnitBaseline {
    guarded(|| {
        let lab = Lab::of(program).on_machine(machine);
        Ok(Units::of(machine, lab, plan)?.0)
    })
}

/// Times units of a point's run; `instructions` are those of the functional pass.
pub fn point(
    plan: &Plan,
    sampling: SamplingPlan,
    point: &Point,
    baseline: &Units,
    instructions: u64,
) -> Result<TimingResult, String> {
    guarded(|| {
        let (with, _, _) = profiled(plan, sampling, point)?;
        for (what, count) in [
            ("functional", instructions),
            ("baseline", baseline.retired.program),
        ] {
            if with.retired.program != count {
                return Err(format!(
                    "the profiled run retired {} instructions of the program, the {what} run {count}",
                    with.retired.program
                ));
            }
        }
        timing(&plan.machines[point.machine], baseline, &with)
    })
}

/// A whole run of a point with sampled timing, and what its profile can be read from.
pub(crate) fn profiled(
    plan: &Plan,
    sampling: SamplingPlan,
    point: &Point,
) -> Result<(Units, Collector, Process), String> {
    let program = &plan.programs[point.program];
    let collector = collector(plan, point)?;
    let machine = &plan.machines[point.machine];
    let lab = Lab::of(program).on_machine(machine).edited_by(&collector);
    let (units, process) = Units::of(machine, lab, sampling)?;
    Ok((units, collector, process))
}

impl Units {
    /// Times units of a run.
    pub(crate) fn of<'a, I>(
        machine: &MachineConfig,
        lab: Lab<'a, Timed<'a>, I>,
        plan: SamplingPlan,
    ) -> Result<(Units, Process), String>
    where
        I: Install<Editor: SampledLoop>,
    {
        let run = lab.sampled(plan).and_then(|lab| lab.run());
        let run = run.and_then(Ran::successful).map_err(|e| e.to_string())?;
        let (retired, samples) = (run.retired, run.timing.samples);
        let units = Units {
            plan,
            cpi: cycles_per_instruction(machine, &plan, &samples, retired.program).cpi,
            cycles: samples.unit_cycles,
            inserted: samples.unit_inserted,
            events: samples.unit_events,
            all_events: samples.events,
            retired,
        };
        if units.cycles.len() < 3 {
            return Err(format!(
                "{} instructions are too few for three units, one in {}: give a smaller period (--sample-period, or \
                 `sample: (period: ...)` in a definition), or time the whole run (without --sample)",
                retired.program, plan.period
            ));
        }
        Ok((units, run.process))
    }

    /// Cycles an instruction, estimated.
    pub(crate) fn cpi(&self) -> Interval {
        self.cpi
    }

    /// Units that were timed.
    pub(crate) fn count(&self) -> u64 {
        self.cycles.len() as u64
    }

    /// Units in which DISE put in anything.
    pub(crate) fn informed(&self) -> u64 {
        self.inserted.iter().filter(|&&n| n > 0).count() as u64
    }

    /// Cycles of the whole run, estimated.
    fn estimate(&self) -> f64 {
        self.cpi.mean * self.retired.program as f64
    }
}

/// The overhead that units of a run with a collector tell beside those of the run without.
pub(crate) fn overhead(
    machine: &MachineConfig,
    without: &Units,
    with: &Units,
) -> Result<Interval, String> {
    if without.cycles.len() != with.cycles.len() {
        return Err(format!(
            "internal error: {} units with the collector and {} without cannot be pairs",
            with.cycles.len(),
            without.cycles.len()
        ));
    }
    // In this order: instructions that DISE inserted, and events.
    let more = |inserted: u64, with: &WarmEvents, without: &WarmEvents| -> [f64; 1 + WARM_EVENTS] {
        std::array::from_fn(|i| match i {
            0 => inserted as f64,
            _ => with[i - 1] as f64 - without[i - 1] as f64,
        })
    };
    let units: Vec<_> = (0..with.cycles.len())
        .map(|i| PairedUnit {
            base: without.cycles[i] as f64,
            cost: with.cycles[i] as f64 - without.cycles[i] as f64,
            more: more(with.inserted[i], &with.events[i], &without.events[i]),
        })
        .collect();
    let inserted = with.retired.inserted + with.retired.handler;
    if inserted > 0 && with.informed() < 2 {
        return Err(format!(
            "fewer than two of {} units, one in {}, met anything that DISE put in: its cost cannot be told. Give a \
             smaller period (--sample-period, or `sample: (period: ...)` in a definition), or time the whole run \
             (without --sample)",
            units.len(),
            with.plan.period
        ));
    }
    let whole = more(inserted, &with.all_events, &without.all_events);
    let by_unit = with.plan.unit as f64 / with.retired.program as f64;
    let thought = thought_cycles(machine);
    let terms = std::array::from_fn::<_, { 1 + WARM_EVENTS }, _>(|i| {
        let thought = if i == 0 { INSERTED } else { thought[i - 1] };
        Term::about(whole[i] * by_unit, thought)
    });
    Ok(regression::overhead(&units, &terms))
}

/// Timing result from the units of a run with a collector and those of the run without.
fn timing(machine: &MachineConfig, without: &Units, with: &Units) -> Result<TimingResult, String> {
    let overhead = overhead(machine, without, with)?;
    let baseline = without.estimate();
    Ok(TimingResult {
        baseline_cycles: baseline.round() as u64,
        cycles: (baseline * (1.0 + overhead.mean)).round() as u64,
        overhead: overhead.mean,
        instructions: with.retired.program,
        inserted_instructions: with.retired.inserted,
        handler_instructions: with.retired.handler,
        core: CoreKind::Cycle,
        extra_misses: None,
        set_ups: None,
        sampled: Some(Sampled {
            plan: with.plan,
            units: with.cycles.len() as u64,
            units_with_insertions: with.informed(),
            half_width: overhead.half_width,
        }),
    })
}

#[cfg(test)]
mod tests;
