//! brk, mmap and relatives.

mod shared;

use crate::os_support::*;
use hps_isa::layout;
use hps_isa::memory::Perm;
use hps_system::process::ProcessConfig;

const BRK: u64 = 214;
const MUNMAP: u64 = 215;
const MREMAP: u64 = 216;
const MMAP: u64 = 222;
const MPROTECT: u64 = 226;
const MADVISE: u64 = 233;
const ANON: u64 = 0x22;
const FIXED: u64 = 0x10;
const NO_FD: u64 = u64::MAX;

fn guest() -> Guest {
    Guest::new(&ProcessConfig {
        memory_limit_bytes: 64 << 20,
        ..ProcessConfig::default()
    })
}

#[test]
fn the_heap_grows_shrinks_and_stays_in_bounds() {
    let mut guest = guest();
    let start = guest.call(BRK, &[0]) as u64;
    assert_eq!(start, 0x14000, "behind the image");
    assert_eq!(guest.call(BRK, &[start + 10]), start as i64 + 10);
    guest.put(start + 0xff0, b"0123456789abcdef");
    assert!(guest.0.mem.read::<1>(start + 0x1000).is_err());
    assert_eq!(guest.call(BRK, &[start + 0x5000]), start as i64 + 0x5000);
    assert_eq!(guest.get(start + 0xff0, 4), b"0123");
    assert_eq!(guest.call(BRK, &[start]), start as i64);
    assert!(guest.0.mem.read::<1>(start).is_err());
    assert_eq!(guest.call(BRK, &[start + 16]), start as i64 + 16);
    assert_eq!(guest.word(start), 0, "zero again");
    for wanted in [
        1,
        start - 1,
        layout::PIE_BASE + 1,
        1 << 40,
        u64::MAX,
        start + (1 << 30),
    ] {
        assert_eq!(guest.call(BRK, &[wanted]), start as i64 + 16, "{wanted:#x}");
    }
    // Something mapped in the way stops the heap.
    assert_eq!(
        guest.call(MMAP, &[start + 0x3000, 0x1000, 3, ANON | FIXED, NO_FD, 0]),
        start as i64 + 0x3000
    );
    assert_eq!(guest.call(BRK, &[start + 0x4000]), start as i64 + 16);
}

#[test]
fn anonymous_maps_come_from_the_top() {
    let mut guest = guest();
    let first = guest.call(MMAP, &[0, 0x1800, 3, ANON, NO_FD, 0]) as u64;
    assert_eq!(first, layout::MMAP_TOP - 0x2000);
    let second = guest.call(MMAP, &[0, 0x1000, 0, ANON, NO_FD, 0]) as u64;
    assert_eq!(second, first - 0x1000);
    assert_eq!(guest.0.mem.permissions(second), Some(Perm::NONE));
    assert_eq!(guest.call(MPROTECT, &[second, 0x1000, 2]), 0);
    assert_eq!(
        guest.0.mem.permissions(second),
        Some(Perm::RW),
        "writable implies readable"
    );
    assert_eq!(guest.call(MUNMAP, &[first, 0x2000]), 0);
    assert_eq!(
        guest.call(MMAP, &[0, 0x2000, 3, ANON, NO_FD, 0]),
        first as i64
    );
    let hint = layout::MMAP_FLOOR + 0x1000_0000;
    assert_eq!(
        guest.call(MMAP, &[hint + 5, 0x1000, 3, ANON, NO_FD, 0]),
        hint as i64
    );
    assert_ne!(
        guest.call(MMAP, &[hint, 0x1000, 3, ANON, NO_FD, 0]),
        hint as i64
    );
}

