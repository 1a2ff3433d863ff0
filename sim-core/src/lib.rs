#![doc = include_str!("../README.md")]

mod access;
pub mod alpha;
pub mod asm;
pub mod bus;
pub mod code;
pub mod editor;
pub mod exec;
pub mod format;
pub mod fp;
pub mod hart;
pub mod host;
pub mod ids;
pub mod image;
pub mod inst;
pub mod isa;
pub mod likely;
pub mod machine;
pub mod memory;
pub mod ops;
pub mod os;
pub mod probe;
pub mod process;
pub mod random;
pub mod riscv;
pub mod symbols;
mod threaded;
pub mod trap;
