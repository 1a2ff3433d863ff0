//! Notices of what calls do to files, for watches (Linux `include/linux/fsnotify.h`).
//!
//! A call is looked at twice: before it is served, for what it is about to take away, and with its result. The name of an
//! open file is the one that the host has for it now, also when the file was renamed since it was opened.

use hps_isa::memory::Memory;

use super::super::Linux;
use super::super::calls::Call;
use super::super::descriptors::{Kind, OpenFile};
use super::super::errno::Errno;
use super::super::paths::{Entrance, Last, Node, host_path, identity};
use super::super::stat::{S_IFDIR, S_IFMT};
use super::super::tree::{AT_FDCWD, AT_REMOVEDIR};
use super::{Identity, mask};
use crate::host::sys::fd::{AsFd, BorrowedFd};
use crate::host::sys::ffi::OsStrExt;
use crate::host::sys::rustix::fs::{self, AtFlags, CWD};

const RENAME_EXCHANGE: u64 = 2;
/// `AF_UNIX`
const LOCAL_FAMILY: u64 = 1;

/// A file that something happens to.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Subject {
    /// The file itself, if watches of it are told.
    pub(super) own: Option<Identity>,
    /// Folder of the file and the name there, if watches of the folder are told.
    pub(super) place: Option<(Identity, Vec<u8>)>,
    pub(super) is_folder: bool,
    /// The file has lost the name.
    pub(super) is_unlinked: bool,
}

impl Subject {
    /// An open file under the root folder.
    pub(in super::super) fn of_open(file: &OpenFile) -> Option<Subject> {
        match file.flags.path_only || file.path.is_none() {
            true => None,
            false => Subject::of_descriptor(file.kind.on_host()?),
        }
    }

    fn of_descriptor(fd: BorrowedFd<'_>) -> Option<Subject> {
        const DELETED: &[u8] = b" (deleted)";
        const IN_MEMORY: &[u8] = b"/memfd:";
        let stat = fs::fstat(fd).ok()?;
        let own = identity(&stat);
        let mut subject = Subject {
            own: Some(own),
            is_folder: stat.st_mode & S_IFMT == S_IFDIR,
            ..Subject::default()
        };
        let Ok(path) = host_path(fd) else {
            return Some(subject);
        };
        let there = fs::statat(CWD, &path[..], AtFlags::SYMLINK_NOFOLLOW);
        let is_there = there.is_ok_and(|stat| identity(&stat) == own);
        let path = match path.strip_suffix(DELETED) {
            Some(path) if !is_there => path,
            _ => &path[..],
        };
        subject.is_unlinked = !is_there;
        if is_there || !path.starts_with(IN_MEMORY) {
            subject.place = place_of(path);
        }
        Some(subject)
    }

    /// A file that only watches of it are told of.
    fn alone(node: &Node) -> Subject {
        Subject {
            own: Some(identity(&node.stat)),
            is_folder: node.is_dir(),
            ..Subject::default()
        }
    }

    /// A name in a folder, of which only watches of the folder are told.
    fn named(entrance: &Entrance, is_folder: bool) -> Option<Subject> {
        let Last::Name(name) = &entrance.last else {
            return None;
        };
        let folder = identity(&fs::fstat(&entrance.folder).ok()?);
        Some(Subject {
            place: Some((folder, name.as_bytes().to_vec())),
            is_folder,
            ..Subject::default()
        })
    }
}

/// The folder and the name at the end of a path of the host.
fn place_of(path: &[u8]) -> Option<(Identity, Vec<u8>)> {
    let slash = path.iter().rposition(|byte| *byte == b'/')?;
    let name = &path[slash + 1..];
    let folder = identity(&fs::stat(&path[..slash.max(1)]).ok()?);
    (!name.is_empty()).then(|| (folder, name.to_vec()))
}

/// A name in a folder, and what it stands for.
#[derive(Debug)]
struct Named {
    entry: Subject,
    node: Option<Node>,
}

/// State of the files of a call before it is served.
#[derive(Debug, Default)]
pub(in super::super) struct Foreseen {
    /// The name that `open` is about to make.
    created: Option<Subject>,
    /// The name that is about to go.
    from: Option<Named>,
    /// The name that another file is about to have.
    to: Option<Named>,
}

