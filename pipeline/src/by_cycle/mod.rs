//! The core, out of order or in order: stages over shared queues, one file a stage.
//!
//! An instruction executes functionally when it is dispatched, in program order of the predicted
//! path; everything behind that is time. A mispredicted path is really executed: registers are
//! brought back by the old values in the ROB, memory never sees a store before it commits.
//!
//! A cycle runs the stages from back to front, so that what a stage frees is seen by the stage
//! before it in the next cycle only where hardware would see it then. Cycles in which nothing can
//! happen are skipped: the core goes to the next cycle for which something is scheduled.
//!
//! # Parts
//! A [`Chip`] has processors and the levels of the memory system that its cores share. A processor is what the guest's
//! operating system takes for one: a hardware [`Context`] with the [`Resources`] that it has of its core. A stage is a
//! method of a [`Context`], with its resources and, where it may reach them, the chip's levels as arguments. The chip lets
//! processors go on in order of time; contexts of one core lend each other what is the core's.

mod attend;
mod chip;
mod commit;
mod context;
mod counters;
mod decode;
mod dispatch;
mod events;
mod fetch;
mod front_queue;
mod in_order;
mod in_step;
mod interrupts;
mod issue;
mod lsu;
mod oracle;
mod peers;
mod resources;
mod rob;
mod scheduler;
mod squash;
mod store_queue;
mod units;
mod uop;
mod warming;

pub use chip::{Chip, CopyTerms, EndedCopy, NotTogether, OperatingPoint, PageFaults};
pub(crate) use warming::WarmEdited;
pub use warming::{Learned, WARM_EVENTS, Warm, WarmEvents};

use std::ops::ControlFlow;

use hps_isa::editor::{DecodeEditor, NoEditor};
use hps_isa::likely::seldom;
use hps_isa::probe::NoProbe;
use hps_sim_core::machine::Stop;

use crate::memsys::SharedMemory;
use crate::model::{DEADLOCK_CYCLES, PipelineProbe};

use context::Context;
use resources::Resources;

/// A hardware context, and what it has of its core.
pub(crate) struct Processor<E: DecodeEditor = NoEditor, P: PipelineProbe = NoProbe> {
    context: Context<E, P>,
    resources: Resources,
    /// The cycle in which something may happen next.
    next_cycle: u64,
}

