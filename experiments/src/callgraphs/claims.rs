//! The thesis's claims, and what its author could not see, held against what was measured.

use crate::claims::band::{Band, Rule, Trend, Unit};
use crate::claims::{Claim, Draft, Section, Verdict};
use crate::correlation::rank_correlation;
use crate::found::Found;

/// All claims for one instruction set.
#[must_use]
pub fn claims(found: &Found<'_>, isa: &str) -> Vec<Claim> {
    let all = [
        tag_cost(found),
        context_cost(found),
        deeper_is_slower(found),
        stack_pushes_cost_nothing(found),
        stack_accuracy(found),
        depth_does_not_matter(found),
        depth_matters_when_slow(found),
        invalid_edges(found),
        bursts_beat_samples(found),
        faster_timers_gain_little(found),
        larger_rings(found),
        rings_beat_stacks(found),
        rings_beat_bursts(found),
        rings_need_no_speed(found),
        orphans(found),
        seen_calls_make_accuracy(found),
        undetectable(found),
        every_invalid_edge_is_explained(found),
        time_weighted(found),
        hps_beside(found),
    ];
    all.into_iter().map(|draft| draft.of(isa)).collect()
}

const FAST: &str = "wait=0";
const INTERRUPTS: &str = "wait=10000";
const MILLISECOND: &str = "wait=100000";

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

fn within(value: f64, of: f64) -> bool {
    Band::near(of, 0.25, Unit::Ratio).contains(value)
}

fn draft(
    section: Section,
    claim: &str,
    paper: &str,
    rule: &str,
    found: Option<(String, Verdict)>,
) -> Draft {
    Draft {
        section,
        claim: claim.to_string(),
        paper: paper.to_string(),
        rule: rule.to_string(),
        found,
    }
}

/// Confirmed if it is so, not confirmed if not.
fn so(is_so: bool) -> Verdict {
    match is_so {
        true => Verdict::Confirmed,
        false => Verdict::NotConfirmed,
    }
}

fn overhead(found: &Found<'_>, scheme: &str, setting: &str) -> Option<f64> {
    found.mean(scheme, setting, "overhead_ratio")
}

fn accuracy(found: &Found<'_>, scheme: &str, setting: &str) -> Option<f64> {
    found.mean(scheme, setting, "accuracy_ratio")
}

fn tag_cost(found: &Found<'_>) -> Draft {
    let at = |setting| overhead(found, "tag", setting);
    draft(
        Section::Cost,
        "IPC by one tag costs much as fast as possible, little at 200,000 cycles, nothing at a millisecond",
        "about 40% at 200 cycles, none at 1 ms (section 3.3.2)",
        "mean overheads over programs as fast as possible and with 100,000 cycles of sleep: confirmed if the first is 30 to 50% \
         and the second below 1%, differs if it falls below 1%, not confirmed if the second is more",
        at(FAST).zip(at(MILLISECOND)).map(|(fast, slow)| {
            let verdict = match (within(fast, 0.4), slow < 0.01) {
                (true, true) => Verdict::Confirmed,
                (false, true) => Verdict::Differs(
                    "counter reads serialize the observer, and leave the core to the program"
                        .to_string(),
                ),
                _ => Verdict::NotConfirmed,
            };
            (format!("{} and {}", percent(fast), percent(slow)), verdict)
        }),
    )
}

fn context_cost(found: &Found<'_>) -> Draft {
    let at = |scheme| overhead(found, scheme, FAST);
    let all = at("tag").zip(at("context-2")).zip(at("context-full"));
    draft(
        Section::Cost,
        "calling contexts cost no more than one tag",
        "\"very similar\" (section 3.4.4), though 65.4 to 69.9% (Table 3.1) against about 40%",
        "mean overheads over programs as fast as possible: confirmed if two tags and the whole context are within 5 points \
         of one tag, not confirmed if one of them is not",
        all.map(|((tag, two), whole)| {
            let is_near = |of: f64| (of - tag).abs() <= 0.05;
            let here = format!(
                "one {}, two {}, all {}",
                percent(tag),
                percent(two),
                percent(whole)
            );
            (here, so(is_near(two) && is_near(whole)))
        }),
    )
}

