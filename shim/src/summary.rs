//! A result as text for a terminal.

use std::fmt::Write;

use crate::analysis::Analysis;
use crate::distribution::DistributionResult;
use crate::results::ShimResult;

/// Digits in groups of three.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// A number in as many digits as it deserves.
fn short(value: f64) -> String {
    if value == 0.0 || (0.001..1e7).contains(&value.abs()) {
        let digits = (3 - value.abs().max(1.0).log10() as i32).max(0) as usize;
        format!("{value:.digits$}")
    } else {
        format!("{value:.2e}")
    }
}

fn distribution(out: &mut String, name: &str, d: &DistributionResult) {
    if d.count == 0 {
        return;
    }
    let _ = writeln!(
        out,
        "  {name:<28} mean {:>9}  p10 {:>9}  median {:>9}  p90 {:>9}  max {:>9}",
        short(d.mean),
        short(d.p10),
        short(d.median),
        short(d.p90),
        short(d.max)
    );
}

fn distributions(out: &mut String, analysis: &Analysis) {
    distribution(out, "period, cycles", &analysis.period);
    distribution(out, "gap, cycles", &analysis.gap);
    distribution(out, "cycles per cycle, all", &analysis.cpc_before);
    distribution(out, "cycles per cycle, kept", &analysis.cpc_after);
    for rate in &analysis.rates {
        distribution(out, &format!("{}, all", rate.spec.name), &rate.before_dte);
        for at in &rate.periods {
            let name = format!("{} at {}", rate.spec.name, short(at.mean_cycles));
            distribution(out, &name, &at.rates);
        }
    }
}

/// An analysis alone, as of raw samples.
#[must_use]
pub fn of_analysis(analysis: &Analysis) -> String {
    let all = analysis.kept + analysis.discarded;
    let mut out = format!(
        "samples: {} = {} kept + {} discarded ({:.1}% kept)\n",
        grouped(all),
        grouped(analysis.kept),
        grouped(analysis.discarded),
        percent(analysis.kept, all)
    );
    distributions(&mut out, analysis);
    let _ = writeln!(out, "\n{:>7} {:>14}  tag", "share", "samples");
    for (tag, samples) in analysis.tags.iter().take(20) {
        let share = percent(*samples, all);
        let _ = writeln!(out, "{share:>6.2}% {:>14}  {tag:#x}", grouped(*samples));
    }
    out
}

