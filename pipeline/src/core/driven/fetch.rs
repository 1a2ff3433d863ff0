//! Fetch, a group at a time, and the predictors that it asks.

use hps_sim_core::code::{PAGE_SHIFT, SLOTS, Slot};
use hps_sim_core::editor::NoEditor;
use hps_sim_core::inst::{Inst, OpClass};
use hps_sim_core::trap::TrapCause;

use super::super::cpi::Cause;
use super::super::fetch::{UNKNOWN_TARGET, branch_kind};
use super::{DrivenCore, PipelineProbe};
use crate::memsys::AccessResult;
use crate::predict::{BranchKind, Checkpoint};

/// No line has been read since fetch was turned.
const NO_LINE: u64 = u64::MAX;

/// Where fetch stands.
#[derive(Clone)]
pub struct Fetch {
    pub pc: u64,
    /// Cycle of the group that is being fetched.
    pub cycle: u64,
    /// Instructions that the group may still take.
    pub left: usize,
    pub block_end: u64,
    pub taken: u32,
    pub stall_until: u64,
    /// Fetch does not know where to go on.
    pub waiting: bool,
    line: u64,
    /// Why the next instruction comes late, and since when that is known.
    pub gap: Cause,
    pub gap_since: u64,
    /// The page of decoded code that was read last.
    page: u64,
    page_index: usize,
}

/// What a commit teaches the predictors.
#[derive(Clone, Copy, Default)]
pub struct Lesson {
    pub checkpoint: Checkpoint,
    pub commit: u64,
    pub pc: u64,
    pub next_pc: u64,
    pub kind: Option<BranchKind>,
    pub taken: bool,
}

impl Fetch {
    pub fn at(pc: u64) -> Self {
        Fetch {
            pc,
            cycle: 0,
            left: 0,
            block_end: 0,
            taken: 0,
            stall_until: 0,
            waiting: false,
            line: NO_LINE,
            gap: Cause::Frontend,
            gap_since: 0,
            page: u64::MAX,
            page_index: 0,
        }
    }

    /// Turns fetch to `pc` in `cycle`.
    pub fn redirect(&mut self, pc: u64, gap: Cause, cycle: u64) {
        self.pc = pc;
        self.cycle = cycle - 1;
        self.left = 0;
        self.stall_until = cycle;
        self.waiting = false;
        self.line = NO_LINE;
        self.gap = gap;
        self.gap_since = 0;
    }

    /// What is decoded may not hold any more.
    pub fn forget_code(&mut self) {
        self.page = u64::MAX;
    }

    /// The next instruction comes late for this reason, unless there is an earlier one.
    fn late(&mut self, cause: Cause, since: u64) {
        if self.gap == Cause::Frontend {
            self.gap = cause;
            self.gap_since = since;
        }
    }
}

impl<P: PipelineProbe> DrivenCore<P> {
    /// No instruction there, or none that can be executed: execution finds the cause once more. Returns
    /// where fetch goes.
    #[cold]
    pub(super) fn fetch_nothing(&mut self, bytes: u8, next: u64) -> u64 {
        if bytes != 0 {
            return next;
        }
        self.fetch.waiting = true;
        if self.depth > 0 {
            // As in the other core, which does not count it before it is decoded.
            self.stats.fetch_instructions -= 1;
        }
        UNKNOWN_TARGET
    }

    /// Goes to the next cycle in which fetch can take anything. False: a squash comes first.
    #[inline(never)]
    pub(super) fn begin_group<const ASTRAY: bool>(&mut self, room: u64) -> bool {
        if self.fetch.waiting {
            return false;
        }
        let mut cycle = (self.fetch.cycle + 1).max(self.fetch.stall_until).max(room);
        let pc = self.fetch.pc;
        let line = pc >> self.params.line_shift;
        loop {
            if ASTRAY && cycle >= self.limit {
                return false;
            }
            if line == self.fetch.line {
                break;
            }
            self.memory.pass(self.dispatch.cycle.min(cycle));
            match self.memory.fetch(cycle, pc) {
                AccessResult::Retry { at_cycle } => {
                    self.fetch.late(Cause::ICache, cycle);
                    cycle = at_cycle;
                }
                AccessResult::Done(access) => {
                    self.fetch.line = line;
                    let hit = cycle + self.params.l1i_hit;
                    if access.ready_cycle > hit {
                        // The stages behind fetch cover a hit; what is beyond it stalls fetch.
                        let cause = if access.tlb_miss {
                            Cause::ITlb
                        } else {
                            Cause::ICache
                        };
                        self.fetch.late(cause, cycle);
                        cycle += access.ready_cycle - hit;
                    }
                }
            }
        }
        let block = self.params.fetch_block_bytes;
        let f = &mut self.fetch;
        f.cycle = cycle;
        f.left = self.params.fetch_width;
        f.block_end = (pc & !(block - 1)) + block;
        f.taken = 0;
        true
    }

