//! Calls on descriptors: files in memory, copies between files, allocation and advice, ranges of
//! descriptors, locks, pipes. Numbers and errors are the generic ones; `os_support` translates them for Alpha.

use crate::os_support::*;
use hps_system::image::Isa;
use hps_system::os::SyscallResult;
use hps_system::process::ProcessConfig;

const O_RDWR: u64 = 2;
const O_APPEND: u64 = 0o2000;
const O_PATH: u64 = 0o10_000_000;

const FCNTL: u64 = 25;
const FALLOCATE: u64 = 47;
const CLOSE: u64 = 57;
const LSEEK: u64 = 62;
const SENDFILE: u64 = 71;
const MEMFD_CREATE: u64 = 279;
const COPY_FILE_RANGE: u64 = 285;

const EFBIG: i64 = -27;
const ENOSPC: i64 = -28;
const EOPNOTSUPP: i64 = -95;

const OFFSET: u64 = PATH + 512;

struct Tree {
    _dir: tempfile::TempDir,
    guest: Guest,
}

/// `file` with ten digits and `empty`, in a root that can be changed; files may grow by 100 bytes.
fn tree() -> Tree {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "0123456789").unwrap();
    std::fs::write(dir.path().join("empty"), "").unwrap();
    let guest = Guest::new(&ProcessConfig {
        root: Some(dir.path().to_path_buf()),
        writable: true,
        file_limit_bytes: Some(100),
        ..ProcessConfig::default()
    });
    Tree { _dir: dir, guest }
}

impl Tree {
    fn open(&mut self, path: &str, flags: u64) -> u64 {
        u64::try_from(self.guest.open(path, flags)).expect(path)
    }

    fn memfd(&mut self, flags: u64) -> i64 {
        let name = self.guest.path("name");
        self.guest.call(MEMFD_CREATE, &[name, flags])
    }

    fn call(&mut self, number: u64, args: &[u64]) -> i64 {
        self.guest.call(number, args)
    }

    /// The reading and the writing end.
    fn pipe(&mut self) -> (u64, u64) {
        assert_eq!(self.call(59, &[BUFFER, 0]), 0);
        let ends = (self.guest.half(BUFFER), self.guest.half(BUFFER + 4));
        (u64::from(ends.0), u64::from(ends.1))
    }

    fn inode(&mut self, fd: u64) -> u64 {
        // statx, whose structure is common to both instruction sets, of the descriptor itself.
        self.guest.put(PATH, &[0]);
        assert_eq!(self.call(291, &[fd, PATH, 0x1000, 0x7ff, BUFFER]), 0);
        self.guest.word(BUFFER + 32)
    }
}

#[test]
fn a_file_in_memory_is_a_file() {
    on_both(|| {
        let mut tree = tree();
        let fd = tree.memfd(1) as u64;
        assert_eq!(tree.call(FCNTL, &[fd, 1]), 1, "close on exec");
        assert_eq!(tree.guest.write(fd, b"content"), 7);
        assert_eq!(tree.call(LSEEK, &[fd, 3, 0]), 3);
        assert_eq!(tree.guest.read(fd, 100), Ok(b"tent".to_vec()));
        let other = tree.memfd(0) as u64;
        assert_eq!(tree.guest.read(other, 100), Ok(vec![]));
        assert_ne!(tree.inode(fd), tree.inode(other));
        // 7 of 100 bytes are used.
        assert_eq!(tree.call(46, &[other, 94]), ENOSPC);
        assert_eq!(tree.call(46, &[other, 101]), EFBIG);
        assert_eq!(tree.call(46, &[other, 93]), 0);
    });
}

#[test]
fn memfd_create_refuses_what_linux_refuses() {
    on_both(|| {
        let mut tree = tree();
        // MFD_NOEXEC_SEAL is younger than this kernel.
        for flags in [8, 0x80, 0x8000_0000] {
            assert_eq!(tree.memfd(flags), EINVAL, "{flags:#x}");
        }
        assert_eq!(tree.memfd(4), ENOSYS, "no huge pages");
        let long = tree.guest.path(&"n".repeat(250));
        assert_eq!(tree.call(MEMFD_CREATE, &[long, 0]), EINVAL);
        assert_eq!(tree.call(MEMFD_CREATE, &[long + 1, 0]), 3);
        assert_eq!(tree.call(MEMFD_CREATE, &[8, 0]), EFAULT);
    });
}

