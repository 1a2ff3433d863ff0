//! The system calls: one row each, from which the numbers, the names, what else is known of a call and what it does follow.
//!
//! A row says the call's name, its number on riscv64 (the generic one), its numbers on Alpha, its [traits](Traits), and the
//! handler. A number of Alpha is `OSF` where the call came from OSF/1 and its programs make it as well, else `LINUX`.
//! Numbers whose arguments differ from those of the call that they mean stand with the interface
//! ([`abi_alpha`](super::abi_alpha), [`abi_osf`](super::abi_osf)).

use hps_isa::memory::Memory;

use super::Linux;
use super::abi::StatFormat;
use super::errno::Errno;
use super::extended_attributes::Subject;
use super::identity::ids;
use super::outcome::{IntoOutcome, Outcome, Returned};
use super::schedule;
use super::time::TimeFormat;
use crate::process::Thread;

/// Properties of a call besides its effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits(u8);

impl Traits {
    const NONE: Traits = Traits(0);
    /// The first argument is a descriptor that is open already.
    const FD: Traits = Traits(1);
    /// Others who wait for files may go on behind it.
    const FILES: Traits = Traits(2);
    /// The call is made again after a handler whose action has `SA_RESTART` (signal(7)).
    const RESTARTS: Traits = Traits(4);
    /// The call takes the host no time worth speaking of, whatever its arguments are.
    const PLAIN: Traits = Traits(8);
    /// The call ends a thread, or returns from the handler of a signal.
    const ENDS: Traits = Traits(16);

    const fn and(self, other: Traits) -> Traits {
        Traits(self.0 | other.0)
    }

    const fn has(self, other: Traits) -> bool {
        self.0 & other.0 != 0
    }
}

/// Whose programs make a call of Alpha.
const OSF: bool = true;
const LINUX: bool = false;

/// The code of a call.
type Handler = fn(&mut Linux, &mut Thread, &mut Memory, &[u64; 6]) -> Outcome<Returned>;

macro_rules! calls {
    ($(
        $name:ident $text:literal ($($generic:literal)?) ($($whose:ident $alpha:literal)*) [$($property:ident)*]
        |$os:pat_param, $thread:pat_param, $memory:pat_param, $arguments:pat_param| $handler:expr;
    )*) => {
        /// A system call that has a meaning here.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Call {
            $(#[doc = concat!("`", $text, "`")] $name,)*
        }

        impl Call {
            /// All of them, in the order of their names.
            pub const ALL: &[Call] = &[$(Call::$name),*];

            /// The name of the call.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Call::$name => $text,)* }
            }

            /// The call of a generic number.
            #[must_use]
            pub const fn of_generic(number: u64) -> Option<Call> {
                match number {
                    $($($generic => Some(Call::$name),)?)*
                    _ => None,
                }
            }

            /// The call of a number of Alpha, and whether programs of OSF/1 make it as well.
            #[must_use]
            pub const fn of_alpha(number: u64) -> Option<(Call, bool)> {
                match number {
                    $($($alpha => Some((Call::$name, $whose)),)*)*
                    _ => None,
                }
            }

            const fn traits(self) -> Traits {
                match self {
                    $(Call::$name => Traits::NONE$(.and(Traits::$property))*,)*
                }
            }

            /// The numbers on riscv64 and on Alpha, as far as there are some.
            #[must_use]
            pub const fn numbers(self) -> (&'static [u64], &'static [u64]) {
                match self {
                    $(Call::$name => (&[$($generic)?], &[$($alpha),*]),)*
                }
            }
        }

        impl Linux {
            /// Serves a call, whose result goes to its thread.
            pub(super) fn serve(
                &mut self,
                call: Call,
                thread: &mut Thread,
                memory: &mut Memory,
                arguments: &[u64; 6],
            ) -> Outcome<Returned> {
                let handler: Handler = match call {
                    $(Call::$name => |$os, $thread, $memory, $arguments| ($handler).into_outcome(),)*
                };
                handler(self, thread, memory, arguments)
            }
        }
    };
}

impl Call {
    /// Whether the first argument is a descriptor that is open already.
    pub(super) const fn begins_with_descriptor(self) -> bool {
        self.traits().has(Traits::FD)
    }

    /// Whether others who wait for files may go on behind it.
    pub(super) const fn may_change_files(self) -> bool {
        self.traits().has(Traits::FILES)
    }

    /// Whether the call is made again after a handler whose action has `SA_RESTART`.
    pub(super) const fn is_restarted(self) -> bool {
        self.traits().has(Traits::RESTARTS)
    }

    /// Whether it takes the host no time worth speaking of.
    pub(super) const fn is_plain(self) -> bool {
        self.traits().has(Traits::PLAIN)
    }

    /// Whether the call ends a thread, or returns from the handler of a signal.
    pub(super) const fn ends_or_returns(self) -> bool {
        self.traits().has(Traits::ENDS)
    }
}

