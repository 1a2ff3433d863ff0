//! Scripts of gdb over `hps run --gdb`.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use crate::cases::build::{Isa, MODES, build};
use crate::support::left_out;

/// Output of a session.
struct Session {
    /// By gdb.
    gdb: String,
    /// By the program.
    stdout: String,
    /// Exit code of `hps run`.
    code: Option<i32>,
}

/// Whether there is a gdb for all instruction sets.
fn has_gdb() -> bool {
    let found = Command::new("gdb-multiarch").arg("--version").output();
    if let Err(cause) = &found {
        let why = format!("gdb-multiarch does not start ({cause}): install Debian's gdb-multiarch");
        left_out("hps run --gdb with gdb's scripts", &why);
    }
    found.is_ok()
}

/// Runs a script over a program.
#[track_caller]
fn session(program: &str, options: &[&str], script: &[&str]) -> Session {
    let mut hps = Command::new(env!("CARGO_BIN_EXE_hps"))
        .args(["run", "--gdb", "0"])
        .args(options)
        .args(["--", program])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut said = BufReader::new(hps.stderr.take().expect("a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    let port = line.trim_end().trim_end_matches('\'').rsplit(' ').next();
    let port = port.expect("a port").to_owned();
    assert!(port.starts_with(':'), "{line}");
    // A session that hangs ends: the program is then left alone.
    let mut gdb = Command::new("timeout");
    gdb.args(["120", "gdb-multiarch", "-nx", "-batch", program]);
    let remote = format!("target remote {port}");
    let first = ["set pagination off", "set confirm off", &remote];
    for command in first.iter().chain(script) {
        gdb.args(["-ex", command]);
    }
    let told = gdb.output().expect("gdb runs");
    let mut stdout = String::new();
    let mut pipe = hps.stdout.take().expect("a pipe");
    pipe.read_to_string(&mut stdout).expect("text");
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("text");
    let gdb = String::from_utf8_lossy(&told.stdout).into_owned();
    Session {
        gdb: format!("{gdb}{}\n{rest}", String::from_utf8_lossy(&told.stderr)),
        stdout,
        code: hps.wait().expect("it ends").code(),
    }
}

impl Session {
    /// Checks that gdb has printed these texts, one behind the other.
    #[track_caller]
    fn tells(&self, texts: &[&str]) -> &Self {
        let mut rest = &self.gdb[..];
        for text in texts {
            let Some((_, behind)) = rest.split_once(text) else {
                panic!("`{text}` is missing behind the others in\n{}", self.gdb);
            };
            rest = behind;
        }
        self
    }
}

#[test]
fn from_a_fault_in_a_thread_back_to_the_store_of_another() {
    if !has_gdb() {
        return;
    }
    let program = build(Isa::Riscv64, "debug_threads.c", &["-O1", "-g", "-pthread"]);
    for mode in MODES {
        let script = [
            "continue",
            "info threads",
            "watch -l shared",
            "reverse-continue",
            "backtrace 2",
            "x/i $pc",
            "reverse-stepi",
            "stepi",
            "x/i $pc",
            "delete",
            "continue",
            "continue",
        ];
        let session = session(&program, mode, &script);
        session.tells(&[
            "received signal SIGSEGV",
            "follow ()",
            "debug_threads.c:27",
            "waits for the futex",
            "hit Hardware watchpoint",
            "Old value = (long * volatile) 0x18",
            "New value = (long * volatile) 0x",
            "<cells",
            "spoil (place=",
            "debug_threads.c:11",
            "the cause",
            "spoiler (unused=",
            "sd\ta5,0(a0)",
            "sd\ta5,0(a0)",
            "received signal SIGSEGV",
            "terminated with signal SIGSEGV",
        ]);
        // The text was printed once, although its store was executed several times.
        assert_eq!(session.stdout, "begin\nhalf way\n", "{mode:?}");
        assert_eq!(session.code, Some(139), "{mode:?}");
    }
}

#[test]
fn breakpoints_and_steps_on_both_instruction_sets() {
    if !has_gdb() {
        return;
    }
    for isa in Isa::BOTH {
        let program = build(isa, "debug_calls.c", &["-O1", "-g"]);
        for mode in MODES {
            let script = [
                "break twice",
                "continue",
                "continue",
                "print value",
                "info registers pc",
                "stepi",
                "stepi",
                "reverse-stepi",
                "reverse-stepi",
                "info registers pc",
                "print value",
                "reverse-continue",
                "print value",
                "print $sp == $sp",
                "delete",
                "break last",
                "continue",
                "finish",
                "set var scale = 3",
                "monitor where",
                "monitor cycle",
                "monitor why",
                "continue",
            ];
            let session = session(&program, mode, &script);
            session.tells(&[
                "Breakpoint 1, twice (",
                "Breakpoint 1, twice (",
                "$1 = 2",
                "$2 = 2",
                "Breakpoint 1, twice (",
                "$3 = 1",
                "$4 = 1",
                "Breakpoint 2, last (",
                "Value returned is $5 = 40",
                "exited with code 03",
                // gdb writes answers to `monitor` to its standard error.
                "instructions since the beginning",
                "next: 0x",
            ]);
            // gdb prints the program counter as it was before the steps.
            let counters: Vec<&str> = session
                .gdb
                .lines()
                .filter(|line| line.starts_with("pc "))
                .collect();
            assert_eq!(counters.len(), 2, "{isa:?} {mode:?}\n{}", session.gdb);
            assert_eq!(counters[0], counters[1], "{isa:?} {mode:?}");
            assert_eq!(session.stdout, "2 4 6 8 20\n", "{isa:?} {mode:?}");
            assert_eq!(session.code, Some(3), "{isa:?} {mode:?}");
        }
    }
}

#[test]
fn what_does_not_go_with_a_debugger_is_refused_by_name() {
    let hps = crate::support::Hps::new();
    let refused = |words: &[&str]| {
        let run = hps.run(&[&["run", "--gdb", "0"], words, &["bwt", "small"]].concat());
        assert_ne!(run.code, 0, "{words:?}");
        run.stderr
    };
    assert!(refused(&["--machine", "cmp-4"]).contains("several cores or contexts"));
    assert!(refused(&["--time-limit", "5"]).contains("--time-limit"));
    assert!(refused(&["--machine", "hps-4wide", "--sample"]).contains("--sample"));
    assert!(refused(&["--max-instructions", "5"]).contains("--max-instructions"));
    let run = hps.run(&["run", "--gdb", "nowhere:", "bwt", "small"]);
    assert!(run.stderr.contains("PORT or HOST:PORT"), "{}", run.stderr);
}
