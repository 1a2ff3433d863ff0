//! Timed PEBS: a precise record at random instructions that holds how long the record's instruction kept retirement waiting.
//!
//! Since Alder Lake's small cores and Meteor Lake, a record has a *retire latency*: the cycles between the retirement of
//! the instruction before and its own (Intel SDM volume 3, "Retire Latency"; perf's `retire_lat`). Were the
//! instruction itself recorded that the counter draws at random, weights would be time-proportional without hardware that
//! watches every cycle.
//!
//! Assumed: as for `pebs-pdir`, the record is of the first instruction of the first group that retires behind the
//! overflow; the others of a group have a latency of zero and are never recorded. So a group's weight goes to its first
//! instruction.

use hps_pipeline::core::EventSet;

use super::{Moment, Policy};
use crate::beat::{Beat, key_of};
use crate::registry::{Counts, Profiler, Records};
use crate::sampler::Credits;

/// Intel's timed PEBS.
pub const PEBS_TIMED: Profiler = Profiler {
    name: "pebs-timed",
    about: "timed PEBS (Intel) on instructions with random periods: a record counts by its retire latency",
    hardware: "a record at retirement with its latency, a buffer",
    counts: Counts::Instructions,
    // Records as of PEBS: one word of its record already holds the latency.
    records: Records::Assist { words: 24 },
    is_stored: false,
    policy: || Box::<TimedPebs>::default(),
};

/// Blames the first instruction that commits behind the sample, by the cycles since the commit before.
#[derive(Clone, Debug, Default)]
pub struct TimedPebs {
    armed: Vec<u64>,
}

hps_isa::save_state! { TimedPebs { armed } }

impl Policy for TimedPebs {
    fn name(&self) -> &'static str {
        PEBS_TIMED.name
    }

    fn sample(&mut self, moment: &Moment<'_>, _: &mut Credits) -> bool {
        self.armed.push(moment.overflow_cycle);
        true
    }

    fn resume(&mut self, beat: &Beat<'_>, credits: &mut Credits) -> bool {
        let Some(first) = beat.group.first() else {
            return true;
        };
        let waiting = self.armed.len();
        self.armed.retain(|&since| first.cycle <= since);
        let records = (waiting - self.armed.len()) as u64;
        if records > 0 {
            let events: EventSet = beat.next_events();
            let latency = beat.end_cycle + 1 - beat.first_cycle();
            credits.credited += records;
            let weight = records * latency * credits.units_per_sample;
            *credits.weights.entry((key_of(first), events)).or_insert(0) += weight;
        }
        !self.armed.is_empty()
    }

    fn finish(&mut self, credits: &mut Credits) {
        credits.lost += std::mem::take(&mut self.armed).len() as u64;
    }
}
