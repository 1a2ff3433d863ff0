//! What the records of the study say.

use std::collections::BTreeMap;

use crate::found::Found;
use crate::measurement::UnitRecord;

/// The scheme of numbers about shadows; what is counted by cause has that as its scheme.
const SCHEME: &str = "shadow";

/// The measurements of one instruction set.
pub struct Data<'a> {
    found: Found<'a>,
    /// Instructions of the samples of the grid, in ascending order.
    pub samples: Vec<u64>,
}

impl<'a> Data<'a> {
    /// The records of programs of an instruction set, measured with samples of these sizes.
    #[must_use]
    pub fn of(records: &'a [UnitRecord], isa: &str, samples: &[u64]) -> Data<'a> {
        Data {
            found: Found::of(records, isa),
            samples: samples.to_vec(),
        }
    }

    /// The machine's name.
    #[must_use]
    pub fn machine(&self) -> &str {
        &self.found.machine
    }

    /// The programs, in the order of their names.
    #[must_use]
    pub fn programs(&self) -> Vec<&'a str> {
        self.found.programs(SCHEME)
    }

    /// A number of each program, by name.
    #[must_use]
    pub fn by_program(&self, setting: &str, measure: &str) -> BTreeMap<&'a str, f64> {
        self.found.by_program(SCHEME, setting, measure)
    }

    /// The mean of a number over programs.
    #[must_use]
    pub fn mean(&self, setting: &str, measure: &str) -> Option<f64> {
        self.found.mean(SCHEME, setting, measure)
    }

    /// Counts by what is counted (a cause, a group, why shadows ended), over all programs.
    #[must_use]
    pub fn counted(&self, setting: &str, measure: &str) -> BTreeMap<&'a str, f64> {
        let mut all = BTreeMap::new();
        for m in self.found.all() {
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
        for m in self.found.all() {
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
