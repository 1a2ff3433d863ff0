//! Instructions that have been decoded for a core: a line of the host's caches each, those of a block one behind the
//! other, and for each the one that was executed behind it the last time.

use std::cell::Cell;
use std::ops::Deref;
use std::{ptr, slice};

use hps_sim_core::code::CodeCache;
use hps_sim_core::exec::{Condition, Plain, Straight};
use hps_sim_core::inst::{Inst, Logic, OpClass, Sum, reg};
use hps_sim_core::isa::Isa;
use hps_sim_core::memory::Memory;

use super::calendar::{Issues, Lanes};
use super::{DecodeEditor, DrivenCore, INTEGER_REGISTERS, PROGRAM_REGISTERS, REGISTERS};
use crate::model::{PipelineProbe, kind};
use crate::predict::Site;

/// An instruction of the program, or of a sequence that takes its place, and what this machine knows of it: a
/// line of the host's caches.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct StaticInst {
    inst: Inst,
    pub pc: u64,
    does: Does,
    /// What it takes of the cycle in which it issues.
    full: Lanes,
    /// Where the instruction lies that was executed behind it the last time: [straight on](STRAIGHT_ON) and
    /// [elsewhere](ELSEWHERE).
    after: [u32; 2],
    /// Where a transfer lies in the predictor's tables: see [`Self::site`]. Transfers access no memory, so the fields
    /// of [`Self::load_extra`], [`Self::plain`] and [`Self::adds`] share these places.
    target_set: u32,
    target_tag: u32,
    local: u16,
    latency_cycles: u16,
    /// From its address to that behind it.
    length: u8,
    /// See [`Self::kind`].
    kind: u8,
    /// What any instruction from this one to the end of its block is, as [`kind`](Self::kind).
    pub ahead: u8,
    /// Instructions from this one to the end of its block; zero: it goes its own way.
    rest: u8,
}

const _: () = assert!(size_of::<StaticInst>() == 64);

/// What an instruction does.
#[derive(Clone, Copy)]
union Does {
    /// For an instruction that is neither a load nor a conditional branch.
    straight: Straight,
    /// For a load: see [`Plain::mask`]. It has eight bytes, the most of any variant.
    mask: u64,
    /// For a conditional branch.
    condition: Condition,
}

impl Does {
    fn of(inst: &Inst) -> Self {
        match inst.class {
            OpClass::Load => Does {
                mask: Plain::of(inst.op).map_or(0, |plain| plain.mask),
            },
            OpClass::Branch => Does {
                condition: Condition::of(inst.op),
            },
            _ => Does {
                straight: inst.op.straight(),
            },
        }
    }
}

impl StaticInst {
    /// A placeholder at an address where no instruction lies.
    fn nowhere() -> Self {
        let inst = Inst::illegal(0);
        StaticInst {
            inst,
            pc: u64::MAX,
            does: Does::of(&inst),
            full: 0,
            after: [0; 2],
            target_set: 0,
            target_tag: 0,
            local: 0,
            latency_cycles: 0,
            length: 0,
            kind: 0,
            ahead: 0,
            rest: 0,
        }
    }

    /// See [`kind`]. Zero: it only computes, not from a third register, and not by adding alone.
    #[inline(always)]
    pub fn kind(&self) -> u8 {
        self.kind
    }

    /// Its effect, for an instruction that continues with the next one and is neither a load nor a conditional branch.
    #[inline(always)]
    pub fn straight(&self) -> Straight {
        assert!(self.kind & (kind::LOADS | kind::TRANSFERS) == 0);
        // SAFETY: see `Does::of`: that is what loads and conditional branches have among their kinds.
        unsafe { self.does.straight }
    }

    /// When a conditional branch is taken.
    #[inline(always)]
    pub fn condition(&self) -> Condition {
        debug_assert!(self.class == OpClass::Branch);
        // SAFETY: see `Does::of`; everything else has a first byte, too, and each byte is a condition.
        unsafe { self.does.condition }
    }

    /// What an instruction writes that [adds](kind::SUMS).
    #[inline(always)]
    pub fn adds(&self) -> Sum {
        let [shift, drop] = self.local.to_le_bytes();
        Sum {
            shift,
            flip: self.target_tag as i32,
            addend: self.target_set as i32,
            drop,
        }
    }

    /// What an instruction writes that [combines bits](kind::COMBINES).
    #[inline(always)]
    pub fn combines(&self) -> Logic {
        let [right, which] = self.local.to_le_bytes();
        Logic {
            right,
            flip: u64::from(self.target_tag) << 32 | u64::from(self.target_set),
            both: which & 1 != 0,
            differ: which & 2 != 0,
        }
    }

    /// How a load or a store accesses memory that does not [convert](kind::CONVERTS).
    #[inline(always)]
    pub fn plain(&self) -> Plain {
        debug_assert!(matches!(self.kind, kind::LOADS | kind::STORES));
        let [bytes, shift] = (self.target_set as u16).to_le_bytes();
        Plain {
            bytes,
            shift,
            // SAFETY: see `Does::of`; for a store it is a pointer, whose eight bytes are not used.
            mask: unsafe { self.does.mask },
        }
    }

