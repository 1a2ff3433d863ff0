//! A static ELF file: code readable and executable, data readable and writable, symbols of functions.

use super::{CODE, DATA};
use crate::isa::Isa;

const PAGE: u64 = 0x1000;
const HEADER: u64 = 64;
const SECTION_HEADER: u64 = 64;
const PROGRAM_HEADER: u64 = 56;
const SYMBOL: u64 = 24;

/// Writes the file. `functions` are names and first addresses.
pub(super) fn write(
    isa: Isa,
    entry: u64,
    code: &[u8],
    data: &[u8],
    functions: &[(String, u64)],
) -> Vec<u8> {
    let code_bytes = code.len() as u64;
    let data_at = (PAGE + code_bytes).next_multiple_of(PAGE);
    let mut strings = vec![0];
    let mut symbols = vec![0; SYMBOL as usize];
    for (name, address) in functions {
        let mut symbol = Bytes::default();
        symbol.word(strings.len() as u32);
        // STB_GLOBAL, STT_FUNC; in the first section; the size is up to the next symbol.
        symbol.0.extend([0x12, 0]);
        symbol.half(1);
        symbol.long(*address);
        symbol.long(0);
        symbols.extend(symbol.0);
        strings.extend(name.bytes());
        strings.push(0);
    }
    let symbols_at = data_at + data.len() as u64;
    let strings_at = symbols_at + symbols.len() as u64;
    let names = b"\0.text\0.data\0.symtab\0.strtab\0";
    let names_at = strings_at + strings.len() as u64;
    let sections_at = (names_at + names.len() as u64).next_multiple_of(8);

    let mut file = Bytes::default();
    file.0.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    file.half(2); // ET_EXEC
    // EM_RISCV with double-precision registers for floating point, EM_ALPHA.
    let (machine, flags) = match isa {
        Isa::Riscv64 => (243, 4),
        Isa::Alpha => (0x9026, 0),
    };
    file.half(machine);
    file.word(1);
    file.long(entry);
    file.long(HEADER);
    file.long(sections_at);
    file.word(flags);
    for v in [HEADER, PROGRAM_HEADER, 2, SECTION_HEADER, 6, 5] {
        file.half(v as u16);
    }
    let data_bytes = (data.len() as u64).max(8);
    for (flags, offset, address, in_file, in_memory) in [
        (5, PAGE, CODE, code_bytes, code_bytes),
        (6, data_at, DATA, data.len() as u64, data_bytes),
    ] {
        file.word(1); // PT_LOAD
        file.word(flags);
        for v in [offset, address, address, in_file, in_memory, PAGE] {
            file.long(v);
        }
    }
    for (at, bytes) in [
        (PAGE, code),
        (data_at, data),
        (symbols_at, &symbols),
        (strings_at, &strings),
        (names_at, names),
        (sections_at, &[]),
    ] {
        file.0.resize(at as usize, 0);
        file.0.extend(bytes);
    }
    let section =
        |file: &mut Bytes, words: [u32; 2], longs: [u64; 4], more: [u32; 2], end: [u64; 2]| {
            words.iter().for_each(|w| file.word(*w));
            longs.iter().for_each(|l| file.long(*l));
            more.iter().for_each(|w| file.word(*w));
            end.iter().for_each(|l| file.long(*l));
        };
    section(&mut file, [0, 0], [0; 4], [0, 0], [0, 0]);
    // Name, kind; flags, address, offset, size; link, info; alignment, size of an entry.
    section(
        &mut file,
        [1, 1],
        [6, CODE, PAGE, code_bytes],
        [0, 0],
        [4, 0],
    );
    section(
        &mut file,
        [7, 1],
        [3, DATA, data_at, data.len() as u64],
        [0, 0],
        [8, 0],
    );
    section(
        &mut file,
        [13, 2],
        [0, 0, symbols_at, symbols.len() as u64],
        [4, 1],
        [8, SYMBOL],
    );
    section(
        &mut file,
        [21, 3],
        [0, 0, strings_at, strings.len() as u64],
        [0, 0],
        [1, 0],
    );
    section(
        &mut file,
        [0, 3],
        [0, 0, names_at, names.len() as u64],
        [0, 0],
        [1, 0],
    );
    file.0
}

#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn half(&mut self, value: u16) {
        self.0.extend(value.to_le_bytes());
    }

    fn word(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    fn long(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }
}
