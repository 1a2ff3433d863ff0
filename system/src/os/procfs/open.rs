//! Opening made-up files by their paths, and what `stat` tells of them.

use std::fs::File;
use std::io::Write;

use crate::host::sys::rustix;
use crate::host::sys::rustix::fs::{MemfdFlags, Mode, SealFlags};

use hps_isa::memory::Memory;

use super::Started;
use super::locate::{Located, Made};
use super::opened::{MadeFolder, MadeText, mode, stat};
use super::subject::Whose;
use super::tree::{self, Device, Link, Node, Text};
use crate::os::abi::{FileStat, OpenFlags};
use crate::os::descriptors::{Kind, OpenFile};
use crate::os::errno::Errno;
use crate::os::paths::GuestPath;
use crate::os::stat::{S_IFDIR, S_IFLNK, S_IFREG};
use crate::os::{DEVICE, Linux};
use crate::process::Thread;

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
                let file = self.program_file(self.program.started.clone())?;
                (Kind::File(file), self.program.exe.clone())
            }
            Located::ProgramOf(pid) => {
                check_existing(flags, S_IFREG | 0o555)?;
                let (os, _) = self.parked_process(pid).ok_or(Errno::ENOENT)?;
                let (started, exe) = (os.program.started.clone(), os.program.exe.clone());
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
            Node::Folder => Kind::MadeFolder(MadeFolder::new(made)),
            Node::Text(text) => {
                let content = self.made_text(text, self.whose(&made.path), thread, mem);
                self.charge(content.len() as u64, Errno::ENOMEM)?;
                Kind::MadeText(MadeText::new(made, text, content))
            }
            // Only with `O_PATH`, which gives the link itself.
            Node::Link(_) => Kind::MadeText(MadeText::new(made, Text::Fixed(""), Vec::new())),
            Node::Device(Device::Terminal) if !flags.path_only => return Err(Errno::ENXIO),
            Node::Device(device) => Kind::Device(device),
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
        let base = match (path.first(), &self.tree.root, &self.tree.cwd) {
            (Some(b'/'), ..) => Vec::new(),
            (Some(_), Some(root), Some(folder)) if dirfd as i32 == crate::os::tree::AT_FDCWD => {
                root.current_path(folder)
                    .map(|p| p.text())
                    .unwrap_or_default()
            }
            (Some(_), None, _) => Vec::new(),
            _ => return false,
        };
        crate::os::paths::joined(&base, path) == self.program.exe
    }

    /// The names in a made-up folder and what they are.
    pub(super) fn entries(&self, folder: &str) -> Vec<(String, Node)> {
        let names = self.made_names(folder).into_iter();
        names
            .filter_map(|name| {
                let node = self.made_child(folder, &name)?;
                Some((name, node))
            })
            .collect()
    }

    /// Whom a file at this path tells of: the caller, if it does not name another process.
    pub(super) fn whose(&self, path: &str) -> Whose {
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
            Link::OwnThread => format!("{}/task/{}", self.pid, self.call.caller).into_bytes(),
            Link::Program => of?.program.exe.clone(),
            Link::WorkingFolder => of?.cwd_text()?,
            Link::Root => b"/".to_vec(),
            Link::Descriptor(fd) => {
                let slot = of?.files.slot(fd)?;
                self.descriptor_text(fd, slot)?
            }
        })
    }

    /// Text of `/proc/self/fd/N` for an open file.
    fn descriptor_text(&self, fd: u64, slot: usize) -> Result<Vec<u8>, Errno> {
        // Open files are with the process whose turn it is.
        let (file, _) = self.files.files[slot].as_ref().ok_or(Errno::EBADF)?;
        if let Some(path) = &file.path {
            return Ok(path.text());
        }
        let number = file.number.unwrap_or(u64::from(fd as u32) + 1);
        Ok(file.kind.link(number).into_bytes())
    }

    /// Status of a made-up file, or of the program, for `stat`.
    pub(in crate::os) fn stat_located(&self, located: &Located) -> Result<FileStat, Errno> {
        match located {
            Located::Made(made) => Ok(stat(made)),
            Located::Descriptor(fd) => self.stat_descriptor(*fd),
            Located::ProgramOf(pid) => {
                let (os, _) = self.parked_process(*pid).ok_or(Errno::ENOENT)?;
                os.stat_located(&Located::Program)
            }
            Located::Program => {
                let started = self.program.started.as_ref().ok_or(Errno::ENOENT)?;
                Ok(FileStat {
                    device: DEVICE,
                    inode: GuestPath::new(&self.program.exe).inode(),
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
