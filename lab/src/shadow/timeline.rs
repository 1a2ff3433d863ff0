//! Timelines: simulated time of an undisturbed run up to each instruction.

use crate::error::LabError;
use crate::lab::Lab;
use crate::machine::TimedMachine;
use crate::program::Program;
use hps_sim_core::machine::Stop;

/// Instructions between two points of a timeline.
const GRAIN: u64 = 1 << 14;

/// The simulated time of an undisturbed run by its instructions: exact at points, between them a straight line.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    grain: u64,
    /// Nanoseconds at every multiple of the grain, and at the end.
    ns: Vec<f64>,
    /// Instructions of the whole run.
    instructions: u64,
}

impl Timeline {
    /// Times a program on a machine, from its first instruction to its end.
    ///
    /// # Errors
    /// The program cannot be loaded, or does not end as it must.
    pub fn measure(program: &Program, machine: &TimedMachine) -> Result<Timeline, LabError> {
        let mut core = Lab::of(program).timed_by(machine).open()?;
        let mut last = Stop::Limit;
        let timeline = Timeline::stepped(machine.config.clock_mhz, |instructions| {
            last = core.run(instructions);
            let stats = core.stats();
            (last, stats.cycles, stats.commit_program_instructions)
        });
        program.check_end(last, &core.finish().process)?;
        Ok(timeline)
    }

    /// The timeline of a run in steps. `step` executes so many instructions, and gives why it stopped, and the run's
    /// cycles and instructions so far.
    pub(super) fn stepped(
        clock_mhz: u32,
        mut step: impl FnMut(u64) -> (Stop, u64, u64),
    ) -> Timeline {
        let cycle_ns = 1000.0 / f64::from(clock_mhz);
        let mut ns = vec![0.0];
        loop {
            let (stop, cycles, instructions) = step(GRAIN);
            ns.push(cycles as f64 * cycle_ns);
            if stop != Stop::Limit {
                return Timeline {
                    grain: GRAIN,
                    ns,
                    instructions,
                };
            }
        }
    }

    /// A timeline of a run of so many instructions, all of which take equal times.
    #[must_use]
    pub fn even(instructions: u64, instruction_ns: f64) -> Timeline {
        let points = instructions.div_ceil(GRAIN);
        let at = |point: u64| (point * GRAIN).min(instructions) as f64 * instruction_ns;
        Timeline {
            grain: GRAIN,
            ns: (0..=points).map(at).collect(),
            instructions,
        }
    }

    /// Instructions of the whole run.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Time of the whole run, in nanoseconds.
    #[must_use]
    pub fn end_ns(&self) -> f64 {
        self.ns.last().copied().unwrap_or(0.0)
    }

    /// Time after so many instructions, in nanoseconds. Behind the end the time of the end.
    #[must_use]
    pub fn ns_at(&self, instruction: u64) -> f64 {
        let at = (instruction / self.grain) as usize;
        let Some((from, to)) = self.ns.get(at).zip(self.ns.get(at + 1)) else {
            return self.end_ns();
        };
        let share = (instruction % self.grain) as f64 / self.length(at) as f64;
        from + (to - from) * share.min(1.0)
    }

    /// The first instruction that begins at this time or later; `u64::MAX` behind the end of the run.
    #[must_use]
    pub fn instruction_at(&self, ns: f64) -> u64 {
        let after = self.ns.partition_point(|t| *t < ns);
        if after == 0 {
            return 0;
        }
        let Some(to) = self.ns.get(after) else {
            return u64::MAX;
        };
        let from = self.ns[after - 1];
        let share = (ns - from) / (to - from);
        let inside = (self.length(after - 1) as f64 * share).ceil() as u64;
        (after as u64 - 1) * self.grain + inside
    }

    /// Instructions between a point and the next one.
    fn length(&self, point: usize) -> u64 {
        let from = point as u64 * self.grain;
        (self.instructions - from).clamp(1, self.grain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_instructions_are_inverse() {
        // Three points: 16384 instructions in 100 ns, 1000 more in 50.
        let line = Timeline {
            grain: GRAIN,
            ns: vec![0.0, 100.0, 150.0],
            instructions: GRAIN + 1000,
        };
        assert_eq!(line.ns_at(GRAIN / 2), 50.0);
        assert_eq!(line.ns_at(GRAIN + 500), 125.0);
        assert_eq!(line.ns_at(GRAIN + 5000), 150.0);
        assert_eq!(line.instruction_at(50.0), GRAIN / 2);
        assert_eq!(line.instruction_at(125.0), GRAIN + 500);
        assert_eq!(line.instruction_at(151.0), u64::MAX);
        assert_eq!(line.instruction_at(0.0), 0);
    }
}
