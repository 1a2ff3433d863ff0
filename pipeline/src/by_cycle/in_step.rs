//! The stages of textbooks: instructions go through decode, execute, memory and write back in step,
//! or through all of them in one cycle.
//!
//! In step, decode, dispatch and issue are one stage, which an instruction leaves when it issues. A
//! stage holds as many instructions as may issue in a cycle; one that stays holds all behind it.
//! When an instruction issues, all that is older has issued, so that its cycles in the stages behind
//! are known at once: its own, and those in which the stage in front of it is free.
//!
//! Caches are asked when a load issues. What it waits for them beyond a hit, it waits in memory.

use std::ops::ControlFlow;

use hps_isa::editor::DecodeEditor;
use hps_isa::inst::OpClass;
use hps_isa::likely::seldom;
use hps_sim_core::machine::Stop;
use serde::{Deserialize, Serialize};

use super::in_order::InOrder;
use super::rob::Slot;
use super::uop::MicroOp;
use super::{Context, Resources};
use crate::config::{MachineConfig, Stages};
use crate::memsys::SharedMemory;
use crate::model::{IssueStall, PipelineProbe, Ring};

/// When an instruction that has issued is where.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Flow {
    /// First cycle in memory.
    memory: u64,
    /// Cycle in write back.
    write: u64,
    /// The first cycle in which an instruction may issue that reads its result.
    ready: u64,
}

hps_isa::save_values!(Flow);

/// The state of a machine whose instructions go in step, or take one cycle.
#[derive(Clone)]
pub(super) struct InStep {
    one_cycle: bool,
    forwarding: bool,
    branches_in_decode: bool,
    width: u64,
    /// Of the instructions that have issued, by their positions: all in flight, and those that are as
    /// many before them as a stage holds.
    flows: Ring<Flow>,
}

hps_isa::save_state! {
    InStep { one_cycle: skip, forwarding: skip, branches_in_decode: skip, width: skip, flows }
}

impl InStep {
    /// The state of a machine with such stages; `None` for others.
    pub fn new(config: &MachineConfig) -> Option<Box<InStep>> {
        let (one_cycle, forwarding, branches_in_decode) = match config.issue.stages() {
            Stages::Free => return None,
            Stages::OneCycle => (true, true, false),
            Stages::InStep(step) => (false, step.forwarding, step.branches_in_decode),
        };
        let width = config.issue.issue_width;
        let places = config.window.rob_entries + width;
        Some(Box::new(InStep {
            one_cycle,
            forwarding,
            branches_in_decode,
            width: u64::from(width),
            flows: Ring::new(places as usize, Flow::default()),
        }))
    }

    /// Cycles in which the unit of a class works, of those that the machine gives it.
    pub fn latency(&self, class: OpClass, cycles: u64) -> u64 {
        let decides_early = self.one_cycle || self.branches_in_decode;
        if decides_early && class.is_control() {
            0
        } else {
            cycles
        }
    }

    fn flow(&self, position: u64) -> Flow {
        *self.flows.at(position as usize)
    }

