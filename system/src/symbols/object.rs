//! A file with code in an address space: its names and its source lines.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use hps_isa::memory::Perm;
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object as _, ObjectSegment};
use sha2::{Digest, Sha256};

use super::SymbolTable;
use super::stubs::{Slot, slots};
use crate::image::{DebugFiles, Segment, SourceFrame, SourceLines, hex};

/// A program, a library, a loader, or what a compiler has made while the program ran.
pub struct Object {
    name: String,
    build_id: Option<String>,
    bias: u64,
    /// Where its code lies if all of it is there.
    code: Vec<Range<u64>>,
    pub(super) table: Arc<SymbolTable>,
    lines: Lines,
    hash: OnceLock<String>,
}

/// Where source lines come from.
enum Lines {
    /// The debug information of a file.
    Dwarf(Arc<[u8]>, Box<SourceLines>),
    /// The compiler that has made the code: source positions from each address on.
    Made(BTreeMap<u64, (String, u32)>),
}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Object")
            .field("name", &self.name)
            .field("build_id", &self.build_id)
            .field("bias", &self.bias)
            .finish_non_exhaustive()
    }
}

impl Object {
    /// An ELF file whose addresses lie `bias` bytes behind those that it says.
    pub(crate) fn elf(
        name: &str,
        bytes: &Arc<[u8]>,
        (bias, segments): (u64, &[Segment]),
        files: DebugFiles,
    ) -> Object {
        let file = ElfFile64::<LittleEndian>::parse(&**bytes).ok();
        let build_id = file.and_then(|file| {
            let id = file.build_id().ok().flatten()?;
            Some(hex(id))
        });
        let lines = SourceLines::with(files);
        let debug = |file: &ElfFile64<'_, LittleEndian>| {
            let found = lines.files().separate(file);
            found.map(|(_, bytes)| bytes)
        };
        let table = SymbolTable::from_elf(bytes, debug, bias, segments);
        Object::new(name, build_id, bias, segments, table, bytes, lines)
    }

    /// A file of another format, with its table.
    pub(crate) fn other(
        name: &str,
        bytes: &Arc<[u8]>,
        segments: &[Segment],
        table: SymbolTable,
    ) -> Object {
        let lines = SourceLines::default();
        Object::new(name, None, 0, segments, table, bytes, lines)
    }

    fn new(
        name: &str,
        build_id: Option<String>,
        bias: u64,
        segments: &[Segment],
        table: SymbolTable,
        bytes: &Arc<[u8]>,
        lines: SourceLines,
    ) -> Object {
        let code = segments.iter().filter(|s| s.perm.contains(Perm::X));
        Object {
            name: name.to_owned(),
            build_id,
            bias,
            code: code.map(|s| s.addr..s.end()).collect(),
            table: Arc::new(table),
            lines: Lines::Dwarf(Arc::clone(bytes), Box::new(lines)),
            hash: OnceLock::new(),
        }
    }

    /// The file of a library, mapped so that `offset` bytes of it lie in front of `start`. `None` if it is no ELF file
    /// with code there.
    pub(crate) fn mapped(
        name: &str,
        bytes: &Arc<[u8]>,
        (start, offset): (u64, u64),
        files: DebugFiles,
    ) -> Option<Object> {
        let file = ElfFile64::<LittleEndian>::parse(&**bytes).ok()?;
        let bias = bias(&file, start, offset)?;
        let segments: Vec<Segment> = segments(&file, bias);
        Some(Object::elf(name, bytes, (bias, &segments), files))
    }

    /// Code that a compiler has made: name, address and size of each function, and source positions by address.
    pub(crate) fn made(
        name: &str,
        functions: &[(String, u64, u64)],
        lines: BTreeMap<u64, (String, u32)>,
    ) -> Object {
        let table = SymbolTable::from_functions(functions);
        let code = table.functions().iter().map(|f| f.addr..f.addr + f.size);
        Object {
            name: name.to_owned(),
            build_id: None,
            bias: 0,
            code: code.collect(),
            table: Arc::new(table),
            lines: Lines::Made(lines),
            hash: OnceLock::new(),
        }
    }

    /// Path of the file, as the program sees it; of a program that the host has started, as it was named.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Last part of the path.
    #[must_use]
    pub fn file_name(&self) -> &str {
        let name = self.name.rsplit('/').next();
        name.unwrap_or(&self.name)
    }

    /// The linker's name for the bytes of the file, in hexadecimal, if it has one.
    #[must_use]
    pub fn build_id(&self) -> Option<&str> {
        self.build_id.as_deref()
    }

    /// The bytes of the file as they were read; `None` of code that was made.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.lines {
            Lines::Dwarf(bytes, _) => Some(bytes),
            Lines::Made(_) => None,
        }
    }

    /// SHA-256 of [`Object::bytes`], in hexadecimal.
    #[must_use]
    pub fn hash(&self) -> Option<&str> {
        let bytes = self.bytes()?;
        Some(self.hash.get_or_init(|| hex(&Sha256::digest(bytes))))
    }

    /// Bytes by which addresses lie behind those that the file says.
    #[must_use]
    pub fn load_bias(&self) -> u64 {
        self.bias
    }

    /// Whether a mapping that has `offset` bytes of the file in front of `start` is a part of this object.
    pub(super) fn lies_at(&self, start: u64, offset: u64) -> bool {
        let file = self.bytes().map(ElfFile64::<LittleEndian>::parse);
        let file = file.and_then(Result::ok);
        file.and_then(|file| bias(&file, start, offset)) == Some(self.bias)
    }

    /// Ranges of the object's code.
    pub(super) fn code(&self) -> &[Range<u64>] {
        &self.code
    }

    /// The words into which the loader has put addresses of functions, with the functions' names.
    pub(super) fn slots(&self) -> Vec<Slot> {
        match &self.lines {
            Lines::Dwarf(bytes, _) => ElfFile64::<LittleEndian>::parse(&**bytes)
                .map_or_else(|_| Vec::new(), |file| slots(&file, self.bias)),
            Lines::Made(_) => Vec::new(),
        }
    }

    /// Fills `bytes` with the code at an address, with zeros behind its end. Says whether the file has any there.
    pub(super) fn read_code(&self, pc: u64, bytes: &mut [u8]) -> bool {
        let Lines::Dwarf(file, _) = &self.lines else {
            return false;
        };
        let own = pc.wrapping_sub(self.bias);
        let found = ElfFile64::<LittleEndian>::parse(&**file)
            .ok()
            .and_then(|elf| {
                let mut segments = elf.segments();
                segments.find_map(|segment| {
                    let inside = own.checked_sub(segment.address())?;
                    segment.data().ok()?.get(inside as usize..)
                })
            });
        match found {
            Some(code) if !code.is_empty() => {
                let len = bytes.len().min(code.len());
                bytes.fill(0);
                bytes[..len].copy_from_slice(&code[..len]);
                true
            }
            _ => false,
        }
    }

    /// The source position of an instruction as `file:line`.
    pub(super) fn source_line(&self, pc: u64) -> Option<String> {
        match &self.lines {
            Lines::Dwarf(bytes, lines) => lines.lookup(bytes, pc.checked_sub(self.bias)?),
            Lines::Made(lines) => {
                let (_, (file, line)) = lines.range(..=pc).next_back()?;
                Some(format!("{file}:{line}"))
            }
        }
    }

    /// The functions that are active at an instruction, innermost first.
    pub(super) fn source_frames(&self, pc: u64) -> Vec<SourceFrame> {
        match &self.lines {
            Lines::Dwarf(bytes, lines) => {
                let own = pc.checked_sub(self.bias);
                own.map_or_else(Vec::new, |own| lines.frames(bytes, own))
            }
            Lines::Made(lines) => {
                let before = lines.range(..=pc).next_back();
                let frame = before.map(|(_, (file, line))| SourceFrame {
                    function: self.table.function_at(pc).map(|f| f.linkage_name.clone()),
                    file: Some(file.clone()),
                    line: Some(*line),
                    ..SourceFrame::default()
                });
                frame.into_iter().collect()
            }
        }
    }

    /// Files with debug information that were looked for and not found, a sentence each.
    pub(super) fn missing_debug_files(&self) -> Vec<String> {
        match &self.lines {
            Lines::Dwarf(_, lines) => lines.missing(),
            Lines::Made(_) => Vec::new(),
        }
    }
}

