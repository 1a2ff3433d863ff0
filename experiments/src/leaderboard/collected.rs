//! Profilers of cycles at their cost: interrupts or assists, handlers that store records, buffers and their reader.
//! Profilers whose records cost the same share a run.

use hps_lab::{Collecting, Lab, Watch};
use hps_profilers::registry::{Counts, Profiler, Records};
use hps_profilers::views::{FunctionMap, Levels};
use hps_profilers::{Period, Spread};

use super::Leaderboard;
use super::board::Form;
use super::contender::{At, Contender};
use super::undisturbed::{Found, Undisturbed};
use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};

/// The name of the study in results.
pub const STUDY: &str = "leaderboard-collected";

/// Profilers whose records cost the same.
#[derive(Clone)]
struct Group {
    records: Records,
    counts: Counts,
    profilers: Vec<&'static Profiler>,
}

/// The groups of a board's profilers that cost something, if the board charges them.
pub(super) fn contenders(board: &Leaderboard) -> Vec<Contender> {
    let mut groups: Vec<Group> = Vec::new();
    if !board.charged {
        return Vec::new();
    }
    for profiler in board.passive() {
        let (records, counts) = (profiler.records, profiler.counts);
        if !records.cost() {
            continue;
        }
        let of = |g: &&mut Group| g.records == records && g.counts == counts;
        match groups.iter_mut().find(of) {
            Some(group) => group.profilers.push(profiler),
            None => groups.push(Group {
                records,
                counts,
                profilers: vec![profiler],
            }),
        }
    }
    let of = |group: Group| {
        let first = group.profilers.first().map_or("", |profiler| profiler.name);
        Contender::new(first, None, Form::Collected, move |u, _, at| {
            unit(u, group.clone(), at)
        })
    };
    groups.into_iter().map(of).collect()
}

/// The unit that runs the profilers of a group at one period.
fn unit<'a>(undisturbed: &'a Undisturbed<'a>, group: Group, at: At) -> Unit<'a> {
    let names: Vec<&str> = group.profilers.iter().map(|p| p.name).collect();
    Unit {
        study: STUDY,
        title: format!(
            "{}: {} collected, a sample in {} cycles",
            undisturbed.program.title(),
            names.join(", "),
            at.point
        ),
        key: serde_json::json!({
            "profilers": names,
            "records": format!("{:?}", group.records),
            "period_cycles": at.point,
            "run": at.run,
            "runs": at.runs,
        }),
        program: undisturbed.program,
        effort: Effort::runs(0.0, 1.0, undisturbed.machine.core)
            .beside_undisturbed(undisturbed.machine.core),
        run: Box::new(move || measured(undisturbed, &group, at)),
    }
}

fn measured(
    undisturbed: &Undisturbed<'_>,
    group: &Group,
    at: At,
) -> Result<Vec<Measurement>, String> {
    let found = undisturbed.found()?;
    let period = period(group, found, at);
    let samplers = group
        .profilers
        .iter()
        .map(|profiler| ((profiler.policy)(), period));
    let watch = Watch {
        samplers: samplers.collect(),
        ..Watch::default()
    };
    let lab = Lab::of(undisturbed.program).timed_by(undisturbed.machine);
    let how = Collecting::new(group.records, period);
    let mut run = lab.collected(&how, watch).map_err(|e| e.to_string())?;
    run.truth.ran = run.truth.ran.successful().map_err(|e| e.to_string())?;
    let perturbation = found.perturbation(&run.truth.exact, |pc| pc);
    let exact = run.exact_of_program();
    let symbols = run.truth.ran.process.symbols();
    let levels = Levels::new(&exact, &symbols, &FunctionMap::new(&symbols, &exact));
    let cycles = run.truth.ran.cycles();
    let mut all = Vec::new();
    for (place, profiler) in group.profilers.iter().enumerate() {
        let credits = &run.truth.sampled[place].credits;
        let mut add = |measure, setting: &str, value| {
            all.push(Measurement {
                one_in: Some(at.point),
                run: Some(at.run),
                setting: setting.to_string(),
                ..Measurement::new(undisturbed.program, profiler.name, measure, value)
            });
        };
        // A run that is shorter than a period has no profile, which is all wrong.
        let weights = run.weights(place);
        for (level, error) in levels.errors(weights.iter().copied()) {
            add("error_ratio", level.name(), error);
        }
        let overhead = cycles as f64 / found.cycles as f64 - 1.0;
        add("overhead_ratio", "", overhead);
        add("perturbation_ratio", "", perturbation);
        add("memory_bytes", "", run.memory_bytes as f64);
        add("samples", "", credits.credited as f64);
        let lost = credits.lost + credits.collided + run.stored.lost + run.overflows_lost;
        add("lost_samples", "", lost as f64);
        add("interrupts", "", run.interrupts.taken_events as f64);
        add("baseline_cycles", "", found.cycles as f64);
        add("cycles", "", cycles as f64);
    }
    Ok(all)
}

/// A prime period of cycles, or a random one of as many samples in instructions. Runs begin at other phases, those of random
/// periods with other seeds.
fn period(group: &Group, found: &Found, at: At) -> Period {
    let mean = match group.counts {
        Counts::Cycles => Period::prime_from(at.point),
        Counts::RandomCycles => at.point,
        Counts::Instructions => {
            let scaled = u128::from(found.instructions) * u128::from(at.point);
            (scaled / u128::from(found.cycles.max(1))) as u64
        }
    };
    let first = group.profilers.first();
    let period = first.map_or(Period::cycles(mean), |profiler| {
        profiler.period_of(mean, at.run + 1)
    });
    match period.spread {
        Spread::Fixed => period.at_phase(at.run, at.runs),
        Spread::Random { .. } => period,
    }
}
