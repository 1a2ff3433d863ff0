//! Files under the root: reading, changing, and that nothing else can be reached.

use std::os::unix::fs::symlink;

use crate::os_support::*;
use hps_system::process::ProcessConfig;

const O_WRONLY: u64 = 1;
const O_RDWR: u64 = 2;
const O_CREAT: u64 = 0o100;
const O_EXCL: u64 = 0o200;
const O_TRUNC: u64 = 0o1000;
const O_APPEND: u64 = 0o2000;
const O_DIRECTORY: u64 = 0o200_000;
const O_NOFOLLOW: u64 = 0o400_000;

struct Tree {
    dir: tempfile::TempDir,
    guest: Guest,
}

/// `outside/secret` and `root/{file, sub/inner, link, escape, host}`.
fn tree(writable: bool) -> Tree {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    std::fs::create_dir_all(root.join("sub")).unwrap();
    std::fs::create_dir(dir.path().join("outside")).unwrap();
    std::fs::write(dir.path().join("outside/secret"), "secret").unwrap();
    std::fs::write(root.join("file"), "0123456789").unwrap();
    std::fs::write(root.join("sub/inner"), "inner").unwrap();
    symlink("sub/inner", root.join("link")).unwrap();
    symlink("../outside", root.join("escape")).unwrap();
    symlink(dir.path().join("outside/secret"), root.join("host")).unwrap();
    let guest = Guest::new(&ProcessConfig {
        root: Some(root),
        writable,
        ..ProcessConfig::default()
    });
    Tree { dir, guest }
}

#[test]
fn without_a_root_there_are_no_files() {
    on_both(|| {
        let mut guest = Guest::new(&ProcessConfig::default());
        for path in ["/", "/etc/passwd", ".", "/dev/shm", "file", "../file"] {
            assert_eq!(guest.open(path, 0), ENOENT, "{path}");
        }
    });
}

#[test]
fn reading_and_seeking() {
    on_both(|| {
        let Tree {
            mut guest,
            dir: _dir,
        } = tree(false);
        let fd = guest.open("/file", 0) as u64;
        assert_eq!(fd, 3);
        assert_eq!(guest.read(fd, 4), Ok(b"0123".to_vec()));
        assert_eq!(guest.call(62, &[fd, -2i64 as u64, 1]), 2);
        assert_eq!(guest.read(fd, 1000), Ok(b"23456789".to_vec()));
        assert_eq!(guest.read(fd, 1000), Ok(vec![]));
        assert_eq!(guest.call(67, &[fd, BUFFER, 3, 5]), 3);
        assert_eq!(guest.get(BUFFER, 3), b"567");
        assert_eq!(guest.call(67, &[fd, BUFFER, 3, u64::MAX]), EINVAL);
        assert_eq!(guest.call(62, &[fd, 0, 2]), 10);
        assert_eq!(guest.call(62, &[fd, -1i64 as u64, 0]), EINVAL);
        // A duplicate shares the position.
        let copy = guest.call(23, &[fd]) as u64;
        assert_eq!(guest.call(62, &[fd, 8, 0]), 8);
        assert_eq!(guest.read(copy, 9), Ok(b"89".to_vec()));
        assert_eq!(guest.call(57, &[fd]), 0);
        assert_eq!(guest.call(57, &[fd]), EBADF);
        assert_eq!(guest.call(62, &[copy, 0, 0]), 0);
        assert_eq!(guest.call(24, &[copy, 20, 0o2_000_000]), 20);
        assert_eq!(guest.call(25, &[20, 1]), 1, "close on exec");
        assert_eq!(guest.call(24, &[copy, copy, 0]), EINVAL);
        // readv
        guest.put_words(BUFFER, &[BUFFER + 64, 2, BUFFER + 80, 3]);
        assert_eq!(guest.call(65, &[copy, BUFFER, 2]), 5);
        assert_eq!(
            (guest.get(BUFFER + 64, 2), guest.get(BUFFER + 80, 3)),
            (b"01".to_vec(), b"234".to_vec())
        );
        // A buffer that ends at unmapped memory gets what fits.
        assert_eq!(guest.call(62, &[copy, 0, 0]), 0);
        assert_eq!(guest.call(63, &[copy, 0x14000 - 4, 10]), 4);
    });
}

