//! Parameters changed while the program runs: sparsity that grows as the profile converges.
//!
//! The policy. Every [`INTERVAL`] instructions the consumer reads the profile. When at least
//! [`CHUNK_SAMPLES`] samples have come since it last judged, it compares the profile so far with that of
//! its last judgement; if their overlap reaches a threshold, the period (sparsity plus burst) doubles, up
//! to 1/[`LONGEST`]. It writes the sampling registers and nothing else, at an instruction boundary; the
//! engine takes them up at the end of its next burst.
//!
//! Profiles that the consumer keeps. Handlers count each sample once, so that a run that sampled often at first
//! has a profile of its beginning. The consumer knows the period at which each chunk was sampled and can
//! weight its samples by it (the first sample after a change still has the period before; this is
//! ignored). Both profiles are measured, as `counted` and `weighted`; the policy judges the weighted one.

use std::hash::Hash;

use hps_dise::DiseEngine;
use hps_isa::probe::NoProbe;
use hps_productions::{Collector, CollectorOptions, MethodMap, SamplePoint};
use hps_profile::{Profile, ProfileKind};
use hps_sim_core::machine::{Machine, Stop};
use hps_system::process::Process;

use super::StudyOptions;
use super::common::{
    AnyProfile, Collected, Label, Reference, check_stop, extent, overhead, same_instructions,
    timed_alone, timed_profiled,
};
use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};
use hps_lab::{Core, Lab, Program, TimedMachine, dise_config};

/// The study's name in results.
pub const NAME: &str = "adaptive";

/// Instructions between two looks at the profile.
pub const INTERVAL: u64 = 20_000;
/// Samples between two judgements.
pub const CHUNK_SAMPLES: u64 = 64;
/// The frequency at which the policy begins, as 1 in n.
pub const FIRST: u64 = 50;
/// The lowest frequency to which it goes.
pub const LONGEST: u64 = 12_800;
/// Overlaps at which a profile counts as converged.
pub const THRESHOLDS: [f64; 4] = [0.90, 0.95, 0.98, 0.99];
/// The threshold of the timed runs.
pub const TIMED_THRESHOLD: f64 = 0.95;

const KINDS: [ProfileKind; 2] = [ProfileKind::CallPair, ProfileKind::Method];

/// One unit for each program; the first of them are timed, too.
pub fn units<'a>(
    programs: &'a [Program],
    machine: &'a TimedMachine,
    options: &StudyOptions,
) -> Vec<Unit<'a>> {
    let whole = options.functional_instructions;
    let timed = options.timed_instructions;
    let passes = (1 + KINDS.len() * THRESHOLDS.len()) as f64;
    let unit = |(at, program): (usize, &'a Program)| {
        let is_timed = at < options.timed_programs;
        Unit {
            study: NAME,
            title: format!("{}: sparsity that adapts", program.title()),
            key: serde_json::json!({
                "interval": INTERVAL,
                "chunk": CHUNK_SAMPLES,
                "first": FIRST,
                "longest": LONGEST,
                "thresholds": THRESHOLDS,
                "instructions": whole,
                "timed": is_timed.then_some((timed, TIMED_THRESHOLD)),
            }),
            program,
            effort: {
                let effort = Effort::runs(passes, 0.0, machine.core);
                let runs = if is_timed { 3.0 } else { 0.0 };
                effort.and_first(timed, runs, machine.core)
            },
            run: Box::new(move || {
                let mut measured = compare(program, machine, whole)?;
                if is_timed {
                    measured.extend(time(program, machine, timed)?);
                }
                Ok(measured)
            }),
        }
    };
    programs.iter().enumerate().map(unit).collect()
}

fn point(one_in: u64) -> Result<SamplePoint, String> {
    SamplePoint::from_frequency(1, one_in).map_err(|e| e.to_string())
}

/// Frequencies from the first to the lowest, each half the one before.
fn ladder() -> impl Iterator<Item = u64> {
    std::iter::successors(Some(FIRST), |one_in| Some(2 * one_in)).take_while(|&n| n <= LONGEST)
}

