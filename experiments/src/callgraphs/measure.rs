//! Measurements of one program: each collector at each wait, against the program alone and against every call of it.

use std::collections::HashMap;

use hps_lab::observer::{
    Observed, ObservedContext, Observer, Placement, SeenCall, Signals, Spent, Throttle,
};
use hps_lab::{Lab, Productions, Program, Ran, TimedMachine};
use hps_pipeline::config::MachineConfig;
use hps_shim::{Dte, Stamps};
use rayon::prelude::*;

use super::collector::Collector;
use super::graph::{Complete, Found, Functions};
use super::others::{OTHERS, Other, alone};
use crate::measurement::Measurement;

/// Collectors that are run with quiet reads, too.
pub const QUIET: [Collector; 4] = [
    Collector::Stack(Some(2)),
    Collector::Stack(None),
    Collector::Pairs(128 << 10),
    Collector::Sequence(128 << 10),
];
/// The setting of quiet reads.
pub const QUIETLY: &str = "wait=0,quiet";

/// Depths of the stack that get a row of their own (Figure 3.3).
const DEPTHS: usize = 24;

/// A program, and what is known of it.
pub(super) struct Study<'a> {
    pub program: &'a Program,
    pub machine: &'a TimedMachine,
    pub limit: u64,
    pub functions: Functions<'a>,
    /// Every call.
    pub complete: Complete,
    /// Cycles without anything, with a processor that rests.
    pub cycles: u64,
    /// Cycles without anything on the machine with one context.
    pub cycles_alone: u64,
}

/// Measures one program.
pub(super) fn measure(
    program: &Program,
    machine: &TimedMachine,
    limit: u64,
) -> Result<Vec<Measurement>, String> {
    let functions = Functions(&program.image);
    let lab = || Lab::of(program).on_machine(&machine.config).limit(limit);
    let plain = lab().unobserved(Placement::Cmp);
    let plain = plain.and_then(Observed::unless_cut).map_err(text)?;
    let one = alone(&machine.config);
    let single = Lab::of(program).on_machine(&one).limit(limit);
    let single = single.run().and_then(Ran::successful_so_far);
    let single = single.map_err(text)?;
    // One observer that sleeps for ever tells what was called.
    let stack = Collector::Stack(None);
    let productions = stack
        .productions(program.image.isa, &machine.config)
        .map_err(text)?;
    let asleep = observer(stack, program, u64::MAX);
    let known = lab().edited_by(&productions);
    let known = known.observe_calls(&asleep, |_| {});
    let known = known.and_then(Observed::unless_cut).map_err(text)?;
    let study = Study {
        program,
        machine,
        limit,
        functions,
        complete: Complete::new(functions, known.tally.calls),
        cycles: plain.cycles,
        cycles_alone: single.cycles(),
    };
    if study.complete.calls() == 0 {
        return Err("it calls nothing".to_string());
    }
    let collectors = Collector::all();
    let waits = |c: &Collector| c.waits().iter().map(|wait| Some(*wait)).collect::<Vec<_>>();
    let mut runs: Vec<Run> = Vec::new();
    for collector in collectors {
        runs.push(Run::Observed(collector, None));
        runs.extend(
            waits(&collector)
                .into_iter()
                .map(|w| Run::Observed(collector, w)),
        );
    }
    runs.extend(QUIET.map(Run::Quiet));
    runs.extend(OTHERS.map(Run::Other));
    let measured: Result<Vec<Vec<Measurement>>, String> = runs
        .into_par_iter()
        .with_max_len(1)
        .map(|run| match run {
            Run::Observed(collector, None) => study.alone(collector),
            Run::Observed(collector, Some(wait)) => study.observed(collector, wait),
            Run::Quiet(collector) => study.quiet(collector),
            Run::Other(other) => study.other(other),
        })
        .collect();
    let mut all: Vec<Measurement> = measured?.into_iter().flatten().collect();
    let program_number =
        |measure: &str, value| Measurement::new(program, "program", measure, value);
    all.push(program_number("calls", study.complete.calls() as f64));
    all.push(program_number("cycles", plain.cycles as f64));
    all.push(program_number(
        "edges",
        study.complete.by_function.len() as f64,
    ));
    Ok(all)
}

/// One run.
#[derive(Clone, Copy)]
enum Run {
    /// Beside an observer that sleeps between samples, or does nothing but sleep.
    Observed(Collector, Option<u64>),
    /// Beside an observer at full speed whose reads take no part in the agreement of caches.
    Quiet(Collector),
    /// Under what collectors are compared with.
    Other(Other),
}

pub(super) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn observer(collector: Collector, program: &Program, wait: u64) -> Observer {
    Observer {
        placement: collector.placement(),
        signals: collector.signals(program.image.isa),
        throttle: match wait {
            0 => Throttle::None,
            cycles => Throttle::Sleep(cycles),
        },
    }
}

/// Calls as an observer has found them.
#[derive(Default)]
struct Calls {
    found: Found,
    /// Of which the caller had not called the callee while both were read.
    torn: u64,
    /// Of which, again, the complete graph has no such edge.
    torn_invalid: u64,
}

