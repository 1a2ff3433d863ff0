//! Native runs: exact calls from a counting run, shares of time from runs under SHIM's observer.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use hps_experiments::validation::{
    Counted, Edges, NativeCollector, ObservedTimes, SHARE_UNIT, Times, base_name,
};
use hps_lab::work_folder::WorkFolder;
use hps_profile::Profile;
use hps_shim::Dte;
use hps_shim::analysis::{Analyzer, Depth};
use hps_shim::calls::{Collector, FoundCalls, observe_calls};
use hps_shim::clock::Tsc;
use hps_shim::counters::{Event, PerfEvent, Target};
use hps_shim::observer;
use hps_shim::pace::Pace;
use hps_shim::preload::{self, CALLS_VARIABLE, Variant};
use hps_shim::rates::RateSpec;
use hps_shim::region::{REGION_VARIABLE, Region};
use hps_shim::rings::{RINGS_VARIABLE, Rings};
use hps_shim::symbols::{ProcessMaps, Symbolizer};
use hps_shim::tags::TagCounts;
use hps_shim::{ShimError, affinity};

/// Different tags that one run may show.
const MAX_TAGS: usize = 1 << 14;
/// Longest time until a program reaches its first function.
const PATIENCE: Duration = Duration::from_secs(10);

/// A program and its command line.
pub struct NativeProgram {
    /// An executable compiled with `-finstrument-functions`.
    pub executable: PathBuf,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// Environment variables beside the inherited ones.
    pub env: Vec<(String, String)>,
    /// Working folder of the program, and the folder of its files.
    pub folder: Option<PathBuf>,
    /// File that the program reads as standard input.
    pub stdin: Option<PathBuf>,
}

/// Calls of a counting run.
pub struct Calls {
    /// Entries by function, under the function's name.
    pub by_function: BTreeMap<String, u64>,
    /// Calls by caller and callee.
    pub by_edge: Edges,
    /// Standard output of the program.
    pub stdout: Vec<u8>,
}

/// The libraries that are preloaded.
pub struct Libraries {
    folder: PathBuf,
    stack: PathBuf,
    calls: PathBuf,
}

impl Libraries {
    /// Builds the libraries in a folder.
    pub fn build(folder: &Path) -> anyhow::Result<Self> {
        Ok(Libraries {
            folder: folder.to_owned(),
            stack: preload::build(folder, Variant::Stack)?,
            calls: preload::build(folder, Variant::Calls)?,
        })
    }
}

impl NativeProgram {
    pub(super) fn command(&self, library: Option<&Path>) -> anyhow::Result<Command> {
        let mut command = Command::new(std::path::absolute(&self.executable)?);
        command
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stderr(Stdio::inherit());
        if let Some(library) = library {
            let library = std::path::absolute(library)?;
            command.env("LD_PRELOAD", preload::in_front_of_others(&library));
        }
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        match &self.stdin {
            None => command.stdin(Stdio::null()),
            Some(file) => command.stdin(std::fs::File::open(file).with_context(|| {
                format!(
                    "{}: cannot be read; choose another with --stdin",
                    file.display()
                )
            })?),
        };
        Ok(command)
    }

    fn name(&self) -> String {
        self.executable.display().to_string()
    }

    /// Counts the calls of each function, exactly.
    pub fn calls(&self, libraries: &Libraries) -> anyhow::Result<Calls> {
        let folder = WorkFolder::new("calls")?;
        let file = folder.path().join("calls");
        preload::create_calls_file(&file)?;
        let mut command = self.command(Some(&libraries.calls))?;
        command.env(CALLS_VARIABLE, &file).stdout(Stdio::piped());
        let mut started = self.start(command, &folder)?;
        let mut stdout = Vec::new();
        if let Some(mut pipe) = started.child.stdout.take() {
            pipe.read_to_end(&mut stdout)?;
        }
        self.ended_well(started.child.wait()?)?;
        let counts = preload::read_calls_file(&file)?;
        ensure!(
            !counts.calls.is_empty(),
            "{}: no function entry was seen: compile it with -finstrument-functions, and link it \
             dynamically, so that a library can be preloaded",
            self.name()
        );
        ensure!(
            counts.lost == 0,
            "{}: more different calls than the table of calls has rows",
            self.name()
        );
        let mut symbols = Symbolizer::new(ProcessMaps::parse(&counts.maps));
        let by_edge = named(&mut symbols, counts.calls);
        let mut by_function = BTreeMap::new();
        for ((_, callee), count) in &by_edge {
            *by_function.entry(callee.clone()).or_insert(0) += count;
        }
        Ok(Calls {
            by_function,
            by_edge,
            stdout,
        })
    }

