//! Answers of a leaderboard: the profiler with the least error of each group, and which it is not told apart from.

use hps_experiments::ProfileKind;
use hps_experiments::leaderboard::{Board, Entry, Form, Mean};

/// For each form and kind of profile: of what, and the answer.
pub(super) fn of(board: &Board) -> Vec<(String, String)> {
    let mut groups = vec![
        (
            "where cycles go, profilers that watch only",
            Form::Watching,
            None,
        ),
        ("where cycles go, at its cost", Form::Collected, None),
    ];
    groups.extend(ProfileKind::ALL.map(|kind| (kind.title(), Form::Bursts, Some(kind))));
    let answer = |(of, form, kind): (&str, Form, Option<ProfileKind>)| {
        let level = kind.map_or("instruction", ProfileKind::name);
        let entries = board.entries.iter();
        let of_group = entries.filter(|e| (e.form, e.kind) == (form, kind));
        let known = of_group.filter_map(|e| Some((e, *e.mean.errors.get(level)?)));
        let of = format!("{of} ({} on {})", board.isa, board.machine);
        Some((of, least(&known.collect::<Vec<_>>(), level)?))
    };
    groups.into_iter().filter_map(answer).collect()
}

fn least(all: &[(&Entry, Mean)], level: &str) -> Option<String> {
    let (best, error) = all.iter().min_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?;
    let by = match level {
        "instruction" => " by instruction",
        _ => "",
    };
    let at = match best.mean.overhead {
        Some(overhead) => format!(" at {} overhead", percent(&overhead)),
        None => String::new(),
    };
    let mut text = format!(
        "{} has the least error{by} of {} profilers, {}{at}",
        best.name,
        all.len(),
        percent(error)
    );
    let drawn: Vec<&str> = (all.iter())
        .filter(|(other, of)| !std::ptr::eq(*other, *best) && !apart(error, of))
        .map(|(other, _)| other.name.as_str())
        .collect();
    if !drawn.is_empty() {
        text += &format!("; not told apart from {}", drawn.join(", "));
    }
    Some(text)
}

/// Whether two means differ by more than their intervals together.
fn apart(one: &Mean, other: &Mean) -> bool {
    let noise = one
        .half_width
        .unwrap_or(0.0)
        .hypot(other.half_width.unwrap_or(0.0));
    (one.mean - other.mean).abs() > noise
}

fn percent(mean: &Mean) -> String {
    let half = mean
        .half_width
        .map(|half| format!(" ± {:.1}", 100.0 * half));
    format!("{:.1}{}%", 100.0 * mean.mean, half.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(mean: f64, half_width: Option<f64>) -> Mean {
        Mean {
            mean,
            deviation: None,
            half_width,
            low: mean,
            high: mean,
            programs: 2,
        }
    }

    #[test]
    fn means_are_apart_beyond_both_intervals() {
        assert!(apart(&mean(0.1, Some(0.03)), &mean(0.2, Some(0.04))));
        assert!(!apart(&mean(0.1, Some(0.08)), &mean(0.2, Some(0.08))));
        assert!(!apart(&mean(0.1, None), &mean(0.1, None)));
        assert_eq!(percent(&mean(0.077, Some(0.2145))), "7.7 ± 21.4%");
    }
}