fn deeper_is_slower(found: &Found<'_>) -> Draft {
    let at = |scheme| found.mean(scheme, FAST, "period_cycles");
    let all = at("context-2")
        .zip(at("context-10"))
        .zip(at("context-full"));
    draft(
        Section::Cost,
        "the more context, the longer the shortest period",
        "200, 300 and 350 cycles for 2, 10 and all (Table 3.1)",
        &Trend::Rises.text("mean periods over programs as fast as possible, of 2, 10 and all"),
        all.map(|((two, ten), full)| {
            (
                format!("{two:.0}, {ten:.0} and {full:.0} cycles"),
                Trend::Rises.judge(&[two, ten, full]),
            )
        }),
    )
}

fn stack_pushes_cost_nothing(found: &Found<'_>) -> Draft {
    let rule = Rule::new(
        "mean overhead over programs of a stack that nobody reads",
        Band::below(0.01, Unit::Ratio),
    )
    .differs(Band::below(0.1, Unit::Ratio));
    draft(
        Section::Cost,
        "maintaining the tag stack costs nothing",
        "0.0% without sampling (Table 3.1)",
        &rule.text(),
        overhead(found, "stack-full", "alone").map(|cost| {
            let how = "programs here call more often than JavaScript does";
            (percent(cost), rule.judge(cost, how))
        }),
    )
}

fn stack_accuracy(found: &Found<'_>) -> Draft {
    let at = |setting| accuracy(found, "stack-full", setting);
    draft(
        Section::Accuracy,
        "a tag stack is accurate only as fast as possible",
        "79.4%, 39.3% and 22.7% as fast as possible, at interrupts' period and at 1 ms (Table 4.1)",
        "means over programs with the whole stack: confirmed if all three are within 25% of the thesis's, differs if they \
         fall, not confirmed if they do not",
        at(FAST)
            .zip(at(INTERRUPTS))
            .zip(at(MILLISECOND))
            .map(|((fast, middle), slow)| {
                let verdict = if within(fast, 0.794) && within(middle, 0.393) && within(slow, 0.227)
                {
                    Verdict::Confirmed
                } else if fast > middle && middle > slow {
                    Verdict::Differs("other periods in calls".to_string())
                } else {
                    Verdict::NotConfirmed
                };
                (
                    format!(
                        "{}, {} and {}",
                        percent(fast),
                        percent(middle),
                        percent(slow)
                    ),
                    verdict,
                )
            }),
    )
}

fn depth_does_not_matter(found: &Found<'_>) -> Draft {
    let at = |scheme| accuracy(found, scheme, FAST);
    let all = at("stack-2").zip(at("stack-10")).zip(at("stack-full"));
    draft(
        Section::Accuracy,
        "as fast as possible, two elements of the stack tell as much as all",
        "82.2%, 82.3% and 79.4% for 2, 10 and all (Table 4.1)",
        "means over programs: confirmed if they are within 5 points of each other, not confirmed if they are not",
        all.map(|((two, ten), full)| {
            let (least, most) = (two.min(ten).min(full), two.max(ten).max(full));
            let here = format!("{}, {} and {}", percent(two), percent(ten), percent(full));
            (here, so(most - least <= 0.05))
        }),
    )
}

fn depth_matters_when_slow(found: &Found<'_>) -> Draft {
    let at = |scheme, setting| accuracy(found, scheme, setting);
    let all = at("stack-2", INTERRUPTS)
        .zip(at("stack-full", INTERRUPTS))
        .zip(at("stack-2", MILLISECOND).zip(at("stack-full", MILLISECOND)));
    draft(
        Section::Accuracy,
        "when sampling is slow, more of the stack tells more",
        "36.7% and 39.3% at interrupts' period, 20.8% and 22.7% at 1 ms, for 2 and all (Table 4.1)",
        "means over programs: confirmed if the whole stack is the more accurate one at both periods, not confirmed if not",
        all.map(|((two, full), (two_slow, full_slow))| {
            let here = format!(
                "{} and {}; {} and {}",
                percent(two),
                percent(full),
                percent(two_slow),
                percent(full_slow)
            );
            (here, so(full > two && full_slow > two_slow))
        }),
    )
}

