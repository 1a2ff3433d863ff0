//! Limits of runs, on each kind of machine and in each command: they hold whatever a program does.

use std::process::{Command, Stdio};

use super::build::{Isa, MODES, build};
use super::support::{Hps, Run};

/// Machines of several contexts.
const SEVERAL: [&[&str]; 2] = [&["--machine", "cmp-4"], &["--machine", "smt-2"]];

/// Runs the command, which a broken limit does not keep for ever. Its standard input is a pipe into which nobody writes, and
/// its standard output one of which nobody reads while it runs.
fn run_silently(args: &[&str], folder: &Hps) -> Run {
    run_with(args, folder, Stdio::piped())
}

fn run_with(args: &[&str], folder: &Hps, stdin: Stdio) -> Run {
    let mut child = Command::new("timeout")
        .args(["60", env!("CARGO_BIN_EXE_hps")])
        .args(args)
        .current_dir(folder.path(""))
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let silent = child.stdin.take();
    let mut said = String::new();
    let mut errors = child.stderr.take().expect("a pipe");
    std::io::Read::read_to_string(&mut errors, &mut said).expect("text");
    let output = child.wait_with_output().expect("it ends");
    drop(silent);
    Run {
        code: output.status.code().expect("an exit code"),
        stdout: output.stdout,
        stderr: said,
    }
}

#[track_caller]
fn ends_in_time(run: &Run, what: &str) {
    assert!(
        run.stderr
            .contains("ran for more than its limit of 0.1 seconds")
            && run.stderr.contains("--time-limit"),
        "{what}: {} {}",
        run.code,
        run.stderr
    );
    assert_ne!(run.code, 124, "{what}: ended from outside");
    assert_ne!(run.code, 0, "{what}: {}", run.stderr);
    // A limit is no fault of the program, and its message is for people.
    for part in ["fault", "Trap", "Stopped", " { "] {
        assert!(!run.stderr.contains(part), "{what}: {}", run.stderr);
    }
}

#[test]
fn a_limit_on_time_ends_whatever_a_program_does_on_any_machine() {
    let program = build(Isa::Riscv64, "limit_time.c", &["-O2", "-pthread"]);
    let everywhere = ["spin", "calls", "zero", "handler"];
    let elsewhere = [
        "random", "advise", "file", "input", "output", "waiter", "forks",
    ];
    let limit = ["--time-limit", "0.1", "--"];
    for (number, mode) in MODES.into_iter().chain(SEVERAL).enumerate() {
        let more = if number == 0 { &elsewhere[..] } else { &[] };
        for way in everywhere.iter().chain(more) {
            let run = run_silently(
                &[&["run"], mode, &limit, &[&program, way]].concat(),
                &Hps::new(),
            );
            ends_in_time(&run, &format!("{mode:?} {way}"));
        }
    }
}

#[test]
fn a_limit_on_time_ends_each_command_that_has_one() {
    let program = build(Isa::Riscv64, "limit_time.c", &["-O2", "-pthread"]);
    let limit = ["--time-limit", "0.1", "--"];
    // On machines of one context, whose handlers count in one thread only.
    let alone = build(Isa::Riscv64, "endless.c", &["-O2"]);
    let commands: [(&[&str], &[&str]); 18] = [
        (&["profile"], &[&program, "spin"]),
        (&["profile", "--machine", "smt-2"], &[&program, "spin"]),
        (
            &["profile", "--with", "tip", "--machine", "cmp-4"],
            &[&program, "spin"],
        ),
        (&["profile", "--charged", "--with", "interrupt"], &[&alone]),
        (&["collect", "--kind", "method"], &[&program, "spin"]),
        (&["collect", "--kind", "call-pair"], &[&program, "calls"]),
        (&["collect", "--kind", "data-stream"], &[&program, "zero"]),
        (
            &["collect", "--kind", "method", "--machine", "tiny-2wide"],
            &[&alone],
        ),
        (&["dcpi", "collect", "--db", "db"], &[&program, "spin"]),
        (&["dcpi", "collect", "--charged", "--db", "db"], &[&alone]),
        (
            &["shim", "simulate", "--machine", "smt-2"],
            &[&program, "spin"],
        ),
        (
            &[
                "shim",
                "simulate",
                "--calls",
                "stack-2",
                "--machine",
                "cmp-4",
            ],
            &[&alone],
        ),
        (&["shadow", "simulate"], &[&alone]),
        (
            &["shadow", "simulate", "--core", "cycle"],
            &[&program, "calls"],
        ),
        (
            &[
                "shadow",
                "simulate",
                "--shadows-on",
                "chip",
                "--core",
                "cycle",
                "--machine",
                "cmp-4",
            ],
            &[&alone],
        ),
        (
            &["run", "--machine", "hps-4wide", "--sample"],
            &[&program, "calls"],
        ),
        (&["run", "--skip", "1000000000000"], &[&program, "spin"]),
        (&["run", "--until", "exit"], &[&alone]),
    ];
    for (command, program) in commands {
        let words = [command, &limit, program].concat();
        let run = run_with(&words, &Hps::new(), Stdio::null());
        ends_in_time(&run, &command.join(" "));
    }
    // A program that runs more than once gets its input whole, which has to come in time.
    let words = [&["profile"][..], &limit, &[&program, "spin"]].concat();
    let run = run_silently(&words, &Hps::new());
    let said = "standard input has not ended within the limit of 0.1 seconds";
    assert!(run.stderr.contains(said), "{}: {}", run.code, run.stderr);
    assert_ne!(run.code, 124, "ended from outside");
}

