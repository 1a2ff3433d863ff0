//! `hps profile --charged` and `--event`: profilers at their cost, and periods of events.

use crate::guest::rounds;
use crate::support::{Hps, elf};

fn program(hps: &Hps) -> String {
    let path = hps.path("rounds");
    std::fs::write(&path, elf(&rounds("div t1, t1, s2"))).expect("an executable");
    path
}

#[test]
fn a_run_that_pays_says_what_it_paid() {
    let hps = Hps::new();
    let program = program(&hps);
    let with = ["--with", "nci,interrupt", "--period", "1009", "--charged"];
    let text = hps
        .run(&[&["profile"], &with[..], &[&program]].concat())
        .expect_code(0);
    let cost = text.lines().find(|l| l.starts_with("at their cost"));
    let cost = cost.unwrap_or_else(|| panic!("{text}"));
    assert!(cost.contains("(interrupt, 4 words)"), "{cost}");
    let numbers: Vec<u64> = cost
        .split([' ', ':'])
        .filter_map(|word| word.replace(',', "").parse().ok())
        .collect();
    let [_, interrupts, cycles, without] = numbers[..] else {
        panic!("{cost}");
    };
    assert!(interrupts > 10, "{cost}");
    assert!(cycles > without + 214 * interrupts, "{cost}");
    let listed = |name: &str| text.lines().any(|l| l.starts_with(name));
    assert!(listed("nci") && listed("interrupt"), "{text}");
    // Cycles go to the profiler's handler, too.
    assert!(text.contains("flushed:interrupt"), "{text}");
}

#[test]
fn periods_of_events_sample_where_they_happen() {
    let hps = Hps::new();
    let program = program(&hps);
    let with = ["--with", "nci", "--period", "7", "--event", "mispredicted"];
    let text = hps
        .run(&[&["profile"], &with[..], &[&program]].concat())
        .expect_code(0);
    assert!(text.contains("7 events"), "{text}");
}

#[test]
fn what_cannot_be_is_refused_in_a_line() {
    let hps = Hps::new();
    let program = program(&hps);
    for (with, said) in [
        (
            vec!["--with", "tip,pebs", "--charged"],
            "cannot share a run",
        ),
        (
            vec!["--with", "tip,ibs", "--charged"],
            "interrupt after 211 cycles",
        ),
        (
            vec!["--with", "lci", "--charged"],
            "costs the program nothing",
        ),
        (
            vec!["--with", "software", "--charged"],
            "costs the program nothing here (not simulated)",
        ),
        (vec!["--with", "tip", "--event", "l1d_mis"], "no such event"),
        (vec!["--charged"], "--with"),
        (
            vec!["--with", "tip", "--event", "l1d_miss", "--charged"],
            "cycles or of instructions",
        ),
    ] {
        let run = hps.run(&[&["profile"], &with[..], &[&program]].concat());
        assert_ne!(run.code, 0, "{with:?}");
        assert!(run.stderr.contains(said), "{with:?}: {}", run.stderr);
    }
}
