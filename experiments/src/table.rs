//! The one table of what was measured: rows of one instruction set, asked for by named dimensions.

use std::collections::{BTreeMap, BTreeSet};

use hps_pipeline::config::MachineConfig;
use hps_profile::summarize;

use crate::claims::statement::rounded;
use crate::measurement::{Measurement, UnitRecord};

/// Which cells of the table are asked for: a dimension that is not named may have any value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cells<'c> {
    measure: &'c str,
    study: Option<&'c str>,
    machine: Option<&'c str>,
    scheme: Option<&'c str>,
    setting: Option<&'c str>,
    x: Option<f64>,
}

impl<'c> Cells<'c> {
    /// The cells of a measure.
    #[must_use]
    pub fn of(measure: &'c str) -> Cells<'c> {
        Cells {
            measure,
            ..Cells::default()
        }
    }

    /// Keeps the cells of units of a study.
    #[must_use]
    pub fn study(self, study: &'c str) -> Cells<'c> {
        Cells {
            study: Some(study),
            ..self
        }
    }

    /// Keeps the cells of units that ran on a machine.
    #[must_use]
    pub fn machine(self, machine: &'c str) -> Cells<'c> {
        Cells {
            machine: Some(machine),
            ..self
        }
    }

    /// Keeps the cells of a scheme.
    #[must_use]
    pub fn scheme(self, scheme: &'c str) -> Cells<'c> {
        Cells {
            scheme: Some(scheme),
            ..self
        }
    }

    /// Keeps the cells of a setting.
    #[must_use]
    pub fn setting(self, setting: &'c str) -> Cells<'c> {
        Cells {
            setting: Some(setting),
            ..self
        }
    }

    /// Keeps the cells at a place on the axis of the setting.
    #[must_use]
    pub fn x(self, x: f64) -> Cells<'c> {
        Cells { x: Some(x), ..self }
    }

    fn holds(&self, record: &UnitRecord, m: &Measurement) -> bool {
        m.measure == self.measure
            && self.scheme.is_none_or(|scheme| m.scheme == scheme)
            && self.setting.is_none_or(|setting| m.setting == setting)
            && self.x.is_none_or(|x| m.x == Some(x))
            && self.study.is_none_or(|study| record.study == study)
            && self.machine.is_none_or(|machine| record.machine == machine)
    }
}

/// A mean over programs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Half the width of the 95% interval of the mean over other programs like these, by Student's t; `None` of fewer than
    /// two programs.
    pub half_width: Option<f64>,
    /// Programs.
    pub count: usize,
}

impl Mean {
    /// The mean of values, one of each program; `None` of no values.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Mean> {
        let values: Vec<f64> = values.into_iter().collect();
        let summary = summarize(&values);
        (!values.is_empty()).then_some(Mean {
            value: summary.mean,
            half_width: summary.half_width,
            count: summary.count,
        })
    }

    /// A mean of ratios in percent, with its interval: `92.7 ± 1.3%`.
    #[must_use]
    pub fn percent(&self, decimals: usize) -> String {
        let half = self.half_width;
        let half = half.map(|half| format!(" ± {:.decimals$}", 100.0 * half));
        let value = rounded(decimals, 100.0 * self.value);
        format!("{value}{}%", half.unwrap_or_default())
    }

    /// "1 program", "mean of 10 programs".
    #[must_use]
    pub fn over(&self) -> String {
        match self.count {
            1 => "1 program".to_string(),
            count => format!("mean of {count} programs"),
        }
    }
}

/// Measurements for one instruction set.
pub struct Table<'a> {
    /// The machine's name.
    pub machine: String,
    /// The machine's description, without its name.
    machine_text: String,
    rows: Vec<(&'a UnitRecord, &'a Measurement)>,
}

impl<'a> Table<'a> {
    /// The measurements of an instruction set among records.
    #[must_use]
    pub fn of(records: &'a [UnitRecord], isa: &str) -> Table<'a> {
        let wanted = records.iter().filter(|r| r.isa == isa);
        let first = wanted.clone().next();
        let machine = first.map_or("", |r| &r.machine);
        Table {
            machine: machine.to_string(),
            machine_text: first.map_or_else(String::new, |r| r.machine_fingerprint.clone()),
            rows: wanted
                .flat_map(|r| r.measurements.iter().map(move |m| (r, m)))
                .collect(),
        }
    }

    /// Instructions that the machine commits in a cycle at most; `None` if its description is not known.
    #[must_use]
    pub fn commit_width(&self) -> Option<u32> {
        let described = MachineConfig::from_ron(&self.machine_text, &self.machine);
        let machine = described.or_else(|_| MachineConfig::preset(&self.machine));
        Some(machine.ok()?.window.commit_width)
    }

    /// All measurements, in the order of their records.
    pub fn all(&self) -> impl Iterator<Item = &'a Measurement> {
        self.rows.iter().map(|(_, m)| *m)
    }

    /// The machines, in the order in which they were measured.
    #[must_use]
    pub fn machines(&self) -> Vec<&'a str> {
        distinct(self.rows.iter().map(|(record, _)| record.machine.as_str()))
    }

    /// All programs, in the order in which they were measured.
    #[must_use]
    pub fn all_programs(&self) -> Vec<&'a str> {
        distinct(self.rows.iter().map(|(record, _)| record.program.as_str()))
    }

    /// The programs of which a scheme was measured, by name.
    #[must_use]
    pub fn programs(&self, scheme: &str) -> Vec<&'a str> {
        let of = self.all().filter(|m| m.scheme == scheme);
        let all: BTreeSet<&str> = of.map(|m| m.program.as_str()).collect();
        all.into_iter().collect()
    }

    /// The cells asked for.
    pub fn select<'c>(&'c self, cells: Cells<'c>) -> impl Iterator<Item = &'a Measurement> + 'c {
        let wanted = move |(record, m): &&(&UnitRecord, &Measurement)| cells.holds(record, m);
        self.rows.iter().filter(wanted).map(|(_, m)| *m)
    }

    /// The numbers in the cells asked for, one of each program, by name.
    #[must_use]
    pub fn numbers(&self, cells: Cells<'_>) -> BTreeMap<&'a str, f64> {
        let all = self.select(cells);
        all.map(|m| (m.program.as_str(), m.value)).collect()
    }

    /// The mean over programs of the cells asked for.
    #[must_use]
    pub fn mean_of(&self, cells: Cells<'_>) -> Option<Mean> {
        Mean::of(self.numbers(cells).into_values())
    }

    /// A number of each program, by name.
    #[must_use]
    pub fn by_program(&self, scheme: &str, setting: &str, measure: &str) -> BTreeMap<&'a str, f64> {
        self.numbers(Cells::of(measure).scheme(scheme).setting(setting))
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
    ) -> Option<Mean> {
        let base = self.by_program(scheme, over, measure);
        let all = self.by_program(scheme, setting, measure);
        Mean::of(paired(&all, &base).map(|(value, base)| value / base - 1.0))
    }
}

/// The values of programs that both have.
pub(crate) fn paired<'c>(
    a: &'c BTreeMap<&str, f64>,
    b: &'c BTreeMap<&str, f64>,
) -> impl Iterator<Item = (f64, f64)> + 'c {
    (a.iter()).filter_map(|(program, a)| Some((*a, *b.get(program)?)))
}

/// Names once each, in the order of their first places.
pub(crate) fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// The mean of values; `None` of none.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    Some(Mean::of(values)?.value)
}
