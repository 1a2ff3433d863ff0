//! When samples are taken: a period of cycles, instructions or events, fixed or random.

use hps_isa::random::Random;
use hps_pipeline::core::{Commit, EventSet, Origin};
use serde::{Deserialize, Serialize};

/// Unit that a period counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Unit {
    /// Cycles.
    Cycles,
    /// Committed instructions of the program.
    Instructions,
    /// Committed instructions to which all of these events happened.
    Events(EventSet),
}

/// How periods vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Spread {
    /// Each is as long as the one before.
    Fixed,
    /// Each is drawn anew, uniformly, from within this many percent of the mean; with this seed.
    Random {
        /// Half the width of the interval, in percent of the mean: 0 to 100.
        percent: u8,
        /// Seed of the draws.
        seed: u64,
    },
}

/// A period of sampling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Period {
    /// Mean length.
    pub mean: u64,
    /// Unit of the length.
    pub unit: Unit,
    /// How it varies.
    pub spread: Spread,
    /// Where the first sample lies: this many units before the end of the first period, less than the mean.
    pub phase: u64,
}

hps_isa::save_values!(Period);

impl Period {
    /// A fixed period of cycles, the first sample at its end.
    #[must_use]
    pub fn cycles(mean: u64) -> Period {
        Period {
            mean,
            unit: Unit::Cycles,
            spread: Spread::Fixed,
            phase: 0,
        }
    }

    /// The smallest prime that is at least as large as a number: a period that no loop of a round length is in
    /// step with.
    #[must_use]
    pub fn prime_from(at_least: u64) -> u64 {
        let is_prime = |n: u64| {
            n >= 2
                && (2..)
                    .take_while(|d| d * d <= n)
                    .all(|d| !n.is_multiple_of(d))
        };
        (at_least.max(2)..).find(|&n| is_prime(n)).unwrap_or(2)
    }

    /// How much longer or shorter than the mean a period may be.
    #[must_use]
    pub fn half_width(&self) -> u64 {
        let mean = self.mean.max(1);
        match self.spread {
            Spread::Fixed => 0,
            Spread::Random { percent, .. } => {
                let half = (u128::from(mean) * u128::from(percent.min(100)) / 100) as u64;
                half.min(mean - 1)
            }
        }
    }

    /// The same period in another hardware context, whose counter counts alone: what is random there is drawn anew.
    #[must_use]
    pub fn of_context(self, context: usize) -> Period {
        match self.spread {
            Spread::Fixed => self,
            Spread::Random { percent, seed } => Period {
                spread: Spread::Random {
                    percent,
                    seed: seed.wrapping_add(context as u64),
                },
                ..self
            },
        }
    }

    /// The same period with its first sample elsewhere: phase `index` of `of`, spread evenly over the period.
    #[must_use]
    pub fn at_phase(self, index: u64, of: u64) -> Period {
        let of = of.max(1);
        Period {
            phase: (u128::from(self.mean) * u128::from(index % of) / u128::from(of)) as u64,
            ..self
        }
    }
}

/// The samples of a period, one after the other.
#[derive(Clone, Debug)]
pub struct Schedule {
    period: Period,
    random: Random,
    /// Units until the next sample; of cycles, the cycle of the next one.
    left: u64,
    /// The next sample is taken in this cycle, if that is known.
    due: u64,
}

hps_isa::save_state! { Schedule { period, random, left, due } }

/// The cycle of a sample that is not known yet.
pub const NOT_DUE: u64 = u64::MAX;

impl Schedule {
    /// The schedule of a period, before the first cycle.
    #[must_use]
    pub fn new(period: Period) -> Self {
        let seed = match period.spread {
            Spread::Fixed => 0,
            Spread::Random { seed, .. } => seed,
        };
        let mut schedule = Schedule {
            period,
            random: Random::new(seed),
            left: 0,
            due: NOT_DUE,
        };
        let first = schedule.draw();
        schedule.left = first
            .saturating_sub(period.phase % period.mean.max(1))
            .max(1);
        if period.unit == Unit::Cycles {
            schedule.due = schedule.left;
        }
        schedule
    }

    /// The length of the next period.
    fn draw(&mut self) -> u64 {
        let mean = self.period.mean.max(1);
        match self.period.spread {
            Spread::Fixed => mean,
            Spread::Random { .. } => {
                let half = self.period.half_width();
                (mean - half) + self.random.below(2 * half + 1)
            }
        }
    }

    /// The cycle of the next sample; [`NOT_DUE`] until the instruction or event has committed that it waits for.
    #[inline]
    #[must_use]
    pub fn due(&self) -> u64 {
        self.due
    }

    /// Whether commits have to be counted.
    #[must_use]
    pub fn counts_commits(&self) -> bool {
        self.period.unit != Unit::Cycles
    }

    /// The sample that was due has been taken.
    pub fn taken(&mut self) {
        let next = self.draw();
        if self.period.unit == Unit::Cycles {
            self.due += next;
        } else {
            self.due = NOT_DUE;
            // Commits since the overflow count for the next period.
            self.left = next.saturating_sub(self.left);
        }
    }

    /// An instruction has committed. The sample of the one at which the period ends is due in the next cycle.
    #[inline]
    pub fn count(&mut self, commit: &Commit) {
        let counts = match self.period.unit {
            Unit::Cycles => false,
            Unit::Instructions => commit.origin == Origin::Program,
            Unit::Events(events) => commit.events.has(events),
        };
        if !counts {
            return;
        }
        if self.due != NOT_DUE {
            self.left += 1;
            return;
        }
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.due = commit.cycle + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_period_is_due_at_its_multiples() {
        let mut schedule = Schedule::new(Period::cycles(100));
        let mut due = Vec::new();
        for _ in 0..3 {
            due.push(schedule.due());
            schedule.taken();
        }
        assert_eq!(due, [100, 200, 300]);
        assert_eq!(Schedule::new(Period::cycles(100).at_phase(3, 4)).due(), 25);
    }

    #[test]
    fn random_periods_have_their_mean_and_depend_on_the_seed_alone() {
        let period = |seed| Period {
            spread: Spread::Random { percent: 20, seed },
            ..Period::cycles(1000)
        };
        let run = |seed| {
            let mut schedule = Schedule::new(period(seed));
            let mut all = vec![schedule.due()];
            for _ in 0..2000 {
                schedule.taken();
                all.push(schedule.due());
            }
            all
        };
        let all = run(1);
        assert_eq!(all, run(1));
        assert_ne!(all, run(2));
        let lengths: Vec<u64> = all.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(lengths.iter().all(|&l| (800..=1200).contains(&l)));
        let mean = lengths.iter().sum::<u64>() as f64 / lengths.len() as f64;
        // The standard error of the mean is 116 / sqrt(2000) = 2.6 cycles.
        assert!((mean - 1000.0).abs() < 13.0, "{mean}");
    }

    #[test]
    fn primes_are_the_next_ones() {
        assert_eq!(Period::prime_from(1000), 1009);
        assert_eq!(Period::prime_from(1009), 1009);
        assert_eq!(Period::prime_from(0), 2);
    }
}