    /// Runs the program `runs` times under the observer.
    pub fn times(&self, libraries: &Libraries, runs: usize, pace: Pace) -> anyhow::Result<Times> {
        let all: anyhow::Result<Vec<Run>> =
            (0..runs).map(|_| self.tallied(libraries, pace)).collect();
        Ok(merge(&all?))
    }

    /// Runs the program once under an observer that counts tags.
    fn tallied(&self, libraries: &Libraries, pace: Pace) -> anyhow::Result<Run> {
        let region = Region::create()?;
        let command = self.command(Some(&libraries.stack))?;
        let (seconds, mut symbols, (tags, observed, counted)) =
            self.observed(command, &region, |pid, begin, ended| {
                let counters = open_counters(pid);
                begin();
                let mut tags = TagCounts::new(MAX_TAGS);
                let observed = observer::tally(&region, pace, &mut tags, ended);
                let counted = counters
                    .and_then(|[instructions, cycles]| Ok((read(instructions)?, read(cycles)?)));
                (tags, observed, counted)
            })?;
        let mut functions = BTreeMap::new();
        for (tag, samples) in tags.iter().filter(|(tag, _)| *tag != 0) {
            let name = base_name(&symbols.resolve(tag).to_string());
            *functions.entry(name).or_insert(0) += samples;
        }
        Ok(Run {
            samples: functions.values().sum(),
            functions,
            sent: observed.sent,
            cycles: observed.cycles,
            seconds,
            counted,
        })
    }

    /// Runs the program once under an observer that takes samples with time stamps: distances of the samples, and those
    /// that are kept.
    pub fn periods(&self, libraries: &Libraries, pace: Pace) -> anyhow::Result<ObservedTimes> {
        let region = Region::create()?;
        let command = self.command(Some(&libraries.stack))?;
        let (.., analysis) = self.observed(command, &region, |_, begin, ended| {
            begin();
            let rates = RateSpec::of_counters(&[], &[], false);
            let mut sink = Analyzer::new(Dte::default(), Depth::Full, 0, rates, MAX_TAGS);
            let clock = &mut Tsc;
            observer::observe(Some(&region), &mut [], pace, clock, &mut sink, ended)?;
            Ok::<_, ShimError>(sink.result())
        })?;
        Ok(ObservedTimes::of(&analysis?))
    }

    /// Calls that a collector finds, and its cost: the fastest of `runs` runs alone, with what the collector writes,
    /// and under its observer. The calls are those of the first run.
    pub fn collected(
        &self,
        libraries: &Libraries,
        collector: Collector,
        (runs, pace): (usize, Pace),
    ) -> anyhow::Result<NativeCollector> {
        let library = preload::build(&libraries.folder, collector.variant())?;
        let mut first: Option<(FoundCalls, Symbolizer, u64)> = None;
        let mut fastest = [f64::INFINITY; 3];
        for _ in 0..runs.max(1) {
            let (alone, written, observed) = (
                self.alone(None)?,
                self.alone(Some(&library))?,
                self.found(&library, collector, pace)?,
            );
            let seconds = [alone, written, observed.0];
            for (fastest, seconds) in fastest.iter_mut().zip(seconds) {
                *fastest = fastest.min(seconds);
            }
            first.get_or_insert(observed.1);
        }
        let Some((found, mut symbols, skipped)) = first else {
            bail!("{}: it did not run", self.name());
        };
        let [alone, written, observed] = fastest;
        Ok(NativeCollector {
            name: collector.to_string(),
            written: written / alone - 1.0,
            observed: observed / alone - 1.0,
            changed: found.changed,
            orphans: found.orphans,
            skipped,
            calls: named(&mut symbols, found.calls),
        })
    }

    /// Seconds of a run without an observer. A preloaded library writes into a region and rings of its own.
    fn alone(&self, library: Option<&Path>) -> anyhow::Result<f64> {
        let mut command = self.command(library)?;
        let folder = WorkFolder::new("validate")?;
        let (region, rings) = (Region::create()?, Rings::create(0)?);
        command
            .env(REGION_VARIABLE, region.path())
            .env(RINGS_VARIABLE, rings.path())
            .stdout(Stdio::null());
        let [program_cpu, _] = processors()?;
        std::thread::scope(|scope| {
            let run = scope.spawn(|| -> anyhow::Result<f64> {
                affinity::pin(program_cpu)?;
                let begin = Instant::now();
                let status = self.start(command, &folder)?.child.wait()?;
                let seconds = begin.elapsed().as_secs_f64();
                self.ended_well(status)?;
                Ok(seconds)
            });
            run.join().map_err(|_| anyhow::anyhow!("a run panicked"))?
        })
    }

