//! Either core, chosen when a run begins.

use hps_isa::editor::{DecodeEditor, Interruptible};
use hps_isa::hart::Hart;
use hps_isa::ids::DisePc;
use hps_isa::state::StateError;
use hps_sim_core::machine::Stop;
use hps_system::image::Isa;
use hps_system::os::DuplicateError;
use hps_system::process::Process;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::by_cycle::{Chip, NotTogether, Warm};
use crate::by_instruction::{DrivenCore, NotDriven};
use crate::config::MachineConfig;
use crate::interrupts::Interrupts;
use crate::memsys::MemoryStats;
use crate::model::{CoreStats, CpiStack, Finished, PipelineProbe};

/// How a machine is simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum CoreKind {
    /// A cycle at a time ([`Chip`]): the reference, for every machine.
    #[default]
    Cycle,
    /// An instruction at a time ([`DrivenCore`]): faster; caches are asked in program order.
    Instruction,
}

impl CoreKind {
    /// Name of the kind in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            CoreKind::Cycle => "cycle",
            CoreKind::Instruction => "instruction",
        }
    }

    /// Whether it can simulate a machine.
    ///
    /// # Errors
    /// The feature of the machine that such a core lacks.
    pub fn check(self, config: &MachineConfig) -> Result<(), NotDriven> {
        match self {
            CoreKind::Cycle => Ok(()),
            CoreKind::Instruction => DrivenCore::check(config),
        }
    }

    /// Caches and predictors of such a core, to be warmed.
    #[must_use]
    pub fn warm(self, config: &MachineConfig, isa: Isa, pc: u64) -> Warm {
        match self {
            CoreKind::Cycle => Warm::new(config, isa, pc),
            CoreKind::Instruction => Warm::by_instruction(config, isa, pc),
        }
    }
}

/// Why a machine cannot be simulated as it is asked for.
#[derive(Debug, thiserror::Error)]
pub enum NotSimulated {
    /// The machine has no instruction-driven core.
    #[error(transparent)]
    NotDriven(#[from] NotDriven),
    /// The machine has several cores, and something does not go with them.
    #[error(transparent)]
    NotTogether(#[from] NotTogether),
}

/// A core of either kind. What makes or ends one is not inlined: it has a whole core on the stack, some of them 100 KB, and
/// whoever calls it would keep that room for the run.
pub enum EitherCore<E: DecodeEditor, P: PipelineProbe> {
    /// A cycle at a time.
    Cycle(Box<Chip<E, P>>),
    /// An instruction at a time.
    Instruction(Box<DrivenCore<E, P>>),
}

/// Evaluates one expression on either core.
macro_rules! both {
    ($self:expr, $core:ident => $what:expr) => {
        match $self {
            EitherCore::Cycle($core) => $what,
            EitherCore::Instruction($core) => $what,
        }
    };
}

impl<E: DecodeEditor, P: PipelineProbe> EitherCore<E, P> {
    /// A core with a decode-stage editor and a probe.
    ///
    /// # Errors
    /// The feature of the machine that a core of this kind lacks, or that does not go with several cores.
    #[inline(never)] // See the type.
    pub fn with(
        kind: CoreKind,
        config: &MachineConfig,
        process: Process,
        editor: E,
        probe: P,
    ) -> Result<Self, NotSimulated> {
        Ok(match kind {
            CoreKind::Cycle => {
                let chip = Chip::of_processors(config, process, editor, probe)?;
                EitherCore::Cycle(Box::new(chip))
            }
            CoreKind::Instruction => {
                let core = DrivenCore::with(config, process, editor, probe)?;
                EitherCore::Instruction(Box::new(core))
            }
        })
    }

    /// A core whose caches and predictors are as `warm` has them, which is [of its kind](CoreKind::warm) and settled where
    /// the process is ([`Warm::settle`]). A chip has one context.
    ///
    /// # Errors
    /// The feature of the machine that a core of this kind lacks.
    #[inline(never)] // See the type.
    pub fn warmed(
        kind: CoreKind,
        config: &MachineConfig,
        program: (Process, E, P),
        warm: &Warm,
    ) -> Result<Self, NotSimulated> {
        Ok(match kind {
            CoreKind::Cycle => EitherCore::Cycle(Box::new(Chip::warmed(config, program, warm))),
            CoreKind::Instruction => {
                let past = warm.past();
                let past = (past.memory, past.branches, past.memdep);
                EitherCore::Instruction(Box::new(DrivenCore::with_past(config, program, past)?))
            }
        })
    }

    /// Runs until `limit` further instructions of the program have committed, or until it ends.
    pub fn run(&mut self, limit: u64) -> Stop {
        both!(self, core => core.run(limit))
    }

    /// Goes on as if the last run had not stopped: a run in parts of any length is one run so. See [`Chip::go_on`].
    pub fn go_on(&mut self, limit: u64) -> Stop {
        both!(self, core => core.go_on(limit))
    }

    /// Runs to the end of the program.
    pub fn run_to_end(&mut self) -> Stop {
        self.run(u64::MAX)
    }

    /// Notes from now on for which lines cores contend, for [`Finished::contended`]. Nothing where there is one core.
    pub fn record_contention(&mut self) {
        if let EitherCore::Cycle(chip) = self {
            chip.record_contention();
        }
    }

    /// Counters of the core.
    #[must_use]
    pub fn stats(&self) -> &CoreStats {
        both!(self, core => core.stats())
    }

    /// Instructions of the program that have committed, on all processors.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        match self {
            EitherCore::Cycle(core) => core.instructions(),
            EitherCore::Instruction(core) => core.stats().commit_program_instructions,
        }
    }

