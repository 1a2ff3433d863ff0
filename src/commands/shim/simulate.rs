//! `hps shim simulate`: an observer inside the simulated machine, and the truth beside its samples.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::bail;
use hps_experiments::shim::{COUNTERS, Counting, Intervals, Places, Stacks};
use hps_lab::observer::shown::VARIABLE;
use hps_lab::observer::{Observed, Observer, Placement, Signals, Throttle};
use hps_lab::{Lab, Productions, Program, VERSION};
use hps_pipeline::config::MachineConfig;
use hps_shim::Dte;
use hps_system::image::Isa;

use super::args::{Seat, SimulateArgs};
use super::results::{self, Simulation};
use super::shown::tags;
use super::{calls, shown};
use crate::commands::run::fault;
use crate::program::seen_once;
use crate::text::{Align, Table, grouped};

/// Functions in the table.
const FUNCTIONS: usize = 15;

/// Runs the program twice, with an observer that sleeps and with one that does not, and prints both views.
pub(super) fn simulate(args: &SimulateArgs) -> anyhow::Result<u8> {
    if let Some(collector) = args.calls {
        return calls::simulate(args, collector);
    }
    let machine = MachineConfig::load(&args.machine)?;
    let limit = args.max_instructions.unwrap_or(u64::MAX);
    let program = seen_once(&args.command, args.isa, &args.guest)?;
    let mut program = program.with_objects(limit)?;
    let observer = observer(args, program.image.isa, &machine)?;
    let counters = match observer.signals {
        Signals::Samples { counters } | Signals::Shown { counters, .. } => counters,
        _ => 0,
    };
    let counting = match (counters, observer.placement) {
        (3, _) => Counting::Remote,
        (2, Placement::Smt) => Counting::CoreLessOwn,
        _ => Counting::Nothing,
    };
    if args.own_tags
        && !program
            .process
            .env
            .iter()
            .any(|(name, _)| name == VARIABLE.0)
    {
        let variable = (VARIABLE.0.to_string(), VARIABLE.1.to_string());
        program.process.env.push(variable);
    }
    let lab = || {
        let lab = Lab::of(&program).on_machine(&machine);
        lab.limit(limit)
    };
    let mut seen = Intervals::new(&program.image, counting);
    let placement = observer.placement;
    let mut stacks = None;
    let (alone, observed) = if let Signals::Shown {
        counters,
        own,
        depth,
    } = observer.signals
    {
        seen = seen.shown(counters, own);
        let observe = || {
            if depth == 0 {
                return lab().observe(&observer, |s, r, k| seen.see(s, r, k));
            }
            let stacks = stacks.insert(Stacks::default());
            lab().observe_stacks(&observer, |sample, stack, reads, reckoning| {
                seen.see(sample, reads, reckoning);
                if !sample.is_apart() {
                    stacks.see(stack, reads, reckoning);
                }
            })
        };
        rayon::join(|| lab().unobserved(placement), observe)
    } else {
        let tags = match args.loops {
            true => "shim_loop_tag",
            false => "shim_tag",
        };
        let tags = Productions::load(program.image.isa, &[tags.to_string()], Default::default())?;
        let tags = tags.on(&machine)?;
        let lab = || lab().edited_by(&tags);
        rayon::join(
            || lab().unobserved(placement),
            || lab().observe(&observer, |s, r, k| seen.see(s, r, k)),
        )
    };
    let (alone, observed) = (alone?, observed?);
    let os = &observed.process.os;
    args.json
        .pass_on(os.captured_stdout(), os.captured_stderr())?;
    let simulation = results::simulation(Some(Simulation {
        program: args.command.first().map_or("", String::as_str),
        machine: &args.machine,
        placement,
        alone: &alone,
        observed: &observed,
        seen: &seen,
        has_counters: counting != Counting::Nothing,
    }));
    args.json.write(&simulation.document(VERSION))?;
    let mut out = args.json.text();
    for warning in observed.process.os.warnings() {
        say!("hps: warning: {warning}");
    }
    write!(
        out,
        "{}",
        summary(&alone, &observed, &seen, counting).render()
    )?;
    if let Some(shown) = observed.shown.as_ref().filter(|_| !seen.all.is_empty()) {
        let tags = tags(&program, shown, &seen, counting, stacks.as_ref());
        write!(out, "\n{}", tags.render())?;
        if let Some(stacks) = &stacks {
            write!(out, "\n{}", shown::stacks(shown, stacks).render())?;
        }
        if !seen.own_counts.is_empty() {
            write!(out, "\n{}", shown::counters(&seen).render())?;
        }
    } else if args.own_tags {
        say!(
            "hps: {} shows no tags at its end; programs write them by hps_shim.h, as `hps shim --help` says",
            program.name
        );
    } else if !seen.all.is_empty() {
        write!(out, "\n{}", functions(&program, &seen).render())?;
        if args.loops {
            write!(out, "\n{}", places(&program, &seen).render())?;
        }
    }
    let (stop, process) = (observed.stop, &observed.process);
    fault::say_end(stop, process, observed.instructions, None);
    Ok(observed.stop.exit_code(program.image.isa) as u8)
}

