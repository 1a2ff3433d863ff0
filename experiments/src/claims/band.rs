//! Bands of numbers: where they begin and end, and how a sentence says so.

use std::fmt;

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
    pub fn text(self, number: f64) -> String {
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

impl Band {
    /// The numbers outside of it, in words.
    pub fn outside(&self) -> String {
        let text = |end: End| self.unit.text(end.at);
        let below = |end: End| {
            let word = if end.belongs { "below" } else { "at most" };
            format!("{word} {}", text(end))
        };
        let above = |end: End| {
            let word = if end.belongs { "above" } else { "at least" };
            format!("{word} {}", text(end))
        };
        match (self.low, self.high) {
            (Some(low), Some(high)) => format!("{} or {}", below(low), above(high)),
            (Some(low), None) => below(low),
            (None, Some(high)) => above(high),
            (None, None) => "no number".to_string(),
        }
    }

    /// Whether all numbers around one, as far as half an interval reaches, lie in the band: `None` if only some do.
    pub fn contains_interval(&self, number: f64, half_width: f64) -> Option<bool> {
        let ends = [number - half_width, number + half_width];
        let beyond = self.low.is_some_and(|low| ends[1] < low.at)
            || self.high.is_some_and(|high| ends[0] > high.at);
        match (
            ends.iter().all(|end| self.contains(*end)),
            self.contains(number),
        ) {
            (true, _) => Some(true),
            (false, false) if beyond || half_width == 0.0 => Some(false),
            _ => None,
        }
    }

    /// The numbers at its ends.
    #[cfg(test)]
    pub fn ends(&mut self) -> impl Iterator<Item = &mut f64> {
        let ends = [&mut self.low, &mut self.high].into_iter();
        ends.flatten().map(|end| &mut end.at)
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
