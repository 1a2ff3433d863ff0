//! The library that is preloaded into a program, compiled on the spot.

use std::path::{Path, PathBuf};

use hps_shim::preload::{PreloadError, build_library};

/// The sources; the first is compiled and includes the others.
pub const SOURCES: [(&str, &str); 11] = [
    ("shadow.c", include_str!("../preload/shadow.c")),
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

/// A shadow runs this code in the middle of anything: it uses neither the C library nor vector registers, and asks for no
/// stack protector, which lies where the program's thread has its own.
const FLAGS: [&str; 15] = [
    "-std=gnu11",
    "-O2",
    "-fPIC",
    "-shared",
    "-nostdlib",
    "-ffreestanding",
    "-fno-builtin",
    "-fno-stack-protector",
    "-fcf-protection=none",
    "-mgeneral-regs-only",
    "-mno-red-zone",
    "-fno-tree-loop-distribute-patterns",
    "-fno-asynchronous-unwind-tables",
    "-fvisibility=hidden",
    "-Wl,-z,defs,-z,now",
];

/// The library in `folder`, compiled unless it is there already.
///
/// # Errors
/// [`PreloadError`] if there is no C compiler, it refuses the source, or the folder cannot be written.
pub fn build(folder: &Path) -> Result<PathBuf, PreloadError> {
    let mut sources = SOURCES.to_vec();
    sources.push(LAYOUT);
    build_library(folder, "hps-shadow", &sources, &FLAGS)
}
