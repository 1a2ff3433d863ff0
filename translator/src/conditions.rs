//! Conditions of branches and conditional moves.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use hps_isa::inst::{Inst, Op};

use crate::unit::Emitter;

/// A condition on one register.
#[derive(Clone, Copy)]
pub(crate) enum Condition {
    /// The register compared with zero.
    Zero(IntCC),
    /// Lowest bit of the register compared with zero.
    LowBit(IntCC),
    /// All of its bits but the sign compared with zero.
    WithoutSign(IntCC),
    /// The register compared with the floating-point number -0.
    MinusZero(IntCC),
}

/// The condition of a branch of Alpha.
fn branch_condition(op: Op) -> Condition {
    match op {
        Op::AlphaBlbc => Condition::LowBit(IntCC::Equal),
        Op::AlphaBlbs => Condition::LowBit(IntCC::NotEqual),
        Op::AlphaBeq => Condition::Zero(IntCC::Equal),
        Op::AlphaBne => Condition::Zero(IntCC::NotEqual),
        Op::AlphaBlt => Condition::Zero(IntCC::SignedLessThan),
        Op::AlphaBle | Op::AlphaFble => Condition::Zero(IntCC::SignedLessThanOrEqual),
        Op::AlphaBge => Condition::Zero(IntCC::SignedGreaterThanOrEqual),
        Op::AlphaFbeq => Condition::WithoutSign(IntCC::Equal),
        Op::AlphaFbne => Condition::WithoutSign(IntCC::NotEqual),
        Op::AlphaFblt => Condition::MinusZero(IntCC::UnsignedGreaterThan),
        Op::AlphaFbge => Condition::MinusZero(IntCC::UnsignedLessThanOrEqual),
        // The two that are left.
        _ => Condition::Zero(IntCC::SignedGreaterThan),
    }
}

/// The condition of a conditional move of Alpha.
pub(crate) fn move_condition(op: Op) -> Option<Condition> {
    Some(match op {
        Op::AlphaCmovlbs => Condition::LowBit(IntCC::NotEqual),
        Op::AlphaCmovlbc => Condition::LowBit(IntCC::Equal),
        Op::AlphaCmoveq => Condition::Zero(IntCC::Equal),
        Op::AlphaCmovne => Condition::Zero(IntCC::NotEqual),
        Op::AlphaCmovlt => Condition::Zero(IntCC::SignedLessThan),
        Op::AlphaCmovge => Condition::Zero(IntCC::SignedGreaterThanOrEqual),
        Op::AlphaCmovle => Condition::Zero(IntCC::SignedLessThanOrEqual),
        Op::AlphaCmovgt => Condition::Zero(IntCC::SignedGreaterThan),
        _ => return None,
    })
}

impl Emitter<'_, '_> {
    /// Whether a conditional branch is taken.
    pub(crate) fn condition(&mut self, inst: &Inst) -> Value {
        let (a, b) = (self.read(inst.rs1), self.read(inst.rs2));
        let compared = match inst.op {
            Op::Beq => IntCC::Equal,
            Op::Bne => IntCC::NotEqual,
            Op::Blt => IntCC::SignedLessThan,
            Op::Bge => IntCC::SignedGreaterThanOrEqual,
            Op::Bltu => IntCC::UnsignedLessThan,
            Op::Bgeu => IntCC::UnsignedGreaterThanOrEqual,
            op => return self.holds(branch_condition(op), a),
        };
        self.builder.ins().icmp(compared, a, b)
    }

    /// Whether a condition on one register holds.
    pub(crate) fn holds(&mut self, condition: Condition, a: Value) -> Value {
        let ins = self.builder.ins();
        match condition {
            Condition::Zero(compared) => ins.icmp_imm(compared, a, 0),
            Condition::LowBit(compared) => {
                let bit = ins.band_imm(a, 1);
                self.builder.ins().icmp_imm(compared, bit, 0)
            }
            Condition::WithoutSign(compared) => {
                let magnitude = ins.ishl_imm(a, 1);
                self.builder.ins().icmp_imm(compared, magnitude, 0)
            }
            Condition::MinusZero(compared) => ins.icmp_imm(compared, a, i64::MIN),
        }
    }

    /// Where an indirect jump leads.
    pub(crate) fn jump_target(&mut self, inst: &Inst) -> Value {
        let base = self.read(inst.rs1);
        let (base, mask) = match inst.op {
            Op::Jalr => (self.builder.ins().iadd_imm(base, inst.imm), !1),
            _ => (base, !3),
        };
        self.builder.ins().band_imm(base, mask)
    }
}
