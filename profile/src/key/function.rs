use serde::{Deserialize, Serialize};

use super::address::{hex, name_or_address};
use super::{KeyKind, ProfileKey};

/// A function, by the address of its entry. Code without symbols is a function by the first
/// address of its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Function(#[serde(with = "hex")] pub u64);

impl ProfileKey for Function {
    const KIND: KeyKind = KeyKind::new("function");
    const TITLE: &'static str = "function";

    fn frames(&self, symbol: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
        vec![self.label(symbol)]
    }

    fn label(&self, symbol: &dyn Fn(u64) -> Option<String>) -> String {
        name_or_address(self.0, symbol)
    }

    fn relocated(&self, place: &dyn Fn(u64) -> u64) -> Self {
        Function(place(self.0))
    }
}
