//! Modes of a run: functional, timed, or timed by units. Each mode has an `open` for callers that step the simulation
//! themselves, and a `run`.

use hps_isa::editor::DecodeEditor;
use hps_isa::probe::{NoProbe, Probe};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{CoreKind, EitherCore, Finished, NotSimulated, PipelineProbe};
use hps_pipeline::sampled::{SampledRun, SamplingPlan};
use hps_sim_core::machine::{Machine, Stop};
use hps_system::os::ProcessRule;
use hps_system::process::Process;
use std::borrow::Cow;

use crate::edit::run_with;
use crate::error::LabError;
use crate::install::Install;
use crate::lab::Lab;
use crate::loops::{Attach, Core, FunctionalLoop, SampledLoop, TimedLoop};
use crate::machine::{TimedMachine, check_core};
use crate::processes::{functional, timed};
use crate::program::Expected;
use crate::provenance::{MachineProvenance, Provenance};
use crate::ran::{Ran, Timing, Units};
use crate::region::Region;
use crate::stopwatch::Stopwatch;

/// A run without time, on the functional machine.
#[derive(Clone, Copy, Debug)]
pub struct Functional;

/// A run of which every cycle is simulated.
#[derive(Clone, Debug)]
pub struct Timed<'a> {
    pub(crate) machine: Cow<'a, MachineConfig>,
    pub(crate) core: CoreKind,
}

/// A run of which short units are timed, and the rest runs functionally.
#[derive(Clone, Debug)]
pub struct Sampled<'a> {
    machine: Cow<'a, MachineConfig>,
    plan: SamplingPlan,
    threads: usize,
}

impl<'a, M, I: Install, P> Lab<'a, M, I, P> {
    /// The process at the beginning of the program, with what the editor needs in its memory.
    pub(crate) fn prepare(self) -> Result<(Process, I::Editor, P, M), LabError> {
        let process = self.program.start()?;
        self.prepare_from(process)
    }

    /// Gives the parts of [`prepare`](Self::prepare) for a process that has reached the point where counting begins.
    fn prepare_from(self, mut process: Process) -> Result<(Process, I::Editor, P, M), LabError> {
        if let Some(warn) = self.warn {
            process.os.set_warning_sink(Box::new(warn));
        }
        let editor = self.installs.install(&mut process)?;
        Ok((process, editor, self.probe, self.mode))
    }
}

impl<'a, I, P> Lab<'a, Functional, I, P> {
    /// Times the run by the cycle-driven core of a machine: a preset by its name, or the machine of a file.
    ///
    /// # Errors
    /// There is no such machine.
    pub fn on(self, name_or_file: &str) -> Result<Lab<'a, Timed<'a>, I, P>, LabError> {
        let machine = MachineConfig::load(name_or_file)?;
        Ok(self.timed(Cow::Owned(machine), CoreKind::Cycle))
    }

    /// Times the run by the cycle-driven core of a machine description.
    #[must_use]
    pub fn on_machine(self, machine: &'a MachineConfig) -> Lab<'a, Timed<'a>, I, P> {
        self.timed(Cow::Borrowed(machine), CoreKind::Cycle)
    }

    /// Times the run on a machine by the kind of core that comes with it.
    #[must_use]
    pub fn timed_by(self, machine: &'a TimedMachine) -> Lab<'a, Timed<'a>, I, P> {
        self.timed(Cow::Borrowed(&machine.config), machine.core)
    }

    fn timed(self, machine: Cow<'a, MachineConfig>, core: CoreKind) -> Lab<'a, Timed<'a>, I, P> {
        self.map(|_, installs, probe| (Timed { machine, core }, installs, probe))
    }

    /// Provenance of the run: all settings that determine its results.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        Provenance::of(&self.program)
    }
}

