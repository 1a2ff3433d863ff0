//! Which made-up files there are.
//!
//! The folder of a process has the name `[pid]` in the table and that of a thread `[tid]`, since the guest sees their
//! numbers.

use super::subject::Whose;
use crate::checkpoint::StaticText;
use crate::os::Linux;

/// A made-up file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Node {
    Folder,
    /// A symbolic link with this text.
    Link(Link),
    Text(Text),
    Device(Device),
}

/// Where a made-up symbolic link leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Link {
    /// The path of another made-up file.
    Path(#[serde(with = "crate::checkpoint::text")] StaticText),
    /// The folder of the process that asks.
    Own,
    /// The folder of the thread that asks.
    OwnThread,
    /// The program's file, whatever has become of its path.
    Program,
    /// The working folder.
    WorkingFolder,
    /// The root folder.
    Root,
    /// An open file.
    Descriptor(u64),
}

/// Devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(in crate::os) enum Device {
    Null,
    Zero,
    Full,
    Random,
    Urandom,
    /// The controlling terminal, which a guest does not have.
    Terminal,
}

/// Files whose text is written when they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(in crate::os) enum Text {
    Fixed(#[serde(with = "crate::checkpoint::text")] StaticText),
    // of the system
    CpuInfo,
    /// The numbers of all processors.
    Processors,
    MemInfo,
    Stat,
    Uptime,
    LoadAverage,
    Version,
    Release,
    SystemName,
    Uuid,
    // of the process
    Arguments,
    Auxiliary,
    Environment,
    Limits,
    Maps,
    MemoryStatus,
    Name,
    ProcessStat,
    Status,
}

const fn path(target: &'static str) -> Node {
    Node::Link(Link::Path(target))
}

const fn fixed(text: &'static str) -> Node {
    Node::Text(Text::Fixed(text))
}

/// File systems that exist, and where they are mounted: device, root, and the kinds that are made up.
const FILE_SYSTEMS: &str = "nodev\tsysfs\nnodev\tproc\nnodev\tdevtmpfs\n\text2\n";
const MOUNTS: &str = "hps / ext2 rw,relatime 0 0\nproc /proc proc rw,relatime 0 0\n\
                      sysfs /sys sysfs ro,relatime 0 0\ndevtmpfs /dev devtmpfs rw,relatime 0 0\n";
const MOUNT_INFO: &str = "1 0 0:1 / / rw,relatime - ext2 hps rw\n\
                          2 1 0:2 / /proc rw,relatime - proc proc rw\n\
                          3 1 0:3 / /sys ro,relatime - sysfs sysfs ro\n\
                          4 1 0:4 / /dev rw,relatime - devtmpfs devtmpfs rw\n";

