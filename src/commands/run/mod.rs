//! `hps run`: one program, functionally or timed. The guest owns standard output; what we say goes
//! to standard error.

mod checkpoints;
mod debug;
mod execute;
pub(super) mod fault;
mod rates;
mod statistics;
mod summary;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use hps_dise::ProductionSet;
use hps_isa::isa::Isa;
use hps_lab::{Lab, Productions, TimedMachine};
use hps_pipeline::kanata::KanataLog;
use hps_pipeline::sampled::SamplingPlan;
use hps_system::os::Stdin;
use hps_system::os::refusals::Refusal;
use hps_system::process::Process;

use crate::cli::{self, RunArgs};
use crate::commands::timed_machine;
use crate::document::{Described, Format};
use crate::{productions, program, slices, text};
use execute::{Order, Ran, Timed, execute, execute_kept, execute_sliced};
use statistics::{Statistics, WithProductions};

/// A pipeline log holds at most this many instructions (about 150 bytes each).
const TRACE_INSTRUCTIONS: usize = 2_000_000;

/// Runs the command; the result is the guest's exit code.
pub fn run(args: &RunArgs) -> anyhow::Result<u8> {
    let resumed = checkpoints::resumed(args)?;
    let args = resumed.as_ref().unwrap_or(args);
    check_core(args)?;
    checkpoints::check(args)?;
    debug::check(args)?;
    let machine = args
        .machine
        .as_deref()
        .map(|name| timed_machine(name, args.core))
        .transpose()?;
    let mut guest = program::guest_options(&args.guest)?;
    if let Some(folder) = &args.scratch {
        guest.scratch = Some(beside(folder)?);
    }
    let mut subject = match args.asm {
        true => program::assembled(args.program(), args.isa, args.arguments(), &guest)?,
        false => program::find(args.program(), args.isa, args.arguments(), &guest)?,
    };
    subject.region = program::region(&args.region.part())?;
    subject.is_interpreted = args.no_translator;
    let mut kept = checkpoints::of(args)?;
    let is_read_again = kept.is_some() || args.sliced.is_sliced() || args.gdb.is_some();
    if is_read_again && subject.process.stdin == Stdin::Inherit {
        subject.process.stdin = checkpoints::stdin(args)?;
    }
    ensure!(
        args.region.start.warm.is_none() || machine.is_some(),
        "--warm goes with --machine: without one nothing is cached or predicted"
    );
    let lab = Lab::of(&subject);
    let isa = subject.image.isa;
    let window = args
        .trace
        .as_ref()
        .map(|_| window(&args.trace_cycles))
        .transpose()?;
    let productions = load_productions(args, isa, machine.as_ref())?;
    let lab = lab
        .warnings_to(|text| say!("hps: warning: {text}"))
        .naming_contention(args.stats || args.json.json.is_some())
        .limit(args.max_instructions.unwrap_or(u64::MAX));
    // The program is loaded before any file is made: a run that cannot begin leaves the files of an earlier run alone.
    lab.subject().load()?;
    let lab = match program::region_length(&args.region, lab.subject())? {
        Some(instructions) => lab.limit(instructions),
        None => lab,
    };
    if let Some(port) = &args.gdb {
        let program = (&**port, args.program());
        return debug::run(lab, program, machine.as_ref(), productions.as_ref());
    }
    // Made before the run: hours of work must not end in a file that cannot be written.
    let json = args.json.open()?;
    let mut trace_file = args.trace.as_deref().map(create_trace).transpose()?;

    let order = Order {
        by_function: args.by_function,
        trace: window.map(|window| KanataLog::new(isa, window, TRACE_INSTRUCTIONS)),
        sampling: args.sample.then(|| sampling(args)),
        jobs: args.sliced.jobs.unwrap_or(1),
    };
    ensure!(
        args.sliced.jobs.is_none() || args.sample || args.sliced.is_sliced(),
        "--jobs goes with --sample, --slices or --slice-length"
    );
    let slicing = slices::slicing(&args.sliced, unsliced(args), lab.subject(), lab.most())?;
    let ran = match (&mut kept, &slicing) {
        (None, Some(slicing)) => {
            let machine = machine.as_ref().context("--slices goes with --machine")?;
            match execute_sliced(lab, machine, slicing, args.sliced.slices_check)? {
                Some(ran) => ran,
                None => return Ok(0),
            }
        }
        (None, None) => execute(lab, machine.as_ref(), productions.as_ref(), order)?,
        (Some(kept), _) => execute_kept(lab, machine.as_ref(), productions.as_ref(), kept)?,
    };
    let set = productions.as_ref().map(|productions| &productions.set);

    fault::say_end(ran.stop, &ran.process, ran.retired.program, set);
    say_what_was_refused(args, &ran);
    if let Some(folder) = &args.scratch {
        let kept = ran.process.os.keep_scratch(folder);
        kept.with_context(|| format!("--scratch {}: the copy cannot be kept", folder.display()))?;
    }
    if let (Some(file), Some(path), Some(timed)) = (&mut trace_file, &args.trace, &ran.timed) {
        write_trace(file, path, timed, &ran.process, set)
            .with_context(|| format!("{}: the pipeline log cannot be written", path.display()))?;
    }
    let with = productions.map(|productions| WithProductions {
        files: args.productions.clone(),
        productions,
    });
    let statistics = Statistics::new(&ran, with);
    if let Some(sampling) = &statistics.sampling
        && sampling.units < FEW_UNITS
    {
        say!(
            "hps: warning: only {} units were timed, so that the IPC is known to {:.0}%; the run without --sample is exact",
            sampling.units,
            100.0 * sampling.cpi.half_width / sampling.cpi.mean
        );
    }
    if let (Some(kept), Some(folder)) = (&kept, &args.checkpoint.checkpoints) {
        let (count, folder) = (kept.written(), folder.display());
        if count > 0 {
            say!(
                "hps: {count} checkpoints in {folder}: hps run --from-checkpoint {folder} goes on from the last"
            );
        }
    }
    json.write(&FORMAT.of(&statistics))?;
    if args.stats {
        say!("{}", summary::render(&statistics).trim_end());
    }
    Ok((ran.stop.exit_code(ran.process.image.isa) & 0xff) as u8)
}

