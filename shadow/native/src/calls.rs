//! System calls of x86-64 Linux: which call of the lab's each is, so that one policy serves both, and what must hold for
//! a shadow to make it.

use std::sync::atomic::Ordering;

use hps_shadow::policy::{Action, CompiledPolicy};
use hps_system::os::calls::Call;
use hps_system::os::gate::{Asked, DescriptorKind};

use crate::layout::{CALLS, Header};

/// Condition under which a shadow makes a call; `enum guard` of `preload/layout.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Guard {
    /// The call is never made: others would notice, or it could wait for them.
    Deny,
    /// The call is always made: it changes the shadow's copy of the process at most.
    Plain,
    /// The call is answered with the program's own number.
    Identity,
    /// Dispositions of signals are kept beside the kernel's.
    ActionOfSignal,
    /// The frame of a signal handler.
    ReturnFromSignal,
    /// The program's end is the shadow's.
    Exit,
    /// In a file, through a description of the shadow's own; not on pipes and terminals.
    InFile,
    /// Answered with what was noted before the fork.
    Status,
    /// With a path that may begin at a folder's descriptor.
    InFolder,
    /// To read, and if it is a file, a folder or a memory device.
    Open,
    /// To read, relative to a folder.
    OpenAt,
    /// The descriptor table is the shadow's own.
    Close,
    /// A copy of a descriptor.
    Duplicate,
    /// A copy of a descriptor with a given number.
    DuplicateTo,
    /// `fcntl`: flags of the descriptor, copies of it, questions.
    Control,
    /// `ioctl`: questions.
    Device,
    /// `mmap`: shared memory becomes the shadow's own.
    Map,
    /// Memory, if nobody shares it.
    Range,
    /// `futex`: wakes nobody; waiting ends the shadow.
    Mutex,
    /// `prctl`: names and questions.
    Process,
    /// `prlimit64`: of the shadow.
    Limit,
}

/// Result of a pretended call; `enum pretended` of `preload/layout.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Pretended {
    Zero,
    Third,
    Vector,
    Fourth,
    Fifth,
}

struct Row {
    numbers: &'static [usize],
    name: &'static str,
    guard: Guard,
    /// The argument that is a descriptor, from 1 on.
    descriptor: u8,
    pretended: Pretended,
}

const fn row(numbers: &'static [usize], name: &'static str, guard: Guard) -> Row {
    Row {
        numbers,
        name,
        guard,
        descriptor: 0,
        pretended: Pretended::Zero,
    }
}

const fn on(numbers: &'static [usize], name: &'static str, guard: Guard) -> Row {
    Row {
        descriptor: 1,
        ..row(numbers, name, guard)
    }
}

const fn output(numbers: &'static [usize], name: &'static str, pretended: Pretended) -> Row {
    Row {
        pretended,
        ..on(numbers, name, Guard::Deny)
    }
}

use Guard::{
    ActionOfSignal, Close, Control, Deny, Device, Duplicate, DuplicateTo, Exit, Identity, InFile,
    InFolder, Limit, Map, Mutex, Open, OpenAt, Plain, Process, Range, ReturnFromSignal, Status,
};
use Pretended::{Fifth, Fourth, Third, Vector};

