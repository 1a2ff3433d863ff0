//! RV64GC in user mode with Zicsr, Zifencei, Zicntr, Zba, Zbb, Zbs, Zbc, Zbkb, Zicond, Zfh, Zfa, Zcb, Zabha,
//! Zacas, Zawrs, Zimop, Zcmop, Zicbom, Zicboz and hints, and the operations that DISE adds.
//!
//! | module | job |
//! | --- | --- |
//! | `table` | the table of operations, from which the rest is generated |
//! | `decode`, `rvc` | 32-bit and compressed encodings to [`Inst`](crate::inst::Inst) |
//! | `encode` | back to 32 bits |
//! | `exec` | what each operation does |
//! | `disasm`, [`asm`] | to and from text |
//! | [`registers`] | names |

pub mod asm;
mod constants;
mod decode;
mod disasm;
mod encode;
pub(crate) mod exec;
pub mod extensions;
pub mod registers;
mod rvc;
pub(crate) mod table;

pub use decode::decode;
pub use disasm::disassemble;
pub use encode::encode;
pub use registers::{parse_register, register_name};

/// The extension of an encoding that the simulator does not have, by its name in words.
#[must_use]
pub fn missing_extension(word: u32) -> Option<&'static str> {
    const VECTOR: &str = "the vector extension (V)";
    let width = word >> 12 & 7;
    match word & 0x7f {
        0x57 => Some(VECTOR),
        // Loads and stores whose width is no scalar one's.
        0x07 | 0x27 if matches!(width, 0 | 5 | 6 | 7) => Some(VECTOR),
        _ => None,
    }
}

/// The operand bits of `fence.tso`: `fm` 1000, predecessors and successors `rw`.
pub(crate) const FENCE_TSO: u32 = 0x833;
