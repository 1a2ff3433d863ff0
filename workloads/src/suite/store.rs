//! The folder in which everything that was fetched and built is kept.
//!
//! `sources/` has the archives, `logs/` what builds said, and `ISA/PROGRAM/` the image, a folder of
//! files for each run (`small/`, `large/`), `record.json` (of what it was built) and
//! `verified.json` (which runs were compared with their expected output, and how long they were).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::manifest::{Input, SuiteProgram, all};
use super::tools::Target;
use super::{SuiteError, inputs};
use crate::{ISAS, Size, sha256_hex};

/// Counted up when programs must be built anew although nothing in the manifest has changed.
const LAYOUT: u32 = 1;

/// A program of the suite that is there, and one of its runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Built {
    /// The program's name, also `argv[0]`.
    pub name: String,
    /// The SPECint2000 programs whose field it covers; empty if there is none.
    pub stands_for: String,
    /// The instruction set, one of [`crate::ISAS`].
    pub isa: &'static str,
    /// The executable: ELF for Linux, statically linked, with symbols and line tables.
    pub image: PathBuf,
    /// The arguments of the run, without the program's name.
    pub args: Vec<String>,
    /// The folder that the program sees as `/` and in which it starts. It is only read.
    pub root: PathBuf,
    /// The file that is its standard input, empty if there is none.
    pub stdin: Option<PathBuf>,
    /// SHA-256 of what it prints, in hexadecimal digits; it exits with code 0.
    pub expected_stdout_sha256: String,
    /// The instructions of the run, if it was compared with the expected output.
    pub instructions: Option<u64>,
}

/// Of what an image was built.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Hash of all that determines the build but the compiler.
    pub key: String,
    /// Version that the compiler states.
    pub compiler: String,
    /// SHA-256 of the image.
    pub image_sha256: String,
}

/// A run that printed what it must.
#[derive(Debug, Serialize, Deserialize)]
struct Verified {
    /// Hash of image, arguments and expected output.
    key: String,
    instructions: u64,
}

/// Where the suite lies if no folder is named: `$XDG_CACHE_HOME/hps-lab/programs`, or
/// `~/.cache/hps-lab/programs`.
pub fn default_folder() -> PathBuf {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .unwrap_or_else(|| PathBuf::from(".cache"))
        .join("hps-lab/programs")
}

/// Programs that are built in a folder from this manifest, by program and instruction set.
pub fn built(folder: &Path, size: Size) -> Vec<Built> {
    let programs = all().unwrap_or_default();
    let everywhere = programs.iter().flat_map(|p| ISAS.map(|isa| (p, isa)));
    everywhere
        .filter_map(|(program, isa)| built_one(folder, program, isa, size))
        .collect()
}

/// A run of one program, if it is built in the folder.
pub(super) fn built_one(
    folder: &Path,
    program: &SuiteProgram,
    isa: &'static str,
    size: Size,
) -> Option<Built> {
    let of = place(folder, program, isa);
    let image = of.join(&program.name);
    let record = record(&of)?;
    if record.key != key(program, Target::of(isa).ok()?) || !image.is_file() {
        return None;
    }
    let run = program.run(size);
    let root = of.join(size.arg());
    Some(Built {
        name: program.name.clone(),
        stands_for: program.stands_for.clone(),
        isa,
        image,
        args: run.args.clone(),
        stdin: run.stdin.as_ref().map(|file| root.join(file)),
        root,
        expected_stdout_sha256: run.stdout_sha256.clone(),
        instructions: verified(&of)
            .get(size.arg())
            .filter(|v| v.key == run_key(&record, program, size))
            .map(|v| v.instructions),
    })
}

/// Keeps that a run printed what it must in so many instructions.
///
/// # Errors
///
/// The file cannot be written, or the program is none of the suite.
pub fn record_verified(
    folder: &Path,
    built: &Built,
    size: Size,
    instructions: u64,
) -> Result<(), SuiteError> {
    let program = super::find(&built.name)?;
    let of = place(folder, program, built.isa);
    let Some(record) = record(&of) else {
        return Ok(());
    };
    let mut all = verified(&of);
    let key = run_key(&record, program, size);
    all.insert(size.arg().to_string(), Verified { key, instructions });
    write_json(&of.join("verified.json"), &all)
}

/// The folder of a program's image and files.
pub(super) fn place(folder: &Path, program: &SuiteProgram, isa: &str) -> PathBuf {
    folder.join(isa).join(&program.name)
}

/// Of what the image in that folder was built.
pub(super) fn record(of: &Path) -> Option<Record> {
    serde_json::from_slice(&fs::read(of.join("record.json")).ok()?).ok()
}

fn verified(of: &Path) -> BTreeMap<String, Verified> {
    let bytes = fs::read(of.join("verified.json")).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Writes a file whole or not at all.
pub(super) fn write_json(file: &Path, value: &impl Serialize) -> Result<(), SuiteError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|e| SuiteError::at(file)(std::io::Error::other(e)))?;
    let part = file.with_extension(format!("{}.part", std::process::id()));
    fs::write(&part, text + "\n").map_err(SuiteError::at(&part))?;
    fs::rename(&part, file).map_err(SuiteError::at(file))
}

/// Hash of all that determines a build but the compiler.
pub(super) fn key(program: &SuiteProgram, target: &Target) -> String {
    let mut named: Vec<&str> = program.drivers.iter().map(String::as_str).collect();
    for size in Size::ALL {
        let files = &program.run(size).files;
        named.extend(files.iter().filter_map(|(_, input)| match input {
            Input::Driver(name) => Some(name.as_str()),
            _ => None,
        }));
    }
    let contents: Vec<_> = named.iter().map(|name| inputs::driver(name)).collect();
    let files = Size::ALL.map(|size| &program.run(size).files);
    let text = serde_json::json!([
        LAYOUT,
        inputs::GENERATORS,
        program.name,
        program.sources,
        program.build,
        target.isa,
        target.flags,
        named,
        contents,
        inputs::driver(super::build::CLOCK),
        files,
    ]);
    sha256_hex(text.to_string().as_bytes())
}

fn run_key(record: &Record, program: &SuiteProgram, size: Size) -> String {
    let run = program.run(size);
    let text = serde_json::json!([record.image_sha256, run]);
    sha256_hex(text.to_string().as_bytes())
}