#[test]
fn seals_hold() {
    const ADD_SEALS: u64 = 1033;
    const GET_SEALS: u64 = 1034;
    on_both(|| {
        let mut tree = tree();
        let unsealable = tree.memfd(0) as u64;
        assert_eq!(tree.call(FCNTL, &[unsealable, GET_SEALS]), 1);
        assert_eq!(tree.call(FCNTL, &[unsealable, ADD_SEALS, 2]), EPERM);
        let fd = tree.memfd(2) as u64;
        assert_eq!(tree.guest.write(fd, b"abc"), 3);
        assert_eq!(tree.call(FCNTL, &[fd, GET_SEALS]), 0);
        assert_eq!(tree.call(FCNTL, &[fd, ADD_SEALS, 0x100]), EINVAL);
        // Shrinking, growing.
        assert_eq!(tree.call(FCNTL, &[fd, ADD_SEALS, 2]), 0);
        assert_eq!(tree.call(46, &[fd, 1]), EPERM);
        assert_eq!(tree.guest.write(fd, b"d"), 1);
        assert_eq!(tree.call(FCNTL, &[fd, ADD_SEALS, 4 | 8]), 0);
        assert_eq!(tree.call(46, &[fd, 10]), EPERM);
        assert_eq!(tree.guest.write(fd, b"e"), EPERM);
        assert_eq!(tree.call(FCNTL, &[fd, GET_SEALS]), 2 | 4 | 8);
        let file = tree.open("/file", O_RDWR);
        assert_eq!(tree.call(FCNTL, &[file, GET_SEALS]), EINVAL);
    });
}

#[test]
fn a_second_system_has_a_file_in_memory_of_its_own() {
    let mut guest = Guest::new(&ProcessConfig::default());
    let name = guest.path("name");
    let fd = guest.call(MEMFD_CREATE, &[name, 0]) as u64;
    assert_eq!(guest.write(fd, b"one"), 3);
    let second = guest.0.os.duplicate().unwrap();
    assert_eq!(guest.call(LSEEK, &[fd, 0, 0]), 0);
    assert_eq!(guest.write(fd, b"two"), 3);
    *guest.0.os = second;
    assert_eq!(guest.write(fd, b"!"), 1, "behind the first three");
    assert_eq!(guest.call(LSEEK, &[fd, 0, 0]), 0);
    assert_eq!(guest.read(fd, 9), Ok(b"one!".to_vec()));
}

#[test]
fn sendfile_copies_from_a_file_to_anything() {
    on_both(|| {
        let mut tree = tree();
        let file = tree.open("/file", 0);
        let (reader, writer) = tree.pipe();
        assert_eq!(tree.call(SENDFILE, &[writer, file, 0, 4]), 4);
        assert_eq!(tree.guest.read(reader, 9), Ok(b"0123".to_vec()));
        assert_eq!(tree.call(LSEEK, &[file, 0, 1]), 4, "the position moves");
        tree.guest.put_words(OFFSET, &[7]);
        assert_eq!(tree.call(SENDFILE, &[writer, file, OFFSET, 99]), 3);
        assert_eq!(tree.guest.read(reader, 9), Ok(b"789".to_vec()));
        assert_eq!(tree.guest.word(OFFSET), 10);
        assert_eq!(
            tree.call(LSEEK, &[file, 0, 1]),
            4,
            "it stays with an offset"
        );

        tree.guest.put_words(OFFSET, &[u64::MAX]);
        let appending = tree.open("/empty", 1 | O_APPEND);
        let place = tree.open("/file", O_PATH);
        for (args, expected) in [
            ([file, file, 0, 1], EBADF),
            ([writer, writer, 0, 1], EBADF),
            ([writer, 99, 0, 1], EBADF),
            ([99, file, 0, 1], EBADF),
            ([writer, place, 0, 1], EBADF),
            ([appending, file, 0, 1], EINVAL),
            ([writer, reader, 0, 1], EINVAL),
            ([writer, reader, OFFSET, 1], ESPIPE),
            ([writer, file, OFFSET, 1], EINVAL),
            ([writer, file, 8, 1], EFAULT),
        ] {
            assert_eq!(tree.call(SENDFILE, &args), expected, "{args:?}");
        }
    });
}

