//! `Inst`: one static instruction, decoded once per address, the same shape for every ISA.

use serde::{Deserialize, Serialize};

use crate::alpha::LITERAL;
use crate::alpha::simple::simplified;
use crate::isa::Isa;
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
    /// First interrupt register (`ir0`). The machine writes the first four when it takes an interrupt:
    /// [`INTERRUPT_PC`], [`INTERRUPT_SOURCE`], [`INTERRUPT_COUNT`] and [`INTERRUPT_CYCLE`]. The others
    /// belong to the interrupt's handler and keep their values from one interrupt to the next.
    pub const INTERRUPT: u8 = 85;
    /// Number of interrupt registers.
    pub const INTERRUPT_REGISTERS: u8 = 10;
    /// `ir0`: address of the program's instruction that was interrupted, with which the program goes on.
    /// An interrupt is never taken inside an expansion: the position there is always
    /// [`DisePc::NONE`](crate::ids::DisePc::NONE).
    pub const INTERRUPT_PC: u8 = INTERRUPT;
    /// `ir1`: number of the source whose interrupt was taken.
    pub const INTERRUPT_SOURCE: u8 = INTERRUPT + 1;
    /// `ir2`: what the source's counter had counted when the interrupt was taken.
    pub const INTERRUPT_COUNT: u8 = INTERRUPT + 2;
    /// `ir3`: cycle in which the interrupt was taken.
    pub const INTERRUPT_CYCLE: u8 = INTERRUPT + 3;
    /// Where writes to the zero register, or of instructions without a destination, go.
    pub const SINK: u8 = 95;

    /// The register that handlers name by this number in `d_mfdr` and `d_mtdr`: DISE registers first,
    /// interrupt registers behind them.
    #[must_use]
    pub const fn of_handlers(number: u8) -> Option<u8> {
        const INTERRUPTS_END: u8 = DISE_COUNT + INTERRUPT_REGISTERS;
        match number {
            0..DISE_COUNT => Some(DISE + number),
            DISE_COUNT..INTERRUPTS_END => Some(INTERRUPT + number - DISE_COUNT),
            _ => None,
        }
    }

    /// The inverse of [`of_handlers`].
    #[must_use]
    pub const fn number_in_handlers(register: u8) -> Option<u8> {
        const DISE_END: u8 = DISE + DISE_COUNT;
        const INTERRUPT_END: u8 = INTERRUPT + INTERRUPT_REGISTERS;
        match register {
            DISE..DISE_END => Some(register - DISE),
            INTERRUPT..INTERRUPT_END => Some(register - INTERRUPT + DISE_COUNT),
            _ => None,
        }
    }

    /// Size of the register file: one for each value of a register number, so that no access needs a
    /// bound check (`docs/measurements/functional-speed.md` has the gain). Numbers above [`SINK`] are not used.
    pub const COUNT: usize = 256;
}

/// Bytes of a block of RISC-V's cache operations (`cbo.clean` and others), aligned to as many.
pub const CACHE_BLOCK_BYTES: u64 = 64;

/// Class of an instruction: which unit runs it, and how it changes control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// Instruction-stream synchronisation (throws decoded code away); and `cbo.zero` and `amocas.q`, whose
    /// accesses are wider than a register: all of them execute with nothing else in flight.
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

/// Operands of an instruction that only adds: its first source shifted left, its second source and a constant. The
/// upper `drop` bits of the sum are replaced by copies of the highest bit below them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Bits by which the first source is shifted, below 64.
    pub shift: u8,
    /// Mask for the second source: -1 inverts all its bits, 0 none.
    pub flip: i32,
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
            .wrapping_add(second ^ self.flip as i64 as u64)
            .wrapping_add(self.addend as i64 as u64);
        ((sum << (self.drop & 63)) as i64 >> (self.drop & 63)) as u64
    }
}

/// Operands of an instruction that only combines bits: its first source shifted right, and its second source with some
/// bits inverted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Logic {
    /// Bits by which the first source is shifted, below 64; zeros come in.
    pub right: u8,
    /// Bits of the second source that are changed.
    pub flip: u64,
    /// Where both have a one, there is one.
    pub both: bool,
    /// Where they differ, there is a one.
    pub differ: bool,
}

