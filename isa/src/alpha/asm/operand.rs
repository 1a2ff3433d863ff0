//! Parsing of single operands.

use super::super::decode::{HINT_MASK, LITERAL};
use crate::asm::{AsmError, Context, Kind, Token, split_memory};
use crate::format::{AlphaOperand, Operand};
use crate::inst::{Inst, Op, reg};
use crate::said;

/// Parser of operands, with the context of their instruction.
pub(super) struct Parser<'a>(pub(super) Context<'a>);

/// The zero register as a destination is the sink.
fn destination(register: u8) -> u8 {
    match register {
        reg::ZERO => reg::SINK,
        r => r,
    }
}

impl Parser<'_> {
    /// Parses one operand into the instruction.
    pub(super) fn operand(
        &self,
        inst: &mut Inst,
        operand: Operand,
        token: Token<'_>,
    ) -> Result<(), AsmError> {
        match operand {
            Operand::Alpha(operand) => return self.alpha_operand(inst, operand, token),
            Operand::Rd => inst.rd = destination(self.integer(token)?),
            Operand::Rs1 => inst.rs1 = self.integer(token)?,
            Operand::Rs2 => inst.rs2 = self.integer(token)?,
            Operand::Index => inst.imm = self.0.ranged(token, 0, 255)?,
            Operand::Handler => inst.imm = self.0.immediate(token)?,
            _ => unreachable!("an operand of another instruction set"),
        }
        Ok(())
    }

    fn alpha_operand(
        &self,
        inst: &mut Inst,
        operand: AlphaOperand,
        token: Token<'_>,
    ) -> Result<(), AsmError> {
        use AlphaOperand as A;
        match operand {
            A::RaWritten | A::RcWritten => inst.rd = destination(self.integer(token)?),
            A::RaFirst => inst.rs1 = self.integer(token)?,
            A::RaStored => inst.rs2 = self.integer(token)?,
            A::RaStoredWritten => {
                inst.rs2 = self.integer(token)?;
                inst.rd = destination(inst.rs2);
            }
            A::RcKept => {
                inst.rs3 = self.integer(token)?;
                inst.rd = destination(inst.rs3);
            }
            A::FaWritten | A::FcWritten => inst.rd = destination(self.float(token)?),
            A::FaFirst => inst.rs1 = self.float(token)?,
            A::FaStored | A::FbSecond => inst.rs2 = self.float(token)?,
            A::FcKept => {
                inst.rs3 = self.float(token)?;
                inst.rd = destination(inst.rs3);
            }
            A::MemDisp16 => (inst.rs1, inst.imm) = self.memory(token)?,
            A::MemDisp16High => {
                let (base, high) = self.memory(token)?;
                (inst.rs1, inst.imm) = (base, high << 16);
            }
            A::RbAddress => match self.memory(token)? {
                (base, 0) => inst.rs1 = base,
                _ => {
                    let message =
                        format!("`{}` takes no offset: write `(register)`", self.0.mnemonic);
                    return Err(token.error(message));
                }
            },
            A::Disp21 => inst.imm = 4 + 4 * self.distance(token, 21)?,
            A::JumpHint if matches!(inst.op, Op::AlphaJmp | Op::AlphaJsr) => {
                inst.imm = self.distance(token, 14)? & i64::from(HINT_MASK);
            }
            A::JumpHint => inst.imm = self.0.ranged(token, 0, i64::from(HINT_MASK))?,
            A::RbOrLiteral => self.second(inst, token)?,
            A::Qualifiers | A::PalFunction => {}
        }
        Ok(())
    }

    pub(super) fn integer(&self, token: Token<'_>) -> Result<u8, AsmError> {
        // `$f31` is number 0, too, and must not pass for `zero`.
        let names_float = is_float_name(token.text);
        self.0.register(token, Kind::Integer, |r| {
            !names_float && !(reg::FP..reg::DISE).contains(&r)
        })
    }

    fn float(&self, token: Token<'_>) -> Result<u8, AsmError> {
        let names_float = is_float_name(token.text);
        self.0.register(token, Kind::Float, |r| {
            names_float && (r == reg::ZERO || (reg::FP..reg::DISE).contains(&r))
        })
    }

    /// A register, or a literal of 8 bits.
    fn second(&self, inst: &mut Inst, token: Token<'_>) -> Result<(), AsmError> {
        if self.0.is_register(token) {
            inst.rs2 = self.integer(token)?;
            return Ok(());
        }
        let number = match token.text.strip_prefix('#') {
            Some(rest) => Token {
                text: rest.trim_start(),
                column: token.column + 1,
            },
            None => token,
        };
        inst.imm = LITERAL | self.0.ranged(number, 0, 255)?;
        Ok(())
    }

    /// `disp(register)`, `(register)`, or `disp` alone, which is one of the zero register.
    fn memory(&self, token: Token<'_>) -> Result<(u8, i64), AsmError> {
        const LOW: i64 = i16::MIN as i64;
        const HIGH: i64 = i16::MAX as i64;
        let Some((offset, register)) = split_memory(token) else {
            return Ok((reg::ZERO, self.0.ranged(token, LOW, HIGH)?));
        };
        let disp = if offset.text.is_empty() {
            0
        } else {
            self.0.ranged(offset, LOW, HIGH)?
        };
        Ok((self.integer(register)?, disp))
    }

    /// The distance from the next instruction to an absolute target, in instructions, as a signed
    /// number of `bits` bits.
    fn distance(&self, token: Token<'_>, bits: u32) -> Result<i64, AsmError> {
        let next = self.0.pc.wrapping_add(4) as i64;
        let distance = self.0.immediate(token)?.wrapping_sub(next);
        if distance & 3 != 0 {
            return Err(token.error(said!(
                "the target `{name}` is not at a multiple of 4 bytes",
                name = token.text
            )));
        }
        let reach = 1i64 << (bits + 1);
        if (-reach..reach).contains(&distance) {
            return Ok(distance >> 2);
        }
        let last = reach - 4;
        Err(token.error(said!(
            "the target is {distance} bytes behind the next instruction: `{name}` reaches -{reach} to {last}",
            distance = distance,
            name = self.0.mnemonic,
            reach = reach,
            last = last
        )))
    }
}

/// `$f0` to `$f31`, `f0` to `f31`; not `fp`.
fn is_float_name(text: &str) -> bool {
    text.strip_prefix("$f")
        .or(text.strip_prefix('f'))
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The operand in messages about what an instruction takes; nothing for one that is not written.
pub(super) fn describe(operand: Operand) -> Option<&'static str> {
    use AlphaOperand as A;
    Some(match operand {
        Operand::Rd => "rd",
        Operand::Rs1 => "rs1",
        Operand::Rs2 => "rs2",
        Operand::Index => "index",
        Operand::Handler => "handler",
        Operand::Alpha(operand) => match operand {
            A::RaWritten | A::RaFirst | A::RaStored | A::RaStoredWritten => "ra",
            A::FaWritten | A::FaFirst | A::FaStored => "fa",
            A::MemDisp16 | A::MemDisp16High => "disp(rb)",
            A::RbAddress => "(rb)",
            A::Disp21 => "target",
            A::JumpHint => "[hint]",
            A::RbOrLiteral => "register or literal",
            A::RcWritten | A::RcKept => "rc",
            A::FbSecond => "fb",
            A::FcWritten | A::FcKept => "fc",
            A::Qualifiers | A::PalFunction => return None,
        },
        _ => unreachable!("an operand of another instruction set"),
    })
}
