//! Measurements of one program: the grid of loads and sample sizes, policies of system calls, shadows at phases,
//! slowdowns that were measured.

use std::sync::{Arc, PoisonError};

use hps_isa::probe::NoProbe;
use hps_lab::shadow::{End, ShadowOptions, ShadowOutcome, Timeline, When, perfect, profiled};
use hps_lab::{Program, TimedMachine};
use hps_profile::{Fraction, StreamProfile, accuracy};
use hps_shadow::Graphs;
use hps_shadow::accuracy::{hot_path_accuracy, invariance_difference, overlap};
use hps_shadow::control::Costs;
use hps_shadow::policy::{CountingGate, Policy};
use hps_shadow::profiles::Profiles;
use hps_shadow::values::TableShape;
use hps_sim_core::machine::{Machine, Stop};
use rayon::prelude::*;

use super::{LOADS, ShadowStudy, TIMES, bursts, executed, setting};
use crate::measurement::Measurement;

/// Measures one program: the grid and its variants.
pub(super) fn measure(
    program: &Program,
    machine: &TimedMachine,
    samples: &[u64],
) -> Result<Vec<Measurement>, String> {
    studied((program, machine), true, |study| {
        let (numbered, unnumbered) = study.graphs.numbered();
        let (timeline, paths) = (study.timeline, &study.truth.paths);
        let mut all = vec![
            study.number("", "instructions", timeline.instructions() as f64),
            study.number("", "native_ns", timeline.end_ns()),
            study.number("", "paths", paths.paths().all.len() as f64),
            study.number("", "long_paths", paths.long_paths().all.len() as f64),
            study.number("", "numbered_functions", numbered as f64),
            study.number("", "unnumbered_functions", unnumbered as f64),
        ];
        all.extend(study.calls_over_time()?);
        all.extend(study.run(settings(samples))?);
        Ok(all)
    })
}

/// Measures what instrumentation costs a program that is executed as guest code, and runs shadows that are slowed down as
/// much, and by the key. Neither translates anything. Beside shadows, HPS's bursts of calls.
pub(super) fn measure_executed(
    program: &Program,
    machine: &TimedMachine,
    samples: &[u64],
) -> Result<Vec<Measurement>, String> {
    let slowdowns = executed::slowdowns(program, machine, executed::INSTRUCTIONS)?;
    let main = ShadowStudy::main_sample(samples);
    let by_key = (executed::BY_KEY.to_string(), Costs::default().slowdown);
    let by_kind = (slowdowns.by_dise)
        .into_iter()
        .map(|(kind, s)| (kind.variant(), s.max(1.0)));
    let variants = by_kind.chain([by_key]).map(|(name, slowdown)| {
        let mut options = ShadowOptions::at_load(1.0, main);
        options.costs.slowdown = slowdown;
        options.costs.translate_ns = 0.0;
        (name, main, options)
    });
    let variants = variants.collect();
    let of_shadows = studied((program, machine), false, |study| {
        let mut all = study.run(variants)?;
        let calls = study.truth.by_call_pair();
        all.extend(bursts::measure((program, machine), study.timeline, &calls)?);
        Ok(all)
    });
    let mut all = slowdowns.measured;
    all.extend(of_shadows?);
    Ok(all)
}

/// Times a program alone and takes its perfect profile, with hot data streams if they are asked for, and then studies it.
fn studied(
    (program, machine): (&Program, &TimedMachine),
    streams: bool,
    study: impl FnOnce(&Study<'_>) -> Result<Vec<Measurement>, String>,
) -> Result<Vec<Measurement>, String> {
    let graphs = Graphs::new(&program.image);
    let (timeline, truth) = rayon::join(
        || Timeline::measure(program, machine).map_err(text),
        || perfect(program, &graphs, (TableShape::default(), streams)).map_err(text),
    );
    let (timeline, (truth, _)) = (timeline?, truth?);
    study(&Study {
        program,
        graphs: &graphs,
        timeline: &timeline,
        truth: &truth,
        streams: truth.streams(),
    })
}

fn text(error: hps_lab::LabError) -> String {
    error.to_string()
}

/// A setting: its name, instructions of a sample, and what is run.
type Setting = (String, u64, ShadowOptions);

/// All settings: the grid, and at one point of it other policies and shadows at phases.
fn settings(samples: &[u64]) -> Vec<Setting> {
    let mut all = Vec::new();
    for load in LOADS {
        for sample in samples {
            let options = ShadowOptions {
                streams: true,
                ..ShadowOptions::at_load(load, *sample)
            };
            all.push((setting(load, *sample), *sample, options));
        }
    }
    let main = ShadowStudy::main_sample(samples);
    for policy in Policy::NAMES.iter().skip(1) {
        let Some(Ok(table)) = Policy::named(policy) else {
            continue;
        };
        let options = ShadowOptions {
            policy: Arc::new(table.compiled()),
            ..ShadowOptions::at_load(1.0, main)
        };
        all.push((format!("policy={policy}"), main, options));
    }
    let mut at_phases = ShadowOptions::at_load(1.0, main);
    let mut until_converged = ShadowOptions::at_load(1.0, main);
    if let When::Load { load, period_ns } = at_phases.when {
        at_phases.when = When::Phase { load, period_ns };
        until_converged.when = When::Convergence { load, period_ns };
    }
    all.push(("phase".to_string(), main, at_phases));
    all.push(("convergence".to_string(), main, until_converged));
    let mut cached = ShadowOptions::at_load(1.0, main);
    cached.costs.keeps_translations = true;
    all.push(("kept-translations".to_string(), main, cached));
    for slowdown in [3.0, 30.0] {
        let mut options = ShadowOptions::at_load(1.0, main);
        options.costs.slowdown = slowdown;
        all.push((format!("slowdown={slowdown}"), main, options));
    }
    all
}

struct Study<'a> {
    program: &'a Program,
    graphs: &'a Graphs<'a>,
    timeline: &'a Timeline,
    truth: &'a Profiles<'a>,
    streams: Option<StreamProfile>,
}

