//! `hps shim` from outside: what it says of an observation, the files that it writes, its messages.

mod support;

use std::process::Command;

use serde_json::Value;
use support::{Hps, Run, left_out};

/// A program whose time is in two functions, three to one; it ends after about half a second.
const SHARES: &str = r#"
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
static void stay(double seconds) { double end = now() + seconds; while (now() < end) { } }
__attribute__((noinline)) void longer(void) { stay(0.003); }
__attribute__((noinline)) void shorter(void) { stay(0.001); }
int main(void) { for (int i = 0; i < 120; i++) { longer(); shorter(); } return 7; }
"#;

/// Two threads that call the same functions on other paths.
const PATHS: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
static void stay(double seconds) { double end = now() + seconds; while (now() < end) { } }
__attribute__((noinline)) void hot(void) { stay(0.002); }
__attribute__((noinline)) void left(void) { hot(); stay(0.001); }
__attribute__((noinline)) void right(void) { hot(); hot(); stay(0.001); }
static void *work(void *none) { for (int i = 0; i < 60; i++) left(); return none; }
int main(void) {
  pthread_t other;
  pthread_create(&other, 0, work, 0);
  pthread_setname_np(other, "other-worker");
  for (int i = 0; i < 40; i++) { right(); left(); }
  pthread_join(other, 0);
  return 0;
}
"#;

/// Whether there is a CPU for an observer; where there is none, observing is refused, which
/// `one_cpu_is_not_enough` tests.
fn two_cpus() -> bool {
    let two = std::thread::available_parallelism().is_ok_and(|n| n.get() >= 2);
    if !two {
        left_out(
            "hps shim",
            "only one CPU may be used, and the observer needs another",
        );
    }
    two
}

/// Compiles a program with the host's compiler.
fn compiled(hps: &Hps, source: &str, flags: &[&str]) -> String {
    let (file, program) = (hps.path("program.c"), hps.path("program"));
    std::fs::write(&file, source).expect("a source file");
    let status = Command::new("cc")
        .args(["-O1", "-g", "-o", &program, &file])
        .args(flags)
        .status()
        .expect("a C compiler is installed");
    assert!(status.success());
    program
}

fn json(path: &str) -> Value {
    let text = std::fs::read_to_string(path).expect("the file was written");
    serde_json::from_str(&text).expect("JSON")
}

/// Files that a session writes.
struct Files {
    result: String,
    speedscope: String,
    pprof: String,
    out: String,
}

/// A session that writes all it can.
fn observed(hps: &Hps, options: &[&str], program: &str) -> (Run, Files) {
    let files = Files {
        result: hps.path("result.json"),
        speedscope: hps.path("run.speedscope.json"),
        pprof: hps.path("profile.pb.gz"),
        out: hps.path("report"),
    };
    let mut args = vec!["shim", "run", "--preload", "--period", "20us"];
    let json = format!("--json={}", files.result);
    args.extend([&json, "--export", &files.speedscope]);
    args.extend(["--export", &files.pprof, "--out", &files.out]);
    args.extend(options);
    args.push(program);
    (hps.run(&args), files)
}

#[test]
fn an_instrumented_program_is_observed_and_all_files_are_written() {
    if !two_cpus() {
        return;
    }
    let hps = Hps::new();
    // The helpers carry no tags of their own: their time is that of their callers.
    let flags = [
        "-finstrument-functions",
        "-finstrument-functions-exclude-function-list=now,stay",
    ];
    let program = compiled(&hps, SHARES, &flags);
    let (run, files) = observed(&hps, &[], &program);
    assert_eq!(run.code, 7, "{}", run.stderr);
    for part in ["longer", "shorter", "sent", "kept"] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    let account = &json(&files.result)["account"];
    let number = |name: &str| account[name].as_u64().expect(name);
    assert_eq!(
        number("sent"),
        number("kept") + number("discarded") + number("dropped"),
        "{account}"
    );
    let profile = json(&files.speedscope);
    assert!(
        profile["shared"]["frames"]
            .as_array()
            .is_some_and(|f| !f.is_empty())
    );
    assert!(std::fs::metadata(&files.pprof).expect("a profile").len() > 100);
    let page = std::fs::read_dir(&files.out).expect("a folder").count();
    assert!(page > 2, "a page and its pictures");
}

