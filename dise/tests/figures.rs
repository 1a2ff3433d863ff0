//! The figures of the HPS report, typed in as printed, and what goes wrong with them.

use crate::common::*;
use hps_dise::check::{Conflict, check};
use hps_dise::{DiseConfig, DiseError, LoadOptions, ProductionSet};
use hps_isa::inst::Inst;

const METHOD: &str = "M: (T.OPCLASS == proc_call || T.OPCLASS == branch && T.Target <= T.PC) && overflow_1 => { T.INSN }";

fn framework(figure: &str, sparsity: i64, burst: i64) -> ProductionSet {
    let files = [
        (REGISTERS, "registers.dise"),
        (figure, "framework.dise"),
        (METHOD, "method.dise"),
    ];
    parse_files(&files, &[("sparsity", sparsity), ("burst", burst)])
}

/// Numbers, from 1, of the sampled ones among `count` events.
fn sampled(set: &ProductionSet, count: u64, event: impl Fn(u64) -> Inst) -> Vec<u64> {
    let (mut engine, regs) = engine(set, &DiseConfig::default());
    let mut out = Vec::new();
    for n in 1..=count {
        // Other instructions between events change nothing.
        for other in [add(), store(), load()] {
            assert_eq!(step(&mut engine, n, &other, &regs), None);
        }
        if step(&mut engine, n, &event(n), &regs).is_some() {
            out.push(n);
        }
    }
    out
}

#[test]
fn corrected_framework_has_exactly_the_stated_frequency() {
    let settings = [
        (1, 99),
        (10, 990),
        (50, 450),
        (1, 0),
        (3, 0),
        (7, 13),
        (100, 1),
        (1, 1),
    ];
    for (burst, sparsity) in settings {
        let set = framework(CORRECTED, sparsity, burst);
        let period = (burst + sparsity) as u64;
        let count = 3 * period + period / 2;
        let mixed = |n: u64| {
            if n.is_multiple_of(3) {
                call()
            } else {
                back_edge()
            }
        };
        let expected: Vec<u64> = (1..=count)
            .filter(|n| (n - 1) % period >= sparsity as u64)
            .collect();
        assert_eq!(
            sampled(&set, count, mixed),
            expected,
            "burst {burst}, sparsity {sparsity}"
        );
        let whole = expected.iter().filter(|n| **n <= 3 * period).count() as i64;
        assert_eq!(whole * (burst + sparsity), 3 * burst * period as i64);
    }
}

#[test]
fn one_in_a_hundred_samples_every_hundredth_event() {
    let set = framework(CORRECTED, 99, 1);
    assert_eq!(sampled(&set, 350, |_| call()), [100, 200, 300]);
}

#[test]
fn printed_figure_never_ends_a_burst_at_a_call() {
    // Burst 1: overflow_2 is set all the time, and no production matches a call with both flags.
    let set = framework(FIGURE4, 9, 1);
    assert_eq!(sampled(&set, 30, |_| call()), (10..=30).collect::<Vec<_>>());
    // Longer bursts: P3 and P5 both run at the first sampled call, and P5 ends the burst there.
    let set = framework(FIGURE4, 9, 5);
    assert_eq!(sampled(&set, 30, |_| call()), [10, 20, 30]);
    let set = framework(CORRECTED, 9, 5);
    assert_eq!(
        sampled(&set, 30, |_| call()),
        [10, 11, 12, 13, 14, 24, 25, 26, 27, 28]
    );
}

#[test]
fn printed_figure_counts_forward_branches() {
    let set = parse_files(&[(REGISTERS, "r"), (FIGURE4, "f")], &[("sparsity", 1000)]);
    let (mut engine, regs) = engine(&set, &DiseConfig::default());
    let start = engine.counters()[1];
    step(&mut engine, 1, &back_edge(), &regs);
    assert_eq!(engine.counters()[1], start);
    step(&mut engine, 2, &forward_branch(), &regs);
    assert_eq!(engine.counters()[1], start + 1);
}

