//! The claims of the paper that its text still has, held against what was measured.

use super::{Data, LOADS, ShadowStudy, added_claims, setting};
use crate::claims::band::{Band, Unit};
use crate::claims::rule::{all, is_in, rises};
use crate::claims::statement::{Statement, as_text, of_all, plain, ratio, ratio_to};
use crate::claims::{Claim, Section};
use crate::correlation::correlation;
use crate::table::paired;

/// All claims for one instruction set.
#[must_use]
pub fn claims(data: &Data<'_>, isa: &str) -> Vec<Claim> {
    of_all(statements(data), isa)
}

pub(super) fn statements(data: &Data<'_>) -> Vec<Statement> {
    let paths = "path_accuracy_ratio";
    let mut all = vec![
        about_ninety(data, paths, ("paths within functions", "figure 3"), |a| a),
        about_ninety(
            data,
            "long_path_accuracy_ratio",
            ("paths across functions", "figure 3"),
            |a| a,
        ),
        about_ninety(
            data,
            "invariance_difference",
            ("invariance of values", "figure 4"),
            |difference| 1.0 - difference,
        ),
        by_load(data, paths, "path accuracy rises with load"),
        by_sample(data, paths, true, "path accuracy rises with sample size"),
        by_load(data, "overhead_ratio", "overhead rises with load"),
        by_sample(
            data,
            "overhead_ratio",
            false,
            "overhead falls with sample size",
        ),
        little_coverage(data),
        faults_explain(data),
        shadows_rarely_end(data),
        translations(data),
        divergences(data),
        triggered(data, "phase", "at phases"),
        triggered(
            data,
            "convergence",
            "that become rarer while they see nothing new",
        ),
    ];
    all.extend(added_claims::statements(data));
    all
}

/// All settings of the grid.
pub(super) fn grid(data: &Data<'_>) -> impl Iterator<Item = String> {
    let of_load = |load: f64| {
        data.samples
            .iter()
            .map(move |sample| setting(load, *sample))
    };
    LOADS.into_iter().flat_map(of_load)
}

/// Where most claims are looked at.
const MAIN: &str = "at load 1.0 and the second largest sample";

/// The setting where they are.
fn main_setting(data: &Data<'_>) -> String {
    setting(1.0, ShadowStudy::main_sample(&data.samples))
}

/// "About one percent": what rounds to it.
const ABOUT_ONE_PERCENT: f64 = 0.015;

fn about_ninety(
    data: &Data<'_>,
    measure: &str,
    (what, figure): (&str, &str),
    accuracy: fn(f64) -> f64,
) -> Statement {
    let affordable = grid(data).filter_map(|name| {
        let overhead = data.mean(&name, "overhead_ratio")?;
        let value = accuracy(data.mean(&name, measure)?);
        (overhead <= ABOUT_ONE_PERCENT).then_some((name, overhead, value))
    });
    let best = affordable.max_by(|a, b| a.2.total_cmp(&b.2));
    let is_measured = grid(data).any(|name| data.mean(&name, measure).is_some());
    let best = match best {
        Some((name, overhead, value)) => {
            let text = format!(
                "{:.1}% at {:.2}% overhead ({name})",
                100.0 * value,
                100.0 * overhead
            );
            Some((value, text))
        }
        None => is_measured.then(|| (0.0, "no setting costs so little".to_string())),
    };
    let value = best.as_ref().map(|(value, _)| *value);
    Statement::new(
        Section::Accuracy,
        format!("{what}: about 90% accuracy at about 1% overhead"),
        format!("about 90% at around 1% (abstract, section 4, {figure})"),
    )
    .over("the best mean accuracy of a setting whose mean overhead is at most 1.5%")
    .is(as_text(best))
    .number("", ratio_to(0, value))
    .here("{0}")
    .confirmed(is_in(0, Band::between(0.85, 0.95, Unit::Ratio)))
    .differs(is_in(0, Band::at_least(0.7, Unit::Ratio)), "{1}")
}

fn by_load(data: &Data<'_>, measure: &str, claim: &str) -> Statement {
    let at = |load, sample| data.mean(&setting(load, sample), measure);
    let of_sample = |sample: &u64| {
        let sample = *sample;
        LOADS
            .windows(2)
            .map(move |w| (at(w[0], sample), at(w[1], sample)))
    };
    let steps = data.samples.iter().flat_map(of_sample).collect();
    trend(measure, steps, true, claim)
}

fn by_sample(data: &Data<'_>, measure: &str, rises: bool, claim: &str) -> Statement {
    let at = |load, sample| data.mean(&setting(load, sample), measure);
    let of_load = |load: f64| {
        let neighbours = data.samples.windows(2);
        neighbours.map(move |w| (at(load, w[0]), at(load, w[1])))
    };
    let steps = LOADS.into_iter().flat_map(of_load).collect();
    trend(measure, steps, rises, claim)
}

/// A trend along one axis of the grid, by the steps between neighbours.
fn trend(
    measure: &str,
    steps: Vec<(Option<f64>, Option<f64>)>,
    rises: bool,
    claim: &str,
) -> Statement {
    let steps: Option<Vec<(f64, f64)>> = steps.into_iter().map(|(a, b)| a.zip(b)).collect();
    let steps = steps.filter(|steps| !steps.is_empty());
    let right = steps.map(|steps| {
        let goes_right = |(a, b): &&(f64, f64)| if rises { b > a } else { b < a };
        let right = steps.iter().filter(goes_right).count();
        let text = format!("{right} of {} steps", steps.len());
        (right as f64 / steps.len() as f64, text)
    });
    let section = match measure {
        "overhead_ratio" => Section::Cost,
        _ => Section::Accuracy,
    };
    Statement::new(section, claim, "section 4, figures 3 and 5")
        .over("the share of steps between neighbours of the grid that go that way, of means over programs")
        .is(as_text(right))
        .confirmed(is_in(0, Band::at_least(0.8, Unit::Ratio)))
        .differs(is_in(0, Band::at_least(0.5, Unit::Ratio)), "{0}")
}

