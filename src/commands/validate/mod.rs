//! `hps validate`: a program natively under SHIM and in the simulator, side by side.
//!
//! - **Sources** of the programs travel in the binary (`hps_workloads::sources`; a test compares the list with the folders).
//! - **The native form** keeps the programs' own runtime (start-up, allocator, output). It is linked dynamically,
//!   without the C library's start files, so that a library can be preloaded; only the end of the process goes
//!   through the C library, so that the tag library can say that the thread is over.
//! - **Both forms are built with one list of flags** (`SAME_CALLS` in `build.rs`): no inlining, clones, merged
//!   functions or tail calls, and no calls left out because a function has no effect (an instrumented one always
//!   has). Calls by function are then equal exactly, and any difference is a finding. Without a RISC-V compiler the
//!   committed image is used; functions inlined there are called less often. `scripts/real-programs.sh` builds
//!   bzip2, gzip and Lua in three forms with that list.
//! - **The measure comparable with native time is simulated cycles by function.** Instructions, calls with back-edges
//!   (HPS's events) and HPS's samples are shown beside it, and are no time. In the simulation, code of functions that
//!   natively have no tags (libraries, assembly) counts for the observed function that called it, as it does natively.
//! - **Alpha** (`--isa alpha`): the form is built by Debian's Alpha compilers from the same sources. The division
//!   routines of its runtime have no native counterpart, and count for their callers.
//! - **Native shares** are medians over runs, renormalized; "runs differ" is half the sum over functions of the median
//!   absolute deviation.
//! - **Instrumented on both sides.** Hooks cost small functions and their callers time, natively. So the program is
//!   simulated a second time with the same stores at each entry and exit (`shim/preload/hps_shim_stand_in.c`), and
//!   commit slots go to the function that the tag names at that moment (`TagSlots` in `experiments/src/validation/slots.rs`).
//!
//! `docs/measurements/validation.md` has results.

mod args;
mod build;
mod counters;
mod native;
mod report;

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use hps_experiments::validation::{self, Comparison, Native, Observers, Origin, Simulated};
use hps_lab::Program;
use hps_pipeline::config::MachineConfig;
use hps_productions::SamplePoint;
use hps_shim::calls::Collector;
use hps_shim::pace::Pace;
use hps_system::image::Isa;
use hps_system::os::{Output, Stdin};
use hps_workloads::Workload;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

pub use self::args::ValidateArgs;
use self::build::Compilers;
use self::native::{Calls, Libraries, NativeProgram};
use crate::cli::Size;
use crate::document::{Described, Format};
use crate::program;

/// A program in both forms, and how it is run.
struct Subject {
    name: String,
    native: NativeProgram,
    simulated: Simulated,
    /// Contents of the simulated executable's file.
    simulated_file: Vec<u8>,
}

/// Settings of the measurement.
struct Settings {
    runs: usize,
    pace: Pace,
    machine: Option<MachineConfig>,
    point: SamplePoint,
    libraries: Libraries,
    /// Collectors of calls that are compared.
    collectors: Vec<Collector>,
    /// The machine of observers, if any are compared, and their most instructions.
    observed_on: Option<MachineConfig>,
    observed_instructions: u64,
}

