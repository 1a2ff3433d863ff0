//! Calls on descriptors: closed outputs, pipes, sockets, locks, and the limits on what a program may write.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use super::build::{Isa, MODES, build, prints, prints_in_a_root};
use super::support::Hps;

/// `hps run MODE -- PROGRAM ARGUMENTS`.
fn run(mode: &[&str], program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hps"));
    command.arg("run").args(mode).arg("--").arg(program);
    command.args(arguments).stdin(Stdio::null());
    command.stderr(Stdio::piped());
    command
}

/// Reads a line of a program's output and closes the pipe, as `| head -1` does. Gives the exit code and what
/// is on standard error.
fn read_one_line(mut command: Command) -> (Option<i32>, String) {
    let mut child = command.stdout(Stdio::piped()).spawn().expect("hps starts");
    let mut output = child.stdout.take().expect("a pipe");
    let mut first = [0; 2];
    output.read_exact(&mut first).expect("a line");
    assert_eq!(&first, b"0\n");
    drop(output);
    let done = child.wait_with_output().expect("hps ends");
    (
        done.status.code(),
        String::from_utf8_lossy(&done.stderr).into_owned(),
    )
}

#[test]
fn a_closed_standard_output_ends_a_program_by_sigpipe() {
    for isa in Isa::BOTH {
        let program = build(isa, "pipe_closed.c", &["-O2"]);
        for mode in MODES {
            let ended = read_one_line(run(mode, &program, &[]));
            assert_eq!(ended, (Some(141), String::new()), "{isa:?} {mode:?}");
        }
        for how in ["ignore", "block"] {
            let ended = read_one_line(run(&[], &program, &[how]));
            assert_eq!(ended, (Some(1), "EPIPE\n".into()), "{isa:?} {how}");
        }
    }
}

#[test]
fn a_full_device_is_no_closed_pipe() {
    for isa in Isa::BOTH {
        let program = build(isa, "pipe_closed.c", &["-O2"]);
        let full = File::options()
            .write(true)
            .open("/dev/full")
            .expect("/dev/full");
        let done = run(&[], &program, &[])
            .stdout(full)
            .output()
            .expect("hps runs");
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(
            (done.status.code(), &*said),
            (Some(1), "ENOSPC\n"),
            "{isa:?}"
        );
    }
}