/// The observer that is asked for: with as many counters as tell what the program does, if the machine has them.
fn observer(args: &SimulateArgs, isa: Isa, machine: &MachineConfig) -> anyhow::Result<Observer> {
    let placement = placement(args, Seat::Smt);
    let wanted = match placement {
        Placement::Smt => 2,
        Placement::Cmp => 3,
    };
    let counters = match args.ipc {
        false => 0,
        true if isa != Isa::Riscv64 => {
            bail!("--ipc: programs read counters of instructions on riscv64 only")
        }
        true => wanted,
    };
    let mut selected = machine.counters.selected.0.iter();
    if !COUNTERS[..counters]
        .iter()
        .all(|name| selected.next().is_some_and(|s| s == name))
    {
        bail!(
            "--ipc: machine {} has to select {:?} (counters.selected), as shim-haswell-like does",
            machine.name,
            &COUNTERS[..counters]
        );
    }
    let own: u8 = args
        .own_counters
        .iter()
        .fold(0, |set, number| set | 1 << number);
    if counters + own.count_ones() as usize > COUNTERS.len() {
        bail!(
            "--own-counter: a sample has {} counters, of which --ipc takes {counters}",
            COUNTERS.len()
        );
    }
    Ok(Observer {
        placement,
        signals: match args.own_tags {
            true => Signals::Shown {
                counters,
                own,
                depth: args.own_stacks.unwrap_or(0) as usize,
            },
            false => Signals::Samples { counters },
        },
        throttle: throttle(args),
    })
}

/// Placement of the observer.
pub(super) fn placement(args: &SimulateArgs, default: Seat) -> Placement {
    match args.placement.unwrap_or(default) {
        Seat::Smt => Placement::Smt,
        Seat::Cmp => Placement::Cmp,
    }
}

/// Pause of the observer between two samples.
pub(super) fn throttle(args: &SimulateArgs) -> Throttle {
    match (args.wait, args.sleep) {
        (None | Some(0), None) => Throttle::None,
        (Some(turns), _) => Throttle::Spin(turns),
        (None, Some(cycles)) => Throttle::Sleep(cycles),
    }
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.2}%", 100.0 * share)
}

