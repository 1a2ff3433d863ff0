//! What the paper says of clocks and prefetchers (section 7), held against what was measured.

use super::{Goal, PHASES, REQUESTS, Setting};
use crate::claims::band::{Band, Rule, Trend, Unit};
use crate::claims::{Draft, Section};
use crate::found::Found;

/// Whether the program of two phases was measured.
pub(in crate::shim) fn are_measured(found: &Found<'_>) -> bool {
    !found.programs(&Setting::ALL[0].name()).is_empty()
}

/// All claims of section 7.
pub(in crate::shim) fn claims(found: &Found<'_>) -> Vec<Draft> {
    let (full, full_off) = (Setting::of(1, true), Setting::of(1, false));
    let (slow, slow_off) = (Setting::of(4, true), Setting::of(4, false));
    let [stacks, globals] = PHASES;
    vec![
        changes(
            found,
            (stacks, "ipc"),
            (full, slow),
            "poor locality: instructions a cycle rise when the clock falls",
            ("0.59 at 3.4 GHz, 0.83 at 0.8 GHz (figure 14)", 0.59, 0.83),
        ),
        changes(
            found,
            (globals, "ipc"),
            (full_off, slow_off),
            "good locality without a prefetcher: they rise a little",
            ("1.15 at 3.4 GHz, 1.29 at 0.8 GHz (figure 18)", 1.15, 1.29),
        ),
        changes(
            found,
            (stacks, "ipc"),
            (full, full_off),
            "poor locality: a prefetcher hardly matters to instructions a cycle",
            ("0.60 with it, 0.57 without (figure 16)", 0.60, 0.57),
        ),
        changes(
            found,
            (stacks, REQUESTS),
            (full, full_off),
            "poor locality: a prefetcher asks memory for more than is used",
            (
                "0.91 requests in 100 cycles with it, 0.68 without (figure 16)",
                0.91,
                0.68,
            ),
        ),
        changes(
            found,
            (stacks, REQUESTS),
            (full, slow),
            "poor locality: memory is asked more often when the clock falls",
            (
                "0.91 requests in 100 cycles at 3.4 GHz, 1.09 at 0.8 GHz (figure 14)",
                0.91,
                1.09,
            ),
        ),
        changes(
            found,
            (globals, "ipc"),
            (full, full_off),
            "good locality: a prefetcher helps",
            ("1.48 with it, 1.15 without (figure 17)", 1.48, 1.15),
        ),
        changes(
            found,
            (globals, REQUESTS),
            (full, full_off),
            "good locality: a prefetcher does not change how often memory is asked",
            ("unaffected, without a number (figure 17)", 1.0, 1.0),
        ),
        falls(
            found,
            (globals, "ipc"),
            (full, slow),
            "good locality with a prefetcher: instructions a cycle fall when the clock falls",
            "a lower IPC at 0.8 GHz, without a number (figure 15)",
        ),
        changes(
            found,
            (globals, REQUESTS),
            (full, slow),
            "good locality with a prefetcher: memory is asked as often when the clock falls",
            ("no clear change, without a number (figure 15)", 1.0, 1.0),
        ),
        go_together(found),
        by_phase(found, Goal::EnergyTime),
        by_phase(found, Goal::EnergyTime2),
    ]
}