/// Every file by its path. Folders are the paths before the names.
const FILES: &[(&str, Node)] = &[
    ("/dev/fd", path("/proc/self/fd")),
    ("/dev/full", Node::Device(Device::Full)),
    ("/dev/null", Node::Device(Device::Null)),
    ("/dev/random", Node::Device(Device::Random)),
    ("/dev/stderr", path("/proc/self/fd/2")),
    ("/dev/stdin", path("/proc/self/fd/0")),
    ("/dev/stdout", path("/proc/self/fd/1")),
    ("/dev/tty", Node::Device(Device::Terminal)),
    ("/dev/urandom", Node::Device(Device::Urandom)),
    ("/dev/zero", Node::Device(Device::Zero)),
    ("/proc/[pid]/auxv", Node::Text(Text::Auxiliary)),
    ("/proc/[pid]/cgroup", fixed("0::/\n")),
    ("/proc/[pid]/cmdline", Node::Text(Text::Arguments)),
    ("/proc/[pid]/comm", Node::Text(Text::Name)),
    ("/proc/[pid]/cwd", Node::Link(Link::WorkingFolder)),
    ("/proc/[pid]/environ", Node::Text(Text::Environment)),
    ("/proc/[pid]/exe", Node::Link(Link::Program)),
    ("/proc/[pid]/fd", Node::Folder),
    ("/proc/[pid]/limits", Node::Text(Text::Limits)),
    ("/proc/[pid]/maps", Node::Text(Text::Maps)),
    ("/proc/[pid]/mountinfo", fixed(MOUNT_INFO)),
    ("/proc/[pid]/mounts", fixed(MOUNTS)),
    ("/proc/[pid]/oom_score_adj", fixed("0\n")),
    ("/proc/[pid]/root", Node::Link(Link::Root)),
    ("/proc/[pid]/stat", Node::Text(Text::ProcessStat)),
    ("/proc/[pid]/statm", Node::Text(Text::MemoryStatus)),
    ("/proc/[pid]/status", Node::Text(Text::Status)),
    ("/proc/[pid]/task/[tid]/comm", Node::Text(Text::Name)),
    ("/proc/[pid]/task/[tid]/maps", Node::Text(Text::Maps)),
    ("/proc/[pid]/task/[tid]/stat", Node::Text(Text::ProcessStat)),
    ("/proc/[pid]/task/[tid]/status", Node::Text(Text::Status)),
    ("/proc/cpuinfo", Node::Text(Text::CpuInfo)),
    ("/proc/filesystems", fixed(FILE_SYSTEMS)),
    ("/proc/loadavg", Node::Text(Text::LoadAverage)),
    ("/proc/meminfo", Node::Text(Text::MemInfo)),
    ("/proc/mounts", path("/proc/self/mounts")),
    ("/proc/self", Node::Link(Link::Own)),
    ("/proc/stat", Node::Text(Text::Stat)),
    ("/proc/sys/fs/file-max", fixed("1048576\n")),
    ("/proc/sys/fs/inotify/max_queued_events", fixed("16384\n")),
    ("/proc/sys/fs/inotify/max_user_instances", fixed("128\n")),
    ("/proc/sys/fs/inotify/max_user_watches", fixed("8192\n")),
    ("/proc/sys/fs/nr_open", fixed("1048576\n")),
    ("/proc/sys/fs/pipe-max-size", fixed("1048576\n")),
    ("/proc/sys/kernel/cap_last_cap", fixed("40\n")),
    ("/proc/sys/kernel/hostname", fixed("hps\n")),
    ("/proc/sys/kernel/ngroups_max", fixed("65536\n")),
    ("/proc/sys/kernel/osrelease", Node::Text(Text::Release)),
    ("/proc/sys/kernel/ostype", Node::Text(Text::SystemName)),
    ("/proc/sys/kernel/pid_max", fixed("32768\n")),
    ("/proc/sys/kernel/random/boot_id", fixed(BOOT_ID)),
    ("/proc/sys/kernel/random/uuid", Node::Text(Text::Uuid)),
    ("/proc/sys/kernel/randomize_va_space", fixed("0\n")),
    ("/proc/sys/kernel/threads-max", fixed("32768\n")),
    ("/proc/sys/net/core/somaxconn", fixed("4096\n")),
    ("/proc/sys/vm/max_map_count", fixed("65530\n")),
    ("/proc/sys/vm/mmap_min_addr", fixed("4096\n")),
    ("/proc/sys/vm/overcommit_memory", fixed("1\n")),
    ("/proc/sys/vm/overcommit_ratio", fixed("50\n")),
    ("/proc/thread-self", Node::Link(Link::OwnThread)),
    ("/proc/uptime", Node::Text(Text::Uptime)),
    ("/proc/version", Node::Text(Text::Version)),
    (
        "/sys/devices/system/cpu/online",
        Node::Text(Text::Processors),
    ),
    (
        "/sys/devices/system/cpu/possible",
        Node::Text(Text::Processors),
    ),
    (
        "/sys/devices/system/cpu/present",
        Node::Text(Text::Processors),
    ),
    ("/sys/devices/system/cpu/cpu0/online", fixed("1\n")),
    ("/sys/devices/system/node/online", fixed("0\n")),
    (
        "/sys/kernel/mm/transparent_hugepage/enabled",
        fixed("always madvise [never]\n"),
    ),
    (
        "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
        fixed("2097152\n"),
    ),
];

const BOOT_ID: &str = "00000000-0000-4000-8000-000000000001\n";

const DESCRIPTORS: &str = "/proc/[pid]/fd";
const THREADS: &str = "/proc/[pid]/task";

/// A path as it is written in the table, and the process and the thread that it tells of.
pub(super) fn in_table(path: &str) -> (String, Option<Whose>) {
    let mut names: Vec<&str> = path.split('/').collect();
    let number = |name: Option<&&str>| name.and_then(|name| number_of(name));
    let Some(pid) = number(names.get(2)).filter(|_| names[1] == "proc") else {
        return (path.to_owned(), None);
    };
    names[2] = "[pid]";
    let tid = match names.get(3) {
        Some(&"task") => number(names.get(4)),
        _ => None,
    };
    if tid.is_some() {
        names[4] = "[tid]";
    }
    (names.join("/"), Some(Whose { pid, tid }))
}

