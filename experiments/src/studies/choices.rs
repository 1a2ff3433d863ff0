//! Choices that the publications leave open, and how far each moves accuracies.

use hps_productions::grid::{EventTrace, Phase, PhasedGrid};
use hps_productions::{GridProbe, SamplePoint};
use hps_profile::{Accuracy, EqualRules, Fraction, Profile, ProfileKind, StreamConfig, accuracy};

use super::StudyOptions;
use super::common::{Label, functional, unit_of_each};
use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};
use crate::spec::paper_burst;
use hps_lab::Program;

/// The study's name in results.
pub const NAME: &str = "choices";

/// Frequencies as 1 in n.
pub const ONE_IN: [u64; 2] = [100, 1000];

/// A choice and an alternative to it.
struct Alternative {
    /// The name of the alternative, as a setting in results.
    setting: &'static str,
    /// How streams are found then.
    streams: StreamConfig,
    /// Part of a profile that its hottest members make up, and that is compared.
    cut: Fraction,
}

/// The settings in use, under which the study names them.
pub const AS_USED: &str = "as used";

fn alternatives() -> Vec<Alternative> {
    let used = StreamConfig::default;
    let of_streams = |setting, streams| Alternative {
        setting,
        streams,
        cut: Fraction::NINETY_PERCENT,
    };
    let of_cut = |setting, percent| Alternative {
        setting,
        streams: used(),
        cut: Fraction::from_percent(percent),
    };
    vec![
        of_streams(AS_USED, used()),
        of_streams(
            "a stream may have a single address",
            StreamConfig {
                min_unique: 1,
                ..used()
            },
        ),
        of_streams(
            "a stream has four addresses at least",
            StreamConfig {
                min_unique: 4,
                ..used()
            },
        ),
        of_streams(
            "equal rules are merged by place",
            StreamConfig {
                equal_rules: EqualRules::MergedByPlace,
                ..used()
            },
        ),
        of_streams(
            "equal rules are apart",
            StreamConfig {
                equal_rules: EqualRules::Apart,
                ..used()
            },
        ),
        of_streams(
            "repetitions are folded",
            StreamConfig {
                fold_repetitions: true,
                ..used()
            },
        ),
        of_streams(
            "streams are hot from 2% on",
            StreamConfig {
                hot_fraction: Fraction::from_percent(2),
                ..used()
            },
        ),
        of_cut("members of 80% are compared", 80),
        of_cut("members of 100% are compared", 100),
    ]
}

/// One unit for each program.
pub fn units<'a>(programs: &'a [Program], options: &StudyOptions) -> Vec<Unit<'a>> {
    let (limit, phases) = (options.functional_instructions, options.choice_phases);
    let settings: Vec<&str> = alternatives().iter().map(|a| a.setting).collect();
    let key = serde_json::json!({
        "instructions": limit, "phases": phases, "one_in": ONE_IN, "settings": settings,
    });
    unit_of_each(
        programs,
        NAME,
        "choices",
        &key,
        Effort::default(),
        move |program| measure(program, limit, phases),
    )
}

/// Mean accuracies over phases, renormalized and capped, under each alternative.
fn measure(program: &Program, limit: u64, phases: u32) -> Result<Vec<Measurement>, String> {
    let grid = GridProbe::with_memory(&[], None).map_err(|e| e.to_string())?;
    let (probe, _) = functional(program, limit, PhasedGrid::new(grid))?;
    let (grid, trace) = probe.finish();
    let Some(trace) = trace.filter(EventTrace::has_references) else {
        return Err("the program is too long for its trace to be kept".to_string());
    };
    let methods = grid.method_map(&program.image.symbols);
    let mut measured = Vec::new();
    for alternative in alternatives() {
        let streams = |point, phase| -> Result<Profile<_>, String> {
            let recorder = trace.references(point, phase, Some(&alternative.streams));
            let recorder = recorder.map_err(|e| e.to_string())?;
            let found = recorder.and_then(|recorder| recorder.finish());
            Ok(found.map_or_else(Profile::new, |found| found.profile))
        };
        let all_streams = streams(SamplePoint::EXHAUSTIVE, Phase::ENGINE)?;
        let by_method = |of: &hps_productions::PointProfiles| {
            of.addresses.methods(|address| methods.entry(address))
        };
        let all_methods = by_method(&grid.exhaustive);
        for kind in ProfileKind::ALL {
            for one_in in ONE_IN {
                let point = SamplePoint::from_frequency(paper_burst(kind), one_in);
                let point = point.map_err(|e| e.to_string())?;
                let mut sums = [0.0; 2];
                for number in 0..phases {
                    let phase = Phase::drawn(u64::from(number));
                    let found: Accuracy = match kind {
                        ProfileKind::DataStream => {
                            accuracy(&streams(point, phase)?, &all_streams, alternative.cut)
                        }
                        ProfileKind::Method => {
                            let sampled = by_method(&trace.profiles(point, phase));
                            accuracy(&sampled, &all_methods, alternative.cut)
                        }
                        ProfileKind::CallPair => {
                            let sampled = trace.profiles(point, phase).call_pairs;
                            accuracy(&sampled, &grid.exhaustive.call_pairs, alternative.cut)
                        }
                    };
                    sums[0] += found.renormalized;
                    sums[1] += found.capped;
                }
                let label = Label::new(program, "hps").kind(kind);
                let label = label.at(point.burst, one_in).setting(alternative.setting);
                let mean = |sum: f64| sum / f64::from(phases);
                measured.push(label.is("accuracy_renormalized_ratio", mean(sums[0])));
                measured.push(label.is("accuracy_capped_ratio", mean(sums[1])));
            }
        }
    }
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::super::testing::program;
    use super::*;

    #[test]
    fn choices_of_streams_move_streams_alone() {
        let measured = measure(&program("interp"), u64::MAX, 2).expect("measured");
        let of = |kind, setting: &str| {
            let wanted = |m: &&Measurement| {
                (m.profile, m.setting.as_str(), m.one_in) == (Some(kind), setting, Some(100))
                    && m.measure == "accuracy_renormalized_ratio"
            };
            measured.iter().find(wanted).expect("measured").value
        };
        let single = "a stream may have a single address";
        for kind in [ProfileKind::Method, ProfileKind::CallPair] {
            assert_eq!(of(kind, single), of(kind, AS_USED));
            let all = "members of 100% are compared";
            assert!(of(kind, all) != of(kind, AS_USED));
        }
        let streams = ProfileKind::DataStream;
        assert!(of(streams, single) != of(streams, AS_USED));
    }
}
