//! Timed work of the operating system outside of system calls: turns of threads, timers.
//!
//! From the cycle on in which that is due, the core looks behind its commits for a boundary between two instructions
//! of the program, outside of expansions and handlers. What is in flight behind it is squashed, as for an interrupt.

use std::ops::ControlFlow;

use hps_isa::editor::DecodeEditor;
use hps_isa::ids::DisePc;
use hps_isa::likely::seldom;
use hps_isa::trap::Trap;
use hps_sim_core::machine::Stop;
use hps_system::process::Then;

use super::uop::flag;
use super::{Context, Resources};
use crate::model::{Cause, PipelineProbe, cycles_of_ns, kind};

impl<E: DecodeEditor, P: PipelineProbe> Context<E, P> {
    /// Plans the cycle in which the operating system has something to do.
    pub(super) fn plan_attention(&mut self, core: &Resources) {
        if self.process.thread.is_observer() {
            return;
        }
        self.attend_at = match self.process.os.deadline_ns() {
            u64::MAX => u64::MAX,
            deadline => {
                let left_ns = deadline.saturating_sub(self.guest_counters(core).time_ns);
                let cycles = cycles_of_ns(left_ns, core.params.clock_mhz);
                core.now.saturating_add(cycles.max(1))
            }
        };
    }

    /// The cycle has come in which the operating system has something to do.
    #[cold]
    #[inline(never)]
    pub(super) fn attend(&mut self, core: &mut Resources) -> ControlFlow<Stop> {
        if self.process.os.takes_samples() {
            self.show_all_counters(core);
            if self.process.only_counts() {
                self.plan_attention(core);
                return ControlFlow::Continue(());
            }
        }
        if !self.is_between_instructions(core) {
            self.attend_at = core.now + 1;
            return ControlFlow::Continue(());
        }
        self.empty_pipeline(core);
        self.attend_at = u64::MAX;
        let pc = self.fetch.pc;
        self.show_all_counters(core);
        let then = self.process.attend(&self.editor, pc);
        self.go_on(core, then)
    }

    /// Goes on where the operating system says, with an empty pipeline.
    pub(super) fn go_on(&mut self, core: &mut Resources, then: Then) -> ControlFlow<Stop> {
        self.follow_code(core);
        core.progressed = true;
        if seldom(core.params.has_peers) {
            core.until = core.now;
            if self.process.is_idle() {
                self.rest();
                return ControlFlow::Continue(());
            }
        }
        match then {
            Then::Next => {}
            Then::Elsewhere { pc, disepc } => {
                if let Some(oracle) = &mut self.oracle {
                    oracle.lose();
                }
                self.resume = disepc;
                self.fetch.redirect(pc, Cause::Serialize, core.now + 1);
            }
            Then::Exit(code) => return ControlFlow::Break(Stop::Exit(code)),
            Then::Fault(_) => {
                let pc = self.process.thread.hart.pc;
                return ControlFlow::Break(Stop::Fault(Trap::stopped(pc)));
            }
        }
        self.plan_attention(core);
        ControlFlow::Continue(())
    }

    /// Whether the last commit ended an instruction of the program, and nothing behind it has been executed for good.
    pub(super) fn is_between_instructions(&self, core: &Resources) -> bool {
        if self.halted.is_some() {
            return false;
        }
        let (pc, is_between) = match self.rob.head() {
            Some(head) => {
                let is_executed = kind::of(head.inst_class()) & core.params.alone_kinds != 0;
                let disepc = self.inserted_of(head, self.rob.head).disepc.again();
                let is_inside = head.has(flag::HANDLER) || disepc != DisePc::NONE;
                (head.front.pc, !is_executed && !is_inside)
            }
            None => {
                let restart = self.restart_of_front_end();
                let is_inside = restart.disepc != DisePc::NONE || restart.link.is_some();
                (restart.pc, !is_inside)
            }
        };
        is_between && (!E::RELAYOUT || self.editor.place(pc, self.editor.original(pc)) == pc)
    }
}