/// A number changes from one point to another as the paper's does.
fn changes(
    found: &Found<'_>,
    (phase, measure): (&str, &str),
    (from, to): (Setting, Setting),
    claim: &str,
    (paper, paper_from, paper_to): (&str, f64, f64),
) -> Draft {
    let at = |setting: Setting| found.mean(&setting.name(), phase, measure);
    let paper_change = paper_to / paper_from - 1.0;
    let near = Band::between(paper_change - 0.1, paper_change + 0.1, Unit::Ratio);
    let rule = Rule::new(
        format!(
            "`{phase}`, change from one to the other, {:+.0}% in the paper",
            100.0 * paper_change
        ),
        near,
    );
    // A change agrees if it has the paper's sign or is small; where the paper has no change, there is no sign.
    let rule = match paper_change {
        change if change > 0.0 => rule.differs(Band::above(-0.05, Unit::Ratio)),
        change if change < 0.0 => rule.differs(Band::below(0.05, Unit::Ratio)),
        _ => rule,
    };
    Draft {
        section: Section::Cases,
        claim: claim.to_string(),
        paper: paper.to_string(),
        rule: rule.text(),
        found: at(from).zip(at(to)).map(|(from, to)| {
            let change = to / from - 1.0;
            let verdict = rule.judge(change, format!("{:+.0}%", 100.0 * change));
            (
                format!("{}: {:+.0}%", both(from, to), 100.0 * change),
                verdict,
            )
        }),
    }
}

/// A number falls from one point to another, as the paper says without a number.
fn falls(
    found: &Found<'_>,
    (phase, measure): (&str, &str),
    (from, to): (Setting, Setting),
    claim: &str,
    paper: &str,
) -> Draft {
    let at = |setting: Setting| found.mean(&setting.name(), phase, measure);
    Draft {
        section: Section::Cases,
        claim: claim.to_string(),
        paper: paper.to_string(),
        rule: Trend::Falls.text(&format!("`{phase}`, one and the other")),
        found: at(from)
            .zip(at(to))
            .map(|(from, to)| (both(from, to), Trend::Falls.judge(&[from, to]))),
    }
}

/// Two numbers, with as many decimals as small ones need.
fn both(from: f64, to: f64) -> String {
    match from.abs().min(to.abs()) < 0.1 {
        true => format!("{from:.3} and {to:.3}"),
        false => format!("{from:.2} and {to:.2}"),
    }
}

/// Where IPC is low, memory is asked most.
fn go_together(found: &Found<'_>) -> Draft {
    let base = Setting::ALL[0].name();
    let correlation = found.mean(&base, "timeline", "ipc_requests_correlation_ratio");
    let rule = Rule::new(
        "coefficient of correlation over the samples of both phases",
        Band::at_most(-0.7, Unit::Plain),
    )
    .differs(Band::below(0.0, Unit::Plain));
    Draft {
        section: Section::Cases,
        claim: "low IPC goes with much traffic to memory".to_string(),
        paper: "a strong correlation over time (figure 19)".to_string(),
        rule: rule.text(),
        found: correlation.map(|value| (format!("{value:.2}"), rule.judge(value, "a weak one"))),
    }
}

/// A processor that is switched by what is sampled beats every fixed point.
fn by_phase(found: &Found<'_>, goal: Goal) -> Draft {
    let of = |scheme: &str| found.mean(scheme, "all", goal.name());
    let scheme = goal.scheme();
    let fixed = Setting::ALL
        .into_iter()
        .filter_map(|setting| Some((setting.title(), of(&setting.name())?)));
    let best = fixed.min_by(|a, b| a.1.total_cmp(&b.1));
    let rule = Rule::new(
        "that of the whole run, switched by samples alone, over that of the best fixed setting",
        Band::below(0.95, Unit::Plain),
    )
    .differs(Band::below(1.0, Unit::Plain));
    Draft {
        section: Section::Cases,
        claim: format!(
            "switching clock and prefetcher by phase beats every fixed setting, by {}",
            goal.title()
        ),
        paper: "hinted at in the conclusion of section 7".to_string(),
        rule: rule.text(),
        found: best.zip(of(&scheme)).map(|((best, least), switched)| {
            let ratio = switched / least;
            let verdict = rule.judge(ratio, format!("{:.1}%", 100.0 * (ratio - 1.0)));
            let switches = found.mean(&scheme, "all", "switches").unwrap_or(0.0);
            let here = format!("{ratio:.2} of {best}, with {switches:.0} switches");
            (here, verdict)
        }),
    }
}
