//! Fetch blocks, decoded once for a core.
//!
//! Of most groups all instructions are decoded in one cycle and dispatched in one (see
//! [`DrivenCore::plan_group`]). Little is left to ask of each of them then but what it is, and that does not
//! change: from an address to the end of its fetch block, or to the first control transfer, instructions
//! lie here one behind the other, with all that this machine knows of them.

use std::cell::Cell;
use std::ops::Deref;
use std::ptr;

use hps_sim_core::code::{CodeCache, PAGE_SHIFT, SLOTS};
use hps_sim_core::exec::Straight;
use hps_sim_core::inst::{Inst, OpClass, reg};
use hps_sim_core::isa::Isa;
use hps_sim_core::likely::{often, seldom};
use hps_sim_core::memory::Memory;

use super::super::uop::kind;
use super::calendar::{Demand, Lanes};
use super::fetch::Pace;
use super::{DecodeEditor, DrivenCore, Passing, PipelineProbe, RISCV_REGISTERS};
use crate::predict::Site;

/// The class as which an instruction issues that faults.
pub(super) const FAULTS_AS: OpClass = OpClass::IntAlu;

/// An instruction of the program, or of a sequence that takes its place, and what this machine knows of it: a
/// line of the host's caches.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct StaticInst {
    inst: Inst,
    pub pc: u64,
    /// What it does if it goes on behind itself.
    pub effect: Straight,
    /// What it takes of the cycle in which it issues.
    full: Lanes,
    /// Where the instruction lies that was executed behind it the last time: [straight on](STRAIGHT_ON) and
    /// [elsewhere](ELSEWHERE).
    after: [u32; 2],
    /// Where a transfer lies in the predictor's tables: see [`Self::site`]. Nothing but transfers has a place there, and
    /// they access nothing, so that [`Self::load_extra`], [`Self::only_adds`] and [`Self::bytes`] lie in the same places.
    target_set: u32,
    target_tag: u32,
    local: u16,
    latency_cycles: u16,
    /// From its address to that behind it.
    length: u8,
    /// See [`kind`]. Zero: it only computes, and from no third register.
    pub kind: u8,
    /// What any instruction from this one to the end of its block is, as [`kind`](Self::kind).
    pub ahead: u8,
    /// Instructions from this one to the end of its block; zero: it goes its own way.
    rest: u8,
}

const _: () = assert!(size_of::<StaticInst>() == 64);

