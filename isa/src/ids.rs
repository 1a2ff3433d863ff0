//! Addresses and ages as types of their own, so that they cannot be mixed up at interfaces.
//!
//! Inside hot loops plain `u64` values are used; the types stand where crates meet.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }

        impl From<u64> for $name {
            fn from(value: u64) -> Self {
                Self(value)
            }
        }
    };
}

id_type! {
    /// A guest program counter, in bytes.
    Pc
}
id_type! {
    /// A guest virtual address, in bytes.
    VAddr
}
id_type! {
    /// A guest address divided by the cache line size of the level that speaks.
    LineAddr
}
id_type! {
    /// The age of an instruction in flight: larger is younger, never reused.
    SeqNum
}

/// The position inside an expansion: which replacement instruction of which production.
///
/// Together with the [`Pc`] of the trigger it names every dynamic instruction (`PC:DISEPC`,
/// DISE, ISCA 2003). The production number is part of it so that a restart in the middle of a
/// sequence selects the same sequence again without evaluating conditionals a second time.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DisePc(u16);

impl DisePc {
    /// The program's own instruction, not expanded.
    pub const NONE: DisePc = DisePc(0);

    /// Instruction `index` of the replacement sequence of `production`.
    #[must_use]
    pub const fn new(production: u8, index: u8) -> Self {
        DisePc(((production as u16 + 1) << 8) | index as u16)
    }

    /// The two bytes as they are saved in a signal frame.
    #[must_use]
    pub const fn to_bits(self) -> u16 {
        self.0
    }

    /// The inverse of [`DisePc::to_bits`].
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        DisePc(bits)
    }

    /// The production, if this is inside an expansion.
    #[must_use]
    pub const fn production(self) -> Option<u8> {
        if self.0 == 0 {
            None
        } else {
            Some(((self.0 >> 8) - 1) as u8)
        }
    }

    /// The position behind it in its sequence; none stays none.
    #[must_use]
    pub const fn following(self) -> Self {
        match self.production() {
            Some(p) => DisePc::new(p, self.index().wrapping_add(1)),
            None => DisePc::NONE,
        }
    }

    /// The position at which an instruction restarts. At the beginning of an expansion its decision is made
    /// again.
    #[must_use]
    pub const fn again(self) -> Self {
        if self.index() == 0 {
            DisePc::NONE
        } else {
            self
        }
    }

    /// The position in the replacement sequence (0 outside of one).
    #[must_use]
    pub const fn index(self) -> u8 {
        (self.0 & 0xff) as u8
    }
}

impl fmt::Debug for DisePc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.production() {
            None => write!(f, "DisePc(none)"),
            Some(p) => write!(f, "DisePc(production {p}, index {})", self.index()),
        }
    }
}
