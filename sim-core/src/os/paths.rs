//! Guest paths: resolved component by component under the root, which nothing can leave.
//!
//! The guest's `/` is the root folder. `..` at the root stays there. An absolute symbolic link is
//! taken from the guest's root, as under `chroot`; a relative one that climbs above the root is
//! refused. No host path with an unresolved link in it is ever opened.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::errno::Errno;

/// Longest path, with its zero (`PATH_MAX`).
pub(super) const PATH_MAX: usize = 4096;
const NAME_MAX: usize = 255;
const MAX_LINKS: u32 = 40;

/// A place in the guest's tree: names from the root, none of them a link or `..`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GuestPath(Vec<OsString>);

impl GuestPath {
    /// The path as the guest writes it.
    pub(super) fn text(&self) -> Vec<u8> {
        if self.0.is_empty() {
            return b"/".to_vec();
        }
        self.0
            .iter()
            .flat_map(|name| [b"/", name.as_bytes()].concat())
            .collect()
    }

    /// A number that stands for the file: FNV-1a of its path. The host's numbers would differ
    /// from host to host.
    pub(super) fn inode(&self) -> u64 {
        self.text()
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
            })
    }

    pub(super) fn child(&self, name: &OsStr) -> GuestPath {
        let mut names = self.0.clone();
        names.push(name.to_owned());
        GuestPath(names)
    }

    pub(super) fn parent(&self) -> GuestPath {
        GuestPath(self.0[..self.0.len().saturating_sub(1)].to_vec())
    }
}

/// Where a path leads.
#[derive(Debug)]
pub(super) struct Resolved {
    /// The place in the guest's tree.
    pub guest: GuestPath,
    /// The same on the host.
    pub host: PathBuf,
    /// What is there (a link only if the last one was not to be followed); none: nothing.
    pub found: Option<Metadata>,
    /// The path ended in a way that only fits a directory.
    pub wants_directory: bool,
}

impl Resolved {
    /// What is there.
    pub(super) fn existing(&self) -> Result<&Metadata, Errno> {
        let found = self.found.as_ref().ok_or(Errno::ENOENT)?;
        if self.wants_directory && !found.is_dir() {
            Err(Errno::ENOTDIR)
        } else {
            Ok(found)
        }
    }
}

/// The root folder of a guest.
#[derive(Clone, Debug)]
pub(super) struct Root {
    dir: PathBuf,
}

/// One name still to be walked, and whether it comes from a link.
type Pending = VecDeque<(OsString, bool)>;

impl Root {
    /// The folder must exist.
    pub(super) fn new(dir: &Path) -> io::Result<Root> {
        let dir = dir.canonicalize()?;
        if dir.is_dir() {
            Ok(Root { dir })
        } else {
            Err(io::Error::from(io::ErrorKind::NotADirectory))
        }
    }

    pub(super) fn host(&self, guest: &GuestPath) -> PathBuf {
        let mut path = self.dir.clone();
        path.extend(&guest.0);
        path
    }

    /// Walks `path` from `start` (from the root, if it is absolute). The last component may be
    /// missing; it is followed if it is a link and `follow_last` asks for that.
    pub(super) fn resolve(
        &self,
        start: &GuestPath,
        path: &[u8],
        follow_last: bool,
    ) -> Result<Resolved, Errno> {
        if path.is_empty() {
            return Err(Errno::ENOENT);
        }
        if path.len() >= PATH_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        let mut at = if path[0] == b'/' {
            GuestPath::default()
        } else {
            start.clone()
        };
        let mut pending = Pending::new();
        let mut wants_directory = push_front(&mut pending, path, false);
        let mut links = 0;
        while let Some((name, from_link)) = pending.pop_front() {
            if name == ".." {
                if at.0.pop().is_none() && from_link {
                    return Err(Errno::EACCES);
                }
                continue;
            }
            if name.len() > NAME_MAX {
                return Err(Errno::ENAMETOOLONG);
            }
            at.0.push(name);
            let is_last = pending.is_empty();
            let host = self.host(&at);
            let found = match std::fs::symlink_metadata(&host) {
                Ok(found) => Some(found),
                Err(e) if e.kind() == io::ErrorKind::NotFound && is_last => None,
                Err(e) => return Err(e.into()),
            };
            let is_link = found.as_ref().is_some_and(Metadata::is_symlink);
            if is_link && (!is_last || follow_last || wants_directory) {
                links += 1;
                if links > MAX_LINKS {
                    return Err(Errno::ELOOP);
                }
                let target = std::fs::read_link(&host)?.into_os_string().into_vec();
                at.0.pop();
                if target.first() == Some(&b'/') {
                    at.0.clear();
                }
                let directory = push_front(&mut pending, &target, true);
                wants_directory |= directory && is_last;
            } else if is_last {
                return Ok(Resolved {
                    guest: at,
                    host,
                    found,
                    wants_directory,
                });
            } else if found.is_some_and(|f| !f.is_dir()) {
                return Err(Errno::ENOTDIR);
            }
        }
        // The path ended in "..", "." or "/": what is there was walked through, so it is a
        // directory, unless somebody else removed it meanwhile.
        let host = self.host(&at);
        let found = std::fs::symlink_metadata(&host)?;
        Ok(Resolved {
            guest: at,
            host,
            found: Some(found),
            wants_directory: true,
        })
    }
}

