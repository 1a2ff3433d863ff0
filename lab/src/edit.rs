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
    /// The edit.
    pub edit: Edit,
}

/// A machine of one context, stopped between two instructions of the program.
pub trait Editable {
    /// Makes a change. `false` if it cannot be made: memory is not mapped.
    fn edit(&mut self, edit: &Edit) -> bool;
}

impl<E: DecodeEditor> Editable for Machine<E> {
    fn edit(&mut self, edit: &Edit) -> bool {
        let process = &mut self.process;
        if let Edit::Pc(pc) = edit {
            process.thread.hart.pc = *pc;
            process.thread.hart.disepc = DisePc::NONE;
            return true;
        }
        change(process, edit)
    }
}

/// Edits of a timed core. Instructions in flight have read the old state: the pipeline is emptied first.
macro_rules! editable_cores {
    ($($core:ident),+) => {
        $(
            impl<E: DecodeEditor, P: PipelineProbe> Editable for $core<E, P> {
                fn edit(&mut self, edit: &Edit) -> bool {
                    self.drain_to_boundary();
                    if let Edit::Pc(pc) = edit {
                        self.go_on_at(*pc);
                        return true;
                    }
                    change(self.parts_mut().0, edit)
                }
            }
        )+
    };
}

editable_cores! { Chip, EitherCore }

/// Changes registers or memory. `false` if memory is not mapped.
fn change(process: &mut Process, edit: &Edit) -> bool {
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
            let Some(guest) = process.guest_of_mut(tid) else {
                return false;
            };
            let is_written = guest.mem.write_bytes_forced(*addr, bytes).is_ok();
            // The bytes may be code that has been decoded.
            guest.mem.invalidate_code();
            return is_written;
        }
    }
    true
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
    for PlacedEdit { position, edit } in edits.iter().filter(|one| one.position < limit) {
        if *position > done {
            let stop = run(core, done == 0, position - done);
            if stop != Stop::Limit {
                return Ok(stop);
            }
            done = *position;
        }
        if !core.edit(edit) {
            let position = *position;
            return Err(LabError::NotEdited { position });
        }
    }
    Ok(run(core, done == 0, limit - done))
}
