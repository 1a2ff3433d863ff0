//! Work that the decode-stage editor has under way, and its effect on an instruction.

use hps_isa::code::HandlerLink;
use hps_isa::ids::DisePc;
use hps_isa::inst::Inst;
use serde::{Deserialize, Serialize};

use super::DecodeEditor;
pub use crate::model::Origin;
use crate::model::{Cause, Restart, Ring, branch_kind};
use crate::predict::Checkpoint;

/// Effect of an editor on an instruction.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Edited {
    pub origin: Origin,
    /// Position of the instruction in an expansion.
    pub disepc: DisePc,
    /// Where decode went on in an expansion, beside the address.
    pub predicted_disepc: DisePc,
    /// Where the handler that it is part of returns to.
    pub link: Option<HandlerLink>,
    /// Until when decode stalled for a decision about an older one.
    pub stalled_until: u64,
    /// Since when it was due in decode, in the place of its trigger.
    pub due: Option<u64>,
    /// Why it comes late, if that is decode's doing.
    pub gap: Option<Cause>,
}

hps_isa::save_values!(Edited);

impl Edited {
    /// Nothing.
    pub const NOTHING: Edited = Edited {
        origin: Origin::Program,
        disepc: DisePc::NONE,
        predicted_disepc: DisePc::NONE,
        link: None,
        stalled_until: 0,
        due: None,
        gap: None,
    };

    /// Nothing but what a new layout says of an instruction.
    pub fn laid_out(mask: u32) -> Edited {
        use hps_isa::editor::laid;
        let origin = match mask {
            0 => Origin::Program,
            mask if mask & laid::HANDLER != 0 => Origin::Handler,
            _ => Origin::Inserted,
        };
        Edited {
            origin,
            ..Edited::NOTHING
        }
    }
}

/// A replacement sequence under way.
#[derive(Clone, Serialize, Deserialize)]
pub struct Expansion {
    pub trigger: Inst,
    pub pc: u64,
    /// Where fetch went behind the trigger.
    pub fetched_next: u64,
    pub production: u8,
    pub index: u8,
    /// The trigger itself has been sent on, and with it its branch prediction.
    pub emitted: bool,
    /// When decode took what it took last, and from when on it may take the next position.
    pub since: u64,
    pub from: u64,
    /// Until when decode stalled before it took the trigger, for the first position.
    pub stalled_until: u64,
    pub gap: Option<Cause>,
}

impl Expansion {
    /// Position that comes next.
    pub fn position(&self) -> DisePc {
        DisePc::new(self.production, self.index)
    }

    pub fn fallthrough(&self) -> u64 {
        self.pc.wrapping_add(u64::from(self.trigger.len))
    }
}

/// A trigger of which nothing was sent on: a handler was called at its end.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Gone {
    pub pc: u64,
    /// Why it came late, and since when that was known.
    pub gap: (Cause, u64),
    /// Until when decode stalled before it took it, when it did, and when it found the end of its sequence.
    pub stalled_until: u64,
    pub taken: u64,
    pub ended: u64,
}

hps_isa::save_values!(Expansion, Gone);

/// Work that the editor has under way.
#[derive(Clone)]
pub struct Edit {
    /// The instruction on its way through the stages.
    pub here: Edited,
    /// Whether the instruction is, or may be, not as the program has it, or behind one that was not.
    pub is_edited: bool,
    pub expansion: Option<Expansion>,
    /// The state of the predictors before the trigger's prediction, if it is a control transfer.
    pub trigger_checkpoint: Checkpoint,
    /// Decode is in a handler, which returns there.
    pub link: Option<HandlerLink>,
    /// The next instruction that is fetched is a trigger whose expansion goes on here.
    pub resume: DisePc,
    /// Decode takes nothing before this cycle.
    not_before: u64,
    /// From this cycle on none of what follows keeps anything out.
    free_from: u64,
    /// In this cycle decode made a decision for which it stalls until that one.
    stalled: (u64, u64),
    /// The last trigger of which nothing was left to be sent on.
    pub gone: Option<Gone>,
    /// A cycle, and the number of sequences whose ends decode has found in it.
    ends: (u64, usize),
    /// When decode takes what was fetched, by the order of fetch.
    taken: Ring<u64>,
    fetched: usize,
}

hps_isa::save_state! {
    Edit {
        here, is_edited, expansion, trigger_checkpoint, link, resume, not_before, free_from,
        stalled, gone, ends, taken, fetched,
    }
}

