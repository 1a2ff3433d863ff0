//! The numbers of one study, as pictures want them.

use hps_experiments::{Measurement, ProfileKind, UnitRecord};

/// Label of the accuracy on axes.
pub(super) const ACCURACY_AXIS: &str = "Accuracy (% overlap)";
/// Measure of the accuracy in results.
pub(super) const ACCURACY: &str = "accuracy_renormalized_ratio";
/// The setting of loops of known length.
pub(super) const LOOPS: &str = "period";
/// The overhead's name in results.
pub(super) const OVERHEAD: &str = "overhead_ratio";

/// The measurements of one study.
pub(super) struct Numbers<'a> {
    all: Vec<&'a Measurement>,
    /// More than one instruction set: programs are named with theirs.
    several_isas: bool,
    /// Machine and inputs, for subtitles.
    pub origin: String,
}

impl<'a> Numbers<'a> {
    /// Measurements of a study, if it has any.
    pub(super) fn of(records: &'a [UnitRecord], study: &str) -> Option<Numbers<'a>> {
        let of_study = || records.iter().filter(|r| r.study == study);
        let all: Vec<&Measurement> = of_study().flat_map(|r| &r.measurements).collect();
        all.first()?;
        // Programs of a study's own come with every instruction set.
        let mut of_programs = all.iter().filter(|m| m.setting != LOOPS);
        let first = of_programs.next().map(|m| &m.isa);
        let mut origin = Vec::new();
        for record in of_study() {
            if !origin.contains(&record.machine.as_str()) {
                origin.push(record.machine.as_str());
            }
        }
        Some(Numbers {
            several_isas: of_programs.any(|m| Some(&m.isa) != first),
            origin: origin.join(", "),
            all,
        })
    }

    /// Measurements that are wanted.
    pub(super) fn only(&self, wanted: impl Fn(&Measurement) -> bool) -> Numbers<'a> {
        Numbers {
            all: self.all.iter().copied().filter(|m| wanted(m)).collect(),
            several_isas: self.several_isas,
            origin: self.origin.clone(),
        }
    }

    /// One kind of profile.
    pub(super) fn kind(&self, kind: ProfileKind) -> Numbers<'a> {
        self.only(|m| m.profile == Some(kind))
    }

    /// One scheme.
    pub(super) fn scheme(&self, scheme: &str) -> Numbers<'a> {
        self.only(|m| m.scheme == scheme)
    }

    /// One setting.
    pub(super) fn setting(&self, setting: &str) -> Numbers<'a> {
        self.only(|m| m.setting == setting)
    }

    /// One frequency.
    pub(super) fn one_in(&self, one_in: u64) -> Numbers<'a> {
        self.only(|m| m.one_in == Some(one_in))
    }

    /// One measure.
    pub(super) fn measure(&self, measure: &str) -> Numbers<'a> {
        self.only(|m| m.measure == measure)
    }

    /// One place on the axis.
    pub(super) fn at(&self, x: f64) -> Numbers<'a> {
        self.only(|m| m.x == Some(x))
    }

    /// One program, by the name that [`Numbers::programs`] gives it.
    pub(super) fn program(&self, name: &str) -> Numbers<'a> {
        self.only(|m| self.name(m) == name)
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &'a Measurement> {
        self.all.iter().copied()
    }

    /// The first, if there is one.
    pub(super) fn value(&self) -> Option<f64> {
        self.all.first().map(|m| m.value)
    }

    /// The values.
    pub(super) fn values(&self) -> Vec<f64> {
        self.iter().map(|m| m.value).collect()
    }

    /// The mean of the values.
    pub(super) fn mean(&self) -> Option<f64> {
        mean(&self.values())
    }

    /// Programs, in the order of the results.
    pub(super) fn programs(&self) -> Vec<String> {
        distinct(self.iter().map(|m| self.name(m)))
    }

    /// Settings, in the order of the results.
    pub(super) fn settings(&self) -> Vec<&'a str> {
        distinct(self.iter().map(|m| m.setting.as_str()))
    }

    /// Places on the axis, ascending.
    pub(super) fn xs(&self) -> Vec<f64> {
        let mut xs = distinct(self.iter().filter_map(|m| m.x));
        xs.sort_by(f64::total_cmp);
        xs
    }

    /// Frequencies, highest first.
    pub(super) fn frequencies(&self) -> Vec<u64> {
        let mut all = distinct(self.iter().filter_map(|m| m.one_in));
        all.sort_unstable();
        all
    }

    /// Kinds of profile, in the paper's order.
    pub(super) fn kinds(&self) -> Vec<ProfileKind> {
        let has = |kind: &ProfileKind| self.iter().any(|m| m.profile == Some(*kind));
        ProfileKind::ALL.into_iter().filter(has).collect()
    }

    /// How much was timed.
    pub(super) fn extent(&self) -> Option<String> {
        let lengths = self.measure("instructions");
        let most = lengths.values().into_iter().max_by(f64::total_cmp)?;
        Some(format!(
            "Timed runs: {}; at most the first {:.1} million instructions of each, and both sides of a comparison \
             stop at the same instruction.",
            lengths.programs().join(", "),
            most / 1e6,
        ))
    }

    fn name(&self, m: &Measurement) -> String {
        if self.several_isas && m.setting != LOOPS {
            format!("{} ({})", m.program, m.isa)
        } else {
            m.program.clone()
        }
    }
}

/// The mean, if there are values.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    match values.len() {
        0 => None,
        count => Some(values.iter().sum::<f64>() / count as f64),
    }
}

fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for value in values {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

/// The kind's title with a capital letter, in the plural.
pub(super) fn heading(kind: ProfileKind) -> String {
    let title = kind.title();
    let mut letters = title.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    format!("{}{}s", first.unwrap_or_default(), letters.as_str())
}

/// A share in percent.
pub(super) fn percent(share: f64, decimals: usize) -> String {
    format!("{:.decimals$}%", 100.0 * share)
}

/// A difference of shares in percentage points, with its sign.
pub(super) fn points(difference: f64, decimals: usize) -> String {
    let text = format!("{:+.decimals$}", 100.0 * difference);
    // A sign in front of nothing says something that is not there.
    let is_zero = text[1..].chars().all(|c| matches!(c, '0' | '.'));
    if is_zero { text[1..].to_string() } else { text }
}

/// A number and what it belongs to.
pub(super) type Named = (String, f64);

/// The least and the greatest of named values.
pub(super) fn extremes(named: &[Named]) -> Option<(&Named, &Named)> {
    let least = named.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let most = named.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((least, most))
}
