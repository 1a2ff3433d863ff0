//! The headers of Linux on Alpha, as the compiler has them, against what is encoded here.

use std::collections::BTreeMap;

use hps_isa::hart::Hart;
use hps_system::os::Signal;
use hps_system::os::abi::{
    Abi, FcntlCommand, FileStat, FsStat, IoctlRequest, OpenFlags, Resource, StatFormat,
};
use hps_system::os::abi_alpha::LINUX;
use hps_system::os::errno::Errno;

use super::{compile, qemu, source, tool};

struct Facts(BTreeMap<String, i64>);

impl Facts {
    fn get(&self, name: &str) -> i64 {
        *self.0.get(name).unwrap_or_else(|| panic!("no {name}"))
    }

    fn at(&self, name: &str) -> usize {
        self.get(name) as usize
    }
}

fn facts() -> Facts {
    let folder = tempfile::tempdir().unwrap();
    let (text, code) = qemu(&compile("layout.c", folder.path(), &[]));
    assert_eq!(code, 0);
    let fact = |line: &str| {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        (name.to_owned(), value.parse().expect("a number"))
    };
    Facts(text.lines().map(fact).collect())
}

fn half(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()))
}

fn structures(facts: &Facts) {
    let sample = FileStat {
        device: 1,
        inode: 7,
        mode: 0o100_644,
        links: 3,
        rdev: 5,
        size_bytes: 12345,
        time_seconds: 77,
        owner: hps_system::os::Owner::default(),
    };
    for (name, format) in [("stat", StatFormat::Native), ("stat64", StatFormat::Large)] {
        let bytes = LINUX.stat(&sample, format);
        assert_eq!(bytes.len(), facts.at(&format!("sizeof {name}")));
        let field = |field: &str| half(&bytes, facts.at(&format!("{name}.{field}")));
        assert_eq!(
            (
                field("st_ino"),
                field("st_mode"),
                field("st_nlink"),
                field("st_uid")
            ),
            (7, 0o100_644, 3, 1000),
            "{name}"
        );
        assert_eq!(
            (
                field("st_size"),
                field("st_mtime"),
                field("st_blksize"),
                field("st_blocks")
            ),
            (12345, 77, 4096, 25),
            "{name}"
        );
    }
    let bytes = LINUX.statfs(&FsStat {
        kind: 1,
        blocks: 10,
        free: 5,
        files: 8,
        free_files: 4,
        name_bytes: 255,
    });
    assert_eq!(bytes.len(), facts.at("sizeof statfs"));
    let field = |name: &str| half(&bytes, facts.at(&format!("statfs.{name}")));
    assert_eq!(
        (field("f_bsize"), field("f_blocks"), field("f_bavail")),
        (4096, 10, 5)
    );
    assert_eq!((field("f_namelen"), field("f_frsize")), (255, 4096));
    // Offsets that `tests/os_alpha` checks frames with.
    let context = ["sc_mask", "sc_pc", "sc_regs", "sc_fpregs", "sc_fpcr"]
        .map(|name| facts.at(&format!("sigcontext.{name}")));
    assert_eq!(context, [8, 16, 32, 296, 552]);
    assert_eq!(facts.at("sigcontext.sc_fp_control"), 560);
    assert_eq!(facts.at("sigcontext.sc_traparg_a0"), 600);
    assert_eq!(facts.at("sizeof sigcontext"), 648);
}

