//! Profiles of programs that calls, jumps and periods make hard.

use std::io::Write;
use std::process::{Command, Stdio};

use super::build::{Isa, build};
use super::support::Hps;

/// Shares of the ten equal functions in a sampled profile, in percent.
fn shares(hps: &Hps, options: &[&str], program: &str) -> (Vec<f64>, String) {
    let file = hps.path("profile.json");
    let order = [&["profile", "--json", &file], options, &[program]].concat();
    let run = hps.run(&order);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let text = std::fs::read(&file).expect("a profile");
    let document: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let members = document["sampled"]["members"].as_array().expect("members");
    let weight = |m: &serde_json::Value| m["weight"].as_f64().expect("a weight");
    let total: f64 = members.iter().map(weight).sum();
    (
        members.iter().map(|m| 100.0 * weight(m) / total).collect(),
        run.stderr,
    )
}

/// Ten events a round, each a tenth of all: a fixed period of 100 events meets the same one each time.
#[test]
fn a_period_in_step_with_a_loop_is_named_and_a_random_one_is_not_in_step() {
    for isa in Isa::BOTH {
        let program = build(isa, "prof_alias.c", &["-O2"]);
        let hps = Hps::new();
        let (fixed, said) = shares(&hps, &[], &program);
        assert!(
            fixed.iter().any(|share| *share > 90.0),
            "{isa:?}: {fixed:?}"
        );
        assert!(
            said.contains("warning") && said.contains("--random-period"),
            "{isa:?}: {said}"
        );
        let (random, said) = shares(&hps, &["--random-period"], &program);
        assert!(!said.contains("warning"), "{isa:?}: {said}");
        // 2,000 samples: a standard deviation of 0.7 points.
        let near = random
            .iter()
            .filter(|share| (7.0..13.0).contains(*share))
            .count();
        assert_eq!(near, 10, "{isa:?}: {random:?}");
    }
}

/// The program ends with 3 unless it reads the line: by a file and by a pipe, in the run that finds the truth and
/// in the one that collects.
#[test]
fn standard_input_reaches_the_program_in_every_run() {
    let hps = Hps::new();
    let program = build(Isa::Riscv64, "reads_a_line.c", &["-O2"]);
    std::fs::write(hps.path("line.txt"), "open sesame\n").expect("a file");
    let with = |options: &[&str]| hps.run(&[&["profile"], options, &[&program]].concat());
    with(&["--stdin", "line.txt"]).expect_code(0);
    let run = with(&[]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("exit code 3"), "{}", run.stderr);
    let mut piped = Command::new(env!("CARGO_BIN_EXE_hps"))
        .args(["profile", &program])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command runs");
    let mut pipe = piped.stdin.take().expect("a pipe");
    pipe.write_all(b"open sesame\n").expect("room in the pipe");
    drop(pipe);
    assert_eq!(piped.wait().expect("it ends").code(), Some(0));
}