/// Calls by their names in the lab: those of older Linux have the names of the calls that replaced them.
const ROWS: &[Row] = &[
    on(&[0], "read", InFile),
    on(&[19], "readv", InFile),
    on(&[78, 217], "getdents64", InFile),
    on(&[8], "lseek", InFile),
    on(&[17], "pread64", InFile),
    on(&[295], "preadv", InFile),
    on(&[327], "preadv2", Deny),
    output(&[1], "write", Third),
    output(&[18], "pwrite64", Third),
    output(&[20], "writev", Vector),
    output(&[296], "pwritev", Vector),
    output(&[328], "pwritev2", Vector),
    output(&[40], "sendfile", Fourth),
    output(&[326], "copy_file_range", Fifth),
    row(&[2], "openat", Open),
    row(&[85], "openat", Deny),
    row(&[257], "openat", OpenAt),
    on(&[3], "close", Close),
    on(&[32], "dup", Duplicate),
    on(&[33], "dup2", DuplicateTo),
    on(&[292], "dup3", DuplicateTo),
    on(&[72], "fcntl", Control),
    on(&[16], "ioctl", Device),
    row(&[9], "mmap", Map),
    row(&[10], "mprotect", Range),
    row(&[11], "munmap", Range),
    row(&[25], "mremap", Range),
    row(&[28], "madvise", Range),
    row(&[202], "futex", Mutex),
    row(&[157], "prctl", Process),
    row(&[302], "prlimit64", Limit),
    row(&[13], "rt_sigaction", ActionOfSignal),
    row(&[15], "rt_sigreturn", ReturnFromSignal),
    row(&[60], "exit", Exit),
    row(&[231], "exit_group", Exit),
    row(&[39], "getpid", Identity),
    row(&[110], "getppid", Identity),
    row(&[186], "gettid", Identity),
    row(&[218], "set_tid_address", Identity),
    row(&[4, 6], "newfstatat", Plain),
    row(&[262], "newfstatat", InFolder),
    on(&[5], "fstat", Status),
    row(&[332], "statx", InFolder),
    row(&[137], "statfs", Plain),
    on(&[138], "fstatfs", InFile),
    row(&[21], "faccessat", Plain),
    row(&[269], "faccessat", InFolder),
    row(&[439], "faccessat2", InFolder),
    row(&[89], "readlinkat", Plain),
    row(&[267], "readlinkat", InFolder),
    row(&[79], "getcwd", Plain),
    row(&[80], "chdir", Plain),
    on(&[81], "fchdir", InFile),
    row(&[12], "brk", Plain),
    row(&[14], "rt_sigprocmask", Plain),
    row(&[127], "rt_sigpending", Plain),
    row(&[131], "sigaltstack", Plain),
    row(&[24], "sched_yield", Plain),
    row(&[27], "mincore", Plain),
    row(&[63], "uname", Plain),
    row(&[95], "umask", Plain),
    row(&[96, 201], "gettimeofday", Plain),
    row(&[228], "clock_gettime", Plain),
    row(&[229], "clock_getres", Plain),
    row(&[35], "nanosleep", Plain),
    row(&[230], "clock_nanosleep", Plain),
    row(&[97], "getrlimit", Plain),
    row(&[98], "getrusage", Plain),
    row(&[99], "sysinfo", Plain),
    row(&[100], "times", Plain),
    row(&[102], "getuid", Plain),
    row(&[104], "getgid", Plain),
    row(&[107], "geteuid", Plain),
    row(&[108], "getegid", Plain),
    row(&[115], "getgroups", Plain),
    row(&[118], "getresuid", Plain),
    row(&[120], "getresgid", Plain),
    row(&[121], "getpgid", Plain),
    row(&[124], "getsid", Plain),
    row(&[140], "getpriority", Plain),
    row(&[143], "sched_getparam", Plain),
    row(&[145], "sched_getscheduler", Plain),
    row(&[146], "sched_get_priority_max", Plain),
    row(&[147], "sched_get_priority_min", Plain),
    row(&[148], "sched_rr_get_interval", Plain),
    row(&[204], "sched_getaffinity", Plain),
    row(&[149], "mlock", Plain),
    row(&[150], "munlock", Plain),
    row(&[151], "mlockall", Plain),
    row(&[152], "munlockall", Plain),
    row(&[325], "mlock2", Plain),
    on(&[187], "readahead", InFile),
    on(&[221], "fadvise64", InFile),
    row(&[273], "set_robust_list", Plain),
    row(&[274], "get_robust_list", Plain),
    row(&[309], "getcpu", Plain),
    row(&[318], "getrandom", Plain),
    row(&[324], "membarrier", Plain),
    row(&[334], "rseq", Plain),
    row(&[160], "setrlimit", Deny),
    row(&[135], "personality", Deny),
    row(&[436], "close_range", Deny),
    on(&[73], "flock", Deny),
    on(&[74], "fsync", Deny),
    on(&[75], "fdatasync", Deny),
    row(&[162], "sync", Deny),
    on(&[306], "syncfs", Deny),
    on(&[277], "sync_file_range", Deny),
    row(&[26], "msync", Deny),
    row(&[76], "truncate", Deny),
    on(&[77], "ftruncate", Deny),
    on(&[285], "fallocate", Deny),
    row(&[90, 268], "fchmodat", Deny),
    on(&[91], "fchmod", Deny),
    row(&[92, 94, 260], "fchownat", Deny),
    on(&[93], "fchown", Deny),
    row(&[132, 235, 261, 280], "utimensat", Deny),
    row(&[83, 258], "mkdirat", Deny),
    row(&[84, 87, 263], "unlinkat", Deny),
    row(&[82, 264], "renameat", Deny),
    row(&[316], "renameat2", Deny),
    row(&[86, 265], "linkat", Deny),
    row(&[88, 266], "symlinkat", Deny),
    row(&[22], "pipe", Deny),
    row(&[293], "pipe2", Deny),
    row(&[7, 271], "ppoll", Deny),
    row(&[23, 270], "pselect6", Deny),
    row(&[232], "epoll_wait", Deny),
    row(&[281], "epoll_pwait", Deny),
    row(&[34, 130], "rt_sigsuspend", Deny),
    row(&[128], "rt_sigtimedwait", Deny),
    row(&[37, 38], "setitimer", Deny),
    row(&[36], "getitimer", Deny),
    row(&[62], "kill", Deny),
    row(&[200], "tkill", Deny),
    row(&[234], "tgkill", Deny),
    row(&[56, 57, 58], "clone", Deny),
    row(&[435], "clone3", Deny),
    row(&[59], "execve", Deny),
    row(&[322], "execveat", Deny),
    row(&[61], "wait4", Deny),
    row(&[247], "waitid", Deny),
    row(&[41], "socket", Deny),
    row(&[42], "connect", Deny),
    row(&[43], "accept", Deny),
    row(&[44], "sendto", Deny),
    row(&[45], "recvfrom", Deny),
    row(&[46], "sendmsg", Deny),
    row(&[47], "recvmsg", Deny),
    row(&[158], "arch_prctl", Deny),
];

