//! A script's functions are observed with the shares of time that the script itself measures.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use hps_shim::observer;
use hps_shim::pace::Pace;
use hps_shim::region::{REGION_VARIABLE, Region};
use hps_shim::tags::TagCounts;

/// Points that an observed share may be off.
const POINTS: f64 = 2.0;
/// Runs, of which one must be right for all functions, since the host may be busy. A wrong tag is wrong
/// in each of them.
const ATTEMPTS: usize = 6;

/// Runs the script under the observer: for each function the line of its definition, the share that
/// the script measured and the share of samples, in percent.
fn observe(rounds: u32) -> Vec<(String, f64, f64)> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shares.lua");
    let region = Region::create().expect("a region");
    let mut child = Command::new(env!("CARGO_BIN_EXE_hps-shim-lua"))
        .arg(&script)
        .arg(rounds.to_string())
        .env(REGION_VARIABLE, region.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let output = child.stdout.take().expect("its output");
    let ended = AtomicBool::new(false);
    let mut tags = TagCounts::new(1 << 12);
    let text = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let text = std::io::read_to_string(output);
            ended.store(true, Ordering::Relaxed);
            text.expect("text")
        });
        observer::tally(&region, Pace::Cycles(5_000), &mut tags, &ended);
        reader.join().expect("the reader")
    });
    assert!(child.wait().expect("it ends").success());
    let samples_of = |line: &str| -> u64 {
        let named = tags.iter().filter(|(tag, _)| {
            let name = region.name(*tag).unwrap_or_default();
            name.ends_with(&format!("shares.lua:{line}"))
        });
        named.map(|(_, samples)| samples).sum()
    };
    let measured: Vec<(&str, f64)> = text
        .lines()
        .map(|line| {
            let (line, share) = line.split_once('\t').expect("two columns");
            (line, share.parse().expect("a share"))
        })
        .collect();
    let whole: u64 = measured.iter().map(|(line, _)| samples_of(line)).sum();
    assert!(whole > 1_000, "only {whole} samples:\n{text}");
    measured
        .iter()
        .map(|(line, share)| {
            let seen = samples_of(line) as f64 / whole as f64;
            ((*line).to_owned(), 100.0 * share, 100.0 * seen)
        })
        .collect()
}

#[test]
fn shares_of_functions_are_recovered() {
    let mut last = Vec::new();
    for attempt in 1..=ATTEMPTS {
        last = observe(1000);
        eprintln!(
            "attempt {attempt}: line, share measured by the script, share observed: {last:?}"
        );
        assert_eq!(last.len(), 3);
        if last
            .iter()
            .all(|(_, own, seen)| (own - seen).abs() <= POINTS)
        {
            return;
        }
    }
    panic!("no attempt within {POINTS} points; the last: {last:?}");
}

#[test]
fn without_an_observer_scripts_run_as_ever() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shares.lua");
    let output = Command::new(env!("CARGO_BIN_EXE_hps-shim-lua"))
        .arg(script)
        .arg("1")
        .env_remove(REGION_VARIABLE)
        .output()
        .expect("it starts");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 3);
    let output = Command::new(env!("CARGO_BIN_EXE_hps-shim-lua"))
        .arg("/nowhere.lua")
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("/nowhere.lua"), "{said}");
}
