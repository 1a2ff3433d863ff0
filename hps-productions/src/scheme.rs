//! Schemes of sampling: the same bursts by different means.

use std::fmt;

use hps_isa::inst::reg;
use hps_profile::ProfileKind;
use serde::{Deserialize, Serialize};

use crate::files::{self, ProductionFile};
use crate::point::{COUNTER_MAX, SamplePoint, SamplePointError};
use crate::random;

/// How a [`Collector`](crate::Collector) decides what is sampled.
///
/// There is no scheme of its own for exhaustive profiles: at [`SamplePoint::EXHAUSTIVE`] the framework
/// of [`Scheme::Hps`] costs no cycle, and what is left is what unconditional productions would do,
/// sequence for sequence. [`Scheme::PlainDise`] at that point would pay for counting beside.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Conditional control in the DISE engine (HPS report, section 4.2): counting costs nothing, and
    /// only sampled instructions are expanded.
    #[default]
    Hps,
    /// DISE without conditional control (HPS report, section 4.1): every event and every instruction of
    /// interest is expanded. It samples what [`Scheme::Hps`] samples.
    PlainDise,
    /// HPS with a random number of events between bursts, of the same mean
    /// ([`RandomSchedule`](crate::random::RandomSchedule)).
    Randomized,
}

impl Scheme {
    /// All of them.
    pub const ALL: [Scheme; 3] = [Self::Hps, Self::PlainDise, Self::Randomized];

    /// The name used in files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hps => "hps",
            Self::PlainDise => "plain-dise",
            Self::Randomized => "randomized",
        }
    }

    /// The name used in titles.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Hps => "HPS",
            Self::PlainDise => "plain DISE",
            Self::Randomized => "HPS, randomized period",
        }
    }

    /// The scheme of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name)
    }

    /// The production files for these profiles, what they need included. With no profile it is the
    /// framework alone.
    ///
    /// The order of `kinds` does not matter: handlers and tables lie where they lie for the same kinds
    /// in any order.
    #[must_use]
    pub fn files(self, kinds: &[ProfileKind]) -> Vec<ProductionFile> {
        let mut files = vec![match self {
            Self::Hps | Self::Randomized => files::FRAMEWORK,
            Self::PlainDise => files::PLAIN_FRAMEWORK,
        }];
        if self == Self::Randomized {
            files.push(files::RANDOM_PERIOD);
        }
        for kind in [
            ProfileKind::Method,
            ProfileKind::CallPair,
            ProfileKind::DataStream,
        ] {
            if kinds.contains(&kind) {
                files.push(self.file_of(kind));
            }
        }
        files::complete(&files)
    }

    /// The productions of a profile type in this scheme.
    #[must_use]
    pub const fn file_of(self, kind: ProfileKind) -> ProductionFile {
        match (self, kind) {
            (Self::Hps | Self::Randomized, _) => ProductionFile::of_kind(kind),
            (Self::PlainDise, ProfileKind::Method) => files::PLAIN_HOT_METHOD,
            (Self::PlainDise, ProfileKind::CallPair) => files::PLAIN_HOT_CALL_PAIR,
            (Self::PlainDise, ProfileKind::DataStream) => files::PLAIN_HOT_DATA_STREAM,
        }
    }

    /// Whether this scheme can sample at a point.
    ///
    /// # Errors
    /// A burst length or a sparsity that the counters cannot hold; with a randomized period that is a
    /// sparsity of which one and a half are too many.
    pub fn validate(self, point: SamplePoint) -> Result<(), SamplePointError> {
        point.validate()?;
        let most = match self {
            Self::Hps | Self::PlainDise => point.sparsity,
            Self::Randomized => point.sparsity + point.sparsity / 2,
        };
        if most > COUNTER_MAX {
            return Err(SamplePointError::Sparsity(most));
        }
        Ok(())
    }

    /// DISE registers, by their numbers in the machine's numbering, with what they hold for a point.
    ///
    /// Written to a running machine between two instructions, they take effect at the end of the burst
    /// that runs or comes next. With a randomized period the distance that follows is the new sparsity
    /// itself, unless its draw is still due.
    #[must_use]
    pub fn registers(self, point: SamplePoint) -> Vec<(u8, u64)> {
        let fixed = point.registers();
        match self {
            Self::Hps => fixed.to_vec(),
            Self::PlainDise => vec![(fixed[0].0, point.sparsity), (fixed[1].0, point.burst)],
            Self::Randomized => {
                let half = point.sparsity / 2;
                let least = COUNTER_MAX.saturating_sub(point.sparsity - half);
                fixed
                    .into_iter()
                    .chain([
                        (DRAWN, half),
                        (LEAST_FREQ, least),
                        (DRAW_WIDTH, random::width(point)),
                    ])
                    .collect()
            }
        }
    }
}

/// `drawn` of `random_period.dise`.
const DRAWN: u8 = reg::DISE + 12;
/// `leastFreq` of `random_period.dise`.
const LEAST_FREQ: u8 = reg::DISE + 14;
/// `drawWidth` of `random_period.dise`.
const DRAW_WIDTH: u8 = reg::DISE + 15;

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hps_dise::LoadOptions;

    #[test]
    fn names_are_found_again() {
        for scheme in Scheme::ALL {
            assert_eq!(Scheme::from_name(scheme.name()), Some(scheme));
        }
        assert_eq!(Scheme::from_name("none"), None);
    }

    #[test]
    fn registers_are_those_that_the_files_initialize() {
        let point = SamplePoint {
            burst: 7,
            sparsity: 93,
        };
        let params = [("burst", 7), ("sparsity", 93)];
        for scheme in Scheme::ALL {
            let set = files::load(&scheme.files(&[]), &LoadOptions::with_params(params));
            let set = set.unwrap_or_else(|e| panic!("{e}"));
            for (register, value) in scheme.registers(point) {
                let first = set.dise_register_init();
                let found = first.iter().find(|(r, _)| *r == register);
                assert_eq!(found, Some(&(register, value)), "{scheme}");
            }
        }
    }

    #[test]
    fn a_randomized_sparsity_must_leave_room() {
        let point = SamplePoint {
            burst: 1,
            sparsity: COUNTER_MAX / 3 * 2 + 2,
        };
        assert!(Scheme::Hps.validate(point).is_ok());
        assert!(Scheme::Randomized.validate(point).is_err());
    }
}
