//! Results of `hps shim simulate` as a table of one row.

use hps_experiments::shim::Intervals;
use hps_frames::{Column, Frame, Schema, Table, Unit, count, real, text};
use hps_lab::observer::{Observed, Placement};
use hps_shim::Dte;

/// A program with an observer, beside its run without one.
pub(super) struct Simulation<'a> {
    /// The program, as it was named.
    pub program: &'a str,
    /// The machine.
    pub machine: &'a str,
    /// Place of the observer.
    pub placement: Placement,
    /// The run without samples.
    pub alone: &'a Observed,
    /// The run with samples.
    pub observed: &'a Observed,
    /// What its samples tell.
    pub seen: &'a Intervals<'a>,
    /// Whether samples hold counters of instructions.
    pub has_counters: bool,
}

impl Simulation<'_> {
    /// Share of the intervals for which something holds; nothing if there are none.
    fn share(&self, holds: impl Fn(&hps_experiments::shim::Interval) -> bool) -> Option<f64> {
        let all = &self.seen.all;
        let count = all.iter().filter(|interval| holds(interval)).count();
        (!all.is_empty()).then(|| count as f64 / all.len() as f64)
    }
}

/// A simulation as a frame.
pub(super) fn simulation(run: Option<Simulation<'_>>) -> Frame {
    let rows: Vec<Simulation<'_>> = run.into_iter().collect();
    let mut columns = Vec::from(runs());
    columns.extend(samples());
    Table::new(
        "hps-shim-simulation",
        1,
        "a program with an observer beside it",
        columns,
    )
    .frame(&rows)
}

fn runs<'a>() -> [Column<Simulation<'a>>; 9] {
    [
        text("program", Unit::Text, "the program", |s| Some(s.program)),
        text("machine", Unit::Text, "name of the machine", |s| {
            Some(s.machine)
        }),
        text(
            "placement",
            Unit::Word,
            "`smt` or `cmp`: on the program's core, or on another one",
            |s| {
                Some(match s.placement {
                    Placement::Smt => "smt",
                    Placement::Cmp => "cmp",
                })
            },
        ),
        count(
            "instructions",
            Unit::Instructions,
            "instructions of the program",
            |s| Some(s.observed.instructions),
        ),
        count(
            "baseline_cycles",
            Unit::Cycles,
            "cycles of the run without samples",
            |s| Some(s.alone.cycles),
        ),
        count(
            "cycles",
            Unit::Cycles,
            "cycles of the run with samples",
            |s| Some(s.observed.cycles),
        ),
        real(
            "overhead",
            Unit::Share,
            "`cycles / baseline_cycles - 1`",
            |s| Some(s.observed.cycles as f64 / s.alone.cycles.max(1) as f64 - 1.0),
        ),
        count(
            "samples",
            Unit::Number,
            "samples that the observer took",
            |s| Some(s.observed.samples),
        ),
        real(
            "period_cycles",
            Unit::Cycles,
            "cycles from sample to sample, in the mean",
            |s| Some(s.observed.period()),
        ),
    ]
}

fn samples<'a>() -> [Column<Simulation<'a>>; 6] {
    [
        count(
            "intervals",
            Unit::Number,
            "intervals between two samples of the program",
            |s| Some(s.seen.all.len() as u64),
        ),
        real(
            "kept_share",
            Unit::Share,
            "intervals that double-time error correction keeps",
            |s| {
                let dte = Dte::default();
                s.share(|interval| interval.is_kept(dte))
            },
        ),
        real(
            "damaged_share",
            Unit::Share,
            "damaged intervals; only with `--ipc`",
            |s| {
                s.has_counters
                    .then(|| s.share(|interval| interval.is_damaged()))?
            },
        ),
        real(
            "damaged_kept_share",
            Unit::Share,
            "damaged intervals that are kept; only with `--ipc`",
            |s| {
                let dte = Dte::default();
                let share = || s.share(|interval| interval.is_damaged() && interval.is_kept(dte));
                s.has_counters.then(share)?
            },
        ),
        real(
            "overlap",
            Unit::Share,
            "overlap of samples with cycles, by function or by the program's own tags",
            |s| (!s.seen.all.is_empty()).then(|| s.seen.overlap()),
        ),
        count(
            "thread_switches",
            Unit::Number,
            "samples with another thread than the one before",
            |s| Some(s.seen.thread_switches),
        ),
    ]
}

/// Declarations of the tables of observers.
pub fn schemas() -> Vec<Schema> {
    vec![simulation(None).schema().clone()]
}