/// Validates programs of the project, or a pair of the user's.
pub fn validate(args: &ValidateArgs) -> anyhow::Result<u8> {
    if let Some(folder) = &args.records {
        return counters::records(folder);
    }
    if args.counters || args.record.is_some() {
        return counters::run(args);
    }
    let machine = if args.no_timing {
        None
    } else {
        Some(MachineConfig::load(&args.machine)?)
    };
    let collectors = args.collectors();
    let has_observers = !collectors.is_empty();
    ensure!(
        !has_observers || args.runs > 0,
        "--runs 0 observes nothing: leave out --calls and --report, or give a number of runs"
    );
    let settings = Settings {
        collectors,
        observed_on: has_observers
            .then(|| MachineConfig::load(&args.observed_on))
            .transpose()?,
        observed_instructions: args.observed_instructions,
        runs: args.runs,
        pace: args.period.parse()?,
        machine,
        point: SamplePoint::from_frequency(args.burst, args.one_in)?,
        libraries: Libraries::build(&args.out)?,
    };
    let mut comparisons = Vec::new();
    for_each_subject(args, true, |subject| {
        comparisons.push(compared(subject, &settings)?);
        Ok(())
    })?;
    let mut out = String::new();
    if let [comparison] = comparisons.as_slice() {
        out += &report::one(comparison, args.top);
    } else {
        out += &report::all(&comparisons);
    }
    if let Some(first) = comparisons.first() {
        out += &format!("\n{}", report::explanation(first.origin, first.isa));
    }
    args.json.print_text(&out)?;
    if let Some(folder) = &args.report {
        for comparison in &comparisons {
            let folder = match comparisons.len() {
                1 => folder.to_path_buf(),
                _ => folder.join(&comparison.program),
            };
            let text = report::one(comparison, args.top);
            let mut value = serde_json::to_value(comparison)?;
            value["version"] = json!(env!("CARGO_PKG_VERSION"));
            value["machine"] = json!(settings.machine.as_ref().map(|m| &m.name));
            value["observed_on"] = json!(settings.observed_on.as_ref().map(|m| &m.name));
            let page = hps_plots::write_validation_report(&folder, &value, &text)?;
            say!("report: {}", page.display());
        }
    }
    args.json.write(&FORMAT.of(&ValidationDocument {
        version: env!("CARGO_PKG_VERSION"),
        machine: settings.machine.as_ref().map(MachineConfig::to_ron),
        burst: settings.point.burst,
        sparsity: settings.point.sparsity,
        period: settings.pace.to_string(),
        programs: &comparisons,
    }))?;
    Ok(u8::from(comparisons.iter().any(|c| !c.same_output)))
}

/// Visits the user's pair, or the programs of the project, whose native form has hooks or not.
fn for_each_subject(
    args: &ValidateArgs,
    has_hooks: bool,
    mut visit: impl FnMut(&Subject) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if args.native.is_some() {
        return visit(&user_pair(args)?);
    }
    let compilers = Compilers::new(&args.out);
    let chosen = workloads(&args.args)?;
    for (done, workload) in chosen.iter().enumerate() {
        if chosen.len() > 1 {
            say!("{} ({} of {})", workload.name, done + 1, chosen.len());
        }
        visit(&workload_pair(args, workload, &compilers, has_hooks)?)?;
    }
    Ok(())
}

/// Format of what `hps validate` writes.
pub const FORMAT: Format = Format::new("hps-validation", 1);

/// Programs that ran natively under SHIM's observer and in the simulator.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ValidationDocument<'a> {
    /// Version of the lab.
    version: &'a str,
    /// The machine in Rusty Object Notation; null if nothing was timed.
    machine: Option<String>,
    /// Burst length of HPS's profile in events.
    burst: u64,
    /// Events between bursts.
    sparsity: u64,
    /// The wait between samples of the observer.
    period: String,
    /// The programs.
    programs: &'a [Comparison],
}

/// The programs of these names, or all.
fn workloads(names: &[String]) -> anyhow::Result<Vec<&'static Workload>> {
    if names.is_empty() {
        return Ok(hps_workloads::all().iter().collect());
    }
    names
        .iter()
        .map(|name| {
            hps_workloads::find(name).with_context(|| {
                let known: Vec<_> = hps_workloads::all().iter().map(|w| w.name).collect();
                format!(
                    "{name}: no program that comes with the project ({}); give a pair of your own with \
                     --native and --simulated",
                    known.join(", ")
                )
            })
        })
        .collect()
}

fn workload_pair(
    args: &ValidateArgs,
    workload: &'static Workload,
    compilers: &Compilers,
    has_hooks: bool,
) -> anyhow::Result<Subject> {
    let size = match args.size {
        Size::Small => hps_workloads::Size::Small,
        Size::Large => hps_workloads::Size::Large,
    };
    let rebuilt = if args.image {
        None
    } else {
        compilers.simulated(workload.name, args.isa)?
    };
    let (image, instrumented, origin, file) = match rebuilt {
        Some(built) => {
            let file = std::fs::read(&built.plain_file)?;
            (built.plain, Some(built.instrumented), Origin::Rebuilt, file)
        }
        None => {
            let image = Program::find(workload.name, args.isa)?.image;
            let file = workload.image(args.isa.name()).unwrap_or_default();
            (image, None, Origin::Image, file.to_vec())
        }
    };
    // Where the simulated instruction set is the host's, both sides execute one file.
    let native = match args.isa.name() == std::env::consts::ARCH && !has_hooks {
        true => compilers.kept(workload.name, args.isa, &file)?,
        false => compilers.native(workload.name, has_hooks)?,
    };
    Ok(Subject {
        name: workload.name.to_owned(),
        native: NativeProgram {
            executable: native,
            args: workload.args(size).map(str::to_owned).to_vec(),
            env: Vec::new(),
            folder: None,
            stdin: None,
        },
        simulated: Simulated {
            image,
            instrumented,
            process: Program::workload(workload, args.isa, size)?.process,
            origin,
            expected: Some(workload.expected(size)),
        },
        simulated_file: file,
    })
}

