//! `hps profile`: one profile collected by HPS, beside the truth of the same program.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use hps_experiments::machine::dise_config;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{CoreKind, EitherCore};
use hps_productions::{
    CollectedProfile, Collector, CollectorOptions, GridProbe, MethodMap, SamplePoint,
};
use hps_profile::{
    Accuracy, Fraction, Profile, ProfileDocument, ProfileHeader, ProfileKey, ProfileKind,
    StreamConfig, StreamProfile, accuracy,
};
use hps_sim_core::editor::NoEditor;
use hps_sim_core::image::ProgramImage;
use hps_sim_core::machine::{Machine, Stop};
use hps_sim_core::os::Output;
use hps_sim_core::probe::NoProbe;
use hps_sim_core::process::ProcessConfig;
use serde_json::{Value, json};

use crate::cli::{self, Kind, ProfileArgs};
use crate::commands::core_for;
use crate::{host, program};

/// A change of the sampling while the program runs.
struct Change {
    at_instructions: u64,
    point: SamplePoint,
}

/// What a collecting run gives.
struct Run {
    collected: CollectedProfile,
    /// Cycles with and without the profile, if it was timed.
    cycles: Option<(u64, u64)>,
    instructions: u64,
}

/// Collects a profile and prints it beside the truth.
pub fn profile(args: &ProfileArgs) -> anyhow::Result<u8> {
    let kind = match args.kind {
        Kind::Method => ProfileKind::Method,
        Kind::CallPair => ProfileKind::CallPair,
        Kind::DataStream => ProfileKind::DataStream,
    };
    let point = SamplePoint::from_frequency(args.burst, args.one_in)?;
    let changes = args
        .change
        .iter()
        .map(|text| parse_change(text))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let timing = args
        .machine
        .as_deref()
        .map(MachineConfig::load)
        .transpose()?
        .map(|mut m| {
            m.dise.repair_counters &= !args.unrepaired;
            Ok::<_, anyhow::Error>((core_for(args.core, &m)?, m))
        })
        .transpose()?;
    let image = program::load(args.program(), args.isa)?;
    let mut config = program::process_config(&args.guest, args.program(), args.arguments())?;
    // The program runs several times; its output is not what is asked for here.
    config.stdout = Output::Discard;
    config.stdin = hps_sim_core::os::Stdin::Empty;

    let streams = StreamConfig::default();
    let truth = exhaustive(&image, &config, kind, &streams)?;
    let options = CollectorOptions {
        dise: timing
            .as_ref()
            .map(|(_, machine)| dise_config(machine))
            .unwrap_or_default(),
        streams: (kind == ProfileKind::DataStream).then_some(streams),
        ..CollectorOptions::default()
    };
    let collector = Collector::new(kind, point, &options)?;
    let run = match &timing {
        None => run_functional(&image, &config, &collector, &changes)?,
        Some((core, machine)) => run_timed(&image, &config, &collector, &changes, machine, *core)?,
    };
    let report = Report {
        args,
        kind,
        point,
        image: &image,
        machine: timing.as_ref().map(|(_, machine)| machine),
        run: &run,
    };
    match &run.collected {
        CollectedProfile::Method { addresses, lost } => {
            let entry = |address| truth.methods.entry(address);
            report.print(
                &addresses.methods(entry),
                &truth.grid.exhaustive.addresses.methods(entry),
                *lost,
                Value::Null,
            )
        }
        CollectedProfile::CallPair { call_pairs, lost } => report.print(
            call_pairs,
            &truth.grid.exhaustive.call_pairs,
            *lost,
            Value::Null,
        ),
        CollectedProfile::DataStream(recorder) => {
            let sampled = recorder
                .clone()
                .finish()
                .context("the data streams were not analyzed")?;
            let exact = truth
                .streams
                .context("the data streams were not analyzed")?;
            let summary = json!({ "sampled": sampled.summary, "exhaustive": exact.summary });
            report.print(&sampled.profile, &exact.profile, 0, summary)
        }
        CollectedProfile::Nothing => bail!("nothing was collected"),
    }?;
    Ok(0)
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

struct Truth {
    grid: hps_productions::GridResult,
    methods: MethodMap,
    streams: Option<StreamProfile>,
}

fn exhaustive(
    image: &Arc<ProgramImage>,
    config: &ProcessConfig,
    kind: ProfileKind,
    streams: &StreamConfig,
) -> anyhow::Result<Truth> {
    let mut machine = Machine::new(program::process(image, config)?);
    let mut grid = if kind == ProfileKind::DataStream {
        let mut probe = GridProbe::with_memory(&[], Some(streams))?.on_threads(host::processors());
        ended(machine.run(&mut probe, u64::MAX), image)?;
        probe.finish()
    } else {
        let mut probe = GridProbe::new(&[])?;
        ended(machine.run(&mut probe, u64::MAX), image)?;
        probe.finish()
    };
    let methods = grid.method_map(&image.symbols);
    let streams = grid
        .exhaustive
        .stream
        .take()
        .and_then(|recorder| recorder.finish());
    Ok(Truth {
        grid,
        methods,
        streams,
    })
}

fn ended(stop: Stop, image: &ProgramImage) -> anyhow::Result<()> {
    if let Stop::Fault(trap) = stop {
        bail!(
            "the program faulted: {trap}, in {}",
            program::place(image, trap.pc)
        );
    }
    Ok(())
}

fn run_functional(
    image: &Arc<ProgramImage>,
    config: &ProcessConfig,
    collector: &Collector,
    changes: &[Change],
) -> anyhow::Result<Run> {
    let mut process = program::process(image, config)?;
    let engine = collector.install(&mut process)?;
    let mut machine = Machine::with_editor(process, engine);
    for change in changes {
        let ahead = change
            .at_instructions
            .saturating_sub(machine.retired.program);
        if machine.run(&mut NoProbe, ahead) != Stop::Limit {
            break;
        }
        for (register, value) in change.point.registers() {
            machine.process.hart.r[register as usize] = value;
        }
    }
    ended(machine.run_to_end(), image)?;
    Ok(Run {
        collected: collector.read(&machine.process)?,
        cycles: None,
        instructions: machine.retired.program,
    })
}

fn run_timed(
    image: &Arc<ProgramImage>,
    config: &ProcessConfig,
    collector: &Collector,
    changes: &[Change],
    machine: &MachineConfig,
    kind: CoreKind,
) -> anyhow::Result<Run> {
    let process = program::process(image, config)?;
    let mut baseline = EitherCore::with(kind, machine, process, NoEditor, NoProbe)?;
    ended(baseline.run_to_end(), image)?;
    let mut process = program::process(image, config)?;
    let engine = collector.install(&mut process)?;
    let mut core = EitherCore::with(kind, machine, process, engine, NoProbe)?;
    for change in changes {
        let ahead = change
            .at_instructions
            .saturating_sub(core.stats().commit_program_instructions);
        if core.run(ahead) != Stop::Limit {
            break;
        }
        for (register, value) in change.point.registers() {
            core.set_dise_register(register, value);
        }
    }
    ended(core.run_to_end(), image)?;
    Ok(Run {
        collected: collector.read(core.process())?,
        cycles: Some((core.stats().cycles, baseline.stats().cycles)),
        instructions: core.stats().commit_program_instructions,
    })
}

/// Everything that a printed profile says beside its members.
struct Report<'a> {
    args: &'a ProfileArgs,
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
        summary: Value,
    ) -> anyhow::Result<()> {
        let overlap = accuracy(sampled, exact, Fraction::NINETY_PERCENT);
        if let Some(path) = &self.args.json {
            self.write_json(path, sampled, exact, &overlap, summary)?;
        }
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "{}, {}, of {} ({})",
            self.kind.title(),
            self.point,
            self.args.program(),
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
        ensure!(
            exact.total() > 0,
            "the exhaustive profile is empty: the program has no such events"
        );
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
                self.describe(member)
            )?;
        }
        if sampled.is_empty() {
            writeln!(
                out,
                "\nno member was sampled: the program has too few events for this frequency"
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

    fn write_json<K: ProfileKey>(
        &self,
        path: &std::path::Path,
        sampled: &Profile<K>,
        exact: &Profile<K>,
        overlap: &Accuracy,
        summary: Value,
    ) -> anyhow::Result<()> {
        let header = |what: &str| ProfileHeader {
            program: self.args.program().to_string(),
            program_hash: self.image.hash.clone(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            configuration: json!({
                "collected": what,
                "burst": self.point.burst,
                "sparsity": self.point.sparsity,
                "args": self.args.arguments(),
                "machine": self.machine.map(|m| m.to_ron()),
                "core_driven_by": self.machine.map(|_| CoreKind::from(self.args.core).name()),
            }),
            kind: self.kind,
            total: 0,
            summary: summary.clone(),
        };
        let document = |what: &str, profile: &Profile<K>| -> anyhow::Result<Value> {
            let mut bytes = Vec::new();
            ProfileDocument::new(header(what), profile.clone()).write(&mut bytes)?;
            Ok(serde_json::from_slice(&bytes)?)
        };
        let all = json!({
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
        });
        let text = serde_json::to_string_pretty(&all)?;
        std::fs::write(path, text + "\n").with_context(|| {
            format!(
                "{}: cannot write the profile; choose another file with --json",
                path.display()
            )
        })
    }
}