/// A command that runs a program many times tells for each piece of its work why there is no result.
#[test]
fn a_limit_on_time_ends_each_run_of_a_comparison() {
    let program = build(Isa::Riscv64, "endless.c", &["-O2"]);
    let commands: [&[&str]; 8] = [
        &["leaderboard", "--kind", "time", "--with", "tip"],
        &["leaderboard", "--kind", "method", "--machine", "tiny-2wide"],
        &["leaderboard", "--with", "shim", "--machine", "cmp-4"],
        &["reproduce", "hps-2005", "--only", "figure6", "--program"],
        &["reproduce", "tip-2021", "--program"],
        &["reproduce", "dcpi-1997", "--program"],
        &["reproduce", "shadow-2007", "--chips", "none", "--program"],
        &["reproduce", "callgraphs-2015", "--program"],
    ];
    for command in commands {
        let words = [command, &[&program], &["--time-limit", "0.1"]].concat();
        let run = run_with(&words, &Hps::new(), Stdio::null());
        ends_in_time(&run, &command.join(" "));
    }
}

/// A point that is out of time is a row with its reason, also on a machine of several contexts.
#[test]
fn a_limit_on_time_ends_the_points_of_a_sweep() {
    let program = build(Isa::Riscv64, "limit_time.c", &["-O2", "-pthread"]);
    for machine in ["tiny-2wide", "cmp-4"] {
        let hps = Hps::new();
        let spec = hps.path("s.ron");
        let text = format!(
            "(profiles: [method], bursts: [1], one_in: [100], machines: [\"{machine}\"], limits: (time_s: 1))"
        );
        std::fs::write(&spec, text).expect("a file");
        let words = [
            "sweep",
            &spec,
            "--program",
            &program,
            "--jobs",
            "1",
            "--json",
        ];
        let run = run_silently(&words, &hps);
        let said = String::from_utf8_lossy(&run.stdout).into_owned() + &run.stderr;
        assert!(said.contains("limit of 1 seconds"), "{machine}: {said}");
        assert_ne!(run.code, 124, "{machine}: ended from outside");
    }
}

/// Timers whose coming nobody can tell take no time of the host, however often they come.
#[test]
fn timers_that_nobody_waits_for_cost_nothing() {
    for isa in Isa::BOTH {
        let program = build(isa, "timer_storms.c", &["-O2"]);
        for mode in MODES.into_iter().chain(SEVERAL) {
            let run = Hps::new().run(&[&["run"], mode, &["--", &program]].concat());
            let expected = "none ok\nblocked ok\nignored ok\nfile ok\nsleep ok\nhandler ok\n";
            assert_eq!(run.expect_code(0), expected, "{isa:?} {mode:?}");
        }
    }
}

