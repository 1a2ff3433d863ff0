//! Several processes: `fork`, `execve`, `wait4` and what goes with them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use super::build::{Isa, MODES, build};
use super::support::{Hps, Run, every_by_day, is_night};

/// The modes in which a program may have children.
const WITH_CHILDREN: [&[&str]; 2] = [MODES[0], MODES[1]];
/// Machines of several contexts.
const SEVERAL: [&[&str]; 2] = [&["--machine", "cmp-4"], &["--machine", "smt-2"]];

const CHECKS: [&str; 18] = [
    "status", "nohang", "killed", "fault", "memory", "offset", "pipes", "sigchld", "ignored",
    "groups", "orphans", "vfork", "locks", "shared", "threads", "many", "inherits", "times",
];
/// Checks that QEMU's user mode cannot do.
const MORE_CHECKS: [&str; 4] = ["proc", "reaper", "exec", "spawn"];

fn all_ok(checks: &[&str]) -> String {
    let lines = checks.iter().map(|name| format!("{name:<10} ok\n"));
    lines.collect()
}

fn text(run: &Run) -> String {
    String::from_utf8_lossy(&run.stdout).into_owned()
}

fn run(mode: &[&str], options: &[&str], command: &[&str]) -> Run {
    Hps::new().run(&[&["run"], mode, options, &["--"], command].concat())
}

/// Output of a program under QEMU, where it executes nothing.
fn under_qemu(isa: Isa, program: &str) -> String {
    let qemu = match isa {
        Isa::Riscv64 => "qemu-riscv64",
        Isa::Alpha => "qemu-alpha",
    };
    let oracle = Command::new(qemu)
        .args([program, "noexec"])
        .output()
        .expect("QEMU; ./test.sh installs it");
    String::from_utf8_lossy(&oracle.stdout).into_owned()
}

#[test]
fn processes_do_what_they_do_under_qemu_and_more() {
    for (at, isa) in Isa::BOTH.into_iter().enumerate() {
        let program = build(isa, "processes.c", &["-O2", "-pthread"]);
        let said = under_qemu(isa, &program);
        assert_eq!(said, all_ok(&CHECKS), "{isa:?}");
        let expected = said + &all_ok(&MORE_CHECKS);
        let modes = [MODES[0], SEVERAL[0], MODES[1], SEVERAL[1]];
        // By day each on one of both instruction sets.
        for mode in every_by_day(2, modes[if is_night() { 0 } else { at }..].to_vec()) {
            let run = run(mode, &[], &[&program]);
            assert_eq!(text(&run), expected, "{isa:?} {mode:?}: {}", run.stderr);
            assert_eq!(run.code, 0, "{isa:?} {mode:?}: {}", run.stderr);
        }
    }
}

#[test]
fn results_of_processes_hold_in_any_interleaving() {
    let program = build(Isa::Riscv64, "processes.c", &["-O2", "-pthread"]);
    let expected = all_ok(&[&CHECKS[..], &MORE_CHECKS].concat());
    // Each machine in one of the interleavings, the functional one in all of them.
    let timed = [WITH_CHILDREN[1], SEVERAL[0], SEVERAL[1]];
    for (seed, timed) in ["1", "2", "3"].into_iter().zip(timed) {
        let options = ["--time-slice", "700", "--thread-seed", seed];
        for mode in [WITH_CHILDREN[0], timed] {
            let run = run(mode, &options, &[&program]);
            assert_eq!(text(&run), expected, "{seed} {mode:?}: {}", run.stderr);
        }
    }
}

/// A root folder with a shell and its commands, and with files that are no programs.
fn root(isa: Isa, program: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a folder");
    let at = |name: &str| root.path().join(name);
    fs::create_dir(at("bin")).expect("a folder");
    fs::copy(build(isa, "sh.c", &["-O2"]), at("bin/sh")).expect("a shell");
    for command in ["echo", "cat", "upper", "wc", "yes", "head", "true", "false"] {
        symlink("sh", at("bin").join(command)).expect("a link");
    }
    fs::copy(program, at("program")).expect("a program");
    let other = match isa {
        Isa::Riscv64 => Isa::Alpha,
        Isa::Alpha => Isa::Riscv64,
    };
    fs::copy(build(other, "sh.c", &["-O2"]), at("foreign")).expect("a program");
    let script = "#!/bin/sh\necho in a script | upper\nexit 6\n";
    let files = [
        ("script", script, 0o755),
        ("damaged", "\x7fELF, but no more", 0o755),
        ("text", "hello\n", 0o755),
        ("plain", script, 0o644),
    ];
    for (name, content, mode) in files {
        fs::write(at(name), content).expect("a file");
        fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).expect("a mode");
    }
    root
}

