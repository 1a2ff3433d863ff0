//! The checks of ELF headers, for RISC-V and Alpha. goblin decodes the structures, this file decides
//! what they may say.

use goblin::container::{Container, Ctx, Endian};
use goblin::elf::Elf;
use goblin::elf::header::{self, Header};
use goblin::elf::program_header::{self, ProgramHeader};
use goblin::elf::section_header;
use hps_isa::isa::Isa;
use hps_isa::layout;
use hps_isa::memory::{Memory, Perm, page_align_down};

use super::{Lacking, LoadError, ProgramHeaders, Segment, riscv_attributes};
use crate::os::OsInterface;

const HEADER_BYTES: usize = header::header64::SIZEOF_EHDR;
const PROGRAM_HEADER_BYTES: usize = program_header::program_header64::SIZEOF_PHDR;
/// Real programs have about ten; the bound keeps the check of overlaps cheap.
const MAX_PROGRAM_HEADERS: u16 = 512;

/// The program uses only sixteen integer registers, and another calling convention.
const EF_RISCV_RVE: u32 = 8;

/// `e_machine` of Alpha, which never got an official number.
const EM_ALPHA: u16 = 0x9026;

/// Remedy for a file that is none of these programs.
const fn remedy(isa: Option<Isa>) -> &'static str {
    match isa {
        None => "build the program for riscv64 or alpha Linux",
        Some(Isa::Riscv64) => "build the program for riscv64 Linux",
        Some(Isa::Alpha) => "build the program for alpha Linux",
    }
}

/// Purpose of loading a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Role {
    /// To be run.
    Program,
    /// To load a dynamic program (`ld.so`).
    Interpreter,
    /// To be looked at: a program or a library at the addresses that it says.
    Object,
}

/// Facts of a file that the loader needs.
pub(super) struct Layout {
    pub isa: Isa,
    pub entry: u64,
    pub segments: Vec<Segment>,
    pub program_headers: ProgramHeaders,
    pub is_pie: bool,
    pub load_bias: u64,
    pub align_bytes: u64,
    pub has_executable_stack: bool,
    pub lacking: Option<Lacking>,
    /// The path of the loader that a dynamic program asks for.
    pub interpreter: Option<Vec<u8>>,
}

/// Builds errors that name the file.
struct Check<'a> {
    file: &'a str,
    isa: Option<Isa>,
}

impl Check<'_> {
    fn wrong(&self, place: &str, problem: String) -> LoadError {
        LoadError::WrongKind {
            file: self.file.to_owned(),
            place: place.to_owned(),
            problem,
            remedy: remedy(self.isa),
        }
    }

    /// The file is a script, whose first line is `line` behind `#!`.
    fn script(&self, line: &[u8]) -> LoadError {
        let words = line.split(|byte| byte.is_ascii_whitespace());
        let first = words.filter(|word| !word.is_empty()).take(1);
        let interpreter = first.map(String::from_utf8_lossy).collect::<String>();
        LoadError::WrongKind {
            file: self.file.to_owned(),
            place: "first line".to_owned(),
            problem: format!("a script for {interpreter}, and no program"),
            remedy: "run that shell, built for riscv64 or alpha Linux, and give it the script as an argument",
        }
    }

    fn damaged(&self, place: impl Into<String>, problem: impl Into<String>) -> LoadError {
        LoadError::Damaged {
            file: self.file.to_owned(),
            place: place.into(),
            problem: problem.into(),
        }
    }

    fn misfit(&self, place: impl Into<String>, problem: impl Into<String>) -> LoadError {
        LoadError::DoesNotFit {
            file: self.file.to_owned(),
            place: place.into(),
            problem: problem.into(),
            remedy: "link the program for the usual addresses of Linux, and with smaller static data",
        }
    }
}

