//! Checks that the lab itself must pass, whatever the paper says.

use super::band::{Band, Unit};
use super::rule::is_in;
use super::statement::{Statement, as_text, plain};
use super::{Data, Section};
use crate::figure7::{BASELINE, Bar, EXHAUSTIVE, STUDY};
use crate::schemes::Scheme;

pub(super) fn statements(data: &Data<'_>) -> Vec<Statement> {
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

/// How many profiles of each scheme are those of the functional run, in words, and how many are not.
fn differing(data: &Data<'_>, schemes: &[&str], same: &str) -> Option<(f64, String)> {
    let all = schemes.iter().map(|scheme| {
        let equal = compared(data, scheme).filter(|c| *c == (0.0, 0.0)).count();
        (scheme, equal, compared(data, scheme).count())
    });
    let all: Vec<_> = all.filter(|(_, _, count)| *count > 0).collect();
    let each = all
        .iter()
        .map(|(scheme, equal, count)| format!("{scheme}: {equal} of {count}{same}"));
    let text = each.collect::<Vec<_>>().join(", ");
    let others: usize = all.iter().map(|(_, equal, count)| count - equal).sum();
    (!all.is_empty()).then_some((others as f64, text))
}

fn none() -> Band {
    Band::at_most(0.0, Unit::Plain)
}

fn identical(data: &Data<'_>) -> Statement {
    let schemes = [Scheme::Hps.name(), Scheme::PlainDise.name(), EXHAUSTIVE];
    Statement::new(
        Section::Check,
        "The schemes collect identical profiles at the same burst and frequency",
        "–",
    )
    .over(
        "profiles collected in the pipeline that do not equal that of a functional run, count for count (data streams: \
         reference for reference)",
    )
    .is(as_text(differing(data, &schemes, "")))
    .confirmed(is_in(0, none()))
}

/// Runs with a collector retire the instructions of the program that the run without retires.
fn same_instructions(data: &Data<'_>) -> Statement {
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
    let others = (!equal.is_empty()).then_some((equal.len() - same) as f64);
    Statement::new(
        Section::Check,
        "Runs with HPS and plain DISE retire exactly the program's instructions",
        "–",
    )
    .over("runs of Figure 7 with a collector that retire more or fewer instructions of the program than the run without")
    .is(plain(0, others))
    .here(format!("{same} of {} runs", equal.len()))
    .confirmed(is_in(0, none()))
    .else_differs("{0} runs")
}

/// The software scheme's events are method entries, and its samples end at checks.
fn software_differs(data: &Data<'_>) -> Statement {
    let schemes = [Scheme::Software, Scheme::SoftwareReduced].map(Scheme::name);
    let profiles = schemes.iter().flat_map(|scheme| compared(data, scheme));
    let lost = profiles.filter(|(_, lost)| *lost > 0.0).count();
    let told = differing(data, &schemes, " identical");
    Statement::new(
        Section::Check,
        "The software scheme loses no sample; its profiles differ where its events do: entries instead of calls, and samples \
         that end at checks",
        "–",
    )
    .over(
        "profiles of which a handler ran out of room; how many are identical to the functional run's is told and not judged",
    )
    .is(as_text(told.map(|(_, text)| (lost as f64, text))))
    .confirmed(is_in(0, none()))
    .else_differs("samples were lost")
}

fn sums(data: &Data<'_>) -> Statement {
    let is_whole = |bar: &&Bar| {
        let parts: i64 = bar.parts.iter().map(|p| p.1).sum();
        bar.baseline_cycles as i64 + parts == bar.whole_cycles as i64
    };
    let (whole, count) = (data.bars.iter().filter(is_whole).count(), data.bars.len());
    Statement::new(
        Section::Check,
        "The parts of each bar of Figure 7 sum to the measured whole",
        "–",
    )
    .over("bars whose baseline and parts do not sum to the cycles of the whole run, to the cycle")
    .is(plain(0, (count > 0).then_some((count - whole) as f64)))
    .here(format!("{whole} of {count} bars"))
    .confirmed(is_in(0, none()))
}
