//! Files without a name in memory: `memfd_create` and seals.
//!
//! The content lies in an anonymous file of the host, and counts against the limit on files. The host keeps
//! the seals.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::ops::Range;

use crate::host::sys::rustix;
use crate::host::sys::rustix::fs::{MemfdFlags, SealFlags};

use hps_isa::memory::Memory;

use super::Linux;
use super::abi::OpenFlags;
use super::descriptors::{Kind, OpenFile};
use super::errno::Errno;

const MFD_CLOEXEC: u64 = 1;
const MFD_ALLOW_SEALING: u64 = 2;
const MFD_HUGETLB: u64 = 4;
/// The longest name: `NAME_MAX` less `memfd:`.
const NAME_BYTES: usize = 249;
/// `F_SEAL_SEAL`, `_SHRINK`, `_GROW`, `_WRITE` and `_FUTURE_WRITE`.
const SEALS: u32 = 0x1f;

impl Linux {
    pub(super) fn memfd_create(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [name, flags, ..] = *a;
        let flags = u64::from(flags as u32);
        if flags & MFD_HUGETLB == 0 && flags & !(MFD_CLOEXEC | MFD_ALLOW_SEALING) != 0 {
            return Err(Errno::EINVAL);
        }
        check_name(mem, name)?;
        if flags & MFD_HUGETLB != 0 {
            // A kernel without huge pages.
            return Err(Errno::ENOSYS);
        }
        let host = new_memory_file()?;
        if flags & MFD_ALLOW_SEALING == 0 {
            rustix::fs::fcntl_add_seals(&host, SealFlags::SEAL)?;
        }
        let number = Some(self.files.fresh_number());
        let file = OpenFile {
            kind: Kind::File(host),
            flags: OpenFlags {
                read: true,
                write: true,
                cloexec: flags & MFD_CLOEXEC != 0,
                ..OpenFlags::default()
            },
            path: None,
            number,
        };
        self.files.insert(file, self.limits.descriptors())
    }

    /// `F_ADD_SEALS`.
    pub(super) fn add_seals(&self, fd: u64, seals: u64) -> Result<u64, Errno> {
        let seals = seals as u32;
        let host = self.memory_file(fd)?;
        if seals & !SEALS != 0 {
            return Err(Errno::EINVAL);
        }
        rustix::fs::fcntl_add_seals(host, SealFlags::from_bits_retain(seals))?;
        Ok(0)
    }

    /// `F_GET_SEALS`.
    pub(super) fn get_seals(&self, fd: u64) -> Result<u64, Errno> {
        let seals = rustix::fs::fcntl_get_seals(self.memory_file(fd)?)?;
        Ok(u64::from(seals.bits() & SEALS))
    }

    /// Where the process whose turn it is has mapped files in memory from their beginnings on, to be seen by others.
    #[must_use]
    pub fn shared_memory_files(&self) -> Vec<Range<u64>> {
        let all = self.space.mappings.ranges.within(0..u64::MAX).into_iter();
        let shared = all.filter(|(_, file)| file.writes && !file.has_place() && file.offset() == 0);
        shared.map(|(range, _)| range).collect()
    }

    /// Only files in memory have seals.
    fn memory_file(&self, fd: u64) -> Result<&File, Errno> {
        match self.files.get(fd)? {
            OpenFile {
                kind: Kind::File(host),
                path: None,
                ..
            } => Ok(host),
            _ => Err(Errno::EINVAL),
        }
    }
}

/// Whether seals let a file in memory be mapped for writing.
pub(super) fn permits_writes(host: &File) -> Result<(), Errno> {
    let sealed = SealFlags::WRITE | SealFlags::FUTURE_WRITE;
    if rustix::fs::fcntl_get_seals(host)?.intersects(sealed) {
        Err(Errno::EPERM)
    } else {
        Ok(())
    }
}

fn check_name(mem: &Memory, addr: u64) -> Result<(), Errno> {
    for index in 0..=NAME_BYTES as u64 {
        if mem.read::<1>(addr.wrapping_add(index))? == 0 {
            return Ok(());
        }
    }
    Err(Errno::EINVAL)
}

pub(super) fn new_memory_file() -> Result<File, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    Ok(File::from(rustix::fs::memfd_create("hps", flags)?))
}

/// A second file with the content, the position and the seals of `original`.
pub(super) fn copy_memory_file(original: &File) -> std::io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut copy = File::from(rustix::fs::memfd_create("hps", flags)?);
    let position = (&*original).stream_position()?;
    (&*original).seek(SeekFrom::Start(0))?;
    let copied = std::io::copy(&mut &*original, &mut copy);
    (&*original).seek(SeekFrom::Start(position))?;
    copied?;
    copy.seek(SeekFrom::Start(position))?;
    rustix::fs::fcntl_add_seals(&copy, rustix::fs::fcntl_get_seals(original)?)?;
    Ok(copy)
}
