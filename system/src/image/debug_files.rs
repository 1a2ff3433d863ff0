//! Debug information that lies in other files than the program.
//!
//! Linkers and distributions move it away in three ways. A *separate file* holds all of it: the program names it
//! (`.gnu_debuglink`) or has a build id, by which `/usr/lib/debug` holds it. Such a file may share parts with others in a
//! *supplementary file* (`.gnu_debugaltlink`). With `-gsplit-dwarf` each object file has its functions in a file of its
//! own (`.dwo`), or all of them lie in one package beside the program (`.dwp`). Files of a program that lies under a root
//! are looked for under the root.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use object::Object;

use super::hex;
use crate::host;

/// Where distributions put debug information.
const SYSTEM: &str = "/usr/lib/debug";
/// Files larger than this are not read, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// Most sentences on what is missing.
const MOST_MISSING: usize = 3;
/// Note on split debug information without sizes.
const NO_SIZES: &str = "its split debug information (.dwo) says of no function where it ends, so inlined functions are not \
     known; compilers for RISC-V lose this with -gsplit-dwarf: compile without it";

/// Reads files under a root folder, as a program sees them.
#[derive(Clone)]
pub struct FileReader(Arc<ReadFile>);

type ReadFile = dyn Fn(&Path) -> io::Result<Vec<u8>> + Send + Sync;

impl FileReader {
    /// A reader that reads a whole file.
    pub(crate) fn new(read: impl Fn(&Path) -> io::Result<Vec<u8>> + Send + Sync + 'static) -> Self {
        FileReader(Arc::new(read))
    }

    /// Reads files below a folder of the host, as programs see them whose root it is.
    ///
    /// # Errors
    /// The folder cannot be opened.
    pub fn under(folder: &Path) -> io::Result<Self> {
        crate::os::reader_under(folder)
    }

    /// The content of a file.
    ///
    /// # Errors
    /// There is no regular file at this path, or it cannot be read.
    pub fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        (self.0)(path)
    }
}

impl std::fmt::Debug for FileReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FileReader")
    }
}

/// Finds the files beside a program. What is not found is remembered.
#[derive(Debug, Default)]
pub(crate) struct DebugFiles {
    /// The program's file; none of a program that came from memory.
    program: Option<PathBuf>,
    /// Reads files where the program lies; `None`: of the host.
    root: Option<FileReader>,
    missing: Mutex<Vec<String>>,
}

impl DebugFiles {
    /// The files beside this program.
    pub fn beside(program: &Path) -> DebugFiles {
        DebugFiles {
            program: Some(program.to_owned()),
            ..DebugFiles::default()
        }
    }

