//! `hps shadow run` and `hps shadow attach`: shadows of a native program.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use hps_lab::work_folder::WorkFolder;
use hps_profile::symbolized::{Header, SymbolizedProfile};
use hps_shadow::accuracy::{hot_path_accuracy, invariance_difference, overlap};
use hps_shadow::policy::CompiledPolicy;
use hps_shadow_native::found::{ThreadRow, rows};
use hps_shadow_native::library;
use hps_shadow_native::overhead::{self, Overhead};
use hps_shadow_native::{Mode, Monitor, Profiles, Request, Session, Shadow, View};
use hps_shim::symbols::Symbolizer;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::native_args::{AttachArgs, RunArgs, SamplingArgs, ShownArgs, Threads, Values};
use super::native_live::watched;
use super::native_report::report;
use super::simulate::find;
use crate::commands::preloadable::{self, Wanting};
use crate::document::{Described, Format};
use crate::export::{self, Export};
use crate::progress;
use crate::saved::SavedProfiles;
use crate::text::grouped;

const SHADOWS: Wanting = Wanting {
    name: "hps shadow run",
    simulated: "hps shadow simulate profiles it",
    otherwise: None,
    is_x86: true,
};

/// Format of what `hps shadow run` writes.
pub const FORMAT: Format = Format::new("hps-shadow-native", 1);

/// A native program with its shadows.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NativeDocument<'a> {
    /// Version of the lab.
    version: &'a str,
    /// The program and its arguments.
    command: Vec<Cow<'a, str>>,
    /// Numbers of the run by their names, which say the unit.
    facts: BTreeMap<&'a str, f64>,
    /// How the program ended.
    ended: &'a str,
    /// Counts of the monitor.
    monitor: Monitor,
    /// Shadows by why they ended.
    endings: &'a BTreeMap<String, u64>,
    /// System calls of shadows: name, action, how often.
    calls: &'a [(String, &'static str, u64)],
    /// Each shadow.
    shadows: &'a [Shadow],
    /// The program's threads, by the instructions of their shadows.
    threads: &'a [ThreadRow],
    /// The whole run as a shadow, if it was instrumented, too.
    whole: Option<&'a Shadow>,
    /// Times of the program alone and with shadows, if they were measured.
    overhead: Option<&'a Overhead>,
}

/// Runs the program with its shadows, and says what they saw.
pub(super) fn run(args: &RunArgs) -> anyhow::Result<u8> {
    let mode = match (args.full, args.end_to_end) {
        (true, _) => Mode::Whole,
        (_, true) => Mode::EndToEnd,
        _ => Mode::Sample,
    };
    let policy = find(&args.sampling.policy)?.compiled();
    let request = request(&args.sampling, args.command.clone(), mode, &policy)?;
    let exports = export::parse_all(&args.shown.export)?;
    if let Some(program) = args.command.first() {
        preloadable::check(program, &SHADOWS)?;
    }
    request.form(args.perfect)?;
    let folder = WorkFolder::new("shadow")?;
    let library =
        library::build(folder.path()).context("the library that forks shadows cannot be built")?;
    let run = |request: Request<'_>| request.run(&library);
    let mut session = watched(args.shown.live, &request, run)?;
    let mut notes: Vec<String> = session
        .no_shadow(request.period, false)
        .into_iter()
        .collect();
    if args.perfect {
        let perfect = perfect(&request, &library)?;
        session.whole = perfect.whole;
        // A run without shadows has not read the places of the program's code: they come from the perfect profile.
        session.symbols.add(perfect.symbols);
    }
    let cost = args
        .runs
        .map(|runs| cost(&request, &library, runs))
        .transpose()?;
    notes.extend(session.costly_forks());
    tell(
        session,
        &request.command,
        &args.shown,
        &exports,
        cost.as_ref(),
        &notes,
    )
}

/// Attaches to a process, and says what shadows saw of it.
pub(super) fn attach(args: &AttachArgs) -> anyhow::Result<u8> {
    let process = args.process;
    let policy = find(&args.sampling.policy)?.compiled();
    let words = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let words = words
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty());
    let command = words
        .map(|word| String::from_utf8_lossy(word).into_owned().into())
        .collect();
    let request = request(&args.sampling, command, Mode::Sample, &policy)?;
    let limit = args
        .seconds
        .map(|limit| seconds("--seconds", limit))
        .transpose()?;
    let exports = export::parse_all(&args.shown.export)?;
    let folder = WorkFolder::new("shadow")?;
    let library =
        library::build(folder.path()).context("the library that forks shadows cannot be built")?;
    let stop = Arc::new(AtomicBool::new(false));
    let stops = Arc::clone(&stop);
    ctrlc::set_handler(move || stops.store(true, Ordering::Relaxed))
        .context("Ctrl-C cannot be waited for")?;
    let attach = |request: Request<'_>| request.attach(&library, process, limit, &stop);
    let session = watched(args.shown.live, &request, attach)?;
    let seconds = session.wall.as_secs_f64();
    let mut said = vec![format!(
        "process {process} was attached for {seconds:.1} s: {}",
        session.status
    )];
    said.extend(session.no_shadow(request.period, true));
    said.extend(session.costly_forks());
    tell(
        session,
        &request.command,
        &args.shown,
        &exports,
        None,
        &said,
    )
}

