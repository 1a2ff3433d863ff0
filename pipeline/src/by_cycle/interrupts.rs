//! Interrupts of the cycle-driven core: the boundary at which one is taken, its handler's entry and its
//! return. The rules are those of [`interrupts`](crate::interrupts).

use hps_sim_core::code::HandlerLink;
use hps_sim_core::editor::{DecodeEditor, Interruptible};
use hps_sim_core::ids::DisePc;
use hps_sim_core::inst::OpClass;

use super::Core;
use super::uop::{MicroOp, flag};
use crate::interrupts::{Interrupts, set_registers};
use crate::model::{Cause, PipelineProbe, kind};

impl<E: DecodeEditor, P: PipelineProbe> Core<Interruptible<E>, P> {
    /// Takes these interrupts from now on, instead of any others; their counters begin to count here.
    pub fn attach_interrupts(&mut self, mut interrupts: Interrupts) {
        interrupts.start(&self.stats);
        self.lines.attach(interrupts);
    }

    /// The interrupts that were attached.
    #[must_use]
    pub fn interrupts(&self) -> Option<&Interrupts> {
        self.lines.interrupts.as_deref()
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Core<E, P> {
    /// The instruction in front of the head of the ROB has committed. True: an interrupt is taken behind
    /// it.
    #[cold]
    #[inline(never)]
    pub(super) fn finds_boundary(&mut self) -> bool {
        let u = *self.rob.at(self.rob.slot_of(self.rob.head - 1));
        if u.has(flag::HANDLER) {
            if u.inst_class() == OpClass::DiseReturn && self.lines.are_masked() {
                self.lines.waits_for_program = self.in_order.is_some();
                self.lines.leave(self.now);
            }
            return false;
        }
        // A handler of productions comes next, or the expansion goes on.
        if u.inst_class() == OpClass::DiseCall || u.next_disepc != DisePc::NONE {
            return false;
        }
        if self.lines.waits_for_program {
            self.lines.waits_for_program = false;
            self.lines.plan();
        }
        if self.lines.are_masked() || self.in_order.is_some() {
            return false;
        }
        self.lines.found = Some(self.now);
        true
    }

    /// In order: whether nothing more issues in this cycle, since an interrupt is taken in front of the
    /// instruction at `next`, the oldest that has not issued.
    #[cold]
    #[inline(never)]
    pub(super) fn holds_issue(&self, next: u64) -> bool {
        if self.lines.are_masked() || self.lines.waits_for_program || self.halted.is_some() {
            return false;
        }
        let of = |u: &MicroOp| {
            let inserted = self.inserted_of(u, next);
            // What serializes has been executed when it was dispatched.
            let executed = kind::of(u.inst_class()) & kind::SERIALIZES != 0;
            !executed && !u.has(flag::HANDLER) && inserted.disepc.again() == DisePc::NONE
        };
        if next < self.rob.tail {
            return of(self.rob.at(self.rob.slot_of(next)));
        }
        let restart = self.restart_of_front_end();
        restart.disepc == DisePc::NONE && restart.link.is_none()
    }

    /// In order: takes an interrupt if everything that has issued has committed, and a boundary follows.
    #[cold]
    #[inline(never)]
    pub(super) fn take_at_issue_head(&mut self) {
        let Some(next) = self.in_order.as_ref().map(|order| order.next()) else {
            return;
        };
        if self.rob.head == next && self.holds_issue(next) {
            self.take_interrupt();
        }
    }

    /// Takes an interrupt behind the last commit, in the cycle of that commit.
    #[cold]
    #[inline(never)]
    pub(super) fn take_interrupt(&mut self) {
        self.lines.found = None;
        self.empty_pipeline();
        let pc = self.fetch.pc;
        debug_assert!(self.resume == DisePc::NONE && self.link.is_none());
        let Some(interrupts) = &mut self.lines.interrupts else {
            return;
        };
        let Some(taken) = interrupts.take(&self.stats, self.now, pc) else {
            debug_assert!(false, "no line is raised in cycle {}", self.now);
            return;
        };
        let (handler, from) = interrupts.entry(self.now);
        self.lines.plan();
        set_registers(&mut self.process.hart.r, &taken);
        self.link = Some(HandlerLink::of_interrupt(pc));
        self.fetch.redirect(handler, Cause::Serialize, from);
        self.progressed = true;
    }

    /// Decode finds the return of an interrupt's handler: fetch, which waits for that, goes on with the
    /// program.
    #[cold]
    #[inline(never)]
    pub(super) fn return_from_interrupt(&mut self, pc: u64) {
        if let Some(oracle) = &mut self.oracle {
            oracle.lose();
        }
        let interrupts = self.lines.interrupts.as_ref();
        let from = interrupts.map_or(self.now, |i| i.return_from(self.now));
        self.fetch.redirect(pc, Cause::Serialize, from);
    }

    /// Counts what has happened by now, where it has been counted by the end of cycle `from` before.
    #[cold]
    #[inline(never)]
    pub(super) fn count_events(&mut self, from: u64) {
        self.lines.count_events(&self.stats, from, self.now);
    }
}