fn run_in(root: &Path, mode: &[&str], command: &[&str]) -> Run {
    let folder = root.display().to_string();
    let file = format!("{folder}{}", command[0]);
    run(
        mode,
        &["--root", &folder],
        &[&[&*file], &command[1..]].concat(),
    )
}

#[test]
fn programs_use_a_shell_and_execute_nothing_else_than_programs() {
    // Of glibc: system(), popen(), which use vfork.
    let expected = "system 3\nFROM THE SHELL\nkilled 137\nread 1 8\nclosed 0\nWRITTEN\nclosed 0\n\
                    IN A SCRIPT\nscript 6\n/damaged 8\n/text 8\n/foreign 8\n/../../bin/outside 2\n/ 13\n/plain 13\n";
    for isa in Isa::BOTH {
        let root = root(isa, &build(isa, "uses_shell.c", &["-O2"]));
        for mode in WITH_CHILDREN.into_iter().chain(SEVERAL) {
            let run = run_in(root.path(), mode, &["/program"]);
            assert_eq!(text(&run), expected, "{isa:?} {mode:?}: {}", run.stderr);
            assert!(run.stderr.contains("ENOEXEC): /damaged"), "{}", run.stderr);
            assert!(run.stderr.contains("ENOEXEC): /foreign"), "{}", run.stderr);
        }
    }
}

#[test]
fn a_shell_runs_pipes_and_substitutions() {
    let line = "yes | head | wc; echo $(echo a; echo b) | cat; false || echo or; true && echo and; \
                exit 3 | cat; echo $?; kill 9; echo $?; nothing; echo $?; echo $(cat < /text)-$(exit 4)-; exit 7";
    let expected = "3 6\na\nb\nor\nand\n0\n137\n127\nhello--\n";
    for isa in Isa::BOTH {
        let root = root(isa, &build(isa, "sh.c", &["-O2"]));
        for mode in WITH_CHILDREN.into_iter().chain(SEVERAL) {
            let run = run_in(root.path(), mode, &["/bin/sh", "-c", line]);
            assert_eq!(text(&run), expected, "{isa:?} {mode:?}: {}", run.stderr);
            assert_eq!(run.code, 7, "{isa:?} {mode:?}: {}", run.stderr);
        }
    }
}

#[test]
fn a_robust_lock_outlives_the_process_that_has_it() {
    let expected = "robust process 1 (exit)\nrobust process 1 (killed)\nrobust process 1 (thread)\n\
                    robust process 1 (exec)\n";
    for isa in Isa::BOTH {
        let program = build(isa, "robust_process.c", &["-O2", "-pthread"]);
        for mode in WITH_CHILDREN.into_iter().chain(SEVERAL) {
            let run = run(mode, &[], &[&program]);
            assert_eq!(text(&run), expected, "{isa:?} {mode:?}: {}", run.stderr);
        }
    }
}

#[test]
fn hostile_processes_come_to_a_clear_end() {
    let program = build(Isa::Riscv64, "process_ends.c", &["-O2"]);
    for mode in WITH_CHILDREN.into_iter().chain(SEVERAL) {
        let bomb = run(mode, &[], &[&program, "bomb"]);
        assert!(bomb.stderr.contains("EAGAIN"), "{}", bomb.stderr);
        assert!(
            bomb.stderr.contains("processes without end"),
            "{}",
            bomb.stderr
        );
        assert_ne!(bomb.code, 0);
        let dead = run(mode, &[], &[&program, "deadlock"]);
        for part in [
            "deadlock",
            "process 1000, thread 1000: the end of a child",
            "process 1001, thread 1001: ",
        ] {
            assert!(dead.stderr.contains(part), "{part}: {}", dead.stderr);
        }
        // A child that never ends holds up nobody; one that does has its say.
        let orphan = run(mode, &[], &[&program, "orphan"]);
        assert_eq!((text(&orphan).as_str(), orphan.code), ("late 1\n", 4));
    }
}