#[test]
fn copy_file_range_copies_between_files() {
    on_both(|| {
        let mut tree = tree();
        let file = tree.open("/file", O_RDWR);
        let empty = tree.open("/empty", O_RDWR);
        let call = COPY_FILE_RANGE;
        tree.guest.put_words(OFFSET, &[8, 2]);
        // "89" to offset 2 behind a hole; the offsets move, the positions do not.
        let args = [file, OFFSET, empty, OFFSET + 8, 50, 0];
        assert_eq!(tree.call(call, &args), 2);
        assert_eq!(
            (tree.guest.word(OFFSET), tree.guest.word(OFFSET + 8)),
            (10, 4)
        );
        assert_eq!(tree.guest.read(empty, 9), Ok(b"\0\089".to_vec()));
        assert_eq!(tree.call(call, &[file, 0, empty, 0, 3, 0]), 3);
        assert_eq!(tree.call(LSEEK, &[file, 0, 1]), 3);
        assert_eq!(tree.call(LSEEK, &[empty, 0, 1]), 7);
        // Within one file: apart, then overlapping.
        tree.guest.put_words(OFFSET, &[0, 5]);
        assert_eq!(tree.call(call, &[file, OFFSET, file, OFFSET + 8, 5, 0]), 5);
        tree.guest.put_words(OFFSET, &[0, 4]);
        let overlap = [file, OFFSET, file, OFFSET + 8, 5, 0];
        assert_eq!(tree.call(call, &overlap), EINVAL);

        let folder = tree.open("/", 0);
        let readable = tree.open("/file", 0);
        let appending = tree.open("/empty", 1 | O_APPEND);
        let (reader, writer) = tree.pipe();
        for (args, expected) in [
            ([file, 0, empty, 0, 1, 1], EINVAL),
            ([99, 0, empty, 0, 1, 0], EBADF),
            ([file, 0, readable, 0, 1, 0], EBADF),
            ([file, 0, appending, 0, 1, 0], EBADF),
            ([folder, 0, empty, 0, 1, 0], EISDIR),
            ([reader, 0, empty, 0, 1, 0], EINVAL),
            ([file, 0, writer, 0, 1, 0], EINVAL),
            ([file, 8, empty, 0, 1, 0], EFAULT),
        ] {
            assert_eq!(tree.call(call, &args), expected, "{args:?}");
        }
    });
}

#[test]
fn fallocate_makes_room_up_to_the_limit() {
    on_both(|| {
        let mut tree = tree();
        let file = tree.open("/file", O_RDWR);
        let size = |tree: &mut Tree| tree.call(LSEEK, &[file, 0, 2]);
        assert_eq!(tree.call(FALLOCATE, &[file, 1, 0, 50]), 0, "KEEP_SIZE");
        assert_eq!(size(&mut tree), 10);
        assert_eq!(tree.call(FALLOCATE, &[file, 0, 5, 15]), 0);
        assert_eq!(size(&mut tree), 20);
        assert_eq!(tree.call(FALLOCATE, &[file, 0, 0, 5]), 0);
        assert_eq!(size(&mut tree), 20, "nothing shrinks");
        // 10 of 100 bytes are used.
        assert_eq!(tree.call(FALLOCATE, &[file, 0, 0, 111]), ENOSPC);
        let readable = tree.open("/file", 0);
        let folder = tree.open("/", 0);
        let (_, writer) = tree.pipe();
        for (args, expected) in [
            ([file, 0, 0, 0], EINVAL),
            ([file, 0, u64::MAX, 1], EINVAL),
            ([file, 3, 0, 1], EOPNOTSUPP),
            ([file, 0x10, 0, 1], EOPNOTSUPP),
            ([99, 0, 0, 1], EBADF),
            ([readable, 0, 0, 1], EBADF),
            ([folder, 0, 0, 1], EBADF),
            ([writer, 0, 0, 1], ESPIPE),
            ([file, 0, i64::MAX as u64, 1], EFBIG),
        ] {
            assert_eq!(tree.call(FALLOCATE, &args), expected, "{args:?}");
        }
    });
}

