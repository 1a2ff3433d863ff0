//! Operand shapes: which operands an operation has, in the order of assembly language.
//!
//! Decoder, encoder, disassembler and assembler all walk [`Format::operands`], so that a shape is
//! described once.

/// The shape of an operation's operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// No operands.
    None,
    /// `rd, rs1, rs2`
    Register,
    /// `rd, rs1`
    Unary,
    /// `rd, rs1, imm`
    Immediate,
    /// `rd, rs1, shamt` with 6 bits
    Shift6,
    /// `rd, rs1, shamt` with 5 bits
    Shift5,
    /// `rd, imm` with the upper 20 bits of 32
    Upper,
    /// `rd, imm(rs1)`
    Load,
    /// `rs2, imm(rs1)`
    Store,
    /// `rs1, rs2, target`
    Branch,
    /// `rd, target`
    Jump,
    /// `rd, imm(rs1)`
    JumpRegister,
    /// `rd, rs2, (rs1)`
    Atomic,
    /// `rd, (rs1)`
    LoadReserved,
    /// `rd, csr, rs1`
    Csr,
    /// `rd, csr, zimm`
    CsrImmediate,
    /// `predecessors, successors`
    Fence,
    /// `fd, imm(rs1)`
    FpLoad,
    /// `fs2, imm(rs1)`
    FpStore,
    /// `fd, fs1, fs2`
    FpRegister,
    /// `fd, fs1, fs2, rm`
    FpRounded,
    /// `fd, fs1, fs2, fs3, rm`
    FpFused,
    /// `fd, fs1, rm`
    FpUnaryRounded,
    /// `fd, fs1` with a rounding mode that cannot matter
    FpUnaryExact,
    /// `rd, fs1, fs2`
    FpCompare,
    /// `rd, fs1`
    FpToInt,
    /// `rd, fs1, rm`
    FpToIntRounded,
    /// `fd, rs1`
    IntToFp,
    /// `fd, rs1, rm`
    IntToFpRounded,
    /// `fd, rs1` with a rounding mode that cannot matter
    IntToFpExact,
    /// `rs1, rs2, index` of a replacement instruction
    DiseBranch,
    /// `index` of a replacement instruction
    DiseJump,
    /// `handler`
    DiseCall,
    /// `rs1, handler`
    DiseCallIf,
    /// `rd, rs1`, either a DISE register
    DiseMove,
}

/// One operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// Integer destination.
    Rd,
    /// First integer source.
    Rs1,
    /// Second integer source.
    Rs2,
    /// Floating-point destination.
    Fd,
    /// First floating-point source.
    Fs1,
    /// Second floating-point source.
    Fs2,
    /// Third floating-point source.
    Fs3,
    /// Signed 12-bit immediate.
    Imm12,
    /// 6-bit shift amount.
    Shamt6,
    /// 5-bit shift amount.
    Shamt5,
    /// Upper 20 bits of a 32-bit immediate.
    Imm20,
    /// `imm(rs1)` with the immediate of a load.
    MemLoad,
    /// `imm(rs1)` with the immediate of a store.
    MemStore,
    /// `(rs1)`.
    Address,
    /// Branch target, ±4 KiB.
    BranchTarget,
    /// Jump target, ±1 MiB.
    JumpTarget,
    /// Number of a control and status register.
    Csr,
    /// 5-bit immediate of a CSR instruction.
    Zimm,
    /// Predecessor and successor sets of a fence.
    FenceSets,
    /// Rounding mode; dynamic if left out.
    RoundingMode,
    /// Rounding mode of an operation that is always exact; `rne` if left out.
    RoundingModeExact,
    /// Index of a replacement instruction.
    Index,
    /// Absolute address of a handler.
    Handler,
}

impl Format {
    /// The operands, in the order of assembly language.
    #[must_use]
    pub fn operands(self) -> &'static [Operand] {
        use Operand::*;
        match self {
            Format::None => &[],
            Format::Register => &[Rd, Rs1, Rs2],
            Format::Unary | Format::DiseMove => &[Rd, Rs1],
            Format::Immediate => &[Rd, Rs1, Imm12],
            Format::Shift6 => &[Rd, Rs1, Shamt6],
            Format::Shift5 => &[Rd, Rs1, Shamt5],
            Format::Upper => &[Rd, Imm20],
            Format::Load | Format::JumpRegister => &[Rd, MemLoad],
            Format::Store => &[Rs2, MemStore],
            Format::Branch => &[Rs1, Rs2, BranchTarget],
            Format::Jump => &[Rd, JumpTarget],
            Format::Atomic => &[Rd, Rs2, Address],
            Format::LoadReserved => &[Rd, Address],
            Format::Csr => &[Rd, Csr, Rs1],
            Format::CsrImmediate => &[Rd, Csr, Zimm],
            Format::Fence => &[FenceSets],
            Format::FpLoad => &[Fd, MemLoad],
            Format::FpStore => &[Fs2, MemStore],
            Format::FpRegister => &[Fd, Fs1, Fs2],
            Format::FpRounded => &[Fd, Fs1, Fs2, RoundingMode],
            Format::FpFused => &[Fd, Fs1, Fs2, Fs3, RoundingMode],
            Format::FpUnaryRounded => &[Fd, Fs1, RoundingMode],
            Format::FpUnaryExact => &[Fd, Fs1, RoundingModeExact],
            Format::FpCompare => &[Rd, Fs1, Fs2],
            Format::FpToInt => &[Rd, Fs1],
            Format::FpToIntRounded => &[Rd, Fs1, RoundingMode],
            Format::IntToFp => &[Fd, Rs1],
            Format::IntToFpRounded => &[Fd, Rs1, RoundingMode],
            Format::IntToFpExact => &[Fd, Rs1, RoundingModeExact],
            Format::DiseBranch => &[Rs1, Rs2, Index],
            Format::DiseJump => &[Index],
            Format::DiseCall => &[Handler],
            Format::DiseCallIf => &[Rs1, Handler],
        }
    }
}