#[test]
fn modes_owners_and_times_are_accepted_and_not_kept() {
    on_both(|| {
        for (writable, expected) in [(true, 0), (false, EROFS)] {
            let Tree { mut guest, dir } = tree(writable);
            let fd = guest.open("/file", 0) as u64;
            let times = |dir: &tempfile::TempDir| {
                std::fs::metadata(dir.path().join("root/file"))
                    .unwrap()
                    .modified()
            };
            let before = times(&dir).unwrap();
            // fchmod, fchown, futimens; fchmodat, fchownat, utimensat
            for (number, args) in [
                (52, &[fd, 0o600][..]),
                (55, &[fd, 1000, 1000]),
                (88, &[fd, 0, 0, 0]),
            ] {
                assert_eq!(guest.call(number, args), expected, "call {number}");
                assert_eq!(
                    guest.call(number, &[&[99][..], &args[1..]].concat()),
                    EBADF,
                    "call {number}"
                );
            }
            for (number, rest) in [(53, &[0o600][..]), (54, &[1000, 1000, 0]), (88, &[0, 0])] {
                let path = guest.path("/file");
                assert_eq!(
                    guest.call(number, &[&[AT_FDCWD, path][..], rest].concat()),
                    expected,
                    "call {number}"
                );
                let path = guest.path("/nowhere");
                assert_eq!(
                    guest.call(number, &[&[AT_FDCWD, path][..], rest].concat()),
                    ENOENT,
                    "call {number}"
                );
            }
            assert_eq!(times(&dir).unwrap(), before);
        }
    });
}

#[test]
fn read_only_roots_stay_as_they_are() {
    on_both(|| {
        let Tree { mut guest, dir } = tree(false);
        assert_eq!(guest.open("/file", O_WRONLY), EROFS);
        assert_eq!(guest.open("/file", O_RDWR | O_TRUNC), EROFS);
        assert_eq!(guest.open("/file", O_TRUNC), EROFS);
        assert_eq!(guest.open("/new", O_WRONLY | O_CREAT), EROFS);
        let path = guest.path("/file");
        assert_eq!(guest.call(35, &[AT_FDCWD, path, 0]), EROFS);
        assert_eq!(guest.call(276, &[AT_FDCWD, path, AT_FDCWD, path, 0]), EROFS);
        let path = guest.path("/new");
        assert_eq!(guest.call(34, &[AT_FDCWD, path, 0o755]), EROFS);
        let fd = guest.open("/file", 0) as u64;
        assert_eq!(guest.call(46, &[fd, 0]), EROFS);
        let path = guest.path("/file");
        assert_eq!(guest.call(45, &[path, 0]), EROFS);
        let path = guest.path("/sub");
        assert_eq!(guest.call(45, &[path, 0]), EISDIR);
        assert_eq!(guest.write(fd, b"x"), EBADF);
        let path = guest.path("/file");
        assert_eq!(guest.call(48, &[AT_FDCWD, path, 2]), EROFS);
        assert_eq!(guest.call(48, &[AT_FDCWD, path, 4]), 0);
        assert_eq!(guest.call(48, &[AT_FDCWD, path, 1]), EACCES);
        assert_eq!(
            std::fs::read(dir.path().join("root/file")).unwrap(),
            b"0123456789"
        );
        assert_eq!(
            std::fs::read_dir(dir.path().join("root")).unwrap().count(),
            5
        );
    });
}

