//! Source lines from DWARF, read when the first question comes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock};

use addr2line::Context;
use gimli::{Dwarf, EndianArcSlice, LittleEndian, SectionId};
use object::{Object, ObjectSection};

/// Debug information that unpacks to more than this is treated as absent, in bytes.
const MAX_UNPACKED_BYTES: u64 = 1 << 30;

type Reader = EndianArcSlice<LittleEndian>;

/// Lazily built line table. Bad debug information counts as none.
#[derive(Default)]
pub(super) struct SourceLines {
    context: OnceLock<Option<Mutex<Context<Reader>>>>,
}

impl SourceLines {
    /// `file:line` of an address as the file has it.
    pub(super) fn lookup(&self, bytes: &[u8], addr: u64) -> Option<String> {
        let context = self
            .context
            .get_or_init(|| quietly(|| build(bytes)).map(Mutex::new));
        let context = context.as_ref()?.lock().ok()?;
        quietly(|| {
            let location = context.find_location(addr).ok()??;
            let file = location.file?;
            Some(match location.line {
                Some(line) => format!("{file}:{line}"),
                None => file.to_owned(),
            })
        })
    }
}

/// The parsers below work on untrusted bytes and report errors; should one of them panic after
/// all, the information is absent rather than the run lost.
fn quietly<T>(f: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(f)).ok().flatten()
}

fn build(bytes: &[u8]) -> Option<Context<Reader>> {
    let file = object::File::parse(bytes).ok()?;
    let mut left = MAX_UNPACKED_BYTES;
    let mut load = |id: SectionId| -> Result<Reader, ()> {
        let Some(section) = file.section_by_name(id.name()) else {
            return Ok(Reader::new(Arc::from([]), LittleEndian));
        };
        let data = section.compressed_data().map_err(|_| ())?;
        left = left.checked_sub(data.uncompressed_size).ok_or(())?;
        let data = data.decompress().map_err(|_| ())?;
        Ok(Reader::new(Arc::from(data.as_ref()), LittleEndian))
    };
    let dwarf = Dwarf::load(&mut load).ok()?;
    Context::from_dwarf(dwarf).ok()
}