    /// From issue to result.
    #[inline(always)]
    pub fn latency(&self) -> u64 {
        u64::from(self.latency_cycles)
    }

    /// Cycles by which a load into its register takes longer.
    #[inline(always)]
    pub fn load_extra(&self) -> u64 {
        u64::from(self.local)
    }

    /// Bytes that it accesses; zero: it does not touch memory.
    #[inline(always)]
    pub fn bytes(&self) -> u8 {
        self.target_set as u8
    }

    /// Where a control transfer lies in the predictor's tables.
    #[inline(always)]
    pub fn site(&self) -> Site {
        Site {
            target_set: self.target_set,
            target_tag: self.target_tag,
            local: self.local,
        }
    }

    /// How many registers, from the first on, hold all that it may write on a wrong path, [`reg::SINK`] aside: what
    /// writes others than it names executes alone, and so on no wrong path.
    pub fn writes_below(&self) -> usize {
        match usize::from(self.rd) {
            rd if self.rd == reg::SINK || rd < INTEGER_REGISTERS => INTEGER_REGISTERS,
            rd if rd < PROGRAM_REGISTERS => PROGRAM_REGISTERS,
            _ => REGISTERS,
        }
    }

    /// The address behind it.
    #[inline(always)]
    pub fn next(&self) -> u64 {
        self.pc.wrapping_add(u64::from(self.length))
    }

    /// The address that it accesses.
    #[inline(always)]
    pub fn address(&self, registers: &[u64; reg::COUNT]) -> u64 {
        let addr = registers[usize::from(self.rs1)].wrapping_add(self.imm as u64);
        // The bits that the access leaves as they are, sign-extended.
        addr & i64::from(self.target_tag as i8) as u64
    }
}

impl Issues for StaticInst {
    #[inline(always)]
    fn full(&self) -> Lanes {
        self.full
    }

    #[inline(always)]
    fn class(&self) -> OpClass {
        self.inst.class
    }

    #[inline(always)]
    fn latency_cycles(&self) -> u64 {
        self.latency()
    }
}

impl Deref for StaticInst {
    type Target = Inst;

    #[inline(always)]
    fn deref(&self) -> &Inst {
        &self.inst
    }
}

/// Fetch goes straight on.
pub const STRAIGHT_ON: usize = 0;
/// Fetch follows a transfer.
pub const ELSEWHERE: usize = 1;
/// Fetch has been redirected from an unknown place.
pub const TURNED: usize = 2;

/// Decoded code.
#[derive(Clone)]
pub struct Code {
    /// Where an instruction lies among `insts` is noted in its slot; not one that lies where the first one does.
    pub cache: CodeCache,
    pub insts: Insts,
}

impl Code {
    pub fn new(isa: Isa) -> Self {
        Code {
            cache: CodeCache::new(isa),
            insts: Insts {
                all: vec![StaticInst::nowhere()],
                last: Cell::new(0),
            },
        }
    }

    /// Throws everything away if executable memory or the editor's tables have changed.
    pub fn sync<E: DecodeEditor>(&mut self, mem: &Memory, editor: &E) {
        if self.cache.sync(mem, editor) {
            self.insts.clear();
        }
    }
}

/// Where an instruction lies among the decoded ones: how many bytes behind the first one, which is none.
pub type At = usize;

/// From one to the next.
const SIZE: usize = size_of::<StaticInst>();

/// Instructions, those of a block one behind the other.
#[derive(Clone)]
pub struct Insts {
    /// The first one is none.
    all: Vec<StaticInst>,
    /// The last one that fetch has taken.
    last: Cell<At>,
}

impl Insts {
    /// The instruction that [`DrivenCore::find`] found.
    #[inline(always)]
    pub fn at(&self, at: At) -> &StaticInst {
        debug_assert!(at.is_multiple_of(SIZE) && at / SIZE < self.all.len());
        // SAFETY: whoever notes where one lies has found it here, and there are never fewer but behind `clear`, where
        // all that is noted has gone, too.
        unsafe { &*self.all.as_ptr().byte_add(at) }
    }

    /// Number of instructions of its block from this one on; 0 for an instruction that belongs to no block.
    #[inline(always)]
    pub fn rest(&self, first: At) -> usize {
        usize::from(self.at(first).rest)
    }

    /// Takes `count` instructions of a block from this one on, at least one.
    #[inline(always)]
    pub fn take(&self, first: At, count: usize) -> &[StaticInst] {
        debug_assert!((1..=self.rest(first)).contains(&count));
        debug_assert!(first / SIZE + count <= self.all.len());
        self.last.set(first + (count - 1) * SIZE);
        // SAFETY: all that a block has left was laid out behind its first instruction.
        unsafe { slice::from_raw_parts(self.at(first), count) }
    }

