//! Which slices of a run are timed, and what they stand for.

use hps_isa::random::Random;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smartcore::cluster::kmeans::{KMeans, KMeansParameters};
use smartcore::linalg::basic::matrix::DenseMatrix;

use super::blocks::{BlockVector, BlockVectors, DIMENSIONS};

/// Ways to choose slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// SimPoint: clusters of slices by the code that they are in, and of each the slice in its middle.
    Simpoint,
    /// Slices at equal distances.
    Systematic,
    /// Clusters as for SimPoint, and of each as many slices at random as its share of the run asks for, two at least: the
    /// error has an interval.
    Stratified,
}

/// Slices that stand for a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// How they were chosen; `None`: a file says them.
    pub method: Option<Method>,
    /// The slices, in their order.
    pub chosen: Vec<Chosen>,
    /// Slices of the run.
    pub slices: u64,
    /// Instructions of the run.
    pub instructions: u64,
}

/// A slice that stands for others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Chosen {
    /// Its number, from 0 on.
    pub slice: u64,
    /// The share of the run's instructions that it stands for.
    pub weight: f64,
    /// The cluster that it is of.
    pub cluster: u64,
}

/// Share of the range of scores from which on fewer clusters do, as in SimPoint.
const ENOUGH: f64 = 0.9;
/// Beginnings of the search for so many clusters.
const TRIES: u64 = 5;
/// Seed of slices at random.
const SEED: u64 = 1;

impl Choice {
    /// Chooses at most `most` slices.
    #[must_use]
    pub fn new(method: Method, vectors: &BlockVectors, most: usize) -> Choice {
        let instructions = vectors.all_instructions();
        let slices = vectors.vectors.len();
        let share = |slice: usize| vectors.instructions[slice] as f64 / instructions.max(1) as f64;
        let most = most.clamp(1, slices.max(1));
        let mut chosen: Vec<Chosen> = Vec::new();
        match method {
            Method::Systematic => {
                for at in 0..most.min(slices) {
                    // The middle of each of `most` parts.
                    let slice = (2 * at + 1) * slices / (2 * most);
                    let part = at * slices / most..(at + 1) * slices / most;
                    chosen.push(Chosen {
                        slice: slice as u64,
                        weight: part.map(share).sum(),
                        cluster: 0,
                    });
                }
            }
            Method::Simpoint => {
                let clusters = Clusters::best(&vectors.vectors, most);
                for (number, members) in clusters.members().iter().enumerate() {
                    let center = clusters.center(members, &vectors.vectors);
                    let distance = |&slice: &usize| distance(&vectors.vectors[slice], &center);
                    let middle = members
                        .iter()
                        .copied()
                        .min_by(|a, b| distance(a).total_cmp(&distance(b)));
                    chosen.extend(middle.map(|slice| Chosen {
                        slice: slice as u64,
                        weight: members.iter().map(|&slice| share(slice)).sum(),
                        cluster: number as u64,
                    }));
                }
            }
            Method::Stratified => {
                // Two slices of each cluster at least.
                let clusters = Clusters::best(&vectors.vectors, (most / 2).max(1));
                for (number, members) in clusters.members().iter().enumerate() {
                    let part: f64 = members.iter().map(|&slice| share(slice)).sum();
                    let count = (part * most as f64).round() as usize;
                    let count = count.clamp(2.min(members.len()), members.len());
                    let mut rest = members.clone();
                    let seed = Random::from_number(SEED, number as u64).number();
                    let mut random = Random::new(seed);
                    for _ in 0..count {
                        let slice = rest.swap_remove(random.below(rest.len() as u64) as usize);
                        chosen.push(Chosen {
                            slice: slice as u64,
                            weight: part / count as f64,
                            cluster: number as u64,
                        });
                    }
                }
            }
        }
        chosen.sort_unstable_by_key(|one| one.slice);
        Choice {
            method: Some(method),
            chosen,
            slices: slices as u64,
            instructions,
        }
    }

