//! Programs and runs for the tests of this crate.
#![allow(dead_code)] // each test uses what it needs of it

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hps_shadow::policy::{CompiledPolicy, Policy};
use hps_shadow_native::{Mode, Request, View, library};
use tempfile::TempDir;

/// A folder with the library and compiled programs.
pub struct Bench {
    pub folder: TempDir,
    pub library: PathBuf,
    pub policy: CompiledPolicy,
}

impl Bench {
    pub fn new() -> Bench {
        let folder = tempfile::tempdir().expect("a folder");
        Bench {
            library: library::build(folder.path()).expect("a C compiler (Debian: build-essential)"),
            folder,
            policy: Policy::paper().compiled(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Compiles a program of `tests/programs`.
    pub fn compile(&self, source: &str, flags: &[&str]) -> PathBuf {
        let program = self.path(source.strip_suffix(".c").unwrap_or(source));
        compile(source, &program, flags);
        program
    }

    /// A quiet run of a program in this mode.
    pub fn request(&self, mode: Mode, command: &[&Path]) -> Request<'_> {
        Request {
            command: command.iter().map(|word| OsString::from(*word)).collect(),
            mode,
            load: 1.0,
            most_overhead: None,
            by_turn: false,
            all_values: false,
            view: View::default(),
            sample: 100_000,
            period: Duration::from_millis(1),
            policy: &self.policy,
            longest: Duration::from_secs(20),
            is_quiet: true,
        }
    }
}

pub fn compile(source: &str, program: &Path, flags: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("cc")
        .args(["-O1", "-g1", "-pthread", "-w", "-I"])
        .arg(folder.join("preload"))
        .arg("-o")
        .arg(program)
        .arg(folder.join("tests/programs").join(source))
        .args(flags)
        .output()
        .expect("the host's compiler (Debian: build-essential)");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Contents of a folder: names and contents of its files.
pub fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let read = |path: &Path| std::fs::read(path).unwrap_or_else(|_| b"a folder".to_vec());
    entries
        .map(|entry| {
            (
                entry.file_name().to_string_lossy().into_owned(),
                read(&entry.path()),
            )
        })
        .collect()
}

/// Processes that execute a program.
pub fn processes_of(program: &Path) -> Vec<i32> {
    let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
    processes
        .filter(|p| std::fs::read_link(p.path().join("exe")).is_ok_and(|exe| exe == program))
        .filter_map(|p| p.file_name().to_str()?.parse().ok())
        .collect()
}

/// Whether a process was forked and has executed no program since, as a shadow.
pub fn is_forked(pid: i32) -> bool {
    const FORKED_WITHOUT_EXEC: u64 = 0x40; // PF_FORKNOEXEC
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Behind the name in parentheses: state, parent, group, session, terminal, its group, flags.
    let flags = stat
        .rsplit(')')
        .next()
        .and_then(|rest| rest.split_whitespace().nth(6));
    flags.is_some_and(|flags| {
        flags
            .parse()
            .is_ok_and(|flags: u64| flags & FORKED_WITHOUT_EXEC != 0)
    })
}
