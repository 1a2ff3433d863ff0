//! Profilers that watch only: all of them on one run, each at several phases of its period.

use hps_lab::Lab;
use hps_profile::{Profile, error_of_biased_draws, error_without_cut, summarize};
use hps_profilers::registry::{Counts, Profiler};
use hps_profilers::views::Level;
use hps_profilers::{Credits, Period, Sampled};

use super::decisions::{ANSWER, answers};
use super::mean::OfProgram;
use super::pairs::PHASE_ERROR;
use super::undisturbed::{Cell, Found, Undisturbed};
use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};

/// The name of the study in results.
pub const STUDY: &str = "leaderboard-passive";
/// The name of the study of infinitely many samples in results.
pub const BIAS: &str = "leaderboard-bias";
/// No period is shorter, in cycles.
pub const LEAST_PERIOD_CYCLES: u64 = 97;
/// The period whose phases together are all cycles, for a profiler that follows one sample at a time: longer than
/// nearly all instructions are in flight. A prime.
const EXHAUSTIVE_PERIOD: u64 = 211;
/// The setting of errors over (instruction, set of events).
pub const EVENT_STACKS: &str = "event-stack";
/// The measure of the mean error of independent draws from what a profiler blames if every cycle is sampled; `x` is their number.
pub const DRAWN_ERROR: &str = "drawn_error_ratio";
/// Numbers of draws.
const DRAWN: [u64; 6] = [100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];

/// The unit that runs all profilers at all phases.
pub(super) fn unit<'a>(
    undisturbed: &'a Undisturbed<'a>,
    profilers: Vec<&'static Profiler>,
    samples: u64,
    phases: u64,
) -> Unit<'a> {
    let names: Vec<&str> = profilers.iter().map(|p| p.name).collect();
    Unit {
        study: STUDY,
        title: format!(
            "{}: {} passive profilers",
            undisturbed.program.title(),
            names.len()
        ),
        key: serde_json::json!({
            "profilers": names, "samples": samples, "phases": phases, "answers": true,
        }),
        program: undisturbed.program,
        effort: Effort::runs(0.0, 1.0, undisturbed.machine.core)
            .beside_undisturbed(undisturbed.machine.core),
        run: Box::new(move || sampled(undisturbed, &profilers, samples, phases)),
    }
}

/// The unit that runs all profilers with every cycle sampled.
pub(super) fn bias_unit<'a>(
    undisturbed: &'a Undisturbed<'a>,
    profilers: Vec<&'static Profiler>,
) -> Unit<'a> {
    let names: Vec<&str> = profilers.iter().map(|p| p.name).collect();
    Unit {
        study: BIAS,
        title: format!("{}: every cycle sampled", undisturbed.program.title()),
        key: serde_json::json!({ "profilers": names, "draws": DRAWN }),
        program: undisturbed.program,
        effort: Effort::runs(0.0, 1.0, undisturbed.machine.core)
            .beside_undisturbed(undisturbed.machine.core),
        run: Box::new(move || exhaustive(undisturbed, &profilers)),
    }
}

