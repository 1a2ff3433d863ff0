use super::*;

/// Terms of which nothing is known beforehand.
fn unknown<const K: usize>(means: [f64; K]) -> [Term; K] {
    means.map(|mean| Term {
        mean,
        thought: 0.0,
        doubt: 1e6,
    })
}

/// Noise that is the same in every run (SplitMix64), in -1..1.
fn noise(seed: u64) -> f64 {
    let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

#[test]
fn what_is_known_of_the_whole_is_no_uncertainty() {
    // value = 2 + 3a - b, of units whose a and b are not those of the whole. The third number never changes.
    let known: Vec<[f64; 3]> = (0..60)
        .map(|i| [f64::from(i % 7), f64::from(i * i % 11), 5.0])
        .collect();
    let values: Vec<f64> = known.iter().map(|x| 2.0 + 3.0 * x[0] - x[1]).collect();
    let interval = mean(&values, &known, &unknown([10.0, 1.0, 5.0]), 1e-9, None);
    assert!((interval.mean - 31.0).abs() < 1e-6, "{interval:?}");
    assert!(interval.half_width < 1e-6, "{interval:?}");
}

#[test]
fn numbers_that_say_nothing_leave_the_mean() {
    let values: Vec<f64> = (0..50).map(|i| f64::from(i * 37 % 50)).collect();
    let known = vec![[4.0]; 50];
    let found = mean(&values, &known, &unknown([4.0]), 1.0, None);
    let plain = Interval::of_mean(values.iter().copied());
    assert!((found.mean - plain.mean).abs() < 1e-9);
    // HC3 has 1 / (1 - 1/n) where the plain variance has n / (n - 1) under the root: sqrt(50 / 49) wider.
    let wider = found.half_width / plain.half_width;
    assert!((wider - (50.0_f64 / 49.0).sqrt()).abs() < 1e-6, "{wider}");
}

#[test]
fn what_no_unit_met_costs_between_nothing_and_twice_the_thought() {
    // Every unit takes 500 cycles and met no miss; the whole has two in each unit. At 50 cycles for each, thought:
    // 600, and the interval is 1.96 doubts of 100 wide, by the quantile of 398 degrees of freedom 1.966.
    let values = vec![500.0; 400];
    let known = vec![[0.0]; 400];
    let found = mean(&values, &known, &[Term::about(2.0, 50.0)], 1.0, None);
    assert!((found.mean - 600.0).abs() < 1e-9, "{found:?}");
    assert!((found.half_width - 196.6).abs() < 0.2, "{found:?}");
    assert!(found.contains(500.0) && found.contains(700.0) && !found.contains(400.0));
}

#[test]
fn units_correct_what_was_thought() {
    // An event costs 7 cycles and was thought to cost 50: 300 units know better.
    let known: Vec<[f64; 1]> = (0..300).map(|i| [f64::from(i % 5)]).collect();
    let values: Vec<f64> = (0..300)
        .map(|i| 100.0 + 7.0 * f64::from(i % 5) + noise(i as u64))
        .collect();
    let found = mean(&values, &known, &[Term::about(4.0, 50.0)], 1e-3, None);
    assert!((found.mean - 128.0).abs() < found.half_width, "{found:?}");
    assert!(found.half_width < 0.2, "{found:?}");
}

#[test]
fn intervals_hold_the_mean_as_often_as_they_say() {
    // 400 samples of 100 from a whole whose value is 4x + noise, x in -1..1, so that both means are 0.
    let mut held = 0;
    let (mut wide, mut narrow) = (0.0, 0.0);
    for sample in 0..400_u64 {
        let x = |i: u64| noise(sample * 1000 + 2 * i);
        let known: Vec<[f64; 1]> = (0..100).map(|i| [x(i)]).collect();
        let values: Vec<f64> = (0..100)
            .map(|i| 4.0 * x(i) + noise(sample * 1000 + 2 * i + 1))
            .collect();
        let found = mean(&values, &known, &[Term::about(0.0, 3.0)], 1e-6, None);
        held += u32::from(found.contains(0.0));
        narrow += found.half_width;
        wide += Interval::of_mean(values.iter().copied()).half_width;
    }
    // 95% of 400 is 380, with a standard deviation of 4.4.
    assert!((365..=395).contains(&held), "{held} of 400");
    assert!(narrow * 3.5 < wide, "{narrow} and {wide}");
}

fn unit(base: f64, cost: f64, extra: f64) -> PairedUnit<1> {
    PairedUnit {
        base,
        cost,
        more: [extra],
    }
}

#[test]
fn without_extras_an_overhead_is_a_ratio() {
    // Σcost/Σbase = 6/60; residuals 0, 1, -1; one degree of freedom: t(0.975, 1) = 12.7062. HC3: each counts a third,
    // over 1 - 1/3, so that the variance is 2 × (1/2)².
    let units = [(10.0, 1.0), (20.0, 3.0), (30.0, 2.0)].map(|(b, c)| unit(b, c, 0.0));
    let interval = overhead(&units, &unknown([0.0]));
    assert!((interval.mean - 0.1).abs() < 1e-12);
    let wanted = 12.706_205 * 0.5_f64.sqrt() / 20.0;
    assert!((interval.half_width - wanted).abs() < 1e-6, "{interval:?}");
}

#[test]
fn what_extras_explain_is_no_uncertainty() {
    // Three cycles an extra instruction, of which the units have fewer than the whole. What is left is that cycles are
    // whole numbers.
    let units: Vec<_> = (0..1200).map(|i| f64::from(i % 4)).collect();
    let units: Vec<_> = units.iter().map(|&x| unit(100.0, 3.0 * x, x)).collect();
    let interval = overhead(&units, &unknown([2.5]));
    assert!((interval.mean - 3.0 * 2.5 / 100.0).abs() < 1e-9);
    assert!(interval.half_width < 0.001, "{interval:?}");
}

#[test]
fn an_inverse_times_its_matrix_is_one() {
    let matrix = [[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]];
    let inverse = inverse(matrix);
    // The inverse is symmetric, as its matrix is: rows are columns.
    for (i, column) in inverse.iter().enumerate() {
        for (j, product) in apply(&matrix, column).into_iter().enumerate() {
            assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12);
        }
    }
}
