//! Interrupts of the cycle-driven core: the boundary at which one is taken, its handler's entry and its
//! return. The rules are those of [`interrupts`](crate::interrupts).

use hps_isa::code::HandlerLink;
use hps_isa::editor::DecodeEditor;
use hps_isa::ids::DisePc;
use hps_isa::inst::OpClass;
use hps_system::process::HardwareEvents;

use super::uop::{MicroOp, flag};
use super::{Context, Resources};
use crate::interrupts::set_registers;
use crate::model::{Cause, PipelineProbe, kind};
use crate::pmu::Readings;

impl<E: DecodeEditor, P: PipelineProbe> Context<E, P> {
    /// The instruction in front of the head of the ROB has committed. True: an interrupt is taken behind
    /// it.
    #[cold]
    #[inline(never)]
    pub(super) fn finds_boundary(&mut self, core: &mut Resources) -> bool {
        let u = *self.rob.at(self.rob.slot_of(self.rob.head - 1));
        if u.has(flag::HANDLER) {
            if u.inst_class() == OpClass::DiseReturn && self.lines.are_masked() {
                self.lines.waits_for_program = self.in_order.is_some();
                self.lines.leave(core.now);
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
        self.lines.found = Some(core.now);
        true
    }

    /// In order: whether nothing more issues in this cycle, since an interrupt is taken in front of the
    /// instruction at `next`, the oldest that has not issued.
    #[cold]
    #[inline(never)]
    pub(super) fn holds_issue(&self, core: &Resources, next: u64) -> bool {
        if self.lines.are_masked() || self.lines.waits_for_program || self.halted.is_some() {
            return false;
        }
        let of = |u: &MicroOp| {
            let inserted = self.inserted_of(u, next);
            // Serializing instructions were executed when they were dispatched.
            let executed = kind::of(u.inst_class()) & core.params.alone_kinds != 0;
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
    pub(super) fn take_at_issue_head(&mut self, core: &mut Resources) {
        let Some(next) = self.in_order.as_ref().map(|order| order.next()) else {
            return;
        };
        if self.rob.head == next && self.holds_issue(core, next) {
            self.take_interrupt(core);
        }
    }

    /// Takes an interrupt behind the last commit, in the cycle of that commit.
    #[cold]
    #[inline(never)]
    pub(super) fn take_interrupt(&mut self, core: &mut Resources) {
        self.lines.found = None;
        self.empty_pipeline(core);
        let pc = self.fetch.pc;
        debug_assert!(self.resume == DisePc::NONE && self.link.is_none());
        let Some(interrupts) = &mut self.lines.interrupts else {
            return;
        };
        let Some(taken) = interrupts.take(core.readings(), core.now, pc) else {
            debug_assert!(false, "no line is raised in cycle {}", core.now);
            return;
        };
        let (handler, from) = interrupts.entry(core.now);
        self.lines.plan();
        set_registers(&mut self.process.thread.hart.r, &taken);
        self.link = Some(HandlerLink::of_interrupt(pc));
        self.fetch.redirect(handler, Cause::Serialize, from);
        core.progressed = true;
    }

    /// Decode finds the return of an interrupt's handler: fetch, which waits for that, goes on with the
    /// program.
    #[cold]
    #[inline(never)]
    pub(super) fn return_from_interrupt(&mut self, core: &mut Resources, pc: u64) {
        if let Some(oracle) = &mut self.oracle {
            oracle.lose();
        }
        let interrupts = self.lines.interrupts.as_ref();
        let from = interrupts.map_or(core.now, |i| i.return_from(core.now));
        self.fetch.redirect(pc, Cause::Serialize, from);
    }

    /// Counts what has happened by now, where it has been counted by the end of cycle `from` before.
    #[cold]
    #[inline(never)]
    pub(super) fn count_events(&mut self, core: &mut Resources, from: u64) {
        self.lines.count_events(core.readings(), from, core.now);
    }
}

impl Resources {
    /// Readings for the counters of the core.
    pub(super) fn readings(&self) -> Readings<'_> {
        let mut caches = HardwareEvents::default();
        self.memory.tell_threads(&mut caches);
        Readings {
            core: &self.stats,
            caches,
        }
    }
}
