//! How many shares of a profile are nearly right.

use std::hash::Hash;

use crate::fraction::Fraction;
use crate::profile::Profile;
use crate::unit::Unit;

/// The share of the true profile's weight whose estimate lies within `tolerance` of the truth,
/// 0 to 1: `sum of t(m) over members m with |e(m)/E - t(m)/T| <= tolerance * t(m)/T`, divided by
/// `T`, where `t` is the weight in the true profile, `e` that in the estimated one, and `T` and `E`
/// are their totals.
///
/// Shares are compared, not weights, so that samples need not be scaled first. The metric is not
/// symmetric: members that only the estimate has are not counted. An empty truth gives 1 for an
/// empty estimate and 0 for another one, as the other formulas do; an empty estimate of a truth
/// that is not empty gives 0.
#[must_use]
pub fn share_within<K: Ord + Hash + Clone, U: Unit, V: Unit>(
    estimated: &Profile<K, U>,
    truth: &Profile<K, V>,
    tolerance: Fraction,
) -> f64 {
    let (whole_e, whole_t) = (estimated.total(), truth.total());
    if whole_e == 0 || whole_t == 0 {
        return if whole_e == whole_t { 1.0 } else { 0.0 };
    }
    let near = |&(member, weight): &(&K, u64)| {
        // Both shares times `whole_e * whole_t`. No product exceeds `u64::MAX` squared.
        let wanted = u128::from(weight) * u128::from(whole_e);
        let found = u128::from(estimated.weight(member)) * u128::from(whole_t);
        wanted.abs_diff(found) <= part_of(wanted, tolerance)
    };
    let sum: u64 = truth.iter().filter(near).map(|(_, weight)| weight).sum();
    sum as f64 / whole_t as f64
}

/// The largest integer that is at most this fraction of `whole`.
fn part_of(whole: u128, fraction: Fraction) -> u128 {
    let parts = u128::from(fraction.parts_per_million());
    let million = u128::from(Fraction::DENOMINATOR);
    // The quotient and the remainder apart: `whole * parts` could exceed `u128`.
    whole / million * parts + whole % million * parts / million
}