calls! {
    Accept "accept" (202) (LINUX 99) [FILES RESTARTS] |os, _, m, a| os.accept(m, a, 0);
    Accept4 "accept4" (242) (LINUX 502) [FILES RESTARTS] |os, _, m, a| os.accept(m, a, a[3]);
    Adjtimex "adjtimex" (171) (LINUX 366) [] |os, _, m, a| os.adjtimex(m, a[0]);
    Bind "bind" (200) (LINUX 104) [] |os, _, m, a| os.bind(m, a);
    Brk "brk" (214) () [] |os, _, m, a| os.brk(m, a[0]);
    Capget "capget" (90) (LINUX 368) [] |os, _, m, a| os.capget(m, a);
    Capset "capset" (91) (LINUX 369) [] |os, _, m, a| os.capset(m, a);
    Chdir "chdir" (49) (OSF 12) [] |os, _, m, a| os.chdir(m, a);
    Chroot "chroot" (51) (OSF 61) [] |os, _, m, a| os.chroot(m, a);
    ClockGetres "clock_getres" (114) (LINUX 421) [PLAIN] |os, _, m, a| os.clock_getres(m, a);
    ClockGettime "clock_gettime" (113) (LINUX 420) [PLAIN] |os, _, m, a| os.clock_gettime(m, a);
    ClockNanosleep "clock_nanosleep" (115) (LINUX 422) [] |os, _, m, a| os.clock_nanosleep(m, a);
    ClockSettime "clock_settime" (112) (LINUX 419) [] |os, _, m, a| os.clock_settime(m, a);
    Clone "clone" (220) (LINUX 312) [] |os, t, m, a| os.clone_call(t, m, a);
    Clone3 "clone3" (435) () [] |os, t, m, a| os.clone3_call(t, m, a);
    Close "close" (57) (OSF 6) [FD FILES] |os, _, _, a| os.close(a[0]);
    CloseRange "close_range" (436) (LINUX 546) [FILES] |os, _, _, a| os.close_range(a);
    Connect "connect" (203) (LINUX 98) [FILES RESTARTS] |os, _, m, a| os.connect(m, a);
    CopyFileRange "copy_file_range" (285) (LINUX 519) [FD] |os, _, m, a| os.copy_file_range(m, a);
    Dup "dup" (23) (OSF 41) [FD] |os, _, _, a| os.dup(a[0]);
    Dup2 "dup2" () (OSF 90) [FD FILES] |os, _, _, a| os.dup2(a);
    Dup3 "dup3" (24) (LINUX 487) [FD FILES] |os, _, _, a| os.dup3(a);
    EpollCreate "epoll_create" () (LINUX 407) [] |os, _, _, a| os.epoll_create(a[0]);
    EpollCreate1 "epoll_create1" (20) (LINUX 486) [] |os, _, _, a| os.epoll_create1(a[0]);
    EpollCtl "epoll_ctl" (21) (LINUX 408) [FD FILES] |os, _, m, a| os.epoll_ctl(m, a);
    EpollPwait "epoll_pwait" (22) (LINUX 474) [FD] |os, t, m, a| os.epoll_pwait(t, m, a);
    EpollPwait2 "epoll_pwait2" (441) (LINUX 551) [FD] |os, t, m, a| os.epoll_pwait2(t, m, a);
    EpollWait "epoll_wait" () (LINUX 409) [FD] |os, t, m, a| os.epoll_pwait(t, m, &[a[0], a[1], a[2], a[3], 0, 0]);
    Eventfd "eventfd" () (LINUX 478) [] |os, _, _, a| os.eventfd(a[0], 0);
    Eventfd2 "eventfd2" (19) (LINUX 485) [] |os, _, _, a| os.eventfd(a[0], a[1]);
    Execve "execve" (221) () [] |os, _, m, a| os.execve(m, a);
    Execveat "execveat" (281) (LINUX 513) [] |os, _, m, a| os.execveat(m, a);
    Exit "exit" (93) (OSF 1) [ENDS] |_, _, _, _| ();
    ExitGroup "exit_group" (94) (LINUX 405) [ENDS] |_, _, _, _| ();
    Faccessat "faccessat" (48) (LINUX 462) [] |os, _, m, a| os.faccessat(m, a, 0);
    Faccessat2 "faccessat2" (439) (LINUX 549) [] |os, _, m, a| os.faccessat(m, a, a[3]);
    Fadvise64 "fadvise64" (223) (LINUX 413) [FD] |os, _, _, a| os.fadvise(a);
    Fallocate "fallocate" (47) (LINUX 480) [FD] |os, _, _, a| os.fallocate(a);
    Fchdir "fchdir" (50) (OSF 13) [FD] |os, _, _, a| os.fchdir(a[0]);
    Fchmod "fchmod" (52) (OSF 124) [FD] |os, _, _, a| os.fchmod(a[0], a[1]);
    Fchmodat "fchmodat" (53) (LINUX 461) [] |os, _, m, a| os.fchmodat(m, a);
    Fchmodat2 "fchmodat2" (452) (LINUX 562) [] |os, _, m, a| os.fchmodat2(m, a);
    Fchown "fchown" (55) (OSF 123) [FD] |os, _, _, a| os.chown_open(a);
    Fchownat "fchownat" (54) (LINUX 453) [] |os, _, m, a| os.chown_at(m, a);
    Fcntl "fcntl" (25) (OSF 92) [FD FILES RESTARTS] |os, _, m, a| os.fcntl(m, a);
    Fdatasync "fdatasync" (83) (LINUX 447) [FD] |os, _, _, a| os.fsync(a[0]);
    Fgetxattr "fgetxattr" (10) (LINUX 387) [FD] |os, _, m, a| os.get_attribute(m, a, Subject::Open);
    Flistxattr "flistxattr" (13) (LINUX 390) [FD] |os, _, m, a| os.list_attributes(m, a, Subject::Open);
    Flock "flock" (32) (OSF 131) [FD FILES RESTARTS] |os, _, _, a| os.flock(a[0], a[1]);
    Fremovexattr "fremovexattr" (16) (LINUX 393) [FD] |os, _, m, a| os.remove_attribute(m, a, Subject::Open);
    Fsetxattr "fsetxattr" (7) (LINUX 384) [FD] |os, _, m, a| os.set_attribute(m, a, Subject::Open);
    Fstat "fstat" (80) (OSF 91) [FD] |os, _, m, a| os.fstat(m, a, StatFormat::Native);
    Fstat64 "fstat64" () (LINUX 427) [FD] |os, _, m, a| os.fstat(m, a, StatFormat::Large);
    Fstatat64 "fstatat64" () (LINUX 455) [] |os, _, m, a| os.newfstatat(m, a, StatFormat::Large);
    Fstatfs "fstatfs" (44) (LINUX 329) [FD] |os, _, m, a| os.fstatfs(m, a);
    Fsync "fsync" (82) (OSF 95) [FD] |os, _, _, a| os.fsync(a[0]);
    Ftruncate "ftruncate" (46) (OSF 130) [FD] |os, _, _, a| os.ftruncate(a[0], a[1]);
    Futex "futex" (98) (LINUX 394) [RESTARTS PLAIN] |os, _, m, a| os.futex(m, a);
    GetRobustList "get_robust_list" (100) (LINUX 467) [] |os, t, m, a| os.robust_list(t, m, a);
    Getcpu "getcpu" (168) (LINUX 473) [PLAIN] |os, _, m, a| os.getcpu(m, a);
    Getcwd "getcwd" (17) (LINUX 367) [] |os, _, m, a| os.getcwd(m, a);
    Getdents64 "getdents64" (61) (LINUX 377) [FD] |os, _, m, a| os.getdents64(m, a);
    Getdomainname "getdomainname" () (OSF 165) [] |os, _, m, a| os.host_name(m, a);
    Getdtablesize "getdtablesize" () (OSF 89) [] |os, _, _, _| os.limits.descriptors();
    Getegid "getegid" (177) (LINUX 530) [PLAIN] |os, _, _, _| os.credentials.egid();
    Geteuid "geteuid" (175) (LINUX 531) [PLAIN] |os, _, _, _| os.credentials.euid();
    Getgid "getgid" (176) () [PLAIN] |os, _, _, _| os.credentials.gid();
    Getgroups "getgroups" (158) (OSF 79) [] |os, _, m, a| os.getgroups(m, a);
    Gethostname "gethostname" () (OSF 87) [] |os, _, m, a| os.host_name(m, a);
    Getitimer "getitimer" (102) (LINUX 361) [] |os, _, m, a| os.getitimer(m, a);
    Getpagesize "getpagesize" () (OSF 64) [] |os, _, _, _| os.abi.page_bytes();
    Getpeername "getpeername" (205) (LINUX 141) [] |os, _, m, a| os.getpeername(m, a);
    Getpgid "getpgid" (155) (OSF 233) [] |os, _, _, a| os.getpgid(a[0]);
    Getpid "getpid" (172) () [PLAIN] |os, _, _, _| os.pid;
    Getppid "getppid" (173) (LINUX 532) [PLAIN] |os, _, _, _| os.parent();
    Getpriority "getpriority" (141) () [] |os, t, _, a| os.getpriority(t, a).map(|nice| (20 - nice) as u64);
    Getrandom "getrandom" (278) (LINUX 511) [] |os, _, m, a| os.getrandom(m, a);
    Getresgid "getresgid" (150) (LINUX 372) [] |os, _, m, a| os.getresgid(m, a);
    Getresuid "getresuid" (148) (LINUX 344) [] |os, _, m, a| os.getresuid(m, a);
    Getrlimit "getrlimit" (163) (OSF 144) [] |os, _, m, a| os.rlimit(m, a[0], a[1], false);
    Getrusage "getrusage" (165) (LINUX 364) [PLAIN] |os, _, m, a| os.getrusage(m, a, 16);
    Getsid "getsid" (156) (OSF 234) [] |os, _, _, a| os.getsid(a[0]);
    Getsockname "getsockname" (204) (LINUX 150) [] |os, _, m, a| os.getsockname(m, a);
    Getsockopt "getsockopt" (209) (LINUX 118) [] |os, _, m, a| os.getsockopt(m, a);
    Gettid "gettid" (178) (LINUX 378) [PLAIN] |_, t, _, _| t.tid;
    Gettimeofday "gettimeofday" (169) (LINUX 359) [PLAIN] |os, _, m, a| os.gettimeofday(m, a);
    Getuid "getuid" (174) () [PLAIN] |os, _, _, _| os.credentials.uid();
    Getxattr "getxattr" (8) (LINUX 385) [] |os, _, m, a| os.get_attribute(m, a, Subject::Path);
    Getxgid "getxgid" () (OSF 47) [PLAIN] |os, _, _, _| Returned::both(os.credentials.gid(), os.credentials.egid());
    Getxpid "getxpid" () (OSF 20) [PLAIN] |os, _, _, _| Returned::both(os.pid, os.parent());
    Getxuid "getxuid" () (OSF 24) [PLAIN] |os, _, _, _| Returned::both(os.credentials.uid(), os.credentials.euid());
    InotifyAddWatch "inotify_add_watch" (27) (LINUX 445) [FD] |os, _, m, a| os.inotify_add_watch(m, a);
    InotifyInit1 "inotify_init1" (26) (LINUX 489) [] |os, _, _, a| os.inotify_init(a[0]);
    InotifyRmWatch "inotify_rm_watch" (28) (LINUX 446) [FD] |os, _, _, a| os.inotify_rm_watch(a[0], a[1]);
    Ioctl "ioctl" (29) (OSF 54) [FD RESTARTS] |os, t, m, a| os.ioctl_any(t, m, a);
    Kill "kill" (129) (OSF 37) [] |os, _, _, a| os.kill(a);
    Lgetxattr "lgetxattr" (9) (LINUX 386) [] |os, _, m, a| os.get_attribute(m, a, Subject::Link);
    Linkat "linkat" (37) (LINUX 458) [] |os, _, m, a| os.linkat(m, a);
    Listen "listen" (201) (LINUX 106) [FILES] |os, _, _, a| os.listen(a);
    Listxattr "listxattr" (11) (LINUX 388) [] |os, _, m, a| os.list_attributes(m, a, Subject::Path);
    Llistxattr "llistxattr" (12) (LINUX 389) [] |os, _, m, a| os.list_attributes(m, a, Subject::Link);
    Lremovexattr "lremovexattr" (15) (LINUX 392) [] |os, _, m, a| os.remove_attribute(m, a, Subject::Link);
    Lseek "lseek" (62) (OSF 19) [FD] |os, _, _, a| os.lseek(a);
    Lsetxattr "lsetxattr" (6) (LINUX 383) [] |os, _, m, a| os.set_attribute(m, a, Subject::Link);
    Madvise "madvise" (233) (OSF 75) [] |os, _, m, a| os.madvise(m, a);
    Membarrier "membarrier" (283) (LINUX 517) [] |os, _, _, a| os.membarrier(a);
    MemfdCreate "memfd_create" (279) (LINUX 512) [] |os, _, m, a| os.memfd_create(m, a);
    Mincore "mincore" (232) (LINUX 375) [] |os, _, m, a| os.mincore(m, a);
    Mkdirat "mkdirat" (34) (LINUX 451) [] |os, _, m, a| os.mkdirat(m, a);
    Mknodat "mknodat" (33) (LINUX 452) [] |os, _, m, a| os.mknodat(m, a);
    Mlock "mlock" (228) (LINUX 314) [] |os, _, m, a| os.mlock(m, a[0], a[1], 0);
    Mlock2 "mlock2" (284) (LINUX 518) [] |os, _, m, a| os.mlock(m, a[0], a[1], a[2]);
    Mlockall "mlockall" (230) (LINUX 316) [] |os, _, m, a| os.mlockall(m, a[0]);
    Mmap "mmap" (222) (OSF 71) [] |os, _, m, a| { let done = os.mmap(m, a); os.track_shared(m); done };
    Mprotect "mprotect" (226) (OSF 74) [] |os, _, m, a| { let done = os.mprotect(m, a); os.track_shared(m); done };
    Mremap "mremap" (216) (LINUX 341) [] |os, _, m, a| { let done = os.mremap(m, a); os.track_shared(m); done };
    Msgctl "msgctl" (187) (LINUX 200) [] |os, _, m, a| os.msgctl(m, a);
    Msgget "msgget" (186) (LINUX 201) [] |os, _, _, a| os.msgget(a);
    Msgrcv "msgrcv" (188) (LINUX 202) [] |os, _, m, a| os.msgrcv(m, a);
    Msgsnd "msgsnd" (189) (LINUX 203) [] |os, _, m, a| os.msgsnd(m, a);
    Msync "msync" (227) (OSF 217) [] |os, _, m, a| os.msync(m, a);
    Munlock "munlock" (229) (LINUX 315) [] |os, _, m, a| os.munlock(m, a);
    Munlockall "munlockall" (231) (LINUX 317) [] |os, _, _, _| os.munlockall();
    Munmap "munmap" (215) (OSF 73) [] |os, _, m, a| { let done = os.munmap(m, a); os.track_shared(m); done };
    Nanosleep "nanosleep" (101) (LINUX 340) [] |os, _, m, a| os.sleep(m, a);
    Newfstatat "newfstatat" (79) () [] |os, _, m, a| os.newfstatat(m, a, StatFormat::Native);
    Openat "openat" (56) (LINUX 450) [RESTARTS] |os, t, m, a| os.openat(t, m, a);
    OsfBrk "osf_brk" () (OSF 17) [] |os, _, m, a| os.osf_brk(m, a[0]);
    OsfFstat "osf_fstat" () (OSF 226) [FD] |os, _, m, a| os.fstat(m, a, StatFormat::Osf);
    OsfFstatat "osf_fstatat" () () [] |os, _, m, a| os.newfstatat(m, a, StatFormat::Osf);
    OsfGetdirentries "osf_getdirentries" () (OSF 159) [FD] |os, _, m, a| os.osf_getdirentries(m, a);
    OsfGetpriority "osf_getpriority" () (OSF 100) [] |os, t, _, a| os.getpriority(t, a).map(|nice| i64::from(nice) as u64);
    OsfGetrusage "osf_getrusage" () (OSF 117) [] |os, _, m, a| os.getrusage(m, a, 8);
    OsfGetsysinfo "osf_getsysinfo" () (OSF 256) [] |os, t, m, a| os.getsysinfo(t, m, a);
    OsfGettimeofday "osf_gettimeofday" () (OSF 116) [] |os, _, m, a| os.gettimeofday32(m, a);
    OsfSelect "osf_select" () (OSF 93) [] |os, _, m, a| os.select(m, a, TimeFormat::Osf);
    OsfSetProgramAttributes "osf_set_program_attributes" () (OSF 43) [] |_, _, _, _| ();
    OsfSetsysinfo "osf_setsysinfo" () (OSF 257) [] |os, t, m, a| os.setsysinfo(t, m, a);
    OsfSigaction "osf_sigaction" () (OSF 156) [] |os, t, m, a| os.osf_sigaction(t, m, a);
    OsfSigprocmask "osf_sigprocmask" () (OSF 48) [] |os, t, _, a| os.osf_sigprocmask(t, a);
    OsfSigstack "osf_sigstack" () (OSF 112) [] |os, t, m, a| os.sigstack(t, m, a);
    OsfSigsuspend "osf_sigsuspend" () (OSF 111) [] |os, t, _, a| os.suspend(t, a[0]);
    OsfUsleepThread "osf_usleep_thread" () (OSF 251) [] |os, _, m, a| os.usleep_thread(m, a);
    OsfUtsname "osf_utsname" () (OSF 207) [] |os, _, m, a| os.osf_utsname(m, a[0]);
    OsfWait4 "osf_wait4" () () [RESTARTS] |os, _, m, a| os.wait4(m, a, true);
    PerfEventOpen "perf_event_open" (241) (LINUX 493) [] |os, t, m, a| os.perf_event_open(t, m, a);
    Personality "personality" (92) (LINUX 324) [] |_, t, _, a| t.attributes.set_personality(a[0]);
    PidfdOpen "pidfd_open" (434) (LINUX 544) [] |os, _, _, a| os.pidfd_open(a[0], a[1]);
    PidfdSendSignal "pidfd_send_signal" (424) (LINUX 534) [] |os, t, m, a| os.pidfd_send_signal(t, m, a);
    PipePair "pipe" () (OSF 42) [] |os, _, _, _| os.pipe_pair();
    Pipe2 "pipe2" (59) (LINUX 488) [] |os, _, m, a| os.pipe2(m, a);
    Poll "poll" () (OSF 94) [] |os, _, m, a| os.poll(m, a);
    Ppoll "ppoll" (73) (LINUX 464) [] |os, t, m, a| os.ppoll(t, m, a);
    Prctl "prctl" (167) (LINUX 348) [] |os, t, m, a| os.prctl(t, m, a);
    Pread64 "pread64" (67) (LINUX 349) [FD] |os, t, m, a| os.pread(t, m, a);
    Preadv "preadv" (69) (LINUX 490) [FD] |os, t, m, a| os.readv(t, m, a, Some(a[3]));
    Preadv2 "preadv2" (286) (LINUX 520) [FD FILES] |os, t, m, a| os.readv2(t, m, a);
    Prlimit64 "prlimit64" (261) (LINUX 496) [] |os, _, m, a| os.prlimit64(m, a);
    Pselect6 "pselect6" (72) (LINUX 463) [] |os, t, m, a| os.pselect6(t, m, a);
    Pwrite64 "pwrite64" (68) (LINUX 350) [FD] |os, _, m, a| os.pwrite(m, a);
    Pwritev "pwritev" (70) (LINUX 491) [FD] |os, _, m, a| os.writev(m, a, Some(a[3]));
    Pwritev2 "pwritev2" (287) (LINUX 521) [FD FILES] |os, _, m, a| os.writev2(m, a);
    Read "read" (63) (OSF 3) [FD FILES RESTARTS] |os, t, m, a| os.read(t, m, a);
    Readahead "readahead" (213) (LINUX 379) [FD] |os, _, _, a| os.readahead(a);
    Readlinkat "readlinkat" (78) (LINUX 460) [] |os, _, m, a| os.readlinkat(m, a);
    Readv "readv" (65) (OSF 120) [FD FILES RESTARTS] |os, t, m, a| os.readv(t, m, a, None);
    Recvfrom "recvfrom" (207) (LINUX 125) [FILES RESTARTS] |os, _, m, a| os.recvfrom(m, a);
    Recvmmsg "recvmmsg" (243) (LINUX 479) [FILES] |os, _, m, a| os.recvmmsg(m, a);
    Recvmsg "recvmsg" (212) (LINUX 113) [FILES RESTARTS] |os, _, m, a| os.recvmsg(m, a);
    Removexattr "removexattr" (14) (LINUX 391) [] |os, _, m, a| os.remove_attribute(m, a, Subject::Path);
    Renameat "renameat" (38) (LINUX 457) [] |os, _, m, a| os.renameat(m, a, 0);
    Renameat2 "renameat2" (276) (LINUX 510) [] |os, _, m, a| os.renameat(m, a, a[4]);
    RiscvFlushIcache "riscv_flush_icache" (259) () [] |_, _, m, _| m.invalidate_code();
    RiscvHwprobe "riscv_hwprobe" (258) () [] |_, _, m, a| Linux::riscv_hwprobe(m, a);
    Rseq "rseq" (293) (LINUX 527) [] |_, _, _, _| Err::<(), _>(Errno::ENOSYS);
    RtSigaction "rt_sigaction" (134) (LINUX 352) [PLAIN] |os, t, m, a| os.rt_sigaction(t, m, a);
    RtSigpending "rt_sigpending" (136) (LINUX 354) [] |os, t, m, a| os.rt_sigpending(t, m, a);
    RtSigprocmask "rt_sigprocmask" (135) (LINUX 353) [PLAIN] |os, t, m, a| os.rt_sigprocmask(t, m, a);
    RtSigqueueinfo "rt_sigqueueinfo" (138) (LINUX 356) [] |os, t, m, a| os.queue_signal(t, m, [a[0], 0, a[1], a[2]], false);
    RtSigreturn "rt_sigreturn" (139) (OSF 351) [PLAIN ENDS] |_, _, _, _| ();
    RtSigsuspend "rt_sigsuspend" (133) (LINUX 357) [] |os, t, m, a| os.rt_sigsuspend(t, m, a);
    RtSigtimedwait "rt_sigtimedwait" (137) (LINUX 355) [] |os, t, m, a| os.rt_sigtimedwait(t, m, a);
    RtTgsigqueueinfo "rt_tgsigqueueinfo" (240) (LINUX 492) [] |os, t, m, a| os.queue_signal(t, m, [a[0], a[1], a[2], a[3]], true);
    SchedGetPriorityMax "sched_get_priority_max" (125) (LINUX 335) [] |_, _, _, a| schedule::priorities(a[0]).map(|(_, most)| most);
    SchedGetPriorityMin "sched_get_priority_min" (126) (LINUX 336) [] |_, _, _, a| schedule::priorities(a[0]).map(|(least, _)| least);
    SchedGetaffinity "sched_getaffinity" (123) (LINUX 396) [] |os, t, m, a| os.sched_getaffinity(t, m, a);
    SchedGetparam "sched_getparam" (121) (LINUX 331) [] |os, _, m, a| schedule::get_parameters(m, &os.own(a));
    SchedGetscheduler "sched_getscheduler" (120) (LINUX 333) [] |os, t, _, a| t.scheduling.policy(os.own(a)[0]);
    SchedRrGetInterval "sched_rr_get_interval" (127) (LINUX 337) [] |os, _, m, a| schedule::time_slice(m, &os.own(a));
    SchedSetaffinity "sched_setaffinity" (122) (LINUX 395) [] |os, t, m, a| os.sched_setaffinity(t, m, a);
    SchedSetparam "sched_setparam" (118) (LINUX 330) [] |os, t, m, a| t.scheduling.set_parameters(m, &os.own(a));
    SchedSetscheduler "sched_setscheduler" (119) (LINUX 332) [] |os, t, m, a| t.scheduling.set_scheduler(m, &os.own(a));
    SchedYield "sched_yield" (124) (LINUX 334) [PLAIN] |os, _, _, _| Returned { yields: os.others_are_ready(), ..Returned::default() };
    Select "select" () (LINUX 358) [] |os, _, m, a| os.select(m, a, TimeFormat::Microseconds);
    Semctl "semctl" (191) (LINUX 204) [] |os, _, m, a| os.semctl(m, a);
    Semget "semget" (190) (LINUX 205) [] |os, _, _, a| os.semget(a);
    Semop "semop" (193) (LINUX 206) [] |os, _, m, a| os.semop(m, a, 0);
    Semtimedop "semtimedop" (192) (LINUX 423) [] |os, _, m, a| os.semop(m, a, a[3]);
    Sendfile "sendfile" (71) (LINUX 370) [FD FILES] |os, t, m, a| os.sendfile(t, m, a);
    Sendmmsg "sendmmsg" (269) (LINUX 503) [FILES] |os, _, m, a| os.sendmmsg(m, a);
    Sendmsg "sendmsg" (211) (LINUX 114) [FILES RESTARTS] |os, _, m, a| os.sendmsg(m, a);
    Sendto "sendto" (206) (LINUX 133) [FILES RESTARTS] |os, _, m, a| os.sendto(m, a);
    SetRobustList "set_robust_list" (99) (LINUX 466) [] |_, t, _, a| t.robust_list = a[0];
    SetTidAddress "set_tid_address" (96) (LINUX 411) [] |_, t, _, a| { t.clear_tid = a[0]; t.tid };
    Setfsgid "setfsgid" (152) (LINUX 326) [] |os, _, _, a| os.set_group_of_files(a[0] as u32);
    Setfsuid "setfsuid" (151) (LINUX 325) [] |os, _, _, a| os.set_user_of_files(a[0] as u32);
    Setgid "setgid" (144) (OSF 132) [] |os, _, _, a| os.change_groups(|own, all| own.set(a[0] as u32, all));
    Setgroups "setgroups" (159) (OSF 80) [] |os, _, m, a| os.setgroups(m, a);
    Setitimer "setitimer" (103) (LINUX 362) [] |os, _, m, a| os.setitimer(m, a);
    Setpgid "setpgid" (154) (OSF 39) [] |os, _, _, a| os.setpgid(a[0], a[1]);
    Setpriority "setpriority" (140) (OSF 96) [] |os, t, _, a| os.setpriority(t, a);
    Setregid "setregid" (143) (OSF 127) [] |os, _, _, a| os.change_groups(|own, all| own.set_two(a[0] as u32, a[1] as u32, all));
    Setresgid "setresgid" (149) (LINUX 371) [] |os, _, _, a| os.change_groups(|own, all| own.set_three(ids(a), all));
    Setresuid "setresuid" (147) (LINUX 343) [] |os, t, _, a| os.change_users(t, |own, all| own.set_three(ids(a), all));
    Setreuid "setreuid" (145) (OSF 126) [] |os, t, _, a| os.change_users(t, |own, all| own.set_two(a[0] as u32, a[1] as u32, all));
    Setrlimit "setrlimit" (164) (OSF 145) [] |os, _, m, a| os.rlimit(m, a[0], a[1], true);
    Setsid "setsid" (157) (OSF 147) [] |os, _, _, _| os.setsid();
    Setsockopt "setsockopt" (208) (LINUX 105) [] |os, _, m, a| os.setsockopt(m, a);
    Settimeofday "settimeofday" (170) (OSF 122 LINUX 360) [] |os, _, m, a| os.settimeofday(m, a);
    Setuid "setuid" (146) (OSF 23) [] |os, t, _, a| os.change_users(t, |own, all| own.set(a[0] as u32, all));
    Setxattr "setxattr" (5) (LINUX 382) [] |os, _, m, a| os.set_attribute(m, a, Subject::Path);
    Shmat "shmat" (196) (LINUX 209) [] |os, _, m, a| os.shmat(m, a);
    Shmctl "shmctl" (195) (LINUX 210) [] |os, _, m, a| os.shmctl(m, a);
    Shmdt "shmdt" (197) (LINUX 211) [] |os, _, m, a| os.shmdt(m, a[0]);
    Shmget "shmget" (194) (LINUX 212) [] |os, _, _, a| os.shmget(a);
    Shutdown "shutdown" (210) (LINUX 134) [FILES] |os, _, _, a| os.shutdown(a);
    Sigaltstack "sigaltstack" (132) (OSF 235) [] |os, t, m, a| os.sigaltstack(t, m, a);
    Signalfd4 "signalfd4" (74) (LINUX 484) [] |os, _, m, a| os.signalfd4(m, a);
    Sigreturn "sigreturn" () (OSF 103) [PLAIN ENDS] |_, _, _, _| ();
    Socket "socket" (198) (LINUX 97) [] |os, _, _, a| os.socket(a);
    Socketpair "socketpair" (199) (LINUX 135) [] |os, _, m, a| os.socketpair(m, a);
    Splice "splice" (76) (LINUX 468) [FILES] |os, _, m, a| os.splice(m, a);
    Statfs "statfs" (43) (LINUX 328) [] |os, _, m, a| os.statfs(m, a);
    Statx "statx" (291) (LINUX 522) [] |os, _, m, a| os.statx(m, a);
    Symlinkat "symlinkat" (36) (LINUX 459) [] |os, _, m, a| os.symlinkat(m, a);
    Sync "sync" (81) (OSF 36) [] |_, _, _, _| ();
    SyncFileRange "sync_file_range" (84) (LINUX 469) [FD] |os, _, _, a| os.sync_file_range(a);
    Syncfs "syncfs" (267) (LINUX 500) [FD] |os, _, _, a| os.syncfs(a[0]);
    Sysinfo "sysinfo" (179) (LINUX 318) [] |os, _, m, a| os.sysinfo(m, a[0]);
    Tee "tee" (77) (LINUX 470) [FILES] |os, _, _, a| os.tee(a);
    Tgkill "tgkill" (131) (LINUX 424) [] |os, t, _, a| os.tgkill(t, a);
    TimerCreate "timer_create" (107) (LINUX 414) [] |os, _, m, a| os.timer_create(m, a);
    TimerDelete "timer_delete" (111) (LINUX 418) [] |os, _, _, a| os.timer_delete(a[0]);
    TimerGetoverrun "timer_getoverrun" (109) (LINUX 417) [] |os, _, _, a| os.timer_getoverrun(a[0]);
    TimerGettime "timer_gettime" (108) (LINUX 416) [] |os, _, m, a| os.timer_gettime(m, a);
    TimerSettime "timer_settime" (110) (LINUX 415) [] |os, _, m, a| os.timer_settime(m, a);
    TimerfdCreate "timerfd_create" (85) (LINUX 481) [] |os, _, _, a| os.timerfd_create(a);
    TimerfdGettime "timerfd_gettime" (87) (LINUX 483) [FD] |os, _, m, a| os.timerfd_gettime(m, a);
    TimerfdSettime "timerfd_settime" (86) (LINUX 482) [FD FILES] |os, _, m, a| os.timerfd_settime(m, a);
    Times "times" (153) (LINUX 323) [PLAIN] |os, _, m, a| os.times(m, a[0]);
    Tkill "tkill" (130) (LINUX 381) [] |os, t, _, a| os.tkill(t, a[0], a[1]);
    Truncate "truncate" (45) (OSF 129) [] |os, _, m, a| os.truncate(m, a);
    Umask "umask" (166) (OSF 60) [PLAIN] |os, _, _, a| std::mem::replace(&mut os.tree.umask, a[0] as u32 & 0o777);
    Uname "uname" (160) (LINUX 339) [] |os, _, m, a| os.uname(m, a[0]);
    Unlinkat "unlinkat" (35) (LINUX 456) [] |os, _, m, a| os.unlinkat(m, a);
    Utimensat "utimensat" (88) (LINUX 475) [] |os, _, m, a| os.utimensat(m, a);
    Vmsplice "vmsplice" (75) (LINUX 471) [FILES] |os, t, m, a| os.vmsplice(t, m, a);
    Wait4 "wait4" (260) (LINUX 365) [RESTARTS] |os, _, m, a| os.wait4(m, a, false);
    Waitid "waitid" (95) (LINUX 438) [RESTARTS] |os, _, m, a| os.waitid(m, a);
    Write "write" (64) (OSF 4) [FD FILES RESTARTS] |os, _, m, a| os.write(m, a);
    Writev "writev" (66) (OSF 121) [FD FILES RESTARTS] |os, _, m, a| os.writev(m, a, None);
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::os::call_names;

    /// Calls of Alpha that return two numbers, and whose names here are OSF/1's.
    const OTHERWISE_NAMED: [(&str, &str); 2] = [("getxgid", "getgid"), ("getxuid", "getuid")];

    #[test]
    fn numbers_are_those_of_the_kernels_tables() {
        for call in Call::ALL {
            let (generic, alpha) = call.numbers();
            for number in generic {
                // The generic table has one that riscv64's kernel leaves out.
                let named = call_names::riscv64(*number).or((*number == 38).then_some("renameat"));
                assert_eq!(named, Some(call.name()), "{number}");
                assert_eq!(Call::of_generic(*number), Some(*call));
            }
            for number in alpha {
                let named = call_names::alpha(*number).unwrap_or("nothing");
                let is_named = named == call.name()
                    || named == call.name().trim_start_matches("osf_")
                    || named == format!("osf_{}", call.name())
                    || OTHERWISE_NAMED.contains(&(call.name(), named));
                assert!(is_named, "{number} is {named}, and {} here", call.name());
                assert_eq!(Call::of_alpha(*number).map(|(call, _)| call), Some(*call));
            }
        }
        let names = Call::ALL.iter().map(|call| call.name());
        assert!(names.is_sorted());
    }

    /// The page of the documents follows from the rows; `UPDATE_DOCS=1` writes it anew.
    #[test]
    fn the_documents_list_every_call() {
        let mut page = String::from(
            "# System calls\n\nThe calls that programs can make, with their numbers on riscv64 and Alpha. Numbers of Alpha \
             that mean one of these calls with other arguments (`open`, `stat`, `unlink`) are served as well. Any other call \
             returns ENOSYS, and `hps run` warns once of each.\n\n| call | riscv64 | Alpha |\n| --- | --- | --- |\n",
        );
        let list = |numbers: &[u64]| {
            let texts: Vec<String> = numbers.iter().map(u64::to_string).collect();
            texts.join(", ")
        };
        for call in Call::ALL {
            let (generic, alpha) = call.numbers();
            let (generic, alpha) = (list(generic), list(alpha));
            let _ = writeln!(page, "| `{}` | {generic} | {alpha} |", call.name());
        }
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/system-calls.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &page).expect("the page can be written");
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            written == page,
            "docs/system-calls.md is not what os/calls.rs says; UPDATE_DOCS=1 cargo test -p hps-system --lib writes it anew"
        );
    }
}
