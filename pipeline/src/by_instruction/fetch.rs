//! Fetch, a group at a time, and the predictors that it asks.

use hps_isa::code::{CodeCache, PAGE_SHIFT};
use hps_isa::inst::OpClass;
use hps_isa::likely::{often, seldom};
use serde::{Deserialize, Serialize};

use super::insts::{StaticInst, Way};
use super::path::{Path, WrongPath};
use super::{DecodeEditor, DrivenCore, NEVER};
use crate::memsys::AccessResult;
use crate::model::{
    Cause, PipelineProbe, UNKNOWN_TARGET, branch_kind, cause_of_fetch, predicted_next,
};
use crate::predict::{Basis, BranchKind, Checkpoint, Site};

/// No line has been read since fetch was turned.
const NO_LINE: u64 = u64::MAX;

/// No page: only odd addresses in the last page of all are near it.
const NO_PAGE: u64 = u64::MAX - 4096;

/// Timing of the stages behind fetch, as known when a group begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pace {
    /// Each instruction has cycles of its own.
    Uneven,
    /// All are decoded in one cycle and dispatched in one, unless something keeps out one of them that does
    /// not keep out all.
    Even,
    /// Even, and squashed before dispatch; with an editor, squashed before decode too.
    Undispatched,
}

hps_isa::save_values!(Pace);

/// Where fetch stands.
#[derive(Clone)]
pub struct Fetch {
    pub pc: u64,
    /// Cycle of the group that is being fetched.
    pub cycle: u64,
    /// Instructions that the group may still take: none if it has come to the end of its block.
    pub left: usize,
    /// The last address of its block.
    pub block_last: u64,
    pub taken: u32,
    pub pace: Pace,
    /// Cycle of decode, if all instructions of the group share it.
    pub decode: u64,
    pub dispatch: u64,
    pub stall_until: u64,
    /// How it goes on from the last instruction.
    pub way: Way,
    line: u64,
    /// Why the next group comes late, and since when that is known.
    gap: Cause,
    gap_since: u64,
    pub first: First,
    /// The page of decoded code that was read last: its address and its index.
    pub page: u64,
    pub page_index: usize,
}

hps_isa::save_state! {
    Fetch {
        pc, cycle, left, block_last, taken, pace, decode, dispatch, stall_until, way, line, gap,
        gap_since, first, page: skip, page_index: skip,
    }
}

/// The first instruction of a group that came late, why, and since when that is known.
#[derive(Clone)]
pub struct First {
    pub position: u64,
    gap: Cause,
    gap_since: u64,
}

hps_isa::save_state! { First { position, gap, gap_since } }

/// Training of the predictors that a commit causes.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Lesson {
    commit: u64,
    pc: u64,
    next_pc: u64,
    basis: Basis,
    site: Site,
    class: OpClass,
    taken: bool,
}

hps_isa::save_state! { Lesson { commit, pc, next_pc, basis, site, class, taken } }

const _: () = assert!(size_of::<Lesson>() == 64);

impl Lesson {
    /// Content of a place before its first use.
    pub fn empty() -> Self {
        Lesson {
            commit: 0,
            pc: 0,
            next_pc: 0,
            basis: Basis::default(),
            site: Site::default(),
            class: OpClass::Illegal,
            taken: false,
        }
    }
}

impl Fetch {
    pub fn at(pc: u64) -> Self {
        Fetch {
            pc,
            cycle: 0,
            left: 0,
            block_last: 0,
            taken: 0,
            pace: Pace::Uneven,
            decode: 0,
            dispatch: 0,
            stall_until: 0,
            way: Way::Turned,
            line: NO_LINE,
            gap: Cause::Frontend,
            gap_since: 0,
            first: First {
                position: u64::MAX,
                gap: Cause::Frontend,
                gap_since: 0,
            },
            page: NO_PAGE,
            page_index: 0,
        }
    }

    /// Why the instruction at a position came late, and since when that is known.
    pub fn gap_of(&self, position: u64) -> (Cause, u64) {
        if self.first.position == position {
            (self.first.gap, self.first.gap_since)
        } else {
            (Cause::Frontend, 0)
        }
    }

    /// Turns fetch to `pc` in `cycle`.
    pub fn redirect(&mut self, pc: u64, gap: Cause, cycle: u64) {
        self.pc = pc;
        self.cycle = cycle - 1;
        self.left = 0;
        self.stall_until = cycle;
        self.way = Way::Turned;
        self.line = NO_LINE;
        self.gap = gap;
        self.gap_since = 0;
    }