fn most(found: &Found<'_>, measure: &str) -> Option<f64> {
    let schemes = ["stack-2", "stack-10", "stack-full"];
    let settings = [FAST, "wait=1000", INTERRUPTS, MILLISECOND];
    let all = schemes.iter().flat_map(|scheme| {
        settings
            .iter()
            .filter_map(|setting| found.mean(scheme, setting, measure))
    });
    all.reduce(f64::max)
}

fn invalid_edges(found: &Found<'_>) -> Draft {
    let rule = Rule::new(
        "largest mean over programs of all depths and waits",
        Band::below(0.001, Unit::Ratio),
    )
    .differs(Band::below(0.01, Unit::Ratio));
    draft(
        Section::Accuracy,
        "edges that never were have less than 0.1% of the weight of a tag stack's graph",
        "below 0.1% at all periods and depths (section 4.2.5)",
        &rule.text(),
        most(found, "invalid_ratio").map(|invalid| {
            let verdict = rule.judge(invalid, "calls are shorter");
            (format!("at most {:.2}%", 100.0 * invalid), verdict)
        }),
    )
}

fn bursts_beat_samples(found: &Found<'_>) -> Draft {
    let at = |scheme, setting| accuracy(found, scheme, setting);
    let all = at("yield-1", MILLISECOND)
        .zip(at("yield-8", MILLISECOND))
        .zip(at("yield-1", INTERRUPTS).zip(at("yield-8", INTERRUPTS)));
    draft(
        Section::Accuracy,
        "bursts of eight calls are more accurate than single ones at the same timer",
        "51.7% for 38.8% at 1 ms, 53.7% for 42.6% at interrupts' period (Table 4.2)",
        "means over programs at both periods: confirmed if bursts are the more accurate ones, not confirmed if not",
        all.map(|((one, eight), (one_fast, eight_fast))| {
            let here = format!(
                "{} for {}; {} for {}",
                percent(eight),
                percent(one),
                percent(eight_fast),
                percent(one_fast)
            );
            (here, so(eight > one && eight_fast > one_fast))
        }),
    )
}

fn faster_timers_gain_little(found: &Found<'_>) -> Draft {
    let gain = accuracy(found, "yield-8", INTERRUPTS).zip(accuracy(found, "yield-8", MILLISECOND));
    let cost = overhead(found, "yield-8", INTERRUPTS).zip(overhead(found, "yield-8", MILLISECOND));
    draft(
        Section::Accuracy,
        "a faster timer gains little accuracy for much overhead",
        "2.1 points for 10.2 points of overhead, bursts of 8 (Table 4.2)",
        "bursts of 8 at ten times the rate: confirmed if the gain in accuracy is below that in overhead, not confirmed if it \
         is more",
        gain.zip(cost).map(|((fast, slow), (dear, cheap))| {
            let (gain, cost) = (fast - slow, dear - cheap);
            let here = format!("{:.1} points for {:.1}", 100.0 * gain, 100.0 * cost);
            (here, so(gain < cost))
        }),
    )
}

fn larger_rings(found: &Found<'_>) -> Draft {
    let at = |scheme| accuracy(found, scheme, FAST);
    let all = at("sequence-8k")
        .zip(at("sequence-128k"))
        .zip(at("sequence-1024k"));
    draft(
        Section::Accuracy,
        "a ring of calls and returns is the better the larger it is",
        "69.9%, 86.8% and 96.1% with 10 KB, 100 KB and 1 MB (Table 4.4)",
        &Trend::Rises.text("means over programs as fast as possible, from small to large"),
        all.map(|((small, middle), large)| {
            let here = format!(
                "{}, {} and {}",
                percent(small),
                percent(middle),
                percent(large)
            );
            (here, Trend::Rises.judge(&[small, middle, large]))
        }),
    )
}