/// A functional machine, which compiles hot code of the program unless it is to be interpreted.
pub(crate) fn functional_machine<E: DecodeEditor>(
    process: Process,
    editor: E,
    is_interpreted: bool,
) -> Machine<E> {
    let mut machine = Machine::with_editor(process, editor);
    // An editor wants to see every instruction.
    let translator = match is_interpreted || E::ENABLED || E::RELAYOUT {
        true => None,
        false => hps_translator::translator(hps_translator::Settings::default()),
    };
    if let Some(translator) = translator {
        machine.translate_with(translator);
    }
    machine
}

impl<I: Install> Lab<'_, Functional, I, NoProbe> {
    /// The machine at the beginning of the program, for a caller that steps it.
    ///
    /// # Errors
    /// The program cannot be loaded, or the editor not be installed.
    pub fn open(self) -> Result<Machine<I::Editor>, LabError> {
        let is_interpreted = self.program.is_interpreted;
        let (process, editor, ..) = self.prepare()?;
        Ok(functional_machine(process, editor, is_interpreted))
    }
}

impl<I: Install, P: Probe> Lab<'_, Functional, I, P> {
    /// Runs to the end of the program or to the limit.
    ///
    /// # Errors
    /// The program cannot be loaded, or the editor not be installed.
    pub fn run(self) -> Result<Ran<I::Editor, P>, LabError>
    where
        I::Editor: FunctionalLoop<P>,
    {
        self.run_by(FunctionalLoop::run)
    }

    /// Runs as [`run`](Self::run) does, under any probe: its loop is compiled in the crate that calls this.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run).
    pub fn run_here(self) -> Result<Ran<I::Editor, P>, LabError> {
        self.run_by(Machine::run)
    }

    fn run_by(
        self,
        run: fn(&mut Machine<I::Editor>, &mut P, u64) -> Stop,
    ) -> Result<Ran<I::Editor, P>, LabError> {
        let (provenance, limit) = (self.provenance(), self.limit);
        let expected = self.program.expected.clone();
        let is_interpreted = self.program.is_interpreted;
        let (parts, edits) = (self.parts.clone(), self.edits.clone());
        let (mut process, editor, mut probe, _) = self.prepare()?;
        process.os.set_process_rule(functional::<I::Editor, P>());
        let mut machine = functional_machine(process, editor, is_interpreted);
        let start = Stopwatch::start();
        let stop = match parts {
            None => run_with(&mut machine, &edits, limit, |machine, _, limit| {
                run(machine, &mut probe, limit)
            })?,
            Some(parts) => parts.run(&mut machine, limit, |machine, _, limit| {
                run(machine, &mut probe, limit)
            }),
        };
        Ok(Ran::of_machine(
            machine,
            probe,
            (stop, start),
            provenance,
            expected,
        ))
    }
}

impl<E: DecodeEditor, P> Ran<E, P> {
    /// The results of a functional run.
    pub(crate) fn of_machine(
        machine: Machine<E>,
        probe: P,
        (stop, start): (Stop, Stopwatch),
        provenance: Provenance,
        expected: Option<Expected>,
    ) -> Self {
        Ran {
            stop,
            host_seconds: start.seconds(),
            retired: machine.retired,
            process: machine.process,
            editor: machine.editor,
            probe,
            timing: (),
            provenance,
            expected,
        }
    }
}

impl<'a, I, P> Lab<'a, Timed<'a>, I, P> {
    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &MachineConfig {
        &self.mode.machine
    }

    /// The kind of the machine's core.
    pub(crate) fn core_kind(&self) -> CoreKind {
        self.mode.core
    }

    /// Times the run by a core of this kind.
    #[must_use]
    pub fn core(mut self, core: CoreKind) -> Self {
        self.mode.core = core;
        self
    }

    /// Provenance of the run: all settings that determine its results.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        Provenance {
            machine: Some(MachineProvenance::of(&self.mode.machine, self.mode.core)),
            ..Provenance::of(&self.program)
        }
    }
}

