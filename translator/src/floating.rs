//! Floating-point operations.
//!
//! In the state that most programs are in (rounding to nearest even, inexact results accrued) the host's result is the
//! guest's, as long as it is an ordinary number: the code tests that, and everything else is for the machine's own function.
//! The conditions are those of [`hps_isa::fp::accrued`].

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F64, I8, I32, I64};
use cranelift_codegen::ir::{BlockArg, InstBuilder, MemFlags, Value};
use hps_isa::fp::flag;
use hps_isa::hart::Hart;
use hps_isa::inst::{Inst, Op};

use crate::shared;
use crate::unit::{Emitter, of_hart};

/// Bits of `fcsr` that hold the rounding mode.
const FRM: u8 = 0xe0;
/// Bits of Alpha's qualifiers that say how to round and whether an inexact result may trap, and those of instructions that
/// round to nearest and never trap for it.
const ALPHA_ROUNDING_AND_INEXACT: i64 = 0b0_1011;
const ALPHA_NORMAL: i64 = 0b0_0010;
/// Operations of instructions that round toward zero.
const ALPHA_CHOPPED: i64 = 0b0_0000;
/// RISC-V's rounding mode of conversions as C does them.
const TOWARD_ZERO: i64 = 1;
const SIGN: i64 = i64::MIN;
/// Bits of the smallest positive normal number, and of infinity.
const LEAST_NORMAL: i64 = 1 << 52;
const INFINITY: i64 = 0x7ff << 52;

/// Numbers that a result must be among.
#[derive(Clone, Copy, PartialEq)]
enum Ordinary {
    /// Finite ones.
    Finite,
    /// Finite ones above the smallest normal magnitude.
    WellInside,
}

impl Emitter<'_, '_> {
    /// The code of a floating-point operation; `false` for those that have none here.
    pub(crate) fn floating(&mut self, pc: u64, inst: &Inst) -> bool {
        if let Some(value) = self.moved(inst) {
            self.write(inst.rd, value);
            return true;
        }
        let to_nearest_even = matches!(inst.imm, 0 | 7);
        let (value, holds) = match inst.op {
            Op::FaddD | Op::FsubD | Op::FmulD | Op::FdivD | Op::FsqrtD if to_nearest_even => {
                self.arithmetic(inst)
            }
            Op::FmaddD | Op::FmsubD | Op::FnmsubD | Op::FnmaddD
                if to_nearest_even && self.has_fma =>
            {
                self.fused(inst)
            }
            Op::FeqD | Op::FltD | Op::FleD => self.comparison(inst),
            Op::FcvtDL if to_nearest_even => {
                let holds = self.is_accrued(FRM);
                let a = self.read(inst.rs1);
                (self.builder.ins().fcvt_from_sint(F64, a), holds)
            }
            Op::AlphaAddt | Op::AlphaSubt | Op::AlphaMult | Op::AlphaDivt | Op::AlphaSqrtt
                if inst.imm & ALPHA_ROUNDING_AND_INEXACT == ALPHA_NORMAL =>
            {
                self.alpha_arithmetic(inst)
            }
            Op::AlphaCvtqt if inst.imm & ALPHA_ROUNDING_AND_INEXACT == ALPHA_NORMAL => {
                let holds = self.is_accrued(0);
                let b = self.read(inst.rs2);
                (self.builder.ins().fcvt_from_sint(F64, b), holds)
            }
            Op::AlphaCvttq if inst.imm & ALPHA_ROUNDING_AND_INEXACT == ALPHA_CHOPPED => {
                self.truncated(inst.rs2, 63)
            }
            Op::FcvtWD if inst.imm == TOWARD_ZERO => self.truncated(inst.rs1, 31),
            Op::FcvtLD if inst.imm == TOWARD_ZERO => self.truncated(inst.rs1, 63),
            Op::AlphaCmpteq | Op::AlphaCmptlt | Op::AlphaCmptle => self.alpha_comparison(inst),
            _ => return false,
        };
        let value = match self.builder.func.dfg.value_type(value) {
            F64 => self.builder.ins().bitcast(I64, MemFlags::new(), value),
            _ => value,
        };
        self.or_by_machine(pc, inst, value, holds);
        true
    }

