//! The sources of the programs that come with the project, for building them in other ways: they travel
//! in the library, as their images do.

use std::io;
use std::path::Path;

/// A source file: its path below the folder of the sources, and its text.
pub type Source = (&'static str, &'static str);

macro_rules! source {
    ($path:literal) => {
        ($path, include_str!(concat!("../", $path)))
    };
}

/// Options of every compilation, as in `build.sh`. The runtime lies in a folder beside the sources.
pub const COMPILER_OPTIONS: &[&str] = &[
    "-O2",
    "-ffreestanding",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fno-unwind-tables",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-strict-aliasing",
    "-ffunction-sections",
    "-Iruntime",
];
/// Options of C.
pub const C_OPTIONS: &[&str] = &["-std=c11"];
/// Options of C++.
pub const CPP_OPTIONS: &[&str] = &[
    "-std=c++17",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
];

/// Runtime that all programs are linked with.
const RUNTIME: &[Source] = &[
    source!("runtime/rt.h"),
    source!("runtime/cxx.cpp"),
    source!("runtime/malloc.c"),
    source!("runtime/print.c"),
    source!("runtime/random.c"),
    source!("runtime/start.c"),
    source!("runtime/string.c"),
    source!("runtime/alpha/crt0.S"),
    source!("runtime/alpha/divide.S"),
    source!("runtime/riscv64/crt0.S"),
    source!("runtime/x86_64/crt0.S"),
];

/// The programs' own sources, in the order of the table of programs.
const PROGRAMS: &[(&str, &[Source])] = &[
    (
        "bwt",
        &[
            source!("src-guest/bwt/bwt.h"),
            source!("src-guest/bwt/coder.c"),
            source!("src-guest/bwt/inputs.c"),
            source!("src-guest/bwt/main.c"),
            source!("src-guest/bwt/mtf.c"),
            source!("src-guest/bwt/sort.c"),
            source!("src-guest/bwt/transform.c"),
        ],
    ),
    (
        "lz",
        &[
            source!("src-guest/lz/bits.c"),
            source!("src-guest/lz/block.c"),
            source!("src-guest/lz/huffman.c"),
            source!("src-guest/lz/lz.h"),
            source!("src-guest/lz/main.c"),
            source!("src-guest/lz/match.c"),
            source!("src-guest/lz/parse.c"),
        ],
    ),
    (
        "chess",
        &[
            source!("src-guest/chess/attacks.c"),
            source!("src-guest/chess/chess.h"),
            source!("src-guest/chess/evaluate.c"),
            source!("src-guest/chess/main.c"),
            source!("src-guest/chess/moves.c"),
            source!("src-guest/chess/position.c"),
            source!("src-guest/chess/search.c"),
            source!("src-guest/chess/table.c"),
        ],
    ),
    (
        "ray",
        &[
            source!("src-guest/ray/group.cpp"),
            source!("src-guest/ray/main.cpp"),
            source!("src-guest/ray/scene.h"),
            source!("src-guest/ray/shading.cpp"),
            source!("src-guest/ray/shapes.cpp"),
            source!("src-guest/ray/vec.h"),
        ],
    ),
    (
        "interp",
        &[
            source!("src-guest/interp/assemble.c"),
            source!("src-guest/interp/frames.c"),
            source!("src-guest/interp/heap.c"),
            source!("src-guest/interp/main.c"),
            source!("src-guest/interp/native.c"),
            source!("src-guest/interp/programs.c"),
            source!("src-guest/interp/table.c"),
            source!("src-guest/interp/threaded.c"),
            source!("src-guest/interp/vm.h"),
        ],
    ),
    (
        "netsimplex",
        &[
            source!("src-guest/netsimplex/generate.c"),
            source!("src-guest/netsimplex/main.c"),
            source!("src-guest/netsimplex/network.c"),
            source!("src-guest/netsimplex/network.h"),
            source!("src-guest/netsimplex/pricing.c"),
            source!("src-guest/netsimplex/simplex.c"),
        ],
    ),
    (
        "parse",
        &[
            source!("src-guest/parse/chart.c"),
            source!("src-guest/parse/dictionary.c"),
            source!("src-guest/parse/grammar.c"),
            source!("src-guest/parse/inflect.c"),
            source!("src-guest/parse/main.c"),
            source!("src-guest/parse/parse.h"),
            source!("src-guest/parse/tagger.c"),
            source!("src-guest/parse/text.c"),
        ],
    ),
    (
        "place",
        &[
            source!("src-guest/place/anneal.c"),
            source!("src-guest/place/circuit.c"),
            source!("src-guest/place/cost.c"),
            source!("src-guest/place/heap.c"),
            source!("src-guest/place/main.c"),
            source!("src-guest/place/place.h"),
            source!("src-guest/place/route.c"),
        ],
    ),
    (
        "objstore",
        &[
            source!("src-guest/objstore/btree.c"),
            source!("src-guest/objstore/classes.c"),
            source!("src-guest/objstore/journal.c"),
            source!("src-guest/objstore/main.c"),
            source!("src-guest/objstore/store.c"),
            source!("src-guest/objstore/store.h"),
            source!("src-guest/objstore/transactions.c"),
        ],
    ),
    (
        "minicc",
        &[
            source!("src-guest/minicc/allocate.c"),
            source!("src-guest/minicc/clean.c"),
            source!("src-guest/minicc/fold.c"),
            source!("src-guest/minicc/lexer.c"),
            source!("src-guest/minicc/lower.c"),
            source!("src-guest/minicc/machine.c"),
            source!("src-guest/minicc/main.c"),
            source!("src-guest/minicc/minicc.h"),
            source!("src-guest/minicc/parser.c"),
            source!("src-guest/minicc/source.c"),
        ],
    ),
];

/// The sources of a program without the runtime.
pub fn of_program(name: &str) -> Option<&'static [Source]> {
    let found = PROGRAMS.iter().find(|(program, _)| *program == name);
    found.map(|(_, sources)| *sources)
}

/// The runtime's sources.
pub fn runtime() -> &'static [Source] {
    RUNTIME
}

/// Writes sources below a folder.
///
/// # Errors
/// A file or folder cannot be written.
pub fn write(sources: &[Source], folder: &Path) -> io::Result<()> {
    for (path, text) in sources {
        let file = folder.join(path);
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(file, text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn files_below(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let name = format!("{prefix}/{}", entry.file_name().to_string_lossy());
            if entry.file_type().expect("a type").is_dir() {
                files_below(&entry.path(), &name, found);
            } else {
                found.insert(name);
            }
        }
    }

    #[test]
    fn every_source_travels() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut there = BTreeSet::new();
        for folder in ["src-guest", "runtime"] {
            files_below(&root.join(folder), folder, &mut there);
        }
        // A test of the division itself, linked with no program.
        assert!(there.remove("runtime/alpha/divide_test.c"));
        let all = PROGRAMS.iter().flat_map(|(_, sources)| *sources);
        let travels: BTreeSet<String> = all
            .chain(RUNTIME)
            .map(|(path, _)| (*path).to_owned())
            .collect();
        assert_eq!(travels, there);
        let names: Vec<_> = crate::all().iter().map(|w| w.name).collect();
        let ours: Vec<_> = PROGRAMS.iter().map(|(name, _)| *name).collect();
        assert_eq!(ours, names);
    }
}
