//! Instructions that have been decoded for a core: a line of the host's caches each, those of a block one behind the
//! other, and for each the one that was executed behind it the last time.

use std::cell::Cell;
use std::ops::Deref;
use std::{ptr, slice};

use hps_isa::code::CodeCache;
use hps_isa::exec::{Condition, Plain, Straight};
use hps_isa::inst::{Inst, Logic, OpClass, Sum, reg};
use hps_isa::isa::Isa;
use hps_isa::memory::Memory;
use hps_isa::state::{SaveState, Saved, StateError};
use serde::{Deserialize, Serialize};

use super::calendar::{Issues, Lanes};
use super::work::{Access, Detail, Effect, Kind, Packed};
use super::{DecodeEditor, DrivenCore, INTEGER_REGISTERS, PROGRAM_REGISTERS, REGISTERS};
use crate::model::PipelineProbe;
use crate::predict::Site;

/// An instruction of the program, or of a sequence that takes its place, and what this machine knows of it: a
/// line of the host's caches.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct StaticInst {
    inst: Inst,
    pub pc: u64,
    /// How it takes effect.
    effect: Effect,
    /// Where the lanes of its class are full (see `Calendar::full`).
    full: Lanes,
    /// Where the instruction lies that was executed behind it the last time: [straight on](Way::StraightOn) and
    /// [elsewhere](Way::Elsewhere).
    after: [u32; 2],
    latency_cycles: u16,
    /// Data kept for its kind.
    detail: Packed,
    /// From its address to that behind it.
    length: u8,
    kind: Kind,
    /// The [bits](Kind::bits) of the kinds of all instructions from this one to the end of its block.
    pub ahead: u8,
    /// Instructions from this one to the end of its block; zero: it goes its own way.
    rest: u8,
}

const _: () = assert!(size_of::<StaticInst>() == 64);

impl StaticInst {
    /// A placeholder at an address where no instruction lies.
    fn nowhere() -> Self {
        let inst = Inst::illegal(0);
        StaticInst {
            inst,
            pc: u64::MAX,
            effect: Effect::of(&inst),
            full: 0,
            after: [0; 2],
            latency_cycles: 0,
            detail: Packed::of(Detail::Nothing),
            length: 0,
            kind: Kind::TurnsFetch,
            ahead: 0,
            rest: 0,
        }
    }

    /// Kind of the instruction.
    #[inline(always)]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Effect of an instruction that continues with the next one and is neither a load nor a conditional branch.
    #[inline(always)]
    pub fn straight(&self) -> Straight {
        self.effect.straight(self.kind)
    }

    /// When a conditional branch is taken.
    #[inline(always)]
    pub fn condition(&self) -> Condition {
        self.effect.condition(self.class)
    }

    /// Operands of an instruction that [computes a sum](Kind::Sums).
    #[inline(always)]
    pub fn adds(&self) -> Sum {
        self.detail.sum(self.kind)
    }

    /// Operands of an instruction that [combines bits](Kind::Combines).
    #[inline(always)]
    pub fn combines(&self) -> Logic {
        self.detail.logic(self.kind)
    }

    /// How a [load](Kind::Load) or a [store](Kind::Store) of plain bytes accesses memory.
    #[inline(always)]
    pub fn plain(&self) -> Plain {
        self.detail.plain(self.kind, self.effect)
    }

    /// From issue to result.
    #[inline(always)]
    pub fn latency(&self) -> u64 {
        u64::from(self.latency_cycles)
    }

    /// Cycles by which a load into its register takes longer.
    #[inline(always)]
    pub fn load_extra(&self) -> u64 {
        u64::from(self.detail.access(self.kind).load_extra)
    }

    /// Bytes that a load, store or atomic accesses.
    #[inline(always)]
    pub fn bytes(&self) -> u8 {
        self.detail.access(self.kind).bytes
    }

