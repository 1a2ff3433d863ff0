//! What no paper says of instrumentation that is executed, and of shadows on the chip of their parent.

use hps_shadow::control::Costs;

use super::bursts::ONE_IN;
use super::chip::{self, Part};
use super::executed::{BY_KEY, Kind, Means};
use super::{Data, LOADS, setting};
use crate::claims::band::{Band, Rule, Unit};
use crate::claims::{Draft, Section};

/// All of them; those of chips for the machines on which shadows ran.
pub(super) fn drafts(data: &Data<'_>) -> Vec<Draft> {
    let chips = data.chips();
    let mut all = vec![
        full_instrumentation(data),
        one_slowdown(data),
        what_it_does(data),
        beside_bursts(data),
    ];
    all.extend(chips.iter().map(|machine| competition(data, machine)));
    all.extend(chips.iter().map(|machine| keys(data, machine)));
    all
}

/// The kinds whose overhead the paper gives.
const PAPERS: [Kind; 2] = [Kind::Paths, Kind::Values];

fn full_instrumentation(data: &Data<'_>) -> Draft {
    let slowdowns = PAPERS.map(|kind| Some((kind, data.slowdown(kind, Means::Dise)?.0)));
    let slowdowns: Option<Vec<_>> = slowdowns.into_iter().collect();
    let rule = Rule::new(
        "of paths and values, executed by DISE all the time, how many take at least twice as long in the mean over programs",
        Band::at_least(2.0, Unit::Plain),
    )
    .differs(Band::at_least(1.0, Unit::Plain));
    Draft {
        section: Section::Cost,
        claim: "instrumentation of the whole run takes a multiple of the program's time".to_string(),
        paper: "perfect path and value profiles take several times as long (section 4; numbers are lost in the text)"
            .to_string(),
        rule: rule.text(),
        found: slowdowns.map(|all| {
            let slow = all.iter().filter(|(_, slowdown)| *slowdown >= 2.0).count();
            let words: Vec<String> =
                all.iter().map(|(kind, s)| format!("{}: {s:.1} times", kind.title())).collect();
            let words = words.join(", ");
            (words.clone(), rule.judge(slow as f64, words))
        }),
    }
}

fn one_slowdown(data: &Data<'_>) -> Draft {
    let key = Costs::default().slowdown;
    let all = Kind::ALL.map(|kind| Some((kind, data.slowdown(kind, Means::Dise)?.0)));
    let all: Option<Vec<(Kind, f64)>> = all.into_iter().collect();
    let rule = Rule::new(
        "the share of kinds, executed by DISE all the time, whose mean over programs is within a factor of two of the key",
        Band::at_least(1.0, Unit::Ratio),
    )
    .differs(Band::above(0.0, Unit::Ratio));
    Draft {
        section: Section::Explained,
        claim: format!("one slowdown, {key:.0}, stands for all kinds of instrumentation"),
        paper: "the slowdown of its instrumentation is lost".to_string(),
        rule: rule.text(),
        found: all.map(|all| {
            let near = |s: f64| (key / 2.0..=key * 2.0).contains(&s);
            let count = all.iter().filter(|(_, s)| near(*s)).count();
            let by_slowdown = |a: &&(Kind, f64), b: &&(Kind, f64)| a.1.total_cmp(&b.1);
            let named = |one: Option<&(Kind, f64)>| {
                one.map_or_else(String::new, |(kind, s)| {
                    format!("{s:.1} ({})", kind.title())
                })
            };
            let least = named(all.iter().min_by(by_slowdown));
            let most = named(all.iter().max_by(by_slowdown));
            let share = count as f64 / all.len() as f64;
            let verdict = rule.judge(share, format!("{count} of {} kinds", all.len()));
            (format!("from {least} to {most}"), verdict)
        }),
    }
}

