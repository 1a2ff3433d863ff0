//! Operand shapes: which operands an operation has, in the order of assembly language.
//!
//! Decoders, encoders, disassemblers and assemblers all walk [`Format::operands`], so that a shape is
//! described once. Shapes and operands of Alpha have names of their own: an instruction set's decoder
//! meets only its own.

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
    /// `rd, rs2, (rs1)`; `rd` is read and written
    AtomicCas,
    /// `rd, (rs1)`
    LoadReserved,
    /// `(rs1)`
    CacheBlock,
    /// `rd, rs1` with a number of 5 bits in the mnemonic
    MopUnary,
    /// `rd, rs1, rs2` with a number of 3 bits in the mnemonic
    MopBinary,
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
    /// `rd, fs1, rtz`
    FpToIntTruncated,
    /// `fd, constant` of a table of 32
    FpConstant,
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
    /// `imm(rs1)`
    Touch,
    /// `rd, rs1`, either a DISE register
    DiseMove,
    /// `ra, disp(rb)`; `ra` is written
    AlphaLoad,
    /// `ra, disp(rb)` with the displacement times 65536
    AlphaLoadHigh,
    /// `ra, disp(rb)`; `ra` is read
    AlphaStore,
    /// `ra, disp(rb)`; `ra` is read and written
    AlphaStoreConditional,
    /// `fa, disp(rb)`; `fa` is written
    AlphaFpLoad,
    /// `fa, disp(rb)`; `fa` is read
    AlphaFpStore,
    /// `ra, target`; `ra` is read
    AlphaBranch,
    /// `fa, target`; `fa` is read
    AlphaFpBranch,
    /// `ra, target`; `ra` is written
    AlphaJump,
    /// `ra, (rb), hint`
    AlphaJumpRegister,
    /// `ra, b, rc`, where `b` is a register or a literal
    AlphaOperate,
    /// `b, rc`
    AlphaOperateB,
    /// `rc`
    AlphaOperateC,
    /// `ra, b, rc`; `rc` is read and written
    AlphaConditionalMove,
    /// `fa, fb, fc` with trap and rounding qualifiers
    AlphaFpRounded,
    /// `fb, fc` with trap and rounding qualifiers
    AlphaFpUnary,
    /// `fa, fb, fc` with `/su` or without
    AlphaFpCompare,
    /// `fb, fc` with `/s` or without
    AlphaFpWiden,
    /// `fb, fc` with the trap qualifiers of an integer result (`/v`, `/sv`, `/svi`) and rounding qualifiers
    AlphaFpToQuad,
    /// `fb, fc` with `/sui` or without, and rounding qualifiers
    AlphaQuadToFp,
    /// `fb, fc` with `/v` or `/sv` or without
    AlphaQuadToLong,
    /// `fa, fb, fc`
    AlphaFpPlain,
    /// `fb, fc`
    AlphaFpPlainUnary,
    /// `fa, fb, fc`; `fc` is read and written
    AlphaFpConditionalMove,
    /// `fa, rc`
    AlphaFpToInt,
    /// `ra, fc`
    AlphaIntToFp,
    /// `fa`, which is read
    AlphaFpcrWrite,
    /// `fa`, which is written
    AlphaFpcrRead,
    /// `(rb)`
    AlphaAddress,
    /// `ra`, which is written
    AlphaCounter,
    /// Name of a PALcode function
    AlphaPal,
    /// The operands of the load that it is
    AlphaPrefetch,
}

/// One operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// Integer destination.
    Rd,
    /// Integer destination and third source.
    RdKept,
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
    /// The only rounding mode of an operation: towards zero.
    RoundingModeTruncate,
    /// Number of a constant in the table of `fli`.
    Constant,
    /// Number of 5 bits, which lies in the immediate and shows in the mnemonic.
    MopNumber5,
    /// Number of 3 bits, which lies in the immediate and shows in the mnemonic.
    MopNumber3,
    /// Index of a replacement instruction.
    Index,
    /// Absolute address of a handler.
    Handler,
    /// An operand of Alpha.
    Alpha(AlphaOperand),
}

/// One operand of an Alpha instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AlphaOperand {
    /// Integer register in the field of `ra`: destination.
    RaWritten,
    /// ... first source.
    RaFirst,
    /// ... second source: what a store writes.
    RaStored,
    /// ... second source and destination.
    RaStoredWritten,
    /// Floating-point register in the field of `fa`: destination.
    FaWritten,
    /// ... first source.
    FaFirst,
    /// ... second source: what a store writes.
    FaStored,
    /// `disp(rb)`, 16 bits; `rb` is the first source.
    MemDisp16,
    /// `disp(rb)`, 16 bits times 65536.
    MemDisp16High,
    /// `(rb)`, the first source.
    RbAddress,
    /// Target of 21 bits, in instructions from the next one.
    Disp21,
    /// Hint of a jump: 14 bits.
    JumpHint,
    /// Integer register or literal of 8 bits: second source.
    RbOrLiteral,
    /// Integer register in the field of `rc`: destination.
    RcWritten,
    /// ... destination and third source.
    RcKept,
    /// Floating-point register in the field of `fb`: second source.
    FbSecond,
    /// Floating-point register in the field of `fc`: destination.
    FcWritten,
    /// ... destination and third source.
    FcKept,
    /// Trap and rounding qualifiers: five bits, which lie in the immediate and show in the mnemonic.
    Qualifiers,
    /// PALcode function, which is the operation.
    PalFunction,
}

