//! Software sampling on a processor that squashes: the interrupt's return address.
//!
//! A precise interrupt that is taken between two commits discards what has not committed, and the handler finds
//! the address of the oldest instruction that has not. That is what our own machine's interrupts do.
//!
//! Assumed: the interrupt is recognized `skid` cycles behind the sample's cycle, and taken behind the group that
//! commits in that cycle.

use super::{Moment, Policy};
use crate::beat::{Beat, key_of};
use crate::sampler::Credits;

/// Blames the oldest instruction that has not committed when the interrupt is recognized.
#[derive(Clone, Debug)]
pub struct Interrupt {
    skid_cycles: u64,
    recognized: Vec<u64>,
}

impl Interrupt {
    /// A profiler with `skid_cycles` cycles from the sample to the recognition of its interrupt.
    #[must_use]
    pub fn new(skid_cycles: u64) -> Self {
        Interrupt {
            skid_cycles,
            recognized: Vec::new(),
        }
    }
}

impl Policy for Interrupt {
    fn name(&self) -> &'static str {
        "interrupt"
    }

    fn sample(&mut self, moment: &Moment<'_>, _: &mut Credits) -> bool {
        self.recognized.push(moment.cycle + self.skid_cycles);
        true
    }

    fn resume(&mut self, beat: &Beat<'_>, credits: &mut Credits) -> bool {
        let Some(first) = beat.group.first() else {
            return true;
        };
        self.recognized.retain(|&at| {
            let resumes = first.cycle > at;
            if resumes {
                credits.credit(key_of(first), beat.next_events());
            }
            !resumes
        });
        !self.recognized.is_empty()
    }

    fn finish(&mut self, credits: &mut Credits) {
        credits.lost += std::mem::take(&mut self.recognized).len() as u64;
    }
}
