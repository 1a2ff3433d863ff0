//! Interrupts of the instruction-driven core. The rules are those of
//! [`interrupts`](crate::interrupts).
//!
//! A commit tells whether an interrupt is taken behind it. What the other core has in flight then is
//! followed as a wrong path that is squashed in the cycle of that commit; behind it lies the handler.

use hps_isa::code::HandlerLink;
use hps_isa::editor::Interruptible;
use hps_isa::ids::DisePc;
use hps_system::process::HardwareEvents;

use super::fetch::Pace;
use super::insts::Code;
use super::path::RightPath;
use super::wrong_path::Turn;
use super::{DecodeEditor, DrivenCore};
use crate::interrupts::{Interrupts, set_registers};
use crate::memsys::MemorySystem;
use crate::model::{Cause, CoreStats, Origin, PipelineProbe};
use crate::pmu::Readings;

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<Interruptible<E>, P> {
    /// Takes these interrupts from now on, instead of any others; their counters begin to count here.
    pub fn attach_interrupts(&mut self, mut interrupts: Interrupts) {
        interrupts.start(readings(&self.memory, &self.stats));
        self.lines.attach(interrupts);
    }

    /// The interrupts that were attached.
    #[must_use]
    pub fn interrupts(&self) -> Option<&Interrupts> {
        self.lines.interrupts.as_deref()
    }
}

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// The next instruction of the right path, behind which an interrupt may be taken; or the interrupt that is
    /// taken behind the last one.
    #[inline(never)]
    pub(super) fn step_interruptibly(&mut self, code: &mut Code) {
        if let Some(cycle) = self.lines.found.take() {
            let checkpoint = self.checkpoint();
            self.begin_episode(cycle, Turn::Interrupt, checkpoint, self.next_restart());
            return;
        }
        let before = self.committed().total();
        self.step_alone::<RightPath>(code);
        let committed = self.committed().total();
        if committed == before {
            return;
        }
        let cycle = self.last_commit();
        if cycle >= self.lines.look_from && self.finds_boundary(cycle) {
            self.lines.found = Some(cycle);
        }
        if self.lines.count {
            // Counters that are otherwise added up at the end of a run only.
            let stats = CoreStats {
                cycles: cycle,
                dispatch_instructions: self.stats.dispatch_instructions + committed
                    - self.lines.committed_before,
                ..self.stats
            };
            let readings = readings(&self.memory, &stats);
            self.lines.count_events(readings, cycle - 1, cycle);
        }
    }

    /// The last instruction has committed in a cycle. True: an interrupt is taken behind it.
    fn finds_boundary(&mut self, cycle: u64) -> bool {
        if self.edit.here.origin == Origin::Handler {
            if self.edit.link.is_none() && self.lines.are_masked() {
                self.lines.leave(cycle);
            }
            return false;
        }
        if self.lines.are_masked() {
            return false;
        }
        // Where execution goes on, also if the last instruction was mispredicted.
        let next = match self.depth {
            0 if self.edit.is_in_sequence() => return false,
            0 => self.next_restart(),
            _ => self.episodes[0].restart,
        };
        next.disepc == DisePc::NONE && next.link.is_none()
    }

    /// Everything behind the last commit has been taken back: fetch goes on with the handler.
    #[cold]
    #[inline(never)]
    pub(super) fn take_interrupt(&mut self, pc: u64, cycle: u64) {
        let Some(interrupts) = &mut self.lines.interrupts else {
            return;
        };
        let stats = CoreStats {
            cycles: cycle,
            ..self.stats
        };
        let Some(taken) = interrupts.take(readings(&self.memory, &stats), cycle, pc) else {
            debug_assert!(false, "no line is raised in cycle {cycle}");
            return;
        };
        let (handler, from) = interrupts.entry(cycle);
        self.lines.plan();
        set_registers(&mut self.process.thread.hart.r, &taken);
        self.edit.link = Some(HandlerLink::of_interrupt(pc));
        self.fetch.redirect(handler, Cause::Serialize, from);
    }

    /// Decode finds the return of an interrupt's handler in a cycle: fetch, which waits for that, goes on with
    /// the program.
    #[cold]
    #[inline(never)]
    pub(super) fn return_from_interrupt(&mut self, pc: u64, decode: u64) {
        let interrupts = self.lines.interrupts.as_ref();
        let from = interrupts.map_or(decode, |i| i.return_from(decode));
        self.edit.empty_queue(self.params.fetch_buffer);
        self.fetch.redirect(pc, Cause::Serialize, from);
        self.fetch.pace = Pace::Uneven;
    }
}

/// Readings for the counters of the core.
fn readings<'a>(memory: &MemorySystem, core: &'a CoreStats) -> Readings<'a> {
    let mut caches = HardwareEvents::default();
    memory.private.tell_threads(&mut caches);
    Readings { core, caches }
}