fn request<'a>(
    args: &SamplingArgs,
    command: Vec<OsString>,
    mode: Mode,
    policy: &'a CompiledPolicy,
) -> anyhow::Result<Request<'a>> {
    Ok(Request {
        command,
        mode,
        load: positive("--load", args.load)?,
        most_overhead: args
            .max_overhead
            .map(|percent| positive("--max-overhead", percent))
            .transpose()?
            .map(|percent| percent / 100.0),
        all_values: args.values == Values::All,
        by_turn: args.threads == Threads::Turn,
        view: View::default(),
        sample: args.length,
        period: seconds("--period", args.period_ns / 1e9)?,
        policy,
        longest: seconds("--longest", args.longest)?,
        is_quiet: false,
    })
}

/// Reports and writes a session; the result is the program's exit code.
fn tell(
    mut session: Session,
    command: &[OsString],
    args: &ShownArgs,
    exports: &[Export],
    cost: Option<&Overhead>,
    notes: &[String],
) -> anyhow::Result<u8> {
    let program = command.first().cloned().unwrap_or_default();
    if let Some(folder) = &args.out {
        save(&session, folder, &program.to_string_lossy())?;
    }
    if !exports.is_empty() {
        export::write(&symbolized(&mut session, command), exports)?;
    }
    let facts = Facts::of(&session);
    let threads = rows(&session.threads, &mut session.symbols, args.top);
    say!(
        "{}",
        report(&mut session, &facts, cost, &threads, args.top).trim_end()
    );
    for note in notes {
        say!("hps: note: {note}");
    }
    if args.json.json.is_some() {
        let (words, numbers) = (command.iter(), facts.0.iter());
        args.json.write(&FORMAT.of(&NativeDocument {
            version: hps_lab::VERSION,
            command: words.map(|w| w.to_string_lossy()).collect(),
            facts: numbers.map(|(what, _, number)| (*what, *number)).collect(),
            ended: &session.status,
            monitor: session.monitor,
            endings: &session.endings,
            calls: &session.calls,
            shadows: &session.shadows,
            threads: &threads,
            whole: session.whole.as_ref().map(|(_, shadow)| shadow),
            overhead: cost,
        }))?;
    }
    Ok(session.code)
}

/// The profile that the report shows, for other tools.
fn symbolized(session: &mut Session, command: &[OsString]) -> SymbolizedProfile {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    let header = Header {
        program: words.first().map(ToString::to_string).unwrap_or_default(),
        version: hps_lab::VERSION.to_string(),
        core: std::env::consts::ARCH.to_string(),
        command: format!("hps shadow run -- {}", words.join(" ")),
        ..Header::default()
    };
    let threads = session.threads.clone();
    let (shown, symbols) = shown(session);
    hps_shadow_native::export::symbolized(shown, &threads, symbols, header)
}

/// What shadows saw; without any, what the whole run was.
pub(super) fn shown(session: &mut Session) -> (&Profiles, &mut Symbolizer) {
    let profiles = match &session.whole {
        Some((whole, _)) if session.shadows.is_empty() => whole,
        _ => &session.profiles,
    };
    (profiles, &mut session.symbols)
}

fn positive(option: &str, number: f64) -> anyhow::Result<f64> {
    if number.is_nan() || number <= 0.0 || number > 1e9 {
        bail!("{option} {number}: give a number above 0");
    }
    Ok(number)
}

fn seconds(option: &str, number: f64) -> anyhow::Result<Duration> {
    Ok(Duration::from_secs_f64(positive(option, number)?))
}

/// The program once more, as a whole.
fn perfect(request: &Request<'_>, library: &Path) -> anyhow::Result<Session> {
    overhead::rewind();
    let whole = Request {
        mode: Mode::Whole,
        is_quiet: true,
        ..request.clone()
    };
    Ok(whole.run(library)?)
}

fn cost(request: &Request<'_>, library: &Path, runs: u64) -> anyhow::Result<Overhead> {
    let bar = progress::bar(runs, "rounds");
    let cost = overhead::measure(request, library, runs as usize, |round| {
        bar.set_position(round as u64);
    })?;
    bar.finish_and_clear();
    Ok(cost)
}

/// Writes what shadows saw, and what there was.
fn save(session: &Session, folder: &Path, program: &str) -> anyhow::Result<()> {
    let write = |profiles: &Profiles, folder: &Path, collected: &str| -> anyhow::Result<()> {
        let saved = SavedProfiles::new(folder, (program, ""), json!({ "collected": collected }))?;
        saved.write_kind(profiles.by_path(), 1)?;
        saved.write("long_path", profiles.by_long_path(), 1)?;
        saved.write_kind(profiles.by_edge(), 1)?;
        saved.write_kind(profiles.by_call_pair(), 1)?;
        saved.write_kind(profiles.by_value(), 1)?;
        for (register, values) in profiles
            .by_register()
            .filter(|(_, values)| !values.is_empty())
        {
            saved.write(&format!("value_{register}"), values, 1)?;
        }
        Ok(())
    };
    write(&session.profiles, folder, "native shadows")?;
    if let Some((whole, _)) = &session.whole {
        write(
            whole,
            &folder.join("perfect"),
            "native, instrumented as a whole",
        )?;
    }
    Ok(())
}

