//! Effects of instructions: kinds, and the data that the core keeps for each kind.

use hps_isa::exec::{Condition, Plain, Straight};
use hps_isa::inst::{Inst, Logic, OpClass, Sum, reg};

use crate::model::kind;
use crate::predict::Site;

/// Tells a kind from another one of which dispatch asks the same.
const VARIANT: u8 = 1 << 6;
/// An operation that is executed in line instead of through a pointer.
const IN_LINE: u8 = 1 << 7;

/// Effect of an instruction, as far as the core tells instructions apart. The value of a kind holds the bits of
/// [`model::kind`](kind) that dispatch asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Computes from at most two registers.
    Computes = 0,
    /// Computes from three registers.
    ByThree = VARIANT,
    /// Adds its sources and its immediate.
    Adds = IN_LINE,
    /// Computes a [`Sum`] that shifts, inverts or drops bits.
    Sums = IN_LINE | VARIANT,
    /// Combines bits (see [`Logic`]).
    Combines = IN_LINE | kind::TURNS_FETCH,
    /// Floating-point arithmetic, where there is a queue for it.
    Float = kind::FLOAT,
    /// A load of plain bytes.
    Load = kind::LOADS,
    /// A load whose value differs between memory and register.
    ConvertingLoad = kind::LOADS | VARIANT,
    /// A store of plain bytes.
    Store = kind::STORES,
    /// A store whose value differs between memory and register.
    ConvertingStore = kind::STORES | VARIANT,
    /// Loads and stores at once.
    Atomic = kind::LOADS | kind::STORES,
    /// Executes alone: everything older has committed and left the store queue.
    Alone = kind::SERIALIZES,
    /// Fetch may not go straight on behind it, and does not predict it; also what is no instruction.
    TurnsFetch = kind::TURNS_FETCH,
    /// A control transfer, which the branch unit predicts.
    Transfer = kind::TURNS_FETCH | kind::TRANSFERS,
}

impl Kind {
    /// The kind of an instruction whose class has these bits of [`model::kind`](kind).
    pub fn of(inst: &Inst, class_bits: u8) -> Kind {
        let is_plain_access = Plain::of(inst.op).is_some();
        match class_bits {
            kind::LOADS if is_plain_access => Kind::Load,
            kind::LOADS => Kind::ConvertingLoad,
            kind::STORES if is_plain_access => Kind::Store,
            kind::STORES => Kind::ConvertingStore,
            bits if bits & kind::LOADS != 0 => Kind::Atomic,
            bits if bits & kind::TRANSFERS != 0 => Kind::Transfer,
            bits if bits & kind::TURNS_FETCH != 0 => Kind::TurnsFetch,
            bits if bits & kind::SERIALIZES != 0 => Kind::Alone,
            bits if bits & kind::FLOAT != 0 => Kind::Float,
            _ => Kind::of_computation(inst),
        }
    }

    fn of_computation(inst: &Inst) -> Kind {
        if inst.rs3 != reg::ZERO {
            return Kind::ByThree;
        }
        match inst.sum() {
            Some(sum) if adds_immediate(sum, inst) => Kind::Adds,
            Some(_) => Kind::Sums,
            None if inst.logic().is_some() => Kind::Combines,
            None => Kind::Computes,
        }
    }

    /// The kind as bits. Those of [`kind::LIMITED`], [`kind::TRANSFERS`] and [`kind::SERIALIZES`] are valid in a union of
    /// kinds.
    #[inline(always)]
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// Whether it has any of these bits.
    #[inline(always)]
    pub const fn has(self, bits: u8) -> bool {
        self.bits() & bits != 0
    }

    /// A control transfer.
    #[inline(always)]
    pub const fn is_transfer(self) -> bool {
        self.has(kind::TRANSFERS)
    }

    /// A load, store or atomic.
    #[inline(always)]
    pub const fn is_memory(self) -> bool {
        self.has(kind::LOADS | kind::STORES)
    }
}

