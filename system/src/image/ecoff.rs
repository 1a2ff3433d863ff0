//! ECOFF executables for Alpha: the format of OSF/1 (Digital Unix "Object File and Symbol Table
//! Format Specification"; binutils `include/coff/{ecoff,alpha}.h`). No library reads them, so this
//! file decodes the structures itself and decides what they may say.
//!
//! ```text
//! file header      24 bytes  magic, number of sections, place of the symbols, flags
//! a.out header     80 bytes  magic, sizes and addresses of text, data and bss, entry, gp
//! section headers  64 bytes each
//! ```
//!
//! The kernel of OSF/1 maps what the a.out header describes. Files that `objcopy` makes have one that
//! does not fit their sections; of those the sections are placed one by one.

mod symbols;

use hps_isa::layout;
use hps_isa::memory::{Memory, Perm};

use super::{LoadError, ProgramHeaders, Segment};

pub(super) use self::symbols::symbol_table;

const FILE_HEADER_BYTES: usize = 24;
const AOUT_HEADER_BYTES: usize = 80;
const SECTION_HEADER_BYTES: usize = 64;
/// Real programs have about twenty; the bound keeps the check of overlaps cheap.
const MAX_SECTIONS: u16 = 512;

/// `f_magic`: Alpha, and Alpha as the BSDs wrote it.
const MAGICS: [u16; 2] = [0o603, 0o605];
/// ... of a compressed object file.
const MAGIC_COMPRESSED: u16 = 0o610;

const F_EXEC: u16 = 2;
const OBJECT_TYPE: u16 = 0x3000;
const SHARABLE: u16 = 0x2000;
const CALL_SHARED: u16 = 0x3000;

/// `magic` of the a.out header: everything writable, text read-only, text mapped with the headers.
const OMAGIC: u16 = 0o407;
const NMAGIC: u16 = 0o410;
const ZMAGIC: u16 = 0o413;

/// `s_flags`
mod styp {
    pub const NOT_LOADED: u32 = 0x3;
    pub const TEXT: u32 = 0x20;
    pub const BSS: u32 = 0x80;
    pub const RDATA: u32 = 0x100;
    pub const SBSS: u32 = 0x400;
    pub const DYNAMIC: u32 = 0x2000;
    pub const FINI: u32 = 0x0100_0000;
    pub const INIT: u32 = 0x8000_0000;
    pub const COMMENT: u32 = 0x0210_0000;
    pub const RCONST: u32 = 0x0220_0000;
}

const BUILD_STATIC: &str =
    "build the program for Alpha OSF/1 and link it without shared libraries (-non_shared)";

/// Whether a file says of itself that it is one of these.
pub(super) fn is_ecoff(bytes: &[u8]) -> bool {
    bytes.first_chunk::<2>().is_some_and(|&magic| {
        let magic = u16::from_le_bytes(magic);
        MAGICS.contains(&magic) || magic == MAGIC_COMPRESSED
    })
}

/// Parts of a file that the loader needs.
pub(super) struct Layout {
    pub entry: u64,
    pub global_pointer: u64,
    pub segments: Vec<Segment>,
}

impl Layout {
    /// There are no program headers.
    pub(super) const PROGRAM_HEADERS: ProgramHeaders = ProgramHeaders {
        addr: 0,
        entry_bytes: 0,
        count: 0,
    };
}

/// Builds errors that name the file.
struct Check<'a> {
    file: &'a str,
}

impl Check<'_> {
    fn wrong(&self, place: &str, problem: impl Into<String>) -> LoadError {
        LoadError::WrongKind {
            file: self.file.to_owned(),
            place: place.to_owned(),
            problem: problem.into(),
            remedy: BUILD_STATIC,
        }
    }

    fn damaged(&self, place: impl Into<String>, problem: impl Into<String>) -> LoadError {
        LoadError::Damaged {
            file: self.file.to_owned(),
            place: place.into(),
            problem: problem.into(),
        }
    }
}

