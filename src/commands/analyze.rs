//! `hps analyze`: cycles of an iteration in the steady state of a loop, and what limits it.

use anyhow::Context as _;
use hps_pipeline::config::MachineConfig;
use hps_sim_core::os::{Output, Stdin};
use hps_teach::analyze::analyze as analyzed;
use hps_teach::protocol::Analysis;

use crate::cli::AnalyzeArgs;
use crate::program;
use crate::text::{Align, Table};

/// Runs the program and prints the analysis of its loop.
pub fn analyze(args: &AnalyzeArgs) -> anyhow::Result<u8> {
    let machine = MachineConfig::load(&args.machine)?;
    let guest = hps_lab::GuestOptions {
        stdin: Stdin::Empty,
        stdout: Output::Discard,
        stderr: Output::Discard,
        ..hps_lab::GuestOptions::default()
    };
    let (name, arguments) = args.command.split_first().context("a program is missing")?;
    let program = match is_assembly(name) {
        true => program::assembled(name, args.isa, arguments, &guest)?,
        false => program::find(name, args.isa, arguments, &guest)?,
    };
    let analysis = analyzed(&program, &machine, args.max_instructions)
        .map_err(|problem| anyhow::anyhow!("{name}: {}", problem.message))?;
    args.json.write(&analysis)?;
    args.json.print_text(&render(&analysis, &machine.name))?;
    Ok(0)
}

/// Whether a program is given as assembly text.
pub fn is_assembly(name: &str) -> bool {
    std::path::Path::new(name)
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("s"))
}

fn render(analysis: &Analysis, machine: &str) -> String {
    let words = |name: &str| name.replace('_', " ");
    let mut out = format!(
        "loop at {} on {machine}: {:.2} cycles an iteration, {:.2} instructions, limited by {}\n({} iterations of its \
         steady state; {:.0}% of the taken branches backwards are this loop's)\n\n",
        analysis.head,
        analysis.cycles,
        analysis.instructions,
        words(&analysis.limited_by.join(" and ")),
        analysis.iterations,
        100.0 * analysis.share
    );
    let mut bounds = Table::new(&[("bound", Align::Left), ("cycles", Align::Right)]);
    for bound in &analysis.bounds {
        bounds.row([words(&bound.name), format!("{:.2}", bound.cycles)]);
    }
    out += &bounds.render();
    out.push('\n');
    let mut lines = Table::new(&[
        ("address", Align::Left),
        ("times", Align::Right),
        ("units", Align::Left),
        ("latency", Align::Right),
        ("chain", Align::Right),
        ("instruction", Align::Left),
        ("what happens", Align::Left),
    ]);
    for line in &analysis.lines {
        let chain = match line.on_chain {
            true => format!("{:.2}", line.chain),
            false => String::new(),
        };
        lines.row([
            line.pc.clone(),
            format!("{:.2}", line.times),
            words(&line.pool),
            format!("{:.1}", line.latency),
            chain,
            line.text.clone(),
            line.notes.join(", "),
        ]);
    }
    out + &lines.render()
}
