//! Claims of the studies held against what was measured, and what explains the differences.

use std::collections::BTreeMap;

use hps_profile::{Verdict as PairedVerdict, compare_pairs, summarize};

use super::NARROW;
use super::data::{Data, PUBLISHED, Published, fewer, level_of};
use crate::claims::band::{Band, Rule, Unit};
use crate::claims::{Claim, Draft, Section, Verdict};
use crate::correlation::correlation;

/// How far a number may be from a published one and still agree.
const BAND: f64 = 0.25;
/// Correlation from which on a cause is said to explain.
const CORRELATION: f64 = 0.7;

/// All claims for one instruction set, and behind them what explains the differences.
#[must_use]
pub fn claims(data: &Data<'_>, isa: &str) -> Vec<Claim> {
    let published = PUBLISHED.iter().map(|p| average(data, p));
    let greatest = PUBLISHED.iter().filter_map(|p| greatest(data, p));
    let mut all: Vec<Draft> = published.chain(greatest).collect();
    all.extend([
        order(data),
        unbiased(data),
        width_explains(data),
        flushes_explain(data),
        samples_explain(data),
        draws_explain(data),
        lost_tags(data),
    ]);
    all.into_iter().map(|draft| draft.of(isa)).collect()
}

fn percent(ratio: f64) -> String {
    format!("{:.1}%", 100.0 * ratio)
}

fn errors<'a>(data: &Data<'a>, published: &Published) -> Vec<(&'a str, f64)> {
    let errors = data.errors(data.machine, published.policy, level_of(published.policy));
    errors.into_iter().collect()
}

fn average(data: &Data<'_>, published: &Published) -> Draft {
    let errors = errors(data, published);
    let values: Vec<f64> = errors.iter().map(|(_, e)| *e).collect();
    let rule = Rule::new(
        "mean over programs",
        Band::near(published.mean, BAND, Unit::Ratio),
    )
    .holding(published.mean, Unit::Ratio)
    .else_differs();
    let found = (!values.is_empty()).then(|| {
        let summary = summarize(&values);
        let half = summary
            .half_width
            .map_or_else(String::new, |half| format!(" ± {}", percent(half)));
        let here = format!(
            "{}{half} over {} programs",
            percent(summary.mean),
            summary.count
        );
        let how = format!("{:.2} times the published", summary.mean / published.mean);
        let verdict = rule.judge_interval(summary.mean, summary.half_width, how);
        (here, verdict)
    });
    Draft {
        section: Section::Accuracy,
        claim: format!("mean error of {}", published.name),
        paper: format!(
            "{} ({}, abstract)",
            percent(published.mean),
            published.study
        ),
        rule: rule.text(),
        found,
    }
}

fn greatest(data: &Data<'_>, published: &Published) -> Option<Draft> {
    let bound = published.greatest?;
    let errors = errors(data, published);
    let worst = errors.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    // The paper's number bounds every program's error.
    let most = Band::at_most(bound * (1.0 + BAND), Unit::Ratio);
    let rule = Rule::new("greatest of all programs", most).else_differs();
    let found = worst.map(|(program, error)| {
        let verdict = rule.judge(error, format!("{:.2} times the published", error / bound));
        (format!("{} ({program})", percent(error)), verdict)
    });
    Some(Draft {
        section: Section::Accuracy,
        claim: format!("greatest error of {}", published.name),
        paper: format!("{} ({}, abstract)", percent(bound), published.study),
        rule: rule.text(),
        found,
    })
}

fn paired(a: &BTreeMap<&str, f64>, b: &BTreeMap<&str, f64>) -> Vec<(f64, f64)> {
    let pairs = a
        .iter()
        .filter_map(|(program, &a)| Some((a, *b.get(program)?)));
    pairs.collect()
}

