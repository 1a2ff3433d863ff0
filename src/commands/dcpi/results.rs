//! Samples of `hps dcpi report` as a table: a row for each procedure or object and event.

use hps_dcpi::report::Line;
use hps_dcpi::samples::Event;
use hps_frames::{Column, Frame, Schema, Table, Unit, count, real, text};

/// Samples of an event.
struct Samples<'a> {
    line: &'a Line,
    event: Event,
    samples: u64,
    total: u64,
}

/// Lines as a frame. `events` are those of their counts.
pub(super) fn samples(lines: &[Line], events: &[Event]) -> Frame {
    let columns: [Column<Samples<'_>>; 5] = [
        text("image", Unit::Text, "path of the object", |s| {
            Some(&s.line.image)
        }),
        text(
            "procedure",
            Unit::Text,
            "the procedure; missing by object (`--by-image`)",
            |s| Some(s.line.procedure.as_str()).filter(|name| !name.is_empty()),
        ),
        text("event", Unit::Word, "the [event](dcpi.md#events)", |s| {
            Some(s.event.name())
        }),
        count("samples", Unit::Number, "samples of the event", |s| {
            Some(s.samples)
        }),
        real(
            "share",
            Unit::Share,
            "of all samples of the event; missing if there is none",
            |s| (s.total > 0).then(|| s.samples as f64 / s.total as f64),
        ),
    ];
    let total = |at: usize| lines.iter().map(|line| line.counts[at]).sum();
    let totals: Vec<u64> = (0..events.len()).map(total).collect();
    let rows = lines.iter().flat_map(|line| {
        let counted = line.counts.iter().zip(events).zip(&totals);
        counted.map(move |((&samples, &event), &total)| Samples {
            line,
            event,
            samples,
            total,
        })
    });
    let rows: Vec<Samples<'_>> = rows.collect();
    Table::new(
        "hps-dcpi-samples",
        1,
        "samples of an event in a procedure",
        columns,
    )
    .frame(&rows)
}

/// Declarations of the tables of DCPI.
pub fn schemas() -> Vec<Schema> {
    vec![samples(&[], &[]).schema().clone()]
}
