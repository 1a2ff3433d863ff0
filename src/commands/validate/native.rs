//! Native runs: exact calls from a counting run, shares of time from runs under SHIM's observer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use hps_experiments::validation::{Counted, SHARE_UNIT, Times, base_name};
use hps_profile::Profile;
use hps_shim::counters::{Event, PerfEvent, Target};
use hps_shim::observer;
use hps_shim::pace::Pace;
use hps_shim::preload::{self, CALLS_VARIABLE, Variant};
use hps_shim::region::{REGION_VARIABLE, Region};
use hps_shim::symbols::{ProcessMaps, Symbolizer};
use hps_shim::tags::TagCounts;
use hps_shim::{ShimError, affinity};

/// Different tags that one run may show.
const MAX_TAGS: usize = 1 << 14;
/// How long a program may take to reach its first function.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is run.
pub struct NativeProgram {
    /// An executable compiled with `-finstrument-functions`.
    pub executable: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables beside the inherited ones.
    pub env: Vec<(String, String)>,
    /// Where it starts, and where its files are.
    pub folder: Option<PathBuf>,
    /// What it reads.
    pub stdin: Option<PathBuf>,
}

/// Calls of a counting run.
pub struct Calls {
    /// Entries by function, under the function's name.
    pub by_function: BTreeMap<String, u64>,
    /// What the program printed.
    pub stdout: Vec<u8>,
}

/// The libraries that are preloaded.
pub struct Libraries {
    stack: PathBuf,
    calls: PathBuf,
}

impl Libraries {
    /// Builds them in a folder.
    pub fn build(folder: &Path) -> anyhow::Result<Self> {
        Ok(Libraries {
            stack: preload::build(folder, Variant::Stack)?,
            calls: preload::build(folder, Variant::Calls)?,
        })
    }
}

impl NativeProgram {
    fn command(&self, library: &Path) -> anyhow::Result<Command> {
        let library = std::path::absolute(library)?;
        let mut command = Command::new(std::path::absolute(&self.executable)?);
        command
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .env("LD_PRELOAD", library)
            .stderr(Stdio::inherit());
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
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("calls");
        preload::create_calls_file(&file)?;
        let output = self
            .command(&libraries.calls)?
            .env(CALLS_VARIABLE, &file)
            .output()
            .with_context(|| format!("{}: cannot be started", self.name()))?;
        self.ended_well(output.status)?;
        let counts = preload::read_calls_file(&file)?;
        ensure!(
            !counts.functions.is_empty(),
            "{}: no function entry was seen: compile it with -finstrument-functions, and link it \
             dynamically, so that a library can be preloaded",
            self.name()
        );
        ensure!(
            counts.lost == 0,
            "{}: more functions than the table of calls has rows",
            self.name()
        );
        let mut symbols = Symbolizer::new(ProcessMaps::parse(&counts.maps));
        let mut by_function = BTreeMap::new();
        for (function, count) in counts.functions {
            let name = base_name(&symbols.resolve(function).to_string());
            *by_function.entry(name).or_insert(0) += count;
        }
        Ok(Calls {
            by_function,
            stdout: output.stdout,
        })
    }

    /// Runs it `runs` times under the observer.
    pub fn times(&self, libraries: &Libraries, runs: usize, pace: Pace) -> anyhow::Result<Times> {
        let cpus = affinity::allowed()?;
        let &[program_cpu, .., observer_cpu] = cpus.as_slice() else {
            return Err(ShimError::OneCpu {
                cpu: cpus.first().copied().unwrap_or(0),
            }
            .into());
        };
        let mut all = Vec::new();
        for _ in 0..runs {
            all.push(self.observed(libraries, pace, program_cpu, observer_cpu)?);
        }
        Ok(merge(&all))
    }

    /// One run: the program on one processor, the observer on another.
    fn observed(
        &self,
        libraries: &Libraries,
        pace: Pace,
        program_cpu: usize,
        observer_cpu: usize,
    ) -> anyhow::Result<Run> {
        let region = Region::create()?;
        let header = &region.layout().header;
        header.gate.store(1, Ordering::Relaxed);
        let mut command = self.command(&libraries.stack)?;
        command
            .env(REGION_VARIABLE, region.path())
            .stdout(Stdio::null());
        let ended = AtomicBool::new(false);
        let (send, receive) = mpsc::channel();
        let (status, sampled) = std::thread::scope(|scope| {
            let ended = &ended;
            let region = &region;
            // The child inherits the processor of the thread that starts it; that thread also waits
            // there, so that it learns of the end at once and the observer stops.
            let program = scope.spawn(move || -> anyhow::Result<(ExitStatus, f64)> {
                let _stop = SetOnDrop(ended);
                affinity::pin(program_cpu)?;
                let mut child = KillOnDrop(command.spawn().with_context(|| {
                    format!("{}: cannot be started", self.executable.display())
                })?);
                let _ = send.send(child.0.id());
                let start = Instant::now();
                Ok((child.0.wait()?, start.elapsed().as_secs_f64()))
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
                let counters = open_counters(pid);
                header.gate.store(0, Ordering::Release);
                let mut tags = TagCounts::new(MAX_TAGS);
                let observed = observer::tally(region, pace, &mut tags, ended);
                let counted = counters
                    .and_then(|[instructions, cycles]| Ok((read(instructions)?, read(cycles)?)));
                Ok(Some((symbols?, tags, observed, counted)))
            });
            let join = "a thread of the observation panicked";
            let program = program.join().map_err(|_| anyhow::anyhow!(join))?;
            let observer = observer.join().map_err(|_| anyhow::anyhow!(join))?;
            anyhow::Ok((program?, observer?))
        })?;
        self.ended_well(status.0)?;
        let Some((mut symbols, tags, observed, counted)) = sampled else {
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
            seconds: status.1,
            counted,
        })
    }

    fn ended_well(&self, status: ExitStatus) -> anyhow::Result<()> {
        ensure!(status.success(), "{}: ended with {status}", self.name());
        Ok(())
    }
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A child that does not outlive its parent's failure.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
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
