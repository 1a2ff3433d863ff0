//! What must hold of the lab itself, whatever the paper says.

use super::{Data, Judged, Section, Verdict};
use crate::figure7::{BASELINE, Bar, EXHAUSTIVE, STUDY};
use crate::schemes::Scheme;

pub(super) fn checks(data: &Data<'_>) -> Vec<Judged> {
    vec![
        identical(data),
        same_instructions(data),
        software_differs(data),
        sums(data),
    ]
}

/// Whole runs whose profile was compared with that of the functional run.
fn compared<'a>(data: &'a Data<'_>, scheme: &'a str) -> impl Iterator<Item = (f64, f64)> + 'a {
    let records = data.records.iter().filter(|r| r.study == STUDY);
    records.filter_map(move |record| {
        let value = |measure: &str| {
            let wanted = |m: &&crate::Measurement| m.scheme == scheme && m.measure == measure;
            record.measurements.iter().find(wanted).map(|m| m.value)
        };
        Some((value("members_that_differ")?, value("samples_lost")?))
    })
}

fn identical(data: &Data<'_>) -> Judged {
    let schemes = [Scheme::Hps.name(), Scheme::PlainDise.name(), EXHAUSTIVE];
    let all: Vec<(&str, usize, usize)> = schemes
        .into_iter()
        .map(|scheme| {
            let same = compared(data, scheme).filter(|c| *c == (0.0, 0.0)).count();
            (scheme, same, compared(data, scheme).count())
        })
        .filter(|(_, _, count)| *count > 0)
        .collect();
    let found = (!all.is_empty()).then(|| {
        let here: Vec<String> = all
            .iter()
            .map(|(scheme, same, count)| format!("{scheme}: {same} of {count}"))
            .collect();
        let verdict = match all.iter().all(|(_, same, count)| same == count) {
            true => Verdict::Confirmed,
            false => Verdict::NotConfirmed,
        };
        (here.join(", "), verdict)
    });
    Judged {
        section: Section::Check,
        claim: "The schemes collect identical profiles at the same burst and frequency".into(),
        paper: "–",
        rule: "holds if every profile collected in the pipeline equals that of a functional run, count for count \
               (data streams: reference for reference)"
            .into(),
        refuted_by: "one count that differs in one profile",
        found,
    }
}

/// Runs with a collector retire the instructions of the program that the run without retires.
fn same_instructions(data: &Data<'_>) -> Judged {
    let with_own_code = [Scheme::Software, Scheme::SoftwareReduced].map(Scheme::name);
    let count = |record: &&crate::UnitRecord| {
        let mut all = record.measurements.iter();
        let found = all.find(|m| m.measure == "program_instructions")?;
        let program = (record.program.clone(), record.program_hash.clone());
        Some((program, found.scheme.clone(), found.value))
    };
    let of_study = data.records.iter().copied().filter(|r| r.study == STUDY);
    let all: Vec<_> = of_study.filter_map(|record| count(&record)).collect();
    let baseline = |program: &(String, String)| {
        let mut all = all.iter();
        all.find(|(of, scheme, _)| of == program && scheme == BASELINE)
    };
    // The software scheme executes checks and copies of its own as instructions of the program.
    let runs = all
        .iter()
        .filter(|(_, scheme, _)| scheme != BASELINE && !with_own_code.contains(&scheme.as_str()));
    let equal = runs.filter_map(|(program, _, value)| Some(baseline(program)?.2 == *value));
    let equal: Vec<bool> = equal.collect();
    let same = equal.iter().filter(|equal| **equal).count();
    let found = (!equal.is_empty()).then(|| {
        let verdict = match same == equal.len() {
            true => Verdict::Holds,
            false => Verdict::Fails(format!("{} runs", equal.len() - same)),
        };
        (format!("{same} of {} runs", equal.len()), verdict)
    });
    Judged {
        section: Section::Check,
        claim: "Runs with HPS and plain DISE retire exactly the program's instructions".into(),
        paper: "–",
        rule: "holds if each run of Figure 7 with a collector retires as many instructions of the program as the run \
               without"
            .into(),
        refuted_by: "one instruction",
        found,
    }
}

/// The software scheme's events are method entries, and its samples end at checks.
fn software_differs(data: &Data<'_>) -> Judged {
    let schemes = [Scheme::Software, Scheme::SoftwareReduced].map(Scheme::name);
    let here: Vec<String> = schemes
        .into_iter()
        .map(|scheme| {
            let same = compared(data, scheme).filter(|c| *c == (0.0, 0.0)).count();
            (scheme, same, compared(data, scheme).count())
        })
        .filter(|(_, _, count)| *count > 0)
        .map(|(scheme, same, count)| format!("{scheme}: {same} of {count} identical"))
        .collect();
    let found = (!here.is_empty()).then(|| {
        let lost = schemes
            .iter()
            .flat_map(|scheme| compared(data, scheme))
            .any(|c| c.1 > 0.0);
        let verdict = match lost {
            false => Verdict::Confirmed,
            true => Verdict::Differs("samples were lost".into()),
        };
        (here.join(", "), verdict)
    });
    Judged {
        section: Section::Check,
        claim: "The software scheme loses no sample; its profiles differ where its events do: entries instead of calls, \
                and samples that end at checks"
            .into(),
        paper: "–",
        rule: "holds if no handler ran out of room; how many profiles are identical to the functional run's is told \
               and not judged"
            .into(),
        refuted_by: "a sample that found no room",
        found,
    }
}

fn sums(data: &Data<'_>) -> Judged {
    let found = (!data.bars.is_empty()).then(|| {
        let whole = |bar: &&Bar| {
            let parts: i64 = bar.parts.iter().map(|p| p.1).sum();
            bar.baseline_cycles as i64 + parts == bar.whole_cycles as i64
        };
        let count = data.bars.iter().filter(whole).count();
        let verdict = match count == data.bars.len() {
            true => Verdict::Confirmed,
            false => Verdict::NotConfirmed,
        };
        (format!("{count} of {} bars", data.bars.len()), verdict)
    });
    Judged {
        section: Section::Check,
        claim: "The parts of each bar of Figure 7 sum to the measured whole".into(),
        paper: "–",
        rule: "holds if baseline and parts sum to the cycles of the whole run, to the cycle, for every bar".into(),
        refuted_by: "one cycle",
        found,
    }
}