/// Two threads that run for two minutes, and a child process that does.
const GOES_ON: &str = r#"
#include <pthread.h>
#include <unistd.h>
__attribute__((noinline)) void step(void) { usleep(1000); }
static void *work(void *none) { for (int i = 0; i < 120000; i++) step(); return none; }
int main(void) {
  pthread_t other;
  fork();
  pthread_create(&other, 0, work, 0);
  work(0);
  return 0;
}
"#;

/// The CPUs that each thread of a process may use, as the kernel lists them.
fn cpus_of_threads(pid: &str) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("the process lives");
    let status =
        threads.filter_map(|t| std::fs::read_to_string(t.ok()?.path().join("status")).ok());
    let list = |text: String| {
        let line = text
            .lines()
            .find_map(|l| l.strip_prefix("Cpus_allowed_list:"));
        line.map(|list| list.trim().to_owned())
    };
    status.filter_map(list).collect()
}

/// Waits until the condition holds; at most a minute.
#[track_caller]
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    // Builds may run beside the tests.
    for _ in 0..6000 {
        if holds() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{what}: not within a minute");
}

/// The processes with this executable.
fn processes_of(program: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").expect("/proc").flatten();
    let is_it = |entry: &std::fs::DirEntry| {
        std::fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe.as_os_str() == program)
    };
    let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    all.filter(is_it).map(name).collect()
}

#[test]
fn a_program_whose_observer_is_killed_may_use_all_cpus_again() {
    if !two_cpus() {
        return;
    }
    let before = cpus_of_threads("self")[0].clone();
    for signal in ["-TERM", "-KILL"] {
        let hps = Hps::new();
        let program = compiled(&hps, GOES_ON, &["-finstrument-functions", "-pthread"]);
        let mut observer = Command::new(env!("CARGO_BIN_EXE_hps"))
            .args(["shim", "run", "--preload", &program])
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("the command runs");
        let pids = || processes_of(&program);
        let bound = |cpus: &str| cpus != before;
        eventually("two processes with two bound threads", || {
            let pids = pids();
            let threads = |pid: &String| cpus_of_threads(pid);
            pids.len() == 2
                && pids
                    .iter()
                    .map(threads)
                    .all(|t| t.len() == 2 && t.iter().all(|c| bound(c)))
        });
        let killed = Command::new("kill")
            .args([signal, &observer.id().to_string()])
            .status();
        assert!(killed.expect("kill").success());
        observer.wait().expect("it ends");
        let all = pids();
        assert_eq!(all.len(), 2, "the program goes on");
        eventually("threads with all CPUs", || {
            all.iter()
                .flat_map(|pid| cpus_of_threads(pid))
                .all(|cpus| !bound(&cpus))
        });
        let ended = Command::new("kill").arg("-KILL").args(&all).status();
        assert!(ended.expect("kill").success());
    }
}

/// Ends at once when it runs for the first time in its folder, and then not by itself.
const ONCE_SHORT: &str = r#"
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) void work(void) { time(0); }
int main(void) {
  time_t end = time(0) + (access("again", F_OK) == 0 ? 120 : 0);
  do work(); while (time(0) < end);
  close(open("again", O_CREAT, 0600));
  return 0;
}
"#;

