//! Successors of replacement instructions.

use hps_isa::editor::{DecodeEditor, Replacement};
use hps_isa::ids::DisePc;
use hps_isa::inst::{Inst, Op};

/// How the sequence continues behind a replacement instruction that is sent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// With its next position.
    Not,
    /// This one is its last, or fetch has left it.
    Leaves,
    /// A handler comes first.
    Calls,
}

/// Successor of a replacement instruction that decode sends on.
pub(crate) struct Sent {
    /// Next instruction if nothing is mispredicted: an address, and a position in the expansion there.
    pub next: (u64, DisePc),
    pub ends: Ends,
}

/// Successor of the replacement instruction at position `here` of the trigger at `pc`, behind which lies `fallthrough`,
/// and fetch went to `fetched_next`.
pub(crate) fn sent(
    r: &Replacement,
    here: DisePc,
    pc: u64,
    (fallthrough, fetched_next): (u64, u64),
) -> Sent {
    let production = here.production().unwrap_or(0);
    if r.inst.op == Op::DiseCall {
        return Sent {
            next: (r.inst.imm as u64, DisePc::NONE),
            ends: Ends::Calls,
        };
    }
    if r.inst.op == Op::DiseBr {
        return Sent {
            next: (pc, DisePc::new(production, r.inst.imm as u8)),
            ends: Ends::Not,
        };
    }
    let goes_to = if r.is_trigger {
        fetched_next
    } else {
        fallthrough
    };
    if r.is_last || goes_to != fallthrough {
        return Sent {
            next: (goes_to, DisePc::NONE),
            ends: Ends::Leaves,
        };
    }
    Sent {
        next: (pc, here.following()),
        ends: Ends::Not,
    }
}

/// Where a conditional branch at position `here` of an expansion goes on that is not taken: in its sequence, or in the
/// program behind it. `predicted` is where decode went on.
#[inline]
pub(crate) fn not_taken<E: DecodeEditor>(
    editor: &E,
    inst: &Inst,
    pc: u64,
    here: DisePc,
    predicted: (u64, DisePc),
) -> (u64, DisePc) {
    let fallthrough = pc.wrapping_add(u64::from(inst.len));
    if here == DisePc::NONE {
        return (fallthrough, DisePc::NONE);
    }
    if predicted.1 != DisePc::NONE || predicted.0 == fallthrough {
        return predicted;
    }
    // Predicted taken out of the middle of a sequence, but it goes on.
    let next = here.following();
    let more = next
        .production()
        .and_then(|p| editor.replacement(p, next.index(), pc, inst));
    match more {
        Some(_) => (pc, next),
        None => (fallthrough, DisePc::NONE),
    }
}