/// Fewer units than these say little.
const FEW_UNITS: u64 = 50;

/// The sampling plan. It suits any length of the run; a period that is given is kept to.
fn sampling(args: &RunArgs) -> SamplingPlan {
    let whole = SamplingPlan::for_any_length();
    let plan = SamplingPlan {
        period: args.sample_period.unwrap_or(whole.period),
        warm_up: args.sample_warm_up,
        unit: args.sample_unit,
        doublings: 0,
        head: whole.head,
    };
    if args.sample_period.is_some() {
        return plan;
    }
    // Long units do not fit into the shortest periods.
    let doublings = (0..=whole.doublings).rev();
    let mut plans = doublings.map(|doublings| SamplingPlan { doublings, ..plan });
    plans.find(|plan| plan.validate().is_ok()).unwrap_or(plan)
}

/// Names the options that would have allowed what the program was refused.
fn say_what_was_refused(args: &RunArgs, ran: &Ran) {
    let failed = ran.stop.exit_code(ran.process.image.isa) != 0;
    if failed && ran.process.mem.is_limit_reached() {
        say!(
            "hps: the program was refused more memory than {} MiB: --memory-limit gives it more",
            ran.process.mem.limit_bytes() >> 20
        );
    }
    for (why, path) in ran.process.os.refusals() {
        match why {
            Refusal::NoFiles if failed => {
                say!("hps: {path} was not found: --no-files gives the program no files");
            }
            // Many programs look for files of a system that they can do without.
            Refusal::NotUnderRoot if failed && Path::new(path).exists() => say!(
                "hps: {path} was not found: the program sees only {}, as `/`; --root DIR shows it another folder",
                args.guest
                    .root
                    .as_deref()
                    .map_or("the working folder".into(), Path::to_string_lossy)
            ),
            Refusal::ReadOnly => say!(
                "hps: {path} was not changed: --root DIR --writable lets the program change files under DIR, and \
                 --writable=scratch in a copy"
            ),
            _ => {}
        }
    }
}

/// The first option that was given and does not go with slices.
fn unsliced(args: &RunArgs) -> Option<&'static str> {
    let of = &args.checkpoint;
    let all = [
        (args.trace.is_some(), "--trace"),
        (args.sample, "--sample"),
        (args.by_function, "--by-function"),
        (!args.productions.is_empty(), "--productions"),
        (of.checkpoint_every.is_some(), "--checkpoint-every"),
        (of.from_checkpoint.is_some(), "--from-checkpoint"),
        (
            args.guest.writes_host(),
            "--writable (but for --writable=scratch)",
        ),
    ];
    cli::first_given(&all)
}

/// Refuses what the instruction-driven core does not have.
fn check_core(args: &RunArgs) -> anyhow::Result<()> {
    if args.core != cli::CoreKind::Instruction {
        return Ok(());
    }
    let lacks = if args.trace.is_some() {
        "--trace: it keeps no pipeline log"
    } else if args.sample {
        "--sample: units are timed on the cycle-driven core"
    } else {
        return Ok(());
    };
    bail!("--core instruction does not go with {lacks}; use --core cycle")
}

