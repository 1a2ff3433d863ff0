//! Shared mappings of files that are written: memory, file and other mappings agree behind each call.

use crate::os_support::*;
use hps_isa::bus::Bus as _;
use hps_system::image::Isa;
use hps_system::process::ProcessConfig;

const O_RDWR: u64 = 2;
const SHARED: u64 = 1;
const PRIVATE: u64 = 2;
const READ: u64 = 1;
const READ_WRITE: u64 = 3;
const EXIT: u64 = 94;

struct Shared {
    dir: tempfile::TempDir,
    guest: Guest,
    fd: u64,
}

/// A file of three pages, all of them `a`, open for reading and writing.
fn shared() -> Shared {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), vec![b'a'; 3 * 8192]).unwrap();
    let mut guest = Guest::new(&ProcessConfig {
        root: Some(dir.path().to_owned()),
        writable: true,
        output_limit_bytes: Some(100_000),
        ..ProcessConfig::default()
    });
    let fd = guest.open("/file", O_RDWR) as u64;
    Shared { dir, guest, fd }
}

impl Shared {
    fn map(&mut self, prot: u64, kind: u64, offset: u64, len: u64) -> u64 {
        let at = self.guest.call(222, &[0, len, prot, kind, self.fd, offset]);
        assert!(at > 0, "{at}");
        at as u64
    }

    fn file(&self) -> Vec<u8> {
        std::fs::read(self.dir.path().join("file")).unwrap()
    }
}

#[test]
fn writes_to_memory_are_read_from_the_file_and_written_at_the_end() {
    on_both(|| {
        let mut s = shared();
        let at = s.map(READ_WRITE, SHARED, 8192, 8192);
        s.guest.put(at + 5, b"xyz");
        assert_eq!(s.guest.call(67, &[s.fd, BUFFER, 3, 8192 + 5]), 3);
        assert_eq!(s.guest.get(BUFFER, 3), b"xyz");
        // A page that was written back is noted again, also behind a change of permissions.
        for text in [b"one", b"two", b"six"] {
            s.guest.put(at, text);
            assert_eq!(s.guest.call(227, &[at, 8192, 0]), 0);
            assert_eq!(&s.file()[8192..8195], text);
            assert_eq!(s.guest.call(226, &[at, 8192, READ]), 0);
            assert_eq!(s.guest.call(226, &[at, 8192, READ_WRITE]), 0);
        }
        s.guest.put(at + 8191, b"!");
        s.guest.raw(EXIT, &[0]);
        let file = s.file();
        assert_eq!(file.len(), 3 * 8192);
        assert_eq!(&file[8192..8200], b"sixaaxyz");
        assert_eq!(file[2 * 8192 - 1], b'!');
        assert!(
            file[..8192]
                .iter()
                .chain(&file[2 * 8192..])
                .all(|&b| b == b'a')
        );
    });
}

#[test]
fn writes_to_the_file_and_to_one_mapping_reach_the_others() {
    on_both(|| {
        let mut s = shared();
        let all = s.map(READ, SHARED, 0, 3 * 8192);
        let part = s.map(READ_WRITE, SHARED, 8192, 8192);
        let private = s.map(READ_WRITE, PRIVATE, 8192, 8192);
        s.guest.put(BUFFER, b"call");
        assert_eq!(s.guest.call(68, &[s.fd, BUFFER, 4, 8192 + 100]), 4);
        for at in [all + 8192 + 100, part + 100] {
            assert_eq!(s.guest.get(at, 4), b"call");
        }
        s.guest.put(part, b"part");
        assert_eq!(s.guest.call(172, &[]), 1000);
        assert_eq!(s.guest.get(all + 8192, 4), b"part");
        assert_eq!(s.guest.get(private, 4), b"aaaa");
        // A private copy stays one, and an unmapped part is not written any more.
        s.guest.put(private, b"mine");
        assert_eq!(s.guest.call(215, &[part, 8192]), 0);
        assert_eq!(s.guest.get(all + 8192, 4), b"part");
        assert_eq!(&s.file()[8192..8196], b"part");
    });
}

/// Without a call between.
#[test]
fn a_store_to_one_mapping_is_seen_in_another_at_once() {
    on_both(|| {
        let mut s = shared();
        let all = s.map(READ, SHARED, 0, 3 * 8192);
        let part = s.map(READ_WRITE, SHARED, 8192, 8192);
        let store = |s: &mut Shared, at, value: u64| s.guest.0.mem.store::<8>(at, value).unwrap();
        for value in [1, 2, 3] {
            store(&mut s, part + 16, value);
            assert_eq!(s.guest.word(all + 8192 + 16), value);
        }
        // Not any more where one of them is gone.
        assert_eq!(s.guest.call(215, &[all, 3 * 8192]), 0);
        store(&mut s, part + 16, 4);
        assert_eq!(s.guest.call(67, &[s.fd, BUFFER, 8, 8192 + 16]), 8);
        assert_eq!(s.guest.word(BUFFER), 4);
    });
}

#[test]
fn a_moved_mapping_is_still_the_file() {
    on_both(|| {
        let mut s = shared();
        let at = s.map(READ_WRITE, SHARED, 0, 8192);
        let moved = s.guest.call(216, &[at, 8192, 2 * 8192, 1]) as u64;
        s.guest.put(moved + 8192, b"grown");
        assert_eq!(s.guest.call(227, &[moved, 8192, 0]), 0);
        assert_eq!(&s.file()[8192..8197], b"grown");
    });
}

#[test]
fn a_file_that_is_open_for_reading_cannot_be_mapped_for_writing() {
    on_both(|| {
        let mut s = shared();
        s.fd = s.guest.open("/file", 0) as u64;
        assert_eq!(
            s.guest.call(222, &[0, 8192, READ_WRITE, SHARED, s.fd, 0]),
            EACCES
        );
        let at = s.map(READ, SHARED, 0, 8192);
        assert_eq!(s.guest.call(226, &[at, 8192, READ_WRITE]), EACCES);
    });
}

/// Bytes that go to the file through memory count as output. The limit is 100,000 bytes, and each call writes one page.
#[test]
fn pages_written_back_count_as_output() {
    let mut s = shared();
    let page = match isa() {
        Isa::Riscv64 => 4096,
        Isa::Alpha => 8192,
    };
    let at = s.map(READ_WRITE, SHARED, 0, page);
    let mut calls = 0;
    while s.guest.raw(172, &[]) == hps_system::os::SyscallResult::Continue {
        s.guest.put(at, &[calls]);
        calls += 1;
    }
    assert_eq!(u64::from(calls), 100_000 / page + 1);
}

/// Copies of the program must not write to its file.
#[test]
fn a_program_that_shares_memory_with_a_file_is_not_duplicated() {
    let mut guest = Guest::new(&ProcessConfig::default());
    guest.path("name");
    let fd = guest.call(279, &[PATH, 0]) as u64;
    assert_eq!(guest.call(46, &[fd, 4096]), 0);
    assert!(guest.0.duplicate().is_ok());
    let at = guest.call(222, &[0, 4096, READ_WRITE, SHARED, fd, 0]) as u64;
    assert!(guest.0.duplicate().is_err());
    let mut shadow = Guest(guest.0.shadow().unwrap());
    shadow.put(at, b"x");
    assert_eq!(shadow.call(172, &[]), 1000);
    assert_eq!(guest.call(67, &[fd, BUFFER, 1, 0]), 1);
    assert_eq!(guest.get(BUFFER, 1), [0]);
}
