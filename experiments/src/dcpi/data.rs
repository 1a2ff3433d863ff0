//! What the records of the study say.

use std::collections::BTreeMap;

use crate::measurement::{Measurement, UnitRecord};

/// The measurements of one instruction set.
pub struct Data<'a> {
    /// The machine's name.
    pub machine: String,
    measurements: Vec<&'a Measurement>,
}

/// The setting of what was measured on one of several machines.
#[must_use]
pub fn setting_of(machine: &str) -> String {
    format!("{MACHINE}{machine}")
}

const MACHINE: &str = "machine=";

/// The name of a bucket of a histogram of errors, by its place.
#[must_use]
pub fn bucket_name(at: usize) -> String {
    match at {
        0 => "<-45".to_string(),
        19 => ">45".to_string(),
        at => format!("{}", 5 * at as i64 - 50),
    }
}

impl<'a> Data<'a> {
    /// The records of programs of an instruction set.
    #[must_use]
    pub fn of(records: &'a [UnitRecord], isa: &str) -> Data<'a> {
        let wanted = records.iter().filter(|r| r.isa == isa);
        let machine = wanted.clone().next().map_or("", |r| &r.machine);
        Data {
            machine: machine.to_string(),
            measurements: wanted.flat_map(|r| &r.measurements).collect(),
        }
    }

    /// The programs, in the order of their names.
    #[must_use]
    pub fn programs(&self) -> Vec<&'a str> {
        let all: std::collections::BTreeSet<&str> = self
            .measurements
            .iter()
            .map(|m| m.program.as_str())
            .collect();
        all.into_iter().collect()
    }

    /// The machines on which the analysis was tried, in the order in which that was measured.
    #[must_use]
    pub fn machines(&self) -> Vec<&'a str> {
        let mut all = Vec::new();
        for m in &self.measurements {
            if let Some(machine) = m.setting.strip_prefix(MACHINE)
                && !all.contains(&machine)
            {
                all.push(machine);
            }
        }
        all
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

    /// The histogram of an estimate, as the mean of the programs' percents by bucket.
    #[must_use]
    pub fn histogram(&self, setting: &str, name: &str) -> [f64; 20] {
        let measure = format!("{name}_bucket_percent");
        let mut buckets = [0.0; 20];
        let programs = self.programs().len().max(1) as f64;
        for m in &self.measurements {
            if m.setting == setting && m.measure == measure {
                let at = m.x.map_or(0, |x| x as usize).min(19);
                buckets[at] += m.value / programs;
            }
        }
        buckets
    }

    /// For each procedure its I-cache misses, and the bottom and the top of the cycles that it stalled for them.
    #[must_use]
    pub fn icache(&self) -> Vec<(f64, f64, f64)> {
        let mut all: BTreeMap<&str, (f64, f64, f64)> = BTreeMap::new();
        for m in &self.measurements {
            let place = || m.scheme.as_str();
            match m.measure.as_str() {
                "icache_misses" => all.entry(place()).or_default().0 = m.value,
                "icache_stall_bottom_cycles" => all.entry(place()).or_default().1 = m.value,
                "icache_stall_top_cycles" => all.entry(place()).or_default().2 = m.value,
                _ => {}
            }
        }
        all.into_values().collect()
    }
}
