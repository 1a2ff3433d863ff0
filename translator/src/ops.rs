//! Operations as code of the host.
//!
//! Alpha's are first put in their simplest form, which mostly is an operation of RISC-V. What has no code here is executed
//! by the machine's own function ([`crate::shared::execute`]).

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, Type, Value};
use hps_isa::inst::{Inst, Op, OpClass, reg};

use crate::shared;
use crate::unit::Emitter;

/// Operands of a computation.
#[derive(Clone, Copy)]
pub(crate) struct Operands {
    pub(crate) a: Value,
    pub(crate) b: Value,
    /// A constant in place of the second one.
    pub(crate) imm: i64,
}

impl Emitter<'_, '_> {
    /// The code of an instruction that goes on with the next one.
    pub(crate) fn inst(&mut self, pc: u64, inst: &Inst) {
        let simple = inst.simplified();
        if simple.class == OpClass::Fence || is_hint(simple.op) {
            return;
        }
        if self.access(pc, &simple) {
            return;
        }
        if self.floating(pc, inst) {
            return;
        }
        if simple.rd == reg::SINK && is_computation(simple.op) {
            return;
        }
        match self.compute(pc, &simple) {
            Some(value) => self.write(simple.rd, value),
            None => self.call_machine(pc, inst, shared::execute as *const u8),
        }
    }

    /// The result of an operation on integer registers; `None` for all other operations.
    fn compute(&mut self, pc: u64, inst: &Inst) -> Option<Value> {
        if !is_computation(inst.op) {
            return None;
        }
        let operands = Operands {
            a: self.read(inst.rs1),
            b: self.read(inst.rs2),
            imm: inst.imm,
        };
        let value = match inst.op {
            Op::Lui => self.constant(inst.imm as u64),
            Op::Auipc => self.constant(pc.wrapping_add(inst.imm as u64)),
            Op::MopR | Op::MopRr => self.constant(0),
            op => (self.immediate(op, operands))
                .or_else(|| self.register(op, operands))
                .or_else(|| self.division(op, operands))
                .or_else(|| self.bits(op, operands))
                .or_else(|| self.alpha(inst, operands))?,
        };
        Some(value)
    }

    fn immediate(&mut self, op: Op, Operands { a, imm, .. }: Operands) -> Option<Value> {
        let ins = self.builder.ins();
        Some(match op {
            Op::Addi => ins.iadd_imm(a, imm),
            Op::Slti => {
                let holds = ins.icmp_imm(IntCC::SignedLessThan, a, imm);
                self.extended(holds)
            }
            Op::Sltiu => {
                let holds = ins.icmp_imm(IntCC::UnsignedLessThan, a, imm);
                self.extended(holds)
            }
            Op::Xori => ins.bxor_imm(a, imm),
            Op::Ori => ins.bor_imm(a, imm),
            Op::Andi => ins.band_imm(a, imm),
            Op::Slli => ins.ishl_imm(a, imm & 63),
            Op::Srli => ins.ushr_imm(a, imm & 63),
            Op::Srai => ins.sshr_imm(a, imm & 63),
            Op::Addiw => {
                let sum = ins.iadd_imm(a, imm);
                self.word(sum)
            }
            Op::Slliw => {
                let shifted = ins.ishl_imm(a, imm & 31);
                self.word(shifted)
            }
            Op::Srliw => {
                let low = ins.ireduce(I32, a);
                let shifted = self.builder.ins().ushr_imm(low, imm & 31);
                self.signed(shifted)
            }
            Op::Sraiw => {
                let low = ins.ireduce(I32, a);
                let shifted = self.builder.ins().sshr_imm(low, imm & 31);
                self.signed(shifted)
            }
            Op::Rori => ins.rotr_imm(a, imm & 63),
            Op::Roriw => {
                let low = ins.ireduce(I32, a);
                let rotated = self.builder.ins().rotr_imm(low, imm & 31);
                self.signed(rotated)
            }
            Op::SlliUw => {
                let low = self.unsigned_word(a);
                self.builder.ins().ishl_imm(low, imm & 63)
            }
            Op::Bclri => ins.band_imm(a, !(1_i64 << (imm & 63))),
            Op::Binvi => ins.bxor_imm(a, 1_i64 << (imm & 63)),
            Op::Bseti => ins.bor_imm(a, 1_i64 << (imm & 63)),
            Op::Bexti => {
                let shifted = ins.ushr_imm(a, imm & 63);
                self.builder.ins().band_imm(shifted, 1)
            }
            _ => return None,
        })
    }

