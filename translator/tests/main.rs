//! Tests of compiled code against the interpreter.

mod guests;
mod operations;
mod programs;
mod sequences;
