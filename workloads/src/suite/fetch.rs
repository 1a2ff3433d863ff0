//! Sources: fetched through the package tools that the host has, checked, kept, unpacked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use super::manifest::{Origin, Source};
use super::sha256_hex;
use super::tools::need;
use super::{SuiteError, find_tool};
use crate::work_folder::WorkFolder;

/// The archives of a folder, and the state of `apt-get` while some are fetched.
#[derive(Debug)]
pub(super) struct Archives {
    folder: PathBuf,
    /// Made when the first Debian source is asked for; fetching is one at a time.
    apt: Mutex<Option<WorkFolder>>,
}

impl Archives {
    /// The archives in that folder.
    pub fn new(folder: PathBuf) -> Archives {
        Archives {
            folder,
            apt: Mutex::new(None),
        }
    }

    /// The archive of a source: the one that is kept, or fetched now.
    pub fn get(&self, source: &Source) -> Result<PathBuf, SuiteError> {
        let mut apt = self.apt.lock().unwrap_or_else(PoisonError::into_inner);
        let file = self.folder.join(source.from.file());
        if file.exists() {
            verify(
                &file,
                &source.sha256,
                "delete the file, then it is fetched again",
            )?;
            return Ok(file);
        }
        fs::create_dir_all(&self.folder).map_err(SuiteError::at(&self.folder))?;
        let work =
            WorkFolder::below(&self.folder, "fetch").map_err(SuiteError::at(&self.folder))?;
        let fetched = match &source.from {
            Origin::Debian { package, .. } => {
                let order = ["source", "--download-only", "--tar-only", package];
                debian(&mut apt, source, &order, work.path())?
            }
            Origin::DebianPackage { package, .. } => {
                debian(&mut apt, source, &["download", package], work.path())?
            }
            Origin::Crate { name, version } => registry(source, name, version, work.path())?,
        };
        verify(
            &fetched,
            &source.sha256,
            "the registry has changed what it serves",
        )?;
        // Whole or not at all: a copy beside it, then a rename.
        let part = work.path().join("whole");
        fs::copy(&fetched, &part).map_err(SuiteError::at(&part))?;
        fs::rename(&part, &file).map_err(SuiteError::at(&file))?;
        Ok(file)
    }

    /// Unpacks a source below a folder.
    pub fn unpack(&self, source: &Source, below: &Path) -> Result<(), SuiteError> {
        let archive = self.get(source)?;
        let to = below.join(&source.folder);
        fs::create_dir_all(&to).map_err(SuiteError::at(&to))?;
        let mut command = match &source.from {
            Origin::DebianPackage { .. } => {
                let mut command = Command::new(need("dpkg-deb", "Debian's package dpkg")?);
                command.arg("-x").arg(&archive).arg(&to);
                command
            }
            Origin::Debian { strip, .. } => unpacking(&archive, &to, *strip)?,
            Origin::Crate { .. } => unpacking(&archive, &to, 1)?,
        };
        let output = command.output().map_err(SuiteError::at(&archive))?;
        if output.status.success() {
            return Ok(());
        }
        Err(SuiteError::NotFetched {
            what: format!("the contents of {}", archive.display()),
            said: String::from_utf8_lossy(&output.stderr).trim().to_string(),
        })
    }
}

/// Compares a file with its pinned checksum.
pub(super) fn verify(file: &Path, pinned: &str, remedy: &'static str) -> Result<(), SuiteError> {
    let bytes = fs::read(file).map_err(SuiteError::at(file))?;
    let found = sha256_hex(&bytes);
    if found == pinned {
        return Ok(());
    }
    Err(SuiteError::WrongChecksum {
        file: file.to_path_buf(),
        found,
        pinned: pinned.to_string(),
        remedy,
    })
}

fn unpacking(archive: &Path, to: &Path, strip: u32) -> Result<Command, SuiteError> {
    let mut command = Command::new(need("tar", "Debian's package tar")?);
    let unpacker = match archive.extension().and_then(|e| e.to_str()) {
        Some("xz") => ("xz", "Debian's package xz-utils"),
        Some("bz2") => ("bzip2", "Debian's package bzip2"),
        _ => ("gzip", "Debian's package gzip"),
    };
    need(unpacker.0, unpacker.1)?;
    command
        .arg("-xf")
        .arg(archive)
        .arg("-C")
        .arg(to)
        .arg(format!("--strip-components={strip}"));
    Ok(command)
}

/// Fetches with `apt-get` into a folder. Whether it ends well does not matter as long as the file is
/// there: mirrors lose the small archives beside the one that is wanted.
fn debian(
    apt: &mut Option<WorkFolder>,
    source: &Source,
    order: &[&str],
    work: &Path,
) -> Result<PathBuf, SuiteError> {
    let program = need("apt-get", "Debian's package apt")?;
    let state = match apt {
        Some(state) => state,
        None => apt.insert(apt_state(&program)?),
    };
    let mut command = apt_command(&program, state.path());
    let output = command
        .args(order)
        .current_dir(work)
        .output()
        .map_err(SuiteError::at(&program))?;
    let wanted = source.from.file();
    let found = fs::read_dir(work)
        .map_err(SuiteError::at(work))?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|name| name == wanted.as_str()));
    found.ok_or_else(|| SuiteError::NotFetched {
        what: format!("{wanted} of {}", source.from),
        said: said(&output, "the mirror has another version by now"),
    })
}

