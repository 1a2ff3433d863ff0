//! The observer's thread, and the analysis behind its ring.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::affinity;
use crate::analysis::{Account, Analysis, Analyzer, Depth};
use crate::calls::{FoundCalls, observe_calls};
use crate::clock::Tsc;
use crate::counters::Counter;
use crate::error::ShimError;
use crate::keep::Keeper;
use crate::machine::Machine;
use crate::observer::{Observed, observe, tally};
use crate::pace::{self, Pace};
use crate::placement::Placement;
use crate::plan::{CounterInfo, Mode, Plan};
use crate::rates::RateSpec;
use crate::region::Region;
use crate::rings::Rings;
use crate::sample::{Sample, Sink};
use crate::stacks::{Stacks, WithStacks};
use crate::tags::TagCounts;

/// Results of an observer.
#[derive(Debug)]
pub struct Watched {
    /// Counts and times of the observer's run.
    pub observed: Observed,
    /// Where its samples went.
    pub account: Account,
    /// Samples by tag, the most first.
    pub tags: Vec<(u64, u64)>,
    /// The analysis; `None` in tally mode.
    pub analysis: Option<Analysis>,
    /// The stacks, if they were asked for.
    pub stacks: Option<Stacks>,
    /// Counters and how they were read.
    pub counters: Vec<CounterInfo>,
    /// Calls, if they were asked for.
    pub calls: Option<FoundCalls>,
}

/// A running observer. Dropped, it is stopped and waited for.
pub struct Watch {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Watched, ShimError>>>,
}

/// Inputs of an observer's thread.
pub struct Task {
    /// The observed region.
    pub region: Arc<Region>,
    /// The program's rings of calls, if it has any.
    pub rings: Option<Arc<Rings>>,
    /// Plan of the observation.
    pub plan: Plan,
    /// The machine, for its PMU.
    pub machine: Machine,
    /// Where to run.
    pub placement: Placement,
    /// The observed process.
    pub pid: u32,
    /// Where raw samples are kept, in ring mode.
    pub keep: Option<Keeper>,
}

impl Watch {
    /// Starts the observer; returns when it is bound to its CPU, has its counters and samples.
    ///
    /// # Errors
    /// Errors of binding and opening counters; then no thread is left behind.
    pub fn start(task: Task) -> Result<Self, ShimError> {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let (ready, is_ready) = channel();
        let thread = std::thread::Builder::new()
            .name("shim-observer".to_owned())
            .spawn(move || {
                let cpu = task.placement.observer;
                let watched = task.run(&seen, ready)?;
                if affinity::stayed(cpu) {
                    return Ok(watched);
                }
                Err(ShimError::Offline {
                    whose: "observer's",
                    cpus: cpu.to_string(),
                })
            })
            .map_err(|e| ShimError::system("starting the observer's thread", e))?;
        let watch = Self {
            stop,
            thread: Some(thread),
        };
        match is_ready.recv() {
            Ok(()) => Ok(watch),
            // The observer ended before it was ready: with an error.
            Err(_) => match watch.stop() {
                Err(error) => Err(error),
                Ok(_) => Err(ShimError::system(
                    "starting the observer",
                    std::io::Error::other("it ended at once"),
                )),
            },
        }
    }

