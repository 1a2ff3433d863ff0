//! The debugger: the way back through a run, and gdb on it.

mod gdb;
mod replay;
