//! Claims as data: a sentence, what the paper says, the numbers that were measured, and the rule of the verdict. The text
//! of the rule, what was found, and the verdict all come from these.

use super::rule::{Condition, Differs, Rule};
use super::{Claim, Section, Verdict};
use crate::table::Mean;

/// A number of a claim.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Number {
    /// The number in words; empty if the claim has no other one that is judged.
    pub name: String,
    /// The value; `None` if it was not measured.
    pub value: Option<f64>,
    /// Half of its 95% interval, if it has one.
    pub half_width: Option<f64>,
    /// The value as reports write it.
    text: String,
}

impl Number {
    fn written(value: Option<f64>, text: impl Fn(f64) -> String) -> Number {
        Number {
            name: String::new(),
            value,
            half_width: None,
            text: value.map_or_else(String::new, text),
        }
    }
}

impl Number {
    /// The number with half of its 95% interval.
    pub fn with_interval(self, half_width: Option<f64>) -> Number {
        Number { half_width, ..self }
    }
}

/// A number with this many decimals: one that rounds to zero has no sign.
#[must_use]
pub fn rounded(decimals: usize, number: f64) -> String {
    let text = format!("{number:.decimals$}");
    match text.strip_prefix('-') {
        Some(zero) if zero.bytes().all(|byte| b"0.".contains(&byte)) => zero.to_owned(),
        _ => text,
    }
}

/// A number with its sign.
pub(crate) fn signed(decimals: usize, value: Option<f64>) -> Number {
    Number::written(value, |number| format!("{number:+.decimals$}"))
}

/// A ratio, written in percent with a decimal.
pub(crate) fn ratio(value: Option<f64>) -> Number {
    ratio_to(1, value)
}

/// A ratio, written in percent.
pub(crate) fn ratio_to(decimals: usize, value: Option<f64>) -> Number {
    Number::written(value, |ratio| rounded(decimals, 100.0 * ratio) + "%")
}

/// A number of percent.
pub(crate) fn percent(decimals: usize, value: Option<f64>) -> Number {
    Number::written(value, |number| rounded(decimals, number) + "%")
}

/// A number as it is.
pub(crate) fn plain(decimals: usize, value: Option<f64>) -> Number {
    Number::written(value, |number| rounded(decimals, number))
}

/// A difference of ratios, written in points of percent.
pub(crate) fn points(value: Option<f64>) -> Number {
    Number::written(value, |ratio| rounded(1, 100.0 * ratio) + " points")
}

/// A ratio, written in percent with its sign.
pub(crate) fn signed_percent(decimals: usize, value: Option<f64>) -> Number {
    Number::written(value, |ratio| format!("{:+.decimals$}%", 100.0 * ratio))
}

/// A number with the text that stands for it.
pub(crate) fn as_text(value_and_text: Option<(f64, String)>) -> Number {
    let (value, text) = value_and_text.unzip();
    Number::written(value, |_| text.clone().unwrap_or_default())
}

/// A mean of ratios with its interval, in percent.
pub(crate) fn mean_ratio(mean: Option<&Mean>) -> Number {
    mean_in(mean, 100.0)
}

/// A mean of percents with its interval.
pub(crate) fn mean_percent(mean: Option<&Mean>) -> Number {
    mean_in(mean, 1.0)
}

fn mean_in(mean: Option<&Mean>, percents: f64) -> Number {
    let half_width = mean.and_then(|mean| mean.half_width);
    let half = half_width.map_or_else(String::new, |half| format!(" ± {:.1}", percents * half));
    let number = Number::written(mean.map(|mean| mean.value), |value| {
        rounded(1, percents * value) + &half + "%"
    });
    number.with_interval(half_width)
}

/// A claim of a paper, or a demand on this reproduction, with the numbers that decide it.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    section: Section,
    claim: String,
    paper: String,
    over: String,
    numbers: Vec<Number>,
    /// The rule; none if no study of the lab measures it.
    rule: Option<Rule>,
    how: String,
    why_draw: String,
    here: Option<String>,
    also: Vec<(String, Number)>,
}

impl Statement {
    /// A claim, and what the paper says of it, with its section or figure.
    pub fn new(section: Section, claim: impl Into<String>, paper: impl Into<String>) -> Statement {
        Statement {
            section,
            claim: claim.into(),
            paper: paper.into(),
            over: String::new(),
            numbers: Vec::new(),
            rule: None,
            how: String::new(),
            why_draw: String::new(),
            here: None,
            also: Vec::new(),
        }
    }