    /// Half of the 95% interval of the mean of a value of slices that is weighed by instructions, for sampling alone:
    /// `None` where a choice says nothing of it. `values` are those of the chosen slices.
    #[must_use]
    pub fn half_width(&self, values: &[f64]) -> Option<f64> {
        let method = self.method.filter(|method| *method != Method::Simpoint)?;
        let clusters = match method {
            Method::Stratified => self.chosen.iter().map(|one| one.cluster).max()? + 1,
            _ => 1,
        };
        let mut variance = 0.0;
        for cluster in 0..clusters {
            let of_cluster = self.chosen.iter().zip(values);
            let of_cluster = of_cluster.filter(|(one, _)| one.cluster == cluster);
            let (weights, values): (Vec<f64>, Vec<f64>) =
                of_cluster.map(|(one, &value)| (one.weight, value)).unzip();
            let (count, weight) = (values.len() as f64, weights.iter().sum::<f64>());
            // Chosen of all slices of the cluster: those that are not chosen make the error.
            let all = (weight * self.slices as f64).max(count);
            if all <= count {
                continue;
            }
            if values.len() < 2 {
                return None;
            }
            let mean = values.iter().sum::<f64>() / count;
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            variance += weight * weight * squares / (count - 1.0) / count * (1.0 - count / all);
        }
        Some(1.96 * variance.sqrt())
    }
}

fn distance(one: &BlockVector, other: &BlockVector) -> f64 {
    let squares = one.iter().zip(other).map(|(a, b)| (a - b).powi(2));
    squares.sum()
}

/// Slices by cluster.
struct Clusters {
    of: Vec<usize>,
    count: usize,
}

impl Clusters {
    /// The fewest clusters whose Bayesian information criterion is nearly the best of up to `most`.
    fn best(vectors: &[BlockVector], most: usize) -> Clusters {
        let counts = 1..=most.min(vectors.len());
        let mut all: Vec<(f64, Clusters)> = counts
            .filter_map(|count| {
                let tries = (0..TRIES).filter_map(|seed| Clusters::of(vectors, count, seed));
                let scored = tries.map(|clusters| (clusters.score(vectors), clusters));
                scored.max_by(|(one, _), (other, _)| one.total_cmp(other))
            })
            .collect();
        let scores = || all.iter().map(|(score, _)| *score);
        let (low, high) = (
            scores().fold(f64::INFINITY, f64::min),
            scores().fold(f64::NEG_INFINITY, f64::max),
        );
        let enough = low + ENOUGH * (high - low);
        let at = scores().position(|score| score >= enough).unwrap_or(0);
        match at < all.len() {
            true => all.swap_remove(at).1,
            false => Clusters {
                of: Vec::new(),
                count: 0,
            },
        }
    }

    fn of(vectors: &[BlockVector], count: usize, seed: u64) -> Option<Clusters> {
        if count < 2 {
            return Some(Clusters {
                of: vec![0; vectors.len()],
                count: 1,
            });
        }
        let rows = vectors.iter().map(|vector| vector.to_vec()).collect();
        let matrix = DenseMatrix::from_2d_vec(&rows).ok()?;
        let parameters = KMeansParameters {
            k: count,
            max_iter: 100,
            seed: Some(seed),
        };
        let means: KMeans<f64, u32, _, Vec<u32>> = KMeans::fit(&matrix, parameters).ok()?;
        let labels: Vec<u32> = means.predict(&matrix).ok()?;
        // Numbered as they come, without those that nothing is of.
        let mut numbers: Vec<u32> = Vec::new();
        let of = labels.iter().map(|label| {
            let known = numbers.iter().position(|number| number == label);
            known.unwrap_or_else(|| {
                numbers.push(*label);
                numbers.len() - 1
            })
        });
        let of: Vec<usize> = of.collect();
        Some(Clusters {
            of,
            count: numbers.len(),
        })
    }

