//! Runs that keep checkpoints, or begin from one.

use hps_isa::editor::DecodeEditor;
use hps_isa::probe::Probe;
use hps_isa::state::{SaveState, from_bytes, to_bytes};
use hps_pipeline::core::{EitherCore, PipelineProbe};
use hps_sim_core::machine::{Machine, Stop};
use hps_system::os::ProcessRule;
use hps_system::process::{Process, ProcessConfig};
use serde_json::{Value, json};

use super::{CheckpointFile, Checkpoints, CheckpointsError, Parts};
use crate::error::LabError;
use crate::install::Install;
use crate::lab::Lab;
use crate::loops::{Attach, FunctionalLoop, TimedLoop};
use crate::mode::{Functional, Timed, functional_machine};
use crate::processes::{functional, timed};
use crate::provenance::Provenance;
use crate::ran::{Ran, Timing};
use crate::stopwatch::Stopwatch;

/// The settings that determine the state of a run.
pub(crate) fn settings(provenance: &Provenance, config: &ProcessConfig) -> Value {
    let machine = provenance.machine.as_ref();
    json!({
        "program": provenance.program,
        "program_hash": provenance.program_hash,
        "args": provenance.args,
        "isa": provenance.isa.name(),
        "seed": provenance.seed,
        "address_seed": provenance.address_seed,
        "environment": config.env,
        "working folder": config.cwd,
        "machine": machine.map(|machine| machine.config.name.clone()),
        "machine_fingerprint": machine.map(|machine| machine.fingerprint.clone()),
        "core": machine.map(|machine| format!("{:?}", machine.core)),
    })
}

/// A run with checkpoints, before its machine is made.
struct Order {
    settings: Value,
    config: ProcessConfig,
    from: Option<CheckpointFile>,
    rule: ProcessRule,
    warn: Option<fn(&str)>,
    limit: u64,
}

impl<M, I, P> Lab<'_, M, I, P> {
    /// Prepares a run with checkpoints. A run that begins from one has its region behind it.
    fn order(
        &mut self,
        provenance: &Provenance,
        rule: ProcessRule,
        kept: &mut Checkpoints,
    ) -> Result<Order, CheckpointsError> {
        let config = self.program.process.clone();
        let settings = settings(provenance, &config);
        let from = kept.start(&settings)?;
        if from.is_some() {
            self.program.to_mut().region = None;
        }
        Ok(Order {
            settings,
            config,
            from,
            rule,
            warn: self.warn,
            limit: self.limit,
        })
    }
}

impl<I: Install, P: Probe + SaveState> Lab<'_, Functional, I, P>
where
    I::Editor: FunctionalLoop<P> + SaveState,
{
    /// Runs to the end of the program or to the limit, keeps checkpoints on the way, and begins from one if there is one
    /// to begin from. The limit counts from the beginning of the program.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run); [`LabError::Checkpoint`].
    pub fn run_kept(mut self, kept: &mut Checkpoints) -> Result<Ran<I::Editor, P>, LabError> {
        let provenance = self.provenance();
        let expected = self.program.expected.clone();
        let order = self.order(&provenance, functional::<I::Editor, P>(), kept)?;
        let is_interpreted = self.program.is_interpreted;
        let (process, editor, probe, _) = self.prepare()?;
        let machine = functional_machine(process, editor, is_interpreted);
        let mut watched = Watched { machine, probe };
        let ended = order.run(&mut watched, kept)?;
        let Watched { machine, probe } = watched;
        Ok(Ran::of_machine(machine, probe, ended, provenance, expected))
    }
}