fn rings_beat_stacks(found: &Found<'_>) -> Draft {
    let all = accuracy(found, "stack-full", FAST).zip(accuracy(found, "sequence-1024k", FAST));
    let cost = overhead(found, "stack-full", FAST).zip(overhead(found, "sequence-1024k", FAST));
    draft(
        Section::Accuracy,
        "a ring is more accurate than a tag stack, at the same overhead",
        "96.1% at 5.7% against 79.4% at 5.3% (Table 4.4)",
        "means over programs as fast as possible: confirmed if the ring of 1 MB is the more accurate one and costs at most 5 \
         points more, differs if it costs more, not confirmed if it is the less accurate one",
        all.zip(cost).map(|((stack, ring), (stack_cost, ring_cost))| {
            let verdict = match (ring > stack, ring_cost <= stack_cost + 0.05) {
                (true, true) => Verdict::Confirmed,
                (true, false) => Verdict::Differs(
                    "the place of the next record goes to and fro between the cores at each call and return"
                        .to_string(),
                ),
                _ => Verdict::NotConfirmed,
            };
            let here = format!(
                "{} at {} against {} at {}",
                percent(ring),
                percent(ring_cost),
                percent(stack),
                percent(stack_cost)
            );
            (here, verdict)
        }),
    )
}

fn rings_beat_bursts(found: &Found<'_>) -> Draft {
    let ring = found.mean("pairs-128k", FAST, "accuracy_ratio");
    let all = ring.zip(accuracy(found, "yield-8", MILLISECOND));
    let rule = Rule::new(
        "what the ring gains, means over programs",
        Band::near(0.203, 0.25, Unit::Ratio),
    )
    .differs(Band::above(0.0, Unit::Ratio));
    draft(
        Section::Accuracy,
        "a ring of some 100 KB is 20 points more accurate than bursts of eight at 1 ms",
        "72.0% against 51.7% (Table 4.3)",
        &rule.text(),
        all.map(|(ring, bursts)| {
            let gain = ring - bursts;
            let verdict = rule.judge(gain, format!("{:.1} points", 100.0 * gain));
            (
                format!("{} against {}", percent(ring), percent(bursts)),
                verdict,
            )
        }),
    )
}

fn rings_need_no_speed(found: &Found<'_>) -> Draft {
    let at = |setting| accuracy(found, "sequence-128k", setting);
    draft(
        Section::Accuracy,
        "rings need no fast observer",
        "86.8%, 86.6% and 85.6% at three periods with 100 KB (Table 4.4)",
        "means over programs at three periods: confirmed if they are within 5 points, not confirmed if they are not",
        at(FAST)
            .zip(at(INTERRUPTS))
            .zip(at(MILLISECOND))
            .map(|((fast, middle), slow)| {
                let (least, most) = (fast.min(middle).min(slow), fast.max(middle).max(slow));
                let here = format!(
                    "{}, {} and {}",
                    percent(fast),
                    percent(middle),
                    percent(slow)
                );
                (here, so(most - least <= 0.05))
            }),
    )
}

fn orphans(found: &Found<'_>) -> Draft {
    let at = |scheme| found.mean(scheme, FAST, "orphan_ratio");
    let all = at("sequence-1k")
        .zip(at("sequence-8k"))
        .zip(at("sequence-128k"));
    draft(
        Section::Accuracy,
        "the larger the ring, the fewer calls whose caller it does not tell",
        "Figure 4.20",
        &Trend::Falls
            .text("mean shares over programs as fast as possible, with 1 KB, 8 KB and 128 KB"),
        all.map(|((tiny, small), middle)| {
            let here = format!(
                "{}, {} and {}",
                percent(tiny),
                percent(small),
                percent(middle)
            );
            (here, Trend::Falls.judge(&[tiny, small, middle]))
        }),
    )
}

