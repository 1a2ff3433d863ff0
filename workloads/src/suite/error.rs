//! Errors while the suite is built.

use std::path::{Path, PathBuf};

/// Why a program of the suite could not be built.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// The manifest is not what it must be.
    #[error("the suite's manifest: {0}")]
    Manifest(String),
    /// A name that no program of the suite has.
    #[error("there is no program `{name}` in the suite; there are: {known}")]
    UnknownProgram {
        /// The name.
        name: String,
        /// All names.
        known: String,
    },
    /// An instruction set for which the suite is not built.
    #[error("the suite is not built for `{0}`; it is for riscv64 and alpha")]
    UnknownIsa(String),
    /// A program of the host that is not on the search path.
    #[error("`{tool}` is missing; install {packages}")]
    MissingTool {
        /// The program.
        tool: String,
        /// Packages to install.
        packages: String,
    },
    /// Sources that could not be fetched.
    #[error("{what} could not be fetched: {said}")]
    NotFetched {
        /// The source.
        what: String,
        /// Messages of `apt-get` or `cargo`.
        said: String,
    },
    /// A file that is not the pinned one.
    #[error("{}: its SHA-256 is {found}, but {pinned} is pinned; {remedy}", .file.display())]
    WrongChecksum {
        /// The file.
        file: PathBuf,
        /// The checksum of what is there.
        found: String,
        /// The checksum of the manifest.
        pinned: String,
        /// Remedy.
        remedy: &'static str,
    },
    /// A command that failed.
    #[error("{what} failed: {last_line} (all that it said is in {})", .log.display())]
    Failed {
        /// Action of the command.
        what: String,
        /// The first line that speaks of an error, or else the last one.
        last_line: String,
        /// The log.
        log: PathBuf,
    },
    /// A folder whose path has blanks.
    #[error("{}: builds do not bear blanks in the folder's path; name another with --folder", .folder.display())]
    Blank {
        /// The folder.
        folder: PathBuf,
    },
    /// A file or folder that could not be read or written.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl SuiteError {
    /// Names the path in an error of the operating system.
    pub(super) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> SuiteError {
        let path = path.to_path_buf();
        move |source| SuiteError::Io { path, source }
    }
}
