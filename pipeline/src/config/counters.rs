//! The counters that programs read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::node::{config_section, leaf};

config_section! {
    /// The counters that programs read by themselves: `cycle`, `time`, `instret` and `hpmcounter3` to `hpmcounter31` on
    /// RISC-V, `rpcc` on Alpha.
    CountersConfig patched by CountersPatch {
        /// What `hpmcounter3` and those behind it count: an event of the context that reads (`"instructions"`, or any
        /// counter of a timed run), of all contexts of its core (`"instructions of core"`), of a processor of the chip
        /// (`"instructions of processor 0"`), or one of its core's memory system (`"l1d.read_miss_events"`).
        selected: SelectedEvents = SelectedEvents::default(), "events";
        /// How much longer than an addition a read of a counter takes, and any other access to a control register.
        read_cycles: u32 = 0, "cycles";
        /// A read of a counter waits until older stores have left the store queue. In any case it waits until older
        /// instructions have committed.
        waits_for_stores: bool = true, "yes or no";
    }
}

/// Events by name, in the order of their counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SelectedEvents(pub Vec<String>);

leaf!(SelectedEvents);

impl CountersConfig {
    /// The most events that there are.
    pub const MOST: usize = 29;

    /// Whether everything is as it is where nothing is said.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == CountersConfig::default()
    }
}
