//! Where a path leads: to a made-up file, or to the files of the root folder.

use super::tree::{self, Link, Node};
use crate::os::Linux;
use crate::os::descriptors::Kind;
use crate::os::errno::Errno;
use crate::os::tree::AT_FDCWD;

/// Links that one path may lead through, as in Linux.
const MAX_LINKS: u32 = 40;
/// The working folder, for calls that take a descriptor.
const CWD: u64 = AT_FDCWD as u64;
/// The folders at `/` that are made up.
const TOP: [&str; 3] = ["proc", "dev", "sys"];

/// Where a path leads.
#[derive(Debug)]
pub(in crate::os) enum Located {
    /// To this path among the files of the root folder, from this descriptor on.
    Host(u64, Vec<u8>),
    /// To a made-up file, or a made-up link that is not followed.
    Made(Made),
    /// To the program's own file.
    Program,
    /// To the program of another process.
    ProgramOf(u32),
    /// To an open file, through a link in `/proc/self/fd`.
    Descriptor(u64),
}

/// A made-up file that exists.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(in crate::os) struct Made {
    /// Path of the file in [`tree`].
    pub(super) path: String,
    pub(super) node: Node,
}

/// One step of the way along a path.
enum Step {
    Found(Located),
    /// Another path, from this descriptor on.
    Again(u64, Vec<u8>),
}

impl Linux {
    /// Where `path` leads from `dirfd`; the last link is followed if `follow` asks for it.
    ///
    /// # Errors
    /// If the path leads into a made-up folder and there is no such file.
    pub(in crate::os) fn locate(
        &self,
        dirfd: u64,
        path: &[u8],
        follow: bool,
    ) -> Result<Located, Errno> {
        let (mut dirfd, mut path) = (dirfd, path.to_vec());
        for _ in 0..=MAX_LINKS {
            match self.locate_once(dirfd, &path, follow)? {
                Step::Found(located) => return Ok(located),
                Step::Again(from, way) => (dirfd, path) = (from, way),
            }
        }
        Err(Errno::ELOOP)
    }

    fn locate_once(&self, dirfd: u64, path: &[u8], follow: bool) -> Result<Step, Errno> {
        let as_it_is = Step::Found(Located::Host(dirfd, path.to_vec()));
        let (Some(start), Ok(text)) = (self.start_text(dirfd, path), std::str::from_utf8(path))
        else {
            return Ok(as_it_is);
        };
        let mut way = Way::new(text);
        let mut at = Made {
            path: start,
            node: Node::Folder,
        };
        // Whether the way has led through a made-up folder, which the host does not know.
        let mut was_made = is_made(&at.path);
        let on_host = |at: &Made, was_made, rest: String| match was_made {
            true => Step::Found(Located::Host(CWD, format!("{}/{rest}", at.path).into())),
            false => as_it_is,
        };
        while let Some(name) = way.next_name() {
            if name == ".." {
                at.path.truncate(at.path.rfind('/').unwrap_or(0));
                at.node = Node::Folder;
                continue;
            }
            let found = match at.path.as_str() {
                "" if TOP.contains(&name) => Some((format!("/{name}"), Node::Folder)),
                folder if is_made(folder) => {
                    let found = self.made_child(folder, name);
                    found.map(|node| (format!("{folder}/{name}"), node))
                }
                _ => return Ok(on_host(&at, was_made, way.from(name))),
            };
            was_made = true;
            match found {
                None if at.path == "/dev" => {
                    let path = format!("/dev/{}", way.from(name));
                    return Ok(Step::Found(Located::Host(CWD, path.into())));
                }
                None => return Err(Errno::ENOENT),
                Some((_, Node::Link(link))) if follow || way.goes_on() => {
                    let whose = tree::in_table(&at.path).1;
                    return self.behind(&way, link, whose.map_or(self.pid, |whose| whose.pid));
                }
                Some((_, node)) if node != Node::Folder && way.goes_on() => {
                    return Err(Errno::ENOTDIR);
                }
                Some((path, node)) => at = Made { path, node },
            }
        }
        if is_made(&at.path) {
            Ok(Step::Found(Located::Made(at)))
        } else {
            Ok(on_host(&at, was_made, String::new()))
        }
    }