/// Segments of a file at its addresses and `bias` bytes behind.
fn segments(file: &ElfFile64<'_, LittleEndian>, bias: u64) -> Vec<Segment> {
    let of = |segment: object::read::elf::ElfSegment64<'_, '_, LittleEndian>| {
        let flags = segment.permissions();
        let (offset, bytes) = segment.file_range();
        Segment {
            addr: segment.address().wrapping_add(bias),
            mem_bytes: segment.size(),
            file_range: offset as usize..offset.saturating_add(bytes) as usize,
            perm: match flags.executable() {
                true => Perm::RX,
                false => Perm::R,
            },
        }
    };
    let all = file.segments().map(of);
    all.filter(|s| s.addr.checked_add(s.mem_bytes).is_some())
        .collect()
}

/// Bytes by which a file lies behind its addresses, if what `offset` says lies at `start`.
fn bias(file: &ElfFile64<'_, LittleEndian>, start: u64, offset: u64) -> Option<u64> {
    let mut segments = file.segments();
    segments.find_map(|segment| {
        let (first, bytes) = segment.file_range();
        // A mapping begins at a page, in front of the segment.
        let page = first - first % segment.align().clamp(1, 1 << 16);
        let holds = page <= offset && offset < first.saturating_add(bytes);
        let addr = segment.address().wrapping_sub(first).wrapping_add(offset);
        (holds && segment.permissions().executable()).then(|| start.wrapping_sub(addr))
    })
}
