//! Operations of Alpha on integer registers that are no operation of RISC-V.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use hps_isa::inst::{Inst, Op};

use crate::conditions::move_condition;
use crate::ops::Operands;
use crate::unit::Emitter;

impl Emitter<'_, '_> {
    /// Operations of Alpha that have no simpler form.
    pub(crate) fn alpha(&mut self, inst: &Inst, Operands { a, b, imm }: Operands) -> Option<Value> {
        // The second operand is a register or a literal, and the other one is zero.
        let second = |emitter: &mut Self| match imm & 0xff {
            0 => b,
            literal => emitter.builder.ins().iadd_imm(b, literal),
        };
        let compared = |op| {
            Some(match op {
                Op::AlphaCmpeq => IntCC::Equal,
                Op::AlphaCmplt => IntCC::SignedLessThan,
                Op::AlphaCmple => IntCC::SignedLessThanOrEqual,
                Op::AlphaCmpult => IntCC::UnsignedLessThan,
                Op::AlphaCmpule => IntCC::UnsignedLessThanOrEqual,
                _ => return None,
            })
        };
        if let Some(condition) = compared(inst.op) {
            let second = second(self);
            return Some(self.less(condition, a, second));
        }
        if let Some(condition) = move_condition(inst.op) {
            let moved = second(self);
            let kept = self.read(inst.rs3);
            let holds = self.holds(condition, a);
            return Some(self.builder.ins().select(holds, moved, kept));
        }
        Some(match inst.op {
            Op::AlphaAddl
            | Op::AlphaSubl
            | Op::AlphaS4addl
            | Op::AlphaS8addl
            | Op::AlphaS4subl
            | Op::AlphaS8subl
            | Op::AlphaAddq
            | Op::AlphaSubq
            | Op::AlphaS4addq
            | Op::AlphaS8addq
            | Op::AlphaS4subq
            | Op::AlphaS8subq => {
                let second = second(self);
                self.alpha_sum(inst.op, a, second)
            }
            Op::AlphaMull | Op::AlphaMulq => {
                let second = second(self);
                let product = self.builder.ins().imul(a, second);
                match inst.op {
                    Op::AlphaMull => self.word(product),
                    _ => product,
                }
            }
            Op::AlphaUmulh => {
                let second = second(self);
                self.builder.ins().umulhi(a, second)
            }
            Op::AlphaBis => {
                let second = second(self);
                self.builder.ins().bor(a, second)
            }
            _ => {
                let second = second(self);
                self.alpha_bytes(inst.op, a, second)?
            }
        })
    }

    /// Sums of a multiple of the first operand and the second one.
    fn alpha_sum(&mut self, op: Op, a: Value, b: Value) -> Value {
        let scale = match op {
            Op::AlphaS4addl | Op::AlphaS4subl | Op::AlphaS4addq | Op::AlphaS4subq => 2,
            Op::AlphaS8addl | Op::AlphaS8subl | Op::AlphaS8addq | Op::AlphaS8subq => 3,
            _ => 0,
        };
        let scaled = self.builder.ins().ishl_imm(a, scale);
        let subtracts = matches!(
            op,
            Op::AlphaSubl
                | Op::AlphaS4subl
                | Op::AlphaS8subl
                | Op::AlphaSubq
                | Op::AlphaS4subq
                | Op::AlphaS8subq
        );
        let sum = match subtracts {
            true => self.builder.ins().isub(scaled, b),
            false => self.builder.ins().iadd(scaled, b),
        };
        let is_word = matches!(
            op,
            Op::AlphaAddl
                | Op::AlphaSubl
                | Op::AlphaS4addl
                | Op::AlphaS8addl
                | Op::AlphaS4subl
                | Op::AlphaS8subl
        );
        if is_word { self.word(sum) } else { sum }
    }

    /// Byte manipulation at the byte that the second operand names.
    fn alpha_bytes(&mut self, op: Op, a: Value, b: Value) -> Option<Value> {
        const BYTE: i64 = 0xff;
        const WORD: i64 = 0xffff;
        const LONGWORD: i64 = 0xffff_ffff;
        const QUADWORD: i64 = -1;
        let field = match op {
            Op::AlphaExtbl | Op::AlphaInsbl | Op::AlphaMskbl => BYTE,
            Op::AlphaExtwl
            | Op::AlphaInswl
            | Op::AlphaMskwl
            | Op::AlphaExtwh
            | Op::AlphaInswh
            | Op::AlphaMskwh => WORD,
            Op::AlphaExtll
            | Op::AlphaInsll
            | Op::AlphaMskll
            | Op::AlphaExtlh
            | Op::AlphaInslh
            | Op::AlphaMsklh => LONGWORD,
            Op::AlphaExtql
            | Op::AlphaInsql
            | Op::AlphaMskql
            | Op::AlphaExtqh
            | Op::AlphaInsqh
            | Op::AlphaMskqh => QUADWORD,
            _ => return None,
        };
        let shift = self.builder.ins().ishl_imm(b, 3);
        let shift = self.builder.ins().band_imm(shift, 56);
        Some(match op {
            Op::AlphaExtbl | Op::AlphaExtwl | Op::AlphaExtll | Op::AlphaExtql => {
                let shifted = self.builder.ins().ushr(a, shift);
                self.builder.ins().band_imm(shifted, field)
            }
            Op::AlphaExtwh | Op::AlphaExtlh | Op::AlphaExtqh => {
                // The shift is modulo 64, as the host's is.
                let back = self.builder.ins().ineg(shift);
                let shifted = self.builder.ins().ishl(a, back);
                self.builder.ins().band_imm(shifted, field)
            }
            Op::AlphaInsbl | Op::AlphaInswl | Op::AlphaInsll | Op::AlphaInsql => {
                let part = self.builder.ins().band_imm(a, field);
                self.builder.ins().ishl(part, shift)
            }
            Op::AlphaMskbl | Op::AlphaMskwl | Op::AlphaMskll | Op::AlphaMskql => {
                let field = self.constant(field as u64);
                let mask = self.builder.ins().ishl(field, shift);
                self.builder.ins().band_not(a, mask)
            }
            Op::AlphaInswh | Op::AlphaInslh | Op::AlphaInsqh => {
                let part = self.builder.ins().band_imm(a, field);
                self.insert_high(part, shift)
            }
            _ => {
                let field = self.constant(field as u64);
                let mask = self.insert_high(field, shift);
                self.builder.ins().band_not(a, mask)
            }
        })
    }

    /// The bytes that a shift to the left loses.
    fn insert_high(&mut self, value: Value, shift: Value) -> Value {
        let all = self.constant(63);
        let rest = self.builder.ins().isub(all, shift);
        let half = self.builder.ins().ushr_imm(value, 1);
        self.builder.ins().ushr(half, rest)
    }
}