    /// Continues at `pc`, which may lie behind the group's block.
    #[inline(always)]
    pub fn go_on(&mut self, pc: u64) {
        self.pc = pc;
        self.way = Way::StraightOn;
        if seldom(pc > self.block_last) {
            self.left = 0;
        }
    }

    /// The place of an address in the page; far beyond its end if it lies in another one or is odd.
    #[inline(always)]
    pub fn place_of(&self, pc: u64) -> usize {
        pc.wrapping_sub(self.page).rotate_right(1) as usize
    }

    /// Fetch does not know where to go on until it is turned.
    pub fn wait(&mut self) {
        self.left = 0;
        self.stall_until = NEVER;
    }

    /// Whether it does not.
    pub fn is_waiting(&self) -> bool {
        self.stall_until == NEVER
    }

    /// Forgets the page of decoded code, which may have changed.
    pub fn forget_code(&mut self) {
        self.page = NO_PAGE;
    }

    /// The next instruction comes late for this reason, unless there is an earlier one.
    fn late(&mut self, cause: Cause, since: u64) {
        if self.gap == Cause::Frontend {
            self.gap = cause;
            self.gap_since = since;
        }
    }
}

/// Prediction of an instruction that is no transfer: the next one. Only transfers are asked for a prediction.
#[cold]
fn predicts_nothing(inst: &StaticInst) -> u64 {
    inst.next()
}

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// Nothing can be executed there: execution finds the cause once more. Returns where fetch goes.
    #[cold]
    pub(super) fn fetch_nothing(&mut self) -> u64 {
        self.fetch.wait();
        if self.depth > 0 || E::ENABLED {
            // The cycle-driven core does not count it before it is decoded.
            self.stats.fetch_instructions -= 1;
        }
        UNKNOWN_TARGET
    }

    /// Begins the next group of instructions that are fetched together. `false` if a squash comes first.
    #[inline(always)]
    pub(super) fn begin_group<K: Path>(&mut self) -> bool {
        let cycle = (self.fetch.cycle + 1).max(self.fetch.stall_until);
        if seldom(!self.flows(cycle)) {
            return self.begin_group_slowly::<K>(cycle);
        }
        let begins = self.turn_to_group_from::<K>(cycle, true);
        if begins {
            // A group that flows in a cycle flows in each later one.
            self.plan_flowing_group::<K>();
        }
        begins
    }

    /// Begins the next group behind a group that is squashed before dispatch, as the next group then is too.
    #[inline(always)]
    pub(super) fn begin_undispatched_group(&mut self) -> bool {
        let cycle = (self.fetch.cycle + 1).max(self.fetch.stall_until);
        if seldom(!self.flows(cycle)) {
            return self.begin_group_slowly::<WrongPath>(cycle);
        }
        let begins = self.turn_to_group_from::<WrongPath>(cycle, true);
        if begins {
            self.plan_undispatched_group();
        }
        begins
    }

    /// Begins the next group if the group in front of it may delay it.
    #[inline(never)]
    fn begin_group_slowly<K: Path>(&mut self, cycle: u64) -> bool {
        let begins = self.turn_to_group_from::<K>(cycle, false);
        if begins {
            self.plan_group::<K>(self.flows(self.fetch.cycle));
        }
        begins
    }

    /// Goes to the next cycle in which fetch can take an instruction. `false` if a squash comes first.
    #[inline(always)]
    pub(super) fn turn_to_group<K: Path>(&mut self) -> bool {
        let cycle = (self.fetch.cycle + 1).max(self.fetch.stall_until);
        self.turn_to_group_from::<K>(cycle, false)
    }

    /// Goes to the first cycle from `cycle` on in which fetch can take an instruction; `flows` says whether a group that
    /// is fetched in it [flows](Self::flows).
    #[inline(always)]
    fn turn_to_group_from<K: Path>(&mut self, mut cycle: u64, flows: bool) -> bool {
        debug_assert!(!flows || self.taken(self.position, 0) <= cycle);
        if !flows {
            cycle = cycle.max(self.taken(self.position, 0));
        }
        let f = &mut self.fetch;
        let line = f.pc >> self.params.line_shift;
        if K::IS_WRONG && cycle >= self.limit {
            return false;
        }
        let cycle = if often(line == f.line) {
            cycle
        } else if often(self.memory.fetch_quickly(cycle, f.pc)) {
            f.line = line;
            self.memory.pass(self.dispatched.min(cycle));
            cycle
        } else if let Some(cycle) = self.read_line::<K>(line, cycle) {
            cycle
        } else {
            return false;
        };
        let mask = self.params.fetch_block_mask;
        let f = &mut self.fetch;
        f.cycle = cycle;
        if seldom(f.gap != Cause::Frontend) {
            f.first = First {
                position: self.position,
                gap: std::mem::replace(&mut f.gap, Cause::Frontend),
                gap_since: f.gap_since,
            };
        }
        f.left = self.params.fetch_width;
        f.block_last = f.pc | mask;
        f.taken = 0;
        true
    }

    /// Reads a line of the instruction cache from a cycle on and returns the cycle in which it is there; `None` if a
    /// squash comes first.
    #[inline(never)]
    fn read_line<K: Path>(&mut self, line: u64, mut cycle: u64) -> Option<u64> {
        let pc = self.fetch.pc;
        while line != self.fetch.line {
            self.memory.pass(self.dispatched.min(cycle));
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
                        self.fetch.late(cause_of_fetch(&access, cycle), cycle);
                        cycle += access.ready_cycle - hit;
                    }
                }
            }
            if K::IS_WRONG && cycle >= self.limit {
                return None;
            }
        }
        Some(cycle)
    }

    /// Reads another page of decoded code, if `pc` lies where one can be.
    #[inline(never)]
    pub(super) fn read_page(&mut self, code: &mut CodeCache, pc: u64) {
        if pc & 1 == 0
            && let Ok(index) = code.page(pc)
        {
            self.fetch.page_index = index;
            self.fetch.page = pc & !((1 << PAGE_SHIFT) - 1);
        }
    }

    /// Predicts a control transfer and turns fetch. Returns where it goes.
    #[inline(never)]
    pub(super) fn predict(&mut self, inst: &StaticInst) -> u64 {
        self.learn(self.fetch.cycle);
        if often(inst.class == OpClass::Branch) {
            return self.predict_conditional(inst);
        }
        self.predict_jump(inst)
    }

    /// Predicts an unconditional transfer. The predictors are trained up to its cycle.
    #[inline(always)]
    pub(super) fn predict_jump(&mut self, inst: &StaticInst) -> u64 {
        // With an editor something else may turn fetch than where it goes.
        if Self::ALL_OF_PROGRAM && inst.class.is_direct() {
            let link = inst.class.is_call().then(|| inst.next());
            let target = inst.direct_target(inst.pc);
            let btb_hit = self.branches.predict_direct(&inst.site(), link, target);
            return self.turn_to_predicted(inst, target, true, btb_hit);
        }
        if often(inst.class == OpClass::Return) {
            return self.predict_transfer(inst, BranchKind::Return);
        }
        match branch_kind(inst.class) {
            Some(kind) => self.predict_transfer(inst, kind),
            None => predicts_nothing(inst),
        }
    }

    /// Predicts a transfer that is squashed before it executes, without a checkpoint.
    #[inline(always)]
    pub(super) fn predict_undispatched(&mut self, inst: &StaticInst) {
        if seldom(inst.class != OpClass::Branch) {
            self.predict(inst);
            return;
        }
        self.learn(self.fetch.cycle);
        let (pc, direct) = (inst.pc, inst.direct_target(inst.pc));
        let site = (pc, &inst.site());
        let (taken, btb_hit) = self.branches.predict_undispatched_conditional(site, direct);
        self.turn_to_predicted(inst, direct, taken, btb_hit);
    }

    /// Predicts a conditional branch. The predictors are trained up to its cycle.
    #[inline(always)]
    pub(super) fn predict_conditional(&mut self, inst: &StaticInst) -> u64 {
        let (pc, direct) = (inst.pc, inst.direct_target(inst.pc));
        let cp = &mut self.predicted_at;
        if E::ENABLED {
            // Decode may turn fetch, and what is fetched until then moves the stack.
            self.branches.checkpoint_returns(cp);
        }
        let site = (pc, &inst.site());
        let (taken, btb_hit) = self.branches.predict_conditional(site, direct, cp);
        self.turn_to_predicted(inst, direct, taken, btb_hit)
    }

    /// Turns fetch to where a conditional branch is predicted to go. Returns where that is.
    #[inline(always)]
    fn turn_to_predicted(
        &mut self,
        inst: &StaticInst,
        direct: u64,
        taken: bool,
        btb_hit: bool,
    ) -> u64 {
        let next = if taken { direct } else { inst.next() };
        if seldom(taken & !btb_hit) {
            self.fetch.pc = next;
            self.fetch.way = Way::Elsewhere;
            self.misfetch();
        } else if next != inst.next() {
            self.fetch.pc = next;
            self.fetch.way = Way::Elsewhere;
            self.leave_line(inst.pc, next);
        } else {
            self.fetch.go_on(next);
        }
        next
    }

    /// Predicts any other transfer.
    #[inline(always)]
    fn predict_transfer(&mut self, inst: &StaticInst, kind: BranchKind) -> u64 {
        let fallthrough = inst.next();
        let pc = inst.pc;
        let is_direct = kind.is_direct();
        let direct = if is_direct { inst.direct_target(pc) } else { 0 };
        let site = (pc, &inst.site());
        let cp = &mut self.predicted_at;
        let predicted = self
            .branches
            .predict_at(site, kind, fallthrough, direct, cp);
        let next = predicted_next(&predicted, is_direct.then_some(direct), fallthrough);
        let f = &mut self.fetch;
        f.pc = next;
        f.way = Way::Elsewhere;
        if next == UNKNOWN_TARGET {
            f.wait();
            self.stats.btb_misfetch_events += 1;
        } else if predicted.taken && is_direct && !predicted.btb_hit {
            self.misfetch();
        } else if next != fallthrough {
            self.leave_line(pc, next);
        } else {
            f.go_on(next);
        }
        next
    }

    /// Decode computes the target of a direct transfer that the BTB does not know.
    #[inline(always)]
    fn misfetch(&mut self) {
        let f = &mut self.fetch;
        f.stall_until = f.cycle + self.params.fetch_to_decode;
        f.late(Cause::BtbMiss, f.cycle);
        f.left = 0;
        self.stats.btb_misfetch_events += 1;
    }

    /// Fetch goes from one address to another in a cycle, if it can.
    #[inline(always)]
    fn leave_line(&mut self, pc: u64, next: u64) {
        let f = &mut self.fetch;
        f.taken += 1;
        let same_line = (pc ^ next) >> self.params.line_shift == 0;
        if f.taken >= self.params.taken_branches_per_cycle || !same_line {
            f.left = 0;
        }
        f.block_last = next | self.params.fetch_block_mask;
    }

    /// Teaches the predictors what has committed by this cycle.
    #[inline(always)]
    pub(super) fn learn(&mut self, cycle: u64) {
        while self.lesson_due <= cycle {
            let lesson = self.lessons.at(self.lessons_head);
            let site = (lesson.pc, &lesson.site);
            if often(lesson.class == OpClass::Branch) {
                let basis = (&lesson.basis, self.folded.at(self.lessons_head));
                self.branches
                    .train_conditional(basis, site, lesson.taken, lesson.next_pc);
            } else if lesson.class.is_direct() {
                self.branches.train_direct(&lesson.site, lesson.next_pc);
            } else if often(lesson.class == OpClass::Return) {
                self.branches.train_transfer(
                    &lesson.basis,
                    site,
                    BranchKind::Return,
                    lesson.next_pc,
                );
            } else if let Some(kind) = branch_kind(lesson.class) {
                self.branches
                    .train_transfer(&lesson.basis, site, kind, lesson.next_pc);
            }
            self.lessons_head += 1;
            self.lesson_due = if self.lessons_head == self.lessons_tail {
                NEVER
            } else {
                self.lessons.at(self.lessons_head).commit
            };
        }
    }

    /// A control transfer of the right path commits; its prediction was the last one made.
    #[inline(always)]
    pub(super) fn teach(&mut self, commit: u64, inst: &StaticInst, next_pc: u64, taken: bool) {
        let lesson = self.lessons.at_mut(self.lessons_tail);
        lesson.commit = commit;
        lesson.pc = inst.pc;
        lesson.next_pc = next_pc;
        lesson.basis = self.predicted_at.basis;
        lesson.site = inst.site();
        lesson.class = inst.class;
        lesson.taken = taken;
        if seldom(self.branches.is_folded()) {
            *self.folded.at_mut(self.lessons_tail) = self.predicted_at.folded;
        }
        if seldom(self.lessons_head == self.lessons_tail) {
            self.lesson_due = commit;
        }
        self.lessons_tail += 1;
        debug_assert!(self.lessons_tail - self.lessons_head <= self.lessons.places());
    }

    /// The checkpoint of the transfer that was predicted last.
    #[inline]
    pub(super) fn last_checkpoint(&self, kind: BranchKind) -> Checkpoint {
        let mut checkpoint = self.predicted_at;
        if kind == BranchKind::Conditional && !E::ENABLED {
            self.branches.checkpoint_returns(&mut checkpoint);
        }
        checkpoint
    }
}