impl Logic {
    /// Result for these sources.
    #[inline(always)]
    #[must_use]
    pub const fn of(self, first: u64, second: u64) -> u64 {
        let first = first >> (self.right & 63);
        let second = second ^ self.flip;
        let both = 0_u64.wrapping_sub(self.both as u64);
        let differ = 0_u64.wrapping_sub(self.differ as u64);
        first & second & both | (first ^ second) & differ
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
/// - what an instruction reads and writes as one operand is `rd` and also `rs3` (RISC-V's compare-and-swap,
///   Alpha's conditional moves);
/// - direct control transfers go to `pc + imm`;
/// - the rounding mode of a floating-point instruction, and the number of a CSR, lie in `imm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

    /// The simplest instruction with the effect of this one: what Alpha computes, by operations that know whether an operand
    /// is a register or a constant.
    #[must_use]
    pub fn simplified(&self) -> Inst {
        match self.op.isa() {
            Some(Isa::Alpha) => simplified(self),
            _ => *self,
        }
    }

    /// The sum of its sources that it writes, if that is all that it does, as of most computing instructions: for those who
    /// would rather add than ask what it does.
    #[must_use]
    pub fn sum(&self) -> Option<Sum> {
        let simple = self.simplified();
        let sources = (simple.rs1, simple.rs2);
        let has_second = simple.rs2 != reg::ZERO;
        // Of Alpha, if it is no simpler.
        let literal = (simple.imm as u8) as i64;
        let (shift, flip, addend, is_word) = match simple.op {
            Op::Addi if !has_second => (0, 0, simple.imm, false),
            Op::Addiw if !has_second => (0, 0, simple.imm, true),
            Op::Lui if sources == (reg::ZERO, reg::ZERO) => (0, 0, simple.imm, false),
            Op::Add => (0, 0, 0, false),
            Op::Addw => (0, 0, 0, true),
            Op::Sub => (0, -1, 1, false),
            Op::Subw => (0, -1, 1, true),
            Op::Slli if !has_second => ((simple.imm & 63) as u8, 0, 0, false),
            Op::Sh1add => (1, 0, 0, false),
            Op::Sh2add => (2, 0, 0, false),
            Op::Sh3add => (3, 0, 0, false),
            Op::AlphaS4addq => (2, 0, literal, false),
            Op::AlphaS8addq => (3, 0, literal, false),
            Op::AlphaS4addl => (2, 0, literal, true),
            Op::AlphaS8addl => (3, 0, literal, true),
            Op::AlphaS4subq => (2, -1, 1 - literal, false),
            Op::AlphaS8subq => (3, -1, 1 - literal, false),
            Op::AlphaS4subl => (2, -1, 1 - literal, true),
            Op::AlphaS8subl => (3, -1, 1 - literal, true),
            _ => return None,
        };
        // What is simpler may have its first source where this one has its second.
        let is_second = shift == 0 && sources == (self.rs2, reg::ZERO) && self.rs1 == reg::ZERO;
        if sources != (self.rs1, self.rs2) && !is_second {
            return None;
        }
        Some(Sum {
            shift,
            flip,
            addend: i32::try_from(addend).ok()?,
            drop: if is_word { 32 } else { 0 },
        })
    }

    /// Operands of an instruction that combines the bits of its sources; `None` for any other instruction.
    #[must_use]
    pub fn logic(&self) -> Option<Logic> {
        let simple = self.simplified();
        if (simple.rs1, simple.rs2) != (self.rs1, self.rs2) {
            return None;
        }
        let imm = simple.imm as u64;
        let has_second = simple.rs2 != reg::ZERO;
        let byte = 8 * (imm & 7) as u8;
        let is_literal = imm & LITERAL as u64 != 0;
        let of = |right, (both, differ), flip| Logic {
            right,
            flip,
            both,
            differ,
        };
        const AND: (bool, bool) = (true, false);
        const OR: (bool, bool) = (true, true);
        const XOR: (bool, bool) = (false, true);
        Some(match simple.op {
            Op::And => of(0, AND, 0),
            Op::Or => of(0, OR, 0),
            Op::Xor => of(0, XOR, 0),
            Op::Andn => of(0, AND, u64::MAX),
            Op::Orn => of(0, OR, u64::MAX),
            Op::Xnor => of(0, XOR, u64::MAX),
            Op::Andi if !has_second => of(0, AND, imm),
            Op::Ori if !has_second => of(0, OR, imm),
            Op::Xori if !has_second => of(0, XOR, imm),
            Op::Srli if !has_second => of((imm & 63) as u8, AND, u64::MAX),
            Op::ZextH if !has_second => of(0, AND, 0xffff),
            Op::AlphaExtbl if is_literal && !has_second => of(byte, AND, 0xff),
            Op::AlphaExtwl if is_literal && !has_second => of(byte, AND, 0xffff),
            Op::AlphaExtll if is_literal && !has_second => of(byte, AND, 0xffff_ffff),
            _ => return None,
        })
    }

    /// Return address that a jump or a call at `pc` writes: the address behind it.
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

    /// A prefetch of data as an operation that accesses the cache ([`Op::Touch`]); `None` for any other instruction, the
    /// universal no-op `ldq_u` into register 31 included. RISC-V: `prefetch.r` and `prefetch.w` (Zicbop). Alpha: loads
    /// into register 31 (21264 hardware reference manual, 2.6).
    #[must_use]
    pub fn as_touch(&self) -> Option<Inst> {
        let imm = match (self.op, self.imm & 31) {
            (Op::Ori, 1 | 3) if self.rd == reg::SINK => self.imm & !31,
            (Op::AlphaPrefetch, _) if self.rs1 != reg::ZERO => i64::from(self.imm as i16),
            _ => return None,
        };
        Some(Inst {
            op: Op::Touch,
            class: OpClass::Load,
            rd: reg::SINK,
            imm,
            ..*self
        })
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
        match self {
            Op::AlphaLdqU | Op::AlphaStqU => addr & !7,
            Op::CboInval | Op::CboClean | Op::CboFlush => addr & !(CACHE_BLOCK_BYTES - 1),
            _ => addr,
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
