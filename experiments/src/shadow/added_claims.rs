//! Statements that no paper makes, of instrumentation that is executed and of shadows on the chip of their parent.

use hps_shadow::control::Costs;

use super::Data;
use super::bursts::ONE_IN;
use super::chip::{self, Part};
use super::claims::grid;
use super::executed::{BY_KEY, Kind, Means};
use crate::claims::Section;
use crate::claims::band::{Band, Unit};
use crate::claims::rule::is_in;
use crate::claims::statement::{Statement, as_text, plain, ratio};

/// All of them; those of chips for the machines on which shadows ran.
pub(super) fn statements(data: &Data<'_>) -> Vec<Statement> {
    let chips = data.chips();
    let mut all = vec![
        full_instrumentation(data),
        one_slowdown(data),
        what_it_does(data),
        beside_bursts(data),
    ];
    all.extend(chips.iter().flat_map(|machine| on_chip(data, machine)));
    all
}

/// Statements about a machine on which shadows ran.
pub(super) fn on_chip(data: &Data<'_>, machine: &str) -> [Statement; 2] {
    [competition(data, machine), keys(data, machine)]
}

/// Numbers of kinds of instrumentation, if all are there.
fn of_kinds<const N: usize>(
    kinds: [Kind; N],
    of: impl Fn(Kind) -> Option<f64>,
) -> Option<Vec<(Kind, f64)>> {
    let all = kinds.into_iter().map(|kind| Some((kind, of(kind)?)));
    all.collect()
}

/// The mean slowdown of instrumentation that DISE executes.
fn slowdown<'c>(data: &'c Data<'_>) -> impl Fn(Kind) -> Option<f64> + 'c {
    |kind| Some(data.slowdown(kind, Means::Dise)?.0)
}

/// The kinds whose overhead the paper gives.
const PAPERS: [Kind; 2] = [Kind::Paths, Kind::Values];

fn full_instrumentation(data: &Data<'_>) -> Statement {
    let slow = of_kinds(PAPERS, slowdown(data)).map(|all| {
        let words: Vec<String> = all
            .iter()
            .map(|(kind, s)| format!("{}: {s:.1} times", kind.title()))
            .collect();
        let slow = all.iter().filter(|(_, slowdown)| *slowdown >= 2.0).count();
        (slow as f64, words.join(", "))
    });
    Statement::new(
        Section::Cost,
        "instrumentation of the whole run takes a multiple of the program's time",
        "perfect path and value profiles take several times as long (section 4; numbers are lost in the text)",
    )
    .over("of paths and values, executed by DISE all the time, how many take at least twice as long in the mean over programs")
    .is(as_text(slow))
    .confirmed(is_in(0, Band::at_least(2.0, Unit::Plain)))
    .differs(is_in(0, Band::at_least(1.0, Unit::Plain)), "{0}")
}

fn one_slowdown(data: &Data<'_>) -> Statement {
    let key = Costs::default().slowdown;
    let all = of_kinds(Kind::ALL, slowdown(data));
    let near = |(_, s): &&(Kind, f64)| (key / 2.0..=key * 2.0).contains(s);
    let count = all
        .as_ref()
        .map(|all| all.iter().filter(near).count() as f64);
    let kinds = Kind::ALL.len();
    let end = |most: bool| {
        let by_slowdown = |a: &&(Kind, f64), b: &&(Kind, f64)| a.1.total_cmp(&b.1);
        let all = all.as_ref()?.iter();
        let (kind, s) = match most {
            true => all.max_by(by_slowdown)?,
            false => all.min_by(by_slowdown)?,
        };
        Some((*s, format!("{s:.1} ({})", kind.title())))
    };
    Statement::new(
        Section::Explained,
        format!("one slowdown, {key:.0}, stands for all kinds of instrumentation"),
        "the slowdown of its instrumentation is lost",
    )
    .over("the share of kinds, executed by DISE all the time, whose mean over programs is within a factor of two of the key")
    .is(ratio(count.map(|count| count / kinds as f64)))
    .number("", plain(0, count))
    .number("", as_text(end(false)))
    .number("", as_text(end(true)))
    .here("from {2} to {3}")
    .confirmed(is_in(0, Band::at_least(1.0, Unit::Ratio)))
    .differs(is_in(0, Band::above(0.0, Unit::Ratio)), format!("{{1}} of {kinds} kinds"))
}

