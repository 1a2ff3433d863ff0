//! How accuracy grows along a run.
//!
//! At some shares of a program's events the profile sampled so far is held against three others: the
//! exhaustive profile of the whole run (what a user wants), the exhaustive profile so far (what sampling
//! alone loses), and itself at the share before (what a user can see without knowing the truth).

use hps_pipeline::core::CoreKind;
use hps_productions::SamplePoint;
use hps_profile::{ProfileKind, StreamConfig};

use super::StudyOptions;
use super::common::{AnyProfile, Label, functional};
use super::stream::{EventStream, Passed, Snapshot, exhaustive, fixed};
use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};
use crate::spec::paper_burst;
use hps_lab::Program;

/// The study's name in results.
pub const NAME: &str = "progress";

/// Percent of a program's events at which profiles are looked at; 100 is the whole run.
pub const PERCENT: [u64; 7] = [1, 2, 5, 10, 20, 50, 100];

/// Frequencies of methods and call pairs; data streams have none but the first two, since their bursts
/// of 100 events would be too few at the last.
const ONE_IN: [u64; 3] = [100, 1000, 10_000];

/// One unit for each program.
pub fn units<'a>(programs: &'a [Program], options: &StudyOptions) -> Vec<Unit<'a>> {
    let limit = options.functional_instructions;
    let unit = |program: &'a Program| Unit {
        study: NAME,
        title: format!("{}: accuracy along the run", program.title()),
        key: serde_json::json!({ "percent": PERCENT, "one_in": ONE_IN, "instructions": limit }),
        program,
        effort: Effort::runs(2.0, 0.0, CoreKind::Cycle),
        run: Box::new(move || measure(program, limit)),
    };
    programs.iter().map(unit).collect()
}

/// Sampled profiles: kind, frequency, and which sampler of the pass takes it.
fn sampled() -> Vec<(ProfileKind, u64, usize)> {
    let mut all = Vec::new();
    for (at, &one_in) in ONE_IN.iter().enumerate() {
        all.push((ProfileKind::Method, one_in, 1 + at));
        all.push((ProfileKind::CallPair, one_in, 1 + at));
        if at < 2 {
            all.push((ProfileKind::DataStream, one_in, 1 + ONE_IN.len() + at));
        }
    }
    all
}

fn pass(program: &Program, limit: u64) -> Result<Passed, String> {
    let (counted, _) = functional(program, limit, EventStream::<false>::new(Vec::new()))?;
    let total = counted.events();
    let mut checkpoints: Vec<u64> = PERCENT
        .map(|percent| (total * percent).div_ceil(100))
        .to_vec();
    checkpoints.pop();
    checkpoints.dedup();
    checkpoints.retain(|&events| events > 0);
    let mut stream = EventStream::<true>::new(checkpoints);
    let config = StreamConfig::default();
    stream.add(exhaustive(), Some(&config))?;
    let point =
        |burst, one_in| SamplePoint::from_frequency(burst, one_in).map_err(|e| e.to_string());
    for one_in in ONE_IN {
        stream.add(fixed(point(1, one_in)?), None)?;
    }
    for &one_in in &ONE_IN[..2] {
        let burst = paper_burst(ProfileKind::DataStream);
        stream.add(fixed(point(burst, one_in)?), Some(&config))?;
    }
    Ok(functional(program, limit, stream)?.0.finish())
}

