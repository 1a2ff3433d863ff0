//! Runs that keep checkpoints, or begin from one.

use hps_sim_core::machine::{Machine, Stop};
use hps_sim_core::probe::Probe;
use hps_sim_core::process::{Process, ProcessConfig};
use serde_json::{Value, json};

use super::{CheckpointFile, Checkpoints, CheckpointsError, Keep, Parts};
use crate::error::LabError;
use crate::install::Install;
use crate::lab::Lab;
use crate::loops::FunctionalLoop;
use crate::mode::Functional;
use crate::processes::functional;
use crate::provenance::Provenance;
use crate::ran::Ran;
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

impl<I: Install, P: Probe + Keep> Lab<'_, Functional, I, P>
where
    I::Editor: FunctionalLoop<P> + Keep,
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
            from.restore("editor", &mut machine.editor)?;
            from.restore("probe", probe)?;
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
                editor: machine.editor.save(),
                probe: probe.save(),
                instructions: machine.retired.program,
                cycles: None,
            };
            if let Some(written) = kept.write(&run, parts)? {
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

impl CheckpointFile {
    /// The process of a run that has one context.
    fn only_process(&self, config: &ProcessConfig) -> Result<Process, CheckpointsError> {
        let mut processes = self.processes(config)?;
        match (processes.pop(), processes.is_empty()) {
            (Some(process), true) => Ok(process),
            _ => Err(CheckpointsError::Unusable {
                path: self.path().to_owned(),
                problem: "the checkpoint has several contexts, and the run has one".to_owned(),
            }),
        }
    }

    /// Gives an editor or a probe the state of a section.
    fn restore(&self, section: &str, part: &mut impl Keep) -> Result<(), CheckpointsError> {
        let bytes = self.section(section)?;
        part.restore(&bytes)
            .map_err(|problem| CheckpointsError::Unusable {
                path: self.path().to_owned(),
                problem: format!("its {section}: {problem}"),
            })
    }
}
