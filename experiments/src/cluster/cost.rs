//! Cost of pieces of work: sizes of programs, counted, times speeds that were measured.
//!
//! The speeds are those of `docs/measurements` (host B; sampled timing host A). Counting the instructions of the programs also says how fast
//! this host is beside that one, and seconds are those of this host.

use std::time::Instant;

use hps_lab::{Lab, Program, Ran};
use hps_pipeline::core::CoreKind;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::timed::guarded;

/// The functional machine, in nanoseconds for each instruction: 607 million instructions a second.
const FUNCTIONAL: f64 = 1e3 / 607.0;
/// A functional pass with the samplers of the paper's grid and exact counts, without data streams: 166 million.
pub(crate) const PASS: f64 = 1e3 / 166.0;
/// A functional pass with the data streams of the exhaustive trace too: 46.7 million.
pub(crate) const STREAMS: f64 = 1e3 / 46.7;
/// Sampled timing at the default plan: 108 million.
pub(crate) const SAMPLED: f64 = 1e3 / 108.0;

/// A timed run, in nanoseconds for each instruction: 11.4 and 32.1 million instructions a second.
pub(crate) fn timed(core: CoreKind) -> f64 {
    match core {
        CoreKind::Cycle => 1e3 / 11.4,
        CoreKind::Instruction => 1e3 / 32.1,
    }
}

/// Instructions that must have been counted before they say anything of the host's speed.
const LEAST_COUNTED: u64 = 20_000_000;

/// How long a program is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Size {
    /// Instructions of its whole run; of a run that failed, those up to there.
    pub instructions: u64,
    /// Most bytes of guest memory that it had written at a time.
    pub memory_bytes: u64,
}

/// Counts the instructions of programs, side by side. Also gives how many times slower this host is than the one
/// whose speeds are known; 1 if the programs are too short to tell.
pub(super) fn sizes(programs: &[&Program]) -> (Vec<Size>, f64) {
    let counted: Vec<(Size, f64)> = programs.par_iter().map(|p| size(p)).collect();
    let instructions: u64 = counted.iter().map(|(size, _)| size.instructions).sum();
    let seconds: f64 = counted.iter().map(|(_, seconds)| seconds).sum();
    let slower = match instructions >= LEAST_COUNTED {
        true => seconds * 1e9 / (instructions as f64 * FUNCTIONAL),
        false => 1.0,
    };
    (counted.into_iter().map(|(size, _)| size).collect(), slower)
}

/// Why a program fails is said by its points, and not here.
fn size(program: &Program) -> (Size, f64) {
    let began = Instant::now();
    let ran: Result<Ran, String> = guarded(|| Lab::of(program).run().map_err(|e| e.to_string()));
    let none = Size {
        instructions: 0,
        memory_bytes: 0,
    };
    ran.map_or((none, began.elapsed().as_secs_f64()), |ran| {
        let size = Size {
            instructions: ran.instructions(),
            memory_bytes: ran.process.guest.mem.peak_resident_bytes(),
        };
        (size, ran.host_seconds)
    })
}
