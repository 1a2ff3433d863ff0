//! The report of `hps shadow run` and `hps shadow attach`.

use std::collections::BTreeMap;

use hps_shadow::values::ValueProfiler;
use hps_shadow_native::found::{ThreadRow, by_function, function};
use hps_shadow_native::overhead::Overhead;
use hps_shadow_native::{Profiles, Session};
use hps_shim::symbols::Symbolizer;

use super::native::{Facts, shown};
use crate::text::{Align, Table, grouped};

/// Functions that the report names of each thread.
const FUNCTIONS_OF_THREAD: usize = 3;

/// The report of a session: its facts, and what its shadows saw.
pub(super) fn report(
    session: &mut Session,
    facts: &Facts,
    cost: Option<&Overhead>,
    rows: &[ThreadRow],
    top: usize,
) -> String {
    let mut table = Table::new(&[("what", Align::Left), ("value", Align::Right)]);
    for (what, text, _) in &facts.0 {
        table.row([(*what).to_string(), text.clone()]);
    }
    for (end, count) in &session.endings {
        table.row([format!("ended: {end}"), grouped(*count)]);
    }
    if let Some((_, run)) = &session.whole {
        table.row(["instrumented until".to_string(), run.end()]);
    }
    if let Some(cost) = cost {
        for (what, estimate) in [
            ("overhead in processor time, %", cost.cpu_percent),
            ("overhead in wall time, %", cost.wall_percent),
            ("noise of runs alone, %", cost.noise_percent),
            ("alive on average in these runs", cost.average_live),
        ] {
            let half = estimate
                .half_width
                .map_or(String::new(), |half| format!(" ± {half:.2}"));
            table.row([what.to_string(), format!("{:.2}{half}", estimate.mean)]);
        }
    }
    let mut text = table.render();
    let (shown, symbols) = shown(session);
    text += &functions(shown, symbols, top);
    text += &threads(rows, top);
    text += &callers(shown, symbols, top);
    let (calls, returns) = (shown.arguments(), shown.results());
    text += &values(calls, ["calls", "first argument", "call"], symbols, top);
    if !returns.tables().is_empty() {
        text += &values(returns, ["returns", "result", "return"], symbols, top);
    }
    text += &paths(shown, symbols, top);
    text += &system_calls(&session.calls);
    text
}

/// The heaviest of these, with their shares of all.
fn heaviest<K: Ord + Clone>(all: BTreeMap<K, u64>, top: usize) -> Vec<(K, u64, f64)> {
    let total: u64 = all.values().sum();
    let mut all: Vec<(K, u64)> = all.into_iter().collect();
    all.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    all.truncate(top);
    let share = |weight: u64| weight as f64 / total.max(1) as f64;
    all.into_iter()
        .map(|(key, weight)| (key, weight, share(weight)))
        .collect()
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// Instructions by function.
fn functions(profiles: &Profiles, symbols: &mut Symbolizer, top: usize) -> String {
    let all = by_function(&profiles.blocks, symbols).into_iter().collect();
    let mut table = Table::new(&[
        ("instructions", Align::Right),
        ("share", Align::Right),
        ("function", Align::Left),
    ]);
    for (name, weight, share) in heaviest(all, top) {
        table.row([grouped(weight), percent(share), name]);
    }
    format!("\n{}", table.render())
}

/// Hot functions by thread, if there is more than one.
fn threads(rows: &[ThreadRow], top: usize) -> String {
    if rows.len() < 2 {
        return String::new();
    }
    let mut table = Table::new(&[
        ("thread", Align::Right),
        ("name", Align::Left),
        ("shadows", Align::Right),
        ("instructions", Align::Right),
        ("share of the thread", Align::Right),
        ("function", Align::Left),
    ]);
    for row in rows.iter().take(top) {
        for (place, hot) in row.functions.iter().take(FUNCTIONS_OF_THREAD).enumerate() {
            let of_thread = |text: String| if place == 0 { text } else { String::new() };
            table.row([
                of_thread(row.thread.to_string()),
                of_thread(row.name.clone()),
                of_thread(grouped(row.shadows)),
                grouped(hot.instructions),
                percent(hot.instructions as f64 / row.instructions.max(1) as f64),
                hot.function.clone(),
            ]);
        }
    }
    format!("\n{}", table.render())
}

/// Calls by caller and callee.
fn callers(profiles: &Profiles, symbols: &mut Symbolizer, top: usize) -> String {
    let mut all = BTreeMap::new();
    for (&(site, target), count) in &profiles.calls {
        let pair = (function(symbols, site), function(symbols, target));
        *all.entry(pair).or_insert(0) += count;
    }
    let mut table = Table::new(&[
        ("calls", Align::Right),
        ("share", Align::Right),
        ("caller", Align::Left),
        ("callee", Align::Left),
    ]);
    for ((caller, callee), weight, share) in heaviest(all, top) {
        table.row([grouped(weight), percent(share), caller, callee]);
    }
    format!("\n{}", table.render())
}

/// The most frequent value of the most frequent calls or returns. `heads`: their count, the value, the place.
fn values(
    profiler: &ValueProfiler,
    heads: [&str; 3],
    symbols: &mut Symbolizer,
    top: usize,
) -> String {
    let mut all: Vec<_> = profiler.tables().iter().collect();
    all.sort_by_key(|(site, table)| (std::cmp::Reverse(table.executions), *site));
    let [count, value, site] = heads;
    let mut table = Table::new(&[
        (count, Align::Right),
        (value, Align::Right),
        ("in so many", Align::Right),
        (site, Align::Left),
    ]);
    for (site, values) in all.into_iter().take(top) {
        let value = values.top().map_or(0, |(value, _)| value);
        table.row([
            grouped(values.executions),
            format!("{value:#x}"),
            percent(values.invariance()),
            place(symbols, *site),
        ]);
    }
    format!("\n{}", table.render())
}

/// An address by its function and the bytes from its start.
fn place(symbols: &mut Symbolizer, address: u64) -> String {
    let place = symbols.resolve(address);
    match place.function {
        Some(_) => format!("{place}+{:#x}", address.wrapping_sub(place.entry)),
        None => place.to_string(),
    }
}

/// Paths within functions by the instructions executed on them.
fn paths(profiles: &Profiles, symbols: &mut Symbolizer, top: usize) -> String {
    let all = profiles.within.all.iter();
    let all = all
        .map(|(path, executions)| (*path, executions.weight()))
        .collect();
    let mut table = Table::new(&[
        ("instructions", Align::Right),
        ("share", Align::Right),
        ("long", Align::Right),
        ("path that begins in", Align::Left),
    ]);
    for (path, weight, share) in heaviest(all, top) {
        let length = profiles.within.all.get(&path).map_or(0, |e| e.instructions);
        let place = place(symbols, path.from);
        table.row([grouped(weight), percent(share), grouped(length), place]);
    }
    format!("\n{}", table.render())
}

fn system_calls(calls: &[(String, &'static str, u64)]) -> String {
    let mut table = Table::new(&[
        ("system call", Align::Left),
        ("action", Align::Left),
        ("calls", Align::Right),
    ]);
    for (name, action, count) in calls {
        table.row([name.clone(), (*action).to_string(), grouped(*count)]);
    }
    format!("\n{}", table.render())
}
