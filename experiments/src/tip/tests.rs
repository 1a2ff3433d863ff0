//! Claims on made-up records: each verdict can come out each way.

use crate::CoreKind;
use crate::claims::Verdict;
use crate::leaderboard::{BIAS, DRAWS, GROUP, PASSIVE, STATES};
use crate::measurement::{Measurement, UnitRecord};

use super::{Data, claims};
use crate::claims::statement::tests::assert_that_each_limit_counts;

const MACHINE: &str = "four";
const NARROW: &str = "four-commit-1";
const SAMPLES: u64 = 1000;

fn record(study: &str, program: &str, machine: &str, measurements: Vec<Measurement>) -> UnitRecord {
    UnitRecord {
        id: String::new(),
        version: String::new(),
        study: study.to_string(),
        program: program.to_string(),
        program_hash: String::new(),
        isa: "riscv64".to_string(),
        input: String::new(),
        machine: machine.to_string(),
        machine_fingerprint: String::new(),
        core: CoreKind::Cycle,
        measurements,
        failure: None,
    }
}

fn number(program: &str, policy: &str, measure: &str, setting: &str, value: f64) -> Measurement {
    Measurement {
        program: program.to_string(),
        isa: "riscv64".to_string(),
        profile: None,
        scheme: policy.to_string(),
        burst: None,
        one_in: None,
        setting: setting.to_string(),
        x: Some(SAMPLES as f64),
        measure: measure.to_string(),
        value,
        interval: None,
        run: None,
    }
}

/// Two programs with the published errors, give or take a hundredth of them; `change` may make them others.
fn records(change: impl Fn(&str, f64) -> f64) -> Vec<UnitRecord> {
    let mut all = Vec::new();
    for (program, sign) in [("one", 1.0), ("two", -1.0)] {
        let published = [
            ("software", 0.618),
            ("ibs", 0.531),
            ("ibs-row", 0.531),
            ("spe", 0.555),
            ("lci", 0.554),
            ("lci-before", 0.554),
            ("nci", 0.093),
            ("tip", 0.016),
        ];
        let mut errors = Vec::new();
        for (policy, error) in published {
            let error = change(policy, error) * (1.0 + 0.01 * sign);
            errors.push(number(program, policy, "error_ratio", "instruction", error));
        }
        errors.push(number(program, "tea", "error_ratio", "event-stack", 0.021));
        errors.push(number(program, "ibs", "samples", "", 900.0));
        errors.push(number(program, "ibs", "lost_samples", "", 100.0));
        all.push(record(PASSIVE, program, MACHINE, errors));
        let few = Measurement {
            x: Some(SAMPLES as f64 / 4.0),
            ..number(program, "tip", "error_ratio", "instruction", 0.032)
        };
        all.push(record(PASSIVE, program, MACHINE, vec![few]));
        for (machine, group, bias) in [(MACHINE, 2.0 + sign, 0.2 + 0.1 * sign), (NARROW, 1.0, 0.02)]
        {
            let biases = ["nci", "tip"].map(|policy| {
                let bias = if policy == "tip" { 0.0 } else { bias };
                number(program, policy, "bias_ratio", "instruction", bias)
            });
            all.push(record(BIAS, program, machine, biases.to_vec()));
            let states = vec![
                number(program, "", "share_ratio", "flushed", 0.05),
                number(program, "", GROUP, "", group),
                number(program, "", DRAWS, "", 0.02),
            ];
            all.push(record(STATES, program, machine, states));
        }
    }
    all
}

fn verdicts(records: &[UnitRecord]) -> Vec<(String, Verdict)> {
    let data = Data::of(records, "riscv64", MACHINE, SAMPLES);
    let claims = claims(&data, "riscv64").into_iter();
    claims.map(|c| (c.claim, c.verdict)).collect()
}

fn verdict(records: &[UnitRecord], claim: &str) -> Verdict {
    let all = verdicts(records);
    let found = all.iter().find(|(name, _)| name.contains(claim));
    found
        .unwrap_or_else(|| panic!("{claim} in {all:?}"))
        .1
        .clone()
}

#[test]
fn each_limit_of_a_claim_counts() {
    let data = Data::of(&[], "riscv64", MACHINE, SAMPLES);
    assert_that_each_limit_counts(&super::claims::statements(&data));
}

#[test]
fn published_numbers_are_confirmed() {
    let records = records(|_, error| error);
    for (claim, verdict) in verdicts(&records) {
        let agrees = matches!(verdict, Verdict::Confirmed | Verdict::Holds);
        assert!(agrees, "{claim}: {verdict}");
    }
}

#[test]
fn other_numbers_differ_or_contradict() {
    let worse = records(|policy, error| if policy == "nci" { 3.0 * error } else { error });
    assert_eq!(
        verdict(&worse, "mean error of NCI"),
        Verdict::Differs("3.00 times the published".to_string())
    );
    assert!(matches!(
        verdict(&worse, "greatest error of NCI"),
        Verdict::Differs(_)
    ));
    assert_eq!(verdict(&worse, "err more than NCI"), Verdict::Confirmed);
    // LCI below NCI contradicts the order.
    let turned = records(|policy, error| if policy == "lci" { 0.01 } else { error });
    assert_eq!(verdict(&turned, "err more than NCI"), Verdict::NotConfirmed);
    assert_eq!(verdict(&[], "mean error of TIP"), Verdict::NotMeasured);
}

#[test]
fn explanations_can_fail() {
    let mut records = records(|_, error| error);
    for record in &mut records {
        for m in &mut record.measurements {
            if record.study == BIAS && m.scheme == "tip" {
                m.value = 0.1;
            }
            if m.setting == "flushed" {
                m.value = 0.01;
            }
            if m.measure == GROUP {
                m.value = 5.0 - m.value;
            }
            if m.measure == DRAWS {
                m.value = 0.001;
            }
            if m.x == Some(SAMPLES as f64 / 4.0) {
                m.value = 0.016;
            }
        }
    }
    assert_eq!(
        verdict(&records, "all of TIP's error"),
        Verdict::Fails(String::new())
    );
    assert_eq!(
        verdict(&records, "NCI errs with the number"),
        Verdict::Fails(String::new())
    );
    assert_eq!(
        verdict(&records, "behind flushes only"),
        Verdict::Fails(String::new())
    );
    for claim in ["halves with four times", "as many independent draws"] {
        assert!(
            matches!(verdict(&records, claim), Verdict::Fails(how) if !how.is_empty()),
            "{claim}"
        );
    }
}
