//! Files of a root: their list, what has changed since, and places in it that no link leads out of.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use hps_workloads::sha256_hex;
use sha2::{Digest, Sha256};

use super::{FILES, LOCK, Lock, RootError};

/// Most links on the way to a file, as on Linux.
const MOST_LINKS: usize = 40;

/// A file that differs from the root's list of files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The file, relative to the root, with unusual bytes as escapes.
    pub path: String,
    /// Kind of the difference.
    pub what: What,
}

/// Kinds of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// Content, mode or kind of the file has changed.
    Changed,
    /// The file has been removed.
    Missing,
    /// The file has been added.
    New,
}

impl What {
    /// Word for the kind, in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            What::Changed => "changed",
            What::Missing => "missing",
            What::New => "new",
        }
    }
}

/// SHA-256 of the list of all files below a folder.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn contents(folder: &Path) -> Result<String, RootError> {
    Ok(sha256_hex(list(folder)?.as_bytes()))
}

/// Writes the list of a root's files; the result is its SHA-256.
pub(super) fn write_list(root: &Path) -> Result<String, RootError> {
    let list = list(root)?;
    write_anew(&root.join(FILES), list.as_bytes())?;
    Ok(sha256_hex(list.as_bytes()))
}

/// Lists the differences between a root and its list of files.
pub(super) fn compare(root: &Path, lock: &Lock) -> Result<Vec<Difference>, RootError> {
    let file = root.join(FILES);
    let is_file = fs::symlink_metadata(&file).is_ok_and(|about| about.is_file());
    let then = match is_file {
        true => fs::read_to_string(&file).map_err(RootError::reading(&file))?,
        false => String::new(),
    };
    if sha256_hex(then.as_bytes()) != lock.files_sha256 {
        return Err(RootError::BadLock {
            file,
            problem: format!("the list of files is not the one that {LOCK} names"),
        });
    }
    let now = list(root)?;
    let (mut then, now) = (by_path(&then), by_path(&now));
    let mut found: Vec<Difference> = now
        .into_iter()
        .filter_map(|(path, about)| {
            let what = match then.remove(path) {
                Some(same) if same == about => return None,
                Some(_) => What::Changed,
                None => What::New,
            };
            let path = path.to_string();
            Some(Difference { path, what })
        })
        .collect();
    found.extend(then.into_keys().map(|path| Difference {
        path: path.to_string(),
        what: What::Missing,
    }));
    found.sort();
    Ok(found)
}

fn by_path(list: &str) -> BTreeMap<&str, &str> {
    let split = |line| str::rsplit_once(line, '\t').map(|(about, path)| (path, about));
    list.lines().filter_map(split).collect()
}

/// A line for each file below a folder, but the files that name it: the SHA-256 of its content, `-> TARGET`, or its kind;
/// its mode in octal digits; its path. Tabs stand between them, and unusual bytes are escaped.
fn list(root: &Path) -> Result<String, RootError> {
    let mut lines = String::new();
    below(root, Path::new(""), &mut lines)?;
    Ok(lines)
}

