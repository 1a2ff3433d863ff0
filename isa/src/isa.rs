//! The instruction sets, as one interface: what code that serves both of them asks for.

use serde::{Deserialize, Serialize};

use crate::asm::{AsmError, OperandHook};
use crate::inst::{Inst, OpClass};
use crate::{alpha, riscv};

/// Instruction set and system call interface of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Isa {
    /// RV64GC under Linux.
    Riscv64,
    /// Alpha EV6 under Linux, or under Digital Unix for ECOFF files.
    Alpha,
}

impl Isa {
    /// All of them.
    pub const ALL: [Isa; 2] = [Isa::Riscv64, Isa::Alpha];

    /// The name in results, options and folders: `riscv64` or `alpha`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Riscv64 => "riscv64",
            Isa::Alpha => "alpha",
        }
    }

    /// The register that holds the stack pointer by convention.
    #[must_use]
    pub const fn stack_pointer(self) -> u8 {
        match self {
            Isa::Riscv64 => 2,
            Isa::Alpha => alpha::registers::SP,
        }
    }

    /// The register that holds the return address by convention.
    #[must_use]
    pub const fn return_address(self) -> u8 {
        match self {
            Isa::Riscv64 => 1,
            Isa::Alpha => alpha::registers::RA,
        }
    }

    /// The integer registers that hold arguments of a call, by convention.
    #[must_use]
    pub const fn arguments(self) -> std::ops::Range<u8> {
        match self {
            Isa::Riscv64 => 10..18,
            Isa::Alpha => 16..22,
        }
    }

    /// The integer registers that a call may change, by convention, but for results and Alpha's global pointer, which
    /// callers compute anew or share with what they call.
    pub fn changed_by_calls(self) -> impl Iterator<Item = u8> {
        let ranges: [std::ops::Range<u8>; 3] = match self {
            Isa::Riscv64 => [5..8, 12..18, 28..32],
            Isa::Alpha => [1..9, 16..26, 27..29],
        };
        ranges.into_iter().flatten()
    }

    /// The integer registers in which an instruction of this class leaves results, by convention: calls and system
    /// calls.
    pub fn results_of(self, class: OpClass) -> std::ops::Range<u8> {
        match self {
            _ if !class.is_call() && class != OpClass::Syscall => 0..0,
            Isa::Riscv64 => 10..12,
            Isa::Alpha => alpha::registers::V0..alpha::registers::V0 + 1,
        }
    }

    /// The register of the first argument of a call, by convention.
    #[must_use]
    pub const fn first_argument(self) -> u8 {
        match self {
            Isa::Riscv64 => 10,
            Isa::Alpha => 16,
        }
    }

    /// The instruction set of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Isa> {
        Isa::ALL.into_iter().find(|isa| isa.name() == name)
    }

    /// Decodes the instruction whose first bytes are `word`.
    #[must_use]
    pub fn decode(self, word: u32) -> Inst {
        match self {
            Isa::Riscv64 => riscv::decode(word),
            Isa::Alpha => alpha::decode(word),
        }
    }

    /// The encoding of an instruction in 32 bits, if it has one.
    #[must_use]
    pub fn encode(self, inst: &Inst) -> Option<u32> {
        match self {
            Isa::Riscv64 => riscv::encode(inst),
            Isa::Alpha => alpha::encode(inst),
        }
    }

    /// The instruction in assembly language, with absolute targets for an instruction at `pc`.
    #[must_use]
    pub fn disassemble(self, inst: &Inst, pc: u64) -> String {
        match self {
            Isa::Riscv64 => riscv::disassemble(inst, pc),
            Isa::Alpha => alpha::disassemble(inst, pc),
        }
    }

    /// Assembles one instruction that will lie at `pc`.
    ///
    /// # Errors
    /// Text that is not one instruction: see [`riscv::asm::assemble`], [`alpha::asm::assemble`].
    pub fn assemble(
        self,
        text: &str,
        pc: u64,
        operands: &dyn OperandHook,
    ) -> Result<Inst, AsmError> {
        match self {
            Isa::Riscv64 => riscv::asm::assemble(text, pc, operands),
            Isa::Alpha => alpha::asm::assemble(text, pc, operands),
        }
    }

    /// The name of a register in the numbering of [`crate::inst::reg`].
    #[must_use]
    pub fn register_name(self, register: u8) -> &'static str {
        match self {
            Isa::Riscv64 => riscv::register_name(register),
            Isa::Alpha => alpha::register_name(register),
        }
    }

    /// The register of a name.
    #[must_use]
    pub fn parse_register(self, name: &str) -> Option<u8> {
        match self {
            Isa::Riscv64 => riscv::parse_register(name),
            Isa::Alpha => alpha::parse_register(name),
        }
    }

    /// Instructions begin at multiples of this many bytes.
    #[must_use]
    pub const fn instruction_align(self) -> u64 {
        match self {
            Isa::Riscv64 => 2,
            Isa::Alpha => 4,
        }
    }
}

impl std::fmt::Display for Isa {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
