//! Shadows by the thread of the program that they have.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::Bench;
use hps_shadow_native::found::rows;
use hps_shadow_native::{Mode, Request};

/// Shadows of three threads, of which one runs a hundredth of the time, by thread; in turn from the first one of that thread on.
fn shadows(by_turn: bool) -> BTreeMap<String, u64> {
    let bench = Bench::new();
    let program = bench.compile("turns.c", &[]);
    let request = Request {
        by_turn,
        load: 3.0,
        sample: 20_000,
        ..bench.request(Mode::Sample, &[&program, Path::new("200000")])
    };
    let mut session = request.run(&bench.library).expect("it runs");
    assert_eq!(session.code, 0);
    let sum: u64 = session.threads.iter().map(|thread| thread.shadows).sum();
    assert_eq!(sum, session.monitor.forks);
    let rows = rows(&session.threads, &mut session.symbols, 3);
    for row in &rows {
        // Each thread runs the function that it is named after; the third one mostly sleeps.
        if row.shadows > 3 && row.name != "seldom" {
            let functions = row.functions.iter();
            let mut names = functions.map(|function| &function.function);
            assert!(names.any(|name| *name == row.name), "{rows:?}");
        }
        assert!(row.thread > 0);
    }
    for shadow in &session.shadows {
        assert!(["first", "second", "seldom", "turns"].contains(&shadow.thread_name.as_str()));
    }
    // Until the timer has expired in it, nobody knows that the third thread runs.
    let names = session.shadows.iter().map(|shadow| &shadow.thread_name);
    let known = names.skip_while(|name| by_turn && *name != "seldom");
    let mut shadows = BTreeMap::new();
    for name in known {
        *shadows.entry(name.clone()).or_insert(0) += 1;
    }
    shadows
}

#[test]
fn each_shadow_has_the_thread_that_it_goes_on() {
    assert!(!shadows(false).is_empty());
}

#[test]
#[ignore = "shares of time, which a busy host changes: scripts/nightly.sh"]
fn a_thread_with_a_hundredth_of_the_time_gets_its_share_in_turn() {
    let running = shadows(false);
    let turn = shadows(true);
    let share = |shadows: &BTreeMap<String, u64>| {
        let all: u64 = shadows.values().sum();
        shadows.get("seldom").copied().unwrap_or(0) as f64 / all.max(1) as f64
    };
    // A hundredth of the shadows, and a third, but for turns in which the thread was waited for in vain.
    assert!(share(&running) < 0.08, "{running:?}");
    assert!(share(&turn) > 0.2, "{turn:?} {running:?}");
}
