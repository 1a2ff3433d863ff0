//! Parsing of single operands.

use super::super::constants::NAMES;
use super::super::decode::destination;
use super::super::registers::{ROUNDING_MODES, parse_csr};
use crate::asm::{AsmError, Context, Kind, Token, split_memory};
use crate::format::Operand;
use crate::inst::{Inst, Op, reg};
use crate::said;

/// Parser of operands, with the context of their instruction.
pub(super) struct Parser<'a>(pub(super) Context<'a>);

impl Parser<'_> {
    /// Parses one operand into the instruction.
    pub(super) fn operand(
        &self,
        inst: &mut Inst,
        operand: Operand,
        token: Token<'_>,
    ) -> Result<(), AsmError> {
        match operand {
            Operand::Rd => inst.rd = destination(self.register(token, Kind::Integer)?),
            Operand::RdKept => {
                inst.rs3 = self.register(token, Kind::Integer)?;
                inst.rd = destination(inst.rs3);
            }
            Operand::Rs1 => inst.rs1 = self.register(token, Kind::Integer)?,
            Operand::Rs2 => inst.rs2 = self.register(token, Kind::Integer)?,
            Operand::Fd => inst.rd = self.register(token, Kind::Float)?,
            Operand::Fs1 => inst.rs1 = self.register(token, Kind::Float)?,
            Operand::Fs2 => inst.rs2 = self.register(token, Kind::Float)?,
            Operand::Fs3 => inst.rs3 = self.register(token, Kind::Float)?,
            Operand::Imm12 => inst.imm = self.0.ranged(token, -2048, 2047)?,
            Operand::Shamt6 => inst.imm = self.0.ranged(token, 0, 63)?,
            Operand::Shamt5 => inst.imm = self.0.ranged(token, 0, 31)?,
            Operand::Imm20 => {
                inst.imm = i64::from((self.0.ranged(token, 0, 0xf_ffff)? << 12) as i32)
            }
            Operand::MemLoad | Operand::MemStore => {
                (inst.rs1, inst.imm) = self.memory(token, inst.op == Op::Jalr)?;
            }
            Operand::Address => {
                (inst.rs1, inst.imm) = self.memory(token, false)?;
                if inst.imm != 0 {
                    return Err(token.error(format!(
                        "`{}` takes no offset: write `(register)`",
                        self.0.mnemonic
                    )));
                }
            }
            Operand::BranchTarget => inst.imm = self.distance(token, 1 << 12)?,
            Operand::JumpTarget => inst.imm = self.distance(token, 1 << 20)?,
            Operand::Csr => inst.imm |= self.csr(token)?,
            Operand::Zimm => inst.imm |= self.0.ranged(token, 0, 31)? << 12,
            Operand::RoundingMode | Operand::RoundingModeExact => inst.imm = rounding_mode(token)?,
            Operand::RoundingModeTruncate => {
                if token.text != "rtz" {
                    return Err(token.error(format!("`{}` rounds only by rtz", self.0.mnemonic)));
                }
            }
            Operand::Constant => inst.imm = constant(token)?,
            Operand::MopNumber5 | Operand::MopNumber3 => unreachable!("part of the mnemonic"),
            Operand::Index => inst.imm = self.0.ranged(token, 0, 255)?,
            Operand::Handler => inst.imm = self.0.immediate(token)?,
            Operand::FenceSets => inst.imm = self.fence_set(token)?,
            Operand::Alpha(_) => unreachable!("an operand of another instruction set"),
        }
        Ok(())
    }

    fn register(&self, token: Token<'_>, kind: Kind) -> Result<u8, AsmError> {
        let is_float = |register| (reg::FP..reg::DISE).contains(&register);
        self.0
            .register(token, kind, |r| is_float(r) == (kind == Kind::Float))
    }

    /// `imm(register)` or `(register)`; the register alone where `bare` allows it.
    fn memory(&self, token: Token<'_>, bare: bool) -> Result<(u8, i64), AsmError> {
        let Some((offset, register)) = split_memory(token) else {
            if bare {
                return Ok((self.register(token, Kind::Integer)?, 0));
            }
            return Err(token.error(said!(
                "`{name}` is not a memory operand: write `offset(register)`",
                name = token.text
            )));
        };
        let imm = if offset.text.is_empty() {
            0
        } else {
            self.0.ranged(offset, -2048, 2047)?
        };
        Ok((self.register(register, Kind::Integer)?, imm))
    }

    /// The distance from `pc` to an absolute target, below `reach` in both directions.
    fn distance(&self, token: Token<'_>, reach: i64) -> Result<i64, AsmError> {
        let distance = self.0.immediate(token)?.wrapping_sub(self.0.pc as i64);
        if distance & 1 != 0 {
            return Err(token.error(said!(
                "the target `{name}` is not at an even distance",
                name = token.text
            )));
        }
        if (-reach..reach).contains(&distance) {
            return Ok(distance);
        }
        let last = reach - 2;
        Err(token.error(said!(
            "the target is {distance} bytes away: `{name}` reaches -{reach} to {last}",
            distance = distance,
            name = self.0.mnemonic,
            reach = reach,
            last = last
        )))
    }

    fn csr(&self, token: Token<'_>) -> Result<i64, AsmError> {
        match parse_csr(token.text) {
            Some(number) => Ok(i64::from(number)),
            None => self.0.ranged(token, 0, 0xfff),
        }
    }

    /// Letters of `iorw` in this order, or 0.
    pub(super) fn fence_set(&self, token: Token<'_>) -> Result<i64, AsmError> {
        let mut rest = token.text;
        let mut bits = 0;
        for (i, letter) in ['i', 'o', 'r', 'w'].into_iter().enumerate() {
            if let Some(tail) = rest.strip_prefix(letter) {
                bits |= 8 >> i;
                rest = tail;
            }
        }
        if rest.is_empty() || token.text == "0" {
            return Ok(bits);
        }
        Err(token.error(format!(
            "`{}` is no set of accesses: write letters of `iorw` in this order, or 0",
            token.text
        )))
    }
}

