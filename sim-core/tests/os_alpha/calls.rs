//! Conventions, pages, files, limits, time, system information.

use hps_isa::alpha::fpcr;
use hps_isa::inst::reg;
use hps_isa::layout;
use hps_system::os::{EPOCH_SECONDS, SyscallResult};
use hps_system::process::ProcessConfig;

use super::{EINVAL, ENOSYS, NO_FD, PID, guest, guest_with};
use crate::os_support::alpha::*;
use crate::os_support::{BUFFER, Guest};

const EAGAIN: u64 = 35;
const EOPNOTSUPP: u64 = 45;

#[test]
fn the_auxiliary_vector_and_registers() {
    let guest = guest();
    let sp = guest.sp();
    assert_eq!(sp % 16, 0);
    // One argument, no environment.
    let mut aux = std::collections::BTreeMap::new();
    let mut at = sp + 32;
    while guest.word(at) != 0 {
        aux.insert(guest.word(at), guest.word(at + 8));
        at += 16;
    }
    assert_eq!(aux[&6], 8192, "AT_PAGESZ");
    assert_eq!(aux[&16], 0x1307, "AT_HWCAP");
    let platform = guest.0.mem.read_cstr(aux[&15], 99).unwrap().unwrap();
    assert_eq!(platform, b"ev67");
    assert_eq!(guest.0.thread.hart.r[V0], 0, "nothing to call at exit");
    // Round to nearest, no exception enabled.
    assert_eq!(fpcr::read(&guest.0.thread.hart) >> 58 & 3, 2);
    assert_eq!(fpcr::ieee_fp_control(&guest.0.thread.hart), 0);
}

#[test]
fn errors_are_positive_with_a_flag() {
    let mut guest = guest();
    assert_eq!(guest.alpha(6, &[99]), Err(9));
    assert_eq!(guest.alpha(9999, &[]), Err(ENOSYS));
    assert_eq!(guest.alpha(312, &[]), Err(ENOSYS));
    // A result that looks like an error is none.
    assert_eq!(guest.alpha(48, &[3, u64::MAX - 5]), Ok(0));
    let mask = guest.alpha(48, &[1, 0]).unwrap();
    assert_eq!(mask, (u64::MAX - 5) & !(1 << 8 | 1 << 16));
}

#[test]
fn second_results() {
    let mut guest = guest();
    assert_eq!(guest.alpha(20, &[]), Ok(PID));
    assert_eq!(guest.0.thread.hart.r[A4], 1, "the parent");
    assert_eq!(guest.alpha(24, &[]), Ok(1000));
    assert_eq!(guest.0.thread.hart.r[A4], 1000);
    guest.0.thread.hart.r[A4] = 7;
    assert_eq!(guest.alpha(42, &[]), Ok(3));
    assert_eq!(guest.0.thread.hart.r[A4], 4);
    guest.put(BUFFER, b"text");
    assert_eq!(guest.alpha(4, &[4, BUFFER, 4]), Ok(4));
    assert_eq!(guest.alpha(3, &[3, BUFFER + 8, 9]), Ok(4));
    // FIONREAD; others are for terminals, which there are none of.
    assert_eq!(guest.alpha(54, &[3, 0x4004_667f, BUFFER]), Ok(0));
    assert_eq!(guest.alpha(54, &[1, 0x402c_7413, BUFFER]), Err(25));
    assert_eq!(guest.alpha(488, &[BUFFER, 4]), Ok(0));
    assert_eq!(guest.alpha(3, &[5, BUFFER, 1]), Err(EAGAIN));
}

#[test]
fn waiting_for_descriptors() {
    let mut guest = guest();
    let (reader, writer) = (guest.alpha(42, &[]).unwrap(), guest.0.thread.hart.r[A4]);
    guest.put(BUFFER, b"text");
    for (number, reads, writes, expected) in [
        // osf_select, select, pselect6: an empty pipe can be written, and a full one read.
        (93, 1 << reader, 1 << writer, (1, 0, 1 << writer)),
        (358, 1 << reader | 1, 0, (1, 1, 0)),
        (463, 1 << reader, 0, (0, 0, 0)),
    ] {
        guest.put_words(BUFFER + 64, &[reads, writes, 1]);
        let sets = [5, BUFFER + 64, BUFFER + 72, BUFFER + 80, BUFFER];
        let ready = guest.alpha(number, &sets).unwrap();
        let sets = (guest.word(BUFFER + 64), guest.word(BUFFER + 72));
        assert_eq!((ready, sets.0, sets.1), expected, "call {number}");
        assert_eq!(guest.word(BUFFER + 80), 0, "no exceptions");
    }
    guest.put_words(BUFFER + 64, &[1 << reader]);
    assert_eq!(guest.alpha(4, &[writer, BUFFER, 4]), Ok(4));
    assert_eq!(guest.alpha(358, &[5, BUFFER + 64, 0, 0, 0]), Ok(1));
    guest.put_words(BUFFER + 64, &[1 << 20]);
    assert_eq!(guest.alpha(358, &[21, BUFFER + 64, 0, 0, 0]), Err(9));
    assert_eq!(guest.alpha(358, &[1 << 20, 0, 0, 0, 0]), Err(EINVAL));
    // poll with and without a timeout
    assert_eq!(guest.alpha(3, &[reader, BUFFER, 4]), Ok(4));
    guest.put_words(BUFFER, &[reader | 1 << 32]);
    assert_eq!(guest.alpha(94, &[BUFFER, 1, 0]), Ok(0));
    assert_eq!(
        guest.raw_alpha(94, &[BUFFER, 1, u64::MAX]),
        SyscallResult::Trap
    );
}

