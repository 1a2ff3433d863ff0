//! Bias of fixed periods in loops whose length divides them, and the gain of random ones.
//!
//! Two parts. A program whose loop has a known number of events is sampled at every period of a range,
//! fixed and at random. Then the programs, at the paper's frequencies and bursts: fixed, detuned (a period
//! one event longer, which is all that a user can do without randomness) and random with several seeds.

use hps_pipeline::core::CoreKind;
use hps_productions::SamplePoint;
use hps_profile::{ProfileKind, StreamConfig};

use super::StudyOptions;
use super::common::{Label, functional};
use super::stream::{EventStream, exhaustive, fixed, randomized};
use super::synthetic;
use crate::Interval;
use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};
use hps_lab::Program;

/// The study's name in results.
pub const NAME: &str = "bias";

/// Periods at which the loops of known length are sampled, in events.
pub const PERIODS: std::ops::RangeInclusive<u64> = 50..=200;

/// The paper's frequencies.
const ONE_IN: [u64; 5] = [100, 500, 1000, 5000, 10_000];

const ACCURACY: &str = "accuracy_renormalized_ratio";

/// One unit for each loop of known length, and one for each program.
pub fn units<'a>(programs: &'a [Program], options: &StudyOptions) -> Vec<Unit<'a>> {
    let seeds = options.seeds.clone();
    let limit = options.functional_instructions;
    let loops: &'a [Program] = synthetic::programs().unwrap_or_default();
    let periods = (PERIODS.start(), PERIODS.end());
    let of_loop = |program: &'a Program| {
        let seeds = seeds.clone();
        Unit {
            study: NAME,
            title: format!(
                "{}: periods {} to {}",
                program.title(),
                periods.0,
                periods.1
            ),
            key: serde_json::json!({ "periods": periods, "seeds": seeds }),
            program,
            effort: Effort::runs(1.0, 0.0, CoreKind::Cycle),
            run: Box::new(move || measure_loop(program, &seeds)),
        }
    };
    let of_program = |program: &'a Program| {
        let seeds = seeds.clone();
        Unit {
            study: NAME,
            title: format!("{}: fixed and random periods", program.title()),
            key: serde_json::json!({ "one_in": ONE_IN, "seeds": seeds, "instructions": limit }),
            program,
            effort: Effort::runs(1.0, 0.0, CoreKind::Cycle),
            run: Box::new(move || measure_program(program, limit, &seeds)),
        }
    };
    let all = loops
        .iter()
        .map(of_loop)
        .chain(programs.iter().map(of_program));
    all.collect()
}

fn measure_loop(program: &Program, seeds: &[u64]) -> Result<Vec<Measurement>, String> {
    let mut measured = Vec::new();
    let label = |scheme: &str, period: u64| {
        let label = Label::new(program, scheme).kind(ProfileKind::Method);
        label.at(1, period).setting("period").x(period as f64)
    };
    let mut stream = EventStream::<false>::new(Vec::new());
    stream.add(exhaustive(), None)?;
    for period in PERIODS {
        let point = SamplePoint::from_frequency(1, period).map_err(|e| e.to_string())?;
        stream.add(fixed(point), None)?;
        for &seed in seeds {
            stream.add(randomized(point, seed), None)?;
        }
    }
    let passed = functional(program, u64::MAX, stream)?.0.finish();
    let methods = passed.method_map(&program.image.symbols);
    let profile = |sampler: usize| {
        passed.profile(ProfileKind::Method, &passed.end.sampled[sampler], &methods)
    };
    let exact = profile(0);
    let accuracy = |sampler: usize| profile(sampler).accuracy(&exact).renormalized;
    for (at, period) in PERIODS.enumerate() {
        let first = 1 + at * (1 + seeds.len());
        let random: Vec<f64> = (first + 1..=first + seeds.len()).map(accuracy).collect();
        measured.push(label("fixed", period).is(ACCURACY, accuracy(first)));
        measured.extend(spread(&label("randomized", period), &random));
    }
    Ok(measured)
}

