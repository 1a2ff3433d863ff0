//! Commit: in order, up to the commit width, and the account of every slot.

use hps_isa::editor::DecodeEditor;
use hps_isa::inst::OpClass;
use hps_isa::likely::seldom;
use hps_sim_core::machine::{Stop, report};

use super::context::Halt;
use super::rob::Slot;
use super::uop::{Front, MicroOp, NO_CHECKPOINT, flag};
use super::{Context, Resources};
use crate::model::{
    Cause, Commit, EventSet, IssueStall, Origin, PipelineProbe, Standing, State, Stored, Stretch,
    TrapTaken, branch_kind, kind, moves_frames, owner_of,
};

impl<E: DecodeEditor, P: PipelineProbe> Context<E, P> {
    /// Whether all that commits is the program's: then it is counted by the cycle.
    const ALL_OF_PROGRAM: bool = !E::ENABLED && !E::RELAYOUT;

    #[inline(always)]
    pub(super) fn commit(&mut self, core: &mut Resources, end: u64) -> Option<Stop> {
        if E::INTERRUPTIBLE && seldom(self.lines.found.is_some()) {
            self.take_interrupt(core);
        }
        let before = core.committed_in_cycle;
        let stop = self.commit_complete(core, end);
        let committed = core.committed_in_cycle - before;
        if committed > 0 {
            core.progressed = true;
            self.last_commit = core.now;
            if Self::ALL_OF_PROGRAM {
                core.stats.commit_program_instructions += committed;
                core.cpi.add(owner_of(Origin::Program), committed);
                if seldom(core.stats.commit_program_instructions >= end) && stop.is_none() {
                    core.paused = true;
                    return Some(Stop::Limit);
                }
            }
        }
        if seldom(stop.is_some()) {
            if !core.paused {
                self.account_rest_of_cycle(core);
            }
            return stop;
        }
        if E::INTERRUPTIBLE && seldom(core.now >= self.lines.look_from) {
            self.take_at_issue_head(core);
        }
        if E::ENABLED && core.committed_in_cycle > 0 {
            self.editor.commit(self.rob.head - 1);
        }
        self.wake_head();
        self.account_rest_of_cycle(core);
        None
    }

    /// Commits what is complete, as far as the width of the cycle and the end of the run let it.
    #[inline(always)]
    fn commit_complete(&mut self, core: &mut Resources, end: u64) -> Option<Stop> {
        let complete = core.now - core.params.complete_to_commit.min(core.now);
        let mut most = core.params.commit_width - core.committed_in_cycle;
        if Self::ALL_OF_PROGRAM {
            // One commits even at the end, where the run stops behind it.
            let left = end.saturating_sub(core.stats.commit_program_instructions);
            most = most.min(left.max(1));
        }
        for _ in 0..most {
            let Some(head) = self.rob.head() else { break };
            // Not complete yet: an unknown cycle, which is the last of all, is none either.
            if head.complete_cycle > complete {
                break;
            }
            let is_program = head.has(flag::PROGRAM);
            if seldom(head.has(flag::TRAP)) {
                core.progressed = true;
                let u = *head;
                return self.take_trap(core, &u);
            }
            self.retire(core);
            if seldom(self.halted.is_some())
                && let Some(halt) = self.halted
            {
                match halt {
                    Halt::Exit(code) => return Some(Stop::Exit(code)),
                    Halt::Idle => self.stop_for_idleness(core),
                    Halt::Sleeps => self.sleep(core),
                }
            }
            if Self::ALL_OF_PROGRAM {
                continue;
            }
            let is_interrupted = E::INTERRUPTIBLE
                && seldom(core.now >= self.lines.look_from)
                && self.finds_boundary(core);
            if seldom(core.stats.commit_program_instructions >= end) && is_program {
                core.paused = true;
                return Some(Stop::Limit);
            }
            if is_interrupted {
                self.take_interrupt(core);
            }
        }
        None
    }

    fn account_rest_of_cycle(&mut self, core: &mut Resources) {
        let lost = core.params.commit_width - core.committed_in_cycle;
        if lost > 0 {
            self.account_lost_slots(core, lost);
        }
    }