impl<'a, I> Lab<'a, Timed<'a>, I, NoProbe> {
    /// Times only units of the run, on one thread.
    ///
    /// # Errors
    /// [`LabError::SampledCore`] for the instruction-driven core, [`LabError::SampledCores`] for several cores.
    pub fn sampled(self, plan: SamplingPlan) -> Result<Lab<'a, Sampled<'a>, I, NoProbe>, LabError> {
        if self.mode.core != CoreKind::Cycle {
            return Err(LabError::SampledCore);
        }
        if self.mode.machine.chip.has_peers() {
            let machine = self.mode.machine.name.clone();
            return Err(LabError::SampledCores { machine });
        }
        Ok(self.map(|mode, installs, probe| {
            let sampled = Sampled {
                machine: mode.machine,
                plan,
                threads: 1,
            };
            (sampled, installs, probe)
        }))
    }
}

impl<'a, I: Install, P: PipelineProbe> Lab<'a, Timed<'a>, I, P> {
    /// The core at the beginning of the program, for a caller that steps it.
    ///
    /// # Errors
    /// The machine has no core of the kind, the program cannot be loaded, or the editor not be installed.
    pub fn open(self) -> Result<Core<I::Editor, P::Loops>, LabError>
    where
        P: Attach,
        I::Editor: TimedLoop<P::Loops>,
    {
        self.open_by(P::attach, TimedLoop::core).map(Core)
    }

    /// Opens as [`open`](Self::open) does, under any probe: the loops are compiled in the crate that calls this.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_here(self) -> Result<EitherCore<I::Editor, P>, LabError> {
        self.open_by(|probe| probe, EitherCore::with)
    }

    fn open_by<Q: PipelineProbe>(
        self,
        attach: fn(P) -> Q,
        open: Open<I::Editor, Q>,
    ) -> Result<EitherCore<I::Editor, Q>, LabError> {
        check_core(&self.mode.machine, self.mode.core)?;
        let region = self.program.region.clone();
        if let Some(region) = region.filter(|region| region.warm.is_some()) {
            return self.open_warm(&region, attach);
        }
        let (mut process, editor, probe, Timed { machine, core }) = self.prepare()?;
        let rule = timed::<I::Editor, P>(core);
        process.os.set_process_rule(rule);
        open(core, &machine, process, editor, attach(probe))
            .map_err(|reason| LabError::not_simulated(&machine.name, reason))
    }

    /// A core with warm caches and predictors: instructions in front of the region have run through them.
    #[inline(never)]
    fn open_warm<Q: PipelineProbe>(
        self,
        region: &Region,
        attach: fn(P) -> Q,
    ) -> Result<EitherCore<I::Editor, Q>, LabError> {
        if self.mode.machine.chip.has_peers() {
            return Err(LabError::NotWarmed);
        }
        let (kind, machine) = (self.mode.core, &self.mode.machine);
        let (process, warm) = region.reach_warm(&self.program, kind, machine)?;
        let (mut process, editor, probe, Timed { machine, core }) = self.prepare_from(process)?;
        let rule = timed::<I::Editor, P>(core);
        process.os.set_process_rule(rule);
        EitherCore::warmed(core, &machine, (process, editor, attach(probe)), &warm)
            .map_err(|reason| LabError::not_simulated(&machine.name, reason))
    }

    /// Runs to the end of the program or to the limit.
    ///
    /// # Errors
    /// The machine has no core of the kind, the program cannot be loaded, or the editor not be installed.
    pub fn run(self) -> Result<Ran<I::Editor, P, Timing>, LabError>
    where
        P: Attach,
        I::Editor: TimedLoop<P::Loops>,
    {
        let loops = Loops {
            attach: P::attach,
            open: TimedLoop::core,
            run: TimedLoop::run,
            go_on: TimedLoop::go_on,
            finish: TimedLoop::finish,
            detach: P::detach,
        };
        self.run_by(loops)
    }

    /// Runs as [`run`](Self::run) does, under any probe: the loops are compiled in the crate that calls this.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run).
    pub fn run_here(self) -> Result<Ran<I::Editor, P, Timing>, LabError> {
        self.run_by(Loops {
            attach: |probe| probe,
            open: EitherCore::with,
            run: EitherCore::run,
            go_on: EitherCore::go_on,
            finish: EitherCore::finish,
            detach: |probe| probe,
        })
    }

    fn run_by<Q: PipelineProbe>(
        self,
        loops: Loops<I::Editor, P, Q>,
    ) -> Result<Ran<I::Editor, P, Timing>, LabError> {
        let (provenance, limit) = (self.provenance(), self.limit);
        let expected = self.program.expected.clone();
        let (names_contention, parts) = (self.names_contention, self.parts.clone());
        let edits = self.edits.clone();
        let mut core = self.open_by(loops.attach, loops.open)?;
        if names_contention {
            core.record_contention();
        }
        let start = Stopwatch::start();
        let run = |core: &mut EitherCore<_, _>, is_first, limit| match is_first {
            true => (loops.run)(core, limit),
            false => (loops.go_on)(core, limit),
        };
        let stop = match parts {
            None => run_with(&mut core, &edits, limit, run)?,
            Some(parts) => parts.run(&mut core, limit, run),
        };
        let host_seconds = start.seconds();
        let finished = (loops.finish)(core);
        Ok(Ran::of_core(
            finished.map(|editor| editor, loops.detach),
            stop,
            host_seconds,
            provenance,
            expected,
        ))
    }
}

