//! The names of kinds of profiles.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of a kind of profile, as the header of a file gives it: `method`, `instruction`.
///
/// Any name can be held, so that a file of an unknown kind is refused by its name. The names that
/// can be read are those of a [`KeyRegistry`](crate::KeyRegistry).
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct KeyKind(Cow<'static, str>);

impl KeyKind {
    /// The kind of this name: lower case, words parted by underscores.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// The name used in files and on the command line.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The three kinds of profiles that HPS's productions collect. Named in files as in the paper's
/// section 4.3.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ProfileKind {
    /// Hot method: weight by method, counted at calls and backward branches.
    Method,
    /// Hot call pair: weight by call site and target.
    CallPair,
    /// Hot data stream: heat by sequence of data addresses.
    DataStream,
}

impl ProfileKind {
    /// All three kinds, in the order of the paper's Figures 8 and 10.
    pub const ALL: [ProfileKind; 3] = [Self::DataStream, Self::CallPair, Self::Method];

    /// The name used in files and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Method => "method",
            Self::CallPair => "call_pair",
            Self::DataStream => "data_stream",
        }
    }

    /// The name used in titles.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Method => "hot method",
            Self::CallPair => "hot call pair",
            Self::DataStream => "hot data stream",
        }
    }
}

impl fmt::Display for ProfileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<ProfileKind> for KeyKind {
    fn from(kind: ProfileKind) -> Self {
        Self::new(kind.name())
    }
}
