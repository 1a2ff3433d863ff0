//! Dispatch tagging in operations: Arm's statistical profiling extension (SPE).
//!
//! A counter of operations that decode sends on, reloaded with a random jitter, selects the operation to be
//! followed; its record holds its total latency (Arm Architecture Reference Manual, "The Statistical Profiling
//! Extension"). Since the counter counts operations and not time, records fall on instructions in proportion to how
//! often they run. Profilers weigh a record by its latency; latencies of overlapping instructions are then counted
//! more than once.
//!
//! Assumed: the period is given in instructions of the right path; of squashed operations nothing is recorded. An
//! operation that is selected while another one is followed is a *collision*, and is dropped. The sample is credited
//! to the next instruction to be dispatched, once, whatever its latency; what weighing by latency gives stands
//! beside it under the name `spe-latency`.

use super::{Moment, Policy};
use crate::beat::{Beat, key_of};
use crate::registry::{Counts, Profiler, Records};
use crate::sampler::Credits;

/// Arm's SPE: records of up to 64 bytes.
const RECORDS: Records = Records::Beside { words: 8 };

/// Arm's SPE.
pub const SPE: Profiler = Profiler {
    name: "spe",
    about: "dispatch tagging in operations (Arm SPE), a record counts once",
    hardware: "a tag in each operation, a record, a buffer",
    counts: Counts::Instructions,
    records: RECORDS,
    is_stored: false,
    policy: || Box::new(OperationTag::new(false)),
};

/// Arm's SPE, weighted by latency.
pub const SPE_LATENCY: Profiler = Profiler {
    name: "spe-latency",
    about: "dispatch tagging in operations (Arm SPE), a record counts by its latency",
    hardware: "a tag in each operation, a record, a buffer",
    counts: Counts::Instructions,
    records: RECORDS,
    is_stored: false,
    policy: || Box::new(OperationTag::new(true)),
};

/// Blames the next operation to be dispatched, counted in operations.
#[derive(Clone, Debug)]
pub struct OperationTag {
    by_latency: bool,
    waits: Option<u64>,
}

hps_isa::save_state! { OperationTag { by_latency: skip, waits } }

impl OperationTag {
    /// Each record counts once, or as many times as its latency has cycles.
    #[must_use]
    pub fn new(by_latency: bool) -> Self {
        OperationTag {
            by_latency,
            waits: None,
        }
    }
}

impl Policy for OperationTag {
    fn name(&self) -> &'static str {
        if self.by_latency {
            "spe-latency"
        } else {
            "spe"
        }
    }

    fn has_one_tag(&self) -> bool {
        true
    }

    fn sample(&mut self, moment: &Moment<'_>, credits: &mut Credits) -> bool {
        if self.waits.is_some() {
            credits.collided += 1;
            return true;
        }
        self.waits = Some(moment.cycle);
        true
    }

    fn resume(&mut self, beat: &Beat<'_>, credits: &mut Credits) -> bool {
        let Some(since) = self.waits else {
            return false;
        };
        if let Some(tagged) = beat.group.iter().find(|c| c.dispatch_cycle >= since) {
            self.waits = None;
            let key = key_of(tagged);
            credits.credit(key, tagged.events);
            if self.by_latency {
                let latency = tagged.cycle - tagged.dispatch_cycle;
                let more = latency.saturating_sub(1) * credits.units_per_sample;
                *credits.weights.entry((key, tagged.events)).or_insert(0) += more;
            }
        }
        self.waits.is_some()
    }

    fn finish(&mut self, credits: &mut Credits) {
        credits.lost += u64::from(self.waits.take().is_some());
    }
}
