//! Answers of reports in words: the way that errs least, and the cheapest one that is accurate enough.

use hps_experiments::{Candidate, Choice, Mean};

/// A way to profile, and how far it errs.
pub(crate) struct Erring<'a> {
    pub name: &'a str,
    pub error: Mean,
    pub overhead: Option<Mean>,
}

/// Which of the ways (`what` they are) errs least, and which it is not told apart from; `by` follows the word error.
pub(crate) fn least(all: &[Erring<'_>], what: &str, by: &str) -> Option<String> {
    let by_error = |a: &&Erring<'_>, b: &&Erring<'_>| a.error.value.total_cmp(&b.error.value);
    let best = all.iter().min_by(by_error)?;
    let at = best.overhead.map_or_else(String::new, |overhead| {
        format!(" at {} overhead", overhead.percent(1))
    });
    let mut text = format!(
        "{} has the least error{by} of {} {what}, {}{at}",
        best.name,
        all.len(),
        best.error.percent(1)
    );
    let drawn: Vec<&str> = (all.iter())
        .filter(|other| !std::ptr::eq(*other, best) && !apart(&best.error, &other.error))
        .map(|other| other.name)
        .collect();
    if !drawn.is_empty() {
        text += &format!("; not told apart from {}", drawn.join(", "));
    }
    Some(text)
}

/// Whether two means differ by more than their intervals together.
fn apart(one: &Mean, other: &Mean) -> bool {
    let half = |mean: &Mean| mean.half_width.unwrap_or(0.0);
    (one.value - other.value).abs() > half(one).hypot(half(other))
}

/// The cheapest of the ways that are accurate enough, with its name.
pub(crate) fn cheapest(all: &[Candidate<String>]) -> Option<String> {
    let (name, choice) = Choice::among(&all.iter().collect::<Vec<_>>())?;
    Some(format!(
        "{name}: {} ({})",
        choice.measured(),
        choice.reason()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(value: f64, half_width: Option<f64>) -> Mean {
        Mean {
            value,
            half_width,
            count: 2,
        }
    }

    #[test]
    fn means_are_apart_beyond_both_intervals() {
        assert!(apart(&mean(0.1, Some(0.03)), &mean(0.2, Some(0.04))));
        assert!(!apart(&mean(0.1, Some(0.08)), &mean(0.2, Some(0.08))));
        assert!(!apart(&mean(0.1, None), &mean(0.1, None)));
    }

    #[test]
    fn the_least_error_names_what_it_is_not_told_apart_from() {
        let ways = [("a", 0.5, 0.1), ("b", 0.077, 0.2145), ("c", 0.1, 0.05)];
        let ways = ways.map(|(name, value, half)| Erring {
            name,
            error: mean(value, Some(half)),
            overhead: None,
        });
        assert_eq!(
            least(&ways, "policies", " by line").unwrap(),
            "b has the least error by line of 3 policies, 7.7 ± 21.4%; not told apart from c"
        );
        assert_eq!(least(&[], "policies", ""), None);
    }
}
