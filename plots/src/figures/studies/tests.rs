//! Chapters from records with known numbers.

use hps_experiments::studies::NAMES;
use hps_experiments::{CoreKind, Measurement, ProfileKind, UnitRecord};

use super::data::points;
use super::study_chapters;

fn number(program: &str, scheme: &str, setting: &str, measure: &str, value: f64) -> Measurement {
    Measurement {
        program: program.to_string(),
        isa: "riscv64".to_string(),
        profile: Some(ProfileKind::Method),
        scheme: scheme.to_string(),
        burst: Some(1),
        one_in: Some(100),
        setting: setting.to_string(),
        x: None,
        measure: measure.to_string(),
        value,
        interval: None,
        run: None,
    }
}

fn record(study: &str, program: &str, measurements: Vec<Measurement>) -> UnitRecord {
    UnitRecord {
        id: format!("{study}-{program}"),
        version: "1".to_string(),
        study: study.to_string(),
        program: program.to_string(),
        program_hash: String::new(),
        isa: "riscv64".to_string(),
        input: "small".to_string(),
        machine: "test".to_string(),
        machine_fingerprint: String::new(),
        core: CoreKind::default(),
        measurements,
        failure: None,
    }
}

fn at(x: f64, mut measurement: Measurement) -> Measurement {
    measurement.x = Some(x);
    measurement
}

fn wrong_path(program: &str, mispredictions: f64, samples: f64) -> UnitRecord {
    let mut measured = Vec::new();
    for (setting, samples, accuracy) in [("repaired", 100.0, 0.9), ("unrepaired", samples, 0.8)] {
        measured.push(number(program, "hps", setting, "samples", samples));
        measured.push(number(program, "hps", setting, "samples_nominal", 100.0));
        measured.push(number(
            program,
            "hps",
            setting,
            "accuracy_renormalized_ratio",
            accuracy,
        ));
        measured.push(number(program, "hps", setting, "overhead_ratio", 0.01));
    }
    let mut baseline = number(
        program,
        "baseline",
        "",
        "mispredictions_per_kilo_instruction",
        mispredictions,
    );
    baseline.profile = None;
    measured.push(baseline);
    record("wrong_path", program, measured)
}

#[test]
fn wrong_paths_are_told_in_numbers() {
    let records = [
        wrong_path("chess", 9.0, 140.0),
        wrong_path("lz", 2.0, 110.0),
    ];
    let chapters = study_chapters(&records).expect("drawn");
    let [chapter] = &chapters[..] else {
        panic!("{} chapters", chapters.len())
    };
    let text = chapter.text.join("\n");
    assert!(text.contains("2 of 2 runs took exactly"), "{text}");
    assert!(
        text.contains(
            "25.0% more samples in the mean of 2 programs (from 10.0% in lz to 40.0% in chess)"
        ),
        "{text}"
    );
    assert!(text.contains("accuracy changes by -10.0 points"), "{text}");
    // Least mispredicted first.
    assert_eq!(chapter.tables[0].rows[0][0], "lz");
    assert_eq!(chapter.figures.len(), 1);
}

#[test]
fn random_periods_are_held_against_fixed_ones() {
    let measured = vec![
        number("bwt", "fixed", "", "accuracy_renormalized_ratio", 0.5),
        number("bwt", "detuned", "", "accuracy_renormalized_ratio", 0.7),
        number("bwt", "randomized", "", "accuracy_renormalized_ratio", 0.75),
        number("bwt", "randomized", "", "accuracy_least_ratio", 0.7),
        number("bwt", "randomized", "", "accuracy_most_ratio", 0.8),
    ];
    let looped = [50.0, 100.0].into_iter().flat_map(|x| {
        let of = |scheme, value| {
            at(
                x,
                number(
                    "loop100",
                    scheme,
                    "period",
                    "accuracy_renormalized_ratio",
                    value,
                ),
            )
        };
        [of("fixed", x / 200.0), of("randomized", 0.9)]
    });
    let records = [
        record("bias", "loop100", looped.collect()),
        record("bias", "bwt", measured),
    ];
    let chapters = study_chapters(&records).expect("drawn");
    let text = chapters[0].text.join("\n");
    assert!(text.contains("change accuracy by +25.00 points"), "{text}");
    assert!(text.contains("one event longer by +20.00"), "{text}");
    assert!(
        text.contains("2 of 2 periods stay below 80% (50, 100)"),
        "{text}"
    );
    assert_eq!(chapters[0].figures.len(), 2);
    assert_eq!(chapters[0].tables[0].rows[0][6], "10.00");
}

