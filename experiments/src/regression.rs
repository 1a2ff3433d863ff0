//! Means over a whole of which a sample is known: regression on numbers whose means over the whole are known, with what is
//! thought of them beforehand.
//!
//! A unit of sampled timing comes with counts of events (`x`), which functional warming knows for the whole run too. What an
//! event costs is told by the units if they met it often and in different numbers. If they met it seldom or never, as what
//! happens once in a run, they cannot tell; but it costs something between nothing and the time that the machine takes for
//! it. So each slope begins as that thought, with its doubt, and the units correct it as far as they can: the linear model
//! with a normal prior of its slopes (Gelman and others, *Bayesian Data Analysis*, chapter 14), in a difference and regression
//! estimate of the mean (Cochran, *Sampling Techniques*, chapter 7).

use hps_profile::half_width;

use crate::interval::Interval;

/// A number that comes with each value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Term {
    /// Mean of the number over the whole.
    pub mean: f64,
    /// Prior mean of the slope: the amount that one unit of the number is thought to add to a value.
    pub thought: f64,
    /// How far that may be off (one standard deviation).
    pub doubt: f64,
}

impl Term {
    /// Of an event that costs between nothing and twice `thought`.
    pub fn about(mean: f64, thought: f64) -> Term {
        // An event that is thought to be free may cost a little.
        let doubt = thought.abs().max(1e-3);
        Term {
            mean,
            thought,
            doubt,
        }
    }
}

/// A timed unit with and without a collector; `K` numbers go with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PairedUnit<const K: usize> {
    /// Cycles without.
    pub base: f64,
    /// Cycles that it takes more with one.
    pub cost: f64,
    /// How many more there are with one: the first says whether the collector did anything here.
    pub more: [f64; K],
}

/// Rounds of a regression in which the variance of what it leaves, and how far units are believed, settle.
const ROUNDS: usize = 2;

/// The 95% interval of the mean over a whole of which `values` are an independent sample. Values are whole multiples of
/// `step`, so that equal ones still differ by chance. `freedom`: degrees of freedom, if they are not those of the regression.
///
/// The variance is the larger one of that with even residuals and that in which each unit counts with its own residual as it
/// would be without the unit (HC3 of MacKinnon and White, Journal of Econometrics 29, 1985): units with many events vary
/// more, and a few of them draw the line to themselves.
pub(crate) fn mean<const K: usize>(
    values: &[f64],
    known: &[[f64; K]],
    terms: &[Term; K],
    step: f64,
    freedom: Option<f64>,
) -> Interval {
    let count = values.len() as f64;
    if values.len() < 2 || values.len() != known.len() {
        return Interval::of_mean(values.iter().copied());
    }
    let thought = terms.map(|term| term.thought);
    let centre: [f64; K] = std::array::from_fn(|i| known.iter().map(|x| x[i]).sum::<f64>() / count);
    // The thought is taken off at once; the slopes are what it lacks.
    let beyond: Vec<f64> = (values.iter().zip(known))
        .map(|(value, x)| value - dot(&thought, x))
        .collect();
    let level = beyond.iter().sum::<f64>() / count;
    let apart: Vec<[f64; K]> = (known.iter())
        .map(|x| std::array::from_fn(|i| x[i] - centre[i]))
        .collect();
    let ahead: [f64; K] = std::array::from_fn(|i| terms[i].mean - centre[i]);
    let mut squares = [[0.0; K]; K];
    let mut products = [0.0; K];
    for (x, value) in apart.iter().zip(&beyond) {
        for i in 0..K {
            products[i] += x[i] * (value - level);
            for j in 0..K {
                squares[i][j] += x[i] * x[j];
            }
        }
    }
    let least = step * step;
    let spread = beyond.iter().map(|v| (v - level).powi(2)).sum::<f64>();
    let mut fit = Fit::of(
        &squares,
        &products,
        terms,
        (spread / (count - 1.0)).max(least),
    );
    let residuals = |fit: &Fit<K>| -> Vec<f64> {
        let rest = |(value, x): (&f64, &[f64; K])| value - level - dot(&fit.slopes, x);
        beyond.iter().zip(&apart).map(rest).collect()
    };
    for _ in 1..=ROUNDS {
        let left: f64 = residuals(&fit).iter().map(|r| r * r).sum();
        let variance = left / (count - 1.0 - fit.used(&squares)).max(1.0);
        fit = Fit::of(&squares, &products, terms, variance.max(least));
    }
    let toward = apply(&fit.uncertain, &ahead);
    let even = fit.variance / count + dot(&ahead, &toward);
    let own: f64 = (residuals(&fit).iter().zip(&apart))
        .map(|(residual, x)| {
            let pull = 1.0 / count + dot(x, &apply(&fit.uncertain, x)) / fit.variance;
            let weight = 1.0 / count + dot(x, &toward) / fit.variance;
            (weight * residual / (1.0 - pull).max(f64::EPSILON)).powi(2)
        })
        .sum();
    let of_doubt: f64 = (toward.iter().zip(terms))
        .map(|(t, term)| (t / term.doubt).powi(2))
        .sum();
    let freedom = freedom.unwrap_or((count - 1.0 - fit.used(&squares)).max(1.0));
    let error = even.max(own + of_doubt).sqrt();
    Interval {
        mean: level + dot(&thought, &terms.map(|term| term.mean)) + dot(&fit.slopes, &ahead),
        half_width: half_width(error, freedom).unwrap_or(f64::INFINITY),
    }
}

