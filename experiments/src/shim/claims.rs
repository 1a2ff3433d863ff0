//! The claims of the SHIM paper, and what its authors could not see, held against what was measured.

use super::measure::SLEEPS;
use super::{Kind, PAIR_WAITS, WAITS, functions, phases};
use crate::claims::band::{Band, Rule, Unit};
use crate::claims::{Claim, Draft, Section, Verdict};
use crate::found::Found;

/// All claims for one instruction set. Claims about counters are measured where programs can read them.
#[must_use]
pub fn claims(found: &Found<'_>, isa: &str) -> Vec<Claim> {
    let [few_have_most, differences_vanish, each_is_told] = functions::claims(found);
    let all = [
        tag_cost(found),
        one_tag(found, Kind::TagCmp, "7(a)", (30.0, 1.0), (1213.0, 0.02)),
        one_tag(found, Kind::TagSmt, "7(b)", (15.0, 0.61), (1500.0, 0.26)),
        rates_cost(found),
        kept_at_full_speed(found),
        kept_from_a_period_on(found),
        nothing_impossible_is_kept(found),
        steady_observer(found),
        finer_samples_show_more(found),
        few_have_most,
        differences_vanish,
        each_is_told,
        remote_counters(found),
        cheaper(
            found,
            Kind::TagSmt,
            Kind::TagSmtBackground,
            "thread priority (sections 1 and 6.1)",
        ),
        cheaper(
            found,
            Kind::TagCmp,
            Kind::TagCmpQuiet,
            "reads that take no part in coherence (sections 1 and 6.1)",
        ),
        slow_pairs(found),
        traffic_explains(found),
        wrong_values_come_from_skew(found),
        what_is_kept_is_right(found),
        holds_are_found(found),
        no_bias(found),
        not_covered(
            "periods and gaps between good samples on one core",
            "figure 5",
        ),
        not_covered(
            "what a consumer costs a producer on the same core",
            "figures 10(a) and 10(b)",
        ),
        not_covered(
            "tags beside IPC and misses at 495 and 729 cycles",
            "figure 12",
        ),
    ];
    let cases = if phases::are_measured(found) {
        phases::claims(found)
    } else {
        Vec::new()
    };
    let all = all.into_iter().chain(cases);
    all.map(|draft| draft.of(isa)).collect()
}

/// A number that the paper reports and no study here judges.
fn not_covered(claim: &str, paper: &str) -> Draft {
    Draft {
        section: Section::Accuracy,
        claim: claim.to_string(),
        paper: paper.to_string(),
        rule: "not covered: no study of the lab measures it against the paper".to_string(),
        found: None,
    }
}

fn wait(turns: u64) -> String {
    format!("wait={turns}")
}

