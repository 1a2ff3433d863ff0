//! Where units of sampled timing lie, and how long they are.

use hps_isa::memory::MemoryError;
use hps_isa::random::Random;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where and how long units are, in instructions of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SamplingPlan {
    /// From the beginning of a period with a unit to that of the next.
    pub period: u64,
    /// Timed before each unit and not measured: the mean of lengths that are drawn evenly from half as long to half as
    /// long again.
    pub warm_up: u64,
    /// Measured.
    pub unit: u64,
    /// How often the period doubles until it is that long. The length of a run is not known beforehand: one that ends
    /// soon has short periods, and so does not lack units. The first time it doubles behind [`DENSE`] units; those so far
    /// are then thinned to half, so that all count alike.
    #[serde(skip_serializing_if = "is_zero")]
    pub doublings: u32,
    /// Instructions at the beginning that are timed whole, in place of the first unit, but no more than its period: with
    /// empty caches and predictors they take several times as many cycles as others, and no unit tells of them.
    #[serde(skip_serializing_if = "is_zero")]
    pub head: u32,
}

/// Units at the beginning of a run before its period doubles for the first time.
const DENSE: u64 = 200;

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Default for SamplingPlan {
    /// Units of 1,000 instructions behind 2,000 of warm-up in the mean, one in 200,000.
    fn default() -> Self {
        SamplingPlan {
            period: 200_000,
            warm_up: 2000,
            unit: 1000,
            doublings: 0,
            head: 0,
        }
    }
}

/// A plan that cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum SamplingError {
    /// Units of nothing.
    #[error("a unit of 0 instructions measures nothing; give it at least 1")]
    EmptyUnit,
    /// Units overlap.
    #[error(
        "a period of {period} instructions is too short for a warm-up of {warm_up} and a unit of {unit}; \
         give it at least {}",
        warm_up.saturating_add(*unit)
    )]
    Overlap {
        /// The period.
        period: u64,
        /// The warm-up.
        warm_up: u64,
        /// The unit.
        unit: u64,
    },
    /// No period doubles to this one.
    #[error(
        "a period of {period} instructions is none that has doubled {doublings} times: give a multiple of 2 to the power \
         of {doublings}"
    )]
    Doublings {
        /// The period.
        period: u64,
        /// How often it is to double.
        doublings: u32,
    },
    /// The host refuses memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// Where a unit lies, in instructions of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Places {
    /// Begin of the unit's warm-up.
    pub begin: u64,
    /// Begin of what is measured.
    pub measured: u64,
    /// End of the unit.
    pub end: u64,
}

/// A period of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    /// The number of its unit: units are counted in the order of the run.
    pub unit: u64,
    /// First instruction of the period, and number of its instructions.
    pub begin: u64,
    pub length: u64,
    /// How often the period has doubled up to here.
    pub level: u32,
}

impl Period {
    /// The instruction behind it.
    pub fn end(&self) -> u64 {
        self.begin + self.length
    }
}

impl SamplingPlan {
    /// The default with periods that are short in short runs: 6,250 instructions at first, the default's from 40 million
    /// on.
    #[must_use]
    pub fn for_any_length() -> SamplingPlan {
        SamplingPlan {
            doublings: 5,
            head: 6250,
            ..SamplingPlan::default()
        }
    }

    /// The length of the first periods.
    fn first(&self) -> u64 {
        self.period >> self.doublings.min(63)
    }

    /// Where the periods of a level begin, and the number of the first one.
    fn level(&self, level: u32) -> (u64, u64) {
        match level {
            0 => (0, 0),
            // Each level but the last one doubles the run so far: with half as many units as there were at first.
            _ => (
                (DENSE * self.first()) << (level - 1),
                DENSE + u64::from(level - 1) * DENSE / 2,
            ),
        }
    }

    fn of(&self, level: u32, place: u64) -> Period {
        let (begin, unit) = self.level(level);
        let length = self.length(level);
        Period {
            unit: unit + place,
            begin: begin + place * length,
            length,
            level,
        }
    }

    /// The period that holds an instruction, by its number from 0.
    pub(super) fn period_at(&self, instruction: u64) -> Period {
        let dense = instruction / DENSE.saturating_mul(self.first()).max(1);
        let level = match dense {
            0 => 0,
            _ => (dense.ilog2() + 1).min(self.doublings),
        };
        let (begin, _) = self.level(level);
        self.of(level, (instruction - begin) / self.length(level))
    }

    /// The period of a unit.
    pub(super) fn period_of(&self, unit: u64) -> Period {
        let level = match unit.checked_sub(DENSE) {
            None => 0,
            Some(beyond) => (beyond / (DENSE / 2) + 1).min(u64::from(self.doublings)) as u32,
        };
        let (_, first) = self.level(level);
        self.of(level, unit - first)
    }

    /// The length of the periods of a level.
    pub(super) fn length(&self, level: u32) -> u64 {
        self.first() << level
    }

    /// Which of two neighbours stays when units are thinned: drawn by the number of the pair.
    pub(super) fn stays(level: u32, pair: u64) -> usize {
        let number = 2 * (pair << 8 | u64::from(level)) + 1;
        Random::from_number(0, number).below(2) as usize
    }

