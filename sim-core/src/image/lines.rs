//! Source lines from DWARF, read when the first question comes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use addr2line::Context;
use gimli::{AttributeValue, Dwarf, EndianArcSlice, LittleEndian, SectionId, Unit, UnitOffset};
use object::{Object, ObjectSection};

use super::SourceFrame;

/// Debug information that unpacks to more than this is treated as absent, in bytes.
const MAX_UNPACKED_BYTES: u64 = 1 << 30;
/// The most that debug information unpacks to beside [`FREE_BYTES`], in sizes of its file. Compilers' debug information
/// shrinks to a fifth or so; zeros shrink to a thousandth and would take the host's memory.
const MOST_TIMES: u64 = 32;
/// Bytes that debug information of any file may unpack to.
const FREE_BYTES: u64 = 16 << 20;

/// Bytes that the debug information of a file of so many bytes may unpack to.
fn most_unpacked(file_bytes: usize) -> u64 {
    let most = (file_bytes as u64).saturating_mul(MOST_TIMES);
    most.saturating_add(FREE_BYTES).min(MAX_UNPACKED_BYTES)
}

/// Bytes that all debug sections say that they unpack to.
fn unpacked<'data>(file: &impl Object<'data>) -> u64 {
    let sections = file.sections();
    let debug = sections.filter(|s| {
        s.name_bytes()
            .is_ok_and(|name| name.starts_with(b".debug_"))
    });
    debug.fold(0, |sum, section| {
        let size = section
            .compressed_data()
            .map_or(0, |data| data.uncompressed_size);
        sum.saturating_add(size)
    })
}

/// Says that debug information is left out, if it is: how much it unpacks to, and how much is read, in bytes.
pub(super) fn refused(bytes: &[u8]) -> Option<(u64, u64)> {
    let size = quietly(|| Some(unpacked(&object::File::parse(bytes).ok()?)))?;
    let most = most_unpacked(bytes.len());
    (size > most).then_some((size, most))
}

type Reader = EndianArcSlice<LittleEndian>;

/// DIEs that say where a function comes from are followed so far.
const MOST_ORIGINS: usize = 8;

/// Lazily built line table. Bad debug information counts as none.
#[derive(Default)]
pub(super) struct SourceLines {
    context: OnceLock<Option<Mutex<Tables>>>,
}

/// Functions with their lines, and what `addr2line` does not tell of lines.
struct Tables {
    context: Context<Reader>,
    /// The discriminator from each address on, where it changes; in ascending order.
    discriminators: Vec<(u64, u32)>,
}

impl Tables {
    fn discriminator(&self, addr: u64) -> u32 {
        let next = self.discriminators.partition_point(|&(at, _)| at <= addr);
        let row = next.checked_sub(1).map(|at| self.discriminators[at]);
        row.map_or(0, |(_, discriminator)| discriminator)
    }
}

impl SourceLines {
    /// The line table, read at the first question.
    fn context(&self, bytes: &[u8]) -> Option<MutexGuard<'_, Tables>> {
        let context = self
            .context
            .get_or_init(|| quietly(|| build(bytes)).map(Mutex::new));
        context.as_ref()?.lock().ok()
    }

    /// The functions that are active at an address as the file has it, innermost first.
    pub(super) fn frames(&self, bytes: &[u8], addr: u64) -> Vec<SourceFrame> {
        let Some(tables) = self.context(bytes) else {
            return Vec::new();
        };
        let frames = quietly(|| {
            let context = &tables.context;
            let unit = context.find_dwarf_and_unit(addr).skip_all_loads();
            let mut found = context.find_frames(addr).skip_all_loads().ok()?;
            let mut frames = Vec::new();
            let mut discriminator = tables.discriminator(addr);
            while let Some(frame) = found.next().ok()? {
                let name = frame.function.as_ref();
                let place = frame.location.as_ref();
                let die = unit.as_ref().zip(frame.dw_die_offset);
                let die = die.map(|(unit, at)| (unit.unit, at));
                frames.push(SourceFrame {
                    function: name.and_then(|n| Some(n.raw_name().ok()?.into_owned())),
                    file: place.and_then(|p| p.file.map(str::to_owned)),
                    line: place.and_then(|p| p.line),
                    discriminator,
                    declared: die.and_then(|(unit, at)| declared(unit, at)),
                });
                // The next frame is the caller, at the place of the call.
                discriminator = die.map_or(0, |(unit, at)| call_discriminator(unit, at));
            }
            Some(frames)
        });
        frames.unwrap_or_default()
    }

    /// `file:line` of an address as the file has it.
    pub(super) fn lookup(&self, bytes: &[u8], addr: u64) -> Option<String> {
        let tables = self.context(bytes)?;
        quietly(|| {
            let location = tables.context.find_location(addr).ok()??;
            let file = location.file?;
            Some(match location.line {
                Some(line) => format!("{file}:{line}"),
                None => file.to_owned(),
            })
        })
    }
}

