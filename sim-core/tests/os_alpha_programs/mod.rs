//! Programs that Debian's cross compiler makes for Alpha: the headers of Linux against the structures
//! and numbers here, static programs against QEMU, and executables of OSF/1.
//!
//! Needs the Debian packages `gcc-alpha-linux-gnu`, `g++-alpha-linux-gnu`, `libc6.1-dev-alpha-cross`
//! and `qemu-user`.

mod headers;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use hps_sim_core::machine::Machine;
use hps_system::image::{Isa, ProgramImage};
use hps_system::os::{OsInterface, Output, Stdin};
use hps_system::process::{Process, ProcessConfig};

const ARGUMENTS: [&str; 2] = ["first", "second argument"];
const INPUT: &[u8] = b"one line\nand another\n";

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/os_alpha_programs")
        .join(name)
}

/// Runs a tool that must succeed, and returns what it printed.
fn tool(name: &str, args: &[&str]) -> String {
    let output = Command::new(name)
        .args(args)
        .output()
        .unwrap_or_else(|e| panic!("{name}: {e}; install the packages that this file names"));
    assert!(
        output.status.success(),
        "{name} {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

/// Compiles a source of this folder into `folder`.
fn compile(name: &str, folder: &Path, options: &[&str]) -> PathBuf {
    let compiler = if name.ends_with(".cpp") {
        "alpha-linux-gnu-g++"
    } else {
        "alpha-linux-gnu-gcc"
    };
    let (source, program) = (source(name), folder.join("program"));
    let mut args = vec![
        "-O2",
        "-w",
        "-static",
        "-mcpu=ev6",
        "-mieee",
        "-Wl,--no-relax",
    ];
    args.extend(options);
    args.extend([
        source.to_str().unwrap(),
        "-o",
        program.to_str().unwrap(),
        "-lm",
    ]);
    tool(compiler, &args);
    program
}

/// Standard output, and the exit code as a shell shows it.
type Outcome = (String, i32);

/// Runs a program under QEMU in an empty folder.
fn qemu(program: &Path) -> Outcome {
    use std::os::unix::process::ExitStatusExt;
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new("qemu-alpha")
        .arg(program)
        .args(ARGUMENTS)
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|e| panic!("qemu-alpha: {e}; install the packages that this file names"));
    child.stdin.take().unwrap().write_all(INPUT).unwrap();
    let output = child.wait_with_output().unwrap();
    let status = output.status;
    let code = status.code().or(status.signal().map(|s| 128 + s));
    (String::from_utf8(output.stdout).unwrap(), code.unwrap())
}

/// Runs a program here, in an empty folder.
fn ours(image: ProgramImage) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let config = ProcessConfig {
        args: [&["program"][..], &ARGUMENTS]
            .concat()
            .iter()
            .map(|&s| s.to_owned())
            .collect(),
        root: Some(folder.path().to_owned()),
        writable: true,
        stdin: Stdin::Bytes(INPUT.to_vec()),
        stdout: Output::Capture,
        ..ProcessConfig::default()
    };
    let mut machine = Machine::new(Process::new(Arc::new(image), &config).unwrap());
    let stop = machine.run_to_end();
    let os = &machine.process.os;
    assert!(os.warnings().is_empty(), "{:?}", os.warnings());
    let text = String::from_utf8(os.captured_stdout().to_vec()).unwrap();
    (text, stop.exit_code(Isa::Alpha))
}

fn same_as_under_qemu(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(name, folder.path(), &[]);
    let expected = qemu(&program);
    assert!(!expected.0.is_empty());
    assert_eq!(ours(ProgramImage::load(&program).unwrap()), expected);
}

#[test]
fn a_static_c_program() {
    same_as_under_qemu("calls.c");
}

#[test]
fn a_static_cpp_program_with_exceptions() {
    same_as_under_qemu("exceptions.cpp");
}

const FREESTANDING: [&str; 5] = [
    "-nostdlib",
    "-ffreestanding",
    "-Wl,-e,__start",
    "-Wl,--build-id=none",
    "-fno-asynchronous-unwind-tables",
];

const OSF_OUTPUT: &str = "argc 3
program
first
second argument
ONE LINE
AND ANOTHER
size 21
close 0
unlink 0
open 2
failed 1
no terminal 1
page 8192
brk 1
mapped 3
mask 0
mask 4
time 0
year 2026
usage 0
OSF1
zeros 0
";

/// An executable of OSF/1, which `objcopy` makes of one of Linux.
#[test]
fn an_ecoff_program() {
    for addresses in [
        &[][..],
        &["-Wl,-Ttext-segment=0x120000000", "-Wl,-Tdata=0x140000000"],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let elf = compile(
            "osf.c",
            folder.path(),
            &[&FREESTANDING[..], addresses].concat(),
        );
        let ecoff = folder.path().join("program.ecoff");
        let paths = [elf.to_str().unwrap(), ecoff.to_str().unwrap()];
        tool(
            "alpha-linux-gnu-objcopy",
            &["-O", "ecoff-littlealpha", paths[0], paths[1]],
        );
        let image = ProgramImage::load(&ecoff).unwrap();
        assert_eq!(image.os, OsInterface::Osf1);
        let start = image.symbols.function_named("start").expect("a symbol");
        assert!(
            image.symbols.address_of("__start") == Some(image.entry) && start.addr != image.entry
        );
        assert_eq!(ours(image), (OSF_OUTPUT.to_owned(), 5));
    }
}
