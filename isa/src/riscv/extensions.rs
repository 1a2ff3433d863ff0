//! The extensions of RISC-V that exist here.

/// Single-letter extensions, in the order of names of instruction sets.
pub const LETTERS: &str = "imafdc";

/// Extensions with longer names, in the order in which Linux names them.
pub const NAMES: &[&str] = &[
    "zicbom",
    "zicboz",
    "zicntr",
    "zicond",
    "zicsr",
    "zifencei",
    "zihintntl",
    "zihintpause",
    "zimop",
    "zabha",
    "zacas",
    "zawrs",
    "zfa",
    "zfh",
    "zfhmin",
    "zca",
    "zcb",
    "zcd",
    "zcmop",
    "zba",
    "zbb",
    "zbc",
    "zbkb",
    "zbs",
];

/// The name of the instruction set, as `-march` and `/proc/cpuinfo` have it.
#[must_use]
pub fn isa_string() -> String {
    format!("rv64{LETTERS}_{}", NAMES.join("_"))
}
