//! Records that the stages hand on: `Front` from fetch to dispatch, `MicroOp` in the window.
//!
//! Both are as small as the common case allows. What few instructions need lies in rings of its
//! own: branch predictions beside the checkpoints, [`Inserted`] for what DISE has touched, and
//! [`StageCycles`] for runs whose probe asks for them. An instruction is named by its position in
//! program order of the predicted path; a squash takes positions back, and they are given again.

use hps_isa::code::HandlerLink;
use hps_isa::ids::DisePc;
use hps_isa::inst::{Inst, OpClass};
use hps_isa::likely::often;
use serde::{Deserialize, Serialize};

use super::rob::Slot;
use crate::model::{Cause, IssueStall, Origin, Pipe, UNKNOWN};

/// No branch checkpoint.
pub const NO_CHECKPOINT: u16 = u16::MAX;
/// No producer in flight: older than every position.
pub const NO_PRODUCER: u64 = 0;

/// Facts about an instruction, as bits. Those of the front-end fit into a byte.
pub mod flag {
    /// Belongs to the program (not inserted, not part of a handler).
    pub const PROGRAM: u16 = 1 << 0;
    /// Part of a handler; it has an [`Inserted`](super::Inserted) record with the link.
    pub const HANDLER: u16 = 1 << 1;
    /// Fetched where nothing can be executed.
    pub const FETCH_FAULT: u16 = 1 << 2;
    /// The static part of a pattern matches it.
    pub const MATCHED: u16 = 1 << 3;
    /// The instruction has an [`Inserted`](super::Inserted) record.
    pub const INSERTED: u16 = 1 << 4;
    /// A load or store whose address has not been computed yet, by an operation of its own.
    pub const GENERATES: u16 = 1 << 5;
    /// A load that has computed its address and waits for what a store does. Its next issue takes no time for it.
    pub const HAS_ADDRESS: u16 = 1 << 6;
    /// A control transfer that was taken.
    pub const TAKEN: u16 = 1 << 8;
    /// Fetch went elsewhere than execution does.
    pub const MISPREDICTED: u16 = 1 << 9;
    /// Has left its reservation station.
    pub const ISSUED: u16 = 1 << 10;
    /// Faults when it commits.
    pub const TRAP: u16 = 1 << 11;
    /// Waits, in the list of a store, until that store gets on.
    pub const PARKED: u16 = 1 << 12;
    /// An atomic that waits to be the oldest instruction.
    pub const WAITS_FOR_HEAD: u16 = 1 << 13;
    /// Stores in flight wait for its result as their data.
    pub const FEEDS_STORE: u16 = 1 << 14;
    /// Instructions in flight wait for its result.
    pub const WAITED_FOR: u16 = 1 << 15;
}

/// An instruction between fetch and dispatch. 32 bytes, so that handing it on is two moves.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(C, align(32))]
pub struct Front {
    pub inst: Inst,
    pub pc: u64,
    /// Low half of the cycle in which it came where it is.
    pub cycle: u32,
    /// Index of the branch checkpoint, or [`NO_CHECKPOINT`].
    pub checkpoint: u16,
    /// Why there was a gap in front of this instruction.
    pub gap: Cause,
    /// The low byte of its flags.
    pub flags: u8,
}

const _: () = assert!(size_of::<Front>() == 32);

impl Front {
    /// Content of an empty place.
    pub const EMPTY: Front = Front {
        inst: Inst::illegal(0),
        pc: 0,
        cycle: 0,
        checkpoint: NO_CHECKPOINT,
        gap: Cause::Frontend,
        flags: 0,
    };

    /// Whether a flag (of the low byte) is set.
    #[inline(always)]
    pub fn has(&self, flag: u16) -> bool {
        u16::from(self.flags) & flag != 0
    }

    /// The address behind it.
    #[inline(always)]
    pub fn fallthrough(&self) -> u64 {
        self.pc.wrapping_add(u64::from(self.inst.len))
    }

    /// The cycle in which it came where it is.
    #[inline(always)]
    pub fn since(&self, now: u64) -> u64 {
        now.wrapping_sub(u64::from((now as u32).wrapping_sub(self.cycle)))
    }
}