impl Study<'_> {
    fn lab<'a>(
        &'a self,
        productions: &'a Productions,
    ) -> Lab<'a, hps_lab::Timed<'a>, &'a Productions> {
        let lab = Lab::of(self.program).on_machine(&self.machine.config);
        lab.edited_by(productions).limit(self.limit)
    }

    pub(super) fn overhead(&self, cycles: u64) -> f64 {
        cycles as f64 / self.cycles as f64 - 1.0
    }

    fn productions(&self, collector: Collector) -> Result<Productions, String> {
        let isa = self.program.image.isa;
        collector
            .productions(isa, &self.machine.config)
            .map_err(text)
    }

    /// Cost of the productions while the observer sleeps.
    fn alone(&self, collector: Collector) -> Result<Vec<Measurement>, String> {
        let productions = self.productions(collector)?;
        let asleep = observer(collector, self.program, u64::MAX);
        let run = self.lab(&productions).observe_calls(&asleep, |_| {});
        let run = run.and_then(Observed::unless_cut).map_err(text)?;
        let number = |measure: &str, value: f64| Measurement {
            setting: "alone".to_string(),
            ..Measurement::new(self.program, &collector.name(), measure, value)
        };
        Ok(vec![number("overhead_ratio", self.overhead(run.cycles))])
    }

    /// At full speed on a machine with the reads that SHIM's authors propose.
    fn quiet(&self, collector: Collector) -> Result<Vec<Measurement>, String> {
        let mut machine = self.machine.config.clone();
        // A look-up in the other core, without any change there.
        machine.chip.quiet_read_cycles = machine.chip.transfer_cycles.max(1);
        let mut all = self.observed_on(&machine, collector, 0)?;
        for measurement in &mut all {
            measurement.setting = QUIETLY.to_string();
        }
        Ok(all)
    }

    fn observed(&self, collector: Collector, wait: u64) -> Result<Vec<Measurement>, String> {
        self.observed_on(&self.machine.config, collector, wait)
    }

    fn observed_on(
        &self,
        machine: &MachineConfig,
        collector: Collector,
        wait: u64,
    ) -> Result<Vec<Measurement>, String> {
        let productions = self.productions(collector)?;
        let observer = observer(collector, self.program, wait);
        let number = |measure: &str, value: f64| Measurement {
            setting: format!("wait={wait}"),
            x: Some(wait as f64),
            ..Measurement::new(self.program, &collector.name(), measure, value)
        };
        let lab = Lab::of(self.program).on_machine(machine);
        let lab = lab.edited_by(&productions).limit(self.limit);
        let mut all = match collector {
            Collector::Tag => {
                let run = lab.observe(&observer, |_, _, _| {});
                let run = run.and_then(Observed::unless_cut).map_err(text)?;
                return Ok(self.costs(&run, &number));
            }
            Collector::Context(depth) => {
                let mut contexts = Contexts::new(self.functions, depth);
                let run = lab.observe_calls(&observer, |seen| {
                    if let SeenCall::Context(context) = seen {
                        contexts.see(context);
                    }
                });
                let run = run.and_then(Observed::unless_cut).map_err(text)?;
                let mut all = self.costs(&run, &number);
                all.extend(contexts.measured(&run, observer.signals, &number));
                if depth == super::FULL_DEPTH && wait == 0 {
                    all.extend(contexts.by_depth(self.program, &collector.name(), &run));
                }
                all
            }
            _ => {
                let mut calls = Calls::default();
                let run = lab.observe_calls(&observer, |seen| {
                    if let SeenCall::Call(call) = seen {
                        self.take(&mut calls, call);
                    }
                });
                let run = run.and_then(Observed::unless_cut).map_err(text)?;
                let mut all = self.costs(&run, &number);
                all.extend(self.of_calls(calls, &run, &number));
                all
            }
        };
        all.retain(|m| m.value.is_finite());
        Ok(all)
    }

    fn take(&self, calls: &mut Calls, call: hps_lab::observer::ObservedCall) {
        let edge = self.functions.edge((call.caller, call.callee));
        calls.found.by_function.record(edge);
        if !call.is_one {
            calls.torn += 1;
            calls.torn_invalid += u64::from(self.complete.by_function.weight(&edge) == 0);
        }
    }

    fn costs(&self, run: &Observed, number: &dyn Fn(&str, f64) -> Measurement) -> Vec<Measurement> {
        vec![
            number("overhead_ratio", self.overhead(run.cycles)),
            number("samples", run.samples as f64),
            number("period_cycles", run.period()),
        ]
    }

    fn of_calls(
        &self,
        calls: Calls,
        run: &Observed,
        number: &dyn Fn(&str, f64) -> Measurement,
    ) -> Vec<Measurement> {
        let (complete, count) = (&self.complete, calls.found.by_function.total());
        let all = count.max(1) as f64;
        let (accuracy, _) = calls.found.accuracy(complete);
        let invalid = calls.found.invalid(complete);
        let orphans = run.orphans as f64;
        let torn_invalid = calls.torn_invalid as f64 / all;
        vec![
            number("accuracy_ratio", accuracy),
            number("calls_found", count as f64),
            number("found_ratio", count as f64 / complete.calls() as f64),
            number("invalid_ratio", invalid),
            number("invalid_torn_ratio", torn_invalid),
            number("invalid_other_ratio", (invalid - torn_invalid).max(0.0)),
            number("torn_ratio", calls.torn as f64 / all),
            number("orphan_ratio", orphans / (count as f64 + orphans).max(1.0)),
        ]
    }
}

