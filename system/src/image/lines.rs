//! Source lines from DWARF, read when the first question comes.

use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use addr2line::{Context, LookupContinuation, LookupResult, SplitDwarfLoad};
use gimli::{
    AttributeValue, Dwarf, DwarfPackage, EndianArcSlice, LittleEndian, Reader as _, Unit,
    UnitOffset,
};
use object::{Object, ObjectSection};

use super::SourceFrame;
use super::debug_files::DebugFiles;

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
pub(crate) struct SourceLines {
    context: OnceLock<Option<Mutex<Tables>>>,
    files: Arc<DebugFiles>,
}

/// Functions with their lines, and what `addr2line` does not tell of lines.
struct Tables {
    context: Context<Reader>,
    /// The discriminator from each address on, where it changes; in ascending order.
    discriminators: Vec<(u64, u32)>,
    files: Arc<DebugFiles>,
    /// All split debug information in one file, read when the first part is asked for.
    package: OnceCell<Option<DwarfPackage<Reader>>>,
}

impl Tables {
    /// The answer to a question, for which files with split debug information are read.
    fn answer<L: LookupContinuation<Buf = Reader>>(
        &self,
        mut result: LookupResult<L>,
    ) -> L::Output {
        loop {
            match result {
                LookupResult::Output(output) => return output,
                LookupResult::Load { load, continuation } => {
                    result = continuation.resume(self.split(load));
                }
            }
        }
    }

    /// The split debug information of one unit. Where it lacks sizes, that is remembered.
    fn split(&self, load: SplitDwarfLoad<Reader>) -> Option<Arc<Dwarf<Reader>>> {
        let dwarf = self.find_split(load)?;
        if lacks_sizes(&dwarf).unwrap_or(false) {
            self.files.has_no_sizes();
        }
        Some(dwarf)
    }

    /// The split debug information of one unit, in the package or in a file of its own.
    fn find_split(&self, load: SplitDwarfLoad<Reader>) -> Option<Arc<Dwarf<Reader>>> {
        let package = self.package.get_or_init(|| {
            let bytes = self.files.package()?;
            let mut sections = Sections::of(&bytes)?;
            let empty = Reader::new(Arc::from([]), LittleEndian);
            let load = |id: gimli::SectionId| sections.load(id.dwo_name());
            DwarfPackage::load(load, empty).ok()
        });
        if let Some(package) = package
            && let Ok(Some(unit)) = package.find_cu(load.dwo_id, &load.parent)
        {
            return Some(Arc::new(unit));
        }
        let path = |reader: &Reader| {
            let bytes = reader.to_slice().ok()?;
            Some(PathBuf::from(String::from_utf8_lossy(&bytes).into_owned()))
        };
        let compiled_in = load.comp_dir.as_ref().and_then(path).unwrap_or_default();
        let name = load.path.as_ref().and_then(path)?;
        let parse = |bytes: &[u8]| {
            let mut sections = Sections::of(bytes)?;
            let dwarf = Dwarf::load(|id| sections.load(id.dwo_name())).ok()?;
            let header = dwarf.units().next().ok()??;
            let unit = dwarf.unit(header).ok()?;
            (unit.dwo_id == Some(load.dwo_id)).then_some(dwarf)
        };
        let is_right = |bytes: &[u8]| parse(bytes).is_some();
        let bytes = self.files.split(&compiled_in, &name, is_right)?;
        let mut dwarf = parse(&bytes)?;
        dwarf.make_dwo(&load.parent);
        Some(Arc::new(dwarf))
    }

    fn discriminator(&self, addr: u64) -> u32 {
        let next = self.discriminators.partition_point(|&(at, _)| at <= addr);
        let row = next.checked_sub(1).map(|at| self.discriminators[at]);
        row.map_or(0, |(_, discriminator)| discriminator)
    }
}

impl SourceLines {
    /// Lines of a program whose debug information may lie in these files.
    pub(crate) fn with(files: DebugFiles) -> SourceLines {
        SourceLines {
            files: Arc::new(files),
            ..SourceLines::default()
        }
    }

    /// The files in which debug information may lie.
    pub(crate) fn files(&self) -> &DebugFiles {
        &self.files
    }