#[test]
fn statistics_say_of_how_many_processes_they_are() {
    let program = build(Isa::Riscv64, "process_ends.c", &["-O2"]);
    for (how, processes) in [("orphan", Some("\"processes\": 2,")), ("none", None)] {
        let hps = Hps::new();
        let run = hps.run(&["run", "--json=s.json", "--", &program, how]);
        let written = fs::read_to_string(hps.path("s.json")).expect("statistics");
        let line = written
            .lines()
            .map(str::trim)
            .find(|line| line.starts_with("\"processes"));
        assert_eq!(line, processes, "{how}: {}", run.stderr);
    }
}

#[test]
fn statistics_tell_what_each_program_has_used() {
    for (isa, mode) in [
        (Isa::Riscv64, MODES[0]),
        (Isa::Riscv64, MODES[1]),
        (Isa::Alpha, MODES[1]),
        (Isa::Riscv64, &["--machine", "cmp-4"]),
        (Isa::Riscv64, &["--machine", "smt-2"]),
    ] {
        let program = build(isa, "prof_children.c", &["-O2"]);
        let hps = Hps::new();
        let run = hps.run(&[&["run", "--json=s.json"], mode, &["--", &program]].concat());
        let written = fs::read(hps.path("s.json")).expect("statistics");
        let all: serde_json::Value = serde_json::from_slice(&written).expect("JSON");
        let what = format!("{isa:?} {mode:?}: {} {}", run.stderr, all["programs"]);
        let programs = all["programs"].as_array().expect(&what);
        let of = |name: &str| -> Vec<u64> {
            let one = |program: &serde_json::Value| program[name].as_u64().unwrap_or(0);
            programs.iter().map(one).collect()
        };
        assert_eq!(of("pid"), [1000, 1001, 1002], "{what}");
        // The children run through one loop, 80,000 and 120,000 times.
        let instructions = of("instructions");
        let ratio = instructions[2] as f64 / instructions[1] as f64;
        assert!((ratio - 1.5).abs() < 0.005, "{what}");
        let total = |name: &str| all[name].as_u64().unwrap_or(0);
        let (sum, whole) = (instructions.iter().sum::<u64>(), total("instructions"));
        let (cycles, whole_cycles) = (of("cycles").iter().sum::<u64>(), total("cycles"));
        match all["cores"].as_array() {
            // Contexts are not asked what they have counted behind their last calls.
            Some(_) => assert!(sum <= whole && sum > whole - 100, "{what}"),
            None => assert_eq!((sum, cycles), (whole, whole_cycles), "{what}"),
        }
    }
}

#[test]
fn threads_on_several_cores_make_processes() {
    let program = build(Isa::Riscv64, "threads_fork.c", &["-O2", "-pthread"]);
    for mode in [MODES[0], MODES[1], &["--machine", "cmp-4"]] {
        let run = run(mode, &[], &[&program]);
        assert_eq!(text(&run), "bad 0\n", "{mode:?}: {}", run.stderr);
    }
}

/// Simulated cycles of a part of the program on a machine.
fn cycles(program: &str, part: &str, machine: &str) -> u64 {
    let hps = Hps::new();
    let options = ["run", "--machine", machine, "--json=s.json", "--"];
    let run = hps.run(&[&options[..], &[program, part]].concat());
    assert_eq!(text(&run), "busy 33 21\n", "{part}: {}", run.stderr);
    let written = fs::read_to_string(hps.path("s.json")).expect("statistics");
    let document: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    document["core"]["cycles"].as_u64().expect("a number")
}

#[test]
fn two_busy_children_take_half_the_cycles_on_two_cores() {
    let program = build(Isa::Riscv64, "processes_together.c", &["-O2", "-pthread"]);
    for (machine, range) in [
        ("cmp-4", 0.45..0.65),
        // A chain of multiplications leaves most of a core to another context.
        ("smt-2", 0.45..0.75),
        ("hps-4wide", 0.95..1.05),
    ] {
        let together = cycles(&program, "together", machine) as f64;
        let share = together / cycles(&program, "apart", machine) as f64;
        assert!(range.contains(&share), "{machine}: {share}");
    }
}

