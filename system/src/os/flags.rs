//! Flags of `open` and `mmap`: their values are each interface's, what they mean is common.

use super::abi::{MapFlags, OpenFlags};
use super::errno::Errno;

const WRONLY: u64 = 1;
const RDWR: u64 = 2;
const ACCMODE: u64 = 3;

/// `O_*` beside the access mode, which every interface has alike.
#[derive(Clone, Copy, Debug)]
pub struct OpenRules {
    /// `O_CREAT`.
    pub create: u64,
    /// `O_EXCL`.
    pub exclusive: u64,
    /// `O_TRUNC`.
    pub truncate: u64,
    /// `O_APPEND`.
    pub append: u64,
    /// `O_NONBLOCK`.
    pub nonblock: u64,
    /// `O_DIRECTORY`.
    pub directory: u64,
    /// `O_NOFOLLOW`.
    pub nofollow: u64,
    /// `O_CLOEXEC`.
    pub cloexec: u64,
    /// `O_PATH`.
    pub path_only: u64,
    /// `O_DIRECT`.
    pub direct: u64,
    /// `__O_TMPFILE`, the part of `O_TMPFILE` beside `O_DIRECTORY`.
    pub unnamed: u64,
}

impl OpenRules {
    /// Decodes the flags of `openat`.
    #[must_use]
    pub fn decode(&self, raw: u64) -> OpenFlags {
        let has = |flag| raw & flag != 0;
        let access = raw & ACCMODE;
        OpenFlags {
            read: access != WRONLY,
            write: access == WRONLY || access == RDWR,
            create: has(self.create),
            exclusive: has(self.exclusive),
            truncate: has(self.truncate),
            append: has(self.append),
            nonblock: has(self.nonblock),
            directory: has(self.directory),
            nofollow: has(self.nofollow),
            cloexec: has(self.cloexec),
            path_only: has(self.path_only),
            direct: has(self.direct),
            unnamed: has(self.unnamed),
        }
    }

    /// Decodes the flags of a call that opens what has no path, and is read and written: `O_CLOEXEC` and `O_NONBLOCK`.
    ///
    /// # Errors
    /// `EINVAL` for other flags.
    pub(super) fn unplaced(&self, raw: u64) -> Result<OpenFlags, Errno> {
        let raw = u64::from(raw as u32);
        match raw & !(self.cloexec | self.nonblock) {
            0 => Ok(OpenFlags {
                write: true,
                ..self.decode(raw)
            }),
            _ => Err(Errno::EINVAL),
        }
    }

    /// Encodes the flags that `fcntl(F_GETFL)` reports.
    #[must_use]
    pub fn status(&self, flags: OpenFlags) -> u64 {
        let access = match (flags.read, flags.write) {
            (_, false) => 0,
            (false, true) => WRONLY,
            (true, true) => RDWR,
        };
        let bit = |set: bool, flag| if set { flag } else { 0 };
        access
            | bit(flags.append, self.append)
            | bit(flags.nonblock, self.nonblock)
            | bit(flags.directory, self.directory)
            | bit(flags.path_only, self.path_only)
            | bit(flags.direct, self.direct)
    }
}

/// `MAP_*` beside the kind of mapping, which every interface has alike.
#[derive(Clone, Copy, Debug)]
pub struct MapRules {
    /// `MAP_FIXED`.
    pub fixed: u64,
    /// `MAP_FIXED_NOREPLACE`.
    pub fixed_no_replace: u64,
    /// `MAP_ANONYMOUS`.
    pub anonymous: u64,
    /// `MAP_GROWSDOWN`.
    pub grows_down: u64,
    /// `MAP_LOCKED`.
    pub locked: u64,
    /// `MAP_NORESERVE`.
    pub no_reserve: u64,
    /// `MAP_HUGETLB`.
    pub huge: u64,
    /// Sizes of huge pages, as binary logarithms; the first is the default.
    pub huge_sizes: &'static [u64],
    /// Flags without a meaning here, which `MAP_SHARED_VALIDATE` knows as well.
    pub ignored: u64,
}

impl MapRules {
    /// Decodes the flags of `mmap`.
    #[must_use]
    pub fn decode(&self, raw: u64) -> MapFlags {
        const TYPE: u64 = 0xf;
        const SHARED: u64 = 1;
        const PRIVATE: u64 = 2;
        const SHARED_VALIDATE: u64 = 3;
        const HUGE_SHIFT: u64 = 26;
        let kind = raw & TYPE;
        let huge_size = raw >> HUGE_SHIFT & 0x3f;
        let known = TYPE
            | self.fixed
            | self.fixed_no_replace
            | self.anonymous
            | self.grows_down
            | self.locked
            | self.no_reserve
            | self.huge
            | 0x3f << HUGE_SHIFT
            | self.ignored;
        let no_replace = raw & self.fixed_no_replace != 0;
        MapFlags {
            shared: kind == SHARED || kind == SHARED_VALIDATE,
            invalid: !matches!(kind, SHARED | PRIVATE | SHARED_VALIDATE),
            fixed: raw & self.fixed != 0 || no_replace,
            no_replace,
            anonymous: raw & self.anonymous != 0,
            validate: kind == SHARED_VALIDATE,
            unknown: raw & !known != 0,
            grows_down: raw & self.grows_down != 0,
            locked: raw & self.locked != 0,
            no_reserve: raw & self.no_reserve != 0,
            huge: raw & self.huge != 0,
            huge_exists: match huge_size {
                0 => !self.huge_sizes.is_empty(),
                size => self.huge_sizes.contains(&size),
            },
        }
    }
}

/// `MS_*` of `msync` and `MCL_*` of `mlockall`.
#[derive(Clone, Copy, Debug)]
pub struct SyncRules {
    /// `MS_SYNC`; `MS_ASYNC` is 1 everywhere.
    pub sync: u64,
    /// `MS_INVALIDATE`.
    pub invalidate: u64,
    /// `MCL_CURRENT`.
    pub lock_current: u64,
    /// `MCL_FUTURE`.
    pub lock_future: u64,
    /// `MCL_ONFAULT`.
    pub lock_on_fault: u64,
}

#[cfg(test)]
mod tests {
    use super::super::OsInterface;
    use super::*;
    use hps_isa::isa::Isa;

    #[test]
    fn status_flags_survive() {
        for isa in Isa::ALL {
            let rules = OsInterface::Linux.abi(isa).open_rules();
            for raw in [
                0,
                WRONLY | rules.append,
                RDWR | rules.nonblock,
                rules.directory,
            ] {
                assert_eq!(rules.status(rules.decode(raw)), raw);
            }
        }
    }
}
