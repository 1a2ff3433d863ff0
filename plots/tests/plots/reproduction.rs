//! The report of a reproduction, from numbers made by a formula.

use std::fs;

use hps_experiments::claims::claims;
use hps_experiments::{CoreKind, Measurement, Outcome, ProfileKind, UnitRecord, paper_burst};
use hps_plots::{PlotError, ReportInfo, text_of, write_reproduction};

use crate::support::{Timed, grid};

/// A run of Figure 7: program, scheme, kind of profile, step, cycles.
fn run(
    program: &str,
    scheme: &str,
    kind: Option<ProfileKind>,
    step: &str,
    cycles: f64,
) -> UnitRecord {
    let measurement = |measure: &str, value: f64| Measurement {
        program: program.to_string(),
        isa: "riscv64".to_string(),
        profile: kind,
        scheme: scheme.to_string(),
        burst: None,
        one_in: None,
        setting: step.to_string(),
        x: None,
        measure: measure.to_string(),
        value,
        interval: None,
        run: None,
    };
    UnitRecord {
        id: format!("{program} {scheme} {kind:?} {step}"),
        version: "0.1.0".to_string(),
        study: "figure7".to_string(),
        program: program.to_string(),
        program_hash: "abc".to_string(),
        isa: "riscv64".to_string(),
        input: "small".to_string(),
        machine: "m".to_string(),
        machine_fingerprint: "f".to_string(),
        core: CoreKind::Cycle,
        measurements: vec![measurement("cycles", cycles)],
        failure: None,
    }
}

/// HPS costs 20 cycles of 1,000, plain DISE 100 and 200 and 20; one program gets faster by sampling.
fn records() -> Vec<UnitRecord> {
    let mut records = Vec::new();
    for (program, sampling) in [("one", 20.0), ("<two>", -4.0)] {
        records.push(run(program, "baseline", None, "", 1000.0));
        for kind in ProfileKind::ALL {
            let burst = Some(paper_burst(kind));
            for (scheme, basic, checks) in [("hps", 0.0, 0.0), ("plain_dise", 100.0, 200.0)] {
                let counting = 1000.0 + basic;
                // Beginning and ending bursts costs plain DISE 7 cycles, which its whole run pays too.
                let ends = if scheme == "hps" { 0.0 } else { 7.0 };
                for (step, of_kind, cycles) in [
                    ("counting", None, counting),
                    ("counting_bursts", None, counting + ends),
                    ("never_samples", Some(kind), counting + checks),
                    ("whole", Some(kind), counting + checks + sampling),
                ] {
                    let mut record = run(program, scheme, of_kind, step, cycles);
                    record.measurements[0].burst = burst;
                    records.push(record);
                }
            }
        }
    }
    records
}

fn info() -> ReportInfo {
    ReportInfo {
        title: "Again".into(),
        command: "hps reproduce hps-2005".into(),
        version: "0.1.0".into(),
        ..ReportInfo::default()
    }
}

#[test]
fn a_report_holds_what_was_measured_and_judges_it() {
    let outcome = Outcome {
        rows: grid(&["one", "<two>"], Timed::PaperPoints),
        records: records(),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let files = write_reproduction(folder.path(), &outcome, &info()).expect("a report");
    let page = fs::read_to_string(&files.html).expect("a page");
    for chapter in [
        "claims",
        "figure7",
        "figure8",
        "figure9",
        "figure10",
        "conditions",
    ] {
        assert!(
            page.contains(&format!("<section id=\"{chapter}\">")),
            "{chapter}"
        );
    }
    assert!(!page.contains("figure6") && !page.contains("<two>") && page.contains("&lt;two&gt;"));
    // The answers and the picture that shows them stand above all chapters; each picture is there once.
    let (top, chapters) = page.split_once("<section").expect("chapters");
    let answer = "<ul class=\"answer\">\n<li><strong>hot method</strong>: burst 1, ";
    assert!(top.contains(answer));
    assert_eq!(top.matches("<figcaption>figures/figure8-all.").count(), 1);
    assert_eq!(chapters.matches("At the top of this page: ").count(), 1);
    assert_eq!(page.matches("<figcaption>").count(), 1 + 3 * 4);
    // Three kinds in four figures and one of all, each as SVG and PNG.
    assert_eq!(files.figures.len(), 2 * (1 + 3 * 4));
    let bars = fs::read_to_string(folder.path().join("figure7.csv")).expect("bars");
    let first = "one,riscv64,data_stream,plain_dise,1000,1320,13,107,200,,";
    assert!(bars.lines().any(|line| line.starts_with(first)), "{bars}");
    assert_eq!(bars.lines().count(), 1 + 2 * 3 * 2);
    let claims = text_of(&claims(&outcome.rows, &outcome.records));
    for judged in [
        "[confirmed] HPS has no basic overhead",
        "[differs: 0.28 times the published] HPS removes 106",
        "[differs: 1.88 times the published] HPS removes 16",
        "[holds] The parts of each bar",
        "[not measured] The schemes collect identical profiles",
    ] {
        assert!(claims.contains(judged), "{judged}: {claims}");
    }
}

#[test]
fn verdicts_come_from_the_numbers() {
    let mut outcome = Outcome {
        rows: Vec::new(),
        records: records(),
    };
    // One cycle is enough.
    let counting = outcome
        .records
        .iter_mut()
        .find(|r| r.id.contains("hps None counting"));
    counting.expect("a run").measurements[0].value += 1.0;
    let claims = text_of(&claims(&outcome.rows, &outcome.records));
    assert!(
        claims.contains("[differs: up to 1 cycles] HPS has no basic overhead"),
        "{claims}"
    );
    assert!(claims.contains("[holds] The parts of each bar"), "{claims}");
    // Without the rows of a sweep nothing is said about accuracy.
    assert!(
        claims.contains("[not measured] It is about 1% on average"),
        "{claims}"
    );
}

#[test]
fn nothing_makes_no_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = write_reproduction(folder.path(), &Outcome::default(), &info());
    assert!(matches!(made, Err(PlotError::NoRows)));
}