/// The name of a call, as policies have it; its number if the lab does not know it.
#[must_use]
pub fn name_of(number: u32) -> String {
    let row = ROWS.iter().find(|r| r.numbers.contains(&(number as usize)));
    row.map_or_else(|| format!("call {number}"), |r| r.name.to_string())
}

fn call_named(name: &str) -> Option<Call> {
    Call::ALL.iter().copied().find(|call| call.name() == name)
}

/// Kinds of descriptors in the order of `enum on` of `preload/layout.h`, which is that of `hps_shadow::policy::On`.
const DESCRIPTOR_KINDS: [DescriptorKind; 7] = [
    DescriptorKind::None,
    DescriptorKind::Input,
    DescriptorKind::Output,
    DescriptorKind::File,
    DescriptorKind::Pipe,
    DescriptorKind::Event,
    DescriptorKind::MadeUp,
];

/// The number of an action; `enum action` of `preload/layout.h`.
fn number_of(action: Action) -> u8 {
    let at = Action::ALL.iter().position(|a| *a == action);
    at.unwrap_or(Action::ALL.len() - 1) as u8
}

/// Writes a policy into the memory that shadows read.
pub(crate) fn write(policy: &CompiledPolicy, header: &Header) {
    let set = |number: usize, call: Option<Call>| {
        for (kind, descriptor) in DESCRIPTOR_KINDS.into_iter().enumerate() {
            for writes in [false, true] {
                let asked = Asked {
                    call,
                    arguments: [0; 6],
                    descriptor,
                    writes,
                    now_ns: 0,
                };
                let (action, _) = policy.decide(&asked);
                header.policy[number][kind][usize::from(writes)]
                    .store(number_of(action), Ordering::Relaxed);
            }
        }
    };
    for number in 0..CALLS {
        set(number, None);
    }
    for row in ROWS {
        for &number in row.numbers {
            set(number, call_named(row.name));
            header.guard[number].store(row.guard as u8, Ordering::Relaxed);
            header.descriptor[number].store(row.descriptor, Ordering::Relaxed);
            header.pretend[number].store(row.pretended as u8, Ordering::Relaxed);
        }
    }
}

/// Calls that shadows asked for, by name and action, with their numbers.
pub(crate) fn counted(header: &Header) -> Vec<(String, &'static str, u64)> {
    let mut all = std::collections::BTreeMap::<(String, &'static str), u64>::new();
    for (number, actions) in header.calls.iter().enumerate() {
        for (action, count) in Action::ALL.iter().zip(actions) {
            let count = count.load(Ordering::Relaxed);
            if count > 0 {
                *all.entry((name_of(number as u32), action.name()))
                    .or_default() += count;
            }
        }
    }
    all.into_iter()
        .map(|((name, action), n)| (name, action, n))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_one_row_and_the_lab_knows_its_name() {
        let mut seen = std::collections::BTreeSet::new();
        for row in ROWS {
            for number in row.numbers {
                assert!(*number < CALLS && seen.insert(*number), "{number} twice");
            }
            // Calls that the lab does not serve fall under a policy's last line.
            let is_known = call_named(row.name).is_some() || row.name == "arch_prctl";
            assert!(is_known, "{}", row.name);
        }
    }

    #[test]
    fn nothing_that_others_would_notice_is_ever_made() {
        let paper = hps_shadow::policy::Policy::paper().compiled();
        let region = crate::layout::Region::create().expect("memory");
        write(&paper, region.header());
        let header = region.header();
        let guard = |n: usize| header.guard[n].load(Ordering::Relaxed);
        for number in [1, 18, 20, 40, 56, 57, 59, 62, 82, 87, 234, 326] {
            assert_eq!(
                guard(number),
                Guard::Deny as u8,
                "{}",
                name_of(number as u32)
            );
        }
        assert_eq!(guard(400), Guard::Deny as u8, "a call that nobody knows");
        // write is pretended, to any descriptor; pipe reads are replayed; files are reopened.
        assert_eq!(header.policy[1][2][0].load(Ordering::Relaxed), 4);
        assert_eq!(header.policy[0][4][0].load(Ordering::Relaxed), 3);
        assert_eq!(header.policy[0][3][0].load(Ordering::Relaxed), 2);
        // Memory that others see change ends a shadow, other memory does not.
        assert_eq!(header.policy[9][0][1].load(Ordering::Relaxed), 6);
        assert_eq!(header.policy[9][0][0].load(Ordering::Relaxed), 0);
    }
}
