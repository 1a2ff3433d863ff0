//! Observers on both sides: the native ones of `hps_shim`, and those inside the simulated machine, beside the same
//! program; by the same analysis.

use std::collections::HashMap;

use hps_lab::observer::{Observed, Observer, Placement, Signals, Throttle};
use hps_lab::{Faulted, Lab, Productions, Program};
use hps_pipeline::config::MachineConfig;
use hps_profile::{Profile, overlap_without_cut};
use hps_shim::Dte;
use hps_shim::analysis::{Analysis, Analyzer, Depth};
use hps_shim::distribution::DistributionResult;
use hps_shim::rates::RateSpec;
use hps_shim::sample::{MAX_COUNTERS, Sample};
use schemars::JsonSchema;
use serde::Serialize;

use super::graph::{Edges, profile};
use super::{Native, Simulated, ValidationError, base_name};
use crate::callgraphs::{Collector, ObservedGraph, observe_graph};

/// Calls that a collector found natively, and their cost.
pub struct NativeCollector {
    /// Name of the collector, such as `stack-2` or `pairs-8k`.
    pub name: String,
    /// Cost of writing when nobody reads, as a share of the time alone.
    pub written: f64,
    /// Cost of writing beside the observer.
    pub observed: f64,
    /// Calls of a stack that changed while they were read.
    pub changed: u64,
    /// Calls whose caller the ring does not tell.
    pub orphans: u64,
    /// Calls, and returns, that found their ring full.
    pub skipped: u64,
    /// The calls.
    pub calls: Edges,
}

/// How far the samples of an observer are apart.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ObservedTimes {
    /// Samples.
    pub samples: u64,
    /// Share that double-time error correction keeps, 0 to 1.
    pub kept: f64,
    /// Cycles from sample to sample.
    pub period: DistributionResult,
    /// Cycles from one kept sample to the next.
    pub gap: DistributionResult,
}

impl ObservedTimes {
    /// Periods and gaps of an analysis.
    #[must_use]
    pub fn of(analysis: &Analysis) -> ObservedTimes {
        let samples = analysis.kept + analysis.discarded;
        ObservedTimes {
            samples,
            kept: analysis.kept as f64 / samples.max(1) as f64,
            period: analysis.period.clone(),
            gap: analysis.gap.clone(),
        }
    }
}

/// Periods and gaps of both sides.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PeriodComparison {
    /// Natively.
    pub native: ObservedTimes,
    /// In the simulated machine, from another core.
    pub simulated: ObservedTimes,
}

/// Accuracy and cost of a collector of calls on one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CollectorSide {
    /// Cost of writing when nobody reads, as a share of the time alone.
    pub written: f64,
    /// Cost of writing with the observer.
    pub observed: f64,
    /// Share of all calls that was found.
    pub found: f64,
    /// Overlap of the found graph with the complete one over functions, 0 to 1.
    pub accuracy: f64,
    /// Share of the found weight on edges that the complete graph does not have.
    pub invalid: f64,
    /// Share of the found calls that were read while they changed. Natively: the stack changed at all.
    pub changed: f64,
    /// Calls whose caller the ring does not tell, by those that were found.
    pub orphans: f64,
}

/// A collector of calls on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CollectorComparison {
    /// Name of the collector.
    pub name: String,
    /// Natively.
    pub native: CollectorSide,
    /// In the simulated machine.
    pub simulated: CollectorSide,
    /// Overlap of the two graphs that were found, over functions that were entered natively, 0 to 1.
    pub overlap: f64,
}

/// Observers inside the simulated machine.
pub struct Observers<'a> {
    /// A machine with a core for the observer.
    pub machine: &'a MachineConfig,
    /// The most instructions of a run.
    pub limit: u64,
    /// Cycles that observers sleep between two looks.
    pub sleep: u64,
}

/// Findings of the two sides, compared.
#[derive(Default)]
pub(super) struct Compared {
    pub periods: Option<PeriodComparison>,
    /// Samples of the observer inside, by function, of those that were entered natively.
    pub samples: Option<Profile<String>>,
    pub collectors: Vec<CollectorComparison>,
}

