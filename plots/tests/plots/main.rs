//! Tests of the crate as its callers see it.

mod figures;
mod leaderboard;
mod report;
mod reproduction;
mod support;
