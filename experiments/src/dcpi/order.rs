//! Cost of DCPI's assumption of issue in order: its analysis and its samples on machines of both kinds, beside other
//! policies.

use hps_dcpi::collect::{Follow, Observer, Plan};
use hps_dcpi::samples::{Counts, Event, Range, Samples};
use hps_lab::{Lab, Program, TimedMachine, Watch};
pub use hps_profilers::views::Level;
use hps_profilers::views::{FunctionMap, Levels};
use hps_profilers::{Key, registry};

use super::data::setting_of;
use super::measure::{Study, following, observed};
use super::precise::{self, PRECISE};
use super::{FOLLOWS, MAIN_PERIOD, follow_setting};
use crate::measurement::Measurement;

/// Policies of the table beside the head of the issue queue, by their names in the registry.
pub const BESIDE: [&str; 3] = ["dcpi", "pebs", "tip"];

/// The name under which samples of the head of the issue queue stand beside them.
pub const HEAD: &str = "head";

/// The measure of the error of a policy's samples at a level.
#[must_use]
pub fn error_measure(policy: &str, level: Level) -> String {
    format!("{policy}_{}_error_ratio", level.name())
}

/// A measure of estimates from samples that tell so much beside their addresses.
#[must_use]
pub fn followed_measure(follow: Follow, measure: &str) -> String {
    format!("{} {measure}", follow_setting(follow))
}

/// Estimates by the analysis, which takes the machine to issue in order, and errors of samples as they are.
pub(super) fn order(program: &Program, machine: &TimedMachine) -> Result<Vec<Measurement>, String> {
    let plans: Vec<Plan> = std::iter::once(Follow::Nothing)
        .chain(FOLLOWS)
        .map(following)
        .collect();
    let observer = Observer::new(&machine.config, &plans);
    let (mut sampled, truth) = observed(program, machine, observer)?.finish();
    let (_, counts) = sampled.remove(0);
    let head: Vec<(Key, u64)> = counts
        .by_pc
        .iter()
        .map(|(pc, count)| (Key::of_program(*pc), *count))
        .collect();
    let mut samples = Samples::default();
    samples.events.insert(Event::Cycles, counts);
    let setting = setting_of(&machine.name);
    let study = Study {
        program,
        machine,
        truth: &truth,
    };
    let mut all = study.accuracy(&samples, &setting, None, false)?;
    for (plan, counts) in sampled {
        let mut samples = Samples::default();
        samples.events.insert(Event::Cycles, counts);
        let followed = study.accuracy(&samples, &setting, None, false)?;
        all.extend(followed.into_iter().map(|m| Measurement {
            measure: followed_measure(plan.follow, &m.measure),
            ..m
        }));
    }
    all.extend(beside(&study, &setting, &head)?);
    Ok(all)
}

/// Shares of time that samples give to wrong instructions and functions, held against the oracle; and frequencies from
/// precise samples, held against exact counts.
fn beside(
    study: &Study<'_>,
    setting: &str,
    head: &[(Key, u64)],
) -> Result<Vec<Measurement>, String> {
    let (program, machine) = (study.program, study.machine);
    let profilers = BESIDE.into_iter().chain(PRECISE).filter_map(registry::find);
    let profilers: Vec<&registry::Profiler> = profilers.collect();
    let watch = Watch {
        samplers: profilers
            .iter()
            .map(|p| ((p.policy)(), p.period_of(MAIN_PERIOD, 1)))
            .collect(),
        ..Watch::default()
    };
    let truth = Lab::of(program).timed_by(machine).watched(watch);
    let truth = truth.map_err(|e| e.to_string())?;
    let symbols = truth.ran.process.symbols();
    let functions = FunctionMap::new(&symbols, &truth.exact);
    let levels = Levels::new(&truth.exact, &symbols, &functions);
    let executed = truth.exact.executed();
    let mut found = vec![(HEAD, head.to_vec())];
    let mut all = Vec::new();
    for (profiler, sampled) in profilers.iter().zip(&truth.sampled) {
        if PRECISE.contains(&profiler.name) {
            let mut counts = Counts::new(Range::fixed(sampled.period.mean));
            let units = sampled.credits.units_per_sample.max(1);
            let by_instruction = sampled.by_instruction(&executed).into_iter();
            let of_program = by_instruction.filter(|(key, _)| *key == Key::of_program(key.pc));
            counts
                .by_pc
                .extend(of_program.map(|(key, weight)| (key.pc, weight / units)));
            all.extend(precise::measurements(
                study,
                setting,
                profiler.name,
                &counts,
            ));
            continue;
        }
        let weights = sampled.by_instruction(&executed).into_iter().collect();
        found.push((profiler.name, weights));
    }
    let wanted = [Level::Instruction, Level::Function];
    let errors = found.iter().flat_map(|(name, weights)| {
        let errors = levels.errors(weights.iter().copied()).into_iter();
        errors
            .filter(|(level, _)| wanted.contains(level))
            .map(|(level, error)| {
                let measure = error_measure(name, level);
                Measurement {
                    setting: setting.to_string(),
                    ..Measurement::new(program, "dcpi", &measure, error)
                }
            })
    });
    all.extend(errors);
    Ok(all)
}
