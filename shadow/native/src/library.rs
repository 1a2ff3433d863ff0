//! The library that is preloaded into a program.

use std::path::{Path, PathBuf};

use hps_shim::preload::{PreloadError, build_library};

/// The sources; the first is compiled and includes the others.
pub const SOURCES: [(&str, &str); 13] = [
    ("shadow.c", include_str!("../preload/shadow.c")),
    ("budget.h", include_str!("../preload/budget.h")),
    ("threads.h", include_str!("../preload/threads.h")),
    ("memory.h", include_str!("../preload/memory.h")),
    ("ring.h", include_str!("../preload/ring.h")),
    ("signals.h", include_str!("../preload/signals.h")),
    ("calls.h", include_str!("../preload/calls.h")),
    ("descriptors.h", include_str!("../preload/descriptors.h")),
    ("leases.h", include_str!("../preload/leases.h")),
    ("entry.h", include_str!("../preload/entry.h")),
    ("translate.h", include_str!("../preload/translate.h")),
    ("decode.h", include_str!("../preload/decode.h")),
    ("kernel.h", include_str!("../preload/kernel.h")),
];
/// Layout of the memory that the library and the supervisor share.
pub const LAYOUT: (&str, &str) = ("layout.h", include_str!("../preload/layout.h"));

/// Flags of the compiler, which the build script uses too. A shadow runs this code in the middle of anything: it uses neither
/// the C library nor vector registers, and asks for no stack protector, which lies where the program's thread has its own.
const FLAGS: [&str; 15] = include!("flags.in");

/// The library as the build script compiled it; empty if it could not.
const BUILT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shadow.so"));

/// The library in `folder`. If this crate was built without a C compiler, one compiles it now.
///
/// # Errors
/// [`PreloadError`] if the folder cannot be written, or there is no C compiler where one is needed.
pub fn build(folder: &Path) -> Result<PathBuf, PreloadError> {
    if BUILT.is_empty() {
        return compile(folder);
    }
    let library = folder.join("hps-shadow.so");
    let fail = |source| PreloadError::File {
        path: library.display().to_string(),
        source,
    };
    // Moved to its place: another process may have mapped the one that is there.
    let new = folder.join(format!("hps-shadow.{}", std::process::id()));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&new, BUILT))
        .and_then(|()| std::fs::rename(&new, &library))
        .map_err(fail)?;
    Ok(library)
}

/// The library in `folder`, compiled by this host's compiler unless it is there already.
///
/// # Errors
/// [`PreloadError`] if there is no C compiler, it refuses the source, or the folder cannot be written.
pub fn compile(folder: &Path) -> Result<PathBuf, PreloadError> {
    let mut sources = SOURCES.to_vec();
    sources.push(LAYOUT);
    build_library(folder, "hps-shadow", &sources, &FLAGS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The library of the build is the one of the sources: both have the same code.
    #[test]
    fn the_library_comes_with_the_crate() {
        if !cfg!(target_arch = "x86_64") {
            assert!(BUILT.is_empty());
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let built = build(folder.path()).unwrap();
        assert_eq!(built.file_name().unwrap(), "hps-shadow.so");
        let compiled = compile(folder.path()).unwrap();
        let [built, compiled] = [built, compiled].map(|path| std::fs::read(path).unwrap());
        assert!(
            built == compiled,
            "{} bytes, {}",
            built.len(),
            compiled.len()
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
