//! Alpha in user mode, as the EV6 implements it: the base architecture, BWX, CIX, FIX, MVI and IEEE
//! floating point with its qualifiers; no VAX floating point.
//!
//! | module | job |
//! | --- | --- |
//! | `table` | the table of operations, added to that of [`crate::riscv`] |
//! | `decode`, `encode` | from and to 32 bits |
//! | `exec` | what each operation does |
//! | `simple` | the same by operations of RISC-V, where there is a simpler one |
//! | `disasm`, [`asm`] | to text, as `objdump` words it, and back |
//! | `qualifiers` | trap and rounding qualifiers of floating point |
//! | [`fpcr`] | the floating-point control register and Linux's control word |
//! | [`registers`] | numbers and names |

pub mod asm;
mod decode;
mod disasm;
mod encode;
pub(crate) mod exec;
pub mod fpcr;
pub(crate) mod qualifiers;
pub mod registers;
pub(crate) mod simple;
pub(crate) mod table;

pub use decode::{LITERAL, decode};
pub use disasm::{disassemble, disassemble_word};
pub use encode::encode;
pub use exec::int::EXTENSIONS;
pub use registers::{parse_register, register_name};
