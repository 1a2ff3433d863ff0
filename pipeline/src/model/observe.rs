//! Timed events that both cores tell a probe: stretches without a commit, commits, squashes and traps.
//!
//! Every cycle of a run belongs either to at least one [`Commit`] or to exactly one [`Stretch`]. The events
//! come in the order of their cycles, but for [`Squash`], which may come earlier than commits of older
//! instructions. From them an observer knows, for each cycle, what the processor waited for.

use super::Cause;
use crate::memsys::CoreId;
use hps_isa::ids::DisePc;
use hps_isa::inst::OpClass;
use serde::{Deserialize, Serialize};

/// A hardware context: which core of the chip, and which of its contexts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContextId {
    /// Number among the processors that the guest sees, from 0: the first contexts of all cores, then the second ones.
    pub processor: u16,
    /// The core, from 0.
    pub core: CoreId,
    /// The context on that core, from 0.
    pub context: u16,
}

hps_isa::save_values!(ContextId);

impl ContextId {
    /// The only context of a chip with one core of one context.
    pub const FIRST: ContextId = ContextId {
        processor: 0,
        core: CoreId::FIRST,
        context: 0,
    };

    /// The context of a processor of a chip with so many cores.
    #[must_use]
    pub fn of(processor: usize, cores: usize) -> ContextId {
        ContextId {
            processor: processor as u16,
            core: CoreId((processor % cores) as u16),
            context: (processor / cores) as u16,
        }
    }
}

/// Origin of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Origin {
    /// The program's.
    #[default]
    Program,
    /// Put in by the decode-stage editor.
    Inserted,
    /// Part of a handler.
    Handler,
}

/// Why the reorder buffer is empty behind an instruction that emptied it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FlushReason {
    /// The last committed instruction was mispredicted.
    Misprediction,
    /// The next instruction, a load, had read before an older store and runs again.
    Replay,
    /// The last committed instruction serializes, or the run was stopped there.
    Serialization,
}

/// State of a core in a cycle without commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum State {
    /// The oldest instruction of the reorder buffer is not complete.
    Stalled(Cause),
    /// The reorder buffer is empty since an instruction flushed it.
    Flushed(FlushReason),
    /// The reorder buffer is empty since the front-end, or dispatch, delivers nothing: what delays the next
    /// instruction.
    Drained(Cause),
}

impl State {
    /// The state while the reorder buffer is empty and `gap` delays the next instruction.
    #[inline]
    pub(crate) fn empty(gap: Cause) -> State {
        match gap {
            Cause::Mispredict => State::Flushed(FlushReason::Misprediction),
            Cause::Replay => State::Flushed(FlushReason::Replay),
            Cause::Serialize => State::Flushed(FlushReason::Serialization),
            cause => State::Drained(cause),
        }
    }

    /// The owner of the lost commit slots in the CPI stack, as far as the state tells it.
    #[must_use]
    pub fn cause(self) -> Cause {
        match self {
            State::Stalled(cause) | State::Drained(cause) => cause,
            State::Flushed(FlushReason::Misprediction) => Cause::Mispredict,
            State::Flushed(FlushReason::Replay) => Cause::Replay,
            State::Flushed(FlushReason::Serialization) => Cause::Serialize,
        }
    }
}

/// Consecutive cycles in which nothing commits, all in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// Where.
    pub context: ContextId,
    /// The first of the cycles.
    pub first_cycle: u64,
    /// How many there are, at least one.
    pub cycles: u64,
    /// State of the core in these cycles.
    pub state: State,
    /// Address of the oldest instruction in the reorder buffer, or of the next one to enter it as far as the
    /// core knows it then: fetch may still be on its way to another one.
    pub next_pc: u64,
}

impl Stretch {
    /// The cycle behind the last one.
    #[must_use]
    pub fn end_cycle(&self) -> u64 {
        self.first_cycle + self.cycles
    }
}

/// Events of an instruction, as a set. A plain word: each commit that is observed makes one, and observers look it up
/// in hash maps.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct EventSet(u16);

