#![doc = include_str!("../README.md")]

mod access;
pub mod alpha;
pub mod asm;
pub mod bus;
pub mod chunks;
pub mod code;
pub mod editor;
pub mod exec;
pub mod format;
pub mod fp;
pub mod hart;
pub mod ids;
pub mod inst;
pub mod isa;
pub mod layout;
pub mod likely;
pub mod memory;
pub mod ops;
pub mod probe;
pub mod random;
pub mod riscv;
pub mod said;
pub mod state;
pub mod threaded;
pub mod translator;
pub mod trap;
