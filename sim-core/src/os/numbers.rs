//! The system calls, independent of the numbers that an ABI gives them.

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident $text:literal;)*) => {
        /// A system call that has a meaning here.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Call {
            $(#[doc = concat!("`", $text, "`")] $name,)*
        }

        impl Call {
            /// All of them.
            pub const ALL: &[Call] = &[$(Call::$name),*];

            /// The name of the call.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Call::$name => $text,)* }
            }
        }
    };
}

calls! {
    Adjtimex "adjtimex";
    Brk "brk";
    Chdir "chdir";
    ClockGetres "clock_getres";
    ClockGettime "clock_gettime";
    ClockNanosleep "clock_nanosleep";
    ClockSettime "clock_settime";
    Clone "clone";
    Clone3 "clone3";
    Close "close";
    CloseRange "close_range";
    CopyFileRange "copy_file_range";
    Dup "dup";
    Dup2 "dup2";
    Dup3 "dup3";
    EpollCreate "epoll_create";
    EpollCreate1 "epoll_create1";
    EpollCtl "epoll_ctl";
    EpollPwait "epoll_pwait";
    EpollPwait2 "epoll_pwait2";
    EpollWait "epoll_wait";
    Eventfd "eventfd";
    Eventfd2 "eventfd2";
    Execve "execve";
    Exit "exit";
    ExitGroup "exit_group";
    Faccessat "faccessat";
    Faccessat2 "faccessat2";
    Fallocate "fallocate";
    Fadvise64 "fadvise64";
    Fchdir "fchdir";
    Fchmod "fchmod";
    Fchmodat "fchmodat";
    Fchown "fchown";
    Fchownat "fchownat";
    Fcntl "fcntl";
    Fdatasync "fdatasync";
    Flock "flock";
    Fstat "fstat";
    Fstat64 "fstat64";
    Fstatat64 "fstatat64";
    Fstatfs "fstatfs";
    Fsync "fsync";
    Ftruncate "ftruncate";
    Futex "futex";
    Getcpu "getcpu";
    Getcwd "getcwd";
    Getdents64 "getdents64";
    Getdomainname "getdomainname";
    Getdtablesize "getdtablesize";
    Getegid "getegid";
    Geteuid "geteuid";
    Getgid "getgid";
    Getgroups "getgroups";
    Gethostname "gethostname";
    Getitimer "getitimer";
    Getpagesize "getpagesize";
    Getpgid "getpgid";
    Getpid "getpid";
    Getppid "getppid";
    Getpriority "getpriority";
    Getrandom "getrandom";
    Getresgid "getresgid";
    Getresuid "getresuid";
    Getrlimit "getrlimit";
    Getrusage "getrusage";
    GetRobustList "get_robust_list";
    Getsid "getsid";
    Gettid "gettid";
    Gettimeofday "gettimeofday";
    Getuid "getuid";
    Getxgid "getxgid";
    Getxpid "getxpid";
    Getxuid "getxuid";
    Ioctl "ioctl";
    Kill "kill";
    Lseek "lseek";
    Madvise "madvise";
    Membarrier "membarrier";
    MemfdCreate "memfd_create";
    Mincore "mincore";
    Mkdirat "mkdirat";
    Mlock "mlock";
    Mlock2 "mlock2";
    Mlockall "mlockall";
    Mmap "mmap";
    Mprotect "mprotect";
    Mremap "mremap";
    Msync "msync";
    Munlock "munlock";
    Munlockall "munlockall";
    Munmap "munmap";
    Nanosleep "nanosleep";
    Newfstatat "newfstatat";
    Openat "openat";
    OsfBrk "osf_brk";
    OsfFstat "osf_fstat";
    OsfFstatat "osf_fstatat";
    OsfGetdirentries "osf_getdirentries";
    OsfGetpriority "osf_getpriority";
    OsfGetrusage "osf_getrusage";
    OsfGetsysinfo "osf_getsysinfo";
    OsfGettimeofday "osf_gettimeofday";
    OsfSelect "osf_select";
    OsfSetProgramAttributes "osf_set_program_attributes";
    OsfSetsysinfo "osf_setsysinfo";
    OsfSigaction "osf_sigaction";
    OsfSigprocmask "osf_sigprocmask";
    OsfSigstack "osf_sigstack";
    OsfSigsuspend "osf_sigsuspend";
    OsfUsleepThread "osf_usleep_thread";
    OsfUtsname "osf_utsname";
    Personality "personality";
    Pipe2 "pipe2";
    PipePair "pipe";
    Poll "poll";
    Ppoll "ppoll";
    Prctl "prctl";
    Pread64 "pread64";
    Preadv "preadv";
    Preadv2 "preadv2";
    Prlimit64 "prlimit64";
    Pselect6 "pselect6";
    Pwrite64 "pwrite64";
    Pwritev "pwritev";
    Pwritev2 "pwritev2";
    Read "read";
    Readahead "readahead";
    Readlinkat "readlinkat";
    Readv "readv";
    Renameat "renameat";
    Renameat2 "renameat2";
    RiscvFlushIcache "riscv_flush_icache";
    RiscvHwprobe "riscv_hwprobe";
    Rseq "rseq";
    RtSigaction "rt_sigaction";
    RtSigpending "rt_sigpending";
    RtSigprocmask "rt_sigprocmask";
    RtSigqueueinfo "rt_sigqueueinfo";
    RtSigreturn "rt_sigreturn";
    RtSigsuspend "rt_sigsuspend";
    RtSigtimedwait "rt_sigtimedwait";
    RtTgsigqueueinfo "rt_tgsigqueueinfo";
    SchedGetaffinity "sched_getaffinity";
    SchedGetparam "sched_getparam";
    SchedGetPriorityMax "sched_get_priority_max";
    SchedGetPriorityMin "sched_get_priority_min";
    SchedGetscheduler "sched_getscheduler";
    SchedRrGetInterval "sched_rr_get_interval";
    SchedSetaffinity "sched_setaffinity";
    SchedSetparam "sched_setparam";
    SchedSetscheduler "sched_setscheduler";
    SchedYield "sched_yield";
    Select "select";
    Sendfile "sendfile";
    Setfsgid "setfsgid";
    Setfsuid "setfsuid";
    Setgid "setgid";
    Setgroups "setgroups";
    Setitimer "setitimer";
    Setpgid "setpgid";
    Setpriority "setpriority";
    Setregid "setregid";
    Setresgid "setresgid";
    Setresuid "setresuid";
    Setreuid "setreuid";
    Setrlimit "setrlimit";
    SetRobustList "set_robust_list";
    Setsid "setsid";
    SetTidAddress "set_tid_address";
    Settimeofday "settimeofday";
    Setuid "setuid";
    Sigaltstack "sigaltstack";
    Sigreturn "sigreturn";
    Statfs "statfs";
    Statx "statx";
    Sync "sync";
    SyncFileRange "sync_file_range";
    Syncfs "syncfs";
    Sysinfo "sysinfo";
    Tgkill "tgkill";
    TimerCreate "timer_create";
    TimerDelete "timer_delete";
    TimerfdCreate "timerfd_create";
    TimerfdGettime "timerfd_gettime";
    TimerfdSettime "timerfd_settime";
    TimerGetoverrun "timer_getoverrun";
    TimerGettime "timer_gettime";
    TimerSettime "timer_settime";
    Times "times";
    Tkill "tkill";
    Truncate "truncate";
    Umask "umask";
    Uname "uname";
    Unlinkat "unlinkat";
    Utimensat "utimensat";
    Wait4 "wait4";
    Waitid "waitid";
    Write "write";
    Writev "writev";
}