    /// Operations that only move bits, and exact conversions.
    fn moved(&mut self, inst: &Inst) -> Option<Value> {
        Some(match inst.op {
            Op::FmvXD | Op::FmvDX => self.read(inst.rs1),
            Op::FmvXW => {
                let a = self.read(inst.rs1);
                self.word(a)
            }
            Op::FmvWX => {
                let a = self.read(inst.rs1);
                let low = self.builder.ins().ireduce(I32, a);
                let low = self.builder.ins().uextend(I64, low);
                self.builder.ins().bor_imm(low, -1 << 32)
            }
            Op::FsgnjD | Op::FsgnjnD | Op::FsgnjxD => {
                let (a, b) = (self.read(inst.rs1), self.read(inst.rs2));
                if inst.op == Op::FsgnjD && inst.rs1 == inst.rs2 {
                    return Some(a);
                }
                let sign = self.builder.ins().band_imm(b, SIGN);
                match inst.op {
                    Op::FsgnjxD => self.builder.ins().bxor(a, sign),
                    op => {
                        let sign = match op {
                            Op::FsgnjnD => self.builder.ins().bxor_imm(sign, SIGN),
                            _ => sign,
                        };
                        let magnitude = self.builder.ins().band_imm(a, !SIGN);
                        self.builder.ins().bor(magnitude, sign)
                    }
                }
            }
            Op::AlphaFtoit | Op::AlphaItoft => self.read(inst.rs1),
            Op::AlphaCpys | Op::AlphaCpysn => {
                let (a, b) = (self.read(inst.rs1), self.read(inst.rs2));
                if inst.op == Op::AlphaCpys && inst.rs1 == inst.rs2 {
                    return Some(a);
                }
                let sign = self.builder.ins().band_imm(a, SIGN);
                let sign = match inst.op {
                    Op::AlphaCpysn => self.builder.ins().bxor_imm(sign, SIGN),
                    _ => sign,
                };
                let magnitude = self.builder.ins().band_imm(b, !SIGN);
                self.builder.ins().bor(magnitude, sign)
            }
            // The rounding mode of the instruction itself is always one that there is.
            Op::FcvtDW if matches!(inst.imm, 0..=4) => {
                let a = self.read(inst.rs1);
                let low = self.builder.ins().ireduce(I32, a);
                let number = self.builder.ins().fcvt_from_sint(F64, low);
                self.builder.ins().bitcast(I64, MemFlags::new(), number)
            }
            _ => return None,
        })
    }

    fn double(&mut self, register: u8) -> Value {
        let bits = self.read(register);
        self.builder.ins().bitcast(F64, MemFlags::new(), bits)
    }

    fn arithmetic(&mut self, inst: &Inst) -> (Value, Value) {
        let (a, b) = (self.double(inst.rs1), self.double(inst.rs2));
        let ins = self.builder.ins();
        let (result, ordinary) = match inst.op {
            Op::FaddD => (ins.fadd(a, b), Ordinary::Finite),
            Op::FsubD => (ins.fsub(a, b), Ordinary::Finite),
            Op::FmulD => (ins.fmul(a, b), Ordinary::WellInside),
            Op::FdivD => (ins.fdiv(a, b), Ordinary::WellInside),
            _ => (ins.sqrt(a), Ordinary::WellInside),
        };
        let holds = self.is_ordinary(result, ordinary);
        (result, holds)
    }

    /// A product and a sum, rounded once.
    fn fused(&mut self, inst: &Inst) -> (Value, Value) {
        let (mut a, b) = (self.double(inst.rs1), self.double(inst.rs2));
        let mut c = self.double(inst.rs3);
        if matches!(inst.op, Op::FnmsubD | Op::FnmaddD) {
            a = self.builder.ins().fneg(a);
        }
        if matches!(inst.op, Op::FmsubD | Op::FnmaddD) {
            c = self.builder.ins().fneg(c);
        }
        let result = self.builder.ins().fma(a, b, c);
        let holds = self.is_ordinary(result, Ordinary::WellInside);
        (result, holds)
    }

    /// A comparison, which raises no flag if none of its operands is a NaN.
    fn comparison(&mut self, inst: &Inst) -> (Value, Value) {
        let (a, b) = (self.double(inst.rs1), self.double(inst.rs2));
        let condition = match inst.op {
            Op::FeqD => FloatCC::Equal,
            Op::FltD => FloatCC::LessThan,
            _ => FloatCC::LessThanOrEqual,
        };
        let holds = self.builder.ins().fcmp(condition, a, b);
        let value = self.extended(holds);
        (value, self.builder.ins().fcmp(FloatCC::Ordered, a, b))
    }

    /// Alpha: no operand may be a denormal number, and no result.
    fn alpha_arithmetic(&mut self, inst: &Inst) -> (Value, Value) {
        let first = match inst.op {
            Op::AlphaSqrtt => inst.rs2,
            _ => inst.rs1,
        };
        let (a, b) = (self.double(first), self.double(inst.rs2));
        let ins = self.builder.ins();
        let (result, ordinary) = match inst.op {
            Op::AlphaAddt => (ins.fadd(a, b), Ordinary::Finite),
            Op::AlphaSubt => (ins.fsub(a, b), Ordinary::Finite),
            Op::AlphaMult => (ins.fmul(a, b), Ordinary::WellInside),
            Op::AlphaDivt => (ins.fdiv(a, b), Ordinary::WellInside),
            _ => (ins.sqrt(a), Ordinary::WellInside),
        };
        let fits = self.is_in(result, ordinary);
        let accrued = self.is_accrued(0);
        let mut holds = self.builder.ins().band(fits, accrued);
        let (a, b) = (self.read(first), self.read(inst.rs2));
        let result_bits = (self.builder.ins()).bitcast(I64, MemFlags::new(), result);
        for bits in [a, b, result_bits] {
            let normal = self.is_no_denormal(bits);
            holds = self.builder.ins().band(holds, normal);
        }
        (result, holds)
    }