impl<'a, I: Install, P: PipelineProbe + Attach> Lab<'a, Timed<'a>, I, P>
where
    I::Editor: TimedLoop<P::Loops> + SaveState,
    P::Loops: SaveState,
{
    /// Runs to the end of the program or to the limit, keeps checkpoints on the way, and begins from one if there is one
    /// to begin from. The limit counts from the beginning of the program.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run); [`LabError::Checkpoint`].
    pub fn run_kept(
        mut self,
        kept: &mut Checkpoints,
    ) -> Result<Ran<I::Editor, P, Timing>, LabError> {
        let provenance = self.provenance();
        let expected = self.program.expected.clone();
        let names_contention = self.names_contention;
        let rule = timed::<I::Editor, P>(self.core_kind());
        let order = self.order(&provenance, rule, kept)?;
        let mut core = self.open()?.into_inner();
        if names_contention {
            core.record_contention();
        }
        let (stop, start) = order.run(&mut core, kept)?;
        let host_seconds = start.seconds();
        let finished = TimedLoop::finish(core);
        Ok(Ran::of_core(
            finished.map(|editor| editor, P::detach),
            stop,
            host_seconds,
            provenance,
            expected,
        ))
    }
}

impl Order {
    /// Runs a machine that is at the beginning of the program to the end or to the limit. Returns why it stopped, and the
    /// watch since its first instruction.
    fn run(
        &self,
        machine: &mut impl Stepped,
        kept: &mut Checkpoints,
    ) -> Result<(Stop, Stopwatch), CheckpointsError> {
        match &self.from {
            Some(from) => self.restore(machine, from)?,
            None => {
                machine.first().os.set_process_rule(self.rule);
                kept.try_out(&machine.processes())?;
            }
        }
        let start = Stopwatch::start();
        loop {
            let now = machine.instructions();
            let until = kept.next(now).min(self.limit);
            let stop = machine.run(until.saturating_sub(now));
            if stop != Stop::Limit || machine.instructions() >= self.limit {
                return Ok((stop, start));
            }
            let written = kept.write(&self.settings, machine);
            if let Some(written) = kept.settled(written, self.warn) {
                self.restore(machine, &written)?;
            }
        }
    }

    fn restore(
        &self,
        machine: &mut impl Stepped,
        from: &CheckpointFile,
    ) -> Result<(), CheckpointsError> {
        let processes = from.processes(&self.config)?;
        from.restore(machine, processes)?;
        let os = &mut machine.first().os;
        os.set_process_rule(self.rule);
        if let Some(warn) = self.warn {
            os.set_warning_sink(Box::new(warn));
        }
        Ok(())
    }
}

/// A machine that stops between two instructions, where its state can be kept.
pub(crate) trait Stepped {
    /// Instructions of the program so far.
    fn instructions(&self) -> u64;
    fn run(&mut self, limit: u64) -> Stop;
    fn first(&mut self) -> &mut Process;
    /// The processes of all contexts.
    fn processes(&mut self) -> Vec<&Process>;
    /// The state beside the processes.
    fn parts(&mut self) -> Parts;
    /// Takes over the state of a machine of the same description.
    fn restore(&mut self, from: &Parts, processes: Vec<Process>) -> Result<(), NotRestored>;
}

/// A part of a state that cannot be restored.
#[derive(Debug, thiserror::Error)]
#[error("its section {section}: {problem}")]
pub(crate) struct NotRestored {
    section: &'static str,
    problem: String,
}

impl NotRestored {
    fn of<X: std::fmt::Display>(section: &'static str) -> impl Fn(X) -> NotRestored {
        move |problem| NotRestored {
            section,
            problem: problem.to_string(),
        }
    }
}

/// A functional machine and its probe.
pub(crate) struct Watched<E: DecodeEditor, P> {
    pub machine: Machine<E>,
    pub probe: P,
}

impl<E: FunctionalLoop<P> + SaveState, P: Probe + SaveState> Stepped for Watched<E, P> {
    fn instructions(&self) -> u64 {
        self.machine.retired.program
    }

    fn run(&mut self, limit: u64) -> Stop {
        FunctionalLoop::run(&mut self.machine, &mut self.probe, limit)
    }

    fn first(&mut self) -> &mut Process {
        &mut self.machine.process
    }

    fn processes(&mut self) -> Vec<&Process> {
        vec![&self.machine.process]
    }

