//! `Inst`: one static instruction, decoded once per address, the same shape for every ISA.

pub use crate::ops::Op;

/// One register number space for every ISA: integer, floating point, DISE.
pub mod reg {
    /// Always reads zero. As a source it also means "no source".
    pub const ZERO: u8 = 0;
    /// First floating-point register.
    pub const FP: u8 = 32;
    /// First DISE register (`dr0`).
    pub const DISE: u8 = 64;
    /// Number of DISE registers.
    pub const DISE_COUNT: u8 = 16;
    /// Where writes to the zero register, or of instructions without a destination, go.
    pub const SINK: u8 = 95;
    /// Size of the register file: as many as a register number can name, so that no access needs a
    /// bound check (what it gains stands in ARCHITECTURE.md). Numbers above [`SINK`] are not used.
    pub const COUNT: usize = 256;
}

/// What an instruction is to the machine: which unit runs it, and how it changes control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum OpClass {
    /// Not an instruction. Raises an illegal-instruction trap when it commits.
    Illegal,
    /// Integer arithmetic and logic, moves.
    IntAlu,
    /// Integer multiplication.
    IntMul,
    /// Integer division and remainder.
    IntDiv,
    /// Floating-point addition, subtraction, comparison, minimum, maximum.
    FpAdd,
    /// Floating-point multiplication.
    FpMul,
    /// Fused multiply and add.
    FpFma,
    /// Floating-point division.
    FpDiv,
    /// Floating-point square root.
    FpSqrt,
    /// Conversions, moves between register files, sign injection, classification.
    FpCvt,
    /// Memory read (integer or floating point).
    Load,
    /// Memory write (integer or floating point).
    Store,
    /// Atomic read-modify-write, load-reserved, store-conditional.
    Atomic,
    /// Conditional branch, direct.
    Branch,
    /// Unconditional direct jump that does not link.
    Jump,
    /// Indirect jump that neither links nor returns.
    JumpIndirect,
    /// Direct procedure call.
    Call,
    /// Indirect procedure call.
    CallIndirect,
    /// Procedure return.
    Return,
    /// System call.
    Syscall,
    /// Breakpoint.
    Break,
    /// Memory ordering.
    Fence,
    /// Instruction-stream synchronisation (throws decoded code away).
    FenceI,
    /// Access to a control and status register.
    Csr,
    /// Branch within a replacement sequence (changes DISEPC only).
    DiseBranch,
    /// Call of a handler from a replacement sequence (turns expansion off).
    DiseCall,
    /// Return of a handler into the replacement sequence that called it.
    DiseReturn,
    /// The consumer of the profile reads its buffer here (costs no guest cycles of its own).
    DiseDrain,
}

impl OpClass {
    /// Number of classes.
    pub const COUNT: usize = OpClass::DiseDrain as usize + 1;

    /// Reads or writes memory.
    #[inline]
    #[must_use]
    pub const fn is_memory(self) -> bool {
        matches!(self, OpClass::Load | OpClass::Store | OpClass::Atomic)
    }

    /// May change the program counter of the program.
    #[inline]
    #[must_use]
    pub const fn is_control(self) -> bool {
        matches!(
            self,
            OpClass::Branch
                | OpClass::Jump
                | OpClass::JumpIndirect
                | OpClass::Call
                | OpClass::CallIndirect
                | OpClass::Return
        )
    }

    /// A procedure call, direct or indirect.
    #[inline]
    #[must_use]
    pub const fn is_call(self) -> bool {
        matches!(self, OpClass::Call | OpClass::CallIndirect)
    }

    /// Control whose target is not in the instruction.
    #[inline]
    #[must_use]
    pub const fn is_indirect(self) -> bool {
        matches!(
            self,
            OpClass::JumpIndirect | OpClass::CallIndirect | OpClass::Return
        )
    }

    /// Control whose target is `pc + imm`.
    #[inline]
    #[must_use]
    pub const fn is_direct(self) -> bool {
        matches!(self, OpClass::Branch | OpClass::Jump | OpClass::Call)
    }
}

/// One static instruction: up to three sources, one destination, an operation, a class and an
/// immediate. 16 bytes, byte-aligned fields.
///
/// Conventions every decoder keeps:
/// - an unused source is [`reg::ZERO`]; no destination, or the zero register as one, is
///   [`reg::SINK`], so that execution never has to check;
/// - memory operands are `rs1 + imm`, the data of a store (and of an atomic) is `rs2`;
/// - direct control transfers go to `pc + imm`;
/// - the rounding mode of a floating-point instruction, and the number of a CSR, lie in `imm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Inst {
    /// Immediate, sign extended.
    pub imm: i64,
    /// The operation.
    pub op: Op,
    /// The class of the operation for this use of it (a `jalr` may be a call or a return).
    pub class: OpClass,
    /// Destination register.
    pub rd: u8,
    /// First source register.
    pub rs1: u8,
    /// Second source register.
    pub rs2: u8,
    /// Third source register.
    pub rs3: u8,
    /// Length of the encoding in bytes (2 or 4).
    pub len: u8,
}

const _: () = assert!(size_of::<Inst>() == 16);

impl Inst {
    /// Something that is not an instruction, `len` bytes long.
    #[must_use]
    pub const fn illegal(len: u8) -> Self {
        Inst {
            imm: 0,
            op: Op::Illegal,
            class: OpClass::Illegal,
            rd: reg::SINK,
            rs1: reg::ZERO,
            rs2: reg::ZERO,
            rs3: reg::ZERO,
            len,
        }
    }

    /// The target of a direct control transfer at `pc`.
    #[inline]
    #[must_use]
    pub const fn direct_target(&self, pc: u64) -> u64 {
        pc.wrapping_add(self.imm as u64)
    }

    /// A back-edge as HPS counts it: a direct branch or jump (not a call) whose target is not
    /// after it. The paper prints `T.PC < T.Target`, which would be a forward branch; a branch to
    /// itself is a loop and therefore counted.
    #[inline]
    #[must_use]
    pub const fn is_back_edge(&self) -> bool {
        matches!(self.class, OpClass::Branch | OpClass::Jump) && self.imm <= 0
    }
}

/// Every class, in the order of its number.
pub const ALL_CLASSES: [OpClass; OpClass::COUNT] = [
    OpClass::Illegal,
    OpClass::IntAlu,
    OpClass::IntMul,
    OpClass::IntDiv,
    OpClass::FpAdd,
    OpClass::FpMul,
    OpClass::FpFma,
    OpClass::FpDiv,
    OpClass::FpSqrt,
    OpClass::FpCvt,
    OpClass::Load,
    OpClass::Store,
    OpClass::Atomic,
    OpClass::Branch,
    OpClass::Jump,
    OpClass::JumpIndirect,
    OpClass::Call,
    OpClass::CallIndirect,
    OpClass::Return,
    OpClass::Syscall,
    OpClass::Break,
    OpClass::Fence,
    OpClass::FenceI,
    OpClass::Csr,
    OpClass::DiseBranch,
    OpClass::DiseCall,
    OpClass::DiseReturn,
    OpClass::DiseDrain,
];