#[test]
fn writable_roots_can_be_changed() {
    on_both(|| {
        let Tree { mut guest, dir } = tree(true);
        let root = dir.path().join("root");
        let fd = guest.open("/sub/new", O_RDWR | O_CREAT | O_EXCL) as u64;
        assert_eq!(guest.write(fd, b"hello"), 5);
        assert_eq!(guest.call(68, &[fd, BUFFER, 1, 9]), 1);
        assert_eq!(
            std::fs::read(root.join("sub/new")).unwrap(),
            b"hello\0\0\0\0h"
        );
        let path = guest.path("/sub/new");
        assert_eq!(guest.call(45, &[path, 4]), 0);
        assert_eq!(std::fs::read(root.join("sub/new")).unwrap(), b"hell");
        assert_eq!(guest.call(46, &[fd, 2]), 0);
        assert_eq!(guest.call(82, &[fd]), 0);
        assert_eq!(std::fs::read(root.join("sub/new")).unwrap(), b"he");
        assert_eq!(guest.open("/sub/new", O_RDWR | O_CREAT | O_EXCL), EEXIST);
        let fd = guest.open("/sub/new", O_WRONLY | O_APPEND) as u64;
        assert_eq!(guest.write(fd, b"y"), 1);
        assert_eq!(std::fs::read(root.join("sub/new")).unwrap(), b"hey");
        let fd = guest.open("/created", O_CREAT) as u64;
        assert_eq!(guest.read(fd, 1), Ok(vec![]));
        guest.open("/file", O_WRONLY | O_TRUNC);
        assert_eq!(std::fs::read(root.join("file")).unwrap(), b"");
        let path = guest.path("/made");
        assert_eq!(guest.call(34, &[AT_FDCWD, path, 0o777]), 0);
        assert_eq!(guest.call(34, &[AT_FDCWD, path, 0o777]), EEXIST);
        assert_eq!(guest.call(35, &[AT_FDCWD, path, 0]), EISDIR);
        guest.put(BUFFER, b"/made/moved\0");
        let path = guest.path("/sub/new");
        assert_eq!(guest.call(276, &[AT_FDCWD, path, AT_FDCWD, BUFFER, 1]), 0);
        assert_eq!(
            guest.call(276, &[AT_FDCWD, path, AT_FDCWD, BUFFER, 1]),
            ENOENT
        );
        assert_eq!(std::fs::read(root.join("made/moved")).unwrap(), b"hey");
        let path = guest.path("/made");
        assert_eq!(guest.call(35, &[AT_FDCWD, path, 0x200]), ENOTEMPTY);
        let path = guest.path("/made/moved");
        assert_eq!(guest.call(35, &[AT_FDCWD, path, 0]), 0);
        let path = guest.path("/made");
        assert_eq!(guest.call(35, &[AT_FDCWD, path, 0x200]), 0);
        let path = guest.path("/");
        assert!(guest.call(35, &[AT_FDCWD, path, 0x200]) < 0);
    });
}

