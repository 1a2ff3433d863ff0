use serde::{Deserialize, Serialize};

use super::address::{hex, name_at_address};
use super::{KeyKind, ProfileKey};

/// A transfer of control: a taken branch, jump, call or return, or the step from the last
/// instruction of a block to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// Address of the instruction that passes control on.
    #[serde(with = "hex")]
    pub from: u64,
    /// Address of the instruction that gets control.
    #[serde(with = "hex")]
    pub to: u64,
}

impl ProfileKey for Edge {
    const KIND: KeyKind = KeyKind::new("edge");
    const TITLE: &'static str = "control-flow edge";

    fn frames(&self, symbol: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
        vec![
            name_at_address(self.from, symbol),
            name_at_address(self.to, symbol),
        ]
    }

    fn label(&self, symbol: &dyn Fn(u64) -> Option<String>) -> String {
        self.frames(symbol).join(" -> ")
    }

    fn relocated(&self, place: &dyn Fn(u64) -> u64) -> Self {
        Edge {
            from: place(self.from),
            to: place(self.to),
        }
    }
}
