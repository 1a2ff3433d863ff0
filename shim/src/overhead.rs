//! Cost of observing, against the period (SHIM, Figures 4(c) and 7(a)): a program that writes its tags alone, and the
//! same beside an observer, in turns.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::affinity;
use crate::change::cycles_per_change;
use crate::distribution::DistributionResult;
use crate::error::ShimError;
use crate::machine::Machine;
use crate::observer::thread_time;
use crate::pace::Pace;
use crate::placement::Placement;
use crate::plan::{Mode, Plan};
use crate::region::{Region, Slot};
use crate::results::running_period;
use crate::spawn::{Start, Waiting};
use crate::stats::Estimate;
use crate::watch::{Task, Watch, Watched};

/// The observed program.
#[derive(Debug, Clone)]
pub enum Observed {
    /// One of ours: a loop that writes one of 16 tags, then works for some steps of about 4 cycles.
    Loop {
        /// Steps between two tags.
        steps: u32,
        /// Tags written in a run.
        tags: u64,
    },
    /// A program of the user's, which writes tags.
    Program(Start),
}

/// Parameters of a measurement of overhead.
#[derive(Debug, Clone)]
pub struct Overhead {
    /// The observed program.
    pub observed: Observed,
    /// Tags alone, or with time stamps and correction.
    pub mode: Mode,
    /// The periods.
    pub paces: Vec<Pace>,
    /// Pairs of runs for each.
    pub rounds: usize,
}

/// One period.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverheadPoint {
    /// The pace as it was asked for.
    pub pace: String,
    /// Mean cycles from sample to sample while the observer ran.
    pub period_cycles: Estimate,
    /// Time that the observer adds to the program's on its CPU, in percent.
    pub overhead_percent: Estimate,
    /// Samples kept, in percent; 100 without time stamps.
    pub kept_percent: Estimate,
    /// Time that the observer was on its CPU, in percent.
    pub observer_share_percent: Estimate,
    /// Samples of all runs.
    pub samples: u64,
    /// Cycles per cycle before correction, of the last run; `null` without time stamps.
    pub cpc_before: Option<DistributionResult>,
    /// And after.
    pub cpc_after: Option<DistributionResult>,
    /// Cycles of kept intervals, of the last run.
    pub period: Option<DistributionResult>,
    /// Cycles from kept sample to kept sample, of the last run.
    pub gap: Option<DistributionResult>,
}

/// All periods.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverheadResult {
    /// The program alone, in cycles of its time on a CPU.
    pub alone_cycles: Estimate,
    /// Cycles from tag to tag of the built-in program; `null` for others.
    pub tag_cycles: Option<Estimate>,
    /// Cycles from one new tag of the built-in program to the next, as [`cycles_per_change`] sees them.
    #[serde(default)]
    pub change_cycles: Option<Estimate>,
    /// How far runs alone differ from the ones alone before them, in percent: the noise.
    pub noise_percent: Estimate,
    /// The periods in the order asked for.
    pub points: Vec<OverheadPoint>,
}

/// The built-in program's loop; returns its time on the CPU.
fn work(slot: &Slot, steps: u32, tags: u64) -> Duration {
    let begin = thread_time();
    let mut x = 1_u64;
    for i in 0..tags {
        slot.set(1 + (i & 15));
        for _ in 0..steps {
            // A chain that cannot be shortened: one multiplication waits for the other.
            x = black_box(x).wrapping_mul(0x5851_f42d_4c95_7f2d);
        }
    }
    black_box(x);
    thread_time() - begin
}

/// User and system time of all children that have ended.
fn children_time() -> Duration {
    // SAFETY: plain data that the call fills; zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a valid place for the answer.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) };
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// One measured run and, if it was observed, what the observer saw.
type Run = (Duration, Option<Watched>);

struct Bench<'a> {
    what: &'a Overhead,
    machine: &'a Machine,
    placement: &'a Placement,
}

impl Bench<'_> {
    fn once(&self, pace: Option<Pace>) -> Result<Run, ShimError> {
        let region = Arc::new(Region::create()?);
        match &self.what.observed {
            Observed::Loop { steps, tags } => self.once_loop(&region, *steps, *tags, pace),
            Observed::Program(start) => self.once_program(&region, start, pace),
        }
    }

    fn watch(&self, region: &Arc<Region>, pace: Pace, pid: u32) -> Result<Watch, ShimError> {
        Watch::start(Task {
            rings: None,
            region: Arc::clone(region),
            plan: Plan {
                pace,
                mode: self.what.mode,
                ..Plan::default()
            },
            machine: self.machine.clone(),
            placement: self.placement.clone(),
            pid,
            keep: None,
        })
    }

    fn once_loop(
        &self,
        region: &Arc<Region>,
        steps: u32,
        tags: u64,
        pace: Option<Pace>,
    ) -> Result<Run, ShimError> {
        let cpu = self.placement.program.first().copied().unwrap_or(0);
        std::thread::scope(|scope| {
            let program = scope.spawn(move || -> Result<Run, ShimError> {
                affinity::pin(cpu)?;
                let Some(slot) = region.take_slot() else {
                    let full = std::io::Error::other("all are taken");
                    return Err(ShimError::system("taking a slot", full));
                };
                let watch = pace
                    .map(|pace| self.watch(region, pace, std::process::id()))
                    .transpose()?;
                let time = work(slot, steps, tags);
                let watched = watch.map(Watch::stop).transpose()?;
                Ok((time, watched))
            });
            program.join().unwrap_or_else(|_| {
                let panicked = std::io::Error::other("its thread panicked");
                Err(ShimError::system("the observed loop", panicked))
            })
        })
    }

    fn once_program(
        &self,
        region: &Arc<Region>,
        start: &Start,
        pace: Option<Pace>,
    ) -> Result<Run, ShimError> {
        let mut start = start.clone();
        let path = region.path().into_os_string();
        let variable = crate::region::REGION_VARIABLE.into();
        start.environment.push((variable, path));
        start.cpus = self.placement.program.clone();
        let before = children_time();
        let waiting = Waiting::new(&start)?;
        let watch = match pace.map(|pace| self.watch(region, pace, waiting.pid())) {
            Some(Err(error)) => {
                waiting.cancel();
                return Err(error);
            }
            Some(Ok(watch)) => Some(watch),
            None => None,
        };
        let ended = waiting.go()?.wait();
        let watched = watch.map(Watch::stop).transpose()?;
        let status = ended.map_err(|e| ShimError::system("waiting for the program", e))?;
        if !status.success() {
            let failed = std::io::Error::other(format!("{status}: its time means nothing"));
            return Err(ShimError::system("the observed program", failed));
        }
        Ok((children_time().saturating_sub(before), watched))
    }
}

