//! How much a single set-up can mislead: the same program, machine and profile with the stack at other places.
//!
//! After Mytkowicz, Diwan, Hauswirth and Sweeney (ASPLOS 2009), whose set-ups are sizes of the environment and orders of
//! linking. Environments are varied here, orders of linking in [`link_order`](super::link_order).

use hps_productions::{CollectorOptions, SamplePoint};
use hps_profile::ProfileKind;

use super::StudyOptions;
use super::common::{
    Label, collect, extent, overhead, same_instructions, timed_alone, timed_profiled, unit_of_each,
};
use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};
use crate::set_ups::in_set_up;
use hps_lab::Program;
use hps_lab::{TimedMachine, dise_config};

/// The study's name in results.
pub const NAME: &str = "set_ups";

/// Burst length of the profile, in events.
pub const BURST: u64 = 1;
/// Frequency as 1 in n.
pub const ONE_IN: u64 = 100;
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
        "instructions": limit, "set_ups": count, "burst": BURST, "one_in": ONE_IN, "kind": KIND,
    });
    unit_of_each(
        &programs[..programs.len().min(options.timed_programs)],
        NAME,
        "other set-ups",
        &key,
        Effort::default().and_first(limit, f64::from(2 * count), machine.core),
        move |program| measure(program, machine, limit, count),
    )
}

/// Cycles without a profile and overhead in each set-up; `x` is its number.
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
    let mut measured = Vec::new();
    for number in 0..count {
        let program = in_set_up(program, number);
        let alone = timed_alone(&program, machine, limit)?;
        let with = timed_profiled(&program, machine, &collector, limit)?;
        same_instructions(&with.stats, alone.commit_program_instructions)?;
        if number == 0 {
            measured.extend(extent(&Label::new(&program, "baseline"), &alone));
        }
        let label = Label::new(&program, "hps").kind(KIND).at(BURST, ONE_IN);
        let label = label.x(f64::from(number));
        measured.push(label.is("cycles_alone", alone.cycles as f64));
        measured.push(label.is("overhead_ratio", overhead(&with.stats, &alone)));
    }
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::super::testing::program;
    use super::*;

    #[test]
    fn set_ups_change_cycles_and_the_first_is_the_configured_one() {
        let machine = TimedMachine::default();
        let program = program("parse");
        let measured = measure(&program, &machine, 100_000, 4).expect("measured");
        let cycles: Vec<f64> = (measured.iter())
            .filter(|m| m.measure == "cycles_alone")
            .map(|m| m.value)
            .collect();
        assert_eq!(cycles.len(), 4);
        let alone = timed_alone(&program, &machine, 100_000).expect("timed");
        assert_eq!(cycles[0], alone.cycles as f64);
        assert!(cycles.iter().any(|c| *c != cycles[0]), "{cycles:?}");
    }
}
