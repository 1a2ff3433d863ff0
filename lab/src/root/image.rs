//! Images: tars of file systems, and OCI layouts (the Open Container Initiative's image specification 1.1), whose layers
//! are tars that lie over each other. Nothing is written outside of the root, whatever names and links they have.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use hps_system::host;
use serde_json::Value;
use tar::{Archive, Entry, EntryType};

use super::debian::tool;
use super::files::{inside, sha256};
use super::lock::{Lock, SourceKind};
use super::{RootError, clear};

/// Names of files that remove those of lower layers.
const WHITEOUT: &[u8] = b".wh.";
const OPAQUE: &[u8] = b".wh..wh..opq";
/// Longest index or manifest, in bytes.
const LONGEST: u64 = 16 << 20;

/// Unpacks an image.
pub(super) fn unpack(
    image: &Path,
    root: &Path,
    architecture: &str,
    said: &mut dyn FnMut(&str),
) -> Result<Lock, RootError> {
    let about = fs::metadata(image).map_err(RootError::reading(image))?;
    if about.is_dir() {
        return unpack_layout(image, root, architecture, said);
    }
    said("unpacking");
    layer(image, root, false)?;
    if root.join("oci-layout").is_file() {
        return Err(bad(
            image,
            "an OCI layout as a tar; unpack it with tar, and name its folder",
        ));
    }
    let mut lock = Lock::new(SourceKind::Tar);
    let digest = File::open(image).and_then(sha256);
    lock.image_sha256 = Some(digest.map_err(RootError::reading(image))?);
    Ok(lock)
}

fn bad(image: &Path, problem: impl Into<String>) -> RootError {
    RootError::Image {
        image: image.to_path_buf(),
        problem: problem.into(),
    }
}

fn unpack_layout(
    layout: &Path,
    root: &Path,
    architecture: &str,
    said: &mut dyn FnMut(&str),
) -> Result<Lock, RootError> {
    let index = layout.join("index.json");
    if !index.is_file() {
        return Err(bad(layout, "no OCI layout, since it has no index.json"));
    }
    let mut found = json(&index)?;
    let mut digest = None;
    // An index may name another one.
    for _ in 0..4 {
        let Some(manifests) = found["manifests"].as_array() else {
            break;
        };
        let chosen = choose(layout, manifests, architecture)?;
        digest = chosen_digest(chosen);
        found = json(&blob(layout, chosen)?)?;
    }
    let Some(layers) = found["layers"].as_array() else {
        return Err(bad(layout, "its index leads to no manifest with layers"));
    };
    for (at, one) in layers.iter().enumerate() {
        said(&format!("unpacking layer {} of {}", at + 1, layers.len()));
        let blob = blob(layout, one)?;
        layer(&blob, root, true)?;
    }
    let mut lock = Lock::new(SourceKind::Oci);
    lock.architecture = Some(architecture.to_string());
    lock.image_sha256 = digest;
    Ok(lock)
}

/// The manifest for an architecture: the only one, or the one whose platform says so.
fn choose<'a>(
    layout: &Path,
    manifests: &'a [Value],
    architecture: &str,
) -> Result<&'a Value, RootError> {
    let named = |one: &Value| one["platform"]["architecture"].as_str().map(str::to_string);
    let fits = |one: &&Value| named(one).is_none_or(|name| name == architecture);
    if let Some(chosen) = manifests.iter().find(fits) {
        return Ok(chosen);
    }
    let others: Vec<String> = manifests.iter().filter_map(named).collect();
    let problem = format!("no image for {architecture}; it has {}", others.join(", "));
    Err(bad(layout, problem))
}

fn chosen_digest(described: &Value) -> Option<String> {
    let digest = described["digest"].as_str()?.strip_prefix("sha256:")?;
    let is_digest = digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit());
    is_digest.then(|| digest.to_ascii_lowercase())
}

/// The file of a blob, whose content is as its digest says.
fn blob(layout: &Path, described: &Value) -> Result<PathBuf, RootError> {
    let Some(digest) = chosen_digest(described) else {
        let problem = format!("{}: no digest by SHA-256", described["digest"]);
        return Err(bad(layout, problem));
    };
    let file = layout.join("blobs/sha256").join(&digest);
    let found = File::open(&file).and_then(sha256);
    match found.map_err(RootError::reading(&file))? == digest {
        true => Ok(file),
        false => Err(bad(
            &file,
            "its content is not the one of its name (SHA-256)",
        )),
    }
}

fn json(file: &Path) -> Result<Value, RootError> {
    let bytes = host::read_file(file, LONGEST).map_err(RootError::reading(file))?;
    serde_json::from_slice(&bytes).map_err(|cause| bad(file, cause.to_string()))
}

/// Lays a tar over what the root has.
fn layer(file: &Path, root: &Path, has_whiteouts: bool) -> Result<(), RootError> {
    if has_whiteouts {
        // Whiteouts remove files of lower layers only, so all of a layer's whiteouts come before its files.
        each(file, |entry, path| match whiteout(path) {
            Some(_) => remove_lower(root, path),
            None => {
                drop(entry);
                Ok(())
            }
        })?;
    }
    each(file, |entry, path| match whiteout(path) {
        Some(_) if has_whiteouts => Ok(()),
        _ => put(root, path, entry),
    })
}