fn flags(facts: &Facts) {
    let opened = |name: &str| LINUX.open_rules().decode(facts.get(name) as u64);
    let read = OpenFlags {
        read: true,
        ..OpenFlags::default()
    };
    assert_eq!(
        opened("O_CREAT"),
        OpenFlags {
            create: true,
            ..read
        }
    );
    assert_eq!(
        opened("O_EXCL"),
        OpenFlags {
            exclusive: true,
            ..read
        }
    );
    assert_eq!(
        opened("O_TRUNC"),
        OpenFlags {
            truncate: true,
            ..read
        }
    );
    assert_eq!(
        opened("O_APPEND"),
        OpenFlags {
            append: true,
            ..read
        }
    );
    assert_eq!(
        opened("O_NONBLOCK"),
        OpenFlags {
            nonblock: true,
            ..read
        }
    );
    assert_eq!(
        opened("O_DIRECTORY"),
        OpenFlags {
            directory: true,
            ..read
        }
    );
    assert_eq!(
        opened("O_NOFOLLOW"),
        OpenFlags {
            nofollow: true,
            ..read
        }
    );
    assert_eq!(
        opened("O_CLOEXEC"),
        OpenFlags {
            cloexec: true,
            ..read
        }
    );
    assert_eq!(
        opened("O_PATH"),
        OpenFlags {
            path_only: true,
            ..read
        }
    );
    assert_eq!(
        opened("O_DIRECT"),
        OpenFlags {
            direct: true,
            ..read
        }
    );
    assert_eq!(
        opened("O_TMPFILE"),
        OpenFlags {
            unnamed: true,
            directory: true,
            ..read
        }
    );
    let mapped = |name: &str| LINUX.map_rules().decode(facts.get(name) as u64);
    assert!(mapped("MAP_FIXED").fixed && !mapped("MAP_FIXED").anonymous);
    assert!(mapped("MAP_ANONYMOUS").anonymous && !mapped("MAP_ANONYMOUS").fixed);
    assert!(mapped("MAP_FIXED_NOREPLACE").no_replace);
    assert_eq!(LINUX.advice_dontneed(), facts.get("MADV_DONTNEED") as u64);
    let set_lock = |waits| FcntlCommand::SetLock {
        of_open_file: false,
        waits,
    };
    let command = |name: &str| LINUX.fcntl_command(facts.get(name) as u64);
    assert_eq!(
        command("F_GETLK"),
        Some(FcntlCommand::GetLock {
            of_open_file: false
        })
    );
    assert_eq!(command("F_SETLK"), Some(set_lock(false)));
    assert_eq!(command("F_SETLKW"), Some(set_lock(true)));
    let locks = ["F_RDLCK", "F_WRLCK", "F_UNLCK"].map(|name| facts.get(name));
    assert_eq!(LINUX.lock_types().map(i64::from), locks);
    let request = |name: &str| LINUX.ioctl_request(facts.get(name) as u64);
    assert_eq!(request("FIOCLEX"), Some(IoctlRequest::CloseOnExec(true)));
    assert_eq!(request("FIONCLEX"), Some(IoctlRequest::CloseOnExec(false)));
    assert_eq!(request("FIONBIO"), Some(IoctlRequest::Nonblock));
    assert_eq!(request("FIONREAD"), Some(IoctlRequest::BytesToRead));
    for (name, resource) in [
        ("RLIMIT_NOFILE", Resource::Files),
        ("RLIMIT_STACK", Resource::Stack),
        ("RLIMIT_CORE", Resource::Core),
    ] {
        assert_eq!(LINUX.resource_number(resource), facts.at(name));
    }
    assert_eq!(LINUX.unlimited(), facts.get("RLIM_INFINITY") as u64);
}

fn signals(facts: &Facts) {
    for (name, signal) in [
        ("SIGILL", Signal::Illegal),
        ("SIGTRAP", Signal::Trap),
        ("SIGFPE", Signal::Fpe),
        ("SIGBUS", Signal::Bus),
        ("SIGSEGV", Signal::Segv),
        ("SIGPIPE", Signal::Pipe),
    ] {
        assert_eq!(i64::from(LINUX.signal_number(signal)), facts.get(name));
    }
    let rules = LINUX.signal_rules();
    let has = |value: u64, name| assert_eq!(value as i64, facts.get(name), "{name}");
    has(rules.on_stack, "SA_ONSTACK");
    has(rules.no_defer, "SA_NODEFER");
    has(rules.reset_handler, "SA_RESETHAND");
    has(rules.block, "SIG_BLOCK");
    has(rules.unblock, "SIG_UNBLOCK");
    has(rules.set_mask, "SIG_SETMASK");
    has(u64::from(rules.stop), "SIGSTOP");
    let ignored = ["SIGURG", "SIGCONT", "SIGCHLD", "SIGWINCH"];
    assert_eq!(
        rules.ignored.map(i64::from),
        ignored.map(|name| facts.get(name))
    );
}

