//! Which made-up files there are.
//!
//! The folder of the process has the name `[pid]` here and that of its thread `[tid]`, since the guest sees
//! their numbers.

/// A made-up file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Folder,
    /// A symbolic link with this text.
    Link(Link),
    Text(Text),
    Device(Device),
}

/// Where a made-up symbolic link leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// The path of another made-up file.
    Path(&'static str),
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Device {
    Null,
    Zero,
    Full,
    Random,
    Urandom,
    /// The controlling terminal, which a guest does not have.
    Terminal,
}

/// Files whose text is written when they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::os) enum Text {
    Fixed(&'static str),
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

/// The folder of the process's open files.
pub(super) const DESCRIPTORS: &str = "/proc/[pid]/fd";
const PROCESS: &str = "/proc/[pid]";
const THREADS: &str = "/proc/[pid]/task";

/// The file `name` of a made-up folder as process `own` sees it, and its path here. `is_open` says which descriptors
/// are.
pub(super) fn child(
    folder: &str,
    name: &str,
    own: u32,
    is_open: impl Fn(u64) -> bool,
) -> Option<(String, Node)> {
    let number = name.parse::<u64>().ok();
    // `+1` and `01` are no names of files.
    let number = number.filter(|number| number.to_string() == name);
    match (folder, number) {
        ("/proc", Some(pid)) => (pid == u64::from(own)).then(|| (PROCESS.to_owned(), Node::Folder)),
        (THREADS, Some(tid)) => {
            (tid == u64::from(own)).then(|| (format!("{THREADS}/[tid]"), Node::Folder))
        }
        (DESCRIPTORS, Some(fd)) => {
            let node = Node::Link(Link::Descriptor(fd));
            is_open(fd).then(|| (format!("{DESCRIPTORS}/{fd}"), node))
        }
        _ if name.starts_with('[') => None,
        _ => {
            let path = format!("{folder}/{name}");
            node(&path).map(|node| (path, node))
        }
    }
}

/// What is at a path as it is written in the table.
fn node(path: &str) -> Option<Node> {
    let file = FILES.iter().find(|(known, _)| *known == path);
    let is_folder = || FILES.iter().any(|(known, _)| is_below(known, path));
    file.map(|file| file.1)
        .or_else(|| is_folder().then_some(Node::Folder))
}

fn is_below(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder);
    rest.is_some_and(|rest| rest.starts_with('/'))
}

/// The names in a made-up folder as process `own` sees it, sorted, but for those of open files.
pub(super) fn names(folder: &str, own: u32) -> Vec<String> {
    let below = FILES.iter().filter(|(path, _)| is_below(path, folder));
    let mut names: Vec<String> = below
        .filter_map(|(path, _)| path[folder.len() + 1..].split('/').next())
        .map(|name| shown(name, own))
        .collect();
    names.sort();
    names.dedup();
    names
}

/// A path as process `own` sees it.
pub(in crate::os) fn shown(path: &str, own: u32) -> String {
    let pid = own.to_string();
    path.replace("[pid]", &pid).replace("[tid]", &pid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::PID;

    #[test]
    fn folders_are_the_paths_before_the_names() {
        let all = |_| true;
        assert_eq!(child("/proc", "sys", PID, all).unwrap().1, Node::Folder);
        assert_eq!(child("/proc", "1000", PID, all).unwrap().0, PROCESS);
        assert_eq!(child("/proc", "[pid]", PID, all), None);
        assert_eq!(child("/proc", "01000", PID, all), None);
        assert_eq!(child(PROCESS, "task", PID, all).unwrap().1, Node::Folder);
        assert_eq!(names("/proc/sys/vm", PID).len(), 4);
        assert!(names("/proc", PID).contains(&"1000".to_owned()));
        assert_eq!(names(THREADS, PID), ["1000"]);
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
