//! Cost of shadows for their program: runs alone and runs with shadows in turns.

use std::path::Path;
use std::time::{Duration, Instant};

use hps_shim::ShimError;
use hps_shim::stats::Estimate;
use schemars::JsonSchema;
use serde::Serialize;

use crate::session::{Request, SessionError, wait};
use crate::start::{With, start};

/// The program's times alone and with shadows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Overhead {
    /// Seconds from start to end, alone.
    pub alone_seconds: Estimate,
    /// By how much shadows lengthen that, in percent of the run alone before.
    pub wall_percent: Estimate,
    /// By how much shadows increase the program's processor time (its own, with forks and page faults), in percent.
    pub cpu_percent: Estimate,
    /// By how much a second run alone differs from the first one of its round in processor time, in percent: the noise.
    pub noise_percent: Estimate,
    /// Live shadows on average.
    pub average_live: Estimate,
}

/// Runs the program so many times alone, alone again, and with shadows, in turns. Its output goes nowhere.
///
/// # Errors
/// [`SessionError`] as for [`Request::run`].
pub fn measure(
    request: &Request<'_>,
    library: &Path,
    rounds: usize,
    mut progress: impl FnMut(usize),
) -> Result<Overhead, SessionError> {
    let quiet = Request {
        is_quiet: true,
        ..request.clone()
    };
    let percent = |with: Duration, without: Duration| {
        100.0 * (with.as_secs_f64() / without.as_secs_f64().max(1e-9) - 1.0)
    };
    let mut columns: [Vec<f64>; 5] = Default::default();
    for round in 0..rounds {
        let (wall, cpu) = alone(&quiet)?;
        let (_, again) = alone(&quiet)?;
        rewind();
        let session = quiet.run(library)?;
        let row = [
            wall.as_secs_f64(),
            percent(session.wall, wall),
            percent(session.cpu, cpu),
            percent(again, cpu),
            session.monitor.average_live,
        ];
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(value);
        }
        progress(round + 1);
    }
    let [alone, wall, cpu, noise, live] = columns.map(|column| Estimate::of(&column));
    Ok(Overhead {
        alone_seconds: alone,
        wall_percent: wall,
        cpu_percent: cpu,
        noise_percent: noise,
        average_live: live,
    })
}

fn alone(request: &Request<'_>) -> Result<(Duration, Duration), SessionError> {
    rewind();
    let began = Instant::now();
    let child = start(&request.command, With::Nothing, true)?;
    let (_, cpu) = wait(child).map_err(|source| ShimError::System {
        what: "waiting for the program".to_string(),
        source,
    })?;
    Ok((began.elapsed(), cpu))
}

/// Sets standard input, if it is a file, to its begin, so that each run of a program reads all of it.
pub fn rewind() {
    let _ = rustix::fs::seek(std::io::stdin(), rustix::fs::SeekFrom::Start(0));
}
