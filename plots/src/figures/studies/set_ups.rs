//! How much a single set-up, or a single order of linking, can mislead.

use hps_experiments::studies::set_ups::{BURST, KIND, NAME, ONE_IN};
use hps_experiments::studies::{link_order, phase_costs};
use hps_experiments::{SetUps, UnitRecord};

use super::data::{Numbers, OVERHEAD};
use crate::PlotError;
use crate::axis::frequency;
use crate::chapter::{Chapter, ChapterTable};

pub(super) fn chapter(records: &[UnitRecord]) -> Result<Option<Chapter>, PlotError> {
    let what = format!(
        "The size of the environment moves the stack, which no program asks for and no paper reports. Here the same program, \
         input, machine and {} profile (burst {BURST}, {}) run with environments of different sizes, drawn within a page. \
         Mytkowicz and others (ASPLOS 2009) show that such a choice can turn a conclusion round; the order of linking, their \
         other choice, is varied where the lab has sources and a compiler, in a chapter of its own.",
        KIND.title(),
        frequency(ONE_IN)
    );
    Ok(of_study(records, NAME, "One set-up of many", what))
}

pub(super) fn order_chapter(records: &[UnitRecord]) -> Result<Option<Chapter>, PlotError> {
    let what = format!(
        "The order in which a program's objects are linked moves its functions and data, and changes nothing else. Here the \
         same objects, of the cross compiler and with the options of the committed images, are linked in orders that are drawn \
         (the first one is that of the images), and run with the same input, machine and {} profile (burst {BURST}, {}).",
        KIND.title(),
        frequency(ONE_IN)
    );
    Ok(of_study(
        records,
        link_order::NAME,
        "One order of linking of many",
        what,
    ))
}

pub(super) fn phase_chapter(records: &[UnitRecord]) -> Result<Option<Chapter>, PlotError> {
    let what = format!(
        "Accuracies are means over phases, since where the first burst falls is chance. Costs are those of one phase, since each \
         takes a timed run. Here the same program, input, machine and {} profile (burst {}, {}) run at several phases: how far \
         a cost of one phase may be off.",
        phase_costs::KIND.title(),
        phase_costs::BURST,
        frequency(phase_costs::ONE_IN)
    );
    Ok(of_study(
        records,
        phase_costs::NAME,
        "Costs at one phase of many",
        what,
    ))
}

fn of_study(records: &[UnitRecord], study: &str, title: &str, what: String) -> Option<Chapter> {
    let numbers = Numbers::of(records, study)?;
    let all = programs(&numbers);
    let mut text = vec![what];
    text.extend(found(&all));
    text.extend(numbers.extent());
    Some(Chapter {
        id: study.to_string(),
        title: title.to_string(),
        text,
        figures: Vec::new(),
        tables: vec![table(&all)],
    })
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
    let far_off: usize = all.iter().map(off).sum();
    let widest = all.iter().max_by(|a, b| {
        let width = |of: &InSetUps| of.overheads.greatest - of.overheads.least;
        width(a).total_cmp(&width(b))
    })?;
    let signs = all
        .iter()
        .filter(|of| of.overheads.least < 0.0 && of.overheads.greatest > 0.0);
    Some(format!(
        "In {far_off} of {set_ups} runs the overhead is more than a quarter away from its program's mean. It \
         varies most in {}: {:.3} to {:.3}%. In {} of {} programs some runs say that the profile costs time and others that \
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
        "Runs",
        "Overhead % as configured",
        "mean over runs",
        "95% interval ±",
        "standard deviation",
        "lowest",
        "highest",
        "cycles without a profile: range % of the mean",
    ];
    let mut table = ChapterTable::new("Overheads over runs", 1, &head);
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
            match of.cycles.len() {
                0 => "–".to_string(),
                _ => percent(range / mean),
            },
        ]);
    }
    table
}
