//! Instructions between fetch and commit, for observers of a core that has stopped.

use hps_isa::inst::Inst;

use super::Cause;

/// State of an instruction between fetch and commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flight {
    /// Fetched, not decoded yet.
    Fetched,
    /// Decoded, not dispatched yet.
    Decoded,
    /// In a reservation station: so many operands are not there.
    WaitsForOperands(u8),
    /// In a reservation station with all operands: it waits for a unit.
    Ready,
    /// A load that waits for an older store.
    WaitsForStore,
    /// An atomic that waits to be the oldest instruction.
    WaitsToBeOldest,
    /// In a unit or in the memory system.
    Executes {
        /// The cycle in which its result is there, if that is known.
        until_cycle: Option<u64>,
        /// The level that serves a memory access, as far as that is known.
        level: Option<Cause>,
    },
    /// Waits for older instructions to commit.
    Complete,
}

/// An instruction between fetch and commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// Address of the instruction.
    pub pc: u64,
    /// The instruction.
    pub inst: Inst,
    /// True for an instruction of the program, which is neither inserted nor of a handler.
    pub is_program: bool,
    /// How far it has come.
    pub state: Flight,
}