fn little_coverage(data: &Data<'_>) -> Statement {
    let of = |measure| ratio(data.mean(&main_setting(data), measure));
    let few = || is_in(0, Band::at_most(0.15, Unit::Ratio));
    let accurate = |least| is_in(1, Band::at_least(least, Unit::Ratio));
    Statement::new(
        Section::Accuracy,
        "a few percent of the instructions are enough",
        "a few percent are instrumented (section 4, figure 7; its number is lost in the text)",
    )
    .over(format!("means over programs {MAIN}"))
    .number("the share of instructions", of("coverage_ratio"))
    .number("path accuracy", of("path_accuracy_ratio"))
    .here("{0} give {1}")
    .confirmed(all([few(), accurate(0.85)]))
    .differs(all([few(), accurate(0.7)]), "{1} accuracy")
}

fn faults_explain(data: &Data<'_>) -> Statement {
    let mut points = Vec::new();
    for name in grid(data) {
        let faults = data.by_program(&name, "added_faults_per_second");
        points.extend(paired(&faults, &data.by_program(&name, "overhead_ratio")));
    }
    Statement::new(
        Section::Cost,
        "page faults explain the slowdown",
        "the fault rate is regular and corresponds well to the overhead (section 4, figure 6)",
    )
    .over("correlation of added faults a second and overhead over programs and settings")
    .is(plain(2, correlation(&points)))
    .here("r = {0}")
    .confirmed(is_in(0, Band::at_least(0.9, Unit::Plain)))
    .differs(is_in(0, Band::at_least(0.6, Unit::Plain)), "r = {0}")
}

fn shadows_rarely_end(data: &Data<'_>) -> Statement {
    Statement::new(
        Section::Accuracy,
        "unsafe system calls rarely end shadows",
        "most shadows meet no call that is unsafe (section 3)",
    )
    .over(format!("the share of shadows that end early {MAIN}"))
    .is(ratio(data.mean(&main_setting(data), "ended_early_ratio")))
    .here("{0} end early")
    .confirmed(is_in(0, Band::at_most(0.05, Unit::Ratio)))
    .differs(is_in(0, Band::at_most(0.25, Unit::Ratio)), "{0} do")
}

fn translations(data: &Data<'_>) -> Statement {
    let of = |setting: &str| ratio_to(2, data.mean(setting, "coverage_ratio"));
    Statement::new(
        Section::Cost,
        "keeping translations for later shadows raises coverage",
        "persistent code caches reduce the overhead of translation (sections 2 and 3)",
    )
    .over(format!("coverage {MAIN}"))
    .number("without", of(&main_setting(data)))
    .number("with", of("kept-translations"))
    .confirmed(rises([0, 1]))
}

fn divergences(data: &Data<'_>) -> Statement {
    let of = |measure| data.mean(&main_setting(data), measure);
    Statement::new(
        Section::Explained,
        "what shadows do is what their parent then does",
        "assumed: determinism is not needed for meaningful profiles (section 5)",
    )
    .over(format!(
        "the share of transfers of control behind a divergence {MAIN}"
    ))
    .is(ratio_to(2, of("diverged_transfers_ratio")))
    .number("", ratio(of("diverged_ratio")))
    .here("{1} of shadows diverge, {0} of transfers come behind")
    .confirmed(is_in(0, Band::at_most(0.01, Unit::Ratio)))
    .differs(
        is_in(0, Band::at_most(0.1, Unit::Ratio)),
        "{0} of transfers",
    )
}

fn triggered(data: &Data<'_>, trigger: &str, which: &str) -> Statement {
    let accuracy = |name: &str| data.mean(name, "path_accuracy_ratio");
    let overhead = |name: &str| data.mean(name, "overhead_ratio");
    let main = main_setting(data);
    let both = |of: &dyn Fn(&str) -> Option<f64>| of(trigger).zip(of(&main));
    Statement::new(
        Section::Explained,
        format!("shadows {which} need less than periodic ones"),
        "future work (section 6)",
    )
    .over(format!("beside periodic ones {MAIN}"))
    .number(
        "path accuracy less theirs",
        ratio(both(&accuracy).map(|(here, there)| here - there)),
    )
    .number(
        "overhead over theirs",
        plain(2, both(&overhead).map(|(here, there)| here / there)),
    )
    .number("", ratio(accuracy(trigger)))
    .number("", ratio_to(2, overhead(trigger)))
    .number("", ratio(accuracy(&main)))
    .number("", ratio_to(2, overhead(&main)))
    .here("{2} at {3} overhead, {4} at {5} by time")
    .confirmed(all([
        is_in(0, Band::at_least(-0.01, Unit::Ratio)),
        is_in(1, Band::below(1.0, Unit::Plain)),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::statement::tests::assert_that_each_limit_counts;

    #[test]
    fn each_limit_of_a_claim_counts() {
        let data = Data::of(&[], "riscv64", &ShadowStudy::SMALL);
        let mut all = statements(&data);
        all.extend(added_claims::on_chip(&data, "smt-2"));
        assert_that_each_limit_counts(&all);
    }
}
