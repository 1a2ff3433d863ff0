//! Runs what options ask for: on the functional machine or on the pipeline, with or without DISE.

use hps_isa::editor::NoEditor;
use std::sync::Arc;

use hps_dise::{DiseEngine, DiseStats};
use hps_isa::probe::NoProbe;
use hps_isa::state::SaveState;
use hps_lab::checkpoint::Checkpoints;
use hps_lab::slices::Slicing;
use hps_lab::{
    Functional, FunctionalLoop, Install, Lab, LabError, Productions, Provenance, TimedLoop,
    TimedMachine, Timing,
};
use hps_pipeline::core::{CoreStats, Counted, CpiStack, StagesProbe};
use hps_pipeline::kanata::KanataLog;
use hps_pipeline::memsys::{ContendedLine, MemoryStats};
use hps_pipeline::sampled::{Samples, SamplingPlan};
use hps_pipeline::stacks::{FunctionStack, FunctionStacks};
use hps_sim_core::machine::{RetiredCounts, Stop};
use hps_system::process::Process;
use hps_system::symbols::CodeWatch;

use crate::slices::{self, SlicesDocument};

/// Results that a run is asked for, beside the program's own.
pub struct Order {
    /// CPI stacks by function.
    pub by_function: bool,
    /// An empty pipeline log to fill.
    pub trace: Option<KanataLog>,
    /// The plan of the units, in a run with sampled timing.
    pub sampling: Option<SamplingPlan>,
    /// Threads for sampled timing.
    pub jobs: usize,
}

/// Results of a run.
pub struct Ran {
    /// Why it ended.
    pub stop: Stop,
    /// The process as it ended.
    pub process: Process,
    /// Instructions by origin.
    pub retired: RetiredCounts,
    /// Host time from the first to the last simulated instruction; loading is not part of it.
    pub host_seconds: f64,
    /// Provenance: program, seed and machine, which determine the run.
    pub provenance: Provenance,
    /// Counters of the pipeline, in a timed run.
    pub timed: Option<Timed>,
    /// The measured units, in a run with sampled timing.
    pub samples: Option<(SamplingPlan, Samples)>,
    /// Slices and joints, in a run in slices.
    pub slices: Option<SlicesDocument>,
    /// Counters of the DISE engine.
    pub dise: Option<DiseStats>,
}

/// Counters of the pipeline.
pub struct Timed {
    /// The core.
    pub core: CoreStats,
    /// Caches, TLBs, buses.
    pub memory: MemoryStats,
    /// Commit slots by owner.
    pub cpi: CpiStack,
    /// Each context, if there are several; the other counters here are then sums over contexts.
    pub contexts: Vec<Counted>,
    /// The lines for which cores contended, if asked for.
    pub contended: Vec<ContendedLine>,
    /// CPI stacks by function, if asked for.
    pub by_function: Option<Vec<FunctionStack>>,
    /// The filled pipeline log, if asked for.
    pub trace: Option<KanataLog>,
}

/// Runs a program, timed if there is a machine, with productions in the decode stage if there are any.
///
/// # Errors
/// An error if the program cannot be run with these settings.
pub fn execute<'a>(
    lab: Lab<'a>,
    machine: Option<&'a TimedMachine>,
    productions: Option<&'a Productions>,
    order: Order,
) -> Result<Ran, LabError> {
    if let (Some(machine), Some(plan)) = (machine, order.sampling) {
        let lab = lab.timed_by(machine).sampled(plan)?;
        let (ran, NoProbe, units) = Ran::of(lab.on_threads(order.jobs).run()?, |()| None);
        return Ok(Ran {
            samples: Some((units.plan, units.samples)),
            ..ran
        });
    }
    match productions {
        None => edited(lab, machine, order, |_| None),
        Some(productions) => edited(
            lab.edited_by(productions),
            machine,
            order,
            |engine: &DiseEngine| Some(engine.stats().clone()),
        ),
    }
}

/// Runs a program as [`execute`] does, and keeps checkpoints or begins from one.
///
/// # Errors
/// An error if the program cannot be run with these settings, or the checkpoint not be used.
pub fn execute_kept<'a>(
    lab: Lab<'a>,
    machine: Option<&'a TimedMachine>,
    productions: Option<&'a Productions>,
    kept: &mut Checkpoints,
) -> Result<Ran, LabError> {
    match productions {
        None => kept_by(lab, machine, kept, |_| None),
        Some(productions) => kept_by(
            lab.edited_by(productions),
            machine,
            kept,
            |engine: &DiseEngine| Some(engine.stats().clone()),
        ),
    }
}

