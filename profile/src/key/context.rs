use serde::{Deserialize, Serialize};

use super::address::{hex_list, name_at_address, name_or_address};
use super::{KeyKind, ProfileKey};

/// A calling context: one address in each active function, outermost first. All but the last are
/// call sites (or, where a profiler only knows those, return addresses); the last is the place
/// itself, such as the entry of the innermost function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Context(#[serde(with = "hex_list")] pub Box<[u64]>);

impl ProfileKey for Context {
    const KIND: KeyKind = KeyKind::new("context");
    const TITLE: &'static str = "calling context";

    fn frames(&self, symbol: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
        let named = self.0.iter().map(|&place| name_or_address(place, symbol));
        named.collect()
    }

    fn label(&self, symbol: &dyn Fn(u64) -> Option<String>) -> String {
        let named = self.0.iter().map(|&place| name_at_address(place, symbol));
        named.collect::<Vec<_>>().join(" > ")
    }

    fn relocated(&self, place: &dyn Fn(u64) -> u64) -> Self {
        Context(self.0.iter().map(|&at| place(at)).collect())
    }
}
