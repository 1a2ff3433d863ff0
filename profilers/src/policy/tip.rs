//! TIP: time-proportional instruction profiling, and TEA: the same with the events of the instruction.
//!
//! TIP keeps, in hardware, what the oracle's rules need: the oldest instructions of the window and the last one
//! that committed, with the flag that it flushed. When a sample is due it blames the instruction or instructions
//! whose latency the processor exposes in that cycle (Gottschall, Eeckhout, Jahre, MICRO 2021). TEA adds to each
//! instruction the set of events that its execution met, so that a sample is worth a cell of its event stack
//! (Gottschall, Eeckhout, Jahre, ISCA 2023).
//!
//! With a period of one cycle both are the oracle. Assumed: every event that the oracle knows is tagged, where
//! TEA's hardware has nine.

use hps_pipeline::core::EventSet;

use super::{Moment, Policy};
use crate::beat::key_of;
use crate::registry::{Counts, Profiler, Records};
use crate::sampler::Credits;

/// TIP.
pub const TIP: Profiler = Profiler {
    name: "tip",
    about: "time-proportional (TIP): what the oracle blames in that cycle",
    hardware: "the oldest instructions, the last committed one and its flush flags",
    counts: Counts::Cycles,
    records: Records::GROUP,
    is_stored: false,
    policy: || Box::new(Tip),
};

/// TEA.
pub const TEA: Profiler = Profiler {
    name: "tea",
    about: "time-proportional with event stacks (TEA)",
    hardware: "as tip, and event bits in each entry of the window",
    counts: Counts::Cycles,
    records: Records::GROUP,
    is_stored: false,
    policy: || Box::new(Tea),
};

fn sample(moment: &Moment<'_>, credits: &mut Credits, seen: impl Fn(EventSet) -> EventSet) {
    let beat = moment.beat;
    if let Some(stretch) = moment.stretch {
        let owner = beat.owner(stretch.state);
        credits.credit(owner.key, seen(owner.events));
        return;
    }
    let first = beat.next_events();
    let all = beat.group.iter().enumerate();
    credits.credit_equally(all.map(|(at, commit)| {
        let events = if at == 0 { first } else { commit.events };
        (key_of(commit), seen(events))
    }));
}

/// Blames as the oracle does.
#[derive(Clone, Debug, Default)]
pub struct Tip;

hps_isa::save_state! { Tip {} }

impl Policy for Tip {
    fn name(&self) -> &'static str {
        "tip"
    }

    fn sample(&mut self, moment: &Moment<'_>, credits: &mut Credits) -> bool {
        sample(moment, credits, |_| EventSet::NONE);
        false
    }
}

/// Blames as the oracle does, and names the events.
#[derive(Clone, Debug, Default)]
pub struct Tea;

hps_isa::save_state! { Tea {} }

impl Policy for Tea {
    fn name(&self) -> &'static str {
        "tea"
    }

    fn tells_events(&self) -> bool {
        true
    }

    fn sample(&mut self, moment: &Moment<'_>, credits: &mut Credits) -> bool {
        sample(moment, credits, |events| events);
        false
    }
}
