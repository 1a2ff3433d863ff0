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
    doublings: 0,
    head: 0,
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
        events: vec![[0; WARM_EVENTS]; cycles.len()],
        all_events: [0; WARM_EVENTS],
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
    let timing = timing(&MachineConfig::default(), &units(&without), &other).expect("pairs");
    // One slope, that of insertions, by sums: nothing met other events. It is thought to be 0.5 with a doubt of 0.5.
    let n = 40.0;
    let sum = |of: &dyn Fn(usize) -> f64| (0..40).map(of).sum::<f64>();
    let base = sum(&|i| without[i] as f64) / n;
    let centre = sum(&|i| inserted[i] as f64) / n;
    let x = |i: usize| inserted[i] as f64 - centre;
    let whole = 33.0 / (PLAN.period as f64 * n) * PLAN.unit as f64;
    let ahead = whole - centre;
    let squares = sum(&|i| x(i) * x(i));
    let (mut ratio, mut error) = (0.0, 0.0);
    for _ in 0..2 {
        let y = |i: usize| {
            cost(i) as f64 - ratio * (without[i] as f64 - base) - 0.5 * inserted[i] as f64
        };
        let level = sum(&y) / n;
        let products = sum(&|i| x(i) * (y(i) - level));
        let mut variance = sum(&|i| (y(i) - level).powi(2)) / (n - 1.0);
        let (mut slope, mut doubt) = (0.0, 0.0);
        for round in 0..3 {
            if round > 0 {
                let left = sum(&|i| (y(i) - level - slope * x(i)).powi(2));
                variance = left / (n - 1.0 - doubt * squares / variance);
            }
            doubt = 1.0 / (squares / variance + 1.0 / 0.25);
            slope = doubt * products / variance;
        }
        let even = variance / n + ahead * doubt * ahead;
        let own = sum(&|i| {
            let weight = 1.0 / n + x(i) * doubt * ahead / variance;
            let pull = 1.0 / n + x(i) * doubt * x(i) / variance;
            (weight * (y(i) - level - slope * x(i)) / (1.0 - pull)).powi(2)
        });
        ratio = (level + 0.5 * whole + slope * ahead) / base;
        error = even.max(own + (doubt * ahead / 0.5).powi(2)).sqrt() / base;
    }
    // Eight units have insertions: t(0.975, 7) = 2.364624.
    let half_width = 2.364_624 * error;
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
fn few_units_leave_room_for_what_none_of_them_met() {
    let interval = |units: usize| {
        let samples = Samples {
            unit_cycles: vec![500; units],
            unit_inserted: vec![0; units],
            unit_events: vec![[0; WARM_EVENTS]; units],
            ..Samples::default()
        };
        let whole = units as u64 * PLAN.period;
        let machine = MachineConfig::default();
        let found = cycles_per_instruction(&machine, &PLAN, &samples, whole).cpi;
        assert!((found.mean - 0.5).abs() < 1e-12);
        found.half_width / found.mean
    };
    // Three in 26 instructions may lie where no unit was, and take twice the time: 11.5%.
    assert!((0.115..0.125).contains(&interval(26)), "{}", interval(26));
    // With many units the error of warming is left: 1.96 times 0.52%.
    assert!(
        (0.0101..0.0103).contains(&interval(10_000)),
        "{}",
        interval(10_000)
    );
}

#[test]
fn a_cost_that_no_unit_met_is_not_told() {
    let [without, with] = [400, 401].map(|cycles| units(&[cycles; 9]));
    let why = timing(&MachineConfig::default(), &without, &with)
        .expect_err("33 instructions, none of them in a unit");
    assert!(
        why.starts_with("fewer than two of 9 units, one in 50000, met anything"),
        "{why}"
    );
}

#[test]
fn units_without_partners_are_refused() {
    let why = timing(
        &MachineConfig::default(),
        &units(&[5, 6, 7]),
        &units(&[5, 6]),
    )
    .expect_err("no pairs");
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
