//! `hps reproduce`: bars that sum, no basic overhead of HPS, and runs that go on where they stopped.

use std::collections::BTreeMap;
use std::path::Path;

use crate::guest::rounds;
use crate::support::{Hps, elf};

/// [`rounds`] with 13,000 events: more than a period of 10,000.
fn program(hps: &Hps) -> String {
    let path = hps.path("loops");
    std::fs::write(&path, elf(&rounds("sd s2, 8(t1)"))).expect("an executable");
    path
}

/// The lines of a CSV file without quotes, by the names of its columns.
fn csv(file: &Path) -> Vec<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let mut lines = text.lines();
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let head = cells(lines.next().expect("a header"));
    lines
        .map(|line| head.iter().cloned().zip(cells(line)).collect())
        .collect()
}

/// Figure 7 alone, of one program.
fn figure7<'a>(program: &'a str, out: &'a str) -> [&'a str; 8] {
    [
        "reproduce",
        "hps-2005",
        "--only",
        "figure7",
        "--program",
        program,
        "--out",
        out,
    ]
}

#[test]
fn bars_sum_and_a_killed_run_goes_on() {
    let hps = Hps::new();
    let program = program(&hps);
    let out = hps.path("out");
    let order = figure7(&program, &out);
    let said = hps.run(&order).expect_code(0);
    assert!(
        said.contains("[confirmed] HPS has no basic overhead"),
        "{said}"
    );
    let folder = Path::new(&out);
    let bars = csv(&folder.join("figure7.csv"));
    let number = |bar: &BTreeMap<String, String>, column: &str| -> Option<i64> {
        let cell = &bar[column];
        (!cell.is_empty()).then(|| cell.parse().unwrap_or_else(|e| panic!("{column}: {e}")))
    };
    for scheme in ["hps", "plain_dise", "software", "software_reduced"] {
        let kinds = bars.iter().filter(|bar| bar["scheme"] == scheme).count();
        assert_eq!(kinds, 3, "{scheme}");
    }
    for bar in &bars {
        let parts = bar.keys().filter(|c| c.ends_with("_cycles"));
        let parts = parts.filter(|c| !["baseline_cycles", "whole_cycles"].contains(&c.as_str()));
        let sum: i64 = parts.filter_map(|column| number(bar, column)).sum();
        let of = |column| number(bar, column).expect("every scheme has it");
        assert_eq!(of("baseline_cycles") + sum, of("whole_cycles"), "{bar:?}");
        if bar["scheme"].starts_with("software") {
            continue;
        }
        let basic = of("basic_cycles");
        match bar["scheme"].as_str() {
            "hps" => assert_eq!((basic, of("checks_cycles")), (0, 0), "{bar:?}"),
            _ => assert!(basic > 0, "{bar:?}"),
        }
        assert!(of("whole_cycles") > of("baseline_cycles"), "{bar:?}");
    }
    // Everything that was collected is what a functional run says.
    let measured = csv(&folder.join("measurements.csv"));
    let differ: Vec<_> = measured
        .iter()
        .filter(|m| m["measure"] == "members_that_differ" && !m["scheme"].starts_with("software"))
        .collect();
    assert!(
        differ.len() >= 9 && differ.iter().all(|m| m["value"] == "0"),
        "{differ:?}"
    );
    for column in ["program_hash", "burst_events", "one_in", "interval_95"] {
        assert!(measured[0].contains_key(column), "{column}");
    }
    let page = std::fs::read_to_string(folder.join("report.html")).expect("a report");
    assert!(page.contains("Figure 7") && !page.contains("Figure 10:"));

    // A kill in the middle of the last line costs its own run and no other.
    let store = folder.join("units.jsonl");
    let text = std::fs::read(&store).expect("results");
    let lines = text.iter().filter(|byte| **byte == b'\n').count();
    std::fs::write(&store, &text[..text.len() - 20]).expect("cut");
    let kept = text[..text.len() - 1]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .expect("two lines")
        + 1;
    assert_eq!(hps.run(&order).expect_code(0), said);
    let again = std::fs::read(&store).expect("results");
    assert_eq!(again[..kept], text[..kept], "what was kept stays");
    assert_eq!(again.iter().filter(|byte| **byte == b'\n').count(), lines);
    assert_eq!(csv(&folder.join("figure7.csv")), bars);
}

/// The instruction-driven core gives equal profiles, and cycles that are nearly equal.
#[test]
fn the_faster_core_makes_nearly_the_same_bars() {
    let hps = Hps::new();
    let program = program(&hps);
    let reproduced = |core: &str| {
        let out = hps.path(core);
        let order = [&figure7(&program, &out)[..], &["--core", core]].concat();
        let said = hps.run(&order).expect_code(0);
        assert!(
            said.contains("[confirmed] HPS has no basic overhead"),
            "{said}"
        );
        let folder = Path::new(&out);
        let page = std::fs::read_to_string(folder.join("report.html")).expect("a report");
        let is_faster = core == "instruction";
        assert_eq!(page.contains("--core instruction"), is_faster);
        assert_eq!(page.contains("an instruction at a time"), is_faster);
        let measured = csv(&folder.join("measurements.csv"));
        assert!(measured.iter().all(|m| m["core"] == core));
        measured
    };
    let (cycle, instruction) = (reproduced("cycle"), reproduced("instruction"));
    assert_eq!(cycle.len(), instruction.len());
    let mut timed = 0;
    for (reference, faster) in cycle.iter().zip(&instruction) {
        let number = |m: &BTreeMap<String, String>| m["value"].parse::<f64>().expect("a number");
        let (is, was) = (number(faster), number(reference));
        assert_eq!(faster["measure"], reference["measure"]);
        if reference["measure"] == "cycles" {
            timed += 1;
            assert!((is / was - 1.0).abs() < 0.02, "{reference:?}, {is}");
        } else {
            assert_eq!(is, was, "{reference:?}");
        }
    }
    assert!(timed >= 20, "{timed}");
}

#[test]
fn orders_that_make_no_sense_are_refused() {
    let hps = Hps::new();
    for order in [
        &["reproduce"][..],
        &["reproduce", "hps-1905"],
        &["reproduce", "hps-2005", "--only", "figure5"],
        &[
            "reproduce",
            "hps-2005",
            "--program",
            "bwt",
            "--program",
            "./a",
        ],
        &["reproduce", "hps-2005", "--program", "bwt", "--", "x"],
        &["reproduce", "hps-2005", "--program", "no-such-program"],
        &["reproduce", "hps-2005", "--program", "./no-such-file"],
        &["reproduce", "hps-2005", "--program", "bwt", "--root", "."],
        &[
            "reproduce",
            "tip-2021",
            "--program",
            "./a",
            "--isa",
            "alpha",
        ],
        &[
            "reproduce",
            "hps-2005",
            "--core",
            "instruction",
            "--machine",
            "ev5",
        ],
    ] {
        let run = hps.run(order);
        assert_eq!(run.code, 2, "{order:?}: {}", run.stderr);
    }
}