impl StaticInst {
    /// None: it lies where no other one does.
    fn nowhere() -> Self {
        let inst = Inst::illegal(0);
        StaticInst {
            inst,
            pc: u64::MAX,
            effect: inst.op.straight(),
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

    /// See [`Inst::only_adds`]. Of what does not touch memory.
    #[inline(always)]
    pub fn only_adds(&self) -> bool {
        self.local != 0
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

    /// What it takes, and how long.
    #[inline(always)]
    pub fn demand(&self) -> Demand {
        Demand {
            full: self.full,
            class: self.inst.class,
            latency_cycles: self.latency(),
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

impl Deref for StaticInst {
    type Target = Inst;

    #[inline(always)]
    fn deref(&self) -> &Inst {
        &self.inst
    }
}

/// Fetch goes straight on.
pub(super) const STRAIGHT_ON: usize = 0;
/// Fetch follows a transfer.
pub(super) const ELSEWHERE: usize = 1;
/// Fetch has been turned: nobody knows from where.
pub(super) const TURNED: usize = 2;

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

/// Instructions, those of a block one behind the other.
#[derive(Clone)]
pub struct Insts {
    /// The first one is none.
    all: Vec<StaticInst>,
    /// The last one that fetch has taken.
    last: Cell<usize>,
}

impl Insts {
    /// The instruction at an index that [`DrivenCore::find`] gave.
    #[inline(always)]
    pub fn at(&self, index: usize) -> &StaticInst {
        debug_assert!(index < self.all.len());
        // SAFETY: whoever notes an index has found it here, and there are never fewer but behind `clear`, where all
        // that is noted has gone, too.
        unsafe { self.all.get_unchecked(index) }
    }

    /// How many instructions of its block there are from the one at such an index on; none: it goes its own way.
    #[inline(always)]
    pub fn rest(&self, first: usize) -> usize {
        usize::from(self.at(first).rest)
    }

    /// Fetch takes so many instructions of its block from the one at such an index on, at least one.
    #[inline(always)]
    pub fn take(&self, first: usize, count: usize) -> &[StaticInst] {
        debug_assert!((1..=self.rest(first)).contains(&count) && first + count <= self.all.len());
        self.last.set(first + count - 1);
        // SAFETY: all that a block has left was laid out behind its first instruction.
        unsafe { self.all.get_unchecked(first..first + count) }
    }

    /// Fetch takes the instruction at such an index, which goes its own way.
    pub fn take_alone(&self, index: usize) -> &StaticInst {
        debug_assert!(index < self.all.len());
        self.last.set(index);
        self.at(index)
    }

    /// Of those that it took, this was the last one.
    #[inline(never)]
    pub fn end_at(&self, inst: &StaticInst) {
        let first = self.all.as_ptr().addr();
        let index = (ptr::from_ref(inst).addr() - first) / size_of::<StaticInst>();
        assert!(index < self.all.len(), "an instruction lies elsewhere");
        self.last.set(index);
    }

    /// What fetch took the last time that it had turned like that behind the last instruction.
    #[inline(always)]
    fn after_last(&self, turn: usize) -> usize {
        self.at(self.last.get()).after[turn % 2] as usize
    }

    fn note_after_last(&mut self, turn: usize, index: usize) {
        if turn != TURNED {
            self.all[self.last.get()].after[turn % 2] = index as u32;
        }
    }

    fn push(&mut self, inst: StaticInst) {
        self.all.push(inst);
    }

    /// Where the next one will lie.
    fn len(&self) -> usize {
        self.all.len()
    }

    /// The instructions from this one on are a block.
    fn end_block(&mut self, first: usize) {
        let mut ahead = 0;
        let mut behind = self.all.len();
        for (rest, inst) in (1..).zip(self.all[first..].iter_mut().rev()) {
            ahead |= inst.kind;
            inst.ahead = ahead;
            inst.rest = rest;
            if rest > 1 {
                inst.after[STRAIGHT_ON] = behind as u32;
            }
            behind -= 1;
        }
    }

    fn clear(&mut self) {
        self.all.clear();
        self.all.push(StaticInst::nowhere());
        self.last.set(0);
    }
}

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// As [`Self::step`], for as many instructions of the block at the next address as the group takes.
    #[inline(always)]
    pub(super) fn step_block<const ASTRAY: bool>(&mut self, code: &mut Code) -> bool {
        if E::ENABLED && (E::RELAYOUT || self.edit.is_elsewhere()) {
            return self.step::<ASTRAY>(code);
        }
        if !self.comes_to_group::<ASTRAY>() {
            return false;
        }
        if ASTRAY && self.fetch.pace == Pace::InVain {
            return self.follow_in_vain(code);
        }
        if seldom(self.fetch.pace == Pace::Uneven) {
            return self.step_alone::<ASTRAY>(code);
        }
        let index = self.find_next(code);
        let left = self.fetch.left;
        let count = left.min(code.insts.rest(index));
        if seldom(count == 0) {
            return self.step_alone::<ASTRAY>(code);
        }
        let insts = code.insts.take(index, count);
        let (decode, dispatch) = (self.fetch.decode, self.fetch.dispatch);
        if seldom(!self.has_stations(count as u32)) {
            self.pass::<ASTRAY>(dispatch);
            if !self.has_stations(count as u32) {
                return self.step_alone::<ASTRAY>(code);
            }
        }
        let kinds = insts[0].ahead;
        let is_open =
            kinds & kind::LIMITED == 0 || self.is_open_to::<ASTRAY>(kinds, count as u32, dispatch);
        if seldom(!is_open) && !self.is_open::<ASTRAY>(insts[0].kind, dispatch) {
            // It may come so late that nothing is drained for it.
            return self.step_alone::<ASTRAY>(code);
        }
        if seldom(self.stores.next_drain <= dispatch) {
            self.drain_until_here(dispatch);
        }
        self.dispatched = dispatch;
        if ASTRAY && !E::ENABLED && dispatch + self.params.dispatch_to_issue >= self.limit {
            let done = self.dispatch_block_in_vain(insts);
            code.insts.end_at(&insts[done - 1]);
            return true;
        }
        if E::ENABLED {
            self.edit.leave_sequence();
        }
        if seldom(!is_open) {
            let first = self.position;
            let goes_on = self.step_through_queues::<ASTRAY>(insts);
            code.insts
                .end_at(&insts[(self.position - first) as usize - 1]);
            return goes_on;
        }
        let mut goes_on = true;
        let first = self.position;
        let mut last = &insts[0];
        for inst in insts {
            last = inst;
            self.position += 1;
            if E::ENABLED {
                self.edit.fetched(decode);
            }
            if inst.kind == 0 && often(self.computes(inst)) {
                let ready = self.ready_by_two(inst);
                self.finish_computed::<ASTRAY>(inst, ready);
                continue;
            }
            if inst.kind & kind::TRANSFERS != 0 {
                // The last one of its block.
                self.fetch.left = left - count;
                self.count_block::<ASTRAY>(count, 0);
                return self.predict_and_execute::<ASTRAY>(inst);
            }
            let passing = Passing {
                inst,
                predicted_next: inst.next(),
            };
            if inst.kind == kind::LOADS {
                goes_on = self.execute_load_here::<ASTRAY>(passing);
            } else if !ASTRAY && inst.kind == kind::STORES {
                goes_on = self.execute_store_here::<ASTRAY>(passing);
            } else {
                goes_on = self.complete_other::<ASTRAY>(passing);
            }
            if seldom(!goes_on | (self.fetch.pace != Pace::Even)) {
                code.insts.end_at(last);
                break;
            }
        }
        let done = (self.position - first) as usize;
        self.leave_block(last, left - done);
        self.count_block::<ASTRAY>(done, 0);
        goes_on
    }

    /// The same for a block for all of which there may be no room in the queues.
    #[inline(never)]
    fn step_through_queues<const ASTRAY: bool>(&mut self, insts: &[StaticInst]) -> bool {
        let (decode, dispatch) = (self.fetch.decode, self.fetch.dispatch);
        let left = self.fetch.left;
        let (mut done, mut late) = (0, 0);
        let mut goes_on = true;
        for inst in insts {
            done += 1;
            self.position += 1;
            if E::ENABLED {
                self.edit.fetched(decode);
            }
            if inst.kind & kind::TRANSFERS != 0 {
                self.fetch.left = left - done;
                self.count_block::<ASTRAY>(done, late);
                return self.predict_and_execute::<ASTRAY>(inst);
            }
            let passing = Passing {
                inst,
                predicted_next: inst.next(),
            };
            if self.is_open::<ASTRAY>(inst.kind, dispatch) {
                goes_on = self.complete::<ASTRAY>(passing);
            } else {
                late += 1;
                goes_on = self.dispatch_late::<ASTRAY>(passing, self.position - 1);
            }
            if !goes_on || self.fetch.pace != Pace::Even {
                break;
            }
        }
        self.leave_block(&insts[done - 1], left - done);
        self.count_block::<ASTRAY>(done, late);
        goes_on
    }

    /// Counts what has been taken of a block, and what of it came too late to be dispatched here.
    #[inline(always)]
    fn count_block<const ASTRAY: bool>(&mut self, done: usize, late: usize) {
        if ASTRAY || E::ENABLED {
            self.stats.fetch_instructions += done as u64;
            self.stats.decode_instructions += done as u64;
        }
        if ASTRAY {
            self.stats.dispatch_instructions += (done - late) as u64;
        }
    }

    /// Fetch goes on behind the last instruction that it has taken of a block.
    #[inline(always)]
    pub(super) fn leave_block(&mut self, last: &StaticInst, left: usize) {
        // Where a transfer leads has been predicted.
        if last.kind & kind::TRANSFERS == 0 {
            self.fetch.left = left;
            self.fetch.go_on(last.next());
        }
    }

    /// What belongs to no block, or to a group whose instructions have cycles of their own.
    #[inline(never)]
    pub(super) fn step_alone<const ASTRAY: bool>(&mut self, code: &mut Code) -> bool {
        self.step::<ASTRAY>(code)
    }

    /// As [`Self::dispatch`].
    #[inline(never)]
    pub(super) fn dispatch_late<const ASTRAY: bool>(
        &mut self,
        passing: Passing<'_>,
        position: u64,
    ) -> bool {
        self.dispatch::<ASTRAY>(passing, position, self.fetch.dispatch)
    }

    /// The index of the next instruction; zero: there is nothing that could be executed.
    #[inline(always)]
    pub(super) fn find_next(&mut self, code: &mut Code) -> usize {
        let index = code.insts.after_last(self.fetch.turn);
        if often(code.insts.at(index).pc == self.fetch.pc) {
            return index;
        }
        self.find_elsewhere(code)
    }

    /// The same if something else was executed the last time.
    #[inline(never)]
    fn find_elsewhere(&mut self, code: &mut Code) -> usize {
        let Some(index) = self.find(code, self.fetch.pc) else {
            return 0;
        };
        code.insts.note_after_last(self.fetch.turn, index);
        index
    }

    /// The index of the instruction at an address. None: there is nothing that could be executed.
    #[inline(always)]
    pub(super) fn find(&mut self, code: &mut Code, pc: u64) -> Option<usize> {
        if seldom(self.fetch.place_of(pc) >= SLOTS) {
            self.read_page(&mut code.cache, pc);
        }
        let place = self.fetch.place_of(pc);
        if place >= SLOTS {
            return None;
        }
        match code.cache.slots(self.fetch.page_index)[place].note {
            0 => self.lay_out(code, pc),
            note => Some(note as usize),
        }
    }

    /// Decodes the block that begins at `pc`, in the page that is read; what the editor has to say something about
    /// belongs to none. Returns the index of its first instruction, if there is one.
    #[cold]
    #[inline(never)]
    fn lay_out(&mut self, code: &mut Code, pc: u64) -> Option<usize> {
        let Code { cache, insts } = code;
        let block = self.params.fetch_block_bytes;
        let block_end = (pc & !(block - 1)) + block;
        let first = insts.len();
        let mut at = pc;
        while at < block_end && (at ^ pc) >> PAGE_SHIFT == 0 {
            let Ok(slot) = cache.lookup(at, &self.process.mem, &self.editor) else {
                break;
            };
            let next = at.wrapping_add(u64::from(slot.inst.len));
            let inst = self.static_inst(&slot.inst, at, next);
            let turns = inst.kind & (kind::TURNS_FETCH | kind::TRANSFERS) == kind::TURNS_FETCH;
            let is_alone = turns
                || inst.kind & kind::SERIALIZES != 0
                || E::ENABLED && (slot.mask != 0 || self.editor.reads_register(inst.rd))
                || E::RELAYOUT;
            if is_alone && at != pc {
                break;
            }
            if (self.registers..RISCV_REGISTERS).contains(&usize::from(inst.rd)) {
                self.use_float_registers();
            }
            if slot.note == 0 {
                slot.note = insts.len() as u32;
            }
            insts.push(inst);
            at = next;
            if is_alone {
                return Some(first);
            }
            if inst.kind & kind::TRANSFERS != 0 {
                break;
            }
        }
        insts.end_block(first);
        (first < insts.len()).then_some(first)
    }

    /// What this machine knows of an instruction at `pc` that goes on at `next`.
    pub(super) fn static_inst(&self, inst: &Inst, pc: u64, next: u64) -> StaticInst {
        let kind = match self.kinds[inst.class as usize] {
            0 if inst.rs3 != reg::ZERO => kind::BY_THREE,
            kind => kind,
        };
        let site = if inst.class.is_control() {
            self.branches.site(pc)
        } else {
            let bytes = inst.op.access_bytes();
            let loads_float = (reg::FP..reg::DISE).contains(&inst.rd);
            Site {
                target_set: u32::from(bytes),
                target_tag: inst.op.data_address(u64::MAX, 0) as u32,
                local: if bytes == 0 {
                    u16::from(inst.only_adds())
                } else if loads_float {
                    self.params.fp_load_extra as u16
                } else {
                    0
                },
            }
        };
        StaticInst {
            inst: *inst,
            pc,
            effect: inst.op.straight(),
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
}
