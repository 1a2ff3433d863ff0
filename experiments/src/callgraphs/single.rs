//! One collector beside one program.

use hps_lab::observer::{Observer, Placement, SeenCall, Throttle};
use hps_lab::{Lab, Program};
use hps_pipeline::config::MachineConfig;
use hps_sim_core::machine::Stop;
use hps_system::process::Process;

use super::collector::Collector;
use super::graph::{Complete, Found, Functions};
use super::measure::text;

/// A call graph as an observer found it, beside the complete one.
#[derive(Debug)]
pub struct ObservedGraph {
    /// Why the observed run ended.
    pub stop: Stop,
    /// The observed process as it ended.
    pub process: Process,
    /// Instructions of the program.
    pub instructions: u64,
    /// Cycles of the program alone, without productions.
    pub cycles_alone: u64,
    /// Cycles with productions that nobody reads.
    pub cycles_written: u64,
    /// Cycles with productions and observer.
    pub cycles_observed: u64,
    /// Every call.
    pub calls: u64,
    /// Calls that the observer found.
    pub calls_found: u64,
    /// Overlap of both graphs over functions, 0 to 1.
    pub accuracy: f64,
    /// Share of the weight that was found on edges that the complete graph does not have.
    pub invalid: f64,
    /// Share of the calls found that were not calls while they were read.
    pub torn: f64,
    /// Calls whose caller the ring does not tell.
    pub orphans: u64,
    /// Edges by their shares of the complete graph: caller and callee by their places in the list of symbols
    /// (`usize::MAX` for code without one), share found, true share.
    pub edges: Vec<((usize, usize), f64, f64)>,
}

/// Runs a program alone, with what a collector writes, and beside it.
///
/// # Errors
/// In words: the machine has no context for the observer; whatever a run may fail with.
pub fn observe_graph(
    program: &Program,
    machine: &MachineConfig,
    (collector, placement, throttle): (Collector, Placement, Throttle),
    limit: u64,
) -> Result<ObservedGraph, String> {
    let isa = program.image.isa;
    let productions = collector.productions(isa, machine).map_err(text)?;
    let lab = || Lab::of(program).on_machine(machine).limit(limit);
    let observer = |throttle| Observer {
        placement,
        signals: collector.signals(isa),
        throttle,
    };
    let functions = Functions(&program.image);
    let (mut found, mut torn) = (Found::default(), 0_u64);
    let ((alone, written), observed) = rayon::join(
        || {
            let asleep = observer(Throttle::Sleep(u64::MAX));
            let written = lab().edited_by(&productions);
            (
                lab().unobserved(placement),
                written.observe_calls(&asleep, |_| {}),
            )
        },
        || {
            let lab = lab().edited_by(&productions);
            lab.observe_calls(&observer(throttle), |seen| {
                if let SeenCall::Call(call) = seen {
                    let edge = functions.edge((call.caller, call.callee));
                    found.by_function.record(edge);
                    torn += u64::from(!call.is_one);
                }
            })
        },
    );
    let (alone, written) = (alone.map_err(text)?, written.map_err(text)?);
    let observed = observed.map_err(text)?;
    let complete = Complete::new(functions, observed.tally.calls);
    let calls_found = found.by_function.total();
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let mut edges: Vec<_> = complete
        .by_function
        .iter()
        .map(|(edge, count)| {
            let found = share(found.by_function.weight(edge), found.by_function.total());
            (*edge, found, share(count, complete.calls()))
        })
        .collect();
    edges.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    Ok(ObservedGraph {
        stop: observed.stop,
        process: observed.process,
        instructions: observed.instructions,
        cycles_alone: alone.cycles,
        cycles_written: written.cycles,
        cycles_observed: observed.cycles,
        calls: complete.calls(),
        calls_found,
        accuracy: found.accuracy(&complete).0,
        invalid: found.invalid(&complete),
        torn: share(torn, calls_found),
        orphans: observed.orphans,
        edges,
    })
}
