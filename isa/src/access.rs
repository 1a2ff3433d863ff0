//! How many bytes a memory operation moves.

use crate::ops::Op;

impl Op {
    /// Bytes that a memory operation reads or writes; 8 for any operation not listed with less.
    #[inline]
    #[must_use]
    pub const fn access_bytes(self) -> u8 {
        match self {
            Op::Lb | Op::Lbu | Op::Sb | Op::AlphaLdbu | Op::AlphaStb => 1,
            Op::CboInval | Op::CboClean | Op::CboFlush | Op::Touch => 1,
            Op::Lh | Op::Lhu | Op::Sh | Op::Flh | Op::Fsh | Op::AlphaLdwu | Op::AlphaStw => 2,
            Op::Lw | Op::Lwu | Op::Sw | Op::Flw | Op::Fsw => 4,
            Op::AlphaLdl
            | Op::AlphaStl
            | Op::AlphaLds
            | Op::AlphaSts
            | Op::AlphaLdlL
            | Op::AlphaStlC => 4,
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
            | Op::AmomaxuW
            | Op::AmocasW => 4,
            Op::AmoswapB
            | Op::AmoaddB
            | Op::AmoxorB
            | Op::AmoandB
            | Op::AmoorB
            | Op::AmominB
            | Op::AmomaxB
            | Op::AmominuB
            | Op::AmomaxuB
            | Op::AmocasB => 1,
            Op::AmoswapH
            | Op::AmoaddH
            | Op::AmoxorH
            | Op::AmoandH
            | Op::AmoorH
            | Op::AmominH
            | Op::AmomaxH
            | Op::AmominuH
            | Op::AmomaxuH
            | Op::AmocasH => 2,
            _ => 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::{Bus, MemFault};
    use crate::exec::execute;
    use crate::hart::Hart;
    use crate::inst::Inst;

    /// Remembers how many bytes were accessed last.
    struct Width(usize);

    impl Bus for Width {
        fn load<const N: usize>(&mut self, _: u64) -> Result<u64, MemFault> {
            self.0 = N;
            Ok(0)
        }
        fn store<const N: usize>(&mut self, _: u64, _: u64) -> Result<(), MemFault> {
            self.0 = N;
            Ok(())
        }
    }

    #[test]
    fn every_operation_moves_as_many_bytes_as_it_says() {
        let accesses = |op: &&Op| op.class().is_memory() && **op != Op::Touch;
        for &op in Op::ALL.iter().filter(accesses) {
            let inst = Inst {
                op,
                ..Inst::illegal(4)
            };
            // Store-conditionals need their reservation.
            let mut hart = Hart {
                reservation: 0,
                ..Hart::default()
            };
            let mut bus = Width(0);
            execute(&mut hart, &mut bus, &inst, 0);
            assert_eq!(bus.0, usize::from(op.access_bytes()), "{op:?}");
        }
    }
}