#[test]
fn advice_and_write_back_check_their_arguments() {
    const SYNC_FILE_RANGE: u64 = 84;
    const READAHEAD: u64 = 213;
    const FADVISE: u64 = 223;
    const MINUS: u64 = u64::MAX;
    on_both(|| {
        let mut tree = tree();
        let file = tree.open("/file", 0);
        let place = tree.open("/file", O_PATH);
        let written = tree.open("/file", 1);
        let (reader, _) = tree.pipe();
        for (number, args, expected) in [
            (FADVISE, [file, 0, 0, 5], 0),
            (FADVISE, [file, 0, 0, 6], EINVAL),
            (FADVISE, [file, 0, MINUS, 0], EINVAL),
            (FADVISE, [reader, 0, 0, 0], ESPIPE),
            (FADVISE, [place, 0, 0, 0], EBADF),
            (SYNC_FILE_RANGE, [file, 0, 0, 7], 0),
            (SYNC_FILE_RANGE, [file, 0, 0, 8], EINVAL),
            (SYNC_FILE_RANGE, [file, MINUS, 0, 0], EINVAL),
            (SYNC_FILE_RANGE, [file, 1, i64::MAX as u64, 0], EINVAL),
            (SYNC_FILE_RANGE, [reader, 0, 0, 0], ESPIPE),
            (SYNC_FILE_RANGE, [place, 0, 0, 0], EBADF),
            (READAHEAD, [file, 0, 9, 0], 0),
            (READAHEAD, [written, 0, 9, 0], EBADF),
            (READAHEAD, [reader, 0, 9, 0], EINVAL),
            // sync, syncfs, fsync, fdatasync
            (81, [0; 4], 0),
            (267, [file, 0, 0, 0], 0),
            (267, [place, 0, 0, 0], EBADF),
            (82, [file, 0, 0, 0], 0),
            (82, [place, 0, 0, 0], EBADF),
            (83, [file, 0, 0, 0], 0),
            (83, [reader, 0, 0, 0], EINVAL),
        ] {
            assert_eq!(tree.call(number, &args), expected, "call {number} {args:?}");
        }
    });
}

#[test]
fn close_range_closes_or_marks() {
    const CLOSE_RANGE: u64 = 436;
    on_both(|| {
        let mut tree = tree();
        let fds: Vec<u64> = (0..4).map(|_| tree.open("/file", 0)).collect();
        assert_eq!(fds, [3, 4, 5, 6]);
        assert_eq!(tree.call(CLOSE_RANGE, &[5, 4, 0]), EINVAL);
        assert_eq!(tree.call(CLOSE_RANGE, &[4, 5, 1]), EINVAL);
        assert_eq!(tree.call(CLOSE_RANGE, &[4, 5, 4]), 0);
        let marks = [3, 4, 5, 6].map(|fd| tree.call(FCNTL, &[fd, 1]));
        assert_eq!(marks, [0, 1, 1, 0]);
        assert_eq!(tree.call(CLOSE, &[4]), 0);
        // The kernel takes 32 bits: to the last one.
        assert_eq!(tree.call(CLOSE_RANGE, &[4, u64::MAX, 0]), 0);
        let marks = [3, 4, 5, 6].map(|fd| tree.call(FCNTL, &[fd, 1]));
        assert_eq!(marks, [0, EBADF, EBADF, EBADF]);
    });
}

#[test]
fn preadv2_takes_an_offset_or_the_position() {
    const PREADV2: u64 = 286;
    const PWRITEV2: u64 = 287;
    on_both(|| {
        let mut tree = tree();
        let file = tree.open("/file", O_RDWR);
        tree.guest.put_words(OFFSET, &[BUFFER, 3]);
        assert_eq!(tree.call(PREADV2, &[file, OFFSET, 1, 4, 0, 0]), 3);
        assert_eq!(tree.guest.get(BUFFER, 3), b"456");
        assert_eq!(tree.call(PREADV2, &[file, OFFSET, 1, u64::MAX, 0, 0]), 3);
        assert_eq!(tree.guest.get(BUFFER, 3), b"012");
        assert_eq!(tree.call(LSEEK, &[file, 0, 1]), 3);
        assert_eq!(tree.call(PWRITEV2, &[file, OFFSET, 1, u64::MAX, 0, 0]), 3);
        assert_eq!(tree.guest.read(file, 9), Ok(b"6789".to_vec()));
        for number in [PREADV2, PWRITEV2] {
            let unknown = [file, OFFSET, 1, 0, 0, 0x100];
            assert_eq!(tree.call(number, &unknown), EOPNOTSUPP);
            assert_eq!(
                tree.call(number, &[file, OFFSET, 1, -2i64 as u64, 0, 0]),
                EINVAL
            );
            assert_eq!(tree.call(number, &[99, OFFSET, 0, 0, 0, 0]), EBADF);
        }
    });
}