/// Little-endian fields of a structure, read one after the other. Bytes behind the end read as zero, so lengths
/// are checked before.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_at(self.0.len().min(N));
        self.0 = rest;
        let mut bytes = [0; N];
        bytes[..field.len()].copy_from_slice(field);
        bytes
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}

/// `struct aouthdr`.
struct AoutHeader {
    magic: u16,
    text_bytes: u64,
    data_bytes: u64,
    bss_bytes: u64,
    entry: u64,
    text_start: u64,
    data_start: u64,
    bss_start: u64,
    global_pointer: u64,
}

/// A section that takes part in the program.
struct Section {
    addr: u64,
    bytes: u64,
    /// Offset of its content in the file; `None` if the content is zero.
    offset: Option<u64>,
    perm: Perm,
}

impl Section {
    fn end(&self) -> u64 {
        self.addr + self.bytes
    }
}

pub(super) fn parse(bytes: &[u8], file: &str) -> Result<Layout, LoadError> {
    let check = Check { file };
    let count = file_header(bytes, &check)?;
    let aout = aout_header(bytes, &check)?;
    let sections = sections(bytes, count, &check)?;
    let mut segments = match aout_segments(&aout, count, &sections, bytes.len() as u64) {
        Some(segments) => segments,
        None => sections.iter().map(section_segment).collect(),
    };
    segments.sort_by_key(|s| s.addr);
    check_overlaps(&segments, &check)?;
    Ok(Layout {
        entry: entry(aout.entry, &segments, &check)?,
        global_pointer: aout.global_pointer,
        segments,
    })
}

/// Returns the number of sections.
fn file_header(bytes: &[u8], check: &Check<'_>) -> Result<u16, LoadError> {
    if bytes.len() < FILE_HEADER_BYTES + AOUT_HEADER_BYTES {
        let place = if bytes.len() < FILE_HEADER_BYTES {
            "file header"
        } else {
            "a.out header"
        };
        let problem = format!("the file ends after {} bytes", bytes.len());
        return Err(check.damaged(place, problem));
    }
    let mut fields = Fields(bytes);
    if fields.u16() == MAGIC_COMPRESSED {
        return Err(check.wrong("file header, f_magic", "a compressed object file"));
    }
    let sections = fields.u16();
    let _time = fields.u32();
    let _symbols = (fields.u64(), fields.u32());
    let aout_bytes = fields.u16();
    let flags = fields.u16();
    if flags & F_EXEC == 0 {
        let problem = "an object file that is not linked, or was linked with errors";
        return Err(check.wrong("file header, f_flags", problem));
    }
    match flags & OBJECT_TYPE {
        CALL_SHARED => {
            let problem = "dynamically linked (call_shared): it asks for the loader";
            return Err(check.wrong("file header, f_flags", problem));
        }
        SHARABLE => return Err(check.wrong("file header, f_flags", "a shared library")),
        _ => {}
    }
    if usize::from(aout_bytes) != AOUT_HEADER_BYTES {
        let problem = format!("{aout_bytes} bytes, not {AOUT_HEADER_BYTES}");
        return Err(check.damaged("file header, f_opthdr", problem));
    }
    if sections == 0 || sections > MAX_SECTIONS {
        let problem = format!("{sections} sections, where 1 to {MAX_SECTIONS} are sensible");
        return Err(check.damaged("file header, f_nscns", problem));
    }
    if headers_bytes(sections) > bytes.len() as u64 {
        let problem = format!("{sections} section headers reach behind the end of the file");
        return Err(check.damaged("file header, f_nscns", problem));
    }
    Ok(sections)
}

/// The size of all headers.
fn headers_bytes(sections: u16) -> u64 {
    let bytes =
        FILE_HEADER_BYTES + AOUT_HEADER_BYTES + usize::from(sections) * SECTION_HEADER_BYTES;
    bytes as u64
}

