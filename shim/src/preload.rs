//! The library that makes instrumented programs write tags, compiled on the spot.
//!
//! The library's source travels in the binary. The host's C compiler makes a shared object of it once for each
//! folder; a program compiled with `-finstrument-functions` (or `-fpatchable-function-entry=5`) then
//! writes its functions as tags, shows their calls or counts them, when it runs with `LD_PRELOAD` set to that
//! file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSymbol};

/// The header for C and C++ programs.
pub const HEADER: &str = include_str!("../include/hps_shim.h");
/// The hooks of a program that is instrumented for the simulator: the stores are the same, and nobody reads them.
pub const STAND_IN: &str = include_str!("../preload/hps_shim_stand_in.c");
const HOOKS: &str = include_str!("../preload/hps_shim_preload.c");
const PATCH: &str = include_str!("../preload/hps_shim_patch.c");
const CALLS: &str = include_str!("../preload/hps_shim_calls.c");

/// The environment variable that names the file of counts to a counting library.
pub const CALLS_VARIABLE: &str = "HPS_SHIM_CALLS";
/// "HPSCALL2" in memory order.
const CALLS_MAGIC: u64 = u64::from_le_bytes(*b"HPSCALL2");
/// Rows of the table of counts: different calls of a program, a power of two.
const CALLS_ROWS: u64 = 1 << 18;
const CALLS_HEADER_BYTES: u64 = 32;
/// Words of a row: callee, caller, count.
const CALLS_ROW_WORDS: usize = 3;

/// Action of the library at each entry and exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Keeps the thread's stack of tags and its tag: three stores an entry, two an exit.
    Stack,
    /// Keeps the tag alone: one store an entry and one an exit. On exit the tag is an address in the
    /// caller; wrong where functions were inlined.
    Flat,
    /// Keeps what `Stack` keeps, with a mark in each entry that nobody has seen.
    New,
    /// Writes each call into a ring of the thread ([`crate::rings`]): caller and callee.
    Pairs,
    /// Writes each call and each return into a ring of the thread.
    Sequence,
    /// Counts calls by caller and callee; writes no tags.
    Calls,
    /// For programs compiled with `-fpatchable-function-entry=5` instead, on x86-64: their entries
    /// are patched when they start. Exits cannot be had: the tag is the function entered last.
    Patch,
}

impl Variant {
    /// Variant that fits the executable at `path`: [`Variant::Patch`] if it has patchable entries and does not call the
    /// hooks of `-finstrument-functions`; else, and if the file cannot be read, [`Variant::Stack`].
    #[must_use]
    pub fn of_program(path: &Path) -> Variant {
        let patchable = || -> Option<bool> {
            let bytes = std::fs::read(path).ok()?;
            let file = object::File::parse(&*bytes).ok()?;
            let hooked = file
                .symbols()
                .chain(file.dynamic_symbols())
                .any(|s| s.name() == Ok("__cyg_profile_func_enter"));
            let entries = file.section_by_name("__patchable_function_entries");
            Some(entries.is_some() && !hooked)
        };
        match patchable() {
            Some(true) => Variant::Patch,
            _ => Variant::Stack,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Variant::Stack => "stack",
            Variant::Flat => "flat",
            Variant::New => "new",
            Variant::Pairs => "pairs",
            Variant::Sequence => "sequence",
            Variant::Calls => "calls",
            Variant::Patch => "patch",
        }
    }

    fn flag(self) -> Option<&'static str> {
        match self {
            Variant::Stack | Variant::Patch => None,
            Variant::Flat => Some("-DHPS_SHIM_FLAT"),
            Variant::New => Some("-DHPS_SHIM_NEW"),
            Variant::Pairs => Some("-DHPS_SHIM_PAIRS"),
            Variant::Sequence => Some("-DHPS_SHIM_SEQUENCE"),
            Variant::Calls => Some("-DHPS_SHIM_CALLS"),
        }
    }

    fn source(self) -> &'static str {
        match self {
            Variant::Patch => PATCH,
            Variant::Pairs | Variant::Sequence | Variant::Calls => CALLS,
            _ => HOOKS,
        }
    }
}

/// Why there is no library, or no counts.
#[derive(Debug, thiserror::Error)]
pub enum PreloadError {
    /// The compiler is not there.
    #[error(
        "the C compiler `{compiler}` cannot be run: {source}; install one (Debian: build-essential) or \
         name another in the environment variable CC"
    )]
    NoCompiler {
        /// The command.
        compiler: String,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// The compiler refused the source.
    #[error("`{compiler}` cannot compile the library to preload:\n{said}")]
    NotCompiled {
        /// The command.
        compiler: String,
        /// Messages of the compiler.
        said: String,
    },
    /// A file cannot be written or read.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A file of counts that is none.
    #[error("{path}: not a file of call counts: {why}")]
    NotCounts {
        /// The file.
        path: String,
        /// Defect of the file.
        why: String,
    },
}

fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> PreloadError + use<> {
    let path = path.display().to_string();
    move |source| PreloadError::File { path, source }
}

/// The library in `folder`, which is made if it is not there; compiled unless it is there already.
///
/// # Errors
/// [`PreloadError`] if there is no C compiler, it refuses the source, or the folder cannot be written.
pub fn build(folder: &Path, variant: Variant) -> Result<PathBuf, PreloadError> {
    let mut flags = vec![
        "-std=gnu11",
        "-O2",
        "-fPIC",
        "-shared",
        "-pthread",
        "-fvisibility=hidden",
        "-ftls-model=initial-exec",
    ];
    flags.extend(variant.flag());
    let sources = [("library.c", variant.source()), ("hps_shim.h", HEADER)];
    let name = format!("hps-shim-{}", variant.name());
    build_library(folder, &name, &sources, &flags)
}