/// Rows of the report's first table: names, texts, numbers.
pub(super) struct Facts(pub(super) Vec<(&'static str, String, f64)>);

impl Facts {
    fn of(session: &Session) -> Facts {
        let mut facts = Facts(Vec::new());
        let (monitor, shadows) = (&session.monitor, &session.shadows);
        facts.number(
            "wall time of the program, ms",
            session.wall.as_secs_f64() * 1e3,
        );
        facts.number(
            "processor time of the program, ms",
            session.cpu.as_secs_f64() * 1e3,
        );
        facts.count("shadows", shadows.len() as u64);
        if monitor.signals > 0 {
            facts.count("signals", monitor.signals);
            facts.add(
                "alive on average",
                format!("{:.2}", monitor.average_live),
                monitor.average_live,
            );
            facts.number("monitor and forks, ms", monitor.monitor_ns as f64 / 1e6);
            if monitor.fault_ns > 0 {
                facts.count("pages copied because of forks", monitor.copied);
                facts.number("copies of these pages, ms", monitor.copied_ns as f64 / 1e6);
                facts.number(
                    "a fork is expected to cost, ms",
                    monitor.expected_ns as f64 / 1e6,
                );
            }
        }
        let instructions: u64 = shadows.iter().map(|s| s.instructions).sum();
        let (events, life) = shadows
            .iter()
            .filter(|s| s.life_ns > 0)
            .fold((0, 0), |(events, life), s| {
                (events + s.events, life + s.life_ns)
            });
        if !shadows.is_empty() {
            facts.count("instructions of shadows", instructions);
            let longest = shadows.iter().map(|s| s.sample).max().unwrap_or(0);
            facts.count("instructions of the longest sample", longest);
        }
        if life > 0 {
            facts.number(
                "million blocks of a shadow each second",
                events as f64 * 1e3 / life as f64,
            );
        }
        for (what, count) in [
            ("forks refused", monitor.failed),
            ("signals without room for a shadow", monitor.crowded),
            ("forks left out for their cost", monitor.spared),
            ("signals that waited for another thread", monitor.waited),
            ("system calls begun anew", monitor.restarted),
            ("numbers that cannot be", session.damaged),
        ] {
            if count > 0 {
                facts.count(what, count);
            }
        }
        if monitor.threads > 0 {
            let what = match session.monitor.signals {
                0 => "threads and processes left alone",
                _ => "forks with other threads",
            };
            facts.count(what, monitor.threads);
            let held = shadows.iter().map(|shadow| shadow.held_ns).max();
            if let (Some(held), true) = (held, monitor.signals > 0) {
                facts.number("descriptors held twice at most, µs", held as f64 / 1e3);
            }
        }
        if let Some((whole, run)) = &session.whole {
            facts.count("instructions of the whole run", run.instructions);
            if run.life_ns > 0 {
                let speed = run.events as f64 * 1e3 / run.life_ns as f64;
                facts.number("million blocks of the whole run each second", speed);
            }
            if !shadows.is_empty() {
                facts.compare(&session.profiles, whole);
            }
        }
        facts
    }

    fn compare(&mut self, seen: &Profiles, whole: &Profiles) {
        let coverage = seen.instructions() as f64 / whole.instructions().max(1) as f64;
        self.share("instructions that shadows saw", Some(coverage));
        let within = hot_path_accuracy(&whole.within, &seen.within);
        self.share("hot paths within functions found", within);
        let across = hot_path_accuracy(&whole.across, &seen.across);
        self.share("hot paths across functions found", across);
        self.share(
            "overlap of edges",
            overlap(&whole.by_edge(), &seen.by_edge()),
        );
        self.share(
            "overlap of calls",
            overlap(&whole.by_call_pair(), &seen.by_call_pair()),
        );
        if let Some(difference) = invariance_difference(whole.arguments(), seen.arguments()) {
            self.share(
                "difference of invariance of arguments",
                Some(difference.mean),
            );
            self.share("calls compared by argument", Some(difference.share));
        }
        if seen == whole {
            self.add(
                "each profile equals the perfect one",
                "yes".to_string(),
                1.0,
            );
        }
    }

    fn add(&mut self, what: &'static str, text: String, number: f64) {
        self.0.push((what, text, number));
    }

    fn count(&mut self, what: &'static str, count: u64) {
        self.add(what, grouped(count), count as f64);
    }

    fn number(&mut self, what: &'static str, number: f64) {
        self.add(what, format!("{number:.1}"), number);
    }

    fn share(&mut self, what: &'static str, share: Option<f64>) {
        if let Some(share) = share {
            self.add(what, format!("{:.1}%", 100.0 * share), share);
        }
    }
}

/// What the command writes as JSON.
pub fn described() -> Described {
    FORMAT.described::<NativeDocument<'_>>(&["shadow run", "shadow attach"])
}
