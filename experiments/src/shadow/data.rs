//! What the records of the study say.

use std::collections::{BTreeMap, BTreeSet};

use crate::measurement::{Measurement, UnitRecord};

/// The measurements of one instruction set.
pub struct Data<'a> {
    /// The machine's name.
    pub machine: String,
    /// Instructions of the samples of the grid, in ascending order.
    pub samples: Vec<u64>,
    measurements: Vec<&'a Measurement>,
}

impl<'a> Data<'a> {
    /// The records of programs of an instruction set, measured with samples of these sizes.
    #[must_use]
    pub fn of(records: &'a [UnitRecord], isa: &str, samples: &[u64]) -> Data<'a> {
        let wanted = records.iter().filter(|r| r.isa == isa);
        let machine = wanted.clone().next().map_or("", |r| &r.machine);
        Data {
            machine: machine.to_string(),
            samples: samples.to_vec(),
            measurements: wanted.flat_map(|r| &r.measurements).collect(),
        }
    }

    /// The programs, in the order of their names.
    #[must_use]
    pub fn programs(&self) -> Vec<&'a str> {
        let all: BTreeSet<&str> = self
            .measurements
            .iter()
            .map(|m| m.program.as_str())
            .collect();
        all.into_iter().collect()
    }

    /// A number of each program, by name.
    #[must_use]
    pub fn by_program(&self, setting: &str, measure: &str) -> BTreeMap<&'a str, f64> {
        let wanted = self.measurements.iter();
        wanted
            .filter(|m| m.setting == setting && m.measure == measure)
            .map(|m| (m.program.as_str(), m.value))
            .collect()
    }

    /// The mean of a number over programs.
    #[must_use]
    pub fn mean(&self, setting: &str, measure: &str) -> Option<f64> {
        let all = self.by_program(setting, measure);
        (!all.is_empty()).then(|| all.values().sum::<f64>() / all.len() as f64)
    }

    /// Counts by what is counted (a cause, a group, why shadows ended), over all programs.
    #[must_use]
    pub fn counted(&self, setting: &str, measure: &str) -> BTreeMap<&'a str, f64> {
        let mut all = BTreeMap::new();
        for m in &self.measurements {
            if m.setting == setting && m.measure == measure {
                *all.entry(m.scheme.as_str()).or_default() += m.value;
            }
        }
        all
    }

    /// System calls by group: for each place in time how many there were, over all programs.
    #[must_use]
    pub fn calls_over_time(&self) -> BTreeMap<&'a str, Vec<(f64, f64)>> {
        let mut all: BTreeMap<&str, BTreeMap<u64, f64>> = BTreeMap::new();
        for m in &self.measurements {
            if m.setting == "time" && m.measure == "calls" {
                let at = m.x.unwrap_or(0.0) as u64;
                *all.entry(m.scheme.as_str())
                    .or_default()
                    .entry(at)
                    .or_default() += m.value;
            }
        }
        let points = |by_time: BTreeMap<u64, f64>| {
            (0..super::TIMES)
                .map(|at| (at as f64, by_time.get(&at).copied().unwrap_or(0.0)))
                .collect()
        };
        all.into_iter()
            .map(|(group, by_time)| (group, points(by_time)))
            .collect()
    }
}