impl Linux {
    /// A call is about to be served: keeps what there is no more behind it.
    #[inline]
    pub(in super::super) fn foresee(
        &mut self,
        call: Call,
        mem: &Memory,
        a: &[u64; 6],
    ) -> Option<Box<Foreseen>> {
        if !self.files.watching.is_used {
            return None;
        }
        self.files.watching.queued.room = self.room_left();
        let path = |at| self.path_argument(mem, a[at]).ok();
        let found = match call {
            Call::Openat if self.abi.open_rules().decode(a[2]).create => Foreseen {
                created: path(1).and_then(|path| self.missing(a[0], &path)),
                ..Foreseen::default()
            },
            Call::Unlinkat => Foreseen {
                from: path(1).and_then(|path| self.entry(a[0], &path)),
                ..Foreseen::default()
            },
            Call::Renameat | Call::Renameat2 => Foreseen {
                from: path(1).and_then(|path| self.entry(a[0], &path)),
                to: path(3).and_then(|path| self.entry(a[2], &path)),
                ..Foreseen::default()
            },
            _ => Foreseen::default(),
        };
        Some(Box::new(found))
    }

    /// The name that a file gets if a path is opened to create it.
    fn missing(&self, dirfd: u64, path: &[u8]) -> Option<Subject> {
        let (dirfd, path) = self.on_host(dirfd, path, true).ok()?;
        let place = self.resolve(dirfd, &path, true).ok()?;
        match place.node {
            None => Subject::named(&place.entrance, false),
            Some(_) => None,
        }
    }

    /// A name, and what it stands for.
    fn entry(&self, dirfd: u64, path: &[u8]) -> Option<Named> {
        let entrance = self.entrance(dirfd, path).ok()?;
        let mut entry = Subject::named(&entrance, false)?;
        let Last::Name(name) = &entrance.last else {
            return None;
        };
        let node = Node::named(&entrance.folder, name).ok();
        entry.is_folder = node.as_ref().is_some_and(Node::is_dir);
        Some(Named { entry, node })
    }

    /// A call has been served: tells watches what it has done.
    pub(in super::super) fn tell_watches(
        &mut self,
        call: Call,
        mem: &Memory,
        a: &[u64; 6],
        foreseen: &Foreseen,
        result: Option<u64>,
    ) {
        if let Some(value) = result {
            match call {
                Call::Unlinkat => self.tell_of_removal(foreseen, a[2] & AT_REMOVEDIR != 0),
                Call::Renameat => self.tell_of_move(foreseen, false),
                Call::Renameat2 => self.tell_of_move(foreseen, a[4] & RENAME_EXCHANGE != 0),
                Call::Openat => self.tell_of_opening(value, foreseen),
                _ => {
                    self.tell_of_content(call, a, value);
                    self.tell_of_attributes(call, mem, a);
                    self.tell_of_new_name(call, mem, a);
                }
            }
        }
        self.end_watches();
    }

    /// Watches of files that are gone end, and whoever waits for an event looks again.
    pub(in super::super) fn end_watches(&mut self) {
        if !self.files.watching.is_used {
            return;
        }
        self.end_nameless();
        let bytes = std::mem::take(&mut self.files.watching.queued.bytes);
        if bytes > 0 {
            self.charge_anyway(bytes);
            self.wake_on_files();
        }
    }

    /// Files that have no name any more and that nobody has open are gone.
    fn end_nameless(&mut self) {
        let nameless = std::mem::take(&mut self.files.watching.nameless);
        for one in nameless {
            if self.is_in_use(one) {
                self.files.watching.nameless.push(one);
                continue;
            }
            let subject = Subject {
                own: Some(one),
                ..Subject::default()
            };
            self.files.notify(&subject, mask::DELETE_SELF, 0);
            let mut queued = std::mem::take(&mut self.files.watching.queued);
            for instance in self.files.all_of::<super::Inotify>() {
                instance.end_watch(one, &mut queued);
            }
            self.files.watching.queued = queued;
        }
    }

    /// Whether a process has a file open, mapped, or as its folder.
    fn is_in_use(&self, wanted: Identity) -> bool {
        let is_it = |fd: BorrowedFd<'_>| fs::fstat(fd).is_ok_and(|stat| identity(&stat) == wanted);
        let mut files = self.files.files.iter().flatten();
        let is_open = files.any(|(file, _)| match &file.kind {
            Kind::Place(node) => identity(&node.stat) == wanted,
            kind => kind.on_host().is_some_and(is_it),
        });
        let mut processes = std::iter::once(self).chain(self.other_processes());
        is_open
            || processes.any(|os| {
                let is_folder = os
                    .tree
                    .cwd
                    .as_ref()
                    .is_some_and(|folder| is_it(folder.as_fd()));
                is_folder || os.space.mappings.holds(wanted)
            })
    }

