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
    /// Alpha: the unique value of the thread, which PALcode keeps (`rduniq`, `wruniq`).
    pub const UNIQUE: u8 = 80;
    /// Alpha: the bits of FPCR that only `mt_fpcr` and system calls change (trap disables, denormal
    /// handling), where FPCR has them. Accrued exceptions and the rounding mode lie in `Hart::fcsr`.
    pub const FPCR: u8 = 81;
    /// Alpha: Linux's software control word of floating point (`ieee_state`, without the accrued
    /// exceptions).
    pub const IEEE_CONTROL: u8 = 82;
    /// Alpha: the interrupt flag of `rs` and `rc`.
    pub const INTERRUPT_FLAG: u8 = 83;
    /// Alpha: not zero if the process asked for SIGBUS where an access is not aligned
    /// (`setsysinfo(SSIN_UACPROC, UAC_SIGBUS)`), instead of having it completed.
    pub const UNALIGNED: u8 = 84;
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

/// What an instruction writes that only adds: its first source shifted left, its second source and a constant, of which so
/// many upper bits are dropped and the last one left is the sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Bits by which the first source is shifted, below 64.
    pub shift: u8,
    /// The constant.
    pub addend: i32,
    /// Upper bits to drop: none, or 32 of a word.
    pub drop: u8,
}

impl Sum {
    /// The sum of these sources.
    #[inline(always)]
    #[must_use]
    pub const fn of(self, first: u64, second: u64) -> u64 {
        let sum = (first << (self.shift & 63))
            .wrapping_add(second)
            .wrapping_add(self.addend as i64 as u64);
        ((sum << (self.drop & 63)) as i64 >> (self.drop & 63)) as u64
    }
}

/// One static instruction: up to three sources, one destination, an operation, a class and an
/// immediate. 16 bytes, byte-aligned fields.
///
/// Conventions every decoder keeps:
/// - an unused source is [`reg::ZERO`]; no destination, or the zero register as one, is
///   [`reg::SINK`], so that execution never has to check;
/// - of Alpha, register 31 is [`reg::ZERO`] and register 0 takes its place as number 31
///   ([`crate::alpha::registers`]); a second operand is `rs2 + literal`, the literal in bits 7..0 of
///   `imm` with bit 8 set if there is one; floating-point qualifiers lie in `imm`, traps in bits
///   4..2 and rounding in bits 1..0;
/// - memory operands are `rs1 + imm` ([`Inst::data_address`]), the data of a store (and of an
///   atomic) is `rs2`;
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

    /// The sum that it writes, if that is all that it does, as of most computing instructions: for those who would rather
    /// add than ask what it does.
    #[must_use]
    pub const fn sum(&self) -> Option<Sum> {
        let has_second = self.rs2 != reg::ZERO;
        let literal = (self.imm as u8) as i64;
        let (shift, addend, is_word) = match self.op {
            Op::Addi | Op::AlphaLda | Op::AlphaLdah if !has_second => (0, self.imm, false),
            Op::Addiw if !has_second => (0, self.imm, true),
            Op::Lui if !has_second && self.rs1 == reg::ZERO => (0, self.imm, false),
            Op::Add => (0, 0, false),
            Op::Addw => (0, 0, true),
            Op::Slli if !has_second => ((self.imm & 63) as u8, 0, false),
            Op::Sh1add => (1, 0, false),
            Op::Sh2add => (2, 0, false),
            Op::Sh3add => (3, 0, false),
            Op::AlphaAddq => (0, literal, false),
            Op::AlphaS4addq => (2, literal, false),
            Op::AlphaS8addq => (3, literal, false),
            Op::AlphaAddl => (0, literal, true),
            Op::AlphaS4addl => (2, literal, true),
            Op::AlphaS8addl => (3, literal, true),
            Op::AlphaSll if !has_second => ((self.imm & 63) as u8, 0, false),
            Op::AlphaBis if literal == 0 && (!has_second || self.rs1 == reg::ZERO) => (0, 0, false),
            _ => return None,
        };
        if addend != (addend as i32) as i64 {
            return None;
        }
        Some(Sum {
            shift,
            addend: addend as i32,
            drop: if is_word { 32 } else { 0 },
        })
    }

    /// What a jump or a call at `pc` writes: the address behind it.
    #[inline]
    #[must_use]
    pub const fn link(&self, pc: u64) -> u64 {
        pc.wrapping_add(self.len as u64)
    }

    /// The target of a direct control transfer at `pc`.
    #[inline]
    #[must_use]
    pub const fn direct_target(&self, pc: u64) -> u64 {
        pc.wrapping_add(self.imm as u64)
    }

    /// The address of the memory access, where `base` is the value of `rs1`.
    #[inline(always)]
    #[must_use]
    pub fn data_address(&self, base: u64) -> u64 {
        self.op.data_address(base, self.imm)
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

impl Op {
    /// The address that an instruction of this operation accesses: for those who know the operation
    /// before they see the instruction.
    #[inline(always)]
    #[must_use]
    pub const fn data_address(self, base: u64, imm: i64) -> u64 {
        let addr = base.wrapping_add(imm as u64);
        if matches!(self, Op::AlphaLdqU | Op::AlphaStqU) {
            addr & !7
        } else {
            addr
        }
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
