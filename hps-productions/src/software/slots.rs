//! The words in guest memory that inserted code works with, and the instructions that reach them.
//!
//! The words lie on a page of their own in the region reserved for profilers. Inserted code names them by a
//! displacement from the zero register, which stands for what a rewriter would use, a short displacement from the
//! thread pointer: the same instructions and the same cache lines, and address 0 stays unmapped, so that programs that
//! fault there still do.

use hps_isa::inst::{Inst, Op, OpClass, reg};
use hps_isa::isa::Isa;
use hps_isa::layout;

/// Where the page lies: behind whatever handlers and tables a collector maps.
pub const PAGE: u64 = layout::HANDLER_BASE + 0x1000_0000;

/// Events that are left before sampling goes on.
pub const CHECKS_LEFT: u64 = PAGE;
/// Events that are left of the burst.
pub const BURST_LEFT: u64 = PAGE + 8;
/// Reload value of [`CHECKS_LEFT`]: the sparsity.
pub const SPARSITY: u64 = PAGE + 16;
/// Reload value of [`BURST_LEFT`]: the burst length.
pub const BURST: u64 = PAGE + 24;
/// The number of the burst.
pub const BURST_NUMBER: u64 = PAGE + 32;
/// The program's register that a check uses.
pub const CHECK_SPILL: u64 = PAGE + 40;
/// The program's register that instrumentation uses.
pub const WORK_SPILL: u64 = PAGE + 48;

/// The word that stands for a DISE register.
pub const fn of_dise(register: u8) -> u64 {
    PAGE + 64 + 8 * (register - reg::DISE) as u64
}

/// An instruction of an operation and its class, without operands.
fn plain(op: Op, class: OpClass) -> Inst {
    Inst {
        op,
        class,
        ..Inst::illegal(4)
    }
}

/// `register = word`.
pub fn load(isa: Isa, register: u8, word: u64) -> Inst {
    let op = match isa {
        Isa::Riscv64 => Op::Ld,
        Isa::Alpha => Op::AlphaLdq,
    };
    Inst {
        rd: register,
        imm: word as i64,
        ..plain(op, OpClass::Load)
    }
}

/// `word = register`.
pub fn store(isa: Isa, register: u8, word: u64) -> Inst {
    let op = match isa {
        Isa::Riscv64 => Op::Sd,
        Isa::Alpha => Op::AlphaStq,
    };
    Inst {
        rs2: register,
        imm: word as i64,
        ..plain(op, OpClass::Store)
    }
}

/// `register += amount`. Of RISC-V's, the compressed form.
pub fn add(isa: Isa, register: u8, amount: i64) -> Inst {
    let (op, len) = match isa {
        Isa::Riscv64 => (Op::Addi, 2),
        Isa::Alpha => (Op::AlphaLda, 4),
    };
    Inst {
        rd: register,
        rs1: register,
        imm: amount,
        len,
        ..plain(op, OpClass::IntAlu)
    }
}

/// A branch if `register <= 0`; its displacement comes later.
pub fn branch_if_used_up(isa: Isa, register: u8) -> Inst {
    match isa {
        Isa::Riscv64 => Inst {
            rs2: register,
            ..plain(Op::Bge, OpClass::Branch)
        },
        Isa::Alpha => Inst {
            rs1: register,
            ..plain(Op::AlphaBle, OpClass::Branch)
        },
    }
}

/// A jump; its displacement comes later.
pub fn jump(isa: Isa) -> Inst {
    let op = match isa {
        Isa::Riscv64 => Op::Jal,
        Isa::Alpha => Op::AlphaBr,
    };
    plain(op, OpClass::Jump)
}

/// A call of a routine through [`link`]; its displacement comes later.
pub fn call(isa: Isa) -> Inst {
    let op = match isa {
        Isa::Riscv64 => Op::Jal,
        Isa::Alpha => Op::AlphaBsr,
    };
    Inst {
        rd: link(isa),
        ..plain(op, OpClass::Call)
    }
}

/// The return of a routine.
pub fn ret(isa: Isa) -> Inst {
    let op = match isa {
        Isa::Riscv64 => Op::Jalr,
        Isa::Alpha => Op::AlphaRet,
    };
    Inst {
        rs1: link(isa),
        ..plain(op, OpClass::Return)
    }
}

/// The register that instrumentation uses and through which it calls: `t0`, RISC-V's alternate link
/// register, and `at`, which Alpha's compilers leave to assemblers. Both are predicted by the return
/// address stack. Handlers keep it as they keep every register.
pub const fn link(isa: Isa) -> u8 {
    match isa {
        Isa::Riscv64 => 5,
        Isa::Alpha => 28,
    }
}

/// Registers that a check may use if they are dead, in order of preference: not the stack pointer,
/// global pointer and thread pointer.
pub const fn candidates(isa: Isa) -> &'static [u8] {
    match isa {
        Isa::Riscv64 => &[
            5, 6, 7, 28, 29, 30, 31, 15, 14, 13, 12, 11, 10, 16, 17, 1, 8, 9, 18, 19, 20, 21, 22,
            23, 24, 25, 26, 27,
        ],
        Isa::Alpha => &[
            28, 1, 2, 3, 4, 5, 6, 7, 8, 22, 23, 24, 25, 27, 21, 20, 19, 18, 17, 16, 31, 26, 9, 10,
            11, 12, 13, 14, 15,
        ],
    }
}
