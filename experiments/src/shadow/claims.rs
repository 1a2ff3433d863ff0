//! The claims of the paper that its text still has, held against what was measured.

use super::{Data, LOADS, ShadowStudy, added_claims, setting};
use crate::claims::band::{self, Band, Rule, Unit};
use crate::claims::{Claim, Draft, Section, Verdict};

/// All claims for one instruction set.
#[must_use]
pub fn claims(data: &Data<'_>, isa: &str) -> Vec<Claim> {
    let mut all = vec![
        about_ninety(data, "path_accuracy_ratio", "paths within functions", |a| a),
        about_ninety(
            data,
            "long_path_accuracy_ratio",
            "paths across functions",
            |a| a,
        ),
        about_ninety(data, "invariance_difference", "invariance of values", |d| {
            1.0 - d
        }),
        trend(data, Trend::PathsByLoad),
        trend(data, Trend::PathsBySample),
        trend(data, Trend::OverheadByLoad),
        trend(data, Trend::OverheadBySample),
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
    all.extend(added_claims::drafts(data));
    all.into_iter().map(|draft| draft.of(isa)).collect()
}

/// The settings of the grid whose mean overhead is at most a limit, with their means of a measure.
fn within(data: &Data<'_>, limit: f64, measure: &str) -> Vec<(String, f64, f64)> {
    let settings = LOADS
        .iter()
        .flat_map(|load| data.samples.iter().map(|s| setting(*load, *s)));
    settings
        .filter_map(|name| {
            let overhead = data.mean(&name, "overhead_ratio")?;
            let value = data.mean(&name, measure)?;
            (overhead <= limit).then_some((name, overhead, value))
        })
        .collect()
}

/// Where most claims are looked at.
const MAIN: &str = "at load 1.0 and the second largest sample";

/// "About one percent": what rounds to it.
const ABOUT_ONE_PERCENT: f64 = 0.015;

fn about_ninety(data: &Data<'_>, measure: &str, what: &str, accuracy: fn(f64) -> f64) -> Draft {
    let settings = within(data, ABOUT_ONE_PERCENT, measure);
    let best = settings
        .into_iter()
        .map(|(name, overhead, value)| (name, overhead, accuracy(value)))
        .max_by(|a, b| a.2.total_cmp(&b.2));
    let nothing = || "no setting costs so little".to_string();
    let rule = Rule::new(
        "the best mean accuracy of a setting whose mean overhead is at most 1.5%",
        Band::between(0.85, 0.95, Unit::Ratio),
    )
    .differs(Band::at_least(0.7, Unit::Ratio));
    Draft {
        section: Section::Accuracy,
        claim: format!("{what}: about 90% accuracy at about 1% overhead"),
        paper: "about 90% at around 1% (abstract, section 4)".to_string(),
        rule: rule.text(),
        found: data
            .mean(
                &setting(LOADS[0], *data.samples.first().unwrap_or(&0)),
                measure,
            )
            .map(|_| match best {
                None => (nothing(), Verdict::NotConfirmed),
                Some((name, overhead, accuracy)) => {
                    let verdict = rule.judge(accuracy, format!("{:.0}%", 100.0 * accuracy));
                    let here = format!(
                        "{:.1}% at {:.2}% overhead ({name})",
                        100.0 * accuracy,
                        100.0 * overhead
                    );
                    (here, verdict)
                }
            }),
    }
}

/// A trend along one axis of the grid.
#[derive(Clone, Copy)]
enum Trend {
    PathsByLoad,
    PathsBySample,
    OverheadByLoad,
    OverheadBySample,
}

fn trend(data: &Data<'_>, trend: Trend) -> Draft {
    let (measure, by_load, rises, claim) = match trend {
        Trend::PathsByLoad => (
            "path_accuracy_ratio",
            true,
            true,
            "path accuracy rises with load",
        ),
        Trend::PathsBySample => (
            "path_accuracy_ratio",
            false,
            true,
            "path accuracy rises with sample size",
        ),
        Trend::OverheadByLoad => ("overhead_ratio", true, true, "overhead rises with load"),
        Trend::OverheadBySample => (
            "overhead_ratio",
            false,
            false,
            "overhead falls with sample size",
        ),
    };
    let mean = |load: f64, sample: u64| data.mean(&setting(load, sample), measure);
    let mut steps = Vec::new();
    if by_load {
        for sample in &data.samples {
            steps.extend(
                LOADS
                    .windows(2)
                    .map(|w| (mean(w[0], *sample), mean(w[1], *sample))),
            );
        }
    } else {
        for load in LOADS {
            steps.extend(
                data.samples
                    .windows(2)
                    .map(|w| (mean(load, w[0]), mean(load, w[1]))),
            );
        }
    }
    let steps: Option<Vec<(f64, f64)>> = steps.into_iter().map(|(a, b)| a.zip(b)).collect();
    let rule = Rule::new(
        "the share of steps between neighbours of the grid that go that way, of means over programs",
        Band::at_least(0.8, Unit::Ratio),
    )
    .differs(Band::at_least(0.5, Unit::Ratio));
    Draft {
        section: match measure {
            "overhead_ratio" => Section::Cost,
            _ => Section::Accuracy,
        },
        claim: claim.to_string(),
        paper: "section 4, figures 3 and 5".to_string(),
        rule: rule.text(),
        found: steps.filter(|s| !s.is_empty()).map(|steps| {
            let right = steps
                .iter()
                .filter(|(a, b)| if rises { b > a } else { b < a })
                .count();
            let share = right as f64 / steps.len() as f64;
            let here = format!("{right} of {} steps", steps.len());
            (here.clone(), rule.judge(share, here))
        }),
    }
}

fn little_coverage(data: &Data<'_>) -> Draft {
    let main = setting(1.0, ShadowStudy::main_sample(&data.samples));
    let found = data
        .mean(&main, "coverage_ratio")
        .zip(data.mean(&main, "path_accuracy_ratio"));
    let few = Rule::new(
        format!("the share of instructions {MAIN}"),
        Band::at_most(0.15, Unit::Ratio),
    );
    let enough = Rule::new("their path accuracy", Band::at_least(0.85, Unit::Ratio))
        .differs(Band::at_least(0.7, Unit::Ratio));
    Draft {
        section: Section::Accuracy,
        claim: "a few percent of the instructions are enough".to_string(),
        paper: "a few percent are instrumented (section 4; its number is lost in the text)"
            .to_string(),
        rule: format!("{}; if so, {}", few.text(), enough.text()),
        found: found.map(|(coverage, accuracy)| {
            let verdict = match few.judge(coverage, "") {
                Verdict::Confirmed => {
                    enough.judge(accuracy, format!("{:.0}% accuracy", 100.0 * accuracy))
                }
                too_many => too_many,
            };
            let here = format!("{:.1}% give {:.1}%", 100.0 * coverage, 100.0 * accuracy);
            (here, verdict)
        }),
    }
}

fn faults_explain(data: &Data<'_>) -> Draft {
    let mut points = Vec::new();
    for name in LOADS
        .iter()
        .flat_map(|l| data.samples.iter().map(|s| setting(*l, *s)))
    {
        let faults = data.by_program(&name, "added_faults_per_second");
        for (program, overhead) in data.by_program(&name, "overhead_ratio") {
            points.extend(faults.get(program).map(|f| (*f, overhead)));
        }
    }
    let rule = Rule::new(
        "correlation of added faults a second and overhead over programs and settings",
        Band::at_least(0.9, Unit::Plain),
    )
    .differs(Band::at_least(0.6, Unit::Plain));
    Draft {
        section: Section::Cost,
        claim: "page faults explain the slowdown".to_string(),
        paper:
            "the fault rate is regular and corresponds well to the overhead (section 4, figure 6)"
                .to_string(),
        rule: rule.text(),
        found: crate::correlation::correlation(&points).map(|r| {
            let here = format!("r = {r:.2}");
            (here.clone(), rule.judge(r, here))
        }),
    }
}

fn shadows_rarely_end(data: &Data<'_>) -> Draft {
    let main = setting(1.0, ShadowStudy::main_sample(&data.samples));
    let rule = Rule::new(
        format!("the share of shadows that end early {MAIN}"),
        Band::at_most(0.05, Unit::Ratio),
    )
    .differs(Band::at_most(0.25, Unit::Ratio));
    Draft {
        section: Section::Accuracy,
        claim: "unsafe system calls rarely end shadows".to_string(),
        paper: "most shadows meet no call that is unsafe (section 3)".to_string(),
        rule: rule.text(),
        found: data.mean(&main, "ended_early_ratio").map(|share| {
            let verdict = rule.judge(share, format!("{:.0}% do", 100.0 * share));
            (format!("{:.1}% end early", 100.0 * share), verdict)
        }),
    }
}

fn translations(data: &Data<'_>) -> Draft {
    let main = setting(1.0, ShadowStudy::main_sample(&data.samples));
    let both = data
        .mean(&main, "coverage_ratio")
        .zip(data.mean("kept-translations", "coverage_ratio"));
    Draft {
        section: Section::Cost,
        claim: "keeping translations for later shadows raises coverage".to_string(),
        paper: "persistent code caches reduce the overhead of translation (sections 2 and 3)"
            .to_string(),
        rule: band::Trend::Rises.text(&format!("coverage without and with them {MAIN}")),
        found: both.map(|(without, with)| {
            let verdict = band::Trend::Rises.judge(&[without, with]);
            let here = format!("{:.2}% without, {:.2}% with", 100.0 * without, 100.0 * with);
            (here, verdict)
        }),
    }
}

fn divergences(data: &Data<'_>) -> Draft {
    let main = setting(1.0, ShadowStudy::main_sample(&data.samples));
    let found = data
        .mean(&main, "diverged_ratio")
        .zip(data.mean(&main, "diverged_transfers_ratio"));
    let rule = Rule::new(
        format!("the share of transfers of control behind a divergence {MAIN}"),
        Band::at_most(0.01, Unit::Ratio),
    )
    .differs(Band::at_most(0.1, Unit::Ratio));
    Draft {
        section: Section::Explained,
        claim: "what shadows do is what their parent then does".to_string(),
        paper: "assumed: determinism is not needed for meaningful profiles (section 5)".to_string(),
        rule: rule.text(),
        found: found.map(|(diverged, behind)| {
            let verdict = rule.judge(behind, format!("{:.1}% of transfers", 100.0 * behind));
            let here = format!(
                "{:.1}% of shadows diverge, {:.2}% of transfers come behind",
                100.0 * diverged,
                100.0 * behind
            );
            (here, verdict)
        }),
    }
}

fn triggered(data: &Data<'_>, trigger: &str, which: &str) -> Draft {
    let main = setting(1.0, ShadowStudy::main_sample(&data.samples));
    let of = |name: &str| {
        let accuracy = data.mean(name, "path_accuracy_ratio");
        accuracy.zip(data.mean(name, "overhead_ratio"))
    };
    let as_good = Rule::new(
        format!("path accuracy less that of periodic ones {MAIN}"),
        Band::at_least(-0.01, Unit::Ratio),
    );
    let cheaper = Rule::new(
        "their overhead over that of periodic ones",
        Band::below(1.0, Unit::Plain),
    );
    Draft {
        section: Section::Explained,
        claim: format!("shadows {which} need less than periodic ones"),
        paper: "future work (section 6)".to_string(),
        rule: format!("{}; if so, {}", as_good.text(), cheaper.text()),
        found: of(&main)
            .zip(of(trigger))
            .map(|((by_time, cost), (by_phase, less))| {
                let verdict = match as_good.judge(by_phase - by_time, "") {
                    Verdict::Confirmed => cheaper.judge(less / cost, ""),
                    worse => worse,
                };
                let here = format!(
                    "{:.1}% at {:.2}% overhead, {:.1}% at {:.2}% by time",
                    100.0 * by_phase,
                    100.0 * less,
                    100.0 * by_time,
                    100.0 * cost
                );
                (here, verdict)
            }),
    }
}