hps_isa::save_values!(EventSet);

impl EventSet {
    /// Nothing happened.
    pub const NONE: EventSet = EventSet(0);
    /// A load missed the first-level data cache.
    pub const L1D_MISS: EventSet = EventSet(1 << 0);
    /// A load missed the second-level cache.
    pub const L2_MISS: EventSet = EventSet(1 << 1);
    /// A load missed the last-level cache: memory served it.
    pub const LLC_MISS: EventSet = EventSet(1 << 2);
    /// A load missed the data TLB.
    pub const DTLB_MISS: EventSet = EventSet(1 << 3);
    /// A load got its value from a store in flight.
    pub const FORWARDED: EventSet = EventSet(1 << 4);
    /// A load waited for an older store.
    pub const STORE_WAIT: EventSet = EventSet(1 << 5);
    /// The instruction was mispredicted.
    pub const MISPREDICTED: EventSet = EventSet(1 << 6);
    /// The instruction ran again since it had read before an older store.
    pub const REPLAYED: EventSet = EventSet(1 << 7);
    /// The front-end waited for the instruction cache before it.
    pub const L1I_MISS: EventSet = EventSet(1 << 8);
    /// The front-end waited for the instruction TLB before it.
    pub const ITLB_MISS: EventSet = EventSet(1 << 9);
    /// A store found the store queue full.
    pub const STORE_QUEUE_FULL: EventSet = EventSet(1 << 10);
    /// The instruction serialized the pipeline.
    pub const SERIALIZED: EventSet = EventSet(1 << 11);
    /// The instruction trapped.
    pub const TRAPPED: EventSet = EventSet(1 << 12);
    /// The BTB did not know the taken branch in front of it.
    pub const BTB_MISS: EventSet = EventSet(1 << 13);
    /// The decode-stage editor kept decode waiting before it.
    pub const DISE_STALL: EventSet = EventSet(1 << 14);

    /// All events, with the names under which they are reported.
    pub const ALL: [(EventSet, &'static str); 15] = [
        (EventSet::L1D_MISS, "l1d_miss"),
        (EventSet::L2_MISS, "l2_miss"),
        (EventSet::LLC_MISS, "llc_miss"),
        (EventSet::DTLB_MISS, "dtlb_miss"),
        (EventSet::FORWARDED, "forwarded"),
        (EventSet::STORE_WAIT, "store_wait"),
        (EventSet::MISPREDICTED, "mispredicted"),
        (EventSet::REPLAYED, "replayed"),
        (EventSet::L1I_MISS, "l1i_miss"),
        (EventSet::ITLB_MISS, "itlb_miss"),
        (EventSet::STORE_QUEUE_FULL, "store_queue_full"),
        (EventSet::SERIALIZED, "serialized"),
        (EventSet::TRAPPED, "trapped"),
        (EventSet::BTB_MISS, "btb_miss"),
        (EventSet::DISE_STALL, "dise_stall"),
    ];

    /// The event of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<EventSet> {
        let found = EventSet::ALL.iter().find(|(_, known)| *known == name);
        found.map(|&(event, _)| event)
    }

    /// The events of both.
    #[inline(always)]
    #[must_use]
    pub const fn with(self, other: EventSet) -> EventSet {
        EventSet(self.0 | other.0)
    }

    /// This set if `happened`, else the empty one.
    #[inline(always)]
    #[must_use]
    pub const fn when(self, happened: bool) -> EventSet {
        if happened { self } else { EventSet::NONE }
    }

    /// Whether all of `events` are in this set.
    #[must_use]
    pub const fn has(self, events: EventSet) -> bool {
        self.0 & events.0 == events.0
    }