#[test]
fn printed_conflict_of_p3_and_p5_is_reported() {
    let set = parse_files(&[(REGISTERS, "r"), (FIGURE4, "f")], &[]);
    let report = check(&set);
    assert_eq!(
        (report.pt_entries, report.rt_entries, report.ct_entries),
        (6, 0, 4)
    );
    let texts: Vec<String> = report.conflicts.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "P3 and P5 have the same pattern (T.OPCLASS == proc_call && overflow_1 && !overflow_2) and null \
          replacements: both run on every match, first inc_2, then set_1(sampleFreq), set_2(burstLength); \
          P5 has the last word on counter 2"
        ]
    );
    assert!(
        matches!(&report.conflicts[0], Conflict::BothRun { first, second, .. } if first == "P3" && second == "P5")
    );
    let corrected = parse_files(&[(REGISTERS, "r"), (CORRECTED, "f")], &[]);
    assert!(check(&corrected).is_clean(), "{}", check(&corrected));
}

#[test]
fn figure_4_alone_lacks_its_registers() {
    let error = ProductionSet::parse(FIGURE4, "figure4.dise", &LoadOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "figure4.dise:26:12: unknown DISE register `sampleFreq`\n   |\n\
         26 | CC3: set_1(sampleFreq); set_2(burstLength);\n   |            ^\n   \
         = help: name it first: `register sampleFreq = dr0;`"
    );
}

#[test]
fn figure_5_as_printed() {
    let set = parse_files(
        &[(HANDLERS, "handlers.dise"), (FIGURE5, "figure5.dise")],
        &[],
    );
    let names: Vec<&str> = set
        .tables()
        .productions
        .iter()
        .map(|p| p.name.as_str())
        .collect();
    assert_eq!(names, ["P1", "P2", "P3"]);
    assert_eq!(
        set.tables().productions[2].entries.len(),
        2,
        "a disjunction takes two entries"
    );
    let warnings: Vec<String> = set.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].starts_with("figure5.dise:9:28: two parts of a pattern without an operator"),
        "{}",
        warnings[0]
    );
    // P3 contains P2's pattern: the order decides, and it is reported.
    let report = check(&set);
    let tie = report.conflicts.iter().any(
        |c| matches!(c, Conflict::Tie { winner, loser, .. } if winner == "P2" && loser == "P3"),
    );
    assert!(tie, "{report}");
}

#[test]
fn all_figures_together() {
    let set = parse_files(
        &[
            (REGISTERS, "registers.dise"),
            (FIGURE4, "a/figure4.dise"),
            (HANDLERS, "handlers.dise"),
            (FIGURE5, "figure5.dise"),
        ],
        &[],
    );
    assert_eq!(set.tables().productions[0].name, "figure4:P1");
    assert_eq!(set.tables().productions[6].name, "figure5:P1");
    assert_eq!(check(&set).pt_entries, 10);
    let merged = ProductionSet::merge([
        parse_files(
            &[(REGISTERS, "registers.dise"), (FIGURE4, "a/figure4.dise")],
            &[],
        ),
        parse_files(
            &[(HANDLERS, "handlers.dise"), (FIGURE5, "figure5.dise")],
            &[],
        ),
    ])
    .unwrap();
    assert_eq!(merged.tables(), set.tables());
    assert_eq!(merged.handler_image(), set.handler_image());
}

#[test]
fn grammar_of_figure_3() {
    let set = parse(FIGURE3);
    let entry = |p: usize| {
        set.tables().productions[p]
            .entries
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(entry(1), ["T.OPCLASS == store && !zero_0"]);
    // The Conditional of the grammar is one unit.
    assert_eq!(
        entry(2),
        [
            "T.OPCLASS == mul && overflow_0",
            "T.OPCLASS == mul && zero_1"
        ]
    );
    assert_eq!(
        entry(4),
        [
            "T.OPCLASS == fp && !overflow_0 && zero_2",
            "T.OPCLASS == fp && zero_1 && zero_2"
        ]
    );
    assert_eq!(set.tables().productions[4].control.len(), 3);
    assert!(set.warnings().is_empty());
}

#[test]
fn merging_needs_agreement() {
    let low = parse_files(&[(REGISTERS, "r")], &[("sparsity", 9)]);
    let high = parse_files(&[(REGISTERS, "r")], &[("sparsity", 99)]);
    let error = ProductionSet::merge([low.clone(), high]).unwrap_err();
    assert!(matches!(error, DiseError::MergedParam { .. }), "{error}");
    let other = parse("register sampleFreq = dr7;");
    let error = ProductionSet::merge([low, other]).unwrap_err().to_string();
    assert!(
        error.contains("`sampleFreq` is already the name of dr0"),
        "{error}"
    );
}
