//! Points with sampled timing: the units of a run with a collector against those of the same run
//! without.
//!
//! Units lie at the same instructions of the program in both, so they are pairs: what two of them differ
//! in is what the collector cost there, however much the program itself varies from unit to unit. Whether
//! a unit meets a burst is chance, and would be most of the uncertainty; but how much DISE puts into the
//! whole run is known exactly, from the functional machine, so that the cost is taken by regression on it.

use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::CoreKind;
use hps_pipeline::core::WARM_EVENTS;
use hps_pipeline::sampled::{Samples, SamplingPlan};
use hps_productions::Collector;
use hps_sim_core::machine::RetiredCounts;
use hps_sim_core::process::Process;

use crate::interval::{Interval, PairedUnit};
use crate::plan::{Plan, Point};
use crate::row::{Sampled, TimingResult};
use crate::timed::{collector, guarded};
use hps_lab::{Install, Lab, Program, Ran, Timed};

/// What functional warming gets wrong in the cycles an instruction, relative: the root mean square over the ten
/// programs that come with the project, large, for both instruction sets on `hps-4wide` (`docs/measurements/sampled-timing.md`).
pub const WARMING_ERROR: f64 = 0.0052;

/// The design of samples, part of the identity of results: units lie at drawn places of their periods.
pub const DESIGN: &str = "drawn places";

/// Cycles an instruction, by sampled timing.
#[derive(Clone, Copy, Debug)]
pub struct SampledCpi {
    /// With its 95% confidence interval, which allows for sampling and for warming.
    pub cpi: Interval,
    /// Half of the interval that would allow for sampling alone.
    pub sampling_half_width: f64,
}

/// Estimates the cycles per instruction of a whole run from its units. Units differ mostly in mispredictions and cache
/// misses, and functional warming counts these events in the whole run; so the estimate is a regression on them. Its
/// uncertainty is the rest, with [`WARMING_ERROR`].
#[must_use]
pub fn cycles_per_instruction(
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
    let sampled = Interval::of_regression(&cycles, &known, rates(&samples.events, instructions));
    let warming = QUANTILE * WARMING_ERROR * sampled.mean;
    SampledCpi {
        cpi: Interval {
            mean: sampled.mean,
            half_width: sampled.half_width.hypot(warming),
        },
        sampling_half_width: sampled.half_width,
    }
}

/// What sampled timing of a whole run gave.
#[derive(Clone, Debug)]
pub struct Units {
    plan: SamplingPlan,
    /// Cycles of each unit.
    cycles: Vec<u64>,
    /// Cycles an instruction, estimated.
    cpi: Interval,
    /// Instructions that DISE put into each.
    inserted: Vec<u64>,
    /// Instructions of the whole run, exact.
    retired: RetiredCounts,
}

/// Units of a program on a machine without DISE.
pub type UnitBaseline = Result<Units, String>;

