//! Execution, functionally, and the cycles behind dispatch.

use hps_sim_core::bus::{Bus, MemFault};
use hps_sim_core::code::CodeCache;
use hps_sim_core::editor;
use hps_sim_core::exec::{self, Outcome, Turn};
use hps_sim_core::ids::DisePc;
use hps_sim_core::inst::{Inst, OpClass, reg};
use hps_sim_core::likely::{often, seldom};
use hps_sim_core::memory::Memory;
use hps_sim_core::process::Process;
use hps_sim_core::trap::TrapCause;

use super::super::cpi::Cause;
use super::super::uop::kind;
use super::calendar::{Demand, Issues};
use super::commit::{Commits, Done, Seen};
use super::edit::Origin;
use super::insts::StaticInst;
use super::stores::Store;
use super::wrong_path::AstrayBus;
use super::{DecodeEditor, DrivenCore, MemoryDependence, NEVER, Passing, PipelineProbe, When};

/// The class as which an instruction issues that faults.
const FAULTS_AS: OpClass = OpClass::IntAlu;

/// When its sources allow an instruction to issue, and the address that it accesses, if it does.
type Ready = (u64, u64);

/// Why something that has neither gone on nor gone elsewhere faults.
pub(super) fn cause_of(outcome: Outcome) -> TrapCause {
    match outcome {
        Outcome::Trap(cause) => cause,
        _ => TrapCause::IllegalInstruction,
    }
}

/// Guest memory, and how many bytes were stored.
struct RightBus<'a> {
    mem: &'a mut Memory,
    stored: &'a mut u8,
}

