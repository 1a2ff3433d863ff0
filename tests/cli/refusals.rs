//! Orders that the command refuses, and its messages.

use std::path::Path;

use crate::support::{Hps, exit_with, write_text};

#[test]
fn a_program_of_another_instruction_set_is_refused() {
    let hps = Hps::new();
    let program = hps.program("ok", &exit_with(0));
    hps.run(&["run", "--isa", "riscv64", &program])
        .expect_code(0);
    let run = hps.run(&["run", "--isa", "alpha", &program]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("a program for riscv64, not for alpha"),
        "{}",
        run.stderr
    );
    let run = hps.run(&["run", "--isa", "pdp11", "bwt"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("riscv64, alpha"), "{}", run.stderr);
}

#[test]
fn what_the_instruction_driven_core_lacks_is_refused_with_a_remedy() {
    let hps = Hps::new();
    let program = hps.program("ok", &[write_text(), exit_with(0)].concat());
    let log = hps.path("log.kanata");
    let start = ["run", "--core", "instruction", "--machine"];
    let cases: [(&[&str], &str); 3] = [
        (
            &["hps-4wide", "--trace", &log],
            "--trace: it keeps no pipeline log",
        ),
        (
            &["hps-4wide", "--sample"],
            "--sample: units are timed on the cycle-driven core",
        ),
        (
            &["ev5"],
            "machine ev5 has no instruction-driven core: its scheduling is in order",
        ),
    ];
    for (args, message) in cases {
        let run = hps.run(&[&start, args, &[&program]].concat());
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(
            run.stderr.contains(message) && run.stderr.contains("use --core cycle"),
            "{args:?}: {}",
            run.stderr
        );
        assert!(run.stdout.is_empty(), "{args:?}: nothing may run");
    }
    // The refusal comes before a file is made.
    let file = hps.path("never.json");
    hps.run(&[&start[..], &["ev5", &format!("--json={file}"), &program]].concat());
    assert!(!Path::new(&file).exists());
    // There is no core without a machine.
    let run = hps.run(&["run", "--core", "instruction", &program]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--machine"), "{}", run.stderr);
}

#[test]
fn what_cannot_be_run_is_refused_with_a_remedy() {
    let hps = Hps::new();
    let program = hps.program("ok", &[write_text(), exit_with(0)].concat());
    let text = hps.path("text");
    std::fs::write(&text, "no program\n").expect("written");
    let script = hps.path("script");
    std::fs::write(&script, "#!/bin/sh\n").expect("written");
    let unwritable = hps.path("no/such/folder/stats.json");
    let unwritable_log = hps.path("no/such/folder/log.kanata");
    let cases: [(&[&str], &str); 12] = [
        (
            &["run", "--machine", "hps-5wide", &program],
            "there is no machine `hps-5wide`",
        ),
        (
            &["run", "--machine", "none.ron", &program],
            "cannot read the machine description `none.ron`",
        ),
        (&["run", "no-such-program"], "neither a file nor a program"),
        (&["run", "./no-such-program"], "cannot be read"),
        (&["run", &text], "ELF"),
        (&["run", &script], "a script for /bin/sh"),
        (
            &["run", &format!("--json={unwritable}"), &program],
            "cannot be written",
        ),
        (
            &[
                "run",
                "--machine",
                "tiny-2wide",
                "--trace",
                &unwritable_log,
                &program,
            ],
            "cannot be written",
        ),
        (
            &["run", "--productions", "no-such", &program],
            "neither a file nor productions",
        ),
        (
            &["run", "--machine", "tiny-2wide", "--trace", "log", &program],
            "the ending does not say which format",
        ),
        (
            &[
                "run",
                "--productions",
                "framework",
                "--param",
                "brust=1",
                &program,
            ],
            "no parameter `brust`",
        ),
        (&["run", "--env", "HOME", &program], "NAME=VALUE"),
    ];
    for (args, message) in cases {
        let run = hps.run(args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(
            run.stderr.starts_with("hps: error: ") && run.stderr.contains(message),
            "{args:?}: {}",
            run.stderr
        );
        assert!(run.stdout.is_empty(), "{args:?}: nothing may run");
    }
}

#[test]
fn damaged_executables_never_panic() {
    let hps = Hps::new();
    let image = hps_workloads::find("bwt")
        .and_then(|w| w.image("riscv64"))
        .expect("it comes with the project");
    let mut damaged: Vec<Vec<u8>> = [0, 3, 40, 100, 1000]
        .iter()
        .map(|&n| image[..n].to_vec())
        .collect();
    for at in [4, 5, 16, 18, 28, 32, 40, 54, 56, 60, 80, 100] {
        let mut bytes = image.to_vec();
        bytes[at] ^= 0xff;
        damaged.push(bytes);
    }
    for (number, bytes) in damaged.into_iter().enumerate() {
        let file = hps.path("damaged");
        std::fs::write(&file, bytes).expect("written");
        let run = hps.run(&["run", "--max-instructions", "1000", &file, "small"]);
        assert!(
            run.code != 101 && !run.stderr.contains("panicked"),
            "case {number}: {}",
            run.stderr
        );
        assert!(
            run.code == 0 || !run.stderr.is_empty(),
            "case {number} says nothing"
        );
    }
}

#[test]
fn a_run_that_cannot_begin_leaves_earlier_results_alone() {
    let hps = Hps::new();
    let program = hps.program("ok", &exit_with(0));
    let file = hps.path("stats.json");
    std::fs::write(&file, "of hours of work").expect("a file");
    let run = hps.run(&[
        "run",
        &format!("--json={file}"),
        "--root",
        "/nowhere",
        &program,
    ]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    let kept = std::fs::read_to_string(&file).expect("the file");
    assert_eq!(kept, "of hours of work");
}

/// Ten mistakes of somebody's first hour: each ends at once with a line that says what to do.
#[test]
fn ten_first_mistakes_each_get_a_clear_line() {
    let hps = Hps::new();
    std::fs::write(hps.path("prog.c"), "int main() { return 0; }\n").expect("written");
    std::fs::copy("/bin/true", hps.path("native")).expect("a program of the host");
    let mistakes: [(&[&str], &str); 10] = [
        (&["run"], "<PROG>"),
        (
            &["run", "nosuch"],
            "neither a file nor a program that comes with the project",
        ),
        (&["run", "prog.c"], "build the program for riscv64"),
        (&["run", "./native"], "not for RISC-V and not for Alpha"),
        (&["run", "."], "Is a directory"),
        (
            &["run", "--machine", "hps4wide", "bwt"],
            "there are: hps-4wide",
        ),
        (&["profile", "--with", "tpi", "bwt"], "tpi"),
        (
            &["profile", "--export", "out.json", "bwt"],
            "write FORMAT:FILE",
        ),
        (
            &["sweep", "nosuch.ron"],
            "nosuch.ron: cannot read the sweep definition",
        ),
        (
            &["dcpi", "report", "--as", "calc", "main"],
            "`hps dcpi collect PROGRAM --db dcpi-db` makes one",
        ),
    ];
    for (words, said) in mistakes {
        let run = hps.run(words);
        assert_eq!(run.code, 2, "{words:?}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{words:?}: {}", run.stderr);
        let errors = run.stderr.matches("error:").count();
        assert_eq!(
            (errors, run.stdout.len()),
            (1, 0),
            "{words:?}: {}",
            run.stderr
        );
        // Refusals of the parser have the usage behind them.
        let lines = run.stderr.lines().count();
        assert!(
            lines == 1 || run.stderr.starts_with("error:"),
            "{words:?}: {}",
            run.stderr
        );
    }
    // An option behind the program goes to the program, and is said.
    let program = hps.program("ok", &exit_with(0));
    let run = hps.run(&["run", &program, "--stats"]);
    assert!(
        run.stderr.contains("--stats behind the program"),
        "{}",
        run.stderr
    );
    let run = hps.run(&["run", "--", &program, "--stats"]);
    assert_eq!(run.stderr, "");
}