fn seen_calls_make_accuracy(found: &Found<'_>) -> Draft {
    let settings = [FAST, "wait=1000", INTERRUPTS, MILLISECOND];
    let mut points: Vec<(f64, f64)> = Vec::new();
    for setting in settings {
        let seen = found.by_program("stack-full", setting, "found_ratio");
        let accuracies = found.by_program("stack-full", setting, "accuracy_ratio");
        points.extend(
            seen.iter()
                .filter_map(|(name, x)| Some((*x, *accuracies.get(name)?))),
        );
    }
    let rule = Rule::new(
        "rank correlation over programs and waits of the share of calls seen with accuracy, whole stack",
        Band::at_least(0.5, Unit::Plain),
    )
    .differs(Band::above(0.0, Unit::Plain));
    let correlation = (points.len() > 3).then(|| rank_correlation(&points));
    draft(
        Section::Accuracy,
        "the more of the calls are seen, the more accurate is the graph",
        "Figure 4.11",
        &rule.text(),
        correlation.flatten().map(|correlation| {
            (
                format!("{correlation:.2} over {} points", points.len()),
                rule.judge(correlation, format!("{correlation:.2}")),
            )
        }),
    )
}

fn undetectable(found: &Found<'_>) -> Draft {
    let all = found.mean("stack-full", FAST, "torn_ratio").zip(found.mean(
        "stack-full",
        FAST,
        "invalid_torn_ratio",
    ));
    draft(
        Section::Explained,
        "edges that were read while they changed, and look right, are at most ten times those that look wrong",
        "postulated, not measured (section 4.2.5)",
        "means over programs, whole stack as fast as possible, calls that were not one when they were read: holds if those \
         that the complete graph has are at most ten times the others",
        all.map(|(torn, wrong)| {
            let right = torn - wrong;
            (
                format!(
                    "{:.2}% look right, {:.2}% wrong",
                    100.0 * right,
                    100.0 * wrong
                ),
                so(right <= 10.0 * wrong),
            )
        }),
    )
}

fn every_invalid_edge_is_explained(found: &Found<'_>) -> Draft {
    let all = most(found, "invalid_torn_ratio").zip(most(found, "invalid_other_ratio"));
    draft(
        Section::Explained,
        "edges that never were come from reading what changes",
        "so assumed (section 4.2.5)",
        "largest means over programs of all depths and waits: holds if edges that never were, though caller and callee were on \
         the stack as read, have less weight than those that were read while they changed",
        all.map(|(torn, other)| {
            (
                format!(
                    "{:.2}% read while they changed, {:.2}% of functions that were entered by a jump from the one called",
                    100.0 * torn,
                    100.0 * other
                ),
                so(other < torn || other == 0.0),
            )
        }),
    )
}

fn time_weighted(found: &Found<'_>) -> Draft {
    let at = |setting| found.mean("context-2", setting, "time_accuracy_ratio");
    draft(
        Section::Explained,
        "time-weighted graphs get better with each increase of the rate",
        "said without a measurement (section 5.1.2)",
        &Trend::Rises.text(
            "mean overlap over programs of samples by caller and callee with cycles, with 100,000 and 10,000 cycles of sleep \
             and at full speed",
        ),
        at(MILLISECOND)
            .zip(at(INTERRUPTS))
            .zip(at(FAST))
            .map(|((slow, middle), fast)| {
                let here = format!(
                    "{}, {} and {}",
                    percent(slow),
                    percent(middle),
                    percent(fast)
                );
                (here, Trend::Rises.judge(&[slow, middle, fast]))
            }),
    )
}

fn hps_beside(found: &Found<'_>) -> Draft {
    let hps = accuracy(found, "hps-8", "one_in=80").zip(overhead(found, "hps-8", "one_in=80"));
    let ring = accuracy(found, "pairs-8k", INTERRUPTS).zip(overhead(found, "pairs-8k", INTERRUPTS));
    draft(
        Section::Explained,
        "HPS is more accurate than a ring of 8 KB, for less",
        "not asked there",
        "means over programs of HPS in bursts of 8 of 80 events and of that ring with 10,000 cycles of sleep: holds if HPS is more \
         accurate and costs less",
        hps.zip(ring).map(|((hps, hps_cost), (ring, ring_cost))| {
            let here = format!(
                "{} at {} against {} at {}",
                percent(hps),
                percent(hps_cost),
                percent(ring),
                percent(ring_cost)
            );
            (here, so(hps > ring && hps_cost < ring_cost))
        }),
    )
}
