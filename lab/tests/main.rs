//! Runs that the lab puts together, and what it refuses.

mod aggregating;
mod always_on;
mod collecting;
mod observing;
mod observing_calls;
mod refusals;
mod runs;
mod shadow;
mod slices;
