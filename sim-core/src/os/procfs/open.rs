//! Opening, reading and listing made-up files, and what `stat` tells of them.

use std::fs::File;
use std::io::Write;

use crate::host::sys::rustix;
use crate::host::sys::rustix::fs::{MemfdFlags, Mode, SealFlags};

use super::Started;
use super::locate::{Located, Made};
use super::subject::Whose;
use super::tree::{self, Device, Link, Node, Text};
use crate::memory::Memory;
use crate::os::abi::{BLOCK_BYTES, FileStat, FsStat, OpenFlags};
use crate::os::account::ENTRY_BYTES;
use crate::os::descriptors::{Kind, OpenFile};
use crate::os::errno::Errno;
use crate::os::listing::Entry;
use crate::os::paths::GuestPath;
use crate::os::stat::{FILE_SYSTEM, S_IFCHR, S_IFDIR, S_IFLNK, S_IFREG};
use crate::os::{DEVICE, Linux};
use crate::process::Thread;

/// `DT_*` of a folder's entry are the kind in its mode.
const DT_SHIFT: u32 = 12;

/// An open file whose text is made up.
#[derive(Clone, Debug)]
pub(in crate::os) struct MadeText {
    text: Text,
    made: Made,
    content: Vec<u8>,
    position: u64,
}

impl MadeText {
    pub(in crate::os) fn made(&self) -> &Made {
        &self.made
    }

    /// Bytes of its text.
    pub(in crate::os) fn held_bytes(&self) -> usize {
        self.content.capacity()
    }

    /// What a read of up to `len` bytes gives at `offset`, or at the position, which it then moves.
    pub(in crate::os) fn read(&mut self, len: u64, offset: Option<u64>) -> &[u8] {
        let start = offset
            .unwrap_or(self.position)
            .min(self.content.len() as u64);
        let end = start.saturating_add(len).min(self.content.len() as u64);
        if offset.is_none() {
            self.position = end;
        }
        &self.content[start as usize..end as usize]
    }

    /// Moves the position to `offset` bytes from the start or from where it is.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] for a place before the start. The end is not known: the text grows when it is read.
    pub(in crate::os) fn seek(&mut self, offset: i64, from_start: bool) -> Result<u64, Errno> {
        let base = if from_start { 0 } else { self.position };
        let target = base.checked_add_signed(offset).ok_or(Errno::EINVAL)?;
        self.position = target;
        Ok(target)
    }
}

/// An open folder that is made up, with what was in it when the first entry was asked for.
#[derive(Clone, Debug)]
pub(in crate::os) struct MadeFolder {
    made: Made,
    names: Vec<(String, Node)>,
    position: usize,
    /// What is in it is to be looked up before the next entry is told.
    is_stale: bool,
}

impl MadeFolder {
    pub(in crate::os) fn made(&self) -> &Made {
        &self.made
    }

    /// Its path in the tree of made-up files.
    pub(super) fn path(&self) -> &str {
        &self.made.path
    }

    pub(in crate::os) fn position(&self) -> u64 {
        self.position as u64
    }

    /// How many entries are kept.
    pub(in crate::os) fn count(&self) -> usize {
        self.names.len()
    }

    /// Goes on at an entry; at the first one, the folder is read again.
    pub(in crate::os) fn seek(&mut self, position: usize) {
        self.position = position;
        self.is_stale |= position == 0;
    }

    /// Hands out entries from the position on for as long as `take` wants them. `take` gets the entry
    /// and its number.
    pub(in crate::os) fn list(&mut self, mut take: impl FnMut(&Entry, usize) -> bool) -> bool {
        let here = GuestPath::new(self.made.path.as_bytes());
        let count = self.names.len() + 2;
        while self.position < count {
            let (name, inode, mode) = match self.position {
                0 => (".", here.inode(), S_IFDIR),
                1 => ("..", here.parent().inode(), S_IFDIR),
                at => {
                    let (name, node) = &self.names[at - 2];
                    (
                        name.as_str(),
                        here.child(name.as_ref()).inode(),
                        mode(*node),
                    )
                }
            };
            let entry = Entry {
                name: name.as_bytes(),
                inode,
                kind: (mode >> DT_SHIFT) as u8,
            };
            if !take(&entry, self.position) {
                return true;
            }
            self.position += 1;
        }
        false
    }
}

