//! The formulas against a literal, quadratic reading of the paper in floating point, worked
//! examples, and their algebraic properties.

use proptest::prelude::*;

use super::*;
use crate::key::Method;

fn profile(members: &[(u64, u64)]) -> Profile<Method> {
    members
        .iter()
        .map(|&(address, weight)| (Method(address), weight))
        .collect()
}

/// The paper's steps one after the other on plain lists, sharing no code with the real thing:
/// selection by repeated maximum, shares as floating-point numbers, every member of one list
/// searched in the other.
mod literal {
    pub type List = Vec<(u64, u64)>;

    fn collect(members: &[(u64, u64)]) -> List {
        let mut list = List::new();
        for &(key, weight) in members {
            match list.iter_mut().find(|entry| entry.0 == key) {
                Some(entry) => entry.1 += weight,
                None => list.push((key, weight)),
            }
        }
        list.retain(|entry| entry.1 > 0);
        list
    }

    fn sum(list: &List) -> f64 {
        list.iter().map(|entry| entry.1 as f64).sum()
    }

    /// `numerator / denominator` is the fraction; weights in the tests are small enough for `i64`.
    fn select(list: &List, numerator: i64, denominator: i64) -> List {
        let total: i64 = list.iter().map(|entry| entry.1 as i64).sum();
        let mut left = list.clone();
        let mut chosen = List::new();
        let mut so_far: i64 = 0;
        while !left.is_empty() && (chosen.is_empty() || so_far * denominator < total * numerator) {
            let mut best = 0;
            for at in 1..left.len() {
                let heavier = left[at].1 > left[best].1;
                let tie_smaller = left[at].1 == left[best].1 && left[at].0 < left[best].0;
                if heavier || tie_smaller {
                    best = at;
                }
            }
            so_far += left[best].1 as i64;
            chosen.push(left.swap_remove(best));
        }
        chosen
    }

    fn overlap(a: &List, whole_a: f64, b: &List, whole_b: f64) -> f64 {
        if a.is_empty() && b.is_empty() {
            return 1.0;
        }
        let mut result = 0.0;
        for x in a {
            for y in b {
                if x.0 == y.0 {
                    result += (x.1 as f64 / whole_a).min(y.1 as f64 / whole_b);
                }
            }
        }
        result
    }

    /// (renormalized, capped, without cut)
    pub fn all(a: &[(u64, u64)], b: &[(u64, u64)], per_mille: i64) -> (f64, f64, f64) {
        let (a, b) = (collect(a), collect(b));
        let (cut_a, cut_b) = (select(&a, per_mille, 1000), select(&b, per_mille, 1000));
        (
            overlap(&cut_a, sum(&cut_a), &cut_b, sum(&cut_b)),
            overlap(&cut_a, sum(&a), &cut_b, sum(&b)),
            overlap(&a, sum(&a), &b, sum(&b)),
        )
    }
}

#[test]
fn worked_example() {
    // Cut sets: exact {1: 60, 2: 30}, sampled {1: 5, 3: 4}.
    let exact = profile(&[(1, 60), (2, 30), (3, 10)]);
    let sampled = profile(&[(1, 5), (3, 4), (2, 1)]);
    let result = accuracy(&sampled, &exact, Fraction::NINETY_PERCENT);
    assert_eq!((result.members_exact, result.members_sampled), (2, 2));
    assert!((result.renormalized - 5.0 / 9.0).abs() < 1e-15);
    assert!((result.capped - 0.5).abs() < 1e-15);
    assert!((overlap_without_cut(&sampled, &exact) - 0.7).abs() < 1e-15);
}

#[test]
fn equal_profiles_reach_the_share_of_the_cut() {
    let p = profile(&[(1, 90), (2, 10)]);
    let result = accuracy(&p, &p, Fraction::NINETY_PERCENT);
    assert_eq!((result.renormalized, result.capped), (1.0, 0.9));
}