#[test]
fn nothing_outside_of_the_root_is_reached() {
    on_both(|| {
        let Tree { mut guest, dir } = tree(true);
        let secret = dir.path().join("outside/secret");
        let host_path = secret.to_str().unwrap();
        for path in [
            "../outside/secret",
            "/../outside/secret",
            "/sub/../../outside/secret",
            "/escape/secret",
            "/escape",
            "/host",
            host_path,
            "/sub/../escape/../outside/secret",
        ] {
            for flags in [
                0,
                O_RDWR,
                O_RDWR | O_CREAT,
                O_DIRECTORY,
                O_WRONLY | O_CREAT | O_TRUNC,
            ] {
                // A link that climbs above the root stops there, as under chroot, so a file that is
                // created through it is created in the root.
                if path == "/escape" && flags & O_CREAT != 0 {
                    continue;
                }
                let result = guest.open(path, flags);
                assert!(result < 0, "{path} {flags:#o}");
            }
            let addr = guest.path(path);
            assert!(guest.call(79, &[AT_FDCWD, addr, BUFFER, 0]) < 0, "{path}");
            assert!(guest.call(49, &[addr]) < 0, "{path}");
        }
        // Creating through a link that dangles outside must not follow it.
        let addr = guest.path("/escape/new");
        assert!(guest.call(34, &[AT_FDCWD, addr, 0o755]) < 0);
        guest.put(BUFFER, b"/escape/moved\0");
        let addr = guest.path("/file");
        assert!(guest.call(276, &[AT_FDCWD, addr, AT_FDCWD, BUFFER, 0]) < 0);
        assert_eq!(std::fs::read(&secret).unwrap(), b"secret");
        assert_eq!(
            std::fs::read_dir(dir.path().join("outside"))
                .unwrap()
                .count(),
            1
        );
        let fd = guest.open("/escape", O_WRONLY | O_CREAT) as u64;
        assert_eq!(guest.write(fd, b"inside"), 6);
        assert_eq!(
            std::fs::read(dir.path().join("root/outside")).unwrap(),
            b"inside"
        );
        // Removing the link removes the link.
        let addr = guest.path("/escape");
        assert_eq!(guest.call(35, &[AT_FDCWD, addr, 0]), 0);
        assert!(secret.exists());
    });
}

#[test]
fn links_and_devices() {
    on_both(|| {
        let Tree {
            mut guest,
            dir: _dir,
        } = tree(false);
        let fd = guest.open("/link", 0) as u64;
        assert_eq!(guest.read(fd, 9), Ok(b"inner".to_vec()));
        assert_eq!(guest.open("/link", O_NOFOLLOW), ELOOP);
        let path = guest.path("/link");
        assert_eq!(guest.call(78, &[AT_FDCWD, path, BUFFER, 100]), 9);
        assert_eq!(guest.get(BUFFER, 9), b"sub/inner");
        assert_eq!(guest.call(78, &[AT_FDCWD, path, BUFFER, 3]), 3);
        let path = guest.path("/file");
        assert_eq!(guest.call(78, &[AT_FDCWD, path, BUFFER, 100]), EINVAL);
        let path = guest.path("/proc/self/exe");
        assert_eq!(guest.call(78, &[AT_FDCWD, path, BUFFER, 100]), 5);
        assert_eq!(guest.get(BUFFER, 5), b"/prog");
        let null = guest.open("/dev/null", O_RDWR) as u64;
        assert_eq!(guest.write(null, b"gone"), 4);
        assert_eq!(guest.read(null, 4), Ok(vec![]));
        let zero = guest.open("/dev/zero", 0) as u64;
        assert_eq!(guest.read(zero, 4), Ok(vec![0; 4]));
    });
}

#[test]
fn stat_structures() {
    let Tree {
        mut guest,
        dir: _dir,
    } = tree(false);
    let path = guest.path("/file");
    assert_eq!(guest.call(79, &[AT_FDCWD, path, BUFFER, 0]), 0);
    assert_eq!(guest.half(BUFFER + 16), 0o100_644);
    assert_eq!(guest.word(BUFFER + 48), 10);
    let inode = guest.word(BUFFER + 8);
    let fd = guest.open("/file", 0) as u64;
    assert_eq!(guest.call(80, &[fd, BUFFER]), 0);
    assert_eq!(
        (guest.word(BUFFER + 8), guest.word(BUFFER + 48)),
        (inode, 10)
    );
    let empty = guest.path("");
    assert_eq!(guest.call(79, &[fd, empty, BUFFER, 0x1000]), 0);
    assert_eq!(guest.word(BUFFER + 8), inode);
    assert_eq!(guest.call(79, &[fd, empty, BUFFER, 0]), ENOENT);
    let path = guest.path("/link");
    assert_eq!(guest.call(79, &[AT_FDCWD, path, BUFFER, 0x100]), 0);
    assert_eq!(guest.half(BUFFER + 16), 0o120_777);
    let path = guest.path("/sub");
    assert_eq!(guest.call(291, &[AT_FDCWD, path, 0, 0x7ff, BUFFER]), 0);
    assert_eq!(guest.half(BUFFER + 28) & 0xffff, 0o040_755);
    assert_eq!(guest.half(BUFFER + 16), 2);
    assert_eq!(guest.call(80, &[1, BUFFER]), 0);
    assert_eq!(
        guest.half(BUFFER + 16) & 0o170_000,
        0o010_000,
        "a stream is like a pipe"
    );
    let path = guest.path("/file/");
    assert_eq!(guest.call(79, &[AT_FDCWD, path, BUFFER, 0]), ENOTDIR);
    assert_eq!(guest.call(79, &[AT_FDCWD, 0x500, BUFFER, 0]), EFAULT);
    assert_eq!(guest.call(80, &[fd, 0x500]), EFAULT);
}