/// MiB that a program gets of 32, of which it has some ten from the beginning.
#[test]
fn what_the_host_keeps_for_a_program_counts_as_its_memory() {
    let ways = [
        ("memfds", 8..24),
        ("mapped", 8..24),
        ("pipes", 8..24),
        ("fifos", 8..24),
        ("named", 8..24),
        ("segments", 8..24),
        ("semaphores", 8..24),
        ("sockets", 8..24),
        ("texts", 4..24),
        // Each is there twice for a moment.
        ("programs", 2..10),
        // Of these, what their headers name is less than a MiB.
        ("holes", 5..40),
    ];
    for isa in Isa::BOTH {
        let program = build(isa, "limit_memory.c", &["-O2"]);
        for (way, expected) in ways.clone() {
            let modes: &[&[&str]] = match way {
                "pipes" | "holes" => &[MODES[0], SEVERAL[0]],
                _ => &[MODES[0]],
            };
            for mode in modes {
                let hps = Hps::new();
                let folder = hps.path("");
                let limits = [
                    "--memory-limit",
                    "32",
                    "--root",
                    &folder,
                    "--writable",
                    "--",
                ];
                let run = hps.run(&[&["run"], *mode, &limits, &[&program, way]].concat());
                let warned = run.stderr.contains("--memory-limit");
                let got = run.expect_code(0);
                let got: i32 = got.trim().parse().expect("a number");
                assert!(expected.contains(&got), "{isa:?} {way} {mode:?}: {got}");
                // Mappings that find no room in the address space are refused as on any machine.
                let is_mapped = ["mapped", "segments"].contains(&way);
                assert_eq!(warned, !is_mapped, "{isa:?} {way}: {got}");
            }
        }
    }
}

/// The memory of the host that a program gets does not depend on how the program is run.
#[test]
fn memory_is_limited_on_timed_cores_too() {
    let program = build(Isa::Riscv64, "limit_memory.c", &["-O2"]);
    // Child processes are for the functional machine and the cycle-driven core.
    let ways = [
        ("memfds", 8..24, &MODES[1..]),
        ("pipes", 8..24, &MODES[1..]),
        ("fifos", 8..24, &MODES[1..]),
        ("segments", 8..24, &MODES[1..]),
        ("semaphores", 8..24, &MODES[1..]),
        ("sockets", 8..24, &MODES[1..]),
        ("texts", 4..24, &MODES[2..]),
        ("holes", 5..40, &MODES[1..2]),
        ("memfds", 8..24, &SEVERAL[1..]),
    ];
    for (way, expected, modes) in ways {
        for mode in modes {
            let hps = Hps::new();
            let folder = hps.path("");
            let limits = [
                "--memory-limit",
                "32",
                "--root",
                &folder,
                "--writable",
                "--",
            ];
            let run = hps.run(&[&["run"], *mode, &limits, &[&program, way]].concat());
            let got = run.expect_code(0);
            let got: i32 = got.trim().parse().expect("a number");
            assert!(expected.contains(&got), "{way} {mode:?}: {got}");
        }
    }
}

/// The program ends with the number of GiB that it was given, and one more, as its exit code.
#[test]
fn memory_is_limited_in_each_command() {
    let program = build(Isa::Riscv64, "limit_memory.c", &["-O2"]);
    let small: [(&[&str], &str); 5] = [
        (&["profile"], "exit code 1:"),
        (&["profile", "--machine", "cmp-4"], "exit code 1:"),
        (
            &["profile", "--charged", "--with", "interrupt"],
            "exit code 1:",
        ),
        (&["dcpi", "collect", "--db", "db"], ""),
        (&["dcpi", "collect", "--charged", "--db", "db"], ""),
    ];
    for (command, said) in small {
        let limit = ["--memory-limit", "512", "--", &program, "reserve"];
        let run = Hps::new().run(&[command, &limit].concat());
        assert!(
            run.code == 1 && run.stderr.contains(said),
            "{command:?}: {} {}",
            run.code,
            run.stderr
        );
    }
    // Without an option a program gets 2 GiB, of which it needs a little itself.
    let hps = Hps::new();
    let order = [
        "leaderboard",
        "--kind",
        "time",
        "--with",
        "tip",
        &program,
        "--",
        "reserve",
    ];
    let run = hps.run(&order);
    assert!(run.stderr.contains("exit code 2"), "{}", run.stderr);
    let spec = hps.path("s.ron");
    let text = format!(
        "(own_programs: [(path: \"{program}\", args: [\"reserve\"], expect_exit: 2)], profiles: [method], bursts: [1], one_in: [100], machines: [\"tiny-2wide\"])"
    );
    std::fs::write(&spec, text).expect("a file");
    hps.run(&["sweep", &spec, "--jobs", "1"]).expect_code(0);
}

#[test]
fn signals_that_count_are_limited_in_number() {
    let expected = "as many as said 1, limited 1\nno more EAGAIN 1, kill 1 11\nother 11\n";
    for isa in Isa::BOTH {
        let program = build(isa, "signal_limits.c", &["-O2", "-pthread"]);
        for mode in [MODES[0], MODES[1], SEVERAL[0]] {
            let run = Hps::new().run(&[&["run"], mode, &["--", &program]].concat());
            assert_eq!(run.expect_code(0), expected, "{isa:?} {mode:?}");
        }
    }
}
