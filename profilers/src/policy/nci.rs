//! NCI: the next committing instruction, and NCI+ILP: the next committing group.
//!
//! A processor that records the address of the oldest instruction when the sample is due, as precise events do
//! (Intel PEBS, in the TIP study's model), blames the instruction that commits next: right while it stalls, wrong
//! behind a misprediction, where the instruction at the target is blamed, and unfair to those that commit together
//! with the oldest one. NCI+ILP gives each instruction of the next group to commit an equal part. (TIP, MICRO 2021.)
//!
//! Assumed: in a cycle in which a group commits, the next committing instruction is the oldest of that group.

use super::{Moment, Policy};
use crate::beat::key_of;
use crate::registry::{Counts, Profiler, Records};
use crate::sampler::Credits;

/// The next committing instruction.
pub const NCI: Profiler = Profiler {
    name: "nci",
    about: "the next committing instruction",
    hardware: "the address of the oldest instruction",
    counts: Counts::Cycles,
    records: Records::SHORT,
    is_stored: false,
    policy: || Box::new(NextCommitting),
};

/// The next committing group.
pub const NCI_ILP: Profiler = Profiler {
    name: "nci-ilp",
    about: "the next committing group, equally",
    hardware: "the addresses of the oldest instructions",
    counts: Counts::Cycles,
    records: Records::GROUP,
    is_stored: false,
    policy: || Box::new(NextGroup),
};

/// Blames the oldest instruction, which commits next.
#[derive(Clone, Debug, Default)]
pub struct NextCommitting;

hps_isa::save_state! { NextCommitting {} }

impl Policy for NextCommitting {
    fn name(&self) -> &'static str {
        "nci"
    }

    fn sample(&mut self, moment: &Moment<'_>, credits: &mut Credits) -> bool {
        credits.credit(moment.beat.next, moment.beat.next_events());
        false
    }
}

/// Blames all instructions of the group that commits next, equally.
#[derive(Clone, Debug, Default)]
pub struct NextGroup;

hps_isa::save_state! { NextGroup {} }

impl Policy for NextGroup {
    fn name(&self) -> &'static str {
        "nci-ilp"
    }

    fn sample(&mut self, moment: &Moment<'_>, credits: &mut Credits) -> bool {
        let beat = moment.beat;
        if beat.group.is_empty() {
            credits.credit(beat.next, beat.next_events());
        } else {
            credits.credit_equally(beat.group.iter().map(|c| (key_of(c), c.events)));
        }
        false
    }
}
