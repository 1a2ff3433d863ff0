//! Rules of verdicts. One definition gives the sentence and the judgement, so that they cannot differ.

use std::fmt;

use super::Verdict;

/// How the numbers of a band are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A ratio, written in percent.
    Ratio,
    /// Percent.
    Percent,
    /// A number as it is.
    Plain,
}

impl Unit {
    fn text(self, number: f64) -> String {
        let (number, unit) = match self {
            Unit::Ratio => (100.0 * number, "%"),
            Unit::Percent => (number, "%"),
            Unit::Plain => (number, ""),
        };
        // Two decimals, and none that is a trailing zero.
        format!("{}{unit}", (100.0 * number).round() / 100.0)
    }
}

/// An end of a band.
#[derive(Clone, Copy, Debug, PartialEq)]
struct End {
    at: f64,
    /// Whether the end lies in the band.
    belongs: bool,
}

/// The numbers between two ends, or to one side of an end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Band {
    low: Option<End>,
    high: Option<End>,
    unit: Unit,
}

impl Band {
    fn new(low: Option<(f64, bool)>, high: Option<(f64, bool)>, unit: Unit) -> Band {
        let end = |(at, belongs)| End { at, belongs };
        Band {
            low: low.map(end),
            high: high.map(end),
            unit,
        }
    }

    pub fn at_least(least: f64, unit: Unit) -> Band {
        Band::new(Some((least, true)), None, unit)
    }

    pub fn above(end: f64, unit: Unit) -> Band {
        Band::new(Some((end, false)), None, unit)
    }

    pub fn at_most(most: f64, unit: Unit) -> Band {
        Band::new(None, Some((most, true)), unit)
    }

    pub fn below(end: f64, unit: Unit) -> Band {
        Band::new(None, Some((end, false)), unit)
    }

    /// Both ends belong to the band.
    pub fn between(low: f64, high: f64, unit: Unit) -> Band {
        Band::new(Some((low, true)), Some((high, true)), unit)
    }

    /// A published number, and so large a share of it to both sides.
    pub fn near(published: f64, share: f64, unit: Unit) -> Band {
        let reach = share * published.abs();
        Band::between(published - reach, published + reach, unit)
    }

    /// Whether a number lies in it. What is no number lies in no band.
    pub fn contains(&self, number: f64) -> bool {
        let above = |end: End| number > end.at || (end.belongs && number == end.at);
        let below = |end: End| number < end.at || (end.belongs && number == end.at);
        !number.is_nan() && self.low.is_none_or(above) && self.high.is_none_or(below)
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |end: End| self.unit.text(end.at);
        match (self.low, self.high) {
            (Some(low), Some(high)) => write!(f, "from {} to {}", text(low), text(high)),
            (Some(low), None) if low.belongs => write!(f, "at least {}", text(low)),
            (Some(low), None) => write!(f, "above {}", text(low)),
            (None, Some(high)) if high.belongs => write!(f, "at most {}", text(high)),
            (None, Some(high)) => write!(f, "below {}", text(high)),
            (None, None) => f.write_str("any number"),
        }
    }
}

/// When a number outside the confirmed band differs, and does not contradict.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Differs {
    Never,
    Within(Band),
    Always,
}

/// A rule for one number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    /// The number, in words.
    of: String,
    confirmed: Band,
    differs: Differs,
    /// A published number that the number's own interval must hold.
    published: Option<(f64, Unit)>,
}

impl Rule {
    /// Confirmed within a band, not confirmed else.
    pub fn new(of: impl Into<String>, confirmed: Band) -> Rule {
        Rule {
            of: of.into(),
            confirmed,
            differs: Differs::Never,
            published: None,
        }
    }

    /// Within this wider band the number differs.
    pub fn differs(self, band: Band) -> Rule {
        Rule {
            differs: Differs::Within(band),
            ..self
        }
    }

    /// A number outside the confirmed band differs, whatever it is.
    pub fn else_differs(self) -> Rule {
        Rule {
            differs: Differs::Always,
            ..self
        }
    }

    /// The number's 95% interval must hold the published number, too.
    pub fn holding(self, published: f64, unit: Unit) -> Rule {
        Rule {
            published: Some((published, unit)),
            ..self
        }
    }

    /// The sentence.
    pub fn text(&self) -> String {
        let holding = self
            .published
            .map_or_else(String::new, |(published, unit)| {
                format!(" and if its 95% interval holds {}", unit.text(published))
            });
        let start = format!("{}: confirmed if {}{holding}", self.of, self.confirmed);
        match self.differs {
            Differs::Never => format!("{start}, not confirmed if not"),
            Differs::Within(band) => {
                format!("{start}, differs if {band}, not confirmed if not {band}")
            }
            Differs::Always => format!("{start}; else differs"),
        }
    }

    /// The verdict on a number without an interval.
    pub fn judge(&self, number: f64, how: impl Into<String>) -> Verdict {
        self.judge_interval(number, None, how)
    }

    /// The verdict on a number with half the width of its 95% interval; `how` says in which way it differs.
    pub fn judge_interval(
        &self,
        number: f64,
        half_width: Option<f64>,
        how: impl Into<String>,
    ) -> Verdict {
        if number.is_nan() {
            return Verdict::NotMeasured;
        }
        if self.confirmed.contains(number) {
            let is_held = self.published.is_none_or(|(published, _)| {
                half_width.is_none_or(|half| (published - number).abs() <= half)
            });
            return match is_held {
                true => Verdict::Confirmed,
                false => Verdict::Differs(format!(
                    "near, but its interval excludes it: {}",
                    how.into()
                )),
            };
        }
        match self.differs {
            Differs::Within(band) if band.contains(number) => Verdict::Differs(how.into()),
            Differs::Always => Verdict::Differs(how.into()),
            _ => Verdict::NotConfirmed,
        }
    }
}