    /// Whether nothing happened.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The set as bits, in the order of [`EventSet::ALL`].
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The names of its events, in the order of [`EventSet::ALL`].
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let all = EventSet::ALL.into_iter();
        all.filter(move |(event, _)| self.has(*event))
            .map(|(_, name)| name)
    }

    /// The events of a load that the cache has served: its misses.
    #[inline]
    pub(crate) fn of_load(access: &crate::memsys::Access) -> EventSet {
        use crate::memsys::Level;
        let missed = match access.level {
            Level::L1 => EventSet::NONE,
            Level::L2 => EventSet::L1D_MISS,
            Level::L3 | Level::Core => EventSet::L1D_MISS.with(EventSet::L2_MISS),
            Level::Memory => EventSet::L1D_MISS
                .with(EventSet::L2_MISS)
                .with(EventSet::LLC_MISS),
        };
        missed.with(EventSet::DTLB_MISS.when(access.tlb_miss))
    }

    /// Events that a stretch implies for the instruction to which its cycles belong.
    #[must_use]
    pub fn of_stretch(state: State) -> EventSet {
        match state {
            State::Stalled(_) => EventSet::NONE,
            State::Flushed(FlushReason::Misprediction) => EventSet::MISPREDICTED,
            State::Flushed(FlushReason::Replay) => EventSet::REPLAYED,
            State::Flushed(FlushReason::Serialization) => EventSet::SERIALIZED,
            State::Drained(Cause::ICache) => EventSet::L1I_MISS,
            State::Drained(Cause::ITlb) => EventSet::ITLB_MISS,
            State::Drained(Cause::BtbMiss) => EventSet::BTB_MISS,
            State::Drained(Cause::StoreWait) => EventSet::STORE_QUEUE_FULL,
            State::Drained(Cause::Serialize) => EventSet::SERIALIZED,
            State::Drained(Cause::DiseStall) => EventSet::DISE_STALL,
            State::Drained(_) => EventSet::NONE,
        }
    }
}

/// An instruction commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Where.
    pub context: ContextId,
    /// The number of the thread that it belongs to.
    pub thread: u32,
    /// The number of the program that it belongs to ([`Linux::program_number`](hps_system::os::Linux)).
    pub program: u32,
    /// In which cycle.
    pub cycle: u64,
    /// Place among all committed instructions, from 1.
    pub position: u64,
    /// Address (of the trigger, inside an expansion).
    pub pc: u64,
    /// Position in an expansion.
    pub disepc: DisePc,
    /// Origin of the instruction.
    pub origin: Origin,
    /// Class of the instruction.
    pub class: OpClass,
    /// Bytes from its address to that behind it.
    pub length: u8,
    /// When it was dispatched.
    pub dispatch_cycle: u64,
    /// Events in the back-end: levels that the instruction missed, a misprediction.
    pub events: EventSet,
    /// Effective address of a memory instruction; of others it says nothing.
    pub addr: u64,
    /// Address of the instruction executed next by a control transfer.
    pub target: u64,
    /// The stack pointer behind a call, a return, an indirect jump, or a system call that has loaded all registers
    /// (`sigreturn`); else 0.
    pub stack_pointer: u64,
    /// A control transfer that was taken.
    pub taken: bool,
}

/// A store is seen by all contexts from now on: when it commits, and where contexts share memory, an atomic when it is
/// dispatched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Where.
    pub context: ContextId,
    /// The number of the program that it belongs to ([`Linux::program_number`](hps_system::os::Linux)).
    pub program: u32,
    /// In which cycle.
    pub cycle: u64,
    /// Address.
    pub addr: u64,
    /// Bytes.
    pub size: u8,
    /// Stored value, in as many low bytes.
    pub value: u64,
}

/// Instructions are taken back, some of which were dispatched in later cycles than all that stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Squash {
    /// Where.
    pub context: ContextId,
    /// In which cycle.
    pub cycle: u64,
    /// When the youngest instruction was dispatched that stays.
    pub kept_dispatch_cycle: u64,
    /// When the youngest instruction was dispatched that is taken back.
    pub last_dispatch_cycle: u64,
}

/// The oldest instruction faults: it does not commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrapTaken {
    /// Where.
    pub context: ContextId,
    /// The number of the program that it belongs to.
    pub program: u32,
    /// In which cycle.
    pub cycle: u64,
    /// Address of the instruction.
    pub pc: u64,
    /// Position in an expansion.
    pub disepc: DisePc,
}