/// Runs a program in slices, and without them if `check` asks for it. `None`: only a part of the slices was timed.
///
/// # Errors
/// An error if the program cannot be run so.
pub fn execute_sliced<'a>(
    lab: Lab<'a>,
    machine: &'a TimedMachine,
    slicing: &Slicing,
    check: bool,
) -> Result<Option<Ran>, LabError> {
    let quiet = lab.subject().quiet();
    let straight = Lab::of(&quiet).limit(lab.most()).timed_by(machine);
    let straight = check.then(|| straight.run().map(|ran| ran.cycles()));
    let sliced = lab.timed_by(machine).sliced(slicing);
    slices::end_progress();
    let (sliced, straight) = (sliced?, straight.transpose()?);
    let document = SlicesDocument::new(slicing, &sliced, straight);
    let Some(ran) = sliced.joined else {
        slices::say_part(slicing, &sliced);
        return Ok(None);
    };
    let (ran, ()) = ran.without_probe();
    let ran = Ran::timed(ran, |_| None, |()| (None, None));
    Ok(Some(Ran {
        slices: Some(document),
        ..ran
    }))
}

fn kept_by<'a, I: Install<Editor: ExecutedLoop + SaveState>>(
    lab: Lab<'a, Functional, I>,
    machine: Option<&'a TimedMachine>,
    kept: &mut Checkpoints,
    dise: fn(&I::Editor) -> Option<DiseStats>,
) -> Result<Ran, LabError> {
    Ok(match machine {
        None => Ran::of(lab.run_kept(kept)?, dise).0,
        Some(machine) => Ran::timed(lab.timed_by(machine).run_kept(kept)?, dise, |NoProbe| {
            (None, None)
        }),
    })
}

fn edited<'a, I: Install<Editor: ExecutedLoop>>(
    mut lab: Lab<'a, Functional, I>,
    machine: Option<&'a TimedMachine>,
    order: Order,
    dise: fn(&I::Editor) -> Option<DiseStats>,
) -> Result<Ran, LabError> {
    let Some(machine) = machine else {
        return Ok(Ran::of(lab.run()?, dise).0);
    };
    let code = CodeWatch::new(lab.record_code(), 1);
    let stacks = FunctionStacks::new(Arc::default(), Some(code));
    let lab = lab.timed_by(machine);
    Ok(match (order.trace, order.by_function) {
        (None, false) => Ran::timed(lab.run()?, dise, |NoProbe| (None, None)),
        (None, true) => Ran::timed(lab.watched_by(stacks).run()?, dise, |stacks| {
            (Some(stacks.ranking()), None)
        }),
        (Some(log), by_function) => {
            let lab = lab.watched_by((log, stacks));
            Ran::timed(lab.run()?, dise, |(log, stacks)| {
                (by_function.then(|| stacks.ranking()), Some(log))
            })
        }
    })
}

/// An editor whose loops are compiled for every way to run a program.
trait ExecutedLoop: FunctionalLoop<NoProbe> + TimedLoop<NoProbe> + TimedLoop<StagesProbe> {}

impl ExecutedLoop for NoEditor {}
impl ExecutedLoop for DiseEngine {}

impl Ran {
    /// Results that runs of all modes share. The probe and the result of timing are returned beside them.
    fn of<E, P, T>(
        ran: hps_lab::Ran<E, P, T>,
        dise: impl FnOnce(&E) -> Option<DiseStats>,
    ) -> (Ran, P, T) {
        let of_all = Ran {
            dise: dise(&ran.editor),
            stop: ran.stop,
            process: ran.process,
            retired: ran.retired,
            host_seconds: ran.host_seconds,
            provenance: ran.provenance,
            timed: None,
            samples: None,
            slices: None,
        };
        (of_all, ran.probe, ran.timing)
    }

    fn timed<E, P>(
        ran: hps_lab::Ran<E, P, Timing>,
        dise: fn(&E) -> Option<DiseStats>,
        seen: impl FnOnce(P) -> (Option<Vec<FunctionStack>>, Option<KanataLog>),
    ) -> Ran {
        let (ran, probe, timing) = Ran::of(ran, dise);
        let Timing {
            core,
            cpi,
            memory,
            contexts,
            contended,
        } = timing;
        let (by_function, trace) = seen(probe);
        let timed = Timed {
            core,
            memory,
            cpi,
            contexts,
            contended,
            by_function,
            trace,
        };
        Ran {
            timed: Some(timed),
            ..ran
        }
    }
}
