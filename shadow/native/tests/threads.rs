//! Shadows by the thread of the program that they have.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::Bench;
use hps_shadow_native::found::rows;
use hps_shadow_native::{Mode, Request};

/// Shadows of three threads, of which one runs a hundredth of the time, by thread.
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
        // Each thread runs the function that it is named after.
        if row.shadows > 3 {
            assert_eq!(row.functions[0].function, row.name, "{rows:?}");
        }
        assert!(row.thread > 0);
    }
    for shadow in &session.shadows {
        assert!(["first", "second", "seldom", "turns"].contains(&shadow.thread_name.as_str()));
    }
    rows.into_iter()
        .map(|row| (row.name, row.shadows))
        .collect()
}

#[test]
fn a_thread_with_a_hundredth_of_the_time_gets_its_share_in_turn() {
    let running = shadows(false);
    let turn = shadows(true);
    let share = |shadows: &BTreeMap<String, u64>| {
        let all: u64 = shadows.values().sum();
        shadows.get("seldom").copied().unwrap_or(0) as f64 / all.max(1) as f64
    };
    assert!(running["first"] > 3 && running["second"] > 3, "{running:?}");
    // A hundredth of the shadows, and a third.
    assert!(share(&running) < 0.08, "{running:?}");
    assert!(share(&turn) > 0.15, "{turn:?} {running:?}");
}