/// The end of the last thing in the file that its headers name. `start` has the first bytes of the file, and `read` fills a
/// buffer from a place on. `None` if this is no ELF header, or its tables cannot be read.
pub(super) fn needed_bytes<E>(
    start: &[u8],
    mut read: impl FnMut(&mut [u8], u64) -> Result<(), E>,
) -> Option<u64> {
    const SECTION_BYTES: usize = section_header::section_header64::SIZEOF_SHDR;
    if !start.starts_with(header::ELFMAG) {
        return None;
    }
    let header = Elf::parse_header(start).ok()?;
    let context = Ctx::new(Container::Big, Endian::Little);
    let mut table = |at: u64, count: u16, entry: usize| {
        let mut bytes = vec![0; usize::from(count) * entry];
        read(&mut bytes, at).ok()?;
        Some(bytes)
    };
    let count = header.e_phnum.min(MAX_PROGRAM_HEADERS);
    let bytes = table(header.e_phoff, count, PROGRAM_HEADER_BYTES)?;
    let segments = ProgramHeader::parse(&bytes, 0, usize::from(count), context).ok()?;
    let ends = segments.iter().map(|s| s.p_offset.checked_add(s.p_filesz));
    let mut end = ends.collect::<Option<Vec<u64>>>()?.into_iter().max()?;
    // A file may lack the sections, or have a damaged table: then nothing is told of its functions.
    let count = header.e_shnum;
    let table_bytes = u64::from(count) * SECTION_BYTES as u64;
    let bytes = table(header.e_shoff, count, SECTION_BYTES).unwrap_or_default();
    for section in bytes.as_chunks::<SECTION_BYTES>().0 {
        let word = |at| {
            section[at..]
                .first_chunk()
                .map_or(0, |w| u64::from_le_bytes(*w))
        };
        let (kind, offset, size) = ((word(0) >> 32) as u32, word(24), word(32));
        if kind != section_header::SHT_NOBITS {
            end = end.max(offset.saturating_add(size));
        }
    }
    if !bytes.is_empty() {
        end = end.max(header.e_shoff + table_bytes);
    }
    Some(end.max(header.e_phoff + u64::from(header.e_phnum) * PROGRAM_HEADER_BYTES as u64))
}

pub(super) fn parse(bytes: &[u8], file: &str, role: Role) -> Result<Layout, LoadError> {
    let mut check = Check { file, isa: None };
    check_ident(bytes, &check)?;
    let header =
        Elf::parse_header(bytes).map_err(|e| check.damaged("ELF header", e.to_string()))?;
    let isa = isa(&header, &check)?;
    check.isa = Some(isa);
    let is_pie = check_header(&header, role, &check)?;
    let headers = program_headers(bytes, &header, &check)?;
    check_kinds(&headers, &check)?;
    let page_bytes = OsInterface::Linux.page_bytes(isa);
    let align_bytes = align_bytes(&headers, page_bytes);
    let load_bias = match role {
        _ if !is_pie => 0,
        Role::Object => 0,
        Role::Program => layout::PIE_BASE,
        Role::Interpreter => interpreter_base(&headers, align_bytes, &check)?,
    };
    let interpreter = match role {
        Role::Program => interpreter(bytes, &headers, &check)?,
        // A loader is loaded by nobody else.
        Role::Interpreter | Role::Object => None,
    };
    let segments = segments(bytes, &headers, role, (load_bias, page_bytes), &check)?;
    let entry = match role {
        Role::Object => header.e_entry,
        _ => entry(&header, isa, load_bias, &segments, &check)?,
    };
    let addr = table_address(&header, &headers, load_bias, &segments);
    Ok(Layout {
        isa,
        entry,
        segments,
        program_headers: ProgramHeaders {
            addr,
            entry_bytes: PROGRAM_HEADER_BYTES as u64,
            count: u64::from(header.e_phnum),
        },
        is_pie,
        load_bias,
        align_bytes,
        lacking: lacking(bytes, &headers, isa),
        interpreter,
        has_executable_stack: headers.iter().any(|h| {
            h.p_type == program_header::PT_GNU_STACK && h.p_flags & program_header::PF_X != 0
        }),
    })
}

