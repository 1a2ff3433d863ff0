//! `epoll` and `eventfd`: refusals, what is told, and waits.

use crate::os_support::*;
use hps_system::os::{StopReason, SyscallResult};
use hps_system::process::ProcessConfig;

const EVENTFD2: u64 = 19;
const CREATE1: u64 = 20;
const CTL: u64 = 21;
const PWAIT: u64 = 22;
const PWAIT2: u64 = 441;
const ADD: u64 = 1;
const DELETE: u64 = 2;
const MODIFY: u64 = 3;
const IN: u64 = 1;
const OUT: u64 = 4;
const ERR: u64 = 8;
const EDGE: u64 = 1 << 31;
const EXCLUSIVE: u64 = 1 << 28;
const NONBLOCK: u64 = 0o4000;

fn guest() -> Guest {
    Guest::new(&ProcessConfig::default())
}

fn counter(guest: &mut Guest, value: u64) -> u64 {
    guest.call(EVENTFD2, &[value, NONBLOCK]) as u64
}

fn epoll(guest: &mut Guest) -> u64 {
    guest.call(CREATE1, &[0]) as u64
}

fn ctl(guest: &mut Guest, epfd: u64, operation: u64, fd: u64, events: u64) -> i64 {
    guest.put_words(BUFFER, &[events, fd]);
    guest.call(CTL, &[epfd, operation, fd, BUFFER])
}

/// The events that an epoll tells at once, each with its data.
fn told(guest: &mut Guest, epfd: u64) -> Vec<(u64, u64)> {
    let count = guest.call(PWAIT, &[epfd, BUFFER, 9, 0, 0, 0]);
    let event = |i| (guest.word(BUFFER + i * 16), guest.word(BUFFER + i * 16 + 8));
    (0..u64::try_from(count).unwrap()).map(event).collect()
}

fn put(guest: &mut Guest, fd: u64, value: u64) -> i64 {
    guest.write(fd, &value.to_le_bytes())
}

#[test]
fn counters_add_up_and_have_a_limit() {
    on_both(|| {
        let mut guest = guest();
        assert_eq!(guest.call(EVENTFD2, &[0, 2]), EINVAL);
        let fd = counter(&mut guest, 5);
        assert_eq!(put(&mut guest, fd, 6), 8);
        assert_eq!(guest.read(fd, 8).unwrap(), 11u64.to_le_bytes());
        assert_eq!(guest.read(fd, 8), Err(EAGAIN));
        assert_eq!(guest.read(fd, 7), Err(EINVAL));
        assert_eq!(guest.write(fd, b"7 bytes"), EINVAL);
        assert_eq!(put(&mut guest, fd, u64::MAX), EINVAL);
        assert_eq!(put(&mut guest, fd, u64::MAX - 1), 8);
        assert_eq!(put(&mut guest, fd, 1), EAGAIN);
        assert_eq!(put(&mut guest, fd, 0), 8);
        // One that waits would wait for ever.
        let fd = guest.call(EVENTFD2, &[0, 0]) as u64;
        assert_eq!(guest.raw(63, &[fd, BUFFER, 8]), SyscallResult::Trap);
        let stop = guest.0.os.stop_reason().unwrap().to_string();
        assert!(stop.contains("eventfd"), "{stop}");
    });
}

