//! Switching by phase: an operating point for each phase of a program, found out by trying all of them.
//!
//! SHIM's authors end their study of clocks and prefetchers with the thought that a processor could be switched by phase
//! (section 7). The policy here knows nothing but samples: it tries every point for some samples in each phase, and then
//! goes, in that phase, to the one that adds least to what is to be small for the whole run, energy times a power of time
//! ([`Goal`]): an instruction that takes energy `e` and time `t` adds in proportion to `e × T + n × t × E`, where `E` and `T`
//! are what the run has taken so far and `n` is the power.

use std::collections::BTreeMap;

use hps_pipeline::core::OperatingPoint;

/// Samples for which each point is tried in each phase.
const TRIES: u32 = 4;

/// Instructions of an amount of work, and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Instructions of the program.
    pub instructions: f64,
    /// Cycles of its core.
    pub cycles: f64,
    /// Lines that memory was asked for.
    pub requests: f64,
}

impl Work {
    /// Instructions a cycle.
    #[must_use]
    pub fn ipc(&self) -> f64 {
        self.instructions / self.cycles
    }

    /// Reads of memory in a hundred cycles.
    #[must_use]
    pub fn requests_per_100_cycles(&self) -> f64 {
        100.0 * self.requests / self.cycles
    }

    /// Both.
    pub fn add(&mut self, other: Work) {
        self.instructions += other.instructions;
        self.cycles += other.cycles;
        self.requests += other.requests;
    }
}

/// Model of energy. The unit is the switching energy of a core in a cycle at the full clock. Nothing here is measured;
/// the shares are round numbers of the order that is public of processors of the paper's time.
#[derive(Clone, Copy, Debug)]
pub struct Energy {
    /// The clock at which a cycle costs 1, in MHz. The voltage falls with the clock, so that a cycle costs its square.
    pub full_mhz: f64,
    /// Leakage in the time of a cycle at the full clock.
    pub leakage: f64,
    /// A line from memory.
    pub request: f64,
}

impl Energy {
    /// For cores of a full clock.
    #[must_use]
    pub fn of(full_mhz: u32) -> Energy {
        Energy {
            full_mhz: f64::from(full_mhz),
            leakage: 0.3,
            request: 7.0,
        }
    }

    /// Of some work at a clock.
    #[must_use]
    pub fn of_work(&self, work: Work, clock_mhz: u32) -> f64 {
        let share = f64::from(clock_mhz) / self.full_mhz;
        work.cycles * (share * share + self.leakage / share) + self.request * work.requests
    }
}

/// Nanoseconds of some cycles.
#[must_use]
pub fn nanoseconds(cycles: f64, clock_mhz: u32) -> f64 {
    cycles * 1000.0 / f64::from(clock_mhz)
}

/// Objective to be minimized over a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Energy times time.
    EnergyTime,
    /// Energy times the square of time, which a change of voltage alone does not change.
    EnergyTime2,
}

impl Goal {
    /// Both.
    pub const ALL: [Goal; 2] = [Goal::EnergyTime, Goal::EnergyTime2];

    /// The name of the measure.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Goal::EnergyTime => "energy_time",
            Goal::EnergyTime2 => "energy_time2",
        }
    }

    /// In words.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Goal::EnergyTime => "energy × time",
            Goal::EnergyTime2 => "energy × time²",
        }
    }

    /// Name of the scheme that minimizes it.
    #[must_use]
    pub fn scheme(self) -> String {
        format!("by-phase-for-{}", self.name())
    }

    /// The power of time.
    fn power(self) -> f64 {
        match self {
            Goal::EnergyTime => 1.0,
            Goal::EnergyTime2 => 2.0,
        }
    }

    /// Of a run.
    pub fn of(self, energy: f64, time: f64) -> f64 {
        energy * time.powf(self.power())
    }
}