    /// That of the instruction which was in the same place of its stages before.
    fn before(&self, position: u64) -> Flow {
        self.flow(position.wrapping_sub(self.width))
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Context<E, P> {
    /// Whether instructions go in step, or take one cycle: [`Context::cycle_in_step`] is their cycle.
    pub(super) fn goes_in_step(&self) -> bool {
        let order = self.in_order.as_ref();
        order.is_some_and(|order| order.step.is_some())
    }

    /// One cycle, and idle ones behind it. What leaves decode may issue in the same cycle.
    #[inline(never)]
    pub(super) fn cycle_in_step(
        &mut self,
        core: &mut Resources,
        shared: &mut SharedMemory,
        end: u64,
    ) -> ControlFlow<Stop, u64> {
        let step = self.in_order.as_ref().and_then(|order| order.step.as_ref());
        let one_cycle = step.is_some_and(|step| step.one_cycle);
        if seldom(core.paused) {
            core.paused = false;
        } else {
            self.begin_cycle(core, shared);
            if one_cycle {
                if self.rob.is_empty()
                    && self.front.decoded().is_none()
                    && self.front.fetched().is_none()
                {
                    self.fetch(core, shared);
                }
                self.decode_and_issue(core, shared);
                // The next cycle would begin with these events: nothing has been fetched behind a branch.
                self.run_events_until(core, core.now + 1);
            }
        }
        if let Some(stop) = self.commit(core, end) {
            return ControlFlow::Break(stop);
        }
        if seldom(core.now >= self.attend_at) {
            self.attend(core)?;
        }
        if !one_cycle {
            self.decode_and_issue(core, shared);
            self.fetch(core, shared);
        }
        self.end_cycle(core)
    }

    /// Fills decode, and issues from it.
    fn decode_and_issue(&mut self, core: &mut Resources, shared: &mut SharedMemory) {
        let held = core.reservations_used as usize + self.front.decoded_len();
        core.params.decode_width = core.params.issue_width.saturating_sub(held);
        if core.params.decode_width > 0 {
            self.decode(core);
        }
        self.dispatch(core);
        self.issue(core, shared);
    }

    /// Whether the oldest instruction that has not issued may go on to execute.
    pub(super) fn may_go_on(
        &self,
        core: &Resources,
        order: &mut InOrder,
        u: &MicroOp,
        position: u64,
    ) -> Result<(), IssueStall> {
        let Some(step) = &order.step else {
            return Ok(());
        };
        let now = core.now;
        let free = step.before(position).memory;
        if free > now + core.params.issue_to_execute {
            order.retry = free - core.params.issue_to_execute;
            let waits_for_data = self.rob.head().is_some_and(|head| head.class.is_memory());
            return Err(match waits_for_data {
                true => IssueStall::Memory,
                false => IssueStall::Unit,
            });
        }
        let inst = &u.front.inst;
        // Forwarding brings a result behind its stage, and decode would need it a cycle earlier.
        let decides = u.class == OpClass::Branch || u.class.is_indirect();
        let earlier = u64::from(step.branches_in_decode && step.forwarding && decides);
        let operands = [inst.rs1, inst.rs2, inst.rs3].into_iter();
        let ready = operands
            .filter_map(|register| self.producer_before(position, register))
            .map(|producer| step.flow(producer).ready + earlier)
            .max();
        match ready {
            Some(ready) if ready > now => {
                order.retry = ready;
                Err(IssueStall::Operand)
            }
            _ => Ok(()),
        }
    }

    /// An instruction has issued: when it is where.
    pub(super) fn goes_on(
        &mut self,
        core: &Resources,
        order: &mut InOrder,
        slot: Slot,
        position: u64,
        latency: u64,
    ) {
        let (now, hit) = (core.now, order.hit_cycles());
        let Some(step) = &mut order.step else { return };
        let u = self.rob.at_mut(slot);
        let is_load = matches!(u.class, OpClass::Load | OpClass::Atomic);
        if step.one_cycle {
            // A load waits for what takes longer than a hit; everything else is part of the cycle.
            let hits = now + latency + hit;
            u.complete_cycle = now
                + if is_load {
                    u.complete_cycle.saturating_sub(hits)
                } else {
                    0
                };
            return;
        }
        let read = core.params.issue_to_execute;
        let executes = now + read;
        let (last, before) = (step.flow(position - 1), step.before(position));
        let leaves = executes
            + match u.class.is_memory() {
                true => latency,
                false => u.complete_cycle - executes,
            }
            .max(1);
        let memory = leaves.max(last.memory).max(before.write);
        let served = match is_load {
            true => u.complete_cycle + (memory - leaves),
            false => memory + 1,
        };
        let write = served.max(memory + 1).max(last.write).max(before.write + 1);
        let result = if is_load { write } else { memory };
        let ready = if step.forwarding {
            result - read
        } else {
            write
        };
        *step.flows.at_mut(position as usize) = Flow {
            memory,
            write,
            ready,
        };
        u.complete_cycle = write - core.params.complete_to_commit;
    }
}