    /// A file has lost a name: it is gone if that was the last one.
    fn lose_name(&mut self, node: &Node) {
        let is_last = node.is_dir() || node.stat_now().is_ok_and(|stat| stat.st_nlink == 0);
        let is_watched = |one: &super::Inotify| one.watches.contains_key(&identity(&node.stat));
        if is_last && self.files.instances().any(is_watched) {
            self.files.watching.nameless.push(identity(&node.stat));
        }
    }

    fn tell_of_removal(&mut self, foreseen: &Foreseen, was_folder: bool) {
        let Some(Named {
            entry,
            node: Some(node),
        }) = &foreseen.from
        else {
            return;
        };
        if !was_folder {
            self.files.notify(&Subject::alone(node), mask::ATTRIB, 0);
        }
        self.lose_name(node);
        self.end_nameless();
        self.files.notify(entry, mask::DELETE, 0);
    }

    fn tell_of_move(&mut self, foreseen: &Foreseen, is_exchange: bool) {
        let (Some(from), Some(to)) = (&foreseen.from, &foreseen.to) else {
            return;
        };
        let Some(moved) = &from.node else { return };
        let replaced = to.node.as_ref();
        if replaced.is_some_and(|node| identity(&node.stat) == identity(&moved.stat)) {
            // Two names of one file stay as they are.
            return;
        }
        let lost = replaced.filter(|_| !is_exchange);
        self.tell_of_one_move(&from.entry, &to.entry, moved, lost);
        if let Some(other) = replaced
            && is_exchange
        {
            self.tell_of_one_move(&to.entry, &from.entry, other, None);
        }
        if let Some(lost) = lost {
            self.lose_name(lost);
        }
    }

    fn tell_of_one_move(
        &mut self,
        from: &Subject,
        to: &Subject,
        moved: &Node,
        lost: Option<&Node>,
    ) {
        let watching = &mut self.files.watching;
        watching.last_cookie = watching.last_cookie.wrapping_add(1);
        let cookie = watching.last_cookie;
        let of_moved = |place: &Subject| Subject {
            is_folder: moved.is_dir(),
            ..place.clone()
        };
        self.files.notify(&of_moved(from), mask::MOVED_FROM, cookie);
        self.files.notify(&of_moved(to), mask::MOVED_TO, cookie);
        if let Some(lost) = lost {
            self.files.notify(&Subject::alone(lost), mask::ATTRIB, 0);
        }
        self.files
            .notify(&Subject::alone(moved), mask::MOVE_SELF, 0);
    }

    fn tell_of_opening(&mut self, fd: u64, foreseen: &Foreseen) {
        if let Some(created) = &foreseen.created {
            self.files.notify(created, mask::CREATE, 0);
        }
        self.tell_of_open(fd, mask::OPEN);
        let is_emptied = self.files.get(fd).is_ok_and(|file| file.flags.truncate);
        if is_emptied && foreseen.created.is_none() {
            self.tell_of_open(fd, mask::MODIFY);
        }
    }

    /// Something has happened to an open file.
    fn tell_of_open(&mut self, fd: u64, what: u32) {
        if let Some(subject) = self.files.get(fd).ok().and_then(Subject::of_open) {
            self.files.notify(&subject, what, 0);
        }
    }

    /// Something has happened to the file at a path.
    fn tell_of_path(&mut self, dirfd: u64, path: Result<Vec<u8>, Errno>, what: u32) {
        let found = path.and_then(|path| {
            let (dirfd, path) = self.on_host(dirfd, &path, true)?;
            self.resolve(dirfd, &path, true)
        });
        let Ok(place) = found else { return };
        let Ok(node) = place.existing() else { return };
        let named = Subject::named(&place.entrance, false);
        let subject = Subject {
            place: named.and_then(|named| named.place),
            ..Subject::alone(node)
        };
        self.files.notify(&subject, what, 0);
    }

