use serde::{Deserialize, Serialize};

use super::{Function, KeyKind, ProfileKey};

/// A function in a stretch of time: all members together are a time series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeSlice {
    /// The first cycle of the stretch, from 1; it goes on to that of the next stretch.
    pub first_cycle: u64,
    /// The function; `None` for code without a symbol.
    pub function: Option<Function>,
}

impl ProfileKey for TimeSlice {
    const KIND: KeyKind = KeyKind::new("time_slice");
    const TITLE: &'static str = "time series";

    fn frames(&self, symbol: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
        let function = match self.function {
            Some(function) => function.label(symbol),
            None => "(no function)".to_owned(),
        };
        vec![format!("from cycle {}", self.first_cycle), function]
    }

    fn label(&self, symbol: &dyn Fn(u64) -> Option<String>) -> String {
        self.frames(symbol).join(" ")
    }

    fn relocated(&self, place: &dyn Fn(u64) -> u64) -> Self {
        TimeSlice {
            function: self.function.map(|function| function.relocated(place)),
            ..*self
        }
    }
}