/// The identification bytes, which say how to read the rest.
fn check_ident(bytes: &[u8], check: &Check<'_>) -> Result<(), LoadError> {
    if let Some(line) = bytes.strip_prefix(b"#!") {
        return Err(check.script(line));
    }
    if !bytes.starts_with(header::ELFMAG) {
        return Err(check.wrong(
            "first bytes",
            "not an ELF file, nor an ECOFF file for Alpha".to_owned(),
        ));
    }
    if bytes.len() < HEADER_BYTES {
        return Err(check.damaged(
            "ELF header",
            format!("the file ends after {} bytes", bytes.len()),
        ));
    }
    match bytes[header::EI_CLASS] {
        header::ELFCLASS64 => {}
        header::ELFCLASS32 => {
            return Err(check.wrong("ELF header, EI_CLASS", "a 32-bit program".to_owned()));
        }
        other => {
            return Err(check.damaged("ELF header, EI_CLASS", format!("unknown class {other}")));
        }
    }
    match bytes[header::EI_DATA] {
        header::ELFDATA2LSB => {}
        header::ELFDATA2MSB => {
            return Err(check.wrong("ELF header, EI_DATA", "a big-endian program".to_owned()));
        }
        other => {
            return Err(check.damaged("ELF header, EI_DATA", format!("unknown encoding {other}")));
        }
    }
    if bytes[header::EI_VERSION] != header::EV_CURRENT {
        let version = bytes[header::EI_VERSION];
        return Err(check.damaged(
            "ELF header, EI_VERSION",
            format!("unknown version {version}"),
        ));
    }
    Ok(())
}

fn isa(header: &Header, check: &Check<'_>) -> Result<Isa, LoadError> {
    match header.e_machine {
        header::EM_RISCV => Ok(Isa::Riscv64),
        EM_ALPHA => Ok(Isa::Alpha),
        machine => {
            let name = header::machine_to_str(machine);
            let problem = format!(
                "a program for {name} (machine {machine}), not for RISC-V and not for Alpha"
            );
            Err(check.wrong("ELF header, e_machine", problem))
        }
    }
}

/// The fields of the header. Returns whether the program is position-independent.
fn check_header(header: &Header, role: Role, check: &Check<'_>) -> Result<bool, LoadError> {
    let is_pie = match header.e_type {
        header::ET_EXEC => false,
        header::ET_DYN => true,
        header::ET_REL => {
            return Err(check.wrong(
                "ELF header, e_type",
                "an object file that is not linked".to_owned(),
            ));
        }
        header::ET_CORE => return Err(check.wrong("ELF header, e_type", "a core dump".to_owned())),
        other => return Err(check.damaged("ELF header, e_type", format!("unknown type {other}"))),
    };
    if header.e_machine == header::EM_RISCV && header.e_flags & EF_RISCV_RVE != 0 {
        let problem = "a program for the embedded base with 16 registers (RVE)".to_owned();
        return Err(check.wrong("ELF header, e_flags", problem));
    }
    if is_pie && header.e_entry == 0 && role != Role::Object {
        let problem = "a shared library: it has no entry point".to_owned();
        return Err(check.wrong("ELF header, e_entry", problem));
    }
    if header.e_phnum == 0 {
        return Err(check.wrong(
            "ELF header, e_phnum",
            "no program headers, so nothing to load".to_owned(),
        ));
    }
    if header.e_phnum > MAX_PROGRAM_HEADERS {
        let problem = format!(
            "{} program headers, more than {MAX_PROGRAM_HEADERS}",
            header.e_phnum
        );
        return Err(check.damaged("ELF header, e_phnum", problem));
    }
    if usize::from(header.e_phentsize) != PROGRAM_HEADER_BYTES {
        let problem = format!("{} bytes, not {PROGRAM_HEADER_BYTES}", header.e_phentsize);
        return Err(check.damaged("ELF header, e_phentsize", problem));
    }
    Ok(is_pie)
}

fn program_headers(
    bytes: &[u8],
    header: &Header,
    check: &Check<'_>,
) -> Result<Vec<ProgramHeader>, LoadError> {
    let count = usize::from(header.e_phnum);
    let end = header
        .e_phoff
        .checked_add((count * PROGRAM_HEADER_BYTES) as u64);
    if end.is_none_or(|end| end > bytes.len() as u64) {
        let problem = format!(
            "the table at offset {:#x} reaches behind the end of the file",
            header.e_phoff
        );
        return Err(check.damaged("ELF header, e_phoff", problem));
    }
    let ctx = Ctx::new(Container::Big, Endian::Little);
    ProgramHeader::parse(bytes, header.e_phoff as usize, count, ctx)
        .map_err(|e| check.damaged("program headers", e.to_string()))
}

fn check_kinds(headers: &[ProgramHeader], check: &Check<'_>) -> Result<(), LoadError> {
    if !headers.iter().any(|h| h.p_type == program_header::PT_LOAD) {
        return Err(check.wrong(
            "program headers",
            "no PT_LOAD segment, so nothing to load".to_owned(),
        ));
    }
    Ok(())
}

