//! Worth of profiles to a compiler: tables of the records.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{PLAIN, STUDY};
use crate::leaderboard::board::mean;
use crate::leaderboard::mean::Mean;
use crate::measurement::{Measurement, UnitRecord};

/// Worth of each profile to a compiler on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Worth {
    /// Instruction set.
    pub isa: String,
    /// Machine.
    pub machine: String,
    /// Programs, in the order of results.
    pub programs: Vec<String>,
    /// Cycles of each program without a profile, in the mean over orders of its functions.
    pub plain_cycles: BTreeMap<String, Mean>,
    /// Profiles, the greatest gain first.
    pub profiles: Vec<Profiled>,
}

/// A profile and what it is worth.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Profiled {
    /// Name of the profile.
    pub name: String,
    /// In the mean over programs.
    pub mean: Figures,
    /// Each program by itself; intervals are over orders of its functions.
    pub by_program: BTreeMap<String, Figures>,
}

/// Gain and errors, for one program or as means over programs, as ratios.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Figures {
    /// Cycles without the profile for each cycle with it, less one.
    pub gain: Option<Mean>,
    /// `1 - overlap` by instruction with the cycles of the run that was profiled.
    pub error: Option<Mean>,
    /// `1 - overlap` by instruction with the numbers of executions in that run.
    pub count_error: Option<Mean>,
}

impl Figures {
    /// Whether the 95% interval of the gain holds 0.
    #[must_use]
    pub fn is_noise(&self) -> bool {
        let within = |gain: Mean| {
            gain.interval
                .is_none_or(|(low, high)| low <= 0.0 && high >= 0.0)
        };
        self.gain.is_none_or(within)
    }
}

/// The tables of records: one for each machine. None if nothing was compiled.
#[must_use]
pub fn worth(records: &[UnitRecord]) -> Vec<Worth> {
    let mut groups: Vec<(&str, &str, Vec<&UnitRecord>)> = Vec::new();
    for record in records.iter().filter(|r| r.study == STUDY) {
        let found = groups
            .iter_mut()
            .find(|g| g.0 == record.isa && g.1 == record.machine);
        match found {
            Some(group) => group.2.push(record),
            None => groups.push((&record.isa, &record.machine, vec![record])),
        }
    }
    let groups = groups.into_iter();
    groups
        .map(|(isa, machine, records)| of_group(isa, machine, &records))
        .filter(|worth| !worth.profiles.is_empty())
        .collect()
}

fn of_group(isa: &str, machine: &str, records: &[&UnitRecord]) -> Worth {
    let all: Vec<&Measurement> = records.iter().flat_map(|r| &r.measurements).collect();
    let mut programs: Vec<String> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for m in &all {
        if !programs.contains(&m.program) {
            programs.push(m.program.clone());
        }
        if m.scheme != PLAIN && !names.contains(&m.scheme.as_str()) {
            names.push(&m.scheme);
        }
    }
    let of = |name: &str, program: Option<&str>| -> Vec<&Measurement> {
        let wanted = |m: &&&Measurement| {
            m.scheme == name && program.is_none_or(|program| m.program == program)
        };
        all.iter().filter(wanted).copied().collect()
    };
    let mut profiles: Vec<Profiled> = (names.iter())
        .map(|name| Profiled {
            name: (*name).to_string(),
            mean: figures(&of(name, None)),
            by_program: (programs.iter())
                .map(|program| (program.clone(), figures(&of(name, Some(program)))))
                .collect(),
        })
        .collect();
    let gain = |profile: &Profiled| profile.mean.gain.map_or(f64::MIN, |gain| gain.mean);
    profiles.sort_by(|a, b| gain(b).total_cmp(&gain(a)));
    let plain_cycles = programs.iter().filter_map(|program| {
        let cycles = of_measure(&of(PLAIN, Some(program)), "cycles")?;
        Some((program.clone(), cycles))
    });
    Worth {
        isa: isa.to_string(),
        machine: machine.to_string(),
        plain_cycles: plain_cycles.collect(),
        profiles,
        programs,
    }
}

fn figures(measurements: &[&Measurement]) -> Figures {
    Figures {
        gain: of_measure(measurements, "gain_ratio"),
        error: of_measure(measurements, "error_ratio"),
        count_error: of_measure(measurements, "count_error_ratio"),
    }
}

fn of_measure(measurements: &[&Measurement], measure: &str) -> Option<Mean> {
    let values = measurements.iter().filter(|m| m.measure == measure);
    let values: Vec<&Measurement> = values.copied().collect();
    (!values.is_empty()).then(|| mean(&values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hps_pipeline::core::CoreKind;

    fn record(program: &str, gains: &[(&str, f64, f64)]) -> UnitRecord {
        let one = |name: &str, measure: &str, value, interval| Measurement {
            program: program.to_string(),
            isa: "riscv64".to_string(),
            profile: None,
            scheme: name.to_string(),
            burst: None,
            one_in: None,
            setting: String::new(),
            x: None,
            measure: measure.to_string(),
            value,
            interval,
            run: None,
        };
        let mut measurements = vec![one(PLAIN, "cycles", 100.0, Some(1.0))];
        for &(name, gain, half) in gains {
            measurements.push(one(name, "gain_ratio", gain, Some(half)));
            measurements.push(one(name, "error_ratio", 0.5, None));
        }
        UnitRecord {
            id: String::new(),
            version: String::new(),
            study: STUDY.to_string(),
            program: program.to_string(),
            program_hash: String::new(),
            isa: "riscv64".to_string(),
            input: "small".to_string(),
            machine: "m".to_string(),
            machine_fingerprint: String::new(),
            core: CoreKind::Cycle,
            measurements,
            failure: None,
        }
    }

    #[test]
    fn profiles_stand_by_their_mean_gain_and_noise_is_told() {
        let records = [
            record("a", &[("tip", 0.01, 0.02), ("nci", 0.05, 0.01)]),
            record("b", &[("tip", 0.03, 0.02), ("nci", -0.05, 0.01)]),
        ];
        let all = worth(&records);
        let [worth] = all.as_slice() else {
            panic!("one machine");
        };
        let names: Vec<&str> = worth.profiles.iter().map(|p| p.name.as_str()).collect();
        // In the mean 0.02 and 0.
        assert_eq!(names, ["tip", "nci"]);
        assert_eq!(worth.programs, ["a", "b"]);
        let tip = &worth.profiles[0];
        assert!((tip.mean.gain.expect("gain").mean - 0.02).abs() < 1e-12);
        assert!(tip.by_program["a"].is_noise() && !tip.by_program["b"].is_noise());
        assert_eq!(worth.plain_cycles["a"].mean, 100.0);
        assert_eq!(worth.plain_cycles["a"].half_width(), Some(1.0));
    }
}