fn what_it_does(data: &Data<'_>) -> Statement {
    let accuracy = |setting: &str| data.mean(setting, "path_accuracy_ratio");
    let key = accuracy(BY_KEY);
    let all = of_kinds(Kind::ALL, |kind| accuracy(&kind.variant()));
    let worst = key.zip(all).and_then(|(key, all)| {
        let off = |(_, accuracy): &(Kind, f64)| (accuracy - key).abs();
        let worst = all.into_iter().max_by(|a, b| off(a).total_cmp(&off(b)))?;
        let text = format!(
            "at most off: {:.1}% with the slowdown of {}, {:.1}% with the key",
            100.0 * worst.1,
            worst.0.title(),
            100.0 * key
        );
        Some((off(&worst), text))
    });
    Statement::new(
        Section::Explained,
        "the accuracy of shadows depends little on how slow they are",
        "not said",
    )
    .over(
        "the largest difference of path accuracy with the slowdown of an executed kind and with the key, at load 1.0 and the \
         second largest sample, without translation",
    )
    .is(as_text(worst))
    .confirmed(is_in(0, Band::at_most(0.05, Unit::Ratio)))
}

fn beside_bursts(data: &Data<'_>) -> Statement {
    let bursts: Option<Vec<_>> = ONE_IN.iter().map(|one_in| data.bursts(*one_in)).collect();
    let of_shadows = |name: String| {
        let overhead = data.mean(&name, "overhead_ratio");
        overhead.zip(data.mean(&name, "call_overlap_ratio"))
    };
    let shadows: Option<Vec<_>> = grid(data).map(of_shadows).collect();
    let won = bursts.zip(shadows).map(|(bursts, shadows)| {
        let best_at = |limit: f64| {
            let affordable = bursts.iter().filter(|(cost, _)| *cost <= limit);
            affordable.map(|(_, found)| *found).fold(0.0, f64::max)
        };
        let wins = |(cost, found): &&(f64, f64)| *found > best_at(*cost);
        let (won, all) = (shadows.iter().filter(wins).count(), shadows.len());
        (
            won as f64 / all.max(1) as f64,
            format!("in {won} of {all} settings"),
        )
    });
    Statement::new(
        Section::Explained,
        "shadows find more calls than HPS's bursts at equal overhead",
        "not compared",
    )
    .over(
        "the share of settings of the grid in which the overlap of call pairs is larger than the largest among HPS's \
         frequencies that cost no more, means over programs",
    )
    .is(as_text(won))
    .confirmed(is_in(0, Band::at_least(0.8, Unit::Ratio)))
    .differs(is_in(0, Band::above(0.0, Unit::Ratio)), "{0}")
}

/// The slowdown at which shadows compete most.
const FULL_SPEED: f64 = chip::SLOWDOWNS[0];

/// A number over another one, which may be 0.
fn over(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    Some(part? / whole?.max(f64::MIN_POSITIVE))
}

fn competition(data: &Data<'_>, machine: &str) -> Statement {
    let of = |measure: &str| data.on_chip(machine, FULL_SPEED, measure);
    let (whole, shared) = (of("overhead_ratio"), of(Part::Shared.measure()));
    Statement::new(
        Section::Explained,
        format!(
            "on {machine} the program loses more to the operating system than to shared parts of the chip"
        ),
        "page faults explain the slowdown (section 4)",
    )
    .over(
        "what the parent loses while it runs over its slowdown, with shadows at full speed at load 1.0 and the second largest \
         sample, means over programs",
    )
    .is(ratio(over(shared, whole)))
    .number("", ratio(shared))
    .number("", ratio(whole))
    .here("{1} of {2} slowdown")
    .confirmed(is_in(0, Band::below(0.5, Unit::Ratio)))
}

fn keys(data: &Data<'_>, machine: &str) -> Statement {
    let of = |measure: &str| data.on_chip(machine, Costs::default().slowdown, measure);
    let (measured, charged) = (of("overhead_ratio"), of("charged_ratio"));
    Statement::new(
        Section::Explained,
        format!("what keys charge is what shadows cost on {machine}"),
        "not said: it measured on a machine",
    )
    .over("overhead with the key's slowdown over what keys charge, means over programs")
    .is(plain(2, over(measured, charged)))
    .number("", ratio(measured))
    .number("", ratio(charged))
    .here("{1} measured, {2} charged")
    .confirmed(is_in(0, Band::between(0.75, 1.25, Unit::Plain)))
    .differs(is_in(0, Band::between(0.5, 2.0, Unit::Plain)), "{0} times")
}