/// Puts the components of a path before those that are pending. Returns whether the path ends in
/// a way that only fits a directory.
fn push_front(pending: &mut Pending, path: &[u8], from_link: bool) -> bool {
    for name in path
        .rsplit(|&b| b == b'/')
        .filter(|name| !name.is_empty() && *name != b".")
    {
        pending.push_front((OsStr::from_bytes(name).to_owned(), from_link));
    }
    let last = path.rsplit(|&b| b == b'/').next().unwrap_or_default();
    matches!(last, b"" | b"." | b"..")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// `outside/secret` beside `root/{file, dir/inner, links...}`.
    fn tree() -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir_all(root.join("dir")).unwrap();
        std::fs::create_dir(dir.path().join("outside")).unwrap();
        std::fs::write(dir.path().join("outside/secret"), "secret").unwrap();
        std::fs::write(root.join("file"), "file").unwrap();
        std::fs::write(root.join("dir/inner"), "inner").unwrap();
        symlink("../outside/secret", root.join("climbs")).unwrap();
        symlink("../../outside", root.join("dir/climbs")).unwrap();
        symlink(dir.path().join("outside/secret"), root.join("absolute")).unwrap();
        symlink("/dir/inner", root.join("from_root")).unwrap();
        symlink("dir/", root.join("to_dir")).unwrap();
        symlink("../file", root.join("dir/up")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let resolver = Root::new(&root).unwrap();
        (dir, resolver)
    }

    fn walk(root: &Root, path: &str) -> Result<String, Errno> {
        let resolved = root.resolve(&GuestPath::default(), path.as_bytes(), true)?;
        resolved.existing()?;
        assert!(
            resolved.host.canonicalize().unwrap().starts_with(&root.dir),
            "{path} escapes"
        );
        Ok(String::from_utf8(resolved.guest.text()).unwrap())
    }

    #[test]
    fn ordinary_paths() {
        let (_dir, root) = tree();
        assert_eq!(walk(&root, "/file"), Ok("/file".into()));
        assert_eq!(walk(&root, "dir//./inner"), Ok("/dir/inner".into()));
        assert_eq!(walk(&root, "/"), Ok("/".into()));
        assert_eq!(walk(&root, "to_dir/inner"), Ok("/dir/inner".into()));
        assert_eq!(walk(&root, "to_dir"), Ok("/dir".into()));
        assert_eq!(walk(&root, "dir/up"), Ok("/file".into()));
        assert_eq!(walk(&root, "from_root"), Ok("/dir/inner".into()));
        assert_eq!(walk(&root, "missing"), Err(Errno::ENOENT));
        assert_eq!(walk(&root, "missing/file"), Err(Errno::ENOENT));
        assert_eq!(walk(&root, "file/"), Err(Errno::ENOTDIR));
        assert_eq!(walk(&root, "file/x"), Err(Errno::ENOTDIR));
        assert_eq!(walk(&root, "loop"), Err(Errno::ELOOP));
        assert_eq!(walk(&root, ""), Err(Errno::ENOENT));
        assert_eq!(walk(&root, &"x".repeat(300)), Err(Errno::ENAMETOOLONG));
        assert_eq!(walk(&root, &"x/".repeat(3000)), Err(Errno::ENAMETOOLONG));
    }

    #[test]
    fn nothing_leaves_the_root() {
        let (dir, root) = tree();
        let outside = dir.path().join("outside/secret");
        assert_eq!(walk(&root, "../outside/secret"), Err(Errno::ENOENT));
        assert_eq!(walk(&root, "/../../../../etc/passwd"), Err(Errno::ENOENT));
        assert_eq!(walk(&root, "dir/../../file"), Ok("/file".into()));
        assert_eq!(walk(&root, "climbs"), Err(Errno::EACCES));
        assert_eq!(walk(&root, "dir/climbs/secret"), Err(Errno::EACCES));
        assert_eq!(walk(&root, "to_dir/climbs/secret"), Err(Errno::EACCES));
        assert_eq!(walk(&root, "absolute"), Err(Errno::ENOENT));
        assert_eq!(walk(&root, outside.to_str().unwrap()), Err(Errno::ENOENT));
    }

    #[test]
    fn last_links_can_be_kept() {
        let (_dir, root) = tree();
        let link = root
            .resolve(&GuestPath::default(), b"climbs", false)
            .unwrap();
        assert!(link.existing().unwrap().is_symlink());
        let dir = root
            .resolve(&GuestPath::default(), b"to_dir/", false)
            .unwrap();
        assert!(dir.existing().unwrap().is_dir());
    }
}