    fn parts(&mut self) -> Parts {
        Parts {
            core: self.machine.save_state(),
            editor: vec![to_bytes("editor", &self.machine.editor)],
            probe: vec![to_bytes("probe", &self.probe)],
            cycles: None,
        }
    }

    fn restore(&mut self, from: &Parts, processes: Vec<Process>) -> Result<(), NotRestored> {
        let machine = &mut self.machine;
        let context = (&mut machine.process, &mut machine.editor, &mut self.probe);
        from.restore_contexts(vec![context], processes)?;
        let restored = machine.restore_state(&from.core);
        restored.map_err(NotRestored::of("core"))
    }
}

impl<E: TimedLoop<P> + SaveState, P: PipelineProbe + SaveState> Stepped for EitherCore<E, P> {
    fn instructions(&self) -> u64 {
        self.instructions()
    }

    fn run(&mut self, limit: u64) -> Stop {
        TimedLoop::run(self, limit)
    }

    fn first(&mut self) -> &mut Process {
        self.parts_mut().0
    }

    fn processes(&mut self) -> Vec<&Process> {
        let contexts = self.contexts_mut().into_iter();
        contexts.map(|(process, ..)| &*process).collect()
    }

    fn parts(&mut self) -> Parts {
        let (core, cycles) = (self.save_state(), Some(self.stats().cycles));
        let contexts = self.contexts_mut();
        let states = contexts
            .iter()
            .map(|(_, editor, probe)| (to_bytes("editor", &**editor), to_bytes("probe", &**probe)));
        let (editor, probe) = states.unzip();
        Parts {
            core,
            editor,
            probe,
            cycles,
        }
    }

    fn restore(&mut self, from: &Parts, processes: Vec<Process>) -> Result<(), NotRestored> {
        from.restore_contexts(self.contexts_mut(), processes)?;
        let restored = self.restore_state(&from.core);
        restored.map_err(NotRestored::of("core"))
    }
}

impl Parts {
    /// Gives each context its process, and the states of its editor and of its probe.
    fn restore_contexts<E: SaveState, P: SaveState>(
        &self,
        contexts: Vec<(&mut Process, &mut E, &mut P)>,
        processes: Vec<Process>,
    ) -> Result<(), NotRestored> {
        let counts = [processes.len(), self.editor.len(), self.probe.len()];
        if counts != [contexts.len(); 3] {
            let problem = "it has another number of contexts than the machine";
            return Err(NotRestored::of("processes")(problem));
        }
        let saved = processes.into_iter().zip(&self.editor).zip(&self.probe);
        for (context, ((process, editor), probe)) in contexts.into_iter().zip(saved) {
            *context.0 = process;
            from_bytes("editor", context.1, editor).map_err(NotRestored::of("editor"))?;
            from_bytes("probe", context.2, probe).map_err(NotRestored::of("probe"))?;
        }
        Ok(())
    }
}

impl CheckpointFile {
    /// Gives a machine the state that the checkpoint has, around these processes.
    pub(crate) fn restore(
        &self,
        machine: &mut impl Stepped,
        processes: Vec<Process>,
    ) -> Result<(), CheckpointsError> {
        let restored = machine.restore(&self.parts()?, processes);
        restored.map_err(|problem| self.unusable(&problem.to_string()))
    }

    /// The state beside the processes.
    fn parts(&self) -> Result<Parts, CheckpointsError> {
        Ok(Parts {
            core: self.section("core")?,
            editor: self.list("editor")?,
            probe: self.list("probe")?,
            cycles: self.header.cycles,
        })
    }

    /// The states in a section, one for each context.
    fn list(&self, section: &str) -> Result<Vec<Vec<u8>>, CheckpointsError> {
        let bytes = self.section(section)?;
        let list = postcard::from_bytes(&bytes);
        list.map_err(|problem| self.unusable(&format!("its section {section}: {problem}")))
    }

    fn unusable(&self, problem: &str) -> CheckpointsError {
        CheckpointsError::Unusable {
            path: self.path().to_owned(),
            problem: problem.to_owned(),
        }
    }
}
