//! How many bytes a memory operation moves.

use crate::ops::Op;

impl Op {
    /// Bytes that a memory operation reads or writes; 8 for any operation not listed with less.
    #[inline]
    #[must_use]
    pub const fn access_bytes(self) -> u8 {
        match self {
            Op::Lb | Op::Lbu | Op::Sb => 1,
            Op::Lh | Op::Lhu | Op::Sh => 2,
            Op::Lw | Op::Lwu | Op::Sw | Op::Flw | Op::Fsw => 4,
            Op::LrW
            | Op::ScW
            | Op::AmoswapW
            | Op::AmoaddW
            | Op::AmoxorW
            | Op::AmoandW
            | Op::AmoorW
            | Op::AmominW
            | Op::AmomaxW
            | Op::AmominuW
            | Op::AmomaxuW => 4,
            _ => 8,
        }
    }
}