impl Bus for RightBus<'_> {
    #[inline(always)]
    fn load<const N: usize>(&mut self, addr: u64) -> Result<u64, MemFault> {
        self.mem.load::<N>(addr)
    }

    #[inline(always)]
    fn store<const N: usize>(&mut self, addr: u64, value: u64) -> Result<(), MemFault> {
        self.mem.store::<N>(addr, value)?;
        *self.stored = N as u8;
        Ok(())
    }
}

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// Executes an instruction that goes on behind itself, in the program's memory. False: it traps, and nothing
    /// has changed.
    #[inline(always)]
    pub(super) fn takes_effect(&mut self, inst: &StaticInst) -> bool {
        let Process { hart, mem, .. } = &mut self.process;
        inst.straight()(hart, mem, inst, inst.pc)
    }

    /// Executes an instruction that only computes, from two registers at most. False: it is another one, or it traps,
    /// and nothing has changed.
    #[inline(always)]
    pub(super) fn computes(&mut self, inst: &StaticInst) -> bool {
        if inst.kind() == kind::ADDS {
            let r = &mut self.process.hart.r;
            let sum = r[usize::from(inst.rs1)].wrapping_add(r[usize::from(inst.rs2)]);
            r[usize::from(inst.rd)] = sum.wrapping_add(inst.imm as u64);
            return true;
        }
        if inst.kind() == kind::SUMS {
            let r = &mut self.process.hart.r;
            let sources = (r[usize::from(inst.rs1)], r[usize::from(inst.rs2)]);
            r[usize::from(inst.rd)] = inst.adds().of(sources.0, sources.1);
            return true;
        }
        if inst.kind() == kind::COMBINES {
            let r = &mut self.process.hart.r;
            let sources = (r[usize::from(inst.rs1)], r[usize::from(inst.rs2)]);
            r[usize::from(inst.rd)] = inst.combines().of(sources.0, sources.1);
            return true;
        }
        inst.kind() == 0 && often(self.takes_effect(inst))
    }

    /// Gives an instruction that has only computed its further cycles.
    #[inline(always)]
    pub(super) fn finish_computed<const ASTRAY: bool>(&mut self, inst: &StaticInst, ready: u64) {
        let when = self.issue::<ASTRAY>(ready, inst);
        self.set_when(inst.rd, when);
        if !ASTRAY {
            let done = self.done(when, Cause::Execute);
            self.commit(inst, done, Seen::straight(inst));
        }
    }

    /// Executes any other instruction that has been dispatched, and gives it its further cycles.
    #[inline(never)]
    pub(super) fn execute<const ASTRAY: bool>(&mut self, i: Passing<'_>) -> bool {
        let inst = i.inst;
        let kind = inst.kind();
        if kind & kind::FLOAT != 0 {
            self.waiting -= 1;
            self.fp_waiting += 1;
        }
        let mut ready = (self.ready(inst), 0);
        let is_memory = kind & (kind::LOADS | kind::STORES) != 0;
        if is_memory {
            ready.1 = inst.address(&self.process.hart.r);
        }
        if is_memory && let Some(cause) = self.refused(i, ready.1) {
            return self.faults::<ASTRAY>(i, ready, cause);
        }
        match self.evaluate::<ASTRAY>(inst, i.inst.pc) {
            Outcome::Next if is_memory => return self.finish_atomic::<ASTRAY>(i, ready),
            Outcome::Next => {}
            outcome => return self.faults::<ASTRAY>(i, ready, cause_of(outcome)),
        }
        let when = self.issue::<ASTRAY>(ready.0, inst);
        self.set_when(inst.rd, when);
        if !ASTRAY {
            let done = self.done(when, Cause::Execute);
            self.commit(i.inst, done, Seen::straight(i.inst));
        }
        true
    }

    /// Why the program may not access what an editor has put into its memory.
    #[inline(always)]
    fn refused(&self, i: Passing<'_>, addr: u64) -> Option<TrapCause> {
        if !E::ENABLED || self.edit.here.origin != Origin::Program {
            return None;
        }
        editor::refused(i.inst, addr)
    }

    /// Executes a load, and gives it its further cycles, and then its register the value.
    #[inline(never)]
    pub(super) fn execute_load<const ASTRAY: bool>(&mut self, i: Passing<'_>) -> bool {
        self.execute_load_here::<ASTRAY>(i)
    }

    #[inline(always)]
    pub(super) fn execute_load_here<const ASTRAY: bool>(&mut self, i: Passing<'_>) -> bool {
        debug_assert_eq!((i.inst.rs2, i.inst.rs3), (reg::ZERO, reg::ZERO));
        let addr = i.inst.address(&self.process.hart.r);
        let ready = (self.ready_by_first(i.inst), addr);
        if let Some(cause) = self.refused(i, addr) {
            return self.faults::<ASTRAY>(i, ready, cause);
        }
        // A wrong path sees its own stores.
        if i.inst.kind() == kind::LOADS
            && (!ASTRAY || often(self.is_untouched(addr, i.inst.bytes())))
            && let Some(value) = i.inst.plain().load(&self.process.mem, addr)
        {
            return self.finish_load::<ASTRAY, true>(i, ready, value);
        }
        self.execute_load_slowly::<ASTRAY>(i, ready)
    }

    #[inline(never)]
    fn execute_load_slowly<const ASTRAY: bool>(&mut self, i: Passing<'_>, ready: Ready) -> bool {
        if ASTRAY && self.process.mem.is_unreadable(ready.1) {
            // Wrong paths take pointers from anywhere.
            return self.faults_in_vain(i.inst, ready.0);
        }
        let rd = usize::from(i.inst.rd);
        let old_value = self.process.hart.r[rd];
        match self.evaluate::<ASTRAY>(i.inst, i.inst.pc) {
            Outcome::Next => {
                let value = std::mem::replace(&mut self.process.hart.r[rd], old_value);
                self.finish_load::<ASTRAY, false>(i, ready, value)
            }
            outcome => self.faults::<ASTRAY>(i, ready, cause_of(outcome)),
        }
    }

    /// The same for a store.
    #[inline(never)]
    pub(super) fn execute_store<const ASTRAY: bool>(&mut self, i: Passing<'_>) -> bool {
        self.execute_store_here::<ASTRAY>(i)
    }

    #[inline(always)]
    pub(super) fn execute_store_here<const ASTRAY: bool>(&mut self, i: Passing<'_>) -> bool {
        // It issues by its address alone, see `time_store`.
        let addr = i.inst.address(&self.process.hart.r);
        if let Some(cause) = self.refused(i, addr) {
            return self.faults::<ASTRAY>(i, (0, addr), cause);
        }
        if ASTRAY && self.process.mem.is_unwritable(addr) {
            return self.store_faults_in_vain(i, addr);
        }
        if !ASTRAY && i.inst.kind() == kind::STORES {
            let Process { hart, mem, .. } = &mut self.process;
            let data = hart.r[usize::from(i.inst.rs2)];
            if often(i.inst.plain().store(mem, addr, data)) {
                self.finish_store::<ASTRAY, true>(i, (addr, i.inst.bytes()));
                return true;
            }
        }
        self.execute_store_slowly::<ASTRAY>(i, addr)
    }

    #[inline(never)]
    fn execute_store_slowly<const ASTRAY: bool>(&mut self, i: Passing<'_>, addr: u64) -> bool {
        match self.evaluate::<ASTRAY>(i.inst, i.inst.pc) {
            Outcome::Next => {
                let size = std::mem::take(&mut self.stored);
                self.finish_store::<ASTRAY, false>(i, (addr, size));
                true
            }
            outcome => self.faults::<ASTRAY>(i, (0, addr), cause_of(outcome)),
        }
    }

    /// The same for a control transfer.
    #[inline(never)]
    pub(super) fn execute_transfer<const ASTRAY: bool>(&mut self, passing: Passing<'_>) -> bool {
        if passing.inst.class == OpClass::Branch {
            return self.execute_conditional::<ASTRAY>(passing);
        }
        self.execute_jump::<ASTRAY>(passing)
    }

    /// The same for one of a group whose cycles are known, which is predicted first.
    #[inline(always)]
    pub(super) fn predict_and_execute<const ASTRAY: bool>(&mut self, inst: &StaticInst) -> bool {
        if often(inst.class == OpClass::Branch) {
            return self.predict_and_execute_conditional::<ASTRAY>(inst);
        }
        self.predict_and_execute_jump::<ASTRAY>(inst)
    }

    #[inline(never)]
    fn predict_and_execute_conditional<const ASTRAY: bool>(&mut self, inst: &StaticInst) -> bool {
        self.learn(self.fetch.cycle);
        let predicted_next = self.predict_conditional(inst);
        self.execute_conditional::<ASTRAY>(Passing {
            inst,
            predicted_next,
        })
    }

    #[inline(never)]
    fn predict_and_execute_jump<const ASTRAY: bool>(&mut self, inst: &StaticInst) -> bool {
        self.learn(self.fetch.cycle);
        let predicted_next = self.predict_jump(inst);
        self.execute_jump::<ASTRAY>(Passing {
            inst,
            predicted_next,
        })
    }

    /// A conditional branch, which is all that may go straight on.
    #[inline(always)]
    fn execute_conditional<const ASTRAY: bool>(&mut self, i: Passing<'_>) -> bool {
        let inst = i.inst;
        let ready = self.ready_by_two(inst);
        let taken = self.is_taken(inst);
        let next = if !taken && E::ENABLED {
            self.not_taken(i)
        } else if !taken {
            (inst.next(), DisePc::NONE)
        } else {
            let target = inst.direct_target(inst.pc);
            (self.place_of_target(inst, target), DisePc::NONE)
        };
        self.finish_transfer::<ASTRAY>(i, ready, next, taken)
    }

    /// Whether a conditional branch is taken.
    #[inline(always)]
    fn is_taken(&mut self, inst: &StaticInst) -> bool {
        let r = &self.process.hart.r;
        let (a, b) = (r[usize::from(inst.rs1)], r[usize::from(inst.rs2)]);
        let condition = inst.condition();
        if seldom(!condition.is_known()) {
            let Process { hart, mem, .. } = &mut self.process;
            // It goes on behind itself, or elsewhere.
            return !inst.op.straight()(hart, mem, inst, inst.pc);
        }
        condition.holds(a, b)
    }

    /// Any other control transfer.
    #[inline(always)]
    fn execute_jump<const ASTRAY: bool>(&mut self, i: Passing<'_>) -> bool {
        let inst = i.inst;
        let ready = self.ready_by_two(inst);
        let Process { hart, mem, .. } = &mut self.process;
        if inst.class.is_direct() {
            hart.r[usize::from(inst.rd)] = inst.link(inst.pc);
            let next_pc = self.place_of_target(inst, inst.direct_target(inst.pc));
            return self.finish_transfer::<ASTRAY>(i, ready, (next_pc, DisePc::NONE), true);
        }
        let (Turn::Taken, target) = inst.op.transfer()(hart, mem, inst, inst.pc) else {
            return self.transfer_faults::<ASTRAY>(i, ready);
        };
        let next_pc = self.place_of_target(inst, target);
        self.finish_transfer::<ASTRAY>(i, ready, (next_pc, DisePc::NONE), true)
    }

    /// Where an editor has put the code at an address to which an instruction of the program goes.
    #[inline(always)]
    fn place_of_target(&mut self, inst: &StaticInst, target: u64) -> u64 {
        if !E::RELAYOUT || self.edit.here.origin != Origin::Program {
            return target;
        }
        let hart = &mut self.process.hart;
        editor::transfer(&self.editor, hart, inst, inst.pc, target)
    }

    #[cold]
    #[inline(never)]
    fn transfer_faults<const ASTRAY: bool>(&mut self, i: Passing<'_>, ready: u64) -> bool {
        let outcome = self.evaluate::<ASTRAY>(i.inst, i.inst.pc);
        self.faults_at::<ASTRAY>(i, ready, cause_of(outcome))
    }

    #[inline(always)]
    pub(super) fn done(&self, when: When, level: Cause) -> Done {
        Done {
            issue: when.issue,
            result: when.result,
            level,
        }
    }

    /// Issues a control transfer, commits it on the right path, and follows a wrong path that begins behind it.
    #[inline(always)]
    fn finish_transfer<const ASTRAY: bool>(
        &mut self,
        i: Passing<'_>,
        ready: u64,
        (next_pc, next_disepc): (u64, DisePc),
        taken: bool,
    ) -> bool {
        let when = self.issue::<ASTRAY>(ready, i.inst);
        self.set_when(i.inst.rd, when);
        let done = self.done(when, Cause::Execute);
        let mut missed = next_pc != i.predicted_next;
        if E::ENABLED {
            missed |= next_disepc != self.edit.here.predicted_disepc;
        }
        if !ASTRAY {
            let seen = Seen {
                addr: 0,
                next_pc: if taken { next_pc } else { i.inst.next() },
                taken,
            };
            let commit = self.commit(i.inst, done, seen);
            self.count_branch(i.inst.class, missed);
            if seldom(missed) {
                // Before the checkpoint goes with the lesson.
                self.go_astray(i, done, (next_pc, next_disepc), taken);
            }
            self.teach(commit, i.inst, next_pc, taken);
        } else if seldom(missed) {
            self.go_astray(i, done, (next_pc, next_disepc), taken);
        }
        !missed
    }

    #[inline(always)]
    fn count_branch(&mut self, class: OpClass, missed: bool) {
        let s = &mut self.stats;
        s.branch_committed_events += 1;
        if often(class == OpClass::Branch) {
            s.branch_conditional_events += 1;
        }
        if seldom(missed) {
            s.branch_mispredicted_events += 1;
            match class {
                OpClass::Branch => s.branch_conditional_mispredicted_events += 1,
                OpClass::Return => s.branch_return_mispredicted_events += 1,
                _ => s.branch_indirect_mispredicted_events += 1,
            }
        }
    }

    /// What the instruction does; `stored` says how many bytes it wrote.
    #[inline(always)]
    pub(super) fn evaluate<const ASTRAY: bool>(&mut self, inst: &Inst, pc: u64) -> Outcome {
        let Process { hart, mem, .. } = &mut self.process;
        if ASTRAY {
            let mut bus = AstrayBus {
                mem,
                stores: &mut self.astray_stores,
                stored: &mut self.stored,
            };
            exec::execute(hart, &mut bus, inst, pc)
        } else {
            let mut bus = RightBus {
                mem,
                stored: &mut self.stored,
            };
            exec::execute(hart, &mut bus, inst, pc)
        }
    }

    #[inline(always)]
    fn finish_load<const ASTRAY: bool, const ALIGNED: bool>(
        &mut self,
        i: Passing<'_>,
        (ready, addr): Ready,
        value: u64,
    ) -> bool {
        let inst = i.inst;
        let store = self.dependence(i.inst.pc, self.dispatched);
        self.loads += 1;
        let size = u64::from(inst.bytes());
        let (when, level) = match self.load::<ASTRAY, ALIGNED>(inst, ready, (addr, size), store) {
            Ok(when) => (when, Cause::LoadL1),
            Err(loaded) => {
                if let Some((found, store_pc)) = loaded.violation
                    && (!ASTRAY || found < self.limit)
                {
                    self.runs_again(i, found, store_pc);
                    self.process.hart.r[usize::from(inst.rd)] = value;
                    self.set_when(inst.rd, loaded.when);
                    return false;
                }
                (loaded.when, loaded.level)
            }
        };
        self.process.hart.r[usize::from(inst.rd)] = value;
        self.set_when(inst.rd, when);
        if !ASTRAY {
            let done = self.done(when, level);
            let seen = Seen {
                addr,
                ..Seen::straight(i.inst)
            };
            let commit = self.commit(i.inst, done, seen);
            self.stats.load_committed_events += 1;
            *self.loads_committed.at_mut(self.loads as usize - 1) = commit;
        }
        true
    }

    #[inline(always)]
    fn finish_store<const ASTRAY: bool, const ALIGNED: bool>(
        &mut self,
        i: Passing<'_>,
        (addr, size): (u64, u8),
    ) {
        debug_assert!(size > 0);
        self.follows_store(i.inst.pc);
        let (when, store) = self.time_store::<ASTRAY>(i, (addr, size), i.inst);
        self.set_when(i.inst.rd, when);
        if ASTRAY {
            self.stores.push::<false>(store);
            return;
        }
        let mut done = self.done(when, Cause::Execute);
        done.result = done.result.max(store.data);
        let seen = Seen {
            addr,
            ..Seen::straight(i.inst)
        };
        let commit = self.commit(i.inst, done, seen);
        self.stats.store_committed_events += 1;
        self.commit_store::<ALIGNED>(store, commit);
    }

    /// A store that faults.
    fn finish_faulting_store<const ASTRAY: bool>(&mut self, i: Passing<'_>, addr: u64) -> When {
        let what = self.faulting(i.inst);
        let (when, store) = self.time_store::<ASTRAY>(i, (addr, 0), &what);
        self.set_when(i.inst.rd, when);
        self.stores.push::<false>(store);
        when
    }

    /// A store waits for its address; its data come when they come. It issues as itself, or as what faults.
    #[inline(always)]
    fn time_store<const ASTRAY: bool>(
        &mut self,
        i: Passing<'_>,
        (addr, size): (u64, u8),
        what: &impl Issues,
    ) -> (When, Store) {
        let inst = i.inst;
        let ready = self.ready_by_first(inst);
        let when = self.issue_as::<ASTRAY>(ready, what);
        let data = self.results[usize::from(inst.rs2)].max(self.dispatched + 1);
        let store = Store {
            addr,
            size,
            pc: i.inst.pc,
            known: when.issue,
            found: when.result,
            data_issue: self.issues[usize::from(inst.rs2)],
            data,
            drain: NEVER,
        };
        (when, store)
    }

    /// Loads that depend on this store find it from now on.
    #[inline(always)]
    pub(super) fn follows_store(&mut self, pc: u64) {
        if let MemoryDependence::StoreSets(sets) = &mut self.memdep {
            sets.store(pc, self.stores.tail);
        }
    }

    /// An atomic is not speculated: it issues as the oldest instruction, all older stores in the cache.
    #[inline(never)]
    fn finish_atomic<const ASTRAY: bool>(&mut self, i: Passing<'_>, (ready, addr): Ready) -> bool {
        let inst = i.inst;
        self.dependence(i.inst.pc, self.dispatched);
        self.follows_store(i.inst.pc);
        self.loads += 1;
        let mut store = Store {
            addr,
            size: std::mem::take(&mut self.stored),
            pc: i.inst.pc,
            known: NEVER,
            found: NEVER,
            data_issue: NEVER,
            data: NEVER,
            drain: NEVER,
        };
        if ASTRAY {
            let never = When {
                result: NEVER,
                issue: NEVER,
            };
            self.stays::<ASTRAY>(inst.class);
            self.set_when(inst.rd, never);
            self.stores.push::<false>(store);
            return true;
        }
        let mut ready = ready.max(self.last_commit()).max(self.drain_all());
        let size = u64::from(inst.bytes());
        let address = inst.latency();
        let of_a_cycle = Demand {
            full: inst.full(),
            class: inst.class,
            latency_cycles: 1,
        };
        let (cycle, data, level) = loop {
            let cycle = self.calendar.take::<false>(ready, &of_a_cycle, NEVER);
            match self.read(cycle, addr, size) {
                Ok((data, level)) => break (cycle, data, level),
                Err(again) => {
                    self.calendar.in_vain(cycle);
                    ready = again;
                }
            }
        };
        let result = data + address + inst.load_extra();
        let when = When {
            result,
            issue: cycle,
        };
        self.set_when(inst.rd, when);
        store.known = cycle;
        store.found = result;
        store.data_issue = cycle;
        store.data = result;
        let done = self.done(when, level);
        let seen = Seen {
            addr,
            ..Seen::straight(i.inst)
        };
        let commit = self.commit(i.inst, done, seen);
        self.stats.atomic_committed_events += 1;
        *self.loads_committed.at_mut(self.loads as usize - 1) = commit;
        self.commit_store::<false>(store, commit);
        true
    }

    /// An instruction that does not touch memory faults.
    #[cold]
    pub(super) fn faults_at<const ASTRAY: bool>(
        &mut self,
        i: Passing<'_>,
        ready: u64,
        cause: TrapCause,
    ) -> bool {
        self.faults::<ASTRAY>(i, (ready, 0), cause)
    }

    /// A load of a wrong path faults: it issues as what faults does, and nobody asks why.
    #[inline(never)]
    fn faults_in_vain(&mut self, inst: &StaticInst, ready: u64) -> bool {
        self.dependence(inst.pc, self.dispatched);
        self.loads += 1;
        let when = self.issue_as::<true>(ready, &self.faulting(inst));
        self.set_when(inst.rd, when);
        true
    }

    /// The same of a store.
    #[inline(never)]
    fn store_faults_in_vain(&mut self, i: Passing<'_>, addr: u64) -> bool {
        self.follows_store(i.inst.pc);
        self.finish_faulting_store::<true>(i, addr);
        true
    }

    /// What an instruction takes if it faults. Slots that wait for it are lost to what it is.
    #[inline(always)]
    fn faulting(&self, inst: &StaticInst) -> Demand {
        Demand {
            full: self.calendar.full(FAULTS_AS),
            class: FAULTS_AS,
            latency_cycles: inst.latency(),
        }
    }

    /// It faults when it commits: until then fetch goes on.
    #[cold]
    #[inline(never)]
    fn faults<const ASTRAY: bool>(
        &mut self,
        i: Passing<'_>,
        (ready, addr): Ready,
        cause: TrapCause,
    ) -> bool {
        let kind = i.inst.kind();
        let demand = self.faulting(i.inst);
        self.stored = 0;
        if kind & kind::FLOAT != 0 {
            // It leaves as what it issues as.
            self.fp_waiting -= 1;
            self.waiting += 1;
        }
        if kind & kind::LOADS != 0 {
            self.dependence(i.inst.pc, self.dispatched);
            self.loads += 1;
        }
        let when = if kind & kind::STORES != 0 {
            self.follows_store(i.inst.pc);
            self.finish_faulting_store::<ASTRAY>(i, addr)
        } else {
            let when = self.issue_as::<ASTRAY>(ready, &demand);
            self.set_when(i.inst.rd, when);
            when
        };
        if ASTRAY {
            return true;
        }
        let done = self.done(when, Cause::Execute);
        let cause = if i.inst.len == 0 {
            self.fetch_cause(i.inst.pc)
        } else {
            cause
        };
        let cycle = self.next_commit(done);
        if cycle > self.commits.cycle {
            self.account_lost_slots(i.inst, done, cycle);
            self.commits = Commits::empty(cycle, self.params.commit_width);
        }
        self.stamps.set_last_commit(self.position, cycle);
        self.traps_in(i, cycle, cause);
        false
    }

    /// Why an instruction could not be fetched: what decoding it anew says.
    fn fetch_cause(&self, pc: u64) -> TrapCause {
        let mut code = CodeCache::new(self.process.image.isa);
        let looked_up = code.lookup(pc, &self.process.mem, &self.editor);
        looked_up.err().unwrap_or(TrapCause::FetchFault)
    }
}
