//! HPS's bursts of calls over the same runs: what they find at what cost, beside shadows.

use hps_lab::shadow::Timeline;
use hps_lab::{Program, TimedMachine};
use hps_productions::{CollectedProfile, SamplePoint};
use hps_profile::{CallPair, Profile, ProfileKind};
use hps_shadow::accuracy::overlap;

use crate::measurement::Measurement;
use crate::schemes::{self, Scheme, Step};

/// Events of a burst.
const BURST: u64 = 10;

/// How much of a run bursts are: one in so many events, the least first.
pub const ONE_IN: [u64; 4] = [1_000, 100, 10, 2];

/// Longer runs are not timed under HPS, so that a study of large inputs takes no longer than its grid.
const MOST_INSTRUCTIONS: u64 = 50_000_000;

/// The scheme of these numbers.
pub const SCHEME: &str = "hps";

/// The name of a setting in measurements.
#[must_use]
pub fn setting(one_in: u64) -> String {
    format!("bursts,one_in={one_in}")
}

/// Times the program under HPS's productions for call pairs at each frequency, and holds what they collect against all
/// calls of the run. Nothing of a long run.
pub(super) fn measure(
    (program, machine): (&Program, &TimedMachine),
    timeline: &Timeline,
    truth: &Profile<CallPair>,
) -> Result<Vec<Measurement>, String> {
    let mut all = Vec::new();
    if timeline.instructions() > MOST_INSTRUCTIONS {
        return Ok(all);
    }
    let alone_cycles = timeline.end_ns() * f64::from(machine.config.clock_mhz) / 1000.0;
    for one_in in ONE_IN {
        let point = SamplePoint {
            burst: BURST,
            sparsity: BURST * (one_in - 1),
        };
        let of = (Scheme::Hps, Step::Whole);
        let run = schemes::run(of, ProfileKind::CallPair, point, program, machine)?;
        let CollectedProfile::CallPair { call_pairs, .. } = run.profile else {
            return Err("the productions for call pairs collected something else".to_string());
        };
        let found = overlap(truth, &call_pairs).unwrap_or(0.0);
        let overhead = run.cycles as f64 / alone_cycles - 1.0;
        for (measure, value) in [("call_overlap_ratio", found), ("overhead_ratio", overhead)] {
            all.push(Measurement {
                setting: setting(one_in),
                burst: Some(BURST),
                one_in: Some(one_in),
                ..Measurement::new(program, SCHEME, measure, value)
            });
        }
    }
    Ok(all)
}
