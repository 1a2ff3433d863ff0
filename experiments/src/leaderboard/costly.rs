//! Profilers that cost cycles: one run for each, under the oracle.

use hps_lab::{Install, Lab, Ran, Truth, Watch, dise_config};
use hps_lab::{TimedLoop, Watching};
use hps_productions::scheme::Scheme as Framework;
use hps_productions::software::{SoftwareCollector, SoftwareOptions};
use hps_productions::{CollectedProfile, Collector, CollectorOptions, SamplePoint};
use hps_profile::ProfileKind;
use hps_profilers::ExactProfile;
use hps_sim_core::process::Process;

use super::exact::Exact;
use super::profilers::scheme_name;
use super::undisturbed::{Found, Undisturbed};
use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};
use crate::schemes::Scheme;
use crate::spec::paper_burst;

/// The name of the study in results.
pub const STUDY: &str = "leaderboard-costly";
/// The frequencies of the paper's grid as 1 in n, the densest first. Each kind of profile has the burst length of the
/// paper's Figure 8.
pub const FREQUENCIES: &[u64] = &[100, 500, 1000, 5000, 10_000];

/// A profiler that collects one kind of profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub scheme: Scheme,
    pub kind: ProfileKind,
}

impl Point {
    pub fn name(self) -> &'static str {
        scheme_name(self.scheme)
    }
}

/// The unit that runs a profiler at one frequency.
pub(super) fn unit<'a>(
    undisturbed: &'a Undisturbed<'a>,
    exact: &'a Exact<'a>,
    point: Point,
    one_in: u64,
) -> Unit<'a> {
    let burst = paper_burst(point.kind);
    Unit {
        study: STUDY,
        title: format!(
            "{}: {}, {}, 1/{one_in}",
            undisturbed.program.title(),
            point.name(),
            point.kind.title()
        ),
        key: serde_json::json!({
            "profiler": point.name(),
            "kind": point.kind,
            "burst": burst,
            "one_in": one_in,
        }),
        program: undisturbed.program,
        effort: Effort::runs(0.0, 1.0, undisturbed.machine.core)
            .beside_undisturbed(undisturbed.machine.core)
            .beside_exact(),
        run: Box::new(move || {
            let at = SamplePoint::from_frequency(burst, one_in).map_err(|e| e.to_string())?;
            let found = undisturbed.found()?;
            let run = run(undisturbed, found, point, at)?;
            let comparison = exact.compare(run.profile)?;
            let overhead = run.cycles as f64 / found.cycles as f64 - 1.0;
            let numbers = [
                ("baseline_cycles", found.cycles as f64),
                ("cycles", run.cycles as f64),
                ("overhead_ratio", overhead),
                ("memory_bytes", run.memory_bytes as f64),
                ("inserted_instructions", run.inserted_instructions as f64),
                ("handler_instructions", run.handler_instructions as f64),
                ("samples", comparison.samples as f64),
                ("samples_lost", comparison.lost as f64),
                ("error_ratio", comparison.error),
                ("accuracy_renormalized_ratio", comparison.renormalized),
                ("perturbation_ratio", run.perturbation),
            ];
            let measured = numbers.map(|(measure, value)| Measurement {
                profile: Some(point.kind),
                burst: Some(burst),
                one_in: Some(one_in),
                ..Measurement::new(undisturbed.program, point.name(), measure, value)
            });
            Ok(measured.into())
        }),
    }
}

/// Results of one run under a profiler.
struct Run {
    cycles: u64,
    inserted_instructions: u64,
    handler_instructions: u64,
    memory_bytes: u64,
    profile: CollectedProfile,
    perturbation: f64,
}

fn run(
    undisturbed: &Undisturbed<'_>,
    found: &Found,
    Point { scheme, kind }: Point,
    at: SamplePoint,
) -> Result<Run, String> {
    let options = CollectorOptions {
        dise: dise_config(undisturbed.machine),
        ..CollectorOptions::default()
    };
    let framework = match scheme {
        Scheme::Hps => Framework::Hps,
        Scheme::PlainDise => Framework::PlainDise,
        Scheme::Software | Scheme::SoftwareReduced => {
            let handlers = Collector::new(kind, at, &options).map_err(|e| e.to_string())?;
            let options = SoftwareOptions {
                reduced_checks: scheme == Scheme::SoftwareReduced,
                ..SoftwareOptions::default()
            };
            let collector =
                SoftwareCollector::new(Some(kind), at, &options).map_err(|e| e.to_string())?;
            let (truth, profile) = watched(undisturbed, &collector, |process| {
                collector.read(process).map_err(|e| e.to_string())
            })?;
            let layout = truth.ran.editor.statistics();
            let copies = layout.copy_bytes.iter().sum::<u64>() + layout.routine_bytes;
            let original = |pc| truth.ran.editor.original_address(pc);
            let perturbation = found.perturbation(&truth.exact, original);
            return Ok(finish(
                &truth,
                profile,
                perturbation,
                copies + bytes_of(&handlers),
            ));
        }
    };
    let collector = Collector::of(framework, &[kind], at, &options).map_err(|e| e.to_string())?;
    let (truth, profile) = watched(undisturbed, &collector, |process| {
        collector.read(process).map_err(|e| e.to_string())
    })?;
    let perturbation = found.perturbation(&truth.exact, |pc| pc);
    Ok(finish(&truth, profile, perturbation, bytes_of(&collector)))
}

/// Memory for handlers and their data, in whole pages.
fn bytes_of(collector: &Collector) -> u64 {
    let range = collector.guest_range();
    range.end - range.start
}

fn watched<I: Install<Editor: TimedLoop<Watching>>>(
    undisturbed: &Undisturbed<'_>,
    installs: I,
    read: impl FnOnce(&Process) -> Result<CollectedProfile, String>,
) -> Result<(Truth<I::Editor>, CollectedProfile), String> {
    let lab = Lab::of(undisturbed.program).timed_by(undisturbed.machine);
    let truth = lab.edited_by(installs).watched(Watch::default());
    let truth = truth.map_err(|e| e.to_string())?;
    let ran = Ran::successful(truth.ran).map_err(|e| e.to_string())?;
    conserved(&truth.exact, ran.cycles())?;
    let profile = read(&ran.process)?;
    Ok((Truth { ran, ..truth }, profile))
}

/// The exact profile holds every cycle of the run.
fn conserved(exact: &ExactProfile, cycles: u64) -> Result<(), String> {
    let units: u64 = exact.rows.iter().map(hps_profilers::Row::units).sum();
    if units == cycles * exact.units_per_cycle {
        return Ok(());
    }
    Err(format!(
        "internal error: the exact profile holds {units} units of {cycles} cycles"
    ))
}

fn finish<E>(
    truth: &Truth<E>,
    profile: CollectedProfile,
    perturbation: f64,
    memory_bytes: u64,
) -> Run {
    Run {
        cycles: truth.ran.cycles(),
        inserted_instructions: truth.ran.retired.inserted,
        handler_instructions: truth.ran.retired.handler,
        memory_bytes,
        profile,
        perturbation,
    }
}
