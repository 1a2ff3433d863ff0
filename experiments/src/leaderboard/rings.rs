//! Calls by an observer: productions store the program's calls in a ring, and an observer on a second core empties it
//! whenever it finds it full.

use std::borrow::Cow;

use hps_lab::observer::{Observer, SeenCall, Throttle};
use hps_lab::{EndError, Lab};
use hps_productions::CollectedProfile;
use hps_profile::{CallPair, Profile, ProfileKind};
use hps_sim_core::machine::Stop;

use super::board::Form;
use super::contender::{At, Contender};
use super::costly::STUDY;
use super::exact::Exact;
use super::observers::with_observer;
use super::profilers::{Cost, How, ProfilerInfo};
use super::undisturbed::Undisturbed;
use crate::callgraphs::Collector;
use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};

/// SHIM's collector of calls.
pub(super) const PROFILER: ProfilerInfo = ProfilerInfo {
    name: NAME,
    about: "SHIM: an observer on another core empties a ring in which the program stores its calls until it is full",
    takes: "a second core, DISE that stores calls",
    counts: "cycles",
    records: Cow::Borrowed("the observer keeps calls"),
    cost: Cost::Executed,
    how: How::Runs(|board| {
        let can_run = with_observer(&board.machine).is_some();
        match can_run && board.kinds.contains(&KIND) {
            true => vec![Contender::new(NAME, Some(KIND), Form::Collected, unit)],
            false => Vec::new(),
        }
    }),
};

const NAME: &str = "shim-ring";
const KIND: ProfileKind = ProfileKind::CallPair;

/// Bytes of the ring, of 512 places: near the smallest of the thesis.
const RING_BYTES: u64 = 8 << 10;

/// The unit that observes a program, with so many cycles between two looks at the ring.
fn unit<'a>(undisturbed: &'a Undisturbed<'a>, exact: &'a Exact<'a>, at: At) -> Unit<'a> {
    let period_cycles = at.point;
    Unit {
        study: STUDY,
        title: format!(
            "{}: {NAME}, {}, a look in {period_cycles} cycles",
            undisturbed.program.title(),
            KIND.title()
        ),
        key: serde_json::json!({
            "profiler": NAME,
            "kind": KIND,
            "ring_bytes": RING_BYTES,
            "period_cycles": period_cycles,
            "run": at.run,
        }),
        program: undisturbed.program,
        effort: Effort::runs(0.0, 2.0, undisturbed.machine.core)
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
    let (found, program) = (undisturbed.found()?, undisturbed.program);
    let machine = with_observer(undisturbed.machine).ok_or("the machine has no second core")?;
    let (collector, isa) = (Collector::Pairs(RING_BYTES), program.image.isa);
    let productions = collector.productions(isa, &machine);
    let productions = productions.map_err(|e| e.to_string())?;
    let observer = Observer {
        placement: collector.placement(),
        signals: collector.signals(isa),
        throttle: Throttle::Sleep(at.shifted(at.point)),
    };
    let mut call_pairs: Profile<CallPair> = Profile::new();
    let lab = Lab::of(program)
        .on_machine(&machine)
        .edited_by(&productions);
    let observed = lab.observe_calls(&observer, |seen| {
        if let SeenCall::Call(call) = seen {
            call_pairs.record(CallPair {
                site: call.caller,
                target: call.callee,
            });
        }
    });
    let observed = observed.map_err(|e| e.to_string())?;
    if !matches!(observed.stop, Stop::Exit(_)) {
        return Err(format!(
            "the observed program ended otherwise than alone: {}",
            EndError::of(observed.stop, &observed.process)
        ));
    }
    let comparison = exact.compare(CollectedProfile::CallPair {
        call_pairs,
        lost: 0,
    })?;
    let numbers = [
        ("baseline_cycles", found.cycles as f64),
        ("cycles", observed.cycles as f64),
        (
            "overhead_ratio",
            observed.cycles as f64 / found.cycles as f64 - 1.0,
        ),
        ("memory_bytes", RING_BYTES as f64),
        ("samples", comparison.samples as f64),
        ("error_ratio", comparison.error),
        ("accuracy_renormalized_ratio", comparison.renormalized),
    ];
    let measured = numbers.map(|(measure, value)| Measurement {
        profile: Some(KIND),
        one_in: Some(at.point),
        run: Some(at.run),
        ..Measurement::new(program, NAME, measure, value)
    });
    Ok(measured.into())
}
