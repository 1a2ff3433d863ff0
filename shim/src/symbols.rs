//! Names for addresses of an observed process: executables, position-independent ones too, and
//! shared libraries.
//!
//! The map of the process says which file lies at an address, the file's segments where in the file
//! that is, its symbols and debug information which function and line. The map has to be read while
//! the process lives; files are read when the first address in them is asked for, and only believed
//! if they are still the ones that were mapped.

mod maps;
mod module;

use std::collections::HashMap;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

pub use maps::{Mapping, ProcessMaps};
pub use module::{Function, Module};

use crate::error::ShimError;

/// Files beyond this are not read for their symbols, in bytes.
const MAX_FILE_BYTES: u64 = 2 << 30;

/// Symbolic location of an address.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Location {
    /// The function, demangled, if the file names one.
    pub function: Option<String>,
    /// Address of the function's first instruction in the process; the address itself without one.
    pub entry: u64,
    /// The executable or library, or a name of the kernel's; `None` where nothing of a file is.
    pub module: Option<String>,
    /// The linker's name for the bytes of the module, in hexadecimal.
    pub build_id: Option<String>,
    /// Source file and line.
    pub line: Option<(String, u32)>,
}

/// The code of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// Name of the function, demangled.
    pub name: String,
    /// Name of the function as the file has it.
    pub linkage_name: String,
    /// Address of its first instruction in the process.
    pub entry: u64,
    /// Bytes of the function.
    pub bytes: Vec<u8>,
}

impl fmt::Display for Location {
    /// The function, else the module and the address, else the address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.function, &self.module) {
            (Some(function), _) => f.write_str(function),
            (None, Some(module)) => {
                let name = module.rsplit('/').next().unwrap_or(module);
                write!(f, "{name}+{:#x}", self.entry)
            }
            (None, None) => write!(f, "{:#x}", self.entry),
        }
    }
}

/// Resolves addresses of one process.
#[derive(Default)]
pub struct Symbolizer {
    maps: ProcessMaps,
    modules: HashMap<String, Option<Module>>,
}

impl Symbolizer {
    /// For a process with this map.
    #[must_use]
    pub fn new(maps: ProcessMaps) -> Self {
        Symbolizer {
            maps,
            modules: HashMap::new(),
        }
    }

    /// For a running process.
    ///
    /// # Errors
    /// [`ShimError::NoProcess`] if there is no such process (any more) or it is not ours.
    pub fn of_process(pid: u32) -> Result<Self, ShimError> {
        ProcessMaps::of_process(pid).map(Self::new)
    }

    /// Takes a newer map of the same process: libraries that were loaded since then have names
    /// too. What was unloaded keeps its names unless something else lies there now.
    pub fn update(&mut self, newer: &ProcessMaps) {
        let mut all = newer.mappings().to_vec();
        let gone = self.maps.mappings().iter().filter(|old| {
            !all.iter()
                .any(|new| new.start < old.end && old.start < new.end)
        });
        let gone: Vec<Mapping> = gone.cloned().collect();
        all.extend(gone);
        self.maps = ProcessMaps::of_mappings(all);
    }

    /// Takes what another one knows of the same process.
    pub fn add(&mut self, other: Symbolizer) {
        self.update(&other.maps);
    }

    /// Location of an address. Without debug information there is no line, without symbols no function, and where
    /// nothing is mapped only the address.
    pub fn resolve(&mut self, address: u64) -> Location {
        let nowhere = Location {
            entry: address,
            ..Location::default()
        };
        let Some(mapping) = self.maps.find(address) else {
            return nowhere;
        };
        if mapping.path.is_empty() {
            return nowhere;
        }
        let module = Some(mapping.path.clone());
        let Some((file, own)) = self.file(address) else {
            return Location { module, ..nowhere };
        };
        let build_id = file.build_id().map(hexadecimal);
        let Some(own) = own else {
            return Location {
                module,
                build_id,
                ..nowhere
            };
        };
        let function = file.function_at(own);
        Location {
            entry: function.map_or(address, |f| address.wrapping_sub(own - f.address)),
            function: function.map(|f| f.name.clone()),
            line: file.line_at(own),
            module,
            build_id,
        }
    }

    /// The code of the function at an address, as its file has it: what the program patched at run time is not
    /// in it. `None` if the file has no function there.
    pub fn code(&mut self, address: u64) -> Option<Code> {
        let (file, own) = self.file(address)?;
        let own = own?;
        let function = file.function_at(own)?;
        Some(Code {
            name: function.name.clone(),
            linkage_name: function.linkage_name.clone(),
            entry: address.wrapping_sub(own - function.address),
            bytes: file.code(function)?.to_vec(),
        })
    }

    /// The file at an address, read if it was not before, and the address in the file's own numbering.
    fn file(&mut self, address: u64) -> Option<(&Module, Option<u64>)> {
        let mapping = self.maps.find(address)?;
        let offset = address - mapping.start + mapping.offset;
        if !self.modules.contains_key(&mapping.path) {
            let read = read_module(mapping);
            self.modules.insert(mapping.path.clone(), read);
        }
        let file = self.modules.get(&mapping.path)?.as_ref()?;
        Some((file, file.address_of_offset(offset)))
    }
}

/// The file of a mapping, if it is still the one that the process has.
fn read_module(mapping: &Mapping) -> Option<Module> {
    let path = Path::new(&mapping.path);
    let status = std::fs::metadata(path).ok()?;
    let same = !mapping.deleted && status.ino() == mapping.inode;
    if !same || !status.is_file() || status.len() > MAX_FILE_BYTES {
        return None;
    }
    Module::parse(std::fs::read(path).ok()?)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
