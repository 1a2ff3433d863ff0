//! Execution, functionally, and the cycles behind dispatch.

use hps_isa::bus::{Bus, MemFault};
use hps_isa::code::CodeCache;
use hps_isa::exec::{self, Outcome};
use hps_isa::hart::Hart;
use hps_isa::inst::{Inst, OpClass};
use hps_isa::likely::often;
use hps_isa::memory::Memory;
use hps_isa::trap::TrapCause;

use super::calendar::Demand;
use super::commit::{Commits, Done, Seen};
use super::insts::StaticInst;
use super::path::Path;
use super::work::Kind;
use super::wrong_path::{self, WrongPathBus};
use super::{DecodeEditor, DrivenCore, Passing, When};
use crate::model::{Cause, PipelineProbe, kind};

/// The class as which an instruction issues that faults.
const FAULTS_AS: OpClass = OpClass::IntAlu;

/// When its sources allow an instruction to issue, and the address that it accesses, if it does.
pub(super) type Ready = (u64, u64);

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

/// Executes an instruction in guest memory. This is compiled once, and not for each type of editor and probe.
#[inline(never)]
fn execute(hart: &mut Hart, bus: &mut RightBus<'_>, inst: &Inst, pc: u64) -> Outcome {
    exec::execute(hart, bus, inst, pc)
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
    /// Executes an instruction that continues with the next one, in the program's memory. `false` if it traps, and
    /// then nothing has changed.
    #[inline(always)]
    pub(super) fn takes_effect(&mut self, inst: &StaticInst) -> bool {
        let (hart, mem) = self.process.hart_and_memory();
        inst.straight()(hart, mem, inst, inst.pc)
    }

    /// Executes an instruction that only computes, from at most two registers. `false` for any other instruction and
    /// for one that traps, and then nothing has changed.
    #[inline(always)]
    pub(super) fn computes(&mut self, inst: &StaticInst) -> bool {
        if inst.kind() == Kind::Adds {
            let r = &mut self.process.thread.hart.r;
            let sum = r[usize::from(inst.rs1)].wrapping_add(r[usize::from(inst.rs2)]);
            r[usize::from(inst.rd)] = sum.wrapping_add(inst.imm as u64);
            return true;
        }
        if inst.kind() == Kind::Sums {
            let r = &mut self.process.thread.hart.r;
            let sources = (r[usize::from(inst.rs1)], r[usize::from(inst.rs2)]);
            r[usize::from(inst.rd)] = inst.adds().of(sources.0, sources.1);
            return true;
        }
        if inst.kind() == Kind::Combines {
            let r = &mut self.process.thread.hart.r;
            let sources = (r[usize::from(inst.rs1)], r[usize::from(inst.rs2)]);
            r[usize::from(inst.rd)] = inst.combines().of(sources.0, sources.1);
            return true;
        }
        inst.kind() == Kind::Computes && often(self.takes_effect(inst))
    }

    /// Gives an instruction that has only computed its further cycles.
    #[inline(always)]
    pub(super) fn finish_computed<K: Path>(&mut self, inst: &StaticInst, ready: u64) {
        let when = self.issue::<K>(ready, inst);
        self.set_when(inst.rd, when);
        if !K::IS_WRONG {
            let done = self.done(when, Cause::Execute);
            self.commit(inst, done, Seen::straight(inst));
        }
    }

    /// Executes any other instruction that has been dispatched, and gives it its further cycles.
    #[inline(never)]
    pub(super) fn execute<K: Path>(&mut self, i: Passing<'_>) -> bool {
        let inst = i.inst;
        let kind = inst.kind();
        if kind.has(kind::FLOAT) {
            self.waiting -= 1;
            self.fp_waiting += 1;
        }
        let mut ready = (self.ready(inst), 0);
        let is_memory = kind.is_memory();
        if is_memory {
            ready.1 = inst.address(&self.process.thread.hart.r);
        }
        if is_memory && let Some(cause) = self.refused(i, ready.1) {
            return self.faults::<K>(i, ready, cause);
        }
        match self.evaluate::<K>(inst, i.inst.pc) {
            Outcome::Next if is_memory => return self.finish_atomic::<K>(i, ready),
            Outcome::Next => {}
            outcome => return self.faults::<K>(i, ready, cause_of(outcome)),
        }
        self.finish_computed::<K>(inst, ready.0);
        true
    }

    #[inline(always)]
    pub(super) fn done(&self, when: When, level: Cause) -> Done {
        Done {
            issue: when.issue,
            result: when.result,
            level,
        }
    }

    /// Executes the instruction; `stored` says how many bytes it wrote.
    #[inline(always)]
    pub(super) fn evaluate<K: Path>(&mut self, inst: &Inst, pc: u64) -> Outcome {
        let (hart, mem) = self.process.hart_and_memory();
        if K::IS_WRONG {
            let mut bus = WrongPathBus {
                mem,
                stores: &mut self.wrong_path_stores,
                stored: &mut self.stored,
            };
            wrong_path::execute(hart, &mut bus, inst, pc)
        } else {
            let mut bus = RightBus {
                mem,
                stored: &mut self.stored,
            };
            execute(hart, &mut bus, inst, pc)
        }
    }

    /// An instruction that does not touch memory faults.
    #[cold]
    pub(super) fn faults_at<K: Path>(
        &mut self,
        i: Passing<'_>,
        ready: u64,
        cause: TrapCause,
    ) -> bool {
        self.faults::<K>(i, (ready, 0), cause)
    }

    /// Demand of an instruction if it faults. Slots that wait for it are lost to its own class.
    #[inline(always)]
    pub(super) fn faulting(&self, inst: &StaticInst) -> Demand {
        Demand {
            full: self.calendar.full(FAULTS_AS),
            class: FAULTS_AS,
            latency_cycles: inst.latency(),
        }
    }

    /// Lets an instruction fault when it commits: until then fetch goes on.
    #[cold]
    #[inline(never)]
    pub(super) fn faults<K: Path>(
        &mut self,
        i: Passing<'_>,
        (ready, addr): Ready,
        cause: TrapCause,
    ) -> bool {
        let kind = i.inst.kind();
        let demand = self.faulting(i.inst);
        self.stored = 0;
        if kind.has(kind::FLOAT) {
            // The instruction leaves its station as the class that it issues as.
            self.fp_waiting -= 1;
            self.waiting += 1;
        }
        if kind.has(kind::LOADS) {
            self.dependence(i.inst.pc, self.dispatched);
            self.loads += 1;
        }
        let when = if kind.has(kind::STORES) {
            self.follows_store(i.inst.pc);
            self.finish_faulting_store::<K>(i, addr)
        } else {
            let when = self.issue::<K>(ready, &demand);
            self.set_when(i.inst.rd, when);
            when
        };
        if K::IS_WRONG {
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

    /// Why an instruction could not be fetched, found by decoding it again.
    fn fetch_cause(&self, pc: u64) -> TrapCause {
        let mut code = CodeCache::new(self.process.image.isa);
        let looked_up = code.lookup(pc, &self.process.mem, &self.editor);
        looked_up.err().unwrap_or(TrapCause::FetchFault)
    }
}