/// Accuracy against samples, for fixed sparsities and for the policy.
fn compare(
    program: &Program,
    machine: &TimedMachine,
    limit: u64,
) -> Result<Vec<Measurement>, String> {
    let points = ladder().map(point).collect::<Result<Vec<_>, _>>()?;
    let reference = Reference::of(program, limit, &points, false)?;
    let mut measured = Vec::new();
    for kind in KINDS {
        let exact = reference.exact(kind);
        let mut fixed = Vec::new();
        for (at, one_in) in ladder().enumerate() {
            let sampled = reference.sampled(kind, at)?;
            let accuracy = sampled.profile.accuracy(&exact).renormalized;
            let label = Label::new(program, "fixed").kind(kind).at(1, one_in);
            measured.push(label.is("samples", sampled.samples as f64));
            measured.push(label.is("accuracy_renormalized_ratio", accuracy));
            fixed.push((sampled.samples as f64, accuracy));
        }
        for threshold in THRESHOLDS {
            let collector = collector(kind, machine)?;
            let functional = Lab::of(program).edited_by(&collector).open();
            let mut functional = functional.map_err(|e| e.to_string())?;
            let policy = Policy::new(threshold);
            let adapted = policy.run(
                program,
                &mut functional,
                &collector,
                &reference.methods,
                limit,
            )?;
            let label = Label::new(program, "adaptive")
                .kind(kind)
                .at(1, FIRST)
                .x(threshold);
            measured.push(label.is("samples", adapted.samples as f64));
            measured.push(label.is("last_one_in", adapted.one_in as f64));
            let at_equal_cost = interpolate(&fixed, adapted.samples as f64);
            for (keeps, profile) in [
                ("counted", &adapted.counted),
                ("weighted", &adapted.weighted),
            ] {
                let accuracy = profile.accuracy(&exact).renormalized;
                let label = label.clone().setting(keeps);
                measured.push(label.is("accuracy_renormalized_ratio", accuracy));
                measured.extend(
                    at_equal_cost.map(|fixed| label.is("accuracy_gain_ratio", accuracy - fixed)),
                );
            }
        }
    }
    Ok(measured)
}

/// The cost of the policy, and of the fixed sparsity that takes as many samples.
fn time(program: &Program, machine: &TimedMachine, limit: u64) -> Result<Vec<Measurement>, String> {
    let kind = ProfileKind::Method;
    let reference = Reference::of(program, limit, &[], false)?;
    let exact = reference.exact(kind);
    let alone = timed_alone(program, machine, limit)?;
    same_instructions(&alone, reference.instructions)?;

    let adaptive = collector(kind, machine)?;
    let mut core = Lab::of(program)
        .timed_by(machine)
        .edited_by(&adaptive)
        .open()
        .map_err(|e| e.to_string())?;
    let policy = Policy::new(TIMED_THRESHOLD);
    let adapted = policy.run(program, &mut core, &adaptive, &reference.methods, limit)?;
    same_instructions(core.stats(), reference.instructions)?;

    let events = reference.population(kind);
    let equal = (events / adapted.samples.max(1)).max(1);
    let options = options(machine);
    let fixed = Collector::new(kind, point(equal)?, &options).map_err(|e| e.to_string())?;
    let run = timed_profiled(program, machine, &fixed, limit)?;
    same_instructions(&run.stats, reference.instructions)?;
    let collected = run.collected(&fixed, &reference.methods)?;

    let mut measured = extent(&Label::new(program, "baseline").setting("timed"), &alone);
    let both = [
        (
            "adaptive",
            FIRST,
            core.stats(),
            adapted.samples,
            &adapted.weighted,
        ),
        (
            "fixed",
            equal,
            &run.stats,
            collected.samples,
            &collected.profile,
        ),
    ];
    for (scheme, one_in, stats, samples, profile) in both {
        let label = Label::new(program, scheme)
            .kind(kind)
            .at(1, one_in)
            .setting("timed")
            .x(TIMED_THRESHOLD);
        measured.extend([
            label.is("cycles", stats.cycles as f64),
            label.is("overhead_ratio", overhead(stats, &alone)),
            label.is(
                "handler_instructions",
                stats.commit_handler_instructions as f64,
            ),
            label.is("samples", samples as f64),
            label.is(
                "accuracy_renormalized_ratio",
                profile.accuracy(&exact).renormalized,
            ),
        ]);
    }
    Ok(measured)
}

fn options(machine: &TimedMachine) -> CollectorOptions {
    CollectorOptions {
        dise: dise_config(machine),
        streams: None,
        ..CollectorOptions::default()
    }
}