#[test]
fn directories_are_listed_in_order() {
    on_both(|| {
        let Tree {
            mut guest,
            dir: _dir,
        } = tree(false);
        let fd = guest.open("/", O_DIRECTORY) as u64;
        assert_eq!(guest.open("/file", O_DIRECTORY), ENOTDIR);
        assert_eq!(guest.open("/sub", O_WRONLY), EISDIR);
        assert_eq!(guest.read(fd, 4), Err(EISDIR));
        let mut names = Vec::new();
        loop {
            let count = guest.call(61, &[fd, BUFFER, 64]);
            assert!(count >= 0);
            if count == 0 {
                break;
            }
            let bytes = guest.get(BUFFER, count as usize);
            let mut at = 0;
            while at < bytes.len() {
                let len = u16::from_le_bytes([bytes[at + 16], bytes[at + 17]]) as usize;
                let name = &bytes[at + 19..at + len];
                let end = name.iter().position(|&b| b == 0).unwrap();
                names.push((
                    String::from_utf8(name[..end].to_vec()).unwrap(),
                    bytes[at + 18],
                ));
                at += len;
            }
        }
        let expected = [
            (".", 4),
            ("..", 4),
            ("escape", 10),
            ("file", 8),
            ("host", 10),
            ("link", 10),
            ("sub", 4),
        ];
        assert_eq!(names, expected.map(|(name, kind)| (name.to_owned(), kind)));
        assert_eq!(guest.call(62, &[fd, 0, 0]), 0);
        assert_eq!(guest.call(61, &[fd, BUFFER, 8]), EINVAL);
        assert!(guest.call(61, &[fd, BUFFER, 1000]) > 0);
    });
}

#[test]
fn working_directory_and_relative_opens() {
    on_both(|| {
        let Tree {
            mut guest,
            dir: _dir,
        } = tree(false);
        assert_eq!(guest.call(17, &[BUFFER, 10]), 2);
        assert_eq!(guest.get(BUFFER, 2), b"/\0");
        let path = guest.path("sub");
        assert_eq!(guest.call(49, &[path]), 0);
        assert_eq!(guest.call(17, &[BUFFER, 3]), ERANGE);
        assert_eq!(guest.call(17, &[BUFFER, 10]), 5);
        assert_eq!(guest.get(BUFFER, 5), b"/sub\0");
        assert!(guest.open("inner", 0) > 0);
        assert!(guest.open("../file", 0) > 0);
        let path = guest.path("../file");
        assert_eq!(guest.call(49, &[path]), ENOTDIR);
        let dir = guest.open("/", O_DIRECTORY) as u64;
        let path = guest.path("file");
        assert!(guest.call(56, &[dir, path, 0, 0]) > 0);
        assert_eq!(guest.call(50, &[dir]), 0);
        assert!(guest.open("file", 0) > 0);
        let path = guest.path("file");
        assert_eq!(guest.call(56, &[1, path, 0, 0]), ENOTDIR);
        assert_eq!(guest.call(56, &[99, path, 0, 0]), EBADF);
    });
}

