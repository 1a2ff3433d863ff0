//! Runs that keep checkpoints, or begin from one.

use hps_pipeline::core::{EitherCore, PipelineProbe};
use hps_sim_core::editor::DecodeEditor;
use hps_sim_core::machine::{Machine, Stop};
use hps_sim_core::probe::Probe;
use hps_sim_core::process::{Process, ProcessConfig};
use hps_sim_core::state::{SaveState, from_bytes, to_bytes};
use serde_json::{Value, json};

use super::{CheckpointFile, Checkpoints, CheckpointsError, Parts};
use crate::error::LabError;
use crate::install::Install;
use crate::lab::Lab;
use crate::loops::{Attach, FunctionalLoop, TimedLoop};
use crate::mode::{Functional, Timed};
use crate::processes::{functional, timed};
use crate::provenance::Provenance;
use crate::ran::{Ran, Timing};
use crate::stopwatch::Stopwatch;

/// The settings that determine the state of a run.
fn settings(provenance: &Provenance, config: &ProcessConfig) -> Value {
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

impl<I: Install, P: Probe + SaveState> Lab<'_, Functional, I, P>
where
    I::Editor: FunctionalLoop<P> + SaveState,
{
    /// Runs to the end of the program or to the limit, keeps checkpoints on the way, and begins from one if there is one
    /// to begin from. The limit counts from the beginning of the program.
    ///
    /// # Errors
    /// Those of [`run`](Self::run); [`LabError::Checkpoint`].
    pub fn run_kept(mut self, kept: &mut Checkpoints) -> Result<Ran<I::Editor, P>, LabError> {
        let (provenance, limit) = (self.provenance(), self.limit);
        let expected = self.program.expected.clone();
        let config = self.program.process.clone();
        let warn = self.warn;
        let run = settings(&provenance, &config);
        let from = kept.start(&run)?;
        if from.is_some() {
            // The checkpoint lies behind it.
            self.program.to_mut().region = None;
        }
        let (process, editor, mut probe, _) = self.prepare()?;
        let mut machine = Machine::with_editor(process, editor);
        let restore = |machine: &mut Machine<I::Editor>, probe: &mut P, from: &CheckpointFile| {
            for (name, part) in [
                ("editor", &mut machine.editor as &mut dyn SaveState),
                ("probe", probe),
            ] {
                let states = from.list(name)?;
                let [state] = &states[..] else {
                    return Err(from.unusable("it has several contexts, and the run has one"));
                };
                from.restore(name, part, state)?;
            }
            let state = from.section("core")?;
            machine.restore_state(&state)?;
            machine.process = from.only_process(&config)?;
            if let Some(warn) = warn {
                machine.process.os.set_warning_sink(Box::new(warn));
            }
            Ok::<_, CheckpointsError>(())
        };
        match &from {
            Some(from) => restore(&mut machine, &mut probe, from)?,
            None => kept.try_out(&[&machine.process])?,
        }
        let rule = functional::<I::Editor, P>();
        machine.process.os.set_process_rule(rule);
        let start = Stopwatch::start();
        let stop = loop {
            let now = machine.retired.program;
            let until = kept.next(now).min(limit);
            let stop = FunctionalLoop::run(&mut machine, &mut probe, until.saturating_sub(now));
            if stop != Stop::Limit || machine.retired.program >= limit {
                break stop;
            }
            let parts = Parts {
                processes: &[&machine.process],
                core: machine.save_state(),
                editor: vec![to_bytes("editor", &machine.editor)],
                probe: vec![to_bytes("probe", &probe)],
                instructions: machine.retired.program,
                cycles: None,
            };
            let written = kept.write(&run, parts);
            if let Some(written) = kept.settled(written, warn) {
                restore(&mut machine, &mut probe, &written)?;
            }
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

impl<'a, I: Install, P: PipelineProbe + Attach> Lab<'a, Timed<'a>, I, P>
where
    I::Editor: TimedLoop<P::Loops> + SaveState,
    P::Loops: SaveState,
{
    /// Runs to the end of the program or to the limit, keeps checkpoints on the way, and begins from one if there is one
    /// to begin from. The limit counts from the beginning of the program.
    ///
    /// # Errors
    /// Those of [`run`](Self::run); [`LabError::Checkpoint`].
    pub fn run_kept(
        mut self,
        kept: &mut Checkpoints,
    ) -> Result<Ran<I::Editor, P, Timing>, LabError> {
        let (provenance, limit) = (self.provenance(), self.limit);
        let expected = self.program.expected.clone();
        let config = self.program.process.clone();
        let (warn, names_contention) = (self.warn, self.names_contention);
        let rule = timed::<I::Editor, P>(self.core_kind());
        let run = settings(&provenance, &config);
        let from = kept.start(&run)?;
        if from.is_some() {
            self.program.to_mut().region = None;
        }
        let mut core = self.open()?.into_inner();
        if names_contention {
            core.record_contention();
        }
        let restore = |core: &mut EitherCore<I::Editor, P::Loops>, from: &CheckpointFile| {
            from.restore_core(core, &config)?;
            let (process, _) = core.parts_mut();
            process.os.set_process_rule(rule);
            if let Some(warn) = warn {
                process.os.set_warning_sink(Box::new(warn));
            }
            Ok::<_, CheckpointsError>(())
        };
        match &from {
            Some(from) => restore(&mut core, from)?,
            None => kept.try_out(&processes(&mut core))?,
        }
        let start = Stopwatch::start();
        let stop = loop {
            let now = core.instructions();
            let until = kept.next(now).min(limit);
            let stop = TimedLoop::run(&mut core, until.saturating_sub(now));
            if stop != Stop::Limit || core.instructions() >= limit {
                break stop;
            }
            let written = kept.write_core(&run, &mut core);
            if let Some(written) = kept.settled(written, warn) {
                restore(&mut core, &written)?;
            }
        };
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

/// The processes of all contexts.
fn processes<E: DecodeEditor, P: PipelineProbe>(core: &mut EitherCore<E, P>) -> Vec<&Process> {
    let contexts = core.contexts_mut().into_iter();
    contexts.map(|(process, ..)| &*process).collect()
}

impl Checkpoints {
    fn write_core<E: DecodeEditor + SaveState, P: PipelineProbe + SaveState>(
        &mut self,
        run: &Value,
        core: &mut EitherCore<E, P>,
    ) -> Result<Option<CheckpointFile>, CheckpointsError> {
        let (instructions, cycles) = (core.instructions(), core.stats().cycles);
        let state = core.save_state();
        let contexts = core.contexts_mut();
        let (mut editor, mut probe) = (Vec::new(), Vec::new());
        for (_, one, other) in &contexts {
            editor.push(to_bytes("editor", &**one));
            probe.push(to_bytes("probe", &**other));
        }
        let processes: Vec<&Process> = contexts.into_iter().map(|(one, ..)| &*one).collect();
        let parts = Parts {
            processes: &processes,
            core: state,
            editor,
            probe,
            instructions,
            cycles: Some(cycles),
        };
        self.write(run, parts)
    }
}

impl CheckpointFile {
    /// Gives a core, its editors, its probes and its processes the state of the checkpoint.
    fn restore_core<E: DecodeEditor + SaveState, P: PipelineProbe + SaveState>(
        &self,
        core: &mut EitherCore<E, P>,
        config: &ProcessConfig,
    ) -> Result<(), CheckpointsError> {
        let processes = self.processes(config)?;
        let (editors, probes) = (self.list("editor")?, self.list("probe")?);
        let contexts = core.contexts_mut();
        if [processes.len(), editors.len(), probes.len()] != [contexts.len(); 3] {
            return Err(self.unusable("it has another number of contexts than the machine"));
        }
        let saved = processes.into_iter().zip(editors).zip(probes);
        for ((process, editor, probe), ((saved, editor_state), probe_state)) in
            contexts.into_iter().zip(saved)
        {
            *process = saved;
            self.restore("editor", editor, &editor_state)?;
            self.restore("probe", probe, &probe_state)?;
        }
        let state = self.section("core")?;
        core.restore_state(&state)
            .map_err(|problem| self.unusable(&format!("its core: {problem}")))
    }

    /// The process of a run that has one context.
    fn only_process(&self, config: &ProcessConfig) -> Result<Process, CheckpointsError> {
        let mut processes = self.processes(config)?;
        match (processes.pop(), processes.is_empty()) {
            (Some(process), true) => Ok(process),
            _ => Err(self.unusable("it has several contexts, and the run has one")),
        }
    }

    /// The states in a section, one for each context.
    fn list(&self, section: &str) -> Result<Vec<Vec<u8>>, CheckpointsError> {
        let bytes = self.section(section)?;
        postcard::from_bytes(&bytes)
            .map_err(|cause| self.unusable(&format!("its section {section}: {cause}")))
    }

    /// Gives an editor or a probe its state.
    fn restore(
        &self,
        name: &'static str,
        part: &mut dyn SaveState,
        state: &[u8],
    ) -> Result<(), CheckpointsError> {
        from_bytes(name, part, state)
            .map_err(|problem| self.unusable(&format!("its {name}: {problem}")))
    }

    fn unusable(&self, problem: &str) -> CheckpointsError {
        CheckpointsError::Unusable {
            path: self.path().to_owned(),
            problem: problem.to_owned(),
        }
    }
}
