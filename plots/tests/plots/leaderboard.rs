//! The report of a leaderboard, from records made by hand.

use std::fs;

use hps_experiments::leaderboard::{self, Fit};
use hps_experiments::{CoreKind, Measurement, ProfileKind, UnitRecord};
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
        run: None,
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
    let points = |budgets: &[f64]| {
        let board = &leaderboard::board(&records(), budgets)[0];
        let hps = board.entries.iter().filter(|e| e.name == "hps");
        let found = hps.map(|e| (e.point.expect("bursts").1, e.budget, e.fit));
        found.collect::<Vec<_>>()
    };
    assert_eq!(points(&[]), [(100, None, Fit::Free)]);
    // Means over the programs: 4% and 0.6%. One entry for each budget.
    assert_eq!(
        points(&[0.041, 0.01, 0.001]),
        [
            (100, Some(0.041), Fit::Spent),
            (500, Some(0.01), Fit::Jumps),
            (500, Some(0.001), Fit::Above)
        ]
    );
}

#[test]
fn runs_and_numbers_of_samples_are_told_apart() {
    let mut records = records();
    for record in &mut records {
        let again = record.measurements.clone();
        for m in &mut record.measurements {
            // A second run of HPS errs by twice as much; TIP errs by more with fewer samples.
            match m.one_in {
                Some(_) => m.run = Some(0),
                None => m.x = Some(1000.0),
            }
        }
        for m in again {
            let second = Measurement {
                run: m.one_in.map(|_| 1),
                x: m.one_in.is_none().then_some(100.0),
                value: if m.measure == "error_ratio" {
                    2.0 * m.value
                } else {
                    m.value
                },
                ..m
            };
            record.measurements.push(second);
        }
    }
    let board = &leaderboard::board(&records, &[])[0];
    let entry = |name| board.entries.iter().find(|e| e.name == name).expect(name);
    let hps = &entry("hps").by_program["one"].errors["method"];
    // 10% and 20%: t(0.975, 1) is 12.706, half the difference 5 points.
    assert!((hps.mean - 0.15).abs() < 1e-12);
    assert!((hps.half_width().expect("two runs") - 12.706 * 0.05).abs() < 1e-4);
    let tip = &entry("tip").mean;
    let by_samples: Vec<(u64, f64)> = (tip.by_samples.iter())
        .map(|at| (at.samples, at.errors["instruction"].mean))
        .collect();
    assert_eq!(by_samples.len(), 2);
    assert!(by_samples[0].0 == 100 && (by_samples[0].1 - 0.06).abs() < 1e-12);
    assert!(by_samples[1].0 == 1000 && (by_samples[1].1 - 0.03).abs() < 1e-12);
    assert_eq!(tip.errors, tip.by_samples[1].errors);
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
    let files = write_leaderboard(folder.path(), &records, &[], &info).expect("a report");
    let page = fs::read_to_string(&files.html).expect("a page");
    // Mean of 20% and 40%, of which two programs say no interval.
    assert!(page.contains("30.00 [20.00, 40.00]"), "the mean of nci");
    for text in ["hps leaderboard one", "exit code 3", "&lt;two&gt;", "nci"] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("<two>"));
    // Front, levels, errors and overheads by program; each as SVG and PNG.
    assert_eq!(files.figures.len(), 8);
    // With budgets, curves of cost in place of the front.
    let curves = write_leaderboard(folder.path(), &records, &[0.05, 0.01], &info);
    let curves = curves.expect("a report").figures;
    assert!(
        curves
            .iter()
            .any(|f| f.to_string_lossy().contains("costs-method")),
        "{curves:?}"
    );
    let none = write_leaderboard(folder.path(), &[], &[], &info);
    assert!(matches!(none, Err(PlotError::NoRows)));
}
