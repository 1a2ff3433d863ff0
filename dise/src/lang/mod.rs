//! The production language: text to tables.
//!
//! | module | job |
//! | --- | --- |
//! | [`source`] | text, places in it, messages about them |
//! | [`lexer`] | tokens |
//! | [`ast`] | what a file says |
//! | [`parser`], `pattern_parser` | tokens to that |
//! | `symbols` | constants, parameters, registers, addresses; expressions |
//! | `lower` | patterns to pattern-table entries |
//! | `operands`, `sequence` | replacement sequences |
//! | `handler` | handlers to guest code |
//! | `compile` | a whole set of files |

pub mod ast;
pub(crate) mod compile;
mod handler;
pub mod lexer;
mod lower;
mod operands;
pub mod parser;
mod pattern_parser;
mod sequence;
pub mod source;
mod symbols;
