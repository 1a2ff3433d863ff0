//! `dcpiprof`: samples by procedure or image, as in the paper's figure 1.

use std::collections::BTreeMap;
use std::fmt::Write;

use hps_isa::layout;
use hps_system::image::ProgramImage;

use super::percent;
use crate::samples::{Event, Samples};

/// Samples of something, by event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The procedure, or nothing.
    pub procedure: String,
    /// The image.
    pub image: String,
    /// Samples, in the order of the asked events.
    pub counts: Vec<u64>,
}

/// Samples by procedure, the most first. Addresses outside all procedures are one line. `None`: of code outside of all
/// objects.
#[must_use]
pub fn by_procedure(
    image: Option<&ProgramImage>,
    name: &str,
    samples: &Samples,
    events: &[Event],
) -> Vec<Line> {
    by(samples, events, name, |pc| {
        let function = image.and_then(|image| image.symbols.function_at(pc));
        let name = function.map(|f| f.name.as_str());
        let is_signal_return = layout::is_signal_return(pc);
        name.or(is_signal_return.then_some(layout::SIGNAL_RETURN))
            .unwrap_or("(no procedure)")
            .to_string()
    })
}

/// Samples by source line, the most first. Instructions without a line are one.
#[must_use]
pub fn by_line(
    image: Option<&ProgramImage>,
    name: &str,
    samples: &Samples,
    events: &[Event],
) -> Vec<Line> {
    by(samples, events, name, |pc| {
        let line = image.and_then(|image| image.symbols.source_line(pc));
        line.unwrap_or_else(|| "(no line)".to_string())
    })
}

fn by(samples: &Samples, events: &[Event], image: &str, name: impl Fn(u64) -> String) -> Vec<Line> {
    let mut lines: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        let counts = samples.of(*event).into_iter().flat_map(|c| &c.by_pc);
        for (&pc, &count) in counts {
            let line = lines
                .entry(name(pc))
                .or_insert_with(|| vec![0; events.len()]);
            line[at] += count;
        }
    }
    let mut lines: Vec<Line> = lines
        .into_iter()
        .map(|(procedure, counts)| Line {
            procedure,
            image: image.to_string(),
            counts,
        })
        .collect();
    lines.sort_by(|a, b| {
        b.counts
            .cmp(&a.counts)
            .then_with(|| a.procedure.cmp(&b.procedure))
    });
    lines
}

/// Samples of a whole image.
#[must_use]
pub fn by_image(name: &str, samples: &Samples, events: &[Event]) -> Line {
    let total = |event: &Event| samples.of(*event).map_or(0, |c| c.total());
    Line {
        procedure: String::new(),
        image: name.to_string(),
        counts: events.iter().map(total).collect(),
    }
}

/// The listing: totals, then the first lines with shares and their running sum.
#[must_use]
pub fn prof(lines: &[Line], events: &[Event], top: usize) -> String {
    let totals: Vec<u64> = (0..events.len())
        .map(|at| lines.iter().map(|l| l.counts[at]).sum())
        .collect();
    let sums = events.iter().zip(&totals);
    let sums: Vec<String> = sums.map(|(e, n)| format!("{} = {n}", e.name())).collect();
    let mut out = format!("Total samples for event type {}\n\n", sums.join(", "));
    out += "The counts given below are the number of samples for each listed event type.\n\n";
    for (at, event) in events.iter().enumerate() {
        let _ = write!(out, "{:>10} {:>7}", event.name(), "%");
        if at == 0 {
            let _ = write!(out, " {:>7}", "cum%");
        }
    }
    let has_procedures = lines.iter().any(|l| !l.procedure.is_empty());
    out += if has_procedures {
        "  procedure  image\n"
    } else {
        "  image\n"
    };
    let width = lines
        .iter()
        .take(top)
        .map(|l| l.procedure.chars().count())
        .max();
    let width = width.unwrap_or(0).min(48);
    let mut sum = 0;
    for line in lines.iter().take(top) {
        sum += line.counts.first().copied().unwrap_or(0);
        for (at, count) in line.counts.iter().enumerate() {
            let share = percent(*count as f64, totals[at] as f64);
            let _ = write!(out, "{count:>10} {share:>6.2}%");
            if at == 0 {
                let _ = write!(out, " {:>6.2}%", percent(sum as f64, totals[0] as f64));
            }
        }
        if has_procedures {
            let _ = write!(out, "  {:<width$}", line.procedure);
        }
        let _ = writeln!(out, "  {}", line.image);
    }
    if lines.len() > top {
        let _ = writeln!(out, "({} more)", lines.len() - top);
    }
    out
}
