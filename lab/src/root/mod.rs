//! Root folders for programs, made from packages of Debian or from images, each with a lock file that names what it is
//! made of.
//!
//! [`make`] unpacks packages with `mmdebstrap`, without rights of root and without maintainer scripts ([`settle`]
//! does what programs need of their work), [`make_again`] makes the packages of a lock file, [`make_from`] unpacks a tar or
//! an OCI layout. [`lock_digest`] is what results say of a root; [`check`] says what has changed in it since.

mod debian;
mod files;
mod image;
mod lock;
mod settle;

use std::io;
use std::path::{Path, PathBuf};

pub(crate) use files::{contents, names};

pub use debian::{Order, Remade};
pub use files::{Difference, What};
pub use lock::{Lock, Package, SourceKind, lock_digest};

/// The file in a root that says what the root is made of.
pub const LOCK: &str = "hps-root.json";
/// The file in a root that lists its files: digest, mode, name.
const FILES: &str = "hps-root.files";

/// Why a root cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// A program of the host is missing.
    #[error("{tool} is missing, which {job}; install the Debian package {package}")]
    Tool {
        /// The program.
        tool: &'static str,
        /// Job of the program in the lab.
        job: &'static str,
        /// The package of Debian that has it.
        package: &'static str,
    },
    /// A program of the host failed.
    #[error("{tool} failed: {said}")]
    Failed {
        /// The program.
        tool: String,
        /// Errors of the program, a line each.
        said: String,
    },
    /// A word that names no package, suite or architecture of Debian.
    #[error("{word}: no {what} of Debian has such a name")]
    Name {
        /// The word.
        word: String,
        /// Kind of name that was expected.
        what: &'static str,
    },
    /// Packages of a lock file that the mirror does not have.
    #[error(
        "the mirror does not have {}; a mirror with older versions (Debian's archive of snapshots, at a date near {date}) may have \
         them: --mirror URL", packages.join(", ")
    )]
    NotThere {
        /// Name and version of each, and what is the matter.
        packages: Vec<String>,
        /// When the release of the lock file was published, or `that of the lock file`.
        date: String,
    },
    /// The place for a root is taken.
    #[error("{}: there is something already; name a folder that does not exist or is empty", folder.display())]
    Taken {
        /// The folder.
        folder: PathBuf,
    },
    /// A folder without a lock file.
    #[error("{}: no root that `hps root make` made: it has no {LOCK}", folder.display())]
    NoLock {
        /// The folder.
        folder: PathBuf,
    },
    /// A file that is no lock file, or one of another version.
    #[error("{}: no lock file of a root: {problem}", file.display())]
    BadLock {
        /// The file.
        file: PathBuf,
        /// The fault of the lock file.
        problem: String,
    },
    /// An image that cannot be unpacked.
    #[error("{}: {problem}", image.display())]
    Image {
        /// The image, or a file of it.
        image: PathBuf,
        /// The fault of the image.
        problem: String,
    },
    /// A file of the host cannot be read or written.
    #[error("{}: cannot be {done}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// `read` or `written`.
        done: &'static str,
        /// Error of the host.
        source: io::Error,
    },
}

impl RootError {
    fn reading(path: &Path) -> impl FnOnce(io::Error) -> RootError {
        RootError::file(path, "read")
    }

    fn writing(path: &Path) -> impl FnOnce(io::Error) -> RootError {
        RootError::file(path, "written")
    }

    fn file(path: &Path, done: &'static str) -> impl FnOnce(io::Error) -> RootError {
        let path = path.to_path_buf();
        move |source| RootError::File { path, done, source }
    }
}

/// Makes a root from packages of Debian. `said` is told each step.
///
/// # Errors
/// The folder is taken, a tool is missing, or the packages cannot be had or written.
pub fn make(folder: &Path, order: &Order, said: &mut dyn FnMut(&str)) -> Result<Lock, RootError> {
    in_place(folder, |part| {
        let lock = debian::unpack(part, order, said)?;
        finish(part, lock, said)
    })
}

/// Makes the packages of a lock file again, from these mirrors or Debian's own.
///
/// # Errors
/// The errors of [`make`]; or a package is not available in its version or with its content.
pub fn make_again(
    folder: &Path,
    lock: &Path,
    mirrors: &[String],
    said: &mut dyn FnMut(&str),
) -> Result<Remade, RootError> {
    let wanted = Lock::read(lock)?;
    in_place(folder, |part| {
        debian::unpack_again(part, &wanted, lock, mirrors, said)?;
        let made = finish(part, wanted.clone(), said)?;
        Ok(Remade {
            has_same_files: made.files_sha256 == wanted.files_sha256,
            lock: made,
        })
    })
}

/// Makes a root from an image: a tar of a file system, compressed or not, or the folder of an OCI layout, of which the
/// image for this architecture (Debian's name) is taken.
///
/// # Errors
/// The folder is taken, or the image is damaged, leaves its root, or cannot be written.
pub fn make_from(
    folder: &Path,
    image: &Path,
    architecture: &str,
    said: &mut dyn FnMut(&str),
) -> Result<Lock, RootError> {
    in_place(folder, |part| {
        let mut lock = image::unpack(image, part, architecture, said)?;
        lock.packages = lock::installed(part);
        finish(part, lock, said)
    })
}

/// Lists what differs from the time when the root was made.
///
/// # Errors
/// The folder has no lock file, or its list of files is missing or changed.
pub fn check(folder: &Path) -> Result<Vec<Difference>, RootError> {
    let lock = Lock::of(folder)?;
    files::compare(folder, &lock)
}

/// Puts a root that has its files into order and gives it its list and its lock file.
fn finish(root: &Path, mut lock: Lock, said: &mut dyn FnMut(&str)) -> Result<Lock, RootError> {
    settle::settle(root)?;
    said("listing files");
    lock.files_sha256 = files::write_list(root)?;
    lock.write(root)?;
    Ok(lock)
}

/// Makes a folder beside its place, and puts it there when it is whole.
fn in_place<T>(
    folder: &Path,
    make: impl FnOnce(&Path) -> Result<T, RootError>,
) -> Result<T, RootError> {
    let is_free = match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(cause) => cause.kind() == io::ErrorKind::NotFound,
    };
    if !is_free {
        let folder = folder.to_path_buf();
        return Err(RootError::Taken { folder });
    }
    let mut name = folder.as_os_str().to_os_string();
    name.push(".hps-part");
    let part = std::path::absolute(&name).map_err(RootError::writing(name.as_ref()))?;
    // A killed command may have left this folder.
    remove(&part)?;
    std::fs::create_dir(&part).map_err(RootError::writing(&part))?;
    let made = make(&part).and_then(|made| {
        // An empty folder is replaced.
        std::fs::rename(&part, folder).map_err(RootError::writing(folder))?;
        Ok(made)
    });
    if made.is_err() {
        // The first error matters more.
        let _ = remove(&part);
    }
    made
}

fn remove(place: &Path) -> Result<(), RootError> {
    clear(place).map_err(RootError::writing(place))
}

/// Removes whatever has a name: a folder with all that lies in it, a file, a link, or nothing.
fn clear(place: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(place) {
        Ok(about) if about.is_dir() => std::fs::remove_dir_all(place),
        Ok(_) => std::fs::remove_file(place),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(cause) => Err(cause),
    }
}