/// Additions of DISE to an instruction of a sequence or a handler.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Inserted {
    /// Position in an expansion.
    pub disepc: DisePc,
    /// Where decode went on: address and position.
    pub predicted_next: u64,
    pub predicted_disepc: DisePc,
    /// Where the handler that it is part of returns to.
    pub link: HandlerLink,
}

impl Inserted {
    /// The state of an instruction that DISE has not touched.
    pub const NOTHING: Inserted = Inserted {
        disepc: DisePc::NONE,
        predicted_next: 0,
        predicted_disepc: DisePc::NONE,
        link: HandlerLink {
            pc: 0,
            disepc: DisePc::NONE,
        },
    };
}

/// When an instruction passed the stages, for probes that want it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct StageCycles {
    pub fetch: u64,
    pub decode: u64,
    pub issue: u64,
    /// Where it issued, of a slotted in-order core.
    pub pipe: Option<Pipe>,
    /// Why it did not issue when it could not last, of an in-order core.
    pub stall: IssueStall,
}

impl StageCycles {
    /// The cycles of an instruction that leaves decode.
    pub fn decoded(fetch: u64, decode: u64) -> Self {
        StageCycles {
            fetch,
            decode,
            issue: UNKNOWN,
            pipe: None,
            stall: IssueStall::None,
        }
    }
}

/// An instruction in the window.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(C, align(64))]
pub struct MicroOp {
    /// The instruction as it came from decode; its cycle is that of dispatch.
    pub front: Front,
    /// Cycle from which it may be considered for commit; [`UNKNOWN`] until known. Consumers may
    /// issue [`Params::issue_to_execute`](super::Params) earlier.
    pub complete_cycle: u64,
    /// Cycle in which all sources known so far are available; once it waits for nothing, the
    /// cycle in which it is in the calendar. Of a store that has issued: when its address is there.
    pub ready_cycle: u64,
    /// Value of the destination before, for a squash.
    pub old_value: u64,
    /// Producer of the destination before, for a squash.
    pub old_producer: u64,
    /// Effective address of a memory instruction.
    pub addr: u64,
    /// Address of the instruction that executes next, of a control transfer or of an instruction
    /// that was mispredicted.
    pub next_pc: u64,
    /// Position in the store queue (of a load: of the youngest older store, plus one).
    pub store_pos: u64,
    /// The store queue position for which a load waits, or [`UNKNOWN`].
    pub store_wait: u64,
    pub flags: u16,
    /// With `next_pc`; where there is an editor, of any instruction.
    pub next_disepc: DisePc,
    /// Sources that issue waits for.
    pub pending: u8,
    /// Class as which it executes: its own, or an integer operation if it faults.
    pub class: OpClass,
    /// Memory level that served a load (see `cpi`).
    pub level: Cause,
    pub old_fcsr: u8,
    /// Next load that is parked at the store of this one, or [`Slot::NONE`].
    pub next_parked: Slot,
}

hps_isa::save_values!(Front, Inserted, StageCycles, MicroOp);

const _: () = assert!(size_of::<MicroOp>() == 128);

impl MicroOp {
    /// Content of an empty slot.
    pub const EMPTY: MicroOp = MicroOp {
        front: Front::EMPTY,
        complete_cycle: UNKNOWN,
        ready_cycle: 0,
        old_value: 0,
        old_producer: NO_PRODUCER,
        addr: 0,
        next_pc: 0,
        store_pos: 0,
        store_wait: UNKNOWN,
        flags: 0,
        next_disepc: DisePc::NONE,
        pending: 0,
        class: OpClass::IntAlu,
        level: Cause::Execute,
        old_fcsr: 0,
        next_parked: Slot::NONE,
    };

    /// Whether a flag is set.
    #[inline(always)]
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Where the instruction comes from.
    #[inline(always)]
    pub fn origin(&self) -> Origin {
        if often(self.has(flag::PROGRAM)) {
            Origin::Program
        } else if self.has(flag::HANDLER) {
            Origin::Handler
        } else {
            Origin::Inserted
        }
    }

    /// The class of the instruction, whether it faults or not.
    #[inline(always)]
    pub fn inst_class(&self) -> OpClass {
        self.front.inst.class
    }
}
