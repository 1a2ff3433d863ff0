//! Runs in slices by the command: output, results, what a folder keeps, refusals.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::cases::build::{Isa, build};
use crate::support::Hps;

const PLAN: [&str; 4] = ["--slice-length", "100000", "--slice-run-in", "20000"];

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn a_run_in_slices_prints_what_the_program_prints_once() {
    let hps = Hps::new();
    let straight = hps.run(&["run", "bwt"]);
    let file = hps.path("s.json");
    let option = format!("--json={file}");
    let order = [
        "run",
        "--machine",
        "hps-4wide",
        "--stats",
        &option,
        "--slices",
        "7",
        "bwt",
    ];
    let sliced = hps.run(&order);
    assert_eq!((sliced.code, &sliced.stdout), (0, &straight.stdout));
    assert!(sliced.stderr.contains("7 slices of"), "{}", sliced.stderr);
    let statistics = json(&std::fs::read_to_string(file).expect("statistics"));
    let slices = &statistics["slices"];
    assert_eq!(slices["slices"], 7);
    assert_eq!(slices["run_in_errors"].as_array().map(Vec::len), Some(6));
    let stack = &statistics["cpi_stack"];
    assert_eq!(
        stack["total_cycles"].as_f64(),
        statistics["cycles"].as_f64()
    );
}

#[test]
fn an_exit_code_and_standard_input_are_those_of_the_program() {
    let hps = Hps::new();
    let program = build(Isa::Riscv64, "slow_copy.c", &["-O1"]);
    let input: String = (0..2000).map(|line| format!("line {line}\n")).collect();
    let run = |more: &[&str]| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hps"))
            .args(["run", "--machine", "hps-4wide"])
            .args(more)
            .arg(&program)
            .current_dir(hps.path("."))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let mut stdin = child.stdin.take().expect("piped");
        std::io::Write::write_all(&mut stdin, input.as_bytes()).expect("written");
        drop(stdin);
        let done = child.wait_with_output().expect("it ends");
        (done.status.code(), done.stdout)
    };
    let wanted = (Some((input.len() % 251) as i32), input.clone().into_bytes());
    assert_eq!(run(&["--slice-length", "1000000"]), wanted);
}

#[test]
fn a_profile_in_slices_says_how_far_it_is_off() {
    let hps = Hps::new();
    let order = [
        "profile",
        "--max-instructions",
        "600000",
        "--with",
        "tip",
        "--json",
        "--slices-check",
    ];
    let text = hps
        .run(&[&order[..], &PLAN, &["parse"]].concat())
        .expect_code(0);
    let profile = json(&text);
    let slices = &profile["slices"];
    assert_eq!(profile["instructions"], 600_000);
    assert_eq!(slices["slices"], 6);
    assert!(
        slices["overlap"].as_f64().expect("a share") > 0.98,
        "{slices}"
    );
    assert!(
        slices["difference"].as_f64().expect("a share").abs() < 0.02,
        "{slices}"
    );
    assert!(profile["functions"][0]["calls"].is_null());
    assert!(
        profile["profilers"][0]["samples"]
            .as_u64()
            .expect("a count")
            > 200
    );
}

#[test]
fn a_killed_profile_goes_on() {
    let hps = Hps::new();
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().to_string_lossy().into_owned();
    let order = ["profile", "--json", "--slices-in", &at];
    let order = [&order[..], &PLAN, &["chess"]].concat();
    let mut run = Command::new(env!("CARGO_BIN_EXE_hps"))
        .args(&order)
        .current_dir(hps.path("."))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command runs");
    let has_results = || {
        let mut entries = std::fs::read_dir(folder.path())
            .expect("a folder")
            .flatten();
        entries.any(|entry| entry.file_name().to_string_lossy().ends_with(".slice"))
    };
    while !has_results() && run.try_wait().expect("it is there").is_none() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    run.kill().expect("the command is killed");
    run.wait().expect("it ends");
    let resumed = json(&hps.run(&order).expect_code(0));
    assert!(resumed["slices"]["found_slices"].as_u64().expect("a count") > 0);
    let whole = [&["profile", "--json"][..], &PLAN, &["chess"]].concat();
    let whole = json(&hps.run(&whole).expect_code(0));
    assert_eq!(resumed["cycles"], whole["cycles"]);
    assert_eq!(resumed["static_instructions"], whole["static_instructions"]);
}

#[test]
fn parts_are_timed_apart_and_joined() {
    let hps = Hps::new();
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().to_string_lossy().into_owned();
    let order = [
        "run",
        "--machine",
        "hps-4wide",
        "--max-instructions",
        "500000",
        "--json",
    ];
    let run = |more: &[&str]| {
        hps.run(&[&order[..], &PLAN, &["--slices-in", &at], more, &["lz"]].concat())
    };
    for part in ["1/2", "2/2"] {
        let done = run(&["--slice-part", part]);
        assert_eq!(
            (done.code, &done.stdout[..]),
            (0, &b""[..]),
            "{}",
            done.stderr
        );
        assert!(
            done.stderr
                .contains("the command without --slice-part joins"),
            "{}",
            done.stderr
        );
    }
    let text = run(&[]).expect_code(0);
    let begin = text.find('{').expect("an object");
    assert_eq!(json(&text[begin..])["slices"]["found_slices"], 5);
}

#[test]
fn what_does_not_go_with_slices_is_named() {
    let hps = Hps::new();
    let cases: [(&[&str], &str); 13] = [
        (&["run", "--gdb", "0", "--slices", "3", "bwt"], "--slices"),
        (
            &[
                "run",
                "--machine",
                "hps-4wide",
                "--slices",
                "3",
                "--regions",
                "none",
                "bwt",
            ],
            "none.simpoints",
        ),
        (&["run", "--jobs", "2", "bwt"], "--jobs"),
        (&["profile", "--jobs", "2", "bwt"], "--jobs"),
        (&["run", "--slices", "3", "bwt"], "--machine"),
        (
            &["run", "--machine", "cmp-4", "--slices", "3", "bwt"],
            "several contexts",
        ),
        (
            &[
                "run",
                "--machine",
                "hps-4wide",
                "--slices",
                "3",
                "--sample",
                "bwt",
            ],
            "--sample",
        ),
        (
            &["run", "--machine", "hps-4wide", "--slices-in", "x", "bwt"],
            "--slices-in",
        ),
        (
            &["run", "--machine", "hps-4wide", "--slices", "0", "bwt"],
            "0",
        ),
        (
            &[
                "run",
                "--machine",
                "hps-4wide",
                "--slices",
                "9000000",
                "bwt",
            ],
            "run-in",
        ),
        (
            &["profile", "--slices", "3", "--timeline", "bwt"],
            "--timeline",
        ),
        (
            &["profile", "--slices", "3", "--process", "all", "bwt"],
            "--process",
        ),
        (
            &["profile", "--slices", "3", "--slice-part", "1/2", "bwt"],
            "--slices-in",
        ),
    ];
    for (order, named) in cases {
        let refused = hps.run(order);
        assert_ne!(refused.code, 0, "{order:?}");
        assert!(
            refused.stderr.contains(named),
            "{order:?}: {}",
            refused.stderr
        );
    }
}