    /// Names the numbers and what they are taken over: the beginning of the rule.
    pub fn over(mut self, what: impl Into<String>) -> Statement {
        self.over = what.into();
        self
    }

    /// A number, named in the rule and in what was found by these words.
    pub fn number(mut self, name: impl Into<String>, number: Number) -> Statement {
        let name = name.into();
        self.numbers.push(Number { name, ..number });
        self
    }

    /// The value of a number, by its place.
    pub fn value_of(&self, at: usize) -> Option<f64> {
        self.numbers.get(at)?.value
    }

    /// The only number that is judged.
    pub fn is(self, number: Number) -> Statement {
        self.number("", number)
    }

    /// The condition under which the claim is confirmed.
    pub fn confirmed(mut self, condition: Condition) -> Statement {
        self.rule = Some(Rule::new(condition));
        self
    }

    /// The condition under which numbers that do not confirm the claim differ, and how: `{0}` stands for the first number.
    pub fn differs(self, condition: Condition, how: impl Into<String>) -> Statement {
        self.with_differs(Differs::If(condition), how.into())
    }

    /// Numbers that do not confirm the claim differ, whatever they are.
    pub fn else_differs(self, how: impl Into<String>) -> Statement {
        self.with_differs(Differs::Always, how.into())
    }

    fn with_differs(mut self, differs: Differs, how: String) -> Statement {
        if let Some(rule) = &mut self.rule {
            rule.differs = differs;
        }
        self.how = how;
        self
    }

    /// A condition under which nothing is decided, and why.
    pub fn draw(mut self, condition: Condition, why: impl Into<String>) -> Statement {
        if let Some(rule) = &mut self.rule {
            rule.draw = Some(condition);
        }
        self.why_draw = why.into();
        self
    }

    /// Bands must hold the intervals of numbers, too.
    pub fn by_interval(mut self) -> Statement {
        if let Some(rule) = &mut self.rule {
            rule.by_interval = true;
        }
        self
    }

    /// The sentence of what was found: `{0}` stands for the first number. Without it numbers are listed with their names.
    pub fn here(mut self, sentence: impl Into<String>) -> Statement {
        self.here = Some(sentence.into());
        self
    }

    /// A number that is told behind the others if it was measured, in a sentence where `{}` stands for it.
    pub fn also(mut self, sentence: impl Into<String>, number: Number) -> Statement {
        self.also.push((sentence.into(), number));
        self
    }

    /// A sentence in which `{0}` stands for the first number.
    fn filled(&self, sentence: &str) -> String {
        let mut text = sentence.to_string();
        for (at, number) in self.numbers.iter().enumerate() {
            text = text.replace(&format!("{{{at}}}"), &number.text);
        }
        text
    }

    /// Results found here, in words.
    fn found(&self) -> String {
        let listed = |number: &Number| match number.name.as_str() {
            "" => number.text.clone(),
            name => format!("{} {name}", number.text),
        };
        let mut here = match &self.here {
            Some(sentence) => self.filled(sentence),
            None => {
                let all: Vec<String> = self.numbers.iter().map(listed).collect();
                all.join(", ")
            }
        };
        for (sentence, number) in &self.also {
            if number.value.is_some() {
                here += &sentence.replace("{}", &number.text);
            }
        }
        here
    }

    /// The sentence of its rule.
    pub fn rule_text(&self) -> String {
        let Some(rule) = &self.rule else {
            return match self.over.as_str() {
                "" => "not covered: no study of the lab measures it".to_string(),
                why => format!("not judged: {why}"),
            };
        };
        let rule = rule.text(&self.numbers, self.section.is_claimed());
        match self.over.as_str() {
            "" => rule,
            over => format!("{over}: {rule}"),
        }
    }

    /// The verdict.
    fn verdict(&self) -> Verdict {
        let is_measured = |number: &Number| number.value.is_some_and(|value| !value.is_nan());
        let Some(rule) = (self.rule.as_ref()).filter(|_| self.numbers.iter().all(is_measured))
        else {
            return Verdict::NotMeasured;
        };
        let judgement = rule.judge(&self.numbers);
        let verdict = judgement.verdict(self.filled(&self.how), &self.filled(&self.why_draw));
        match self.section.is_claimed() {
            true => verdict,
            false => verdict.of_what_no_paper_claims(),
        }
    }

