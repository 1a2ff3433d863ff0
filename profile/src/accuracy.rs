//! How far a profile agrees with another one. Every function names its formula.
//!
//! All sums are exact: shares are compared as cross products in `u128`, and only the final
//! quotient is rounded. Results are therefore exactly symmetric where the formula is, exactly 1
//! for equal profiles, and never depend on the order in which a hash map is walked.
//!
//! **Empty profiles.** Two empty profiles agree completely: 1. An empty and a non-empty profile
//! have nothing in common: 0.

use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::fraction::Fraction;
use crate::profile::Profile;
use crate::unit::Unit;

mod rate;
mod share;

pub use rate::{Rate, rate_error};
pub use share::share_within;

/// The overlap of a sampled profile with the exact one, both cut to their top members; see
/// [`accuracy()`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// Overlap of shares *within the cut sets*, 0 to 1. Equal profiles give exactly 1.
    pub renormalized: f64,
    /// Overlap of shares *of the whole profiles*, 0 to 1. Equal profiles give the share that the
    /// cut set holds: at least the cut fraction, usually not much more (about 0.9).
    pub capped: f64,
    /// Members in the exact profile's cut set.
    pub members_exact: usize,
    /// Members in the sampled profile's cut set.
    pub members_sampled: usize,
}

/// The relative-contribution metric of the HPS paper, section 5:
/// `overlap = sum over members of min(share in profile 1, share in profile 2)`, where each profile
/// is first cut to its top members that make up `cut` of it (the paper: 90%, see
/// [`Profile::cut`] for ties). A member outside a profile's cut has share 0 in that profile.
///
/// The paper does not say whether shares are renormalized after the cut, so both readings are
/// returned.
pub fn accuracy<K: Ord + Hash + Clone, U: Unit, V: Unit>(
    sampled: &Profile<K, U>,
    exact: &Profile<K, V>,
    cut: Fraction,
) -> Accuracy {
    let sampled_cut = sampled.cut(cut);
    let exact_cut = exact.cut(cut);
    Accuracy {
        renormalized: sum_of_minima(
            &sampled_cut,
            weight_of(&sampled_cut),
            &exact_cut,
            weight_of(&exact_cut),
        ),
        capped: sum_of_minima(&sampled_cut, sampled.total(), &exact_cut, exact.total()),
        members_exact: exact_cut.len(),
        members_sampled: sampled_cut.len(),
    }
}

/// The overlap of whole profiles, `sum over members of min(share, share)`, 0 to 1: the call graph
/// accuracy of SHIM and of Arnold and Ryder.
pub fn overlap_without_cut<K: Ord + Hash + Clone, U: Unit, V: Unit>(
    a: &Profile<K, U>,
    b: &Profile<K, V>,
) -> f64 {
    let members_a: Vec<_> = a.iter().collect();
    let members_b: Vec<_> = b.iter().collect();
    sum_of_minima(&members_a, a.total(), &members_b, b.total())
}

/// The error of a profile, `1 - overlap`, 0 to 1: the share of the weight that it gives to the
/// wrong members. The overlap is [`overlap_without_cut`]; this is the error of the studies of
/// time-proportional profiling.
pub fn error_without_cut<K: Ord + Hash + Clone, U: Unit, V: Unit>(
    a: &Profile<K, U>,
    b: &Profile<K, V>,
) -> f64 {
    let members_a: Vec<_> = a.iter().collect();
    let members_b: Vec<_> = b.iter().collect();
    let common = common_part(&members_a, a.total(), &members_b, b.total());
    // Subtracted before the division, so that a small error keeps its digits.
    (common.whole - common.part) as f64 / common.whole as f64
}

/// Which members of the actual profile are hot, for [`weight_matching`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HotSet {
    /// This number of members from the top of the listing (Wall's own n).
    Top(usize),
    /// The members with at least this share of the whole profile (path profiles use 0.00125).
    Share(Fraction),
    /// The top members that together make up this fraction, as in [`Profile::cut`].
    Cumulative(Fraction),
}

/// Wall's weight matching, 0 to 1:
/// `sum of F(p) over p in both H_est and H_act / sum of F(p) over p in H_act`, where `F` is the
/// weight in the actual profile, `H_act` its hot members by `hot`, and `H_est` the same number of
/// top members of the estimated profile.
///
/// The metric is not symmetric. No hot member at all gives 1: there is nothing to miss.
pub fn weight_matching<K: Ord + Hash + Clone, U: Unit, V: Unit>(
    estimated: &Profile<K, U>,
    actual: &Profile<K, V>,
    hot: HotSet,
) -> f64 {
    let hot_actual = match hot {
        HotSet::Top(count) => actual.top(count),
        HotSet::Cumulative(fraction) => actual.cut(fraction),
        HotSet::Share(fraction) => {
            let least = fraction.ceil_of(actual.total());
            let mut members = actual.listing();
            members.retain(|&(_, weight)| weight >= least);
            members
        }
    };
    let whole = weight_of(&hot_actual);
    if whole == 0 {
        return 1.0;
    }
    let hot_estimated: FxHashSet<&K> = estimated
        .top(hot_actual.len())
        .into_iter()
        .map(|(member, _)| member)
        .collect();
    let matched: u64 = hot_actual
        .iter()
        .filter(|(member, _)| hot_estimated.contains(member))
        .map(|&(_, weight)| weight)
        .sum();
    matched as f64 / whole as f64
}

/// The weight of some members of one profile; fits because the profile's total does.
fn weight_of<K>(members: &[(&K, u64)]) -> u64 {
    members.iter().map(|&(_, weight)| weight).sum()
}

/// `sum of min(a_i / whole_a, b_i / whole_b)`.
fn sum_of_minima<K: Eq + Hash>(
    a: &[(&K, u64)],
    whole_a: u64,
    b: &[(&K, u64)],
    whole_b: u64,
) -> f64 {
    let common = common_part(a, whole_a, b, whole_b);
    common.part as f64 / common.whole as f64
}

/// An overlap as a fraction: `part` is at most `whole`, and `whole` is above zero.
struct Common {
    part: u128,
    whole: u128,
}

/// `sum of min(a_i / whole_a, b_i / whole_b)`, computed as
/// `sum of min(a_i * whole_b, b_i * whole_a) / (whole_a * whole_b)`. No product or sum exceeds
/// `whole_a * whole_b`, which fits in `u128`.
fn common_part<K: Eq + Hash>(
    a: &[(&K, u64)],
    whole_a: u64,
    b: &[(&K, u64)],
    whole_b: u64,
) -> Common {
    if whole_a == 0 || whole_b == 0 {
        let part = u128::from(whole_a == whole_b);
        return Common { part, whole: 1 };
    }
    let weights_b: FxHashMap<&K, u64> = b.iter().copied().collect();
    let (whole_a, whole_b) = (u128::from(whole_a), u128::from(whole_b));
    let part = a
        .iter()
        .filter_map(|(member, weight_a)| {
            let weight_b = *weights_b.get(member)?;
            Some((u128::from(*weight_a) * whole_b).min(u128::from(weight_b) * whole_a))
        })
        .sum();
    Common {
        part,
        whole: whole_a * whole_b,
    }
}

#[cfg(test)]
mod tests;
