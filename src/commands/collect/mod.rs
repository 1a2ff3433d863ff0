//! `hps collect`: a profile that HPS collects, beside the exhaustive one of the same program.

mod exhaustive;
mod tables;

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use hps_experiments::paper_burst;
use hps_lab::{Faulted, Lab, Program, TimedMachine, dise_config};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::CoreKind;
use hps_productions::{CollectedProfile, Collector, CollectorOptions, SamplePoint, Scheme};
use hps_profile::{
    Accuracy, Events, Fraction, Profile, ProfileDocument, ProfileHeader, ProfileKey, ProfileKind,
    StreamConfig, Unit, accuracy,
};
use hps_sim_core::image::ProgramImage;
use hps_sim_core::machine::Stop;
use hps_sim_core::os::Output;
use hps_sim_core::probe::NoProbe;
use hps_sim_core::symbols::Entries;
use serde_json::{Value, json};

use self::exhaustive::{exhaustive, pairs};
use self::tables::Table;
use crate::cli::{self, CollectArgs, Kind};
use crate::commands::timed_machine;
use crate::program;
use crate::text;

/// One event in this many is sampled by default.
const ONE_IN: u64 = 100;

/// A change of the sampling while the program runs.
struct Change {
    at_instructions: u64,
    point: SamplePoint,
}

/// What a collecting run gives.
struct Run {
    collected: CollectedProfile,
    /// The tables that it is made of, if there are several.
    tables: Vec<Table>,
    /// Cycles with and without the profile, if it was timed.
    cycles: Option<(u64, u64)>,
    instructions: u64,
}