/// The result in words, with the `top` tags.
#[must_use]
pub fn summary(result: &ShimResult, top: usize) -> String {
    let mut out = String::new();
    let account = &result.account;
    let ended = if result.status.is_empty() {
        "still running"
    } else {
        &result.status
    };
    let _ = writeln!(
        out,
        "{}: {ended}, {:.3} s; {}",
        result.command.join(" "),
        result.seconds,
        result.placement
    );
    let _ = writeln!(
        out,
        "samples: {} sent = {} kept + {} discarded + {} dropped ({:.1}% kept, tolerance {}%)",
        grouped(account.sent),
        grouped(account.kept),
        grouped(account.discarded),
        grouped(account.dropped),
        percent(account.kept, account.sent),
        f64::from(result.dte_tolerance_ppm) / 1e4,
    );
    let _ = writeln!(
        out,
        "period: {} asked for, mean {} cycles, {} while the observer ran ({:.2} GHz clock)",
        result.pace,
        short(result.mean_period_cycles),
        short(result.mean_period_running_cycles),
        result.ticks_per_second / 1e9
    );
    if let Some(analysis) = &result.analysis {
        distributions(&mut out, analysis);
    }
    for counter in &result.counters {
        let _ = writeln!(out, "counter {} read by {}", counter.name, counter.path);
    }
    tags(&mut out, result, top);
    threads(&mut out, result, top);
    stacks(&mut out, result, top);
    for note in &result.notes {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

fn tags(out: &mut String, result: &ShimResult, top: usize) {
    let _ = writeln!(out, "\n{:>7} {:>14}  tag", "share", "samples");
    for row in result.tags.iter().take(top) {
        let place = row
            .line
            .as_ref()
            .map_or(String::new(), |line| format!("  {line}"));
        let _ = writeln!(
            out,
            "{:>6.2}% {:>14}  {}{place}",
            row.share * 100.0,
            grouped(row.samples),
            row.name
        );
    }
    if let Some(rest) = result.tags.len().checked_sub(top)
        && rest > 0
    {
        let samples = result.tags[top..].iter().map(|row| row.samples).sum();
        let share = percent(samples, result.tags.iter().map(|row| row.samples).sum());
        let _ = writeln!(out, "{share:>6.2}% {:>14}  {rest} more", grouped(samples));
    }
}

/// Threads and the tags that each was in most, if there is more than one.
fn threads(out: &mut String, result: &ShimResult, top: usize) {
    if result.threads.len() < 2 {
        return;
    }
    let _ = writeln!(out, "\n{:>7} {:>14}  thread: its tags", "share", "samples");
    for row in result.threads.iter().take(top) {
        let most = row.tags.iter().take(3).map(|tag| {
            let name = result.name(tag.tag);
            format!("{name} {:.1}%", tag.share * 100.0)
        });
        let most: Vec<String> = most.collect();
        let _ = writeln!(
            out,
            "{:>6.2}% {:>14}  {}: {}{}",
            row.share * 100.0,
            grouped(row.samples),
            row.label(),
            most.join(", "),
            if row.tags.len() > 3 { ", …" } else { "" }
        );
    }
    if result.threads.len() > top {
        let _ = writeln!(out, "{:>24}{} more", "", result.threads.len() - top);
    }
}

/// Writes the counts of the stacks, and functions by their total share.
fn stacks(out: &mut String, result: &ShimResult, top: usize) {
    let Some(stacks) = &result.stacks else {
        return;
    };
    let _ = writeln!(
        out,
        "\nstacks: {} = {} whole + {} changed while they were read ({:.1}%); {} calling contexts",
        grouped(stacks.sampled),
        grouped(stacks.whole),
        grouped(stacks.torn),
        percent(stacks.torn, stacks.sampled),
        grouped(stacks.contexts.iter().filter(|c| c.own > 0).count() as u64),
    );
    for (count, what) in [
        (
            stacks.deeper,
            "deeper than a slot shows: the frames between are not known",
        ),
        (stacks.lost, "without room in the tree: not counted below"),
    ] {
        if count > 0 {
            let _ = writeln!(out, "stacks: {} {what}", grouped(count));
        }
    }
    let _ = writeln!(out, "{:>7} {:>7}  function", "total", "own");
    for row in stacks.functions.iter().take(top) {
        let _ = writeln!(
            out,
            "{:>6.2}% {:>6.2}%  {}",
            row.total_share * 100.0,
            row.own_share * 100.0,
            stacks.frames[row.frame].name
        );
    }
    if stacks.functions.len() > top {
        let _ = writeln!(out, "{:>17}{} more", "", stacks.functions.len() - top);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(12), "12");
        assert_eq!(short(0.5), "0.500");
        assert_eq!(short(1234.5), "1234");
        assert_eq!(short(1e12), "1.00e12");
    }

    #[test]
    fn threads_and_stacks_are_summed_up() {
        let text = summary(&crate::export::tests::stacked(), 2);
        for line in [
            "stacks: 102 = 97 whole + 5 changed while they were read (4.9%); 5 calling contexts",
            "stacks: 2 without room in the tree: not counted below",
            " 85.00%  20.00%  f\n 70.00%  70.00%  g\n                 2 more",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        let text = summary(&crate::export::tests::threaded(), 5);
        let line = " 65.00%             65  first (7): main 0.0%, phase 0.0%\n";
        assert!(text.contains(line), "{text}");
    }
}
