//! The listings against numbers that the paper prints.

use std::collections::BTreeMap;

use super::{Line, Spread, difference, prof, stats};
use crate::samples::Event;

#[test]
fn the_listing_of_figure_1_has_its_shares() {
    let line = |procedure: &str, cycles, imiss| Line {
        procedure: procedure.to_string(),
        image: "libmi.so".to_string(),
        counts: vec![cycles, imiss],
    };
    // The first two lines of the paper, and all others as one.
    let lines = [
        line("ffb8ZeroPolyArc", 2_064_143, 43_443),
        line("ReadRequestFromClient", 517_464, 86_621),
        line(
            "rest",
            6_095_201 - 2_064_143 - 517_464,
            1_117_002 - 43_443 - 86_621,
        ),
    ];
    let text = prof(&lines, &[Event::Cycles, Event::Imiss], 2);
    assert!(text.contains("cycles = 6095201, imiss = 1117002"), "{text}");
    for wanted in ["33.87%", "8.49%", "42.35%", "3.89%", "7.75%", "(1 more)"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

#[test]
fn the_statistics_of_figure_3_follow_from_its_extremes() {
    // The paper prints mean, deviation and extremes of smooth_ over eight sets, and no single set but these two.
    let spread = Spread {
        procedure: "smooth_".to_string(),
        counts: vec![38_155, 88_075],
    };
    assert_eq!(spread.extremes(), (38_155, 88_075));
    assert_eq!(spread.mean(), 63_115.0);
    assert!((spread.deviation() - 35_298.8).abs() < 0.1);
    // Range of the procedure's samples over the sum of eight sets.
    assert_eq!(
        format!("{:.2}", 100.0 * f64::from(88_075 - 38_155) / 441_040.0),
        "11.32"
    );
    let set = |a, b| BTreeMap::from([("a".to_string(), a), ("b".to_string(), b)]);
    let text = stats(&[set(100, 50), set(100, 150)], 0.0, 10);
    let first = text.lines().find(|l| l.ends_with("  b")).expect("a line");
    assert!(first.contains("50.00%") && first.contains("200"), "{text}");
}

#[test]
fn differences_are_of_shares() {
    let before = BTreeMap::from([("a".to_string(), 50), ("b".to_string(), 50)]);
    let after = BTreeMap::from([("a".to_string(), 150), ("c".to_string(), 50)]);
    let text = difference(&before, &after, 10);
    assert!(text.contains("-50.00%         50          0  b"), "{text}");
    assert!(text.contains("+25.00%         50        150  a"), "{text}");
}