impl Edit {
    /// Nothing yet; the first instruction is a trigger if `resume` says so.
    pub fn new<E: DecodeEditor>(in_flight: usize, resume: DisePc) -> Self {
        Edit {
            here: Edited::NOTHING,
            is_edited: true,
            expansion: None,
            trigger_checkpoint: Checkpoint::default(),
            link: None,
            resume,
            not_before: 0,
            free_from: 0,
            stalled: (0, 0),
            gone: None,
            ends: (0, 0),
            taken: Ring::new(if E::ENABLED { in_flight } else { 0 }, 0),
            fetched: 0,
        }
    }

    /// When decode takes the instruction that is `back` places before the next one to be fetched.
    #[inline(always)]
    pub fn taken(&self, back: usize) -> u64 {
        *self.taken.at(self.fetched.wrapping_sub(back))
    }

    /// An instruction has been fetched that decode takes in this cycle.
    #[inline(always)]
    pub fn fetched(&mut self, decode: u64) {
        *self.taken.at_mut(self.fetched) = decode;
        self.fetched = self.fetched.wrapping_add(1);
    }

    /// Empties the queue behind fetch, which has `places` places.
    pub fn empty_queue(&mut self, places: usize) {
        for back in 1..=places {
            *self.taken.at_mut(self.fetched.wrapping_sub(back)) = 0;
        }
    }

    #[inline(always)]
    pub fn is_in_sequence(&self) -> bool {
        self.expansion.is_some()
    }

    /// The next instruction is not the program's own, or one that is looked at once more.
    #[inline(always)]
    pub fn is_elsewhere(&self) -> bool {
        self.is_in_sequence() || self.link.is_some() || self.resume != DisePc::NONE
    }

    /// The state of the predictors before a trigger that has not been sent on, if it was predicted.
    pub fn trigger_checkpoint(&self) -> Option<&Checkpoint> {
        let x = self.expansion.as_ref()?;
        let waits = !x.emitted && branch_kind(x.trigger.class).is_some();
        waits.then_some(&self.trigger_checkpoint)
    }

    /// Whether the editor has anything to say of an instruction of this mask.
    #[inline(always)]
    pub fn concerns(&self, mask: u32) -> bool {
        mask != 0 || self.resume != DisePc::NONE
    }

    /// The next instruction is outside of sequences: of the handler that decode is in, or the program's.
    #[inline(always)]
    pub fn leave_sequence(&mut self) {
        if self.is_edited {
            let origin = match self.link {
                Some(_) => Origin::Handler,
                None => Origin::Program,
            };
            self.here = Edited {
                origin,
                link: self.link,
                stalled_until: self.stalled.1,
                ..Edited::NOTHING
            };
            self.is_edited = self.link.is_some();
        }
    }

    /// Decode takes nothing before this cycle.
    #[inline(always)]
    pub fn wait_until(&mut self, cycle: u64) {
        self.not_before = cycle;
        self.free_from = self.free_from.max(cycle);
    }

    /// The first cycle from `cycle` on that has not to be waited for.
    #[inline(always)]
    pub fn in_time(&self, cycle: u64) -> u64 {
        cycle.max(self.not_before)
    }

    /// Decode takes instructions in this cycle as they come.
    #[inline(always)]
    pub fn is_free_in(&self, cycle: u64) -> bool {
        cycle >= self.free_from
    }

    /// Decode stalls from a cycle on for a decision that it makes there.
    pub fn stall(&mut self, decode: u64, cycles: u64) {
        self.stalled = (decode, decode + cycles);
        self.free_from = self.free_from.max(decode + cycles);
    }

    /// The first cycle from `cycle` on in which decode does not stall.
    #[inline(always)]
    pub fn unstalled(&self, cycle: u64) -> u64 {
        let (decided, until) = self.stalled;
        if cycle > decided {
            cycle.max(until)
        } else {
            cycle
        }
    }

    /// Origin of the instruction that is on its way.
    #[inline(always)]
    pub fn origin<E: DecodeEditor>(&self) -> Origin {
        if E::ENABLED || E::RELAYOUT {
            self.here.origin
        } else {
            Origin::Program
        }
    }

    /// How many ends of sequences decode has found in this cycle.
    #[inline(always)]
    pub fn ends_in(&self, cycle: u64) -> usize {
        if self.ends.0 == cycle { self.ends.1 } else { 0 }
    }

    pub fn ends_sequence_in(&mut self, cycle: u64) {
        self.ends = (cycle, self.ends_in(cycle) + 1);
        self.free_from = self.free_from.max(cycle + 1);
    }

    /// Goes on elsewhere.
    pub fn restart(&mut self, restart: &Restart, queue: usize) {
        self.expansion = None;
        self.link = restart.link;
        self.resume = restart.disepc;
        self.is_edited = true;
        self.not_before = 0;
        self.free_from = 0;
        self.stalled = (0, 0);
        self.gone = None;
        self.ends = (0, 0);
        self.empty_queue(queue);
    }
}