/// The interval of `Σcost / Σbase` over a whole of which `units` are a sample: the mean cost by [`mean`], over the mean base,
/// with the linearised variance of a ratio (Cochran, chapter 6). Only units in which the collector did something have
/// costs, so that their number gives the degrees of freedom.
pub(crate) fn overhead<const K: usize>(units: &[PairedUnit<K>], terms: &[Term; K]) -> Interval {
    let count = units.len() as f64;
    let base = units.iter().map(|u| u.base).sum::<f64>() / count;
    let informed = units.iter().filter(|u| u.more[0] > 0.0).count();
    let freedom = match informed {
        0 => count - 2.0,
        some => (some as f64 - 1.0).min(count - 2.0),
    };
    let more: Vec<[f64; K]> = units.iter().map(|u| u.more).collect();
    let cost = |ratio: f64| {
        let off = |u: &PairedUnit<K>| u.cost - ratio * (u.base - base);
        let costs: Vec<f64> = units.iter().map(off).collect();
        mean(&costs, &more, terms, 1.0, Some(freedom))
    };
    let found = cost(cost(0.0).mean / base);
    Interval {
        mean: found.mean / base,
        half_width: found.half_width / base,
    }
}

/// A regression with thoughts about its slopes.
struct Fit<const K: usize> {
    /// Slopes of the values less the thought.
    slopes: [f64; K],
    /// Variance of what the regression leaves of a value.
    variance: f64,
    /// Covariances of the slopes.
    uncertain: [[f64; K]; K],
}

impl<const K: usize> Fit<K> {
    fn of(
        squares: &[[f64; K]; K],
        products: &[f64; K],
        terms: &[Term; K],
        variance: f64,
    ) -> Fit<K> {
        let mut certain = squares.map(|row| row.map(|square| square / variance));
        for (i, term) in terms.iter().enumerate() {
            certain[i][i] += 1.0 / (term.doubt * term.doubt);
        }
        let uncertain = inverse(certain);
        Fit {
            slopes: apply(&uncertain, &products.map(|product| product / variance)),
            variance,
            uncertain,
        }
    }

    /// Degrees of freedom that the slopes take: one of each that the units tell, none of each that is only thought.
    fn used(&self, squares: &[[f64; K]; K]) -> f64 {
        let row = |i: usize| {
            (0..K)
                .map(|j| self.uncertain[i][j] * squares[j][i])
                .sum::<f64>()
        };
        (0..K).map(row).sum::<f64>() / self.variance
    }
}

fn dot<const K: usize>(a: &[f64; K], b: &[f64; K]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn apply<const K: usize>(matrix: &[[f64; K]; K], vector: &[f64; K]) -> [f64; K] {
    std::array::from_fn(|i| dot(&matrix[i], vector))
}

/// The inverse of a positive definite matrix, by elimination.
fn inverse<const K: usize>(mut matrix: [[f64; K]; K]) -> [[f64; K]; K] {
    let mut inverse = [[0.0; K]; K];
    for (i, row) in inverse.iter_mut().enumerate() {
        row[i] = 1.0;
    }
    for i in 0..K {
        let pivot = matrix[i][i];
        matrix[i] = matrix[i].map(|value| value / pivot);
        inverse[i] = inverse[i].map(|value| value / pivot);
        for j in (0..K).filter(|&j| j != i) {
            let factor = matrix[j][i];
            for k in 0..K {
                matrix[j][k] -= factor * matrix[i][k];
                inverse[j][k] -= factor * inverse[i][k];
            }
        }
    }
    inverse
}

#[cfg(test)]
mod tests;