#[test]
fn processes_on_several_contexts_work_together_and_end_each_other() {
    for isa in Isa::BOTH {
        let program = build(isa, "processes_together.c", &["-O2", "-pthread"]);
        for (part, expected) in [
            ("pipes", "pipes 1c7f2af5de7c3060 0 0\n"),
            ("shared", "counts 6000 6000 6000 0\nturns 400 0\n"),
            (
                "ends",
                "exits 5\nkilled 1009\nfaults 1011\nexecutes 4\nlends 7\n",
            ),
        ] {
            for mode in [MODES[0], MODES[1], SEVERAL[0], SEVERAL[1]] {
                let run = run(mode, &[], &[&program, part]);
                assert_eq!(text(&run), expected, "{isa:?} {mode:?}: {}", run.stderr);
                assert_eq!(run.code, 0, "{isa:?} {mode:?}: {}", run.stderr);
            }
        }
    }
}

/// Output of the program that stops and names processes, up to what it executes.
const CONTROLLED: &str = "\
none 0
stopped 1 1 1
once 0
silent 0
continued 1 1
answer x
waitid 0 1 1
waits 0
terminated 1
told 1 5 6 5
killed 1
itself 1
handler 11
orphaned 1
slept 1
open 1
cloexec 1
runs 0
there 0
send 0
ended 1
waitid 0 1 1 9
gone -1 1
none -1 1
";

#[test]
fn processes_are_stopped_continued_and_named_by_descriptors() {
    for isa in Isa::BOTH {
        let program = build(isa, "process_control.c", &["-O2"]);
        assert_eq!(under_qemu(isa, &program), CONTROLLED);
        let expected = format!("{CONTROLLED}execveat 4\nexecveat 4\nbad -1 1\n");
        for mode in [MODES[0], MODES[1], SEVERAL[0], SEVERAL[1]] {
            let run = run(mode, &[], &[&program]);
            assert_eq!(text(&run), expected, "{isa:?} {mode:?}: {}", run.stderr);
        }
    }
}

#[test]
fn runs_of_several_processes_on_several_cores_repeat() {
    let program = build(Isa::Riscv64, "processes_together.c", &["-O2", "-pthread"]);
    let statistics = || {
        let hps = Hps::new();
        let options = ["run", "--machine", "cmp-4", "--json=s.json", "--"];
        hps.run(&[&options[..], &[&program, "shared"]].concat());
        let written = fs::read_to_string(hps.path("s.json")).expect("statistics");
        let document: serde_json::Value = serde_json::from_str(&written).expect("JSON");
        document["core"].to_string()
    };
    assert_eq!(statistics(), statistics());
}

#[test]
fn runs_that_have_one_process_say_so() {
    let program = build(Isa::Riscv64, "process_ends.c", &["-O2"]);
    for (options, what) in [
        (
            &["run", "--machine", "hps-4wide", "--core", "instruction"][..],
            "the instruction-driven core has one process",
        ),
        (
            &["run", "--machine", "hps-4wide", "--sample"],
            "sampled timing has one process",
        ),
        (
            &["run", "--machine", "hps-4wide", "--by-function"],
            "a run that is watched has one process",
        ),
    ] {
        let done = Hps::new().run(&[options, &["--", &program, "orphan"]].concat());
        for part in ["ENOSYS", what] {
            assert!(done.stderr.contains(part), "{options:?}: {}", done.stderr);
        }
    }
}

