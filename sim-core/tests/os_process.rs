//! The initial stack, identity, time, limits, calls that are refused.

use std::sync::{Arc, Mutex};

use crate::os_support::*;
use hps_isa::layout;
use hps_system::image::ProgramImage;
use hps_system::os::{EPOCH_SECONDS, Output, Stdin, StopReason, SyscallResult};
use hps_system::process::{Process, ProcessConfig};

fn config() -> ProcessConfig {
    ProcessConfig {
        args: vec!["prog".into(), "first argument".into(), String::new()],
        env: vec![("HOME".into(), "/".into()), ("A".into(), "x=y".into())],
        ..ProcessConfig::default()
    }
}

fn cstr(guest: &Guest, addr: u64) -> String {
    String::from_utf8(guest.0.mem.read_cstr(addr, 4096).unwrap().unwrap()).unwrap()
}

#[test]
fn initial_stack_is_that_of_linux() {
    let guest = Guest::new(&config());
    let sp = guest.0.thread.hart.r[2];
    assert_eq!(sp % 16, 0);
    assert_eq!(guest.0.thread.hart.pc, 0x10200);
    assert_eq!(guest.word(sp), 3);
    let strings: Vec<_> = (0..3)
        .map(|i| cstr(&guest, guest.word(sp + 8 + i * 8)))
        .collect();
    assert_eq!(strings, ["prog", "first argument", ""]);
    assert_eq!(guest.word(sp + 32), 0);
    assert_eq!(cstr(&guest, guest.word(sp + 40)), "HOME=/");
    assert_eq!(cstr(&guest, guest.word(sp + 48)), "A=x=y");
    assert_eq!(guest.word(sp + 56), 0);
    let mut aux = std::collections::BTreeMap::new();
    let mut at = sp + 64;
    while guest.word(at) != 0 {
        aux.insert(guest.word(at), guest.word(at + 8));
        at += 16;
    }
    assert_eq!(aux[&3], 0x10040, "AT_PHDR");
    assert_eq!((aux[&4], aux[&5], aux[&6]), (56, 4, 4096));
    assert_eq!((aux[&7], aux[&8], aux[&9]), (0, 0, 0x10200));
    assert_eq!(aux[&16], 0x112d, "AT_HWCAP");
    assert_eq!((aux[&17], aux[&23]), (100, 0));
    assert_eq!(cstr(&guest, aux[&31]), "prog");
    assert!(
        aux[&25] > sp && aux[&25] + 16 <= layout::STACK_TOP,
        "AT_RANDOM"
    );
}