    fn members(&self) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.count];
        for (slice, &cluster) in self.of.iter().enumerate() {
            members[cluster].push(slice);
        }
        members
    }

    fn center(&self, members: &[usize], vectors: &[BlockVector]) -> BlockVector {
        let mut center = [0.0; DIMENSIONS];
        for &member in members {
            for (sum, value) in center.iter_mut().zip(vectors[member]) {
                *sum += value / members.len() as f64;
            }
        }
        center
    }

    /// The Bayesian information criterion (Pelleg and Moore, "X-means", ICML 2000): how likely the vectors are if each
    /// cluster is a normal distribution of one common variance, less what clusters cost.
    fn score(&self, vectors: &[BlockVector]) -> f64 {
        let (all, dimensions) = (vectors.len() as f64, DIMENSIONS as f64);
        let count = self.count as f64;
        let members = self.members();
        let squares: f64 = members
            .iter()
            .map(|members| {
                let center = self.center(members, vectors);
                let distances = members
                    .iter()
                    .map(|&slice| distance(&vectors[slice], &center));
                distances.sum::<f64>()
            })
            .sum();
        let variance = (squares / (dimensions * (all - count).max(1.0))).max(1e-12);
        let likelihood: f64 = members
            .iter()
            .map(|members| {
                let size = members.len() as f64;
                size * (size / all).ln()
            })
            .sum();
        let likelihood = likelihood
            - all * dimensions / 2.0 * (2.0 * std::f64::consts::PI * variance).ln()
            - dimensions * (all - count) / 2.0;
        let parameters = count - 1.0 + count * dimensions + 1.0;
        likelihood - parameters / 2.0 * all.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slices of three kinds of code, 60, 30 and 10 of them.
    fn three_kinds() -> BlockVectors {
        let kind = |slice: usize| match slice % 10 {
            0..6 => 0,
            6..9 => 1,
            _ => 2,
        };
        let vectors = (0..100).map(|slice| {
            let mut random = Random::new(slice as u64);
            let mut vector = [0.0; DIMENSIONS];
            vector[kind(slice)] = 1.0;
            for value in &mut vector {
                *value += random.below(1000) as f64 * 1e-5;
            }
            vector
        });
        BlockVectors {
            vectors: vectors.collect(),
            instructions: vec![1000; 100],
        }
    }

    #[test]
    fn kinds_of_code_are_found_with_their_shares() {
        let choice = Choice::new(Method::Simpoint, &three_kinds(), 12);
        let mut weights: Vec<f64> = choice.chosen.iter().map(|one| one.weight).collect();
        weights.sort_by(f64::total_cmp);
        let wanted = [0.1, 0.3, 0.6];
        assert_eq!(weights.len(), 3, "{weights:?}");
        for (weight, wanted) in weights.iter().zip(wanted) {
            assert!((weight - wanted).abs() < 1e-9, "{weights:?}");
        }
    }

    #[test]
    fn all_weights_sum_to_the_run() {
        for method in [Method::Simpoint, Method::Systematic, Method::Stratified] {
            for most in [1, 2, 7, 30, 100, 1000] {
                let choice = Choice::new(method, &three_kinds(), most);
                let sum: f64 = choice.chosen.iter().map(|one| one.weight).sum();
                assert!((sum - 1.0).abs() < 1e-9, "{method:?} {most}: {sum}");
                let mut slices: Vec<u64> = choice.chosen.iter().map(|one| one.slice).collect();
                slices.dedup();
                assert_eq!(slices.len(), choice.chosen.len(), "{method:?} {most}");
            }
        }
    }

    #[test]
    fn strata_narrow_the_interval_of_values_that_depend_on_the_code() {
        let vectors = three_kinds();
        let width = |method| {
            let choice = Choice::new(method, &vectors, 20);
            let values = choice.chosen.iter().map(|one| match one.slice % 10 {
                0..6 => 1.0,
                6..9 => 2.0,
                _ => 5.0,
            });
            choice.half_width(&values.collect::<Vec<f64>>())
        };
        let (stratified, systematic) = (width(Method::Stratified), width(Method::Systematic));
        assert_eq!(stratified, Some(0.0));
        assert!(
            systematic.is_some_and(|width| width > 0.1),
            "{systematic:?}"
        );
        assert_eq!(width(Method::Simpoint), None);
    }
}