    /// Calls that read or change content.
    fn tell_of_content(&mut self, call: Call, a: &[u64; 6], count: u64) {
        let (read, written) = match call {
            Call::Read | Call::Pread64 if count > 0 => (Some(a[0]), None),
            Call::Readv | Call::Preadv | Call::Preadv2 => (Some(a[0]), None),
            Call::Getdents64 | Call::OsfGetdirentries => (Some(a[0]), None),
            Call::Write | Call::Pwrite64 | Call::Writev | Call::Pwritev | Call::Pwritev2
                if count > 0 =>
            {
                (None, Some(a[0]))
            }
            Call::Ftruncate | Call::Fallocate => (None, Some(a[0])),
            Call::Sendfile if count > 0 => (Some(a[1]), Some(a[0])),
            Call::CopyFileRange | Call::Splice if count > 0 => (Some(a[0]), Some(a[2])),
            _ => return,
        };
        if let Some(fd) = read {
            self.tell_of_open(fd, mask::ACCESS);
        }
        if let Some(fd) = written {
            self.tell_of_open(fd, mask::MODIFY);
        }
    }

    /// Calls that change attributes, or the size of the file at a path.
    fn tell_of_attributes(&mut self, call: Call, mem: &Memory, a: &[u64; 6]) {
        let is_owner = |user: u64, group: u64| user as u32 != u32::MAX || group as u32 != u32::MAX;
        let path = |at| self.path_argument(mem, a[at]);
        match call {
            Call::Fchmod => self.tell_of_open(a[0], mask::ATTRIB),
            Call::Fchown if is_owner(a[1], a[2]) => self.tell_of_open(a[0], mask::ATTRIB),
            Call::Fchmodat => self.tell_of_path(a[0], path(1), mask::ATTRIB),
            Call::Fchownat if is_owner(a[2], a[3]) => {
                self.tell_of_path(a[0], path(1), mask::ATTRIB);
            }
            Call::Truncate => self.tell_of_path(AT_FDCWD as u64, path(0), mask::MODIFY),
            Call::Utimensat => {
                let what = match times_set(mem, a[2]) {
                    (false, false) => return,
                    (true, false) => mask::ACCESS,
                    (false, true) => mask::MODIFY,
                    (true, true) => mask::ATTRIB,
                };
                match a[1] {
                    0 => self.tell_of_open(a[0], what),
                    _ => self.tell_of_path(a[0], path(1), what),
                }
            }
            Call::Execve => {
                self.tell_of_path(AT_FDCWD as u64, path(0), mask::OPEN);
                self.tell_of_path(AT_FDCWD as u64, self.path_argument(mem, a[0]), mask::ACCESS);
            }
            _ => {}
        }
    }

    /// Calls that make a name.
    fn tell_of_new_name(&mut self, call: Call, mem: &Memory, a: &[u64; 6]) {
        let (dirfd, path) = match call {
            Call::Mkdirat | Call::Mknodat => (a[0], self.path_argument(mem, a[1])),
            Call::Symlinkat => (a[1], self.path_argument(mem, a[2])),
            Call::Linkat => (a[2], self.path_argument(mem, a[3])),
            Call::Bind => (AT_FDCWD as u64, socket_path(mem, a)),
            _ => return,
        };
        let Some(made) = path.ok().and_then(|path| self.entry(dirfd, &path)) else {
            return;
        };
        if let Some(node) = &made.node
            && call == Call::Linkat
        {
            self.files.notify(&Subject::alone(node), mask::ATTRIB, 0);
        }
        self.files.notify(&made.entry, mask::CREATE, 0);
    }
}

/// Whether `utimensat` changes the time of the last access, and that of the last change.
fn times_set(mem: &Memory, times: u64) -> (bool, bool) {
    const UTIME_OMIT: u64 = (1 << 30) - 2;
    let is_set = |offset| {
        let nanos = mem.read::<8>(times.wrapping_add(offset));
        times == 0 || nanos.is_ok_and(|nanos| nanos != UTIME_OMIT)
    };
    (is_set(8), is_set(24))
}

/// The path that `bind` has made, if its socket has one.
fn socket_path(mem: &Memory, a: &[u64; 6]) -> Result<Vec<u8>, Errno> {
    let [_, at, len, ..] = *a;
    if len <= 2 || mem.read::<2>(at)? != LOCAL_FAMILY {
        return Err(Errno::ENOENT);
    }
    let path = mem.readable(at.wrapping_add(2), len - 2)?;
    let end = path.iter().position(|byte| *byte == 0);
    Ok(path[..end.unwrap_or(path.len())].to_vec())
}