/// A process with 64 pages of its own makes three children, one after the other. Each writes to a number of pages.
#[test]
fn children_share_pages_until_someone_writes_to_them() {
    let program = build(Isa::Riscv64, "fork_pages.c", &["-O2"]);
    let copied = |writes: &str| {
        let hps = Hps::new();
        let run = hps.run(&["run", "--json=s.json", "--", &program, writes]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(text(&run), format!("{writes} {writes} {writes} ok\n"));
        let statistics = fs::read_to_string(hps.path("s.json")).expect("statistics");
        let statistics: serde_json::Value = serde_json::from_str(&statistics).expect("JSON");
        statistics["copied_pages"].as_u64().expect("a count")
    };
    let few = copied("0");
    // Stack and data of four processes, and none of the 64 pages.
    assert!(few < 64, "{few}");
    assert_eq!(copied("10"), few + 3 * 10);
    assert_eq!(copied("64"), few + 3 * 64);
}

#[test]
fn many_children_of_a_process_see_what_was_there_when_they_were_made() {
    for isa in Isa::BOTH {
        let program = build(isa, "forks.c", &["-O2"]);
        for mode in [MODES[0], MODES[1], SEVERAL[0], SEVERAL[1]] {
            let run = run(mode, &[], &[&program, "2", "30"]);
            assert_eq!(
                text(&run),
                "30 children, 30 right\n",
                "{isa:?} {mode:?}: {}",
                run.stderr
            );
        }
    }
}

/// A kernel of Linux printed the expected lines.
#[test]
fn private_mappings_show_their_file_until_they_can_be_written() {
    let expected = include_str!("guest/private_shows.txt");
    for isa in Isa::BOTH {
        let program = build(isa, "private_shows.c", &["-O2", "-w"]);
        for mode in WITH_CHILDREN {
            let root = tempfile::tempdir().expect("a folder");
            let folder = root.path().display().to_string();
            let run = run(mode, &["--root", &folder, "--writable"], &[&program]);
            assert_eq!(text(&run), expected, "{isa:?} {mode:?}: {}", run.stderr);
        }
    }
}

/// A kernel of Linux printed the expected lines, without threads that run at the same time and with them.
#[test]
fn locks_with_priority_inheritance_do_what_linux_lets_them_do() {
    let expected = include_str!("guest/pi_mutexes.txt");
    let seeded: &[&str] = &["--time-slice", "1500", "--thread-seed", "1"];
    for isa in Isa::BOTH {
        let program = build(isa, "pi_mutexes.c", &["-O2", "-w", "-pthread"]);
        for mode in [MODES[0], seeded, MODES[1], SEVERAL[0], SEVERAL[1]] {
            let run = run(mode, &[], &[&program]);
            assert_eq!(text(&run), expected, "{isa:?} {mode:?}: {}", run.stderr);
        }
    }
}

/// A kernel of Linux printed the expected lines; QEMU on it prints the same.
#[test]
fn watches_are_told_what_linux_tells_them() {
    for isa in Isa::BOTH {
        let program = build(isa, "inotify.c", &["-w", "-pthread"]);
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().display().to_string();
        let run = run(MODES[0], &["--root", &folder, "--writable"], &[&program]);
        let expected = include_str!("guest/inotify.txt");
        assert_eq!(text(&run), expected, "{isa:?}: {}", run.stderr);
    }
}

/// A kernel of Linux printed the expected lines for root and for another user. (Alpha has no `clone3`.)
#[test]
fn calls_find_and_refuse_what_linux_does() {
    let expected = [
        ("0", include_str!("guest/linux_calls.root.txt")),
        ("1000", include_str!("guest/linux_calls.user.txt")),
    ];
    for isa in Isa::BOTH {
        let program = build(isa, "linux_calls.c", &["-w"]);
        let ways = expected
            .iter()
            .flat_map(|of| MODES[..2].iter().map(move |mode| (of, mode)));
        for ((uid, text), mode) in ways {
            let root = tempfile::tempdir().expect("a folder");
            let folder = root.path().display().to_string();
            let options = [
                "--uid",
                uid,
                "--root",
                &folder,
                "--writable",
                "--",
                &program,
            ];
            let run = Hps::new().run(&[&["run"], *mode, &options].concat());
            let printed = String::from_utf8_lossy(&run.stdout).into_owned();
            let is_there = |line: &&str| isa == Isa::Riscv64 || !line.contains("clone3");
            let wanted: Vec<&str> = text.lines().filter(is_there).collect();
            let found: Vec<&str> = printed.lines().collect();
            assert_eq!(
                found, wanted,
                "{isa:?}, user {uid}, {mode:?}: {}",
                run.stderr
            );
        }
    }
}
