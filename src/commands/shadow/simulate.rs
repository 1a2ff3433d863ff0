//! `hps shadow simulate` and `hps shadow policy`.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use hps_lab::shadow::{
    Alone, ShadowOptions, ShadowOutcome, Timeline, When, perfect, profiled_on_chip,
    profiled_to_any_end,
};
use hps_lab::{Program, TimedMachine, VERSION};
use hps_profile::{Fraction, accuracy};
use hps_shadow::Graphs;
use hps_shadow::accuracy::{hot_path_accuracy, invariance_difference, overlap};
use hps_shadow::control::Costs;
use hps_shadow::policy::Policy;
use hps_shadow::profiles::Profiles;
use hps_shadow::values::TableShape;
use hps_system::symbols::Symbols;
use serde_json::json;

use super::args::{PolicyArgs, ShadowsOn, SimulateArgs};
use super::chip;
use super::results::{self, Simulation};
use crate::commands::run::fault;
use crate::commands::timed_machine;
use crate::program::seen_once;
use crate::saved::SavedProfiles;
use crate::text::{Align, Table, grouped, print};

/// Prints a policy.
pub(super) fn policy(args: &PolicyArgs) -> anyhow::Result<u8> {
    let policy = find(&args.name)?;
    let text = ron::ser::to_string_pretty(&policy, ron::ser::PrettyConfig::default())?;
    print(&format!("{text}\n"))?;
    Ok(0)
}

/// A policy by its name or of a file.
pub(super) fn find(name: &str) -> anyhow::Result<Policy> {
    if let Some(policy) = Policy::named(name) {
        return Ok(policy?);
    }
    let text = std::fs::read_to_string(name).with_context(|| {
        let known = Policy::NAMES.join(", ");
        format!("--policy {name}: neither one of {known} nor a file that can be read")
    })?;
    Policy::parse(&text).with_context(|| name.to_string())
}

/// Runs the program three times: timed alone, profiled as a whole, and with shadows.
pub(super) fn simulate(args: &SimulateArgs) -> anyhow::Result<u8> {
    let options = options(args)?;
    let machine = timed_machine(&args.machine, args.core)?;
    let program = seen_once(&args.command, args.isa, &args.guest)?.with_objects(u64::MAX)?;
    let graphs = Graphs::new(&program.image);
    if args.shadows_on == ShadowsOn::Chip {
        return on_chip((args, &options), &machine, &program, &graphs);
    }
    let (timeline, truth) = rayon::join(
        || Timeline::measure(&program, &machine),
        || perfect(&program, &graphs, (options.tables, options.streams)),
    );
    let (timeline, (truth, _)) = (timeline?, truth?);
    let outcome = profiled_to_any_end(&program, &graphs, &timeline, &options)?;
    report(args, (&program, &graphs), (&outcome, &truth), "")
}

/// Runs the program on a chip: alone, with shadows on other contexts, and with shadows that keys charge.
fn on_chip(
    (args, options): (&SimulateArgs, &ShadowOptions),
    machine: &TimedMachine,
    program: &Program,
    graphs: &Graphs<'_>,
) -> anyhow::Result<u8> {
    if machine.core != hps_lab::CoreKind::Cycle {
        bail!("--shadows-on chip: the chip is simulated a cycle at a time; add --core cycle");
    }
    let (alone, truth) = rayon::join(
        || Alone::measure(program, machine),
        || perfect(program, graphs, (options.tables, options.streams)),
    );
    let (alone, (truth, _)) = (alone?, truth?);
    let (with, charged) = rayon::join(
        || profiled_on_chip(program, graphs, machine, (&alone, options)),
        || profiled_to_any_end(program, graphs, &alone.timeline, options),
    );
    let ((outcome, on_chip), charged) = (with?, charged?);
    let costs = chip::costs((&outcome, &on_chip), &alone, &charged).render();
    let causes = chip::causes(&alone.run, &on_chip.run).render();
    let text = format!("\n{costs}\n{causes}");
    report(args, (program, graphs), (&outcome, &truth), &text)
}

