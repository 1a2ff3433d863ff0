//! Profilers that cost cycles: one run for each, under the oracle.

use std::borrow::Cow;

use hps_lab::TimedLoop;
use hps_lab::{Install, Lab, Ran, Truth, Watch, dise_config};
use hps_pipeline::core::CyclesProbe;
use hps_productions::scheme::Scheme as Framework;
use hps_productions::software::{SoftwareCollector, SoftwareOptions};
use hps_productions::{CollectedProfile, Collector, CollectorOptions, SamplePoint};
use hps_profile::ProfileKind;
use hps_profilers::ExactProfile;
use hps_system::process::Process;

use super::Leaderboard;
use super::board::Form;
use super::contender::{At, Contender};
use super::exact::Exact;
use super::profilers::{Cost, How, ProfilerInfo};
use super::undisturbed::{Found, Undisturbed};
use crate::ahead::Ahead;
use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};
use crate::schemes::Scheme;
use crate::spec::paper_burst;

/// The name of the study in results.
pub const STUDY: &str = "leaderboard-costly";

/// HPS.
pub(super) const HPS: ProfilerInfo = ProfilerInfo {
    name: name(Scheme::Hps),
    about: "HPS: bursts that the decode stage switches on and off by conditional control",
    takes: "DISE with conditional control, handlers and tables in memory",
    counts: "calls and back-edges",
    records: Cow::Borrowed("handlers count"),
    cost: Cost::Executed,
    how: How::Runs(|board| points(Scheme::Hps, board)),
};

/// DISE without the conditional control that HPS adds.
pub(super) const PLAIN_DISE: ProfilerInfo = ProfilerInfo {
    name: name(Scheme::PlainDise),
    about: "DISE without conditional control: each event and each place of interest is expanded",
    takes: "DISE, handlers and tables in memory",
    how: How::Runs(|board| points(Scheme::PlainDise, board)),
    ..HPS
};

/// Bursty tracing in software.
pub(super) const BURSTY_TRACING: ProfilerInfo = ProfilerInfo {
    name: name(Scheme::Software),
    about: "software bursty tracing: a second copy of the code, checks at entries and back-edges",
    takes: "two copies of the code, handlers and tables in memory",
    how: How::Runs(|board| points(Scheme::Software, board)),
    ..HPS
};

/// Bursty tracing in software with fewer checks.
pub(super) const BURSTY_TRACING_REDUCED: ProfilerInfo = ProfilerInfo {
    name: name(Scheme::SoftwareReduced),
    about: "software bursty tracing with the published reductions of checks",
    how: How::Runs(|board| points(Scheme::SoftwareReduced, board)),
    ..BURSTY_TRACING
};

/// Names of schemes among profilers, where `software` is a policy.
const fn name(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Hps => "hps",
        Scheme::PlainDise => "plain-dise",
        Scheme::Software => "bursty-tracing",
        Scheme::SoftwareReduced => "bursty-tracing-reduced",
    }
}

/// A scheme with each kind of profile of a board.
fn points(scheme: Scheme, board: &Leaderboard) -> Vec<Contender> {
    let of = |&kind| {
        let point = Point { scheme, kind };
        Contender::new(
            name(scheme),
            Some(kind),
            Form::Bursts,
            move |u, exact, at| unit(u, exact, point, at),
        )
    };
    board.kinds.iter().map(of).collect()
}

/// A scheme that collects one kind of profile, in bursts of the length of the paper's Figure 8.
#[derive(Clone, Copy)]
struct Point {
    scheme: Scheme,
    kind: ProfileKind,
}

/// The unit that runs a scheme at one frequency.
fn unit<'a>(
    undisturbed: &'a Undisturbed<'a>,
    exact: &'a Exact<'a>,
    point: Point,
    at: At,
) -> Unit<'a> {
    let (burst, one_in) = (paper_burst(point.kind), at.point);
    Unit {
        study: STUDY,
        title: format!(
            "{}: {}, {}, 1/{one_in}",
            undisturbed.program.title(),
            name(point.scheme),
            point.kind.title()
        ),
        key: serde_json::json!({
            "profiler": name(point.scheme),
            "kind": point.kind,
            "burst": burst,
            "one_in": one_in,
            "run": at.run,
        }),
        program: undisturbed.program,
        effort: Effort::runs(0.0, 1.0, undisturbed.machine.core)
            .beside_undisturbed(undisturbed.machine.core)
            .beside_exact(),
        run: Box::new(move || {
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
                run: Some(at.run),
                ..Measurement::new(undisturbed.program, name(point.scheme), measure, value)
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
    at: At,
) -> Result<Run, String> {
    let options = CollectorOptions {
        dise: dise_config(undisturbed.machine),
        ..CollectorOptions::default()
    };
    let frequency = SamplePoint::from_frequency(paper_burst(kind), at.point);
    let frequency = frequency.map_err(|e| e.to_string())?;
    let shifted = SamplePoint {
        sparsity: at.shifted(frequency.sparsity),
        ..frequency
    };
    let (framework, point) = match scheme {
        Scheme::Hps => (Framework::Hps, frequency),
        Scheme::PlainDise => (Framework::PlainDise, shifted),
        Scheme::Software | Scheme::SoftwareReduced => {
            let reduced_checks = scheme == Scheme::SoftwareReduced;
            return in_software(
                undisturbed,
                found,
                (kind, shifted),
                reduced_checks,
                &options,
            );
        }
    };
    let collector =
        Collector::of(framework, &[kind], point, &options).map_err(|e| e.to_string())?;
    let read = |process: &Process| collector.read(process).map_err(|e| e.to_string());
    let (truth, profile) = match scheme {
        Scheme::Hps => {
            let ahead = Ahead::at_phase(&collector, point, at.run);
            watched(undisturbed, ahead, read)?
        }
        _ => watched(undisturbed, &collector, read)?,
    };
    let perturbation = found.perturbation(&truth.exact, |pc| pc);
    Ok(finish(&truth, profile, perturbation, bytes_of(&collector)))
}

/// A run under bursty tracing in software.
fn in_software(
    undisturbed: &Undisturbed<'_>,
    found: &Found,
    (kind, point): (ProfileKind, SamplePoint),
    reduced_checks: bool,
    options: &CollectorOptions,
) -> Result<Run, String> {
    let handlers = Collector::new(kind, point, options).map_err(|e| e.to_string())?;
    let options = SoftwareOptions {
        reduced_checks,
        ..SoftwareOptions::default()
    };
    let collector =
        SoftwareCollector::new(Some(kind), point, &options).map_err(|e| e.to_string())?;
    let (truth, profile) = watched(undisturbed, &collector, |process| {
        collector.read(process).map_err(|e| e.to_string())
    })?;
    let layout = truth.ran.editor.statistics();
    let copies = layout.copy_bytes.iter().sum::<u64>() + layout.routine_bytes;
    let original = |pc| truth.ran.editor.original_address(pc);
    let perturbation = found.perturbation(&truth.exact, original);
    let memory_bytes = copies + bytes_of(&handlers);
    Ok(finish(&truth, profile, perturbation, memory_bytes))
}

/// Memory for handlers and their data, in whole pages.
fn bytes_of(collector: &Collector) -> u64 {
    let range = collector.guest_range();
    range.end - range.start
}

fn watched<I: Install<Editor: TimedLoop<CyclesProbe>>>(
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
