//! Dispatch tagging in cycles: AMD's instruction-based sampling (IBS).
//!
//! When the sample is due, the next instruction to be dispatched is tagged, followed to its end and recorded with
//! its latencies and events (AMD64 Architecture Programmer's Manual volume 2, "Instruction-Based Sampling"; perf's
//! `ibs_op//` with `cnt_ctl=0`). An instruction is dispatched long before its latency shows at commit: while the
//! window is full behind a miss, what is tagged is whatever comes in next. A tagged instruction that is squashed
//! gives no sample.
//!
//! Assumed: one tag at a time; a sample that is due while one is in flight is not taken.
//!
//! The trace workers of the TIP study tag a whole row of the reorder buffer, the instructions that are dispatched in one
//! cycle, and let a record stand for all the time since the record before. That is `ibs-row`.

use hps_pipeline::core::Squash;

use super::{Moment, Policy};
use crate::beat::{Beat, key_of};
use crate::registry::{Counts, Profiler, Records};
use crate::sampler::Credits;

/// AMD's IBS: eight registers describe an operation (AMD64 Architecture Programmer's Manual volume 2, "IBS
/// Execution Data"), and the interrupt comes when the operation is over. Assumed: after as many cycles as nearly
/// no operation is in flight.
const RECORDS: Records = Records::Interrupt {
    words: 8,
    delay_cycles: 211,
};

/// AMD's IBS.
pub const IBS: Profiler = Profiler {
    name: "ibs",
    about: "dispatch tagging in cycles (AMD IBS): the next instruction to be dispatched",
    hardware: "a tag in each operation, a record",
    counts: Counts::Cycles,
    records: RECORDS,
    is_stored: false,
    policy: || Box::<DispatchTag>::default(),
};

/// AMD's IBS as the trace workers of the TIP study count it.
pub const IBS_ROW: Profiler = Profiler {
    name: "ibs-row",
    about: "as ibs, but a row of the reorder buffer, with the time since the record before, as the TIP study counts it",
    policy: || Box::<RowTag>::default(),
    ..IBS
};

/// Blames the first instruction that is dispatched in the cycle of the sample or behind it.
#[derive(Clone, Debug, Default)]
pub struct DispatchTag {
    /// Since when the next instruction to be dispatched is to be tagged.
    waits: Option<u64>,
}

hps_isa::save_state! { DispatchTag { waits } }

impl DispatchTag {
    /// The squash that took the instruction back that was tagged.
    fn lost_in(since: u64, squashes: &[Squash]) -> Option<&Squash> {
        squashes
            .iter()
            .find(|s| (s.kept_dispatch_cycle + 1..=s.last_dispatch_cycle).contains(&since))
    }
}

impl Policy for DispatchTag {
    fn name(&self) -> &'static str {
        "ibs"
    }

    fn has_one_tag(&self) -> bool {
        true
    }

    fn sample(&mut self, moment: &Moment<'_>, credits: &mut Credits) -> bool {
        if let Some(since) = self.waits {
            let lost = Self::lost_in(since, moment.beat.squashes);
            if lost.is_none_or(|squash| squash.cycle >= moment.cycle) {
                credits.collided += 1;
                return true;
            }
            credits.lost += 1;
        }
        self.waits = Some(moment.cycle);
        true
    }

    fn resume(&mut self, beat: &Beat<'_>, credits: &mut Credits) -> bool {
        let Some(since) = self.waits else {
            return false;
        };
        if Self::lost_in(since, beat.squashes).is_some() {
            self.waits = None;
            credits.lost += 1;
        } else if let Some(tagged) = beat.group.iter().find(|c| c.dispatch_cycle >= since) {
            self.waits = None;
            credits.credit(key_of(tagged), tagged.events);
        }
        self.waits.is_some()
    }

    fn finish(&mut self, credits: &mut Credits) {
        credits.lost += u64::from(self.waits.take().is_some());
    }
}

/// Blames the instructions that are dispatched together in the cycle of the sample, or in the first one behind it in which any
/// is, and commit together. A record is worth all samples since the one before that left none.
#[derive(Clone, Debug, Default)]
pub struct RowTag {
    tag: DispatchTag,
    /// Samples since the last record that left none.
    without: u64,
}

hps_isa::save_state! { RowTag { tag, without } }

impl Policy for RowTag {
    fn name(&self) -> &'static str {
        "ibs-row"
    }

    fn has_one_tag(&self) -> bool {
        true
    }

    fn sample(&mut self, moment: &Moment<'_>, credits: &mut Credits) -> bool {
        let before = credits.lost + credits.collided;
        let waits = self.tag.sample(moment, credits);
        self.without += credits.lost + credits.collided - before;
        waits
    }

    fn resume(&mut self, beat: &Beat<'_>, credits: &mut Credits) -> bool {
        let Some(since) = self.tag.waits else {
            return false;
        };
        if DispatchTag::lost_in(since, beat.squashes).is_some() {
            self.tag.waits = None;
            credits.lost += 1;
            self.without += 1;
        } else if let Some(first) = beat.group.iter().position(|c| c.dispatch_cycle >= since) {
            self.tag.waits = None;
            let behind = &beat.group[first..];
            let cycle = behind[0].dispatch_cycle;
            let row = behind.iter().take_while(|c| c.dispatch_cycle == cycle);
            let row = behind[..row.count()].iter();
            let samples = 1 + std::mem::take(&mut self.without);
            credits.credit_samples(samples, row.map(|c| (key_of(c), c.events)));
        }
        self.tag.waits.is_some()
    }

    fn finish(&mut self, credits: &mut Credits) {
        self.tag.finish(credits);
    }
}
