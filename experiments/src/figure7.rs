//! The paper's Figure 7: what each scheme costs, and which part of it is for what.
//!
//! Every number is a whole run, and every part a difference of runs, so that the parts of a bar
//! sum to the measured whole exactly. Each whole run's profile is compared count for count with
//! that of the functional pass.

use std::collections::BTreeMap;

use hps_productions::{CollectedProfile, SamplePoint};
use hps_profile::ProfileKind;

use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit, UnitRecord};
use crate::schemes::{self, Part, Run, Scheme, Step};
use crate::spec::paper_burst;
use crate::truth::{Difference, Truth, difference};
use hps_lab::Program;
use hps_lab::TimedMachine;

/// The name of the study in results.
pub const STUDY: &str = "figure7";
/// The frequency of the paper's Figure 7, as 1 in n.
pub const ONE_IN: u64 = 100;
/// The scheme under which runs without DISE stand in results.
pub const BASELINE: &str = "baseline";
/// The scheme under which complete profiles stand in results.
pub const EXHAUSTIVE: &str = "exhaustive";

/// The point at which a kind of profile is shown: 1/100, burst 100 for data streams and 1 for the
/// others.
#[must_use]
pub fn point(kind: ProfileKind) -> SamplePoint {
    let burst = paper_burst(kind);
    SamplePoint {
        burst,
        sparsity: burst * (ONE_IN - 1),
    }
}

/// Functional runs whose profiles [`units`] compares with, one of each program.
#[must_use]
pub fn truths(programs: &[Program]) -> Vec<Truth<'_>> {
    let mut points: Vec<SamplePoint> = ProfileKind::ALL.map(point).to_vec();
    points.sort_unstable();
    points.dedup();
    programs.iter().map(|p| Truth::new(p, &points)).collect()
}

/// A unit for each timed run. `truths` are those of the same programs.
#[must_use]
pub fn units<'a>(
    programs: &'a [Program],
    truths: &'a [Truth<'a>],
    machine: &'a TimedMachine,
) -> Vec<Unit<'a>> {
    let mut all = Vec::new();
    for (program, truth) in programs.iter().zip(truths) {
        all.push(baseline(program, machine));
        for kind in ProfileKind::ALL {
            let exhaustive = Wanted {
                scheme: Scheme::Hps,
                step: Step::Whole,
                kind,
                point: SamplePoint::EXHAUSTIVE,
                name: EXHAUSTIVE,
            };
            all.push(exhaustive.unit(program, truth, machine));
        }
        let mut for_all_kinds = Vec::new();
        for scheme in Scheme::ALL {
            for kind in ProfileKind::ALL {
                for step in scheme.runs() {
                    let point = point(kind);
                    if step.is_for_all_kinds() {
                        if for_all_kinds.contains(&(scheme, step, point)) {
                            continue;
                        }
                        for_all_kinds.push((scheme, step, point));
                    }
                    let wanted = Wanted {
                        scheme,
                        step,
                        kind,
                        point,
                        name: scheme.name(),
                    };
                    all.push(wanted.unit(program, truth, machine));
                }
            }
        }
    }
    all
}

fn baseline<'a>(program: &'a Program, machine: &'a TimedMachine) -> Unit<'a> {
    Unit {
        study: STUDY,
        title: format!("{}: without DISE", program.title()),
        key: serde_json::json!(BASELINE),
        program,
        effort: Effort::runs(0.0, 1.0, machine.core),
        run: Box::new(move || {
            let run = schemes::without(program, machine)?;
            let measured = counts(&run).into_iter();
            Ok(measured
                .map(|(measure, value)| Measurement::new(program, BASELINE, measure, value))
                .collect())
        }),
    }
}

/// A run that a bar needs.
#[derive(Clone, Copy)]
struct Wanted {
    scheme: Scheme,
    step: Step,
    kind: ProfileKind,
    point: SamplePoint,
    /// The scheme's name in results.
    name: &'static str,
}