#[test]
fn open_files_are_limited() {
    on_both(|| {
        let Tree {
            mut guest,
            dir: _dir,
        } = tree(false);
        guest.put_words(BUFFER, &[6, 6]);
        assert_eq!(guest.call(261, &[0, 7, BUFFER, 0]), 0);
        for expected in 3..6 {
            assert_eq!(guest.open("/file", 0), expected);
        }
        assert_eq!(guest.open("/file", 0), EMFILE);
        assert_eq!(guest.call(23, &[0]), EMFILE);
        assert_eq!(guest.call(59, &[BUFFER, 0]), EMFILE);
        assert_eq!(guest.call(24, &[0, 6, 0]), EBADF);
        guest.put_words(BUFFER, &[7, 7]);
        assert_eq!(guest.call(261, &[0, 7, BUFFER, 0]), EPERM);
        assert_eq!(guest.call(57, &[4]), 0);
        assert_eq!(guest.open("/file", 0), 4);
    });
}

#[test]
fn devices_and_pipes_of_the_host_are_not_opened() {
    on_both(|| {
        let Tree { mut guest, dir } = tree(true);
        symlink("/dev/full", dir.path().join("root/full")).unwrap();
        assert_eq!(
            guest.open("/full", O_WRONLY),
            ENOENT,
            "the link is taken from the guest's root"
        );
        let socket = dir.path().join("root/socket");
        let _listener = std::os::unix::net::UnixListener::bind(socket).unwrap();
        assert_eq!(guest.open("/socket", 0), EACCES);
    });
}

const O_PATH: u64 = 0o10_000_000;

/// A descriptor of a link is no folder: nothing can be reached through it.
#[test]
fn descriptors_of_links_lead_nowhere() {
    on_both(|| {
        let Tree { mut guest, dir } = tree(true);
        symlink(dir.path().join("outside"), dir.path().join("root/abs")).unwrap();
        symlink("/", dir.path().join("root/all")).unwrap();
        for link in ["/escape", "/abs", "/all"] {
            let fd = guest.open(link, O_PATH | O_NOFOLLOW);
            assert!(fd >= 0, "{link}");
            let fd = fd as u64;
            let name = guest.path("secret");
            assert_eq!(guest.call(56, &[fd, name, 0, 0]), ENOTDIR);
            assert_eq!(
                guest.call(56, &[fd, name, O_CREAT | O_WRONLY, 0o644]),
                ENOTDIR
            );
            assert_eq!(guest.call(79, &[fd, name, BUFFER, 0]), ENOTDIR);
            assert_eq!(guest.call(34, &[fd, name, 0o755]), ENOTDIR);
            assert_eq!(guest.call(35, &[fd, name, 0]), ENOTDIR);
            assert_eq!(guest.call(276, &[fd, name, fd, name, 0]), ENOTDIR);
            assert_eq!(guest.call(50, &[fd]), ENOTDIR);
        }
        assert_eq!(
            std::fs::read(dir.path().join("outside/secret")).unwrap(),
            b"secret"
        );
    });
}

/// A held folder stays the folder that it is when its name goes to a link.
#[test]
fn held_folders_survive_an_exchange_of_their_names() {
    on_both(|| {
        let Tree { mut guest, dir } = tree(true);
        let held = guest.open("/sub", O_DIRECTORY) as u64;
        let path = guest.path("sub");
        assert_eq!(guest.call(49, &[path]), 0);
        for (from, to) in [("/sub", "/tmp"), ("/escape", "/sub")] {
            guest.put(BUFFER, to.as_bytes());
            guest.put(BUFFER + to.len() as u64, &[0]);
            let from = guest.path(from);
            assert_eq!(guest.call(276, &[AT_FDCWD, from, AT_FDCWD, BUFFER, 0]), 0);
        }
        let name = guest.path("secret");
        assert_eq!(guest.call(56, &[held, name, 0, 0]), ENOENT);
        assert_eq!(guest.open("secret", 0), ENOENT);
        assert!(guest.open("inner", 0) > 0);
        let fd = guest.open("planted", O_CREAT | O_WRONLY);
        assert!(fd > 0);
        assert!(dir.path().join("root/tmp/planted").exists());
        assert!(!dir.path().join("outside/planted").exists());
        assert_eq!(guest.call(17, &[BUFFER, 100]), 5);
        assert_eq!(guest.get(BUFFER, 5), b"/tmp\0");
        // Moved out of the root by somebody else, it leads nowhere.
        std::fs::rename(dir.path().join("root/tmp"), dir.path().join("gone")).unwrap();
        for path in ["inner", "../outside/secret", "..", "."] {
            assert_eq!(guest.open(path, 0), ENOENT, "{path}");
        }
        assert!(guest.open("/file", 0) > 0);
    });
}

