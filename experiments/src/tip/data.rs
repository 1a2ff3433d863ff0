//! Measurements by machine, policy and level.

use std::collections::BTreeMap;

use crate::leaderboard::{BIAS, DRAWS, GROUP, PASSIVE, STATES};
use crate::measurement::UnitRecord;
use crate::table::{Cells, Mean, Table, mean};

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
pub const PUBLISHED: [Published; 10] = [
    of("software", "Software", TIP, 0.618, None),
    of("ibs", "Dispatch (AMD IBS, Arm SPE)", TIP, 0.531, None),
    of(
        "ibs-row",
        "Dispatch, as the authors' trace workers count it",
        TIP,
        0.531,
        None,
    ),
    of("lci", "LCI (external monitors)", TIP, 0.554, None),
    of(
        "lci-before",
        "LCI, as the authors' trace workers count it",
        TIP,
        0.554,
        None,
    ),
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

/// Measurements for one instruction set, as the studies ask for them.
pub struct Data<'a> {
    /// The machine asked for.
    pub machine: &'a str,
    /// Samples asked for.
    pub samples: u64,
    table: Table<'a>,
}

impl<'a> Data<'a> {
    /// The records of an instruction set.
    #[must_use]
    pub fn of(records: &'a [UnitRecord], isa: &str, machine: &'a str, samples: u64) -> Self {
        Data {
            machine,
            samples,
            table: Table::of(records, isa),
        }
    }

    /// The machines, the one asked for first.
    #[must_use]
    pub fn machines(&self) -> Vec<&'a str> {
        let mut machines = self.table.machines();
        machines.retain(|machine| *machine != self.machine);
        machines.insert(0, self.machine);
        machines
    }

    /// The programs in the order in which they ran.
    #[must_use]
    pub fn programs(&self) -> Vec<&'a str> {
        self.table.all_programs()
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
        let errors = Cells::of("error_ratio").study(PASSIVE).machine(machine);
        let of_level = errors.scheme(policy).setting(level);
        self.table.numbers(of_level.x(samples as f64))
    }

    /// Mean error of a policy over programs, as its study counts errors: over event stacks for TEA, by instruction for the
    /// others.
    #[must_use]
    pub fn mean_error(&self, policy: &str) -> Option<Mean> {
        let errors = self.errors(self.machine, policy, level_of(policy));
        Mean::of(errors.into_values())
    }

    /// Mean error of a policy over programs with every cycle sampled.
    #[must_use]
    pub fn mean_bias(&self, machine: &str, policy: &str) -> Option<f64> {
        mean(self.biases(machine, policy).into_values())
    }

    /// Errors of a policy by instruction and program with every cycle sampled.
    #[must_use]
    pub fn biases(&self, machine: &str, policy: &str) -> BTreeMap<&'a str, f64> {
        let biases = Cells::of("bias_ratio").study(BIAS).machine(machine);
        self.table
            .numbers(biases.scheme(policy).setting("instruction"))
    }

    /// The share of all cycles in a state, by program.
    #[must_use]
    pub fn shares(&self, machine: &str, state: &str) -> BTreeMap<&'a str, f64> {
        let shares = Cells::of("share_ratio").study(STATES).machine(machine);
        self.table.numbers(shares.setting(state))
    }

    /// Instructions that commit together, by program.
    #[must_use]
    pub fn groups(&self, machine: &str) -> BTreeMap<&'a str, f64> {
        self.table
            .numbers(Cells::of(GROUP).study(STATES).machine(machine))
    }

    /// Mean errors of as many independent draws from the exact profile as samples were taken, by program.
    #[must_use]
    pub fn draws(&self) -> BTreeMap<&'a str, f64> {
        let draws = Cells::of(DRAWS).study(STATES).machine(self.machine);
        self.table.numbers(draws.x(self.samples as f64))
    }

    /// Samples of a policy that were taken, and those that were lost, summed over programs.
    #[must_use]
    pub fn taken_and_lost(&self, policy: &str) -> (f64, f64) {
        let sum = |measure: &str| -> f64 {
            let cells = Cells::of(measure).study(PASSIVE).machine(self.machine);
            self.table.numbers(cells.scheme(policy)).values().sum()
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