    /// The files beside a program at a path under a root.
    pub fn under_root(program: &[u8], root: FileReader) -> DebugFiles {
        DebugFiles {
            program: Some(PathBuf::from(String::from_utf8_lossy(program).into_owned())),
            root: Some(root),
            missing: Mutex::default(),
        }
    }

    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        match &self.root {
            Some(root) => root.read(path).ok(),
            None => host::read_file(path, MAX_FILE_BYTES).ok(),
        }
    }

    /// Sentences that name what has been looked for and not found, or found without what is needed.
    pub fn missing(&self) -> Vec<String> {
        self.missing
            .lock()
            .map(|all| all.clone())
            .unwrap_or_default()
    }

    fn folder(&self) -> Option<&Path> {
        self.program.as_deref()?.parent()
    }

    /// The first of these files that is the right one.
    fn find(
        &self,
        what: &str,
        places: Vec<PathBuf>,
        is_right: impl Fn(&[u8]) -> bool,
    ) -> Option<(PathBuf, Vec<u8>)> {
        for place in &places {
            if let Some(bytes) = self.read(place)
                && is_right(&bytes)
            {
                return Some((place.clone(), bytes));
            }
        }
        let places: Vec<String> = places.iter().map(|p| p.display().to_string()).collect();
        self.say(format!(
            "{what} was looked for as {}: none of these is there and belongs to the program",
            places.join(", ")
        ));
        None
    }

    /// Remembers a sentence on what is missing, once.
    fn say(&self, sentence: String) {
        if let Ok(mut missing) = self.missing.lock()
            && missing.len() < MOST_MISSING
            && !missing.contains(&sentence)
        {
            missing.push(sentence);
        }
    }

    /// Remembers that split debug information says of no function where it ends.
    pub fn has_no_sizes(&self) {
        self.say(NO_SIZES.to_owned());
    }

    /// The separate file with the debug information of a program that has none itself.
    pub fn separate<'data>(&self, file: &impl Object<'data>) -> Option<(PathBuf, Vec<u8>)> {
        let folder = self.folder()?;
        let id = file.build_id().ok().flatten();
        let link = file.gnu_debuglink().ok().flatten();
        if id.is_none() && link.is_none() {
            return None;
        }
        let mut places = Vec::new();
        if let Some((name, _)) = link {
            let name = String::from_utf8_lossy(name).into_owned();
            places.push(folder.join(&name));
            places.push(folder.join(".debug").join(&name));
            let folder = std::path::absolute(folder).unwrap_or(folder.to_owned());
            let folder = folder.strip_prefix("/").unwrap_or(&folder).to_owned();
            places.push(Path::new(SYSTEM).join(folder).join(&name));
        }
        places.extend(id.and_then(by_build_id));
        let is_right = |bytes: &[u8]| {
            let Ok(found) = object::File::parse(bytes) else {
                return false;
            };
            match (id, found.build_id().ok().flatten(), link) {
                (Some(id), Some(found), _) => id == found,
                (_, _, Some((_, sum))) => checksum(bytes) == sum,
                _ => false,
            }
        };
        match link {
            Some(_) => self.find("its debug information", places, is_right),
            // Most programs with a build id have no debug information anywhere.
            None => {
                let bytes = self.read(places.first()?)?;
                is_right(&bytes).then(|| (places[0].clone(), bytes))
            }
        }
    }

    /// The file with which the debug information at a path shares parts.
    pub fn supplementary(&self, file: &object::File<'_>, at: Option<&Path>) -> Option<Vec<u8>> {
        let (name, id) = file.gnu_debugaltlink().ok().flatten()?;
        let name = String::from_utf8_lossy(name).into_owned();
        let folder = at.or(self.program.as_deref())?.parent()?;
        let places = std::iter::once(folder.join(name)).chain(by_build_id(id));
        let is_right = |bytes: &[u8]| {
            let found = object::File::parse(bytes).ok();
            found.is_some_and(|found| found.build_id().ok().flatten() == Some(id))
        };
        let found = self.find(
            "debug information that it shares with other programs",
            places.collect(),
            is_right,
        );
        found.map(|(_, bytes)| bytes)
    }

    /// The package of all split debug information, if there is one beside the program.
    pub fn package(&self) -> Option<Vec<u8>> {
        let mut path = self.program.clone()?.into_os_string();
        path.push(".dwp");
        self.read(Path::new(&path))
    }

    /// The split debug information of one object file: where the compiler wrote it, or beside the program.
    pub fn split(
        &self,
        compiled_in: &Path,
        name: &Path,
        is_right: impl Fn(&[u8]) -> bool,
    ) -> Option<Vec<u8>> {
        let mut places = vec![compiled_in.join(name)];
        let folder = self.folder();
        places.extend(folder.map(|folder| folder.join(name)));
        let beside = folder.zip(name.file_name());
        places.extend(beside.map(|(folder, name)| folder.join(name)));
        places.dedup();
        let found = self.find("debug information of inlined functions", places, is_right);
        found.map(|(_, bytes)| bytes)
    }
}

/// Where the system holds the debug information of a build.
fn by_build_id(id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = id.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let folder = Path::new(SYSTEM).join(".build-id");
    Some(folder.join(format!("{first:02x}/{}.debug", hex(rest))))
}

/// The checksum of `.gnu_debuglink` (CRC-32 of IEEE 802.3).
fn checksum(bytes: &[u8]) -> u32 {
    let table: Vec<u32> = (0..256_u32)
        .map(|byte| {
            (0..8).fold(byte, |sum, _| {
                (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg())
            })
        })
        .collect();
    let sum = bytes.iter().fold(u32::MAX, |sum, &byte| {
        (sum >> 8) ^ table[usize::from(sum as u8 ^ byte)]
    });
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_and_build_ids_are_those_of_the_formats() {
        // The check value of CRC-32.
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
        let path = by_build_id(&[0xab, 0x01, 0xff]).expect("a path");
        assert_eq!(path, Path::new("/usr/lib/debug/.build-id/ab/01ff.debug"));
        assert_eq!(by_build_id(&[0xab]), None);
    }
}
