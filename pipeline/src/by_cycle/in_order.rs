//! Issue in program order: an instruction that cannot issue holds all behind it.
//!
//! Everything else is the out-of-order core's: its scheduler says when an instruction has its
//! operands, but only the oldest one that has not issued is asked. Hazards that renaming removes
//! come back: a result that would be there before an older one of the same register has to wait.

use hps_isa::editor::DecodeEditor;
use hps_isa::inst::{Op, OpClass, reg};
use hps_isa::likely::seldom;

use super::in_step::InStep;
use super::uop::{MicroOp, flag};
use super::{Context, Resources};
use crate::config::{MachineConfig, Scheduling, Slotting, UnitTable};
use crate::memsys::SharedMemory;
use crate::model::{Group, Traits};
use crate::model::{IssueStall, Pipe, PipelineProbe, UNKNOWN};

/// The state of issue in order.
#[derive(Clone)]
pub(super) struct InOrder {
    traits: Box<[Traits]>,
    latency_cycles: Box<[u64]>,
    /// Cycles of a load that hits, beside its latency.
    hit_cycles: u64,
    /// Pipes and blocks of the 21164; otherwise only width and units count.
    slotted: bool,
    compare_and_branch_together: bool,
    /// Position of the oldest instruction that has not issued.
    next: u64,
    /// The group that the youngest issued instruction belongs to, and its block.
    group: Group,
    block: u64,
    /// Address of the youngest issued instruction, and of the one behind it.
    last_pc: u64,
    next_pc: u64,
    /// Cycle in which it issued.
    last_issue: u64,
    /// First position that issued in this cycle.
    first_of_cycle: u64,
    /// Cycle in which the wait of the oldest instruction ends, if that wait has no event of its own.
    pub retry: u64,
    /// Why the oldest did not issue when it was asked last.
    pub stall: IssueStall,
    /// Stages in step.
    pub step: Option<Box<InStep>>,
}

hps_isa::save_state! {
    InOrder {
        traits: skip, latency_cycles: skip, hit_cycles: skip, slotted: skip,
        compare_and_branch_together: skip, next, group, block, last_pc, next_pc, last_issue,
        first_of_cycle, retry, stall, step,
    }
}

/// log2 of the bytes of a block of instructions.
const BLOCK_SHIFT: u32 = 4;
/// Instructions of a block.
const BLOCK_INSTS: usize = 4;

impl InOrder {
    /// The state of a machine that issues in order; `None` for other machines.
    pub fn new(config: &MachineConfig) -> Option<Box<InOrder>> {
        let Scheduling::InOrder(in_order) = &config.issue.scheduling else {
            return None;
        };
        let units = UnitTable::new(&config.units);
        let latency = |op: &Op| u64::from(units.latency_cycles(*op));
        Some(Box::new(InOrder {
            traits: Traits::table(),
            latency_cycles: Op::ALL.iter().map(latency).collect(),
            hit_cycles: u64::from(config.memory.l1d.hit_cycles),
            slotted: in_order.slotting == Slotting::Alpha21164,
            compare_and_branch_together: in_order.compare_and_branch_together,
            next: 1,
            group: Group::default(),
            block: 0,
            last_pc: 0,
            next_pc: 0,
            last_issue: 0,
            first_of_cycle: 1,
            retry: 0,
            stall: IssueStall::Frontend,
            step: InStep::new(config),
        }))
    }

    /// Position of the oldest instruction that has not issued.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Cycles of a load that hits, beside its latency.
    pub fn hit_cycles(&self) -> u64 {
        self.hit_cycles
    }

    /// Takes back positions from `first` on. The instructions that come next are slotted again.
    pub fn squash(&mut self, first: u64) {
        self.next = self.next.min(first);
        self.group = Group::default();
        self.block = u64::MAX;
        self.retry = 0;
    }

    fn traits(&self, op: Op) -> Traits {
        self.traits[op as usize]
    }

    /// Whether an instruction lies behind the youngest issued one in the same block. Instructions of
    /// one expansion share an address.
    fn continues_block(&self, pc: u64) -> bool {
        (pc == self.next_pc || pc == self.last_pc) && pc >> BLOCK_SHIFT == self.block
    }
}