#[test]
fn empty_profiles() {
    let (empty, full) = (profile(&[]), profile(&[(1, 1)]));
    let both = accuracy(&empty, &empty, Fraction::NINETY_PERCENT);
    assert_eq!(
        (both.renormalized, both.capped, both.members_exact),
        (1.0, 1.0, 0)
    );
    for (a, b) in [(&empty, &full), (&full, &empty)] {
        let one = accuracy(a, b, Fraction::NINETY_PERCENT);
        assert_eq!((one.renormalized, one.capped), (0.0, 0.0));
        assert_eq!(overlap_without_cut(a, b), 0.0);
    }
    assert_eq!(overlap_without_cut(&empty, &empty), 1.0);
    assert_eq!(weight_matching(&full, &empty, HotSet::Top(3)), 1.0);
    assert_eq!(weight_matching(&empty, &full, HotSet::Top(3)), 0.0);
}

#[test]
fn weight_matching_counts_actual_weights() {
    let actual = profile(&[(1, 50), (2, 30), (3, 15), (4, 5)]);
    let estimated = profile(&[(3, 9), (1, 8), (2, 1)]);
    // H_act = {1, 2}, H_est = {3, 1}.
    assert_eq!(
        weight_matching(&estimated, &actual, HotSet::Top(2)),
        50.0 / 80.0
    );
    let tenth = HotSet::Share(Fraction::from_percent(10));
    assert_eq!(weight_matching(&estimated, &actual, tenth), 1.0);
    let most = HotSet::Cumulative(Fraction::from_percent(80));
    assert_eq!(weight_matching(&estimated, &actual, most), 50.0 / 80.0);
    // Not symmetric: seen from the other side the common member weighs 8 of 17.
    assert_eq!(
        weight_matching(&actual, &estimated, HotSet::Top(2)),
        8.0 / 17.0
    );
}

#[test]
fn shares_within_a_tolerance_count_by_true_weight() {
    // True shares 0.5, 0.3, 0.2; estimated 0.55, 0.33, 0.08, and 0.04 for a member that is not
    // there. Two are exactly 10% too high, the third is 60% too low.
    let truth = profile(&[(1, 50), (2, 30), (3, 20)]);
    let estimated = profile(&[(1, 550), (2, 330), (3, 80), (4, 40)]);
    let within = |percent| share_within(&estimated, &truth, Fraction::from_percent(percent));
    assert_eq!((within(9), within(10), within(59)), (0.0, 0.8, 0.8));
    assert_eq!((within(60), within(100)), (1.0, 1.0));
    // A member without an estimate is 100% off.
    let partial = profile(&[(1, 1)]);
    let pair = profile(&[(1, 1), (2, 1)]);
    assert_eq!(
        share_within(&partial, &pair, Fraction::from_percent(99)),
        0.0
    );
    assert_eq!(share_within(&partial, &pair, Fraction::ONE), 1.0);
    let empty = profile(&[]);
    assert_eq!(share_within(&empty, &pair, Fraction::ONE), 0.0);
    assert_eq!(share_within(&pair, &empty, Fraction::ONE), 0.0);
    assert_eq!(share_within(&empty, &empty, Fraction::ZERO), 1.0);
}

#[test]
fn the_error_of_a_rate_is_relative() {
    let rate = |events, base| Rate { events, base };
    // 0.3 against 0.25 is 20% too high, 0.2 is 20% too low.
    assert_eq!(rate_error(rate(3, 10), rate(25, 100)), Some(0.2));
    assert_eq!(rate_error(rate(2, 10), rate(25, 100)), Some(0.2));
    assert_eq!(rate_error(rate(0, 10), rate(25, 100)), Some(1.0));
    assert_eq!(rate_error(rate(0, 10), rate(0, 3)), Some(0.0));
    assert_eq!(rate_error(rate(1, 10), rate(0, 3)), None);
    assert_eq!(rate_error(rate(1, 0), rate(1, 3)), None);
    assert_eq!(rate_error(rate(1, 3), rate(1, 0)), None);
    // Rates that differ in the last of 64 bits.
    let error = rate_error(rate(u64::MAX - 1, u64::MAX), rate(u64::MAX, u64::MAX));
    assert_eq!(error, Some(1.0 / u64::MAX as f64));
    assert_eq!((rate(1, 4).value(), rate(1, 0).value()), (Some(0.25), None));
}

#[test]
fn small_errors_keep_their_digits() {
    // One weight of 2^60 is at the wrong member: 1 - overlap in floating point would give 0.
    let half = 1 << 59;
    let (a, b) = (
        profile(&[(1, half), (2, half)]),
        profile(&[(1, half + 1), (2, half - 1)]),
    );
    assert_eq!(overlap_without_cut(&a, &b), 1.0);
    assert_eq!(error_without_cut(&a, &b), 1.0 / (1u64 << 60) as f64);
}