/// The value of `LD_PRELOAD` that loads a library in front of what the caller's environment preloads.
#[must_use]
pub fn in_front_of_others(library: &Path) -> OsString {
    joined(library, std::env::var_os("LD_PRELOAD"))
}

fn joined(library: &Path, others: Option<OsString>) -> OsString {
    let mut value = library.as_os_str().to_owned();
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        value.push(":");
        value.push(others);
    }
    value
}

/// A library of this name in `folder`, compiled with these flags unless it is there already. The first source, each with
/// the name of its file, is compiled and may include the others.
///
/// # Errors
/// The errors of [`build`].
pub fn build_library(
    folder: &Path,
    name: &str,
    sources: &[(&str, &str)],
    flags: &[&str],
) -> Result<PathBuf, PreloadError> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let texts: String = sources.iter().map(|(_, text)| *text).collect();
    let identity = [&texts, &compiler, &flags.concat(), name].concat();
    let name = format!("{name}-{:016x}", fnv1a(&identity));
    let library = folder.join(format!("{name}.so"));
    if library.is_file() {
        return Ok(library);
    }
    // A folder of one's own, so that two commands at a time do not write the same file.
    let work = folder.join(format!("{name}.{}", std::process::id()));
    std::fs::create_dir_all(&work).map_err(file_error(&work))?;
    let made = compile(&compiler, flags, sources, &work)
        .and_then(|made| std::fs::rename(&made, &library).map_err(file_error(&library)));
    let _ = std::fs::remove_dir_all(&work);
    made.map(|()| library)
}

fn compile(
    compiler: &str,
    flags: &[&str],
    sources: &[(&str, &str)],
    work: &Path,
) -> Result<PathBuf, PreloadError> {
    for (name, text) in sources {
        let path = work.join(name);
        std::fs::write(&path, text).map_err(file_error(&path))?;
    }
    let made = work.join("library.so");
    let output = Command::new(compiler)
        .args(flags)
        .arg("-o")
        .arg(&made)
        .args(sources.first().map(|(name, _)| work.join(name)))
        .output()
        .map_err(|source| PreloadError::NoCompiler {
            compiler: compiler.to_owned(),
            source,
        })?;
    if !output.status.success() {
        return Err(PreloadError::NotCompiled {
            compiler: compiler.to_owned(),
            said: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    Ok(made)
}

/// FNV-1a, 64 bits: tells one version of the source from another.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The calls of a run with [`Variant::Calls`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallCounts {
    /// How often each caller called each callee, by addresses, ascending. Caller 0 is what begins a thread.
    pub calls: Vec<((u64, u64), u64)>,
    /// Calls that found no room in the table.
    pub lost: u64,
    /// The program's map, in the form of `/proc/PID/maps`; empty if the library was never loaded.
    pub maps: String,
}

/// Makes the empty file that [`CALLS_VARIABLE`] names.
///
/// # Errors
/// [`PreloadError::File`] if it cannot be written.
pub fn create_calls_file(path: &Path) -> Result<(), PreloadError> {
    let bytes = CALLS_HEADER_BYTES + CALLS_ROWS * CALLS_ROW_WORDS as u64 * 8;
    let write = || -> std::io::Result<()> {
        use std::io::Write;
        let mut file = std::fs::File::create(path)?;
        file.write_all(&CALLS_MAGIC.to_le_bytes())?;
        file.write_all(&CALLS_ROWS.to_le_bytes())?;
        file.set_len(bytes)
    };
    write().map_err(file_error(path))
}

/// Reads what a run left in the file.
///
/// # Errors
/// [`PreloadError`] if the file cannot be read or is none.
pub fn read_calls_file(path: &Path) -> Result<CallCounts, PreloadError> {
    let bytes = std::fs::read(path).map_err(file_error(path))?;
    let refuse = |why: &str| PreloadError::NotCounts {
        path: path.display().to_string(),
        why: why.to_owned(),
    };
    let words: Vec<u64> = bytes
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
        .collect();
    let [magic, rows, lost, entries, table @ ..] = words.as_slice() else {
        return Err(refuse("it is too short"));
    };
    let (table, rest) = table.as_chunks::<CALLS_ROW_WORDS>();
    if *magic != CALLS_MAGIC || !rest.is_empty() || table.len() as u64 != *rows {
        return Err(refuse("its header is another one"));
    }
    let taken = table.iter().filter(|[function, ..]| *function != 0);
    let mut calls: Vec<((u64, u64), u64)> = taken
        .map(|&[function, caller, count]| ((caller, function), count))
        .collect();
    calls.sort_unstable();
    if calls.iter().map(|call| call.1).sum::<u64>() != *entries {
        return Err(refuse(
            "its counts do not sum to the calls: the program still runs, or wrote into it",
        ));
    }
    let mut maps = path.as_os_str().to_owned();
    maps.push(".maps");
    Ok(CallCounts {
        calls,
        lost: *lost,
        maps: std::fs::read_to_string(maps).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_preloads_stays_behind_the_library() {
        let value =
            |others: Option<&str>| joined(Path::new("/t/ours.so"), others.map(OsString::from));
        assert_eq!(value(None), "/t/ours.so");
        assert_eq!(value(Some("")), "/t/ours.so");
        assert_eq!(value(Some("a.so b.so")), "/t/ours.so:a.so b.so");
    }
}