    /// Faults of debug information in other files, a sentence each.
    pub(crate) fn missing(&self) -> Vec<String> {
        self.files.missing()
    }

    /// The line table, read at the first question.
    fn context(&self, bytes: &[u8]) -> Option<MutexGuard<'_, Tables>> {
        let context = self
            .context
            .get_or_init(|| quietly(|| build(bytes, &self.files)).map(Mutex::new));
        context.as_ref()?.lock().ok()
    }

    /// The functions that are active at an address as the file has it, innermost first.
    pub(crate) fn frames(&self, bytes: &[u8], addr: u64) -> Vec<SourceFrame> {
        let Some(tables) = self.context(bytes) else {
            return Vec::new();
        };
        let frames = quietly(|| {
            let context = &tables.context;
            let unit = tables.answer(context.find_dwarf_and_unit(addr));
            let mut found = tables.answer(context.find_frames(addr)).ok()?;
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
    pub(crate) fn lookup(&self, bytes: &[u8], addr: u64) -> Option<String> {
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

/// Whether split debug information has functions with code, and all of them are empty. Linkers for RISC-V shorten code,
/// so the assembler leaves sizes to relocations, which no one applies to a file that is not linked.
fn lacks_sizes(dwarf: &Dwarf<Reader>) -> gimli::Result<bool> {
    let mut is_any_empty = false;
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        let unit = dwarf.unit(header)?;
        let mut entries = unit.entries();
        while let Some(die) = entries.next_dfs()? {
            if die.tag() != gimli::DW_TAG_subprogram {
                continue;
            }
            let end = die.attr_value(gimli::DW_AT_high_pc);
            match end.map(|end| end.udata_value()) {
                Some(Some(0)) => is_any_empty = true,
                Some(_) => return Ok(false),
                None => {}
            }
        }
    }
    Ok(is_any_empty)
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

/// The sections of a file, unpacked up to a limit.
struct Sections<'a> {
    file: object::File<'a>,
    left: u64,
}

impl<'a> Sections<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let file = object::File::parse(bytes).ok()?;
        let left = most_unpacked(bytes.len());
        // A part of debug information would tell wrong lines.
        (unpacked(&file) <= left).then_some(Sections { file, left })
    }

    /// A section by its name; one that is not there is empty.
    fn load(&mut self, name: Option<&str>) -> gimli::Result<Reader> {
        let Some(section) = name.and_then(|name| self.file.section_by_name(name)) else {
            return Ok(Reader::new(Arc::from([]), LittleEndian));
        };
        let unreadable = |_| gimli::Error::Io;
        let data = section.compressed_data().map_err(unreadable)?;
        self.left = (self.left.checked_sub(data.uncompressed_size)).ok_or(gimli::Error::Io)?;
        let data = data.decompress().map_err(unreadable)?;
        Ok(Reader::new(Arc::from(data.as_ref()), LittleEndian))
    }
}

fn build(bytes: &[u8], files: &Arc<DebugFiles>) -> Option<Tables> {
    let mut sections = Sections::of(bytes)?;
    let has_own = |file: &object::File<'_>| {
        let info = file.section_by_name(".debug_info");
        info.is_some_and(|info| info.size() > 0)
    };
    let separate = match has_own(&sections.file) {
        true => None,
        false => files.separate(&sections.file),
    };
    let at = separate.as_ref().map(|(path, _)| path.as_path());
    if let Some((_, bytes)) = &separate {
        sections = Sections::of(bytes)?;
    }
    let mut dwarf = Dwarf::load(|id| sections.load(Some(id.name()))).ok()?;
    if let Some(bytes) = files.supplementary(&sections.file, at)
        && let Some(mut shared) = Sections::of(&bytes)
    {
        dwarf.load_sup(|id| shared.load(Some(id.name()))).ok()?;
    }
    let dwarf = Arc::new(dwarf);
    Some(Tables {
        discriminators: discriminators(&dwarf).unwrap_or_default(),
        context: Context::from_arc_dwarf(dwarf).ok()?,
        files: Arc::clone(files),
        package: OnceCell::new(),
    })
}
