//! Rules of verdicts over a claim's numbers. One definition gives the sentence and the judgement, so that they cannot
//! differ.

use super::Verdict;
use super::band::{Band, Unit};
use super::statement::Number;

/// How numbers follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trend {
    /// Each is above the one before.
    Rises,
    /// Each is below the one before.
    Falls,
}

/// A condition on the numbers of a claim. A number is named by its place among them, from 0.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    /// A number lies in a band.
    In(usize, Band),
    /// The 95% interval of a number, if it has one, holds a published number.
    Holds(usize, f64, Unit),
    /// The numbers rise, or fall, in this order.
    Follows(Trend, Vec<usize>),
    /// No two of them are farther apart than this.
    Apart(Vec<usize>, f64, Unit),
    /// The first is larger than the second.
    Above(usize, usize),
    /// All of these.
    All(Vec<Condition>),
}

/// A number lies in a band.
pub(crate) fn is_in(number: usize, band: Band) -> Condition {
    Condition::In(number, band)
}

/// A ratio lies within a quarter of a published one.
pub(crate) fn near(number: usize, published: f64) -> Condition {
    Condition::In(number, Band::near(published, super::BAND, Unit::Ratio))
}

/// The numbers rise in this order.
pub(crate) fn rises(numbers: impl Into<Vec<usize>>) -> Condition {
    Condition::Follows(Trend::Rises, numbers.into())
}

/// The numbers fall in this order.
pub(crate) fn falls(numbers: impl Into<Vec<usize>>) -> Condition {
    Condition::Follows(Trend::Falls, numbers.into())
}

/// All of these conditions.
pub(crate) fn all(conditions: impl Into<Vec<Condition>>) -> Condition {
    Condition::All(conditions.into())
}

impl Condition {
    /// Whether it is so; `None` if intervals are respected and leave it open.
    fn holds(&self, numbers: &[Number], by_interval: bool) -> Option<bool> {
        let value = |at: &usize| numbers[*at].value.unwrap_or(f64::NAN);
        let half_width = |at: &usize| numbers[*at].half_width.filter(|half| half.is_finite());
        match self {
            Condition::In(at, band) if by_interval => {
                band.contains_interval(value(at), half_width(at).unwrap_or(0.0))
            }
            Condition::In(at, band) => Some(band.contains(value(at))),
            Condition::Holds(at, published, _) => {
                Some(half_width(at).is_none_or(|half| (published - value(at)).abs() <= half))
            }
            Condition::Follows(trend, order) => Some(order.windows(2).all(|pair| match trend {
                Trend::Rises => value(&pair[0]) < value(&pair[1]),
                Trend::Falls => value(&pair[0]) > value(&pair[1]),
            })),
            Condition::Apart(of, most, _) => {
                let values = || of.iter().map(value);
                let span = values().fold(f64::NEG_INFINITY, f64::max)
                    - values().fold(f64::INFINITY, f64::min);
                Some(span <= *most)
            }
            Condition::Above(more, less) => Some(value(more) > value(less)),
            Condition::All(conditions) => {
                let each: Vec<_> = (conditions.iter())
                    .map(|condition| condition.holds(numbers, by_interval))
                    .collect();
                match each.contains(&Some(false)) {
                    true => Some(false),
                    false => each.into_iter().all(|is| is.is_some()).then_some(true),
                }
            }
        }
    }

    /// The condition in words: `it is so if` goes before.
    fn text(&self, numbers: &[Number]) -> String {
        let name = |at: &usize| numbers[*at].name.as_str();
        let named = |at: &usize, what: String| match name(at) {
            "" => what,
            name => format!("{name} {what}"),
        };
        let list = |of: &[usize]| of.iter().map(name).collect::<Vec<_>>().join(", ");
        match self {
            Condition::In(at, band) => named(at, band.to_string()),
            Condition::Holds(at, published, unit) => named(
                at,
                format!("its 95% interval holds {}", unit.text(*published)),
            ),
            Condition::Follows(trend, order) => {
                let is = match trend {
                    Trend::Rises => "above",
                    Trend::Falls => "below",
                };
                format!("each is {is} the one before ({})", list(order))
            }
            Condition::Apart(of, most, unit) => {
                let most = unit.text(*most).replace('%', " points");
                format!("no two differ by more than {most} ({})", list(of))
            }
            Condition::Above(more, less) => format!("{} is above {}", name(more), name(less)),
            Condition::All(conditions) => {
                let each = conditions.iter().map(|condition| condition.text(numbers));
                each.collect::<Vec<_>>().join(" and ")
            }
        }
    }

    /// Negation of the condition, in words.
    fn contrary(&self, numbers: &[Number]) -> String {
        match self {
            Condition::In(at, band) => match numbers[*at].name.as_str() {
                "" => band.outside(),
                name => format!("{name} {}", band.outside()),
            },
            Condition::Follows(..) => "one is not".to_string(),
            Condition::Above(more, less) => {
                format!(
                    "{} is not above {}",
                    numbers[*more].name, numbers[*less].name
                )
            }
            Condition::Holds(..) | Condition::Apart(..) => "that is not so".to_string(),
            Condition::All(conditions) => {
                let each = conditions
                    .iter()
                    .map(|condition| condition.contrary(numbers));
                each.collect::<Vec<_>>().join(", or ")
            }
        }
    }

