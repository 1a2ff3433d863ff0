//! The production language: text to tables.
//!
//! | module | job |
//! | --- | --- |
//! | [`source`] | text, places in it, messages about them |
//! | [`lexer`] | tokens |
//! | [`ast`] | what a file says |
//! | [`parser`], `expression`, `pattern_parser` | tokens to that |
//! | `symbols` | constants, parameters, registers, addresses; expressions |
//! | `lower` | patterns to pattern-table entries |
//! | `operands`, `shorthand`, `fragments`, `sequence` | replacement sequences |
//! | `handler`, `constant`, `layout` | handlers to guest code, and where it lies |
//! | `compile` | a whole set of files |

pub mod ast;
pub(crate) mod compile;
pub(crate) mod constant;
mod expression;
mod fragments;
mod handler;
mod layout;
pub mod lexer;
mod lower;
mod operands;
pub mod parser;
mod pattern_parser;
mod sequence;
mod shorthand;
pub mod source;
mod symbols;