#[test]
fn both_ends_of_a_pipe_have_one_inode() {
    on_both(|| {
        let mut tree = tree();
        let (reader, writer) = tree.pipe();
        let (other, _) = tree.pipe();
        let inode = tree.inode(reader);
        assert_eq!(tree.inode(writer), inode);
        assert_ne!(tree.inode(other), inode);
    });
}

#[test]
fn pipes_have_a_size_that_can_be_changed() {
    const SET_SIZE: u64 = 1031;
    const GET_SIZE: u64 = 1032;
    on_both(|| {
        let mut tree = tree();
        let page = tree.guest.0.os.abi().page_bytes();
        let (reader, writer) = tree.pipe();
        assert_eq!(tree.call(FCNTL, &[reader, GET_SIZE]), 65536);
        assert_eq!(tree.call(FCNTL, &[writer, SET_SIZE, 1]), page as i64);
        assert_eq!(tree.call(FCNTL, &[reader, GET_SIZE]), page as i64);
        // More would wait for a reader.
        for part in vec![7; page as usize].chunks(1000) {
            assert_eq!(tree.guest.write(writer, part), part.len() as i64);
        }
        // FIONREAD at both ends
        for end in [reader, writer] {
            assert_eq!(tree.fionread(end), Ok(page as u32));
        }
        assert_eq!(
            tree.call(FCNTL, &[writer, SET_SIZE, page + 1]),
            2 * page as i64
        );
        assert_eq!(tree.guest.write(writer, b"more"), 4);
        assert_eq!(tree.call(FCNTL, &[writer, SET_SIZE, page]), -16, "EBUSY");
        assert_eq!(tree.call(FCNTL, &[writer, SET_SIZE, (1 << 20) + 1]), EPERM);
        assert_eq!(tree.call(FCNTL, &[writer, SET_SIZE, 0x8000_0001]), EINVAL);
        let file = tree.open("/file", 0);
        assert_eq!(tree.call(FCNTL, &[file, SET_SIZE, 4096]), EBADF);
        assert_eq!(tree.call(LSEEK, &[file, 4, 0]), 4);
        assert_eq!(tree.fionread(file), Ok(6));
    });
}

impl Tree {
    fn fionread(&mut self, fd: u64) -> Result<u32, i64> {
        let request = match isa() {
            Isa::Riscv64 => 0x541b,
            Isa::Alpha => 0x4004_667f,
        };
        match self.call(29, &[fd, request, BUFFER]) {
            0 => Ok(self.guest.half(BUFFER)),
            errno => Err(errno),
        }
    }

    fn flock(&mut self, fd: u64, operation: u64) -> i64 {
        self.call(32, &[fd, operation])
    }

    /// `fcntl` with a lock of `kind` on bytes from `start`; `command` and `kind` are the generic numbers.
    fn lock(&mut self, fd: u64, command: u64, kind: u64, start: u64, len: u64) -> i64 {
        let (command, kind) = native_lock(command, kind);
        self.guest.put_words(BUFFER, &[kind, start, len, 0]);
        self.call(FCNTL, &[fd, command, BUFFER])
    }

    /// The lock that `F_GETLK` or `F_OFD_GETLK` finds in the way: kind, start, length and process.
    fn found(&mut self, fd: u64, command: u64, kind: u64) -> Option<(u64, u64, u64, i32)> {
        assert_eq!(self.lock(fd, command, kind, 0, 0), 0);
        let words = [0, 8, 16, 24].map(|offset| self.guest.word(BUFFER + offset));
        let kind = words[0] & 0xffff;
        let (_, unlocked) = native_lock(0, UNLCK);
        (kind != unlocked).then(|| (kind, words[1], words[2], words[3] as i32))
    }
}