    /// Stops the observer and takes what it has.
    ///
    /// # Errors
    /// Errors of reading counters or writing samples.
    pub fn stop(mut self) -> Result<Watched, ShimError> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take();
        let joined = thread.map(JoinHandle::join);
        match joined {
            Some(Ok(result)) => result,
            _ => Err(ShimError::system(
                "observing",
                std::io::Error::other("the observer's thread panicked"),
            )),
        }
    }

    /// An observer whose counter has failed.
    #[cfg(test)]
    pub fn failed(error: ShimError) -> Self {
        Self {
            stop: Arc::default(),
            thread: Some(std::thread::spawn(|| Err(error))),
        }
    }

    /// Whether the thread has ended before it was stopped, as it does when a counter fails.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Task {
    fn run(mut self, stop: &AtomicBool, ready: Sender<()>) -> Result<Watched, ShimError> {
        affinity::pin(self.placement.observer)?;
        if matches!(self.plan.pace, Pace::Sleep(_)) {
            pace::wake_on_time();
        }
        let mut counters = self.plan.open(&self.machine, &self.placement, self.pid)?;
        let infos = self.plan.infos(&counters);
        let of_core = counters
            .iter()
            .any(|counter| matches!(counter, Counter::CoreMinusOwn { .. }));
        let at_tags: Vec<bool> = counters
            .iter()
            .map(|counter| matches!(counter, Counter::AtTags(_)))
            .collect();
        let names: Vec<String> = infos.iter().map(|info| info.name.clone()).collect();
        let analyzer = |depth| {
            let rates = RateSpec::of_counters(&names, &at_tags, of_core);
            Analyzer::new(self.plan.dte, depth, names.len(), rates, self.plan.tags)
        };
        match self.plan.mode {
            Mode::Tally => {
                let mut tags = TagCounts::new(self.plan.tags);
                let _ = ready.send(());
                let observed = tally(&self.region, self.plan.pace, &mut tags, stop);
                Ok(Watched::tallied(observed, &tags))
            }
            Mode::Calls(collector) => {
                let _ = ready.send(());
                let (region, rings) = (&self.region, self.rings.as_deref());
                let calls = observe_calls(collector, region, rings, self.plan.pace, stop);
                Ok(Watched::called(calls))
            }
            Mode::Inline(depth) => {
                let mut sink = analyzer(depth);
                let _ = ready.send(());
                let seen = self.sample(&mut counters, &mut sink, stop)?;
                Ok(Watched::analysed(seen, sink.result(), infos))
            }
            Mode::Ring { capacity } => {
                let (mut producer, consumer) = rtrb::RingBuffer::new(capacity.max(2));
                let sink = analyzer(Depth::Full);
                let keep = self.keep.take();
                let others = self.other_cpus();
                let behind = std::thread::spawn(move || {
                    // Where it may not go it stays: beside the observer it only drops more.
                    let _ = rustix::thread::sched_setaffinity(None, &affinity::set_of(&others));
                    consume(consumer, sink, keep)
                });
                let _ = ready.send(());
                let seen = self.sample(&mut counters, &mut producer, stop);
                // The consumer ends when it has read what was left.
                drop(producer);
                let analysis = behind
                    .join()
                    .unwrap_or_else(|_| Err(ShimError::system("analysing", unknown())))?;
                Ok(Watched::analysed(seen?, analysis, infos))
            }
        }
    }

    /// Samples with time stamps, and stacks if they were asked for, into a sink.
    fn sample(
        &self,
        counters: &mut [Counter],
        sink: &mut impl Sink,
        stop: &AtomicBool,
    ) -> Result<(Observed, Option<Stacks>), ShimError> {
        let (region, pace) = (&*self.region, self.plan.pace);
        let Some(room) = self.plan.stacks else {
            let observed = observe(Some(region), counters, pace, &mut Tsc, sink, stop)?;
            return Ok((observed, None));
        };
        let mut sink = WithStacks::new(region, sink, room);
        let observed = observe(Some(region), counters, pace, &mut Tsc, &mut sink, stop)?;
        Ok((observed, Some(sink.finish())))
    }

    /// CPUs of neither the observer nor the program, or else all but the observer's.
    fn other_cpus(&self) -> Vec<usize> {
        let all = self.machine.allowed.iter().copied();
        let others = all.filter(|&cpu| cpu != self.placement.observer);
        let (busy, free): (Vec<_>, Vec<_>) =
            others.partition(|cpu| self.placement.program.contains(cpu));
        if free.is_empty() { busy } else { free }
    }
}

fn unknown() -> std::io::Error {
    std::io::Error::other("the analysis panicked")
}

/// Analyses, and keeps, what comes through the ring until its other end is gone.
fn consume(
    mut ring: rtrb::Consumer<Sample>,
    mut analyzer: Analyzer,
    mut keep: Option<Keeper>,
) -> Result<Analysis, ShimError> {
    loop {
        // Asked before the ring is looked at: what was sent before the end is then seen.
        let last = ring.is_abandoned();
        let waiting = ring.slots();
        if waiting == 0 {
            if last {
                break;
            }
            std::thread::sleep(Duration::from_micros(200));
            continue;
        }
        let Ok(chunk) = ring.read_chunk(waiting) else {
            continue;
        };
        let (first, second) = chunk.as_slices();
        for part in [first, second] {
            for sample in part {
                analyzer.add(sample);
            }
            if let Some(keep) = &mut keep {
                keep.write(part)?;
            }
        }
        chunk.commit_all();
    }
    if let Some(keep) = keep {
        keep.finish()?;
    }
    Ok(analyzer.result())
}

impl Watched {
    fn tallied(observed: Observed, tags: &TagCounts) -> Self {
        Self {
            observed,
            account: Account {
                sent: observed.sent,
                kept: tags.total(),
                discarded: 0,
                dropped: observed.dropped,
            },
            tags: tags.listing(),
            analysis: None,
            stacks: None,
            counters: Vec::new(),
            calls: None,
        }
    }

    fn called(calls: FoundCalls) -> Self {
        let found = calls.total();
        Self {
            observed: Observed {
                sent: calls.reads,
                ..Observed::default()
            },
            account: Account {
                sent: found + calls.lost,
                kept: found,
                discarded: 0,
                dropped: calls.lost,
            },
            tags: Vec::new(),
            analysis: None,
            stacks: None,
            counters: Vec::new(),
            calls: Some(calls),
        }
    }

    fn analysed(
        (observed, stacks): (Observed, Option<Stacks>),
        analysis: Analysis,
        counters: Vec<CounterInfo>,
    ) -> Self {
        Self {
            observed,
            account: Account {
                sent: observed.sent,
                kept: analysis.kept,
                discarded: analysis.discarded,
                dropped: observed.dropped,
            },
            tags: analysis.tags.clone(),
            analysis: Some(analysis),
            stacks,
            counters,
            calls: None,
        }
    }
}
