//! Runs that the lab puts together, and what it refuses.

mod collecting;
mod refusals;
mod runs;
