//! The guest programs that come with HPS Lab.
//!
//! Ten programs, written for this project, stand for the fields of application that SPECint2000
//! covers. Their statically linked images and expected outputs are part of this library, so that
//! the `hps` command needs no files beside itself. `workloads/README.md` describes each program and
//! `workloads/build.sh` builds the images from their sources.
//!
//! [`sources`] has their sources, and [`clang`] compiles them with profiles, [`linked`] links them in
//! other orders.
//! [`suite`] has real programs beside them, which are built on the user's machine.
//! [`work_folder`] has the folders that all of this is done in.
#![warn(missing_docs)]

#[cfg(not(target_family = "wasm"))]
pub mod clang;
#[cfg(not(target_family = "wasm"))]
pub mod linked;
pub mod sources;
#[cfg(not(target_family = "wasm"))]
pub mod suite;
#[cfg(not(target_family = "wasm"))]
pub mod work_folder;

use sha2::{Digest, Sha256};

/// The instruction sets for which there are images: 64-bit RISC-V, and Alpha. All of a program's
/// images have the same sources and print the same.
pub const ISAS: [&str; 2] = ["riscv64", "alpha"];

/// Programs that use the bit-manipulation extensions, as in `build.sh`.
#[cfg(not(target_family = "wasm"))]
const BITMANIP: &[&str] = &["bwt", "chess", "netsimplex", "objstore", "minicc"];

/// How much work a run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// Five to seven million instructions.
    Small,
    /// Several hundred million instructions.
    Large,
}

impl Size {
    /// Both sizes, the small one first.
    pub const ALL: [Size; 2] = [Size::Small, Size::Large];

    /// The argument that selects this size on a program's command line.
    pub fn arg(self) -> &'static str {
        match self {
            Size::Small => "small",
            Size::Large => "large",
        }
    }
}

/// A guest program with its image and what it must print.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// The name, also `argv[0]` of a run.
    pub name: &'static str,
    /// The SPECint2000 programs whose field it covers.
    pub stands_for: &'static str,
    /// Description in one sentence.
    pub description: &'static str,
    /// The images by instruction set, in the order of [`ISAS`]: ELF executables for Linux, statically
    /// linked, with symbols and line tables.
    pub images: [(&'static str, &'static [u8]); ISAS.len()],
    /// Standard output of a small run.
    pub expected_small: &'static str,
    /// Standard output of a large run.
    pub expected_large: &'static str,
}

impl Workload {
    /// The arguments of a run, without the program's name.
    pub fn args(&self, size: Size) -> [&'static str; 1] {
        [size.arg()]
    }

    /// Expected standard output of a run of that size, which then exits with code 0.
    pub fn expected(&self, size: Size) -> &'static str {
        match size {
            Size::Small => self.expected_small,
            Size::Large => self.expected_large,
        }
    }

    /// The image for the instruction set of that name (one of [`ISAS`]), if there is one.
    pub fn image(&self, isa: &str) -> Option<&'static [u8]> {
        let of_isa = |(name, _): &&(&str, _)| *name == isa;
        self.images.iter().find(of_isa).map(|(_, image)| *image)
    }
}

/// SHA-256 in hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All programs, in the order in which tables list them.
pub fn all() -> &'static [Workload] {
    &PROGRAMS
}

/// The program of that name.
pub fn find(name: &str) -> Option<&'static Workload> {
    PROGRAMS.iter().find(|workload| workload.name == name)
}

/// A table entry whose image and outputs lie where `build.sh` puts them.
macro_rules! workload {
    ($name:literal, $stands_for:literal, $description:literal) => {
        Workload {
            name: $name,
            stands_for: $stands_for,
            description: $description,
            images: [
                (
                    ISAS[0],
                    include_bytes!(concat!("../images/riscv64/", $name)),
                ),
                (ISAS[1], include_bytes!(concat!("../images/alpha/", $name))),
            ],
            expected_small: include_str!(concat!("../expected/", $name, ".small.txt")),
            expected_large: include_str!(concat!("../expected/", $name, ".large.txt")),
        }
    };
}

static PROGRAMS: [Workload; 10] = [
    workload!(
        "bwt",
        "256.bzip2",
        "block-sorting compression: rotations, move to front, range coder, and back"
    ),
    workload!(
        "lz",
        "164.gzip",
        "LZ77 compression: hash chains, three parsing strategies, Huffman codes, and back"
    ),
    workload!(
        "chess",
        "186.crafty",
        "chess: bitboard move generation, alpha-beta search, transposition table"
    ),
    workload!(
        "ray",
        "252.eon",
        "C++ ray tracer: shapes, materials and lights behind virtual calls, floating point"
    ),
    workload!(
        "interp",
        "253.perlbmk, 254.gap",
        "bytecode interpreter: two dispatch engines, method tables, garbage collection"
    ),
    workload!(
        "netsimplex",
        "181.mcf",
        "minimum-cost flow by the network simplex method, three pricing rules"
    ),
    workload!(
        "parse",
        "197.parser",
        "sentences: dictionary, inflection, ambiguous grammar, recursive parser, tagger"
    ),
    workload!(
        "place",
        "175.vpr, 300.twolf",
        "placement by simulated annealing, routing by negotiated congestion"
    ),
    workload!(
        "objstore",
        "255.vortex",
        "object store: hash index, B-trees, journal, a mix of transactions"
    ),
    workload!(
        "minicc",
        "176.gcc",
        "compiler: lexer, parser, folding, register allocation, and a machine for its code"
    ),
];

#[cfg(test)]
mod tests;
