//! `hps shadow run` from outside: what it says, the files that it writes, its messages, and what is left of shadows when
//! it is killed.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::Hps;

/// Calls `hot` 400 times and `cold` 4 times, reads its input, and says what it has read.
const PROGRAM: &str = r#"
#include <stdint.h>
#include <stdio.h>
__attribute__((noinline)) uint64_t hot(uint64_t x) {
  for (int i = 0; i < 40000; i++) x = x * 6364136223846793005u + (x >> 60 ? 3 : 5);
  return x;
}
__attribute__((noinline)) uint64_t cold(uint64_t x) { return hot(x) ^ 1; }
int main(void) {
  uint64_t x = 1;
  int c, read = 0;
  while ((c = getchar()) != EOF) read++;
  for (int i = 0; i < 396; i++) x = i % 99 ? hot(x) : cold(x);
  printf("%d %llx\n", read, (unsigned long long)x);
  return 3;
}
"#;

/// Computes until it is killed.
const FOREVER: &str =
    "volatile unsigned long r; int main(void) { for (unsigned long x = 1;; x = x * 3 + 1) r = x; }";

fn compiled(hps: &Hps, name: &str, source: &str, flags: &[&str]) -> String {
    let (file, program) = (hps.path("source.c"), hps.path(name));
    std::fs::write(&file, source).expect("a source file");
    let status = Command::new("cc")
        .args(["-O1", "-g1", "-o", &program, &file])
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

#[test]
fn a_program_runs_as_alone_and_its_profiles_are_written() {
    let hps = Hps::new();
    let program = compiled(&hps, "program", PROGRAM, &[]);
    let (out, file) = (hps.path("saved"), hps.path("result.json"));
    let options = [
        "--perfect",
        "--values",
        "all",
        "--length",
        "300000",
        "--out",
        &out,
        &format!("--json={file}"),
    ];
    let run = hps.run(&[&["shadow", "run"], &options[..], &["--", &program]].concat());
    assert_eq!(run.code, 3, "{}", run.stderr);
    let alone = Command::new(&program)
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    assert_eq!(run.stdout, alone.stdout);
    for said in [
        "hot paths within functions found",
        "overlap of calls",
        "alive on average",
        "hot",
        "ended: ",
    ] {
        assert!(run.stderr.contains(said), "{said}: {}", run.stderr);
    }
    let result = json(&file);
    let facts = &result["facts"];
    assert!(
        facts["hot paths within functions found"]
            .as_f64()
            .expect("a share")
            > 0.5,
        "{facts}"
    );
    let shadows = result["shadows"].as_array().expect("a list");
    assert!(!shadows.is_empty());
    assert_eq!(
        shadows.len() as u64,
        result["monitor"]["forks"].as_u64().expect("forks")
    );
    for name in [
        "path",
        "long_path",
        "edge",
        "call_pair",
        "value",
        "value_rsi",
        "value_r9",
        "value_rax",
    ] {
        json(&format!("{out}/{name}.json"));
        json(&format!("{out}/perfect/{name}.json"));
    }
}

/// `spin` alone, for some milliseconds; longer, and with a handler of the monitor's signal, if it is told so.
const SHORT: &str = r#"
#include <signal.h>
#include <stdio.h>
volatile unsigned sink;
__attribute__((noinline)) static void spin(int n) { for (int i = 0; i < n; i++) sink += i; }
static void ignored(int signal) { (void)signal; }
int main(int argc, char **argv) {
  int turns = argc > 1 ? 10000 : 200;
  if (argc > 1) signal(SIGURG, ignored);
  for (int i = 0; i < turns; i++) spin(10000);
  printf("%u\n", sink);
}
"#;

#[test]
fn without_a_shadow_the_reason_is_said_and_functions_have_names() {
    let hps = Hps::new();
    let program = compiled(&hps, "short", SHORT, &[]);
    let short = ["shadow", "run", "--perfect", "--period", "5s", &program];
    let run = hps.run(&short);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stderr.contains("no shadow was forked"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("comes after 5000.0 ms"),
        "{}",
        run.stderr
    );
    let lines: Vec<&str> = run.stderr.lines().collect();
    let is_named = |line: &&str| line.ends_with("99.9%  spin");
    assert!(lines.iter().any(is_named), "{}", run.stderr);
    let is_path = |line: &&str| line.contains("spin+0x");
    assert!(lines.iter().any(is_path), "{}", run.stderr);
    let run = hps.run(&["shadow", "run", &program, "handles"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stderr.contains("handles SIGURG itself"),
        "{}",
        run.stderr
    );
}

#[test]
fn shadows_end_to_end_see_what_there_was() {
    let hps = Hps::new();
    let program = compiled(&hps, "program", PROGRAM, &[]);
    let run = hps.run(&[
        "shadow",
        "run",
        "--end-to-end",
        "--length",
        "5000000",
        &program,
    ]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let line = |what: &str| {
        run.stderr
            .lines()
            .find(|l| l.starts_with(what))
            .map(str::to_owned)
    };
    assert!(
        line("each profile equals the perfect one").is_some_and(|l| l.ends_with("yes")),
        "{}",
        run.stderr
    );
}

#[test]
fn the_whole_run_counts_calls() {
    let hps = Hps::new();
    let program = compiled(&hps, "program", PROGRAM, &[]);
    let run = hps.run(&["shadow", "run", "--full", "--top", "40", &program]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    // 396 turns: in four of them by way of the cold function.
    let calls = |caller: &str, callee: &str| {
        let words = |line: &str| {
            line.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let lines = run.stderr.lines().map(words);
        let count = |line: Vec<String>| {
            (line.len() == 4 && line[2] == caller && line[3] == callee).then(|| line[0].clone())
        };
        lines.filter_map(count).next()
    };
    assert_eq!(
        calls("main", "hot").as_deref(),
        Some("392"),
        "{}",
        run.stderr
    );
    assert_eq!(
        calls("main", "cold").as_deref(),
        Some("4"),
        "{}",
        run.stderr
    );
    assert_eq!(calls("cold", "hot").as_deref(), Some("4"), "{}", run.stderr);
}

#[test]
fn overhead_is_measured_in_rounds() {
    let hps = Hps::new();
    let program = compiled(&hps, "program", PROGRAM, &[]);
    let file = hps.path("result.json");
    let run = hps.run(&[
        "shadow",
        "run",
        "--runs",
        "2",
        &format!("--json={file}"),
        &program,
    ]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(
        run.stderr.contains("overhead in processor time, %"),
        "{}",
        run.stderr
    );
    assert_eq!(json(&file)["overhead"]["cpu_percent"]["runs"], 2);
}

/// Two threads, which are named after the functions that they run.
const THREADS: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
volatile uint64_t sink[2];
__attribute__((noinline)) static void left(void) { for (int i = 0; i < 10000; i++) sink[0] += i; }
__attribute__((noinline)) static void right(void) { for (int i = 0; i < 10000; i++) sink[1] ^= i; }
static void *turns(void *is_left) {
  pthread_setname_np(pthread_self(), is_left ? "left" : "right");
  for (int i = 0; i < 20000; i++) is_left ? left() : right();
  return 0;
}
int main(void) {
  pthread_t threads[2];
  for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, turns, (void *)i);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
}
"#;

#[test]
fn threads_are_told_apart_and_a_view_says_nothing_where_there_is_no_terminal() {
    let hps = Hps::new();
    let program = compiled(&hps, "threads", THREADS, &["-pthread"]);
    let (file, firefox) = (hps.path("result.json"), hps.path("threads.firefox.json"));
    let run = hps.run(&[
        "shadow",
        "run",
        "--live",
        "--threads",
        "turn",
        "--length",
        "100000",
        "--export",
        &format!("firefox:{firefox}"),
        &format!("--json={file}"),
        &program,
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!run.stderr.contains('\x1b'), "{}", run.stderr);
    let report = run.stderr.lines().filter(|line| !line.starts_with("hps: "));
    assert!(
        report.take(1).any(|line| line.starts_with("what ")),
        "{}",
        run.stderr
    );
    let result = json(&file);
    let threads = result["threads"].as_array().expect("a list");
    let shadows: u64 = threads
        .iter()
        .filter_map(|thread| thread["shadows"].as_u64())
        .sum();
    assert_eq!(shadows, result["monitor"]["forks"].as_u64().expect("forks"));
    for name in ["left", "right"] {
        let thread = threads.iter().find(|thread| thread["name"] == name);
        let thread = thread.unwrap_or_else(|| panic!("{name}: {threads:?}"));
        assert_eq!(thread["functions"][0]["function"], name);
        let exported = json(&firefox)["threads"]
            .as_array()
            .expect("a list")
            .clone();
        assert!(
            exported.iter().any(|thread| thread["name"] == name),
            "{name}"
        );
    }
    let sample = &result["shadows"][0]["sample"];
    assert_eq!(sample.as_u64(), Some(100_000));
}

#[test]
fn a_budget_that_no_fork_fits_is_said_in_numbers() {
    let hps = Hps::new();
    let program = compiled(&hps, "program", PROGRAM, &[]);
    let run = hps.run(&["shadow", "run", "--max-overhead", "0.001", &program]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    for said in [
        "no shadow was forked: a fork of",
        "is expected to cost",
        "0.001% of",
        "allow more",
    ] {
        assert!(run.stderr.contains(said), "{said}: {}", run.stderr);
    }
}

#[test]
fn what_cannot_be_profiled_is_refused_in_one_line() {
    let hps = Hps::new();
    let other = hps.program("other", &[0x73]);
    let alone = compiled(&hps, "alone", PROGRAM, &["-static"]);
    let privileged = compiled(&hps, "privileged", PROGRAM, &[]);
    std::fs::set_permissions(&privileged, PermissionsExt::from_mode(0o4755)).expect("it is ours");
    let program = compiled(&hps, "program", PROGRAM, &[]);
    let policy = hps.path("policy.ron");
    std::fs::write(&policy, "(name: \"mine\", rules: [(group: \"g\", calls: [\"nocall\"], action: run)], otherwise: end)")
        .expect("a file");
    for (options, said) in [
        (
            &[other.as_str()][..],
            "hps shadow simulate profiles it in the simulator",
        ),
        (&["--full", &alone], "linked statically"),
        (&["--perfect", &alone], "linked statically"),
        (&[&privileged], "set-uid"),
        (&["/nowhere/at-all"], "/nowhere/at-all"),
        (&["--load", "0", &program], "--load 0"),
        (&["--period", "0ms", &program], "--period"),
        (&["--policy", "none", &program], "neither one of"),
        (&["--policy", &policy, &program], "nocall"),
        (&["--out", "/proc/none", &program], "/proc/none"),
    ] {
        let run = hps.run(&[&["shadow", "run"], options].concat());
        assert_eq!(run.code, 2, "{options:?}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{options:?}: {}", run.stderr);
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    }
    let run = hps.run(&["shadow", "run", "--full", "--end-to-end", &program]);
    assert_eq!(run.code, 2, "{}", run.stderr);
}

#[test]
fn a_running_process_is_attached_and_goes_on() {
    let hps = Hps::new();
    let program = compiled(&hps, "forever", FOREVER, &["-static"]);
    let file = hps.path("result.json");
    let mut process = Command::new(&program).spawn().expect("it runs");
    let attach = ["shadow", "attach", "--seconds", "2", "--length", "100000"];
    let number = process.id().to_string();
    let run = hps.run(&[&attach[..], &[&format!("--json={file}"), &number]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let said = format!("process {number} was attached for");
    assert!(run.stderr.contains(&said), "{}", run.stderr);
    let result = json(&file);
    assert_eq!(result["ended"], "it goes on");
    assert_eq!(result["command"][0], program.as_str());
    assert_eq!(process.try_wait().expect("it is ours"), None);
    process.kill().expect("it runs");
    process.wait().expect("it is ours");
    let run = hps.run(&["shadow", "attach", &number]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("no such process"), "{}", run.stderr);
}

/// Processes that execute a program.
fn processes_of(program: &Path) -> Vec<i32> {
    let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
    processes
        .filter(|p| std::fs::read_link(p.path().join("exe")).is_ok_and(|exe| exe == program))
        .filter_map(|p| p.file_name().to_str()?.parse().ok())
        .collect()
}

/// Whether a process was forked and has executed no program since, as a shadow.
fn is_forked(pid: i32) -> bool {
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

/// Waits until a number of processes execute a program; fails after half a minute.
fn wait_for(program: &Path, wanted: impl Fn(usize) -> bool) -> Vec<i32> {
    for _ in 0..30_000 {
        let processes = processes_of(program);
        if wanted(processes.len()) {
            return processes;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("{:?} execute {}", processes_of(program), program.display());
}

fn kill(pid: i32) {
    let status = Command::new("kill").args(["-9", &pid.to_string()]).status();
    assert!(status.expect("kill runs").success());
}

#[test]
fn shadows_end_with_a_supervisor_that_is_killed_and_none_comes_after() {
    let hps = Hps::new();
    let program = PathBuf::from(compiled(&hps, "forever", FOREVER, &[]));
    let mut supervisor = Command::new(env!("CARGO_BIN_EXE_hps"))
        .args(["shadow", "run", "--load", "3", "--length", "1000000000000"])
        .arg(&program)
        .stderr(Stdio::null())
        .spawn()
        .expect("the command runs");
    // The program and at least two shadows.
    let mut processes = wait_for(&program, |count| count >= 3).into_iter();
    let first = processes.find(|pid| !is_forked(*pid)).expect("the program");
    supervisor.kill().expect("it is ours");
    supervisor.wait().expect("it ends");
    assert_eq!(wait_for(&program, |count| count == 1), [first]);
    // The program goes on for many of its timer's periods, alone. A fork that had begun when the supervisor ended may
    // come to its end now: that one shadow sees that it has no supervisor and ends.
    let mut late = std::collections::HashSet::new();
    for _ in 0..30 {
        std::thread::sleep(std::time::Duration::from_millis(2));
        late.extend(
            processes_of(&program)
                .into_iter()
                .filter(|pid| *pid != first),
        );
    }
    assert!(late.len() <= 1, "{late:?} came after {first} was alone");
    assert_eq!(wait_for(&program, |count| count == 1), [first]);
    kill(first);
    wait_for(&program, |count| count == 0);
}
