//! How often intervals of sampled timing hold the exact value.
//!
//! Each program, and each kernel ([`kernels`]), is timed whole, without a profile and with each kind, and then by units at
//! several distances. Each estimate is a case: its 95% interval holds the exact number or not.

use hps_pipeline::core::CoreKind;
use hps_pipeline::sampled::SamplingPlan;
use hps_productions::{Collector, CollectorOptions, SamplePoint};
use hps_profile::ProfileKind;

use super::common::{Label, unit_of_each};
use super::kernels;
use crate::cluster::Effort;
use crate::interval::Interval;
use crate::measurement::{Measurement, Unit};
use crate::sampled::{self, Units};
use crate::schemes::{self, Scheme, Step};
use hps_lab::{Lab, Program, TimedMachine, dise_config};

/// The study's name in results.
pub const NAME: &str = "coverage";

/// Burst lengths of profiles, in events: one whose insertions most units meet, and one whose few do.
pub const BURSTS: [u64; 2] = [10, 1];
/// The frequency as 1 in n.
pub const ONE_IN: u64 = 100;
/// Distances of units. Programs of 5 million instructions have 55 to 450 units then. No constant of sampled timing was set at
/// one of these.
const PERIODS: [u64; 8] = [
    11_003, 14_009, 18_013, 22_003, 35_023, 45_007, 60_013, 90_001,
];

/// Measure of a case: 1 if the interval holds the exact value, else 0.
pub const HOLDS: &str = "holds";
/// Measure of a case: the estimate, with its interval.
pub const ESTIMATE: &str = "estimate";
/// Measure of a case: the exact value.
pub const EXACT: &str = "exact";
/// Measure of a case: units that were timed.
pub const UNITS: &str = "units";

/// One unit for each program, which are for one instruction set, and for each kernel; none on the instruction-driven core,
/// which times no units.
pub fn units<'a>(programs: &'a [Program], machine: &'a TimedMachine) -> Vec<Unit<'a>> {
    let Some(first) = programs.first().filter(|_| machine.core == CoreKind::Cycle) else {
        return Vec::new();
    };
    let kernels = kernels::programs(first.image.isa).unwrap_or_default();
    let warm_up = SamplingPlan::default().warm_up;
    let key = serde_json::json!({
        "periods": PERIODS, "bursts": BURSTS, "one_in": ONE_IN, "warm_up": warm_up,
        "design": sampled::DESIGN,
    });
    let of = |programs: &'a [Program]| {
        unit_of_each(
            programs,
            NAME,
            "coverage of sampled timing",
            &key,
            Effort::default().beside_exact(),
            move |program| measure(program, machine, &PERIODS),
        )
    };
    let mut units = of(programs);
    units.extend(of(kernels));
    units
}

fn measure(
    program: &Program,
    machine: &TimedMachine,
    periods: &[u64],
) -> Result<Vec<Measurement>, String> {
    let alone = schemes::without(program, machine)?;
    let exact_cpi = alone.cycles as f64 / alone.program_instructions as f64;
    let mut profiled = Vec::new();
    for burst in BURSTS {
        let point = SamplePoint::from_frequency(burst, ONE_IN).map_err(|e| e.to_string())?;
        for kind in ProfileKind::ALL {
            let run = schemes::run((Scheme::Hps, Step::Whole), kind, point, program, machine)?;
            let overhead = run.cycles as f64 / alone.cycles as f64 - 1.0;
            profiled.push((point, kind, overhead));
        }
    }
    let mut measured = Vec::new();
    for &period in periods {
        let plan = SamplingPlan {
            period,
            ..SamplingPlan::default()
        };
        let without = {
            let lab = Lab::of(program).on_machine(&machine.config);
            Units::of(&machine.config, lab, plan)?.0
        };
        let label = Label::new(program, "baseline").x(period as f64);
        measured.extend(case(&label, without.cpi(), exact_cpi, without.count()));
        for &(point, kind, exact) in &profiled {
            let options = CollectorOptions {
                dise: dise_config(machine),
                streams: None,
                ..CollectorOptions::default()
            };
            let collector = Collector::new(kind, point, &options).map_err(|e| e.to_string())?;
            let lab = Lab::of(program).on_machine(&machine.config);
            let with = Units::of(&machine.config, lab.edited_by(&collector), plan)?.0;
            // A plan whose units meet too few insertions is refused, and is no case.
            let Ok(overhead) = sampled::overhead(&machine.config, &without, &with) else {
                continue;
            };
            let label = Label::new(program, "hps").kind(kind);
            let label = label.at(point.burst, ONE_IN).x(period as f64);
            measured.extend(case(&label, overhead, exact, with.informed()));
        }
    }
    Ok(measured)
}

fn case(label: &Label, estimate: Interval, exact: f64, units: u64) -> Vec<Measurement> {
    vec![
        Measurement {
            interval: Some(estimate.half_width),
            ..label.is(ESTIMATE, estimate.mean)
        },
        label.is(EXACT, exact),
        label.is(HOLDS, f64::from(u8::from(estimate.contains(exact)))),
        label.is(UNITS, units as f64),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::testing::program;
    use super::*;

    #[test]
    fn a_case_holds_if_the_exact_value_lies_in_the_interval() {
        let measured = measure(&program("parse"), &TimedMachine::default(), &[50_021]);
        let measured = measured.expect("measured");
        assert_eq!(measured.len(), 4 * 7);
        for case in measured.chunks(4) {
            let near = (case[0].value - case[1].value).abs() <= case[0].interval.expect("one");
            assert_eq!(case[2].value, f64::from(u8::from(near)));
            assert!(case[3].value > 1.0);
        }
    }
}