/// `apt-get` with lists and sources of its own: the system's are neither needed nor changed.
fn apt_command(program: &Path, state: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .arg("-q")
        .args(["-o", "Dir::Etc::sourcelist=/dev/null"])
        .args(["-o", "APT::Sandbox::User=root"]);
    let folders = [
        ("Dir::Etc::sourceparts", "parts"),
        ("Dir::State::lists", "lists"),
    ];
    for (option, folder) in folders {
        let folder = state.join(folder);
        command
            .arg("-o")
            .arg(format!("{option}={}", folder.display()));
    }
    command
}

/// The system's own Debian mirrors, asked for packages and their sources.
fn apt_state(program: &Path) -> Result<WorkFolder, SuiteError> {
    let state =
        WorkFolder::new("apt").map_err(SuiteError::at(Path::new("the temporary folder")))?;
    let parts = state.path().join("parts");
    for folder in [parts.clone(), state.path().join("lists/partial")] {
        fs::create_dir_all(&folder).map_err(SuiteError::at(&folder))?;
    }
    let mut some = false;
    let mut keep = |name: &str, text: String| {
        some |= !text.trim().is_empty();
        let file = parts.join(name);
        fs::write(&file, text).map_err(SuiteError::at(&file))
    };
    if let Ok(text) = fs::read_to_string("/etc/apt/sources.list.d/debian.sources") {
        keep("suite.sources", with_sources(&text))?;
    }
    if let Ok(text) = fs::read_to_string("/etc/apt/sources.list") {
        keep("suite.list", lines_with_sources(&text))?;
    }
    let not_fetched = |said: String| SuiteError::NotFetched {
        what: "the lists of Debian's packages".to_string(),
        said,
    };
    if !some {
        return Err(not_fetched(
            "neither /etc/apt/sources.list.d/debian.sources nor /etc/apt/sources.list names a mirror"
                .to_string(),
        ));
    }
    let output = apt_command(program, state.path())
        .arg("update")
        .output()
        .map_err(SuiteError::at(program))?;
    if !output.status.success() {
        return Err(not_fetched(said(&output, "apt-get update failed")));
    }
    Ok(state)
}

/// A file of sources in the form of stanzas, for packages and sources.
pub(super) fn with_sources(text: &str) -> String {
    let line = |line: &str| match line.starts_with("Types:") {
        true => "Types: deb deb-src\n".to_string(),
        false => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// A file of sources in the form of lines: those of Debian, for packages and sources.
pub(super) fn lines_with_sources(text: &str) -> String {
    let debian = text
        .lines()
        .filter_map(|line| line.strip_prefix("deb "))
        .filter(|rest| rest.contains("debian"));
    debian
        .map(|rest| format!("deb {rest}\ndeb-src {rest}\n"))
        .collect()
}

/// Has cargo fetch a crate, from whatever registry it uses, and finds the archive.
fn registry(
    source: &Source,
    name: &str,
    version: &str,
    work: &Path,
) -> Result<PathBuf, SuiteError> {
    let cargo = match std::env::var_os("CARGO").map(PathBuf::from) {
        Some(cargo) if cargo.is_file() => cargo,
        _ => find_tool("cargo").ok_or_else(|| SuiteError::MissingTool {
            tool: "cargo".to_string(),
            packages: "Rust's tools (rustup, or Debian's package cargo)".to_string(),
        })?,
    };
    let manifest = work.join("Cargo.toml");
    let text = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n\
         [dependencies]\n{name} = \"={version}\"\n"
    );
    fs::write(&manifest, text).map_err(SuiteError::at(&manifest))?;
    fs::create_dir_all(work.join("src")).map_err(SuiteError::at(work))?;
    fs::write(work.join("src/lib.rs"), "").map_err(SuiteError::at(work))?;
    let output = Command::new(&cargo)
        .args(["metadata", "--format-version", "1", "--manifest-path"])
        .arg(&manifest)
        .current_dir(work)
        .output()
        .map_err(SuiteError::at(&cargo))?;
    let not_fetched = |said: String| SuiteError::NotFetched {
        what: source.from.to_string(),
        said,
    };
    if !output.status.success() {
        return Err(not_fetched(said(&output, "cargo failed")));
    }
    let archive = archive_of(&output.stdout, name, version);
    archive.filter(|file| file.is_file()).ok_or_else(|| {
        not_fetched(
            "cargo has it unpacked only (a vendored registry), and the archive is what is pinned"
                .to_string(),
        )
    })
}

/// `REGISTRY/cache/INDEX/NAME-VERSION.crate` beside `REGISTRY/src/INDEX/NAME-VERSION/Cargo.toml`,
/// which cargo's metadata name.
fn archive_of(metadata: &[u8], name: &str, version: &str) -> Option<PathBuf> {
    let metadata: serde_json::Value = serde_json::from_slice(metadata).ok()?;
    let package = metadata["packages"].as_array()?.iter().find(|package| {
        package["name"].as_str() == Some(name) && package["version"].as_str() == Some(version)
    })?;
    let manifest = PathBuf::from(package["manifest_path"].as_str()?);
    let index = manifest.parent()?.parent()?;
    let registry = index.parent()?.parent()?;
    Some(
        registry
            .join("cache")
            .join(index.file_name()?)
            .join(format!("{name}-{version}.crate")),
    )
}

/// The line in which a tool says what is wrong, or else this.
fn said(output: &std::process::Output, otherwise: &str) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| line.starts_with("E:") || line.starts_with("error"));
    line.unwrap_or(otherwise).to_string()
}
