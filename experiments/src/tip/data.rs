//! What was measured, by machine, policy and level.

use std::collections::BTreeMap;

use hps_profile::summarize;

use crate::leaderboard::{BIAS, DRAWS, GROUP, PASSIVE, STATES};
use crate::measurement::{Measurement, UnitRecord};

/// An error that a study prints.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// The policy here.
    pub policy: &'static str,
    /// How the study calls it.
    pub name: &'static str,
    /// The study.
    pub study: &'static str,
    /// Mean error by instruction, over event stacks in the TEA study, as a ratio.
    pub mean: f64,
    /// The greatest error of a program, as a ratio.
    pub greatest: Option<f64>,
}

const TIP: &str = "TIP, MICRO 2021";
const TEA: &str = "TEA, ISCA 2023";

/// The averages in the abstracts of both studies.
pub const PUBLISHED: [Published; 8] = [
    of("software", "Software", TIP, 0.618, None),
    of("ibs", "Dispatch (AMD IBS, Arm SPE)", TIP, 0.531, None),
    of("lci", "LCI (external monitors)", TIP, 0.554, None),
    of("nci", "NCI (Intel PEBS)", TIP, 0.093, Some(0.21)),
    of("tip", "TIP", TIP, 0.016, Some(0.05)),
    of("tea", "TEA", TEA, 0.021, None),
    of("ibs", "IBS", TEA, 0.556, None),
    of("spe", "SPE", TEA, 0.555, None),
];

const fn of(
    policy: &'static str,
    name: &'static str,
    study: &'static str,
    mean: f64,
    greatest: Option<f64>,
) -> Published {
    Published {
        policy,
        name,
        study,
        mean,
        greatest,
    }
}

/// The level at which the study of a policy counts errors.
pub(super) fn level_of(policy: &str) -> &'static str {
    match policy {
        "tea" => "event-stack",
        _ => "instruction",
    }
}

/// The number of samples that is held against `samples`: a quarter.
pub(super) fn fewer(samples: u64) -> u64 {
    (samples / 4).max(1)
}

/// A program on a machine: instructions that commit together, and the error of a policy.
#[derive(Clone, Debug)]
pub struct Point {
    /// The program.
    pub program: String,
    /// The machine.
    pub machine: String,
    /// Instructions per committing cycle.
    pub group: f64,
    /// The error with every cycle sampled, as a ratio.
    pub bias: f64,
}

/// The records of one instruction set.
pub struct Data<'a> {
    /// The machine asked for.
    pub machine: &'a str,
    /// Samples asked for.
    pub samples: u64,
    records: Vec<&'a UnitRecord>,
}

impl<'a> Data<'a> {
    /// The records of an instruction set.
    #[must_use]
    pub fn of(records: &'a [UnitRecord], isa: &str, machine: &'a str, samples: u64) -> Self {
        Data {
            machine,
            samples,
            records: records.iter().filter(|r| r.isa == isa).collect(),
        }
    }

