//! Programs: ELF64 executables for Linux on RISC-V and Alpha, static or dynamic, and static ECOFF executables for OSF/1 on
//! Alpha, checked and taken apart.
//!
//! Everything a file says is checked against the file's own size and the guest's address space
//! before it is used, so that a damaged or hostile file is refused with a message and costs no
//! more memory than its own size. Addresses in a [`ProgramImage`] are those of the running
//! program: a position-independent image is placed at [`layout::PIE_BASE`] once, here, and the loader of dynamic programs
//! below [`layout::MMAP_TOP`].

mod debug_files;
mod ecoff;
mod elf;
mod lines;
mod riscv_attributes;

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub(crate) use self::debug_files::DebugFiles;
pub use self::debug_files::FileReader;
pub(crate) use self::lines::SourceLines;
pub use self::riscv_attributes::Lacking;
use hps_isa::layout;
use hps_isa::memory::Perm;

use crate::host;
use crate::os::OsInterface;
use crate::symbols::{Object, Symbols};

/// Files larger than this are refused, in bytes.
pub const MAX_FILE_BYTES: u64 = 1 << 30;

pub use hps_isa::isa::Isa;

/// A program that cannot be loaded: which file, what place in it, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("{file}: cannot be read: {cause}; check the path and its permissions")]
    Read {
        /// The file.
        file: String,
        /// The host's error.
        cause: std::io::Error,
    },
    /// Not a file of the kind wanted (neither ELF nor ECOFF, another machine, no loader for it).
    #[error("{file}: {place}: {problem}; {remedy}")]
    WrongKind {
        /// The file.
        file: String,
        /// The header and field that says so.
        place: String,
        /// Description of what the place says.
        problem: String,
        /// Remedy: what to do.
        remedy: &'static str,
    },
    /// The file contradicts itself.
    #[error("{file}: {place}: {problem}; the file is damaged: link or copy it again")]
    Damaged {
        /// The file.
        file: String,
        /// The header and field.
        place: String,
        /// Description of what is wrong there.
        problem: String,
    },
    /// The program cannot be placed in guest memory.
    #[error("{file}: {place}: {problem}; {remedy}")]
    DoesNotFit {
        /// The file.
        file: String,
        /// The segment or area.
        place: String,
        /// Description of what is too large or out of reach.
        problem: String,
        /// Remedy: what to do.
        remedy: &'static str,
    },
    /// Guest memory cannot be set up.
    #[error("{file}: {source}")]
    Memory {
        /// The file.
        file: String,
        /// The reason.
        source: hps_isa::memory::MemoryError,
    },
    /// The process configuration cannot be used.
    #[error("process configuration: {place}: {problem}; {remedy}")]
    Config {
        /// The field.
        place: &'static str,
        /// Description of what is wrong with the field.
        problem: String,
        /// Remedy: what to do.
        remedy: &'static str,
    },
}

/// A loadable part of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First guest address.
    pub addr: u64,
    /// Size in guest memory, in bytes; what exceeds the file's part is zero.
    pub mem_bytes: u64,
    /// The file's part, as a range of the file's bytes.
    pub file_range: Range<usize>,
    /// Accesses that the program is permitted.
    pub perm: Perm,
}

impl Segment {
    /// The end of the segment in guest memory.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.addr + self.mem_bytes
    }
}

/// The first two of these segments, which are in the order of their addresses, that overlap, in words.
fn overlap(segments: &[Segment]) -> Option<String> {
    let pair = segments
        .windows(2)
        .find(|pair| pair[0].end() > pair[1].addr)?;
    let [first, second] = pair else { return None };
    Some(format!(
        "{:#x}..{:#x} overlaps {:#x}..{:#x}",
        first.addr,
        first.end(),
        second.addr,
        second.end()
    ))
}

/// Where the program headers lie and what they are like (for the auxiliary vector).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramHeaders {
    /// Guest address of the table, 0 if it is not in a loaded segment.
    pub addr: u64,
    /// Size of an entry, in bytes.
    pub entry_bytes: u64,
    /// Number of entries.
    pub count: u64,
}