    /// Fetch takes this instruction, which goes its own way.
    pub fn take_alone(&self, at: At) -> &StaticInst {
        self.last.set(at);
        self.at(at)
    }

    /// Ends the instructions that were taken from `first` on with this one. Returns how many they are.
    pub fn end_at(&self, first: At, inst: &StaticInst) -> usize {
        let at = ptr::from_ref(inst).addr() - self.all.as_ptr().addr();
        assert!(at / SIZE < self.all.len(), "an instruction lies elsewhere");
        self.last.set(at);
        (at - first) / SIZE + 1
    }

    /// The last instruction that fetch has taken.
    pub fn last(&self) -> At {
        self.last.get()
    }

    /// Lets fetch continue behind this instruction.
    pub fn go_back_to(&self, at: At) {
        self.last.set(at);
    }

    /// What fetch took the last time that it had turned like that behind the last instruction.
    #[inline(always)]
    pub fn after_last(&self, turn: usize) -> At {
        self.at(self.last.get()).after[turn % 2] as At
    }

    pub fn note_after_last(&mut self, turn: usize, at: At) {
        if turn != TURNED {
            self.all[self.last.get() / SIZE].after[turn % 2] = at as u32;
        }
    }

    pub fn push(&mut self, inst: StaticInst) {
        self.all.push(inst);
        assert!(
            self.end() <= u32::MAX as usize,
            "more code than can be decoded"
        );
    }

    /// Where the next one will lie.
    pub fn end(&self) -> At {
        self.all.len() * SIZE
    }

    /// The instructions from this one on are a block.
    pub fn end_block(&mut self, first: At) {
        let mut ahead = 0;
        let mut behind = self.end();
        for (rest, inst) in (1..).zip(self.all[first / SIZE..].iter_mut().rev()) {
            ahead |= inst.kind;
            inst.ahead = ahead;
            inst.rest = rest;
            if rest > 1 {
                inst.after[STRAIGHT_ON] = behind as u32;
            }
            behind -= SIZE;
        }
    }

    fn clear(&mut self) {
        self.all.clear();
        self.all.push(StaticInst::nowhere());
        self.last.set(0);
    }
}

/// Whether the immediate is all that is added to the sources as they are.
fn is_plain(sum: Sum, inst: &Inst) -> bool {
    sum == Sum {
        shift: 0,
        flip: 0,
        addend: inst.imm as i32,
        drop: 0,
    }
}

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// What this machine knows of an instruction at `pc` that goes on at `next`.
    pub(super) fn static_inst(&self, inst: &Inst, pc: u64, next: u64) -> StaticInst {
        let kind = match self.kinds[inst.class as usize] {
            0 if inst.rs3 != reg::ZERO => kind::BY_THREE,
            0 => match inst.sum() {
                Some(sum) if is_plain(sum, inst) => kind::ADDS,
                Some(_) => kind::SUMS,
                None if inst.logic().is_some() => kind::COMBINES,
                None => 0,
            },
            kind @ (kind::LOADS | kind::STORES) if Plain::of(inst.op).is_none() => {
                kind | kind::CONVERTS
            }
            kind => kind,
        };
        let site = if inst.class.is_control() {
            self.branches.site(pc)
        } else {
            self.parameters(inst)
        };
        debug_assert!(next.wrapping_sub(pc) <= 4);
        StaticInst {
            inst: *inst,
            pc,
            does: Does::of(inst),
            full: self.calendar.full(inst.class),
            target_set: site.target_set,
            target_tag: site.target_tag,
            local: site.local,
            latency_cycles: self.latencies[inst.op as usize],
            length: (next.wrapping_sub(pc)) as u8,
            kind,
            after: [0; 2],
            ahead: 0,
            rest: 0,
        }
    }

    /// What stands there of an instruction that is no transfer (see [`StaticInst::target_set`]).
    fn parameters(&self, inst: &Inst) -> Site {
        if inst.class.is_memory() {
            let shift = Plain::of(inst.op).map_or(0, |plain| plain.shift);
            let loads_float = (reg::FP..reg::DISE).contains(&inst.rd);
            return Site {
                target_set: u32::from(inst.op.access_bytes()) | u32::from(shift) << 8,
                target_tag: u32::from(inst.op.data_address(u64::MAX, 0) as u8),
                local: if loads_float {
                    self.params.fp_load_extra as u16
                } else {
                    0
                },
            };
        }
        if let Some(sum) = inst.sum() {
            return Site {
                target_set: sum.addend as u32,
                target_tag: sum.flip as u32,
                local: u16::from_le_bytes([sum.shift, sum.drop]),
            };
        }
        let logic = inst.logic().unwrap_or_default();
        let which = u8::from(logic.both) | u8::from(logic.differ) << 1;
        Site {
            target_set: logic.flip as u32,
            target_tag: (logic.flip >> 32) as u32,
            local: u16::from_le_bytes([logic.right, which]),
        }
    }
}