/// Samplers of one point: fixed, detuned, then one for each seed.
struct Samplers {
    burst: u64,
    one_in: u64,
    first: usize,
}

/// Bursts of each kind of profile, with what they are used for.
const BURSTS: [(u64, &[ProfileKind]); 2] = [
    (1, &[ProfileKind::CallPair, ProfileKind::Method]),
    (100, &[ProfileKind::DataStream]),
];

fn measure_program(
    program: &Program,
    limit: u64,
    seeds: &[u64],
) -> Result<Vec<Measurement>, String> {
    let streams = StreamConfig::default();
    let mut stream = EventStream::<true>::new(Vec::new());
    stream.add(exhaustive(), Some(&streams))?;
    let mut samplers = Vec::new();
    for (burst, kinds) in BURSTS {
        let config = kinds.contains(&ProfileKind::DataStream).then_some(&streams);
        for one_in in ONE_IN {
            let first = stream.samplers();
            samplers.push(Samplers {
                burst,
                one_in,
                first,
            });
            let point = SamplePoint::from_frequency(burst, one_in).map_err(|e| e.to_string())?;
            let detuned = SamplePoint {
                sparsity: point.sparsity + 1,
                ..point
            };
            stream.add(fixed(point), config)?;
            stream.add(fixed(detuned), config)?;
            for &seed in seeds {
                stream.add(randomized(point, seed), config)?;
            }
        }
    }
    let passed = functional(program, limit, stream)?.0.finish();
    let methods = passed.method_map(&program.image.symbols);
    let profile = |kind, at: usize| passed.profile(kind, &passed.end.sampled[at], &methods);
    let mut measured = Vec::new();
    for (burst, kinds) in BURSTS {
        for &kind in kinds {
            let exact = profile(kind, 0);
            let accuracy = |at: usize| profile(kind, at).accuracy(&exact).renormalized;
            let label =
                |scheme: &str, one_in| Label::new(program, scheme).kind(kind).at(burst, one_in);
            // A period that is longer than the run samples nothing and says nothing.
            let sampled = |at: &&Samplers| {
                let fixed = &passed.end.sampled[at.first];
                at.burst == burst && passed.addresses(fixed).total() > 0
            };
            for at in samplers.iter().filter(sampled) {
                let random: Vec<f64> = (at.first + 2..at.first + 2 + seeds.len())
                    .map(accuracy)
                    .collect();
                measured.push(label("fixed", at.one_in).is(ACCURACY, accuracy(at.first)));
                measured.push(label("detuned", at.one_in).is(ACCURACY, accuracy(at.first + 1)));
                measured.extend(spread(&label("randomized", at.one_in), &random));
            }
        }
    }
    Ok(measured)
}

/// Mean over seeds with half the width of its 95% confidence interval, and the least and the most
/// accurate of them.
fn spread(label: &Label, values: &[f64]) -> Vec<Measurement> {
    if values.is_empty() {
        return Vec::new();
    }
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    let over_seeds = Interval::of_mean(values.iter().copied());
    let mut spread = vec![
        label.is(ACCURACY, over_seeds.mean),
        label.is("accuracy_least_ratio", least),
        label.is("accuracy_most_ratio", most),
    ];
    if over_seeds.half_width.is_finite() {
        spread.push(label.is("accuracy_half_width_ratio", over_seeds.half_width));
    }
    spread
}

#[cfg(test)]
mod tests {
    use hps_productions::{CollectedProfile, Collector, CollectorOptions, Scheme};
    use hps_profile::{Fraction, Method, Profile, accuracy};

    use super::super::testing::program;
    use super::*;
    use hps_lab::Lab;