    /// Where a control transfer lies in the predictor's tables.
    #[inline(always)]
    pub fn site(&self) -> Site {
        self.detail.site(self.kind)
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

    /// The address that a load, store or atomic accesses.
    #[inline(always)]
    pub fn address(&self, registers: &[u64; reg::COUNT]) -> u64 {
        let addr = registers[usize::from(self.rs1)].wrapping_add(self.imm as u64);
        addr & i64::from(self.detail.access(self.kind).address_mask) as u64
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

/// How fetch comes from the last instruction to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(usize)]
pub enum Way {
    /// To the instruction behind it.
    StraightOn,
    /// Where a transfer leads.
    Elsewhere,
    /// By a redirect from an unknown place.
    Turned,
}

hps_isa::save_values!(Way);

/// Decoded code.
#[derive(Clone)]
pub struct Code {
    /// Where an instruction lies among `insts` is noted in its slot; not one that lies where the first one does.
    pub cache: CodeCache,
    pub insts: Insts,
}

/// The instructions are laid out again from the code that is saved.
impl SaveState for Code {
    fn save_to(&self, to: &mut Vec<u8>) {
        self.cache.save_to(to);
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        self.insts.clear();
        self.cache.restore_from(from)
    }
}

impl Code {
    /// No code yet of an instruction set, whose prefetches access the cache or do not.
    pub fn new(isa: Isa, performs_prefetches: bool) -> Self {
        let mut cache = CodeCache::new(isa);
        cache.perform_prefetches(performs_prefetches);
        Code {
            cache,
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

    /// Instruction that fetch took the last time that it came this way from the last instruction.
    #[inline(always)]
    pub fn after_last(&self, way: Way) -> At {
        self.at(self.last.get()).after[way as usize % 2] as At
    }

    /// Notes what fetch takes this way behind the last instruction.
    pub fn note_after_last(&mut self, way: Way, at: At) {
        if way != Way::Turned {
            self.all[self.last.get() / SIZE].after[way as usize % 2] = at as u32;
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
            ahead |= inst.kind.bits();
            inst.ahead = ahead;
            inst.rest = rest;
            if rest > 1 {
                inst.after[Way::StraightOn as usize] = behind as u32;
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

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// Data of this machine about an instruction at `pc` that goes on at `next`.
    pub(super) fn static_inst(&self, inst: &Inst, pc: u64, next: u64) -> StaticInst {
        let kind = Kind::of(inst, self.kinds[inst.class as usize]);
        debug_assert!(next.wrapping_sub(pc) <= 4);
        StaticInst {
            inst: *inst,
            pc,
            effect: Effect::of(inst),
            full: self.calendar.full(inst.class),
            latency_cycles: self.latencies[inst.op as usize],
            detail: Packed::of(self.detail(inst, pc, kind)),
            length: (next.wrapping_sub(pc)) as u8,
            kind,
            after: [0; 2],
            ahead: 0,
            rest: 0,
        }
    }

    /// Data kept for the kind of an instruction at `pc`.
    fn detail(&self, inst: &Inst, pc: u64, kind: Kind) -> Detail {
        if kind.is_transfer() {
            return Detail::Site(self.branches.site(pc));
        }
        if kind.is_memory() {
            let loads_float = (reg::FP..reg::DISE).contains(&inst.rd);
            return Detail::Access(Access {
                bytes: inst.op.access_bytes(),
                shift: Plain::of(inst.op).map_or(0, |plain| plain.shift),
                address_mask: inst.op.data_address(u64::MAX, 0) as i8,
                load_extra: if loads_float {
                    self.params.fp_load_extra as u16
                } else {
                    0
                },
            });
        }
        match kind {
            Kind::Sums => inst.sum().map_or(Detail::Nothing, Detail::Sum),
            Kind::Combines => inst.logic().map_or(Detail::Nothing, Detail::Logic),
            _ => Detail::Nothing,
        }
    }
}
