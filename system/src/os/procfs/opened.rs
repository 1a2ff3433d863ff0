//! Made-up files and folders behind descriptors: reading and listing them.

use hps_isa::memory::Memory;

use super::locate::Made;
use super::tree::{Device, Node, Text};
use crate::os::Linux;
use crate::os::abi::{BLOCK_BYTES, FileStat, FsStat};
use crate::os::account::{ENTRY_BYTES, Seen};
use crate::os::duplicate::DuplicateError;
use crate::os::errno::Errno;
use crate::os::files::{folder_target, whence};
use crate::os::kinds::{Kind, Operations, Span, Whereabouts};
use crate::os::listing::Entry;
use crate::os::outcome::Outcome;
use crate::os::paths::{Folder, GuestPath};
use crate::os::stat::{FILE_SYSTEM, S_IFCHR, S_IFDIR, S_IFLNK, S_IFREG};
use crate::process::Thread;

/// `DT_*` of a folder's entry are the kind in its mode.
const DT_SHIFT: u32 = 12;

/// An open file whose text is made up.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(in crate::os) struct MadeText {
    text: Text,
    made: Made,
    content: Vec<u8>,
    position: u64,
}

impl MadeText {
    pub(super) fn new(made: Made, text: Text, content: Vec<u8>) -> MadeText {
        MadeText {
            text,
            made,
            content,
            position: 0,
        }
    }

    pub(in crate::os) fn made(&self) -> &Made {
        &self.made
    }
}

/// An open folder that is made up, with what was in it when the first entry was asked for.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(in crate::os) struct MadeFolder {
    made: Made,
    names: Vec<(String, Node)>,
    position: usize,
    /// True if the entries are to be looked up before the next one is told.
    is_stale: bool,
}

impl MadeFolder {
    pub(super) fn new(made: Made) -> MadeFolder {
        MadeFolder {
            made,
            names: Vec::new(),
            position: 0,
            is_stale: true,
        }
    }

    pub(in crate::os) fn made(&self) -> &Made {
        &self.made
    }

    /// Path of the folder in the tree of made-up files.
    pub(super) fn path(&self) -> &str {
        &self.made.path
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

impl Operations for MadeText {
    fn stat(&self, _at: &Whereabouts) -> Result<FileStat, Errno> {
        Ok(stat(&self.made))
    }

    fn file_system(&self) -> FsStat {
        self.made.file_system()
    }

    /// The end is not known: the text grows when it is read.
    fn seek(&mut self, offset: i64, whence: u64) -> Result<u64, Errno> {
        let base = match whence {
            whence::SET => 0,
            whence::CURRENT => self.position,
            _ => return Err(Errno::EINVAL),
        };
        self.position = base.checked_add_signed(offset).ok_or(Errno::EINVAL)?;
        Ok(self.position)
    }

    fn held_bytes(&self, _has_place: bool, _seen: &mut Seen<'_>) -> u64 {
        self.content.capacity() as u64
    }

    fn duplicate(&self, _has_place: bool) -> Result<Kind, DuplicateError> {
        Ok(Kind::MadeText(self.clone()))
    }

    fn read(os: &mut Linux, thread: &mut Thread, mem: &mut Memory, span: &Span) -> Outcome {
        os.refresh_text(thread, mem, span)?;
        let room = span.room(mem)?;
        let open = os.files.own::<MadeText>(span.fd)?;
        let all = open.content.len() as u64;
        let start = span.offset.unwrap_or(open.position).min(all);
        let end = start.saturating_add(room).min(all);
        if span.offset.is_none() {
            open.position = end;
        }
        mem.write_bytes(span.addr, &open.content[start as usize..end as usize])?;
        Ok(end - start)
    }
}

impl Operations for MadeFolder {
    fn stat(&self, _at: &Whereabouts) -> Result<FileStat, Errno> {
        Ok(stat(&self.made))
    }

    fn file_system(&self) -> FsStat {
        self.made.file_system()
    }

    fn folder(&self) -> Result<Folder, Errno> {
        Err(Errno::EACCES)
    }

    /// At the first entry, the folder is read again.
    fn seek(&mut self, offset: i64, whence: u64) -> Result<u64, Errno> {
        self.position = folder_target(self.position, offset, whence)?;
        self.is_stale |= self.position == 0;
        Ok(self.position as u64)
    }

    fn held_bytes(&self, _has_place: bool, _seen: &mut Seen<'_>) -> u64 {
        self.names.len() as u64 * ENTRY_BYTES
    }

    fn duplicate(&self, _has_place: bool) -> Result<Kind, DuplicateError> {
        Ok(Kind::MadeFolder(self.clone()))
    }

    fn read(_: &mut Linux, _: &mut Thread, mem: &mut Memory, span: &Span) -> Outcome {
        span.room(mem)?;
        Err(Errno::EISDIR.into())
    }
}

impl Linux {
    /// Writes a made-up file's text anew if it is read from its start.
    fn refresh_text(&mut self, thread: &Thread, mem: &Memory, span: &Span) -> Result<(), Errno> {
        let open = self.files.own::<MadeText>(span.fd)?;
        if span.offset.unwrap_or(open.position) != 0 {
            return Ok(());
        }
        let before = open.content.len();
        let (text, path) = (open.text, open.made.path.clone());
        let content = self.made_text(text, self.whose(&path), thread, mem);
        // A text that there is no room for stays as it was.
        let growth = content.len().saturating_sub(before) as u64;
        if growth == 0 || self.charge(growth, Errno::ENOMEM).is_ok() {
            self.files.own::<MadeText>(span.fd)?.content = content;
        }
        Ok(())
    }

    /// Looks up what is in a made-up folder if its first entry is asked for.
    pub(in crate::os) fn refresh_folder(&mut self, fd: u64) {
        let Ok(MadeFolder {
            made,
            is_stale: true,
            ..
        }) = self.files.own::<MadeFolder>(fd)
        else {
            return;
        };
        let path = made.path.clone();
        let names = self.entries(&path);
        self.charge_anyway(names.len() as u64 * ENTRY_BYTES);
        if let Ok(folder) = self.files.own::<MadeFolder>(fd) {
            folder.names = names;
            folder.is_stale = false;
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

pub(super) fn mode(node: Node) -> u32 {
    match node {
        Node::Folder => S_IFDIR | 0o555,
        Node::Link(_) => S_IFLNK | 0o777,
        Node::Text(Text::Auxiliary | Text::Environment) => S_IFREG | 0o400,
        Node::Text(_) => S_IFREG | 0o444,
        Node::Device(_) => S_IFCHR | 0o666,
    }
}

pub(super) fn stat(made: &Made) -> FileStat {
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