/// Calls a function for each entry of a tar and its path without `/` and `.` at its beginning.
fn each(
    file: &Path,
    mut act: impl FnMut(Entry<'_, Unpacked>, &Path) -> io::Result<()>,
) -> Result<(), RootError> {
    let mut archive = Archive::new(Unpacked::open(file)?);
    let broken = |cause: io::Error| bad(file, format!("no tar that can be unpacked: {cause}"));
    for entry in archive.entries().map_err(broken)? {
        let entry = entry.map_err(broken)?;
        let path = PathBuf::from(OsStr::from_bytes(&entry.path_bytes()));
        if path.components().any(|part| part == Component::ParentDir) {
            let problem = format!("{} leaves the root; no image of a system", path.display());
            return Err(bad(file, problem));
        }
        let is_name = |part: &Component| matches!(part, Component::Normal(_));
        let names: PathBuf = path.components().filter(is_name).collect();
        act(entry, &names).map_err(|cause| bad(file, format!("{}: {cause}", path.display())))?;
    }
    archive.into_inner().end(file)
}

/// The name that a whiteout removes; empty for all of its folder.
fn whiteout(path: &Path) -> Option<&OsStr> {
    let name = path.file_name()?.as_bytes();
    match name {
        OPAQUE => Some(OsStr::new("")),
        _ => name.strip_prefix(WHITEOUT).map(OsStr::from_bytes),
    }
}

fn remove_lower(root: &Path, path: &Path) -> io::Result<()> {
    let name = whiteout(path).unwrap_or_default();
    if name == "." || name == ".." {
        return Err(io::Error::other("a whiteout of no name"));
    }
    // The place of the whiteout itself, so that links on the way are followed.
    let place = inside(root, path)?;
    let folder = place.parent().unwrap_or(root);
    if !name.is_empty() {
        return clear(&folder.join(name));
    }
    match fs::read_dir(folder) {
        Ok(mut entries) => entries.try_for_each(|entry| clear(&entry?.path())),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(cause) => Err(cause),
    }
}

/// Puts an entry of a tar into the root. Devices, FIFOs and set-id bits are left out.
fn put(root: &Path, path: &Path, mut entry: Entry<'_, Unpacked>) -> io::Result<()> {
    if path.as_os_str().is_empty() {
        return Ok(());
    }
    let place = inside(root, path)?;
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder)?;
    }
    let mode = entry.header().mode()? & 0o777;
    let target = |entry: &Entry<'_, Unpacked>| {
        let name = entry.link_name_bytes().unwrap_or_default();
        PathBuf::from(OsStr::from_bytes(&name))
    };
    match entry.header().entry_type() {
        EntryType::Directory => {
            // A link to a folder stays, as the layers of a system with merged folders want it.
            let inner = inside(root, &path.join("entry"))?;
            if !inner.parent().is_some_and(Path::is_dir) {
                clear(&place)?;
                fs::create_dir(&place)?;
            }
            match fs::symlink_metadata(&place)?.is_dir() {
                true => fs::set_permissions(&place, Permissions::from_mode(mode | 0o700)),
                false => Ok(()),
            }
        }
        EntryType::Symlink => {
            clear(&place)?;
            std::os::unix::fs::symlink(target(&entry), &place)
        }
        EntryType::Link => {
            let original = inside(root, &target(&entry))?;
            // A link to a link would be made to what that one names.
            if !fs::symlink_metadata(&original)?.is_file() {
                return Err(io::Error::other(
                    "a hard link to something else than a file",
                ));
            }
            clear(&place)?;
            fs::hard_link(original, &place)
        }
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
            clear(&place)?;
            let mut file = File::options()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&place)?;
            io::copy(&mut entry, &mut file)?;
            file.set_permissions(Permissions::from_mode(mode | 0o400))
        }
        // Devices are made by the simulator; headers of extensions are read by the library.
        _ => Ok(()),
    }
}

/// A file that may be compressed.
enum Unpacked {
    Plain(File),
    Piped(Child, ChildStdout),
}

impl Unpacked {
    fn open(file: &Path) -> Result<Unpacked, RootError> {
        let mut opened = File::open(file).map_err(RootError::reading(file))?;
        let mut begin = Vec::new();
        let read = (&mut opened).take(6).read_to_end(&mut begin);
        read.and_then(|_| opened.rewind())
            .map_err(RootError::reading(file))?;
        let (name, package) = match &begin[..] {
            [0x1f, 0x8b, ..] => ("gzip", "gzip"),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => ("zstd", "zstd"),
            [0xfd, b'7', b'z', b'X', b'Z', 0] => ("xz", "xz-utils"),
            [b'B', b'Z', b'h', ..] => ("bzip2", "bzip2"),
            _ => return Ok(Unpacked::Plain(opened)),
        };
        let mut child = Command::new(tool(name, "unpacks images", package)?)
            .arg("-dc")
            .stdin(opened)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(RootError::reading(file))?;
        let piped = child.stdout.take().expect("it is piped");
        Ok(Unpacked::Piped(child, piped))
    }

    /// Reads what stands behind the last entry; refuses a file whose unpacking failed.
    fn end(mut self, file: &Path) -> Result<(), RootError> {
        io::copy(&mut self, &mut io::sink()).map_err(RootError::reading(file))?;
        let is_whole = match &mut self {
            Unpacked::Plain(_) => true,
            Unpacked::Piped(child, _) => child.wait().map_err(RootError::reading(file))?.success(),
        };
        match is_whole {
            true => Ok(()),
            false => Err(bad(file, "its compressed data are damaged")),
        }
    }
}

impl Read for Unpacked {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Unpacked::Plain(file) => file.read(bytes),
            Unpacked::Piped(_, piped) => piped.read(bytes),
        }
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        if let Unpacked::Piped(child, _) = self {
            // The child may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
