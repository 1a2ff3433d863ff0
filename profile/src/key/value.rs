use serde::{Deserialize, Serialize};

use super::address::hex;
use super::{Instruction, KeyKind, ProfileKey};

/// A value that an instruction computed or loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// The instruction.
    pub instruction: Instruction,
    /// The value as 64 bits.
    #[serde(with = "hex")]
    pub value: u64,
}

impl ProfileKey for Value {
    const KIND: KeyKind = KeyKind::new("value");
    const TITLE: &'static str = "value";

    fn frames(&self, symbol: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
        let mut frames = self.instruction.frames(symbol);
        frames.push(format!("{:#x}", self.value));
        frames
    }

    fn label(&self, symbol: &dyn Fn(u64) -> Option<String>) -> String {
        format!("{} = {:#x}", self.instruction.label(symbol), self.value)
    }

    fn relocated(&self, place: &dyn Fn(u64) -> u64) -> Self {
        Value {
            instruction: self.instruction.relocated(place),
            ..*self
        }
    }
}
