//! Plain loads and stores in line, for callers that know the address already.
//!
//! The functions use what is known of an instruction before it executes, instead of its operation, and as few branches
//! as possible, since the host predicts branches on the kind of an instruction badly. Slow cases (faults, the first
//! store to a page, unaligned accesses) and all other operations are left to [`execute`](super::execute).

use crate::inst::{Op, OpClass};
use crate::memory::Memory;

/// Memory access of a plain load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain {
    /// Bytes of the access.
    pub bytes: u8,
    /// Bits of a register beyond those of the access.
    pub shift: u8,
    /// For a load: the bits of the sign-extended value that the register gets.
    pub mask: u64,
}

impl Plain {
    /// The access of an operation; `None` for an operation that is no plain load or store.
    #[must_use]
    pub fn of(op: Op) -> Option<Plain> {
        let converts = matches!(
            op,
            Op::Flh | Op::Flw | Op::AlphaLds | Op::AlphaSts | Op::Touch
        );
        if converts || !matches!(op.class(), OpClass::Load | OpClass::Store) {
            return None;
        }
        let bytes = op.access_bytes();
        let is_signed = matches!(op, Op::Lb | Op::Lh | Op::Lw | Op::AlphaLdl);
        let shift = 64 - 8 * bytes;
        Some(Plain {
            bytes,
            shift,
            mask: if is_signed {
                u64::MAX
            } else {
                u64::MAX >> shift
            },
        })
    }

    /// Whether the access would have to be put together from pieces.
    #[inline(always)]
    fn is_unaligned(&self, addr: u64) -> bool {
        addr & u64::from(self.bytes.wrapping_sub(1)) != 0
    }

    /// The value that a load gives its register, from an address that
    /// [`Inst::data_address`](crate::inst::Inst::data_address) gave. `None` if [`execute`](super::execute) has to be called.
    #[inline(always)]
    #[must_use]
    pub fn load(&self, mem: &Memory, addr: u64) -> Option<u64> {
        if self.is_unaligned(addr) {
            return None;
        }
        let shift = u32::from(self.shift);
        // The loaded bytes are shifted to the top of the register, and from there to their place.
        let read = mem.read_around(addr)?;
        let top = read.wrapping_shl(shift.wrapping_sub((addr as u32) << 3));
        Some((top as i64).wrapping_shr(shift) as u64 & self.mask)
    }

    /// Stores the value of a register at such an address. `false` if nothing has been stored and
    /// [`execute`](super::execute) has to be called.
    #[inline(always)]
    pub fn store(&self, mem: &mut Memory, addr: u64, value: u64) -> bool {
        if self.is_unaligned(addr) {
            return false;
        }
        let Some(around) = mem.quick_around(addr) else {
            return false;
        };
        let at = (addr as u32) << 3;
        let mask = u64::MAX
            .wrapping_shr(u32::from(self.shift))
            .wrapping_shl(at);
        let old = u64::from_le_bytes(*around);
        *around = (old ^ (old ^ value.wrapping_shl(at)) & mask).to_le_bytes();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Outcome, execute};
    use super::*;
    use crate::hart::Hart;
    use crate::inst::{Inst, reg};
    use crate::memory::{PAGE_SIZE, Perm};

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
        let mut not_plain = Vec::new();
        for &op in Op::ALL {
            let (is_load, is_store) = match op.class() {
                OpClass::Load => (true, false),
                OpClass::Store => (false, true),
                _ => {
                    assert_eq!(Plain::of(op), None, "{op:?}");
                    continue;
                }
            };
            let Some(plain) = Plain::of(op) else {
                not_plain.push(op);
                continue;
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
                let load = || plain.load(&memory, addr);
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
            assert!(quick > 20, "{op:?}: {quick}");
        }
        not_plain.sort_by_key(|op| format!("{op:?}"));
        let converting = [Op::AlphaLds, Op::AlphaSts, Op::Flh, Op::Flw];
        assert_eq!(not_plain, [&converting[..], &[Op::Touch]].concat());
    }
}
