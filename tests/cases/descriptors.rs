//! Calls on descriptors: closed outputs, pipes, sockets, locks, and the limits on what a program may write.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use super::build::{Isa, MODES, build};

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
