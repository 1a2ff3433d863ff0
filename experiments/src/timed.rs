//! Timed runs: the baseline of a program, and its points.
//!
//! Points that differ in sparsity alone are the same run until the first of them samples
//! ([`Collector::take_over`]). Of such a family the sparsest point runs ahead; the others begin as
//! duplicates of it, just before their first burst. Their results are those of runs from the
//! beginning, to the cycle.

use hps_isa::editor::NoEditor;
use hps_lab::{Core, FunctionalLoop};
use std::panic::{AssertUnwindSafe, catch_unwind};

use hps_dise::DiseEngine;
use hps_isa::probe::{NoProbe, Probe};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::CoreKind;
use hps_pipeline::memsys::MemoryStats;
use hps_productions::{Collector, CollectorOptions};
use hps_sim_core::machine::Stop;
use hps_system::process::Process;

use crate::plan::{Plan, Point};
use crate::row::{ExtraMisses, TimingResult};
use hps_lab::{Lab, Program, Ran, dise_config};

/// A program on a machine without DISE.
#[derive(Clone, Copy, Debug)]
pub struct Alone {
    cycles: u64,
    instructions: u64,
    misses: LevelOneMisses,
}

/// A run without DISE, or why it failed.
pub type Baseline = Result<Alone, String>;

/// Requests of the level 1 caches to the next level: lines of instructions and of data.
#[derive(Clone, Copy, Debug)]
struct LevelOneMisses {
    instruction: u64,
    data: u64,
}

impl LevelOneMisses {
    fn of(memory: &MemoryStats) -> Self {
        LevelOneMisses {
            instruction: memory.l1i.read_miss_events,
            data: memory.l1d.read_miss_events + memory.l1d.write_miss_events,
        }
    }

    /// How many more these are.
    fn beyond(self, other: LevelOneMisses) -> ExtraMisses {
        ExtraMisses {
            instruction: self.instruction as i64 - other.instruction as i64,
            data: self.data as i64 - other.data as i64,
        }
    }
}

/// Instructions that the run ahead commits between two looks at how far away the next burst is.
const SLICE: u64 = 16_384;

/// More instructions than any machine has in flight, each of which may be an event.
const IN_FLIGHT: u64 = 8192;

/// A panic in a run is a defect of the lab, but one that costs one point only.
pub fn guarded<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(format!("internal error: {text}"))
    })
}

/// A run of a program that counts only if it ends as it must.
pub fn check_end(program: &Program, stop: Stop, process: &Process) -> Result<(), String> {
    program.check_end(stop, process).map_err(|e| e.to_string())
}

/// Runs a program in the functional machine under a probe; gives the probe back, and the number of
/// instructions.
pub fn watched<P: Probe>(program: &Program, probe: P) -> Result<(P, u64), String>
where
    NoEditor: FunctionalLoop<P>,
{
    let run = Lab::of(program).watched_by(probe).run();
    let run = run.and_then(Ran::successful).map_err(|e| e.to_string())?;
    let instructions = run.instructions();
    Ok((run.probe, instructions))
}

/// Times a program without DISE.
pub fn baseline(program: &Program, machine: &MachineConfig, kind: CoreKind) -> Baseline {
    guarded(|| {
        let run = Lab::of(program).on_machine(machine).core(kind).run();
        let run = run.and_then(Ran::successful).map_err(|e| e.to_string())?;
        Ok(Alone {
            cycles: run.cycles(),
            instructions: run.instructions(),
            misses: LevelOneMisses::of(&run.timing.memory),
        })
    })
}

/// Common inputs of all points of a family.
pub struct Family<'a> {
    pub plan: &'a Plan,
    /// The program in the set-up that is timed.
    pub program: &'a Program,
    /// Run of the program without DISE.
    pub baseline: Alone,
    /// Instructions of the functional pass; `None` in another set-up than its own.
    pub instructions: Option<u64>,
}

