//! The functions and lines of one executable or shared library.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock};

use addr2line::Context;
use gimli::{Dwarf, EndianArcSlice, LittleEndian, SectionId};
use hps_demangle::demangle;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};

/// Debug information that unpacks to more than this is treated as absent, in bytes: 32 times the file and 16 MiB, as for
/// simulated programs.
fn most_unpacked(file_bytes: usize) -> u64 {
    let most = (file_bytes as u64).saturating_mul(32);
    most.saturating_add(16 << 20).min(1 << 30)
}

type Reader = EndianArcSlice<LittleEndian>;

/// A function, at its address as the file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Name of the function, demangled.
    pub name: String,
    /// Name of the function as the file has it.
    pub linkage_name: String,
    /// Address of its first byte in the file's own numbering.
    pub address: u64,
    /// Bytes. Where the file says 0 (assembly), it reaches to the next function.
    pub bytes: u64,
}

/// Where a piece of the file lies in the file's own addresses.
#[derive(Debug, Clone, Copy)]
struct Piece {
    offset: u64,
    bytes: u64,
    address: u64,
}

/// An executable or library; addresses are the file's own.
pub struct Module {
    bytes: Arc<[u8]>,
    pieces: Vec<Piece>,
    functions: Vec<Function>,
    build_id: Option<Vec<u8>>,
    lines: OnceLock<Option<Mutex<Context<Reader>>>>,
}

impl Module {
    /// Reads a file's bytes; `None` if they are no object file that can be read.
    #[must_use]
    pub fn parse(bytes: Vec<u8>) -> Option<Self> {
        let bytes: Arc<[u8]> = bytes.into();
        let (pieces, functions, build_id) = quietly(|| read(&bytes))?;
        Some(Module {
            bytes,
            pieces,
            functions,
            build_id,
            lines: OnceLock::new(),
        })
    }

    /// The address of what lies at `offset` in the file.
    #[must_use]
    pub fn address_of_offset(&self, offset: u64) -> Option<u64> {
        let holds = |p: &&Piece| p.offset <= offset && offset - p.offset < p.bytes;
        let piece = self.pieces.iter().find(holds)?;
        Some(piece.address.wrapping_add(offset - piece.offset))
    }

    /// The bytes of a function, as far as they lie in one piece of the file.
    #[must_use]
    pub fn code(&self, function: &Function) -> Option<&[u8]> {
        let holds =
            |p: &&Piece| p.address <= function.address && function.address - p.address < p.bytes;
        let piece = self.pieces.iter().find(holds)?;
        let inside = function.address - piece.address;
        let bytes = function.bytes.min(piece.bytes - inside);
        let from = usize::try_from(piece.offset + inside).ok()?;
        self.bytes.get(from..from + usize::try_from(bytes).ok()?)
    }

    /// The functions in ascending order of address, one for each address.
    #[must_use]
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The function that holds an address.
    #[must_use]
    pub fn function_at(&self, address: u64) -> Option<&Function> {
        let after = self.functions.partition_point(|f| f.address <= address);
        let function = self.functions.get(after.checked_sub(1)?)?;
        (address - function.address < function.bytes).then_some(function)
    }

    /// The linker's name for these very bytes, if the file has one.
    #[must_use]
    pub fn build_id(&self) -> Option<&[u8]> {
        self.build_id.as_deref()
    }

    /// File and line of an address, where the file has debug information.
    #[must_use]
    pub fn line_at(&self, address: u64) -> Option<(String, u32)> {
        let lines = self
            .lines
            .get_or_init(|| quietly(|| context(&self.bytes)).map(Mutex::new));
        let lines = lines.as_ref()?.lock().ok()?;
        quietly(|| {
            let location = lines.find_location(address).ok()??;
            Some((location.file?.to_owned(), location.line?))
        })
    }
}

/// The parsers report errors; should one of them panic on a damaged file after all, the information
/// is absent rather than the measurement lost.
fn quietly<T>(f: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(f)).ok().flatten()
}

type Contents = (Vec<Piece>, Vec<Function>, Option<Vec<u8>>);

fn read(bytes: &[u8]) -> Option<Contents> {
    let file = object::File::parse(bytes).ok()?;
    let pieces = file
        .segments()
        .map(|segment| {
            let (offset, bytes) = segment.file_range();
            Piece {
                offset,
                bytes,
                address: segment.address(),
            }
        })
        .collect();
    let build_id = file.build_id().ok().flatten().map(<[u8]>::to_vec);
    Some((pieces, functions(&file), build_id))
}

fn functions(file: &object::File<'_>) -> Vec<Function> {
    // Order of several names for one address: with a size first; then global, weak, local; then by name.
    let mut found: Vec<(u64, (bool, u8), &str, u64)> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.kind() == SymbolKind::Text && !symbol.is_undefined())
        .filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| !name.is_empty())?;
            let binding = match (symbol.is_local(), symbol.is_weak()) {
                (false, false) => 0,
                (_, true) => 1,
                (true, _) => 2,
            };
            let rank = (symbol.size() == 0, binding);
            Some((symbol.address(), rank, name, symbol.size()))
        })
        .collect();
    found.sort_unstable();
    found.dedup_by_key(|f| f.0);
    let sections: Vec<(u64, u64)> = file
        .sections()
        .map(|section| (section.address(), section.address() + section.size()))
        .collect();
    let mut all = Vec::with_capacity(found.len());
    for (index, &(address, _, name, bytes)) in found.iter().enumerate() {
        let next = found.get(index + 1).map_or(u64::MAX, |next| next.0);
        let section = sections
            .iter()
            .find(|(from, to)| (*from..*to).contains(&address));
        let end = next.min(section.map_or(address, |s| s.1));
        all.push(Function {
            name: demangle(name),
            linkage_name: name.to_owned(),
            address,
            bytes: if bytes == 0 { end - address } else { bytes },
        });
    }
    all
}

fn context(bytes: &[u8]) -> Option<Context<Reader>> {
    let file = object::File::parse(bytes).ok()?;
    let mut left = most_unpacked(bytes.len());
    let mut load = |id: SectionId| -> Result<Reader, ()> {
        let Some(section) = file.section_by_name(id.name()) else {
            return Ok(Reader::new(Arc::from([]), LittleEndian));
        };
        let data = section.compressed_data().map_err(|_| ())?;
        left = left.checked_sub(data.uncompressed_size).ok_or(())?;
        let data = data.decompress().map_err(|_| ())?;
        Ok(Reader::new(Arc::from(data.as_ref()), LittleEndian))
    };
    Context::from_dwarf(Dwarf::load(&mut load).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_file_is_none() {
        assert!(Module::parse(b"#!/bin/sh\n".to_vec()).is_none());
        assert!(Module::parse(Vec::new()).is_none());
        assert!(Module::parse(b"\x7fELF\x02\x01\x01 and no more".to_vec()).is_none());
    }
}
