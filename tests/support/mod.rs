//! Runs the command in a folder of its own, on executables made of a few instructions.
#![allow(dead_code)] // each test uses what it needs of it

pub mod json_schema;
mod left_out;

use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub use left_out::left_out;

/// Whether tests run whole, as `scripts/nightly.sh` asks by `HPS_NIGHT`, and not in the parts that each change affords.
pub fn is_night() -> bool {
    std::env::var_os("HPS_NIGHT").is_some()
}

/// All of them by night, by day every `n`-th, the first among them.
pub fn every_by_day<T>(n: usize, all: Vec<T>) -> Vec<T> {
    let step = if is_night() { 1 } else { n };
    all.into_iter().step_by(step).collect()
}

/// The command and a folder for files.
pub struct Hps {
    folder: TempDir,
}

/// A finished run.
pub struct Run {
    /// Exit code.
    pub code: i32,
    /// Standard output, byte for byte.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: String,
}

impl Hps {
    /// An empty folder.
    pub fn new() -> Self {
        Hps {
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Writes an executable that consists of these instructions.
    pub fn program(&self, name: &str, code: &[u32]) -> String {
        let path = self.path(name);
        std::fs::write(&path, elf(code)).expect("an executable");
        path
    }

    /// Runs the command.
    pub fn run(&self, args: &[&str]) -> Run {
        let output = Command::new(env!("CARGO_BIN_EXE_hps"))
            .args(args)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .output()
            .expect("the command runs");
        let run = Run {
            code: output.status.code().expect("an exit code"),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        };
        self.expect_valid_json(args, &run);
        run
    }

    /// Refuses results as JSON that do not obey the schema of their format.
    fn expect_valid_json(&self, args: &[&str], run: &Run) {
        // A command that was refused leaves a file as it found it.
        if run.code == 2 {
            return;
        }
        let bytes = match args.iter().find_map(|arg| arg.strip_prefix("--json")) {
            Some("") => run.stdout.clone(),
            Some(file) => {
                let file = self.folder.path().join(&file[1..]);
                match file.is_file() {
                    true => std::fs::read(file).expect("JSON"),
                    false => Vec::new(),
                }
            }
            None => return,
        };
        // A command that failed has no results.
        let Ok(document) = serde_json::from_slice::<Value>(&bytes) else {
            return;
        };
        let format = document["format"]
            .as_str()
            .unwrap_or_else(|| format_of_list(args));
        json_schema::expect_valid(format, &document);
    }
}

/// The format of a list, which names none, by the words of its command.
fn format_of_list(args: &[&str]) -> &'static str {
    match (args[0], args[1]) {
        ("sweep", _) => "hps-sweep",
        ("programs", _) if args.contains(&"--suite") => "hps-suite",
        ("programs", _) => "hps-programs",
        // The last is a name of earlier versions.
        ("leaderboard" | "profilers", _) => "hps-profilers",
        ("machine", "show") => "hps-presets",
        ("machine", "check") => "hps-machine-checks",
        ("machine", "keys") => "hps-machine-keys",
        ("dise", "check") => "hps-dise-checks",
        ("dise", "list") => "hps-productions",
        _ => panic!("{args:?}: the JSON names no format"),
    }
}

/// Output of `hps reproduce` with these words and `--out`. A second run says it again without a change of the results.
#[track_caller]
pub fn reproduced(hps: &Hps, words: &[&str]) -> String {
    let out = hps.path("out");
    let order = [&["reproduce"], words, &["--out", &out]].concat();
    let text = hps.run(&order).expect_code(0);
    let store = hps.path("out/units.jsonl");
    let whole = std::fs::read(&store).expect("the store");
    assert_eq!(hps.run(&order).expect_code(0), text);
    assert_eq!(std::fs::read(&store).expect("the store"), whole);
    for file in ["report.html", "claims.csv", "measurements.csv"] {
        let path = hps.path(&format!("out/{file}"));
        assert!(std::fs::metadata(path).expect(file).len() > 100, "{file}");
    }
    text
}

impl Run {
    /// Refuses any other exit code; gives the text on standard output.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> String {
        let text = String::from_utf8_lossy(&self.stdout).into_owned();
        assert_eq!(self.code, code, "{text}{}", self.stderr);
        text
    }
}

/// A static RISC-V executable without symbols: headers and code in one segment at 0x10000, the
/// first instruction at 0x10078.
pub fn elf(code: &[u32]) -> Vec<u8> {
    const BASE: u64 = 0x10000;
    const HEADERS: u64 = 64 + 56;
    let size = HEADERS + 4 * code.len() as u64;
    let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let half = |bytes: &mut Vec<u8>, value: u16| bytes.extend(value.to_le_bytes());
    let word = |bytes: &mut Vec<u8>, value: u32| bytes.extend(value.to_le_bytes());
    let double = |bytes: &mut Vec<u8>, value: u64| bytes.extend(value.to_le_bytes());
    half(&mut bytes, 2); // executable
    half(&mut bytes, 243); // RISC-V
    word(&mut bytes, 1);
    double(&mut bytes, BASE + HEADERS); // entry
    double(&mut bytes, 64); // program headers
    double(&mut bytes, 0); // no sections
    word(&mut bytes, 0x5); // compressed instructions, double floats
    for value in [64, 56, 1, 64, 0, 0] {
        half(&mut bytes, value);
    }
    word(&mut bytes, 1); // a loadable segment,
    word(&mut bytes, 5); // readable and executable
    for value in [0, BASE, BASE, size, size, 0x1000] {
        double(&mut bytes, value);
    }
    for instruction in code {
        word(&mut bytes, *instruction);
    }
    bytes
}

/// `write(1, "hi\n", 3)` with the text below the stack pointer: 8 instructions.
pub fn write_text() -> Vec<u32> {
    vec![
        0x000a_72b7, // lui t0, 0xa7
        0x9682_8293, // addi t0, t0, -1688
        0xfe51_3c23, // sd t0, -8(sp)
        0xff81_0593, // addi a1, sp, -8
        0x0010_0513, // li a0, 1
        0x0030_0613, // li a2, 3
        0x0400_0893, // li a7, 64
        0x0000_0073, // ecall
    ]
}

/// `exit(code)`: 3 instructions.
pub fn exit_with(code: u32) -> Vec<u32> {
    vec![code << 20 | 0x0513, 0x05d0_0893, 0x0000_0073]
}
