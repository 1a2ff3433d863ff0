//! Software sampling on a processor that squashes: the interrupt's return address.
//!
//! The interrupt is taken behind the first instruction that commits when it has been recognized. What is younger is
//! squashed, and the handler finds the address of the oldest instruction that has not committed. So do the interrupts
//! of our own machine (see [`hps_pipeline::interrupts`]).
//!
//! Assumed: the interrupt is recognized `skid` cycles behind the sample's cycle.

use hps_isa::ids::DisePc;
use hps_pipeline::core::{Commit, Origin};
use serde::{Deserialize, Serialize};

use super::{Moment, Policy};
use crate::beat::{Beat, key_of};
use crate::registry::{Counts, Profiler, Records, SKID_CYCLES};
use crate::sampler::Credits;

/// Software sampling on this processor.
pub const INTERRUPT: Profiler = Profiler {
    name: "interrupt",
    about: "interrupt on a processor that squashes: the instruction with which the program goes on",
    hardware: "a counter and its interrupt",
    counts: Counts::Cycles,
    records: Records::SHORT,
    is_stored: true,
    policy: || Box::new(Interrupt::new("interrupt", SKID_CYCLES)),
};

/// DCPI.
pub const DCPI: Profiler = Profiler {
    name: "dcpi",
    about: "DCPI: as interrupt, at random intervals and counted in a hash table",
    hardware: "a counter and its interrupt",
    counts: Counts::RandomCycles,
    records: Records::Table,
    is_stored: true,
    policy: || Box::new(Interrupt::new("dcpi", SKID_CYCLES)),
};

/// Blames the instruction with which the program goes on behind the interrupt.
#[derive(Clone, Debug)]
pub struct Interrupt {
    name: &'static str,
    skid_cycles: u64,
    pending: Vec<Pending>,
}

hps_isa::save_state! { Interrupt { name: skip, skid_cycles: skip, pending } }

/// A sample whose instruction has not committed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Pending {
    /// The interrupt is recognized from this cycle on.
    From(u64),
    /// The interrupt has been taken: the next instruction of the program is the one to blame.
    Taken,
}

impl Interrupt {
    /// A profiler of a name, with `skid_cycles` cycles from the sample to the recognition of its interrupt.
    #[must_use]
    pub fn new(name: &'static str, skid_cycles: u64) -> Self {
        Interrupt {
            name,
            skid_cycles,
            pending: Vec::new(),
        }
    }
}

fn is_of_program(commit: &Commit) -> bool {
    commit.origin != Origin::Handler
}

/// Whether an instruction of the program begins with this one: no interrupt lies inside an expansion or a handler.
fn begins_instruction(commit: &Commit) -> bool {
    commit.origin == Origin::Program && commit.disepc == DisePc::NONE
}

impl Policy for Interrupt {
    fn name(&self) -> &'static str {
        self.name
    }

    fn sample(&mut self, moment: &Moment<'_>, _: &mut Credits) -> bool {
        self.pending
            .push(Pending::From(moment.overflow_cycle + self.skid_cycles));
        true
    }

    fn resume(&mut self, beat: &Beat<'_>, credits: &mut Credits) -> bool {
        self.pending.retain_mut(|pending| {
            let behind = match *pending {
                Pending::Taken => 0,
                Pending::From(cycle) if beat.end_cycle < cycle => return true,
                // While a handler runs, no interrupt is taken.
                Pending::From(_) => match beat.group.iter().position(is_of_program) {
                    Some(at) => at + 1,
                    None => return true,
                },
            };
            *pending = Pending::Taken;
            let mut rest = beat.group.iter().enumerate().skip(behind);
            let Some((at, blamed)) = rest.find(|(_, c)| begins_instruction(c)) else {
                return true;
            };
            let events = match at {
                0 => beat.next_events(),
                _ => blamed.events,
            };
            credits.credit(key_of(blamed), events);
            false
        });
        !self.pending.is_empty()
    }

    fn finish(&mut self, credits: &mut Credits) {
        credits.lost += std::mem::take(&mut self.pending).len() as u64;
    }
}