impl Resources {
    /// Counts cycles by how many instructions issued, and by what kept the next one.
    fn count_issue(&mut self, issued: u64, stall: IssueStall, cycles: u64) {
        let s = &mut self.stats;
        let by_count = match issued {
            0 => &mut s.issue_none_cycles,
            1 => &mut s.issue_single_cycles,
            2 => &mut s.issue_dual_cycles,
            3 => &mut s.issue_triple_cycles,
            _ => &mut s.issue_quad_or_more_cycles,
        };
        *by_count += cycles;
        let by_cause = match (issued, stall) {
            (0, IssueStall::Frontend) => &mut s.issue_frontend_stall_cycles,
            (0, IssueStall::Operand) => &mut s.issue_operand_stall_cycles,
            (0, IssueStall::Unit) => &mut s.issue_unit_stall_cycles,
            (0, IssueStall::Memory) => &mut s.issue_memory_stall_cycles,
            (0, IssueStall::WriteBuffer) => &mut s.issue_write_buffer_stall_cycles,
            (_, IssueStall::Slot) => &mut s.issue_slot_limited_cycles,
            (_, IssueStall::Block) => &mut s.issue_block_limited_cycles,
            _ => return,
        };
        *by_cause += cycles;
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Context<E, P> {
    /// Issues from the oldest instruction on until one cannot.
    #[inline(never)]
    pub(super) fn issue_in_order(&mut self, core: &mut Resources, shared: &mut SharedMemory) {
        let Some(mut order) = self.in_order.take() else {
            return;
        };
        order.first_of_cycle = order.next;
        order.retry = 0;
        let width = core.params.issue_width as u64;
        let mut stall = IssueStall::Width;
        while order.next - order.first_of_cycle < width {
            if E::INTERRUPTIBLE
                && seldom(core.now >= self.lines.look_from)
                && self.holds_issue(core, order.next)
            {
                // None that the issue of anything could end.
                stall = IssueStall::None;
                break;
            }
            match self.issue_oldest(core, shared, &mut order) {
                Ok(()) => {}
                Err(why) => {
                    stall = why;
                    break;
                }
            }
        }
        order.stall = stall;
        if P::WANTS_STAGES && order.next < self.rob.tail && stall != IssueStall::Frontend {
            self.stage_cycles.at_mut(order.next as usize).stall = stall;
        }
        let issued = order.next - order.first_of_cycle;
        self.in_order = Some(order);
        self.scheduler.look();
        core.count_issue(issued, stall, 1);
    }

    /// Accounts for cycles that are skipped since nothing can happen in them.
    pub(super) fn account_issue_stall(&mut self, core: &mut Resources, cycles: u64) {
        if let Some(order) = &self.in_order {
            let stall = order.stall;
            core.count_issue(0, stall, cycles);
        }
    }

    /// Issues the oldest instruction that has not issued, or says why not.
    fn issue_oldest(
        &mut self,
        core: &mut Resources,
        shared: &mut SharedMemory,
        order: &mut InOrder,
    ) -> Result<(), IssueStall> {
        let position = order.next;
        if position >= self.rob.tail {
            return Err(IssueStall::Frontend);
        }
        let slot = self.rob.slot_of(position);
        let u = *self.rob.at(slot);
        let (class, op, pc) = (u.class, u.front.inst.op, u.front.pc);
        let ready = self.scheduler.is_ready(slot);
        if !ready && !self.branches_at_once(core, order, &u, position) {
            return Err(self.why_not_ready(core, &u, position));
        }
        match order.step {
            None => self.older_result_or_data(core, order, &u)?,
            Some(_) => self.may_go_on(core, order, &u, position)?,
        }
        let (group, pipe) = self.slot_for(core, order, position, pc)?;
        if class.is_memory() && !self.may_access_memory(core, slot) {
            return Err(IssueStall::Memory);
        }
        let unit = core.units.timing(class);
        if !core.units.take(core.now, unit.pool, unit.interval_cycles) {
            return Err(IssueStall::Unit);
        }
        if ready {
            self.scheduler.remove_ready(slot);
        } else {
            self.scheduler.unschedule(core.now, u.ready_cycle, slot);
        }
        core.progressed = true;
        let mut latency = order.latency_cycles[op as usize];
        if let Some(step) = &order.step {
            latency = step.latency(class, latency);
        }
        self.send_in_order(core, shared, slot, class, latency);
        if !self.rob.at(slot).has(flag::ISSUED) {
            // The access asks the memory system again later.
            return Err(IssueStall::Memory);
        }
        self.goes_on(core, order, slot, position, latency);
        if P::WANTS_STAGES {
            self.stage_cycles.at_mut(position as usize).pipe = pipe;
        }
        order.group = group;
        order.block = pc >> BLOCK_SHIFT;
        (order.last_pc, order.next_pc) = (pc, u.front.fallthrough());
        order.last_issue = core.now;
        order.next += 1;
        Ok(())
    }

    fn why_not_ready(&self, core: &Resources, u: &MicroOp, position: u64) -> IssueStall {
        let now = core.now;
        if u.front.since(now) + core.params.dispatch_to_issue > now {
            return IssueStall::Frontend;
        }
        let has_address = || {
            self.producer_before(position, u.front.inst.rs1)
                .is_none_or(|at| {
                    let producer = self.rob.at(self.rob.slot_of(at));
                    producer.complete_cycle - core.params.issue_to_execute <= now
                })
        };
        // A memory instruction that has its address has been refused.
        if u.flags & (flag::PARKED | flag::WAITS_FOR_HEAD) != 0
            || u.class.is_memory() && has_address()
        {
            IssueStall::Memory
        } else {
            IssueStall::Operand
        }
    }

    /// Checks for hazards that renaming would hide, and for the needs of stores beside their address.
    fn older_result_or_data(
        &self,
        core: &Resources,
        order: &mut InOrder,
        u: &MicroOp,
    ) -> Result<(), IssueStall> {
        let now = core.now;
        if u.class == OpClass::Store {
            // The producer of the data is older, and has issued.
            let data = self.stores.get(u.store_pos).data_cycle;
            debug_assert!(data != UNKNOWN);
            if data > now {
                order.retry = data;
                return Err(IssueStall::Operand);
            }
            if self.drain_retry > now {
                order.retry = self.drain_retry;
                return Err(IssueStall::WriteBuffer);
            }
        }
        if u.old_producer >= self.rob.head {
            let older = self.rob.at(self.rob.slot_of(u.old_producer));
            let result = older.complete_cycle - core.params.issue_to_execute;
            let reads = matches!(u.class, OpClass::Load | OpClass::Atomic);
            let mine = now
                + order.latency_cycles[u.front.inst.op as usize]
                + if reads { order.hit_cycles } else { 0 };
            if result > mine {
                order.retry = now + (result - mine);
                return Err(IssueStall::Operand);
            }
        }
        Ok(())
    }

    /// The group and the pipe in which an instruction issues now.
    fn slot_for(
        &self,
        core: &Resources,
        order: &InOrder,
        position: u64,
        pc: u64,
    ) -> Result<(Group, Option<Pipe>), IssueStall> {
        if !order.slotted {
            return Ok((Group::default(), None));
        }
        let mut next = [order.traits(Op::Illegal); BLOCK_INSTS];
        let count = self.rest_of_block(order, position, &mut next);
        let next = &next[..count];
        let continues = order.continues_block(pc);
        if continues && let Some((group, pipe)) = order.group.join(next) {
            return Ok((group, Some(pipe)));
        }
        if order.last_issue == core.now {
            return Err(if continues {
                IssueStall::Slot
            } else {
                IssueStall::Block
            });
        }
        // A new group: every operation has a pipe.
        match Group::default().join(next) {
            Some((group, pipe)) => Ok((group, Some(pipe))),
            None => Err(IssueStall::Slot),
        }
    }

    /// The instruction at a position and those behind it in its block, as far as they are there.
    fn rest_of_block(
        &self,
        order: &InOrder,
        position: u64,
        out: &mut [Traits; BLOCK_INSTS],
    ) -> usize {
        let first = self.rob.at(self.rob.slot_of(position));
        let block = first.front.pc >> BLOCK_SHIFT;
        let mut expected = first.front.pc;
        let mut last = expected;
        let mut count = 0;
        for (at, place) in (position..self.rob.tail).zip(out) {
            let u = self.rob.at(self.rob.slot_of(at));
            let pc = u.front.pc;
            if (pc != expected && pc != last) || pc >> BLOCK_SHIFT != block {
                break;
            }
            (last, expected) = (pc, u.front.fallthrough());
            *place = order.traits(u.front.inst.op);
            count += 1;
        }
        count
    }

    /// Whether a branch that is not ready tests only what issues in this cycle and forwards to it,
    /// and what is there anyway.
    fn branches_at_once(
        &self,
        core: &Resources,
        order: &InOrder,
        u: &MicroOp,
        position: u64,
    ) -> bool {
        let now = core.now;
        let arrives = u.front.since(now) + core.params.dispatch_to_issue;
        if !order.compare_and_branch_together
            || u.class != OpClass::Branch
            || u.pending != 0
            || u.ready_cycle != now + 1
            || arrives > now
        {
            return false;
        }
        let inst = &u.front.inst;
        [inst.rs1, inst.rs2].into_iter().all(|register| {
            let Some(at) = self.producer_before(position, register) else {
                return true;
            };
            let producer = self.rob.at(self.rob.slot_of(at));
            let result = producer.complete_cycle - core.params.issue_to_execute;
            if at < order.first_of_cycle {
                return result <= now;
            }
            order.traits(producer.front.inst.op).forwards_to_branch && result <= now + 1
        })
    }

    /// The youngest instruction in flight before a position that writes a register.
    pub(super) fn producer_before(&self, position: u64, register: u8) -> Option<u64> {
        if register == reg::ZERO {
            return None;
        }
        (self.rob.head..position)
            .rev()
            .find(|&at| self.rob.at(self.rob.slot_of(at)).front.inst.rd == register)
    }

    /// Address of the instruction at the head of the issue queue: the oldest that has not issued
    /// (in-order cores). None if no instruction waits to issue.
    #[must_use]
    pub fn issue_head(&self) -> Option<u64> {
        let order = self.in_order.as_ref()?;
        (order.next < self.rob.tail).then(|| self.rob.at(self.rob.slot_of(order.next)).front.pc)
    }
}
