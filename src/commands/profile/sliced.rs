//! Profiles of runs in slices.

use hps_isa::editor::NoEditor;
use hps_lab::slices::Slicing;
use hps_lab::{Lab, Timed, Truth, Watch};
use hps_profile::{Profile, overlap_without_cut};
use hps_profilers::registry::Profiler;
use hps_profilers::{ExactProfile, Key, Period};

use crate::cli::{ProfileArgs, first_given};
use crate::slices::{self, SlicesDocument};

/// How the run is cut, if it is.
pub(super) fn slicing(
    args: &ProfileArgs,
    lab: &Lab<'_, Timed<'_>>,
) -> anyhow::Result<Option<Slicing>> {
    anyhow::ensure!(
        args.sliced.jobs.is_none() || args.sliced.is_sliced(),
        "--jobs goes with --slices or --slice-length"
    );
    slices::slicing(&args.sliced, unsliced(args), lab.subject(), lab.most())
}

/// The first option that was given and does not go with slices.
fn unsliced(args: &ProfileArgs) -> Option<&'static str> {
    let all = [
        (args.charged, "--charged"),
        (
            !args.export.is_empty(),
            "--export: calling contexts are not kept, and --export",
        ),
        (
            args.out.is_some(),
            "--out: calling contexts are not kept, and --out",
        ),
        (args.timeline, "--timeline"),
        (args.process.is_some(), "--process"),
        (
            args.subject.guest.writes_host(),
            "--writable (but for --writable=scratch)",
        ),
    ];
    first_given(&all)
}

/// Watch of a slice, whose profilers sample at times of their own.
pub(super) fn watch(
    args: &ProfileArgs,
    profilers: &[&Profiler],
    periods: &[Period],
    slice: u64,
) -> Watch {
    let samplers = profilers.iter().zip(periods);
    let of_slice = |period: &Period| period.of_context(slice as usize);
    Watch {
        samplers: samplers
            .map(|(profiler, period)| ((profiler.policy)(), of_slice(period)))
            .collect(),
        program: args.program(),
        ..Watch::default()
    }
}

/// Profiles a run in slices. `check` is the same run, to be timed as a whole. `None`: only a part of the slices was timed.
pub(super) fn run<'a>(
    lab: Lab<'a, Timed<'a>>,
    slicing: &Slicing,
    watch: &(dyn Fn(u64) -> Watch + Sync),
    check: Option<Lab<'a, Timed<'a>>>,
) -> anyhow::Result<Option<(Truth<NoEditor>, SlicesDocument)>> {
    let straight = check.map(|lab| lab.watched(watch(0))).transpose()?;
    let sliced = lab.sliced_watched(slicing, watch);
    slices::end_progress();
    let sliced = sliced?;
    let cycles = straight.as_ref().map(|truth| truth.ran.cycles());
    let mut document = SlicesDocument::new(slicing, &sliced, cycles);
    let Some(truth) = sliced.joined else {
        slices::say_part(slicing, &sliced);
        return Ok(None);
    };
    document.overlap = straight.map(|straight| overlap(&truth.exact, &straight.exact));
    Ok(Some((truth, document)))
}

/// The share of time that two profiles give to the same instructions.
fn overlap(one: &ExactProfile, other: &ExactProfile) -> f64 {
    let profile = |exact: &ExactProfile| exact.weights().collect::<Profile<Key>>();
    overlap_without_cut(&profile(one), &profile(other))
}