#[test]
fn pages_have_8_kib() {
    let mut guest = guest();
    assert_eq!(guest.alpha(64, &[]), Ok(8192));
    let first = guest.alpha(71, &[0, 1, 3, 0x12, NO_FD, 0]).unwrap();
    assert_eq!(first, layout::MMAP_TOP - 0x2000);
    assert!(guest.0.mem.permissions(first + 0x1fff).is_some());
    assert_eq!(guest.alpha(74, &[first + 0x1000, 1, 1]), Err(EINVAL));
    assert_eq!(guest.alpha(73, &[first, 1]), Ok(0));
    assert!(guest.0.mem.permissions(first + 0x1fff).is_none());
    let fixed = layout::MMAP_FLOOR;
    assert_eq!(
        guest.alpha(71, &[fixed + 0x1000, 1, 3, 0x112, NO_FD, 0]),
        Err(EINVAL)
    );
    assert_eq!(guest.alpha(71, &[fixed, 1, 3, 0x112, NO_FD, 0]), Ok(fixed));
    guest.put(fixed, b"x");
    // MADV_DONTNEED is 6 here, and 4 nothing, which Linux refuses.
    assert_eq!(guest.alpha(75, &[fixed, 8192, 4]), Err(EINVAL));
    assert_eq!(guest.word(fixed), u64::from(b'x'));
    assert_eq!(guest.alpha(75, &[fixed, 8192, 6]), Ok(0));
    assert_eq!(guest.word(fixed), 0);

    let start = guest.alpha(17, &[0]).unwrap();
    assert_eq!(start, 0x14000);
    assert_eq!(guest.alpha(17, &[start + 1]), Ok(start + 1));
    assert!(guest.0.mem.permissions(start + 0x1fff).is_some());
    assert!(guest.0.mem.permissions(start + 0x2000).is_none());
    assert_eq!(guest.alpha(17, &[1 << 40]), Err(12));
    assert_eq!(guest.alpha(17, &[0]), Ok(start + 1));
}

#[test]
fn old_calls_on_files() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "0123456789").unwrap();
    let mut guest = guest_with(&ProcessConfig {
        root: Some(dir.path().into()),
        writable: true,
        ..ProcessConfig::default()
    });
    let path = guest.path("/file");
    let size = |guest: &Guest, at: u64| guest.word(BUFFER + at);
    for (number, offset) in [
        (67, 32),
        (68, 32),
        (425, 24),
        (426, 24),
        (224, 32),
        (225, 32),
    ] {
        guest.put(BUFFER, &[0xff; 160]);
        assert_eq!(guest.alpha(number, &[path, BUFFER]), Ok(0), "call {number}");
        assert_eq!(size(&guest, offset), 10, "call {number}");
    }
    // open with O_RDWR | O_CREAT | O_EXCL, then O_TRUNC
    assert_eq!(guest.alpha(45, &[path, 0o1000 | 0o4000 | 2, 0]), Err(17));
    let fd = guest.alpha(45, &[path, 2, 0]).unwrap();
    for (number, offset) in [(91, 32), (427, 24), (226, 32)] {
        assert_eq!(guest.alpha(number, &[fd, BUFFER]), Ok(0));
        assert_eq!(size(&guest, offset), 10, "call {number}");
    }
    assert_eq!(guest.alpha(92, &[fd, 3, 0]), Ok(2), "F_GETFL");
    // F_WRLCK on the whole file
    guest.put_words(BUFFER, &[2, 0, 0, 0]);
    assert_eq!(guest.alpha(92, &[fd, 7, BUFFER]), Ok(0), "F_GETLK");
    assert_eq!(guest.half(BUFFER) & 0xffff, 8, "F_UNLCK");
    assert_eq!(guest.alpha(92, &[fd, 5, 0]), Ok(0), "F_SETOWN");
    assert_eq!(guest.alpha(92, &[fd, 99, 0]), Err(EINVAL));
    assert_eq!(guest.alpha(90, &[fd, 9]), Ok(9), "dup2");
    assert_eq!(guest.alpha(90, &[9, 9]), Ok(9));
    assert_eq!(guest.alpha(90, &[77, 77]), Err(9));
    assert_eq!(guest.alpha(33, &[path, 6]), Ok(0), "access");
    assert_eq!(guest.alpha(328, &[path, BUFFER]), Ok(0), "statfs");
    assert_eq!((guest.half(BUFFER), guest.half(BUFFER + 36)), (0xef53, 255));
    guest.put(BUFFER, b"/made\0");
    assert_eq!(guest.alpha(136, &[BUFFER, 0o755]), Ok(0), "mkdir");
    assert_eq!(guest.alpha(137, &[BUFFER]), Ok(0), "rmdir");
    guest.put(BUFFER, b"/moved\0");
    assert_eq!(guest.alpha(128, &[path, BUFFER]), Ok(0), "rename");
    assert_eq!(guest.alpha(10, &[BUFFER]), Ok(0), "unlink");
    assert_eq!(guest.alpha(10, &[BUFFER]), Err(2));
}

