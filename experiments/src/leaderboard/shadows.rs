//! Shadow profiling: instrumented copies on idle processors. What it costs the program is charged.

use std::borrow::Cow;

use hps_lab::shadow::{ShadowOptions, Timeline, When, profiled};
use hps_productions::CollectedProfile;
use hps_profile::{CallPair, Profile, ProfileKind};
use hps_shadow::Graphs;

use super::board::Form;
use super::contender::{At, Contender};
use super::costly::STUDY;
use super::exact::Exact;
use super::profilers::{Cost, How, ProfilerInfo};
use super::undisturbed::Undisturbed;
use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};

/// Shadow profiling.
pub(super) const PROFILER: ProfilerInfo = ProfilerInfo {
    name: NAME,
    about: "shadow profiling: copies of the program run instrumented while it goes on",
    takes: "idle processors, memory for pages that are written",
    counts: "instructions of copies",
    records: Cow::Borrowed("the copies leave profiles"),
    cost: Cost::Charged,
    how: How::Runs(|board| match board.kinds.contains(&KIND) {
        true => vec![Contender::new(NAME, Some(KIND), Form::Bursts, unit)],
        false => Vec::new(),
    }),
};

const NAME: &str = "shadow";
const KIND: ProfileKind = ProfileKind::CallPair;

/// Instructions of a shadow.
const SAMPLE: u64 = 10_000;

/// Bytes of a page.
const PAGE_BYTES: f64 = hps_isa::memory::PAGE_SIZE as f64;

/// The unit that runs a program with shadows that execute about one in `one_in` of its instructions.
fn unit<'a>(undisturbed: &'a Undisturbed<'a>, exact: &'a Exact<'a>, at: At) -> Unit<'a> {
    let one_in = at.point;
    Unit {
        study: STUDY,
        title: format!(
            "{}: {NAME}, {}, 1/{one_in}",
            undisturbed.program.title(),
            KIND.title()
        ),
        key: serde_json::json!({
            "profiler": NAME,
            "kind": KIND,
            "burst": SAMPLE,
            "one_in": one_in,
            "run": at.run,
        }),
        program: undisturbed.program,
        effort: Effort::runs(2.0, 0.0, undisturbed.machine.core)
            .beside_undisturbed(undisturbed.machine.core)
            .beside_exact(),
        run: Box::new(move || measured(undisturbed, exact, at)),
    }
}

fn measured(
    undisturbed: &Undisturbed<'_>,
    exact: &Exact<'_>,
    at: At,
) -> Result<Vec<Measurement>, String> {
    let found = undisturbed.found()?;
    let program = undisturbed.program;
    let cycle_ns = 1000.0 / f64::from(undisturbed.machine.config.clock_mhz);
    let native_ns = found.cycles as f64 * cycle_ns;
    let instruction_ns = native_ns / found.instructions.max(1) as f64;
    let timeline = Timeline::even(found.instructions, instruction_ns);
    let mut options = ShadowOptions::at_load(1.0, SAMPLE);
    // A shadow lives so much longer than its instructions take the program.
    options.when = When::Load {
        load: options.costs.slowdown / at.point as f64,
        period_ns: at.shifted(SAMPLE) as f64 * instruction_ns,
    };
    let graphs = Graphs::new(&program.image);
    let outcome = profiled(program, &graphs, &timeline, &options).map_err(|e| e.to_string())?;
    let call_pairs: Profile<CallPair> = outcome
        .profiles
        .paths
        .calls()
        .map(|((site, target), count)| (CallPair { site, target }, count))
        .collect();
    let pages = outcome.copied_pages + outcome.shadow_pages;
    let memory_bytes = PAGE_BYTES * pages as f64 / outcome.shadows.max(1) as f64;
    let comparison = exact.compare(CollectedProfile::CallPair {
        call_pairs,
        lost: 0,
    })?;
    let overhead = outcome.overhead();
    let numbers = [
        ("baseline_cycles", found.cycles as f64),
        ("cycles", found.cycles as f64 * (1.0 + overhead)),
        ("overhead_ratio", overhead),
        ("memory_bytes", memory_bytes),
        ("samples", comparison.samples as f64),
        ("error_ratio", comparison.error),
        ("accuracy_renormalized_ratio", comparison.renormalized),
    ];
    let measured = numbers.map(|(measure, value)| Measurement {
        profile: Some(KIND),
        burst: Some(SAMPLE),
        one_in: Some(at.point),
        run: Some(at.run),
        ..Measurement::new(program, NAME, measure, value)
    });
    Ok(measured.into())
}
