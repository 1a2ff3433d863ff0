//! The flags of the counters, and conditions on them: the masking layer of HPS.
//!
//! Flags are a plain word: the engine evaluates conditions for each decoded instruction that a pattern matches.

use std::fmt;

use bitvec::order::Lsb0;
use bitvec::view::BitView;

/// A conjunction of flags and negated flags. Bit `2 N` stands for `overflow_N`, bit `2 N + 1`
/// for `zero_N`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FlagCondition {
    /// Flags that are looked at.
    pub care: u32,
    /// The value that each of those must have.
    pub want: u32,
}

/// Flag bit of `overflow_N`.
#[must_use]
pub const fn overflow_bit(counter: u8) -> u32 {
    1 << (2 * counter as u32)
}

/// Flag bit of `zero_N`.
#[must_use]
pub const fn zero_bit(counter: u8) -> u32 {
    2 << (2 * counter as u32)
}

/// `overflow_N` or `zero_N` for one flag bit.
#[must_use]
pub fn flag_name(bit: u32) -> String {
    let kind = if bit.is_multiple_of(2) {
        "overflow"
    } else {
        "zero"
    };
    format!("{kind}_{}", bit / 2)
}

/// Positions of the bits that are set in a word of flags, lowest first.
#[must_use]
pub fn bits_of(flags: u32) -> Vec<u32> {
    let ones = flags.view_bits::<Lsb0>().iter_ones();
    ones.map(|bit| bit as u32).collect()
}

impl FlagCondition {
    /// Whether the flags meet it.
    #[inline]
    #[must_use]
    pub const fn holds(self, flags: u32) -> bool {
        (flags ^ self.want) & self.care == 0
    }

    /// Both conditions, or `None` if no state of the counters meets both. A counter cannot be
    /// zero and at its maximum at once.
    #[must_use]
    pub const fn and(self, other: FlagCondition) -> Option<FlagCondition> {
        if (self.want ^ other.want) & self.care & other.care != 0 {
            return None;
        }
        let care = self.care | other.care;
        let want = self.want | other.want;
        let overflow = want & 0x5555_5555;
        if overflow & (want >> 1) != 0 {
            return None;
        }
        Some(FlagCondition { care, want })
    }

    /// Whether every state that meets `other` meets this one.
    #[must_use]
    pub const fn covers(self, other: FlagCondition) -> bool {
        self.care & !other.care == 0 && (self.want ^ other.want) & self.care == 0
    }

    /// The flags looked at, as positions of their bits in ascending order.
    pub fn tested_bits(self) -> impl Iterator<Item = u32> {
        bits_of(self.care).into_iter()
    }

    /// Number of flags looked at.
    #[must_use]
    pub const fn fixed_bits(self) -> u32 {
        self.care.count_ones()
    }
}

impl fmt::Display for FlagCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for bit in self.tested_bits() {
            let not = if self.want >> bit & 1 == 0 { "!" } else { "" };
            write!(f, "{separator}{not}{}", flag_name(bit))?;
            separator = " && ";
        }
        Ok(())
    }
}
