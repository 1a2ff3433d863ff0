//! Users and groups of users, and the requests to change them. Every process has one user and one group, and no
//! privileges.

use super::errno::Errno;
use crate::memory::Memory;

/// An identity that stays as it is.
const UNCHANGED: u32 = u32::MAX;

/// A change of real, effective and saved identity: a process without privileges can only have `own`.
pub(super) fn change_identity(wanted: &[u64], own: u32) -> Result<u64, Errno> {
    let is_allowed = |id: &u64| matches!(*id as u32, UNCHANGED) || *id as u32 == own;
    if wanted.iter().all(is_allowed) {
        Ok(0)
    } else {
        Err(Errno::EPERM)
    }
}

/// `setuid` and `setgid`, for which there is no "unchanged".
pub(super) fn set_identity(wanted: u64, own: u32) -> Result<u64, Errno> {
    match wanted as u32 {
        UNCHANGED => Err(Errno::EINVAL),
        id if id == own => Ok(0),
        _ => Err(Errno::EPERM),
    }
}

/// `getgroups`: there are none besides the process's own group.
pub(super) fn supplementary_groups(count: u64) -> Result<u64, Errno> {
    if (count as i32) < 0 {
        Err(Errno::EINVAL)
    } else {
        Ok(0)
    }
}

/// Real, effective and saved identity are one.
pub(super) fn write_identity(mem: &mut Memory, a: &[u64; 6], own: u32) -> Result<u64, Errno> {
    for at in &a[..3] {
        mem.write_bytes(*at, &own.to_le_bytes())?;
    }
    Ok(0)
}
