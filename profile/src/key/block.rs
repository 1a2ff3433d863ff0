use serde::{Deserialize, Serialize};

use super::address::{hex, name_at_address};
use super::{KeyKind, ProfileKey};

/// A basic block, by the address of its first instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Block(#[serde(with = "hex")] pub u64);

impl ProfileKey for Block {
    const KIND: KeyKind = KeyKind::new("block");
    const TITLE: &'static str = "basic block";

    fn frames(&self, symbol: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
        let place = format!("{:#x}", self.0);
        symbol(self.0).into_iter().chain([place]).collect()
    }

    fn label(&self, symbol: &dyn Fn(u64) -> Option<String>) -> String {
        name_at_address(self.0, symbol)
    }

    fn relocated(&self, place: &dyn Fn(u64) -> u64) -> Self {
        Block(place(self.0))
    }
}