impl Format {
    /// The operands, in the order of assembly language.
    #[must_use]
    pub const fn operands(self) -> &'static [Operand] {
        use AlphaOperand as A;
        use Operand::*;
        match self {
            Format::None | Format::AlphaPrefetch => &[],
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
            Format::AtomicCas => &[RdKept, Rs2, Address],
            Format::LoadReserved => &[Rd, Address],
            Format::CacheBlock => &[Address],
            Format::Touch => &[MemLoad],
            Format::MopUnary => &[MopNumber5, Rd, Rs1],
            Format::MopBinary => &[MopNumber3, Rd, Rs1, Rs2],
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
            Format::FpToIntTruncated => &[Rd, Fs1, RoundingModeTruncate],
            Format::FpConstant => &[Fd, Constant],
            Format::IntToFp => &[Fd, Rs1],
            Format::IntToFpRounded => &[Fd, Rs1, RoundingMode],
            Format::IntToFpExact => &[Fd, Rs1, RoundingModeExact],
            Format::DiseBranch => &[Rs1, Rs2, Index],
            Format::DiseJump => &[Index],
            Format::DiseCall => &[Handler],
            Format::DiseCallIf => &[Rs1, Handler],
            Format::AlphaLoad => &[Alpha(A::RaWritten), Alpha(A::MemDisp16)],
            Format::AlphaLoadHigh => &[Alpha(A::RaWritten), Alpha(A::MemDisp16High)],
            Format::AlphaStore => &[Alpha(A::RaStored), Alpha(A::MemDisp16)],
            Format::AlphaStoreConditional => &[Alpha(A::RaStoredWritten), Alpha(A::MemDisp16)],
            Format::AlphaFpLoad => &[Alpha(A::FaWritten), Alpha(A::MemDisp16)],
            Format::AlphaFpStore => &[Alpha(A::FaStored), Alpha(A::MemDisp16)],
            Format::AlphaBranch => &[Alpha(A::RaFirst), Alpha(A::Disp21)],
            Format::AlphaFpBranch => &[Alpha(A::FaFirst), Alpha(A::Disp21)],
            Format::AlphaJump => &[Alpha(A::RaWritten), Alpha(A::Disp21)],
            Format::AlphaJumpRegister => {
                &[Alpha(A::RaWritten), Alpha(A::RbAddress), Alpha(A::JumpHint)]
            }
            Format::AlphaOperate => &[
                Alpha(A::RaFirst),
                Alpha(A::RbOrLiteral),
                Alpha(A::RcWritten),
            ],
            Format::AlphaOperateB => &[Alpha(A::RbOrLiteral), Alpha(A::RcWritten)],
            Format::AlphaOperateC => &[Alpha(A::RcWritten)],
            Format::AlphaConditionalMove => {
                &[Alpha(A::RaFirst), Alpha(A::RbOrLiteral), Alpha(A::RcKept)]
            }
            Format::AlphaFpRounded | Format::AlphaFpCompare => &[
                Alpha(A::Qualifiers),
                Alpha(A::FaFirst),
                Alpha(A::FbSecond),
                Alpha(A::FcWritten),
            ],
            Format::AlphaFpUnary
            | Format::AlphaFpWiden
            | Format::AlphaFpToQuad
            | Format::AlphaQuadToFp
            | Format::AlphaQuadToLong => &[
                Alpha(A::Qualifiers),
                Alpha(A::FbSecond),
                Alpha(A::FcWritten),
            ],
            Format::AlphaFpPlain => &[Alpha(A::FaFirst), Alpha(A::FbSecond), Alpha(A::FcWritten)],
            Format::AlphaFpPlainUnary => &[Alpha(A::FbSecond), Alpha(A::FcWritten)],
            Format::AlphaFpConditionalMove => {
                &[Alpha(A::FaFirst), Alpha(A::FbSecond), Alpha(A::FcKept)]
            }
            Format::AlphaFpToInt => &[Alpha(A::FaFirst), Alpha(A::RcWritten)],
            Format::AlphaIntToFp => &[Alpha(A::RaFirst), Alpha(A::FcWritten)],
            Format::AlphaFpcrWrite => &[Alpha(A::FaFirst)],
            Format::AlphaFpcrRead => &[Alpha(A::FaWritten)],
            Format::AlphaAddress => &[Alpha(A::RbAddress)],
            Format::AlphaCounter => &[Alpha(A::RaWritten)],
            Format::AlphaPal => &[Alpha(A::PalFunction)],
        }
    }
}