    /// All limits that stand in it.
    #[cfg(test)]
    pub fn limits(&mut self) -> Vec<&mut f64> {
        match self {
            Condition::In(_, band) => band.ends().collect(),
            Condition::Holds(_, limit, _) | Condition::Apart(_, limit, _) => vec![limit],
            Condition::Follows(..) | Condition::Above(..) => Vec::new(),
            Condition::All(conditions) => {
                conditions.iter_mut().flat_map(Condition::limits).collect()
            }
        }
    }

    /// The conditions that it is made of, or itself.
    fn parts(&self) -> &[Condition] {
        match self {
            Condition::All(conditions) => conditions,
            one => std::slice::from_ref(one),
        }
    }
}

/// When numbers that confirm nothing differ, and do not contradict.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Differs {
    /// The numbers never differ.
    Never,
    /// The numbers differ where this condition holds.
    If(Condition),
    /// The numbers always differ.
    Always,
}

/// When the numbers of a claim confirm it, differ, decide nothing, or contradict it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    /// The condition of a claim that is confirmed.
    pub confirmed: Condition,
    /// The condition of one that differs.
    pub differs: Differs,
    /// A condition under which nothing is decided, whatever else is so.
    pub draw: Option<Condition>,
    /// Whether bands must hold the intervals of numbers, too; an interval that reaches over an end decides nothing.
    pub by_interval: bool,
}

/// Judgement of a rule on numbers, before it is said how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// The numbers are as claimed.
    Confirmed,
    /// The numbers differ; near the published number, which their interval excludes, or not.
    Differs { is_near: bool },
    /// The condition of a draw is so.
    Draw,
    /// An interval reaches over an end of a band.
    Open,
    /// The numbers contradict the claim.
    NotConfirmed,
}

impl Rule {
    /// Confirmed if this is so, not confirmed if not.
    pub fn new(confirmed: Condition) -> Rule {
        Rule {
            confirmed,
            differs: Differs::Never,
            draw: None,
            by_interval: false,
        }
    }

    /// The sentence. Of what no paper claims nothing is confirmed: it holds.
    pub fn text(&self, numbers: &[Number], is_claimed: bool) -> String {
        let [yes, no] = match is_claimed {
            true => ["confirmed", "not confirmed"],
            false => ["holds", "does not hold"],
        };
        let draw = self
            .draw
            .as_ref()
            .map(|draw| format!("a draw if {}; ", draw.text(numbers)));
        let draw = draw.unwrap_or_default();
        let interval = match self.by_interval {
            true => ", with its interval; a draw if the interval reaches over an end of that band",
            false => "",
        };
        let start = format!("{draw}{yes} if {}{interval}", self.confirmed.text(numbers));
        match &self.differs {
            Differs::Never => format!("{start}, {no} if not"),
            Differs::If(condition) => {
                format!(
                    "{start}, differs if {}, {no} if not",
                    condition.text(numbers)
                )
            }
            Differs::Always => format!("{start}; else differs"),
        }
    }

    /// Outcome that would refute the claim.
    pub fn refuted_by(&self, numbers: &[Number]) -> String {
        match &self.differs {
            Differs::Never => self.confirmed.contrary(numbers),
            Differs::If(condition) => condition.contrary(numbers),
            Differs::Always => "nothing: what is not as published differs".to_string(),
        }
    }

    /// The judgement on numbers that were all measured.
    pub fn judge(&self, numbers: &[Number]) -> Judgement {
        if let Some(draw) = &self.draw
            && draw.holds(numbers, false) == Some(true)
        {
            return Judgement::Draw;
        }
        match self.confirmed.holds(numbers, self.by_interval) {
            Some(true) => return Judgement::Confirmed,
            None => return Judgement::Open,
            Some(false) => {}
        }
        let fails = |part: &Condition| part.holds(numbers, false) == Some(false);
        let mut failed = self.confirmed.parts().iter().filter(|part| fails(part));
        let is_near = failed.all(|part| matches!(part, Condition::Holds(..)));
        let differs = match &self.differs {
            Differs::Never => false,
            Differs::If(condition) => condition.holds(numbers, false) == Some(true),
            Differs::Always => true,
        };
        // A number that its interval alone excludes is near, whatever else the rule says.
        match differs || is_near {
            true => Judgement::Differs { is_near },
            false => Judgement::NotConfirmed,
        }
    }

    /// All limits that stand in it.
    #[cfg(test)]
    pub fn limits(&mut self) -> Vec<&mut f64> {
        let mut all = self.confirmed.limits();
        if let Differs::If(condition) = &mut self.differs {
            all.extend(condition.limits());
        }
        all.extend(self.draw.iter_mut().flat_map(Condition::limits));
        all
    }
}

impl Judgement {
    /// The verdict; `how` says in which way numbers differ, `why` why they decide nothing.
    pub fn verdict(self, how: String, why: &str) -> Verdict {
        match self {
            Judgement::Confirmed => Verdict::Confirmed,
            Judgement::Differs { is_near: false } => Verdict::Differs(how),
            Judgement::Differs { is_near: true } => {
                Verdict::Differs(format!("near, but its interval excludes it: {how}"))
            }
            Judgement::Draw => Verdict::Draw(why.to_string()),
            Judgement::Open => {
                Verdict::Draw("the interval reaches over an end of the band".to_string())
            }
            Judgement::NotConfirmed => Verdict::NotConfirmed,
        }
    }
}
