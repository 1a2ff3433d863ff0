//! File systems whose files tell of the host, which guests never see.

use std::sync::Arc;

use super::{Folder, HOLD_FOLDER, identity};
use crate::host::sys::fd::{AsFd, BorrowedFd};
use crate::host::sys::rustix::fs::{self, Mode};
use crate::os::errno::Errno;

/// `f_type` of file systems whose files are the host's kernel itself (`linux/magic.h`): proc, sysfs, both cgroups, debugfs,
/// tracefs, securityfs, configfs, bpf, pstore, efivarfs, selinuxfs, fusectl, binfmt_misc, nsfs, resctrl.
const ABOUT_HOST: [i64; 16] = [
    0x9fa0,
    0x6265_6572,
    0x0027_e0eb,
    0x6367_7270,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0x6265_6570,
    0xcafe_4a11,
    0x6165_676c,
    0xde5e_81e4,
    0xf97c_ff8c,
    0x6573_5543,
    0x4249_4e4d,
    0x6e73_6673,
    0x0765_5821,
];

/// Whether a folder, or one above it up to the host's root, tells of the host.
pub(super) fn lies_in_proc(folder: &Folder) -> Result<bool, Errno> {
    let mut at = Arc::clone(folder);
    while !is_proc(at.as_fd())? {
        let above = Arc::new(fs::openat(&at, c"..", HOLD_FOLDER, Mode::empty())?);
        if identity(&fs::fstat(&above)?) == identity(&fs::fstat(&at)?) {
            return Ok(false);
        }
        at = above;
    }
    Ok(true)
}

pub(in crate::os) fn is_proc(fd: BorrowedFd<'_>) -> Result<bool, Errno> {
    Ok(ABOUT_HOST.contains(&(fs::fstatfs(fd)?.f_type as i64)))
}
