use serde::{Deserialize, Serialize};

use super::address::{hex, name_or_address};
use super::{KeyKind, ProfileKey};

/// A method, by the address of its first instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Method(#[serde(with = "hex")] pub u64);

impl ProfileKey for Method {
    const KIND: KeyKind = KeyKind::new("method");
    const TITLE: &'static str = "hot method";

    fn frames(&self, symbol: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
        vec![self.label(symbol)]
    }

    fn label(&self, symbol: &dyn Fn(u64) -> Option<String>) -> String {
        name_or_address(self.0, symbol)
    }

    fn relocated(&self, place: &dyn Fn(u64) -> u64) -> Self {
        Method(place(self.0))
    }
}
