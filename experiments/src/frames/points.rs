//! Points of a sweep, and their machines.

use hps_frames::{Column, Frame, Table, Unit, count, integer, real, text};

use crate::phases::Phases;
use crate::row::{AccuracyResult, Row, Sampled, TimingResult};
use crate::set_ups::SetUps;

/// A row with the number of its machine.
struct Point<'a> {
    row: &'a Row,
    machine_id: u64,
}

impl Point<'_> {
    fn accuracy(&self) -> Option<&AccuracyResult> {
        self.row.accuracy.as_ref()
    }

    fn timing(&self) -> Option<&TimingResult> {
        self.row.timing.as_ref()
    }

    fn sampled(&self) -> Option<&Sampled> {
        self.row.sampled()
    }

    fn phases(&self) -> Option<&Phases> {
        self.row.phases.as_ref()
    }

    fn set_ups(&self) -> Option<&SetUps> {
        self.row.timing.as_ref()?.set_ups.as_ref()
    }
}

/// Rows as a frame, in their order. `machine_id` is that of [`machines`].
#[must_use]
pub fn points(rows: &[Row]) -> Frame {
    let machines = machines_of(rows);
    let point = |row| Point {
        row,
        machine_id: id_of(&machines, row),
    };
    let points: Vec<Point<'_>> = rows.iter().map(point).collect();
    let mut columns = Vec::from(origin());
    columns.extend(accuracy());
    columns.extend(timing());
    columns.extend(chance());
    Table::new("hps-points", 1, "a point of a sweep", columns).frame(&points)
}

fn origin<'a>() -> [Column<Point<'a>>; 12] {
    [
        text(
            "id",
            Unit::Hash,
            "hash of everything that determines the point",
            |p| Some(&p.row.id),
        ),
        text("version", Unit::Text, "version of the lab", |p| {
            Some(&p.row.version)
        }),
        text("program", Unit::Text, "name of the program", |p| {
            Some(&p.row.program)
        }),
        text(
            "program_hash",
            Unit::Sha256,
            "hash of its executable",
            |p| Some(&p.row.program_hash),
        ),
        text(
            "input",
            Unit::Text,
            "`small`, `large`, or the arguments",
            |p| Some(&p.row.input),
        ),
        text("isa", Unit::Text, "instruction set", |p| Some(&p.row.isa)),
        text(
            "profile",
            Unit::Word,
            "`method`, `call_pair` or `data_stream`",
            |p| Some(p.row.profile.name()),
        ),
        count("burst_events", Unit::Events, "burst length", |p| {
            Some(p.row.burst)
        }),
        count(
            "sparsity_events",
            Unit::Events,
            "events between bursts",
            |p| Some(p.row.sparsity),
        ),
        count(
            "one_in",
            Unit::Events,
            "frequency as 1 in n: `burst / (burst + sparsity)`",
            |p| Some(p.row.one_in),
        ),
        text(
            "machine",
            Unit::Text,
            "machine, also where only accuracy was asked for",
            |p| Some(&p.row.machine),
        ),
        count("machine_id", Unit::Number, "row of `machines.csv`", |p| {
            Some(p.machine_id)
        }),
    ]
}

fn accuracy<'a>() -> [Column<Point<'a>>; 6] {
    [
        real(
            "accuracy_renormalized",
            Unit::Share,
            "overlap of the members that make up 90% of each profile, shares within the cut set, at the engine's phase",
            |p| Some(p.accuracy()?.renormalized),
        ),
        real(
            "accuracy_capped",
            Unit::Share,
            "overlap of these members by their shares of the whole profile; at most about 0.9",
            |p| Some(p.accuracy()?.capped),
        ),
        count(
            "members_exact",
            Unit::Members,
            "members of the exhaustive profile after the cut",
            |p| Some(p.accuracy()?.members_exact),
        ),
        count(
            "members_sampled",
            Unit::Members,
            "members of the sampled profile after the cut",
            |p| Some(p.accuracy()?.members_sampled),
        ),
        count("samples", Unit::Events, "events sampled", |p| {
            Some(p.accuracy()?.samples)
        }),
        count(
            "population",
            Unit::Events,
            "events of the exhaustive profile; of data streams, references",
            |p| Some(p.accuracy()?.population),
        ),
    ]
}