/// Collects a profile and prints it beside the truth.
pub fn collect(args: &CollectArgs) -> anyhow::Result<u8> {
    let kind = match args.kind {
        Kind::Method => ProfileKind::Method,
        Kind::CallPair => ProfileKind::CallPair,
        Kind::DataStream => ProfileKind::DataStream,
    };
    let burst = args.burst.unwrap_or_else(|| paper_burst(kind));
    let point = SamplePoint::from_frequency(burst, args.one_in.unwrap_or(ONE_IN))?;
    let scheme = if args.random_period {
        Scheme::Randomized
    } else {
        Scheme::Hps
    };
    let changes = args
        .change
        .iter()
        .map(|text| parse_change(text))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let timing = args
        .machine
        .as_deref()
        .map(|name| timed_machine(name, args.core))
        .transpose()?
        .map(|mut machine| {
            machine.config.dise.repair_counters &= !args.unrepaired;
            machine
        });
    let mut guest = program::guest_options(&args.subject.guest)?;
    // The program runs several times; its output is not what is asked for here.
    guest.stdout = Output::Discard;
    guest.stdin = program::repeated_stdin(&args.subject)?;
    let subject = &args.subject;
    let mut program = program::find(subject.program(), subject.isa, subject.arguments(), &guest)?;
    program.region = program::region(&args.start.part())?;
    ensure!(
        args.start.warm.is_none() || timing.is_some(),
        "--warm goes with --machine: without one nothing is cached or predicted"
    );
    ensure!(
        kind != ProfileKind::DataStream || args.tail_calls.is_none(),
        "--tail-calls goes with --kind method and --kind call-pair: data streams have no calls"
    );
    let tail_calls = counts_tail_calls(args, kind)
        .then(|| Arc::new(Entries::of(&program.image.symbols, program.image.isa)));

    let contexts = (timing.as_ref()).map_or(1, |machine| machine.config.chip.processors() as usize);
    ensure!(
        changes.is_empty() || contexts == 1,
        "--change goes with machines of one core with one context: a change reaches one context's counters"
    );

    let streams = StreamConfig::default();
    let truth = exhaustive(&program, kind, point, &streams, &tail_calls)?;
    // What it says on standard error has been seen once.
    program.process.stderr = Output::Discard;
    let options = CollectorOptions {
        dise: timing
            .as_ref()
            .map(|machine| dise_config(machine))
            .unwrap_or_default(),
        streams: (kind == ProfileKind::DataStream).then_some(streams),
        seed: args.period_seed,
        tail_calls,
        tables: tables::asked(args, contexts),
        ..CollectorOptions::default()
    };
    let collector = Collector::of(scheme, &[kind], point, &options)?;
    let mut run = match &timing {
        None => run_functional(&program, &collector, &changes)?,
        Some(machine) => run_timed(&program, &collector, &changes, machine)?,
    };
    let parts = std::mem::take(&mut run.tables);
    let report = Report {
        args,
        kind,
        point,
        image: &program.image,
        machine: timing.as_deref(),
        run: &run,
    };
    let (exit_code, in_step) = (truth.exit_code, truth.in_step(point));
    match &run.collected {
        CollectedProfile::Method { addresses, lost } => {
            let entry = |address| truth.methods.entry(address);
            let of_table = |table: Table| match table.collected {
                CollectedProfile::Method { addresses, .. } => {
                    Some((table.owner, addresses.methods(entry)))
                }
                _ => None,
            };
            report.print(
                &addresses.methods(entry),
                &truth.grid.exhaustive.addresses.methods(entry),
                *lost,
                (
                    Value::Null,
                    parts.into_iter().filter_map(of_table).collect(),
                ),
            )
        }
        CollectedProfile::CallPair { call_pairs, lost } => {
            let of_table = |table: Table| match table.collected {
                CollectedProfile::CallPair { call_pairs, .. } => Some((table.owner, call_pairs)),
                _ => None,
            };
            report.print(
                call_pairs,
                &pairs(&truth.grid.exhaustive),
                *lost,
                (
                    Value::Null,
                    parts.into_iter().filter_map(of_table).collect(),
                ),
            )
        }
        CollectedProfile::DataStream(recorder) => {
            let sampled = recorder
                .clone()
                .finish()
                .context("the data streams were not analyzed")?;
            let exact = truth
                .streams
                .context("the data streams were not analyzed")?;
            let summary = json!({ "sampled": sampled.summary, "exhaustive": exact.summary });
            report.print(&sampled.profile, &exact.profile, 0, (summary, Vec::new()))
        }
        CollectedProfile::Nothing => bail!("nothing was collected"),
    }?;
    if let Some(warning) = in_step.filter(|_| !args.random_period && changes.is_empty()) {
        say!("hps: warning: {warning}");
    }
    if exit_code != 0 {
        say!(
            "hps: the program ended with exit code {exit_code}: the profile is of a run that failed; `hps run` shows what \
             it prints"
        );
        return Ok(1);
    }
    Ok(0)
}

/// Whether tail calls enter methods, or make pairs.
fn counts_tail_calls(args: &CollectArgs, kind: ProfileKind) -> bool {
    args.tail_calls.unwrap_or(kind == ProfileKind::Method)
}

fn parse_change(text: &str) -> anyhow::Result<Change> {
    let parts: Vec<u64> = text.split(':').filter_map(|p| p.parse().ok()).collect();
    let [at_instructions, burst, one_in] = parts[..] else {
        bail!(
            "--change {text}: write AT:BURST:ONE_IN, three whole numbers, for example 1000000:1:1000"
        );
    };
    Ok(Change {
        at_instructions,
        point: SamplePoint::from_frequency(burst, one_in)?,
    })
}

fn run_functional(
    program: &Program,
    collector: &Collector,
    changes: &[Change],
) -> anyhow::Result<Run> {
    let mut machine = Lab::of(program).edited_by(collector).open()?;
    for change in changes {
        let ahead = change
            .at_instructions
            .saturating_sub(machine.retired.program);
        if machine.run(&mut NoProbe, ahead) != Stop::Limit {
            break;
        }
        for (register, value) in collector.scheme().registers(change.point) {
            machine.process.thread.hart.r[register as usize] = value;
        }
    }
    Faulted::or_exit_code(machine.run_to_end(), &machine.process)?;
    Ok(Run {
        collected: collector.read(&machine.process)?,
        tables: tables::read(collector, &machine.process)?,
        cycles: None,
        instructions: machine.retired.program,
    })
}

