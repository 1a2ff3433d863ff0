//! `hps shim run --calls`: who calls whom in a native program, as an observer finds it.

use anyhow::bail;
use hps_lab::work_folder::PROGRAM;
use hps_shim::calls::Collector;
use hps_shim::machine::Machine;
use hps_shim::plan::{Mode, Plan};
use hps_shim::session::Request;
use hps_shim::spawn::Start;

use super::args::{Preload, RunArgs};
use super::observe::preloading;
use super::wish;
use crate::text::{Align, Table, grouped};

/// Edges in the table.
const EDGES: usize = 20;

/// Runs the program beside an observer of calls, and says what it found on standard error.
pub(super) fn run(args: &RunArgs, collector: Collector) -> anyhow::Result<u8> {
    if let Some(Preload::Flat | Preload::Patch) = args.preload {
        bail!(
            "--calls preloads a library of its own, which needs every entry and exit: leave out --preload=HOW"
        );
    }
    let machine = Machine::find()?;
    let request = Request {
        plan: Plan {
            pace: args.sample.period,
            mode: Mode::Calls(collector),
            ..Plan::default()
        },
        wish: wish(&args.sample.place),
        keep: None,
    };
    let (library, variable) = preloading(collector.variant(), &args.command)?;
    let start = Start {
        command: args.command.clone(),
        environment: vec![variable],
        record: Some(library.path().join(PROGRAM)),
        ..Start::default()
    };
    let mut session = request.run(&machine, start)?;
    let found = session.watched.calls.take().unwrap_or_default();
    let total = found.total();
    let rings = session.rings.as_deref();
    say!(
        "{}: {} calls by {collector}, {} different ones, {} looks, {:.3} s",
        session.status,
        grouped(total),
        grouped(found.calls.len() as u64),
        grouped(found.reads),
        session.wall.as_secs_f64()
    );
    let rest = [
        (found.changed, "read while the stack changed"),
        (found.orphans, "calls without a caller"),
        (
            rings.map_or(0, |r| r.skipped()),
            "calls or returns that found their ring full",
        ),
        (rings.map_or(0, |r| r.refused()), "threads without a ring"),
        (found.lost, "calls without room in the table"),
    ];
    for (count, what) in rest.iter().filter(|(count, _)| *count > 0) {
        say!("{} {what}", grouped(*count));
    }
    let mut edges: Vec<((u64, u64), u64)> = found.calls.into_iter().collect();
    edges.sort_unstable_by_key(|&(edge, count)| (std::cmp::Reverse(count), edge));
    let mut table = Table::new(&[
        ("calls", Align::Right),
        ("share", Align::Right),
        ("caller", Align::Left),
        ("callee", Align::Left),
    ]);
    let mut name = |address: u64| match address {
        0 => "(begin)".to_owned(),
        _ => session.symbols.resolve(address).to_string(),
    };
    for ((caller, callee), count) in edges.into_iter().take(EDGES) {
        table.row([
            grouped(count),
            format!("{:.2}%", 100.0 * count as f64 / total.max(1) as f64),
            name(caller),
            name(callee),
        ]);
    }
    say!("{}", table.render().trim_end());
    Ok(session.code)
}