    /// Ends the account of a run: gives the slots that a run at its limit has left in its last cycle to
    /// [`Cause::Serialize`], as if the instructions behind the limit waited for its end. The slots then
    /// sum to the commit width times the cycles.
    ///
    /// [`run`](Self::run) leaves these slots open, since a run that goes on commits in the same cycle. One
    /// that goes on from here commits in the next cycle.
    pub fn settle(&mut self, core: &mut Resources) {
        if !core.paused {
            return;
        }
        let open = core.params.commit_width - core.committed_in_cycle;
        if open > 0 {
            let (pc, _) = self.standing(core);
            self.account_slots_of(core, pc, Cause::Serialize, open);
            core.committed_in_cycle = core.params.commit_width;
        }
    }

    #[inline(always)]
    fn retire(&mut self, core: &mut Resources) {
        let slot = self.rob.slot_of(self.rob.head);
        let u = self.rob.at(slot);
        let (position, pc, origin, class, checkpoint) = (
            self.rob.head,
            u.front.pc,
            u.origin(),
            u.inst_class(),
            u.front.checkpoint,
        );
        let slot_owner = owner_of(origin);
        if !Self::ALL_OF_PROGRAM {
            core.stats.count_commit(origin);
            core.cpi.add(slot_owner, 1);
        }
        if P::WANTS_SLOTS {
            self.probe.slots(pc, slot_owner, 1);
        }
        core.committed_in_cycle += 1;
        match class {
            OpClass::Load => {
                self.loads_used -= 1;
                core.stats.load_committed_events += 1;
            }
            OpClass::Store => {
                core.stats.store_committed_events += 1;
                self.commit_store(core, pc);
            }
            OpClass::Atomic => {
                self.loads_used -= 1;
                core.stats.atomic_committed_events += 1;
                if seldom(core.params.has_peers) {
                    // The atomic took effect when it was dispatched.
                    let position = self.stores.commit;
                    self.stores.note(position, pc, self.process.program());
                    self.stores.get_mut(position).is_performed = core.memory.has_peers();
                    self.stores.commit += 1;
                } else {
                    self.commit_store(core, pc);
                }
            }
            class if checkpoint != NO_CHECKPOINT => self.commit_branch(core, slot, class),
            _ => {}
        }
        self.rob.head += 1;
        if P::ENABLED {
            let u = *self.rob.at(slot);
            self.observe(core, &u, position);
        }
    }

    #[inline]
    fn observe(&mut self, core: &mut Resources, u: &MicroOp, position: u64) {
        let taken = u.has(flag::TAKEN);
        let target = if taken {
            u.next_pc
        } else {
            u.front.fallthrough()
        };
        let disepc = self.disepc_of(u, position);
        report(
            &mut self.probe,
            u.front.pc,
            disepc,
            &u.front.inst,
            u.has(flag::PROGRAM),
            u.addr,
            target,
            taken,
        );
        if P::WANTS_STAGES && self.probe.wants_stages() {
            let record = self.record(core, u, position, false);
            self.probe.finished(&record);
        }
        if P::WANTS_CYCLES {
            self.observe_commit(core, u, position, target);
        }
    }

    fn observe_commit(&mut self, core: &mut Resources, u: &MicroOp, position: u64, target: u64) {
        let class = u.inst_class();
        let of_load = match class {
            OpClass::Load | OpClass::Atomic => {
                *self.load_events.at(self.rob.slot_of(position).index())
            }
            _ => EventSet::NONE,
        };
        let dispatch_cycle = u.front.since(core.now);
        self.last_commit_dispatch = dispatch_cycle;
        self.probe.committed(&Commit {
            context: self.id,
            thread: self.process.thread_of(class),
            program: self.process.program_of(class),
            cycle: core.now,
            position,
            pc: u.front.pc,
            disepc: self.disepc_of(u, position),
            origin: u.origin(),
            class,
            length: u.front.inst.len,
            dispatch_cycle,
            events: of_load.with(EventSet::MISPREDICTED.when(u.has(flag::MISPREDICTED))),
            addr: u.addr,
            target,
            stack_pointer: if moves_frames(class) {
                self.committed_register(self.process.image.isa.stack_pointer())
            } else if class == OpClass::Syscall {
                self.process.loaded_stack_pointer()
            } else {
                0
            },
            taken: u.has(flag::TAKEN),
        });
        // The store is the last one that has committed, and waits for the cache.
        if P::WANTS_STORES
            && self.probe.wants_stores()
            && (class == OpClass::Store || class == OpClass::Atomic && !core.params.has_peers)
        {
            self.show_store(core.now, self.stores.commit - 1);
        }
    }