/// The mean overhead of a kind of observer, and its mean period.
fn cost(found: &Found<'_>, kind: Kind, turns: u64) -> Option<(f64, f64)> {
    let overhead = found.mean_excess(kind.name(), &wait(turns), "alone", "cycles")?;
    Some((
        overhead,
        found.mean(kind.name(), &wait(turns), "period_cycles")?,
    ))
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

fn within(value: f64, of: f64) -> bool {
    Band::near(of, 0.25, Unit::Ratio).contains(value)
}

fn tag_cost(found: &Found<'_>) -> Draft {
    let rule = Rule::new(
        "mean over programs of cycles with tags over cycles without",
        Band::near(0.01, 0.25, Unit::Ratio),
    )
    .differs(Band::at_most(0.1, Unit::Ratio));
    Draft {
        section: Section::Cost,
        claim: "writing a tag at each call and return costs about 1%".to_string(),
        paper: "one store at each yield point costs 1% on average (section 6.1)".to_string(),
        rule: rule.text(),
        found: found
            .mean(Kind::TagSmt.name(), "alone", "tag_cost_ratio")
            .map(|cost| {
                let how = "tags at calls and returns only, of C programs";
                (percent(cost), rule.judge(cost, how))
            }),
    }
}

/// Overhead falls from full speed to a period of some thousand cycles.
fn one_tag(
    found: &Found<'_>,
    kind: Kind,
    figure: &str,
    fast: (f64, f64),
    slow: (f64, f64),
) -> Draft {
    let at = |turns| cost(found, kind, turns);
    Draft {
        section: Section::Cost,
        claim: format!("{}: overhead falls with the period", kind.title()),
        paper: format!(
            "{:.0}% at {:.0} cycles, {:.0}% at {:.0} (figure {figure})",
            100.0 * fast.1,
            fast.0,
            100.0 * slow.1,
            slow.0
        ),
        rule: "means over programs at full speed and with a wait of 1,000 turns: confirmed if both are within 25% of the \
               paper's, differs if the overhead falls, not confirmed if it does not fall"
            .to_string(),
        found: at(0).zip(at(1_000)).map(|((full, period), (slower, longer))| {
            let verdict = if within(full, fast.1) && within(slower, slow.1) {
                Verdict::Confirmed
            } else if slower < full {
                Verdict::Differs(format!("{} and {}", percent(full), percent(slower)))
            } else {
                Verdict::NotConfirmed
            };
            let mut here = format!(
                "{} at {period:.0} cycles, {} at {longer:.0}",
                percent(full),
                percent(slower)
            );
            if let Some((asleep, longest)) = at(SLEEPS) {
                here += &format!(" waiting in a loop, {} at {longest:.0} asleep", percent(asleep));
            }
            (here, verdict)
        }),
    }
}

fn rates_cost(found: &Found<'_>) -> Draft {
    let at = |turns| cost(found, Kind::IpcSmt, turns);
    Draft {
        section: Section::Cost,
        claim: "IPC on the same core costs much at full speed and little when it is rare".to_string(),
        paper: "47% at about 400 cycles, 6.3% at 185,000 (section 6.3, figure 11)".to_string(),
        rule: "means over programs at full speed and with 10,000 cycles of sleep: confirmed if both are within 25% of the \
               paper's, differs if the overhead falls, not confirmed if it does not fall"
            .to_string(),
        found: at(0).zip(at(10_000)).map(|((full, period), (slower, longer))| {
            let verdict = if within(full, 0.47) && within(slower, 0.063) {
                Verdict::Confirmed
            } else if slower < full {
                Verdict::Differs(format!("{} and {}", percent(full), percent(slower)))
            } else {
                Verdict::NotConfirmed
            };
            let here = format!(
                "{} at {period:.0} cycles, {} at {longer:.0}",
                percent(full),
                percent(slower)
            );
            (here, verdict)
        }),
    }
}

fn kept_at_full_speed(found: &Found<'_>) -> Draft {
    let kept = found.mean(Kind::IpcSmt.name(), &wait(0), "kept_ratio");
    let rule = Rule::new(
        "mean over programs on the same core",
        Band::below(0.5, Unit::Ratio),
    )
    .differs(Band::at_most(0.9, Unit::Ratio));
    Draft {
        section: Section::Accuracy,
        claim: "at full speed double-time error correction keeps less than half of the samples"
            .to_string(),
        paper: "below 50% at the highest rate (figure 4(c))".to_string(),
        rule: rule.text(),
        found: kept.map(|kept| {
            let how = "nothing but the program disturbs this observer";
            (percent(kept), rule.judge(kept, how))
        }),
    }
}

fn kept_from_a_period_on(found: &Found<'_>) -> Draft {
    let at = WAITS.iter().filter_map(|turns| {
        let period = found.mean(Kind::IpcSmt.name(), &wait(*turns), "period_cycles")?;
        let kept = found.mean(Kind::IpcSmt.name(), &wait(*turns), "kept_ratio")?;
        (period >= 2_500.0).then_some((period, kept))
    });
    let least = at.min_by(|a, b| a.1.total_cmp(&b.1));
    let rule = Rule::new(
        "least mean over programs on the same core of all waits with such a period",
        Band::at_least(0.9, Unit::Ratio),
    );
    Draft {
        section: Section::Accuracy,
        claim: "from a period of 2,500 cycles on at least 90% are kept".to_string(),
        paper: "90% from 2,000 (caption) or 2,500 cycles (text) on (figure 4(c))".to_string(),
        rule: rule.text(),
        found: least.map(|(period, kept)| {
            let verdict = rule.judge(kept, "");
            (
                format!("at least {} (at {period:.0} cycles)", percent(kept)),
                verdict,
            )
        }),
    }
}

fn nothing_impossible_is_kept(found: &Found<'_>) -> Draft {
    let most = |measure: &str| {
        let by_wait = WAITS.iter().flat_map(|turns| {
            found
                .by_program(Kind::IpcSmt.name(), &wait(*turns), measure)
                .into_values()
        });
        by_wait.reduce(f64::max)
    };
    let samples = most("ipc_before_max").zip(most("ipc_after_max"));
    let rule = found.commit_width().map(|width| {
        let most = Band::at_most(f64::from(width), Unit::Plain);
        Rule::new(
            format!("largest kept of all samples of all programs and waits, on a machine of width {width}, differs if none is above that before either"),
            most,
        )
    });
    Draft {
        section: Section::Accuracy,
        claim: "no kept sample has an IPC above the width of the machine".to_string(),
        paper:
            "IPC up to 37 before, none above 4 after, on a machine of width 4 (figures 4(a), 4(b))"
                .to_string(),
        rule: match &rule {
            Some(rule) => rule.text(),
            None => "not judged: the machine's description is not known".to_string(),
        },
        found: samples.zip(rule.as_ref()).map(|((before, after), rule)| {
            // Where nothing impossible occurs, the correction has nothing to remove.
            let verdict = match rule.judge(before, "") {
                Verdict::Confirmed => {
                    Verdict::Differs("none is above it before either".to_string())
                }
                _ => rule.judge(after, ""),
            };
            (format!("{before:.2} before, {after:.2} after"), verdict)
        }),
    }
}

fn steady_observer(found: &Found<'_>) -> Draft {
    let at = |what: &str| found.mean(Kind::IpcSmt.name(), &wait(100), &format!("own_ipc_{what}"));
    let rule = Rule::new(
        "span of 80% of samples (10th to 90th percentile, means over programs) with a wait of 100 turns, over the median",
        Band::at_most(0.25, Unit::Ratio),
    )
    .differs(Band::at_most(1.0, Unit::Ratio));
    Draft {
        section: Section::Accuracy,
        claim: "the observer's own IPC hardly varies".to_string(),
        paper: "67% of samples from 0.48 to 0.51, 99% from 0.43 to 0.54, at 476 cycles (figure 6)"
            .to_string(),
        rule: rule.text(),
        found: at("p10")
            .zip(at("p50"))
            .zip(at("p90"))
            .map(|((low, middle), high)| {
                let how = "the program takes slots from it, more in some phases";
                let verdict = rule.judge((high - low) / middle, how);
                (
                    format!("{low:.2} to {high:.2}, median {middle:.2}"),
                    verdict,
                )
            }),
    }
}

fn finer_samples_show_more(found: &Found<'_>) -> Draft {
    let span = |name: &str| {
        let low = found.mean(Kind::IpcSmt.name(), &wait(100), &format!("{name}_p10"))?;
        Some((
            low,
            found.mean(Kind::IpcSmt.name(), &wait(100), &format!("{name}_p90"))?,
        ))
    };
    let rule = Rule::new(
        "span from the 10th to the 90th percentile of IPC, means over programs, of samples as they are over that of hundreds",
        Band::at_least(1.25, Unit::Plain),
    );
    Draft {
        section: Section::Accuracy,
        claim: "fine samples show extremes that coarse ones hide".to_string(),
        paper: "finest: 10% below 0.93, 10% above 1.45; coarse: 1.0 to 1.3 (figure 1(b))"
            .to_string(),
        rule: rule.text(),
        found: span("ipc_after")
            .zip(span("ipc_every_100"))
            .map(|(fine, coarse)| {
                let verdict = rule.judge((fine.1 - fine.0) / (coarse.1 - coarse.0), "");
                let here = format!(
                    "{:.2} to {:.2} as they are, {:.2} to {:.2} by hundreds",
                    fine.0, fine.1, coarse.0, coarse.1
                );
                (here, verdict)
            }),
    }
}

fn remote_counters(found: &Found<'_>) -> Draft {
    let rule = Rule::new(
        "mean over programs at full speed from another core",
        Band::at_most(0.01, Unit::Ratio),
    )
    .differs(Band::at_most(0.05, Unit::Ratio));
    Draft {
        section: Section::Cost,
        claim: "counters that another core can read make IPC and tags free".to_string(),
        paper: "three counters at about 300 cycles, no significant overhead (figure 13, projected)"
            .to_string(),
        rule: rule.text(),
        found: cost(found, Kind::IpcCmp, 0).map(|(overhead, period)| {
            let verdict = rule.judge(overhead, format!("{} at full speed", percent(overhead)));
            (
                format!("{} at {period:.0} cycles", percent(overhead)),
                verdict,
            )
        }),
    }
}

/// What proposed hardware saves at full speed.
fn cheaper(found: &Found<'_>, today: Kind, proposed: Kind, what: &str) -> Draft {
    Draft {
        section: Section::Cost,
        claim: format!("proposed hardware, {what}: a tag costs less at full speed"),
        paper: "expected to remove the overhead (sections 1 and 6.1; not measured there)".to_string(),
        rule: "means over programs: confirmed if it saves at least three quarters of the overhead, differs if it saves \
               anything, a draw below 0.5%, not confirmed if it saves nothing"
            .to_string(),
        found: cost(found, today, 0).zip(cost(found, proposed, 0)).map(|((before, _), (after, period))| {
            let verdict = if before < LITTLE {
                Verdict::Draw("there is little to save".to_string())
            } else if after <= before / 4.0 {
                Verdict::Confirmed
            } else if after < before {
                Verdict::Differs(format!("{} of {} remain", percent(after), percent(before)))
            } else {
                Verdict::NotConfirmed
            };
            let here = format!("{} instead of {}, at {period:.0} cycles", percent(after), percent(before));
            (here, verdict)
        }),
    }
}

/// An overhead that is hardly one.
const LITTLE: f64 = 0.005;

fn pair_setting(producer: u64, consumer: u64) -> String {
    format!("producer={producer},consumer={consumer}")
}

fn slow_pairs(found: &Found<'_>) -> Draft {
    let at = |producer, consumer| {
        found.mean(
            "pair-cmp",
            &pair_setting(producer, consumer),
            "overhead_ratio",
        )
    };
    let slowest = PAIR_WAITS[PAIR_WAITS.len() - 1];
    let rule = Rule::new(
        "dearest of all pairs on two cores in which one side waits 1,000 turns",
        Band::below(0.05, Unit::Ratio),
    );
    let slow: Option<Vec<f64>> = PAIR_WAITS
        .iter()
        .flat_map(|wait| [at(slowest, *wait), at(*wait, slowest)])
        .collect();
    Draft {
        section: Section::Cost,
        claim: "a pair on two cores costs little when either side is slow".to_string(),
        paper: "below 5% when producer or consumer is slow (figure 9(a))".to_string(),
        rule: rule.text(),
        found: slow.zip(at(0, 0)).map(|(slow, fastest)| {
            let most = slow.into_iter().fold(0.0, f64::max);
            let verdict = rule.judge(most, "");
            (
                format!("at most {}; both fast {}", percent(most), percent(fastest)),
                verdict,
            )
        }),
    }
}

fn traffic_explains(found: &Found<'_>) -> Draft {
    let at = |consumer, measure| found.mean("pair-cmp", &pair_setting(0, consumer), measure);
    let rows: Option<Vec<(f64, f64)>> = PAIR_WAITS
        .iter()
        .map(|wait| at(*wait, "invalidations_per_kilocycle").zip(at(*wait, "overhead_ratio")))
        .collect();
    Draft {
        section: Section::Cost,
        claim: "invalidations explain what an observer on another core costs".to_string(),
        paper: "overhead follows write invalidations (figure 9(b))".to_string(),
        rule: "a producer that never waits, by the consumer's wait: confirmed if more invalidations never go with a clearly \
               (a point) smaller overhead, not confirmed if they do"
            .to_string(),
        found: rows.map(|mut rows| {
            rows.sort_by(|a, b| a.0.total_cmp(&b.0));
            let follows = rows.windows(2).all(|pair| pair[1].1 >= pair[0].1 - 0.01);
            let (fewest, most) = (rows[0], rows[rows.len() - 1]);
            let verdict = match follows {
                true => Verdict::Confirmed,
                false => Verdict::NotConfirmed,
            };
            let here = format!(
                "{:.1} a thousand cycles: {}; {:.1}: {}",
                fewest.0,
                percent(fewest.1),
                most.0,
                percent(most.1)
            );
            (here, verdict)
        }),
    }
}

/// A mean over programs and waits.
fn over_waits(found: &Found<'_>, measure: &str) -> Option<f64> {
    let all: Option<Vec<f64>> = WAITS
        .iter()
        .map(|turns| found.mean(Kind::IpcSmt.name(), &wait(*turns), measure))
        .collect();
    all.map(|all| all.iter().sum::<f64>() / all.len() as f64)
}

fn wrong_values_come_from_skew(found: &Found<'_>) -> Draft {
    let rule = Rule::new(
        "share of samples more than 5% (and an instruction) off that is discarded, mean over programs and waits on the same \
         core",
        Band::at_least(0.95, Unit::Ratio),
    )
    .differs(Band::at_least(0.5, Unit::Ratio));
    Draft {
        section: Section::Accuracy,
        claim: "what is damaged is discarded".to_string(),
        paper: "all wrong values come from skew, which the correction finds (section 4.1); not checked there, for want of \
                the truth"
            .to_string(),
        rule: rule.text(),
        found: over_waits(found, "dte_recall_ratio").zip(over_waits(found, "damaged_ratio")).map(|(recall, damaged)| {
            let verdict = rule.judge(recall, format!("{} of it", percent(recall)));
            (format!("{} of the {} that are damaged", percent(recall), percent(damaged)), verdict)
        }),
    }
}

fn what_is_kept_is_right(found: &Found<'_>) -> Draft {
    let rule = Rule::new(
        "mean error of IPC at full speed on the same core, over the true IPC",
        Band::at_most(0.05, Unit::Ratio),
    )
    .differs(Band::at_most(0.25, Unit::Ratio));
    let at = |measure| found.mean(Kind::IpcSmt.name(), &wait(0), measure);
    Draft {
        section: Section::Explained,
        claim: "kept samples tell the IPC of their interval".to_string(),
        paper: "assumed (section 4.1)".to_string(),
        rule: rule.text(),
        found: at("ipc_error_of_kept").zip(at("true_ipc_of_kept")).zip(at("ipc_error_of_all")).map(
            |((kept, ipc), all)| {
                let how = format!(
                    "{} off: the counters are read some cycles behind the stamp, and the program moves on",
                    percent(kept / ipc)
                );
                let verdict = rule.judge(kept / ipc, how);
                (format!("{kept:.3} off ({all:.3} before), IPC {ipc:.2}"), verdict)
            },
        ),
    }
}

/// What holds an observer up between its stamps is found, and what does elsewhere does no harm.
fn holds_are_found(found: &Found<'_>) -> Draft {
    let rule = Rule::new(
        "share of the samples with such a time between their stamps that are discarded, of observers at full speed that stand \
         still for 5,000 cycles now and then, means over programs",
        Band::at_least(0.99, Unit::Ratio),
    );
    let mean = |measure: &str| {
        let kinds = [Kind::IpcSmt, Kind::IpcCmp].into_iter();
        let all: Vec<f64> = kinds
            .filter_map(|kind| found.mean(kind.name(), "held", measure))
            .collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    };
    Draft {
        section: Section::Explained,
        claim: "an observer that is interrupted within a sample is found out".to_string(),
        paper: "the reason for double-time error correction (section 4.1)".to_string(),
        rule: rule.text(),
        found: mean("held_within_found_ratio")
            .zip(mean("held_between_kept_ratio"))
            .map(|(found, kept)| {
                let verdict = rule.judge(found, "");
                let here = format!(
                    "{} are discarded; of those with such a time elsewhere {} are kept, rightly",
                    percent(found),
                    percent(kept)
                );
                (here, verdict)
            }),
    }
}

fn no_bias(found: &Found<'_>) -> Draft {
    let rule = Rule::new(
        "true IPC of kept intervals over that of all, less one, means over programs at full speed on the same core",
        Band::between(-0.02, 0.02, Unit::Ratio),
    )
    .differs(Band::between(-0.1, 0.1, Unit::Ratio));
    let at = |measure| found.mean(Kind::IpcSmt.name(), &wait(0), measure);
    Draft {
        section: Section::Explained,
        claim: "the correction has no favourites".to_string(),
        paper: "not asked there".to_string(),
        rule: rule.text(),
        found: at("true_ipc_of_kept")
            .zip(at("true_ipc_of_all"))
            .map(|(kept, all)| {
                let bias = kept / all - 1.0;
                let verdict = rule.judge(bias, format!("{:+.1}%", 100.0 * bias));
                (
                    format!("{:+.1}%: {kept:.3} of {all:.3}", 100.0 * bias),
                    verdict,
                )
            }),
    }
}
