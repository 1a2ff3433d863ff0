//! How a sampled profile compares with the perfect one of the same kind.

use std::hash::Hash;

use hps_profile::{Profile, overlap_without_cut};
use rustc_hash::FxHashSet;

use crate::paths::Paths;
use crate::values::ValueProfiler;

/// The share of the perfect profile's paths that counts as hot. (The text of the paper that is at hand has lost its
/// number; it speaks of the top five.)
pub const HOT_SHARE: f64 = 0.05;

/// Wall's weight matching (Wall, "Predicting Program Behavior Using Real or Estimated Profiles", PLDI 1991): the weight
/// of hot paths that the sampled profile has among its own hottest ones, by the weight of all hot paths. 0 to 1; `None`
/// if the perfect profile is empty.
///
/// A path weighs its executions times its length. Hot are the heaviest paths of the perfect profile, [`HOT_SHARE`] of
/// them and at least one; as many of the sampled profile are held against them.
#[must_use]
pub fn hot_path_accuracy<K: Eq + Hash + Copy + Ord>(
    perfect: &Paths<K>,
    sampled: &Paths<K>,
) -> Option<f64> {
    let hot = ((perfect.all.len() as f64 * HOT_SHARE).ceil() as usize).max(1);
    let actual = heaviest(perfect, hot);
    let estimated: FxHashSet<K> = heaviest(sampled, hot).into_iter().map(|(k, _)| k).collect();
    let total: u64 = actual.iter().map(|(_, weight)| weight).sum();
    let both = actual.iter().filter(|(k, _)| estimated.contains(k));
    let matched: u64 = both.map(|(_, weight)| weight).sum();
    (total > 0).then(|| matched as f64 / total as f64)
}

fn heaviest<K: Eq + Hash + Copy + Ord>(paths: &Paths<K>, count: usize) -> Vec<(K, u64)> {
    let mut all: Vec<(K, u64)> = paths.all.iter().map(|(k, e)| (*k, e.weight())).collect();
    all.sort_by_key(|(path, weight)| (std::cmp::Reverse(*weight), *path));
    all.truncate(count);
    all
}

/// The overlap of a sampled profile with the perfect one, 0 to 1. `None` if the perfect one is empty.
#[must_use]
pub fn overlap<K: Ord + Hash + Clone>(perfect: &Profile<K>, sampled: &Profile<K>) -> Option<f64> {
    (!perfect.is_empty()).then(|| overlap_without_cut(sampled, perfect))
}

/// The difference between the invariances of two value profiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InvarianceDifference {
    /// The mean over instructions whose most frequent value both profiles have, weighted by their executions in the
    /// perfect one. 0 to 1.
    pub mean: f64,
    /// The share of executions that these instructions have, 0 to 1.
    pub share: f64,
}

/// Compares the invariances of instructions. `None` if no instruction's most frequent value is in both profiles.
#[must_use]
pub fn invariance_difference(
    perfect: &ValueProfiler,
    sampled: &ValueProfiler,
) -> Option<InvarianceDifference> {
    let (mut sum, mut compared, mut total) = (0.0, 0_u64, 0_u64);
    for (pc, table) in perfect.tables() {
        total += table.executions;
        let Some(((value, count), other)) = table.top().zip(sampled.table(*pc)) else {
            continue;
        };
        let Some(seen) = other.count(value) else {
            continue;
        };
        let here = seen as f64 / other.executions.max(1) as f64;
        let truth = count as f64 / table.executions.max(1) as f64;
        sum += (here - truth).abs() * table.executions as f64;
        compared += table.executions;
    }
    (compared > 0).then(|| InvarianceDifference {
        mean: sum / compared as f64,
        share: compared as f64 / total as f64,
    })
}