fn errors(facts: &Facts) {
    for (name, errno) in [
        ("EAGAIN", Errno::EAGAIN),
        ("EDEADLK", Errno::EDEADLK),
        ("EOPNOTSUPP", Errno::EOPNOTSUPP),
        ("ETIMEDOUT", Errno::ETIMEDOUT),
        ("ELOOP", Errno::ELOOP),
        ("ENAMETOOLONG", Errno::ENAMETOOLONG),
        ("ENOTEMPTY", Errno::ENOTEMPTY),
        ("EDQUOT", Errno::EDQUOT),
        ("ENOSYS", Errno::ENOSYS),
        ("EOVERFLOW", Errno::EOVERFLOW),
        ("ENOMSG", Errno::ENOMSG),
        ("EIDRM", Errno::EIDRM),
        ("EINVAL", Errno::EINVAL),
        ("ERANGE", Errno::ERANGE),
        ("EPIPE", Errno::EPIPE),
        ("EROFS", Errno::EROFS),
    ] {
        let mut hart = Hart::default();
        LINUX.set_result(&mut hart, Err(errno));
        assert_eq!(
            LINUX.call_number(&hart) as i64,
            facts.get(name),
            "{name} in v0"
        );
    }
}

#[test]
fn structures_flags_signals_and_errors_are_those_of_the_headers() {
    let facts = facts();
    structures(&facts);
    flags(&facts);
    signals(&facts);
    errors(&facts);
}

/// Calls that are newer than the headers of Debian 12.
const NEWER: [&str; 1] = ["fchmodat2"];

/// Every number that means something here is in the kernel's list, under the name of the call or of
/// the older one that it replaces.
#[test]
fn numbers_are_those_of_the_headers() {
    /// Names in the kernel's list of the calls that have another name here.
    const OTHER_NAMES: [(&str, &[&str]); 29] = [
        ("clone", &["fork", "vfork"]),
        ("wait4", &["osf_wait4"]),
        ("unlinkat", &["unlink", "rmdir"]),
        ("linkat", &["link"]),
        ("symlinkat", &["symlink"]),
        ("sendto", &["send"]),
        ("recvfrom", &["recv"]),
        ("mkdirat", &["mkdir"]),
        ("mknodat", &["mknod"]),
        ("signalfd4", &["signalfd"]),
        ("inotify_init1", &["inotify_init"]),
        ("renameat", &["rename"]),
        ("fchmodat", &["chmod"]),
        ("fchownat", &["chown", "lchown"]),
        ("utimensat", &["utimes", "osf_utimes", "futimesat"]),
        ("faccessat", &["access"]),
        ("openat", &["open"]),
        ("readlinkat", &["readlink"]),
        ("newfstatat", &["stat", "lstat"]),
        ("osf_fstatat", &["osf_stat", "osf_lstat"]),
        ("fstatat64", &["stat64", "lstat64"]),
        ("rt_sigpending", &["sigpending"]),
        ("settimeofday", &["osf_settimeofday"]),
        ("osf_brk", &["brk"]),
        ("getpgid", &["getpgrp"]),
        ("osf_getpriority", &["getpriority"]),
        ("osf_sigsuspend", &["sigsuspend"]),
        ("osf_sigaction", &["sigaction"]),
        ("getdomainname", &["osf_getdomainname"]),
    ];
    let header = source("numbers.h");
    let text = tool(
        "alpha-linux-gnu-gcc",
        &["-E", "-dM", header.to_str().unwrap()],
    );
    let mut listed = BTreeMap::new();
    for line in text.lines() {
        if let Some((name, number)) = line
            .strip_prefix("#define __NR_")
            .and_then(|rest| rest.split_once(' '))
            && let Ok(number) = number.parse::<u64>()
        {
            listed.insert(number, name.to_owned());
        }
    }
    assert!(listed.len() > 300);
    let mut known = 0;
    for number in 0..1000 {
        let Some((call, _)) = LINUX.call(number, [0; 6]) else {
            continue;
        };
        let Some(name) = listed.get(&number) else {
            assert!(NEWER.contains(&call.name()), "{number} {}", call.name());
            continue;
        };
        let others = OTHER_NAMES.iter().find(|(own, _)| *own == call.name());
        assert!(
            name == call.name() || others.is_some_and(|(_, names)| names.contains(&name.as_str())),
            "{number} is {name}, not {}",
            call.name()
        );
        known += 1;
    }
    assert!(known > 120, "{known}");
    // What glibc calls on every start.
    for name in [
        "brk",
        "set_tid_address",
        "prlimit64",
        "getrandom",
        "exit_group",
        "mprotect",
    ] {
        let (&number, _) = listed.iter().find(|(_, n)| *n == name).unwrap();
        assert!(LINUX.call(number, [0; 6]).is_some(), "{name}");
    }
}