/// A command that is killed cannot end the program that it observes; the next command ends it and removes all files.
#[test]
fn the_next_command_ends_what_a_killed_one_has_started() {
    if !two_cpus() {
        return;
    }
    let simulated = Hps::new();
    let simulated = (
        simulated.program("simulated", &support::exit_with(0)),
        simulated,
    );
    let pair = ["--simulated", &simulated.0, "--native"];
    // With the name of the folder that holds the note.
    let orders: [(&[&str], &str); 4] = [
        (&["shim", "run", "--preload"], "hps-program-"),
        (
            &["shim", "run", "--preload", "--calls", "stack-2"],
            "hps-shim-",
        ),
        // The command is killed in the run that counts calls, and in the first one under an observer.
        (
            &[&["validate", "--runs", "0"], &pair[..]].concat(),
            "hps-calls-",
        ),
        (
            &[&["validate", "--runs", "1"], &pair[..]].concat(),
            "hps-validate-",
        ),
    ];
    for (order, folder) in orders {
        let hps = Hps::new();
        let program = compiled(&hps, ONCE_SHORT, &["-finstrument-functions"]);
        let temporary = hps.path("temporary");
        std::fs::create_dir(&temporary).expect("a folder");
        if folder != "hps-validate-" {
            std::fs::write(hps.path("again"), "").expect("a file");
        }
        let command = |words: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_hps"));
            command.args(words).env("TMPDIR", &temporary);
            command
                .current_dir(hps.path(""))
                .stdin(std::process::Stdio::null());
            command
        };
        let mut killed = command(&[order, &[&program]].concat())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("the command runs");
        let left = || std::fs::read_dir(&temporary).expect("a folder").flatten();
        let is_noted = |entry: std::fs::DirEntry| {
            let is_it = entry.file_name().to_string_lossy().starts_with(folder);
            is_it && entry.path().join("program").exists()
        };
        eventually("a program that was noted", || {
            left().any(is_noted) && processes_of(&program).len() == 1
        });
        killed.kill().expect("it is ours");
        killed.wait().expect("it ends");
        assert_eq!(
            processes_of(&program).len(),
            1,
            "{order:?}: the program goes on"
        );
        // The next command says that `true` shows no tags.
        command(&["shim", "run", "true"]).output().expect("it runs");
        eventually("the end of the program", || {
            processes_of(&program).is_empty()
        });
        let left: Vec<_> = left().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{order:?}: {left:?}");
    }
}

/// The whole paths of a result's stacks, `/` between functions, with the thread's name in front.
fn paths(result: &Value) -> Vec<String> {
    let stacks = &result["stacks"];
    let contexts = stacks["contexts"].as_array().expect("a list");
    let threads = result["threads"].as_array().expect("a list");
    let seen = contexts.iter().filter(|c| c["own"] != 0);
    let path = |context: &Value| {
        let place = |c: &Value| c["parent"].as_u64().map(|p| &contexts[p as usize]);
        let frames = std::iter::successors(Some(context), |c| place(c));
        let mut names: Vec<&str> = frames
            .map(|c| {
                let frame = &stacks["frames"][c["frame"].as_u64().expect("a place") as usize];
                frame["name"].as_str().expect("a name")
            })
            .collect();
        let thread = threads.iter().find(|t| t["thread"] == context["thread"]);
        names.push(thread.and_then(|t| t["name"].as_str()).expect("a name"));
        names.reverse();
        names.join("/")
    };
    seen.map(path).collect()
}