impl Observers<'_> {
    /// Runs the observers that there were natively, and compares them.
    pub(super) fn compare(
        &self,
        native: &Native,
        simulated: &Simulated,
    ) -> Result<Compared, ValidationError> {
        let program = simulated.program();
        let failed = |why: String| ValidationError::Observer {
            program: program.name.clone(),
            why,
        };
        let mut compared = Compared::default();
        if let Some(natively) = &native.periods {
            let (simulated, samples) = self.samples(&program, native).map_err(failed)?;
            compared.periods = Some(PeriodComparison {
                native: natively.clone(),
                simulated,
            });
            compared.samples = Some(samples);
        }
        let collectors = native.collectors.iter();
        let collectors = collectors.map(|found| self.collector(native, found, &program));
        let collectors: Result<Vec<CollectorComparison>, String> = collectors.collect();
        compared.collectors = collectors.map_err(failed)?;
        Ok(compared)
    }

    fn throttle(&self) -> Throttle {
        match self.sleep {
            0 => Throttle::None,
            cycles => Throttle::Sleep(cycles),
        }
    }

    /// Samples of tags with time stamps: how far they are apart, and the functions of their tags.
    fn samples(
        &self,
        program: &Program,
        native: &Native,
    ) -> Result<(ObservedTimes, Profile<String>), String> {
        let symbols = &program.image.symbols;
        let mut by_function: HashMap<Option<usize>, u64> = HashMap::new();
        let text = |e: &dyn std::fmt::Display| e.to_string();
        let name = "shim_tag".to_string();
        let tags = Productions::load(program.image.isa, &[name], Default::default())
            .and_then(|tags| tags.on(self.machine))
            .map_err(|e| text(&e))?;
        let observer = Observer {
            placement: Placement::Cmp,
            signals: Signals::Samples { counters: 0 },
            throttle: self.throttle(),
        };
        let rates = RateSpec::of_counters(&[], &[], false);
        let mut analyzer = Analyzer::new(Dte::default(), Depth::Full, 0, rates, 1 << 14);
        let lab = Lab::of(program).on_machine(self.machine).limit(self.limit);
        lab.edited_by(&tags)
            .observe(&observer, |sample, _, _| {
                let function = symbols.function_index(sample.tag);
                *by_function.entry(function).or_default() += 1;
                analyzer.add(&Sample {
                    start: sample.start,
                    end: sample.end,
                    thread: sample.thread,
                    tag: sample.tag,
                    counters: [0; MAX_COUNTERS],
                });
            })
            .and_then(Observed::unless_cut)
            .map_err(|e| text(&e))?;
        let named = by_function.into_iter().filter_map(|(function, samples)| {
            let name = base_name(&symbols.functions().get(function?)?.name);
            let is_known = native.calls.contains_key(&name);
            is_known.then_some((name, samples))
        });
        Ok((ObservedTimes::of(&analyzer.result()), named.collect()))
    }

    fn collector(
        &self,
        native: &Native,
        found: &NativeCollector,
        program: &Program,
    ) -> Result<CollectorComparison, String> {
        let collector = Collector::of_calls()
            .find(|collector| collector.name() == found.name)
            .ok_or_else(|| format!("{}: no such collector in the simulation", found.name))?;
        let how = (collector, Placement::Cmp, self.throttle());
        let graph = observe_graph(program, self.machine, how, self.limit)?;
        Faulted::or_exit_code(graph.stop, &graph.process).map_err(|e| e.to_string())?;
        let natively = profile(&found.calls);
        Ok(CollectorComparison {
            name: found.name.clone(),
            native: native_side(&native.edges, found),
            simulated: simulated_side(&graph),
            overlap: overlap_without_cut(&natively, &by_name(&graph, program, native)),
        })
    }
}

fn native_side(complete: &Edges, found: &NativeCollector) -> CollectorSide {
    let (all, here) = (profile(complete), profile(&found.calls));
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let invalid = here.iter().filter(|(edge, _)| all.weight(edge) == 0);
    let invalid: u64 = invalid.map(|(_, count)| count).sum();
    CollectorSide {
        written: found.written,
        observed: found.observed,
        found: share(here.total(), all.total()),
        accuracy: match here.is_empty() {
            true => 0.0,
            false => overlap_without_cut(&here, &all),
        },
        invalid: share(invalid, here.total()),
        changed: share(found.changed, here.total()),
        orphans: share(found.orphans, here.total()),
    }
}

fn simulated_side(graph: &ObservedGraph) -> CollectorSide {
    let over = |cycles: u64| cycles as f64 / graph.cycles_alone.max(1) as f64 - 1.0;
    CollectorSide {
        written: over(graph.cycles_written),
        observed: over(graph.cycles_observed),
        found: graph.calls_found as f64 / graph.calls.max(1) as f64,
        accuracy: graph.accuracy,
        invalid: graph.invalid,
        changed: graph.torn,
        orphans: graph.orphans as f64 / graph.calls_found.max(1) as f64,
    }
}

/// Call graph found in the simulation, under the names of functions that were entered natively. Shares in parts per
/// billion.
fn by_name(graph: &ObservedGraph, program: &Program, native: &Native) -> Profile<(String, String)> {
    let functions = program.image.symbols.functions();
    let name = |at: usize| functions.get(at).map(|f| base_name(&f.name));
    let edges = graph
        .edges
        .iter()
        .filter_map(|((caller, callee), found, _)| {
            let callee = name(*callee).filter(|callee| native.calls.contains_key(callee))?;
            let caller = name(*caller).filter(|caller| native.calls.contains_key(caller));
            let weight = (found * 1e9).round() as u64;
            Some(((caller.unwrap_or_default(), callee), weight))
        });
    edges.collect()
}
