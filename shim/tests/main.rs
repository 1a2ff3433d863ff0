//! Tests of SHIM that need no process of their own.
//!
//! The tests are one program: the observer is linked into it once.

mod disturbance;
mod preload;