    fn register(&mut self, op: Op, Operands { a, b, .. }: Operands) -> Option<Value> {
        let ins = self.builder.ins();
        Some(match op {
            Op::Add => ins.iadd(a, b),
            Op::Sub => ins.isub(a, b),
            Op::Sll => ins.ishl(a, b),
            Op::Srl => ins.ushr(a, b),
            Op::Sra => ins.sshr(a, b),
            Op::Slt => self.less(IntCC::SignedLessThan, a, b),
            Op::Sltu => self.less(IntCC::UnsignedLessThan, a, b),
            Op::Xor => ins.bxor(a, b),
            Op::Or => ins.bor(a, b),
            Op::And => ins.band(a, b),
            Op::Andn => ins.band_not(a, b),
            Op::Orn => ins.bor_not(a, b),
            Op::Xnor => ins.bxor_not(a, b),
            Op::Mul => ins.imul(a, b),
            Op::Mulh => ins.smulhi(a, b),
            Op::Mulhu => ins.umulhi(a, b),
            Op::Mulhsu => {
                // The unsigned product, less the second factor where the first one is negative.
                let high = ins.umulhi(a, b);
                let sign = self.builder.ins().sshr_imm(a, 63);
                let part = self.builder.ins().band(sign, b);
                self.builder.ins().isub(high, part)
            }
            Op::Addw => {
                let sum = ins.iadd(a, b);
                self.word(sum)
            }
            Op::Subw => {
                let difference = ins.isub(a, b);
                self.word(difference)
            }
            Op::Mulw => {
                let product = ins.imul(a, b);
                self.word(product)
            }
            Op::Sllw | Op::Srlw | Op::Sraw | Op::Rolw | Op::Rorw => {
                let a = ins.ireduce(I32, a);
                let b = self.builder.ins().ireduce(I32, b);
                let ins = self.builder.ins();
                let shifted = match op {
                    Op::Sllw => ins.ishl(a, b),
                    Op::Srlw => ins.ushr(a, b),
                    Op::Sraw => ins.sshr(a, b),
                    Op::Rolw => ins.rotl(a, b),
                    _ => ins.rotr(a, b),
                };
                self.signed(shifted)
            }
            Op::Max => ins.smax(a, b),
            Op::Maxu => ins.umax(a, b),
            Op::Min => ins.smin(a, b),
            Op::Minu => ins.umin(a, b),
            Op::Rol => ins.rotl(a, b),
            Op::Ror => ins.rotr(a, b),
            Op::Sh1add | Op::Sh2add | Op::Sh3add => {
                let shifted = ins.ishl_imm(a, scale(op));
                self.builder.ins().iadd(shifted, b)
            }
            Op::AddUw | Op::Sh1addUw | Op::Sh2addUw | Op::Sh3addUw => {
                let low = self.unsigned_word(a);
                let shifted = self.builder.ins().ishl_imm(low, scale(op));
                self.builder.ins().iadd(shifted, b)
            }
            Op::CzeroEqz | Op::CzeroNez => {
                let zero = ins.iconst(I64, 0);
                let (if_zero, if_not) = match op {
                    Op::CzeroEqz => (zero, a),
                    _ => (a, zero),
                };
                let is_zero = self.builder.ins().icmp_imm(IntCC::Equal, b, 0);
                self.builder.ins().select(is_zero, if_zero, if_not)
            }
            Op::Bclr | Op::Binv | Op::Bset => {
                let one = ins.iconst(I64, 1);
                let bit = self.builder.ins().ishl(one, b);
                let ins = self.builder.ins();
                match op {
                    Op::Bclr => ins.band_not(a, bit),
                    Op::Binv => ins.bxor(a, bit),
                    _ => ins.bor(a, bit),
                }
            }
            Op::Bext => {
                let shifted = ins.ushr(a, b);
                self.builder.ins().band_imm(shifted, 1)
            }
            _ => return None,
        })
    }