const RDLCK: u64 = 0;
const WRLCK: u64 = 1;
const UNLCK: u64 = 2;
const GETLK: u64 = 5;
const SETLK: u64 = 6;
const OFD_GETLK: u64 = 36;
const OFD_SETLK: u64 = 37;

/// A command of `fcntl` and a kind of lock as the instruction set has them.
fn native_lock(command: u64, kind: u64) -> (u64, u64) {
    match isa() {
        Isa::Riscv64 => (command, kind),
        Isa::Alpha => (
            if command < 36 { command + 2 } else { command },
            [1, 2, 8, 9][kind as usize],
        ),
    }
}

#[test]
fn flock_is_held_by_an_open_file() {
    const SH: u64 = 1;
    const EX: u64 = 2;
    const NB: u64 = 4;
    const UN: u64 = 8;
    on_both(|| {
        let mut tree = tree();
        let [first, second] = [0, 0].map(|flags| tree.open("/file", flags));
        let empty = tree.open("/empty", 0);
        assert_eq!(tree.flock(first, EX), 0);
        assert_eq!(tree.flock(first, EX), 0, "its own lock is not in the way");
        assert_eq!(tree.flock(empty, EX), 0, "another file");
        assert_eq!(tree.flock(second, SH | NB), EAGAIN);
        assert_eq!(tree.flock(first, SH), 0);
        assert_eq!(tree.flock(second, SH), 0);
        // A refused conversion has given the old lock up.
        assert_eq!(tree.flock(second, EX | NB), EAGAIN);
        assert_eq!(tree.flock(first, EX | NB), 0);
        // The lock lasts as long as a duplicate is open.
        let copy = tree.call(23, &[first]) as u64;
        assert_eq!(tree.call(CLOSE, &[first]), 0);
        assert_eq!(tree.flock(second, SH | NB), EAGAIN);
        assert_eq!(tree.call(CLOSE, &[copy]), 0);
        assert_eq!(tree.flock(second, EX | NB), 0);
        assert_eq!(tree.flock(second, UN), 0);
        for operation in [0, SH | EX, 16, NB, u64::MAX] {
            assert_eq!(tree.flock(second, operation), EINVAL, "{operation}");
        }
        let place = tree.open("/file", O_PATH);
        assert_eq!(tree.flock(place, EX), EBADF);
    });
}

#[test]
fn record_locks_of_a_process_never_conflict() {
    on_both(|| {
        let mut tree = tree();
        let [first, second] = [O_RDWR; 2].map(|flags| tree.open("/file", flags));
        assert_eq!(tree.lock(first, SETLK, WRLCK, 0, 10), 0);
        assert_eq!(tree.lock(second, SETLK, WRLCK, 0, 10), 0);
        assert_eq!(tree.found(second, GETLK, WRLCK), None);
        // An open file's lock sees them, and where the process unlocks in the middle, both parts.
        let third = tree.open("/file", O_RDWR);
        assert_eq!(tree.lock(first, SETLK, UNLCK, 4, 2), 0);
        let exclusive = native_lock(0, WRLCK).1;
        let in_the_way = Some((exclusive, 0, 4, 1000));
        assert_eq!(tree.found(third, OFD_GETLK, RDLCK), in_the_way);
        assert_eq!(tree.lock(third, OFD_SETLK, WRLCK, 4, 2), 0);
        assert_eq!(tree.lock(third, OFD_SETLK, WRLCK, 9, 0), EAGAIN);
        // Closing any descriptor of the file releases those of the process.
        assert_eq!(tree.call(CLOSE, &[second]), 0);
        assert_eq!(tree.lock(third, OFD_SETLK, WRLCK, 9, 0), 0);
        let mine = Some((exclusive, 4, 2, -1));
        assert_eq!(tree.found(first, GETLK, RDLCK), mine);
    });
}