fn below(root: &Path, path: &Path, lines: &mut String) -> Result<(), RootError> {
    let folder = root.join(path);
    let entries = fs::read_dir(&folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut names: Vec<OsString> = entries
        .map_err(RootError::reading(&folder))?
        .iter()
        .map(fs::DirEntry::file_name)
        .collect();
    names.sort();
    for name in names {
        let path = path.join(&name);
        if path == Path::new(LOCK) || path == Path::new(FILES) {
            continue;
        }
        let file = root.join(&path);
        let about = fs::symlink_metadata(&file).map_err(RootError::reading(&file))?;
        let kind = about.file_type();
        let content = if kind.is_file() {
            let opened = File::open(&file).map_err(RootError::reading(&file))?;
            sha256(opened).map_err(RootError::reading(&file))?
        } else if kind.is_symlink() {
            let target = fs::read_link(&file).map_err(RootError::reading(&file))?;
            format!("-> {}", escaped(target.as_os_str()))
        } else if kind.is_dir() {
            "folder".to_string()
        } else {
            "special".to_string()
        };
        // Links have no mode of their own.
        let mode = match kind.is_symlink() {
            true => 0,
            false => about.permissions().mode() & 0o7777,
        };
        let _ = writeln!(lines, "{content}\t{mode:o}\t{}", escaped(path.as_os_str()));
        if kind.is_dir() {
            below(root, &path, lines)?;
        }
    }
    Ok(())
}

fn escaped(name: &OsStr) -> String {
    name.as_bytes().escape_ascii().to_string()
}

/// Names of the files in folders of a root, which `folders` separates by colons.
pub(crate) fn names(root: &Path, folders: &str) -> Vec<String> {
    let entries = folders.split(':').filter_map(|folder| {
        let inner = inside(root, &Path::new(folder).join("name")).ok()?;
        fs::read_dir(inner.parent()?).ok()
    });
    let names = entries.flatten().filter_map(Result::ok);
    names
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

/// SHA-256 of all that can be read, hexadecimal.
pub(super) fn sha256(mut from: impl io::Read) -> io::Result<String> {
    struct Digesting(Sha256);
    impl io::Write for Digesting {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut digesting = Digesting(Sha256::new());
    io::copy(&mut from, &mut digesting)?;
    let digest = digesting.0.finalize();
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Writes a new file in place of whatever has its name, which may be a link to somewhere else, and makes the folders above.
pub(super) fn write_anew(file: &Path, bytes: &[u8]) -> Result<(), RootError> {
    let write = || {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        match fs::remove_file(file) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
            _ => {}
        }
        File::create_new(file)?.write_all(bytes)
    };
    write().map_err(RootError::writing(file))
}

/// The place on the host of a path of a root, whose last name is not followed. Links on the way are followed inside of the
/// root. What is missing on the way is passed over: no part of the place is a link.
pub(super) fn inside(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let names = |path: &Path| -> Vec<OsString> {
        let parts = path.components().rev();
        parts
            .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
            .map(|part| part.as_os_str().to_os_string())
            .collect()
    };
    let mut ahead = names(path);
    let mut at: Vec<OsString> = Vec::new();
    let mut links = 0;
    while let Some(name) = ahead.pop() {
        if name == ".." {
            at.pop();
            continue;
        }
        at.push(name);
        if ahead.is_empty() {
            break;
        }
        let here = root.join(at.iter().collect::<PathBuf>());
        match fs::symlink_metadata(&here) {
            Ok(about) if about.is_symlink() => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(io::Error::other("links lead in a circle"));
                }
                let target = fs::read_link(&here)?;
                match target.is_absolute() {
                    true => at.clear(),
                    false => drop(at.pop()),
                }
                ahead.extend(names(&target));
            }
            Ok(_) => {}
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(root.join(at.iter().collect::<PathBuf>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_link_leads_out_of_a_root() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("usr/lib")).expect("made");
        symlink("usr/lib", root.join("lib")).expect("made");
        symlink("/usr", root.join("absolute")).expect("made");
        symlink("../../../../etc", root.join("out")).expect("made");
        symlink("round", root.join("round")).expect("made");
        let place = |path: &str| inside(&root, Path::new(path)).expect(path);
        assert_eq!(place("lib/x"), root.join("usr/lib/x"));
        assert_eq!(place("/lib/../x"), root.join("usr/x"));
        assert_eq!(place("absolute/lib/x"), root.join("usr/lib/x"));
        assert_eq!(place("out/passwd"), root.join("etc/passwd"));
        assert_eq!(place("../../x"), root.join("x"));
        assert_eq!(place("round"), root.join("round"));
        assert!(inside(&root, Path::new("round/x")).is_err());
    }
}