hps_isa::save_state! {
    impl[E: DecodeEditor, P: PipelineProbe] Processor<E, P> {
        context, resources, next_cycle,
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Processor<E, P> {
    /// Runs cycles up to `until` at most, or until its program has committed `end` instructions or has ended. Says
    /// in which cycle, behind `until`, something may happen next, or why it has stopped.
    pub fn advance(
        &mut self,
        shared: &mut SharedMemory,
        until: u64,
        end: u64,
    ) -> ControlFlow<Stop, u64> {
        let (context, resources) = (&mut self.context, &mut self.resources);
        resources.until = until;
        let advanced = match seldom(context.goes_in_step()) {
            false => loop {
                match context.cycle(resources, shared, end) {
                    ControlFlow::Continue(next) if next <= resources.until => {}
                    advanced => break advanced,
                }
            },
            true => loop {
                match context.cycle_in_step(resources, shared, end) {
                    ControlFlow::Continue(next) if next <= resources.until => {}
                    advanced => break advanced,
                }
            },
        };
        self.next_cycle = match advanced {
            ControlFlow::Continue(next) => next,
            ControlFlow::Break(_) => resources.now + u64::from(!resources.paused),
        };
        advanced
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Context<E, P> {
    /// One cycle, and idle ones behind it up to the end of its turn. Says in which cycle something may happen next.
    #[inline(always)]
    fn cycle(
        &mut self,
        core: &mut Resources,
        shared: &mut SharedMemory,
        end: u64,
    ) -> ControlFlow<Stop, u64> {
        if seldom(core.paused) {
            // The last run ended in the middle of a cycle, behind a commit; it goes on here.
            core.paused = false;
        } else {
            self.begin_cycle(core, shared);
        }
        if let Some(stop) = self.commit(core, end) {
            return ControlFlow::Break(stop);
        }
        if seldom(core.now >= self.attend_at) {
            self.attend(core)?;
        }
        self.issue(core, shared);
        self.dispatch(core);
        self.decode(core);
        self.fetch(core, shared);
        self.end_cycle(core)
    }

    /// Work of a cycle before all stages.
    #[inline(always)]
    fn begin_cycle(&mut self, core: &mut Resources, shared: &mut SharedMemory) {
        core.now += 1;
        core.committed_in_cycle = 0;
        core.stats.cycles = core.now;
        core.progressed = false;
        self.drain_store(core, shared);
        // In front of commit: a branch resolves, and a store finds its violation, before it
        // may leave the ROB in the same cycle.
        self.run_events(core);
    }

    /// Work of a cycle behind all stages. Says in which cycle something may happen next.
    #[inline(always)]
    fn end_cycle(&mut self, core: &mut Resources) -> ControlFlow<Stop, u64> {
        if E::INTERRUPTIBLE && seldom(self.lines.count) {
            self.count_events(core, core.now - 1);
        }
        if !core.progressed {
            return ControlFlow::Continue(self.skip_idle_cycles(core));
        }
        if seldom(core.now - self.last_commit > DEADLOCK_CYCLES) {
            self.look_if_stuck(core);
        }
        ControlFlow::Continue(core.now + 1)
    }

    /// Nothing happened in this cycle: goes to just before the next one in which something can, or to the end of the
    /// turn. Returns the next one.
    fn skip_idle_cycles(&mut self, core: &mut Resources) -> u64 {
        let mut next = u64::MAX;
        let now = core.now;
        if seldom(core.shares) && self.could_use_more(core) {
            return now + 1;
        }
        let mut at = |cycle: u64| {
            if cycle > now {
                next = next.min(cycle);
            }
        };
        at(self.scheduler.next_after(now));
        at(self.events.next());
        if let Some(head) = self.rob.head() {
            at(head
                .complete_cycle
                .saturating_add(core.params.complete_to_commit));
        }
        if let Some(f) = self.front.fetched() {
            at(f.since(now) + core.params.fetch_to_decode);
        }
        if let Some(d) = self.front.decoded() {
            at(d.since(now) + core.params.decode_to_dispatch);
        }
        at(self.decode_stall_until);
        at(self.fetch.stall_until);
        at(self.drain_retry);
        at(self.attend_at);
        if self.scheduler.any_ready() {
            // Ready but not issued: its unit is busy.
            at(core.units.next_free(now));
        }
        if let Some(order) = &self.in_order {
            at(order.retry);
            at(self.lines.look_from);
        }
        if next == u64::MAX {
            if self.rests || self.is_asleep(now) {
                return u64::MAX;
            }
            next = now + DEADLOCK_CYCLES + 1;
        }
        if next - self.last_commit > DEADLOCK_CYCLES && !self.is_asleep(now) {
            self.look_if_stuck(core);
        }
        let skipped = (next - 1).min(core.until) - now;
        if skipped > 0 {
            self.pass_over(core, skipped);
        }
        next
    }

    /// Passes over cycles in which nothing happens.
    #[inline(always)]
    fn pass_over(&mut self, core: &mut Resources, cycles: u64) {
        let before = core.now;
        self.account_skipped_slots(core, cycles);
        self.account_dispatch_stall(core, cycles);
        self.account_issue_stall(core, cycles);
        core.stats.idle_skipped_cycles += cycles;
        core.now += cycles;
        if E::INTERRUPTIBLE && seldom(self.lines.count) {
            self.count_events(core, before);
        }
    }

    /// No instruction has committed for long. That is a defect unless the context was held up.
    #[cold]
    fn look_if_stuck(&mut self, core: &Resources) {
        let held = self.fetch.held_until();
        if held <= self.last_commit {
            self.stuck(core);
        }
        self.last_commit = held.min(core.now);
    }

    #[cold]
    fn stuck(&self, core: &Resources) -> ! {
        let head = self.rob.head().map_or_else(
            || "ROB empty".to_string(),
            |h| {
                format!(
                    "head pc {:#x} {:?} flags {:#b} complete {}",
                    h.front.pc, h.front.inst, h.flags, h.complete_cycle
                )
            },
        );
        panic!(
            "the pipeline is stuck: cycle {}, last commit in cycle {}, {head}; {} fetched, {} decoded, fetch at {:#x} stalled until {}",
            core.now,
            self.last_commit,
            self.front.fetched_len(),
            self.front.decoded_len(),
            self.fetch.pc,
            self.fetch.stall_until
        )
    }
}