impl Linux {
    /// Opens what a path leads to, if it is made up; `None` leaves the path to the root folder's files, as
    /// [`Located::Host`] gives it.
    pub(in crate::os) fn open_made(
        &mut self,
        located: Located,
        flags: OpenFlags,
        thread: &Thread,
        mem: &Memory,
    ) -> Result<u64, Errno> {
        let limit = self.limits.descriptors();
        let (kind, path) = match located {
            Located::Host(..) => return Err(Errno::ENOENT),
            Located::Descriptor(fd) => return self.open_again(fd, flags),
            Located::Program => {
                check_existing(flags, S_IFREG | 0o555)?;
                let file = self.program_file(self.started.clone())?;
                (Kind::File(file), self.exe.clone())
            }
            Located::ProgramOf(pid) => {
                check_existing(flags, S_IFREG | 0o555)?;
                let (os, _) = self.parked_process(pid).ok_or(Errno::ENOENT)?;
                let (started, exe) = (os.started.clone(), os.exe.clone());
                (Kind::File(self.program_file(started)?), exe)
            }
            Located::Made(made) => {
                let shown = made.path.clone().into_bytes();
                (self.kind_of_made(made, flags, thread, mem)?, shown)
            }
        };
        let file = OpenFile {
            kind,
            flags,
            path: Some(GuestPath::new(&path)),
            number: None,
        };
        self.files.insert(file, limit)
    }

    fn kind_of_made(
        &mut self,
        made: Made,
        flags: OpenFlags,
        thread: &Thread,
        mem: &Memory,
    ) -> Result<Kind, Errno> {
        check_existing(flags, mode(made.node))?;
        Ok(match made.node {
            Node::Folder => Kind::MadeFolder(MadeFolder {
                names: Vec::new(),
                made,
                position: 0,
                is_stale: true,
            }),
            Node::Text(text) => {
                let content = self.made_text(text, self.whose(&made.path), thread, mem);
                self.charge(content.len() as u64, Errno::ENOMEM)?;
                Kind::MadeText(MadeText {
                    text,
                    content,
                    made,
                    position: 0,
                })
            }
            // Only with `O_PATH`, which gives the link itself.
            Node::Link(_) => Kind::MadeText(MadeText {
                text: Text::Fixed(""),
                content: Vec::new(),
                made,
                position: 0,
            }),
            Node::Device(Device::Terminal) if !flags.path_only => return Err(Errno::ENXIO),
            Node::Device(Device::Zero) => Kind::Zero,
            Node::Device(Device::Full) => Kind::Full,
            Node::Device(Device::Random | Device::Urandom) => Kind::Random,
            Node::Device(Device::Null | Device::Terminal) => Kind::Null,
        })
    }

    /// Opens `/proc/self/fd/N`: regular files anew, with a position of their own; what else is open is
    /// shared.
    fn open_again(&mut self, fd: u64, flags: OpenFlags) -> Result<u64, Errno> {
        let limit = self.limits.descriptors();
        let open = self.files.get(fd)?;
        if flags.create && flags.exclusive {
            return Err(Errno::EEXIST);
        }
        let lacks = |wanted: bool, has: bool| wanted && !has && !flags.path_only;
        if lacks(flags.read, open.flags.read) || lacks(flags.write, open.flags.write) {
            return Err(Errno::EACCES);
        }
        if flags.directory && !matches!(open.kind, Kind::Directory(_) | Kind::MadeFolder(_)) {
            return Err(Errno::ENOTDIR);
        }
        match &open.kind {
            Kind::File(host) => {
                let file = OpenFile {
                    kind: Kind::File(reopen(host, flags)?),
                    flags,
                    path: open.path.clone(),
                    number: open.number,
                };
                self.files.insert(file, limit)
            }
            _ => self.files.duplicate(fd, 0, flags.cloexec, limit),
        }
    }

    /// A file of the host in memory with a program's bytes, which cannot be changed.
    fn program_file(&mut self, started: Option<Started>) -> Result<File, Errno> {
        let started = started.ok_or(Errno::ENOENT)?;
        self.charge(started.image.bytes().len() as u64, Errno::ENOMEM)?;
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut file = File::from(rustix::fs::memfd_create("hps-program", flags)?);
        file.write_all(started.image.bytes())?;
        rustix::fs::fchmod(&file, Mode::from(0o555))?;
        let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
        rustix::fs::fcntl_add_seals(&file, seals)?;
        reopen(&file, OpenFlags::default())
    }

    /// Whether a path that is not there is the program's own.
    pub(in crate::os) fn names_program(&self, dirfd: u64, path: &[u8]) -> bool {
        let base = match (path.first(), &self.root, &self.cwd) {
            (Some(b'/'), ..) => Vec::new(),
            (Some(_), Some(root), Some(folder)) if dirfd as i32 == crate::os::tree::AT_FDCWD => {
                root.current_path(folder)
                    .map(|p| p.text())
                    .unwrap_or_default()
            }
            (Some(_), None, _) => Vec::new(),
            _ => return false,
        };
        crate::os::paths::joined(&base, path) == self.exe
    }