fn order(data: &Data<'_>) -> Draft {
    let of = |policy| data.errors(data.machine, policy, "instruction");
    let steps = [
        ("software", "nci"),
        ("ibs", "nci"),
        ("lci", "nci"),
        ("nci", "tip"),
    ];
    let compared: Vec<_> = steps
        .iter()
        .map(|&(worse, better)| {
            (
                worse,
                better,
                compare_pairs(&paired(&of(worse), &of(better))),
            )
        })
        .collect();
    let found = compared
        .iter()
        .all(|(_, _, c)| c.difference.count > 1)
        .then(|| {
            let said = compared.iter().map(|(worse, better, c)| {
                format!(
                    "{worse} - {better}: {:+.1} ± {:.1} points",
                    100.0 * c.difference.mean,
                    100.0 * c.difference.half_width.unwrap_or_default()
                )
            });
            let said: Vec<String> = said.collect();
            let count = |wanted| {
                compared
                    .iter()
                    .filter(|(_, _, c)| c.verdict == wanted)
                    .count()
            };
            let verdict = if count(PairedVerdict::Smaller) > 0 {
                Verdict::NotConfirmed
            } else if count(PairedVerdict::Draw) > 0 {
                Verdict::Differs("a draw in part".to_string())
            } else {
                Verdict::Confirmed
            };
            (said.join("; "), verdict)
        });
    Draft {
        section: Section::Accuracy,
        claim: "Software, Dispatch and LCI err more than NCI, and NCI more than TIP".to_string(),
        paper: "61.8, 53.1, 55.4 > 9.3 > 1.6% (TIP, MICRO 2021, abstract)".to_string(),
        rule: "confirmed if the 95% interval of each mean paired difference over programs lies above 0; not confirmed \
               if one lies below"
            .to_string(),
        found,
    }
}

fn unbiased(data: &Data<'_>) -> Draft {
    let biases = data.biases(data.machine, "tip");
    let worst = biases.values().copied().reduce(f64::max);
    Draft {
        section: Section::Explained,
        claim: "all of TIP's error comes from the number of samples".to_string(),
        paper: "TIP is time-proportional (TIP, MICRO 2021)".to_string(),
        rule: "confirmed if TIP with every cycle sampled has no error in any program".to_string(),
        found: worst.map(|worst| {
            let verdict = match worst < 1e-9 {
                true => Verdict::Confirmed,
                false => Verdict::NotConfirmed,
            };
            (format!("greatest bias {}", percent(worst)), verdict)
        }),
    }
}

fn width_explains(data: &Data<'_>) -> Draft {
    let points: Vec<(f64, f64)> = data
        .points("nci")
        .iter()
        .map(|p| (p.group, p.bias))
        .collect();
    let rule = Rule::new(
        "correlation of its bias and the instructions per committing cycle over programs and machines",
        Band::at_least(CORRELATION, Unit::Plain),
    );
    let found = (points.len() > 3).then(|| correlation(&points)).flatten();
    let found = found.map(|r| {
        let by_machine = data.machines().into_iter().filter_map(|machine| {
            let biases: Vec<f64> = data.biases(machine, "nci").into_values().collect();
            let groups: Vec<f64> = data.groups(machine).into_values().collect();
            (!biases.is_empty()).then(|| {
                format!(
                    "{machine}: {} at {:.2} instructions",
                    percent(summarize(&biases).mean),
                    summarize(&groups).mean
                )
            })
        });
        let by_machine: Vec<String> = by_machine.collect();
        let verdict = rule.judge(r, "");
        let here = format!(
            "correlation {r:.2} over {} runs; bias of NCI by instructions per committing cycle: {}",
            points.len(),
            by_machine.join(", ")
        );
        (here, verdict)
    });
    Draft {
        section: Section::Explained,
        claim: "NCI errs with the number of instructions that commit together".to_string(),
        paper: "–".to_string(),
        rule: rule.text(),
        found,
    }
}