    /// Runs the program once under an observer of calls. Gives seconds, calls found, and calls that were skipped
    /// because their ring was full.
    fn found(
        &self,
        library: &Path,
        collector: Collector,
        pace: Pace,
    ) -> anyhow::Result<(f64, (FoundCalls, Symbolizer, u64))> {
        let (region, rings) = (Region::create()?, collector.rings()?);
        let mut command = self.command(Some(library))?;
        if let Some(rings) = &rings {
            command.env(RINGS_VARIABLE, rings.path());
        }
        let (seconds, symbols, found) = self.observed(command, &region, |_, begin, ended| {
            begin();
            observe_calls(collector, &region, rings.as_ref(), pace, ended)
        })?;
        let skipped = rings.as_ref().map_or(0, Rings::skipped);
        Ok((seconds, (found, symbols, skipped)))
    }

    /// Runs the program on one processor and the observer on another. The observer learns the program's process, lets
    /// it begin, and is told when it has ended.
    fn observed<T: Send>(
        &self,
        mut command: Command,
        region: &Region,
        observe: impl FnOnce(u32, &dyn Fn(), &AtomicBool) -> T + Send,
    ) -> anyhow::Result<(f64, Symbolizer, T)> {
        let [program_cpu, observer_cpu] = processors()?;
        let header = &region.layout().header;
        header.gate.store(1, Ordering::Relaxed);
        command
            .env(REGION_VARIABLE, region.path())
            .stdout(Stdio::null());
        let folder = WorkFolder::new("validate")?;
        let ended = AtomicBool::new(false);
        let (send, receive) = mpsc::channel();
        let (status, sampled) = std::thread::scope(|scope| {
            let (ended, folder) = (&ended, &folder);
            // The child inherits the processor of the thread that starts it; that thread also waits
            // there, so that it learns of the end at once and the observer stops.
            let program = scope.spawn(move || -> anyhow::Result<(ExitStatus, f64)> {
                let _stop = SetOnDrop(ended);
                affinity::pin(program_cpu)?;
                let mut started = self.start(command, folder)?;
                let _ = send.send(started.child.id());
                let start = Instant::now();
                Ok((started.child.wait()?, start.elapsed().as_secs_f64()))
            });
            let observer = scope.spawn(move || -> anyhow::Result<_> {
                affinity::pin(observer_cpu)?;
                let Ok(pid) = receive.recv() else {
                    return Ok(None);
                };
                let header = &region.layout().header;
                let start = Instant::now();
                while header.pid.load(Ordering::Acquire) == 0 {
                    if ended.load(Ordering::Relaxed) || start.elapsed() > PATIENCE {
                        header.gate.store(0, Ordering::Release);
                        return Ok(None);
                    }
                    std::thread::yield_now();
                }
                let symbols = Symbolizer::of_process(pid);
                let begin = || header.gate.store(0, Ordering::Release);
                let observed = observe(pid, &begin, ended);
                Ok(Some((symbols?, observed)))
            });
            let join = "a thread of the observation panicked";
            let program = program.join().map_err(|_| anyhow::anyhow!(join))?;
            let observer = observer.join().map_err(|_| anyhow::anyhow!(join))?;
            anyhow::Ok((program?, observer?))
        })?;
        self.ended_well(status.0)?;
        let Some((symbols, observed)) = sampled else {
            bail!(
                "{}: it never took up its tag region: compile it with -finstrument-functions, and \
                 link it dynamically, so that a library can be preloaded",
                self.name()
            );
        };
        ensure!(
            header.refused.load(Ordering::Relaxed) == 0,
            "{}: more threads than a tag region shows",
            self.name()
        );
        Ok((status.1, symbols, observed))
    }

    /// Starts a command, and notes in the folder which program that is.
    fn start(&self, mut command: Command, folder: &WorkFolder) -> anyhow::Result<Started> {
        let child = command.spawn().with_context(|| self.not_started())?;
        folder.note_program(child.id());
        Ok(Started { child })
    }

    pub(super) fn not_started(&self) -> String {
        format!("{}: cannot be started", self.name())
    }

    pub(super) fn ended_well(&self, status: ExitStatus) -> anyhow::Result<()> {
        ensure!(status.success(), "{}: ended with {status}", self.name());
        Ok(())
    }
}

/// The processor of the program, and that of the observer.
fn processors() -> anyhow::Result<[usize; 2]> {
    let cpus = affinity::allowed()?;
    match cpus.as_slice() {
        &[program, .., observer] => Ok([program, observer]),
        _ => Err(ShimError::OneCpu {
            cpu: cpus.first().copied().unwrap_or(0),
        }
        .into()),
    }
}

