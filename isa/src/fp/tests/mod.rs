//! Tests of the floating-point arithmetic.
//!
//! Each random test runs [`cases`] cases: 100 000, or as many as the environment variable
//! `FP_TEST_CASES` says.

mod apfloat;
mod direct;
mod operands;
mod paths;

use operands::Rng;

use super::{Binary32, Binary64, Format, Round};

/// Random cases per test.
fn cases() -> u64 {
    std::env::var("FP_TEST_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(100_000)
}

/// Calls `case` [`cases`] times with a generator and each rounding direction in turn.
fn for_cases(seed: u64, mut case: impl FnMut(&mut Rng, Round)) {
    let mut rng = Rng::new(seed);
    for i in 0..cases() {
        case(&mut rng, Round::ALL[(i % 5) as usize]);
    }
}