/// Whether the immediate is all that is added to the sources as they are.
fn adds_immediate(sum: Sum, inst: &Inst) -> bool {
    sum == Sum {
        shift: 0,
        flip: 0,
        addend: inst.imm as i32,
        drop: 0,
    }
}

/// How an instruction takes effect.
#[derive(Clone, Copy)]
pub union Effect {
    /// For an instruction that is neither a load nor a conditional branch.
    straight: Straight,
    /// For a load: see [`Plain::mask`]. It has eight bytes, the most of any variant.
    mask: u64,
    /// For a conditional branch.
    condition: Condition,
}

impl Effect {
    pub fn of(inst: &Inst) -> Self {
        match inst.class {
            OpClass::Load => Effect {
                mask: Plain::of(inst.op).map_or(0, |plain| plain.mask),
            },
            OpClass::Branch => Effect {
                condition: Condition::of(inst.op),
            },
            _ => Effect {
                straight: inst.op.straight(),
            },
        }
    }

    /// The operation of an instruction that continues with the next one and is no load.
    #[inline(always)]
    pub fn straight(self, kind: Kind) -> Straight {
        assert!(!kind.has(kind::LOADS | kind::TRANSFERS));
        // SAFETY: see `Effect::of`: loads and conditional branches have these bits.
        unsafe { self.straight }
    }

    /// When a conditional branch is taken.
    #[inline(always)]
    pub fn condition(self, class: OpClass) -> Condition {
        debug_assert!(class == OpClass::Branch);
        // SAFETY: see `Effect::of`; everything else has a first byte, too, and each byte is a condition.
        unsafe { self.condition }
    }

    /// The bits of its value that a load of plain bytes gives its register; for a store nothing that is used.
    #[inline(always)]
    fn mask(self, kind: Kind) -> u64 {
        debug_assert!(matches!(kind, Kind::Load | Kind::Store));
        // SAFETY: see `Effect::of`; for a store it is a pointer, whose eight bytes are not used.
        unsafe { self.mask }
    }
}

/// How a load, store or atomic accesses memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Bytes that it accesses.
    pub bytes: u8,
    /// See [`Plain::shift`].
    pub shift: u8,
    /// The bits of its address that the access keeps, sign-extended.
    pub address_mask: i8,
    /// Cycles by which a load into its register takes longer.
    pub load_extra: u16,
}

/// Data that the core keeps of an instruction besides its [`Effect`], by its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// For a [transfer](Kind::Transfer): its places in the predictor's tables.
    Site(Site),
    /// For a [load, store or atomic](Kind::is_memory).
    Access(Access),
    /// For [`Kind::Sums`].
    Sum(Sum),
    /// For [`Kind::Combines`].
    Logic(Logic),
    /// For everything else.
    Nothing,
}

/// A [`Detail`] in ten bytes. Its variant is not stored: it follows from the kind of the instruction, by which each
/// accessor checks it in builds with debug assertions.
#[derive(Clone, Copy)]
pub struct Packed([u8; 10]);

impl Packed {
    pub fn of(detail: Detail) -> Packed {
        let (first, second, third) = match detail {
            Detail::Site(site) => (site.target_set, site.target_tag, site.local),
            Detail::Access(access) => (
                u32::from_le_bytes([access.bytes, access.shift, access.address_mask as u8, 0]),
                0,
                access.load_extra,
            ),
            Detail::Sum(sum) => (
                sum.addend as u32,
                sum.flip as u32,
                u16::from_le_bytes([sum.shift, sum.drop]),
            ),
            Detail::Logic(logic) => {
                let which = u8::from(logic.both) | u8::from(logic.differ) << 1;
                let (low, high) = (logic.flip as u32, (logic.flip >> 32) as u32);
                (low, high, u16::from_le_bytes([logic.right, which]))
            }
            Detail::Nothing => (0, 0, 0),
        };
        let mut packed = Packed([0; 10]);
        packed.0[..4].copy_from_slice(&first.to_le_bytes());
        packed.0[4..8].copy_from_slice(&second.to_le_bytes());
        packed.0[8..].copy_from_slice(&third.to_le_bytes());
        packed
    }

