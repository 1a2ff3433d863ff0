//! Tests of graphs, estimates and culprits against what programs really do.

#[path = "../../pipeline/tests/common/mod.rs"]
mod common;

mod graphs;
mod hand_made;
mod random_graphs;
mod second;
mod whole_programs;
