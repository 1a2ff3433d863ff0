use serde::{Deserialize, Serialize};

use super::address::{hex, name_at_address};
use super::{KeyKind, ProfileKey};

/// A path: a way through flow graphs without a backward edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// The entry of its function; of a path across functions, where control was behind its last call or return.
    #[serde(with = "hex")]
    pub from: u64,
    /// A hash of what came before that; 0 for nothing, and for paths within functions.
    #[serde(with = "hex")]
    pub before: u64,
    /// The number of the way from there on, Ball and Larus's sum of edge values.
    #[serde(with = "hex")]
    pub number: u64,
}

impl ProfileKey for Path {
    const KIND: KeyKind = KeyKind::new("path");
    const TITLE: &'static str = "path";

    fn frames(&self, symbol: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
        let own = match self.before {
            0 => format!("path {:#x}", self.number),
            before => format!("path {:#x} behind {before:#x}", self.number),
        };
        vec![name_at_address(self.from, symbol), own]
    }

    fn label(&self, symbol: &dyn Fn(u64) -> Option<String>) -> String {
        self.frames(symbol).join(" ")
    }

    fn relocated(&self, place: &dyn Fn(u64) -> u64) -> Self {
        Path {
            from: place(self.from),
            ..*self
        }
    }
}