fn flushes_explain(data: &Data<'_>) -> Draft {
    let narrow = data.machines().into_iter().find(|m| m.ends_with(NARROW));
    let found = narrow.and_then(|machine| {
        let biases = data.biases(machine, "nci");
        let flushed = data.shares(machine, "flushed");
        let pairs = paired(&biases, &flushed);
        (!pairs.is_empty()).then(|| {
            let within = pairs.iter().all(|(bias, share)| *bias <= share + 1e-9);
            let mean = |of: fn(&(f64, f64)) -> f64| {
                summarize(&pairs.iter().map(of).collect::<Vec<_>>()).mean
            };
            let verdict = match within {
                true => Verdict::Confirmed,
                false => Verdict::NotConfirmed,
            };
            let here = format!(
                "bias {} in the mean, cycles behind flushes {}",
                percent(mean(|p| p.0)),
                percent(mean(|p| p.1))
            );
            (here, verdict)
        })
    });
    Draft {
        section: Section::Explained,
        claim: "where instructions commit one by one, NCI errs behind flushes only".to_string(),
        paper: "–".to_string(),
        rule: "confirmed if with a commit width of 1 the bias of NCI is in no program greater than the share of \
               cycles behind flushes"
            .to_string(),
        found,
    }
}

fn samples_explain(data: &Data<'_>) -> Draft {
    let pairs = paired(
        &data.errors_of_few("tip"),
        &data.errors(data.machine, "tip", "instruction"),
    );
    let published = PUBLISHED.iter().find(|p| p.policy == "tip");
    let rule = Rule::new(
        "mean error with a quarter of the samples over that with all",
        Band::near(2.0, BAND, Unit::Plain),
    )
    .else_differs();
    let found = (!pairs.is_empty()).then(|| {
        let mean = |of: fn(&(f64, f64)) -> f64| {
            summarize(&pairs.iter().map(of).collect::<Vec<_>>()).mean
        };
        let (few, all) = (mean(|p| p.0), mean(|p| p.1));
        let ratio = few / all;
        let enough = published.map_or(0.0, |p| data.samples as f64 * (all / p.mean).powi(2));
        let verdict = rule.judge(ratio, format!("by a factor of {ratio:.2}"));
        let here = format!(
            "{} with {} samples, {} with {}; by this law {enough:.0} samples give the published error",
            percent(few),
            fewer(data.samples),
            percent(all),
            data.samples
        );
        (here, verdict)
    });
    Draft {
        section: Section::Explained,
        claim: "TIP's error halves with four times the samples".to_string(),
        paper: "–".to_string(),
        rule: rule.text(),
        found,
    }
}

fn draws_explain(data: &Data<'_>) -> Draft {
    let pairs = paired(
        &data.errors(data.machine, "tip", "instruction"),
        &data.draws(),
    );
    let found = (!pairs.is_empty()).then(|| {
        let mean =
            |of: fn(&(f64, f64)) -> f64| summarize(&pairs.iter().map(of).collect::<Vec<_>>()).mean;
        let (tip, draws) = (mean(|p| p.0), mean(|p| p.1));
        let verdict = match tip <= draws {
            true => Verdict::Confirmed,
            false => Verdict::Differs(format!("{:.2} times as much", tip / draws)),
        };
        let here = format!("TIP {}, draws {}", percent(tip), percent(draws));
        (here, verdict)
    });
    Draft {
        section: Section::Explained,
        claim: "TIP errs by no more than as many independent draws from the truth".to_string(),
        paper: "–".to_string(),
        rule: "confirmed if its mean error is at most that of the draws, computed from the exact profile; TIP shares a \
               sample among the instructions that commit together, a draw does not"
            .to_string(),
        found,
    }
}

fn lost_tags(data: &Data<'_>) -> Draft {
    let (taken, lost) = data.taken_and_lost("ibs");
    Draft {
        section: Section::Explained,
        claim: "dispatch tagging loses samples to squashes".to_string(),
        paper: "–".to_string(),
        rule: "confirmed if the hardware tags instructions that are squashed".to_string(),
        found: (taken > 0.0).then(|| {
            let verdict = match lost > 0.0 {
                true => Verdict::Confirmed,
                false => Verdict::NotConfirmed,
            };
            let here = format!(
                "{} of the tags were squashed",
                percent(lost / (taken + lost))
            );
            (here, verdict)
        }),
    }
}