#[test]
fn hostile_maps_are_refused() {
    let mut guest = guest();
    let before = guest.0.mem.mapped_bytes();
    let mut map = |addr, len, flags| guest.call(MMAP, &[addr, len, 3, flags, NO_FD, 0]);
    assert_eq!(map(0, 0, ANON), EINVAL);
    assert_eq!(map(0, u64::MAX, ANON), ENOMEM);
    assert_eq!(map(0, 1 << 40, ANON), ENOMEM);
    assert_eq!(map(0, 65 << 20, ANON), ENOMEM, "memory limit");
    assert_eq!(map(0, 0x1000, 0x20), EINVAL);
    assert_eq!(map(0, 0x1000, ANON | FIXED), EPERM);
    assert_eq!(map(0x1001, 0x1000, ANON | FIXED), EINVAL);
    assert_eq!(map(!0xfff, 0x1000, ANON | FIXED), ENOMEM);
    assert_eq!(map(layout::HANDLER_BASE, 0x1000, ANON | FIXED), ENOMEM);
    assert_eq!(
        map(layout::HANDLER_END - 0x1000, 0x2000, ANON | FIXED),
        ENOMEM
    );
    assert_eq!(map(0x10000, 0x1000, 0x10_0022), EEXIST);
    assert_ne!(
        map(layout::HANDLER_BASE, 0x1000, ANON),
        layout::HANDLER_BASE as i64
    );
    assert_eq!(guest.0.mem.mapped_bytes(), before + 0x1000);
    assert_eq!(guest.call(MUNMAP, &[layout::HANDLER_BASE, 0x1000]), EINVAL);
    assert_eq!(guest.call(MUNMAP, &[0x10001, 0x1000]), EINVAL);
    assert_eq!(guest.call(MUNMAP, &[0x10000, u64::MAX]), EINVAL);
    assert_eq!(
        guest.call(MPROTECT, &[layout::HANDLER_BASE, 0x1000, 3]),
        EINVAL
    );
    assert_eq!(guest.call(MPROTECT, &[0x2000_0000, 0x1000, 3]), ENOMEM);
    assert_eq!(guest.call(MMAP, &[0, 0x1000, 1, 2, 77, 0]), EBADF);
    assert_eq!(guest.call(MMAP, &[0, 0x1000, 1, 2, 0, 0]), ENODEV);
}

#[test]
fn remapping_grows_moves_and_shrinks() {
    let mut guest = guest();
    let a = guest.call(MMAP, &[0, 0x3000, 3, ANON, NO_FD, 0]) as u64;
    guest.put(a, b"start");
    guest.put(a + 0x2000, b"end");
    assert_eq!(guest.call(MREMAP, &[a, 0x3000, 0x2000, 0]), a as i64);
    assert!(guest.0.mem.read::<1>(a + 0x2000).is_err());
    assert_eq!(guest.call(MREMAP, &[a, 0x2000, 0x3000, 0]), a as i64);
    assert_eq!(guest.word(a + 0x2000), 0);
    let b = guest.call(MMAP, &[0, 0x1000, 3, ANON, NO_FD, 0]) as u64;
    assert_eq!(b, a - 0x1000);
    assert_eq!(guest.call(MREMAP, &[b, 0x1000, 0x2000, 0]), ENOMEM);
    guest.put(b, b"moved");
    let c = guest.call(MREMAP, &[b, 0x1000, 0x2000, 1]) as u64;
    assert_ne!(c, b);
    assert_eq!(guest.get(c, 5), b"moved");
    assert!(guest.0.mem.read::<1>(b).is_err());
    assert_eq!(
        guest.call(MREMAP, &[0x3000_0000, 0x1000, 0x2000, 1]),
        EFAULT
    );
    let target = layout::MMAP_FLOOR + 0x1000_0000;
    assert_eq!(
        guest.call(MREMAP, &[a, 0x3000, 0x3000, 3, target]),
        target as i64
    );
    assert_eq!(guest.get(target, 5), b"start");
    assert_eq!(
        guest.call(MREMAP, &[target, 0x3000, 0x3000, 3, layout::HANDLER_BASE]),
        EINVAL
    );
}

#[test]
fn dontneed_zeroes_and_keeps_permissions() {
    let mut guest = guest();
    let a = guest.call(MMAP, &[0, 0x2000, 3, ANON, NO_FD, 0]) as u64;
    guest.put(a, b"x");
    assert_eq!(guest.call(MPROTECT, &[a + 0x1000, 0x1000, 1]), 0);
    assert_eq!(guest.call(MADVISE, &[a, 0x2000, 4]), 0);
    assert_eq!(guest.word(a), 0);
    assert_eq!(guest.0.mem.permissions(a), Some(Perm::RW));
    assert_eq!(guest.0.mem.permissions(a + 0x1000), Some(Perm::R));
    assert_eq!(guest.call(MADVISE, &[0x3000_0000, 0x1000, 4]), ENOMEM);
}