    /// Writes a made-up file's text anew if it is read from its start, or a folder's list if its first entry is asked for.
    pub(in crate::os) fn refresh_made(
        &mut self,
        thread: &Thread,
        mem: &Memory,
        fd: u64,
        offset: Option<u64>,
    ) {
        match self.files.get(fd).map(|file| &file.kind) {
            Ok(Kind::MadeText(open)) if offset.unwrap_or(open.position) == 0 => {
                let before = open.content.len();
                let (text, whose) = (open.text, self.whose(&open.made.path));
                let content = self.made_text(text, whose, thread, mem);
                // A text that there is no room for stays as it was.
                let growth = content.len().saturating_sub(before) as u64;
                if growth > 0 && self.charge(growth, Errno::ENOMEM).is_err() {
                    return;
                }
                if let Ok(OpenFile {
                    kind: Kind::MadeText(open),
                    ..
                }) = self.files.get_mut(fd)
                {
                    open.content = content;
                }
            }
            Ok(Kind::MadeFolder(folder)) if folder.is_stale => {
                let names = self.entries(&folder.made.path);
                self.charge_anyway(names.len() as u64 * ENTRY_BYTES);
                if let Ok(OpenFile {
                    kind: Kind::MadeFolder(folder),
                    ..
                }) = self.files.get_mut(fd)
                {
                    folder.names = names;
                    folder.is_stale = false;
                }
            }
            _ => {}
        }
    }

    /// The names in a made-up folder and what they are.
    fn entries(&self, folder: &str) -> Vec<(String, Node)> {
        let names = self.made_names(folder).into_iter();
        names
            .filter_map(|name| {
                let node = self.made_child(folder, &name)?;
                Some((name, node))
            })
            .collect()
    }

    /// Whom a file at this path tells of: the caller, if it does not name another process.
    fn whose(&self, path: &str) -> Whose {
        let own = Whose {
            pid: self.pid,
            tid: None,
        };
        tree::in_table(path).1.unwrap_or(own)
    }

    /// The text of a made-up link.
    pub(in crate::os) fn made_link(&self, made: &Made) -> Result<Vec<u8>, Errno> {
        let Node::Link(link) = made.node else {
            return Err(Errno::EINVAL);
        };
        let whose = self.whose(&made.path);
        let of = match whose.pid {
            pid if pid == self.pid => Ok(self),
            pid => self
                .parked_process(pid)
                .map(|(os, _)| os)
                .ok_or(Errno::ENOENT),
        };
        Ok(match link {
            Link::Path(target) => target.into(),
            Link::Own => self.pid.to_string().into_bytes(),
            Link::OwnThread => format!("{}/task/{}", self.pid, self.caller).into_bytes(),
            Link::Program => of?.exe.clone(),
            Link::WorkingFolder => of?.cwd_text()?,
            Link::Root => b"/".to_vec(),
            Link::Descriptor(fd) => {
                let slot = of?.files.slot(fd)?;
                self.descriptor_text(fd, slot)?
            }
        })
    }

    /// What `/proc/self/fd/N` says of an open file.
    fn descriptor_text(&self, fd: u64, slot: usize) -> Result<Vec<u8>, Errno> {
        // Open files are with the process whose turn it is.
        let (file, _) = self.files.files[slot].as_ref().ok_or(Errno::EBADF)?;
        if let Some(path) = &file.path {
            return Ok(path.text());
        }
        let number = file.number.unwrap_or(u64::from(fd as u32) + 1);
        Ok(match &file.kind {
            Kind::Event(_) => "anon_inode:[eventfd]".to_owned(),
            Kind::Perf(_) => "anon_inode:[perf_event]".to_owned(),
            Kind::Process(_) => "anon_inode:[pidfd]".to_owned(),
            Kind::Epoll(_) => "anon_inode:[eventpoll]".to_owned(),
            Kind::Inotify(_) => "anon_inode:inotify".to_owned(),
            Kind::Signal(_) => "anon_inode:[signalfd]".to_owned(),
            Kind::Socket(_) => format!("socket:[{number}]"),
            Kind::File(_) => "/memfd: (deleted)".to_owned(),
            _ => format!("pipe:[{number}]"),
        }
        .into_bytes())
    }

    /// What `stat` tells of a made-up file that is open.
    pub(in crate::os) fn stat_open_made(file: &OpenFile) -> Option<FileStat> {
        let path = file.path.as_ref()?.text();
        match &file.kind {
            Kind::MadeText(open) => Some(stat(&open.made)),
            Kind::MadeFolder(open) => Some(stat(&open.made)),
            Kind::Null | Kind::Zero | Kind::Full | Kind::Random => {
                let path = String::from_utf8(path).ok()?;
                let node = tree::node(&path)?;
                Some(stat(&Made { path, node }))
            }
            _ => None,
        }
    }