impl Family<'_> {
    /// Times points of one program that differ in sparsity alone, in ascending order of sparsity.
    /// Calls `done` with each result, from several threads.
    pub fn run(
        &self,
        points: &[&Point],
        done: &(dyn Fn(&Point, Result<TimingResult, String>) + Sync),
    ) {
        let Some((&last, others)) = points.split_last() else {
            return;
        };
        let mut ahead = guarded(|| self.start(last));
        rayon::scope(|scope| {
            for &point in others {
                let begun = guarded(|| match &mut ahead {
                    Ok(run) => run.begin(self.plan, point, self.program.limit()),
                    Err(_) => Ok(None),
                });
                if begun.is_err() {
                    // The run ahead is in an undefined state.
                    ahead = Err("the run ahead failed".to_string());
                }
                scope.spawn(move |_| {
                    done(
                        point,
                        guarded(|| match begun {
                            Ok(Some(run)) => self.finish(run),
                            _ => self.finish(self.start(point)?),
                        }),
                    );
                });
            }
            done(
                last,
                guarded(|| {
                    let run = ahead.or_else(|_| self.start(last))?;
                    self.finish(run)
                }),
            );
        });
    }

    fn start(&self, point: &Point) -> Result<Run, String> {
        let collector = collector(self.plan, point)?;
        let core = Lab::of(self.program)
            .on_machine(&self.plan.machines[point.machine])
            .core(self.plan.core)
            .edited_by(&collector)
            .open()
            .map_err(|e| e.to_string())?;
        Ok(Run {
            collector,
            core,
            ended: None,
        })
    }

    fn finish(&self, mut run: Run) -> Result<TimingResult, String> {
        let left = |run: &Run| self.program.limit() - run.core.stats().commit_program_instructions;
        let stop = match run.ended {
            Some(stop) => stop,
            None => {
                let left = left(&run);
                run.core.run(left)
            }
        };
        check_end(self.program, stop, run.core.process())?;
        let misses = LevelOneMisses::of(&run.core.memory_stats());
        let s = run.core.stats();
        for (what, count) in [
            ("functional", self.instructions),
            ("baseline", Some(self.baseline.instructions)),
        ] {
            if let Some(count) = count
                && s.commit_program_instructions != count
            {
                return Err(format!(
                    "the profiled run committed {} instructions of the program, the {what} run {count}",
                    s.commit_program_instructions
                ));
            }
        }
        Ok(TimingResult {
            baseline_cycles: self.baseline.cycles,
            cycles: s.cycles,
            overhead: s.cycles as f64 / self.baseline.cycles as f64 - 1.0,
            instructions: s.commit_program_instructions,
            inserted_instructions: s.commit_inserted_instructions,
            handler_instructions: s.commit_handler_instructions,
            core: self.plan.core,
            extra_misses: Some(misses.beyond(self.baseline.misses)),
            set_ups: None,
            sampled: None,
        })
    }
}

/// A profiled run under way.
struct Run {
    collector: Collector,
    core: Core<DiseEngine, NoProbe>,
    ended: Option<Stop>,
}

impl Run {
    /// Goes on to just before the first burst of a point, and begins its run there. None if that
    /// cannot be done: then it has to run from the beginning.
    fn begin(&mut self, plan: &Plan, point: &Point, limit: u64) -> Result<Option<Run>, String> {
        let collector = collector(plan, point)?;
        let is_before_limit = |core: &Core<DiseEngine, NoProbe>| {
            core.stats().commit_program_instructions < limit.saturating_sub(SLICE)
        };
        while self.ended.is_none()
            && self.events_to(&collector) > SLICE + IN_FLIGHT
            && is_before_limit(&self.core)
        {
            self.ended = match self.core.run(SLICE) {
                Stop::Limit => None,
                stop => Some(stop),
            };
        }
        let Ok(mut core) = self.core.duplicate() else {
            return Ok(None);
        };
        let (process, editor) = core.parts_mut();
        if !collector.take_over(&self.collector, &mut process.thread.hart, editor) {
            return Ok(None);
        }
        Ok(Some(Run {
            collector,
            core,
            ended: self.ended,
        }))
    }

    /// Events from here to the first burst of another point.
    fn events_to(&self, collector: &Collector) -> u64 {
        let more = self.collector.point().sparsity - collector.point().sparsity;
        self.collector
            .events_left(self.core.editor())
            .saturating_sub(more)
    }
}

/// The collector of a point's run.
pub fn collector(plan: &Plan, point: &Point) -> Result<Collector, String> {
    let options = CollectorOptions {
        dise: dise_config(&plan.machines[point.machine]),
        // Accuracy comes from the functional pass, which agrees count for count.
        streams: None,
        ..CollectorOptions::default()
    };
    Collector::new(point.profile, plan.grid[point.at].0, &options).map_err(|e| e.to_string())
}