fn what_it_does(data: &Data<'_>) -> Draft {
    let key = data.mean(BY_KEY, "path_accuracy_ratio");
    let of = |kind: Kind| data.mean(&kind.variant(), "path_accuracy_ratio");
    let all: Option<Vec<(Kind, f64)>> = Kind::ALL.map(|k| Some((k, of(k)?))).into_iter().collect();
    let rule = Rule::new(
        "the largest difference of path accuracy with the slowdown of an executed kind and with the key, at load 1.0 and the \
         second largest sample, without translation",
        Band::at_most(0.05, Unit::Ratio),
    );
    Draft {
        section: Section::Explained,
        claim: "the accuracy of shadows depends little on how slow they are".to_string(),
        paper: "not said".to_string(),
        rule: rule.text(),
        found: key.zip(all).map(|(key, all)| {
            let far = |one: &&(Kind, f64)| (one.1 - key).abs();
            let worst = all.iter().max_by(|a, b| far(a).total_cmp(&far(b)));
            let (kind, accuracy) = worst.copied().unwrap_or((Kind::Calls, key));
            let verdict = rule.judge((accuracy - key).abs(), "");
            let here = format!(
                "at most off: {:.1}% with the slowdown of {}, {:.1}% with the key",
                100.0 * accuracy,
                kind.title(),
                100.0 * key
            );
            (here, verdict)
        }),
    }
}

fn beside_bursts(data: &Data<'_>) -> Draft {
    let bursts: Option<Vec<_>> = ONE_IN.iter().map(|one_in| data.bursts(*one_in)).collect();
    let settings = LOADS
        .iter()
        .flat_map(|load| data.samples.iter().map(|sample| setting(*load, *sample)));
    let shadows: Option<Vec<_>> = settings
        .map(|name| {
            let overhead = data.mean(&name, "overhead_ratio");
            overhead.zip(data.mean(&name, "call_overlap_ratio"))
        })
        .collect();
    let rule = Rule::new(
        "the share of settings of the grid in which the overlap of call pairs is larger than the largest among HPS's \
         frequencies that cost no more, means over programs",
        Band::at_least(0.8, Unit::Ratio),
    )
    .differs(Band::above(0.0, Unit::Ratio));
    Draft {
        section: Section::Explained,
        claim: "shadows find more calls than HPS's bursts at equal overhead".to_string(),
        paper: "not compared".to_string(),
        rule: rule.text(),
        found: bursts.zip(shadows).map(|(bursts, shadows)| {
            let best_at = |limit: f64| {
                let affordable = bursts.iter().filter(|(cost, _)| *cost <= limit);
                affordable.map(|(_, found)| *found).fold(0.0, f64::max)
            };
            let all = shadows.len();
            let won = shadows
                .iter()
                .filter(|(cost, found)| *found > best_at(*cost))
                .count();
            let here = format!("in {won} of {all} settings");
            let share = won as f64 / all.max(1) as f64;
            (here.clone(), rule.judge(share, here))
        }),
    }
}

/// The slowdown at which shadows compete most.
const FULL_SPEED: f64 = chip::SLOWDOWNS[0];

fn competition(data: &Data<'_>, machine: &str) -> Draft {
    let of = |measure: &str| data.on_chip(machine, FULL_SPEED, measure);
    let rule = Rule::new(
        "what the parent loses while it runs over its slowdown, with shadows at full speed at load 1.0 and the second largest \
         sample, means over programs",
        Band::below(0.5, Unit::Ratio),
    );
    Draft {
        section: Section::Explained,
        claim: format!(
            "on {machine} the program loses more to the operating system than to shared parts of the chip"
        ),
        paper: "page faults explain the slowdown (section 4)".to_string(),
        rule: rule.text(),
        found: of("overhead_ratio")
            .zip(of(Part::Shared.measure()))
            .map(|(whole, shared)| {
                let verdict = rule.judge(shared / whole.max(f64::MIN_POSITIVE), "");
                let here = format!("{:.1}% of {:.1}% slowdown", 100.0 * shared, 100.0 * whole);
                (here, verdict)
            }),
    }
}

fn keys(data: &Data<'_>, machine: &str) -> Draft {
    let by_default = Costs::default().slowdown;
    let of = |measure: &str| data.on_chip(machine, by_default, measure);
    let rule = Rule::new(
        "overhead with the key's slowdown over what keys charge, means over programs",
        Band::between(0.75, 1.25, Unit::Plain),
    )
    .differs(Band::between(0.5, 2.0, Unit::Plain));
    Draft {
        section: Section::Explained,
        claim: format!("what keys charge is what shadows cost on {machine}"),
        paper: "not said: it measured on a machine".to_string(),
        rule: rule.text(),
        found: of("overhead_ratio")
            .zip(of("charged_ratio"))
            .map(|(measured, charged)| {
                let ratio = measured / charged.max(f64::MIN_POSITIVE);
                let here = format!(
                    "{:.1}% measured, {:.1}% charged",
                    100.0 * measured,
                    100.0 * charged
                );
                let verdict = rule.judge(ratio, format!("{ratio:.2} times"));
                (here, verdict)
            }),
    }
}