impl Wanted {
    fn unit<'a>(
        self,
        program: &'a Program,
        truth: &'a Truth<'a>,
        machine: &'a TimedMachine,
    ) -> Unit<'a> {
        let kind = (!self.step.is_for_all_kinds()).then_some(self.kind);
        let what = kind.map_or("", ProfileKind::title);
        Unit {
            study: STUDY,
            title: format!(
                "{}: {}, {what} {}",
                program.title(),
                self.name,
                self.step.name()
            ),
            key: serde_json::json!({
                "scheme": self.name,
                "step": self.step.name(),
                "kind": kind,
                "at": self.scheme.point(self.step, self.point),
            }),
            program,
            effort: Effort::runs(0.0, 1.0, machine.core).beside_exact(),
            run: Box::new(move || self.measure(program, truth, machine)),
        }
    }

    fn measure(
        self,
        program: &Program,
        truth: &Truth<'_>,
        machine: &TimedMachine,
    ) -> Result<Vec<Measurement>, String> {
        let run = schemes::run(
            (self.scheme, self.step),
            self.kind,
            self.point,
            program,
            machine,
        )?;
        let mut measured = counts(&run);
        match self.step {
            Step::Whole => {
                let found = difference(&run.profile, truth.at(self.point)?);
                measured.extend(differences(found));
            }
            _ if samples(&run.profile) > 0 => {
                return Err("it sampled, although it must not".to_string());
            }
            _ => {}
        }
        let frequency = self.point.period() / self.point.burst;
        Ok(measured
            .into_iter()
            .map(|(measure, value)| Measurement {
                profile: (!self.step.is_for_all_kinds()).then_some(self.kind),
                burst: Some(self.point.burst),
                one_in: Some(frequency),
                setting: self.step.name().to_string(),
                ..Measurement::new(program, self.name, measure, value)
            })
            .collect())
    }
}

fn counts(run: &Run) -> Vec<(&'static str, f64)> {
    vec![
        ("cycles", run.cycles as f64),
        ("program_instructions", run.program_instructions as f64),
        ("inserted_instructions", run.inserted_instructions as f64),
        ("handler_instructions", run.handler_instructions as f64),
    ]
}

fn differences(found: Difference) -> [(&'static str, f64); 4] {
    [
        ("samples", found.samples as f64),
        ("samples_of_functional_run", found.expected as f64),
        ("members_that_differ", found.members as f64),
        ("samples_lost", found.lost as f64),
    ]
}

fn samples(profile: &CollectedProfile) -> u64 {
    match profile {
        CollectedProfile::Nothing => 0,
        CollectedProfile::Method { addresses, .. } => addresses.total(),
        CollectedProfile::CallPair { call_pairs, .. } => call_pairs.total(),
        CollectedProfile::DataStream(trace) => trace.references(),
    }
}

/// A bar of Figure 7: one program under one scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Program.
    pub program: String,
    /// Instruction set.
    pub isa: String,
    /// Scheme.
    pub scheme: Scheme,
    /// Kind of profile.
    pub kind: ProfileKind,
    /// Cycles without DISE.
    pub baseline_cycles: u64,
    /// Cycles with all of it.
    pub whole_cycles: u64,
    /// Cost of each part, in cycles; a part can be negative. The parts sum to the difference of whole and baseline.
    pub parts: Vec<(Part, i64)>,
    /// Cost of beginning and ending bursts, in cycles, where that has a price. The basic overhead includes it; the
    /// sampling overhead, whose run pays it too, does not.
    pub burst_ends: Option<i64>,
}

impl Bar {
    /// Cost of a part in cycles, if the scheme has such a part.
    #[must_use]
    pub fn cycles(&self, part: Part) -> Option<i64> {
        self.parts.iter().find(|p| p.0 == part).map(|p| p.1)
    }

    /// Cost of a part as a share of the cycles without DISE; 0 if the scheme has no such part.
    #[must_use]
    pub fn share(&self, part: Part) -> f64 {
        self.cycles(part).unwrap_or(0) as f64 / self.baseline_cycles as f64
    }

    /// [`burst_ends`](Self::burst_ends) of the cycles without DISE.
    #[must_use]
    pub fn burst_ends_share(&self) -> Option<f64> {
        Some(self.burst_ends? as f64 / self.baseline_cycles as f64)
    }

    /// Cost of all parts as a share of the cycles without DISE.
    #[must_use]
    pub fn overhead(&self) -> f64 {
        self.whole_cycles as f64 / self.baseline_cycles as f64 - 1.0
    }
}

