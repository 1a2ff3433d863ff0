//! Coefficients of correlation.

/// Pearson's correlation of pairs; `None` for fewer than three, or where one side does not vary.
pub(crate) fn correlation(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    if points.len() < 3 {
        return None;
    }
    let (x, y) = points
        .iter()
        .fold((0.0, 0.0), |(x, y), p| (x + p.0, y + p.1));
    let (x, y) = (x / count, y / count);
    let sums = points.iter().fold((0.0, 0.0, 0.0), |(xy, xx, yy), p| {
        let (dx, dy) = (p.0 - x, p.1 - y);
        (xy + dx * dy, xx + dx * dx, yy + dy * dy)
    });
    let below = (sums.1 * sums.2).sqrt();
    (below > 0.0).then(|| sums.0 / below)
}

/// Spearman's rank correlation, equal values at the mean of their ranks; `None` where [`correlation`] has none.
pub(crate) fn rank_correlation(points: &[(f64, f64)]) -> Option<f64> {
    let ranks = |of: &dyn Fn(&(f64, f64)) -> f64| {
        let below = |value: f64| points.iter().filter(|p| of(p) < value).count() as f64;
        let equal = |value: f64| points.iter().filter(|p| of(p) == value).count() as f64;
        points
            .iter()
            .map(|p| below(of(p)) + (equal(of(p)) + 1.0) / 2.0)
            .collect::<Vec<f64>>()
    };
    let (x, y) = (ranks(&|p| p.0), ranks(&|p| p.1));
    correlation(&x.into_iter().zip(y).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlations_are_those_of_small_examples() {
        let line: Vec<(f64, f64)> = (0..5).map(|i| (f64::from(i), 3.0 - f64::from(i))).collect();
        assert!((correlation(&line).expect("it varies") + 1.0).abs() < 1e-12);
        // (1,1), (2,3), (3,2): covariance 1, deviations sqrt(2) each.
        let some = [(1.0, 1.0), (2.0, 3.0), (3.0, 2.0)];
        assert!((correlation(&some).expect("it varies") - 0.5).abs() < 1e-12);
        let constant = [(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)];
        assert_eq!(correlation(&constant), None);
        assert_eq!(rank_correlation(&constant), None);
    }

    #[test]
    fn ranks_correlate_as_they_should() {
        let of = |points: &[(f64, f64)]| rank_correlation(points).expect("it varies");
        assert!((of(&[(1.0, 10.0), (2.0, 11.0), (3.0, 40.0)]) - 1.0).abs() < 1e-12);
        assert!((of(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]) + 1.0).abs() < 1e-12);
        // Ties: ranks 1.5, 1.5, 3 against 1, 2, 3.
        let ties = [(1.0, 1.0), (1.0, 2.0), (2.0, 3.0)];
        assert!((of(&ties) - 1.5 / 3.0_f64.sqrt()).abs() < 1e-12);
    }
}
