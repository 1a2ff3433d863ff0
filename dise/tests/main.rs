//! Tests of the language of productions and of the engine.
//!
//! The tests are one program: the simulator is linked into it once.

mod alpha;
mod common;
mod engine;
mod figures;
mod fragments;
mod language;
mod properties;
