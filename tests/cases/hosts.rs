//! Limits of the host that the command may meet: a full standard error, a small stack, input that never ends.

use std::fs::File;
use std::process::{Command, Stdio};

use super::support::{Hps, exit_with};

/// Nobody hears the summary, but statistics are written and the guest's exit code is kept.
#[test]
fn a_full_standard_error_costs_no_results() {
    let hps = Hps::new();
    let program = hps.program("three", &exit_with(3));
    let file = hps.path("stats.json");
    let full = File::options()
        .write(true)
        .open("/dev/full")
        .expect("a full device");
    let status = Command::new(env!("CARGO_BIN_EXE_hps"))
        .args([
            "run",
            "--machine",
            "tiny-2wide",
            "--stats",
            &format!("--json={file}"),
            &program,
        ])
        .stderr(full)
        .status()
        .expect("it runs");
    assert_eq!(status.code(), Some(3));
    let text = std::fs::read(&file).expect("statistics");
    let stats: serde_json::Value = serde_json::from_slice(&text).expect("whole JSON");
    assert_eq!(stats["instructions"], 3, "{stats}");
}

#[test]
fn a_small_stack_is_enough() {
    let hps = Hps::new();
    let program = hps.program("three", &exit_with(3));
    let script = format!(
        "ulimit -s 256; exec {} run {program}",
        env!("CARGO_BIN_EXE_hps")
    );
    let status = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::null())
        .status();
    assert_eq!(status.expect("a shell").code(), Some(3));
}

#[test]
fn input_that_never_ends_is_refused() {
    let hps = Hps::new();
    let program = hps.program("ok", &exit_with(0));
    for order in [
        &["run", "/dev/zero"][..],
        &["run", "--productions", "/dev/zero", &program],
        &["run", "--machine", "/dev/zero", &program],
        &["sweep", "/dev/zero"],
        &["dise", "check", "/dev/zero"],
    ] {
        let run = hps.run(order);
        assert_eq!(run.code, 2, "{order:?}: {}", run.stderr);
        assert!(
            run.stderr.contains("/dev/zero") && run.stderr.contains("more than the"),
            "{order:?}: {}",
            run.stderr
        );
        assert_eq!(run.stderr.lines().count(), 1, "{order:?}: {}", run.stderr);
    }
}

#[test]
fn a_sum_of_thirty_thousand_terms_is_refused_in_words() {
    let hps = Hps::new();
    let text = format!("const a = {}1;\n", "1+".repeat(30_000));
    std::fs::write(hps.path("long.dise"), text).expect("a production file");
    let run = hps.run(&["dise", "check", "long.dise"]);
    assert_ne!(run.code, 0);
    assert!(run.stderr.contains("1000 operators"), "{}", run.stderr);
}
