//! Result stores: locks, checksums, repair.

use std::path::Path;

use super::support::{Hps, exit_with};

/// A sweep of two points that times nothing.
const SWEEP: &str = "(programs: [], own_programs: [(path: \"ok\")], profiles: [method], bursts: [1], \
                     one_in: [10, 100], timing: Off)";

fn hps_with_sweep() -> Hps {
    let hps = Hps::new();
    hps.program("ok", &exit_with(0));
    std::fs::write(hps.path("sweep.ron"), SWEEP).expect("a definition");
    hps
}

#[test]
fn a_second_sweep_into_a_folder_is_refused_and_changes_nothing() {
    let hps = hps_with_sweep();
    let path = hps.path("hps-results/results.jsonl");
    let first = hps_experiments::Store::open(Path::new(&path)).expect("a store");
    let run = hps.run(&["sweep", "sweep.ron"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    let holder = format!("another run (process {})", std::process::id());
    assert!(run.stderr.contains(&holder), "{}", run.stderr);
    assert!(run.stderr.contains("--out"), "{}", run.stderr);
    assert_eq!(std::fs::read(&path).expect("the store"), b"");
    drop(first);
    hps.run(&["sweep", "sweep.ron"]).expect_code(0);
}

#[test]
fn a_digit_that_changed_is_refused_with_its_line() {
    let hps = hps_with_sweep();
    hps.run(&["sweep", "sweep.ron"]).expect_code(0);
    let path = hps.path("hps-results/results.jsonl");
    let text = std::fs::read_to_string(&path).expect("rows");
    let changed = text.replacen("\"one_in\":100", "\"one_in\":700", 1);
    assert_ne!(text, changed);
    std::fs::write(&path, changed).expect("written");
    let run = hps.run(&["sweep", "sweep.ron"]);
    assert_eq!(run.code, 2);
    let line = 1 + text
        .lines()
        .position(|l| l.contains("\"one_in\":100"))
        .expect("a row");
    assert!(
        run.stderr.contains(&format!("results.jsonl:{line}: ")) && run.stderr.contains("checksum"),
        "{}",
        run.stderr
    );
}
