//! Operations of every instruction set, and of DISE, as one enum.
//!
//! The enum and the facts about each operation are generated from the table in
//! `riscv::table`; a second instruction set adds its own table to [`Op`].

use crate::inst::OpClass;
use crate::riscv::table::for_each_op;

pub use crate::riscv::format::{Format, Operand};

/// What the table says about one operation.
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
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

    /// The operation of a mnemonic. `d_mfdr` and `d_mtdr` are both [`Op::DiseMove`].
    #[must_use]
    pub fn from_mnemonic(mnemonic: &str) -> Option<Op> {
        if matches!(mnemonic, "d_mfdr" | "d_mtdr") {
            return Some(Op::DiseMove);
        }
        OPS[1..]
            .iter()
            .find(|info| info.mnemonic == mnemonic)
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
        let names: HashSet<_> = OPS.iter().map(|info| info.mnemonic).collect();
        assert_eq!(names.len(), OPS.len());
        for info in &OPS[1..] {
            assert_eq!(Op::from_mnemonic(info.mnemonic), Some(info.op));
        }
        assert_eq!(Op::from_mnemonic("d_mfdr"), Some(Op::DiseMove));
        assert_eq!(Op::from_mnemonic("illegal"), None);
    }

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
                .filter(|b| b.op > a.op && a.mask != 0 && b.mask != 0)
            {
                let common = a.mask & b.mask;
                assert_ne!(
                    a.match_bits & common,
                    b.match_bits & common,
                    "{} and {} match the same word",
                    a.mnemonic,
                    b.mnemonic
                );
            }
        }
    }
}