    /// Where a unit lies: at a place of its period that is drawn evenly by its number, the same in every run. At a fixed
    /// place units would be in step with loops whose length divides the period, and none would lie where the program
    /// begins. The length of the warm-up is drawn too: a unit begins with an empty pipeline, and what that stirs up in a
    /// loop of streams comes and goes for thousands of instructions. Behind warm-ups of one length all units would meet
    /// it in step, as a bias.
    pub(super) fn places(&self, period: Period) -> Places {
        if period.unit == 0 && self.head > 0 {
            return Places {
                begin: 0,
                measured: 0,
                end: u64::from(self.head).min(period.length),
            };
        }
        let mut draws = Random::from_number(0, 2 * period.unit);
        let least = self.warm_up / 2;
        let most = self
            .warm_up
            .saturating_add(least)
            .min(period.length - self.unit);
        let warm_up = least + draws.below(most - least + 1);
        let room = period.length - warm_up - self.unit;
        let begin = period.begin + draws.below(room + 1);
        let measured = begin + warm_up;
        Places {
            begin,
            measured,
            end: measured + self.unit,
        }
    }

    /// Whether units fit into their period.
    ///
    /// # Errors
    /// If they do not.
    pub fn validate(&self) -> Result<(), SamplingError> {
        let SamplingPlan {
            period,
            warm_up,
            unit,
            doublings,
            ..
        } = *self;
        if unit == 0 {
            return Err(SamplingError::EmptyUnit);
        }
        if doublings > 0 && self.first().checked_shl(doublings) != Some(period) {
            return Err(SamplingError::Doublings { period, doublings });
        }
        let period = self.first();
        if warm_up.checked_add(unit).is_none_or(|timed| timed > period) {
            return Err(SamplingError::Overlap {
                period,
                warm_up,
                unit,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_lie_at_drawn_places_of_their_periods_behind_drawn_warm_ups() {
        let plan = SamplingPlan {
            period: 10_000,
            warm_up: 2000,
            unit: 1000,
            ..SamplingPlan::default()
        };
        let (mut sevenths, mut warm_ups) = ([0; 7], [0; 4]);
        for unit in 0..700 {
            let places = plan.places(plan.period_of(unit));
            assert_eq!(places, plan.places(plan.period_of(unit)));
            let warm_up = places.measured - places.begin;
            assert!((1000..=3000).contains(&warm_up), "{warm_up}");
            warm_ups[((warm_up - 1000) / 500).min(3) as usize] += 1;
            assert_eq!(places.end - places.measured, plan.unit);
            assert_eq!(
                (places.begin / 10_000, (places.end - 1) / 10_000),
                (unit, unit)
            );
            sevenths[(places.begin % 10_000 / 1000).min(6) as usize] += 1;
        }
        // 100 each, with a standard deviation of 9.3.
        assert!(
            sevenths.iter().all(|n| (60..140).contains(n)),
            "{sevenths:?}"
        );
        // 175 each, with a standard deviation of 11.5.
        assert!(
            warm_ups.iter().all(|n| (130..220).contains(n)),
            "{warm_ups:?}"
        );
    }

    #[test]
    fn a_unit_with_its_warm_up_may_fill_its_period() {
        let plan = SamplingPlan {
            period: 3000,
            warm_up: 2000,
            unit: 1000,
            ..SamplingPlan::default()
        };
        for unit in 0..100 {
            let places = plan.places(plan.period_of(unit));
            assert!(places.begin >= 3000 * unit && places.end <= 3000 * (unit + 1));
        }
    }

    #[test]
    fn periods_double_until_they_are_as_long_as_they_shall_be() {
        let plan = SamplingPlan {
            doublings: 3,
            ..SamplingPlan::default()
        };
        // 200 periods of 25,000 instructions, then 100 of 50,000 and of 100,000, and the others of 200,000.
        let lengths = [
            (0, 25_000),
            (199, 25_000),
            (200, 50_000),
            (300, 100_000),
            (400, 200_000),
            (999, 200_000),
        ];
        for (unit, length) in lengths {
            assert_eq!(plan.period_of(unit).length, length, "{unit}");
        }
        let mut begin = 0;
        for unit in 0..1000 {
            let period = plan.period_of(unit);
            assert_eq!((period.unit, period.begin), (unit, begin));
            for instruction in [begin, begin + period.length / 2, period.end() - 1] {
                assert_eq!(plan.period_at(instruction), period, "{instruction}");
            }
            begin = period.end();
        }
        assert!(plan.validate().is_ok());
        let head = |head| SamplingPlan { head, ..plan }.places(plan.period_of(0));
        assert_eq!(
            (head(9000).begin, head(9000).measured, head(9000).end),
            (0, 0, 9000)
        );
        assert_eq!(head(1 << 30).end, 25_000, "a period");
        let odd = SamplingPlan {
            doublings: 7,
            ..plan
        };
        assert!(odd.validate().is_err(), "200,000 is no multiple of 128");
        let kept = |pairs: u64| {
            (0..pairs)
                .map(|pair| SamplingPlan::stays(2, pair))
                .sum::<usize>()
        };
        // Of 400 pairs the second one in half of all, with a standard deviation of 10.
        assert!((160..=240).contains(&kept(400)));
    }
}