/// The number that a name is: `+1` and `01` are none.
fn number_of(name: &str) -> Option<u32> {
    let number = name.parse::<u32>().ok();
    number.filter(|number| number.to_string() == name)
}

impl Linux {
    /// The file `name` of a made-up folder.
    pub(super) fn made_child(&self, folder: &str, name: &str) -> Option<Node> {
        let number = number_of(name);
        let (in_table, whose) = in_table(folder);
        match (in_table.as_str(), whose, number) {
            ("/proc", _, Some(pid)) => {
                let is_there = pid != 0 && self.has_process(u64::from(pid));
                is_there.then_some(Node::Folder)
            }
            (THREADS, Some(whose), Some(tid)) => {
                let is_there = self.threads_of(whose.pid).contains(&tid);
                is_there.then_some(Node::Folder)
            }
            (DESCRIPTORS, Some(whose), Some(fd)) => {
                let node = Node::Link(Link::Descriptor(u64::from(fd)));
                let open = self.descriptors_of(whose.pid);
                open.contains(&u64::from(fd)).then_some(node)
            }
            _ if name.starts_with('[') => None,
            _ => node(&format!("{in_table}/{name}")),
        }
    }

    /// The names in a made-up folder, sorted.
    pub(super) fn made_names(&self, folder: &str) -> Vec<String> {
        let (in_table, whose) = in_table(folder);
        let numbers: Vec<u64> = match (in_table.as_str(), whose) {
            ("/proc", _) => self.process_numbers().map(u64::from).collect(),
            (THREADS, Some(whose)) => {
                let threads = self.threads_of(whose.pid);
                threads.into_iter().map(u64::from).collect()
            }
            (DESCRIPTORS, Some(whose)) => self.descriptors_of(whose.pid),
            _ => Vec::new(),
        };
        let numbers = numbers.iter().map(u64::to_string);
        numbers.chain(names(&in_table)).collect()
    }

    /// The descriptors that a process has open.
    fn descriptors_of(&self, pid: u32) -> Vec<u64> {
        let files = match pid {
            _ if pid == self.pid => Some(&self.files),
            _ => self.parked_process(pid).map(|(os, _)| &os.files),
        };
        files.map_or_else(Vec::new, |files| files.open_numbers().collect())
    }
}

/// Node at a path as it is written in the table.
pub(super) fn node(path: &str) -> Option<Node> {
    let file = FILES.iter().find(|(known, _)| *known == path);
    let is_folder = || FILES.iter().any(|(known, _)| is_below(known, path));
    file.map(|file| file.1)
        .or_else(|| is_folder().then_some(Node::Folder))
}

fn is_below(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder);
    rest.is_some_and(|rest| rest.starts_with('/'))
}

/// The names that the table has in a folder, sorted, but for numbers.
fn names(folder: &str) -> Vec<String> {
    let below = FILES.iter().filter(|(path, _)| is_below(path, folder));
    let mut names: Vec<String> = below
        .filter_map(|(path, _)| path[folder.len() + 1..].split('/').next())
        .filter(|name| !name.starts_with('['))
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_the_paths_before_the_names() {
        assert_eq!(node("/proc/sys"), Some(Node::Folder));
        assert_eq!(node("/proc/[pid]/task"), Some(Node::Folder));
        assert_eq!(names("/proc/sys/vm").len(), 4);
        assert!(!names("/proc").contains(&"[pid]".to_owned()));
    }

    #[test]
    fn numbers_in_paths_name_processes_and_threads() {
        let whose = |pid, tid| Some(Whose { pid, tid });
        let of = |path| in_table(path);
        assert_eq!(
            of("/proc/12/fd"),
            ("/proc/[pid]/fd".to_owned(), whose(12, None))
        );
        let task = "/proc/[pid]/task/[tid]/stat".to_owned();
        assert_eq!(of("/proc/12/task/13/stat"), (task, whose(12, Some(13))));
        for path in ["/proc/012/fd", "/sys/12", "/proc/+1"] {
            assert_eq!(of(path), (path.to_owned(), None));
        }
    }

    #[test]
    fn links_of_the_table_lead_somewhere() {
        for (_, file) in FILES {
            if let Node::Link(Link::Path(target)) = file {
                assert!(target.starts_with("/proc/self/"), "{target}");
            }
        }
    }
}
