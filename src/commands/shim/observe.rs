//! `hps shim run`, `attach` and `analyze`.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use hps_lab::work_folder::{PROGRAM, WorkFolder};
use hps_shim::analysis::{Analysis, Analyzer, Depth};
use hps_shim::dte::Dte;
use hps_shim::keep::read_samples;
use hps_shim::machine::Machine;
use hps_shim::plan::{CONTEXTS, Mode, Plan};
use hps_shim::preload::{self, Variant};
use hps_shim::rates::RateSpec;
use hps_shim::results::{FORMAT, FORMAT_VERSION, ShimResult};
use hps_shim::session::{Request, Session};
use hps_shim::spawn::Start;
use hps_shim::summary;
use schemars::JsonSchema;
use serde::Serialize;

use super::args::{AnalyzeArgs, AttachArgs, ExportArgs, OutArgs, Preload, RunArgs, SampleArgs};
use super::{annotate, found_calls, tolerance_ppm, wish};
use crate::commands::preloadable::{self, Wanting};
use crate::document::{Described, Format};
use crate::export::{self, Export};

fn request(args: &SampleArgs) -> anyhow::Result<Request> {
    let mode = if args.tally {
        Mode::Tally
    } else if let Some(capacity) = args.ring {
        Mode::Ring { capacity }
    } else if args.brief {
        Mode::Inline(Depth::Tags)
    } else {
        Mode::Inline(Depth::Full)
    };
    Ok(Request {
        plan: Plan {
            pace: args.period,
            mode,
            dte: Dte {
                tolerance_ppm: tolerance_ppm(args.tolerance)?,
            },
            events: args.events.clone(),
            may_interrupt: args.allow_interrupts,
            stacks: args.stacks.then_some(CONTEXTS),
            ..Plan::default()
        },
        wish: wish(&args.place),
        keep: args.keep.as_deref().map(Path::to_path_buf),
    })
}

const TAGS: Wanting = Wanting {
    name: "--preload",
    simulated: "hps profile observes it",
    otherwise: Some("link it dynamically, or let it write its tags itself (hps_shim.h)"),
    is_x86: false,
};

/// A variable of a program.
pub type Variable = (OsString, OsString);

/// The variable that preloads the tag library, and the library's folder, which lives as long as this.
pub fn preloaded(
    wanted: Option<Preload>,
    command: &[OsString],
) -> anyhow::Result<(Option<WorkFolder>, Vec<Variable>)> {
    let variant = match wanted {
        None => return Ok((None, Vec::new())),
        Some(Preload::Auto) => command.first().map_or(Variant::Stack, |program| {
            Variant::of_program(program.as_ref())
        }),
        Some(Preload::Stack) => Variant::Stack,
        Some(Preload::Flat) => Variant::Flat,
        Some(Preload::Patch) => Variant::Patch,
    };
    preloading(variant, command).map(|(folder, variable)| (Some(folder), vec![variable]))
}

/// The variable that preloads one form of the library, and the library's folder.
pub fn preloading(
    variant: Variant,
    command: &[OsString],
) -> anyhow::Result<(WorkFolder, Variable)> {
    if let Some(program) = command.first() {
        preloadable::check(program, &TAGS)?;
    }
    let folder = WorkFolder::new("shim")?;
    let library = preload::build(folder.path(), variant)
        .context("--preload: the tag library cannot be built")?;
    let value = preload::in_front_of_others(&library);
    Ok((folder, ("LD_PRELOAD".into(), value)))
}

/// Runs `hps shim run`.
pub fn run(args: &RunArgs) -> anyhow::Result<u8> {
    if let Some(collector) = args.calls {
        return found_calls::run(args, collector);
    }
    let machine = Machine::find()?;
    let request = request(&args.sample)?;
    let (_library, environment) = preloaded(args.preload, &args.command)?;
    let work = WorkFolder::new("program")?;
    let start = Start {
        command: args.command.clone(),
        environment,
        record: Some(work.path().join(PROGRAM)),
        ..Start::default()
    };
    let exports = crate::export::parse_all(&args.export.export)?;
    let mut session = request.run(&machine, start)?;
    let words = args
        .command
        .iter()
        .map(|w| w.to_string_lossy().into_owned());
    let code = session.code;
    report(
        &mut session,
        &machine,
        &request.plan,
        words.collect(),
        &args.output,
        &args.export,
        &exports,
    )?;
    Ok(code)
}

/// Runs `hps shim attach`.
pub fn attach(args: &AttachArgs) -> anyhow::Result<u8> {
    let machine = Machine::find()?;
    let request = request(&args.sample)?;
    let exports = crate::export::parse_all(&args.export.export)?;
    let limit = Duration::try_from_secs_f64(args.seconds).context("--seconds")?;
    let mut session = request.attach(&machine, args.pid, limit)?;
    report(
        &mut session,
        &machine,
        &request.plan,
        vec![format!("process {}", args.pid)],
        &args.output,
        &args.export,
        &exports,
    )?;
    Ok(0)
}

fn report(
    session: &mut Session,
    machine: &Machine,
    plan: &Plan,
    command: Vec<String>,
    output: &OutArgs,
    shown: &ExportArgs,
    exports: &[Export],
) -> anyhow::Result<()> {
    let result = ShimResult::new(session, machine, plan, command);
    let text = summary::summary(&result, shown.top);
    let listing = match &shown.annotate {
        Some(name) => Some(annotate::annotate(session, &result, name)?),
        None => None,
    };
    say!("{}", listing.as_deref().unwrap_or(&text).trim_end());
    output.json.write(&result)?;
    if !exports.is_empty() {
        export::write(&hps_shim::export::symbolized(&result), exports)?;
    }
    if let Some(folder) = &output.out {
        let value = serde_json::to_value(&result)?;
        let page = hps_plots::write_shim_report(folder, &value, &text)?;
        say!("report: {}", page.display());
    }
    Ok(())
}

/// Runs `hps shim analyze`.
pub fn analyze(args: &AnalyzeArgs) -> anyhow::Result<u8> {
    let (counters, samples) = read_samples(&args.samples)?;
    let names: Vec<String> = (0..counters).map(|i| format!("counter {i}")).collect();
    let dte = Dte {
        tolerance_ppm: tolerance_ppm(args.tolerance)?,
    };
    let rates = RateSpec::of_counters(&names, &[], false);
    let mut analyzer = Analyzer::new(dte, Depth::Full, counters, rates, 16_384);
    for sample in &samples {
        analyzer.add(sample);
    }
    let analysis = analyzer.result();
    args.json.print_text(&summary::of_analysis(&analysis))?;
    args.json.write(&ANALYSIS.of(&AnalysisDocument {
        version: env!("CARGO_PKG_VERSION"),
        analysis: &analysis,
    }))?;
    Ok(0)
}

/// Format of an analysis of kept samples.
const ANALYSIS: Format = Format::new("hps-shim-analysis", 1);

/// What the commands write as JSON.
pub fn described() -> [Described; 2] {
    // A result says its format itself.
    let result = Format::new(FORMAT, FORMAT_VERSION);
    [
        result.described::<ShimResult>(&["shim run", "shim attach"]),
        ANALYSIS.described::<AnalysisDocument<'_>>(&["shim analyze"]),
    ]
}

/// An analysis of kept samples.
#[derive(Serialize, JsonSchema)]
struct AnalysisDocument<'a> {
    /// Version of the lab.
    version: &'static str,
    #[serde(flatten)]
    analysis: &'a Analysis,
}