    /// What `stat` tells of a made-up file, or of the program.
    pub(in crate::os) fn stat_located(&self, located: &Located) -> Result<FileStat, Errno> {
        match located {
            Located::Made(made) => Ok(stat(made)),
            Located::Descriptor(fd) => self.stat_descriptor(*fd),
            Located::ProgramOf(pid) => {
                let (os, _) = self.parked_process(*pid).ok_or(Errno::ENOENT)?;
                os.stat_located(&Located::Program)
            }
            Located::Program => {
                let started = self.started.as_ref().ok_or(Errno::ENOENT)?;
                Ok(FileStat {
                    device: DEVICE,
                    inode: GuestPath::new(&self.exe).inode(),
                    mode: S_IFREG | 0o555,
                    links: 1,
                    rdev: 0,
                    size_bytes: started.image.bytes().len() as u64,
                    ..FileStat::UNFILLED
                })
            }
            Located::Host(..) => Err(Errno::ENOENT),
        }
    }
}

impl Made {
    /// Goes into the folder that this is.
    pub(in crate::os) fn into_folder(self) -> Result<String, Errno> {
        match self.node {
            Node::Folder => Ok(self.path),
            _ => Err(Errno::ENOTDIR),
        }
    }

    /// The file system that holds it.
    pub(in crate::os) fn file_system(&self) -> FsStat {
        const PROC: u32 = 0x9fa0;
        const SYSFS: u32 = 0x6265_6572;
        const TMPFS: u32 = 0x0102_1994;
        FsStat {
            kind: match device(&self.path) {
                2 => PROC,
                3 => SYSFS,
                _ => TMPFS,
            },
            blocks: 0,
            free: 0,
            files: 0,
            free_files: 0,
            ..FILE_SYSTEM
        }
    }
}

/// The number of the file system that holds a made-up file, as in `/proc/self/mountinfo`.
fn device(path: &str) -> u64 {
    match path.split('/').nth(1) {
        Some("proc") => 2,
        Some("sys") => 3,
        _ => 4,
    }
}

fn mode(node: Node) -> u32 {
    match node {
        Node::Folder => S_IFDIR | 0o555,
        Node::Link(_) => S_IFLNK | 0o777,
        Node::Text(Text::Auxiliary | Text::Environment) => S_IFREG | 0o400,
        Node::Text(_) => S_IFREG | 0o444,
        Node::Device(_) => S_IFCHR | 0o666,
    }
}

fn stat(made: &Made) -> FileStat {
    let number = |major: u64, minor: u64| major << 8 | minor;
    FileStat {
        device: device(&made.path),
        inode: GuestPath::new(made.path.as_bytes()).inode(),
        mode: mode(made.node),
        links: if made.node == Node::Folder { 2 } else { 1 },
        rdev: match made.node {
            Node::Device(Device::Null) => number(1, 3),
            Node::Device(Device::Zero) => number(1, 5),
            Node::Device(Device::Full) => number(1, 7),
            Node::Device(Device::Random) => number(1, 8),
            Node::Device(Device::Urandom) => number(1, 9),
            Node::Device(Device::Terminal) => number(5, 0),
            _ => 0,
        },
        size_bytes: match device(&made.path) {
            3 if made.node != Node::Folder => u64::from(BLOCK_BYTES),
            _ => 0,
        },
        ..FileStat::UNFILLED
    }
}

/// Whether an existing file with a mode may be opened so.
fn check_existing(flags: OpenFlags, mode: u32) -> Result<(), Errno> {
    let kind = mode & !0o7777;
    if flags.create && flags.exclusive {
        return Err(Errno::EEXIST);
    }
    if flags.directory && kind != S_IFDIR {
        return Err(Errno::ENOTDIR);
    }
    if flags.path_only {
        return Ok(());
    }
    if kind == S_IFLNK {
        return Err(Errno::ELOOP);
    }
    let changes = flags.write || flags.truncate;
    if kind == S_IFDIR && (changes || flags.create) {
        return Err(Errno::EISDIR);
    }
    if changes && mode & 0o200 == 0 {
        return Err(Errno::EACCES);
    }
    Ok(())
}

/// Opens a regular file of the host once more, with a position of its own.
pub(in crate::os) fn reopen(host: &File, flags: OpenFlags) -> Result<File, Errno> {
    use crate::host::sys::fd::AsRawFd;
    let name = format!("/proc/self/fd/{}", host.as_raw_fd());
    let flags = crate::os::tree::open_flags(flags) | rustix::fs::OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(name, flags, Mode::empty())?))
}
