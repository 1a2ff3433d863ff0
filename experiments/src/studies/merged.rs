//! Several kinds of profile in one run, against one run for each.
//!
//! All share one framework, and so one burst length and frequency: bursts of [`BURST`] events, between the
//! paper's 1 for methods and call pairs and its 100 for data streams.

use hps_pipeline::core::CoreStats;
use hps_productions::{CollectedProfile, CollectorOptions, SamplePoint};
use hps_profile::ProfileKind;

use super::StudyOptions;
use super::common::{
    Label, collect, extent, overhead, same_instructions, timed_alone, timed_profiled, unit_of_each,
};
use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};
use hps_lab::Program;
use hps_lab::{TimedMachine, dise_config};

/// The study's name in results.
pub const NAME: &str = "merged";

/// Burst length of all runs, in events.
pub const BURST: u64 = 10;
/// Frequencies.
pub const ONE_IN: [u64; 2] = [100, 1000];

/// One unit for each of the first programs.
pub fn units<'a>(
    programs: &'a [Program],
    machine: &'a TimedMachine,
    options: &StudyOptions,
) -> Vec<Unit<'a>> {
    let limit = options.timed_instructions;
    let key = serde_json::json!({ "instructions": limit, "burst": BURST, "one_in": ONE_IN });
    unit_of_each(
        &programs[..programs.len().min(options.timed_programs)],
        NAME,
        "three profiles in one run",
        &key,
        Effort::default().and_first(limit, 12.0, machine.core),
        move |program| measure(program, machine, limit),
    )
}

fn measure(
    program: &Program,
    machine: &TimedMachine,
    limit: u64,
) -> Result<Vec<Measurement>, String> {
    let alone = timed_alone(program, machine, limit)?;
    let mut measured = extent(&Label::new(program, "baseline"), &alone);
    for one_in in ONE_IN {
        let point = SamplePoint::from_frequency(BURST, one_in).map_err(|e| e.to_string())?;
        let run = |kinds: &[ProfileKind]| -> Result<(CoreStats, Vec<Sampled>), String> {
            let options = CollectorOptions {
                dise: dise_config(machine),
                streams: None,
                ..CollectorOptions::default()
            };
            let collector = collect(kinds, point, &options)?;
            let run = timed_profiled(program, machine, &collector, limit)?;
            same_instructions(&run.stats, alone.commit_program_instructions)?;
            let profiles = collector
                .read_all(run.core.process())
                .map_err(|e| e.to_string())?;
            let named = collector.kinds().iter().copied().zip(profiles);
            Ok((run.stats, named.collect()))
        };
        let label = |scheme: &str| Label::new(program, scheme).at(BURST, one_in);
        let (together, merged) = run(&ProfileKind::ALL)?;
        measured.extend(cost(&label("merged"), &together, &alone));
        let mut added = 0.0;
        let mut equal = 0;
        for kind in ProfileKind::ALL {
            let (stats, single) = run(&[kind])?;
            measured.extend(cost(&label("hps").kind(kind), &stats, &alone));
            added += overhead(&stats, &alone);
            let profile =
                |of: &[Sampled]| of.iter().find(|(k, _)| *k == kind).map(|(_, p)| p.clone());
            let (Some(merged), Some(single)) = (profile(&merged), profile(&single)) else {
                return Err(format!("no {} profile was collected", kind.title()));
            };
            equal += u64::from(is_same(&merged, &single));
            let samples = samples(&single);
            measured.push(label("hps").kind(kind).is("samples", samples as f64));
        }
        measured.push(label("sum").is("overhead_ratio", added));
        measured.push(label("merged").is("equal_profiles", equal as f64));
    }
    Ok(measured)
}

/// A profile with its kind.
type Sampled = (ProfileKind, CollectedProfile);

/// Count for count; traces by their references, bursts and order.
fn is_same(a: &CollectedProfile, b: &CollectedProfile) -> bool {
    use CollectedProfile::{CallPair, DataStream, Method};
    match (a, b) {
        (
            Method {
                addresses: a,
                lost: c,
            },
            Method {
                addresses: b,
                lost: d,
            },
        ) => (a, c) == (b, d),
        (
            CallPair {
                call_pairs: a,
                lost: c,
            },
            CallPair {
                call_pairs: b,
                lost: d,
            },
        ) => (a, c) == (b, d),
        (DataStream(a), DataStream(b)) => {
            (a.references(), a.bursts(), a.digest()) == (b.references(), b.bursts(), b.digest())
        }
        _ => false,
    }
}

fn samples(profile: &CollectedProfile) -> u64 {
    match profile {
        CollectedProfile::Nothing => 0,
        CollectedProfile::Method { addresses, .. } => addresses.total(),
        CollectedProfile::CallPair { call_pairs, .. } => call_pairs.total(),
        CollectedProfile::DataStream(trace) => trace.references(),
    }
}

fn cost(label: &Label, stats: &CoreStats, alone: &CoreStats) -> Vec<Measurement> {
    vec![
        label.is("cycles", stats.cycles as f64),
        label.is("overhead_ratio", overhead(stats, alone)),
        label.is(
            "handler_instructions",
            stats.commit_handler_instructions as f64,
        ),
        label.is(
            "inserted_instructions",
            stats.commit_inserted_instructions as f64,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::testing::program;
    use super::*;

    #[test]
    fn merged_profiles_are_those_of_single_runs() {
        let (program, machine) = (program("objstore"), TimedMachine::default());
        let measured = measure(&program, &machine, 60_000).expect("measured");
        let equal: Vec<f64> = measured
            .iter()
            .filter(|m| m.measure == "equal_profiles")
            .map(|m| m.value)
            .collect();
        assert_eq!(equal, [3.0; 2]);
        let overhead = |scheme: &str| {
            let mut of_scheme = measured.iter().filter(|m| m.scheme == scheme);
            let found = of_scheme.find(|m| m.measure == "overhead_ratio" && m.one_in == Some(100));
            found.expect("measured").value
        };
        assert!(overhead("merged") > 0.0 && overhead("sum") > 0.0);
    }
}