/// Prints what a run with shadows has found, with `more` about its costs, and saves profiles.
fn report(
    args: &SimulateArgs,
    (program, graphs): (&Program, &Graphs<'_>),
    (outcome, truth): (&ShadowOutcome<'_>, &Profiles<'_>),
    more: &str,
) -> anyhow::Result<u8> {
    if let Some(folder) = &args.out {
        let of = (
            args.command.first().map_or("", String::as_str),
            program.image.hash.as_str(),
        );
        let symbols = outcome.process.symbols();
        let of = (of, &*symbols);
        save(&outcome.profiles, graphs, folder, of, "shadows")?;
        save(truth, graphs, &folder.join("perfect"), of, "perfect")?;
    }
    let os = &outcome.process.os;
    args.json
        .pass_on(os.captured_stdout(), os.captured_stderr())?;
    let simulation = results::simulation(Some(Simulation {
        program: args.command.first().map_or("", String::as_str),
        machine: &args.machine,
        shadows_on: args.shadows_on,
        outcome,
        truth,
    }));
    args.json.write(&simulation.document(VERSION))?;
    let mut out = args.json.text();
    write!(out, "{}{more}", summary(outcome, truth).render())?;
    let causes = causes(outcome).render();
    if !outcome.divergences.is_empty() {
        write!(out, "\n{causes}")?;
    }
    write!(out, "\n{}", calls(outcome).render())?;
    let (stop, process) = (outcome.stop, &outcome.process);
    fault::say_end(stop, process, outcome.instructions, None);
    Ok(outcome.stop.exit_code(program.image.isa) as u8)
}

/// Writes profiles of a program over all keys into a folder.
fn save(
    profiles: &Profiles<'_>,
    graphs: &Graphs<'_>,
    folder: &Path,
    (program, symbols): ((&str, &str), &Symbols),
    collected: &str,
) -> anyhow::Result<()> {
    let saved = SavedProfiles::new(folder, program, json!({ "collected": collected }))?;
    let saved = saved.with_objects(symbols);
    saved.write_kind(profiles.by_path(graphs), 1)?;
    saved.write("long_path", profiles.by_long_path(), 1)?;
    saved.write_kind(profiles.by_edge(), 1)?;
    saved.write_kind(profiles.by_call_pair(), 1)?;
    saved.write_kind(profiles.by_value(), 1)?;
    match profiles.streams() {
        Some(streams) => saved.write_kind(streams.profile, 1),
        None => Ok(()),
    }
}

fn options(args: &SimulateArgs) -> anyhow::Result<ShadowOptions> {
    if args.load.is_nan() || args.load <= 0.0 {
        bail!("--load {}: give a number above 0", args.load);
    }
    let mut options = ShadowOptions::at_load(args.load, args.length);
    if let Some(file) = &args.costs {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("{}: cannot be read", file.display()))?;
        options.costs = ron::from_str::<Costs>(&text)
            .with_context(|| format!("{}: no costs", file.display()))?;
    }
    options.costs.slowdown = args.slowdown.unwrap_or(options.costs.slowdown);
    if options.costs.slowdown.is_nan() || options.costs.slowdown < 1.0 {
        bail!(
            "--slowdown {}: give a number from 1 on",
            options.costs.slowdown
        );
    }
    let life = args.length as f64 * options.costs.slowdown;
    let period_ns = args.period_ns.unwrap_or((life / 20.0).max(1000.0));
    if period_ns.is_nan() || period_ns <= options.costs.signal_ns {
        bail!(
            "--period {period_ns}: give more than a signal takes, {} ns",
            options.costs.signal_ns
        );
    }
    let load = args.load;
    options.when = match (args.end_to_end, args.by_phase, args.converge) {
        (true, ..) => When::EndToEnd,
        (_, true, _) => When::Phase { load, period_ns },
        (_, _, true) => When::Convergence { load, period_ns },
        _ => When::Load { load, period_ns },
    };
    options.streams = args.streams;
    options.policy = Arc::new(find(&args.policy)?.compiled());
    options.tables = TableShape {
        entries: args.entries as usize,
        flush_every: args.flush_every,
    };
    Ok(options)
}

