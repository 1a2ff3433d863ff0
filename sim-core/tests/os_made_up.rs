//! `/proc`, `/sys` and the devices: made up from the guest, with and without a root folder.

use crate::os_support::*;
use hps_system::process::ProcessConfig;

const O_WRONLY: u64 = 1;
const O_RDWR: u64 = 2;
const O_CREAT: u64 = 0o100;
const O_EXCL: u64 = 0o200;
const O_DIRECTORY: u64 = 0o200_000;
const O_NOFOLLOW: u64 = 0o400_000;
const O_PATH: u64 = 0o10_000_000;
const ENXIO: i64 = -6;
const ENOSPC: i64 = -28;

/// Guests without a root folder, and with one that has a `proc` and a `dev` of its own.
fn guests() -> Vec<(tempfile::TempDir, Guest)> {
    let new = |with_root: bool| {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("proc/version", "host"),
            ("dev/null", "host"),
            ("dev/own", "mine"),
        ] {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let guest = Guest::new(&ProcessConfig {
            root: with_root.then(|| dir.path().to_owned()),
            args: vec!["bin/tool".into(), "an argument".into()],
            env: vec![("NAME".into(), "value".into())],
            ..ProcessConfig::default()
        });
        (dir, guest)
    };
    vec![new(false), new(true)]
}

fn on_all(scenario: impl Fn(&mut Guest)) {
    on_both(|| guests().iter_mut().for_each(|(_, guest)| scenario(guest)));
}

fn text(guest: &mut Guest, path: &str) -> String {
    let fd = guest.open(path, 0);
    assert!(fd >= 0, "{path}: {fd}");
    let mut bytes = Vec::new();
    loop {
        match guest.read(fd as u64, 1000).unwrap() {
            piece if piece.is_empty() => break,
            piece => bytes.extend(piece),
        }
    }
    assert_eq!(guest.call(57, &[fd as u64]), 0);
    String::from_utf8(bytes).unwrap()
}

fn link(guest: &mut Guest, path: &str) -> Result<String, i64> {
    let at = guest.path(path);
    match guest.call(78, &[AT_FDCWD, at, BUFFER, 200]) {
        n @ 0.. => Ok(String::from_utf8(guest.get(BUFFER, n as usize)).unwrap()),
        errno => Err(errno),
    }
}

fn row<'a>(text: &'a str, key: &str) -> &'a str {
    let mut rows = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = rows
        .find(|(k, _)| k.trim() == key)
        .unwrap_or_else(|| panic!("{key} in {text}"));
    value.trim()
}

#[test]
fn the_process_tells_of_the_guest_and_not_of_the_simulator() {
    on_all(|guest| {
        assert_eq!(text(guest, "/proc/self/cmdline"), "bin/tool\0an argument\0");
        assert_eq!(text(guest, "/proc/1000/environ"), "NAME=value\0");
        assert_eq!(text(guest, "/proc/self/comm"), "tool\n");
        assert_eq!(text(guest, "/proc/thread-self/comm"), "tool\n");
        assert_eq!(text(guest, "/proc/self/task/1000/comm"), "tool\n");
        let status = text(guest, "/proc/self/status");
        for (key, value) in [("Name", "tool"), ("Pid", "1000"), ("Threads", "1")] {
            assert_eq!(row(&status, key), value);
        }
        // After the name come 50 fields, beginning with state and parent.
        let stat = text(guest, "/proc/self/stat");
        let (_, rest) = stat.split_once("(tool) ").unwrap();
        assert_eq!(rest.split_whitespace().count(), 50);
        assert!(rest.starts_with("R 1 1000 1000 0 -1 "), "{rest}");
        assert_eq!(
            text(guest, "/proc/self/statm").split_whitespace().count(),
            7
        );
        assert_eq!(link(guest, "/proc/self"), Ok("1000".into()));
        assert_eq!(link(guest, "/proc/self/exe"), Ok("/bin/tool".into()));
        assert_eq!(link(guest, "/proc/self/root"), Ok("/".into()));
        assert_eq!(link(guest, "/proc/self/cwd"), Ok("/".into()));
        assert_eq!(link(guest, "/proc/self/fd/9"), Err(ENOENT));
        for path in [
            "/proc/1",
            "/proc/self/fd/9",
            "/proc/none",
            "/sys/class",
            "/proc/[pid]",
        ] {
            assert_eq!(guest.open(path, 0), ENOENT, "{path}");
        }
        assert_eq!(guest.open("/proc/self/exe/x", 0), ENOTDIR);
        assert_eq!(guest.open("/proc/version/", 0), ENOTDIR);
    });
}

