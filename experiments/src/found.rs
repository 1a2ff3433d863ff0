//! Measurements of one instruction set, asked for by what was measured.

use std::collections::{BTreeMap, BTreeSet};

use hps_pipeline::config::MachineConfig;

use crate::measurement::{Measurement, UnitRecord};

/// What was measured for one instruction set.
pub struct Found<'a> {
    /// The machine's name.
    pub machine: String,
    /// The machine's description, without its name.
    machine_text: String,
    measurements: Vec<&'a Measurement>,
}

impl<'a> Found<'a> {
    /// The measurements of an instruction set among records.
    #[must_use]
    pub fn of(records: &'a [UnitRecord], isa: &str) -> Found<'a> {
        let wanted = records.iter().filter(|r| r.isa == isa);
        let first = wanted.clone().next();
        let machine = first.map_or("", |r| &r.machine);
        Found {
            machine: machine.to_string(),
            machine_text: first.map_or_else(String::new, |r| r.machine_fingerprint.clone()),
            measurements: wanted.flat_map(|r| &r.measurements).collect(),
        }
    }

    /// Instructions that the machine commits in a cycle at most; `None` if its description is not known.
    #[must_use]
    pub fn commit_width(&self) -> Option<u32> {
        let described = MachineConfig::from_ron(&self.machine_text, &self.machine);
        let machine = described.or_else(|_| MachineConfig::preset(&self.machine));
        Some(machine.ok()?.window.commit_width)
    }

    /// All of them, in the order of their records.
    pub fn all(&self) -> impl Iterator<Item = &'a Measurement> {
        self.measurements.iter().copied()
    }

    /// The programs of which a scheme was measured, by name.
    #[must_use]
    pub fn programs(&self, scheme: &str) -> Vec<&'a str> {
        let of = self.measurements.iter().filter(|m| m.scheme == scheme);
        let all: BTreeSet<&str> = of.map(|m| m.program.as_str()).collect();
        all.into_iter().collect()
    }

    /// A number of each program, by name.
    #[must_use]
    pub fn by_program(&self, scheme: &str, setting: &str, measure: &str) -> BTreeMap<&'a str, f64> {
        let wanted = self
            .measurements
            .iter()
            .filter(|m| m.scheme == scheme && m.setting == setting && m.measure == measure);
        wanted.map(|m| (m.program.as_str(), m.value)).collect()
    }

    /// The mean of a number over programs.
    #[must_use]
    pub fn mean(&self, scheme: &str, setting: &str, measure: &str) -> Option<f64> {
        mean(self.by_program(scheme, setting, measure).into_values())
    }

    /// The mean over programs of a number of one setting over that of another, less one.
    #[must_use]
    pub fn mean_excess(
        &self,
        scheme: &str,
        setting: &str,
        over: &str,
        measure: &str,
    ) -> Option<f64> {
        let (all, base) = (
            self.by_program(scheme, setting, measure),
            self.by_program(scheme, over, measure),
        );
        let both = all
            .iter()
            .filter_map(|(name, value)| Some(value / base.get(name)? - 1.0));
        mean(both)
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