fn run_timed(
    program: &Program,
    collector: &Collector,
    changes: &[Change],
    machine: &TimedMachine,
) -> anyhow::Result<Run> {
    let baseline = Lab::of(program).timed_by(machine).run()?;
    Faulted::or_exit_code(baseline.stop, &baseline.process)?;
    let mut core = Lab::of(program)
        .timed_by(machine)
        .edited_by(collector)
        .open()?;
    for change in changes {
        let ahead = change
            .at_instructions
            .saturating_sub(core.stats().commit_program_instructions);
        if core.run(ahead) != Stop::Limit {
            break;
        }
        for (register, value) in collector.scheme().registers(change.point) {
            core.set_dise_register(register, value);
        }
    }
    let stop = core.run_to_end();
    // On several contexts, the account of one that rests ends where it began to.
    let finished = core.finish();
    Faulted::or_exit_code(stop, &finished.process)?;
    let others: u64 = (finished.others.iter())
        .map(|other| other.stats.commit_program_instructions)
        .sum();
    Ok(Run {
        collected: collector.read(&finished.process)?,
        tables: tables::read(collector, &finished.process)?,
        cycles: Some((finished.stats.cycles, baseline.cycles())),
        instructions: finished.stats.commit_program_instructions + others,
    })
}

/// Everything that a printed profile says beside its members.
struct Report<'a> {
    args: &'a CollectArgs,
    kind: ProfileKind,
    point: SamplePoint,
    image: &'a ProgramImage,
    machine: Option<&'a MachineConfig>,
    run: &'a Run,
}