/// Computed by hand from the limits: 4 MiB in all; 8 bytes a file.
const FILE_LIMITS: &str = "\
ftruncate(big, 1L << 62) -1 EFBIG
ftruncate(big, 1L << 40) -1 EFBIG
pwrite(big, \"x\", 1, 1L << 43) -1 EFBIG
ftruncate(big, 1 << 20) 0 
ftruncate(big, 0) 0 
4 MiB, then ENOSPC
pwrite(big, \"y\", 1, 0) 1 
ftruncate(big, 100) 0 
pwrite(big, \"z\", 1, 200) 1 
pwrite(small, \"01234567\", 8, 4) 4 
pwrite(small, \"x\", 1, 8) -1 EFBIG
ftruncate(small, 9) -1 EFBIG
ftruncate(small, 8) 0 
EMFILE with 8 open
";

#[test]
fn files_grow_up_to_their_limits_holes_included() {
    for isa in Isa::BOTH {
        let program = build(isa, "file_limit.c", &["-O2"]);
        for mode in MODES {
            let root = tempfile::tempdir().expect("a folder");
            let folder = root.path().display().to_string();
            let files = ["--root", &folder, "--writable", "--file-limit", "4"];
            let options = [mode, &files, &["--max-open-files", "8"]].concat();
            let done = run(&options, &program, &[]).output().expect("hps runs");
            let said = String::from_utf8_lossy(&done.stderr);
            let printed = String::from_utf8_lossy(&done.stdout);
            assert_eq!(printed, FILE_LIMITS, "{isa:?} {mode:?}: {said}");
            // SIGXFSZ, where it is not ignored.
            assert_eq!(
                done.status.code(),
                Some(128 + 25),
                "{isa:?} {mode:?}: {said}"
            );
            assert_eq!(said.matches("--file-limit").count(), 1, "{said}");
        }
    }
}

#[test]
fn a_limit_on_time_ends_what_never_ends() {
    let program = build(Isa::Riscv64, "endless.c", &["-O2"]);
    let sampled = ["--machine", "hps-4wide", "--sample"];
    for mode in MODES.into_iter().chain([&sampled[..]]) {
        let options = [mode, &["--time-limit", "1"]].concat();
        let done = run(&options, &program, &[]).output().expect("hps runs");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(said.contains("limit of 1 seconds"), "{mode:?}: {said}");
        assert!(!done.status.success(), "{mode:?}");
    }
}

#[test]
fn a_limit_on_time_changes_no_statistics() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = build(Isa::Riscv64, "prof_alias.c", &["-O2"]);
    for mode in MODES {
        let statistics = |limit: &[&str]| {
            let path = folder.path().join("statistics.json").display().to_string();
            // The cores look at the clock twice in the program's 586,718 instructions.
            let json = format!("--json={path}");
            let options = [mode, &[&json], limit].concat();
            let done = run(&options, &program, &[]).output().expect("hps runs");
            assert!(done.status.success(), "{mode:?}");
            let text = std::fs::read_to_string(&path).expect("statistics");
            // Lines about the host differ between runs.
            let same = text.lines().filter(|line| !line.contains("host"));
            same.filter(|line| !line.contains("per_second"))
                .collect::<Vec<_>>()
                .join("\n")
        };
        assert_eq!(
            statistics(&[]),
            statistics(&["--time-limit", "1000"]),
            "{mode:?}"
        );
    }
}

/// Results that Linux gives natively; the file has no hole but the one behind its end.
const FLAGS: &str = "\
syscall(SYS_dup3, fd, 50, -1) -1 EINVAL
syscall(SYS_dup3, fd, 50, O_CLOEXEC) 50 
syscall(SYS_pipe2, p, 1) -1 EINVAL
syscall(SYS_pipe2, p, O_CLOEXEC | O_NONBLOCK) 0 
lseek(fd, 3, SEEK_DATA) 3 
lseek(fd, 3, SEEK_HOLE) 10 
lseek(fd, 100, SEEK_DATA) -1 ENXIO
lseek(fd, -1, SEEK_HOLE) -1 ENXIO
lseek(fd, 0, 99) -1 EINVAL
";

#[test]
fn unknown_flags_are_refused_and_holes_are_found() {
    for isa in Isa::BOTH {
        let program = build(isa, "descriptor_flags.c", &["-O2"]);
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().display().to_string();
        let options = ["--root", &folder, "--writable"];
        let done = run(&options, &program, &[]).output().expect("hps runs");
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(
            String::from_utf8_lossy(&done.stdout),
            FLAGS,
            "{isa:?}: {said}"
        );
    }
}

/// Output of the program on Linux.
const KINDS: &str = include_str!("guest/descriptor_kinds.txt");

#[test]
fn each_kind_of_descriptor_is_as_linux_has_it() {
    prints("descriptor_kinds.c", &["-O2"], &[], KINDS);
}

/// Values that Linux gives natively.
const CALLS: &str = include_str!("guest/descriptor_calls.txt");

#[test]
fn files_in_memory_copies_locks_and_pipes_are_those_of_linux() {
    for isa in Isa::BOTH {
        let program = build(isa, "descriptor_calls.c", &["-O2"]);
        for mode in MODES {
            let root = tempfile::tempdir().expect("a folder");
            let folder = root.path().display().to_string();
            let options = [mode, &["--root", &folder, "--writable"]].concat();
            let done = run(&options, &program, &[]).output().expect("hps runs");
            let said = String::from_utf8_lossy(&done.stderr);
            let printed = String::from_utf8_lossy(&done.stdout);
            assert_eq!(printed, CALLS, "{isa:?} {mode:?}: {said}");
        }
    }
}

/// Values that Linux gives natively.
const SOCKETS: &str = include_str!("guest/sockets.txt");

#[test]
fn sockets_inside_a_program_are_those_of_linux() {
    for isa in Isa::BOTH {
        let program = build(isa, "sockets.c", &["-O1", "-pthread"]);
        for mode in MODES {
            let root = tempfile::tempdir().expect("a folder");
            let folder = root.path().display().to_string();
            let options = [mode, &["--root", &folder, "--writable"]].concat();
            let done = run(&options, &program, &[]).output().expect("hps runs");
            let said = String::from_utf8_lossy(&done.stderr);
            let printed = String::from_utf8_lossy(&done.stdout);
            assert_eq!(printed, SOCKETS, "{isa:?} {mode:?}: {said}");
        }
    }
}

/// Results that Linux gives natively, to a user.
const RIGHTS: &str = include_str!("guest/rights.txt");

#[test]
fn descriptors_are_sent_over_sockets_as_linux_sends_them() {
    for isa in Isa::BOTH {
        let program = build(isa, "rights.c", &["-O1"]);
        // A child sends one, too: the instruction-driven core has one process.
        for mode in &MODES[..2] {
            let done = Hps::new().run(&[&["run"], *mode, &["--", &program]].concat());
            let printed = String::from_utf8_lossy(&done.stdout);
            assert_eq!(printed, RIGHTS, "{isa:?} {mode:?}: {}", done.stderr);
        }
    }
}

#[test]
fn a_server_and_its_client_talk_inside_one_program() {
    prints("sock_echo.c", &["-O2"], &[], "tcp ping unix pong epoll 1\n");
}

#[test]
fn links_are_made_inside_the_root() {
    prints_in_a_root("links.c", include_str!("guest/links.txt"));
    prints_in_a_root("modes.c", include_str!("guest/modes.txt"));
}

/// Results of QEMU and Linux; a native C library cannot be given some of these pointers.
#[test]
fn calls_refuse_what_linux_refuses() {
    prints_in_a_root("ltp_errnos.c", include_str!("guest/ltp_errnos.txt"));
}

/// Profiles of compilers: gprof samples by a timer, gcov writes its counts at the end.
#[test]
fn programs_built_for_profiles_of_compilers_write_their_files() {
    for (flag, file) in [("-pg", "gmon.out"), ("--coverage", "pgo.gcda")] {
        let program = build(Isa::Riscv64, "pgo.c", &["-O1", flag]);
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().display().to_string();
        // The folder of the build is far below.
        let options = ["--root", &folder, "--writable", "--env", "GCOV_PREFIX=/"];
        let strip = ["--env", "GCOV_PREFIX_STRIP=99"];
        let mut command = run(&[&options[..], &strip].concat(), &program, &[]);
        let done = command.output().expect("hps runs");
        assert_eq!(String::from_utf8_lossy(&done.stdout), "500500\n", "{flag}");
        let written = std::fs::read_dir(root.path()).expect("a folder").flatten();
        let names: Vec<String> = written
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        let is_there = names.iter().any(|name| name.ends_with(file));
        assert!(is_there, "{flag}: {names:?}");
    }
}

/// Calls that simulators miss. (On Alpha a number in the program is another flag.)
#[test]
fn calls_that_simulators_miss_are_there() {
    let program = build(Isa::Riscv64, "sys_misc.c", &["-O2"]);
    let root = tempfile::tempdir().expect("a folder");
    for folder in ["etc", "tmp", "dev/shm"] {
        std::fs::create_dir_all(root.path().join(folder)).expect("a folder");
    }
    std::fs::write(
        root.path().join("etc/passwd"),
        "user:x:1000:1000::/:/bin/sh\n",
    )
    .expect("a file");
    // The program looks for its own name.
    std::fs::copy(&program, root.path().join("sys_misc")).expect("a copy");
    let done = run(&["--root", ".", "--writable"], "./sys_misc", &[])
        .current_dir(root.path())
        .output()
        .expect("hps runs");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let failing: Vec<&str> = text.lines().filter(|line| !line.ends_with(" ok")).collect();
    assert!(text.lines().count() > 45, "{text}");
    assert!(failing.is_empty(), "{failing:?}");
}

/// Results that Linux gives natively.
#[test]
fn sockets_for_ipv6_only_leave_ports_of_ipv4_free() {
    prints_in_a_root("v6_only.c", include_str!("guest/v6_only.txt"));
}