#[derive(Default)]
struct Columns {
    period: Vec<f64>,
    overhead: Vec<f64>,
    kept: Vec<f64>,
    share: Vec<f64>,
    samples: u64,
    last: Option<Watched>,
}

impl Columns {
    fn add(&mut self, overhead: f64, watched: Watched, pace: Pace) {
        let observed = &watched.observed;
        self.overhead.push(overhead);
        if observed.sent > 1 {
            self.period.push(running_period(observed, pace));
        }
        if observed.sent > 0 {
            let account = &watched.account;
            self.kept
                .push(100.0 * account.kept as f64 / account.sent as f64);
        }
        self.share.push(100.0 * observed.running_share());
        self.samples += observed.sent;
        self.last = Some(watched);
    }

    fn point(self, pace: Pace) -> OverheadPoint {
        let last = self.last.and_then(|watched| watched.analysis);
        let last = last.as_ref().filter(|a| a.cpc_before.count > 0);
        OverheadPoint {
            pace: pace.to_string(),
            period_cycles: Estimate::of(&self.period),
            overhead_percent: Estimate::of(&self.overhead),
            kept_percent: Estimate::of(&self.kept),
            observer_share_percent: Estimate::of(&self.share),
            samples: self.samples,
            cpc_before: last.map(|a| a.cpc_before.clone()),
            cpc_after: last.map(|a| a.cpc_after.clone()),
            period: last.map(|a| a.period.clone()),
            gap: last.map(|a| a.gap.clone()),
        }
    }
}

impl Overhead {
    /// Measures all periods in turns: in each round every period once, each with a run alone before
    /// it, so that what changes on the host changes for all of them. Calls `tell` in each round.
    ///
    /// # Errors
    /// Errors of starting the program and of the observer.
    pub fn run(
        &self,
        machine: &Machine,
        placement: &Placement,
        ticks_per_second: f64,
        mut tell: impl FnMut(usize),
    ) -> Result<OverheadResult, ShimError> {
        let bench = Bench {
            what: self,
            machine,
            placement,
        };
        let cycles = |run: &Run| run.0.as_secs_f64() * ticks_per_second;
        let mut columns: Vec<Columns> = self.paces.iter().map(|_| Columns::default()).collect();
        let (mut alone, mut noise) = (Vec::new(), Vec::new());
        // One that is not counted: caches and clocks are warm then.
        bench.once(None)?;
        for round in 0..self.rounds {
            tell(round);
            for i in 0..self.paces.len() {
                // Another order in each round.
                let at = (i + round) % self.paces.len();
                let before = cycles(&bench.once(None)?);
                let (time, watched) = bench.once(Some(self.paces[at]))?;
                let beside = time.as_secs_f64() * ticks_per_second;
                if let Some(last) = alone.last() {
                    noise.push((before / last - 1.0) * 100.0);
                }
                alone.push(before);
                if let Some(watched) = watched {
                    let overhead = (beside / before - 1.0) * 100.0;
                    columns[at].add(overhead, watched, self.paces[at]);
                }
            }
        }
        let tag_cycles = match self.observed {
            Observed::Loop { tags, .. } => {
                let each: Vec<f64> = alone.iter().map(|c| c / tags as f64).collect();
                Some(Estimate::of(&each))
            }
            Observed::Program(_) => None,
        };
        let change_cycles = self.change_cycles(placement)?;
        let points = columns.into_iter().zip(&self.paces);
        Ok(OverheadResult {
            alone_cycles: Estimate::of(&alone),
            tag_cycles,
            change_cycles,
            noise_percent: Estimate::of(&noise),
            points: points.map(|(column, pace)| column.point(*pace)).collect(),
        })
    }

    /// Only the built-in program can be run for as long as it takes.
    fn change_cycles(&self, placement: &Placement) -> Result<Option<Estimate>, ShimError> {
        let Observed::Loop { steps, .. } = self.observed else {
            return Ok(None);
        };
        let seen = cycles_per_change(placement, |slot, over| {
            while !over.load(Ordering::Relaxed) {
                work(slot, steps, 100_000);
            }
        })?;
        Ok(Some(seen).filter(|seen| seen.runs > 0))
    }
}