    /// Tells the probe of the store at `position`, which others see from now on.
    pub(super) fn show_store(&mut self, cycle: u64, position: u64) {
        let stored = self.stores.get(position);
        if stored.size > 0 {
            let stored = Stored {
                context: self.id,
                program: self.process.program(),
                cycle,
                addr: stored.addr,
                size: stored.size,
                value: stored.data,
            };
            self.probe.stored(&stored, &self.process.mem);
        }
    }

    /// A register as the committed instructions have left it: what the oldest instruction of the window that
    /// writes it found there.
    fn committed_register(&self, register: u8) -> u64 {
        let mut window = self.rob.head..self.rob.tail;
        let writer = window.find_map(|position| {
            let u = self.rob.at(self.rob.slot_of(position));
            (u.front.inst.rd == register).then_some(u.old_value)
        });
        writer.unwrap_or(self.process.thread.hart.r[usize::from(register)])
    }

    /// The oldest store reaches guest memory; the cache takes it later.
    #[inline]
    fn commit_store(&mut self, core: &Resources, pc: u64) {
        let position = self.stores.commit;
        self.stores.commit += 1;
        let stored = self.stores_to_memory(position);
        if seldom(core.params.has_peers) {
            // Another context may have unmapped the page since dispatch: then the store is lost with it.
            self.tell_of_store(position);
            self.stores.note(position, pc, self.process.program());
            return;
        }
        if seldom(core.params.tells_instructions) {
            self.stores.note(position, pc, self.process.program());
        }
        // Permissions were checked at dispatch, and only a serializing system call changes them.
        debug_assert!(
            stored,
            "a store that was allowed at dispatch must be at commit"
        );
    }

    #[inline]
    fn commit_branch(&mut self, core: &mut Resources, slot: Slot, class: OpClass) {
        let Some(kind) = branch_kind(class) else {
            return;
        };
        let u = self.rob.at(slot);
        core.stats.count_branch(class, u.has(flag::MISPREDICTED));
        let checkpoint = self.checkpoints.at(usize::from(u.front.checkpoint));
        let taken = u.has(flag::TAKEN);
        core.branches
            .train(&self.path, checkpoint, u.front.pc, kind, taken, u.next_pc);
        self.path.committed(kind, taken, u.next_pc);
    }

    /// The instruction at the head faults: precise state, then the guest's handler or the end.
    #[cold]
    fn take_trap(&mut self, core: &mut Resources, u: &MicroOp) -> Option<Stop> {
        if self.process.thread.is_observer() && u.inst_class() == OpClass::Load {
            // The program has taken away what the observer was told to read: it goes on without it.
            self.restart_from(core, self.rob.head, Cause::Serialize);
            let behind = u.front.fallthrough();
            self.fetch.redirect(behind, Cause::Serialize, core.now);
            return None;
        }
        let cause = *self.traps.at(self.rob.slot_of(self.rob.head).index());
        let disepc = self.disepc_of(u, self.rob.head).again();
        self.restart_from(core, self.rob.head, Cause::Serialize);
        if P::WANTS_CYCLES {
            self.probe.trapped(&TrapTaken {
                context: self.id,
                program: self.process.program_of(u.class),
                cycle: core.now,
                pc: u.front.pc,
                disepc,
            });
        }
        // Stores that have committed are in memory; the fault is precise.
        let at = (u.front.pc, self.resume);
        let in_handler = u.has(flag::HANDLER);
        let pid = self.process.os.pid();
        match self.process.take_fault(&self.editor, at, cause, in_handler) {
            Ok(next) => {
                self.resume = self.process.thread.hart.disepc;
                self.fetch.redirect(next, Cause::Serialize, core.now);
                if self.process.os.pid() != pid {
                    self.follow_code(core);
                    if self.process.is_idle() {
                        self.rest();
                    } else {
                        self.plan_attention(core);
                    }
                    // Others learn of the end of the process.
                    core.until = core.now;
                }
                None
            }
            Err(stop) => Some(stop),
        }
    }

