//! A profile: members and their weights.

use std::hash::Hash;
use std::marker::PhantomData;

use rustc_hash::FxHashMap;

use crate::fraction::Fraction;
use crate::unit::{Events, Unit};

/// Members with their weights, which count what the [`Unit`] says.
///
/// A member is present exactly when its weight is above zero, and [`Self::total`] is always the
/// sum of all weights. The total saturates at `u64::MAX` (what would go beyond is dropped from the
/// weight that is being added), so that the two never disagree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile<K: Eq + Hash, U: Unit = Events> {
    weights: FxHashMap<K, u64>,
    total: u64,
    unit: PhantomData<U>,
}

impl<K: Eq + Hash, U: Unit> Default for Profile<K, U> {
    fn default() -> Self {
        Self {
            weights: FxHashMap::default(),
            total: 0,
            unit: PhantomData,
        }
    }
}

impl<K: Ord + Hash + Clone> Profile<K> {
    /// An empty profile of events.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<K: Ord + Hash + Clone, U: Unit> Profile<K, U> {
    /// Adds `weight` to `member`; a weight of zero leaves the profile as it is.
    pub fn add(&mut self, member: K, weight: u64) {
        let weight = weight.min(u64::MAX - self.total);
        if weight > 0 {
            *self.weights.entry(member).or_insert(0) += weight;
            self.total += weight;
        }
    }

    /// Counts one event of `member`.
    pub fn record(&mut self, member: K) {
        self.add(member, 1);
    }

    /// Adds all of `other` to this profile.
    pub fn merge(&mut self, other: &Self) {
        // In listing order, so that even a saturated result does not depend on hash order.
        for (member, weight) in other.listing() {
            self.add(member.clone(), weight);
        }
    }

    /// The weight of `member`, 0 when it is absent.
    pub fn weight(&self, member: &K) -> u64 {
        self.weights.get(member).copied().unwrap_or(0)
    }

    /// The share of `member` in the whole profile, from 0 to 1; 0 in an empty profile.
    pub fn share(&self, member: &K) -> f64 {
        if self.total == 0 {
            0.0
        } else {
            self.weight(member) as f64 / self.total as f64
        }
    }

    /// The sum of all weights.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// All members in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, u64)> + Clone {
        self.weights
            .iter()
            .map(|(member, &weight)| (member, weight))
    }

    /// All members, heaviest first, members of equal weight by key: the listing order.
    pub fn listing(&self) -> Vec<(&K, u64)> {
        let mut members: Vec<_> = self.iter().collect();
        sort_for_listing(&mut members);
        members
    }

    /// The first `count` members of the listing.
    pub fn top(&self, count: usize) -> Vec<(&K, u64)> {
        let mut members = self.listing();
        members.truncate(count);
        members
    }

    /// The top members that together make up `fraction` of the profile: members in listing order
    /// until their cumulative weight reaches `fraction` of the total. Of members that tie at the
    /// cut, those with the smaller keys are in it. A profile that is not empty has at least one
    /// member in its cut.
    pub fn cut(&self, fraction: Fraction) -> Vec<(&K, u64)> {
        let goal = fraction.ceil_of(self.total);
        let mut members = self.listing();
        let mut cumulative = 0;
        let mut taken = 0;
        while taken < members.len() && (taken == 0 || cumulative < goal) {
            cumulative += members[taken].1;
            taken += 1;
        }
        members.truncate(taken);
        members
    }
}

/// Heaviest first, members of equal weight by key. Not a method, which would be compiled for each unit.
fn sort_for_listing<K: Ord>(members: &mut [(&K, u64)]) {
    members.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
}

impl<K: Ord + Hash + Clone, U: Unit> FromIterator<(K, u64)> for Profile<K, U> {
    fn from_iter<I: IntoIterator<Item = (K, u64)>>(members: I) -> Self {
        let mut profile = Self::default();
        profile.extend(members);
        profile
    }
}

impl<K: Ord + Hash + Clone, U: Unit> Extend<(K, u64)> for Profile<K, U> {
    fn extend<I: IntoIterator<Item = (K, u64)>>(&mut self, members: I) {
        for (member, weight) in members {
            self.add(member, weight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Method;

    fn profile(members: &[(u64, u64)]) -> Profile<Method> {
        members
            .iter()
            .map(|&(address, weight)| (Method(address), weight))
            .collect()
    }

    fn addresses(listing: &[(&Method, u64)]) -> Vec<u64> {
        listing.iter().map(|(method, _)| method.0).collect()
    }

    #[test]
    fn lists_by_weight_and_then_by_key() {
        let p = profile(&[(7, 5), (3, 5), (9, 8), (1, 1)]);
        assert_eq!(addresses(&p.listing()), [9, 3, 7, 1]);
        assert_eq!(addresses(&p.top(2)), [9, 3]);
        assert_eq!(p.total(), 19);
        assert!((p.share(&Method(9)) - 8.0 / 19.0).abs() < 1e-15);
    }

    #[test]
    fn cut_stops_at_the_first_member_that_reaches_the_fraction() {
        let p = profile(&[(1, 50), (2, 40), (3, 5), (4, 5)]);
        assert_eq!(addresses(&p.cut(Fraction::NINETY_PERCENT)), [1, 2]);
        assert_eq!(
            addresses(&p.cut(Fraction::from_f64(0.900_001).unwrap())),
            [1, 2, 3]
        );
        assert_eq!(addresses(&p.cut(Fraction::ONE)), [1, 2, 3, 4]);
        assert_eq!(addresses(&p.cut(Fraction::ZERO)), [1]);
        assert!(profile(&[]).cut(Fraction::ONE).is_empty());
    }

    #[test]
    fn zero_weights_are_no_members_and_merging_adds() {
        let mut p = profile(&[(1, 0), (2, 3)]);
        assert_eq!(p.len(), 1);
        p.merge(&profile(&[(2, 4), (5, 1)]));
        p.record(Method(5));
        assert_eq!(
            (p.weight(&Method(2)), p.weight(&Method(5)), p.total()),
            (7, 2, 9)
        );
    }

    #[test]
    fn total_saturates_and_stays_the_sum() {
        let mut p = profile(&[(1, u64::MAX - 1), (2, 5)]);
        p.add(Method(3), 9);
        assert_eq!((p.total(), p.weight(&Method(2)), p.len()), (u64::MAX, 1, 2));
    }
}