/// The vector is as the program finds it on its stack: AT_PAGESZ (6) is in it and AT_NULL at its end.
#[test]
fn the_auxiliary_vector_is_the_one_on_the_stack() {
    on_all(|guest| {
        let fd = guest.open("/proc/self/auxv", 0) as u64;
        let bytes = guest.read(fd, 1000).unwrap();
        let words: Vec<u64> = bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|word| u64::from_le_bytes(*word))
            .collect();
        let page = words.chunks(2).find(|pair| pair[0] == 6).unwrap()[1];
        assert_eq!(
            page,
            if isa() == hps_system::image::Isa::Alpha {
                8192
            } else {
                4096
            }
        );
        assert_eq!(words[words.len() - 2..], [0, 0]);
    });
}

#[test]
fn the_program_is_read_and_mapped_through_its_link() {
    on_all(|guest| {
        let size = guest.0.image.bytes().len() as u64;
        for path in ["/proc/self/exe", "/bin/tool", "bin/tool"] {
            let fd = guest.open(path, 0) as u64;
            assert_eq!(guest.read(fd, 4), Ok(b"\x7fELF".to_vec()), "{path}");
            assert_eq!(guest.call(62, &[fd, 0, 2]), size as i64, "{path}");
            assert_eq!(guest.call(80, &[fd, BUFFER]), 0);
            let at = guest.call(222, &[0, 4096, 1, 2, fd, 0]);
            assert!(at > 0, "{at}");
            assert_eq!(guest.get(at as u64, 4), b"\x7fELF");
            assert_eq!(guest.open(path, O_RDWR), EACCES, "{path}");
        }
    });
}

/// Every address that the test knows of lies in a line with the right permissions and name.
#[test]
fn maps_cover_the_image_the_stack_and_the_heap() {
    on_all(|guest| {
        let heap = guest.call(214, &[0]) as u64;
        assert_eq!(guest.call(214, &[heap + 100]), heap as i64 + 100);
        let maps = text(guest, "/proc/self/maps");
        let find = |addr: u64| {
            let line = maps.lines().find(|line| {
                let (range, _) = line.split_once(' ').unwrap();
                let (from, to) = range.split_once('-').unwrap();
                let number = |text| u64::from_str_radix(text, 16).unwrap();
                (number(from)..number(to)).contains(&addr)
            });
            let line = line.unwrap_or_else(|| panic!("{addr:#x} in {maps}"));
            let mut words = line.split_whitespace();
            let perm = words.nth(1).unwrap().to_owned();
            (perm, words.nth(3).unwrap_or_default().to_owned())
        };
        let entry = guest.0.image.entry;
        assert_eq!(find(entry), ("r-xp".into(), "/bin/tool".into()), "{maps}");
        assert_eq!(find(guest.sp()), ("rw-p".into(), "[stack]".into()));
        assert_eq!(find(heap), ("rw-p".into(), "[heap]".into()));
        let anonymous = match isa() {
            hps_system::image::Isa::Riscv64 => 0x22,
            hps_system::image::Isa::Alpha => 0x12,
        };
        let mapped = guest.call(222, &[0, 8192, 1, anonymous, u64::MAX, 0]) as u64;
        assert!(!maps.contains(&format!("{mapped:08x}-")));
        let maps = text(guest, "/proc/self/maps");
        assert!(
            maps.contains(&format!("{mapped:08x}-{:08x} r--p", mapped + 8192)),
            "{maps}"
        );
    });
}