#[test]
fn largest_weights_do_not_overflow() {
    let p = profile(&[(1, u64::MAX / 2), (2, u64::MAX / 2)]);
    let result = accuracy(&p, &p, Fraction::ONE);
    assert_eq!((result.renormalized, result.capped), (1.0, 1.0));
    assert_eq!(share_within(&p, &p, Fraction::ONE), 1.0);
}

fn members() -> impl Strategy<Value = Vec<(u64, u64)>> {
    // Few keys and few weights, so that common members and ties at the cut are frequent.
    let weight = prop_oneof![0u64..6, 0u64..1000, 0u64..(1 << 40)];
    prop::collection::vec((0u64..24, weight), 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn agrees_with_the_literal_reading(a in members(), b in members(), per_mille in 0u32..=1000) {
        let cut = Fraction::from_f64(f64::from(per_mille) / 1000.0).unwrap();
        let (p, q) = (profile(&a), profile(&b));
        let result = accuracy(&p, &q, cut);
        let (renormalized, capped, whole) = literal::all(&a, &b, i64::from(per_mille));
        prop_assert!((result.renormalized - renormalized).abs() < 1e-12);
        prop_assert!((result.capped - capped).abs() < 1e-12);
        prop_assert!((overlap_without_cut(&p, &q) - whole).abs() < 1e-12);
    }

    #[test]
    fn symmetric_and_within_bounds(a in members(), b in members(), percent in 0u32..=100) {
        let cut = Fraction::from_percent(percent);
        let (p, q) = (profile(&a), profile(&b));
        let (forth, back) = (accuracy(&p, &q, cut), accuracy(&q, &p, cut));
        prop_assert_eq!(forth.renormalized, back.renormalized);
        prop_assert_eq!(forth.capped, back.capped);
        prop_assert_eq!(forth.members_exact, back.members_sampled);
        prop_assert!((0.0..=1.0).contains(&forth.renormalized));
        prop_assert!((0.0..=1.0).contains(&forth.capped));
        prop_assert_eq!(overlap_without_cut(&p, &q), overlap_without_cut(&q, &p));
        let error = error_without_cut(&p, &q);
        prop_assert_eq!(error, error_without_cut(&q, &p));
        prop_assert!((0.0..=1.0).contains(&error));
        prop_assert!((error - (1.0 - overlap_without_cut(&p, &q))).abs() < 1e-12);
        let within = share_within(&p, &q, cut);
        prop_assert!((0.0..=1.0).contains(&within));
        prop_assert!(within <= share_within(&p, &q, Fraction::ONE));
        for hot in [HotSet::Top(5), HotSet::Share(cut), HotSet::Cumulative(cut)] {
            prop_assert!((0.0..=1.0).contains(&weight_matching(&p, &q, hot)));
            prop_assert_eq!(weight_matching(&p, &p, hot), 1.0);
        }
    }

    #[test]
    fn a_profile_overlaps_itself(a in members(), percent in 0u32..=100) {
        let p = profile(&a);
        let result = accuracy(&p, &p, Fraction::from_percent(percent));
        prop_assert_eq!(result.renormalized, 1.0);
        prop_assert!(p.is_empty() || result.capped >= f64::from(percent) / 100.0);
        prop_assert_eq!(overlap_without_cut(&p, &p), 1.0);
        prop_assert_eq!(error_without_cut(&p, &p), 0.0);
        prop_assert_eq!(share_within(&p, &p, Fraction::ZERO), 1.0);
        let rate = Rate { events: p.total(), base: p.total() + 1 };
        prop_assert_eq!(rate_error(rate, rate), Some(0.0));
    }

    #[test]
    fn scaling_a_profile_changes_nothing(a in members(), b in members(), factor in 1u64..1000) {
        let scaled: Vec<_> = a.iter().map(|&(key, weight)| (key, weight * factor)).collect();
        let cut = Fraction::ONE;
        let (p, s, q) = (profile(&a), profile(&scaled), profile(&b));
        let (one, other) = (accuracy(&p, &q, cut), accuracy(&s, &q, cut));
        prop_assert!((one.capped - other.capped).abs() < 1e-12);
        prop_assert_eq!(share_within(&s, &p, Fraction::ZERO), 1.0);
    }
}