/// The path that `PT_INTERP` names, checked as Linux does (`fs/binfmt_elf.c`, `load_elf_binary`).
fn interpreter(
    bytes: &[u8],
    headers: &[ProgramHeader],
    check: &Check<'_>,
) -> Result<Option<Vec<u8>>, LoadError> {
    const PATH_MAX: u64 = 4096;
    let is_interpreter = |h: &&ProgramHeader| h.p_type == program_header::PT_INTERP;
    let Some(header) = headers.iter().find(is_interpreter) else {
        return Ok(None);
    };
    let damaged = |problem: &str| check.damaged("program headers, PT_INTERP", problem);
    if !(2..=PATH_MAX).contains(&header.p_filesz) {
        return Err(damaged("its size is not that of a path"));
    }
    let end = header.p_offset.checked_add(header.p_filesz);
    let text = end.and_then(|end| bytes.get(header.p_offset as usize..end as usize));
    let text = text.ok_or_else(|| damaged("it reaches behind the end of the file"))?;
    match text.split_last() {
        Some((0, _)) => {
            let len = text.iter().position(|byte| *byte == 0).unwrap_or(0);
            Ok(Some(text[..len].to_vec()))
        }
        _ => Err(damaged("the path has no end")),
    }
}

/// Segments that are loaded.
fn loaded(headers: &[ProgramHeader]) -> impl Iterator<Item = &ProgramHeader> {
    headers
        .iter()
        .filter(|h| h.p_type == program_header::PT_LOAD)
}

/// Alignment of a load bias.
fn align_bytes(headers: &[ProgramHeader], page_bytes: u64) -> u64 {
    const MAX_ALIGN: u64 = 1 << 21;
    let align = loaded(headers).map(|h| h.p_align);
    let align = align.filter(|a| a.is_power_of_two()).max();
    align.unwrap_or(0).clamp(page_bytes, MAX_ALIGN)
}

/// Load bias of a loader: it ends where `mmap` begins to hand out addresses.
fn interpreter_base(
    headers: &[ProgramHeader],
    align: u64,
    check: &Check<'_>,
) -> Result<u64, LoadError> {
    let end = loaded(headers).map(|h| h.p_vaddr.saturating_add(h.p_memsz));
    let end = end.max();
    let most = layout::MMAP_TOP - layout::MMAP_FLOOR;
    match end {
        Some(end) if end <= most => {
            let base = layout::MMAP_TOP - end;
            Ok(base - base % align)
        }
        _ => Err(check.damaged("PT_LOAD segments", "they are too large for a loader")),
    }
}

/// The extensions that the file says it is built for and that do not exist here.
fn lacking(bytes: &[u8], headers: &[ProgramHeader], isa: Isa) -> Option<Lacking> {
    let arch = match isa {
        Isa::Riscv64 => riscv_attributes::arch(bytes, headers)?,
        Isa::Alpha => return None,
    };
    riscv_attributes::lacking(&arch)
}

fn segments(
    bytes: &[u8],
    headers: &[ProgramHeader],
    role: Role,
    place: (u64, u64),
    check: &Check<'_>,
) -> Result<Vec<Segment>, LoadError> {
    let mut segments = Vec::new();
    for (index, header) in headers.iter().enumerate() {
        if header.p_type == program_header::PT_LOAD && header.p_memsz > 0 {
            segments.push(segment(bytes, (index, header), role, place, check)?);
        } else if header.p_type == program_header::PT_LOAD && header.p_filesz > 0 {
            let place = format!("program header {index}, p_memsz");
            return Err(check.damaged(place, "0, less than p_filesz"));
        }
    }
    segments.sort_by_key(|s| s.addr);
    if let Some(problem) = super::overlap(&segments) {
        return Err(check.damaged("PT_LOAD segments", problem));
    }
    if segments.is_empty() {
        return Err(check.wrong(
            "program headers",
            "every PT_LOAD segment is empty".to_owned(),
        ));
    }
    Ok(segments)
}

