#![doc = include_str!("../README.md")]

pub mod cfg;
pub mod checkpoint;
pub mod host;
pub mod image;
pub mod interpreted;
pub mod os;
pub mod process;
pub mod symbols;
