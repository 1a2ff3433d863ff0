//! Probes of the pipeline: what a [`Probe`] sees, and beyond it stages, squashes and commit slots.

use hps_sim_core::probe::{NoProbe, Probe};

use super::cpi::Cause;
use super::in_order::IssueStall;
use super::slotting::Pipe;

/// The life of one instruction, finished or squashed. Cycles are absolute; [`u64::MAX`] stands for
/// a stage that it never reached.
#[derive(Clone, Copy, Debug)]
pub struct StageRecord {
    /// Its place in the order of the path it was on. A squash takes numbers back, and the right path
    /// gets them again. Instructions squashed before decode have none (0).
    pub seq: u64,
    /// Address (of the trigger, for a replacement instruction).
    pub pc: u64,
    /// Position in an expansion.
    pub disepc: hps_sim_core::ids::DisePc,
    /// The instruction.
    pub inst: hps_sim_core::inst::Inst,
    /// It belongs to the program: neither inserted nor part of a handler.
    pub is_program: bool,
    /// It is part of a handler.
    pub is_handler: bool,
    /// Fetched.
    pub fetch_cycle: u64,
    /// Decoded (left decode).
    pub decode_cycle: u64,
    /// Dispatched.
    pub dispatch_cycle: u64,
    /// Issued.
    pub issue_cycle: u64,
    /// Completed.
    pub complete_cycle: u64,
    /// Committed, or squashed.
    pub end_cycle: u64,
    /// Squashed rather than committed.
    pub squashed: bool,
    /// It was mispredicted and turned fetch when it resolved.
    pub mispredicted: bool,
    /// What its completion waited for longest (loads: the level that served it).
    pub cause: Cause,
    /// The pipe in which it issued; only a core with issue slots has them.
    pub pipe: Option<Pipe>,
    /// Why, on a core that issues in order, it did not issue in the last cycle in which it was the
    /// oldest that had not.
    pub issue_stall: IssueStall,
}

/// A probe of the pipeline. Like [`Probe`], every hook is behind a constant and has no way to
/// change the machine.
pub trait PipelineProbe: Probe {
    /// [`PipelineProbe::finished`] is wanted.
    const WANTS_STAGES: bool = false;
    /// [`PipelineProbe::slots`] is wanted.
    const WANTS_SLOTS: bool = false;

    /// An instruction has left the pipeline.
    #[inline]
    fn finished(&mut self, record: &StageRecord) {
        let _ = record;
    }

    /// `count` commit slots belong to `cause`; `pc` is the instruction at the head of the ROB, or
    /// the next one to reach it.
    #[inline]
    fn slots(&mut self, pc: u64, cause: Cause, count: u64) {
        let _ = (pc, cause, count);
    }
}

impl PipelineProbe for NoProbe {}

/// A functional probe attached to the pipeline's commit stage.
#[derive(Debug, Default)]
pub struct AtCommit<P>(pub P);

impl<P: Probe> Probe for AtCommit<P> {
    const ENABLED: bool = P::ENABLED;
    const WANTS_RETIRED: bool = P::WANTS_RETIRED;
    const WANTS_MEMORY: bool = P::WANTS_MEMORY;
    const WANTS_CONTROL: bool = P::WANTS_CONTROL;
    #[inline]
    fn retired(&mut self, event: &hps_sim_core::probe::Retired<'_>) {
        self.0.retired(event);
    }
    #[inline]
    fn memory(&mut self, pc: u64, inst: &hps_sim_core::inst::Inst, addr: u64) {
        self.0.memory(pc, inst, addr);
    }
    #[inline]
    fn control(&mut self, pc: u64, inst: &hps_sim_core::inst::Inst, target: u64, taken: bool) {
        self.0.control(pc, inst, target, taken);
    }
}

impl<P: Probe> PipelineProbe for AtCommit<P> {}

impl<A: PipelineProbe, B: PipelineProbe> PipelineProbe for (A, B) {
    const WANTS_STAGES: bool = A::WANTS_STAGES || B::WANTS_STAGES;
    const WANTS_SLOTS: bool = A::WANTS_SLOTS || B::WANTS_SLOTS;
    #[inline]
    fn finished(&mut self, record: &StageRecord) {
        if A::WANTS_STAGES {
            self.0.finished(record);
        }
        if B::WANTS_STAGES {
            self.1.finished(record);
        }
    }
    #[inline]
    fn slots(&mut self, pc: u64, cause: Cause, count: u64) {
        if A::WANTS_SLOTS {
            self.0.slots(pc, cause, count);
        }
        if B::WANTS_SLOTS {
            self.1.slots(pc, cause, count);
        }
    }
}

impl<P: PipelineProbe> PipelineProbe for &mut P {
    const WANTS_STAGES: bool = P::WANTS_STAGES;
    const WANTS_SLOTS: bool = P::WANTS_SLOTS;
    #[inline]
    fn finished(&mut self, record: &StageRecord) {
        (**self).finished(record);
    }
    #[inline]
    fn slots(&mut self, pc: u64, cause: Cause, count: u64) {
        (**self).slots(pc, cause, count);
    }
}
