//! Records of a core that issues in order about an instruction: its pipe, and why it does not issue.

use serde::{Deserialize, Serialize};

/// An issue pipe of the Alpha 21164.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Pipe {
    /// Integer: shifts, stores, multiplication; loads.
    E0,
    /// Integer: branches and jumps; loads.
    E1,
    /// Floating-point addition and division.
    FA,
    /// Floating-point multiplication.
    FM,
}

impl Pipe {
    /// All pipes, in the order in which they are preferred.
    pub const ALL: [Pipe; 4] = [Pipe::E0, Pipe::E1, Pipe::FA, Pipe::FM];

    /// Name of the pipe in the manual.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Pipe::E0 => "E0",
            Pipe::E1 => "E1",
            Pipe::FA => "FA",
            Pipe::FM => "FM",
        }
    }

    /// Bit of the pipe in a set of pipes, which is a plain byte: each cycle of an in-order core builds one.
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Why the oldest instruction that has not issued does not issue (in-order cores).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum IssueStall {
    /// The instruction issues, or never was the oldest in a cycle in which it could not.
    #[default]
    None,
    /// The instruction has not come from the front-end yet.
    Frontend,
    /// An operand is not there, or an older result of its own register.
    Operand,
    /// Pipes of the instruction are taken by instructions that it was slotted with.
    Slot,
    /// The instruction belongs to another block of instructions than those that issued in this cycle.
    Block,
    /// The issue width of the machine is used up.
    Width,
    /// No unit is free.
    Unit,
    /// The memory system refuses it, or it waits for an older store.
    Memory,
    /// A store, while the write buffer (or the cache) refuses stores.
    WriteBuffer,
}

hps_isa::save_values!(IssueStall);

impl IssueStall {
    /// The name under which a trace shows it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            IssueStall::None => "none",
            IssueStall::Frontend => "front-end",
            IssueStall::Operand => "operand",
            IssueStall::Slot => "slot",
            IssueStall::Block => "block",
            IssueStall::Width => "width",
            IssueStall::Unit => "unit",
            IssueStall::Memory => "memory",
            IssueStall::WriteBuffer => "write-buffer",
        }
    }
}