/// Times units of a program without DISE.
pub fn baseline(program: &Program, machine: &MachineConfig, plan: SamplingPlan) -> UnitBaseline {
    guarded(|| {
        let lab = Lab::of(program).on_machine(machine);
        Ok(Units::of(lab, plan)?.0)
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
        timing(baseline, &with)
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
    let lab = Lab::of(program)
        .on_machine(&plan.machines[point.machine])
        .edited_by(&collector);
    let (units, process) = Units::of(lab, sampling)?;
    Ok((units, collector, process))
}

impl Units {
    /// Times units of a run.
    pub(crate) fn of<'a, I>(
        lab: Lab<'a, Timed<'a>, I>,
        plan: SamplingPlan,
    ) -> Result<(Units, Process), String>
    where
        I: Install,
        I::Editor: Clone + Send,
    {
        let run = lab.sampled(plan).and_then(|lab| lab.run());
        let run = run.and_then(Ran::successful).map_err(|e| e.to_string())?;
        let (retired, samples) = (run.retired, run.timing.samples);
        let units = Units {
            plan,
            cpi: cycles_per_instruction(&plan, &samples, retired.program).cpi,
            cycles: samples.unit_cycles,
            inserted: samples.unit_inserted,
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
pub(crate) fn overhead(without: &Units, with: &Units) -> Result<Interval, String> {
    if without.cycles.len() != with.cycles.len() {
        return Err(format!(
            "internal error: {} units with the collector and {} without cannot be pairs",
            with.cycles.len(),
            without.cycles.len()
        ));
    }
    let pairs = without.cycles.iter().zip(&with.cycles);
    let units: Vec<PairedUnit> = pairs
        .zip(&with.inserted)
        .map(|((&without, &with), &inserted)| PairedUnit {
            base: without as f64,
            cost: with as f64 - without as f64,
            extra: inserted as f64,
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
    let mean_inserted = inserted as f64 * with.plan.unit as f64 / with.retired.program as f64;
    Ok(Interval::of_overhead(&units, mean_inserted))
}

/// What units of a run with a collector say beside those of the run without.
fn timing(without: &Units, with: &Units) -> Result<TimingResult, String> {
    let overhead = overhead(without, with)?;
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
mod tests {
    use std::sync::Mutex;

    use hps_productions::{CollectedProfile, GridProbe};
    use hps_profile::{ProfileKind, StreamConfig};

    use super::*;
    use crate::runner::run;
    use crate::spec::{SweepSpec, Timing};
    use crate::store::Store;

    const PLAN: SamplingPlan = SamplingPlan {
        period: 50_000,
        warm_up: 2000,
        unit: 1000,
    };

    fn spec() -> SweepSpec {
        SweepSpec {
            programs: vec!["parse".to_string()],
            bursts: vec![10],
            one_in: vec![100],
            timing: Timing::All,
            sample: Some(PLAN),
            ..SweepSpec::default()
        }
    }

    fn plan(spec: &SweepSpec) -> Plan {
        Plan::new(spec, std::path::Path::new(".")).expect("a program of the project")
    }

    #[test]
    fn rows_are_the_same_for_any_number_of_threads() {
        let plan = plan(&spec());
        let rows = |threads| {
            let folder = tempfile::tempdir().expect("temporary folder");
            let store = Store::open(&folder.path().join("rows.jsonl")).expect("store");
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().expect("threads");
            pool.install(|| run(&plan, &Mutex::new(store), &()))
                .expect("written")
        };
        let one = rows(1);
        assert_eq!(one.len(), 3);
        for row in &one {
            assert_eq!(row.failure, None);
            let timing = row.timing.expect("timed");
            let sampled = row.sampled().expect("by units");
            assert_eq!(sampled.plan, PLAN);
            assert_eq!(sampled.units, timing.instructions / PLAN.period);
            assert!((1..sampled.units).contains(&sampled.units_with_insertions));
            assert!(sampled.half_width > 0.0 && sampled.half_width < 0.1);
            let estimated = timing.cycles as f64 / timing.baseline_cycles as f64 - 1.0;
            assert!((timing.overhead - estimated).abs() < 1e-6, "{timing:?}");
            let written = serde_json::to_string(row).expect("JSON");
            assert_eq!(
                &serde_json::from_str::<crate::Row>(&written).expect("read"),
                row
            );
        }
        assert_eq!(rows(2), one);
    }

    #[test]
    fn a_sampled_runs_profile_is_that_of_the_functional_pass() {
        let plan = plan(&spec());
        let points = [plan.grid[0].0];
        let pass = GridProbe::with_memory(&points, Some(&StreamConfig::default())).expect("grid");
        let pass = Lab::of(&plan.programs[0]).watched_by(pass).run();
        let grid = pass.expect("a run").probe.finish();
        let expected = &grid.points[0];
        for point in &plan.points {
            let (_, collector, process) = profiled(&plan, PLAN, point).expect("a whole run");
            match collector.read(&process).expect("installed") {
                CollectedProfile::Method { addresses, lost } => {
                    assert_eq!((point.profile, lost), (ProfileKind::Method, 0));
                    assert_eq!(addresses, expected.addresses);
                }
                CollectedProfile::CallPair { call_pairs, lost } => {
                    assert_eq!((point.profile, lost), (ProfileKind::CallPair, 0));
                    assert_eq!(call_pairs, expected.call_pairs);
                }
                CollectedProfile::DataStream(trace) => {
                    let wanted = expected.stream.as_ref().expect("with memory");
                    assert!(wanted.references() > 0);
                    assert_eq!(trace.references(), wanted.references());
                    assert_eq!(trace.digest(), wanted.digest());
                }
                CollectedProfile::Nothing => panic!("nothing collected"),
            }
        }
    }

    fn units(cycles: &[u64]) -> Units {
        let program = PLAN.period * cycles.len() as u64;
        Units {
            plan: PLAN,
            cycles: cycles.to_vec(),
            cpi: Interval::of_mean(cycles.iter().map(|&c| c as f64 / PLAN.unit as f64)),
            inserted: vec![0; cycles.len()],
            retired: RetiredCounts {
                program,
                inserted: 11,
                handler: 22,
            },
        }
    }

    #[test]
    fn the_interval_is_that_of_pairs() {
        // Units differ far more from each other than from their partners.
        let without: Vec<u64> = (0..40).map(|i| 400 + 37 * (i * i % 23)).collect();
        let inserted: Vec<u64> = (0..40)
            .map(|i| if i % 5 == 0 { 20 + i } else { 0 })
            .collect();
        let cost = |i: usize| inserted[i] + inserted[i] * (i as u64 % 3) / 4;
        let with: Vec<u64> = (0..40).map(|i| without[i] + cost(i)).collect();
        let mut other = units(&with);
        other.inserted.clone_from(&inserted);
        let timing = timing(&units(&without), &other).expect("pairs");
        // The line through the costs from the normal equations of raw sums, at the mean of the whole run.
        let n = 40.0;
        let sum = |of: &dyn Fn(usize) -> f64| (0..40).map(of).sum::<f64>();
        let (x, y, z) = (
            |i: usize| inserted[i] as f64,
            |i: usize| cost(i) as f64,
            |i: usize| without[i] as f64,
        );
        let (sx, sy, sz) = (sum(&x), sum(&y), sum(&z));
        let determinant = n * sum(&|i| x(i) * x(i)) - sx * sx;
        let slope = (n * sum(&|i| x(i) * y(i)) - sx * sy) / determinant;
        let constant = (sy - slope * sx) / n;
        let whole = 33.0 / (PLAN.period as f64 * n) * PLAN.unit as f64;
        let ratio = (constant + slope * whole) / (sz / n);
        let residual = |i: usize| y(i) - constant - slope * x(i) - ratio * (z(i) - sz / n);
        let deviation = (sum(&|i| residual(i).powi(2)) / 38.0).sqrt();
        // Eight units have insertions: t(0.975, 7) = 2.364624.
        let half_width = 2.364_624 * deviation / n.sqrt() / (sz / n);
        let sampled = timing.sampled.expect("by units");
        assert!((timing.overhead - ratio).abs() < 1e-12);
        assert!((sampled.half_width / half_width - 1.0).abs() < 1e-6);
        assert_eq!((sampled.units, sampled.units_with_insertions), (40, 8));
        let total: u64 = without.iter().sum();
        assert_eq!(timing.baseline_cycles, total * (PLAN.period / PLAN.unit));
        assert_eq!(
            (timing.inserted_instructions, timing.handler_instructions),
            (11, 22)
        );
    }

    #[test]
    fn a_cost_that_no_unit_met_is_not_told() {
        let [without, with] = [400, 401].map(|cycles| units(&[cycles; 9]));
        let why = timing(&without, &with).expect_err("33 instructions, none of them in a unit");
        assert!(
            why.starts_with("fewer than two of 9 units, one in 50000, met anything"),
            "{why}"
        );
    }

    #[test]
    fn units_without_partners_are_refused() {
        let why = timing(&units(&[5, 6, 7]), &units(&[5, 6])).expect_err("no pairs");
        assert!(
            why.contains("2 units with the collector and 3 without"),
            "{why}"
        );
    }

    #[test]
    fn a_run_that_is_too_short_says_what_to_do() {
        let plan = plan(&spec());
        let long = SamplingPlan {
            period: 4_000_000,
            ..PLAN
        };
        let why = baseline(&plan.programs[0], &plan.machines[0], long).expect_err("one unit");
        assert!(why.contains("a smaller period (--sample-period"), "{why}");
    }

    #[test]
    fn ids_hold_the_plan_of_what_is_timed() {
        let ids = |sample, timing| -> Vec<String> {
            let spec = SweepSpec {
                sample,
                timing,
                ..spec()
            };
            plan(&spec)
                .points
                .into_iter()
                .map(|point| point.id)
                .collect()
        };
        let other = SamplingPlan { unit: 999, ..PLAN };
        let exact = ids(None, Timing::All);
        for (a, b) in [
            (exact.clone(), ids(Some(PLAN), Timing::All)),
            (ids(Some(other), Timing::All), ids(Some(PLAN), Timing::All)),
        ] {
            assert!(a.iter().zip(&b).all(|(a, b)| a != b));
        }
        assert_eq!(ids(Some(PLAN), Timing::Off), ids(None, Timing::Off));
    }
}