    /// Division by zero and overflow give what the "M" chapter says, and never reach the host's division.
    fn division(&mut self, op: Op, Operands { a, b, .. }: Operands) -> Option<Value> {
        let (is_signed, is_word, is_rest) = match op {
            Op::Div => (true, false, false),
            Op::Divu => (false, false, false),
            Op::Rem => (true, false, true),
            Op::Remu => (false, false, true),
            Op::Divw => (true, true, false),
            Op::Divuw => (false, true, false),
            Op::Remw => (true, true, true),
            Op::Remuw => (false, true, true),
            _ => return None,
        };
        let (ty, a, b) = if is_word {
            let low = self.builder.ins().ireduce(I32, a);
            (I32, low, self.builder.ins().ireduce(I32, b))
        } else {
            (I64, a, b)
        };
        let one = self.builder.ins().iconst(ty, 1);
        let is_zero = self.builder.ins().icmp_imm(IntCC::Equal, b, 0);
        let mut is_special = is_zero;
        if is_signed {
            // The quotient by one is the one that overflow is defined to have, and so is the rest.
            let least = self.least(ty);
            let minus_one = self.ones(ty);
            let minus_one = self.builder.ins().icmp(IntCC::Equal, b, minus_one);
            let is_least = self.builder.ins().icmp(IntCC::Equal, a, least);
            let overflows = self.builder.ins().band(minus_one, is_least);
            is_special = self.builder.ins().bor(is_zero, overflows);
        }
        let divisor = self.builder.ins().select(is_special, one, b);
        let ins = self.builder.ins();
        let result = match (is_signed, is_rest) {
            (true, false) => ins.sdiv(a, divisor),
            (false, false) => ins.udiv(a, divisor),
            (true, true) => ins.srem(a, divisor),
            (false, true) => ins.urem(a, divisor),
        };
        let by_zero = match is_rest {
            true => a,
            false => self.ones(ty),
        };
        let result = self.builder.ins().select(is_zero, by_zero, result);
        Some(if is_word { self.signed(result) } else { result })
    }

    fn ones(&mut self, ty: Type) -> Value {
        let ones = if ty == I32 { 0xffff_ffff } else { -1 };
        self.builder.ins().iconst(ty, ones)
    }

    fn least(&mut self, ty: Type) -> Value {
        let least = if ty == I32 { 1 << 31 } else { i64::MIN };
        self.builder.ins().iconst(ty, least)
    }

    /// Operations on the bits of one register.
    fn bits(&mut self, op: Op, Operands { a, .. }: Operands) -> Option<Value> {
        let ins = self.builder.ins();
        Some(match op {
            Op::Clz => ins.clz(a),
            Op::Ctz => ins.ctz(a),
            Op::Cpop => ins.popcnt(a),
            Op::Clzw | Op::Ctzw | Op::Cpopw => {
                let low = ins.ireduce(I32, a);
                let ins = self.builder.ins();
                let count = match op {
                    Op::Clzw => ins.clz(low),
                    Op::Ctzw => ins.ctz(low),
                    _ => ins.popcnt(low),
                };
                self.builder.ins().uextend(I64, count)
            }
            Op::SextB => {
                let low = ins.ireduce(I8, a);
                self.signed(low)
            }
            Op::SextH => {
                let low = ins.ireduce(I16, a);
                self.signed(low)
            }
            Op::ZextH => ins.band_imm(a, 0xffff),
            Op::Rev8 => ins.bswap(a),
            _ => return None,
        })
    }

    pub(crate) fn less(&mut self, condition: IntCC, a: Value, b: Value) -> Value {
        let holds = self.builder.ins().icmp(condition, a, b);
        self.extended(holds)
    }

    pub(crate) fn extended(&mut self, holds: Value) -> Value {
        self.builder.ins().uextend(I64, holds)
    }

    /// The low 32 bits, sign-extended.
    pub(crate) fn word(&mut self, value: Value) -> Value {
        let low = self.builder.ins().ireduce(I32, value);
        self.signed(low)
    }

    pub(crate) fn signed(&mut self, value: Value) -> Value {
        self.builder.ins().sextend(I64, value)
    }

    /// The low 32 bits, zero-extended.
    fn unsigned_word(&mut self, value: Value) -> Value {
        let low = self.builder.ins().ireduce(I32, value);
        self.builder.ins().uextend(I64, low)
    }
}

/// Bits by which an operation shifts its first operand.
fn scale(op: Op) -> i64 {
    match op {
        Op::Sh1add | Op::Sh1addUw => 1,
        Op::Sh2add | Op::Sh2addUw => 2,
        Op::Sh3add | Op::Sh3addUw => 3,
        _ => 0,
    }
}

/// The operation changes nothing that a functional run knows of.
fn is_hint(op: Op) -> bool {
    matches!(
        op,
        Op::Touch
            | Op::AlphaFetch
            | Op::AlphaFetchM
            | Op::AlphaEcb
            | Op::AlphaWh64
            | Op::AlphaWh64en
            | Op::AlphaPrefetch
    )
}

/// An operation on integer registers alone, which never traps.
fn is_computation(op: Op) -> bool {
    matches!(
        op.class(),
        OpClass::IntAlu | OpClass::IntMul | OpClass::IntDiv
    ) && !matches!(
        op,
        Op::AlphaAddlV
            | Op::AlphaSublV
            | Op::AlphaMullV
            | Op::AlphaAddqV
            | Op::AlphaSubqV
            | Op::AlphaMulqV
    )
}
