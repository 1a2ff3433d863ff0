//! Operations of every instruction set, and of DISE, as one enum.
//!
//! The enum and the facts about each operation are generated from the table in
//! `riscv::table`, to which `alpha::table` adds its rows.

use serde::{Deserialize, Serialize};

use crate::inst::OpClass;
use crate::isa::Isa;
use crate::riscv::table::for_each_op;

pub use crate::format::{Format, Operand};

/// Entry of the table for one operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpInfo {
    pub(crate) op: Op,
    pub(crate) mnemonic: &'static str,
    pub(crate) format: Format,
    /// A 32-bit word is this operation if `word & mask == match_bits`.
    pub(crate) match_bits: u32,
    pub(crate) mask: u32,
    pub(crate) class: OpClass,
}

macro_rules! define_ops {
    ($($variant:ident $mnemonic:literal $format:ident $match:literal $mask:literal $class:ident
       $function:path, $doc:literal;)*) => {
        /// An operation.
        // Meanings name ranges of bits, such as `rs2[5:0]`, which are no links.
        #[allow(rustdoc::broken_intra_doc_links)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(into = "u16", try_from = "u16")]
        #[repr(u16)]
        pub enum Op {
            $(
                #[doc = concat!("`", $mnemonic, "`: ", $doc, ".")]
                $variant,
            )*
        }

        /// The table, indexed by [`Op`].
        pub(crate) static OPS: [OpInfo; Op::ALL.len()] = [$(
            OpInfo {
                op: Op::$variant,
                mnemonic: $mnemonic,
                format: Format::$format,
                match_bits: $match,
                mask: $mask,
                class: OpClass::$class,
            },
        )*];

        impl Op {
            /// Every operation, in the order of the table.
            pub const ALL: &'static [Op] = &[$(Op::$variant),*];
        }
    };
}

for_each_op!(define_ops);

impl From<Op> for u16 {
    fn from(op: Op) -> u16 {
        op as u16
    }
}

impl TryFrom<u16> for Op {
    type Error = &'static str;

    fn try_from(number: u16) -> Result<Op, Self::Error> {
        let op = Op::ALL.get(usize::from(number));
        op.copied().ok_or("no operation has this number")
    }
}

/// Defines `STARTS` and `CANDIDATES`, made at compile time: list `b` of the operations for which
/// `$in_bucket(info, b)` holds is `STARTS[b]..STARTS[b + 1]` of `CANDIDATES`.
macro_rules! lists {
    ($buckets:expr, $in_bucket:path) => {
        const fn bucket_starts() -> [u16; $buckets + 1] {
            let mut starts = [0; $buckets + 1];
            let mut total = 0;
            let mut b = 0;
            while b < $buckets {
                starts[b] = total;
                let mut i = 0;
                while i < $crate::ops::OPS.len() {
                    if $in_bucket(&$crate::ops::OPS[i], b) {
                        total += 1;
                    }
                    i += 1;
                }
                b += 1;
            }
            starts[$buckets] = total;
            starts
        }

        static STARTS: [u16; $buckets + 1] = bucket_starts();
        static CANDIDATES: [Op; bucket_starts()[$buckets] as usize] = {
            let mut list = [Op::Illegal; bucket_starts()[$buckets] as usize];
            let mut next = 0;
            let mut b = 0;
            while b < $buckets {
                let mut i = 0;
                while i < $crate::ops::OPS.len() {
                    if $in_bucket(&$crate::ops::OPS[i], b) {
                        list[next] = $crate::ops::OPS[i].op;
                        next += 1;
                    }
                    i += 1;
                }
                b += 1;
            }
            list
        };
    };
}
pub(crate) use lists;

