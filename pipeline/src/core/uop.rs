//! `MicroOp`: one instruction in flight.

use hps_sim_core::code::HandlerLink;
use hps_sim_core::ids::DisePc;
use hps_sim_core::inst::Inst;
use hps_sim_core::trap::TrapCause;

use super::cpi::Cause;

/// No entry of a ring or list.
pub const NONE: u32 = u32::MAX;
/// A cycle that is not known yet.
pub const UNKNOWN: u64 = u64::MAX;
/// No producer in flight: older than every ROB position.
pub const NO_PRODUCER: u64 = 0;

/// Facts about a [`MicroOp`], as bits.
pub mod flag {
    /// Belongs to the program (not inserted, not part of a handler).
    pub const PROGRAM: u16 = 1 << 0;
    /// Part of a handler; the micro-op's link is valid.
    pub const HANDLER: u16 = 1 << 1;
    /// A control transfer that was taken.
    pub const TAKEN: u16 = 1 << 2;
    /// Fetch went elsewhere than execution does.
    pub const MISPREDICTED: u16 = 1 << 3;
    /// Has left its reservation station.
    pub const ISSUED: u16 = 1 << 4;
    /// Faults when it commits.
    pub const TRAP: u16 = 1 << 5;
    /// Waits, in the list of a store, until that store gets on.
    pub const PARKED: u16 = 1 << 7;
    /// An atomic that waits to be the oldest instruction.
    pub const WAITS_FOR_HEAD: u16 = 1 << 8;
    /// Fetched where nothing can be executed.
    pub const FETCH_FAULT: u16 = 1 << 9;
}

/// An instruction between fetch and decode.
#[derive(Clone, Copy)]
pub struct Fetched {
    pub pc: u64,
    pub inst: Inst,
    pub mask: u32,
    /// Index of the branch checkpoint, or [`NONE`].
    pub checkpoint: u32,
    /// Where fetch went next (1: it did not know and waits).
    pub predicted_next: u64,
    pub ready_cycle: u64,
    pub fetch_cycle: u64,
    pub fault: Option<TrapCause>,
    /// Why there was a gap in front of this instruction.
    pub gap: Cause,
}

/// An instruction between decode and dispatch.
#[derive(Clone, Copy)]
pub struct Decoded {
    pub seq: u64,
    pub pc: u64,
    pub inst: Inst,
    pub disepc: DisePc,
    pub predicted_disepc: DisePc,
    pub flags: u16,
    pub checkpoint: u32,
    pub predicted_next: u64,
    pub link: HandlerLink,
    pub ready_cycle: u64,
    pub fetch_cycle: u64,
    pub decode_cycle: u64,
    pub fault: Option<TrapCause>,
    pub gap: Cause,
}

impl Fetched {
    /// What an empty place of the queue holds.
    pub const EMPTY: Fetched = Fetched {
        pc: 0,
        inst: Inst::illegal(0),
        mask: 0,
        checkpoint: NONE,
        predicted_next: 0,
        ready_cycle: 0,
        fetch_cycle: 0,
        fault: None,
        gap: Cause::Frontend,
    };
}

impl Decoded {
    /// What an empty place of the queue holds.
    pub const EMPTY: Decoded = Decoded {
        seq: 0,
        pc: 0,
        inst: Inst::illegal(0),
        disepc: DisePc::NONE,
        predicted_disepc: DisePc::NONE,
        flags: 0,
        checkpoint: NONE,
        predicted_next: 0,
        link: NO_LINK,
        ready_cycle: 0,
        fetch_cycle: 0,
        decode_cycle: 0,
        fault: None,
        gap: Cause::Frontend,
    };
}

/// An instruction in the ROB.
#[derive(Clone, Copy)]
pub struct MicroOp {
    pub seq: u64,
    pub inst: Inst,
    /// Cycle from which a consumer may issue; [`UNKNOWN`] until this one has issued.
    pub result_cycle: u64,
    /// Cycle from which it may be considered for commit; [`UNKNOWN`] until known.
    pub complete_cycle: u64,
    /// Cycle in which all sources known so far are available.
    pub ready_cycle: u64,
    /// Head of the list of consumers: `rob slot * 4 + source`.
    pub first_consumer: u32,
    /// Next consumer of the same producer, for each source.
    pub next_consumer: [u32; 3],
    /// ROB slot of the producer of each source, while linked.
    pub producer: [u32; 3],
    /// Sources that issue waits for.
    pub pending: u8,
    /// Sources that are in the consumer list of their producer, as bits.
    pub linked: u8,
    pub flags: u16,
    /// Pool of the unit that runs it.
    pub pool: u8,
    /// Position in the store queue (of a load: of the youngest older store, plus one).
    pub store_pos: u64,
    /// Of a load: the store queue position that its store set makes it wait for, or [`UNKNOWN`].
    pub store_wait: u64,
    /// Effective address of a memory instruction.
    pub addr: u64,
    pub pc: u64,
    /// Address of the instruction that executes next.
    pub next_pc: u64,
    pub next_disepc: DisePc,
    pub disepc: DisePc,
    /// Value of the destination before, for a squash.
    pub old_value: u64,
    /// Producer of the destination before, for a squash.
    pub old_producer: u64,
    pub old_fcsr: u8,
    /// Memory level that served a load (see `cpi`).
    pub level: Cause,
    pub gap: Cause,
    pub checkpoint: u32,
    /// Next load parked at the same store.
    pub next_parked: u32,
    pub link: HandlerLink,
    pub fetch_cycle: u64,
    pub decode_cycle: u64,
    pub dispatch_cycle: u64,
    pub issue_cycle: u64,
}

/// No handler.
pub const NO_LINK: HandlerLink = HandlerLink {
    pc: 0,
    disepc: DisePc::NONE,
};

impl MicroOp {
    /// What an empty ROB slot holds.
    pub const EMPTY: MicroOp = MicroOp {
        seq: 0,
        inst: Inst::illegal(0),
        result_cycle: UNKNOWN,
        complete_cycle: UNKNOWN,
        ready_cycle: 0,
        first_consumer: NONE,
        next_consumer: [NONE; 3],
        producer: [NONE; 3],
        pending: 0,
        linked: 0,
        flags: 0,
        pool: 0,
        store_pos: 0,
        store_wait: UNKNOWN,
        addr: 0,
        pc: 0,
        next_pc: 0,
        next_disepc: DisePc::NONE,
        disepc: DisePc::NONE,
        old_value: 0,
        old_producer: NO_PRODUCER,
        old_fcsr: 0,
        level: Cause::Execute,
        gap: Cause::Frontend,
        checkpoint: NONE,
        next_parked: NONE,
        link: NO_LINK,
        fetch_cycle: 0,
        decode_cycle: 0,
        dispatch_cycle: 0,
        issue_cycle: UNKNOWN,
    };

    /// Whether a flag is set.
    #[inline]
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}