fn segment(
    bytes: &[u8],
    (index, header): (usize, &ProgramHeader),
    role: Role,
    (bias, page_bytes): (u64, u64),
    check: &Check<'_>,
) -> Result<Segment, LoadError> {
    let place = |field: &str| format!("program header {index}, {field}");
    if header.p_filesz > header.p_memsz {
        let problem = format!(
            "{:#x}, more than p_memsz {:#x}",
            header.p_filesz, header.p_memsz
        );
        return Err(check.damaged(place("p_filesz"), problem));
    }
    let file_end = header.p_offset.checked_add(header.p_filesz);
    if file_end.is_none_or(|end| end > bytes.len() as u64) {
        let problem = format!(
            "{:#x} + {:#x} bytes reach behind the end of the file ({:#x} bytes)",
            header.p_offset,
            header.p_filesz,
            bytes.len()
        );
        return Err(check.damaged(place("p_offset"), problem));
    }
    let align = header.p_align;
    if align > 1
        && (!align.is_power_of_two()
            || (header.p_vaddr ^ header.p_offset) & (page_bytes - 1) & (align - 1) != 0)
    {
        let problem = format!("alignment {align:#x} contradicts the address or the offset");
        return Err(check.damaged(place("p_align"), problem));
    }
    let addr = header.p_vaddr.checked_add(bias);
    let end = addr.and_then(|a| a.checked_add(header.p_memsz));
    let (Some(addr), Some(end)) = (addr, end) else {
        return Err(check.damaged(place("p_vaddr"), "address and size overflow 64 bits"));
    };
    let is_loader = bias >= layout::MMAP_FLOOR;
    let fits = match role {
        Role::Object => true,
        _ if is_loader => layout::is_loader_range(addr, end),
        _ => layout::is_image_range(addr, end),
    };
    if !fits {
        let problem = format!(
            "{addr:#x}..{end:#x} lies outside of {:#x}..{:#x} and {:#x}..{:#x}, where programs can be placed",
            layout::LOWEST,
            layout::IMAGE_TOP,
            layout::HIGH,
            Memory::LIMIT
        );
        return Err(check.misfit(place("p_vaddr"), problem));
    }
    let start = header.p_offset as usize;
    Ok(Segment {
        addr,
        mem_bytes: header.p_memsz,
        file_range: start..start + header.p_filesz as usize,
        perm: permissions(header.p_flags),
    })
}

fn permissions(flags: u32) -> Perm {
    [
        (program_header::PF_R, Perm::R),
        // Neither instruction set has pages that are writable and not readable.
        (program_header::PF_W, Perm::RW),
        (program_header::PF_X, Perm::X),
    ]
    .into_iter()
    .filter(|&(flag, _)| flags & flag != 0)
    .fold(Perm::NONE, |perm, (_, bit)| perm.union(bit))
}

fn entry(
    header: &Header,
    isa: Isa,
    bias: u64,
    segments: &[Segment],
    check: &Check<'_>,
) -> Result<u64, LoadError> {
    let entry = header.e_entry.checked_add(bias);
    let inside = |e: u64| {
        segments
            .iter()
            .any(|s| s.perm.contains(Perm::X) && s.addr <= e && e < s.end())
    };
    match entry {
        Some(entry) if entry.is_multiple_of(isa.instruction_align()) && inside(entry) => Ok(entry),
        _ => {
            let problem = format!(
                "{:#x} is no instruction in an executable segment",
                header.e_entry
            );
            Err(check.damaged("ELF header, e_entry", problem))
        }
    }
}

/// The guest address of the program header table: from PT_PHDR, else from the segment that holds
/// its bytes of the file, else 0.
fn table_address(
    header: &Header,
    headers: &[ProgramHeader],
    bias: u64,
    segments: &[Segment],
) -> u64 {
    let in_image = |addr: u64| {
        segments
            .iter()
            .any(|s| page_align_down(s.addr) <= addr && addr < s.end())
    };
    let declared = headers
        .iter()
        .find(|h| h.p_type == program_header::PT_PHDR)
        .and_then(|h| h.p_vaddr.checked_add(bias))
        .filter(|&addr| in_image(addr));
    let table = header.e_phoff as usize
        ..header.e_phoff as usize + usize::from(header.e_phnum) * PROGRAM_HEADER_BYTES;
    declared
        .or_else(|| {
            segments
                .iter()
                .find(|s| s.file_range.start <= table.start && table.end <= s.file_range.end)
                .map(|s| s.addr + (table.start - s.file_range.start) as u64)
        })
        .unwrap_or(0)
}
