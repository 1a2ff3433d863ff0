//! Numbers of system calls that mean another call with other arguments (Linux `arch/alpha/kernel/syscalls/syscall.tbl`).
//! All others stand with the calls. Those below 300 are OSF/1's, and mean the same there unless
//! [`abi_osf`](super::super::abi_osf) says otherwise.

use super::super::abi::DecodedCall;
use super::super::calls::Call;
use super::super::stat::AT_SYMLINK_NOFOLLOW;
use super::super::tree::{AT_FDCWD, AT_REMOVEDIR};

/// The directory that relative paths start from.
const CWD: u64 = AT_FDCWD as u64;
/// Bytes of a set of signals.
const SIGSET_BYTES: u64 = 8;

/// Calls on paths become those of the `at` family, and calls without flags those with.
fn inherited_on_paths(number: u64, a: [u64; 6]) -> Option<DecodedCall> {
    Some(match number {
        // unlink, mknod, rmdir, mkdir, rename
        10 => at_cwd(Call::Unlinkat, [a[0], 0, 0]),
        14 => at_cwd(Call::Mknodat, [a[0], a[1], a[2]]),
        137 => at_cwd(Call::Unlinkat, [a[0], AT_REMOVEDIR, 0]),
        136 => at_cwd(Call::Mkdirat, [a[0], a[1], 0]),
        128 => at_cwd(Call::Renameat, [a[0], CWD, a[1]]),
        // link, symlink
        9 => at_cwd(Call::Linkat, [a[0], CWD, a[1]]),
        57 => (Call::Symlinkat, [a[0], CWD, a[1], 0, 0, 0]),
        // chmod, chown, lchown, utimes
        15 => at_cwd(Call::Fchmodat, [a[0], a[1], 0]),
        16 | 208 => at_cwd(Call::Fchownat, [a[0], a[1], a[2]]),
        138 => at_cwd(Call::Utimensat, [a[0], a[1], 0]),
        // access, open, readlink
        33 => at_cwd(Call::Faccessat, [a[0], a[1], 0]),
        45 => at_cwd(Call::Openat, [a[0], a[1], a[2]]),
        58 => at_cwd(Call::Readlinkat, [a[0], a[1], a[2]]),
        // stat, lstat; the second ones of OSF/1
        67 => at_cwd(Call::Newfstatat, [a[0], a[1], 0]),
        68 => at_cwd(Call::Newfstatat, [a[0], a[1], AT_SYMLINK_NOFOLLOW]),
        224 => at_cwd(Call::OsfFstatat, [a[0], a[1], 0]),
        225 => at_cwd(Call::OsfFstatat, [a[0], a[1], AT_SYMLINK_NOFOLLOW]),
        // getpgrp
        63 => (Call::Getpgid, [0; 6]),
        // sigpending
        52 => (Call::RtSigpending, [a[0], SIGSET_BYTES, 0, 0, 0, 0]),
        _ => return None,
    })
}

/// A call relative to the working directory.
pub(in super::super) const fn at_cwd(call: Call, rest: [u64; 3]) -> DecodedCall {
    (call, [CWD, rest[0], rest[1], rest[2], 0, 0])
}

/// The arguments of `clone` that do what `fork` does: the signal at the end, SIGCHLD.
pub(in super::super) const FORK: [u64; 6] = [20, 0, 0, 0, 0, 0];
/// ... and what `vfork` does: `CLONE_VM | CLONE_VFORK` besides.
pub(in super::super) const VFORK: [u64; 6] = [0x4100 | 20, 0, 0, 0, 0, 0];

/// Calls common to Linux and OSF/1.
pub(in super::super) fn common_call(number: u64, a: [u64; 6]) -> Option<DecodedCall> {
    match Call::of_alpha(number) {
        Some((call, true)) => Some((call, a)),
        _ => inherited_on_paths(number, a),
    }
}

/// The calls of Linux.
pub(super) fn linux_call(number: u64, a: [u64; 6]) -> Option<DecodedCall> {
    match number {
        // fork, execve, vfork
        2 => Some((Call::Clone, FORK)),
        66 => Some((Call::Clone, VFORK)),
        59 => Some((Call::Execve, a)),
        // osf_wait4
        7 => Some((Call::OsfWait4, a)),
        // send, recv
        101 => Some((Call::Sendto, [a[0], a[1], a[2], a[3], 0, 0])),
        102 => Some((Call::Recvfrom, [a[0], a[1], a[2], a[3], 0, 0])),
        // utimes, stat64, lstat64, futimesat
        363 => Some(at_cwd(Call::Utimensat, [a[0], a[1], 0])),
        425 => Some(at_cwd(Call::Fstatat64, [a[0], a[1], 0])),
        426 => Some(at_cwd(Call::Fstatat64, [a[0], a[1], AT_SYMLINK_NOFOLLOW])),
        454 => Some((Call::Utimensat, a)),
        // signalfd
        476 => Some((Call::Signalfd4, [a[0], a[1], a[2], 0, 0, 0])),
        // inotify_init
        444 => Some((Call::InotifyInit1, [0; 6])),
        _ => match Call::of_alpha(number) {
            Some((call, _)) => Some((call, a)),
            None => inherited_on_paths(number, a),
        },
    }
}
