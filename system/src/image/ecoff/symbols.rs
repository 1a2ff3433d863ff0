//! Names from the symbolic header: external symbols, and the procedures among the local ones. Damaged
//! tables count as absent, and so does the one of a stripped file.

use super::Fields;
use crate::image::Segment;
use crate::symbols::{NamedAddress, SymbolTable};

const SYMBOLIC_MAGIC: u16 = 0x1992;
const SYMBOLIC_HEADER_BYTES: usize = 144;
const EXTERNAL_BYTES: usize = 24;
const LOCAL_BYTES: usize = 16;
const FILE_BYTES: usize = 96;

/// `st`: kinds of symbols.
mod st {
    pub const GLOBAL: u32 = 1;
    pub const LABEL: u32 = 5;
    pub const PROC: u32 = 6;
    pub const STATIC_PROC: u32 = 14;
}

/// `sc`: where they lie. These lie nowhere.
const NOWHERE: [u32; 5] = [
    0,  // scNil
    6,  // scUndefined
    17, // scCommon
    18, // scSCommon
    21, // scSUndefined
];

/// The tables of the symbolic header that are read, as parts of the file.
struct Tables<'a> {
    locals: &'a [u8],
    local_strings: &'a [u8],
    external_strings: &'a [u8],
    files: &'a [u8],
    externals: &'a [u8],
}

/// `struct SYMR`: value, place of the name in a string table, kind, storage class.
struct Symbol {
    value: u64,
    name: u32,
    kind: u32,
    class: u32,
}

impl Symbol {
    fn read(bytes: &[u8]) -> Symbol {
        let mut fields = Fields(bytes);
        let (value, name, bits) = (fields.u64(), fields.u32(), fields.u32());
        Symbol {
            value,
            name,
            kind: bits & 0x3f,
            class: bits >> 6 & 0x1f,
        }
    }

    fn is_procedure(&self) -> bool {
        matches!(self.kind, st::PROC | st::STATIC_PROC)
    }
}

/// The names of a file's functions and data.
pub(crate) fn symbol_table(bytes: &[u8], segments: &[Segment]) -> SymbolTable {
    let mut symbols = Vec::new();
    if let Some(tables) = tables(bytes) {
        externals(&tables, &mut symbols);
        locals(&tables, &mut symbols);
    }
    SymbolTable::from_names(&symbols, segments)
}

fn tables(bytes: &[u8]) -> Option<Tables<'_>> {
    let mut header = Fields(bytes.get(8..20)?);
    let at = usize::try_from(header.u64()).ok()?;
    if header.u32() as usize != SYMBOLIC_HEADER_BYTES {
        return None;
    }
    let mut fields = Fields(bytes.get(at..at.checked_add(SYMBOLIC_HEADER_BYTES)?)?);
    if fields.u16() != SYMBOLIC_MAGIC {
        return None;
    }
    let _version = fields.u16();
    let [
        _lines,
        _dense,
        _procedures,
        locals,
        _optimizations,
        _auxiliaries,
        strings,
        external_strings,
        files,
        _relative,
        externals,
    ] = std::array::from_fn(|_| fields.u32() as usize);
    let _line_bytes = fields.u64();
    let [
        _,
        _,
        _,
        locals_at,
        _,
        _,
        strings_at,
        external_strings_at,
        files_at,
        _,
        externals_at,
    ] = std::array::from_fn(|_| fields.u64());
    let table = |at: u64, count: usize, entry_bytes: usize| {
        let at = usize::try_from(at).ok()?;
        let len = count.checked_mul(entry_bytes)?;
        bytes.get(at..at.checked_add(len)?)
    };
    Some(Tables {
        locals: table(locals_at, locals, LOCAL_BYTES)?,
        local_strings: table(strings_at, strings, 1)?,
        external_strings: table(external_strings_at, external_strings, 1)?,
        files: table(files_at, files, FILE_BYTES)?,
        externals: table(externals_at, externals, EXTERNAL_BYTES)?,
    })
}

/// The string that begins at `at`.
fn name(strings: &[u8], at: usize) -> Option<String> {
    let rest = strings.get(at..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    String::from_utf8(rest[..end].to_vec()).ok()
}

fn externals<'a>(tables: &Tables<'a>, symbols: &mut Vec<NamedAddress>) {
    for entry in tables.externals.chunks_exact(EXTERNAL_BYTES) {
        let symbol = Symbol::read(entry);
        let is_named = matches!(symbol.kind, st::GLOBAL | st::LABEL) || symbol.is_procedure();
        if !is_named || NOWHERE.contains(&symbol.class) {
            continue;
        }
        symbols.extend(
            name(tables.external_strings, symbol.name as usize).map(|name| NamedAddress {
                name,
                addr: symbol.value,
                is_global: true,
                is_function: symbol.is_procedure(),
            }),
        );
    }
}

/// The procedures of each source file, whose names are counted from the file's own part of the string
/// table.
fn locals(tables: &Tables<'_>, symbols: &mut Vec<NamedAddress>) {
    for file in tables.files.chunks_exact(FILE_BYTES) {
        let mut fields = Fields(&file[36..]);
        let (strings, first, count) = (fields.u32(), fields.u32(), fields.u32());
        let own = tables
            .locals
            .chunks_exact(LOCAL_BYTES)
            .skip(first as usize)
            .take(count as usize)
            .map(Symbol::read);
        for symbol in own.filter(|s| s.is_procedure() && !NOWHERE.contains(&s.class)) {
            let at = (strings as usize).saturating_add(symbol.name as usize);
            symbols.extend(name(tables.local_strings, at).map(|name| NamedAddress {
                name,
                addr: symbol.value,
                is_global: false,
                is_function: true,
            }));
        }
    }
}