#[test]
fn merged_runs_and_small_tables_have_chapters() {
    let merged = vec![
        number("bwt", "hps", "", "overhead_ratio", 0.01),
        number("bwt", "sum", "", "overhead_ratio", 0.03),
        number("bwt", "merged", "", "overhead_ratio", 0.02),
        number("bwt", "merged", "", "equal_profiles", 3.0),
    ];
    let tables = vec![
        number("bwt", "hps", "pt_entries", "entries_needed", 9.0),
        at(
            9.0,
            number("bwt", "hps", "pt_entries", "overhead_ratio", 0.01),
        ),
        at(
            8.0,
            number("bwt", "hps", "pt_entries", "overhead_ratio", 5.0),
        ),
    ];
    let records = [
        record("merged", "bwt", merged),
        record("tables", "bwt", tables),
    ];
    let chapters = study_chapters(&records).expect("drawn");
    let text: Vec<String> = chapters.iter().map(|c| c.text.join("\n")).collect();
    assert!(
        text[0].contains("Of the 3 profiles that merged runs collected, 3 are"),
        "{}",
        text[0]
    );
    assert!(text[0].contains("1.00 points less"), "{}", text[0]);
    assert!(
        text[1].contains("need 9: overhead 1.00% with all of them, 500.00% with 8"),
        "{}",
        text[1]
    );
}

#[test]
fn progress_finds_when_a_profile_is_good_enough() {
    let mut measured = Vec::new();
    for (x, accuracy) in [(1.0, 0.5), (10.0, 0.88), (100.0, 0.9)] {
        for setting in ["against=whole", "against=so_far"] {
            measured.push(at(
                x,
                number(
                    "bwt",
                    "hps",
                    setting,
                    "accuracy_renormalized_ratio",
                    accuracy,
                ),
            ));
        }
        let before = if x > 5.0 { 0.97 } else { 0.5 };
        measured.push(at(
            x,
            number(
                "bwt",
                "hps",
                "against=before",
                "accuracy_renormalized_ratio",
                before,
            ),
        ));
    }
    let chapters = study_chapters(&[record("progress", "bwt", measured)]).expect("drawn");
    let text = chapters[0].text.join("\n");
    assert!(
        text.contains("50.0% after 1% of the events, 88.0% after 10%, 90.0% at the end"),
        "{text}"
    );
    assert!(text.contains("from 10% of its events on"), "{text}");
    assert!(
        text.contains("are 89.0% accurate against the whole run in the mean, 1 of 2 above 90%"),
        "{text}"
    );
}

#[test]
fn studies_without_results_have_no_chapter() {
    assert!(study_chapters(&[]).expect("nothing to draw").is_empty());
    for study in NAMES {
        let failed = UnitRecord {
            failure: Some("it failed".to_string()),
            ..record(study, "bwt", Vec::new())
        };
        assert!(
            study_chapters(&[failed])
                .expect("nothing to draw")
                .is_empty(),
            "{study}"
        );
    }
}

#[test]
fn differences_have_signs_but_nothing_has_none() {
    assert_eq!(
        [points(0.123, 1), points(-0.123, 1), points(-0.0001, 1)],
        ["+12.3", "-12.3", "0.0"]
    );
}