fn summary(outcome: &ShadowOutcome<'_>, truth: &Profiles<'_>) -> Table {
    let mut table = Table::new(&[("what", Align::Left), ("value", Align::Right)]);
    let seen = &outcome.profiles;
    let percent =
        |share: Option<f64>| share.map_or("–".to_string(), |s| format!("{:.1}%", 100.0 * s));
    let invariance = invariance_difference(&truth.values, &seen.values);
    let rows = [
        ("instructions", grouped(outcome.instructions)),
        ("shadows", grouped(outcome.shadows)),
        ("alive on average", format!("{:.2}", outcome.average_live)),
        ("instructions of shadows", percent(Some(outcome.coverage()))),
        ("overhead", percent(Some(outcome.overhead()))),
        (
            "pages copied for live shadows",
            grouped(outcome.copied_pages),
        ),
        (
            "faults on pages no longer shared",
            grouped(outcome.reused_pages),
        ),
        (
            "hot paths within functions found",
            percent(hot_path_accuracy(truth.paths.paths(), seen.paths.paths())),
        ),
        (
            "hot paths across functions found",
            percent(hot_path_accuracy(
                truth.paths.long_paths(),
                seen.paths.long_paths(),
            )),
        ),
        (
            "overlap of edges",
            percent(overlap(&truth.by_edge(), &seen.by_edge())),
        ),
        (
            "overlap of calls",
            percent(overlap(&truth.by_call_pair(), &seen.by_call_pair())),
        ),
        (
            "difference of invariance",
            percent(invariance.map(|i| i.mean)),
        ),
        (
            "executions compared by value",
            percent(invariance.map(|i| i.share)),
        ),
        (
            "shadows that diverged",
            grouped(outcome.divergences.len() as u64),
        ),
        (
            "transfers behind a divergence",
            percent(Some(
                outcome.diverged_transfers as f64 / outcome.transfers.max(1) as f64,
            )),
        ),
    ];
    for (what, value) in rows {
        table.row([what.to_string(), value]);
    }
    if let Some((exact, sampled)) = truth.streams().zip(seen.streams()) {
        let found = accuracy(&sampled.profile, &exact.profile, Fraction::NINETY_PERCENT);
        table.row([
            "hot data streams found".to_string(),
            percent(Some(found.renormalized)),
        ]);
    }
    for (end, count) in &outcome.ends {
        table.row([format!("ended: {end}"), grouped(*count)]);
    }
    table
}

/// Divergences by cause.
fn causes(outcome: &ShadowOutcome<'_>) -> Table {
    let mut counts = std::collections::BTreeMap::new();
    for divergence in &outcome.divergences {
        let cause = divergence.cause.map(|c| (c.name, c.action.name()));
        *counts.entry(cause).or_insert(0_u64) += 1;
    }
    let mut table = Table::new(&[
        ("divergence after", Align::Left),
        ("which was", Align::Left),
        ("shadows", Align::Right),
    ]);
    for (cause, count) in counts {
        let (call, action) = cause.unwrap_or(("no call", ""));
        table.row([call.to_string(), action.to_string(), grouped(count)]);
    }
    table
}

/// System calls of shadows.
fn calls(outcome: &ShadowOutcome<'_>) -> Table {
    let mut table = Table::new(&[
        ("system call of shadows", Align::Left),
        ("action", Align::Left),
        ("calls", Align::Right),
    ]);
    for ((name, action), count) in &outcome.calls {
        table.row([(*name).to_string(), action.to_string(), grouped(*count)]);
    }
    table
}
