//! Runs a process on the functional machine or on the pipeline, with or without DISE.

use std::sync::Arc;
use std::time::Instant;

use hps_dise::{DiseEngine, DiseStats};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{Core, CoreStats, CpiStack, DrivenCore, PipelineProbe};
use hps_pipeline::kanata::KanataLog;
use hps_pipeline::memsys::MemoryStats;
use hps_pipeline::sampled::{SampledRun, Samples, SamplingPlan};
use hps_pipeline::stacks::{FunctionStack, FunctionStacks};
use hps_sim_core::editor::{DecodeEditor, NoEditor};
use hps_sim_core::machine::{Machine, RetiredCounts, Stop};
use hps_sim_core::probe::NoProbe;
use hps_sim_core::process::Process;

use crate::cli::CoreKind;

/// What a run is asked for beside the program's own work.
pub struct Order<'a> {
    /// Timed on this machine; functional without.
    pub machine: Option<&'a MachineConfig>,
    /// How that is simulated. By instruction there is no engine, no log and no sampling.
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
    if let (Some(config), CoreKind::Instruction) = (order.machine, order.core) {
        return by_instruction(config, process, order.limit, order.by_function);
    }
    Ok(match engine {
        None => with_editor(process, NoEditor, order, |_| None),
        Some(engine) => with_editor(process, engine, order, |engine| {
            Some(engine.stats().clone())
        }),
    })
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

fn by_instruction(
    config: &MachineConfig,
    process: Process,
    limit: u64,
    by_function: bool,
) -> anyhow::Result<Ran> {
    let (mut ran, timed) = if by_function {
        let stacks = FunctionStacks::new(Arc::clone(&process.image));
        let (ran, timed, stacks) = timed_by_instruction(config, process, stacks, limit)?;
        let by_function = Some(stacks.ranking());
        (
            ran,
            Timed {
                by_function,
                ..timed
            },
        )
    } else {
        let (ran, timed, NoProbe) = timed_by_instruction(config, process, NoProbe, limit)?;
        (ran, timed)
    };
    ran.timed = Some(timed);
    Ok(ran)
}

fn with_editor<E: DecodeEditor>(
    process: Process,
    editor: E,
    order: Order<'_>,
    dise: fn(&E) -> Option<DiseStats>,
) -> Ran {
    let Some(config) = order.machine else {
        return functional(process, editor, order.limit, dise);
    };
    let limit = order.limit;
    let stacks = FunctionStacks::new(Arc::clone(&process.image));
    let (mut ran, timed) = match (order.trace, order.by_function) {
        (None, false) => {
            let (ran, timed, NoProbe) = timed(config, process, editor, NoProbe, limit, dise);
            (ran, timed)
        }
        (None, true) => {
            let (ran, timed, stacks) = timed(config, process, editor, stacks, limit, dise);
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
                timed(config, process, editor, (log, stacks), limit, dise);
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
    ran
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
    config: &MachineConfig,
    process: Process,
    editor: E,
    probe: P,
    limit: u64,
    dise: fn(&E) -> Option<DiseStats>,
) -> (Ran, Timed, P) {
    let mut core = Core::with(config, process, editor, probe);
    let start = Instant::now();
    let stop = core.run(limit);
    let host_seconds = start.elapsed().as_secs_f64();
    let memory = core.memory_stats();
    let Core {
        process,
        editor,
        probe,
        stats,
        cpi,
        ..
    } = core;
    let retired = RetiredCounts {
        program: stats.commit_program_instructions,
        inserted: stats.commit_inserted_instructions,
        handler: stats.commit_handler_instructions,
    };
    let timed = Timed {
        core: stats,
        memory,
        cpi,
        by_function: None,
        trace: None,
    };
    (
        Ran {
            stop,
            process,
            retired,
            host_seconds,
            timed: None,
            samples: None,
            dise: dise(&editor),
        },
        timed,
        probe,
    )
}

fn timed_by_instruction<P: PipelineProbe>(
    config: &MachineConfig,
    process: Process,
    probe: P,
    limit: u64,
) -> anyhow::Result<(Ran, Timed, P)> {
    let mut core = DrivenCore::with(config, process, NoEditor, probe).map_err(|reason| {
        anyhow::anyhow!(
            "machine {} has no instruction-driven core: {reason}; use --core cycle",
            config.name
        )
    })?;
    let start = Instant::now();
    let stop = core.run(limit);
    let host_seconds = start.elapsed().as_secs_f64();
    let memory = core.memory_stats();
    let DrivenCore {
        process,
        probe,
        stats,
        cpi,
        ..
    } = core;
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
            ..RetiredCounts::default()
        },
        host_seconds,
        timed: None,
        samples: None,
        dise: None,
    };
    Ok((ran, timed, probe))
}