/// A checked program, ready to be placed in memory. Shared between all its runs.
pub struct ProgramImage {
    /// Name for messages: as it was given.
    pub name: String,
    /// Instruction set.
    pub isa: Isa,
    /// The operating system whose calls it makes, by the format of the file.
    pub os: OsInterface,
    /// Address of the first instruction.
    pub entry: u64,
    /// The value of the global pointer, where the file names it (ECOFF).
    pub global_pointer: Option<u64>,
    /// Loadable segments in ascending order of address, without overlap.
    pub segments: Vec<Segment>,
    /// The program headers in guest memory.
    pub program_headers: ProgramHeaders,
    /// Position-independent.
    pub is_pie: bool,
    /// Offset that was added to the addresses of the file.
    pub load_bias: u64,
    /// Alignment of `load_bias`, in bytes.
    align_bytes: u64,
    /// The file asks for a stack whose content can be executed (`PT_GNU_STACK` with `PF_X`).
    pub has_executable_stack: bool,
    /// Extensions that the file says it is built for and that do not exist here. A part of the program may use them
    /// where it finds them.
    pub lacking: Option<Lacking>,
    /// The path of the loader (`ld.so`) that a dynamic program asks for (`PT_INTERP`).
    pub interpreter: Option<Vec<u8>>,
    /// SHA-256 of the file, in hexadecimal; of a program that a process executes, of its [needed
    /// bytes](Self::needed_bytes), which of a usual file are all.
    pub hash: String,
    /// Functions, named addresses and source lines of this file, read at the first question. Those of all that a process
    /// runs are [`Guest::symbols`](crate::process::Guest::symbols).
    pub symbols: LazySymbols,
    bytes: Arc<[u8]>,
    role: elf::Role,
    /// Whether the file is one that the host has started: debug information lies beside it.
    is_of_host: bool,
}

/// Parameters with which a program was read, beside the bytes of its file.
#[derive(Serialize, Deserialize)]
pub(crate) struct ImageSource {
    name: String,
    role: elf::Role,
    load_bias: u64,
    is_of_host: bool,
}

/// Symbols that are read at the first question.
pub type LazySymbols = LazyLock<Arc<Symbols>, Box<dyn FnOnce() -> Arc<Symbols> + Send>>;

impl std::fmt::Debug for ProgramImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProgramImage")
            .field("name", &self.name)
            .field("isa", &self.isa)
            .field("os", &self.os)
            .field("entry", &self.entry)
            .field("segments", &self.segments)
            .field("is_pie", &self.is_pie)
            .field("hash", &self.hash)
            .finish_non_exhaustive()
    }
}

impl ProgramImage {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// [`LoadError`] if it cannot be read or is no program that can run.
    pub fn load(path: &Path) -> Result<ProgramImage, LoadError> {
        let name = path.display().to_string();
        let read = |cause| LoadError::Read {
            file: name.clone(),
            cause,
        };
        let too_large = || LoadError::WrongKind {
            file: name.clone(),
            place: "file size".to_owned(),
            problem: format!("more than the {MAX_FILE_BYTES} bytes that a program may have"),
            remedy: "strip the debug information from the program",
        };
        // A device has no size: only reading shows that it never ends.
        if std::fs::metadata(path).map_err(read)?.len() > MAX_FILE_BYTES {
            return Err(too_large());
        }
        let bytes = host::read_file(path, MAX_FILE_BYTES).map_err(|cause| match cause.kind() {
            io::ErrorKind::FileTooLarge => too_large(),
            _ => read(cause),
        })?;
        let image = Self::parse(&bytes, &name)?;
        let files = DebugFiles::beside(path);
        Ok(ProgramImage {
            symbols: lazy_symbols(
                &image.name,
                &image.bytes,
                (image.load_bias, &image.segments),
                files,
            ),
            is_of_host: true,
            ..image
        })
    }

    /// Checks the bytes of a file. `name` is for messages.
    ///
    /// # Errors
    /// [`LoadError`] if they are no program that can run.
    pub fn parse(bytes: &[u8], name: &str) -> Result<ProgramImage, LoadError> {
        if ecoff::is_ecoff(bytes) {
            return Self::parse_ecoff(bytes, name);
        }
        Self::parse_elf(bytes, name, elf::Role::Program)
    }

    /// Reads a program or a library to look at it: its addresses are those that its file says, and it need not be able to
    /// run. `path` is one of the host, or one below the root that `root` reads.
    ///
    /// # Errors
    /// [`LoadError`] if it cannot be read or has no code for RISC-V or Alpha.
    pub fn look_at(path: &Path, root: Option<&FileReader>) -> Result<ProgramImage, LoadError> {
        let name = path.display().to_string();
        let bytes = match root {
            Some(root) => root.read(path),
            None => host::read_file(path, MAX_FILE_BYTES),
        };
        let bytes = bytes.map_err(|cause| LoadError::Read {
            file: name.clone(),
            cause,
        })?;
        let files = match root {
            Some(root) => DebugFiles::under_root(path.as_os_str().as_encoded_bytes(), root.clone()),
            None => DebugFiles::beside(path),
        };
        Self::parse_object(&bytes, &name, files)
    }

    /// Checks the bytes of a program or a library to look at it, as [`ProgramImage::look_at`] does.
    ///
    /// # Errors
    /// [`LoadError`] if they have no code for RISC-V or Alpha.
    pub fn look_into(bytes: &[u8], name: &str) -> Result<ProgramImage, LoadError> {
        Self::parse_object(bytes, name, DebugFiles::default())
    }