    /// The machines, the one asked for first.
    #[must_use]
    pub fn machines(&self) -> Vec<&'a str> {
        let mut machines = vec![self.machine];
        for record in &self.records {
            if !machines.contains(&record.machine.as_str()) {
                machines.push(&record.machine);
            }
        }
        machines
    }

    /// The programs in the order in which they ran.
    #[must_use]
    pub fn programs(&self) -> Vec<&'a str> {
        let mut programs: Vec<&str> = Vec::new();
        for record in &self.records {
            if !programs.contains(&record.program.as_str()) {
                programs.push(&record.program);
            }
        }
        programs
    }

    fn values(
        &self,
        study: &str,
        machine: &str,
        wanted: impl Fn(&Measurement) -> bool,
    ) -> BTreeMap<&'a str, f64> {
        let of_study = |r: &&&UnitRecord| r.study == study && r.machine == machine;
        let records = self.records.iter().filter(of_study);
        let values = records.flat_map(|r| r.measurements.iter().filter(|m| wanted(m)));
        values.map(|m| (m.program.as_str(), m.value)).collect()
    }

    /// Errors of a policy at a level by program, with the samples asked for.
    #[must_use]
    pub fn errors(&self, machine: &str, policy: &str, level: &str) -> BTreeMap<&'a str, f64> {
        self.errors_of(machine, policy, level, self.samples)
    }

    /// Errors of a policy by instruction and program, with a quarter of the samples.
    #[must_use]
    pub fn errors_of_few(&self, policy: &str) -> BTreeMap<&'a str, f64> {
        let few = fewer(self.samples);
        self.errors_of(self.machine, policy, "instruction", few)
    }

    fn errors_of(
        &self,
        machine: &str,
        policy: &str,
        level: &str,
        samples: u64,
    ) -> BTreeMap<&'a str, f64> {
        self.values(PASSIVE, machine, |m| {
            m.scheme == policy
                && m.measure == "error_ratio"
                && m.setting == level
                && m.x == Some(samples as f64)
        })
    }

    /// Mean error of a policy over programs and half the width of its 95% interval, as its study counts errors: over
    /// event stacks for TEA, by instruction for the others.
    #[must_use]
    pub fn mean_error(&self, policy: &str) -> Option<(f64, Option<f64>)> {
        let errors = self.errors(self.machine, policy, level_of(policy));
        let errors: Vec<f64> = errors.into_values().collect();
        let summary = summarize(&errors);
        (!errors.is_empty()).then_some((summary.mean, summary.half_width))
    }

    /// Mean error of a policy over programs with every cycle sampled.
    #[must_use]
    pub fn mean_bias(&self, machine: &str, policy: &str) -> Option<f64> {
        let biases: Vec<f64> = self.biases(machine, policy).into_values().collect();
        (!biases.is_empty()).then(|| summarize(&biases).mean)
    }

    /// Errors of a policy by instruction and program with every cycle sampled.
    #[must_use]
    pub fn biases(&self, machine: &str, policy: &str) -> BTreeMap<&'a str, f64> {
        self.values(BIAS, machine, |m| {
            m.scheme == policy && m.measure == "bias_ratio" && m.setting == "instruction"
        })
    }

    /// The share of all cycles in a state, by program.
    #[must_use]
    pub fn shares(&self, machine: &str, state: &str) -> BTreeMap<&'a str, f64> {
        self.values(STATES, machine, |m| {
            m.measure == "share_ratio" && m.setting == state
        })
    }

    /// Instructions that commit together, by program.
    #[must_use]
    pub fn groups(&self, machine: &str) -> BTreeMap<&'a str, f64> {
        self.values(STATES, machine, |m| m.measure == GROUP)
    }

    /// Mean errors of as many independent draws from the exact profile as samples were taken, by program.
    #[must_use]
    pub fn draws(&self) -> BTreeMap<&'a str, f64> {
        self.values(STATES, self.machine, |m| {
            m.measure == DRAWS && m.x == Some(self.samples as f64)
        })
    }

    /// Samples of a policy that were taken, and those that were lost, summed over programs.
    #[must_use]
    pub fn taken_and_lost(&self, policy: &str) -> (f64, f64) {
        let sum = |measure: &str| -> f64 {
            let of_policy = |m: &Measurement| m.scheme == policy && m.measure == measure;
            self.values(PASSIVE, self.machine, of_policy).values().sum()
        };
        (sum("samples"), sum("lost_samples"))
    }

    /// Every program on every machine: instructions that commit together against the bias of a policy.
    #[must_use]
    pub fn points(&self, policy: &str) -> Vec<Point> {
        let mut points = Vec::new();
        for machine in self.machines() {
            let biases = self.biases(machine, policy);
            for (program, group) in self.groups(machine) {
                if let Some(&bias) = biases.get(program) {
                    points.push(Point {
                        program: program.to_string(),
                        machine: machine.to_string(),
                        group,
                        bias,
                    });
                }
            }
        }
        points
    }
}
