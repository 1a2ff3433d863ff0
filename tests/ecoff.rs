//! An executable of Digital Unix (ECOFF) through the command: functionally and timed, with arguments,
//! files and standard input.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs a tool of Debian's cross compiler for Alpha.
fn tool(name: &str, args: &[&str]) {
    let status = Command::new(name).args(args).status().unwrap_or_else(|e| {
        panic!("{name} does not start ({e}); install Debian's gcc-alpha-linux-gnu, as test.sh does")
    });
    assert!(status.success(), "{name} {args:?}");
}

/// An ECOFF executable of the program that `sim-core` tests OSF/1 with.
fn ecoff(folder: &Path) -> String {
    let source = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/sim-core/tests/os_alpha_programs/osf.c"
    );
    let path = |name: &str| folder.join(name).display().to_string();
    let (elf, ecoff) = (path("program.elf"), path("program.ecoff"));
    tool(
        "alpha-linux-gnu-gcc",
        &[
            "-O2",
            "-mcpu=ev6",
            "-static",
            "-nostdlib",
            "-ffreestanding",
            "-fno-asynchronous-unwind-tables",
            "-Wl,-e,__start,--build-id=none,--no-relax",
            "-o",
            &elf,
            source,
        ],
    );
    tool(
        "alpha-linux-gnu-objcopy",
        &["-O", "ecoff-littlealpha", &elf, &ecoff],
    );
    ecoff
}

/// Exit code and output of the program, run with these options of `hps run`.
fn run(program: &str, options: &[&str]) -> (Option<i32>, String) {
    let root = tempfile::tempdir().expect("a folder");
    let mut child = Command::new(env!("CARGO_BIN_EXE_hps"))
        .arg("run")
        .args(options)
        .arg("--root")
        .arg(root.path())
        .arg("--writable")
        .args([program, "first", "second argument"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin
        .write_all(b"one line\nand another\n")
        .expect("the program reads");
    drop(stdin);
    let output = child.wait_with_output().expect("the command ends");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), text)
}

#[test]
fn runs_functionally_and_timed() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = ecoff(folder.path());
    let (code, text) = run(&program, &[]);
    assert_eq!(code, Some(5), "{text}");
    for line in [
        "argc 3",
        "second argument",
        "ONE LINE",
        "AND ANOTHER",
        "OSF1",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}: {text}");
    }
    for machine in ["ev5", "ev6", "hps-4wide"] {
        assert_eq!(
            run(&program, &["--machine", machine]),
            (code, text.clone()),
            "{machine}"
        );
    }
}

#[test]
fn a_damaged_one_is_refused_in_one_message() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = ecoff(folder.path());
    let bytes = std::fs::read(&program).expect("a file");
    let half = folder.path().join("half.ecoff");
    // Before the end of its code: behind code and data lie symbols only.
    std::fs::write(&half, &bytes[..1000]).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_hps"))
        .arg("run")
        .arg(&half)
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("half.ecoff") && said.lines().count() <= 3,
        "{said}"
    );
}
