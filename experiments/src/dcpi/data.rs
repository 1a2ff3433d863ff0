//! Records of the study, by setting and measure.

use std::collections::BTreeMap;

use crate::table::{Cells, Mean, Table, distinct};

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

/// The programs of the evaluation, in the order of their names: those that were sampled, without the copy loop.
#[must_use]
pub fn programs<'a>(table: &Table<'a>) -> Vec<&'a str> {
    let sampled = by_program(table, &super::main_setting(), "samples");
    sampled.into_keys().collect()
}

/// The machines on which the analysis was tried, in the order in which that was measured.
#[must_use]
pub fn machines<'a>(table: &Table<'a>) -> Vec<&'a str> {
    distinct(table.all().filter_map(|m| m.setting.strip_prefix(MACHINE)))
}

/// A number of each program, by name.
#[must_use]
pub fn by_program<'a>(table: &Table<'a>, setting: &str, measure: &str) -> BTreeMap<&'a str, f64> {
    table.numbers(Cells::of(measure).setting(setting))
}

/// The mean of a number over programs, with its interval.
#[must_use]
pub fn mean_of(table: &Table<'_>, setting: &str, measure: &str) -> Option<Mean> {
    Mean::of(by_program(table, setting, measure).into_values())
}

/// The mean of a number over programs.
#[must_use]
pub fn mean(table: &Table<'_>, setting: &str, measure: &str) -> Option<f64> {
    Some(mean_of(table, setting, measure)?.value)
}

/// The histogram of an estimate, as the mean of the programs' percents by bucket.
#[must_use]
pub fn histogram(table: &Table<'_>, setting: &str, name: &str) -> [f64; 20] {
    let measure = format!("{name}_bucket_percent");
    let mut buckets = [0.0; 20];
    let programs = programs(table).len().max(1) as f64;
    for m in table.select(Cells::of(&measure).setting(setting)) {
        let at = m.x.map_or(0, |x| x as usize).min(19);
        buckets[at] += m.value / programs;
    }
    buckets
}

/// For each procedure its I-cache misses, and the bottom and the top of the cycles that it stalled for them.
#[must_use]
pub fn icache(table: &Table<'_>) -> Vec<(f64, f64, f64)> {
    let mut all: BTreeMap<&str, (f64, f64, f64)> = BTreeMap::new();
    for m in table.all() {
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