/// Samples with contexts, and what they say.
struct Contexts<'a> {
    functions: Functions<'a>,
    depth: usize,
    last: Option<ObservedContext>,
    all: u64,
    ones: u64,
    /// Samples that hold less than the whole context.
    cut: u64,
    by_call: HashMap<(usize, usize), u64>,
    /// Measurements by depth: samples, instructions, cycles.
    by_depth: Vec<(u64, f64, f64)>,
}

impl<'a> Contexts<'a> {
    fn new(functions: Functions<'a>, depth: usize) -> Self {
        Contexts {
            functions,
            depth,
            last: None,
            all: 0,
            ones: 0,
            cut: 0,
            by_call: HashMap::new(),
            by_depth: Vec::new(),
        }
    }

    fn see(&mut self, context: &ObservedContext) {
        self.all += 1;
        self.ones += u64::from(context.is_one);
        self.cut += u64::from(context.depth as usize >= self.depth);
        let tag = |at: usize| context.tags.get(at).copied().unwrap_or(0);
        let call = self.functions.edge((tag(1), tag(0)));
        *self.by_call.entry(call).or_default() += 1;
        let depth = context.depth as usize;
        if self.by_depth.len() <= depth {
            self.by_depth.resize(depth + 1, (0, 0.0, 0.0));
        }
        let at = &mut self.by_depth[depth];
        at.0 += 1;
        if let Some(last) = &self.last {
            let stamps = |c: &ObservedContext| Stamps {
                start: c.sample.start,
                end: c.sample.end,
            };
            if Dte::default().keeps(stamps(last), stamps(context)) {
                let count =
                    |c: &ObservedContext| c.sample.counters[0].wrapping_sub(c.sample.counters[1]);
                at.1 += count(context).wrapping_sub(count(last)) as f64;
                at.2 += (context.sample.start - last.sample.start) as f64;
            }
        }
        self.last = Some(context.clone());
    }

    fn measured(
        &self,
        run: &Observed,
        signals: Signals,
        number: &dyn Fn(&str, f64) -> Measurement,
    ) -> Vec<Measurement> {
        let all = self.all.max(1) as f64;
        let mut out = vec![
            number("one_ratio", self.ones as f64 / all),
            number("cut_ratio", self.cut as f64 / all),
        ];
        let truth = &run.tally.by_call;
        let cycles = truth.values().map(|spent| spent.cycles).sum::<u64>().max(1) as f64;
        let common = truth.iter().map(|(call, spent)| {
            let sampled = self.by_call.get(call).copied().unwrap_or(0);
            (spent.cycles as f64 / cycles).min(sampled as f64 / all)
        });
        out.push(number("time_accuracy_ratio", common.sum()));
        if matches!(signals, Signals::Context { counters: 2, .. }) {
            let off = run
                .tally
                .by_depth
                .iter()
                .enumerate()
                .filter_map(|(depth, spent)| {
                    let (_, instructions, cycles) = self.by_depth.get(depth).copied()?;
                    let measured = instructions / cycles;
                    measured
                        .is_finite()
                        .then(|| (spent.cycles as f64, (measured - ipc(*spent)).abs()))
                });
            let (weight, sum) = off.fold((0.0, 0.0), |(w, s), (weight, off)| {
                (w + weight, s + weight * off)
            });
            out.push(number("ipc_off_by_depth", sum / weight));
        }
        out
    }

    /// A row for each depth of the stack (Figures 3.3 and 3.4).
    fn by_depth(&self, program: &Program, scheme: &str, run: &Observed) -> Vec<Measurement> {
        let cycles = run.cycles.max(1) as f64;
        let mut out = Vec::new();
        for (depth, spent) in run.tally.by_depth.iter().enumerate().take(DEPTHS) {
            let mut add = |measure: &str, value: f64| {
                out.push(Measurement {
                    setting: format!("depth={depth}"),
                    x: Some(depth as f64),
                    ..Measurement::new(program, scheme, measure, value)
                });
            };
            let (samples, instructions, counted) =
                self.by_depth.get(depth).copied().unwrap_or_default();
            add("true_share", spent.cycles as f64 / cycles);
            add("share", samples as f64 / self.all.max(1) as f64);
            add("true_ipc", ipc(*spent));
            if instructions > 0.0 {
                add("ipc", instructions / counted);
            }
        }
        out
    }
}

fn ipc(spent: Spent) -> f64 {
    spent.instructions as f64 / spent.cycles.max(1) as f64
}
