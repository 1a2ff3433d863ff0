//! Lock files of roots.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use hps_system::host;
use hps_workloads::sha256_hex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::{inside, write_anew};
use super::{LOCK, RootError};
use crate::VERSION;

const FORMAT: &str = "hps-root";
const FORMAT_VERSION: u32 = 1;
/// Longest lock file that is read, in bytes: a package takes about 200.
const LONGEST: u64 = 16 << 20;

/// Lock file: sources and packages of a root. Equal packages in equal versions of the lab give equal lock files: nothing
/// in it depends on the host, the mirror or the date of making.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// `hps-root`.
    pub format: String,
    /// Version of the format.
    pub format_version: u32,
    /// Version of the lab that made the root.
    pub version: String,
    /// Source of the files.
    pub source: SourceKind,
    /// Suite of Debian, such as `trixie`.
    pub suite: Option<String>,
    /// Architecture by Debian's name, such as `riscv64`.
    pub architecture: Option<String>,
    /// When Debian published the release that the packages were taken from, as its `Release` file says.
    pub release_date: Option<String>,
    /// Packages that were asked for, in order; all others are those that they depend on and essential ones.
    pub requested: Vec<String>,
    /// All packages, by name.
    pub packages: Vec<Package>,
    /// SHA-256 of the image: of the tar, or the digest of the manifest of an OCI image.
    pub image_sha256: Option<String>,
    /// SHA-256 of the list of files.
    pub files_sha256: String,
}

/// Sources of a root's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SourceKind {
    /// Packages of Debian.
    Debian,
    /// A tar of a file system.
    Tar,
    /// An OCI layout.
    Oci,
}

/// A package of Debian.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Name of the package.
    pub name: String,
    /// Version, with the epoch.
    pub version: String,
    /// Architecture, or `all`.
    pub architecture: String,
    /// SHA-256 of the `.deb`. `None` for packages of an image.
    pub sha256: Option<String>,
}

impl Lock {
    pub(super) fn new(source: SourceKind) -> Lock {
        Lock {
            format: FORMAT.to_string(),
            format_version: FORMAT_VERSION,
            version: VERSION.to_string(),
            source,
            suite: None,
            architecture: None,
            release_date: None,
            requested: Vec::new(),
            packages: Vec::new(),
            image_sha256: None,
            files_sha256: String::new(),
        }
    }

    /// The lock file of a root.
    ///
    /// # Errors
    /// The folder has none, or it is damaged.
    pub fn of(folder: &Path) -> Result<Lock, RootError> {
        let file = folder.join(LOCK);
        if !file.is_file() {
            return Err(RootError::NoLock {
                folder: folder.to_path_buf(),
            });
        }
        Lock::read(&file)
    }

    /// Reads a lock file.
    ///
    /// # Errors
    /// The file cannot be read, or its format or version is unknown.
    pub fn read(file: &Path) -> Result<Lock, RootError> {
        let bytes = bytes(file).map_err(RootError::reading(file))?;
        let bad = |problem: String| RootError::BadLock {
            file: file.to_path_buf(),
            problem,
        };
        let lock: Lock = serde_json::from_slice(&bytes).map_err(|cause| bad(cause.to_string()))?;
        if (lock.format.as_str(), lock.format_version) != (FORMAT, FORMAT_VERSION) {
            let found = format!("{} {}", lock.format, lock.format_version);
            let wanted = format!("{FORMAT} {FORMAT_VERSION}");
            return Err(bad(format!("its format is {found}, not {wanted}")));
        }
        Ok(lock)
    }

    pub(super) fn write(&self, root: &Path) -> Result<(), RootError> {
        let text = serde_json::to_string_pretty(self).expect("texts and numbers") + "\n";
        write_anew(&root.join(LOCK), text.as_bytes())
    }
}

/// SHA-256 of the lock file of a root, hexadecimal. `None`: the folder has none.
#[must_use]
pub fn lock_digest(folder: &Path) -> Option<String> {
    Some(sha256_hex(&bytes(&folder.join(LOCK)).ok()?))
}

/// The bytes of a regular file that is no link, since the programs of a root may have put something else there.
fn bytes(file: &Path) -> std::io::Result<Vec<u8>> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let opened = File::options()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(file)?;
    let about = opened.metadata()?;
    if !about.is_file() {
        return Err(std::io::Error::other("no regular file"));
    }
    host::read_to_end(opened, LONGEST)
}

/// The packages that the database of dpkg in an image names as installed, by name.
pub(super) fn installed(root: &Path) -> Vec<Package> {
    let place = inside(root, Path::new("var/lib/dpkg/status"));
    let text = place.and_then(|file| bytes(&file)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut packages: Vec<Package> = text.split("\n\n").filter_map(paragraph).collect();
    packages.sort();
    packages
}

fn paragraph(text: &str) -> Option<Package> {
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
            .map(str::to_string)
    };
    let is_installed = field("Status")?.ends_with(" installed");
    is_installed.then_some(Package {
        name: field("Package")?,
        version: field("Version")?,
        architecture: field("Architecture")?,
        sha256: None,
    })
}
