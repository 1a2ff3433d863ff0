//! Budgets of overhead, by what the monitor counts.

use std::path::Path;

use crate::support::Bench;
use hps_shadow_native::{Mode, Request, Session};

/// A program that writes so many MiB again and again, under a budget.
fn writes(budget: Option<f64>, words: &[&str]) -> Session {
    let bench = Bench::new();
    let program = bench.compile("writes.c", &[]);
    let words = words.iter().map(Path::new);
    let command: Vec<&Path> = std::iter::once(program.as_path()).chain(words).collect();
    let request = Request {
        most_overhead: budget,
        ..bench.request(Mode::Sample, &command)
    };
    let session = request.run(&bench.library).expect("it runs");
    assert_eq!(session.code, 0);
    session
}

const PAGES: u64 = (64 << 20) / 4096;

#[test]
fn a_fork_that_does_not_fit_is_never_made_and_the_reason_has_its_numbers() {
    let session = writes(Some(0.01), &["64", "200"]);
    let monitor = session.monitor;
    assert_eq!(monitor.forks, 0, "not even the first one");
    assert!(monitor.spared > 0, "{monitor:?}");
    assert!(monitor.expected_bytes >= 64 << 20, "{monitor:?}");
    // Each page is expected to be copied.
    assert!(
        monitor.expected_ns >= PAGES * monitor.fault_ns,
        "{monitor:?}"
    );
    let why = session.no_shadow(std::time::Duration::ZERO, false);
    let why = why.expect("a reason");
    for said in [
        "a fork of 6",
        "MiB is expected to cost",
        "; 1% of ",
        "run longer",
        "allow more",
    ] {
        assert!(why.contains(said), "{said}: {why}");
    }
}

#[test]
fn copies_of_pages_are_counted_and_forks_are_spared_for_them() {
    for kind in ["0", "1"] {
        let session = writes(Some(0.5), &["64", "600", kind]);
        let monitor = session.monitor;
        assert!(
            monitor.forks > 0 && monitor.spared > 0,
            "{kind} {monitor:?}"
        );
        // The program writes each page soon after each fork; the last fork may come just before its end.
        assert!(monitor.copied >= PAGES / 2, "{kind} {monitor:?}");
        let most = monitor.forks * (PAGES + 2000);
        assert!(monitor.copied <= most, "{kind} {monitor:?}");
        assert!(
            monitor.copied_ns >= monitor.copied * monitor.fault_ns,
            "{kind} {monitor:?}"
        );
        // What has been spent is what the program had earned, but for one fork that was expected to cost less.
        let spent = (monitor.spent_ns + monitor.copied_ns) as f64;
        let earned = 0.5 * session.cpu.as_secs_f64() * 1e9;
        let one = spent / monitor.forks as f64;
        assert!(spent <= earned + one, "{kind} {monitor:?}");
        assert!(
            session
                .shadows
                .iter()
                .all(|shadow| shadow.sample >= 100_000)
        );
    }
}

#[test]
fn without_a_budget_nothing_is_spared_or_counted() {
    let monitor = writes(None, &["16", "200"]).monitor;
    assert!(monitor.forks > 0, "{monitor:?}");
    assert_eq!(
        (monitor.spared, monitor.copied, monitor.fault_ns),
        (0, 0, 0)
    );
}