    fn parse_object(
        bytes: &[u8],
        name: &str,
        files: DebugFiles,
    ) -> Result<ProgramImage, LoadError> {
        if ecoff::is_ecoff(bytes) {
            return Self::parse_ecoff(bytes, name);
        }
        let image = Self::parse_elf(bytes, name, elf::Role::Object)?;
        let symbols = lazy_symbols(name, &image.bytes, (0, &image.segments), files);
        Ok(ProgramImage { symbols, ..image })
    }

    /// Checks the bytes of the loader of a dynamic program, which is placed below [`layout::MMAP_TOP`].
    ///
    /// # Errors
    /// [`LoadError`] if they are no ELF file that can be loaded.
    pub(crate) fn parse_interpreter(bytes: &[u8], name: &str) -> Result<ProgramImage, LoadError> {
        Self::parse_elf(bytes, name, elf::Role::Interpreter)
    }

    fn parse_elf(bytes: &[u8], name: &str, role: elf::Role) -> Result<ProgramImage, LoadError> {
        let layout = elf::parse(bytes, name, role)?;
        let bytes: Arc<[u8]> = bytes.into();
        let place = (layout.load_bias, &layout.segments[..]);
        let symbols = lazy_symbols(name, &bytes, place, DebugFiles::default());
        Ok(ProgramImage {
            name: name.to_owned(),
            isa: layout.isa,
            os: OsInterface::Linux,
            entry: layout.entry,
            global_pointer: None,
            segments: layout.segments,
            program_headers: layout.program_headers,
            is_pie: layout.is_pie,
            load_bias: layout.load_bias,
            align_bytes: layout.align_bytes,
            has_executable_stack: layout.has_executable_stack,
            lacking: layout.lacking,
            interpreter: layout.interpreter,
            hash: hex(&Sha256::digest(&bytes)),
            symbols,
            bytes,
            role,
            is_of_host: false,
        })
    }

    /// Parameters and bytes from which [`from_source`](Self::from_source) makes this program.
    pub(crate) fn source(&self) -> (ImageSource, &[u8]) {
        let source = ImageSource {
            name: self.name.clone(),
            role: self.role,
            load_bias: self.load_bias,
            is_of_host: self.is_of_host,
        };
        (source, &self.bytes)
    }

    /// Reads a program again.
    ///
    /// # Errors
    /// [`LoadError`] if the bytes are no such program.
    pub(crate) fn from_source(source: &ImageSource, bytes: &[u8]) -> Result<Self, LoadError> {
        let image = match ecoff::is_ecoff(bytes) {
            true => Self::parse_ecoff(bytes, &source.name)?,
            false => Self::parse_elf(bytes, &source.name, source.role)?,
        };
        let image = ProgramImage {
            is_of_host: source.is_of_host,
            ..image
        };
        Ok(image.moved_to(source.load_bias))
    }

    /// The program with its addresses `bias` bytes behind those that its file says, or a little less, as its alignment
    /// wants it. A program with fixed addresses stays where it is.
    #[must_use]
    pub(crate) fn at(self: &Arc<Self>, bias: u64) -> Arc<ProgramImage> {
        let bias = bias - bias % self.align_bytes;
        match !self.is_pie || bias == self.load_bias {
            true => Arc::clone(self),
            false => Arc::new(self.moved_to(bias)),
        }
    }

    /// The program with its addresses `bias` bytes behind those that its file says.
    fn moved_to(&self, bias: u64) -> ProgramImage {
        let moved = |addr: u64| addr.wrapping_sub(self.load_bias).wrapping_add(bias);
        let segments = self.segments.iter().map(|segment| Segment {
            addr: moved(segment.addr),
            ..segment.clone()
        });
        let segments: Vec<Segment> = segments.collect();
        let headers = self.program_headers;
        let files = match self.is_of_host {
            true => DebugFiles::beside(Path::new(&self.name)),
            false => DebugFiles::default(),
        };
        let symbols = lazy_symbols(&self.name, &self.bytes, (bias, &segments), files);
        ProgramImage {
            entry: moved(self.entry),
            segments,
            program_headers: ProgramHeaders {
                addr: match headers.addr {
                    0 => 0,
                    addr => moved(addr),
                },
                ..headers
            },
            load_bias: bias,
            ..self.with_lazy_symbols(symbols)
        }
    }

    /// The program with the symbols of all objects that a run of it maps ([`Guest::symbols`](crate::process::Guest::symbols))
    /// instead of those of its file.
    #[must_use]
    pub fn with_symbols(&self, symbols: Arc<Symbols>) -> ProgramImage {
        self.with_lazy_symbols(LazyLock::new(Box::new(|| symbols)))
    }

