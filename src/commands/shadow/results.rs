//! Results of `hps shadow simulate` as a table of one row.

use hps_frames::{Column, Frame, Schema, Table, Unit, count, real, text};
use hps_lab::shadow::ShadowOutcome;
use hps_profile::{Fraction, accuracy};
use hps_shadow::accuracy::{hot_path_accuracy, invariance_difference, overlap};
use hps_shadow::profiles::Profiles;

use super::args::ShadowsOn;

/// A run with shadows, beside what there was.
pub(super) struct Simulation<'a> {
    /// The program, as it was named.
    pub program: &'a str,
    /// The machine.
    pub machine: &'a str,
    /// Place where shadows ran.
    pub shadows_on: ShadowsOn,
    /// The run.
    pub outcome: &'a ShadowOutcome<'a>,
    /// Profiles of the whole run.
    pub truth: &'a Profiles<'a>,
}

/// A run with shadows as a frame.
pub(super) fn simulation(run: Option<Simulation<'_>>) -> Frame {
    let mut columns = Vec::from(shadows());
    columns.extend(profiles());
    let rows: Vec<Simulation<'_>> = run.into_iter().collect();
    Table::new("hps-shadow-simulation", 1, "a run with shadows", columns).frame(&rows)
}

fn shadows<'a>() -> [Column<Simulation<'a>>; 17] {
    [
        text("program", Unit::Text, "the program", |s| Some(s.program)),
        text("machine", Unit::Text, "name of the machine", |s| {
            Some(s.machine)
        }),
        text(
            "shadows_on",
            Unit::Word,
            "`host` or `chip`: where shadows ran",
            |s| {
                Some(match s.shadows_on {
                    ShadowsOn::Host => "host",
                    ShadowsOn::Chip => "chip",
                })
            },
        ),
        count(
            "instructions",
            Unit::Instructions,
            "instructions of the parent",
            |s| Some(s.outcome.instructions),
        ),
        real(
            "native_ns",
            Unit::Nanoseconds,
            "time of the parent without shadows",
            |s| Some(s.outcome.native_ns),
        ),
        real(
            "charged_ns",
            Unit::Nanoseconds,
            "time charged for signals, forks and faults",
            |s| Some(s.outcome.charged_ns),
        ),
        real("overhead", Unit::Share, "`charged_ns / native_ns`", |s| {
            Some(s.outcome.overhead())
        }),
        count("signals", Unit::Number, "signals of the monitor", |s| {
            Some(s.outcome.signals)
        }),
        count("shadows", Unit::Number, "shadows that were forked", |s| {
            Some(s.outcome.shadows)
        }),
        real(
            "average_live",
            Unit::Number,
            "average number of live shadows at signals",
            |s| Some(s.outcome.average_live),
        ),
        count(
            "covered_instructions",
            Unit::Instructions,
            "instructions that shadows executed",
            |s| Some(s.outcome.covered),
        ),
        real(
            "coverage",
            Unit::Share,
            "`covered_instructions / instructions`",
            |s| Some(s.outcome.coverage()),
        ),
        count(
            "copied_pages",
            Unit::Number,
            "pages of live shadows that the parent had to copy",
            |s| Some(s.outcome.copied_pages),
        ),
        count(
            "reused_pages",
            Unit::Number,
            "faults of the parent on pages that no shadow shared any more",
            |s| Some(s.outcome.reused_pages),
        ),
        count(
            "diverged_shadows",
            Unit::Number,
            "shadows that did something else than the parent then did",
            |s| Some(s.outcome.divergences.len() as u64),
        ),
        count(
            "transfers",
            Unit::Number,
            "transfers of control of shadows",
            |s| Some(s.outcome.transfers),
        ),
        count(
            "diverged_transfers",
            Unit::Number,
            "transfers behind a divergence",
            |s| Some(s.outcome.diverged_transfers),
        ),
    ]
}

fn profiles<'a>() -> [Column<Simulation<'a>>; 7] {
    [
        real(
            "hot_paths_found",
            Unit::Share,
            "hot paths within functions that shadows found, by weight",
            |s| hot_path_accuracy(s.truth.paths.paths(), s.outcome.profiles.paths.paths()),
        ),
        real(
            "hot_long_paths_found",
            Unit::Share,
            "hot paths across functions that shadows found, by weight",
            |s| {
                hot_path_accuracy(
                    s.truth.paths.long_paths(),
                    s.outcome.profiles.paths.long_paths(),
                )
            },
        ),
        real(
            "edge_overlap",
            Unit::Share,
            "overlap of the profiles of edges",
            |s| overlap(&s.truth.by_edge(), &s.outcome.profiles.by_edge()),
        ),
        real(
            "call_pair_overlap",
            Unit::Share,
            "overlap of the profiles of calls",
            |s| overlap(&s.truth.by_call_pair(), &s.outcome.profiles.by_call_pair()),
        ),
        real(
            "invariance_difference",
            Unit::Share,
            "mean difference of the invariance of values",
            |s| Some(invariance_difference(&s.truth.values, &s.outcome.profiles.values)?.mean),
        ),
        real(
            "invariance_compared",
            Unit::Share,
            "executions whose values were compared",
            |s| Some(invariance_difference(&s.truth.values, &s.outcome.profiles.values)?.share),
        ),
        real(
            "streams_found",
            Unit::Share,
            "renormalized accuracy of hot data streams; only with `--streams`",
            |s| {
                let (exact, sampled) = s.truth.streams().zip(s.outcome.profiles.streams())?;
                let found = accuracy(&sampled.profile, &exact.profile, Fraction::NINETY_PERCENT);
                Some(found.renormalized)
            },
        ),
    ]
}

/// Declarations of the tables of shadow profiling.
pub fn schemas() -> Vec<Schema> {
    vec![simulation(None).schema().clone()]
}