    /// The claim on an instruction set, with its verdict.
    pub fn of(&self, isa: &str) -> Claim {
        let verdict = self.verdict();
        let here = match verdict {
            Verdict::NotMeasured => String::new(),
            _ => self.found(),
        };
        let rule = self.rule.as_ref();
        Claim {
            isa: isa.to_string(),
            section: self.section,
            claim: self.claim.clone(),
            paper: self.paper.clone(),
            here,
            verdict,
            rule: self.rule_text(),
            refuted_by: rule.map_or_else(String::new, |rule| rule.refuted_by(&self.numbers)),
        }
    }
}

/// The claims of statements on an instruction set.
pub(crate) fn of_all(statements: impl IntoIterator<Item = Statement>, isa: &str) -> Vec<Claim> {
    statements
        .into_iter()
        .map(|statement| statement.of(isa))
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::band::{Band, Unit};
    use super::super::rule::{all, falls, is_in, near, rises};
    use super::*;

    fn claim() -> Statement {
        Statement::new(Section::Cost, "x", "y")
    }

    #[test]
    fn a_number_that_rounds_to_zero_has_no_sign() {
        for (ratio, text) in [(-0.0004, "0.0%"), (-0.0, "0.0%"), (-0.0006, "-0.1%")] {
            assert_eq!(super::ratio(Some(ratio)).text, text);
        }
        assert_eq!(percent(0, Some(-0.4)).text, "0%");
        assert_eq!(points(Some(-0.0001)).text, "0.0 points");
    }

    fn verdict_of(statement: &Statement, values: &[f64]) -> Verdict {
        let mut statement = statement.clone();
        for (number, value) in statement.numbers.iter_mut().zip(values) {
            number.value = Some(*value);
        }
        statement.verdict()
    }

    /// Moves each limit of each rule. The sentence must change with it, and the verdict on some numbers near that limit.
    pub(crate) fn assert_that_each_limit_counts(statements: &[Statement]) {
        let mut moved = 0;
        for old in statements {
            let Some(rule) = &old.rule else { continue };
            let limits: Vec<f64> = rule.clone().limits().into_iter().map(|l| *l).collect();
            for at in 0..limits.len() {
                let to = limits[at] + 0.03 * limits[at].abs().max(1.0);
                let mut new = old.clone();
                let mut rule = rule.clone();
                *rule.limits()[at] = to;
                new.rule = Some(rule);
                assert_ne!(old.rule_text(), new.rule_text(), "{}", old.claim);
                let between = (limits[at] + to) / 2.0;
                let mut values: Vec<f64> = limits
                    .iter()
                    .flat_map(|l| [*l, l - 0.01, l + 0.01])
                    .collect();
                values.extend([between, -between, 0.0, 1.0, 1.0 + between]);
                assert!(
                    some_numbers_are_judged_otherwise(old, &new, &values),
                    "{}: {}",
                    old.claim,
                    new.rule_text()
                );
                moved += 1;
            }
        }
        assert!(moved > 0);
    }

    /// Tries numbers out of these for all places, with and without intervals.
    fn some_numbers_are_judged_otherwise(old: &Statement, new: &Statement, values: &[f64]) -> bool {
        let mut seed = 1_u64;
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        (0..200_000).any(|_| {
            let [mut old, mut new] = [old.clone(), new.clone()];
            for at in 0..old.numbers.len() {
                let value = values[next(values.len())];
                let half = (next(2) == 1).then(|| (value - values[next(values.len())]).abs());
                for number in [&mut old.numbers[at], &mut new.numbers[at]] {
                    (number.value, number.half_width) = (Some(value), half);
                    number.text = value.to_string();
                }
            }
            old.verdict() != new.verdict()
        })
    }

    #[test]
    fn a_sentence_says_the_ends_of_its_judgement() {
        let claim = claim()
            .over("cost")
            .is(ratio(Some(0.29)))
            .confirmed(near(0, 0.4))
            .differs(is_in(0, Band::below(0.9, Unit::Ratio)), "{0} only");
        let of = claim.of("isa");
        assert_eq!(
            of.rule,
            "cost: confirmed if from 30% to 50%, differs if below 90%, not confirmed if not"
        );
        assert_eq!(of.refuted_by, "at least 90%");
        assert_eq!(
            (of.here.as_str(), of.verdict),
            ("29.0%", Verdict::Differs("29.0% only".into()))
        );
        for (value, verdict) in [
            (0.31, Verdict::Confirmed),
            (0.49, Verdict::Confirmed),
            (0.9, Verdict::NotConfirmed),
            (f64::NAN, Verdict::NotMeasured),
        ] {
            assert_eq!(verdict_of(&claim, &[value]), verdict, "{value}");
        }
        assert_that_each_limit_counts(&[claim]);
    }

    #[test]
    fn an_interval_that_excludes_the_published_number_confirms_nothing() {
        // LCI of the TIP study: 47.8 ± 4.2 beside 55.4.
        let of = |value, half_width| {
            let mean = Mean {
                value,
                half_width: Some(half_width),
                count: 9,
            };
            let holds = Condition::Holds(0, 0.554, Unit::Ratio);
            claim()
                .is(mean_ratio(Some(&mean)))
                .confirmed(all([near(0, 0.554), holds]))
                .else_differs("so")
                .of("isa")
        };
        let excluded = of(0.478, 0.042);
        assert!(
            excluded.rule.contains("its 95% interval holds 55.4%"),
            "{}",
            excluded.rule
        );
        assert!(matches!(excluded.verdict, Verdict::Differs(how) if how.contains("excludes")));
        assert_eq!(excluded.here, "47.8 ± 4.2%");
        assert_eq!(of(0.478, 0.08).verdict, Verdict::Confirmed);
        assert_eq!(of(0.2, 0.5).verdict, Verdict::Differs("so".into()));
    }

    #[test]
    fn a_number_within_its_noise_of_the_band_decides_nothing() {
        let of = |value, half_width: f64, published| {
            let number = Number {
                half_width: Some(half_width),
                ..ratio(Some(value))
            };
            claim()
                .is(number)
                .confirmed(near(0, published))
                .differs(is_in(0, Band::above(0.0, Unit::Ratio)), "off")
                .by_interval()
                .verdict()
        };
        assert_eq!(of(0.011, 0.001, 0.01), Verdict::Confirmed);
        assert!(matches!(of(0.012, 0.001, 0.01), Verdict::Draw(_)));
        assert!(matches!(of(0.013, 0.001, 0.01), Verdict::Draw(_)));
        assert!(matches!(of(0.01, 0.1, 0.01), Verdict::Draw(_)));
        assert_eq!(of(0.02, 0.001, 0.01), Verdict::Differs("off".into()));
        // Ten times within a quarter: 6.6 times is another factor.
        assert_eq!(of(6.6, 0.0, 10.0), Verdict::Differs("off".into()));
        assert_eq!(of(-0.01, 0.001, 0.01), Verdict::NotConfirmed);
        assert_eq!(of(7.5, 0.0, 10.0), Verdict::Confirmed);
    }

    #[test]
    fn trends_are_strict_and_draws_come_first() {
        let three = |condition| {
            claim()
                .number("a", plain(0, Some(1.0)))
                .number("b", plain(0, Some(2.0)))
                .number("c", plain(0, Some(3.0)))
                .confirmed(condition)
        };
        let rising = three(rises([0, 1, 2]));
        assert_eq!(rising.found(), "1 a, 2 b, 3 c");
        assert_eq!(
            rising.rule_text(),
            "confirmed if each is above the one before (a, b, c), not confirmed if not"
        );
        assert_eq!(rising.verdict(), Verdict::Confirmed);
        assert_eq!(verdict_of(&rising, &[1.0, 1.0, 2.0]), Verdict::NotConfirmed);
        assert_eq!(three(falls([2, 1, 0])).verdict(), Verdict::Confirmed);
        let apart = three(Condition::Apart(vec![0, 1, 2], 2.0, Unit::Plain));
        assert_eq!(apart.verdict(), Verdict::Confirmed);
        assert_eq!(verdict_of(&apart, &[1.0, 1.0, 3.5]), Verdict::NotConfirmed);
        let little =
            three(Condition::Above(2, 0)).draw(is_in(0, Band::below(1.5, Unit::Plain)), "only {0}");
        assert_eq!(little.verdict(), Verdict::Draw("only 1".into()));
        assert_that_each_limit_counts(&[apart, little]);
        // Claims without a number are not judged, and statements that no paper claims hold or do not.
        assert_eq!(
            claim().is(plain(0, None)).confirmed(near(0, 1.0)).verdict(),
            Verdict::NotMeasured
        );
        let own = Statement::new(Section::Explained, "x", "–")
            .is(ratio(Some(1.0)))
            .confirmed(near(0, 1.0));
        assert_eq!(own.verdict(), Verdict::Holds);
        assert!(
            own.rule_text()
                .starts_with("holds if from 75% to 125%, does not hold"),
            "{}",
            own.rule_text()
        );
    }
}
