use serde::{Deserialize, Serialize};

use super::address::{hex, name_at_address, name_or_address};
use super::{KeyKind, ProfileKey};

/// A call site and the method that it called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallPair {
    /// Address of the call instruction.
    #[serde(with = "hex")]
    pub site: u64,
    /// Address of the first instruction of the called method.
    #[serde(with = "hex")]
    pub target: u64,
}

impl ProfileKey for CallPair {
    const KIND: KeyKind = KeyKind::new("call_pair");
    const TITLE: &'static str = "hot call pair";

    fn frames(&self, symbol: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
        vec![
            name_or_address(self.site, symbol),
            name_or_address(self.target, symbol),
        ]
    }

    fn label(&self, symbol: &dyn Fn(u64) -> Option<String>) -> String {
        format!(
            "{} -> {}",
            name_at_address(self.site, symbol),
            name_or_address(self.target, symbol)
        )
    }

    fn relocated(&self, place: &dyn Fn(u64) -> u64) -> Self {
        CallPair {
            site: place(self.site),
            target: place(self.target),
        }
    }
}
