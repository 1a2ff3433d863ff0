//! LCI: the last committed instruction.
//!
//! An external monitor, such as Arm's CoreSight trace with the program counter of the last retired instruction, or
//! the sampled program counter register of a debug port, reports what committed last. While a load misses, that is
//! the instruction in front of it. ("Last Committed Instruction" in the TIP study, MICRO 2021.)
//!
//! Assumed: of a group that commits in the cycle of the sample, the youngest is the last. The study's own trace workers
//! take the last commit *before* the cycle instead; that is `lci-before`.

use super::{Moment, Policy};
use crate::beat::key_of;
use crate::registry::{Counts, Profiler, Records};
use crate::sampler::Credits;

/// An external monitor.
pub const LCI: Profiler = Profiler {
    name: "lci",
    about: "external monitor: the last committed instruction",
    hardware: "a port that shows the last committed address",
    counts: Counts::Cycles,
    records: Records::Outside,
    is_stored: false,
    policy: || Box::new(LastCommitted),
};

/// An external monitor as the study's trace workers count it.
pub const LCI_BEFORE: Profiler = Profiler {
    name: "lci-before",
    about: "as lci, but the last commit before the cycle, as the TIP study counts it",
    policy: || Box::new(CommittedBefore),
    ..LCI
};

/// Blames the last committed instruction.
#[derive(Clone, Debug, Default)]
pub struct LastCommitted;

hps_isa::save_state! { LastCommitted {} }

impl Policy for LastCommitted {
    fn name(&self) -> &'static str {
        "lci"
    }

    fn sample(&mut self, moment: &Moment<'_>, credits: &mut Credits) -> bool {
        let beat = moment.beat;
        let computing = moment
            .stretch
            .is_none()
            .then(|| beat.group.last())
            .flatten();
        match (computing, beat.last) {
            (Some(commit), _) => credits.credit(key_of(commit), commit.events),
            (None, Some(past)) => credits.credit(past.key, past.events),
            // Nothing has committed yet.
            (None, None) => credits.lost += 1,
        }
        false
    }
}

/// Blames the instruction that committed last before the cycle of the sample.
#[derive(Clone, Debug, Default)]
pub struct CommittedBefore;

hps_isa::save_state! { CommittedBefore {} }

impl Policy for CommittedBefore {
    fn name(&self) -> &'static str {
        "lci-before"
    }

    fn sample(&mut self, moment: &Moment<'_>, credits: &mut Credits) -> bool {
        match moment.beat.last {
            Some(past) => credits.credit(past.key, past.events),
            // Nothing has committed yet.
            None => credits.lost += 1,
        }
        false
    }
}