/// How numbers follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trend {
    /// Each is above the one before.
    Rises,
    /// Each is below the one before.
    Falls,
}

impl Trend {
    /// The sentence; `of` says which numbers in which order.
    pub fn text(self, of: &str) -> String {
        let (is, is_not) = match self {
            Trend::Rises => ("above", "one is not"),
            Trend::Falls => ("below", "one is not"),
        };
        format!("{of}: confirmed if each is {is} the one before, not confirmed if {is_not}")
    }

    /// The verdict on numbers in that order.
    pub fn judge(self, numbers: &[f64]) -> Verdict {
        if numbers.iter().any(|number| number.is_nan()) {
            return Verdict::NotMeasured;
        }
        let follows = |pair: &[f64]| match self {
            Trend::Rises => pair[0] < pair[1],
            Trend::Falls => pair[0] > pair[1],
        };
        match numbers.windows(2).all(follows) {
            true => Verdict::Confirmed,
            false => Verdict::NotConfirmed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Vec<f64> {
        let words = text
            .split([' ', ',', ';'])
            .map(|word| word.trim_end_matches('%'));
        words.filter_map(|word| word.parse().ok()).collect()
    }

    /// Moving an end changes the sentence and the verdict at that place, for every kind of rule.
    #[test]
    fn a_moved_band_changes_the_sentence_and_the_verdict() {
        let plain = Unit::Plain;
        type Make = fn(f64, Unit) -> Band;
        let one_sided: [(Make, f64); 4] = [
            (Band::at_least, 1.0),
            (Band::above, 1.0),
            (Band::at_most, -1.0),
            (Band::below, -1.0),
        ];
        for (make, side) in one_sided {
            let (old, new) = (
                Rule::new("x", make(5.0, plain)),
                Rule::new("x", make(5.0 + side, plain)),
            );
            assert_ne!(old.text(), new.text());
            // Between the old end and the new one.
            let at = 5.0 + side / 2.0;
            assert_eq!(old.judge(at, ""), Verdict::Confirmed);
            assert_eq!(new.judge(at, ""), Verdict::NotConfirmed);
        }
        let old =
            Rule::new("x", Band::between(2.0, 4.0, plain)).differs(Band::between(1.0, 8.0, plain));
        for (low, high, least, most, at) in [
            (2.5, 4.0, 1.0, 8.0, 2.2),
            (2.0, 3.0, 1.0, 8.0, 3.5),
            (2.0, 4.0, 1.5, 8.0, 1.2),
            (2.0, 4.0, 1.0, 6.0, 7.0),
        ] {
            let confirmed = Band::between(low, high, plain);
            let new = Rule::new("x", confirmed).differs(Band::between(least, most, plain));
            assert_ne!(old.text(), new.text());
            assert_ne!(old.judge(at, "how"), new.judge(at, "how"), "{at}");
        }
    }

    #[test]
    fn the_ends_of_a_sentence_are_those_of_the_judgement() {
        let rule = Rule::new("cost", Band::near(0.4, 0.25, Unit::Ratio))
            .differs(Band::below(0.9, Unit::Ratio));
        let text = rule.text();
        assert_eq!(
            text,
            "cost: confirmed if from 30% to 50%, differs if below 90%, not confirmed if not below 90%"
        );
        assert_eq!(number(&text), [30.0, 50.0, 90.0, 90.0]);
        for (value, verdict) in [
            (0.31, Verdict::Confirmed),
            (0.49, Verdict::Confirmed),
            (0.29, Verdict::Differs("how".into())),
            (0.51, Verdict::Differs("how".into())),
            (0.9, Verdict::NotConfirmed),
            (f64::NAN, Verdict::NotMeasured),
        ] {
            assert_eq!(rule.judge(value, "how"), verdict, "{value}");
        }
        let above =
            Rule::new("r", Band::at_least(0.5, Unit::Plain)).differs(Band::above(0.0, Unit::Plain));
        assert_eq!(above.judge(0.0, ""), Verdict::NotConfirmed);
        assert_eq!(above.judge(0.5, ""), Verdict::Confirmed);
    }

    #[test]
    fn an_interval_that_excludes_the_published_number_confirms_nothing() {
        // LCI of the TIP study: 47.8 ± 4.2 beside 55.4.
        let rule = Rule::new("mean", Band::near(0.554, 0.25, Unit::Ratio))
            .holding(0.554, Unit::Ratio)
            .else_differs();
        assert!(
            rule.text().contains("its 95% interval holds 55.4%"),
            "{}",
            rule.text()
        );
        let excluded = rule.judge_interval(0.478, Some(0.042), "0.86 times");
        assert!(matches!(excluded, Verdict::Differs(how) if how.contains("excludes")));
        assert_eq!(
            rule.judge_interval(0.478, Some(0.08), ""),
            Verdict::Confirmed
        );
        assert_eq!(
            rule.judge_interval(0.2, Some(0.5), "x"),
            Verdict::Differs("x".into())
        );
    }

    #[test]
    fn trends_are_strict() {
        assert_eq!(Trend::Rises.judge(&[1.0, 2.0, 3.0]), Verdict::Confirmed);
        assert_eq!(Trend::Rises.judge(&[1.0, 1.0]), Verdict::NotConfirmed);
        assert_eq!(Trend::Falls.judge(&[1.0, 1.0]), Verdict::NotConfirmed);
        assert_eq!(Trend::Falls.judge(&[2.0, 1.0]), Verdict::Confirmed);
        assert_ne!(Trend::Falls.text("x"), Trend::Rises.text("x"));
    }
}
