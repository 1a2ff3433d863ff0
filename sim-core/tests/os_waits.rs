//! Calls that wait: their time-outs, what they are told of descriptors, and waits without an end.

use crate::os_support::*;
use hps_system::os::{StopReason, SyscallResult};
use hps_system::process::ProcessConfig;

const PSELECT6: u64 = 72;
const PPOLL: u64 = 73;
const MILLISECOND: u64 = 1_000_000;
const POLLERR: u64 = 8;
const POLLNVAL: u64 = 32;

fn guest() -> Guest {
    Guest::new(&ProcessConfig::default())
}

fn pipe(guest: &mut Guest) -> (u64, u64) {
    assert_eq!(guest.call(59, &[BUFFER, 0]), 0);
    let ends = guest.word(BUFFER);
    (ends & 0xffff_ffff, ends >> 32)
}

/// Polls one descriptor without waiting, and returns what it is told.
fn told(guest: &mut Guest, fd: u64, wanted: u64) -> u64 {
    guest.put_words(BUFFER, &[fd | wanted << 32, 0, 0]);
    guest.call(PPOLL, &[BUFFER, 1, BUFFER + 8, 0, 0]);
    guest.word(BUFFER) >> 48
}

/// The deadlock that a call ends in.
fn deadlock(guest: &mut Guest, number: u64, args: &[u64]) -> String {
    assert_eq!(guest.raw(number, args), SyscallResult::Trap);
    match guest.0.os.stop_reason() {
        Some(StopReason::Deadlock { waits_for }) => waits_for.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn time_outs_pass_and_nothing_of_them_is_left() {
    on_both(|| {
        let mut guest = guest();
        let (reader, _) = pipe(&mut guest);
        guest.put_words(BUFFER, &[reader | 1 << 32, 3, 5]);
        assert_eq!(guest.call(PPOLL, &[BUFFER, 1, BUFFER + 8, 0, 0]), 0);
        assert_eq!(guest.0.os.idle_ns(), 3_000_000_005);
        assert_eq!((guest.word(BUFFER + 8), guest.word(BUFFER + 16)), (0, 0));
        guest.put_words(BUFFER, &[1 << reader, 0, MILLISECOND]);
        let args = [reader + 1, BUFFER, 0, 0, BUFFER + 8, 0];
        assert_eq!(guest.call(PSELECT6, &args), 0);
        assert_eq!(guest.0.os.idle_ns(), 3_001_000_005);
        assert_eq!((guest.word(BUFFER), guest.word(BUFFER + 16)), (0, 0));
    });
}

#[test]
fn what_is_ready_costs_no_time() {
    on_both(|| {
        let mut guest = guest();
        let (_, writer) = pipe(&mut guest);
        guest.put_words(BUFFER, &[1 << writer, 7, 9]);
        let args = [writer + 1, 0, BUFFER, 0, BUFFER + 8, 0];
        assert_eq!(guest.call(PSELECT6, &args), 1);
        assert_eq!(guest.0.os.idle_ns(), 0);
        assert_eq!((guest.word(BUFFER + 8), guest.word(BUFFER + 16)), (7, 9));
    });
}

#[test]
fn waits_refuse_what_linux_refuses() {
    on_both(|| {
        let mut guest = guest();
        for [seconds, nanos] in [[0, 1_000_000_000], [u64::MAX, 0], [0, u64::MAX]] {
            guest.put_words(BUFFER, &[seconds, nanos]);
            assert_eq!(guest.call(PPOLL, &[0, 0, BUFFER, 0, 0]), EINVAL);
            assert_eq!(guest.call(PSELECT6, &[0, 0, 0, 0, BUFFER, 0]), EINVAL);
        }
        assert_eq!(guest.call(PPOLL, &[0, 0, 1, 0, 0]), EFAULT);
        guest.put_words(BUFFER, &[0, 0]);
        assert_eq!(guest.call(PPOLL, &[1, 1, BUFFER, 0, 0]), EFAULT);
        assert_eq!(guest.call(PPOLL, &[0, 0, BUFFER, BUFFER, 4]), EINVAL);
        assert_eq!(guest.call(PPOLL, &[0, u64::MAX, BUFFER, 0, 0]), EINVAL);
        assert_eq!(guest.call(PSELECT6, &[0, 0, 0, 0, BUFFER, 1]), EFAULT);
        // A set with a descriptor that is not open: no set changes.
        guest.put_words(BUFFER, &[0, 0, 1, 1 << 40]);
        let args = [41, BUFFER + 16, BUFFER + 24, 0, BUFFER, 0];
        assert_eq!(guest.call(PSELECT6, &args), EBADF);
        assert_eq!(guest.word(BUFFER + 16), 1);
        assert_eq!(guest.0.os.idle_ns(), 0);
    });
}

#[test]
fn errors_are_told_without_being_wanted() {
    on_both(|| {
        let mut guest = guest();
        let (reader, writer) = pipe(&mut guest);
        // POLLRDNORM and POLLWRNORM are those of the others.
        assert_eq!(told(&mut guest, writer, 0x145), 0x104);
        assert_eq!(told(&mut guest, reader, 0x145), 0);
        assert_eq!(guest.call(57, &[reader]), 0);
        assert_eq!(told(&mut guest, writer, 0), POLLERR);
        assert_eq!(told(&mut guest, 77, 0), POLLNVAL);
    });
}

#[test]
fn a_wait_without_end_names_its_call() {
    on_both(|| {
        let waits_for = deadlock(&mut guest(), PPOLL, &[0, 0, 0, 0, 0]);
        assert!(waits_for.contains("ppoll"), "{waits_for}");
        let waits_for = deadlock(&mut guest(), PSELECT6, &[0; 6]);
        assert!(waits_for.contains("pselect6"), "{waits_for}");
    });
}

#[test]
fn a_mask_lets_a_pending_signal_end_the_wait() {
    on_both(|| {
        let mut guest = guest();
        let handler = 0x12100;
        guest.put_words(BUFFER, &[handler, 0, 0]);
        assert_eq!(guest.call(134, &[15, BUFFER, 0, 8]), 0);
        let block = if isa() == hps_system::image::Isa::Alpha {
            1
        } else {
            0
        };
        guest.put_words(BUFFER, &[1 << 14, 0, 9, 0]);
        assert_eq!(guest.call(135, &[block, BUFFER, 0, 8]), 0);
        assert_eq!(guest.call(129, &[1000, 15]), 0);
        let args = [0, 0, BUFFER + 8, BUFFER + 24, 8];
        assert_eq!(guest.raw(PPOLL, &args), SyscallResult::Continue);
        assert_eq!(guest.0.thread.hart.pc, handler);
        assert_eq!(guest.0.os.idle_ns(), 0);
    });
}

#[test]
fn alpha_has_three_formats_of_time_outs() {
    on_both(|| {
        if isa() != hps_system::image::Isa::Alpha {
            return;
        }
        let mut guest = guest();
        let mut idle = 0;
        let mut passes = |guest: &mut Guest, number, args: &[u64], nanos| {
            assert_eq!(guest.alpha(number, args), Ok(0), "call {number}");
            idle += nanos;
            assert_eq!(guest.0.os.idle_ns(), idle, "call {number}");
        };
        passes(&mut guest, 94, &[0, 0, 20], 20 * MILLISECOND);
        // osf_select: 32 bits of seconds, then of microseconds, which stay.
        guest.put_words(BUFFER, &[1 | 500_000 << 32, 0]);
        let args = [0, 0, 0, 0, BUFFER];
        passes(&mut guest, 93, &args, 1500 * MILLISECOND);
        assert_eq!(guest.word(BUFFER), 1 | 500_000 << 32);
        // select: microseconds beyond a second carry over.
        guest.put_words(BUFFER, &[1, 1_500_000]);
        passes(&mut guest, 358, &args, 2500 * MILLISECOND);
        assert_eq!((guest.word(BUFFER), guest.word(BUFFER + 8)), (0, 0));
        guest.put_words(BUFFER, &[0, 7]);
        passes(&mut guest, 463, &args, 7);
        guest.put_words(BUFFER, &[1_000_000 << 32, 0]);
        assert_eq!(guest.alpha(93, &args), Err(22));
        guest.put_words(BUFFER, &[0, u64::MAX]);
        assert_eq!(guest.alpha(358, &args), Err(22));
        assert_eq!(guest.raw_alpha(94, &[0, 0, u64::MAX]), SyscallResult::Trap);
    });
}
