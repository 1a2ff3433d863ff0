use serde::{Deserialize, Serialize};

use super::{Instruction, KeyKind, ProfileKey};

/// An instruction and the events that its execution met ("TEA: Time-Proportional Event Analysis", ISCA 2023): all
/// members of one instruction together are its event stack.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventStack {
    /// The instruction.
    pub instruction: Instruction,
    /// The names of the events, in the order of the machine's list; empty for an execution that met none.
    pub events: Box<[String]>,
}

impl EventStack {
    /// The events in one word.
    fn said(&self) -> String {
        match self.events.is_empty() {
            true => "no event".to_owned(),
            false => self.events.join("+"),
        }
    }
}

impl ProfileKey for EventStack {
    const KIND: KeyKind = KeyKind::new("event_stack");
    const TITLE: &'static str = "event stack";

    fn frames(&self, symbol: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
        let mut frames = self.instruction.frames(symbol);
        frames.push(self.said());
        frames
    }

    fn label(&self, symbol: &dyn Fn(u64) -> Option<String>) -> String {
        format!("{} {}", self.instruction.label(symbol), self.said())
    }

    fn relocated(&self, place: &dyn Fn(u64) -> u64) -> Self {
        EventStack {
            instruction: self.instruction.relocated(place),
            events: self.events.clone(),
        }
    }
}
