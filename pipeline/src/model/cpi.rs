//! The CPI stack: every commit slot of every cycle has exactly one owner.
//!
//! In a cycle, `commit_width` slots pass the head of the ROB. A slot that retires an instruction
//! belongs to [`Cause::Base`] (or to [`Cause::DiseInserted`] if the instruction is not the
//! program's). A slot that is lost belongs to what kept the instruction at the head from
//! retiring, or, if the ROB is empty, to what delayed the next instruction on its way there. The
//! parts therefore sum to `commit_width * cycles` exactly, once the run has been settled
//! ([`Chip::settle`](crate::core::Chip::settle)): one that stops at a limit leaves the slots behind its last
//! commit open, for those that commit in the same cycle when it goes on.

use serde::{Deserialize, Serialize};

/// The owner of a commit slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Cause {
    /// Retired an instruction of the program.
    Base,
    /// Retired a replacement or handler instruction.
    DiseInserted,
    /// Expansion stalled decode, or fetch was turned to a handler and back.
    DiseStall,
    /// Fetch latency and bandwidth without a miss (taken branches, pipeline fill).
    Frontend,
    /// Instruction cache miss.
    ICache,
    /// Instruction TLB miss.
    ITlb,
    /// A taken branch that the BTB did not know.
    BtbMiss,
    /// Refill after a misprediction.
    Mispredict,
    /// Refill after a memory ordering violation.
    Replay,
    /// Serializing instructions and system calls.
    Serialize,
    /// The head executes or waits for operands and units: single-cycle latencies and scheduling.
    Execute,
    /// The head is a multiplication, division or floating-point operation under way.
    LongLatency,
    /// The head is a load served by the first-level cache or by a store in flight.
    LoadL1,
    /// The head is a load served by the second-level cache.
    LoadL2,
    /// The head is a load served by the third-level cache.
    LoadL3,
    /// The head is a load served by memory.
    LoadMemory,
    /// The head is a load that waits for its translation; once that is there, what serves the load has its cycles.
    DTlb,
    /// The head is a load that waits for an older store, or the store queue is full.
    StoreWait,
    /// The head is a load served by the caches of another core, or that waits until other cores have had its line.
    LoadCore,
    /// The head is an atomic that waits for its line from other cores, or the oldest store does, and the store queue is
    /// full or has to be empty for what comes next.
    Coherence,
    /// No thread runs on the context.
    Idle,
    /// Another context of the core has taken it.
    Sibling,
}

hps_isa::save_values!(Cause);

impl Cause {
    /// All causes, in the order in which a stack is drawn.
    pub const ALL: [Cause; 22] = [
        Cause::Base,
        Cause::DiseInserted,
        Cause::DiseStall,
        Cause::Frontend,
        Cause::ICache,
        Cause::ITlb,
        Cause::BtbMiss,
        Cause::Mispredict,
        Cause::Replay,
        Cause::Serialize,
        Cause::Execute,
        Cause::LongLatency,
        Cause::LoadL1,
        Cause::LoadL2,
        Cause::LoadL3,
        Cause::LoadMemory,
        Cause::DTlb,
        Cause::StoreWait,
        Cause::LoadCore,
        Cause::Coherence,
        Cause::Idle,
        Cause::Sibling,
    ];

    /// Whether a chip needs several contexts for it.
    #[must_use]
    pub fn needs_company(self) -> bool {
        matches!(
            self,
            Cause::LoadCore | Cause::Coherence | Cause::Idle | Cause::Sibling
        )
    }

    /// The name under which it is reported.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Cause::Base => "base",
            Cause::DiseInserted => "dise_inserted",
            Cause::DiseStall => "dise_stall",
            Cause::Frontend => "frontend",
            Cause::ICache => "icache",
            Cause::ITlb => "itlb",
            Cause::BtbMiss => "btb_miss",
            Cause::Mispredict => "mispredict",
            Cause::Replay => "replay",
            Cause::Serialize => "serialize",
            Cause::Execute => "execute",
            Cause::LongLatency => "long_latency",
            Cause::LoadL1 => "load_l1",
            Cause::LoadL2 => "load_l2",
            Cause::LoadL3 => "load_l3",
            Cause::LoadMemory => "load_memory",
            Cause::DTlb => "dtlb",
            Cause::StoreWait => "store_wait",
            Cause::LoadCore => "load_core",
            Cause::Coherence => "coherence",
            Cause::Idle => "idle",
            Cause::Sibling => "sibling",
        }
    }
}

/// Commit slots by owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpiStack {
    /// Slots, indexed by `Cause as usize`.
    pub slots: [u64; Cause::ALL.len()],
}

hps_isa::save_state! { CpiStack { slots } }

impl CpiStack {
    /// Adds slots to an owner.
    #[inline]
    pub fn add(&mut self, cause: Cause, slots: u64) {
        self.slots[cause as usize] += slots;
    }

    /// Adds another stack.
    pub fn merge(&mut self, other: &CpiStack) {
        for (mine, theirs) in self.slots.iter_mut().zip(other.slots) {
            *mine += theirs;
        }
    }

    /// Slots added since an earlier state of this stack.
    #[must_use]
    pub fn since(&self, earlier: &CpiStack) -> CpiStack {
        let mut stack = *self;
        for (mine, theirs) in stack.slots.iter_mut().zip(earlier.slots) {
            *mine -= theirs;
        }
        stack
    }

    /// Slots of an owner.
    #[must_use]
    pub fn get(&self, cause: Cause) -> u64 {
        self.slots[cause as usize]
    }

    /// All slots: `commit_width * cycles`.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.slots.iter().sum()
    }
}
