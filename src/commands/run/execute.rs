//! Runs a process on the functional machine or on the pipeline, with or without DISE.

use std::sync::Arc;
use std::time::Instant;

use hps_dise::{DiseEngine, DiseStats};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{CoreKind, CoreStats, CpiStack, EitherCore, Finished, PipelineProbe};
use hps_pipeline::kanata::KanataLog;
use hps_pipeline::memsys::MemoryStats;
use hps_pipeline::sampled::{SampledRun, Samples, SamplingPlan};
use hps_pipeline::stacks::{FunctionStack, FunctionStacks};
use hps_sim_core::editor::{DecodeEditor, NoEditor};
use hps_sim_core::machine::{Machine, RetiredCounts, Stop};
use hps_sim_core::probe::NoProbe;
use hps_sim_core::process::Process;

/// What a run is asked for beside the program's own work.
pub struct Order<'a> {
    /// Timed on this machine; functional without.
    pub machine: Option<&'a MachineConfig>,
    /// How that is simulated. By instruction there is no log and no sampling.
    pub core: CoreKind,
    /// Instructions of the program at most.
    pub limit: u64,
    /// CPI stacks by function.
    pub by_function: bool,
    /// An empty pipeline log to fill.
    pub trace: Option<KanataLog>,
    /// Only units of the run are timed.
    pub sampling: Option<SamplingPlan>,
    /// Threads for that.
    pub jobs: usize,
}

/// What a run left behind.
pub struct Ran {
    /// Why it ended.
    pub stop: Stop,
    /// The process as it ended.
    pub process: Process,
    /// Instructions by origin.
    pub retired: RetiredCounts,
    /// Host time from the first to the last simulated instruction; loading is not part of it.
    pub host_seconds: f64,
    /// What the pipeline counted, in a timed run.
    pub timed: Option<Timed>,
    /// What was measured, in a run with sampled timing.
    pub samples: Option<(SamplingPlan, Samples)>,
    /// What the DISE engine counted.
    pub dise: Option<DiseStats>,
}

/// What the pipeline counted.
pub struct Timed {
    /// The core.
    pub core: CoreStats,
    /// Caches, TLBs, buses.
    pub memory: MemoryStats,
    /// Commit slots by owner.
    pub cpi: CpiStack,
    /// The same by function, if asked for.
    pub by_function: Option<Vec<FunctionStack>>,
    /// The filled pipeline log, if asked for.
    pub trace: Option<KanataLog>,
}

/// Runs a process, with an engine in the decode stage if there is one.
///
/// # Errors
/// A sampling plan that cannot be followed, no memory for timing units, or a machine that has no
/// instruction-driven core.
pub fn execute(
    process: Process,
    engine: Option<DiseEngine>,
    order: Order<'_>,
) -> anyhow::Result<Ran> {
    if let (Some(config), Some(plan)) = (order.machine, order.sampling) {
        return sampled(config, process, plan, order.limit, order.jobs);
    }
    match engine {
        None => with_editor(process, NoEditor, order, |_| None),
        Some(engine) => with_editor(process, engine, order, |engine| {
            Some(engine.stats().clone())
        }),
    }
}

fn sampled(
    config: &MachineConfig,
    process: Process,
    plan: SamplingPlan,
    limit: u64,
    jobs: usize,
) -> anyhow::Result<Ran> {
    let mut run = SampledRun::new(config, process, plan)?.on_threads(jobs);
    let start = Instant::now();
    let stop = run.run(limit)?;
    let host_seconds = start.elapsed().as_secs_f64();
    let retired = RetiredCounts {
        program: run.instructions(),
        ..RetiredCounts::default()
    };
    let (process, samples) = run.finish();
    Ok(Ran {
        stop,
        process,
        retired,
        host_seconds,
        timed: None,
        samples: Some((plan, samples)),
        dise: None,
    })
}

fn with_editor<E: DecodeEditor>(
    process: Process,
    editor: E,
    order: Order<'_>,
    dise: fn(&E) -> Option<DiseStats>,
) -> anyhow::Result<Ran> {
    let Some(config) = order.machine else {
        return Ok(functional(process, editor, order.limit, dise));
    };
    let (core, limit) = (order.core, order.limit);
    let stacks = FunctionStacks::new(Arc::clone(&process.image));
    let (mut ran, timed) = match (order.trace, order.by_function) {
        (None, false) => {
            let (ran, timed, NoProbe) = timed(core, config, process, editor, NoProbe, limit, dise)?;
            (ran, timed)
        }
        (None, true) => {
            let (ran, timed, stacks) = timed(core, config, process, editor, stacks, limit, dise)?;
            (
                ran,
                Timed {
                    by_function: Some(stacks.ranking()),
                    ..timed
                },
            )
        }
        (Some(log), by_function) => {
            let (ran, timed, (log, stacks)) =
                timed(core, config, process, editor, (log, stacks), limit, dise)?;
            let by_function = by_function.then(|| stacks.ranking());
            (
                ran,
                Timed {
                    by_function,
                    trace: Some(log),
                    ..timed
                },
            )
        }
    };
    ran.timed = Some(timed);
    Ok(ran)
}

fn functional<E: DecodeEditor>(
    process: Process,
    editor: E,
    limit: u64,
    dise: fn(&E) -> Option<DiseStats>,
) -> Ran {
    let mut machine = Machine::with_editor(process, editor);
    let start = Instant::now();
    let stop = machine.run(&mut NoProbe, limit);
    Ran {
        stop,
        retired: machine.retired,
        host_seconds: start.elapsed().as_secs_f64(),
        timed: None,
        samples: None,
        dise: dise(&machine.editor),
        process: machine.process,
    }
}

fn timed<E: DecodeEditor, P: PipelineProbe>(
    kind: CoreKind,
    config: &MachineConfig,
    process: Process,
    editor: E,
    probe: P,
    limit: u64,
    dise: fn(&E) -> Option<DiseStats>,
) -> anyhow::Result<(Ran, Timed, P)> {
    let mut core = EitherCore::with(kind, config, process, editor, probe)?;
    let start = Instant::now();
    let stop = core.run(limit);
    let host_seconds = start.elapsed().as_secs_f64();
    let Finished {
        process,
        editor,
        probe,
        stats,
        cpi,
        memory,
    } = core.finish();
    let timed = Timed {
        core: stats,
        memory,
        cpi,
        by_function: None,
        trace: None,
    };
    let ran = Ran {
        stop,
        process,
        retired: RetiredCounts {
            program: stats.commit_program_instructions,
            inserted: stats.commit_inserted_instructions,
            handler: stats.commit_handler_instructions,
        },
        host_seconds,
        timed: None,
        samples: None,
        dise: dise(&editor),
    };
    Ok((ran, timed, probe))
}