fn collector(kind: ProfileKind, machine: &TimedMachine) -> Result<Collector, String> {
    Collector::new(kind, point(FIRST)?, &options(machine)).map_err(|e| e.to_string())
}

/// The value of a curve at `x`, on straight lines over the logarithm of `x`. None outside of it.
fn interpolate(curve: &[(f64, f64)], x: f64) -> Option<f64> {
    let mut pairs = curve.windows(2);
    let pair = pairs.find(|p| p[1].0 <= x && x <= p[0].0 && p[1].0 > 0.0)?;
    let ((high, at_high), (low, at_low)) = (pair[0], pair[1]);
    if high == low {
        return Some(at_high);
    }
    let part = (x / low).ln() / (high / low).ln();
    Some(at_low + (at_high - at_low) * part)
}

/// A machine that can stop between two instructions of the program.
trait Steps {
    /// Runs `instructions` further instructions of the program, to a precise state.
    fn step(&mut self, instructions: u64) -> Stop;
    /// The program's state.
    fn process(&mut self) -> &mut Process;
}

impl Steps for Machine<DiseEngine> {
    fn step(&mut self, instructions: u64) -> Stop {
        self.run(&mut NoProbe, instructions)
    }

    fn process(&mut self) -> &mut Process {
        &mut self.process
    }
}

impl Steps for Core<DiseEngine, NoProbe> {
    fn step(&mut self, instructions: u64) -> Stop {
        let stop = self.run(instructions);
        // An interrupt, and part of the policy's cost.
        self.drain_to_boundary();
        stop
    }

    fn process(&mut self) -> &mut Process {
        self.parts_mut().0
    }
}

struct Policy {
    threshold: f64,
}

/// Profiles that a run under the policy collected.
struct Adapted {
    counted: AnyProfile,
    weighted: AnyProfile,
    samples: u64,
    one_in: u64,
}

impl Policy {
    fn new(threshold: f64) -> Self {
        Policy { threshold }
    }

    fn run(
        &self,
        program: &Program,
        machine: &mut impl Steps,
        collector: &Collector,
        methods: &MethodMap,
        limit: u64,
    ) -> Result<Adapted, String> {
        let mut one_in = FIRST;
        let mut left = limit;
        let mut kept: Option<Kept> = None;
        loop {
            let instructions = INTERVAL.min(left);
            let stop = machine.step(instructions);
            check_stop(program, stop, machine.process())?;
            left -= instructions;
            let ended = stop != Stop::Limit || left == 0;
            let collected = collector
                .read(machine.process())
                .map_err(|e| e.to_string())?;
            let now = Collected::new(collected, methods)?;
            let since = now.samples - kept.as_ref().map_or(0, |kept| kept.collected.samples);
            if since < CHUNK_SAMPLES && !ended {
                continue;
            }
            let (next, overlap) = Kept::after(kept, now, one_in);
            if ended {
                return Ok(Adapted {
                    samples: next.collected.samples,
                    counted: next.collected.profile,
                    weighted: next.weighted,
                    one_in,
                });
            }
            kept = Some(next);
            if overlap.is_some_and(|overlap| overlap >= self.threshold) && 2 * one_in <= LONGEST {
                one_in *= 2;
                let registers = &mut machine.process().thread.hart.r;
                collector
                    .set_point(registers, point(one_in)?)
                    .map_err(|e| e.to_string())?;
            }
        }
    }
}

/// State that the consumer keeps from one judgement to the next.
struct Kept {
    collected: Collected,
    weighted: AnyProfile,
}

impl Kept {
    /// With what was collected since, at a frequency of 1 in n; and the overlap with what was kept.
    fn after(kept: Option<Kept>, now: Collected, one_in: u64) -> (Kept, Option<f64>) {
        let weight = one_in / FIRST;
        let Some(kept) = kept else {
            let weighted = now.profile.clone();
            let next = Kept {
                collected: now,
                weighted,
            };
            return (next, None);
        };
        let weighted = plus(
            &kept.weighted,
            &now.profile,
            &kept.collected.profile,
            weight,
        );
        let overlap = weighted.overlap(&kept.weighted);
        let next = Kept {
            collected: now,
            weighted,
        };
        (next, Some(overlap))
    }
}