#[test]
fn record_locks_of_two_open_files_conflict() {
    on_both(|| {
        let mut tree = tree();
        let [first, second] = [O_RDWR; 2].map(|flags| tree.open("/file", flags));
        assert_eq!(tree.lock(first, OFD_SETLK, RDLCK, 5, 5), 0);
        assert_eq!(tree.lock(second, OFD_SETLK, RDLCK, 0, 0), 0);
        assert_eq!(tree.lock(second, OFD_SETLK, WRLCK, 0, 5), 0);
        assert_eq!(tree.lock(second, OFD_SETLK, WRLCK, 0, 6), EAGAIN);
        // Neighbours become one.
        assert_eq!(tree.lock(first, OFD_SETLK, RDLCK, 10, 0), 0);
        let shared = native_lock(0, RDLCK).1;
        let joined = Some((shared, 5, 0, -1));
        assert_eq!(tree.found(second, OFD_GETLK, WRLCK), joined);
        // A duplicate shares the lock; closing the last one releases it.
        let copy = tree.call(23, &[first]) as u64;
        assert_eq!(tree.lock(copy, OFD_SETLK, RDLCK, 0, 1), EAGAIN);
        assert_eq!(tree.call(CLOSE, &[first]), 0);
        assert_eq!(tree.lock(second, OFD_SETLK, WRLCK, 6, 1), EAGAIN);
        assert_eq!(tree.call(CLOSE, &[copy]), 0);
        assert_eq!(tree.lock(second, OFD_SETLK, WRLCK, 6, 1), 0);
    });
}

#[test]
fn record_locks_check_their_arguments() {
    on_both(|| {
        let mut tree = tree();
        let readable = tree.open("/file", 0);
        let written = tree.open("/file", 1);
        let most = i64::MAX as u64;
        let minus = u64::MAX;
        for (fd, kind, start, len, expected) in [
            (readable, WRLCK, 0, 1, EBADF),
            (written, RDLCK, 0, 1, EBADF),
            (readable, 3, 0, 1, EINVAL),
            (readable, RDLCK, minus, 1, EINVAL),
            (readable, RDLCK, 0, minus, EINVAL),
            (readable, RDLCK, most, 2, -75),
            (readable, RDLCK, most, 1, 0),
            (readable, RDLCK, 1, minus, 0),
            (99, RDLCK, 0, 1, EBADF),
        ] {
            let result = tree.lock(fd, SETLK, kind, start, len);
            assert_eq!(result, expected, "{fd} {kind} {start} {len}");
        }
        assert_eq!(tree.lock(readable, GETLK, UNLCK, 0, 1), EINVAL);
        let (get, _) = native_lock(GETLK, 0);
        assert_eq!(tree.call(FCNTL, &[readable, get, 8]), EFAULT);
        // l_whence, and l_pid of an open file's lock
        let shared = native_lock(0, RDLCK).1;
        tree.guest.put_words(BUFFER, &[shared | 3 << 16, 0, 1, 0]);
        assert_eq!(tree.call(FCNTL, &[readable, OFD_SETLK, BUFFER]), EINVAL);
        tree.guest.put_words(BUFFER, &[shared, 0, 1, 1]);
        assert_eq!(tree.call(FCNTL, &[readable, OFD_SETLK, BUFFER]), EINVAL);
        let place = tree.open("/file", O_PATH);
        assert_eq!(tree.lock(place, SETLK, RDLCK, 0, 1), EBADF);
    });
}

#[test]
fn a_lock_that_nobody_can_release_is_a_deadlock() {
    for (name, number, holder, waiter) in [
        ("flock", 32, [2, 0], [2, 0]),
        ("fcntl", FCNTL, [OFD_SETLK, BUFFER], [OFD_SETLK + 1, BUFFER]),
    ] {
        let mut tree = tree();
        let [first, second] = [O_RDWR; 2].map(|flags| tree.open("/file", flags));
        tree.guest.put_words(BUFFER, &[WRLCK, 0, 0, 0]);
        assert_eq!(tree.call(number, &[first, holder[0], holder[1]]), 0);
        let stopped = tree.guest.raw(number, &[second, waiter[0], waiter[1]]);
        assert_eq!(stopped, SyscallResult::Trap);
        let reason = tree.guest.0.os.stop_reason().unwrap().to_string();
        assert!(
            reason.contains("deadlock") && reason.contains(name),
            "{reason}"
        );
    }
}
