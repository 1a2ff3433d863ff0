//! Wrong paths and the counters: what happens if a squash does not repair them.
//!
//! Calls and back-edges on a wrong path are decoded, and so counted, like any others. With
//! `repair_counters` the engine takes these counts back when the path is squashed; without, they stay,
//! and bursts come sooner than the program's own events say. A burst that begins on a wrong path may be
//! lost with it, samples and all.

use hps_pipeline::core::CoreStats;
use hps_productions::{Collector, CollectorOptions, SamplePoint};
use hps_profile::{ProfileKind, StreamConfig};

use super::StudyOptions;
use super::common::{
    Label, Reference, overhead, same_instructions, timed_alone, timed_profiled, unit_of_each,
};
use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};
use crate::spec::paper_burst;
use hps_lab::Program;
use hps_lab::{TimedMachine, dise_config};

/// The study's name in results.
pub const NAME: &str = "wrong_path";

/// The frequency at which it is measured: the paper's highest, which has the most samples.
const ONE_IN: u64 = 100;

/// One unit for each program.
pub fn units<'a>(
    programs: &'a [Program],
    machine: &'a TimedMachine,
    options: &StudyOptions,
) -> Vec<Unit<'a>> {
    let limit = options.timed_instructions;
    let key = serde_json::json!({ "instructions": limit, "one_in": ONE_IN });
    unit_of_each(
        programs,
        NAME,
        "wrong paths and counters",
        &key,
        Effort::default().and_first(limit, 7.0, machine.core),
        move |program| measure(program, machine, limit),
    )
}

fn point(kind: ProfileKind) -> Result<SamplePoint, String> {
    SamplePoint::from_frequency(paper_burst(kind), ONE_IN).map_err(|e| e.to_string())
}

fn measure(
    program: &Program,
    machine: &TimedMachine,
    limit: u64,
) -> Result<Vec<Measurement>, String> {
    let points = ProfileKind::ALL
        .map(point)
        .into_iter()
        .collect::<Result<Vec<_>, _>>()?;
    let reference = Reference::of(program, limit, &points, true)?;
    let alone = timed_alone(program, machine, limit)?;
    same_instructions(&alone, reference.instructions)?;
    let mut measured = mispredictions(&Label::new(program, "baseline"), &alone);
    for (at, (kind, point)) in ProfileKind::ALL.into_iter().zip(points).enumerate() {
        let exact = reference.exact(kind);
        let nominal = reference.samples(kind, at);
        for repair in [true, false] {
            let mut dise = dise_config(machine);
            dise.repair_counters = repair;
            let collector_options = CollectorOptions {
                dise,
                streams: Some(StreamConfig::default()),
                ..CollectorOptions::default()
            };
            let collector =
                Collector::new(kind, point, &collector_options).map_err(|e| e.to_string())?;
            let run = timed_profiled(program, machine, &collector, limit)?;
            same_instructions(&run.stats, reference.instructions)?;
            let collected = run.collected(&collector, &reference.methods)?;
            let accuracy = collected.profile.accuracy(&exact);
            let label = Label::new(program, "hps")
                .kind(kind)
                .at(point.burst, ONE_IN)
                .setting(if repair { "repaired" } else { "unrepaired" });
            let samples = collected.samples as f64;
            measured.extend([
                label.is("samples", samples),
                label.is("samples_nominal", nominal as f64),
                label.is(
                    "sampling_rate_ratio",
                    share(samples, reference.population(kind)),
                ),
                label.is("accuracy_renormalized_ratio", accuracy.renormalized),
                label.is("accuracy_capped_ratio", accuracy.capped),
                label.is("overhead_ratio", overhead(&run.stats, &alone)),
                label.is("cycles", run.stats.cycles as f64),
            ]);
        }
    }
    Ok(measured)
}

/// Cost of the program's branches on the machine without DISE.
fn mispredictions(label: &Label, alone: &CoreStats) -> Vec<Measurement> {
    let instructions = alone.commit_program_instructions;
    let mispredicted = alone.branch_mispredicted_events as f64;
    vec![
        label.is("cycles", alone.cycles as f64),
        label.is("instructions", instructions as f64),
        label.is(
            "mispredictions_per_kilo_instruction",
            1000.0 * share(mispredicted, instructions),
        ),
        label.is(
            "misprediction_ratio",
            share(mispredicted, alone.branch_committed_events),
        ),
        label.is(
            "squashed_per_committed_ratio",
            share(alone.squash_instructions as f64, instructions),
        ),
    ]
}

fn share(part: f64, whole: u64) -> f64 {
    part / (whole.max(1)) as f64
}

#[cfg(test)]
mod tests {
    use super::super::testing::{find, program};
    use super::*;

    #[test]
    fn repaired_counters_take_exactly_the_samples_of_the_definition() {
        let (program, machine) = (program("chess"), TimedMachine::default());
        let measured = measure(&program, &machine, 200_000).expect("measured");
        let mut polluted = 0;
        for kind in ProfileKind::ALL {
            let value = |setting, measure| find(&measured, Some(kind), setting, measure);
            let nominal = value("repaired", "samples_nominal");
            assert!(nominal > 0.0, "{kind}");
            assert_eq!(value("repaired", "samples"), nominal, "{kind}");
            polluted += usize::from(value("unrepaired", "samples") != nominal);
            assert!(value("repaired", "overhead_ratio") > 0.0);
        }
        assert!(polluted > 0, "wrong paths left no mark");
        assert!(find(&measured, None, "", "mispredictions_per_kilo_instruction") > 1.0);
    }
}