fn user_pair(args: &ValidateArgs) -> anyhow::Result<Subject> {
    let (Some(executable), Some(simulated)) = (&args.native, &args.simulated) else {
        bail!(
            "--native and --simulated belong together: the same program for this host and for RISC-V or \
             Alpha"
        );
    };
    ensure!(
        executable.is_file(),
        "{}: there is no such executable",
        executable.display()
    );
    let image = Program::find(simulated, None)?.image;
    let mut guest = program::guest_options(&args.guest)?;
    guest.stdout = Output::Capture;
    guest.stdin = match &args.stdin {
        None => Stdin::Empty,
        Some(file) => Stdin::Bytes(std::fs::read(file).with_context(|| {
            format!(
                "{}: cannot be read; choose another with --stdin",
                file.display()
            )
        })?),
    };
    let config = guest.process_config([std::slice::from_ref(simulated), &args.args].concat());
    let name: PathBuf = executable.file_name().unwrap_or_default().into();
    Ok(Subject {
        name: name.display().to_string(),
        native: NativeProgram {
            executable: executable.clone(),
            args: args.args.clone(),
            env: config.env.clone(),
            folder: args.guest.root.clone(),
            stdin: args.stdin.clone(),
        },
        simulated: Simulated {
            instrumented: args
                .simulated_instrumented
                .as_deref()
                .map(|file| Program::find(file, image.isa).map(|program| program.image))
                .transpose()?,
            image,
            process: config,
            origin: Origin::User,
            expected: None,
        },
        simulated_file: contents(simulated)?,
    })
}

/// Contents of the file of a program that is named, or is a file.
fn contents(program: &str) -> anyhow::Result<Vec<u8>> {
    let of_project = hps_workloads::find(program).and_then(|w| w.image(Isa::Riscv64.name()));
    match of_project {
        Some(image) => Ok(image.to_vec()),
        None => std::fs::read(program).with_context(|| format!("{program}: cannot be read")),
    }
}

/// Runs both forms and compares them.
fn compared(subject: &Subject, settings: &Settings) -> anyhow::Result<Comparison> {
    let (program, libraries) = (&subject.native, &settings.libraries);
    let Calls {
        by_function,
        by_edge,
        stdout,
    } = program.calls(libraries)?;
    let times = (settings.runs > 0).then(|| program.times(libraries, settings.runs, settings.pace));
    let how = (settings.runs, settings.pace);
    let collectors = settings.collectors.iter();
    let collectors: anyhow::Result<Vec<_>> = collectors
        .map(|&collector| program.collected(libraries, collector, how))
        .collect();
    let observers = settings.observed_on.as_ref().map(|machine| Observers {
        machine,
        limit: settings.observed_instructions,
        sleep: cycles(settings.pace, machine),
    });
    let native = Native {
        calls: by_function,
        edges: by_edge,
        stdout,
        times: times.transpose()?,
        periods: observers
            .is_some()
            .then(|| program.periods(libraries, settings.pace))
            .transpose()?,
        collectors: collectors?,
    };
    Ok(validation::compare(
        &subject.name,
        &native,
        &subject.simulated,
        settings.machine.as_ref(),
        settings.point,
        observers.as_ref(),
    )?)
}

/// The wait between two looks of an observer, in cycles of a machine. Pauses are those of the host, and none there.
fn cycles(pace: Pace, machine: &MachineConfig) -> u64 {
    match pace {
        Pace::Fast | Pace::Pause(_) => 0,
        Pace::Cycles(cycles) => cycles,
        Pace::Sleep(ns) => ns * u64::from(machine.clock_mhz) / 1_000,
    }
}

/// What the command writes as JSON.
pub fn all_described() -> [Described; 2] {
    let whole = FORMAT.described::<ValidationDocument<'_>>(&["validate"]);
    [whole, counters::described()]
}