    /// The text of the folder that `path` begins at, where the path may lead to a made-up file; without
    /// `/` at its end. A path from a folder of the host is looked at only if it names a made-up folder.
    fn start_text(&self, dirfd: u64, path: &[u8]) -> Option<String> {
        if path.is_empty() {
            return None;
        }
        if path[0] == b'/' {
            return Some(String::new());
        }
        if let Some(folder) = self.made_start(dirfd) {
            return Some(folder.to_owned());
        }
        let names_made = |name: &[u8]| TOP.iter().any(|top| top.as_bytes() == name);
        if !path.split(|&b| b == b'/').any(names_made) {
            return None;
        }
        let text = match (self.tree.root.as_ref(), self.host_start(dirfd)) {
            (Some(root), Some(folder)) => root.current_path(folder).ok()?.text(),
            (None, _) if dirfd as i32 == AT_FDCWD => b"/".to_vec(),
            _ => return None,
        };
        let text = String::from_utf8(text).ok()?;
        Some(text.strip_suffix('/').unwrap_or(&text).to_owned())
    }

    /// The made-up folder that relative paths begin at, if it is one.
    fn made_start(&self, dirfd: u64) -> Option<&str> {
        if dirfd as i32 == AT_FDCWD {
            return self.tree.made_cwd.as_deref();
        }
        match &self.files.get(dirfd).ok()?.kind {
            Kind::MadeFolder(folder) => Some(folder.path()),
            _ => None,
        }
    }

    fn host_start(&self, dirfd: u64) -> Option<&crate::os::paths::Folder> {
        if dirfd as i32 == AT_FDCWD {
            return self.tree.cwd.as_ref();
        }
        match &self.files.get(dirfd).ok()?.kind {
            Kind::Directory(listing) => Some(listing.folder()),
            _ => None,
        }
    }
}

/// The names of a path that are still to be walked.
struct Way<'a> {
    names: Vec<&'a str>,
    next: usize,
    /// The path ends in `/` or `/.`: it must lead to a folder.
    wants_folder: bool,
}

impl<'a> Way<'a> {
    fn new(path: &'a str) -> Way<'a> {
        let is_name = |name: &&str| !name.is_empty() && *name != ".";
        Way {
            names: path.split('/').filter(is_name).collect(),
            next: 0,
            wants_folder: path.ends_with('/') || path.ends_with("/."),
        }
    }

    fn next_name(&mut self) -> Option<&'a str> {
        let name = self.names.get(self.next)?;
        self.next += 1;
        Some(name)
    }

    /// Whether the file walked last must be a folder.
    fn goes_on(&self) -> bool {
        self.wants_folder || self.next < self.names.len()
    }

    /// `name` and the names behind it.
    fn from(&self, name: &str) -> String {
        let rest = std::iter::once(&name).chain(&self.names[self.next..]);
        let text = rest.copied().collect::<Vec<_>>().join("/");
        text + if self.wants_folder { "/" } else { "" }
    }
}

impl Linux {
    /// Where the rest of a way leads behind a link in the folder of process `pid`.
    fn behind(&self, way: &Way<'_>, link: Link, pid: u32) -> Result<Step, Errno> {
        let again = |dirfd, start: &str| {
            let path = way.from(start);
            Ok(Step::Again(dirfd, path.into_bytes()))
        };
        let own = self.pid;
        let is_own = pid == own;
        match link {
            Link::Path(target) => again(CWD, target),
            Link::Own => again(CWD, &format!("/proc/{own}")),
            Link::OwnThread => again(CWD, &format!("/proc/{own}/task/{}", self.call.caller)),
            Link::Root => again(CWD, "/."),
            Link::WorkingFolder if is_own => again(CWD, "."),
            Link::WorkingFolder => {
                let (os, _) = self.parked_process(pid).ok_or(Errno::ENOENT)?;
                again(CWD, &String::from_utf8_lossy(&os.cwd_text()?))
            }
            Link::Program if way.goes_on() => Err(Errno::ENOTDIR),
            Link::Program if is_own => Ok(Step::Found(Located::Program)),
            Link::Program => Ok(Step::Found(Located::ProgramOf(pid))),
            // Open files of others cannot be opened so.
            Link::Descriptor(_) if !is_own => Err(Errno::EACCES),
            Link::Descriptor(fd) if way.goes_on() => again(fd, "."),
            Link::Descriptor(fd) => Ok(Step::Found(Located::Descriptor(fd))),
        }
    }
}

fn is_made(path: &str) -> bool {
    let top = path.split('/').nth(1);
    top.is_some_and(|top| TOP.contains(&top))
}