/// Cycles of runs, by what they are.
pub struct Cycles<'a> {
    by_run: BTreeMap<RunKey<'a>, u64>,
}

/// Program, its hash, scheme, kind of profile, burst, and step.
type RunKey<'a> = (
    &'a str,
    &'a str,
    &'a str,
    Option<ProfileKind>,
    Option<u64>,
    &'a str,
);

impl<'a> Cycles<'a> {
    /// Indexes the records of Figure 7 among these.
    #[must_use]
    pub fn of(records: &'a [UnitRecord]) -> Self {
        let mut by_run = BTreeMap::new();
        for record in records.iter().filter(|r| r.study == STUDY) {
            for m in record.measurements.iter().filter(|m| m.measure == "cycles") {
                let program = (record.program.as_str(), record.program_hash.as_str());
                let key = (
                    program.0,
                    program.1,
                    &*m.scheme,
                    m.profile,
                    m.burst,
                    &*m.setting,
                );
                by_run.insert(key, m.value as u64);
            }
        }
        Cycles { by_run }
    }

    /// Cycles of a program without DISE, if they were measured.
    #[must_use]
    pub fn baseline(&self, program: &str, hash: &str) -> Option<u64> {
        let key = (program, hash, BASELINE, None, None, "");
        self.by_run.get(&key).copied()
    }

    /// Cycles with a complete profile, if they were measured.
    #[must_use]
    pub fn exhaustive(&self, program: &str, hash: &str, kind: ProfileKind) -> Option<u64> {
        let step = Step::Whole.name();
        let key = (program, hash, EXHAUSTIVE, Some(kind), Some(1), step);
        self.by_run.get(&key).copied()
    }

    fn step(
        &self,
        program: (&str, &str),
        scheme: Scheme,
        step: Step,
        kind: ProfileKind,
    ) -> Option<u64> {
        let of_kind = (!step.is_for_all_kinds()).then_some(kind);
        let burst = Some(paper_burst(kind));
        let key = (
            program.0,
            program.1,
            scheme.name(),
            of_kind,
            burst,
            step.name(),
        );
        self.by_run.get(&key).copied()
    }
}

/// The bars whose runs are all there, in the order of kinds, programs, schemes.
#[must_use]
pub fn bars(records: &[UnitRecord]) -> Vec<Bar> {
    let cycles = Cycles::of(records);
    let mut programs: Vec<(&str, &str, &str)> = Vec::new();
    for record in records.iter().filter(|r| r.study == STUDY) {
        let program = (&*record.program, &*record.program_hash, &*record.isa);
        if !programs.contains(&program) {
            programs.push(program);
        }
    }
    let mut bars = Vec::new();
    for kind in ProfileKind::ALL {
        for &(program, hash, isa) in &programs {
            let of_scheme = |scheme| bar(&cycles, (program, hash, isa), scheme, kind);
            bars.extend(Scheme::ALL.into_iter().filter_map(of_scheme));
        }
    }
    bars
}

fn bar(
    cycles: &Cycles<'_>,
    (program, hash, isa): (&str, &str, &str),
    scheme: Scheme,
    kind: ProfileKind,
) -> Option<Bar> {
    let baseline_cycles = cycles.baseline(program, hash)?;
    let mut before = baseline_cycles;
    let mut parts = Vec::new();
    for &(step, part) in scheme.steps() {
        let after = cycles.step((program, hash), scheme, step, kind)?;
        parts.push((part, after as i64 - before as i64));
        before = after;
    }
    let mut burst_ends = None;
    if let Some(transfer) = scheme.transfer() {
        let run = |step| cycles.step((program, hash), scheme, step, kind);
        let cost = run(transfer.with)? as i64 - run(transfer.without)? as i64;
        for (part, cycles) in &mut parts {
            if *part == transfer.to {
                *cycles += cost;
            } else if *part == transfer.from {
                *cycles -= cost;
            }
        }
        burst_ends = Some(cost);
    }
    Some(Bar {
        program: program.to_string(),
        isa: isa.to_string(),
        scheme,
        kind,
        baseline_cycles,
        whole_cycles: before,
        parts,
        burst_ends,
    })
}
