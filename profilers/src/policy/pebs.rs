//! PEBS: the instruction that retires next after the counter has been armed, with its shadow.
//!
//! Intel's processor event-based sampling arms on the overflow of a counter and records the state at the retirement
//! of an instruction behind it (Intel SDM volume 3, "Processor Event Based Sampling"). Instructions that retire
//! together with, or right behind, the one that overflows lie in its *shadow* and are never recorded. With a fixed
//! period in instructions the shadow is systematic; a random period (`PDIR`, precise distribution) spreads it.
//!
//! Assumed: arming takes effect behind the cycle of the overflow, and the record names the oldest instruction of
//! the first group that retires then.

use hps_pipeline::core::EventSet;

use super::{Moment, Policy};
use crate::beat::{Beat, key_of};
use crate::registry::{Counts, Profiler, Records};
use crate::sampler::Credits;

/// Intel's PEBS with general registers: 192 bytes.
const RECORDS: Records = Records::Assist { words: 24 };

/// Intel's PEBS.
pub const PEBS: Profiler = Profiler {
    name: "pebs",
    about: "precise events (Intel PEBS) on cycles: the next instruction to retire, with its shadow",
    hardware: "a record at retirement, a buffer",
    counts: Counts::Cycles,
    records: RECORDS,
    is_stored: false,
    policy: || Box::new(Pebs::new("pebs")),
};

/// Intel's PDIR.
pub const PEBS_PDIR: Profiler = Profiler {
    name: "pebs-pdir",
    about: "precise distribution (Intel PDIR) on instructions with random periods",
    hardware: "a record at retirement, a buffer",
    counts: Counts::Instructions,
    records: RECORDS,
    is_stored: false,
    policy: || Box::new(Pebs::new("pebs-pdir")),
};

/// Blames the first instruction that commits behind the cycle of the sample.
#[derive(Clone, Debug)]
pub struct Pebs {
    name: &'static str,
    armed: Vec<u64>,
}

hps_isa::save_state! { Pebs { name: skip, armed } }

impl Pebs {
    /// Under the name that its period gives it.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Pebs {
            name,
            armed: Vec::new(),
        }
    }
}

impl Policy for Pebs {
    fn name(&self) -> &'static str {
        self.name
    }

    fn sample(&mut self, moment: &Moment<'_>, _: &mut Credits) -> bool {
        self.armed.push(moment.overflow_cycle);
        true
    }

    fn resume(&mut self, beat: &Beat<'_>, credits: &mut Credits) -> bool {
        let Some(first) = beat.group.first() else {
            return true;
        };
        self.armed.retain(|&since| {
            let records = first.cycle > since;
            if records {
                let events: EventSet = beat.next_events();
                credits.credit(key_of(first), events);
            }
            !records
        });
        !self.armed.is_empty()
    }

    fn finish(&mut self, credits: &mut Credits) {
        credits.lost += std::mem::take(&mut self.armed).len() as u64;
    }
}
