//! Probes of the pipeline: what a [`Probe`] sees, and beyond it stages, squashes and commit slots.

use hps_isa::memory::Memory;
use hps_isa::probe::{NoProbe, Probe};

use super::{Cause, Commit, ContextId, IssueStall, Pipe, Squash, Stored, Stretch, TrapTaken};

/// The life of one instruction, finished or squashed. Cycles are absolute; [`u64::MAX`] stands for
/// a stage that it never reached.
#[derive(Clone, Copy, Debug)]
pub struct StageRecord {
    /// Where.
    pub context: ContextId,
    /// The number of the program that it belongs to ([`Linux::program_number`](hps_system::os::Linux)).
    pub program: u32,
    /// Place in the order of the path that the instruction was on. A squash takes numbers back, and the right path gets
    /// them again. Instructions squashed before decode have none (0).
    pub seq: u64,
    /// Address (of the trigger, for a replacement instruction).
    pub pc: u64,
    /// Position in an expansion.
    pub disepc: hps_isa::ids::DisePc,
    /// The instruction.
    pub inst: hps_isa::inst::Inst,
    /// Whether the instruction belongs to the program: neither inserted nor part of a handler.
    pub is_program: bool,
    /// Whether the instruction is part of a handler.
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
    /// Whether the instruction was mispredicted and turned fetch when it resolved.
    pub mispredicted: bool,
    /// Cause of the longest wait of its completion (loads: the level that served it).
    pub cause: Cause,
    /// The pipe in which it issued; only a core with issue slots has them.
    pub pipe: Option<Pipe>,
    /// Cause that delayed the instruction on its way to the window: a miss or redirect in front of it.
    /// [`Cause::Frontend`] if nothing did.
    pub gap: Cause,
    /// Why, on a core that issues in order, it did not issue in the last cycle in which it was the
    /// oldest that had not.
    pub issue_stall: IssueStall,
}

/// A probe of the pipeline. Like [`Probe`], every hook is behind a constant and has no way to
/// change the machine.
pub trait PipelineProbe: Probe {
    /// [`PipelineProbe::finished`] and [`PipelineProbe::fetch_missed`] are wanted.
    const WANTS_STAGES: bool = false;
    /// [`PipelineProbe::slots`] is wanted.
    const WANTS_SLOTS: bool = false;
    /// [`PipelineProbe::stretch`], [`PipelineProbe::committed`], [`PipelineProbe::squashed`] and
    /// [`PipelineProbe::trapped`] are wanted.
    const WANTS_CYCLES: bool = false;
    /// [`PipelineProbe::stored`] is wanted, beside what [`PipelineProbe::WANTS_CYCLES`] asks for.
    const WANTS_STORES: bool = false;

    /// Whether the probe wants records of committed instructions. Where [`PipelineProbe::WANTS_STAGES`] is true, a
    /// [`DynProbe`](super::DynProbe) may hold a probe that does not.
    fn wants_stages(&self) -> bool {
        Self::WANTS_STAGES
    }

    /// Whether the probe wants stores. Where [`PipelineProbe::WANTS_STORES`] is true, a probe may have no use for them in
    /// this run; the answer stays the same while it is attached.
    #[inline]
    fn wants_stores(&self) -> bool {
        Self::WANTS_STORES
    }

