//! How the library comes into a program.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, Object, ReadCache, elf};

/// Form of a program, which says how the library comes into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The program's loader preloads the library.
    Dynamic,
    /// No loader: the library is injected before its first instruction.
    Static,
    /// Go's runtime sets an action for the monitor's signal: the library is injected behind that.
    Go,
}

impl Form {
    /// Form of the program that a shell would start; `Dynamic` if it cannot be found or read, which its start tells.
    #[must_use]
    pub fn of(program: &OsStr) -> Form {
        let file = found(program).and_then(|path| File::open(path).ok());
        file.and_then(Form::of_file).unwrap_or(Form::Dynamic)
    }

    fn of_file(file: File) -> Option<Form> {
        let file = ReadCache::new(file);
        let header = elf::FileHeader64::<Endianness>::parse(&file).ok()?;
        let endian = header.endian().ok()?;
        let segments = header.program_headers(endian, &file).ok()?;
        let has_loader = segments
            .iter()
            .any(|segment| segment.p_type(endian) == elf::PT_INTERP);
        let is_go = object::File::parse(&file)
            .is_ok_and(|file| file.section_by_name(".go.buildinfo").is_some());
        Some(match (is_go, has_loader) {
            (true, _) => Form::Go,
            (false, true) => Form::Dynamic,
            (false, false) => Form::Static,
        })
    }
}

/// The file that a shell would start.
#[must_use]
pub fn found(program: &OsStr) -> Option<PathBuf> {
    if Path::new(program).components().count() > 1 {
        return Some(program.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}
