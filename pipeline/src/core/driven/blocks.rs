//! Fetch blocks, decoded once for a core.
//!
//! Of most groups all instructions are decoded in one cycle and dispatched in one (see
//! [`DrivenCore::plan_group`]). Little is left to ask of each of them then but what it is, and that does not
//! change: from an address to the end of its fetch block, or to the first control transfer, instructions
//! lie here one behind the other, with all that this machine knows of them.

use std::ops::Deref;

use hps_sim_core::code::{CodeCache, PAGE_SHIFT, SLOTS};
use hps_sim_core::exec::{Straight, Transfer};
use hps_sim_core::inst::{Inst, OpClass, reg};
use hps_sim_core::isa::Isa;
use hps_sim_core::likely::{often, seldom};
use hps_sim_core::memory::Memory;

use super::super::commit::cause_of;
use super::super::cpi::Cause;
use super::super::fetch::branch_kind;
use super::super::uop::kind;
use super::calendar::Demand;
use super::fetch::Pace;
use super::{DecodeEditor, DrivenCore, Passing, PipelineProbe, RISCV_REGISTERS};
use crate::predict::{BranchKind, Site};

/// The class as which an instruction issues that faults.
pub(super) const FAULTS_AS: OpClass = OpClass::IntAlu;

/// An instruction of the program, or of a sequence that takes its place, and what this machine knows of it.
#[derive(Clone, Copy)]
pub struct StaticInst {
    inst: Inst,
    pub pc: u64,
    /// The address behind it.
    pub next: u64,
    /// What it does if it goes on behind itself.
    pub effect: Straight,
    /// The same of a control transfer.
    pub transfer: Transfer,
    pub demand: Demand,
    /// Of a control transfer: what it is to the predictor, and where in its tables.
    pub branch: Option<BranchKind>,
    pub site: Site,
    /// See [`kind`]. Zero: it only computes, and from no third register.
    pub kind: u8,
    /// What slots are lost to that wait for this instruction alone, if it is no load.
    pub cause: Cause,
    /// Bytes that it accesses; zero: it does not touch memory.
    pub bytes: u8,
    /// The bits of an address that the access leaves as they are, sign-extended.
    address_mask: i8,
    /// Cycles by which a load into its register takes longer.
    pub load_extra: u32,
    /// What any instruction from this one to the end of its block is, as [`kind`](Self::kind).
    pub ahead: u8,
    /// Instructions from this one to the end of its block; zero: it goes its own way.
    rest: u8,
}

impl StaticInst {
    /// From issue to result.
    #[inline(always)]
    pub fn latency(&self) -> u64 {
        u64::from(self.demand.latency_cycles)
    }

    /// The address that it accesses.
    #[inline(always)]
    pub fn address(&self, registers: &[u64; reg::COUNT]) -> u64 {
        let addr = registers[usize::from(self.rs1)].wrapping_add(self.imm as u64);
        addr & i64::from(self.address_mask) as u64
    }
}

impl Deref for StaticInst {
    type Target = Inst;

    #[inline(always)]
    fn deref(&self) -> &Inst {
        &self.inst
    }
}

/// Decoded code.
#[derive(Clone)]
pub struct Code {
    pub cache: CodeCache,
    /// Where an instruction is found is noted in its slot of the cache: one past the index.
    pub insts: Vec<StaticInst>,
}

impl Code {
    pub fn new(isa: Isa) -> Self {
        Code {
            cache: CodeCache::new(isa),
            insts: Vec::new(),
        }
    }

    /// The block at the index that [`DrivenCore::find`] gave; empty if the instruction there goes its own way.
    #[inline(always)]
    pub(super) fn block(&self, first: usize) -> &[StaticInst] {
        debug_assert!(first < self.insts.len());
        // SAFETY: an index is one of these, since slots that note any go with them, in `sync`; and all that a block
        // has left was laid out behind its first instruction.
        unsafe {
            let rest = usize::from(self.insts.get_unchecked(first).rest);
            self.insts.get_unchecked(first..first + rest)
        }
    }

    /// Throws everything away if executable memory or the editor's tables have changed.
    pub fn sync<E: DecodeEditor>(&mut self, mem: &Memory, editor: &E) {
        if self.cache.sync(mem, editor) {
            self.insts.clear();
        }
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
        let Some(first) = self.find(code, self.fetch.pc) else {
            return self.step_alone::<ASTRAY>(code);
        };
        let left = self.fetch.left;
        let block = code.block(first);
        let count = left.min(block.len());
        if seldom(count == 0) {
            return self.step_alone::<ASTRAY>(code);
        }
        let insts = &block[..count];
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
            self.dispatch_block_in_vain(insts);
            return true;
        }
        if E::ENABLED {
            self.edit.leave_sequence();
        }
        if seldom(!is_open) {
            return self.step_through_queues::<ASTRAY>(insts);
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
            if inst.kind == 0 && often(self.takes_effect(inst)) {
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
                predicted_next: inst.next,
            };
            if inst.kind == kind::LOADS {
                goes_on = self.execute_load_here::<ASTRAY>(passing);
            } else if !ASTRAY && inst.kind == kind::STORES {
                goes_on = self.execute_store_here::<ASTRAY>(passing);
            } else {
                goes_on = self.complete_other::<ASTRAY>(passing);
            }
            if seldom(!goes_on | (self.fetch.pace != Pace::Even)) {
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
                predicted_next: inst.next,
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
            self.fetch.go_on(last.next);
        }
    }

    /// What belongs to no block, or to a group whose instructions have cycles of their own.
    #[inline(never)]
    pub(super) fn step_alone<const ASTRAY: bool>(&mut self, code: &mut Code) -> bool {
        self.step::<ASTRAY>(code)
    }

    /// As [`Self::dispatch`].
    #[inline(never)]
    pub(super) fn dispatch_late<const ASTRAY: bool>(&mut self, passing: Passing<'_>, position: u64) -> bool {
        self.dispatch::<ASTRAY>(passing, position, self.fetch.dispatch)
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
            note => Some(note as usize - 1),
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
            insts.push(inst);
            if slot.note == 0 {
                slot.note = insts.len() as u32;
            }
            at = next;
            if is_alone {
                return Some(first);
            }
            if inst.kind & kind::TRANSFERS != 0 {
                break;
            }
        }
        let mut ahead = 0;
        for (rest, inst) in (1..).zip(insts[first..].iter_mut().rev()) {
            ahead |= inst.kind;
            inst.ahead = ahead;
            inst.rest = rest;
        }
        (first < insts.len()).then_some(first)
    }

    /// What this machine knows of an instruction at `pc` that goes on at `next`.
    pub(super) fn static_inst(&self, inst: &Inst, pc: u64, next: u64) -> StaticInst {
        let latency = self.latencies[inst.op as usize];
        let kind = match self.kinds[inst.class as usize] {
            0 if inst.rs3 != reg::ZERO => kind::BY_THREE,
            kind => kind,
        };
        StaticInst {
            inst: *inst,
            pc,
            next,
            effect: inst.op.straight(),
            transfer: inst.op.transfer(),
            demand: self.calendar.demand(inst.class, latency),
            branch: branch_kind(inst.class),
            site: self.branches.site(pc),
            kind,
            cause: cause_of(inst.class),
            bytes: inst.op.access_bytes(),
            address_mask: inst.op.data_address(u64::MAX, 0) as i8,
            load_extra: if (reg::FP..reg::DISE).contains(&inst.rd) {
                self.params.fp_load_extra as u32
            } else {
                0
            },
            ahead: 0,
            rest: 0,
        }
    }
}