    /// The program. Its registers are those behind what has been executed, which in a cycle-driven core is more
    /// than has committed.
    #[must_use]
    pub fn process(&self) -> &Process {
        both!(self, core => core.process())
    }

    /// The decode-stage editor.
    #[must_use]
    pub fn editor(&self) -> &E {
        both!(self, core => core.editor())
    }

    /// The program and the editor, to be changed between two runs.
    pub fn parts_mut(&mut self) -> (&mut Process, &mut E) {
        both!(self, core => core.parts_mut())
    }

    /// Empties the pipeline at the boundary of the last committed instruction, as an interrupt would: `process` has
    /// the state there.
    pub fn drain_to_boundary(&mut self) {
        both!(self, core => core.drain_to_boundary());
    }

    /// Registers behind the last committed instruction, with the address of the next one, of the first context.
    #[must_use]
    pub fn committed_hart(&self) -> Hart {
        match self {
            EitherCore::Cycle(core) => {
                let hart = core.committed_hart(0);
                hart.unwrap_or_else(|| core.process().thread.hart.clone())
            }
            // The core stops with nothing in flight that has changed registers.
            EitherCore::Instruction(core) => core.process().thread.hart.clone(),
        }
    }

    /// The place of the instruction that commits next, as far as that is known.
    #[must_use]
    pub fn next_to_commit(&self) -> (u64, DisePc) {
        match self {
            EitherCore::Cycle(core) => core.next_to_commit(),
            EitherCore::Instruction(core) => {
                let hart = &core.process().thread.hart;
                (hart.pc, hart.disepc)
            }
        }
    }

    /// Empties the pipeline at the boundary of the last committed instruction, and lets fetch go on at another address.
    pub fn go_on_at(&mut self, pc: u64) {
        both!(self, core => core.go_on_at(pc));
    }

    /// Sets a DISE register from outside, between two instructions of the program.
    pub fn set_dise_register(&mut self, register: u8, value: u64) {
        both!(self, core => core.set_dise_register(register, value));
    }

    /// Everything between two runs but processes, editors and probes, as bytes: [`Chip::save_state`].
    #[must_use]
    pub fn save_state(&self) -> Vec<u8> {
        both!(self, core => core.save_state())
    }

    /// Takes over what [`save_state`](Self::save_state) gave: [`Chip::restore_state`].
    ///
    /// # Errors
    /// [`StateError`]; the core is of no use then.
    pub fn restore_state(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        both!(self, core => core.restore_state(bytes))
    }

    /// Process, editor and probe of each context, to be saved or restored between two runs. The first process has the
    /// guest.
    pub fn contexts_mut(&mut self) -> Vec<(&mut Process, &mut E, &mut P)> {
        both!(self, core => core.contexts_mut())
    }

    /// Slots by owner, but for those that a run at its limit has left open in its last cycle.
    /// [`finish`](Self::finish) gives these away, too.
    #[must_use]
    pub fn cpi(&self) -> &CpiStack {
        both!(self, core => core.cpi())
    }

    /// Statistics of the memory hierarchy.
    #[must_use]
    pub fn memory_stats(&self) -> MemoryStats {
        both!(self, core => core.memory_stats())
    }

    /// Ends its life, with every slot of its last cycle accounted for.
    #[must_use]
    #[inline(never)] // See the type.
    pub fn finish(self) -> Finished<E, P> {
        both!(self, core => core.finish())
    }
}

impl<E: DecodeEditor, P: PipelineProbe> EitherCore<Interruptible<E>, P> {
    /// Takes these interrupts from now on, instead of any others; their counters begin to count here.
    pub fn attach_interrupts(&mut self, interrupts: Interrupts) {
        both!(self, core => core.attach_interrupts(interrupts));
    }

    /// The interrupts that were attached.
    #[must_use]
    pub fn interrupts(&self) -> Option<&Interrupts> {
        both!(self, core => core.interrupts())
    }
}

impl<E: DecodeEditor + Clone, P: PipelineProbe + Clone> EitherCore<E, P> {
    /// A second core in the same state to the cycle, with a program of its own.
    ///
    /// # Errors
    /// [`DuplicateError`] if both programs would share something of the host that one of them can change.
    pub fn duplicate(&mut self) -> Result<Self, DuplicateError> {
        Ok(match self {
            EitherCore::Cycle(core) => EitherCore::Cycle(Box::new(core.duplicate()?)),
            EitherCore::Instruction(core) => EitherCore::Instruction(Box::new(core.duplicate()?)),
        })
    }
}