    /// Accuracy by arithmetic: the event with number `n` is number `n mod length` of its iteration.
    fn expected(length: u64, period: u64) -> f64 {
        let events = synthetic::events(length);
        let last = events.len() - 1;
        // In the order of addresses, which decides ties at the cut: the outer loop comes first.
        let method = |at: usize| Method(if at == last { 0 } else { 1 + at as u64 });
        let iteration: Vec<Method> = events
            .iter()
            .enumerate()
            .flat_map(|(at, &count)| (0..count).map(move |_| method(at)))
            .collect();
        let mut sampled = Profile::new();
        for at in (period - 1..length * synthetic::ITERATIONS).step_by(period as usize) {
            sampled.record(iteration[(at % length) as usize]);
        }
        let exact: Profile<Method> = iteration.into_iter().map(|method| (method, 1)).collect();
        accuracy(&sampled, &exact, Fraction::NINETY_PERCENT).renormalized
    }

    #[test]
    fn fixed_periods_do_what_arithmetic_says() {
        let programs = synthetic::programs().expect("assembled");
        for (length, program) in synthetic::LENGTHS.into_iter().zip(programs) {
            let measured = measure_loop(program, &[1]).expect("measured");
            let value = |scheme: &str, period: u64| {
                let found = measured.iter().find(|m| {
                    m.scheme == scheme && m.one_in == Some(period) && m.measure == ACCURACY
                });
                found.expect("measured").value
            };
            for period in PERIODS {
                let (found, expected) = (value("fixed", period), expected(length, period));
                assert!(
                    (found - expected).abs() < 1e-9,
                    "{length}, {period}: {found}, {expected}"
                );
            }
            assert!(value("fixed", length) < 0.4, "{}", value("fixed", length));
            assert!(
                value("randomized", length) > 0.85,
                "{}",
                value("randomized", length)
            );
        }
    }

    /// The reference sampler and the productions in the functional machine, count for count.
    #[test]
    fn random_periods_are_those_of_the_engine() {
        let program = program("objstore");
        let limit = 200_000;
        for (burst, one_in, seed) in [(1, 100, 3), (10, 50, 4)] {
            let point = SamplePoint::from_frequency(burst, one_in).expect("valid");
            let mut stream = EventStream::<true>::new(Vec::new());
            stream
                .add(randomized(point, seed), Some(&StreamConfig::default()))
                .expect("added");
            let passed = functional(&program, limit, stream)
                .expect("runs")
                .0
                .finish();
            let sampled = &passed.end.sampled[0];
            for kind in ProfileKind::ALL {
                let options = CollectorOptions {
                    seed,
                    ..CollectorOptions::default()
                };
                let collector =
                    Collector::of(Scheme::Randomized, &[kind], point, &options).expect("collector");
                let lab = Lab::of(&program).edited_by(&collector).limit(limit);
                let run = lab.run().expect("a run");
                match collector.read(&run.process).expect("read") {
                    CollectedProfile::Method { addresses, .. } => {
                        assert!(addresses.total() > 100);
                        assert_eq!(addresses, passed.addresses(sampled));
                    }
                    CollectedProfile::CallPair { call_pairs, .. } => {
                        assert_eq!(call_pairs, passed.call_pairs(sampled));
                    }
                    CollectedProfile::DataStream(trace) => {
                        let trace = (trace.references(), trace.bursts(), trace.digest());
                        assert_eq!(Some(trace), sampled.trace);
                    }
                    CollectedProfile::Nothing => panic!("nothing was collected"),
                }
            }
        }
    }

    #[test]
    fn programs_have_all_schedules() {
        let measured = measure_program(&program("parse"), 200_000, &[1, 2]).expect("measured");
        for scheme in ["fixed", "detuned", "randomized"] {
            let of_scheme = measured
                .iter()
                .filter(|m| m.scheme == scheme && m.measure == ACCURACY);
            // Bursts of 100 at 1/1000 and below begin behind the end.
            let points = 2 * ONE_IN.len() + 2;
            let bursts_begin = of_scheme.count();
            assert!(
                (points - 1..=points + 1).contains(&bursts_begin),
                "{scheme}: {bursts_begin}"
            );
        }
        let random = measured
            .iter()
            .find(|m| m.scheme == "randomized" && m.measure == ACCURACY);
        assert!(random.is_some_and(|m| (0.0..=1.0).contains(&m.value)));
    }
}
