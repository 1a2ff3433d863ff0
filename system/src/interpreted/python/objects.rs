//! Code objects of CPython: names, files, and the lines of their instructions.

use std::sync::Arc;

use hps_isa::memory::Memory;
use hps_isa::state::{SaveState, Saved, StateError, save_value};
use rustc_hash::FxHashMap;

use super::offsets::Offsets;
use crate::interpreted::names::{Function, Names};

/// Characters of a name that are read.
const MOST_CHARACTERS: u64 = 1024;
/// Bytes of a table of lines that are read.
const MOST_TABLE_BYTES: u64 = 1 << 20;
/// Instructions of a function whose lines are told apart.
const MOST_INSTRUCTIONS: usize = 1 << 20;
/// Code objects that are known at a time.
const MOST_CODES: usize = 1 << 16;

/// A function as the interpreter has it.
#[derive(Clone, Debug)]
pub(super) struct Code {
    /// The number of the function.
    pub function: u32,
    /// Address of its first instruction.
    begin: u64,
    /// The line of each instruction; 0 of one that has none.
    lines: Arc<[u32]>,
    /// Words of the object by which another object at its address is told from it.
    identity: [u64; 4],
}

impl Code {
    /// The line of the instruction at an address.
    pub fn line(&self, instruction: u64) -> u32 {
        let at = instruction.wrapping_sub(self.begin) / 2;
        self.lines.get(at as usize).copied().unwrap_or(0)
    }
}

/// The code objects that frames have named.
#[derive(Clone, Debug, Default)]
pub(super) struct Codes {
    /// Address of the type of code objects; 0: not known yet.
    code_type: u64,
    known: FxHashMap<u64, Code>,
}

/// Address, function, begin, lines and identity of a [`Code`].
type SavedCode = (u64, u32, u64, Vec<u32>, [u64; 4]);

impl SaveState for Codes {
    fn save_to(&self, to: &mut Vec<u8>) {
        let Codes { code_type, known } = self;
        let mut codes: Vec<_> = known.iter().collect();
        codes.sort_unstable_by_key(|(addr, _)| **addr);
        let codes: Vec<_> = codes
            .into_iter()
            .map(|(addr, code)| {
                let Code {
                    function,
                    begin,
                    lines,
                    identity,
                } = code;
                (addr, function, begin, &**lines, identity)
            })
            .collect();
        save_value(&(code_type, codes), to);
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        let codes: Vec<SavedCode>;
        (self.code_type, codes) = from.value()?;
        let known = codes
            .into_iter()
            .map(|(addr, function, begin, lines, identity)| {
                let lines = lines.into();
                (
                    addr,
                    Code {
                        function,
                        begin,
                        lines,
                        identity,
                    },
                )
            });
        self.known = known.collect();
        Ok(())
    }
}

impl Codes {
    /// The code object that a frame has named.
    pub fn known(&self, addr: u64) -> Option<&Code> {
        self.known.get(&addr)
    }

    /// The code object at an address; `None` if there is none, or one without a name: the interpreter's own.
    pub fn at(
        &mut self,
        addr: u64,
        of: &Offsets,
        memory: &Memory,
        names: &mut Names,
    ) -> Option<&Code> {
        let word = |offset: u64| memory.read::<8>(addr.wrapping_add(offset)).ok();
        let kind = word(of.object_type)?;
        if kind != self.code_type {
            if self.code_type != 0 || !is_named(kind, b"code\0", of, memory) {
                return None;
            }
            self.code_type = kind;
        }
        let first_line = memory
            .read::<4>(addr.wrapping_add(of.code_first_line))
            .ok()?;
        let identity = [
            word(of.code_name)?,
            word(of.code_file)?,
            word(of.code_lines)?,
            first_line,
        ];
        let is_known = |code: &Code| code.identity == identity;
        if !self.known.get(&addr).is_some_and(is_known) {
            let [name, file, lines, _] = identity;
            let function = names.function(Function {
                name: text(name, of, memory)?,
                file: text(file, of, memory)?,
                first_line: first_line as u32,
            });
            if self.known.len() >= MOST_CODES {
                self.known.clear();
            }
            let table = bytes(lines, of, memory).unwrap_or_default();
            let code = Code {
                function,
                begin: addr.wrapping_add(of.code_begin),
                lines: lines_of(&table, first_line as u32).into(),
                identity,
            };
            self.known.insert(addr, code);
        }
        self.known.get(&addr)
    }
}

