//! The time series of a run as rows of bars.

use std::io::Write;

use hps_profilers::oracle::STATES;
use hps_profilers::timeline::Timeline;
use rustc_hash::FxHashMap;

use crate::text::{grouped, one_line};

/// Bars of eighths.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Functions that have a row.
const FUNCTIONS: usize = 8;
/// Columns for names.
const NAME: usize = 24;

/// A row of bars, each a share of 0 to 1.
fn bars(shares: impl Iterator<Item = f64>) -> String {
    shares
        .map(|share| BARS[(share.clamp(0.0, 1.0) * 8.0).round() as usize])
        .collect()
}

/// Prints states, instructions per cycle and the largest functions over time.
pub(super) fn print(series: &Timeline, out: &mut impl Write) -> anyhow::Result<()> {
    let intervals = series.intervals();
    writeln!(
        out,
        "\nover time: {} intervals of {} cycles, full height is the whole interval",
        intervals.len(),
        grouped(series.interval_cycles())
    )?;
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    for (at, name) in STATES.iter().enumerate() {
        let shares = intervals.iter().map(|i| share(i.states[at], i.cycles()));
        writeln!(out, "{name:>NAME$} |{}|", bars(shares))?;
    }
    let ipc = |commits: u64, cycles: u64| share(commits, cycles);
    let highest = intervals
        .iter()
        .map(|i| ipc(i.commits, i.cycles()))
        .fold(0.0, f64::max);
    let shares = intervals
        .iter()
        .map(|i| ipc(i.commits, i.cycles()) / highest.max(f64::MIN_POSITIVE));
    let label = format!("IPC, up to {highest:.2}");
    writeln!(out, "{label:>NAME$} |{}|", bars(shares))?;
    let mut totals: FxHashMap<u64, u64> = FxHashMap::default();
    for (&function, &cycles) in intervals.iter().flat_map(|i| &i.functions) {
        *totals.entry(function).or_insert(0) += cycles;
    }
    let mut largest: Vec<(u64, u64)> = totals.into_iter().collect();
    largest.sort_by_key(|&(function, cycles)| (std::cmp::Reverse(cycles), function));
    for (function, _) in largest.into_iter().take(FUNCTIONS) {
        let name = series.name(function).unwrap_or("(no function)");
        let name: String = one_line(name).chars().take(NAME).collect();
        let shares = intervals.iter().map(|i| {
            let cycles = i.functions.get(&function).copied().unwrap_or(0);
            share(cycles, i.cycles())
        });
        writeln!(out, "{name:>NAME$} |{}|", bars(shares))?;
    }
    Ok(())
}