/// The policy.
pub struct ByPhase {
    goal: Goal,
    points: Vec<OperatingPoint>,
    energy: Energy,
    /// By phase, for each point: how many samples, and their work.
    tried: BTreeMap<String, Vec<(u32, Work)>>,
    now: OperatingPoint,
    /// Energy and nanoseconds of the run so far.
    so_far: (f64, f64),
    /// The interval that ends next began at this point.
    is_whole: bool,
}

impl ByPhase {
    /// Chooses among points, of which the chip has the first one now.
    #[must_use]
    pub fn new(goal: Goal, points: &[OperatingPoint], energy: Energy) -> ByPhase {
        ByPhase {
            goal,
            points: points.to_vec(),
            energy,
            tried: BTreeMap::new(),
            now: points[0],
            so_far: (0.0, 0.0),
            is_whole: false,
        }
    }

    /// A sample was taken in a phase, and so much was done since the one before. Answers where to go on.
    pub fn next(&mut self, phase: &str, work: Work) -> OperatingPoint {
        self.so_far.0 += self.energy.of_work(work, self.now.clock_mhz);
        self.so_far.1 += nanoseconds(work.cycles, self.now.clock_mhz);
        let none = || vec![(0, Work::default()); self.points.len()];
        let tried = self.tried.entry(phase.to_string()).or_insert_with(none);
        if self.is_whole
            && let Some(at) = self.points.iter().position(|point| *point == self.now)
        {
            tried[at].0 += 1;
            tried[at].1.add(work);
        }
        let next = match tried.iter().position(|(samples, _)| *samples < TRIES) {
            Some(untried) => untried,
            None => {
                let cost = |at: &usize| {
                    let (work, clock_mhz) = (tried[*at].1, self.points[*at].clock_mhz);
                    let energy = self.energy.of_work(work, clock_mhz);
                    let time = nanoseconds(work.cycles, clock_mhz);
                    let (all_energy, all_time) = self.so_far;
                    let added = energy * all_time + self.goal.power() * time * all_energy;
                    added / work.instructions.max(1.0)
                };
                let all = 0..self.points.len();
                all.min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(0)
            }
        };
        self.is_whole = self.points[next] == self.now;
        self.now = self.points[next];
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [OperatingPoint; 2] = [
        OperatingPoint {
            clock_mhz: 3400,
            prefetches: true,
        },
        OperatingPoint {
            clock_mhz: 850,
            prefetches: true,
        },
    ];

    #[test]
    fn energy_is_the_square_of_the_clock_and_what_leaks_and_what_memory_takes() {
        let energy = Energy::of(3400);
        let work = Work {
            instructions: 10.0,
            cycles: 100.0,
            requests: 2.0,
        };
        assert!((energy.of_work(work, 3400) - (100.0 * 1.3 + 14.0)).abs() < 1e-9);
        let slow = 100.0 * (1.0 / 16.0 + 1.2) + 14.0;
        assert!((energy.of_work(work, 850) - slow).abs() < 1e-9);
        assert!((nanoseconds(850.0, 850) - 1000.0).abs() < 1e-9);
    }

    #[test]
    fn each_phase_stays_with_what_was_best_for_it() {
        let mut policy = ByPhase::new(Goal::EnergyTime2, &POINTS, Energy::of(3400));
        // Waiting for memory takes as long at any clock; computing takes as many cycles.
        let work = |phase: &str, point: OperatingPoint| Work {
            instructions: 1000.0,
            cycles: match phase {
                "stacks" => 5.0 * f64::from(point.clock_mhz),
                _ => 500.0,
            },
            requests: 0.0,
        };
        let mut now = POINTS[0];
        let mut last = BTreeMap::new();
        for phase in [["stacks"; 20], ["globals"; 20]].concat() {
            now = policy.next(phase, work(phase, now));
            last.insert(phase, now);
        }
        assert_eq!(last["stacks"], POINTS[1]);
        assert_eq!(last["globals"], POINTS[0]);
        // The policy knows at once when a phase comes again.
        assert_eq!(policy.next("stacks", Work::default()), POINTS[1]);
    }
}