    /// Gives lost commit slots to their owner.
    pub(super) fn account_lost_slots(&mut self, core: &mut Resources, slots: u64) {
        let (pc, standing) = self.standing(core);
        if seldom(matches!(
            standing,
            Standing::WaitsForStoreQueue | Standing::WaitsForStoreToOwn
        )) {
            // The instruction comes late for this cause, also while it passes the stages of the window.
            self.front.set_decoded_gap(standing.cause());
        }
        if P::WANTS_CYCLES {
            self.observe_lost_cycles(core, pc, standing.state(), slots);
        }
        self.account_slots_of(core, pc, standing.cause(), slots);
    }

    /// Other contexts of the core have used commit slots of a cycle before this one.
    #[cold]
    pub(super) fn lose_slots_to_sibling(&mut self, core: &mut Resources, cycle: u64, slots: u64) {
        let (pc, standing) = self.standing(core);
        self.account_slots_of(core, pc, Cause::Sibling, slots);
        if P::WANTS_CYCLES && core.params.commit_width == 0 {
            let head = self.rob.head();
            let complete = cycle - core.params.complete_to_commit.min(cycle);
            let state = match head.is_some_and(|u| u.complete_cycle <= complete) {
                true => State::Stalled(Cause::Sibling),
                false => standing.state(),
            };
            self.probe.stretch(&Stretch {
                context: self.id,
                first_cycle: cycle,
                cycles: 1,
                state,
                next_pc: pc,
            });
        }
    }

    /// Tells the probe of cycles from this one on in which nothing commits. A cycle that loses only some of its
    /// slots is none of them.
    fn observe_lost_cycles(
        &mut self,
        core: &mut Resources,
        next_pc: u64,
        state: State,
        slots: u64,
    ) {
        if !slots.is_multiple_of(core.params.commit_width) {
            return;
        }
        self.probe.stretch(&Stretch {
            context: self.id,
            first_cycle: core.now,
            cycles: slots / core.params.commit_width,
            state,
            next_pc,
        });
    }

    /// Whether a decoded instruction has been ready for dispatch since the cycle before.
    fn waits_for_dispatch(&self, core: &Resources, d: &Front) -> bool {
        d.since(core.now) + core.params.decode_to_dispatch < core.now
    }

    fn account_slots_of(&mut self, core: &mut Resources, pc: u64, cause: Cause, slots: u64) {
        core.cpi.add(cause, slots);
        if P::WANTS_SLOTS {
            self.probe.slots(pc, cause, slots);
        }
    }

    /// Accounts for the slots of the next `cycles` cycles, in which nothing happens. The owner changes
    /// where the instruction at the head has had the time that a bubble in front of it explains.
    pub(super) fn account_skipped_slots(&mut self, core: &mut Resources, cycles: u64) {
        let now = core.now;
        let since = if let Some(head) = self.rob.head() {
            if seldom(head.level == Cause::DTlb) {
                return self.account_skipped_walk(core, cycles);
            }
            head.front.since(now) + core.params.fill_cycles()
        } else if let Some(d) = self.front.decoded() {
            d.since(now) + core.params.decode_to_dispatch + 1
        } else {
            0
        };
        let before = since.saturating_sub(now + 1).min(cycles);
        for (first, cycles) in [(1, before), (1 + before, cycles - before)] {
            if cycles > 0 {
                core.now = now + first;
                self.account_lost_slots(core, cycles * core.params.commit_width);
            }
        }
        core.now = now;
    }

    /// [`Context::account_skipped_slots`] where the head may be a load that waits for its translation: the owner changes
    /// when that is there, too.
    #[cold]
    fn account_skipped_walk(&mut self, core: &mut Resources, cycles: u64) {
        let end = core.now + 1 + cycles;
        let head = self.rob.slot_of(self.rob.head);
        let since = self.rob.at(head).front.since(core.now) + core.params.fill_cycles();
        let walked = self.walks.at(head.index()).until_cycle + 1;
        for until in [since, walked, end] {
            let cycles = until.min(end).saturating_sub(core.now + 1);
            if cycles > 0 {
                core.now += 1;
                self.account_lost_slots(core, cycles * core.params.commit_width);
                core.now += cycles - 1;
            }
        }
        core.now -= cycles;
    }