#[test]
fn devices_are_what_they_are() {
    on_all(|guest| {
        let null = guest.open("/dev/null", O_RDWR) as u64;
        assert_eq!(guest.read(null, 9), Ok(vec![]));
        assert_eq!(guest.write(null, b"gone"), 4);
        let full = guest.open("/dev/full", O_RDWR) as u64;
        assert_eq!(guest.read(full, 3), Ok(vec![0; 3]));
        assert_eq!(guest.write(full, b"x"), ENOSPC);
        assert_eq!(guest.open("/dev/tty", O_RDWR), ENXIO);
        let random = guest.open("/dev/urandom", 0) as u64;
        assert_ne!(guest.read(random, 16), guest.read(random, 16));
        let path = guest.path("/dev/null");
        assert_eq!(guest.call(48, &[AT_FDCWD, path, 6]), 0);
        assert_eq!(guest.call(48, &[AT_FDCWD, path, 1]), EACCES);
        let out = guest.open("/dev/stdout", O_WRONLY) as u64;
        assert_eq!(guest.write(out, b"x"), 1);
        assert_eq!(guest.open("/dev/stdin", O_WRONLY), EACCES);
        assert_eq!(guest.open("/dev/null", O_CREAT | O_EXCL), EEXIST);
        // Nothing that is made up can be changed.
        let path = guest.path("/dev/null");
        assert_eq!(guest.call(35, &[AT_FDCWD, path, 0]), EACCES);
        assert_eq!(guest.open("/proc/version", O_RDWR), EACCES);
    });
}

#[test]
fn relative_paths_and_open_folders_lead_to_made_up_files() {
    on_all(|guest| {
        assert!(guest.open("proc/self/maps", 0) >= 0);
        let folder = guest.open("/proc/self", O_DIRECTORY) as u64;
        let path = guest.path("comm");
        let fd = guest.call(56, &[folder, path, 0, 0]) as u64;
        assert_eq!(guest.read(fd, 100), Ok(b"tool\n".to_vec()));
        let path = guest.path("../version");
        assert!(guest.call(56, &[folder, path, 0, 0]) >= 0);
        assert!(guest.open("/proc/self/..//./sys/../version", O_PATH) >= 0);
        let place = guest.path("/proc/self/exe");
        assert_eq!(guest.call(56, &[AT_FDCWD, place, O_NOFOLLOW, 0]), ELOOP);
        assert_eq!(guest.call(50, &[folder]), 0);
        assert_eq!(guest.call(17, &[BUFFER, 100]), 11);
        assert_eq!(guest.get(BUFFER, 11), b"/proc/1000\0");
        let fd = guest.open("comm", 0) as u64;
        assert_eq!(guest.read(fd, 100), Ok(b"tool\n".to_vec()));
    });
}

/// Descriptors 0 to 2 and the one that lists.
#[test]
fn open_descriptors_are_listed_and_opened_again() {
    on_all(|guest| {
        let fd = guest.open("/proc/self/fd", O_DIRECTORY) as u64;
        assert_eq!(fd, 3);
        let names = names_of(guest, fd);
        assert_eq!(names, [".", "..", "0", "1", "2", "3"]);
        assert_eq!(link(guest, "/proc/self/fd/3"), Ok("/proc/1000/fd".into()));
        let top = guest.open("/", O_DIRECTORY);
        if top >= 0 {
            let path = format!("/proc/self/fd/{top}/dev/own");
            let own = guest.open(&path, 0) as u64;
            assert_eq!(guest.read(own, 100), Ok(b"mine".to_vec()));
        }
        let own = guest.open("/proc/self/cwd/dev/own", 0);
        assert_eq!(own >= 0, top >= 0, "{own}");
    });
}

fn names_of(guest: &mut Guest, fd: u64) -> Vec<String> {
    let count = guest.call(61, &[fd, BUFFER, 1024]) as usize;
    let bytes = guest.get(BUFFER, count);
    let mut rest = &bytes[..];
    let mut names = Vec::new();
    while !rest.is_empty() {
        let len = usize::from(u16::from_le_bytes([rest[16], rest[17]]));
        let name = rest[19..len].split(|&b| b == 0).next().unwrap();
        names.push(String::from_utf8(name.to_vec()).unwrap());
        rest = &rest[len..];
    }
    assert_eq!(guest.call(61, &[fd, BUFFER, 1024]), 0);
    names
}

