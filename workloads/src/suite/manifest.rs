//! The manifest: programs, sources, build steps and runs.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::SuiteError;
use crate::Size;

/// A real program of the suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteProgram {
    /// The name, also `argv[0]` of a run.
    pub name: String,
    /// The SPECint2000 programs whose field it covers; empty if there is none, and evaluations over
    /// the suite leave the program out unless it is named.
    #[serde(default)]
    pub stands_for: String,
    /// Description of a run, in one sentence.
    pub description: String,
    /// The license of its sources.
    pub license: String,
    /// The language, which says what compilers are needed.
    #[serde(default)]
    pub language: Language,
    /// Where its sources come from.
    pub sources: Vec<Source>,
    /// Our files that it is built with, in `workloads/suite/drivers/`.
    #[serde(default)]
    pub drivers: Vec<String>,
    /// Tools that the build needs beside the compilers.
    #[serde(default)]
    pub tools: Vec<Tool>,
    /// The build, as lines for `sh -eu`; `workloads/README.md` lists the variables that it finds.
    pub build: String,
    /// The small run: 5 to 15 million instructions where the program can do anything in so few, and up
    /// to 40 million where its data must not fit into caches.
    pub small: Run,
    /// The large run: 50 million instructions and more.
    pub large: Run,
}

/// The language of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Language {
    /// C.
    #[default]
    C,
    /// C++.
    Cxx,
}

/// An archive of sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The folder into which it is unpacked.
    pub folder: String,
    /// Where it comes from.
    pub from: Origin,
    /// SHA-256 of the archive, in hexadecimal digits.
    pub sha256: String,
}

/// Where an archive comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Origin {
    /// The original archive of a Debian source package.
    Debian {
        /// The source package.
        package: String,
        /// Version of the source package.
        version: String,
        /// The archive.
        file: String,
        /// Leading folders of the archive's paths that are dropped.
        #[serde(default = "one")]
        strip: u32,
    },
    /// A Debian package, for the data that it installs.
    DebianPackage {
        /// The package.
        package: String,
        /// Version of the package.
        version: String,
        /// Name of the package's file.
        file: String,
    },
    /// A crate of the Cargo registry.
    Crate {
        /// The crate.
        name: String,
        /// Version of the crate.
        version: String,
    },
}

fn one() -> u32 {
    1
}

impl Origin {
    /// The archive's file name.
    pub fn file(&self) -> String {
        match self {
            Origin::Debian { file, .. } | Origin::DebianPackage { file, .. } => file.clone(),
            Origin::Crate { name, version } => format!("{name}-{version}.crate"),
        }
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Origin::Debian {
                package, version, ..
            } => write!(f, "Debian's source package {package} {version}"),
            Origin::DebianPackage {
                package, version, ..
            } => write!(f, "Debian's package {package} {version}"),
            Origin::Crate { name, version } => write!(f, "the crate {name} {version}"),
        }
    }
}

/// A program of the host that a build needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// The command.
    pub command: String,
    /// Debian's package that has it.
    pub package: String,
}

/// A run of a program. It sees the folder of its files as `/` and starts there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The arguments, without the program's name.
    pub args: Vec<String>,
    /// The files that it finds, by path.
    #[serde(default)]
    pub files: Vec<(String, Input)>,
    /// The file that is its standard input; empty if none is named.
    #[serde(default)]
    pub stdin: Option<String>,
    /// SHA-256 of what it prints on standard output; it then exits with code 0.
    pub stdout_sha256: String,
}

/// Contents of a file of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Input {
    /// Literal characters.
    Literal(String),
    /// One of our files.
    Driver(String),
    /// A file or folder in the unpacked sources, or one that the build made there, by its path.
    Copy(String),
    /// Bytes of English-looking text.
    Text {
        /// Length in bytes.
        bytes: usize,
    },
    /// A circuit for arachne-pnr: tables of four inputs and flip-flops, connected at random.
    Netlist {
        /// Tables, each with a flip-flop behind it.
        cells: usize,
    },
}

impl SuiteProgram {
    /// The run of that size.
    pub fn run(&self, size: Size) -> &Run {
        match size {
            Size::Small => &self.small,
            Size::Large => &self.large,
        }
    }
}

/// Reads a manifest.
///
/// # Errors
///
/// Names the line and what is wrong there, or the program whose entry contradicts another.
pub fn parse(text: &str) -> Result<Vec<SuiteProgram>, SuiteError> {
    let programs: Vec<SuiteProgram> =
        ron::from_str(text).map_err(|e| SuiteError::Manifest(e.to_string()))?;
    for (index, program) in programs.iter().enumerate() {
        check(program, &programs[..index])
            .map_err(|what| SuiteError::Manifest(format!("`{}`: {what}", program.name)))?;
    }
    Ok(programs)
}

fn check(program: &SuiteProgram, before: &[SuiteProgram]) -> Result<(), String> {
    if before.iter().any(|other| other.name == program.name) {
        return Err("there are two programs of this name".to_string());
    }
    let checksums = program.sources.iter().map(|source| &source.sha256);
    let outputs = Size::ALL.map(|size| &program.run(size).stdout_sha256);
    for sum in checksums.chain(outputs) {
        if sum.len() != 64 || !sum.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(format!(
                "`{sum}` is no SHA-256 in lower-case hexadecimal digits"
            ));
        }
    }
    for run in Size::ALL.map(|size| program.run(size)) {
        for (file, input) in &run.files {
            let leaves = |path: &str| path.starts_with('/') || path.split('/').any(|p| p == "..");
            if leaves(file) || matches!(input, Input::Copy(from) if leaves(from)) {
                return Err(format!("the path of the file `{file}` leaves its folder"));
            }
            if let Input::Driver(name) = input
                && super::inputs::driver(name).is_none()
            {
                return Err(format!("there is no driver `{name}`"));
            }
        }
        if let Some(stdin) = &run.stdin
            && !run.files.iter().any(|(file, _)| file == stdin)
        {
            return Err(format!("its standard input `{stdin}` is none of its files"));
        }
    }
    match program
        .drivers
        .iter()
        .find(|name| super::inputs::driver(name).is_none())
    {
        Some(name) => Err(format!("there is no driver `{name}`")),
        None => Ok(()),
    }
}

/// All programs of the suite, in the order in which tables list them.
///
/// # Errors
///
/// None that a user could meet: a test reads the manifest that travels in the library.
pub fn all() -> Result<&'static [SuiteProgram], SuiteError> {
    static ALL: OnceLock<Result<Vec<SuiteProgram>, String>> = OnceLock::new();
    let parsed = ALL.get_or_init(|| {
        parse(include_str!("../../suite/suite.ron")).map_err(|error| match error {
            SuiteError::Manifest(what) => what,
            other => other.to_string(),
        })
    });
    parsed
        .as_deref()
        .map_err(|what| SuiteError::Manifest(what.clone()))
}

/// The program of that name.
///
/// # Errors
///
/// There is none; the error names those that there are.
pub fn find(name: &str) -> Result<&'static SuiteProgram, SuiteError> {
    let all = all()?;
    all.iter()
        .find(|program| program.name == name)
        .ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|program| program.name.as_str()).collect();
            SuiteError::UnknownProgram {
                name: name.to_string(),
                known: known.join(", "),
            }
        })
}
