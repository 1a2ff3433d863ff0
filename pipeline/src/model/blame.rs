//! Who is to blame for a commit slot that is lost.

use hps_isa::inst::OpClass;
use serde::{Deserialize, Serialize};

use super::{Cause, Origin, State};
use crate::memsys::{Access, Level};

/// Where the instruction stands that commits next, as far as it says to whom the commit slots go that are lost before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// On its way to dispatch, delayed by this. The window is empty.
    OnItsWay(Cause),
    /// In front of an empty window, as the store queue is full.
    WaitsForStoreQueue,
    /// In front of an empty window, as it executes alone.
    WaitsToBeAlone,
    /// In front of an empty window, for either reason, while the oldest store waits for other cores.
    WaitsForStoreToOwn,
    /// In the window, but not as long as its stages take: what delayed it before still does.
    Enters(Cause),
    /// A load that has not issued.
    UnissuedLoad,
    /// A load that waits for an older store.
    ParkedLoad,
    /// A load that has issued: what serves it.
    IssuedLoad(Cause),
    /// An atomic that has issued and waits for its line from other cores.
    IssuedToOwn,
    /// A store that could issue if the write buffer took it.
    WaitsForWriteBuffer,
    /// Any other instruction in the window.
    Executes(OpClass),
}

impl Standing {
    /// The owner of the lost slots.
    #[inline(always)]
    pub fn cause(self) -> Cause {
        match self {
            Standing::OnItsWay(gap) | Standing::Enters(gap) => gap,
            Standing::WaitsForStoreQueue | Standing::ParkedLoad | Standing::WaitsForWriteBuffer => {
                Cause::StoreWait
            }
            Standing::WaitsToBeAlone => Cause::Serialize,
            Standing::WaitsForStoreToOwn | Standing::IssuedToOwn => Cause::Coherence,
            Standing::UnissuedLoad => Cause::LoadL1,
            Standing::IssuedLoad(level) => level,
            Standing::Executes(class) => cause_of(class),
        }
    }

    /// State that a probe sees in cycles in which nothing commits.
    #[inline(always)]
    pub fn state(self) -> State {
        match self {
            Standing::OnItsWay(gap) => State::empty(gap),
            Standing::WaitsForStoreQueue
            | Standing::WaitsToBeAlone
            | Standing::WaitsForStoreToOwn => State::Drained(self.cause()),
            _ => State::Stalled(self.cause()),
        }
    }
}

/// The owner of the slot of an instruction that commits.
#[inline(always)]
pub(crate) fn owner_of(origin: Origin) -> Cause {
    match origin {
        Origin::Program => Cause::Base,
        Origin::Inserted | Origin::Handler => Cause::DiseInserted,
    }
}

/// Why the head of the window does not commit, by its class alone.
#[inline(always)]
fn cause_of(class: OpClass) -> Cause {
    match class {
        OpClass::IntMul
        | OpClass::IntDiv
        | OpClass::FpAdd
        | OpClass::FpMul
        | OpClass::FpFma
        | OpClass::FpDiv
        | OpClass::FpSqrt
        | OpClass::FpCvt => Cause::LongLatency,
        OpClass::Atomic | OpClass::Syscall | OpClass::FenceI | OpClass::Csr => Cause::Serialize,
        _ => Cause::Execute,
    }
}

/// Cause that the wait for a load is charged to once it has its translation: the level that serves it.
#[inline]
fn cause_of_level(level: Level) -> Cause {
    match level {
        Level::L1 => Cause::LoadL1,
        Level::L2 => Cause::LoadL2,
        Level::L3 => Cause::LoadL3,
        Level::Core => Cause::LoadCore,
        Level::Memory => Cause::LoadMemory,
    }
}

/// Cause that the wait for a load is charged to; [`Cause::DTlb`] for one that missed the TLB, whose [`Walk`] says the
/// rest.
#[inline]
pub(crate) fn cause_of_load(access: &Access) -> Cause {
    if access.tlb_miss {
        Cause::DTlb
    } else {
        cause_of_level(access.level)
    }
}

/// The walk that a load waits for: its cycles are the TLB's, and those behind it the level's that serves the load. So
/// what a cause is charged with is what the load would wait less without it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Walk {
    /// The last cycle that is the TLB's.
    pub until_cycle: u64,
    /// Owner of the cycles behind it.
    pub then: Cause,
}

hps_isa::save_values!(Walk);

impl Walk {
    /// Nothing.
    pub const NONE: Walk = Walk {
        until_cycle: 0,
        then: Cause::DTlb,
    };

    /// That of a load which has issued in `issue_cycle` and missed the TLB.
    pub fn of(access: &Access, issue_cycle: u64) -> Walk {
        Walk {
            until_cycle: issue_cycle + u64::from(access.walk_cycles),
            then: cause_of_level(access.level),
        }
    }
}

/// Cause that a miss of fetch is charged to: the longer one of walk and line, since a gap in the stream of instructions
/// has one owner.
pub(crate) fn cause_of_fetch(access: &Access, from_cycle: u64) -> Cause {
    if access.tlb_miss && 2 * u64::from(access.walk_cycles) >= access.ready_cycle - from_cycle {
        Cause::ITlb
    } else {
        Cause::ICache
    }
}