impl Op {
    #[inline]
    pub(crate) fn info(self) -> &'static OpInfo {
        &OPS[self as usize]
    }

    /// The mnemonic in assembly language.
    #[must_use]
    pub fn mnemonic(self) -> &'static str {
        self.info().mnemonic
    }

    /// The instruction set of the operation; none of those of DISE, which every one has.
    #[must_use]
    pub fn isa(self) -> Option<Isa> {
        if self >= Op::FIRST_ALPHA {
            Some(Isa::Alpha)
        } else if self >= Op::DiseBeq || self == Op::Illegal {
            None
        } else {
            Some(Isa::Riscv64)
        }
    }

    /// The first operation of Alpha: its table follows that of RISC-V and DISE.
    const FIRST_ALPHA: Op = Op::AlphaLda;

    /// The operation of a mnemonic of one instruction set or of DISE, without the qualifiers of
    /// Alpha's floating point. `d_mfdr` and `d_mtdr` are both [`Op::DiseMove`].
    #[must_use]
    pub fn from_mnemonic(isa: Isa, mnemonic: &str) -> Option<Op> {
        if matches!(mnemonic, "d_mfdr" | "d_mtdr") {
            return Some(Op::DiseMove);
        }
        OPS[1..]
            .iter()
            .find(|info| info.mnemonic == mnemonic && info.op.isa().is_none_or(|of| of == isa))
            .map(|info| info.op)
    }

    /// The shape of its operands.
    #[must_use]
    pub fn format(self) -> Format {
        self.info().format
    }

    /// The class of the operation, before the registers of a jump are known: `jal` is a
    /// [`OpClass::Jump`] and `jalr` a [`OpClass::JumpIndirect`] here.
    #[must_use]
    pub fn class(self) -> OpClass {
        self.info().class
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn table_is_in_the_order_of_the_enum() {
        for (i, info) in OPS.iter().enumerate() {
            assert_eq!(info.op as usize, i);
            assert_eq!(Op::ALL[i], info.op);
        }
    }

    #[test]
    fn mnemonics_are_unique_and_found() {
        for isa in Isa::ALL {
            let of: Vec<_> = OPS[1..]
                .iter()
                .filter(|info| info.op.isa().is_none_or(|of| of == isa))
                .collect();
            let names: HashSet<_> = of.iter().map(|info| info.mnemonic).collect();
            assert_eq!(names.len(), of.len());
            for info in of {
                assert_eq!(Op::from_mnemonic(isa, info.mnemonic), Some(info.op));
            }
            assert_eq!(Op::from_mnemonic(isa, "d_mfdr"), Some(Op::DiseMove));
            assert_eq!(Op::from_mnemonic(isa, "illegal"), None);
        }
    }

    /// Words of the row may have these bits in the place of Alpha's qualifiers, which the masks leave
    /// out where an operation has many combinations of them.
    fn has_qualifiers(info: &OpInfo, value: i64) -> bool {
        use crate::format::AlphaOperand::Qualifiers;
        !info.format.operands().contains(&Operand::Alpha(Qualifiers))
            || crate::alpha::qualifiers::are_valid(info.format, value)
    }

    /// Operations that are special cases of others, with these.
    const SPECIAL_CASES: [(&str, &str); 1] = [("zext.h", "packw")];

    #[test]
    fn no_two_encodings_overlap() {
        for a in &OPS {
            assert!(
                a.mask == 0 || a.match_bits & !a.mask == 0,
                "{}: match outside mask",
                a.mnemonic
            );
            for b in OPS
                .iter()
                .filter(|b| b.op > a.op && a.mask != 0 && b.mask != 0 && a.op.isa() == b.op.isa())
            {
                let common = a.mask & b.mask;
                // The special case comes first, and is found first.
                let is_special = SPECIAL_CASES.contains(&(a.mnemonic, b.mnemonic))
                    && common == b.mask
                    && a.mask != b.mask;
                assert!(
                    is_special
                        || a.match_bits & common != b.match_bits & common
                        || (0..32).all(|q| !(has_qualifiers(a, q) && has_qualifiers(b, q))),
                    "{} and {} match the same word",
                    a.mnemonic,
                    b.mnemonic
                );
            }
        }
    }
}