    /// The decoded instruction at `pc`.
    #[inline(always)]
    pub(super) fn slot_at(&mut self, pc: u64) -> Result<&Slot, TrapCause> {
        let at = ((pc >> 1) as usize) & (SLOTS - 1);
        if pc >> PAGE_SHIFT == self.fetch.page && pc & 1 == 0 {
            let index = self.fetch.page_index;
            if self.code.slots(index)[at].inst.len != 0 {
                return Ok(&self.code.slots(index)[at]);
            }
        }
        self.slot_elsewhere(pc)
    }

    /// In another page than before, or not decoded yet.
    #[inline(never)]
    fn slot_elsewhere(&mut self, pc: u64) -> Result<&Slot, TrapCause> {
        self.fetch.page_index = self.code.page(pc)?;
        self.fetch.page = pc >> PAGE_SHIFT;
        let slot = self.code.lookup(pc, &self.process.mem, &NoEditor)?;
        Ok(slot)
    }

    /// Predicts a control transfer and turns fetch. Returns where it goes.
    #[inline(always)]
    pub(super) fn predict(&mut self, pc: u64, inst: &Inst, fallthrough: u64) -> u64 {
        let Some(kind) = branch_kind(inst.class) else {
            return fallthrough;
        };
        self.learn(self.fetch.cycle);
        let is_direct = inst.class.is_direct();
        let direct = if is_direct { inst.direct_target(pc) } else { 0 };
        let lesson = self.lessons.at_mut(self.lessons_tail);
        let predicted =
            self.branches
                .predict(pc, kind, fallthrough, direct, &mut lesson.checkpoint);
        let next = match (predicted.taken, is_direct) {
            (false, _) => fallthrough,
            (true, true) => direct,
            (true, false) if predicted.target != 0 => predicted.target,
            (true, false) => UNKNOWN_TARGET,
        };
        let f = &mut self.fetch;
        f.pc = next;
        if next == UNKNOWN_TARGET {
            f.waiting = true;
            f.left = 0;
            self.stats.btb_misfetch_events += 1;
        } else if predicted.taken && is_direct && !predicted.btb_hit {
            // Decode computes the target of a direct transfer that the BTB does not know.
            f.stall_until = f.cycle + self.params.fetch_to_decode;
            f.late(Cause::BtbMiss, f.cycle);
            f.left = 0;
            self.stats.btb_misfetch_events += 1;
        } else if next != fallthrough {
            f.taken += 1;
            let same_line = (pc ^ next) >> self.params.line_shift == 0;
            if f.taken >= self.params.taken_branches_per_cycle || !same_line {
                f.left = 0;
            }
            let block = self.params.fetch_block_bytes;
            f.block_end = (next & !(block - 1)) + block;
        }
        next
    }

    /// Teaches the predictors what has committed by this cycle.
    #[inline(always)]
    fn learn(&mut self, cycle: u64) {
        while self.lessons_head != self.lessons_tail {
            let lesson = self.lessons.at(self.lessons_head);
            if lesson.commit > cycle {
                return;
            }
            if let Some(kind) = lesson.kind {
                self.branches.train(
                    &lesson.checkpoint,
                    lesson.pc,
                    kind,
                    lesson.taken,
                    lesson.next_pc,
                );
            }
            self.lessons_head += 1;
        }
    }

    /// A control transfer of the right path commits; its prediction was the last one made.
    #[inline(always)]
    pub(super) fn teach(
        &mut self,
        commit: u64,
        pc: u64,
        class: OpClass,
        next_pc: u64,
        taken: bool,
    ) {
        let lesson = self.lessons.at_mut(self.lessons_tail);
        lesson.commit = commit;
        lesson.pc = pc;
        lesson.next_pc = next_pc;
        lesson.kind = branch_kind(class);
        lesson.taken = taken;
        self.lessons_tail += 1;
        debug_assert!(self.lessons_tail - self.lessons_head <= self.lessons.places());
    }

    /// The checkpoint of the transfer that was predicted last, if it was not taken up by `teach`.
    #[inline]
    pub(super) fn last_checkpoint(&self) -> Checkpoint {
        self.lessons.at(self.lessons_tail).checkpoint
    }
}