impl Study<'_> {
    fn number(&self, setting: &str, measure: &str, value: f64) -> Measurement {
        Measurement {
            setting: setting.to_string(),
            ..Measurement::new(self.program, "shadow", measure, value)
        }
    }

    /// Profiles by shadows at each setting.
    fn run(&self, settings: Vec<Setting>) -> Result<Vec<Measurement>, String> {
        let found: Result<Vec<Vec<Measurement>>, String> = settings
            .into_par_iter()
            .with_max_len(1)
            .map(|(name, sample, options)| {
                let outcome = profiled(self.program, self.graphs, self.timeline, &options);
                Ok(self.outcome(&name, sample, &outcome.map_err(text)?))
            })
            .collect();
        Ok(found?.into_iter().flatten().collect())
    }

    fn outcome(&self, setting: &str, sample: u64, outcome: &ShadowOutcome<'_>) -> Vec<Measurement> {
        let (truth, seen) = (self.truth, &outcome.profiles);
        let invariance = invariance_difference(&truth.values, &seen.values);
        let seconds = self.timeline.end_ns() * 1e-9;
        let faults = outcome.added_faults() as f64;
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let ended_early = outcome.shadows
            - outcome.ends.get(&End::Sample).copied().unwrap_or(0)
            - outcome.ends.get(&End::Exit).copied().unwrap_or(0);
        let numbers = [
            (
                "path_accuracy_ratio",
                hot_path_accuracy(truth.paths.paths(), seen.paths.paths()),
            ),
            (
                "long_path_accuracy_ratio",
                hot_path_accuracy(truth.paths.long_paths(), seen.paths.long_paths()),
            ),
            (
                "edge_overlap_ratio",
                overlap(&truth.by_edge(), &seen.by_edge()),
            ),
            (
                "call_overlap_ratio",
                overlap(&truth.by_call_pair(), &seen.by_call_pair()),
            ),
            (
                "stream_accuracy_ratio",
                (self.streams.as_ref())
                    .zip(seen.streams())
                    .map(|(exact, seen)| {
                        let cut = Fraction::NINETY_PERCENT;
                        accuracy(&seen.profile, &exact.profile, cut).renormalized
                    }),
            ),
            // A profile without any common value is as wrong as it can be.
            (
                "invariance_difference",
                Some(invariance.map_or(1.0, |i| i.mean)),
            ),
            (
                "compared_values_ratio",
                Some(invariance.map_or(0.0, |i| i.share)),
            ),
            ("overhead_ratio", Some(outcome.overhead())),
            ("added_faults_per_second", Some(faults / seconds)),
            (
                "faults_ratio",
                Some(faults / outcome.resident_pages.max(1) as f64),
            ),
            ("coverage_ratio", Some(outcome.coverage())),
            ("shadows", Some(outcome.shadows as f64)),
            ("average_live", Some(outcome.average_live)),
            (
                "ended_early_ratio",
                Some(share(ended_early, outcome.shadows)),
            ),
            (
                "diverged_ratio",
                Some(share(outcome.divergences.len() as u64, outcome.shadows)),
            ),
            (
                "diverged_transfers_ratio",
                Some(share(outcome.diverged_transfers, outcome.transfers)),
            ),
        ];
        let mut all: Vec<Measurement> = numbers
            .into_iter()
            .filter_map(|(measure, value)| {
                Some(Measurement {
                    x: Some(sample as f64),
                    ..self.number(setting, measure, value?)
                })
            })
            .collect();
        let mut causes: std::collections::BTreeMap<String, u64> = Default::default();
        for divergence in &outcome.divergences {
            let cause = divergence.cause.map_or_else(
                || "no call".to_string(),
                |call| format!("{} ({})", call.name, call.action),
            );
            *causes.entry(cause).or_default() += 1;
        }
        all.extend(causes.into_iter().map(|(cause, count)| Measurement {
            scheme: cause,
            ..self.number(setting, "divergences", count as f64)
        }));
        all.extend(outcome.ends.iter().map(|(end, count)| Measurement {
            scheme: end.to_string(),
            ..self.number(setting, "ends", *count as f64)
        }));
        all
    }

    /// System calls of the program by group, over its run.
    fn calls_over_time(&self) -> Result<Vec<Measurement>, String> {
        let mut machine = Machine::new(self.program.start().map_err(|e| e.to_string())?);
        let policy = Arc::new(Policy::paper().compiled());
        let (gate, counts) = CountingGate::new(policy);
        machine.process.os.set_gate(Some(Box::new(gate)));
        let step = self.timeline.instructions().div_ceil(TIMES).max(1);
        let mut all = Vec::new();
        for time in 0..TIMES {
            let stop = machine.run(&mut NoProbe, step);
            let counted =
                std::mem::take(&mut *counts.lock().unwrap_or_else(PoisonError::into_inner));
            all.extend(counted.into_iter().map(|(group, count)| Measurement {
                scheme: group,
                x: Some(time as f64),
                ..self.number("time", "calls", count as f64)
            }));
            if stop != Stop::Limit {
                break;
            }
        }
        Ok(all)
    }
}
