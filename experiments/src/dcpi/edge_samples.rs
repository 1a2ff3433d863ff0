//! Claims about edge samples, of which the paper has prototypes and no numbers (section 7).

use super::data::{Data, setting_of};
use super::order::followed_measure;
use super::{FOLLOWS, Follow, MAIN_PERIOD, follow_setting};
use crate::claims::{Draft, Section, Verdict};

const PAPER: &str = "prototypes, without numbers (section 7)";

/// What samples tell, in words.
fn told(follow: Follow) -> String {
    match follow {
        Follow::Nothing => "without".to_string(),
        Follow::Transfer => "by reading the sampled transfer".to_string(),
        Follow::Next(steps) => format!("by {steps} further interrupts"),
    }
}

/// Shares of an estimate within 10% of the truth: without edge samples, and by each way to them.
fn shares(data: &Data<'_>, measure: &str) -> Option<(f64, Vec<f64>)> {
    let without = data.mean(&format!("period={MAIN_PERIOD}"), measure)?;
    let with = FOLLOWS.map(|follow| data.mean(&follow_setting(follow), measure));
    Some((without, with.into_iter().collect::<Option<_>>()?))
}

/// A claim about these shares: they rise by at least so many points.
fn gained(data: &Data<'_>, measure: &str, points: f64) -> Option<(String, Verdict)> {
    let (without, with) = shares(data, measure)?;
    let verdict = match with.iter().all(|share| share - without > points) {
        true => Verdict::Confirmed,
        false => Verdict::NotConfirmed,
    };
    let with = FOLLOWS.into_iter().zip(with);
    let texts = std::iter::once((Follow::Nothing, without)).chain(with);
    let texts = texts.map(|(follow, share)| format!("{}: {share:.1}%", told(follow)));
    Some((texts.collect::<Vec<_>>().join("; "), verdict))
}

pub(super) fn edges(data: &Data<'_>) -> Draft {
    Draft {
        section: Section::Explained,
        claim: "edge samples give better estimates of edges".to_string(),
        paper: PAPER.to_string(),
        rule: format!(
            "confirmed if more executions of edges are within 10% by each way to edge samples; a sample each {MAIN_PERIOD} cycles"
        ),
        found: gained(data, "edge_within_10_percent", 0.0),
    }
}

pub(super) fn frequencies(data: &Data<'_>) -> Draft {
    Draft {
        section: Section::Explained,
        claim: "edge samples do not make frequencies of instructions worse".to_string(),
        paper: PAPER.to_string(),
        rule: format!(
            "confirmed if the share of samples within 10% falls by less than a point by each way; a sample each {MAIN_PERIOD} \
             cycles"
        ),
        found: gained(data, "frequency_within_10_percent", -1.0),
    }
}

pub(super) fn directions(data: &Data<'_>) -> Draft {
    let of = |follow: Follow| {
        let setting = follow_setting(follow);
        let met = data.mean(&setting, "direction_met_ratio")?;
        Some((
            follow,
            met,
            data.mean(&setting, "direction_within_10_ratio")?,
        ))
    };
    let all: Option<Vec<_>> = FOLLOWS.map(of).into_iter().collect();
    let out_of_order: Vec<String> = data
        .machines()
        .iter()
        .skip(1)
        .filter_map(|machine| {
            let measure = followed_measure(FOLLOWS[1], "direction_within_10_ratio");
            let right = data.mean(&setting_of(machine), &measure)?;
            Some(format!("{:.1}% on {machine}", 100.0 * right))
        })
        .collect();
    Draft {
        section: Section::Explained,
        claim: "edge samples tell where branches lead".to_string(),
        paper: PAPER.to_string(),
        rule: "confirmed if by each way the share of an edge among the edge samples of its block is within 10% of the truth for \
               75% of the executions; instructions that issue with others at the head are never sampled, so that reading the \
               sampled transfer does not meet all"
            .to_string(),
        found: all.map(|all| {
            let verdict = match all.iter().all(|(_, _, right)| *right >= 0.75) {
                true => Verdict::Confirmed,
                false => Verdict::NotConfirmed,
            };
            let texts = all.iter().map(|(follow, met, right)| {
                let (met, right) = (100.0 * met, 100.0 * right);
                format!("{}: {met:.1}% of the executions of branches are met, {right:.1}% of these are within 10%", told(*follow))
            });
            let mut texts: Vec<String> = texts.collect();
            if !out_of_order.is_empty() {
                texts.push(format!("the same {}: {}", told(FOLLOWS[1]), out_of_order.join(", ")));
            }
            (texts.join("; "), verdict)
        }),
    }
}

pub(super) fn cost(data: &Data<'_>) -> Draft {
    let found = data.mean("", "overhead_ratio").map(|ratio| {
        let of = |follow: Follow| 100.0 * ratio * follow.interrupts() as f64;
        let texts = FOLLOWS.map(|follow| format!("{}: {:.2}%", told(follow), of(follow)));
        let verdict = match FOLLOWS.iter().all(|follow| of(*follow) <= 3.0) {
            true => Verdict::Confirmed,
            false => Verdict::NotConfirmed,
        };
        (texts.join("; "), verdict)
    });
    Draft {
        section: Section::Cost,
        claim: "slowdown with edge samples".to_string(),
        paper: PAPER.to_string(),
        rule: "confirmed up to the published 3%, if each further interrupt costs what the measured ones do; further interrupts \
               are not executed"
            .to_string(),
        found,
    }
}
