//! Runs that the lab puts together, and what it refuses.

mod aggregating;
mod collecting;
mod observing;
mod observing_calls;
mod refusals;
mod runs;
mod shadow;