/// Whether the type at an address has a name.
fn is_named(kind: u64, name: &[u8], of: &Offsets, memory: &Memory) -> bool {
    let Ok(addr) = memory.read::<8>(kind.wrapping_add(of.type_name)) else {
        return false;
    };
    let mut there = vec![0; name.len()];
    memory.read_bytes(addr, &mut there).is_ok() && there == name
}

/// The text of a string object, up to [`MOST_CHARACTERS`].
fn text(addr: u64, of: &Offsets, memory: &Memory) -> Option<String> {
    if addr == 0 {
        return None;
    }
    let state = memory.read::<4>(addr.wrapping_add(of.text_state)).ok()?;
    let length = memory
        .read::<8>(addr.wrapping_add(of.text_length))
        .ok()?
        .min(MOST_CHARACTERS);
    // Bits 0 and 1: interned; 2 to 4: bytes of a character; 5: the characters follow the head; 6: ASCII.
    let (bytes_each, is_compact, is_ascii) = (state >> 2 & 7, state >> 5 & 1, state >> 6 & 1);
    if is_compact == 0 || !matches!(bytes_each, 1 | 2 | 4) {
        return None;
    }
    // The head of other text ends with the length and the address of its form in UTF-8.
    let head = of.text_head + if is_ascii == 1 { 0 } else { 16 };
    let mut characters = vec![0; (length * bytes_each) as usize];
    memory
        .read_bytes(addr.wrapping_add(head), &mut characters)
        .ok()?;
    let number = |bytes: &[u8]| {
        let digits = bytes.iter().rev();
        digits.fold(0, |number, byte| number << 8 | u32::from(*byte))
    };
    let numbers = characters.chunks(bytes_each as usize).map(number);
    let character = |number| match char::from_u32(number) {
        Some(character) if !character.is_control() => character,
        _ => char::REPLACEMENT_CHARACTER,
    };
    Some(numbers.map(character).collect())
}

/// The content of a bytes object.
fn bytes(addr: u64, of: &Offsets, memory: &Memory) -> Option<Vec<u8>> {
    let size = memory.read::<8>(addr.wrapping_add(of.bytes_size)).ok()?;
    if size > MOST_TABLE_BYTES {
        return None;
    }
    let mut content = vec![0; size as usize];
    memory
        .read_bytes(addr.wrapping_add(of.bytes_begin), &mut content)
        .ok()?;
    Some(content)
}

/// The line of each instruction by a table of locations. Source: `InternalDocs/code_objects.md` of CPython 3.13.
pub(in crate::interpreted) fn lines_of(table: &[u8], first_line: u32) -> Vec<u32> {
    let mut lines = Vec::new();
    let mut line = i64::from(first_line);
    let mut rest = table.iter().copied();
    while let Some(head) = rest.next() {
        let (kind, count) = (head >> 3 & 15, usize::from(head & 7) + 1);
        let mut has_line = true;
        match kind {
            0..=9 => {
                rest.next();
            }
            10..=12 => {
                line += i64::from(kind - 10);
                rest.nth(1);
            }
            13 => line += signed(&mut rest),
            14 => {
                line += signed(&mut rest);
                for _ in 0..3 {
                    unsigned(&mut rest);
                }
            }
            _ => has_line = false,
        }
        let here = match has_line {
            true => u32::try_from(line).unwrap_or(0),
            false => 0,
        };
        if lines.len() + count > MOST_INSTRUCTIONS {
            break;
        }
        lines.extend(std::iter::repeat_n(here, count));
    }
    lines
}

/// A number in groups of six bits, the lowest first; bit 6 says that another group follows.
fn unsigned(rest: &mut impl Iterator<Item = u8>) -> i64 {
    let mut number = 0;
    for shift in (0..36).step_by(6) {
        let Some(byte) = rest.next() else { break };
        number |= i64::from(byte & 63) << shift;
        if byte & 64 == 0 {
            break;
        }
    }
    number
}

/// A number whose lowest bit is its sign.
fn signed(rest: &mut impl Iterator<Item = u8>) -> i64 {
    let number = unsigned(rest);
    match number & 1 {
        0 => number >> 1,
        _ => -(number >> 1),
    }
}
