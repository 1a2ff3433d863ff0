//! How much a single set-up can mislead.

use hps_experiments::studies::set_ups::{BURST, KIND, NAME, ONE_IN};
use hps_experiments::{SetUps, UnitRecord};

use super::data::{Numbers, OVERHEAD};
use crate::PlotError;
use crate::axis::frequency;
use crate::chapter::{Chapter, ChapterTable};

pub(super) fn chapter(records: &[UnitRecord]) -> Result<Option<Chapter>, PlotError> {
    let Some(numbers) = Numbers::of(records, NAME) else {
        return Ok(None);
    };
    let all = programs(&numbers);
    let mut text = vec![format!(
        "The size of the environment moves the stack, which no program asks for and no paper reports. Here the same program, \
         input, machine and {} profile (burst {BURST}, {}) run with environments of different sizes, drawn within a page. \
         Mytkowicz and others (ASPLOS 2009) show that such a choice can turn a conclusion round; order of linking, their \
         other choice, is not varied, since programs come as images.",
        KIND.title(),
        frequency(ONE_IN)
    )];
    text.extend(found(&all));
    text.extend(numbers.extent());
    Ok(Some(Chapter {
        id: NAME.to_string(),
        title: "One set-up of many".to_string(),
        text,
        figures: Vec::new(),
        tables: vec![table(&all)],
    }))
}

/// A program in its set-ups.
struct InSetUps {
    program: String,
    overheads: SetUps,
    /// The overhead in each, the configured one first.
    each: Vec<f64>,
    /// Cycles without a profile.
    cycles: Vec<f64>,
}

fn programs(numbers: &Numbers<'_>) -> Vec<InSetUps> {
    let of_program = |program: String| {
        let of = numbers.program(&program);
        let each = |measure: &str| -> Vec<f64> {
            let of = of.measure(measure);
            of.xs().iter().filter_map(|&x| of.at(x).value()).collect()
        };
        let overheads = each(OVERHEAD);
        Some(InSetUps {
            overheads: SetUps::of(&overheads)?,
            cycles: each("cycles_alone"),
            each: overheads,
            program,
        })
    };
    numbers
        .programs()
        .into_iter()
        .filter_map(of_program)
        .collect()
}

/// How often a set-up lies more than a quarter from the mean over all, and what the configured one says.
fn found(all: &[InSetUps]) -> Option<String> {
    let set_ups: usize = all.iter().map(|of| of.each.len()).sum();
    let off = |of: &InSetUps| {
        let mean = of.overheads.mean;
        let off = of
            .each
            .iter()
            .filter(|o| (*o - mean).abs() > 0.25 * mean.abs());
        off.count()
    };
    let astray: usize = all.iter().map(off).sum();
    let widest = all.iter().max_by(|a, b| {
        let width = |of: &InSetUps| of.overheads.greatest - of.overheads.least;
        width(a).total_cmp(&width(b))
    })?;
    let signs = all
        .iter()
        .filter(|of| of.overheads.least < 0.0 && of.overheads.greatest > 0.0);
    Some(format!(
        "In {astray} of {set_ups} set-ups the overhead is more than a quarter away from its program's mean over set-ups. It \
         varies most in {}: {:.3} to {:.3}%. In {} of {} programs some set-ups say that the profile costs time and others that \
         it saves some.",
        widest.program,
        100.0 * widest.overheads.least,
        100.0 * widest.overheads.greatest,
        signs.count(),
        all.len()
    ))
}

fn table(all: &[InSetUps]) -> ChapterTable {
    let head = [
        "Program",
        "Set-ups",
        "Overhead % as configured",
        "mean over set-ups",
        "95% interval ±",
        "standard deviation",
        "lowest",
        "highest",
        "cycles without a profile: range % of the mean",
    ];
    let mut table = ChapterTable::new("Overheads over set-ups", 1, &head);
    let percent = |share: f64| format!("{:.3}", 100.0 * share);
    for of in all {
        let s = &of.overheads;
        let cycles = of.cycles.iter().copied();
        let mean = cycles.clone().sum::<f64>() / of.cycles.len().max(1) as f64;
        let range =
            cycles.clone().fold(f64::NEG_INFINITY, f64::max) - cycles.fold(f64::INFINITY, f64::min);
        table.rows.push(vec![
            of.program.clone(),
            s.count.to_string(),
            of.each
                .first()
                .map_or("–".to_string(), |first| percent(*first)),
            percent(s.mean),
            percent(s.half_width),
            percent(s.deviation),
            percent(s.least),
            percent(s.greatest),
            percent(range / mean),
        ]);
    }
    table
}