    /// The integer part of a register, if the number is no denormal one and has so many bits before its point at most.
    fn truncated(&mut self, register: u8, bits: i32) -> (Value, Value) {
        let number = self.double(register);
        let magnitude = self.builder.ins().fabs(number);
        let limit = self.builder.ins().f64const(2_f64.powi(bits));
        let fits = (self.builder.ins()).fcmp(FloatCC::LessThan, magnitude, limit);
        let integer = self.builder.ins().fcvt_to_sint_sat(I64, number);
        let accrued = self.is_accrued(0);
        let holds = self.builder.ins().band(fits, accrued);
        let bits = self.read(register);
        let normal = self.is_no_denormal(bits);
        (integer, self.builder.ins().band(holds, normal))
    }

    /// Alpha: 2.0 or zero, if no operand is a NaN or a denormal number.
    fn alpha_comparison(&mut self, inst: &Inst) -> (Value, Value) {
        let (a, b) = (self.double(inst.rs1), self.double(inst.rs2));
        let condition = match inst.op {
            Op::AlphaCmpteq => FloatCC::Equal,
            Op::AlphaCmptlt => FloatCC::LessThan,
            _ => FloatCC::LessThanOrEqual,
        };
        let is_true = self.builder.ins().fcmp(condition, a, b);
        let is_true = self.extended(is_true);
        let value = self.builder.ins().ishl_imm(is_true, 62);
        let mut holds = self.builder.ins().fcmp(FloatCC::Ordered, a, b);
        for register in [inst.rs1, inst.rs2] {
            let bits = self.read(register);
            let normal = self.is_no_denormal(bits);
            holds = self.builder.ins().band(holds, normal);
        }
        (value, holds)
    }

    /// Whether a number is not denormal. Zero wraps around.
    fn is_no_denormal(&mut self, bits: Value) -> Value {
        let magnitude = self.builder.ins().band_imm(bits, !SIGN);
        let below = self.builder.ins().iadd_imm(magnitude, -1);
        let least = self.constant((LEAST_NORMAL - 1) as u64);
        (self.builder.ins()).icmp(IntCC::UnsignedGreaterThanOrEqual, below, least)
    }

    /// Whether rounding is to nearest even, inexact results are accrued, and the result is an ordinary number.
    fn is_ordinary(&mut self, result: Value, ordinary: Ordinary) -> Value {
        let fits = self.is_in(result, ordinary);
        let accrued = self.is_accrued(FRM);
        self.builder.ins().band(fits, accrued)
    }

    /// Whether a result is an ordinary number.
    fn is_in(&mut self, result: Value, ordinary: Ordinary) -> Value {
        let bits = self.builder.ins().bitcast(I64, MemFlags::new(), result);
        let magnitude = self.builder.ins().band_imm(bits, !SIGN);
        let (magnitude, below) = match ordinary {
            Ordinary::Finite => (magnitude, INFINITY),
            Ordinary::WellInside => {
                let above = self.builder.ins().iadd_imm(magnitude, -(LEAST_NORMAL + 1));
                (above, INFINITY - (LEAST_NORMAL + 1))
            }
        };
        let below = self.constant(below as u64);
        (self.builder.ins()).icmp(IntCC::UnsignedLessThan, magnitude, below)
    }

    /// Whether inexact results are accrued, and these other bits of `fcsr` are zero.
    fn is_accrued(&mut self, zero: u8) -> Value {
        let place = offset_of!(Hart, fcsr) as i32;
        let fcsr = (self.builder.ins()).load(I8, of_hart(), self.at.hart, place);
        let bits = (self.builder.ins()).band_imm(fcsr, i64::from(zero | flag::NX));
        (self.builder.ins()).icmp_imm(IntCC::Equal, bits, i64::from(flag::NX))
    }

    /// Gives the destination the value if the condition holds, and what the machine's own function gives it otherwise.
    fn or_by_machine(&mut self, pc: u64, inst: &Inst, value: Value, holds: Value) {
        let (slow, join) = (self.builder.create_block(), self.builder.create_block());
        self.builder.append_block_param(join, I64);
        self.builder.set_cold_block(slow);
        let args = [BlockArg::from(value)];
        self.builder.ins().brif(holds, join, &args, slow, &[]);
        let state = self.state.clone();
        self.builder.switch_to_block(slow);
        self.call_machine(pc, inst, shared::execute as *const u8);
        let result = self.read(inst.rd);
        let args = [BlockArg::from(result)];
        self.builder.ins().jump(join, &args);
        self.state = state;
        self.builder.switch_to_block(join);
        let result = self.builder.block_params(join)[0];
        self.write(inst.rd, result);
    }
}