#[test]
fn files_are_mapped_by_copying() {
    let dir = tempfile::tempdir().unwrap();
    let content: Vec<u8> = (0..0x1800u32).map(|i| (i % 251) as u8).collect();
    std::fs::write(dir.path().join("file"), &content).unwrap();
    let config = ProcessConfig {
        root: Some(dir.path().into()),
        ..ProcessConfig::default()
    };
    let mut guest = Guest::new(&config);
    let fd = guest.open("/file", 0) as u64;
    let a = guest.call(MMAP, &[0, 0x3000, 1, 2, fd, 0]) as u64;
    assert_eq!(guest.get(a, content.len()), content);
    assert_eq!(guest.get(a + 0x1800, 0x800), [0; 0x800]);
    assert!(guest.0.mem.is_absent(a + 0x2000, Perm::R));
    assert_eq!(guest.0.mem.permissions(a), Some(Perm::R));
    let b = guest.call(MMAP, &[0, 0x1000, 3, 2, fd, 0x1000]) as u64;
    assert_eq!(guest.get(b, 0x800), content[0x1000..]);
    guest.put(b, b"private");
    assert_eq!(std::fs::read(dir.path().join("file")).unwrap(), content);
    assert_eq!(
        guest.call(MMAP, &[0, 0x1000, 1, 1, fd, 0]) as u64,
        b - 0x1000
    );
    // The descriptor cannot write.
    assert_eq!(guest.call(MMAP, &[0, 0x1000, 3, 1, fd, 0]), EACCES);
    assert_eq!(guest.call(MMAP, &[0, 0x1000, 1, 2, fd, 1]), EINVAL);
}

/// A read-only root with one file of 0x1800 bytes of `f`.
fn guest_with_file() -> (Guest, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), [b'f'; 0x1800]).unwrap();
    let guest = Guest::new(&ProcessConfig {
        root: Some(dir.path().into()),
        ..ProcessConfig::default()
    });
    (guest, dir)
}

#[test]
fn pages_of_files_that_are_not_needed_have_the_content_of_the_file_again() {
    let (mut guest, _dir) = guest_with_file();
    let fd = guest.open("/file", 0) as u64;
    let a = guest.call(MMAP, &[0, 0x4000, 3, 2, fd, 0]) as u64;
    assert_eq!(guest.call(57, &[fd]), 0, "close");
    // A hole and a page of zeros split the mapping.
    assert_eq!(guest.call(MUNMAP, &[a + 0x2000, 0x1000]), 0);
    let zeros = [a + 0x3000, 0x1000, 3, ANON | FIXED, NO_FD, 0];
    assert_eq!(guest.call(MMAP, &zeros), (a + 0x3000) as i64);
    for page in [0, 0x1000, 0x3000] {
        guest.put(a + page, b"x");
    }
    assert_eq!(guest.call(MADVISE, &[a, 0x4000, 4]), ENOMEM, "the hole");
    assert_eq!(guest.get(a, 2), b"ff");
    assert_eq!(guest.get(a + 0x17ff, 2), b"f\0");
    assert_eq!(guest.get(a + 0x3000, 1), b"\0");
    // They move with the mapping, and the file goes on where it grows.
    let b = guest.call(MREMAP, &[a, 0x1000, 0x2000, 1]) as u64;
    assert_ne!(b, a);
    assert_eq!(guest.get(b + 0x17ff, 2), b"f\0");
    guest.put(b + 0x1000, b"x");
    assert_eq!(guest.call(MADVISE, &[b + 0x1000, 0x1000, 4]), 0);
    assert_eq!(guest.get(b + 0x1000, 1), b"f");
}

#[test]
fn mapping_a_file_again_and_again_holds_it_open_once() {
    let (mut guest, _dir) = guest_with_file();
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open();
    for _ in 0..300 {
        let fd = guest.open("/file", 0) as u64;
        assert!(guest.call(MMAP, &[0, 0x1000, 3, 2, fd, 0]) > 0);
        assert_eq!(guest.call(57, &[fd]), 0);
    }
    // Tests beside this one have files of their own.
    assert!(open() < before + 200, "{} {before}", open());
}

#[test]
fn advice_over_everything_leaves_memory_of_handlers_alone() {
    let mut guest = guest();
    let handler = layout::HANDLER_BASE;
    guest.0.mem.map(handler, 0x1000, Perm::RW).unwrap();
    guest.put(handler, b"kept");
    let a = guest.call(MMAP, &[0, 0x1000, 3, ANON, NO_FD, 0]) as u64;
    guest.put(a, b"lost");
    assert_eq!(guest.call(MADVISE, &[0, 1 << 40, 4]), ENOMEM);
    assert_eq!(guest.get(handler, 4), b"kept");
    assert_eq!(guest.get(a, 4), b"\0\0\0\0");
}

#[test]
fn flushing_the_instruction_cache_is_seen() {
    let mut guest = guest();
    let epoch = guest.0.mem.code_epoch();
    assert_eq!(guest.call(259, &[0, 0, 0]), 0);
    assert_ne!(guest.0.mem.code_epoch(), epoch);
}
