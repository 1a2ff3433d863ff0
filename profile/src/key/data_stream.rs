use serde::{Deserialize, Serialize};

use super::address::{hex_list, name_at_address};
use super::{KeyKind, ProfileKey};

/// A sequence of data addresses that are referenced one after the other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DataStream(#[serde(with = "hex_list")] pub Box<[u64]>);

impl ProfileKey for DataStream {
    const KIND: KeyKind = KeyKind::new("data_stream");
    const TITLE: &'static str = "hot data stream";

    fn frames(&self, symbol: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
        let named = self.0.iter().map(|&place| name_at_address(place, symbol));
        named.collect()
    }

    fn label(&self, symbol: &dyn Fn(u64) -> Option<String>) -> String {
        self.frames(symbol).join(" ")
    }
}
