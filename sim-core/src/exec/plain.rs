//! Plain loads and stores without a call and without asking for the operation, for those who know the address already:
//! by what is known of an instruction before it executes, and with as few branches as possible, since it is hard to
//! predict what comes next. What is not quick (what faults, the first store to a page, an access near the end of a page,
//! of Alpha what is not aligned) they leave to [`execute`](super::execute), and operations that are not plain altogether.

use crate::inst::{Op, OpClass};
use crate::isa::Isa;
use crate::memory::{Memory, PAGE_SIZE};

/// How an operation accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain {
    /// Bytes of a store; a load always reads eight and drops what is too much.
    pub bytes: u8,
    /// Of a load: bits to drop.
    pub shift: u8,
    /// Bits of an address that must be zero.
    pub align: u8,
    /// An access is quick that begins before this byte of a page. Zero: none is, since the operation is not plain.
    pub limit: u16,
    /// Of a load: the bits of the value, which has been sign-extended, that the register gets.
    pub mask: u64,
}

impl Plain {
    /// How an operation accesses memory that does.
    #[must_use]
    pub fn of(op: Op) -> Plain {
        let bytes = op.access_bytes();
        let is_load = matches!(op.class(), OpClass::Load);
        let is_store = matches!(op.class(), OpClass::Store);
        let converts = matches!(op, Op::Flw | Op::AlphaLds | Op::AlphaSts);
        let is_signed = matches!(op, Op::Lb | Op::Lh | Op::Lw | Op::AlphaLdl);
        let shift = 64 - 8 * bytes;
        // What is read is eight bytes.
        let read = if is_load { 8 } else { u16::from(bytes) };
        Plain {
            bytes,
            shift,
            align: if op.isa() == Some(Isa::Alpha) {
                bytes - 1
            } else {
                0
            },
            limit: if (is_load || is_store) && !converts {
                PAGE_SIZE as u16 - read + 1
            } else {
                0
            },
            mask: if is_signed {
                u64::MAX
            } else {
                u64::MAX >> shift
            },
        }
    }

    /// The value that a load gives its register, from an address that
    /// [`Inst::data_address`](crate::inst::Inst::data_address) gave. None: [`execute`](super::execute) says what happens.
    ///
    /// # Safety
    /// The limit is one that [`Self::of`] gave for a load.
    #[inline(always)]
    #[must_use]
    pub unsafe fn load(&self, mem: &Memory, addr: u64) -> Option<u64> {
        if addr & u64::from(self.align) != 0 {
            return None;
        }
        // SAFETY: see `of`, which leaves room for eight bytes.
        let read = unsafe { mem.read_before(addr, self.limit) }?;
        Some(((read << self.shift) as i64 >> self.shift) as u64 & self.mask)
    }

    /// Stores the value of a register at such an address. False: nothing has been stored, and
    /// [`execute`](super::execute) does what happens.
    #[inline(always)]
    pub fn store(&self, mem: &mut Memory, addr: u64, value: u64) -> bool {
        addr & u64::from(self.align) == 0 && mem.write_before(addr, self.limit, value, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Outcome, execute};
    use super::*;
    use crate::hart::Hart;
    use crate::inst::{Inst, reg};
    use crate::memory::Perm;

    const FIRST: u64 = 0x1_0000;
    const BYTES: u64 = 0x4000;

    fn content(mem: &Memory) -> Vec<u8> {
        mem.readable(FIRST, BYTES).unwrap().to_vec()
    }

    #[test]
    fn a_plain_access_does_what_execution_does() {
        let mut state = 3_u64;
        let mut random = move || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            state ^ state >> 29
        };
        let mut memory = Memory::new(1 << 20).unwrap();
        memory.map(FIRST, BYTES, Perm::RW).unwrap();
        for &op in Op::ALL {
            let plain = Plain::of(op);
            let (is_load, is_store) = match op.class() {
                OpClass::Load => (true, false),
                OpClass::Store => (false, true),
                _ => {
                    assert_eq!(plain.limit, 0, "{op:?}");
                    continue;
                }
            };
            let (mut quick, mut refused) = (0, 0);
            for _ in 0..400 {
                let bytes: Vec<u8> = (0..BYTES).map(|_| random() as u8).collect();
                memory.write_bytes(FIRST, &bytes).unwrap();
                let mut hart = Hart::default();
                // Mostly inside, often near the ends of pages.
                let page = random() % 5 * PAGE_SIZE;
                hart.r[1] = FIRST + page + random() % PAGE_SIZE * (random() % 2) - random() % 10;
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
                // SAFETY: it is of a load.
                let load = || unsafe { plain.load(&memory, addr) };
                let loaded = is_load.then(load).flatten();
                let before = content(&memory);
                let stored = is_store && plain.store(&mut memory, addr, hart.r[2]);
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
            assert!(refused > 10, "{op:?}");
            let converts = matches!(op, Op::Flw | Op::AlphaLds | Op::AlphaSts);
            assert_eq!(quick > 20, !converts, "{op:?}: {quick}");
        }
    }
}