    fn with_lazy_symbols(&self, symbols: LazySymbols) -> ProgramImage {
        ProgramImage {
            name: self.name.clone(),
            isa: self.isa,
            os: self.os,
            entry: self.entry,
            global_pointer: self.global_pointer,
            segments: self.segments.clone(),
            program_headers: self.program_headers,
            is_pie: self.is_pie,
            load_bias: self.load_bias,
            align_bytes: self.align_bytes,
            has_executable_stack: self.has_executable_stack,
            lacking: self.lacking.clone(),
            interpreter: self.interpreter.clone(),
            hash: self.hash.clone(),
            symbols,
            bytes: Arc::clone(&self.bytes),
            role: self.role,
            is_of_host: self.is_of_host,
        }
    }

    /// Whether the host has started the program by a path of its own.
    pub(crate) fn is_of_host(&self) -> bool {
        self.is_of_host
    }

    /// The names of this file where it lies under a root at a path, with debug information from there.
    pub(crate) fn object_at(&self, path: &str, files: DebugFiles) -> Arc<Object> {
        match ecoff::is_ecoff(&self.bytes) {
            true => Arc::clone(&self.symbols.objects()[0]),
            false => {
                let place = (self.load_bias, &self.segments[..]);
                Arc::new(Object::elf(path, &self.bytes, place, files))
            }
        }
    }

    /// How many bytes of a file of `len` bytes, from the beginning on, are needed to run the program in it and to tell of
    /// it. `start` is what the file begins with, and `read` fills a buffer from a place on. `None` if the file is no
    /// program, or its headers cannot be read.
    pub fn needed_bytes<E>(
        start: &[u8],
        len: u64,
        read: impl FnMut(&mut [u8], u64) -> Result<(), E>,
    ) -> Option<u64> {
        match ecoff::is_ecoff(start) {
            true => Some(len),
            false => Some(elf::needed_bytes(start, read)?.min(len)),
        }
    }

    /// Bytes of the host's memory that the program takes, about.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn parse_ecoff(bytes: &[u8], name: &str) -> Result<ProgramImage, LoadError> {
        let layout = ecoff::parse(bytes, name)?;
        let bytes: Arc<[u8]> = bytes.into();
        let symbols = lazy_symbols(name, &bytes, (0, &layout.segments), DebugFiles::default());
        Ok(ProgramImage {
            name: name.to_owned(),
            isa: Isa::Alpha,
            os: OsInterface::Osf1,
            entry: layout.entry,
            global_pointer: Some(layout.global_pointer),
            segments: layout.segments,
            program_headers: ecoff::Layout::PROGRAM_HEADERS,
            is_pie: false,
            load_bias: 0,
            align_bytes: 1,
            has_executable_stack: false,
            lacking: None,
            interpreter: None,
            hash: hex(&Sha256::digest(&bytes)),
            symbols,
            bytes,
            role: elf::Role::Program,
            is_of_host: false,
        })
    }

    /// The file's bytes that begin a segment.
    #[must_use]
    pub fn segment_bytes(&self, segment: &Segment) -> &[u8] {
        self.bytes.get(segment.file_range.clone()).unwrap_or(&[])
    }

    /// The first address behind the image.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.segments
            .iter()
            .map(Segment::end)
            .max()
            .unwrap_or(layout::LOWEST)
    }

    /// Says why lines and inlined functions of the debug information are not told: it unpacks to more than is read.
    #[must_use]
    pub fn debug_refusal(&self) -> Option<String> {
        let (size, most) = lines::refused(&self.bytes)?;
        Some(format!(
            "debug information is left out: it unpacks to {} MiB, and of a file of {} KiB at most {} MiB are read",
            size >> 20,
            self.bytes.len() >> 10,
            most >> 20
        ))
    }

    /// The file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The symbols of a file, to be read when they are asked for.
fn lazy_symbols(
    name: &str,
    bytes: &Arc<[u8]>,
    (bias, segments): (u64, &[Segment]),
    files: DebugFiles,
) -> LazySymbols {
    let (name, bytes, segments) = (name.to_owned(), Arc::clone(bytes), segments.to_vec());
    LazyLock::new(Box::new(move || {
        let object = match ecoff::is_ecoff(&bytes) {
            true => {
                let table = ecoff::symbol_table(&bytes, &segments);
                Object::other(&name, &bytes, &segments, table)
            }
            false => Object::elf(&name, &bytes, (bias, &segments), files),
        };
        Arc::new(Symbols::from(object))
    }))
}

/// A function that is active at an address, as debug information has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceFrame {
    /// Linkage name of the function, or its name if it has none.
    pub function: Option<String>,
    /// Source file of the address.
    pub file: Option<String>,
    /// The line in it, from 1.
    pub line: Option<u32>,
    /// Which code of the line it is: DWARF's discriminator, or 0.
    pub discriminator: u32,
    /// The line of the function's declaration.
    pub declared: Option<u32>,
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing into a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}