/// `sum + (now - before) * weight`.
fn plus(sum: &AnyProfile, now: &AnyProfile, before: &AnyProfile, weight: u64) -> AnyProfile {
    match (sum, now, before) {
        (AnyProfile::Method(s), AnyProfile::Method(n), AnyProfile::Method(b)) => {
            AnyProfile::Method(plus_weighted(s, n, b, weight))
        }
        (AnyProfile::CallPair(s), AnyProfile::CallPair(n), AnyProfile::CallPair(b)) => {
            AnyProfile::CallPair(plus_weighted(s, n, b, weight))
        }
        // Streams cannot be weighted by the period, and are not collected here.
        _ => now.clone(),
    }
}

fn plus_weighted<K: Ord + Hash + Clone>(
    sum: &Profile<K>,
    now: &Profile<K>,
    before: &Profile<K>,
    weight: u64,
) -> Profile<K> {
    let mut sum = sum.clone();
    for (member, count) in now.iter() {
        sum.add(member.clone(), (count - before.weight(member)) * weight);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::testing::program;
    use super::*;
    use hps_pipeline::core::CoreKind;

    #[test]
    fn every_machine_adapts_alike() {
        let program = program("interp");
        let limit = 150_000;
        let reference = Reference::of(&program, limit, &[], false).expect("reference");
        let policy = Policy::new(0.5);
        let run = |core: Option<CoreKind>| {
            let machine = TimedMachine {
                core: core.unwrap_or_default(),
                ..TimedMachine::default()
            };
            let collector = collector(ProfileKind::Method, &machine).expect("collector");
            let lab = Lab::of(&program).edited_by(&collector);
            let methods = &reference.methods;
            let adapted = if core.is_some() {
                let mut core = lab.timed_by(&machine).open().expect("a core");
                policy.run(&program, &mut core, &collector, methods, limit)
            } else {
                let mut functional = lab.open().expect("a machine");
                policy.run(&program, &mut functional, &collector, methods, limit)
            };
            adapted.expect("runs")
        };
        let functional = run(None);
        assert!(functional.one_in > FIRST, "sparsity never rose");
        let events = reference.population(ProfileKind::Method);
        for core in [CoreKind::Cycle, CoreKind::Instruction] {
            let timed = run(Some(core));
            assert_eq!(functional.one_in, timed.one_in, "{core:?}");
            assert_eq!(functional.counted, timed.counted, "{core:?}");
            assert_eq!(functional.weighted, timed.weighted, "{core:?}");
            assert!(timed.samples < events / FIRST, "{} samples", timed.samples);
        }
        // Each sample stands for as many events as its period has.
        let stands_for = functional.weighted.total() * FIRST;
        let off = (stands_for as f64 / events as f64 - 1.0).abs();
        assert!(
            off < 0.25,
            "samples stand for {stands_for} events of {events}"
        );
    }

    #[test]
    fn a_policy_that_is_never_satisfied_is_the_fixed_point() {
        let (program, machine) = (program("lz"), TimedMachine::default());
        let limit = 100_000;
        let reference = Reference::of(&program, limit, &[point(FIRST).expect("valid")], false)
            .expect("reference");
        for kind in KINDS {
            let collector = collector(kind, &machine).expect("collector");
            let lab = Lab::of(&program).edited_by(&collector);
            let mut functional = lab.open().expect("a machine");
            let adapted = Policy::new(1.5)
                .run(
                    &program,
                    &mut functional,
                    &collector,
                    &reference.methods,
                    limit,
                )
                .expect("runs");
            let fixed = reference.sampled(kind, 0).expect("sampled");
            assert_eq!(adapted.counted, fixed.profile);
            assert_eq!(adapted.weighted, fixed.profile);
        }
    }

    #[test]
    fn curves_are_interpolated_over_the_logarithm() {
        let curve = [(1000.0, 0.9), (100.0, 0.7), (10.0, 0.3)];
        assert_eq!(interpolate(&curve, 1000.0), Some(0.9));
        assert!((interpolate(&curve, 10f64.powf(1.5)).expect("inside") - 0.5).abs() < 1e-12);
        assert_eq!(interpolate(&curve, 5.0), None);
        assert_eq!(interpolate(&curve, 5000.0), None);
    }
}
