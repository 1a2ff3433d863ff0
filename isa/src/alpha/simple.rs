//! Alpha's computation in terms of operations that know whether an operand is a register or a
//! constant.
//!
//! The second operand of an operate instruction is a register or a literal, and most byte
//! manipulation has a literal: what is constant is worked out here, once, and the operations of
//! RISC-V do the rest at their speed.

use super::LITERAL;
use super::exec::bytes::byte_mask;
use super::exec::int::{EV6, EXTENSIONS};
use crate::inst::{Inst, Op, OpClass, reg};

/// The simplest instruction with the effect of `inst`. Only operations that can neither trap nor transfer
/// control nor touch memory are replaced.
pub(crate) fn simplified(inst: &Inst) -> Inst {
    match inst.op {
        Op::AlphaLda | Op::AlphaLdah => Inst {
            op: Op::Addi,
            ..*inst
        },
        Op::AlphaRduniq | Op::AlphaWruniq | Op::AlphaFtoit | Op::AlphaItoft => copy(inst, inst.rs1),
        Op::AlphaCpys if inst.rs1 == inst.rs2 => copy(inst, inst.rs1),
        _ if !matches!(inst.class, OpClass::IntAlu | OpClass::IntMul) => *inst,
        Op::AlphaImplver => constant(inst, EV6),
        _ if inst.imm & LITERAL != 0 => with_literal(inst, inst.imm as u64 & 0xff),
        _ => with_register(inst),
    }
}

/// A copy of a register, as an integer operation also for floating-point registers: a copy into no register can then be
/// left out.
fn copy(inst: &Inst, from: u8) -> Inst {
    let from = Inst {
        class: OpClass::IntAlu,
        rs1: from,
        ..*inst
    };
    immediate(&from, Op::Addi, 0)
}

fn constant(inst: &Inst, value: u64) -> Inst {
    let from_zero = Inst {
        rs1: reg::ZERO,
        ..*inst
    };
    immediate(&from_zero, Op::Addi, value)
}

/// `op` of the first operand and a constant.
fn immediate(inst: &Inst, op: Op, imm: u64) -> Inst {
    Inst {
        op,
        imm: imm as i64,
        rs2: reg::ZERO,
        ..*inst
    }
}

/// Operation `op` on the registers of `inst`.
fn register(inst: &Inst, op: Op) -> Inst {
    Inst { op, ..*inst }
}

/// `op` of the second register alone.
fn unary(inst: &Inst, op: Op) -> Inst {
    Inst {
        op,
        rs1: inst.rs2,
        rs2: reg::ZERO,
        ..*inst
    }
}