#[test]
fn the_system_is_the_simulated_one() {
    on_all(|guest| {
        // Memory of the host is taken from the limit of the process later, not from the memory that there is.
        let total = guest.0.mem.limit_bytes() >> 10;
        let cpu = text(guest, "/proc/cpuinfo");
        match isa() {
            hps_system::image::Isa::Riscv64 => {
                assert!(row(&cpu, "isa").starts_with("rv64imafdc_"), "{cpu}");
            }
            hps_system::image::Isa::Alpha => assert_eq!(row(&cpu, "cpus active"), "1"),
        }
        let mem = text(guest, "/proc/meminfo");
        assert_eq!(row(&mem, "MemTotal"), format!("{total} kB"));
        assert!(text(guest, "/proc/version").starts_with("Linux version "));
        assert_eq!(text(guest, "/sys/devices/system/cpu/online"), "0\n");
        assert_eq!(text(guest, "/proc/sys/kernel/pid_max"), "32768\n");
        assert!(text(guest, "/proc/stat").starts_with("cpu  "));
        guest.0.thread.hart.counters.time_ns = 12_345_000_000;
        assert_eq!(text(guest, "/proc/uptime"), "12.34 0.00\n");
        // Two files of one seed are equal, and so are two runs.
        let uuid = text(guest, "/proc/sys/kernel/random/uuid");
        assert_eq!(uuid.len(), 37);
        assert_ne!(uuid, text(guest, "/proc/sys/kernel/random/uuid"));
    });
}

/// Mode at byte 16 of the generic `struct stat`, device at 0, size at 48.
#[test]
fn stat_and_statfs_tell_file_systems_apart() {
    for (_dir, mut guest) in guests() {
        let mut stat = |path: &str, flags: u64| {
            let at = guest.path(path);
            assert_eq!(guest.call(79, &[AT_FDCWD, at, BUFFER, flags]), 0, "{path}");
            (
                guest.word(BUFFER),
                guest.half(BUFFER + 16),
                guest.word(BUFFER + 32),
            )
        };
        assert_eq!(stat("/proc/self/maps", 0), (2, 0o100_444, 0));
        assert_eq!(stat("/proc/self", 0x100), (2, 0o120_777, 0));
        assert_eq!(stat("/proc/self", 0), (2, 0o040_555, 0));
        assert_eq!(stat("/sys/devices/system/cpu/online", 0), (3, 0o100_444, 0));
        assert_eq!(stat("/dev/null", 0), (4, 0o020_666, 0x103));
        assert_eq!(stat("/dev/urandom", 0), (4, 0o020_666, 0x109));
        assert_eq!(stat("/proc/self/exe", 0), (1, 0o100_555, 0));
        let path = guest.path("/proc");
        assert_eq!(guest.call(43, &[path, BUFFER]), 0);
        assert_eq!(guest.word(BUFFER), 0x9fa0);
    }
}

/// A file that stays open tells of now when it is read from its start again.
#[test]
fn a_file_is_written_anew_when_it_is_read_from_its_start() {
    on_all(|guest| {
        let fd = guest.open("/proc/self/comm", 0) as u64;
        guest.put(BUFFER, b"renamed\0");
        assert_eq!(guest.call(167, &[15, BUFFER]), 0);
        assert_eq!(guest.read(fd, 3), Ok(b"ren".to_vec()));
        guest.put(BUFFER, b"other\0");
        assert_eq!(guest.call(167, &[15, BUFFER]), 0);
        assert_eq!(guest.read(fd, 100), Ok(b"amed\n".to_vec()));
        assert_eq!(guest.call(67, &[fd, BUFFER, 100, 0]), 6);
        assert_eq!(guest.get(BUFFER, 6), b"other\n");
    });
}