/// The productions, if any were asked for, in the engine of the machine.
fn load_productions(
    args: &RunArgs,
    isa: Isa,
    machine: Option<&TimedMachine>,
) -> anyhow::Result<Option<Productions>> {
    if args.productions.is_empty() {
        return Ok(None);
    }
    let productions = productions::load(isa, &args.productions, &args.params)?;
    for warning in productions.set.warnings() {
        say!("hps: warning: {warning}");
    }
    Ok(Some(match machine {
        Some(machine) => productions.on(machine)?,
        None => productions,
    }))
}

/// The folder that a copy of the root is made in, so that it can be moved to `folder` in the end.
fn beside(folder: &Path) -> anyhow::Result<PathBuf> {
    let is_free = match folder.read_dir() {
        Ok(mut entries) => entries.next().is_none(),
        Err(cause) => cause.kind() == std::io::ErrorKind::NotFound,
    };
    let parent = match folder.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => folder,
    };
    ensure!(
        is_free && parent.is_dir(),
        "--scratch {}: name a folder that is empty, or that does not exist yet in a folder that does",
        folder.display()
    );
    Ok(parent.to_path_buf())
}

fn create(path: &Path) -> anyhow::Result<BufWriter<File>> {
    let file = File::create(path).with_context(|| {
        format!(
            "{}: cannot be written; name a file in a folder that exists",
            path.display()
        )
    })?;
    Ok(BufWriter::new(file))
}

/// Opens the file of a pipeline log; `-` is standard output.
fn create_trace(path: &Path) -> anyhow::Result<Box<dyn Write>> {
    if path == Path::new("-") {
        return Ok(Box::new(BufWriter::new(text::out())));
    }
    match path.extension().and_then(|e| e.to_str()) {
        Some("txt" | "kanata" | "log") => Ok(Box::new(create(path)?)),
        _ => bail!(
            "--trace {}: the ending does not say which format; write FILE.kanata or FILE.log (Kanata), FILE.txt \
             (text), or - (Kanata on standard output)",
            path.display()
        ),
    }
}

/// `FROM..TO`, in cycles.
fn window(text: &str) -> anyhow::Result<Range<u64>> {
    let parse = || {
        let (from, to) = text.split_once("..")?;
        Some(from.trim().parse().ok()?..to.trim().parse().ok()?)
    };
    match parse() {
        Some(window) if window.start < window.end => Ok(window),
        _ => {
            bail!("--trace-cycles {text}: write FROM..TO, two numbers of cycles with FROM below TO")
        }
    }
}

fn write_trace(
    file: &mut Box<dyn Write>,
    path: &Path,
    timed: &Timed,
    process: &Process,
    set: Option<&ProductionSet>,
) -> std::io::Result<()> {
    let Some(log) = &timed.trace else {
        return Ok(());
    };
    let production =
        |number: u8| match set.and_then(|set| set.tables().productions.get(usize::from(number))) {
            Some(production) => production.name.clone(),
            None => format!("production {number}"),
        };
    let symbols = process.symbols();
    let symbol = |pc: u64| {
        symbols
            .function_at(pc)
            .map(|f| format!("{}+{:#x}", f.name, pc - f.addr))
    };
    if path.extension().is_some_and(|e| e == "txt") {
        file.write_all(log.schedule().as_bytes())?;
    } else {
        log.write(file, &production, &symbol)?;
    }
    file.flush()?;
    if log.is_empty() {
        say!(
            "hps: warning: the pipeline log is empty: the run has {} cycles (--trace-cycles)",
            timed.core.cycles
        );
    }
    if log.dropped() > 0 {
        say!(
            "hps: warning: the pipeline log ends early: it holds {TRACE_INSTRUCTIONS} instructions, {} more were in \
             the window; choose a smaller one (--trace-cycles)",
            log.dropped()
        );
    }
    Ok(())
}

/// Format of the statistics of a run.
const FORMAT: Format = Format::new("hps-run", 1);

/// What the command writes as JSON.
pub fn described() -> Described {
    FORMAT.described::<Statistics>(&["run"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_ranges_of_cycles() {
        assert_eq!(window("10..2000").expect("a range"), 10..2000);
        for wrong in ["", "10", "..", "5..5", "9..3", "a..b", "-1..4"] {
            assert!(window(wrong).is_err(), "{wrong}");
        }
    }
}
