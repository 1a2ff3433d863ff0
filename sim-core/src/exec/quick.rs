//! Loads and stores by their address, for those who know it already and ask for an operation once and execute it many
//! times. What is not quick (what faults, the first store to a page, an access to two pages, of Alpha what is not
//! aligned) they leave to [`execute`](super::execute).

use crate::alpha::exec::mem as alpha;
use crate::inst::Op;
use crate::memory::Memory;
use crate::riscv::exec::mem as riscv;

/// The value that a load gives its register, from an address that [`Inst::data_address`](crate::inst::Inst::data_address)
/// gave. None: [`execute`](super::execute) says what happens.
pub type Load = fn(&Memory, u64) -> Option<u64>;

/// Stores the value of a register at such an address. False: nothing has been stored, and
/// [`execute`](super::execute) does what happens.
pub type Store = fn(&mut Memory, u64, u64) -> bool;

impl Op {
    /// This operation, if it is a plain load.
    #[must_use]
    pub fn load(self) -> Option<Load> {
        Some(match self {
            Op::Lb => riscv::quick_loads::lb,
            Op::Lh => riscv::quick_loads::lh,
            Op::Lw => riscv::quick_loads::lw,
            Op::Ld => riscv::quick_loads::ld,
            Op::Lbu => riscv::quick_loads::lbu,
            Op::Lhu => riscv::quick_loads::lhu,
            Op::Lwu => riscv::quick_loads::lwu,
            Op::Flw => riscv::quick_loads::flw,
            Op::Fld => riscv::quick_loads::fld,
            Op::AlphaLdbu => alpha::quick_loads::ldbu,
            Op::AlphaLdwu => alpha::quick_loads::ldwu,
            Op::AlphaLdl => alpha::quick_loads::ldl,
            Op::AlphaLdq => alpha::quick_loads::ldq,
            Op::AlphaLdqU => alpha::quick_loads::ldq_u,
            Op::AlphaLds => alpha::quick_loads::lds,
            Op::AlphaLdt => alpha::quick_loads::ldt,
            _ => return None,
        })
    }

    /// This operation, if it is a plain store.
    #[must_use]
    pub fn store(self) -> Option<Store> {
        Some(match self {
            Op::Sb => riscv::quick_stores::sb,
            Op::Sh => riscv::quick_stores::sh,
            Op::Sw => riscv::quick_stores::sw,
            Op::Sd => riscv::quick_stores::sd,
            Op::Fsw => riscv::quick_stores::fsw,
            Op::Fsd => riscv::quick_stores::fsd,
            Op::AlphaStb => alpha::quick_stores::stb,
            Op::AlphaStw => alpha::quick_stores::stw,
            Op::AlphaStl => alpha::quick_stores::stl,
            Op::AlphaStq => alpha::quick_stores::stq,
            Op::AlphaStqU => alpha::quick_stores::stq_u,
            Op::AlphaSts => alpha::quick_stores::sts,
            Op::AlphaStt => alpha::quick_stores::stt,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Outcome, execute};
    use crate::hart::Hart;
    use crate::inst::{Inst, Op, OpClass, reg};
    use crate::memory::{Memory, Perm};

    const FIRST: u64 = 0x1_0000;
    const BYTES: u64 = 0x4000;

    fn content(mem: &Memory) -> Vec<u8> {
        mem.readable(FIRST, BYTES).unwrap().to_vec()
    }

    #[test]
    fn by_its_address_each_access_does_what_execution_does() {
        let mut state = 3_u64;
        let mut random = move || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            state ^ state >> 29
        };
        let mut memory = Memory::new(1 << 20).unwrap();
        memory.map(FIRST, BYTES, Perm::RW).unwrap();
        let (mut quick, mut refused) = (0, 0);
        for &op in Op::ALL {
            let is = |class| op.class() == class;
            assert_eq!(op.load().is_some(), is(OpClass::Load), "{op:?}");
            assert_eq!(op.store().is_some(), is(OpClass::Store), "{op:?}");
            if !is(OpClass::Load) && !is(OpClass::Store) {
                continue;
            }
            for _ in 0..200 {
                let bytes: Vec<u8> = (0..BYTES).map(|_| random() as u8).collect();
                memory.write_bytes(FIRST, &bytes).unwrap();
                let mut hart = Hart::default();
                // Mostly inside, now and then across its ends or those of its pages.
                hart.r[1] = FIRST + random() % (BYTES + 16) / 4 * (1 + random() % 4);
                hart.r[2] = random();
                hart.r[usize::from(reg::UNALIGNED)] = random() % 2;
                let inst = Inst {
                    op,
                    imm: (random() % 9) as i64 - 8,
                    rd: 3,
                    rs1: 1,
                    rs2: 2,
                    ..Inst::illegal(4)
                };
                let addr = inst.data_address(hart.r[1]);
                let loaded = op.load().and_then(|load| load(&memory, addr));
                let before = content(&memory);
                let stored = op
                    .store()
                    .is_some_and(|store| store(&mut memory, addr, hart.r[2]));
                let behind = content(&memory);
                memory.write_bytes(FIRST, &bytes).unwrap();
                let outcome = execute(&mut hart, &mut memory, &inst, 0);
                if loaded.is_none() && !stored {
                    assert_eq!(before, behind, "{inst:?}");
                    refused += 1;
                    continue;
                }
                quick += 1;
                assert_eq!(outcome, Outcome::Next, "{inst:?}");
                assert_eq!(content(&memory), behind, "{inst:?} to {addr:#x}");
                assert!(loaded.is_none_or(|value| value == hart.r[3]), "{inst:?}");
            }
        }
        assert!(quick > 2000 && refused > 300, "{quick} {refused}");
    }
}