fn aout_header(bytes: &[u8], check: &Check<'_>) -> Result<AoutHeader, LoadError> {
    let mut fields = Fields(&bytes[FILE_HEADER_BYTES..]);
    let magic = fields.u16();
    if ![OMAGIC, NMAGIC, ZMAGIC].contains(&magic) {
        let problem = format!("{magic:#o} is none of {OMAGIC:#o}, {NMAGIC:#o}, {ZMAGIC:#o}");
        return Err(check.damaged("a.out header, magic", problem));
    }
    let _versions = (fields.u16(), fields.u16(), fields.u16());
    let [
        text_bytes,
        data_bytes,
        bss_bytes,
        entry,
        text_start,
        data_start,
        bss_start,
    ] = std::array::from_fn(|_| fields.u64());
    let _masks = (fields.u32(), fields.u32());
    Ok(AoutHeader {
        magic,
        text_bytes,
        data_bytes,
        bss_bytes,
        entry,
        text_start,
        data_start,
        bss_start,
        global_pointer: fields.u64(),
    })
}

fn sections(bytes: &[u8], count: u16, check: &Check<'_>) -> Result<Vec<Section>, LoadError> {
    let table = &bytes[FILE_HEADER_BYTES + AOUT_HEADER_BYTES..];
    let mut sections = Vec::new();
    for (index, header) in table
        .chunks_exact(SECTION_HEADER_BYTES)
        .take(usize::from(count))
        .enumerate()
    {
        sections.extend(section(index, header, bytes.len() as u64, check)?);
    }
    if sections.is_empty() {
        return Err(check.wrong("section headers", "every section is empty"));
    }
    Ok(sections)
}

/// A section, if it has a place in memory.
fn section(
    index: usize,
    header: &[u8],
    file_bytes: u64,
    check: &Check<'_>,
) -> Result<Option<Section>, LoadError> {
    let place = |field: &str| format!("section header {index}, {field}");
    let mut fields = Fields(header);
    let _name: [u8; 8] = fields.take();
    let _physical = fields.u64();
    let [addr, bytes, offset] = std::array::from_fn(|_| fields.u64());
    let _tables = (fields.u64(), fields.u64(), fields.u32());
    let flags = fields.u32();
    if flags & styp::DYNAMIC != 0 && flags < styp::FINI {
        let problem = "dynamically linked: it has a dynamic section";
        return Err(check.wrong(&place("s_flags"), problem));
    }
    if bytes == 0 || flags == styp::COMMENT || flags & styp::NOT_LOADED != 0 {
        return Ok(None);
    }
    let Some(end) = addr.checked_add(bytes) else {
        let problem = format!("{bytes:#x} bytes from {addr:#x} overflow 64 bits");
        return Err(check.damaged(place("s_size"), problem));
    };
    check_place(addr, end, check, &place("s_vaddr"))?;
    let is_zero = flags & (styp::BSS | styp::SBSS) != 0;
    if !is_zero && offset.checked_add(bytes).is_none_or(|end| end > file_bytes) {
        let problem = format!(
            "{offset:#x} + {bytes:#x} bytes reach behind the end of the file ({file_bytes:#x} bytes)"
        );
        return Err(check.damaged(place("s_scnptr"), problem));
    }
    let perm = if flags & (styp::TEXT | styp::INIT | styp::FINI) != 0 {
        Perm::RX
    } else if flags & styp::RDATA != 0 || flags == styp::RCONST {
        Perm::R
    } else {
        Perm::RW
    };
    Ok(Some(Section {
        addr,
        bytes,
        offset: (!is_zero).then_some(offset),
        perm,
    }))
}