fn with_literal(inst: &Inst, literal: u64) -> Inst {
    let to = |op, imm| immediate(inst, op, imm);
    let shift = (literal & 7) * 8;
    match inst.op {
        Op::AlphaAddq => to(Op::Addi, literal),
        Op::AlphaSubq => to(Op::Addi, literal.wrapping_neg()),
        Op::AlphaAddl => to(Op::Addiw, literal),
        Op::AlphaSubl => to(Op::Addiw, literal.wrapping_neg()),
        Op::AlphaCmpeq if literal == 0 => to(Op::Sltiu, 1),
        Op::AlphaCmplt => to(Op::Slti, literal),
        Op::AlphaCmple => to(Op::Slti, literal + 1),
        Op::AlphaCmpult => to(Op::Sltiu, literal),
        Op::AlphaCmpule => to(Op::Sltiu, literal + 1),
        Op::AlphaAnd => to(Op::Andi, literal),
        Op::AlphaBic => to(Op::Andi, !literal),
        Op::AlphaBis if inst.rs1 == reg::ZERO => constant(inst, literal),
        Op::AlphaBis => to(Op::Ori, literal),
        Op::AlphaOrnot if inst.rs1 == reg::ZERO => constant(inst, !literal),
        Op::AlphaOrnot => to(Op::Ori, !literal),
        Op::AlphaXor => to(Op::Xori, literal),
        Op::AlphaEqv => to(Op::Xori, !literal),
        Op::AlphaSll => to(Op::Slli, literal & 63),
        Op::AlphaSrl => to(Op::Srli, literal & 63),
        Op::AlphaSra => to(Op::Srai, literal & 63),
        Op::AlphaAmask => constant(inst, literal & !EXTENSIONS),
        Op::AlphaZap => to(Op::Andi, !byte_mask(literal)),
        Op::AlphaZapnot => to(Op::Andi, byte_mask(literal)),
        Op::AlphaMskbl => to(Op::Andi, !(0xff << shift)),
        Op::AlphaMskwl => to(Op::Andi, !(0xffff << shift)),
        Op::AlphaMskll => to(Op::Andi, !(0xffff_ffff << shift)),
        Op::AlphaMskql => to(Op::Andi, !(u64::MAX << shift)),
        Op::AlphaExtbl if shift == 0 => to(Op::Andi, 0xff),
        Op::AlphaExtwl if shift == 0 => to(Op::Andi, 0xffff),
        Op::AlphaExtll if shift == 0 => to(Op::Andi, 0xffff_ffff),
        Op::AlphaExtbl if shift == 56 => to(Op::Srli, shift),
        Op::AlphaExtwl if shift >= 48 => to(Op::Srli, shift),
        Op::AlphaExtll if shift >= 32 => to(Op::Srli, shift),
        Op::AlphaExtql => to(Op::Srli, shift),
        Op::AlphaExtqh => to(Op::Slli, shift.wrapping_neg() & 63),
        Op::AlphaInsql => to(Op::Slli, shift),
        _ => *inst,
    }
}

fn with_register(inst: &Inst) -> Inst {
    let to = |op| register(inst, op);
    let second_is_zero = inst.rs2 == reg::ZERO;
    let first_is_zero = inst.rs1 == reg::ZERO;
    match inst.op {
        Op::AlphaAddq | Op::AlphaSubq if second_is_zero => copy(inst, inst.rs1),
        Op::AlphaAddq => to(Op::Add),
        Op::AlphaSubq => to(Op::Sub),
        Op::AlphaAddl if first_is_zero => unary(inst, Op::Addiw),
        Op::AlphaAddl => to(Op::Addw),
        Op::AlphaSubl => to(Op::Subw),
        Op::AlphaS4addq => to(Op::Sh2add),
        Op::AlphaS8addq => to(Op::Sh3add),
        Op::AlphaCmpeq if second_is_zero => immediate(inst, Op::Sltiu, 1),
        Op::AlphaCmplt => to(Op::Slt),
        Op::AlphaCmpult => to(Op::Sltu),
        Op::AlphaMull => to(Op::Mulw),
        Op::AlphaMulq => to(Op::Mul),
        Op::AlphaUmulh => to(Op::Mulhu),
        Op::AlphaAnd => to(Op::And),
        Op::AlphaBic => to(Op::Andn),
        Op::AlphaBis if first_is_zero => copy(inst, inst.rs2),
        Op::AlphaBis if second_is_zero || inst.rs1 == inst.rs2 => copy(inst, inst.rs1),
        Op::AlphaBis => to(Op::Or),
        Op::AlphaOrnot => to(Op::Orn),
        Op::AlphaXor => to(Op::Xor),
        Op::AlphaEqv => to(Op::Xnor),
        Op::AlphaSll => to(Op::Sll),
        Op::AlphaSrl => to(Op::Srl),
        Op::AlphaSra => to(Op::Sra),
        Op::AlphaSextb => unary(inst, Op::SextB),
        Op::AlphaSextw => unary(inst, Op::SextH),
        Op::AlphaCtpop => unary(inst, Op::Cpop),
        Op::AlphaCtlz => unary(inst, Op::Clz),
        Op::AlphaCttz => unary(inst, Op::Ctz),
        _ => *inst,
    }
}
