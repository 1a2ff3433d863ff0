//! How much one phase of a schedule can mislead about what a profile costs: the same run, with the first burst elsewhere.
//!
//! Accuracies are taken over phases everywhere ([`crate::Phases`]), since one pass gives all of them. A cost takes a timed
//! run for each phase, so that it is a study, at the sparsest frequency that the paper times, where there are fewest bursts.

use hps_productions::{CollectorOptions, SamplePoint};
use hps_profile::ProfileKind;

use super::StudyOptions;
use super::common::{
    Label, collect, extent, overhead, same_instructions, timed_alone, timed_installed, unit_of_each,
};
use crate::ahead::Ahead;
use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};
use hps_lab::{Program, TimedMachine, dise_config};

/// The study's name in results.
pub const NAME: &str = "phase_costs";

/// Burst length of the profile, in events.
pub const BURST: u64 = 10;
/// Frequency as 1 in n.
pub const ONE_IN: u64 = 1000;
/// Kind of profile.
pub const KIND: ProfileKind = ProfileKind::CallPair;

/// One unit for each of the first programs.
pub fn units<'a>(
    programs: &'a [Program],
    machine: &'a TimedMachine,
    options: &StudyOptions,
) -> Vec<Unit<'a>> {
    let (limit, count) = (options.set_up_instructions, options.set_ups);
    let key = serde_json::json!({
        "instructions": limit, "phases": count, "burst": BURST, "one_in": ONE_IN, "kind": KIND,
    });
    unit_of_each(
        &programs[..programs.len().min(options.timed_programs)],
        NAME,
        "costs at other phases",
        &key,
        Effort::default().and_first(limit, f64::from(1 + count), machine.core),
        move |program| measure(program, machine, limit, count),
    )
}

/// Overhead at each phase; `x` is its number ([`Ahead::at_phase`]).
fn measure(
    program: &Program,
    machine: &TimedMachine,
    limit: u64,
    count: u32,
) -> Result<Vec<Measurement>, String> {
    let point = SamplePoint::from_frequency(BURST, ONE_IN).map_err(|e| e.to_string())?;
    let options = CollectorOptions {
        dise: dise_config(machine),
        streams: None,
        ..CollectorOptions::default()
    };
    let collector = collect(&[KIND], point, &options)?;
    let alone = timed_alone(program, machine, limit)?;
    let mut measured = extent(&Label::new(program, "baseline"), &alone);
    let label = Label::new(program, "hps").kind(KIND).at(BURST, ONE_IN);
    for number in 0..count {
        let ahead = Ahead::at_phase(&collector, point, u64::from(number));
        let with = timed_installed(program, machine, ahead, limit)?;
        same_instructions(&with.stats, alone.commit_program_instructions)?;
        let label = label.clone().x(f64::from(number));
        measured.push(label.is("overhead_ratio", overhead(&with.stats, &alone)));
    }
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::super::common::timed_profiled;
    use super::super::testing::program;
    use super::*;

    #[test]
    fn the_first_phase_is_the_engines_and_others_cost_otherwise() {
        let machine = TimedMachine::default();
        let program = program("parse");
        let measured = measure(&program, &machine, 100_000, 4).expect("measured");
        let overheads: Vec<f64> = (measured.iter())
            .filter(|m| m.measure == "overhead_ratio")
            .map(|m| m.value)
            .collect();
        assert_eq!(overheads.len(), 4);
        let point = SamplePoint::from_frequency(BURST, ONE_IN).expect("a point");
        let collector = collect(&[KIND], point, &CollectorOptions::default()).expect("a collector");
        let alone = timed_alone(&program, &machine, 100_000).expect("timed");
        let with = timed_profiled(&program, &machine, &collector, 100_000).expect("timed");
        assert_eq!(overheads[0], overhead(&with.stats, &alone));
        assert!(overheads[1..].iter().any(|o| *o != overheads[0]));
    }
}