fn measure(program: &Program, limit: u64) -> Result<Vec<Measurement>, String> {
    let passed = pass(program, limit)?;
    let methods = passed.method_map(&program.image.symbols);
    let profile =
        |kind, at: &Snapshot, sampler: usize| passed.profile(kind, &at.sampled[sampler], &methods);
    let stages: Vec<&Snapshot> = passed.snapshots.iter().chain([&passed.end]).collect();
    let percent = |at: &Snapshot| percent(at.events, passed.end.events);
    let mut measured = Vec::new();
    for kind in ProfileKind::ALL {
        let exact: Vec<AnyProfile> = stages.iter().map(|at| profile(kind, at, 0)).collect();
        let whole = &exact[exact.len() - 1];
        for (at, so_far) in stages.iter().zip(&exact) {
            let label = Label::new(program, "exhaustive").kind(kind).x(percent(at));
            measured.push(against(&label, "whole", so_far, whole));
        }
        for (_, one_in, sampler) in sampled().into_iter().filter(|s| s.0 == kind) {
            let mut before: Option<AnyProfile> = None;
            for (at, so_far) in stages.iter().zip(&exact) {
                let label = Label::new(program, "hps")
                    .kind(kind)
                    .at(paper_burst(kind), one_in)
                    .x(percent(at));
                let now = profile(kind, at, sampler);
                measured.push(against(&label, "whole", &now, whole));
                // Two empty profiles agree, and say nothing.
                if so_far.total() > 0 {
                    measured.push(against(&label, "so_far", &now, so_far));
                }
                if let Some(before) = before.filter(|before| before.total() > 0) {
                    measured.push(against(&label, "before", &now, &before));
                }
                measured.push(label.is("samples", samples(kind, at, sampler, &now) as f64));
                before = Some(now);
            }
        }
    }
    Ok(measured)
}

/// The share that a checkpoint stands for.
fn percent(events: u64, total: u64) -> f64 {
    let mut all = PERCENT.iter();
    let share = all.find(|&&percent| (total * percent).div_ceil(100) >= events);
    share.copied().unwrap_or(100) as f64
}

fn against(label: &Label, what: &str, sampled: &AnyProfile, other: &AnyProfile) -> Measurement {
    let label = label.clone().setting(format!("against={what}"));
    label.is(
        "accuracy_renormalized_ratio",
        sampled.accuracy(other).renormalized,
    )
}

fn samples(kind: ProfileKind, at: &Snapshot, sampler: usize, profile: &AnyProfile) -> u64 {
    match kind {
        ProfileKind::DataStream => at.sampled[sampler].references(),
        _ => profile.total(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::common::Reference;
    use super::super::testing::program;
    use super::*;

    #[test]
    fn the_end_is_what_a_sweep_finds() {
        let program = program("parse");
        let limit = 200_000;
        let measured = measure(&program, limit).expect("measured");
        let points: Vec<SamplePoint> = sampled()
            .iter()
            .map(|&(kind, one_in, _)| {
                SamplePoint::from_frequency(paper_burst(kind), one_in).expect("valid")
            })
            .collect();
        let reference = Reference::of(&program, limit, &points, true).expect("reference");
        for (at, (kind, one_in, _)) in sampled().into_iter().enumerate() {
            let value = |measure: &str, setting: &str| {
                let found = measured.iter().find(|m| {
                    (m.profile, m.one_in, m.x) == (Some(kind), Some(one_in), Some(100.0))
                        && (m.measure.as_str(), m.setting.as_str()) == (measure, setting)
                });
                found
                    .unwrap_or_else(|| panic!("{kind} {one_in}: no {measure}"))
                    .value
            };
            assert_eq!(
                value("samples", "") as u64,
                reference.samples(kind, at),
                "{kind} 1/{one_in}"
            );
            let whole = value("accuracy_renormalized_ratio", "against=whole");
            assert_eq!(
                whole,
                value("accuracy_renormalized_ratio", "against=so_far")
            );
            let sampled = &reference.points[at];
            let entry = |address| reference.methods.entry(address);
            let expected = match kind {
                ProfileKind::Method => AnyProfile::Method(sampled.addresses.methods(entry)),
                ProfileKind::CallPair => AnyProfile::CallPair(sampled.call_pairs.clone()),
                ProfileKind::DataStream => continue,
            };
            assert_eq!(
                whole,
                expected.accuracy(&reference.exact(kind)).renormalized,
                "{kind} 1/{one_in}"
            );
        }
    }

    #[test]
    fn the_exhaustive_profile_ends_at_itself() {
        let measured = measure(&program("lz"), 100_000).expect("measured");
        let exhaustive = measured.iter().filter(|m| m.scheme == "exhaustive");
        let ends: Vec<f64> = exhaustive
            .filter(|m| m.x == Some(100.0))
            .map(|m| m.value)
            .collect();
        assert_eq!(ends, [1.0; 3]);
    }
}