#[test]
fn limits_names_and_times() {
    let mut guest = guest();
    assert_eq!(guest.alpha(144, &[0, BUFFER]), Ok(0));
    assert_eq!(guest.word(BUFFER), i64::MAX as u64, "no limit");
    guest.put_words(BUFFER, &[5, i64::MAX as u64]);
    assert_eq!(guest.alpha(145, &[0, BUFFER]), Ok(0));
    assert_eq!(guest.alpha(496, &[0, 0, 0, BUFFER]), Ok(0));
    assert_eq!((guest.word(BUFFER), guest.word(BUFFER + 8)), (5, u64::MAX));
    assert_eq!(guest.alpha(496, &[0, 6, 0, BUFFER]), Ok(0));
    assert_eq!(guest.word(BUFFER), 1024, "open files");
    assert_eq!(guest.alpha(89, &[]), Ok(1024));
    assert_eq!(guest.alpha(339, &[BUFFER]), Ok(0));
    assert_eq!(&guest.get(BUFFER + 4 * 65, 6), b"alpha\0");
    assert_eq!(guest.alpha(207, &[BUFFER]), Ok(0));
    assert_eq!(&guest.get(BUFFER, 6), b"Linux\0");
    assert_eq!(&guest.get(BUFFER + 4 * 32, 6), b"alpha\0");
    guest.0.thread.hart.counters.time_ns = 3_000_004_000;
    assert_eq!(guest.alpha(116, &[BUFFER, 0]), Ok(0));
    assert_eq!(
        (u64::from(guest.half(BUFFER)), guest.half(BUFFER + 4)),
        (EPOCH_SECONDS + 3, 4)
    );
    assert_eq!(guest.alpha(117, &[0, BUFFER]), Ok(0));
    assert_eq!((guest.half(BUFFER), guest.half(BUFFER + 4)), (3, 4));
    assert_ne!(guest.word(BUFFER + 16), 0, "ru_maxrss");
    assert_eq!(guest.alpha(364, &[0, BUFFER]), Ok(0));
    assert_eq!((guest.word(BUFFER), guest.word(BUFFER + 8)), (3, 4));
}

#[test]
fn system_information() {
    let mut guest = guest();
    guest.put_words(BUFFER, &[6, 4]);
    assert_eq!(guest.alpha(257, &[1, BUFFER, 1]), Ok(0));
    assert_ne!(guest.0.thread.hart.r[reg::UNALIGNED as usize], 0);
    assert_eq!(guest.alpha(256, &[8, BUFFER, 4]), Ok(1));
    assert_eq!(guest.half(BUFFER), 4);
    guest.put_words(BUFFER, &[6, 1]);
    assert_eq!(guest.alpha(257, &[1, BUFFER, 1]), Ok(0));
    assert_eq!(guest.0.thread.hart.r[reg::UNALIGNED as usize], 0);
    guest.put_words(BUFFER, &[7, 1]);
    assert_eq!(guest.alpha(257, &[1, BUFFER, 1]), Err(EOPNOTSUPP));
    assert_eq!(guest.alpha(257, &[1, 0x500, 1]), Err(14));
    assert_eq!(guest.alpha(256, &[60, BUFFER, 8]), Ok(1));
    assert_eq!(guest.word(BUFFER), 11);
    assert_eq!(guest.alpha(256, &[101, BUFFER, 64]), Ok(1));
    assert_eq!(&guest.get(BUFFER + 8, 5), b"HWRPB");
    assert_eq!(guest.word(BUFFER + 40), 8192);
    assert_eq!(guest.alpha(256, &[101, BUFFER, 4096]), Err(EINVAL));
    assert_eq!(guest.alpha(256, &[46, BUFFER, 8]), Err(EOPNOTSUPP));
}