/// Runs a program under samplers; the cycles must be those of the undisturbed run.
fn watched(
    undisturbed: &Undisturbed<'_>,
    found: &Found,
    samplers: Vec<(&'static Profiler, Period)>,
) -> Result<Vec<Sampled>, String> {
    let samplers = samplers
        .into_iter()
        .map(|(profiler, period)| ((profiler.policy)(), period));
    let lab = Lab::of(undisturbed.program).timed_by(undisturbed.machine);
    let polled = lab.polled(samplers.collect());
    let (ran, sampled) = polled.map_err(|e| e.to_string())?;
    let ran = ran.successful().map_err(|e| e.to_string())?;
    if ran.cycles() != found.cycles {
        return Err(format!(
            "internal error: the run took {} cycles with samplers and {} without",
            ran.cycles(),
            found.cycles
        ));
    }
    Ok(sampled)
}

/// Samples in a run of so many cycles if `asked` are asked for: no period is shorter than [`LEAST_PERIOD_CYCLES`].
pub(super) fn samples_of(cycles: u64, asked: u64) -> u64 {
    asked.min(cycles / LEAST_PERIOD_CYCLES).max(1)
}

fn sampled(
    undisturbed: &Undisturbed<'_>,
    profilers: &[&'static Profiler],
    samples: u64,
    phases: u64,
) -> Result<Vec<Measurement>, String> {
    let found = undisturbed.found()?;
    let asked = samples as f64;
    let samples = samples_of(found.cycles, samples);
    let mut samplers = Vec::new();
    for &profiler in profilers {
        for phase in 0..phases {
            let period = profiler.period(found.cycles, found.instructions, samples, phase + 1);
            samplers.push((profiler, period.at_phase(phase, phases)));
        }
    }
    let all = watched(undisturbed, found, samplers)?;
    let add_at = |profiler: &str, measure: &str, setting: &str, value| Measurement {
        x: Some(asked),
        ..measurement(undisturbed, profiler, measure, setting, value)
    };
    let mut measured = vec![
        add_at("", "cycles", "", found.cycles as f64),
        add_at("", "instructions", "", found.instructions as f64),
    ];
    for (profiler, of_phases) in profilers.iter().zip(all.chunks(phases.max(1) as usize)) {
        let profiles: Vec<Cells> = of_phases.iter().map(|s| cells(s, found)).collect();
        let add = |measure, value| add_at(profiler.name, measure, "", value);
        measured.push(add("period", of_phases[0].period.mean as f64));
        for (measure, count) in [
            ("samples", (|c| c.credited) as fn(&Credits) -> u64),
            ("lost_samples", |c| c.lost),
            ("collided_samples", |c| c.collided),
        ] {
            let sum: u64 = of_phases.iter().map(|s| count(&s.credits)).sum();
            measured.push(add(measure, sum as f64 / of_phases.len() as f64));
        }
        let tells_events = (profiler.policy)().tells_events();
        for (setting, errors) in errors(tells_events, &profiles, found) {
            let add = |measure, value| add_at(profiler.name, measure, setting, value);
            measured.extend(over_phases(&errors, "error_ratio", &add));
            for (phase, error) in (0..).zip(&errors) {
                measured.push(Measurement {
                    run: Some(phase),
                    ..add(PHASE_ERROR, *error)
                });
            }
            if let Some(deviation) = summarize(&errors).standard_deviation {
                measured.push(add("error_deviation_ratio", deviation));
            }
        }
        let of_phases: Vec<Vec<(&str, f64)>> = (profiles.iter())
            .map(|profile| answers(profile, tells_events, found))
            .collect();
        for (at, &(question, _)) in of_phases.first().into_iter().flatten().enumerate() {
            let right: Vec<f64> = of_phases.iter().map(|all| all[at].1).collect();
            let add = |measure, value| add_at(profiler.name, measure, question, value);
            measured.extend(over_phases(&right, ANSWER, &add));
        }
    }
    Ok(measured)
}

/// The mean over phases, with its interval.
fn over_phases(
    phases: &[f64],
    measure: &'static str,
    add: &impl Fn(&'static str, f64) -> Measurement,
) -> Option<Measurement> {
    let over = OfProgram::over(phases);
    (!phases.is_empty()).then(|| Measurement {
        interval: over.half_width,
        ..add(measure, over.value)
    })
}

fn exhaustive(
    undisturbed: &Undisturbed<'_>,
    profilers: &[&'static Profiler],
) -> Result<Vec<Measurement>, String> {
    let found = undisturbed.found()?;
    let mut samplers = Vec::new();
    let mut counts = Vec::new();
    for &profiler in profilers {
        let periods = exhaustive_periods(profiler);
        counts.push(periods.len());
        samplers.extend(periods.into_iter().map(|period| (profiler, period)));
    }
    let mut all = watched(undisturbed, found, samplers)?.into_iter();
    let mut measured = Vec::new();
    for (profiler, count) in profilers.iter().zip(counts) {
        let mut whole = Cells::default();
        for sampled in all.by_ref().take(count) {
            whole.merge(&cells(&sampled, found));
        }
        let tells_events = (profiler.policy)().tells_events();
        for (setting, errors) in errors(tells_events, std::slice::from_ref(&whole), found) {
            let error = errors.first().copied().unwrap_or(1.0);
            let name = profiler.name;
            measured.push(measurement(undisturbed, name, "bias_ratio", setting, error));
        }
        measured.extend(drawn(undisturbed, profiler, &whole, found));
    }
    Ok(measured)
}

/// Errors of so many independent draws from what a profiler blames if every cycle is sampled.
fn drawn(
    undisturbed: &Undisturbed<'_>,
    profiler: &Profiler,
    whole: &Cells,
    found: &Found,
) -> Vec<Measurement> {
    let of_level = |level: Level| {
        let weights = whole.iter().map(|(&(key, _), units)| (key, units));
        let (blamed, exact) = (
            found.levels.profile(level, weights),
            found.levels.exact(level),
        );
        let of_truth = exact
            .iter()
            .map(|(member, _)| (exact.share(member), blamed.share(member)));
        let elsewhere = blamed.iter().filter(|(m, _)| exact.weight(m) == 0);
        let elsewhere = elsewhere.map(|(member, _)| (0.0, blamed.share(member)));
        let shares: Vec<(f64, f64)> = of_truth.chain(elsewhere).collect();
        DRAWN.map(|draws| Measurement {
            x: Some(draws as f64),
            ..measurement(
                undisturbed,
                profiler.name,
                DRAWN_ERROR,
                level.name(),
                error_of_biased_draws(shares.iter().copied(), draws),
            )
        })
    };
    Level::ALL.into_iter().flat_map(of_level).collect()
}

/// Periods of samplers that together sample every cycle, or every instruction.
fn exhaustive_periods(profiler: &Profiler) -> Vec<Period> {
    let unit = match profiler.counts {
        Counts::Cycles | Counts::RandomCycles => hps_profilers::Unit::Cycles,
        Counts::Instructions => hps_profilers::Unit::Instructions,
    };
    let several = (profiler.policy)().has_one_tag() || profiler.counts == Counts::Instructions;
    let mean = if several { EXHAUSTIVE_PERIOD } else { 1 };
    let period = Period {
        unit,
        ..Period::cycles(mean)
    };
    (0..mean)
        .map(|phase| period.at_phase(phase, mean))
        .collect()
}

/// Units by instruction and events.
type Cells = Profile<Cell>;

fn cells(sampled: &Sampled, found: &Found) -> Cells {
    let cells = sampled.cells(&found.executed);
    let cells = cells
        .iter()
        .map(|(&(key, events), &units)| ((key, events.bits()), units));
    cells.collect()
}

/// Errors of profiles at each level, and over event stacks if the profiler tells events.
fn errors(tells_events: bool, profiles: &[Cells], found: &Found) -> Vec<(&'static str, Vec<f64>)> {
    let mut all: Vec<(&str, Vec<f64>)> = Level::ALL.map(|level| (level.name(), Vec::new())).into();
    for profile in profiles {
        let weights = profile.iter().map(|(&(key, _), units)| (key, units));
        for ((_, errors), (_, error)) in all.iter_mut().zip(found.levels.errors(weights)) {
            errors.push(error);
        }
    }
    if tells_events {
        let errors = profiles
            .iter()
            .map(|cells| error_without_cut(cells, &found.cells));
        all.push((EVENT_STACKS, errors.collect()));
    }
    all
}

fn measurement(
    undisturbed: &Undisturbed<'_>,
    profiler: &str,
    measure: &str,
    setting: &str,
    value: f64,
) -> Measurement {
    Measurement {
        setting: setting.to_string(),
        ..Measurement::new(undisturbed.program, profiler, measure, value)
    }
}