    /// Cause for which the load at the head, which has missed the TLB, waits in this cycle.
    #[cold]
    fn cause_by_walk(&self, now: u64) -> Cause {
        let walk = self.walks.at(self.rob.slot_of(self.rob.head).index());
        if now > walk.until_cycle {
            walk.then
        } else {
            Cause::DTlb
        }
    }

    /// Whether the head, which has issued, waits for other cores in this cycle.
    #[cold]
    fn is_served_by_cores(&self, now: u64, head: &MicroOp) -> bool {
        let cause = match head.level {
            Cause::DTlb => self.cause_by_walk(now),
            level => level,
        };
        cause == Cause::LoadCore
    }

    /// Where the instruction stands that commits next, and its address.
    fn standing(&self, core: &Resources) -> (u64, Standing) {
        if let Some(head) = self.rob.head() {
            return (head.front.pc, self.standing_of_head(core, head));
        }
        if let Some(d) = self.front.decoded() {
            let standing = match d.inst.class {
                _ if !self.waits_for_dispatch(core, d) => Standing::OnItsWay(d.gap),
                _ if seldom(core.params.has_peers) && self.store_waits_for_cores(core) => {
                    Standing::WaitsForStoreToOwn
                }
                OpClass::Store | OpClass::Atomic if self.stores.is_full() => {
                    Standing::WaitsForStoreQueue
                }
                // No load is left in an empty window.
                class
                    if seldom(kind::of(class) & core.params.shared_kinds != 0)
                        && self.is_memory_queue_full(core) =>
                {
                    Standing::WaitsForStoreQueue
                }
                _ => Standing::WaitsToBeAlone,
            };
            return (d.pc, standing);
        }
        let (pc, gap) = self.approach(core);
        (pc, Standing::OnItsWay(gap))
    }

    /// Whether the oldest store has committed, and waits for other cores.
    #[cold]
    fn store_waits_for_cores(&self, core: &Resources) -> bool {
        self.stores.head != self.stores.commit && core.memory.has_peers() && {
            let oldest = self.stores.get(self.stores.head);
            core.memory.store_waits_for_cores(core.now, oldest.addr)
        }
    }

    /// The next instruction, which is not decoded yet, and what delays it.
    fn approach(&self, core: &Resources) -> (u64, Cause) {
        if let Some(x) = &self.expansion {
            return (x.trigger_pc(), Cause::DiseStall);
        }
        let fetched = self.front.fetched();
        if core.now < self.decode_stall_until {
            return (fetched.map_or(self.fetch.pc, |f| f.pc), Cause::DiseStall);
        }
        match fetched {
            Some(f) => (f.pc, self.decode_gap.unwrap_or(f.gap)),
            None => (self.fetch.pc, self.fetch.gap),
        }
    }

    /// A store at the head of an in-order core could issue, but the write buffer takes none.
    #[inline]
    fn waits_for_write_buffer(&self) -> bool {
        let order = self.in_order.as_ref();
        order.is_some_and(|order| order.stall == IssueStall::WriteBuffer)
    }

    fn standing_of_head(&self, core: &Resources, head: &MicroOp) -> Standing {
        // The first instruction behind a bubble still has to pass the stages of the window.
        if core.now < head.front.since(core.now) + core.params.fill_cycles() {
            return Standing::Enters(head.front.gap);
        }
        if head.has(flag::PARKED) {
            return Standing::ParkedLoad;
        }
        match head.inst_class() {
            OpClass::Store if self.waits_for_write_buffer() => Standing::WaitsForWriteBuffer,
            OpClass::Load if head.has(flag::ISSUED) => {
                Standing::IssuedLoad(if seldom(head.level == Cause::DTlb) {
                    self.cause_by_walk(core.now)
                } else {
                    head.level
                })
            }
            OpClass::Load => Standing::UnissuedLoad,
            OpClass::Atomic
                if seldom(core.params.has_peers)
                    && head.has(flag::ISSUED)
                    && self.is_served_by_cores(core.now, head) =>
            {
                Standing::IssuedToOwn
            }
            class => Standing::Executes(class),
        }
    }
}
