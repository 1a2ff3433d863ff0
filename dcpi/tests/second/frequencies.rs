//! Estimates of classes (section 6.1.3 of the paper, and the README of the crate for what the paper leaves open), and what
//! flow constraints make of them.

use hps_system::cfg::Cfg;

/// An instruction of a class.
#[derive(Clone, Copy)]
pub struct Point {
    pub samples: f64,
    pub minimum: f64,
    pub waits_for: Option<usize>,
    pub is_uncertain: bool,
}

/// An estimate: executions in samples, and the relative standard deviation of its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    pub frequency: f64,
    pub deviation: f64,
}

/// Standard deviation up to which confidence is high.
const HIGH: f64 = 0.06;

/// Samples and minimum head times that make a ratio.
#[derive(Clone, Copy)]
struct Ratio {
    samples: f64,
    minimum: f64,
}

impl Ratio {
    fn value(self) -> f64 {
        self.samples / self.minimum
    }
}

fn pool(ratios: &[Ratio]) -> Ratio {
    Ratio {
        samples: ratios.iter().map(|r| r.samples).sum(),
        minimum: ratios.iter().map(|r| r.minimum).sum(),
    }
}

/// The estimate of a class from the points of its blocks. No stall may last longer than `longest` cycles on average.
pub fn estimate(blocks: &[Vec<Point>], longest: f64) -> Option<Known> {
    let points: Vec<Point> = blocks.iter().flatten().copied().collect();
    let is_issue = |p: &Point| p.minimum > 0.0;
    let has_certain = points.iter().any(|p| is_issue(p) && !p.is_uncertain);
    let mut ratios = Vec::new();
    for block in blocks {
        for (at, point) in block.iter().enumerate() {
            if is_issue(point) && !(has_certain && point.is_uncertain) {
                // With everything behind the instruction that it waits for.
                let from = point
                    .waits_for
                    .map_or(at, |producer| (producer + 1).min(at));
                let span: Vec<Ratio> = block[from..=at]
                    .iter()
                    .map(|p| Ratio {
                        samples: p.samples,
                        minimum: p.minimum,
                    })
                    .collect();
                ratios.push(pool(&span));
            }
        }
    }
    ratios.sort_by(|a, b| a.value().total_cmp(&b.value()));
    let least = (ratios.len() as f64 / 3.0).ceil();
    for first in 0..ratios.len() {
        let mut last = first;
        while last + 1 < ratios.len() && joins(&ratios[first..=last], ratios[last + 1]) {
            last += 1;
        }
        let members = &ratios[first..=last];
        let found = pool(members);
        let implies = |p: &Point| p.samples / found.value() - p.minimum;
        if members.len() as f64 >= least
            && found.samples > 0.0
            && points.iter().all(|p| implies(p) <= longest)
        {
            return Some(Known {
                frequency: found.value(),
                deviation: deviation(members),
            });
        }
    }
    let all: Vec<Ratio> = points
        .iter()
        .map(|p| Ratio {
            samples: p.samples,
            minimum: p.minimum,
        })
        .collect();
    let all = pool(&all);
    (!ratios.is_empty()).then(|| Known {
        frequency: all.samples / all.minimum.max(1.0),
        deviation: 1.0,
    })
}

/// Whether a ratio may be of the frequency of smaller ones: it is at most 1.15 times theirs, or 2.5 standard deviations of
/// the difference of two counts of one frequency above it.
fn joins(smaller: &[Ratio], next: Ratio) -> bool {
    let of = pool(smaller);
    let both = pool(&[of, next]).value();
    let deviation = (both / of.minimum + both / next.minimum).sqrt();
    next.value() <= 1.15 * of.value() || next.value() - of.value() <= 2.5 * deviation
}

/// Chance, stalls that all members may share, and stalls below the limits of [`joins`], of which one point in four has any
/// for each unit of size, and half the limit on average.
fn deviation(members: &[Ratio]) -> f64 {
    let shared: f64 = [0.5, 0.2, 0.07, 0.03][members.len().min(4) - 1];
    let of = pool(members);
    let limit = f64::max(0.15, 2.5 / of.value().sqrt());
    let hidden = 0.25 * limit.powi(2) / 2.0;
    (shared.powi(2) + 1.0 / of.samples.max(1.0) + hidden.powi(2)).sqrt()
}

/// A frequency and the variance of its error.
type Spread = (f64, f64);

/// Gives each class the estimate of least variance: its own, or what a constraint of flow makes of others; of equal ones
/// its own, or the greater frequency. Computes all estimates anew from those of the round before until nothing changes. A class that
/// is known to high confidence keeps its own.
pub fn propagate(cfg: &Cfg, classes: &[usize], known: &mut [Option<Known>]) {
    if cfg.missing_edges {
        return;
    }
    let blocks = cfg.blocks.len();
    // Each side of a block: the executions of the block, less those of its edges, are zero.
    let mut sides: Vec<Vec<(usize, f64)>> = Vec::new();
    for block in 0..blocks {
        for side in [cfg.into(block), cfg.out_of(block)] {
            let factor = |class: usize| -> f64 {
                let edges = side.iter().filter(|e| classes[blocks + **e] == class);
                f64::from(u8::from(classes[block] == class)) - edges.count() as f64
            };
            let terms = (0..known.len()).map(|class| (class, factor(class)));
            if !side.is_empty() {
                sides.push(terms.filter(|t| t.1 != 0.0).collect());
            }
        }
    }
    let spread = |k: Known| (k.frequency, (k.deviation * k.frequency.max(1.0)).powi(2));
    let own: Vec<Option<Spread>> = known.iter().map(|k| k.map(spread)).collect();
    let mut best = own.clone();
    loop {
        let round: Vec<Option<Spread>> = (0..known.len())
            .map(|class| match known[class] {
                Some(k) if k.deviation <= HIGH => own[class],
                _ => {
                    let offers = sides.iter().filter_map(|side| offer(side, class, &best));
                    let offer = offers.fold(None, better);
                    let is_no_better =
                        |own: &Spread| offer.is_none_or(|o| own.1 as f32 <= o.1 as f32);
                    own[class].filter(is_no_better).or(offer)
                }
            })
            .collect();
        if round == best {
            break;
        }
        best = round;
    }
    for class in 0..known.len() {
        if best[class] != own[class] {
            known[class] = best[class].map(|(frequency, variance)| Known {
                frequency,
                deviation: variance.sqrt() / frequency.max(1.0),
            });
        }
    }
}

/// The better of two estimates, the first one if they are equal. Variances are equal if they are to seven digits.
fn better(old: Option<Spread>, new: Spread) -> Option<Spread> {
    let key = |s: Spread| (s.1 as f32, -s.0);
    match old {
        Some(old) if key(old).0 < key(new).0 || key(old) <= key(new) => Some(old),
        _ => Some(new),
    }
}

/// The estimate for a class that one side of a block makes of the others.
fn offer(side: &[(usize, f64)], class: usize, best: &[Option<Spread>]) -> Option<Spread> {
    let factor = side.iter().find(|t| t.0 == class)?.1;
    let (mut sum, mut variance) = (0.0, 0.0);
    for (other, factor) in side.iter().filter(|t| t.0 != class) {
        let (frequency, of_frequency) = best[*other]?;
        sum -= factor * frequency;
        variance += factor * factor * of_frequency;
    }
    Some(((sum / factor).max(0.0), variance))
}