#[test]
fn stacks_and_threads_are_told_apart() {
    if !two_cpus() {
        return;
    }
    let hps = Hps::new();
    let flags = [
        "-pthread",
        "-finstrument-functions",
        "-finstrument-functions-exclude-function-list=now,stay",
    ];
    let program = compiled(&hps, PATHS, &flags);
    let (run, files) = observed(&hps, &["--stacks"], &program);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let result = json(&files.result);
    let stacks = &result["stacks"];
    let number = |value: &Value| value.as_u64().expect("a number");
    assert_eq!(stacks["sampled"], result["account"]["sent"]);
    assert_eq!(
        number(&stacks["sampled"]),
        number(&stacks["whole"]) + number(&stacks["torn"])
    );
    let known = [
        "program/main",
        "program/main/left",
        "program/main/left/hot",
        "program/main/right",
        "program/main/right/hot",
        "other-worker/work",
        "other-worker/work/left",
        "other-worker/work/left/hot",
    ];
    let seen = paths(&result);
    for path in &seen {
        let whole = !path.contains("(frames not known)") && !path.ends_with("/(nothing)");
        assert!(!whole || known.contains(&path.as_str()), "{path}: {seen:?}");
    }
    for deep in [known[2], known[4], known[7]] {
        assert!(seen.iter().any(|path| path == deep), "{deep}: {seen:?}");
    }
    for part in ["stacks:", "hot", "other-worker ("] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    let profiles = json(&files.speedscope)["profiles"].clone();
    let names: Vec<&str> = profiles
        .as_array()
        .expect("a list")
        .iter()
        .map(|p| p["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names[..2], ["time", "samples"]);
    for thread in ["program (", "other-worker ("] {
        assert!(
            names[2..4].iter().any(|n| n.starts_with(thread)),
            "{names:?}"
        );
    }
    for picture in ["shim-stacks.svg", "shim-threads.svg"] {
        let file = std::path::Path::new(&files.out)
            .join("figures")
            .join(picture);
        assert!(file.is_file(), "{picture}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn patchable_entries_need_no_other_option() {
    if !two_cpus() {
        return;
    }
    let hps = Hps::new();
    let program = compiled(&hps, SHARES, &["-fpatchable-function-entry=5"]);
    let run = hps.run(&["shim", "run", "--preload", "--period", "20us", &program]);
    assert_eq!(run.code, 7, "{}", run.stderr);
    assert!(run.stderr.contains("now"), "{}", run.stderr);
}

#[test]
fn what_cannot_be_observed_is_said_in_one_message() {
    if !two_cpus() {
        return;
    }
    let hps = Hps::new();
    let untagged = compiled(&hps, SHARES, &[]);
    for (args, words) in [
        (&["shim", "run", "/nowhere/at-all"][..], "/nowhere/at-all"),
        (&["shim", "run", "/bin/true"], "tag"),
        (&["shim", "run", &untagged], "-finstrument-functions"),
        (&["shim", "run", "--period", "never", &untagged], "never"),
        (
            &["shim", "run", "--event", "no-such-event", &untagged],
            "no-such-event",
        ),
        (&["shim", "run", "--tolerance", "200", &untagged], "200"),
        (
            &["shim", "run", "--observer-cpu", "4095", &untagged],
            "4095",
        ),
        (&["shim", "run", "--keep", "x.samples", &untagged], "--ring"),
        (
            &["shim", "run", "--tally", "--stacks", &untagged],
            "--stacks",
        ),
        (&["shim", "attach", "999999999"], "999999999"),
        (
            &["shim", "analyze", &untagged],
            "begins with something else",
        ),
    ] {
        let run = hps.run(args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(words), "{args:?}: {}", run.stderr);
        assert!(!run.stderr.contains("panicked"), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn one_cpu_is_not_enough() {
    let one = Command::new("taskset")
        .args(["-c", &first_cpu()])
        .arg(env!("CARGO_BIN_EXE_hps"))
        .args(["shim", "run", "/bin/true"])
        .output()
        .expect("taskset is installed (util-linux)");
    let said = String::from_utf8_lossy(&one.stderr);
    assert_eq!(one.status.code(), Some(2), "{said}");
    assert!(said.contains("only one CPU"), "{said}");
}

/// The first CPU that this process may use.
fn first_cpu() -> String {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .expect("a list of CPUs");
    let digits = |c: char| c.is_ascii_digit();
    list.trim().chars().take_while(|&c| digits(c)).collect()
}

#[test]
fn the_machine_is_described_and_doctor_says_the_same() {
    let hps = Hps::new();
    let machine = hps.run(&["shim", "machine"]);
    let doctor = hps.run(&["doctor"]);
    assert_eq!((machine.code, doctor.code), (0, 0));
    for part in ["SHIM: CPUs", "SHIM: clock", "SHIM: PMU", "SHIM: paranoid"] {
        for run in [&machine, &doctor] {
            let said = String::from_utf8_lossy(&run.stdout);
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}
