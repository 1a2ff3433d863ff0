//! Software sampling on a processor that drains: the interrupt's return address.
//!
//! A timer or counter interrupt stops fetch and dispatch; what is in the window completes, and the handler finds
//! the address of the first instruction that was not dispatched. It lies up to a window behind the instruction that
//! the processor waited for: the *skid*. (The "Software" profiler of the TIP study, MICRO 2021; perf without precise
//! events on such a processor.)
//!
//! Assumed: the interrupt is recognized `skid` cycles behind the sample's cycle.

use super::{Moment, Policy};
use crate::beat::{Beat, key_of};
use crate::registry::{Counts, Profiler, Records, SKID_CYCLES};
use crate::sampler::Credits;

/// Software sampling on a processor that drains.
pub const SOFTWARE: Profiler = Profiler {
    name: "software",
    about: "interrupt on a processor that drains: the first instruction that was not dispatched",
    hardware: "a counter and its interrupt",
    counts: Counts::Cycles,
    records: Records::OtherMachine,
    is_stored: false,
    policy: || Box::new(Software::new(SKID_CYCLES)),
};

/// Blames the first instruction that is dispatched behind the recognition of the interrupt.
#[derive(Clone, Debug)]
pub struct Software {
    skid_cycles: u64,
    recognized: Vec<u64>,
}

hps_isa::save_state! { Software { skid_cycles: skip, recognized } }

impl Software {
    /// A profiler with `skid_cycles` cycles from the sample to the recognition of its interrupt.
    #[must_use]
    pub fn new(skid_cycles: u64) -> Self {
        Software {
            skid_cycles,
            recognized: Vec::new(),
        }
    }
}

impl Policy for Software {
    fn name(&self) -> &'static str {
        "software"
    }

    fn sample(&mut self, moment: &Moment<'_>, _: &mut Credits) -> bool {
        self.recognized
            .push(moment.overflow_cycle + self.skid_cycles);
        true
    }

    fn resume(&mut self, beat: &Beat<'_>, credits: &mut Credits) -> bool {
        self.recognized.retain(|&at| {
            let resumed = beat.group.iter().find(|c| c.dispatch_cycle > at);
            if let Some(commit) = resumed {
                credits.credit(key_of(commit), commit.events);
            }
            resumed.is_none()
        });
        !self.recognized.is_empty()
    }

    fn finish(&mut self, credits: &mut Credits) {
        credits.lost += std::mem::take(&mut self.recognized).len() as u64;
    }
}
