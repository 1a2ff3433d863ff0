//! Groups of programs by what their cycles go to, as the TIP study parts them, with the stalls for memory apart.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::states::MEMORY;
use crate::measurement::Measurement;

/// From this share of cycles in which instructions commit, a program computes.
const COMPUTES: f64 = 0.5;
/// From this share of cycles behind flushes, a program that does not compute flushes.
const FLUSHES: f64 = 0.03;

/// A group of programs by what their cycles go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Instructions commit in more than half of them.
    Computing,
    /// Else: most of the rest are stalls for memory beyond the first level, or for translations.
    Memory,
    /// Else: more than 3% are behind flushes.
    Flushing,
    /// All others.
    Stalling,
}

impl Group {
    /// All of them.
    pub const ALL: [Group; 4] = [
        Group::Computing,
        Group::Memory,
        Group::Flushing,
        Group::Stalling,
    ];

    /// The name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Group::Computing => "computing",
            Group::Memory => "waiting for memory",
            Group::Flushing => "flushing",
            Group::Stalling => "stalling otherwise",
        }
    }

    /// Of shares of cycles: committing, behind flushes, stalled for memory.
    fn of(computing: f64, flushed: f64, memory: f64) -> Group {
        match () {
            () if computing > COMPUTES => Group::Computing,
            () if memory > (1.0 - computing) / 2.0 => Group::Memory,
            () if flushed > FLUSHES => Group::Flushing,
            () => Group::Stalling,
        }
    }
}

/// The group of each program whose states are known.
pub(super) fn of(measurements: &[&Measurement]) -> BTreeMap<String, Group> {
    let share = |program: &str, measure: &str, setting: &str| {
        let wanted = |m: &&&Measurement| {
            m.scheme.is_empty()
                && m.program == program
                && (&*m.measure, &*m.setting) == (measure, setting)
        };
        measurements.iter().find(wanted).map(|m| m.value)
    };
    let known = measurements.iter().filter(|m| m.measure == MEMORY);
    let group = known.filter_map(|m| {
        let computing = share(&m.program, "share_ratio", "computing")?;
        let flushed = share(&m.program, "share_ratio", "flushed")?;
        Some((m.program.clone(), Group::of(computing, flushed, m.value)))
    });
    group.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_group_that_fits_counts() {
        assert_eq!(Group::of(0.51, 0.3, 0.1), Group::Computing);
        assert_eq!(Group::of(0.3, 0.2, 0.4), Group::Memory);
        assert_eq!(Group::of(0.3, 0.2, 0.3), Group::Flushing);
        assert_eq!(Group::of(0.3, 0.02, 0.3), Group::Stalling);
    }
}