/// A constant of `fli`, written in any way that gives its value.
fn constant(token: Token<'_>) -> Result<i64, AsmError> {
    let value: Option<f64> = token.text.parse().ok();
    let is_it = |name: &str| name == token.text || name.parse().ok() == value && value.is_some();
    NAMES
        .iter()
        .position(|name| is_it(name))
        .map(|number| number as i64)
        .ok_or_else(|| token.error(format!("`{}` is no constant that `fli` has", token.text)))
}

fn rounding_mode(token: Token<'_>) -> Result<i64, AsmError> {
    ROUNDING_MODES
        .iter()
        .position(|&name| name == Some(token.text))
        .map(|mode| mode as i64)
        .ok_or_else(|| {
            token.error(format!(
                "`{}` is no rounding mode: use rne, rtz, rdn, rup, rmm or dyn",
                token.text
            ))
        })
}

/// The operand in messages about what an instruction takes.
pub(super) fn describe(operand: Operand) -> &'static str {
    match operand {
        Operand::Rd | Operand::RdKept => "rd",
        Operand::Rs1 => "rs1",
        Operand::Rs2 => "rs2",
        Operand::Fd => "fd",
        Operand::Fs1 => "fs1",
        Operand::Fs2 => "fs2",
        Operand::Fs3 => "fs3",
        Operand::Imm12 | Operand::Imm20 | Operand::Zimm => "imm",
        Operand::Shamt6 | Operand::Shamt5 => "shamt",
        Operand::MemLoad | Operand::MemStore => "offset(rs1)",
        Operand::Address => "(rs1)",
        Operand::BranchTarget | Operand::JumpTarget => "target",
        Operand::Csr => "csr",
        Operand::FenceSets => "predecessors, successors",
        Operand::RoundingMode | Operand::RoundingModeExact => "[rm]",
        Operand::RoundingModeTruncate => "rtz",
        Operand::Constant => "constant",
        Operand::MopNumber5 | Operand::MopNumber3 => "number",
        Operand::Index => "index",
        Operand::Handler => "handler",
        Operand::Alpha(_) => unreachable!("an operand of another instruction set"),
    }
}