/// Loops of an editor `E` that run a probe `P` as one of type `Q`.
struct Loops<E: DecodeEditor, P, Q: PipelineProbe> {
    attach: fn(P) -> Q,
    open: Open<E, Q>,
    run: fn(&mut EitherCore<E, Q>, u64) -> Stop,
    go_on: fn(&mut EitherCore<E, Q>, u64) -> Stop,
    finish: fn(EitherCore<E, Q>) -> Finished<E, Q>,
    detach: fn(Q) -> P,
}

/// Makes a core.
type Open<E, P> =
    fn(CoreKind, &MachineConfig, Process, E, P) -> Result<EitherCore<E, P>, NotSimulated>;

impl<'a, I> Lab<'a, Sampled<'a>, I, NoProbe> {
    /// Runs on this number of threads; 0 for one on each processor. Results do not depend on it.
    #[must_use]
    pub fn on_threads(mut self, threads: usize) -> Self {
        self.mode.threads = threads;
        self
    }

    /// Provenance of the run: all settings that determine its results.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        Provenance {
            machine: Some(MachineProvenance::of(&self.mode.machine, CoreKind::Cycle)),
            sampling: Some(self.mode.plan),
            ..Provenance::of(&self.program)
        }
    }
}

impl<'a, I> Lab<'a, Sampled<'a>, I, NoProbe>
where
    I: Install<Editor: SampledLoop>,
{
    /// The run at the beginning of the program, for a caller that steps it.
    ///
    /// # Errors
    /// The plan cannot be followed, the program cannot be loaded, or the editor not be installed.
    pub fn open(self) -> Result<SampledRun<I::Editor>, LabError> {
        let region = self.program.region.as_ref();
        if region.is_some_and(|region| region.warm.is_some()) {
            return Err(LabError::NotWarmed);
        }
        let (mut process, editor, _, mode) = self.prepare()?;
        let rule = ProcessRule::Refused("sampled timing");
        process.os.set_process_rule(rule);
        let run = I::Editor::sampled(&mode.machine, process, editor, mode.plan)?;
        Ok(run.on_threads(mode.threads))
    }

    /// Runs to the end of the program or to the limit.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open), and no memory for timing units.
    pub fn run(self) -> Result<Ran<(), NoProbe, Units>, LabError> {
        let (provenance, limit, plan) = (self.provenance(), self.limit, self.mode.plan);
        let expected = self.program.expected.clone();
        let mut run = self.open()?;
        let start = Stopwatch::start();
        let stop = I::Editor::run_units(&mut run, limit)?;
        let host_seconds = start.seconds();
        let retired = run.retired();
        let (process, samples) = run.finish();
        Ok(Ran {
            stop,
            process,
            retired,
            editor: (),
            probe: NoProbe,
            timing: Units { plan, samples },
            host_seconds,
            provenance,
            expected,
        })
    }
}