/// Calls that remove or rename look at what the path ends in.
#[test]
fn ends_of_paths_are_minded() {
    on_both(|| {
        let Tree { mut guest, dir } = tree(true);
        let mut remove = |path: &str, flags| {
            let path = guest.path(path);
            guest.call(35, &[AT_FDCWD, path, flags])
        };
        assert_eq!(remove("/file", 1), EINVAL);
        assert_eq!(remove("/sub/.", 0x200), EINVAL);
        assert_eq!(remove("/sub/..", 0x200), ENOTEMPTY);
        assert_eq!(remove("/file/", 0), ENOTDIR);
        assert_eq!(remove("/sub", 0), EISDIR);
        guest.put(BUFFER, b"/new/\0");
        let path = guest.path("/file");
        assert_eq!(
            guest.call(276, &[AT_FDCWD, path, AT_FDCWD, BUFFER, 0]),
            ENOTDIR
        );
        assert_eq!(
            guest.call(276, &[AT_FDCWD, path, AT_FDCWD, BUFFER, 8]),
            EINVAL
        );
        assert!(dir.path().join("root/file").exists());
    });
}

/// Open folders read their names when they are asked for, and go on behind what was told.
#[test]
fn folders_are_listed_on_while_they_change() {
    on_both(|| {
        let Tree { mut guest, dir } = tree(false);
        let fd = guest.open("/", O_DIRECTORY) as u64;
        std::fs::write(dir.path().join("root/zz"), "").unwrap();
        assert!(guest.call(61, &[fd, BUFFER, 1000]) > 0);
        let listed = guest.get(BUFFER, 1000);
        assert!(listed.windows(3).any(|w| w == b"zz\0"));
        std::fs::write(dir.path().join("root/zzz"), "").unwrap();
        assert_eq!(guest.call(61, &[fd, BUFFER, 1000]), 0);
        assert_eq!(guest.call(62, &[fd, 0, 0]), 0);
        assert!(guest.call(61, &[fd, BUFFER, 1000]) > 0);
        assert!(guest.get(BUFFER, 1000).windows(4).any(|w| w == b"zzz\0"));
    });
}

/// Flags that a call does not know are refused.
#[test]
fn unknown_flags_of_stat_and_access_are_refused() {
    on_both(|| {
        let Tree {
            mut guest,
            dir: _dir,
        } = tree(false);
        let path = guest.path("/file");
        assert_eq!(guest.call(79, &[AT_FDCWD, path, BUFFER, 0x8000]), EINVAL);
        assert_eq!(guest.call(79, &[AT_FDCWD, path, BUFFER, 0x800]), 0);
        for (flags, mask, expected) in [
            (0, 0x7ff, 0),
            (0x2000, 0x7ff, 0),
            (u64::MAX, 0x7ff, EINVAL),
            (0x6000, 0x7ff, EINVAL),
            (0, 0x8000_0000, EINVAL),
        ] {
            let result = guest.call(291, &[AT_FDCWD, path, flags, mask, BUFFER]);
            assert_eq!(result, expected, "{flags:#x} {mask:#x}");
        }
        assert_eq!(guest.call(48, &[AT_FDCWD, path, 8]), EINVAL);
    });
}
