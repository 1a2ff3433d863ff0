//! Runs that the lab puts together, and what it refuses.

mod refusals;
mod runs;
