//! OSF/1: its own calls and structures.

use std::sync::Arc;

use hps_system::image::ProgramImage;
use hps_system::os::{EPOCH_SECONDS, SyscallResult};
use hps_system::process::{Process, ProcessConfig};

use super::ENOSYS;
use crate::loader_support::ecoff::Ecoff;
use crate::os_support::Guest;

/// The data of the ECOFF program.
const BUFFER: u64 = 0x1_4000_0000;

fn guest(config: &ProcessConfig) -> Guest {
    let image = ProgramImage::parse(&Ecoff::default().build(), "prog").unwrap();
    Guest(Process::new(Arc::new(image), config).unwrap())
}

#[test]
fn osf_has_its_own_calls_and_structures() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "0123456789").unwrap();
    let mut guest = guest(&ProcessConfig {
        root: Some(dir.path().into()),
        writable: true,
        ..ProcessConfig::default()
    });
    let buffer = BUFFER + 0x100;
    guest.put(BUFFER, b"/file\0");
    assert_eq!(guest.alpha(67, &[BUFFER, buffer]), Ok(0));
    assert_eq!(
        (guest.half(buffer + 8), guest.word(buffer + 32)),
        (0o100_644, 10)
    );
    assert_eq!(guest.half(buffer + 12) & 0xffff, 1, "links have 16 bits");
    assert_eq!(u64::from(guest.half(buffer + 48)), EPOCH_SECONDS);
    let fd = guest.alpha(45, &[BUFFER, 0]).unwrap();
    // syscall(read, ...)
    assert_eq!(guest.alpha(0, &[3, fd, buffer, 4]), Ok(4));
    assert_eq!(guest.get(buffer, 4), b"0123");
    assert_eq!(guest.alpha(207, &[buffer]), Ok(0));
    assert_eq!(&guest.get(buffer, 5), b"OSF1\0");
    // What Linux added has no meaning here.
    assert_eq!(guest.alpha(339, &[buffer]), Err(ENOSYS));
    assert_eq!(guest.0.os.warnings().len(), 1);
    // The heap begins in the middle of a page, behind the bss.
    let end = BUFFER + 0x3230;
    assert_eq!(guest.alpha(17, &[end + 16]), Ok(end + 16));
    guest.put_words(end, &[1]);
    assert_eq!(guest.alpha(17, &[end + 0x10000]), Ok(end + 0x10000));
    guest.put_words(end + 0xf000, &[1]);
    guest.put(BUFFER, b"/\0");
    let fd = guest.alpha(45, &[BUFFER, 0]).unwrap();
    assert_eq!(
        guest.alpha(159, &[fd, buffer, 999, buffer - 8]),
        Ok(12 + 12 + 16)
    );
    assert_eq!(guest.word(buffer - 8), 0);
    assert_eq!(
        guest.half(buffer + 24 + 4),
        16 | 4 << 16,
        "length of record and name"
    );
    assert_eq!(&guest.get(buffer + 24 + 8, 5), b"file\0");
    guest.put_words(buffer, &[1]);
    assert_eq!(guest.alpha(251, &[buffer, buffer]), Ok(0), "usleep_thread");
    assert_eq!(guest.word(buffer), 0);
    assert_eq!(guest.raw_alpha(1, &[3]), SyscallResult::Exit(3));
}

#[test]
fn contexts_may_hold_no_floating_point_state() {
    let mut guest = guest(&ProcessConfig::default());
    let context = BUFFER + 0x100;
    for (owned, expected) in [(0, 5), (1, 7)] {
        let mut words = [0; 81];
        words[2] = 0x1_2000_0200;
        words[32 + 4] = owned;
        words[37 + 3] = 7;
        words[69] = 2 << 58;
        guest.put_words(context, &words);
        guest.0.thread.hart.r[32 + 3] = 5;
        assert_eq!(guest.raw_alpha(103, &[context]), SyscallResult::Continue);
        assert_eq!(guest.0.thread.hart.pc, 0x1_2000_0200);
        assert_eq!(guest.0.thread.hart.r[32 + 3], expected);
    }
}
