//! One point of a sweep as it is stored: one JSON object a line.

use hps_pipeline::core::CoreKind;
use hps_pipeline::sampled::SamplingPlan;
use hps_profile::ProfileKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::phases::Phases;
use crate::set_ups::SetUps;

/// How well the sampled profile overlaps with the exhaustive one. Shares in `0..=1`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccuracyResult {
    /// Overlap of the members that make up 90% of each profile, shares within the cut set.
    pub renormalized: f64,
    /// The overlap of the cut members by their shares of the whole profile; at most about 0.9.
    pub capped: f64,
    /// Members of the exhaustive profile after the cut.
    pub members_exact: u64,
    /// Members of the sampled profile after the cut.
    pub members_sampled: u64,
    /// `renormalized` with a period one event longer, which is out of step with loops that the period is in
    /// step with. Not measured for data streams.
    #[serde(default)]
    pub detuned: Option<f64>,
    /// Events sampled.
    pub samples: u64,
    /// Events (or references) of the exhaustive profile.
    pub population: u64,
}

/// How an overhead was estimated from timed units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sampled {
    /// Where units were.
    pub plan: SamplingPlan,
    /// Units measured, in the run with the collector and in the one without.
    pub units: u64,
    /// Units in which DISE put in anything. What bursts cost is known from these alone; where they are
    /// few, the interval says little.
    pub units_with_insertions: u64,
    /// Half the width of the 95% confidence interval around the overhead, in the same unit. It speaks
    /// of sampling alone, not of what functional warming leaves out.
    pub half_width: f64,
}

/// Misses of the level 1 caches with the profile collected less those without; a number can be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExtraMisses {
    /// Of the instruction cache.
    pub instruction: i64,
    /// Of the data cache.
    pub data: i64,
}

/// Cost of the sampled run on the simulated machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimingResult {
    /// Cycles of the program without DISE; with sampled timing an estimate: the mean of the units times
    /// the instructions.
    pub baseline_cycles: u64,
    /// Cycles with the profile collected; with sampled timing `baseline_cycles` with the overhead.
    pub cycles: u64,
    /// `cycles / baseline_cycles - 1`; with sampled timing estimated from pairs of units, and from the
    /// instructions that were put in, which are exact.
    pub overhead: f64,
    /// Instructions of the program.
    pub instructions: u64,
    /// Replacement instructions inserted, the trigger not counted.
    pub inserted_instructions: u64,
    /// Instructions of handlers.
    pub handler_instructions: u64,
    /// Misses that collecting causes; `None` with sampled timing, and in rows of versions that did not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_misses: Option<ExtraMisses>,
    /// The overhead over several set-ups, if they were asked for; `overhead` is that of the configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_ups: Option<SetUps>,
    /// How the machine was simulated.
    #[serde(default, skip_serializing_if = "is_cycle")]
    pub core: CoreKind,
    /// How timing was sampled; `None` if every cycle was simulated. Instructions are exact in both cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Sampled>,
}

/// The reference is not mentioned.
pub(crate) fn is_cycle(kind: &CoreKind) -> bool {
    *kind == CoreKind::Cycle
}

/// One point: a program, a profile, a burst, a frequency, a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Made from everything that determines the point (SHA-256, hexadecimal).
    pub id: String,
    /// Version of the lab that made it.
    pub version: String,
    /// Program.
    pub program: String,
    /// SHA-256 of its image.
    pub program_hash: String,
    /// SHA-256 that names the content of its root, if it has one with a lock file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_hash: Option<String>,
    /// Input of the program (`small`, `large`, or the arguments).
    pub input: String,
    /// Instruction set.
    pub isa: String,
    /// Kind of profile.
    pub profile: ProfileKind,
    /// Burst length in events.
    pub burst: u64,
    /// Events between bursts.
    pub sparsity: u64,
    /// `burst / (burst + sparsity)` is 1 in this many.
    pub one_in: u64,
    /// Machine that timed it (also named where only accuracy was asked for).
    pub machine: String,
    /// Fingerprint of the machine's resolved configuration.
    pub machine_fingerprint: String,
    /// Accuracy with the schedule of the DISE engine, whose first burst comes behind a whole sparsity; if the point
    /// succeeded.
    pub accuracy: Option<AccuracyResult>,
    /// Accuracies at other phases of the schedule, if they were asked for, and for data streams if the program has no
    /// more references than are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<Phases>,
    /// Cost, if the point was timed.
    pub timing: Option<TimingResult>,
    /// Why the point failed, if it did.
    pub failure: Option<String>,
}

impl Row {
    /// The mean accuracy over phases; where there are none, that of the engine's phase. `None` if nothing was ever
    /// sampled: an accuracy of 0 would say that samples are wrong.
    #[must_use]
    pub fn mean_accuracy(&self) -> Option<f64> {
        match &self.phases {
            Some(phases) => phases.sampled().then_some(phases.mean),
            None => {
                let sampled = self.accuracy.filter(|accuracy| accuracy.samples > 0);
                sampled.map(|accuracy| accuracy.renormalized)
            }
        }
    }

    /// Renormalized accuracies, 0 where nothing was sampled: at each phase, or at the engine's alone.
    #[must_use]
    pub fn accuracies(&self) -> Vec<f64> {
        match (&self.phases, self.accuracy) {
            (Some(phases), _) => phases.renormalized.clone(),
            (None, Some(accuracy)) => vec![accuracy.renormalized],
            (None, None) => Vec::new(),
        }
    }

    /// How the point's timing was sampled, if it was timed and that was so.
    #[must_use]
    pub fn sampled(&self) -> Option<&Sampled> {
        self.timing.as_ref()?.sampled.as_ref()
    }
}

#[cfg(test)]
impl Row {
    /// A row for tests, with an accuracy and without timing. `at` is burst and frequency.
    pub(crate) fn example(
        program: &str,
        profile: ProfileKind,
        at: (u64, u64),
        accuracy: f64,
    ) -> Row {
        let (burst, one_in) = at;
        Row {
            id: format!("{program} {profile:?} {burst} {one_in}"),
            version: String::new(),
            program: program.to_string(),
            program_hash: String::new(),
            root_hash: None,
            input: String::new(),
            isa: String::new(),
            profile,
            burst,
            sparsity: burst * (one_in - 1),
            one_in,
            machine: String::new(),
            machine_fingerprint: String::new(),
            accuracy: Some(AccuracyResult {
                renormalized: accuracy,
                capped: accuracy,
                members_exact: 7,
                members_sampled: 7,
                detuned: None,
                samples: 100,
                population: 1000,
            }),
            phases: None,
            timing: None,
            failure: None,
        }
    }
}
