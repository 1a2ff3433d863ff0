//! Builds a case's source with the cross compilers and runs it in all modes.
#![allow(dead_code)] // each module uses what it needs of it

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use super::support::{Hps, Run};

/// Instruction sets, by the prefix of their cross compiler and the name that `--isa` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// 64-bit RISC-V.
    Riscv64,
    /// Alpha.
    Alpha,
}

impl Isa {
    /// Both of them.
    pub const BOTH: [Isa; 2] = [Isa::Riscv64, Isa::Alpha];

    /// The prefix of its cross compiler, and the name of the folder of its libraries in `/usr`.
    pub fn prefix(self) -> &'static str {
        match self {
            Isa::Riscv64 => "riscv64-linux-gnu",
            Isa::Alpha => "alpha-linux-gnu",
        }
    }

    /// Debian's linker relaxes some Alpha programs wrongly: they crash in `__ctype_init`, also in QEMU.
    fn linker_flags(self) -> &'static [&'static str] {
        match self {
            Isa::Riscv64 => &[],
            Isa::Alpha => &["-Wl,--no-relax"],
        }
    }
}

/// Options of `hps run` for the functional machine and for both cores.
pub const MODES: [&[&str]; 3] = [
    &[],
    &["--machine", "hps-4wide", "--core", "cycle"],
    &["--machine", "hps-4wide", "--core", "instruction"],
];

/// The folder with the cases' sources.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/guest")
}

/// Builds `tests/cases/guest/SOURCE` with the cross compiler for `isa` (C++ if it ends in `.cc`) and the
/// given flags, statically. Returns the executable's path. The executable is kept: what has been built from
/// the current source with these flags is not built again.
///
/// # Panics
/// If the cross compiler is missing or refuses the source.
#[track_caller]
pub fn build(isa: Isa, source: &str, flags: &[&str]) -> String {
    compile(isa, source, &["-static"], flags)
}

/// Like [`build`], but dynamically linked; a library with `-shared`.
///
/// # Panics
/// If the cross compiler is missing or refuses the source.
#[track_caller]
pub fn build_dynamic(isa: Isa, source: &str, flags: &[&str]) -> String {
    compile(isa, source, &[], &[&["-DDYNAMIC"], flags].concat())
}

#[track_caller]
fn compile(isa: Isa, source: &str, link: &[&str], flags: &[&str]) -> String {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    let path = sources().join(source);
    let written = path.metadata().and_then(|m| m.modified()).expect(source);
    let name: String = [source]
        .iter()
        .chain(flags)
        .flat_map(|text| text.chars().chain(['_']))
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("cases")
        .join(isa.prefix());
    std::fs::create_dir_all(&folder).expect("a folder for executables");
    let executable = folder.join(name);
    let built = executable.metadata().and_then(|m| m.modified());
    if built.is_ok_and(|built| built > written) {
        return executable.display().to_string();
    }
    let language = if source.ends_with(".cc") {
        "g++"
    } else {
        "gcc"
    };
    // Tests run side by side: each writes a file of its own and puts it into place when it is whole.
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let part = executable.with_extension(format!("{}-{serial}", std::process::id()));
    let compiler = format!("{}-{language}", isa.prefix());
    let done = Command::new(&compiler)
        .args(isa.linker_flags())
        .args(link)
        .arg("-o")
        .arg(&part)
        .arg(&path)
        .args(flags)
        .output()
        .unwrap_or_else(|cause| panic!("{compiler}: {cause}; ./test.sh installs it"));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{compiler} {source}: {said}");
    std::fs::rename(&part, &executable).expect("the executable goes into place");
    executable.display().to_string()
}

/// Runs `hps run MODE OPTIONS PROGRAM ARGUMENTS` in each of [`MODES`], each time in an empty folder, and
/// hands each result to `check` with the mode.
#[track_caller]
pub fn run_in_all_modes(options: &[&str], command: &[&str], check: impl Fn(&str, Run)) {
    for mode in MODES {
        let hps = Hps::new();
        let run = hps.run(&[&["run"], mode, options, &["--"], command].concat());
        check(&mode.join(" "), run);
    }
}

/// Builds a case for both instruction sets and demands of each mode: exactly this standard output, exit
/// code 0.
#[track_caller]
pub fn prints(source: &str, flags: &[&str], options: &[&str], expected: &str) {
    for isa in Isa::BOTH {
        let program = build(isa, source, flags);
        run_in_all_modes(options, &[&program], |mode, run| {
            let text = String::from_utf8_lossy(&run.stdout).into_owned();
            assert_eq!(text, expected, "{isa:?} {mode}: {}", run.stderr);
            assert_eq!(run.code, 0, "{isa:?} {mode}: {}", run.stderr);
        });
    }
}

/// Checks the output of the program in each mode, with a root that it may write to.
#[track_caller]
pub fn prints_in_a_root(source: &str, expected: &str) {
    for isa in Isa::BOTH {
        let program = build(isa, source, &["-O2"]);
        for mode in MODES {
            let root = tempfile::tempdir().expect("a folder");
            let folder = root.path().display().to_string();
            let options = ["--root", &folder, "--writable", "--", &program];
            let run = Hps::new().run(&[&["run"], mode, &options].concat());
            let printed = String::from_utf8_lossy(&run.stdout).into_owned();
            assert_eq!(printed, expected, "{isa:?} {mode:?}: {}", run.stderr);
        }
    }
}