    /// The contexts of a chip lend the probe to each other, so that it is told of all of them, in order of time. This
    /// makes what stands in its place meanwhile, and is told nothing. `None`: it can watch one context only.
    fn stand_in(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// An instruction has left the pipeline.
    #[inline]
    fn finished(&mut self, record: &StageRecord) {
        let _ = record;
    }

    /// In `cycle`, fetch has asked for the line of the instruction at `pc`, on whichever path, and has to wait:
    /// `cause` is [`Cause::ICache`], or [`Cause::ITlb`] if the TLB missed too. Only the cycle-driven core tells it.
    #[inline]
    fn fetch_missed(&mut self, pc: u64, cause: Cause, cycle: u64) {
        let _ = (pc, cause, cycle);
    }

    /// `count` commit slots belong to `cause`; `pc` is the instruction at the head of the ROB, or
    /// the next one to reach it.
    #[inline]
    fn slots(&mut self, pc: u64, cause: Cause, count: u64) {
        let _ = (pc, cause, count);
    }

    /// Cycles have passed in which nothing has committed.
    #[inline]
    fn stretch(&mut self, stretch: &Stretch) {
        let _ = stretch;
    }

    /// An instruction has committed.
    #[inline]
    fn committed(&mut self, commit: &Commit) {
        let _ = commit;
    }

    /// A store is seen by others from now on. `memory` is that of its process, as committed stores have left it.
    #[inline]
    fn stored(&mut self, stored: &Stored, memory: &Memory) {
        let _ = (stored, memory);
    }

    /// Instructions that had been dispatched have been taken back.
    #[inline]
    fn squashed(&mut self, squash: &Squash) {
        let _ = squash;
    }

    /// The oldest instruction has faulted.
    #[inline]
    fn trapped(&mut self, trap: &TrapTaken) {
        let _ = trap;
    }
}

impl PipelineProbe for NoProbe {
    fn stand_in(&self) -> Option<Self> {
        Some(NoProbe)
    }
}

/// A functional probe attached to the pipeline's commit stage.
#[derive(Debug, Default)]
pub struct AtCommit<P>(pub P);

impl<P: Probe> Probe for AtCommit<P> {
    hps_isa::forward_probe_hooks!(P; |this| this.0);
}

impl<P: Probe> PipelineProbe for AtCommit<P> {}

/// Every hook of [`PipelineProbe`] with the constant that asks for it, for the forwarding below.
macro_rules! for_each_hook {
    ($forward:ident) => {
        $forward! {
            WANTS_STAGES => finished(record: &StageRecord);
            WANTS_STAGES => fetch_missed(pc: u64, cause: Cause, cycle: u64);
            WANTS_SLOTS => slots(pc: u64, cause: Cause, count: u64);
            WANTS_CYCLES => stretch(stretch: &Stretch);
            WANTS_CYCLES => committed(commit: &Commit);
            WANTS_STORES => stored(stored: &Stored, memory: &Memory);
            WANTS_CYCLES => squashed(squash: &Squash);
            WANTS_CYCLES => trapped(trap: &TrapTaken);
        }
    };
}

pub(super) use for_each_hook;

/// The hooks of two probes: each is told what it asks for, the first one first.
macro_rules! forward_to_both {
    ($($wants:ident => $hook:ident($($arg:ident: $type:ty),*);)*) => {
        $(
            #[inline]
            fn $hook(&mut self, $($arg: $type),*) {
                if A::$wants {
                    self.0.$hook($($arg),*);
                }
                if B::$wants {
                    self.1.$hook($($arg),*);
                }
            }
        )*
    };
}

/// The hooks of a borrowed probe.
macro_rules! forward_to_borrowed {
    ($($wants:ident => $hook:ident($($arg:ident: $type:ty),*);)*) => {
        $(
            #[inline]
            fn $hook(&mut self, $($arg: $type),*) {
                (**self).$hook($($arg),*);
            }
        )*
    };
}

impl<A: PipelineProbe, B: PipelineProbe> PipelineProbe for (A, B) {
    const WANTS_STAGES: bool = A::WANTS_STAGES || B::WANTS_STAGES;
    const WANTS_SLOTS: bool = A::WANTS_SLOTS || B::WANTS_SLOTS;
    const WANTS_CYCLES: bool = A::WANTS_CYCLES || B::WANTS_CYCLES;
    const WANTS_STORES: bool = A::WANTS_STORES || B::WANTS_STORES;

    fn stand_in(&self) -> Option<Self> {
        Some((self.0.stand_in()?, self.1.stand_in()?))
    }
    for_each_hook!(forward_to_both);
}

impl<P: PipelineProbe> PipelineProbe for &mut P {
    const WANTS_STAGES: bool = P::WANTS_STAGES;
    const WANTS_SLOTS: bool = P::WANTS_SLOTS;
    const WANTS_CYCLES: bool = P::WANTS_CYCLES;
    const WANTS_STORES: bool = P::WANTS_STORES;
    for_each_hook!(forward_to_borrowed);
}
