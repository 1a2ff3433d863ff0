//! Rows made by a formula, for tests only: nothing here was measured.

use hps_experiments::{
    AccuracyResult, CoreKind, ProfileKind, Row, Sampled, SamplingPlan, TimingResult,
};

/// Which points have a timing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Timed {
    None,
    PaperPoints,
    All,
}

pub const BURSTS: [u64; 4] = [1, 10, 50, 100];
pub const ONE_IN: [u64; 5] = [100, 500, 1000, 5000, 10_000];

/// The paper's grid for the given programs.
pub fn grid(programs: &[&str], timed: Timed) -> Vec<Row> {
    let mut rows = Vec::new();
    for (p, program) in programs.iter().enumerate() {
        for kind in ProfileKind::ALL {
            for burst in BURSTS {
                for one_in in ONE_IN {
                    let mut row = row(program, p, kind, burst, one_in);
                    let paper = if kind == ProfileKind::DataStream {
                        100
                    } else {
                        1
                    };
                    let keep = match timed {
                        Timed::None => false,
                        Timed::PaperPoints => burst == paper,
                        Timed::All => true,
                    };
                    if !keep {
                        row.timing = None;
                    }
                    rows.push(row);
                }
            }
        }
    }
    rows
}

/// The paper's grid for one kind of profile: a third of the pictures.
pub fn grid_of(kind: ProfileKind, programs: &[&str], timed: Timed) -> Vec<Row> {
    let mut rows = grid(programs, timed);
    rows.retain(|r| r.profile == kind);
    rows
}

/// One point; its values depend smoothly on the program's number, the burst and the frequency.
pub fn row(program: &str, p: usize, profile: ProfileKind, burst: u64, one_in: u64) -> Row {
    let rate = 1.0 / one_in as f64;
    let wobble = (p as f64 * 1.7 + one_in as f64).sin() * 0.02;
    let spread = 1.0 + p as f64 * 0.9;
    let length = (burst as f64).ln() / 100f64.ln();
    let accuracy = match profile {
        ProfileKind::DataStream => {
            (0.04 + 0.4 * length) * (rate * 100.0).powf(0.12) / (1.0 + 0.05 * spread)
        }
        _ => 1.0 - (0.02 * spread / 4.0) * (0.01 / rate).powf(0.42) * (1.0 + 1.5 * length),
    };
    let accuracy = (accuracy + wobble).clamp(0.0, 1.0);
    let density = if profile == ProfileKind::DataStream {
        2.1
    } else {
        1.2
    };
    let overhead = rate * density * (0.4 + 0.2 * p as f64) * (1.0 + 0.1 * length);
    let baseline = 10_000_000 + 1_000_000 * p as u64;
    let population = 1_000_000;
    Row {
        id: format!("{program}-{}-{burst}-{one_in}", profile.name()),
        version: "0.1.0".into(),
        program: program.into(),
        program_hash: format!("{:064x}", 0xabc0 + p),
        root_hash: None,
        input: "small".into(),
        isa: "riscv64".into(),
        profile,
        burst,
        sparsity: burst * (one_in - 1),
        one_in,
        machine: "hps-4wide".into(),
        machine_fingerprint: "fedcba9876543210".into(),
        accuracy: Some(AccuracyResult {
            renormalized: accuracy,
            capped: accuracy * 0.9,
            members_exact: 40,
            members_sampled: 35,
            detuned: None,
            samples: population / one_in,
            population,
        }),
        phases: None,
        timing: Some(TimingResult {
            baseline_cycles: baseline,
            cycles: (baseline as f64 * (1.0 + overhead)) as u64,
            overhead,
            instructions: 12_000_000,
            inserted_instructions: population / one_in,
            handler_instructions: population / one_in * 30,
            core: CoreKind::Cycle,
            extra_misses: None,
            set_ups: None,
            sampled: None,
        }),
        failure: None,
    }
}

/// The same point with its timing sampled: this many units, a few of them with insertions.
pub fn sampled(mut row: Row, units: u64, units_with_insertions: u64, half_width: f64) -> Row {
    let timing = row.timing.as_mut().expect("a timed row");
    timing.sampled = Some(Sampled {
        plan: SamplingPlan::default(),
        units,
        units_with_insertions,
        half_width,
    });
    row.id += "-sampled";
    row
}

/// The same point, failed.
pub fn failed(mut row: Row, reason: &str) -> Row {
    row.accuracy = None;
    row.timing = None;
    row.failure = Some(reason.into());
    row
}
