//! Observers that are held up, as interrupts of their processor would: which samples that damages, and which of them
//! double-time error correction finds.

use hps_lab::observer::{Disturbance, Observed, Observer, Throttle};
use hps_lab::{Isa, Lab};
use hps_pipeline::config::MachineConfig;
use hps_shim::Dte;

use super::intervals::Intervals;
use super::measure::{Kind, Study};
use crate::measurement::Measurement;

/// Kinds of observers that are held up.
pub const HELD: [Kind; 2] = [Kind::IpcSmt, Kind::IpcCmp];

/// Cause of the holds: a timer's interrupt every some ten thousand cycles, which takes two microseconds or so.
const HOLD: Disturbance = Disturbance {
    every_instructions: 20_000,
    cycles: 5_000,
    seed: 1,
};

/// Runs the program beside an observer that is held up.
pub(super) fn measure(
    study: &Study<'_>,
    kind: Kind,
    machine: &MachineConfig,
) -> Result<Vec<Measurement>, String> {
    if study.program.image.isa != Isa::Riscv64 {
        return Ok(Vec::new());
    }
    let observer = Observer {
        placement: kind.placement(),
        signals: kind.signals(),
        throttle: Throttle::None,
    };
    let mut intervals = Intervals::new(&study.program.image, kind.counting());
    let lab = Lab::of(study.program).on_machine(machine);
    let lab = lab.edited_by(&study.tags).limit(study.limit);
    let run = lab.observe_disturbed(&observer, HOLD, |s, r, reckoning| {
        intervals.see(s, r, reckoning);
    });
    let run = run
        .and_then(Observed::unless_cut)
        .map_err(|e| e.to_string())?;
    let dte = Dte::default();
    // Instructions that were fetched before the hold go on during it.
    let held = 0.9 * HOLD.cycles as f64;
    let is_within = |i: &&super::intervals::Interval| i.window_cycles() > held;
    let within = intervals.all.iter().filter(is_within).count() as f64;
    let caught = intervals.all.iter().filter(is_within);
    let caught = caught.filter(|i| !i.is_kept(dte)).count() as f64;
    let between = intervals
        .all
        .iter()
        .filter(|i| i.cycles() > held && !is_within(i));
    let spared = between.clone().filter(|i| i.is_kept(dte)).count() as f64;
    let between = between.count() as f64;
    let number = |measure: &str, value: f64| Measurement {
        setting: "held".to_string(),
        ..Measurement::new(study.program, kind.name(), measure, value)
    };
    let mut out = vec![number("holds", run.held_at.len() as f64)];
    if within > 0.0 {
        out.push(number("held_within_found_ratio", caught / within));
        out.push(number("held_within", within));
    }
    if between > 0.0 {
        out.push(number("held_between_kept_ratio", spared / between));
        out.push(number("held_between", between));
    }
    Ok(out)
}
