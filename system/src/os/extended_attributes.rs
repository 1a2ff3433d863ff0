//! Extended attributes (xattr(7)), which no file has: as on a file system without them, lists are empty, and no attribute
//! can be read, set or removed.

use hps_isa::memory::Memory;

use super::Linux;
use super::errno::Errno;
use super::stat::AT_SYMLINK_NOFOLLOW;
use super::tree::AT_FDCWD;

/// Longest name of an attribute, in bytes.
const NAME_MAX: usize = 255;
/// Longest value, in bytes.
const SIZE_MAX: u64 = 65_536;

/// The file that a call is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Subject {
    /// The file at a path.
    Path,
    /// The file at a path whose last link is not followed.
    Link,
    /// The file behind a descriptor.
    Open,
}

impl Linux {
    /// `getxattr`, `lgetxattr` and `fgetxattr`.
    pub(super) fn get_attribute(
        &self,
        mem: &Memory,
        a: &[u64; 6],
        subject: Subject,
    ) -> Result<u64, Errno> {
        check_name(mem, a[1])?;
        self.check_subject(mem, a[0], subject)?;
        Err(Errno::EOPNOTSUPP)
    }

    /// `setxattr`, `lsetxattr` and `fsetxattr`.
    pub(super) fn set_attribute(
        &self,
        mem: &Memory,
        a: &[u64; 6],
        subject: Subject,
    ) -> Result<u64, Errno> {
        const CREATE_OR_REPLACE: u32 = 3;
        let [_, name, value, size, flags, _] = *a;
        if flags as u32 & !CREATE_OR_REPLACE != 0 {
            return Err(Errno::EINVAL);
        }
        check_name(mem, name)?;
        if size > SIZE_MAX {
            return Err(Errno::E2BIG);
        }
        mem.readable(value, size)?;
        self.check_change(mem, a[0], subject)
    }

    /// `removexattr`, `lremovexattr` and `fremovexattr`.
    pub(super) fn remove_attribute(
        &self,
        mem: &Memory,
        a: &[u64; 6],
        subject: Subject,
    ) -> Result<u64, Errno> {
        check_name(mem, a[1])?;
        self.check_change(mem, a[0], subject)
    }

    /// `listxattr`, `llistxattr` and `flistxattr`.
    pub(super) fn list_attributes(
        &self,
        mem: &Memory,
        a: &[u64; 6],
        subject: Subject,
    ) -> Result<u64, Errno> {
        self.check_subject(mem, a[0], subject)?;
        Ok(0)
    }

    fn check_change(&self, mem: &Memory, file: u64, subject: Subject) -> Result<u64, Errno> {
        self.check_subject(mem, file, subject)?;
        self.writable_root()?;
        Err(Errno::EOPNOTSUPP)
    }

    /// Refuses a file that is not there.
    fn check_subject(&self, mem: &Memory, file: u64, subject: Subject) -> Result<(), Errno> {
        let flags = match subject {
            Subject::Path => 0,
            Subject::Link => AT_SYMLINK_NOFOLLOW,
            Subject::Open => return self.opened(file).map(|_| ()),
        };
        self.stat_path(mem, AT_FDCWD as u64, file, flags)?;
        Ok(())
    }
}

fn check_name(mem: &Memory, name: u64) -> Result<(), Errno> {
    match mem.read_cstr(name, NAME_MAX)? {
        Some(name) if !name.is_empty() => Ok(()),
        _ => Err(Errno::ERANGE),
    }
}
