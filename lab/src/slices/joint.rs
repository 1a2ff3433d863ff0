//! Joints between slices: how far the younger slice is off where both time the same instructions.

use super::WINDOWS;
use super::slice::SliceResult;

/// Error that both sides of a joint have alike, since functional warming does some things otherwise than time. The root mean square over the ten programs of the project on both instruction sets, as instructions of the program
/// for each joint (docs/measurements/slices.md).
const UNSEEN_INSTRUCTIONS: f64 = 1_320.0;

/// The joint in front of a slice.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// The slice, from 1 on.
    pub slice: u64,
    /// Cycles of each window of its run-in, by itself.
    pub own: Vec<u64>,
    /// Cycles of the same windows by the slice before.
    pub before: Vec<u64>,
    /// Instructions of the run-in.
    pub instructions: u64,
    /// Instructions that the slice counts behind it.
    pub counted: u64,
}

impl Joint {
    /// Cycles by which the slice is off in a window of its run-in.
    fn error(&self, window: usize) -> f64 {
        self.own[window] as f64 - self.before[window] as f64
    }

    /// Cycles by which the slice is off in its run-in, in parts of the cycles there.
    #[must_use]
    pub fn run_in_error(&self) -> f64 {
        let all: f64 = (0..WINDOWS).map(|window| self.error(window)).sum();
        all / self.before.iter().sum::<u64>().max(1) as f64
    }

    /// Cycles by which the counted part is off, likely. The error of a cold cache or an untrained predictor falls as one over
    /// the instructions since the slice began: as much of it lies in each doubling of the distance. The last half of the
    /// run-in is one doubling.
    fn expected(&self) -> f64 {
        let last_half = (WINDOWS / 2..WINDOWS).map(|window| self.error(window));
        let whole = self.instructions as f64;
        last_half.sum::<f64>() * ((whole + self.counted as f64) / whole).log2()
    }
}

/// The joints of a run, and the error of its cycles that they make likely.
#[derive(Clone, Debug, Default)]
pub struct Joints {
    /// The joints whose two slices are there.
    pub all: Vec<Joint>,
    /// Slices that are there.
    pub slices: u64,
    /// Cycles of the run.
    pub cycles: u64,
    /// The expected error of the cycles, in parts of them: above 0, the joined run has too many.
    pub error: f64,
    /// Half of the 95% interval around it.
    pub half_width: f64,
}

impl Joints {
    pub(super) fn of<F>(results: &[SliceResult<F>], run_in: u64) -> Joints {
        let pairs = results.windows(2).filter(|pair| {
            let (before, own) = (&pair[0], &pair[1]);
            own.slice == before.slice + 1 && own.run_in.len() == before.tail.len()
        });
        let all: Vec<Joint> = pairs
            .map(|pair| Joint {
                slice: pair[1].slice,
                own: pair[1].run_in.clone(),
                before: pair[0].tail.clone(),
                instructions: run_in,
                counted: pair[1].instructions(),
            })
            .collect();
        let cycles = results.iter().map(SliceResult::cycles).sum();
        let expected: Vec<f64> = all.iter().map(Joint::expected).collect();
        let sum: f64 = expected.iter().sum();
        let squares: f64 = expected.iter().map(|error| error * error).sum();
        let scale = cycles as f64;
        let (error, half_width) = match cycles {
            0 => (0.0, 0.0),
            // How far errors fall behind a run-in is not known: the whole of the expected error is in doubt.
            _ => {
                let instructions: u64 = results.iter().map(SliceResult::instructions).sum();
                let unseen =
                    1.96 * UNSEEN_INSTRUCTIONS * all.len() as f64 / instructions.max(1) as f64;
                (
                    sum / scale,
                    (sum.abs() + 2.0 * squares.sqrt()) / scale + unseen,
                )
            }
        };
        Joints {
            all,
            slices: results.len() as u64,
            cycles,
            error,
            half_width,
        }
    }
}
