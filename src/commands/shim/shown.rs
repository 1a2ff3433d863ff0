//! Tables of `hps shim simulate --own-tags`: tags and counters that the program writes itself.

use std::collections::BTreeSet;

use hps_experiments::shim::{Counting, Intervals, Stacks, Work, true_totals};
use hps_lab::Program;
use hps_lab::observer::shown::Shown;
use hps_shim::Dte;
use hps_shim::region::FIRST_ADDRESS;

use super::simulate::percent;
use crate::text::{Align, Table, grouped};

/// Tags in the table.
const TAGS: usize = 25;

/// Tags by the cycles that the program spent under them, with what the samples say.
pub(super) fn tags(
    program: &Program,
    shown: &Shown,
    seen: &Intervals<'_>,
    counting: Counting,
    stacks: Option<&Stacks>,
) -> Table {
    let measured = seen.measured_work(Dte::default());
    let precision = seen.precision();
    let samples: f64 = seen.sampled.values().sum();
    let cycles: f64 = seen.true_work.values().map(|work| work.cycles).sum();
    let tags: BTreeSet<usize> = seen
        .sampled
        .keys()
        .chain(seen.true_work.keys())
        .copied()
        .collect();
    let of = |tag: usize| seen.true_work.get(&tag).copied().unwrap_or_default();
    let mut rows: Vec<(usize, Work)> = tags.into_iter().map(|tag| (tag, of(tag))).collect();
    rows.sort_by(|a, b| b.1.cycles.total_cmp(&a.1.cycles));
    let mut columns = vec![
        ("tag", Align::Left),
        ("samples", Align::Right),
        ("cycles", Align::Right),
        ("precision", Align::Right),
    ];
    if counting != Counting::Nothing {
        columns.extend([("IPC by samples", Align::Right), ("IPC", Align::Right)]);
    }
    let totals = stacks.map(|stacks| (stacks.totals(), true_totals(&shown.paths)));
    if totals.is_some() {
        columns.extend([
            ("samples in all", Align::Right),
            ("cycles in all", Align::Right),
        ]);
    }
    let mut table = Table::new(&columns);
    for (tag, work) in rows.into_iter().take(TAGS) {
        let sampled = seen.sampled.get(&tag).copied().unwrap_or(0.0);
        let mut row = vec![
            name(program, shown, tag as u64),
            percent(sampled / samples.max(1.0)),
            percent(work.cycles / cycles.max(1.0)),
            precision
                .get(&tag)
                .map_or("-".to_string(), |share| percent(*share)),
        ];
        if counting != Counting::Nothing {
            let ipc = |work: &Work| format!("{:.3}", work.ipc());
            row.push(measured.get(&tag).map_or("-".to_string(), ipc));
            row.push(ipc(&work));
        }
        if let Some((sampled, truth)) = &totals {
            for by_tag in [sampled, truth] {
                let share = by_tag.get(&(tag as u64));
                row.push(share.map_or("-".to_string(), |share| percent(*share)));
            }
        }
        table.row(row);
    }
    table
}

/// A table of how tag stacks were read: whole, torn, too deep.
pub(super) fn stacks(shown: &Shown, stacks: &Stacks) -> Table {
    let mut table = Table::new(&[("tag stacks", Align::Left), ("value", Align::Right)]);
    let all = (stacks.whole + stacks.torn + stacks.deep).max(1) as f64;
    let paths = shown.paths.iter().filter(|(_, spent)| spent.cycles > 0);
    for (what, value) in [
        ("read whole", percent(stacks.whole as f64 / all)),
        ("changed meanwhile", percent(stacks.torn as f64 / all)),
        ("deeper than was read", percent(stacks.deep as f64 / all)),
        ("read whole, and never so", grouped(stacks.invalid)),
        ("paths in samples", grouped(stacks.paths.len() as u64)),
        ("paths", grouped(paths.count() as u64)),
        (
            "overlap of samples with cycles, by path",
            percent(stacks.overlap(&shown.paths)),
        ),
    ] {
        table.row([what.to_string(), value]);
    }
    table
}

/// The name of a tag: from the program's own table, or the place whose address it is.
fn name(program: &Program, shown: &Shown, tag: u64) -> String {
    match shown.names.get(&tag) {
        Some(name) => name.clone(),
        None if tag == 0 => "nothing".to_string(),
        None if tag < FIRST_ADDRESS => format!("tag {tag}"),
        None => hps_lab::place(&program.image.symbols, tag),
    }
}

/// The program's own counters.
pub(super) fn counters(seen: &Intervals<'_>) -> Table {
    let mut table = Table::new(&[
        ("counter", Align::Right),
        ("counted by samples", Align::Right),
        ("counted", Align::Right),
        ("exact samples", Align::Right),
    ]);
    for (number, count) in &seen.own_counts {
        table.row([
            number.to_string(),
            grouped(count.counted),
            grouped(count.truth),
            percent(count.exact as f64 / count.samples.max(1) as f64),
        ]);
    }
    table
}
