//! The table by which CPython describes the layout of its state.

use serde::{Deserialize, Serialize};

use hps_isa::memory::Memory;

/// Begins the table.
const COOKIE: u64 = u64::from_le_bytes(*b"xdebugpy");
/// Words of the table of CPython 3.13 behind the cookie.
const WORDS: usize = 70;
/// No offset of the table is larger.
const MOST: u64 = 1 << 24;

/// Offsets of fields in bytes, by structure. Source: `_Py_DebugOffsets` in `Include/internal/pycore_debug_offsets.h` of
/// CPython 3.13.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Offsets {
    /// `PY_VERSION_HEX`.
    pub version: u64,
    pub runtime_interpreters: u64,
    pub interpreter_next: u64,
    pub interpreter_threads: u64,
    pub thread_next: u64,
    pub thread_frame: u64,
    pub frame_previous: u64,
    pub frame_executable: u64,
    pub frame_instruction: u64,
    pub frame_owner: u64,
    pub code_file: u64,
    pub code_name: u64,
    pub code_lines: u64,
    pub code_first_line: u64,
    pub code_begin: u64,
    pub object_type: u64,
    pub type_name: u64,
    pub bytes_size: u64,
    pub bytes_begin: u64,
    pub text_state: u64,
    pub text_length: u64,
    pub text_head: u64,
}

/// Why a table cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// The memory of the table is not mapped, or holds zeros.
    Absent,
    /// There is no table: the interpreter is older than 3.13.
    Missing,
    /// The table is of this version, whose order of words is not known.
    Version(u64),
    /// The interpreter runs without its global lock, and shares bytecode in another way.
    FreeThreaded,
    /// An offset is larger than all structures.
    Damaged,
}

hps_isa::save_values!(Offsets);

impl Offsets {
    /// Reads the table at the start of the runtime's state.
    pub fn read(runtime: u64, memory: &Memory) -> Result<Offsets, Unusable> {
        let word = |at: usize| {
            let word = memory.read::<8>(runtime.wrapping_add(8 * at as u64));
            word.map_err(|_| Unusable::Absent)
        };
        match word(0)? {
            0 => return Err(Unusable::Absent),
            COOKIE => {}
            _ => return Err(Unusable::Missing),
        }
        let version = word(1)?;
        if version >> 16 != 0x030d {
            return Err(Unusable::Version(version));
        }
        if word(2)? != 0 {
            return Err(Unusable::FreeThreaded);
        }
        let mut words = [0; WORDS];
        for (at, value) in words.iter_mut().enumerate() {
            *value = word(at + 1)?;
        }
        // The words count from that behind the cookie; each structure begins with its size.
        let offset = |at: usize| match words[at] {
            offset if offset <= MOST => Ok(offset),
            _ => Err(Unusable::Damaged),
        };
        Ok(Offsets {
            version,
            runtime_interpreters: offset(4)?,
            interpreter_next: offset(7)?,
            interpreter_threads: offset(8)?,
            thread_next: offset(20)?,
            thread_frame: offset(22)?,
            frame_previous: offset(28)?,
            frame_executable: offset(29)?,
            frame_instruction: offset(30)?,
            frame_owner: offset(32)?,
            code_file: offset(34)?,
            code_name: offset(36)?,
            code_lines: offset(37)?,
            code_first_line: offset(38)?,
            code_begin: offset(42)?,
            object_type: offset(44)?,
            type_name: offset(46)?,
            bytes_size: offset(BYTES + 1)?,
            bytes_begin: offset(BYTES + 2)?,
            text_state: offset(BYTES + 4)?,
            text_length: offset(BYTES + 5)?,
            text_head: offset(BYTES + 6)?,
        })
    }
}

/// The word with the size of a bytes object: behind those of tuples, lists, dictionaries, and numbers.
const BYTES: usize = 49 + 3 + 3 + 3 + 2 + 3;