    #[inline(always)]
    fn first(&self) -> u32 {
        let [a, b, c, d, ..] = self.0;
        u32::from_le_bytes([a, b, c, d])
    }

    #[inline(always)]
    fn second(&self) -> u32 {
        let [_, _, _, _, a, b, c, d, ..] = self.0;
        u32::from_le_bytes([a, b, c, d])
    }

    #[inline(always)]
    fn third(&self) -> u16 {
        let [.., a, b] = self.0;
        u16::from_le_bytes([a, b])
    }

    /// The places of a transfer in the predictor's tables.
    #[inline(always)]
    pub fn site(&self, kind: Kind) -> Site {
        debug_assert!(kind.is_transfer());
        Site {
            target_set: self.first(),
            target_tag: self.second(),
            local: self.third(),
        }
    }

    /// How an instruction accesses memory.
    #[inline(always)]
    pub fn access(&self, kind: Kind) -> Access {
        debug_assert!(kind.is_memory());
        let [bytes, shift, mask, ..] = self.0;
        Access {
            bytes,
            shift,
            address_mask: mask as i8,
            load_extra: self.third(),
        }
    }

    /// How a load or store of plain bytes accesses memory.
    #[inline(always)]
    pub fn plain(&self, kind: Kind, effect: Effect) -> Plain {
        let Access { bytes, shift, .. } = self.access(kind);
        Plain {
            bytes,
            shift,
            mask: effect.mask(kind),
        }
    }

    /// The sum that an instruction writes.
    #[inline(always)]
    pub fn sum(&self, kind: Kind) -> Sum {
        debug_assert!(kind == Kind::Sums);
        let [.., shift, drop] = self.0;
        Sum {
            shift,
            flip: self.second() as i32,
            addend: self.first() as i32,
            drop,
        }
    }

    /// The combination of bits that an instruction writes.
    #[inline(always)]
    pub fn logic(&self, kind: Kind) -> Logic {
        debug_assert!(kind == Kind::Combines);
        let [.., right, which] = self.0;
        Logic {
            right,
            flip: u64::from(self.second()) << 32 | u64::from(self.first()),
            both: which & 1 != 0,
            differ: which & 2 != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use hps_isa::inst::Op;

    use super::*;

    /// The bits that dispatch asks for; the others only tell kinds apart.
    const ASKED: u8 = kind::LIMITED | kind::TRANSFERS;

    #[test]
    fn the_kind_of_an_operation_has_the_bits_of_its_class() {
        for &op in Op::ALL {
            let mut inst = Inst::illegal(0);
            (inst.op, inst.class) = (op, op.class());
            let class_bits = kind::of(inst.class);
            let kind = Kind::of(&inst, class_bits);
            assert_eq!(kind.bits() & ASKED, class_bits & ASKED, "{op:?}");
            let turns = matches!(kind, Kind::TurnsFetch | Kind::Transfer);
            assert_eq!(turns, class_bits & kind::TURNS_FETCH != 0, "{op:?}");
        }
    }

    #[test]
    fn what_is_packed_comes_out_again() {
        let site = Site {
            target_set: 0x0102_0304,
            target_tag: 0x8506_0708,
            local: 0x90a0,
        };
        assert_eq!(Packed::of(Detail::Site(site)).site(Kind::Transfer), site);
        let access = Access {
            bytes: 8,
            shift: 56,
            address_mask: -8,
            load_extra: 0x1234,
        };
        let packed = Packed::of(Detail::Access(access));
        assert_eq!(packed.access(Kind::Atomic), access);
        let sum = Sum {
            shift: 3,
            flip: -1,
            addend: -2048,
            drop: 32,
        };
        assert_eq!(Packed::of(Detail::Sum(sum)).sum(Kind::Sums), sum);
        for (both, differ) in [(false, true), (true, false), (true, true)] {
            let logic = Logic {
                right: 63,
                flip: 0x8000_0001_4000_0002,
                both,
                differ,
            };
            let packed = Packed::of(Detail::Logic(logic));
            assert_eq!(packed.logic(Kind::Combines), logic);
        }
    }
}