#[test]
fn control_refuses_what_linux_refuses() {
    on_both(|| {
        let mut guest = Guest::new(&ProcessConfig {
            root: Some(env!("CARGO_MANIFEST_DIR").into()),
            ..ProcessConfig::default()
        });
        assert_eq!(guest.call(CREATE1, &[1]), EINVAL);
        let (epfd, other) = (epoll(&mut guest), epoll(&mut guest));
        let fd = counter(&mut guest, 0);
        let file = guest.open("/Cargo.toml", 0) as u64;
        assert_eq!(guest.call(CTL, &[epfd, ADD, fd, 1]), EFAULT);
        for (operation, target, events, expected) in [
            (ADD, 77, IN, EBADF),
            (ADD, file, IN, EPERM),
            (ADD, epfd, IN, EINVAL),
            (ADD, other, IN, ELOOP),
            (4, fd, IN, EINVAL),
            (MODIFY, fd, IN, error(2)),
            (DELETE, fd, IN, error(2)),
            (ADD, fd, EXCLUSIVE | 1 << 30, EINVAL),
            (ADD, fd, EXCLUSIVE | IN, 0),
            (ADD, fd, IN, EEXIST),
            (MODIFY, fd, IN, EINVAL),
            (DELETE, fd, IN, 0),
            (ADD, 0, IN, 0),
        ] {
            let result = ctl(&mut guest, epfd, operation, target, events);
            assert_eq!(result, expected, "{operation} {target} {events:#x}");
        }
        assert_eq!(ctl(&mut guest, fd, ADD, 0, IN), EINVAL);
        assert_eq!(ctl(&mut guest, 77, ADD, 0, IN), EBADF);
        assert_eq!(guest.call(PWAIT, &[epfd, BUFFER, 0, 0, 0, 0]), EINVAL);
        assert_eq!(guest.call(PWAIT, &[epfd, 1, 1, 0, 0, 0]), EFAULT);
        assert_eq!(guest.call(PWAIT, &[fd, BUFFER, 1, 0, 0, 0]), EINVAL);
        assert_eq!(guest.call(PWAIT, &[epfd, BUFFER, 1, 0, BUFFER, 4]), EINVAL);
    });
}

#[test]
fn edges_are_told_once_for_each_write() {
    on_both(|| {
        let mut guest = guest();
        let (epfd, fd) = (epoll(&mut guest), counter(&mut guest, 0));
        assert_eq!(ctl(&mut guest, epfd, ADD, fd, EDGE | IN), 0);
        assert_eq!(told(&mut guest, epfd), []);
        for _ in 0..2 {
            assert_eq!(put(&mut guest, fd, 1), 8);
            assert_eq!(told(&mut guest, epfd), [(IN, fd)]);
            assert_eq!(told(&mut guest, epfd), []);
        }
        assert_eq!(ctl(&mut guest, epfd, MODIFY, fd, IN | OUT), 0);
        assert_eq!(told(&mut guest, epfd), [(IN | OUT, fd)]);
    });
}

#[test]
fn a_watch_lives_as_long_as_its_open_file() {
    on_both(|| {
        let mut guest = guest();
        let epfd = epoll(&mut guest);
        assert_eq!(guest.call(59, &[BUFFER, 0]), 0);
        let (reader, writer) = (guest.word(BUFFER) & 0xffff, guest.word(BUFFER) >> 32);
        assert_eq!(ctl(&mut guest, epfd, ADD, writer, 0), 0);
        let copy = guest.call(23, &[writer]) as u64;
        assert_eq!(guest.call(57, &[writer]), 0);
        assert_eq!(told(&mut guest, epfd), []);
        assert_eq!(guest.call(57, &[reader]), 0);
        assert_eq!(told(&mut guest, epfd), [(ERR, writer)]);
        assert_eq!(guest.call(57, &[copy]), 0);
        assert_eq!(told(&mut guest, epfd), []);
    });
}

#[test]
fn waits_take_turns_and_end_at_their_time_outs() {
    on_both(|| {
        let mut guest = guest();
        let epfd = epoll(&mut guest);
        let fds = [counter(&mut guest, 1), counter(&mut guest, 1)];
        for fd in fds {
            assert_eq!(ctl(&mut guest, epfd, ADD, fd, IN), 0);
        }
        for expected in [fds[0], fds[1], fds[0]] {
            assert_eq!(guest.call(PWAIT, &[epfd, BUFFER, 1, 0, 0, 0]), 1);
            assert_eq!(guest.word(BUFFER + 8), expected);
        }
        for fd in fds {
            assert!(guest.read(fd, 8).is_ok());
        }
        assert_eq!(guest.call(PWAIT, &[epfd, BUFFER, 1, 7, 0, 0]), 0);
        assert_eq!(guest.0.os.idle_ns(), 7_000_000);
        guest.put_words(BUFFER, &[1, 5]);
        assert_eq!(guest.call(PWAIT2, &[epfd, BUFFER + 64, 1, BUFFER, 0, 0]), 0);
        assert_eq!(guest.0.os.idle_ns(), 1_007_000_005);
        let endless = [epfd, BUFFER, 1, u64::MAX, 0, 0];
        assert_eq!(guest.raw(PWAIT, &endless), SyscallResult::Trap);
        match guest.0.os.stop_reason() {
            Some(StopReason::Deadlock { waits_for }) => assert!(waits_for.contains("epoll")),
            other => panic!("{other:?}"),
        }
    });
}
