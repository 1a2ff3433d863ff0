//! Exact IEEE 754 binary16, binary32 and binary64 arithmetic on raw bit patterns.
//!
//! Every operation takes its operands as raw bits, the rounding direction, and the accrued
//! exception flags to which it adds; none touches the floating-point environment of the host. One
//! generic algorithm serves all formats (see [`Format`]); the functions named `f16_*`, `f32_*` and
//! `f64_*` are its instances under the names an instruction interpreter wants.
//!
//! The conventions are those of the RISC-V unprivileged ISA manual, chapters "F" and "D": a NaN
//! result is the canonical quiet NaN, tininess is detected after rounding, `inf * 0 + NaN` is
//! invalid, conversions to integers saturate and raise only `NV`.
//!
//! # Two paths
//!
//! The slow path (`soft`) works on integer significands and is the definition. The fast path
//! computes with the floating-point unit of the host and is taken only where the host's result and
//! flags are provably those of the slow path:
//!
//! - rounding is to nearest, ties to even (the host's own direction, which Rust never changes);
//! - the result shows that no exceptional case arose: it is finite and, unless underflow is
//!   impossible, strictly above the smallest normal magnitude, or an exact zero; and
//! - `NX` is already accrued, or an exact test tells whether the operation is inexact.

mod arith;
mod compare;
mod convert;
mod format;
mod half;
mod integral;
mod named;
mod soft;

#[cfg(test)]
mod tests;

pub use arith::{accrued, add, div, mul, mul_add, sqrt, sub};
pub use compare::{classify, eq, le, le_quiet, lt, lt_quiet, max, max_or_nan, min, min_or_nan};
pub use convert::{Integer, from_int, resize, to_int};
pub use format::{Binary32, Binary64, Format};
pub use half::Binary16;
pub use integral::{f64_to_i32_modular, round_to_integral};
pub use named::*;

/// Accrued exception flags, one bit each, in the order of the RISC-V `fflags` register.
pub mod flag {
    /// Inexact: the rounded result differs from the exact one.
    pub const NX: u8 = 1;
    /// Underflow: the result is inexact and tiny after rounding.
    pub const UF: u8 = 2;
    /// Overflow: the rounded result exceeds the largest finite number.
    pub const OF: u8 = 4;
    /// Division of a finite nonzero number by zero.
    pub const DZ: u8 = 8;
    /// Invalid operation.
    pub const NV: u8 = 16;
}

/// Rounding direction; the discriminants are the encodings of the RISC-V `frm` field and `rm`
/// operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Round {
    /// To nearest, ties to even (`RNE`).
    NearestEven = 0,
    /// Towards zero (`RTZ`).
    TowardZero = 1,
    /// Towards minus infinity (`RDN`).
    Down = 2,
    /// Towards plus infinity (`RUP`).
    Up = 3,
    /// To nearest, ties away from zero (`RMM`).
    NearestMaxMagnitude = 4,
}

impl Round {
    /// All directions, in the order of their RISC-V encodings.
    pub const ALL: [Round; 5] = [
        Self::NearestEven,
        Self::TowardZero,
        Self::Down,
        Self::Up,
        Self::NearestMaxMagnitude,
    ];

    /// The direction a RISC-V `rm` or `frm` value names, or `None` for the reserved encodings (5,
    /// 6) and for 7, which in an instruction means "use `frm`" and in `frm` itself is reserved.
    #[inline]
    pub const fn from_riscv(rm: u8) -> Option<Self> {
        match rm {
            0 => Some(Self::NearestEven),
            1 => Some(Self::TowardZero),
            2 => Some(Self::Down),
            3 => Some(Self::Up),
            4 => Some(Self::NearestMaxMagnitude),
            _ => None,
        }
    }
}