fn timing<'a>() -> [Column<Point<'a>>; 15] {
    [
        count(
            "baseline_cycles",
            Unit::Cycles,
            "cycles without DISE",
            |p| Some(p.timing()?.baseline_cycles),
        ),
        count(
            "cycles",
            Unit::Cycles,
            "cycles with the profile collected",
            |p| Some(p.timing()?.cycles),
        ),
        real(
            "overhead",
            Unit::Share,
            "`cycles / baseline_cycles - 1`",
            |p| Some(p.timing()?.overhead),
        ),
        count(
            "instructions",
            Unit::Instructions,
            "instructions of the program",
            |p| Some(p.timing()?.instructions),
        ),
        count(
            "inserted_instructions",
            Unit::Instructions,
            "instructions of replacements, triggers excluded",
            |p| Some(p.timing()?.inserted_instructions),
        ),
        count(
            "handler_instructions",
            Unit::Instructions,
            "instructions of handlers",
            |p| Some(p.timing()?.handler_instructions),
        ),
        text(
            "status",
            Unit::Word,
            "`ok` or `failed`: whether the point succeeded",
            |p| match p.row.failure {
                Some(_) => Some("failed"),
                None => Some("ok"),
            },
        ),
        text("failure", Unit::Text, "why the point failed", |p| {
            p.row.failure.as_deref()
        }),
        real(
            "overhead_half_width",
            Unit::Share,
            "half the width of the overhead's 95% interval, for sampling alone",
            |p| Some(p.sampled()?.half_width),
        ),
        count("sampled_units", Unit::Number, "timed units measured", |p| {
            Some(p.sampled()?.units)
        }),
        count(
            "sampled_units_with_insertions",
            Unit::Number,
            "timed units into which DISE inserted anything",
            |p| Some(p.sampled()?.units_with_insertions),
        ),
        count(
            "sampling_period",
            Unit::Instructions,
            "from one timed unit to the next",
            |p| Some(p.sampled()?.plan.period),
        ),
        count(
            "sampling_warm_up",
            Unit::Instructions,
            "timed before each unit and not measured, in the mean",
            |p| Some(p.sampled()?.plan.warm_up),
        ),
        count(
            "sampling_unit",
            Unit::Instructions,
            "length of a timed unit",
            |p| Some(p.sampled()?.plan.unit),
        ),
        text(
            "core",
            Unit::Word,
            "`cycle` or `instruction`: how the machine was simulated",
            |p| Some(p.timing()?.core.name()),
        ),
    ]
}

fn chance<'a>() -> [Column<Point<'a>>; 14] {
    [
        count("phases", Unit::Number, "phases that were measured", |p| {
            Some(p.phases()?.count() as u64)
        }),
        real(
            "phases_mean",
            Unit::Share,
            "mean of the renormalized accuracy over phases; tables and pictures show this one",
            |p| Some(p.phases()?.mean),
        ),
        real(
            "phases_capped_mean",
            Unit::Share,
            "mean of the capped accuracy over phases",
            |p| Some(p.phases()?.capped),
        ),
        real(
            "phases_deviation",
            Unit::Share,
            "standard deviation of the renormalized accuracy over phases",
            |p| Some(p.phases()?.deviation),
        ),
        real(
            "phases_half_width",
            Unit::Share,
            "half the width of the 95% interval of the mean (Student's t)",
            |p| p.phases()?.half_width,
        ),
        count(
            "phases_silent",
            Unit::Number,
            "phases at which nothing was sampled; their accuracy counts as 0",
            |p| Some(p.phases()?.silent),
        ),
        count("set_ups", Unit::Number, "set-ups that were timed", |p| {
            Some(p.set_ups()?.count)
        }),
        real(
            "set_ups_mean",
            Unit::Share,
            "mean of the overhead over set-ups",
            |p| Some(p.set_ups()?.mean),
        ),
        real(
            "set_ups_deviation",
            Unit::Share,
            "standard deviation of the overhead over set-ups",
            |p| Some(p.set_ups()?.deviation),
        ),
        real(
            "set_ups_half_width",
            Unit::Share,
            "half the width of the 95% interval of this mean",
            |p| Some(p.set_ups()?.half_width),
        ),
        real(
            "set_ups_least",
            Unit::Share,
            "smallest overhead of a set-up",
            |p| Some(p.set_ups()?.least),
        ),
        real(
            "set_ups_greatest",
            Unit::Share,
            "greatest overhead of a set-up",
            |p| Some(p.set_ups()?.greatest),
        ),
        integer(
            "extra_misses",
            Unit::Misses,
            "misses of the level 1 caches with the collector less those without; may be negative",
            |p| {
                let misses = p.timing()?.extra_misses?;
                Some(misses.instruction + misses.data)
            },
        ),
        text(
            "root_hash",
            Unit::Sha256,
            "hash of the lock file of the program's root, or of all files in the root of a program of the suite; missing \
             for any other root and without one",
            |p| p.row.root_hash.as_deref(),
        ),
    ]
}

/// A machine of rows: its number, name and fingerprint.
type Machine<'a> = (u64, &'a str, &'a str);

/// The machines of rows, each once, with its number from 1 on in the order of the rows.
#[must_use]
pub fn machines(rows: &[Row]) -> Frame {
    let columns: [Column<Machine<'_>>; 3] = [
        count(
            "machine_id",
            Unit::Number,
            "number of the machine, from 1 in the order of `results.csv`",
            |m| Some(m.0),
        ),
        text("machine", Unit::Text, "its name", |m| Some(m.1)),
        text(
            "fingerprint",
            Unit::Ron,
            "every key of the machine but its names",
            |m| Some(m.2),
        ),
    ];
    let machines: Vec<Machine<'_>> = (1..)
        .zip(machines_of(rows))
        .map(|(id, (name, fingerprint))| (id, name, fingerprint))
        .collect();
    Table::new("hps-machines", 1, "a machine of a sweep's points", columns).frame(&machines)
}

/// Names and fingerprints of the machines of rows, each once.
fn machines_of(rows: &[Row]) -> Vec<(&str, &str)> {
    let mut machines = Vec::new();
    for row in rows {
        let machine = (row.machine.as_str(), row.machine_fingerprint.as_str());
        if !machines.contains(&machine) {
            machines.push(machine);
        }
    }
    machines
}

/// The number of a row's machine.
fn id_of(machines: &[(&str, &str)], row: &Row) -> u64 {
    let of_row = (row.machine.as_str(), row.machine_fingerprint.as_str());
    let at = machines.iter().position(|machine| *machine == of_row);
    at.map_or(0, |at| at as u64 + 1)
}
