//! The numbers of system calls (Linux `arch/alpha/kernel/syscalls/syscall.tbl`). Those below 300 are
//! OSF/1's, and mean the same there unless [`abi_osf`](super::super::abi_osf) says otherwise.

use super::super::abi::DecodedCall;
use super::super::numbers::Call;
use super::super::stat::AT_SYMLINK_NOFOLLOW;
use super::super::tree::{AT_FDCWD, AT_REMOVEDIR};

/// The directory that relative paths start from.
const CWD: u64 = AT_FDCWD as u64;
/// Bytes of a set of signals.
const SIGSET_BYTES: u64 = 8;

macro_rules! numbers {
    ($(#[$doc:meta])* $name:ident: $($number:literal $call:ident)*) => {
        $(#[$doc])*
        const fn $name(number: u64) -> Option<Call> {
            match number {
                $($number => Some(Call::$call),)*
                _ => None,
            }
        }
    };
}

numbers! {
    /// The calls of OSF/1 whose arguments are those of [`Call`].
    inherited:
    1 Exit 3 Read 4 Write 6 Close 12 Chdir 13 Fchdir 17 OsfBrk 19 Lseek 20 Getxpid 24 Getxuid
    36 Sync 37 Kill 41 Dup 42 PipePair 43 OsfSetProgramAttributes 47 Getxgid 48 OsfSigprocmask 54 Ioctl
    60 Umask 61 Chroot 64 Getpagesize 71 Mmap 73 Munmap 74 Mprotect 75 Madvise 87 Gethostname
    89 Getdtablesize 90 Dup2 91 Fstat 92 Fcntl 93 OsfSelect 94 Poll 95 Fsync 103 Sigreturn 111 OsfSigsuspend
    112 OsfSigstack 116 OsfGettimeofday 117 OsfGetrusage 120 Readv 121 Writev 122 Settimeofday 123 Fchown 124 Fchmod
    129 Truncate 130 Ftruncate 131 Flock 144 Getrlimit 145 Setrlimit 156 OsfSigaction 159 OsfGetdirentries
    165 Getdomainname 207 OsfUtsname 217 Msync 226 OsfFstat 233 Getpgid 234 Getsid 235 Sigaltstack
    23 Setuid 39 Setpgid 79 Getgroups 80 Setgroups 96 Setpriority 100 OsfGetpriority 126 Setreuid 127 Setregid
    132 Setgid 147 Setsid
    251 OsfUsleepThread 256 OsfGetsysinfo 257 OsfSetsysinfo 351 RtSigreturn
}

numbers! {
    /// The calls that only Linux has.
    own:
    361 Getitimer 362 Setitimer 414 TimerCreate 415 TimerSettime 416 TimerGettime 417 TimerGetoverrun 418 TimerDelete
    355 RtSigtimedwait 356 RtSigqueueinfo 492 RtTgsigqueueinfo 467 GetRobustList 438 Waitid 493 PerfEventOpen 513 Execveat 534 PidfdSendSignal 544 PidfdOpen
    481 TimerfdCreate 482 TimerfdSettime 483 TimerfdGettime 484 Signalfd4 312 Clone 314 Mlock 315 Munlock 316 Mlockall 317 Munlockall 318 Sysinfo 323 Times 328 Statfs 329 Fstatfs 334 SchedYield 339 Uname
    340 Nanosleep 341 Mremap 348 Prctl 349 Pread64 350 Pwrite64 352 RtSigaction 353 RtSigprocmask
    324 Personality 325 Setfsuid 326 Setfsgid 330 SchedSetparam 331 SchedGetparam 332 SchedSetscheduler
    333 SchedGetscheduler 335 SchedGetPriorityMax 336 SchedGetPriorityMin 337 SchedRrGetInterval 343 Setresuid
    344 Getresuid 354 RtSigpending 357 RtSigsuspend 358 Select 359 Gettimeofday 360 Settimeofday 364 Getrusage
    365 Wait4 366 Adjtimex 367 Getcwd 368 Capget 369 Capset 370 Sendfile 371 Setresgid 372 Getresgid 375 Mincore 377 Getdents64
    378 Gettid 379 Readahead 381 Tkill 394 Futex 395 SchedSetaffinity 396 SchedGetaffinity 405 ExitGroup
    407 EpollCreate 408 EpollCtl 409 EpollWait 411 SetTidAddress 413 Fadvise64 419 ClockSettime 420 ClockGettime
    421 ClockGetres 422 ClockNanosleep 424 Tgkill
    427 Fstat64 445 InotifyAddWatch 446 InotifyRmWatch 447 Fdatasync 450 Openat 451 Mkdirat 452 Mknodat 453 Fchownat 455 Fstatat64 456 Unlinkat
    457 Renameat 460 Readlinkat 461 Fchmodat 462 Faccessat 463 Pselect6 464 Ppoll 466 SetRobustList 468 Splice 470 Tee 471 Vmsplice 469 SyncFileRange 473 Getcpu
    474 EpollPwait 475 Utimensat 478 Eventfd 480 Fallocate 485 Eventfd2 486 EpollCreate1 487 Dup3 488 Pipe2 489 InotifyInit1 490 Preadv
    491 Pwritev 496 Prlimit64 500 Syncfs 510 Renameat2 511 Getrandom 512 MemfdCreate 517 Membarrier 518 Mlock2
    519 CopyFileRange 520 Preadv2 521 Pwritev2 522 Statx 527 Rseq 530 Getegid 531 Geteuid 532 Getppid
    97 Socket 98 Connect 99 Accept 104 Bind 105 Setsockopt 106 Listen 113 Recvmsg 114 Sendmsg 118 Getsockopt
    125 Recvfrom 133 Sendto 134 Shutdown 135 Socketpair 141 Getpeername 150 Getsockname 458 Linkat 459 Symlinkat
    479 Recvmmsg 502 Accept4 503 Sendmmsg
    200 Msgctl 201 Msgget 202 Msgrcv 203 Msgsnd 204 Semctl 205 Semget 206 Semop 209 Shmat 210 Shmctl 211 Shmdt
    212 Shmget 423 Semtimedop 546 CloseRange 549 Faccessat2 551 EpollPwait2
}

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

/// What is common to Linux and OSF/1.
pub(in super::super) fn common_call(number: u64, a: [u64; 6]) -> Option<DecodedCall> {
    inherited(number)
        .map(|call| (call, a))
        .or_else(|| inherited_on_paths(number, a))
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
        _ => own(number)
            .map(|call| (call, a))
            .or_else(|| common_call(number, a)),
    }
}
