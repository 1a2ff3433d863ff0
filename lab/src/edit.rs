//! Changes of a program's state between two of its instructions: those of a debugger, and those that a run makes on its way.

use hps_isa::editor::DecodeEditor;
use hps_isa::hart::Hart;
use hps_isa::ids::DisePc;
use hps_pipeline::core::{Chip, EitherCore, PipelineProbe};
use hps_sim_core::machine::{Machine, Stop};
use hps_system::process::Process;

use crate::error::LabError;

/// A change between two instructions of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Registers of the thread on the context, without its program counter.
    Registers(Box<Hart>),
    /// One register of the thread on the context.
    Register {
        /// The register, as [`Hart::r`] numbers it.
        number: u8,
        /// The value from now on.
        value: u64,
    },
    /// The thread on the context goes on at another address.
    Pc(u64),
    /// Bytes in the memory of a thread's process.
    Memory {
        /// The thread; `None` for the one on the context.
        tid: Option<u32>,
        /// Address of the first byte.
        addr: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

/// An edit at a place of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedEdit {
    /// Instructions of the program that commit before it.
    pub position: u64,
    /// The context whose thread it concerns, by its number.
    pub context: usize,
    /// The edit.
    pub edit: Edit,
}

/// Why a change cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotEdited {
    /// Memory is not mapped.
    #[error("memory that is edited is not mapped there")]
    NotMapped,
    /// No thread is on the context.
    #[error("no thread is on the context there whose registers or memory are edited")]
    NoThread,
}

/// A machine that is stopped between two instructions of the program.
pub trait Editable {
    /// Makes a change for the thread on a context.
    ///
    /// # Errors
    /// [`NotEdited`], and nothing has changed.
    fn edit(&mut self, context: usize, edit: &Edit) -> Result<(), NotEdited>;
}

/// The only context of a machine that has one.
fn only(context: usize) -> Result<(), NotEdited> {
    match context {
        0 => Ok(()),
        _ => Err(NotEdited::NoThread),
    }
}

impl<E: DecodeEditor> Editable for Machine<E> {
    fn edit(&mut self, context: usize, edit: &Edit) -> Result<(), NotEdited> {
        only(context)?;
        let hart = &mut self.process.thread.hart;
        match edit {
            Edit::Pc(pc) => (hart.pc, hart.disepc) = (*pc, DisePc::NONE),
            edit => change(&mut self.process, edit)?,
        }
        Ok(())
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Editable for Chip<E, P> {
    fn edit(&mut self, context: usize, edit: &Edit) -> Result<(), NotEdited> {
        if self.committed_hart(context).is_none() {
            return Err(NotEdited::NoThread);
        }
        // Instructions in flight have read the old state: their pipelines are emptied first.
        match edit {
            Edit::Memory { .. } => (0..self.processors()).for_each(|one| self.drain_context(one)),
            _ => self.drain_context(context),
        }
        if let Edit::Pc(pc) = edit {
            only(context)?;
            self.go_on_at(*pc);
            return Ok(());
        }
        let made = self.with_process(context, |process| change(process, edit));
        made.unwrap_or(Err(NotEdited::NoThread))
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Editable for EitherCore<E, P> {
    fn edit(&mut self, context: usize, edit: &Edit) -> Result<(), NotEdited> {
        let core = match self {
            EitherCore::Cycle(chip) => return chip.edit(context, edit),
            EitherCore::Instruction(core) => core,
        };
        only(context)?;
        core.drain_to_boundary();
        match edit {
            Edit::Pc(pc) => core.go_on_at(*pc),
            edit => change(core.parts_mut().0, edit)?,
        }
        Ok(())
    }
}

/// Changes registers or memory.
fn change(process: &mut Process, edit: &Edit) -> Result<(), NotEdited> {
    let hart = &mut process.thread.hart;
    match edit {
        Edit::Registers(from) => {
            hart.r = from.r;
            hart.fcsr = from.fcsr;
        }
        Edit::Register { number, value } => hart.r[usize::from(*number)] = *value,
        Edit::Pc(_) => {}
        Edit::Memory { tid, addr, bytes } => {
            let tid = tid.unwrap_or(process.thread.tid);
            let guest = process.guest_of_mut(tid).ok_or(NotEdited::NoThread)?;
            let written = guest.mem.write_bytes_forced(*addr, bytes);
            // The bytes may be code that has been decoded.
            guest.mem.invalidate_code();
            written.map_err(|_| NotEdited::NotMapped)?;
        }
    }
    Ok(())
}

/// Runs up to `limit` instructions by `run`, which is told whether a part is the first one, and its length; makes the edits
/// on the way, which stand in the order of their positions.
///
/// # Errors
/// An edit cannot be made.
pub(crate) fn run_with<C: Editable>(
    core: &mut C,
    edits: &[PlacedEdit],
    limit: u64,
    mut run: impl FnMut(&mut C, bool, u64) -> Stop,
) -> Result<Stop, LabError> {
    let mut done = 0;
    for PlacedEdit {
        position,
        context,
        edit,
    } in edits.iter().filter(|one| one.position < limit)
    {
        if *position > done {
            let stop = run(core, done == 0, position - done);
            if stop != Stop::Limit {
                return Ok(stop);
            }
            done = *position;
        }
        core.edit(*context, edit)
            .map_err(|why| LabError::NotEdited {
                position: *position,
                why,
            })?;
    }
    Ok(run(core, done == 0, limit - done))
}