impl Report<'_> {
    fn print<K: ProfileKey>(
        &self,
        sampled: &Profile<K>,
        exact: &Profile<K>,
        lost: u64,
        (summary, tables): (Value, Vec<(String, Profile<K>)>),
    ) -> anyhow::Result<()> {
        ensure!(
            exact.total() > 0,
            "the exhaustive profile is empty: the program has no such events"
        );
        let overlap = accuracy(sampled, exact, Fraction::NINETY_PERCENT);
        let listed = tables::json(&tables, &|member| self.describe(member));
        let document = self.document((sampled, exact), &overlap, (summary, listed))?;
        self.args.json.write(&document)?;
        let mut out = self.args.json.text();
        writeln!(
            out,
            "{}, {}{}, of {} ({})",
            self.kind.title(),
            self.point,
            if self.args.random_period {
                ", random period"
            } else {
                ""
            },
            self.args.subject.program(),
            &self.image.hash[..12]
        )?;
        match (self.machine, self.run.cycles) {
            (Some(machine), Some((with, without))) => writeln!(
                out,
                "on {}{}: {with} cycles, {without} without profiling: overhead {:.3}%",
                machine.name,
                match self.args.core {
                    cli::CoreKind::Cycle => "",
                    cli::CoreKind::Instruction => ", an instruction at a time",
                },
                100.0 * (with as f64 / without as f64 - 1.0)
            )?,
            _ => writeln!(
                out,
                "functional run, not timed (--machine hps-4wide times it)"
            )?,
        }
        writeln!(
            out,
            "{} instructions; weight {} sampled of {}; accuracy {:.1}% (overlap of the top 90%, renormalized), {:.1}% capped",
            self.run.instructions,
            sampled.total(),
            exact.total(),
            100.0 * overlap.renormalized,
            100.0 * overlap.capped
        )?;
        if lost > 0 {
            writeln!(
                out,
                "warning: {lost} events found no room in the handler's table"
            )?;
        }
        writeln!(
            out,
            "\n{:>9} {:>9}  {}",
            "truth",
            "sampled",
            self.kind.title()
        )?;
        for (member, weight) in exact.listing().into_iter().take(self.args.top) {
            let share = |w: u64, total: u64| {
                if total == 0 {
                    0.0
                } else {
                    100.0 * w as f64 / total as f64
                }
            };
            writeln!(
                out,
                "{:>8.2}% {:>8.2}%  {}",
                share(weight, exact.total()),
                share(sampled.weight(member), sampled.total()),
                text::one_line(&self.describe(member))
            )?;
        }
        tables::print(&mut out, &tables, &|member| {
            text::one_line(&self.describe(member)).into_owned()
        })?;
        if sampled.is_empty() {
            let why = match self.kind {
                ProfileKind::DataStream => {
                    "no sequence of references repeats often enough in what was sampled to be a hot stream: bursts are too \
                     short to hold one, or too few; use a longer --burst or a smaller --one-in"
                }
                _ => "the program has too few events for this frequency; use a smaller --one-in",
            };
            writeln!(out, "\nno member was sampled: {why}")?;
        } else if overlap.renormalized == 0.0 {
            writeln!(
                out,
                "\nthe accuracy is 0 because no sampled member is one of the truth: {}",
                match self.kind {
                    ProfileKind::DataStream =>
                        "bursts cut the true streams into others; use a longer --burst",
                    _ => "use a smaller --one-in",
                }
            )?;
        }
        Ok(())
    }

    fn describe<K: ProfileKey>(&self, member: &K) -> String {
        let name = |address: u64| {
            self.image
                .symbols
                .function_at(address)
                .map(|f| f.name.clone())
        };
        let label = member.label(&name);
        match self.kind {
            ProfileKind::DataStream => {
                let addresses = member.frames(&|_| None);
                let shown = addresses
                    .iter()
                    .take(6)
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(" ");
                let more = addresses.len().saturating_sub(6);
                let rest = if more > 0 {
                    format!(" … {more} more")
                } else {
                    String::new()
                };
                format!("{} references: {shown}{rest}", addresses.len())
            }
            _ => {
                let frame = member
                    .frames(&|_| None)
                    .first()
                    .cloned()
                    .unwrap_or_default();
                let pc = u64::from_str_radix(frame.trim_start_matches("0x"), 16).unwrap_or(0);
                match self.image.source_line(pc) {
                    Some(line) => format!("{label}  ({line})"),
                    None => label,
                }
            }
        }
    }

    fn document<K: ProfileKey>(
        &self,
        (sampled, exact): (&Profile<K>, &Profile<K>),
        overlap: &Accuracy,
        (summary, tables): (Value, Value),
    ) -> anyhow::Result<Value> {
        let header = |what: &str| ProfileHeader {
            program: self.args.subject.program().to_string(),
            program_hash: self.image.hash.clone(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            configuration: json!({
                "collected": what,
                "burst": self.point.burst,
                "sparsity": self.point.sparsity,
                "random_period_seed": self.args.random_period.then_some(self.args.period_seed),
                "tail_calls": counts_tail_calls(self.args, self.kind),
                "args": self.args.subject.arguments(),
                "machine": self.machine.map(|m| m.to_ron()),
                "core_driven_by": self.machine.map(|_| CoreKind::from(self.args.core).name()),
            }),
            kind: self.kind.into(),
            unit: Events::NAME.to_string(),
            parts: 1,
            total: 0,
            summary: summary.clone(),
        };
        let document = |what: &str, profile: &Profile<K>| -> anyhow::Result<Value> {
            let mut bytes = Vec::new();
            ProfileDocument::new(header(what), profile.clone()).write(&mut bytes)?;
            Ok(serde_json::from_slice(&bytes)?)
        };
        Ok(json!({
            "accuracy": {
                "renormalized": overlap.renormalized,
                "capped": overlap.capped,
                "members_exact": overlap.members_exact,
                "members_sampled": overlap.members_sampled,
            },
            "cycles": self.run.cycles.map(|c| c.0),
            "baseline_cycles": self.run.cycles.map(|c| c.1),
            "sampled": document("sampled", sampled)?,
            "exhaustive": document("exhaustive", exact)?,
            "tables": tables,
        }))
    }
}
