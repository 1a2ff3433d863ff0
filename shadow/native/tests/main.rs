//! Tests of native shadows: whole runs, the decoder and the shared memory.
//!
//! The tests are one program: the simulator is linked into it once.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod attach;
mod budget;
mod decoder;
mod layout;
mod native;
mod support;
mod threads;
mod values;
