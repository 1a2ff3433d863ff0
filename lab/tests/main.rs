//! Runs that the lab puts together, and what it refuses.

mod aggregating;
mod collecting;
mod observing;
mod refusals;
mod runs;
mod shadow;