/// Calls under the names of caller and callee; what begins a thread has no name.
fn named(symbols: &mut Symbolizer, calls: impl IntoIterator<Item = ((u64, u64), u64)>) -> Edges {
    let mut name = |address: u64| match address {
        0 => String::new(),
        _ => base_name(&symbols.resolve(address).to_string()),
    };
    let mut edges = Edges::new();
    for ((caller, callee), count) in calls {
        *edges.entry((name(caller), name(callee))).or_insert(0) += count;
    }
    edges
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A program that does not outlive a failure of this command.
struct Started {
    child: Child,
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Samples of one run.
struct Run {
    functions: BTreeMap<String, u64>,
    samples: u64,
    sent: u64,
    cycles: u64,
    seconds: f64,
    /// Instructions and cycles of the processor.
    counted: Result<(u64, u64), String>,
}

/// Counters of a process that waits at the gate.
fn open_counters(pid: u32) -> Result<[PerfEvent; 2], String> {
    let open = |name: &str| {
        let event: Event = name.parse()?;
        PerfEvent::open(&event, Target::Process(pid))
    };
    let both = || Ok([open("instructions:u")?, open("cycles:u")?]);
    both().map_err(|error: ShimError| error.to_string())
}

fn read(mut counter: PerfEvent) -> Result<u64, String> {
    counter.read().map_err(|error| error.to_string())
}

/// Medians of what was counted; the first reason if a run could not be counted.
fn counted(runs: &[Run]) -> Result<Counted, String> {
    let mut instructions = Vec::new();
    let mut ipc = Vec::new();
    for run in runs {
        let (counted, cycles) = run.counted.clone()?;
        instructions.push(counted as f64);
        ipc.push(counted as f64 / cycles.max(1) as f64);
    }
    let middle = median(&mut ipc);
    match (ipc.first(), ipc.last()) {
        (Some(&least), Some(&most)) => Ok(Counted {
            instructions: median(&mut instructions),
            ipc: [least, middle, most],
        }),
        _ => Err("there were no runs".to_owned()),
    }
}

/// The median share of each function over the runs: a run that the host disturbed does not count
/// for more than any other.
fn merge(runs: &[Run]) -> Times {
    let names: BTreeSet<&String> = runs.iter().flat_map(|run| run.functions.keys()).collect();
    let mut shares = Profile::new();
    let mut spread = 0.0;
    for name in names {
        let mut each: Vec<f64> = runs
            .iter()
            .filter(|run| run.samples > 0)
            .map(|run| run.functions.get(name).copied().unwrap_or(0) as f64 / run.samples as f64)
            .collect();
        let middle = median(&mut each);
        let mut off: Vec<f64> = each.iter().map(|share| (share - middle).abs()).collect();
        spread += median(&mut off);
        shares.add(name.clone(), (middle * SHARE_UNIT as f64).round() as u64);
    }
    let sent: u64 = runs.iter().map(|run| run.sent).sum();
    let cycles: u64 = runs.iter().map(|run| run.cycles).sum();
    Times {
        shares,
        spread: spread / 2.0,
        samples: runs.iter().map(|run| run.samples).sum(),
        mean_period: if sent > 0 {
            cycles as f64 / sent as f64
        } else {
            0.0
        },
        runs: runs.len(),
        seconds: median(&mut runs.iter().map(|run| run.seconds).collect::<Vec<_>>()),
        counted: counted(runs),
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disturbed_run_does_not_move_the_median() {
        let run = |a: u64, b: u64| Run {
            functions: [("a".to_owned(), a), ("b".to_owned(), b)].into(),
            samples: a + b,
            sent: a + b + 10,
            cycles: 100 * (a + b + 10),
            seconds: 1.0,
            counted: Ok((2 * (a + b), a)),
        };
        let times = merge(&[
            run(750, 250),
            run(740, 260),
            run(10, 5000),
            run(760, 240),
            run(750, 250),
        ]);
        assert_eq!(times.shares.weight(&"a".to_owned()), 750_000_000);
        assert_eq!(times.shares.weight(&"b".to_owned()), 250_000_000);
        assert!(times.spread < 0.02, "{}", times.spread);
        assert_eq!((times.mean_period, times.runs), (100.0, 5));
        let counted = times.counted.expect("all runs were counted");
        assert_eq!(counted.instructions, 2000.0);
        assert_eq!(counted.ipc[1], 2000.0 / 750.0);
        assert_eq!(counted.ipc[2], 10020.0 / 10.0);
    }
}