fn check_place(addr: u64, end: u64, check: &Check<'_>, place: &str) -> Result<(), LoadError> {
    if layout::is_image_range(addr, end) {
        return Ok(());
    }
    Err(LoadError::DoesNotFit {
        file: check.file.to_owned(),
        place: place.to_owned(),
        problem: format!(
            "{addr:#x}..{end:#x} lies outside of {:#x}..{:#x} and {:#x}..{:#x}, where programs can be placed",
            layout::LOWEST,
            layout::IMAGE_TOP,
            layout::HIGH,
            Memory::LIMIT
        ),
        remedy: "link the program for the usual addresses of OSF/1 (text at 0x120000000, data at 0x140000000)",
    })
}

fn section_segment(section: &Section) -> Segment {
    let start = section.offset.unwrap_or(0) as usize;
    let file_bytes = section.offset.map_or(0, |_| section.bytes as usize);
    Segment {
        addr: section.addr,
        mem_bytes: section.bytes,
        file_range: start..start + file_bytes,
        perm: section.perm,
    }
}

/// Text, data and bss as the a.out header describes them, if it holds every section at its place.
fn aout_segments(
    aout: &AoutHeader,
    section_count: u16,
    sections: &[Section],
    file_bytes: u64,
) -> Option<Vec<Segment>> {
    // With ZMAGIC the text begins with the headers; else it follows them.
    let text_offset = match aout.magic {
        ZMAGIC => 0,
        _ => headers_bytes(section_count).next_multiple_of(16),
    };
    let data_offset = text_offset.checked_add(aout.text_bytes)?;
    let file_end = data_offset.checked_add(aout.data_bytes)?;
    let text_end = aout.text_start.checked_add(aout.text_bytes)?;
    let data_end = aout.data_start.checked_add(aout.data_bytes)?;
    let bss_end = aout.bss_start.checked_add(aout.bss_bytes)?;
    let held = |s: &Section| {
        let within = |start, end| start <= s.addr && s.end() <= end;
        match s.offset {
            None => within(aout.bss_start, bss_end),
            Some(offset) if within(aout.text_start, text_end) => {
                offset.checked_sub(text_offset) == Some(s.addr - aout.text_start)
            }
            Some(offset) => {
                within(aout.data_start, data_end)
                    && offset.checked_sub(data_offset) == Some(s.addr - aout.data_start)
            }
        }
    };
    let fits = layout::is_image_range;
    if file_end > file_bytes
        || !fits(aout.text_start, text_end)
        || (data_end > aout.data_start && !fits(aout.data_start, data_end))
        || (bss_end > aout.bss_start && !fits(aout.bss_start, bss_end))
        || !sections.iter().all(held)
    {
        return None;
    }
    let text_perm = match aout.magic {
        OMAGIC => Perm::RWX,
        _ => Perm::RX,
    };
    let parts = [
        (
            aout.text_start,
            text_end,
            text_offset..data_offset,
            text_perm,
        ),
        (aout.data_start, data_end, data_offset..file_end, Perm::RW),
        (aout.bss_start, bss_end, 0..0, Perm::RW),
    ];
    let segments = parts
        .into_iter()
        .filter(|(start, end, ..)| start < end)
        .map(|(start, end, range, perm)| Segment {
            addr: start,
            mem_bytes: end - start,
            file_range: range.start as usize..range.end as usize,
            perm,
        });
    Some(segments.collect())
}

fn check_overlaps(segments: &[Segment], check: &Check<'_>) -> Result<(), LoadError> {
    if let Some(problem) = super::overlap(segments) {
        return Err(check.damaged("sections, s_vaddr", problem));
    }
    Ok(())
}

fn entry(entry: u64, segments: &[Segment], check: &Check<'_>) -> Result<u64, LoadError> {
    let inside = segments
        .iter()
        .any(|s| s.perm.contains(Perm::X) && s.addr <= entry && entry < s.end());
    if inside && entry.is_multiple_of(4) {
        return Ok(entry);
    }
    let problem = format!("{entry:#x} is no instruction in an executable section");
    Err(check.damaged("a.out header, entry", problem))
}
