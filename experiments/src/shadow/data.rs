//! Records of the study, by setting and measure.

use std::collections::{BTreeMap, BTreeSet};

use super::executed::{Kind, Means};
use super::{bursts, chip};
use crate::measurement::UnitRecord;
use crate::table::Table;

/// The scheme of numbers about shadows; what is counted by cause has that as its scheme.
pub const SCHEME: &str = "shadow";

/// The measurements of one instruction set.
pub struct Data<'a> {
    found: Table<'a>,
    /// Instructions of the samples of the grid, in ascending order.
    pub samples: Vec<u64>,
}

impl<'a> Data<'a> {
    /// The records of programs of an instruction set, measured with samples of these sizes.
    #[must_use]
    pub fn of(records: &'a [UnitRecord], isa: &str, samples: &[u64]) -> Data<'a> {
        Data {
            found: Table::of(records, isa),
            samples: samples.to_vec(),
        }
    }

    /// The table that it looks at.
    #[must_use]
    pub fn table(&self) -> &Table<'a> {
        &self.found
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

    /// A number of each program that is not of shadows themselves: of executed instrumentation, of chips.
    #[must_use]
    pub fn of_scheme(&self, scheme: &str, setting: &str, measure: &str) -> BTreeMap<&'a str, f64> {
        self.found.by_program(scheme, setting, measure)
    }

    /// Mean, least and largest slowdown of instrumentation over programs.
    #[must_use]
    pub fn slowdown(&self, kind: Kind, means: Means) -> Option<(f64, f64, f64)> {
        let all = self.of_scheme(means.name(), kind.name(), "slowdown_ratio");
        let mean = self
            .found
            .mean(means.name(), kind.name(), "slowdown_ratio")?;
        let least = all.values().copied().fold(f64::INFINITY, f64::min);
        let largest = all.values().copied().fold(0.0, f64::max);
        Some((mean, least, largest))
    }

    /// The mean overhead of HPS's bursts at a frequency, and the mean overlap of calls that they find, over programs.
    #[must_use]
    pub fn bursts(&self, one_in: u64) -> Option<(f64, f64)> {
        let setting = bursts::setting(one_in);
        let mean = |measure| self.found.mean(bursts::SCHEME, &setting, measure);
        mean("overhead_ratio").zip(mean("call_overlap_ratio"))
    }

    /// The machines on whose other contexts shadows ran.
    #[must_use]
    pub fn chips(&self) -> Vec<String> {
        let of_chips = self.found.all().filter(|m| m.scheme == chip::SCHEME);
        let names = of_chips.filter_map(|m| chip::machine_of(&m.setting));
        let all: BTreeSet<&str> = names.collect();
        all.into_iter().map(str::to_string).collect()
    }

    /// The mean of a number of shadows on a chip, over programs.
    #[must_use]
    pub fn on_chip(&self, machine: &str, slowdown: f64, measure: &str) -> Option<f64> {
        (self.found).mean(chip::SCHEME, &chip::setting(machine, slowdown), measure)
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