#[test]
fn randomness_comes_from_the_seed() {
    on_both(|| {
        let draw = |seed| {
            let mut guest = Guest::new(&ProcessConfig { seed, ..config() });
            assert_eq!(guest.call(278, &[BUFFER, 13, 0]), 13);
            guest.get(BUFFER, 13)
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    });
}

#[test]
fn default_name_does_not_show_the_host() {
    let guest = Guest::new(&ProcessConfig::default());
    let sp = guest.0.thread.hart.r[2];
    assert_eq!(cstr(&guest, guest.word(sp + 8)), "prog");
}

#[test]
fn impossible_configurations_are_refused() {
    let image = ProgramImage::parse(&loader_support::Elf::default().build(), "prog").unwrap();
    let image = Arc::new(image);
    let refuse = |config: ProcessConfig, word: &str| {
        let text = Process::new(Arc::clone(&image), &config)
            .unwrap_err()
            .to_string();
        assert!(text.contains(word), "{text}");
    };
    refuse(
        ProcessConfig {
            args: vec!["a\0b".into()],
            ..config()
        },
        "zero byte",
    );
    refuse(
        ProcessConfig {
            env: vec![("A=B".into(), String::new())],
            ..config()
        },
        "env",
    );
    refuse(
        ProcessConfig {
            args: vec!["x".repeat(3 << 20)],
            ..config()
        },
        "arguments",
    );
    refuse(
        ProcessConfig {
            root: Some("/does/not/exist".into()),
            ..config()
        },
        "root",
    );
}

#[test]
fn time_is_simulated_time() {
    on_both(|| {
        let mut guest = Guest::new(&config());
        guest.0.thread.hart.counters.time_ns = 3_000_000_123;
        assert_eq!(guest.call(113, &[0, BUFFER]), 0);
        assert_eq!(
            (guest.word(BUFFER), guest.word(BUFFER + 8)),
            (EPOCH_SECONDS + 3, 123)
        );
        assert_eq!(guest.call(113, &[1, BUFFER]), 0);
        assert_eq!((guest.word(BUFFER), guest.word(BUFFER + 8)), (3, 123));
        assert_eq!(guest.call(113, &[77, BUFFER]), EINVAL);
        assert_eq!(guest.call(169, &[BUFFER, 0]), 0);
        assert_eq!(
            (guest.word(BUFFER), guest.word(BUFFER + 8)),
            (EPOCH_SECONDS + 3, 0)
        );
        assert_eq!(guest.call(153, &[BUFFER]), 300);
        assert_eq!(guest.call(165, &[0, BUFFER]), 0);
        assert_eq!(guest.word(BUFFER), 3);
        guest.put_words(BUFFER, &[1, 5]);
        assert_eq!(guest.call(101, &[BUFFER, 0]), 0);
        guest.put_words(BUFFER, &[1, 1_000_000_000]);
        assert_eq!(guest.call(115, &[1, 0, BUFFER, 0]), EINVAL);
    });
}

#[test]
fn identity_and_machine() {
    let mut guest = Guest::new(&config());
    assert_eq!(guest.call(160, &[BUFFER]), 0);
    assert_eq!(&guest.get(BUFFER, 6), b"Linux\0");
    assert_eq!(&guest.get(BUFFER + 4 * 65, 8), b"riscv64\0");
    assert_eq!(guest.call(172, &[]), guest.call(178, &[]));
    assert_eq!(guest.call(96, &[BUFFER]), guest.call(172, &[]));
    assert_eq!(guest.call(123, &[0, 128, BUFFER]), 8);
    assert_eq!(guest.word(BUFFER), 1);
    assert_eq!(guest.call(261, &[0, 3, 0, BUFFER]), 0);
    assert_eq!(guest.word(BUFFER), 8 << 20);
    assert_eq!(guest.call(179, &[BUFFER]), 0);
    assert_eq!(guest.word(BUFFER + 32), 2 << 30);
    guest.put(BUFFER, b"worker\0");
    assert_eq!(guest.call(167, &[15, BUFFER]), 0);
    assert_eq!(guest.call(167, &[16, BUFFER + 32]), 0);
    assert_eq!(&guest.get(BUFFER + 32, 8), b"worker\0\0");
}

#[test]
fn unknown_calls_warn_once_and_threads_are_refused() {
    let mut guest = Guest::new(&config());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    guest.0.os.set_warning_sink(Box::new(move |text| {
        sink.lock().unwrap().push(text.to_owned())
    }));
    assert_eq!(guest.call(9999, &[]), ENOSYS);
    assert_eq!(guest.call(9999, &[]), ENOSYS);
    assert_eq!(guest.call(u64::MAX, &[]), ENOSYS);
    assert_eq!(guest.call(220, &[0x11, 0]), ENOSYS);
    assert_eq!(guest.0.os.warnings().len(), 3);
    assert_eq!(*seen.lock().unwrap(), guest.0.os.warnings());
    assert!(guest.0.os.warnings()[0].contains("9999"));
    // Probes that every libc makes are no reason to warn.
    assert_eq!(guest.call(293, &[]), ENOSYS);
    // riscv_hwprobe: the base (I, M and A), and a key that nobody knows.
    guest.put_words(BUFFER, &[3, 0, 99, 7]);
    assert_eq!(guest.call(258, &[BUFFER, 2, 0, 0, 0]), 0);
    let told: Vec<u64> = (0..4).map(|i| guest.word(BUFFER + 8 * i)).collect();
    assert_eq!(told, [3, 1, u64::MAX, 0]);
    assert_eq!(guest.call(258, &[BUFFER, 1, 0, 0, 1]), EINVAL);
    assert_eq!(guest.0.os.warnings().len(), 3);
}

#[test]
fn exit_codes() {
    on_both(|| {
        assert_eq!(
            Guest::new(&config()).raw(93, &[0x1_02]),
            SyscallResult::Exit(2)
        );
        assert_eq!(
            Guest::new(&config()).raw(94, &[255]),
            SyscallResult::Exit(255)
        );
    });
}

#[test]
fn waiting_for_ever_stops_the_run() {
    on_both(|| {
        let mut guest = Guest::new(&config());
        guest.put(BUFFER, &7u32.to_le_bytes());
        assert_eq!(guest.call(98, &[BUFFER, 129, 1]), 0);
        assert_eq!(guest.call(98, &[BUFFER, 128, 8, 0]), EAGAIN);
        assert_eq!(guest.raw(98, &[BUFFER, 128, 7, 0]), SyscallResult::Trap);
        assert!(
            guest
                .0
                .os
                .stop_reason()
                .unwrap()
                .to_string()
                .contains("futex")
        );
    });
}

#[test]
fn streams_pass_bytes_untouched() {
    on_both(|| {
        let mut guest = Guest::new(&ProcessConfig {
            stdin: Stdin::Bytes(b"\xff\x00in".to_vec()),
            stdout: Output::Capture,
            stderr: Output::Capture,
            ..config()
        });
        assert_eq!(guest.read(0, 3), Ok(b"\xff\x00i".to_vec()));
        assert_eq!(guest.read(0, 30), Ok(b"n".to_vec()));
        assert_eq!(guest.read(0, 30), Ok(vec![]));
        assert_eq!(guest.write(1, b"\x80out\n"), 5);
        assert_eq!(guest.write(2, b"err"), 3);
        assert_eq!(guest.0.os.captured_stdout(), b"\x80out\n");
        assert_eq!(guest.0.os.captured_stderr(), b"err");
        assert_eq!(guest.call(64, &[1, 0x500, 4]), EFAULT);
        assert_eq!(guest.call(63, &[0, 0x500, 4]), EFAULT);
        assert_eq!(guest.call(63, &[1, BUFFER, 4]), EBADF);
        assert_eq!(guest.call(64, &[0, BUFFER, 4]), EBADF);
        assert_eq!(guest.call(64, &[9, BUFFER, 4]), EBADF);
        assert_eq!(guest.call(62, &[1, 0, 0]), ESPIPE);
        assert_eq!(guest.call(29, &[1, 0x5413, BUFFER]), ENOTTY);
        // writev: two pieces.
        guest.put(BUFFER, b"ab");
        guest.put_words(BUFFER + 16, &[BUFFER, 1, BUFFER + 1, 1]);
        assert_eq!(guest.call(66, &[1, BUFFER + 16, 2]), 2);
        assert!(guest.0.os.captured_stdout().ends_with(b"ab"));
        assert_eq!(guest.call(66, &[1, BUFFER + 16, 1025]), EINVAL);
    });
}

#[test]
fn output_beyond_the_limit_stops_the_run() {
    on_both(|| {
        let config = ProcessConfig {
            stdout: Output::Capture,
            output_limit_bytes: Some(5),
            ..config()
        };
        let mut guest = Guest::new(&config);
        assert_eq!(guest.write(1, b"abc"), 3);
        assert_eq!(guest.write(1, b"def"), 2);
        assert_eq!(guest.raw(64, &[1, BUFFER, 1]), SyscallResult::Trap);
        assert_eq!(
            guest.0.os.stop_reason(),
            Some(&StopReason::OutputLimit { bytes: 5 })
        );
        assert_eq!(guest.0.os.captured_stdout(), b"abcde");
    });
}

#[test]
fn pipes_carry_bytes_and_report_closed_ends() {
    on_both(|| {
        let mut guest = Guest::new(&config());
        assert_eq!(guest.call(59, &[BUFFER, 0o4000]), 0);
        let (reader, writer) = (
            u64::from(guest.half(BUFFER)),
            u64::from(guest.half(BUFFER + 4)),
        );
        assert_eq!(guest.read(reader, 4), Err(EAGAIN));
        assert_eq!(guest.write(writer, b"hello"), 5);
        assert_eq!(guest.read(reader, 3), Ok(b"hel".to_vec()));
        let copy = guest.call(23, &[writer]) as u64;
        assert_eq!(guest.call(57, &[writer]), 0);
        assert_eq!(guest.read(reader, 9), Ok(b"lo".to_vec()));
        assert_eq!(guest.read(reader, 9), Err(EAGAIN));
        assert_eq!(guest.call(57, &[copy]), 0);
        assert_eq!(guest.read(reader, 9), Ok(vec![]));

        assert_eq!(guest.call(59, &[BUFFER, 0]), 0);
        let (reader, writer) = (
            u64::from(guest.half(BUFFER)),
            u64::from(guest.half(BUFFER + 4)),
        );
        assert_eq!(guest.raw(63, &[reader, BUFFER, 1]), SyscallResult::Trap);
        assert!(
            guest
                .0
                .os
                .stop_reason()
                .unwrap()
                .to_string()
                .contains("pipe")
        );
        let mut guest = Guest::new(&config());
        assert_eq!(guest.call(59, &[BUFFER, 0]), 0);
        assert_eq!(guest.call(57, &[reader.min(3)]), 0);
        // SIGPIPE ends a program that does not care for it.
        assert_eq!(
            guest.raw(64, &[writer.min(4), BUFFER, 1]),
            SyscallResult::Exit(128 + 13)
        );
    });
}

#[test]
fn processes_can_move_between_threads() {
    fn is_send<T: Send>() {}
    fn is_shared<T: Send + Sync>() {}
    is_send::<Process>();
    is_shared::<ProgramImage>();
}
