//! Measurements of units, bars of the HPS paper's Figure 7, and claims with their verdicts.

use hps_frames::{Column, Frame, Table, Unit, count, integer, made, real, text};

use crate::claims::Claim;
use crate::figure7::Bar;
use crate::measurement::{Measurement, UnitRecord};
use crate::schemes::Part;

/// A measurement of a unit, or a unit that failed.
struct Line<'a> {
    unit: &'a UnitRecord,
    measured: Option<&'a Measurement>,
}

/// Every measurement, one in a row, and each unit that failed.
///
/// The machine's configuration, which is long, stands in `units.jsonl`, which has the same ids.
#[must_use]
pub fn measurements(records: &[UnitRecord]) -> Frame {
    let lines = records.iter().flat_map(|unit| {
        let failed = unit.failure.is_some().then_some(Line {
            unit,
            measured: None,
        });
        let measured = unit.measurements.iter().map(move |measurement| Line {
            unit,
            measured: Some(measurement),
        });
        failed.into_iter().chain(measured)
    });
    let lines: Vec<Line<'_>> = lines.collect();
    let mut columns = units();
    columns.extend(values());
    let row = "a number that was measured, or a unit that failed";
    Table::new("hps-measurements", 2, row, columns).frame(&lines)
}

fn units<'a>() -> Vec<Column<Line<'a>>> {
    vec![
        text(
            "id",
            Unit::Hash,
            "hash of everything that determines the unit",
            |l| Some(&l.unit.id),
        ),
        text("version", Unit::Text, "version of the lab", |l| {
            Some(&l.unit.version)
        }),
        text(
            "study",
            Unit::Text,
            "the study that the unit belongs to",
            |l| Some(&l.unit.study),
        ),
        text(
            "program",
            Unit::Text,
            "program; a study may measure programs of its own",
            |l| Some(l.measured.map_or(&l.unit.program, |m| &m.program)),
        ),
        text(
            "program_hash",
            Unit::Sha256,
            "hash of the unit's executable",
            |l| Some(&l.unit.program_hash),
        ),
        text(
            "input",
            Unit::Text,
            "`small`, `large`, or the arguments",
            |l| Some(&l.unit.input),
        ),
        text("isa", Unit::Text, "instruction set", |l| {
            Some(l.measured.map_or(&l.unit.isa, |m| &m.isa))
        }),
        text("machine", Unit::Text, "name of the machine", |l| {
            Some(&l.unit.machine)
        }),
    ]
}

fn values<'a>() -> [Column<Line<'a>>; 12] {
    [
        text(
            "profile",
            Unit::Word,
            "kind of profile, if one was collected",
            |l| Some(l.measured?.profile?.name()),
        ),
        text(
            "scheme",
            Unit::Word,
            "what collected it: a profiler, a scheme, a kind of observer; may be empty",
            |l| Some(&l.measured?.scheme),
        ),
        count("burst_events", Unit::Events, "burst length", |l| {
            l.measured?.burst
        }),
        count(
            "one_in",
            Unit::EventsOrCycles,
            "frequency as 1 in n; of profilers that sample by time, their period",
            |l| l.measured?.one_in,
        ),
        text(
            "setting",
            Unit::Text,
            "what else was varied, such as `pt_entries=8`; empty if nothing",
            |l| Some(&l.measured?.setting),
        ),
        real(
            "x",
            Unit::Number,
            "position of the setting on an axis",
            |l| l.measured?.x,
        ),
        text(
            "measure",
            Unit::Word,
            "[what was measured](measures.md), with its unit in the name",
            |l| Some(&l.measured?.measure),
        ),
        real("value", Unit::OfMeasure, "the number", |l| {
            Some(l.measured?.value)
        }),
        real(
            "interval_95",
            Unit::OfMeasure,
            "half the width of its 95% confidence interval",
            |l| l.measured?.interval,
        ),
        text(
            "failure",
            Unit::Text,
            "why the unit failed; such a row has no measurement",
            |l| match l.measured {
                Some(_) => None,
                None => l.unit.failure.as_deref(),
            },
        ),
        text(
            "core",
            Unit::Word,
            "`cycle` or `instruction`: how the machine was simulated",
            |l| Some(l.unit.core.name()),
        ),
        count(
            "run",
            Unit::Number,
            "which of several runs, each with another phase or seed, from 0",
            |l| l.measured?.run,
        ),
    ]
}

/// The bars of the HPS paper's Figure 7. A part that a scheme does not have is missing.
#[must_use]
pub fn bars(bars: &[Bar]) -> Frame {
    let columns: [Column<Bar>; 12] = [
        text("program", Unit::Text, "program", |b| Some(&b.program)),
        text("isa", Unit::Text, "instruction set", |b| Some(&b.isa)),
        text("profile", Unit::Word, "kind of profile", |b| {
            Some(b.kind.name())
        }),
        text(
            "scheme",
            Unit::Word,
            "`hps`, `plain_dise`, `software` or `software_reduced`",
            |b| Some(b.scheme.name()),
        ),
        count(
            "baseline_cycles",
            Unit::Cycles,
            "the program without a profiler",
            |b| Some(b.baseline_cycles),
        ),
        count(
            "whole_cycles",
            Unit::Cycles,
            "the program with all of it",
            |b| Some(b.whole_cycles),
        ),
        integer(
            "sampling_cycles",
            Unit::Cycles,
            "cost of collecting samples",
            |b| b.cycles(Part::Sampling),
        ),
        integer(
            "basic_cycles",
            Unit::Cycles,
            "cost of deciding when to sample",
            |b| b.cycles(Part::Basic),
        ),
        integer(
            "checks_cycles",
            Unit::Cycles,
            "cost of asking at each instruction of interest whether to sample",
            |b| b.cycles(Part::Checks),
        ),
        integer(
            "duplication_cycles",
            Unit::Cycles,
            "cost of running beside a copy of the code; only software schemes",
            |b| b.cycles(Part::Duplication),
        ),
        real(
            "overhead",
            Unit::Share,
            "`whole_cycles / baseline_cycles - 1`",
            |b| Some(b.overhead()),
        ),
        integer(
            "cycles_of_burst_ends",
            Unit::Cycles,
            "what beginning and ending bursts costs; a part of `basic_cycles`",
            |b| b.burst_ends,
        ),
    ];
    Table::new("hps-figure7", 1, "a bar of the paper's Figure 7", columns).frame(bars)
}

/// Claims with their verdicts.
#[must_use]
pub fn claims(claims: &[Claim]) -> Frame {
    let columns: [Column<Claim>; 7] = [
        text("isa", Unit::Text, "instruction set", |c| Some(&c.isa)),
        text("claim", Unit::Text, "what the paper says", |c| {
            Some(&c.claim)
        }),
        text("paper", Unit::Text, "its number", |c| Some(&c.paper)),
        text("here", Unit::Text, "the number measured here", |c| {
            Some(&c.here)
        }),
        made(
            "verdict",
            Unit::Text,
            "[verdict](units.md#claimscsv)",
            |c| Some(c.verdict.to_string()),
        ),
        text(
            "rule",
            Unit::Text,
            "the rule that decides the verdict",
            |c| Some(&c.rule),
        ),
        text(
            "refuted_by",
            Unit::Text,
            "what would refute the claim",
            |c| Some(&c.refuted_by),
        ),
    ];
    Table::new("hps-claims", 1, "a claim with its verdict", columns).frame(claims)
}
