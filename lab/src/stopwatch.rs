//! Time of the host that a run takes. Without an operating system there is no clock, and it reads as zero.

#[cfg(not(target_family = "wasm"))]
use std::time::Instant;

/// Measures from its start.
pub(crate) struct Stopwatch {
    #[cfg(not(target_family = "wasm"))]
    started: Instant,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Stopwatch {
            #[cfg(not(target_family = "wasm"))]
            started: Instant::now(),
        }
    }

    pub(crate) fn seconds(&self) -> f64 {
        #[cfg(not(target_family = "wasm"))]
        return self.started.elapsed().as_secs_f64();
        #[cfg(target_family = "wasm")]
        return 0.0;
    }
}
