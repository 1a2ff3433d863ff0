//! Source lines from DWARF, read when the first question comes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use addr2line::Context;
use gimli::{Dwarf, EndianArcSlice, LittleEndian, SectionId};
use object::{Object, ObjectSection};

use super::SourceFrame;

/// Debug information that unpacks to more than this is treated as absent, in bytes.
const MAX_UNPACKED_BYTES: u64 = 1 << 30;

type Reader = EndianArcSlice<LittleEndian>;

/// Lazily built line table. Bad debug information counts as none.
#[derive(Default)]
pub(super) struct SourceLines {
    context: OnceLock<Option<Mutex<Context<Reader>>>>,
}

impl SourceLines {
    /// The line table, read at the first question.
    fn context(&self, bytes: &[u8]) -> Option<MutexGuard<'_, Context<Reader>>> {
        let context = self
            .context
            .get_or_init(|| quietly(|| build(bytes)).map(Mutex::new));
        context.as_ref()?.lock().ok()
    }

    /// The functions that are active at an address as the file has it, innermost first.
    pub(super) fn frames(&self, bytes: &[u8], addr: u64) -> Vec<SourceFrame> {
        let Some(context) = self.context(bytes) else {
            return Vec::new();
        };
        let frames = quietly(|| {
            let mut found = context.find_frames(addr).skip_all_loads().ok()?;
            let mut frames = Vec::new();
            while let Some(frame) = found.next().ok()? {
                let name = frame.function.as_ref();
                let place = frame.location.as_ref();
                frames.push(SourceFrame {
                    function: name.and_then(|n| Some(n.raw_name().ok()?.into_owned())),
                    file: place.and_then(|p| p.file.map(str::to_owned)),
                    line: place.and_then(|p| p.line),
                });
            }
            Some(frames)
        });
        frames.unwrap_or_default()
    }

    /// `file:line` of an address as the file has it.
    pub(super) fn lookup(&self, bytes: &[u8], addr: u64) -> Option<String> {
        let context = self.context(bytes)?;
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