/// The line of a function's declaration; an inlined function's is that of its origin.
fn declared(unit: &Unit<Reader>, mut at: UnitOffset) -> Option<u32> {
    for _ in 0..MOST_ORIGINS {
        let die = unit.entry(at).ok()?;
        if let Some(line) = die.attr_value(gimli::DW_AT_decl_line) {
            return u32::try_from(line.udata_value()?).ok();
        }
        let origin = die
            .attr_value(gimli::DW_AT_abstract_origin)
            .or_else(|| die.attr_value(gimli::DW_AT_specification));
        match origin {
            Some(AttributeValue::UnitRef(next)) => at = next,
            _ => return None,
        }
    }
    None
}

/// The discriminator of the call that was inlined; 0 if there is none.
fn call_discriminator(unit: &Unit<Reader>, at: UnitOffset) -> u32 {
    let die = unit.entry(at).ok();
    let value = die.and_then(|die| {
        die.attr_value(gimli::DW_AT_GNU_discriminator)?
            .udata_value()
    });
    value
        .and_then(|value| u32::try_from(value).ok())
        .unwrap_or(0)
}

/// The rows of all line tables that change the discriminator.
fn discriminators(dwarf: &Dwarf<Reader>) -> gimli::Result<Vec<(u64, u32)>> {
    let mut all = Vec::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        let unit = dwarf.unit(header)?;
        let Some(program) = unit.line_program.clone() else {
            continue;
        };
        let mut rows = program.rows();
        let mut sequence: Vec<(u64, u32)> = Vec::new();
        while let Some((_, row)) = rows.next_row()? {
            let end = row.end_sequence();
            let value = u32::try_from(row.discriminator()).unwrap_or(0);
            sequence.push((row.address(), if end { 0 } else { value }));
            if end {
                // Code that the linker left out lies at address 0.
                if sequence[0].0 != 0 {
                    all.append(&mut sequence);
                }
                sequence.clear();
            }
        }
    }
    // Of several rows for an address the last one holds, and a row beats the end of what lies before it.
    all.sort_by_key(|&(at, _)| at);
    Ok(all)
}

/// The parsers below work on untrusted bytes and report errors; should one of them panic after
/// all, the information is absent rather than the run lost.
fn quietly<T>(f: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(f)).ok().flatten()
}

fn build(bytes: &[u8]) -> Option<Tables> {
    let file = object::File::parse(bytes).ok()?;
    let mut left = most_unpacked(bytes.len());
    // A part of debug information would tell wrong lines.
    if unpacked(&file) > left {
        return None;
    }
    let mut load = |id: SectionId| -> Result<Reader, ()> {
        let Some(section) = file.section_by_name(id.name()) else {
            return Ok(Reader::new(Arc::from([]), LittleEndian));
        };
        let data = section.compressed_data().map_err(|_| ())?;
        left = left.checked_sub(data.uncompressed_size).ok_or(())?;
        let data = data.decompress().map_err(|_| ())?;
        Ok(Reader::new(Arc::from(data.as_ref()), LittleEndian))
    };
    let dwarf = Arc::new(Dwarf::load(&mut load).ok()?);
    Some(Tables {
        discriminators: discriminators(&dwarf).unwrap_or_default(),
        context: Context::from_arc_dwarf(dwarf).ok()?,
    })
}
