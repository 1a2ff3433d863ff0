//! The report of a leaderboard, from records made by hand.

use std::fs;

use hps_experiments::{CoreKind, Measurement, ProfileKind, UnitRecord, leaderboard};
use hps_plots::{PlotError, ReportInfo, write_leaderboard};

/// A record of a program with numbers of one profiler: measure, setting, value, interval.
fn record(
    study: &str,
    program: &str,
    (scheme, profile, one_in): (&str, Option<ProfileKind>, Option<u64>),
    numbers: &[(&str, &str, f64)],
) -> UnitRecord {
    let measurement = |&(measure, setting, value): &(&str, &str, f64)| Measurement {
        program: program.to_string(),
        isa: "riscv64".to_string(),
        profile,
        scheme: scheme.to_string(),
        burst: one_in.map(|_| 1),
        one_in,
        setting: setting.to_string(),
        x: None,
        measure: measure.to_string(),
        value,
        interval: None,
    };
    UnitRecord {
        id: format!("{study} {program} {scheme} {one_in:?}"),
        version: "0.1.0".to_string(),
        study: study.to_string(),
        program: program.to_string(),
        program_hash: "abc".to_string(),
        isa: "riscv64".to_string(),
        input: "small".to_string(),
        machine: "m".to_string(),
        machine_fingerprint: "f".to_string(),
        core: CoreKind::Cycle,
        measurements: numbers.iter().map(measurement).collect(),
        failure: None,
    }
}

/// Two programs. TIP errs by 2% and 4%, NCI by 20% and 40%; HPS costs 3% and 5% at 1/100, and 0.5% and 0.7% at 1/500.
fn records() -> Vec<UnitRecord> {
    let mut all = Vec::new();
    for (program, factor, costs) in [("one", 1.0, [0.03, 0.005]), ("<two>", 2.0, [0.05, 0.007])] {
        for (name, error) in [("tip", 0.02), ("nci", 0.2)] {
            let error = error * factor;
            let numbers =
                ["instruction", "block", "line", "function"].map(|l| ("error_ratio", l, error));
            all.push(record(
                leaderboard::PASSIVE,
                program,
                (name, None, None),
                &numbers,
            ));
        }
        for (one_in, cost) in [100, 500].into_iter().zip(costs) {
            let of = ("hps", Some(ProfileKind::Method), Some(one_in));
            let numbers = [
                ("error_ratio", "", 0.1),
                ("overhead_ratio", "", cost),
                ("perturbation_ratio", "", cost),
                ("memory_bytes", "", 4096.0),
            ];
            all.push(record(leaderboard::COSTLY, program, of, &numbers));
        }
    }
    all
}

#[test]
fn a_budget_chooses_the_densest_point_within_it() {
    let point = |budget| {
        let board = &leaderboard::board(&records(), budget)[0];
        let hps = board.entries.iter().find(|e| e.name == "hps").expect("hps");
        (hps.point.expect("bursts").1, hps.within_budget)
    };
    assert_eq!(point(None), (100, true));
    // Means over the programs: 4% and 0.6%.
    assert_eq!(point(Some(0.041)), (100, true));
    assert_eq!(point(Some(0.01)), (500, true));
    assert_eq!(point(Some(0.001)), (500, false));
}

#[test]
fn the_report_shows_means_and_names_what_failed() {
    let folder = tempfile::tempdir().expect("a folder");
    let info = ReportInfo {
        title: "Board".into(),
        command: "hps leaderboard one".into(),
        ..ReportInfo::default()
    };
    let mut records = records();
    records.push(UnitRecord {
        failure: Some("it ended with exit code 3".into()),
        ..record(leaderboard::COSTLY, "one", ("hps", None, None), &[])
    });
    let files = write_leaderboard(folder.path(), &records, None, &info).expect("a report");
    let page = fs::read_to_string(&files.html).expect("a page");
    // Mean of 20% and 40% with its interval: 12.706 times the deviation 14.14 over the root of 2.
    assert!(page.contains("30.00 ± 127.06"), "the mean of nci");
    for text in ["hps leaderboard one", "exit code 3", "&lt;two&gt;", "nci"] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("<two>"));
    // Front, levels, errors and overheads by program; each as SVG and PNG.
    assert_eq!(files.figures.len(), 8);
    let none = write_leaderboard(folder.path(), &[], None, &info);
    assert!(matches!(none, Err(PlotError::NoRows)));
}