fn summary(
    alone: &Observed,
    observed: &Observed,
    seen: &Intervals<'_>,
    counting: Counting,
) -> Table {
    let mut table = Table::new(&[("what", Align::Left), ("value", Align::Right)]);
    let mut row = |what: &str, value: String| table.row([what.to_string(), value]);
    let ipc = |ran: &Observed| ran.instructions as f64 / ran.cycles.max(1) as f64;
    row("instructions", grouped(observed.instructions));
    row("cycles, unobserved", grouped(alone.cycles));
    row("cycles, observed", grouped(observed.cycles));
    row(
        "overhead",
        percent(observed.cycles as f64 / alone.cycles.max(1) as f64 - 1.0),
    );
    row("samples", grouped(observed.samples));
    if observed.other_instructions > 0 {
        let apart = &seen.apart;
        row(
            "instructions of other processes and programs",
            grouped(observed.other_instructions),
        );
        row(
            "cycles to the end of the observed program",
            grouped(observed.observed_cycles),
        );
        row(
            "samples beside another process, not counted below",
            grouped(apart.samples),
        );
        row("of all samples, told early", grouped(apart.early));
        row(
            "intervals with another process that no sample tells",
            grouped(apart.hidden),
        );
    }
    row(
        "cycles from sample to sample",
        format!("{:.1}", observed.period()),
    );
    row("IPC, unobserved", format!("{:.3}", ipc(alone)));
    row("IPC, observed", format!("{:.3}", ipc(observed)));
    let all = &seen.all;
    if all.is_empty() {
        return table;
    }
    let dte = Dte::default();
    let share = |of: &dyn Fn(&hps_experiments::shim::Interval) -> bool| {
        all.iter().filter(|i| of(i)).count() as f64 / all.len() as f64
    };
    row(
        "kept by double-time error correction",
        percent(share(&|i| i.is_kept(dte))),
    );
    if counting != Counting::Nothing {
        row("damaged samples", percent(share(&|i| i.is_damaged())));
        row(
            "damaged samples that are kept",
            percent(share(&|i| i.is_damaged() && i.is_kept(dte))),
        );
        let kept: Vec<_> = all.iter().filter(|i| i.is_kept(dte)).collect();
        let (instructions, cycles): (f64, f64) = kept.iter().fold((0.0, 0.0), |sum, i| {
            (sum.0 + i.measured, sum.1 + i.cycles())
        });
        row(
            "IPC by kept samples",
            format!("{:.3}", instructions / cycles.max(1.0)),
        );
    }
    let threads = seen.threads.iter().filter(|word| **word != 0).count();
    row("threads seen", threads.to_string());
    row(
        "samples across a switch of threads",
        grouped(seen.thread_switches),
    );
    let (by, it) = match seen.places() {
        Places::Own => ("tag", "tag"),
        Places::Functions => ("function", "function of the tag"),
    };
    row(
        &format!("overlap of samples with cycles, by {by}"),
        percent(seen.overlap()),
    );
    let (there, cycles) = all.iter().fold((0.0, 0.0), |sum, i| {
        (sum.0 + i.purity * i.cycles(), sum.1 + i.cycles())
    });
    row(
        &format!("cycles of the intervals that were in the {it} that was read"),
        percent(there / f64::max(cycles, 1.0)),
    );
    if let Some(shown) = &observed.shown {
        row("threads with tags", shown.threads.to_string());
        row("names", shown.names.len().to_string());
        if shown.refused > 0 || shown.names_refused > 0 {
            row("threads without a slot", shown.refused.to_string());
            row("names without a place", shown.names_refused.to_string());
        }
    }
    table
}

/// Loop heads and other places by the samples of their tags.
fn places(program: &Program, seen: &Intervals<'_>) -> Table {
    let total: u64 = seen.tags.values().sum();
    let mut rows: Vec<(u64, u64)> = seen
        .tags
        .iter()
        .map(|(tag, count)| (*tag, *count))
        .collect();
    rows.sort_by_key(|(tag, count)| (std::cmp::Reverse(*count), *tag));
    let mut table = Table::new(&[
        ("loop head, or where a call or return went", Align::Left),
        ("samples", Align::Right),
    ]);
    for (tag, count) in rows.into_iter().take(FUNCTIONS) {
        let place = hps_lab::place(&program.image.symbols, tag);
        let share = count as f64 / total.max(1) as f64;
        table.row([place, percent(share)]);
    }
    table
}

/// Functions by their cycles, with what the samples say.
fn functions(program: &Program, seen: &Intervals<'_>) -> Table {
    let total = |map: &std::collections::HashMap<usize, f64>| map.values().sum::<f64>().max(1.0);
    let (samples, cycles) = (total(&seen.sampled), total(&seen.true_cycles));
    let names: BTreeSet<usize> = seen
        .sampled
        .keys()
        .chain(seen.true_cycles.keys())
        .copied()
        .collect();
    let mut rows: Vec<(usize, f64, f64)> = names
        .into_iter()
        .map(|function| {
            let of = |map: &std::collections::HashMap<usize, f64>| {
                map.get(&function).copied().unwrap_or(0.0)
            };
            (
                function,
                of(&seen.sampled) / samples,
                of(&seen.true_cycles) / cycles,
            )
        })
        .collect();
    rows.sort_by(|a, b| b.2.total_cmp(&a.2));
    let mut table = Table::new(&[
        ("function of the last call or return", Align::Left),
        ("samples", Align::Right),
        ("cycles", Align::Right),
    ]);
    for (function, sampled, spent) in rows.into_iter().take(FUNCTIONS) {
        table.row([
            function_name(program, function),
            percent(sampled),
            percent(spent),
        ]);
    }
    table
}

/// The name of a function by its place in the list of symbols, with its object in front.
pub(super) fn function_name(program: &Program, at: usize) -> String {
    let symbols = &program.image.symbols;
    match symbols.functions().get(at) {
        Some(function) => symbols.with_object(function.addr, &function.name),
        None => "elsewhere".to_string(),
    }
}
