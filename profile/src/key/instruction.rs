use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::address::{self, name_at};
use super::{KeyKind, ProfileKey};

/// A static instruction. Written `0x10a4`, or `0x10a4+2` for the second instruction that DISE
/// puts in its place, in files and for people alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Instruction {
    /// Address of the program's instruction; for an instruction of DISE, that of its trigger.
    pub pc: u64,
    /// Place in the replacement sequence; 0 for the program's own instruction.
    pub disepc: u32,
}

/// A text that names no [`Instruction`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InstructionError(String);

impl Instruction {
    /// The program's own instruction at `pc`.
    #[must_use]
    pub const fn at(pc: u64) -> Self {
        Self { pc, disepc: 0 }
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.pc)?;
        match self.disepc {
            0 => Ok(()),
            disepc => write!(f, "+{disepc}"),
        }
    }
}

impl FromStr for Instruction {
    type Err = InstructionError;

    fn from_str(text: &str) -> Result<Self, InstructionError> {
        let (pc, disepc) = match text.split_once('+') {
            None => (text, Some(0)),
            // Only the form that is written: no sign, no leading zero, and no `+0`.
            Some((pc, disepc)) if disepc.starts_with(|digit| matches!(digit, '1'..='9')) => {
                (pc, disepc.parse().ok())
            }
            Some((pc, _)) => (pc, None),
        };
        let Some(pc) = address::parse(pc) else {
            return Err(InstructionError(address::bad_address(pc)));
        };
        match disepc {
            Some(disepc) => Ok(Self { pc, disepc }),
            None => Err(InstructionError(format!(
                "`{text}` is not an instruction: write its address, and for an instruction of DISE \
                 + and its place from 1 on, such as 0x1f04+2"
            ))),
        }
    }
}

impl From<Instruction> for String {
    fn from(instruction: Instruction) -> Self {
        instruction.to_string()
    }
}

impl TryFrom<String> for Instruction {
    type Error = InstructionError;

    fn try_from(text: String) -> Result<Self, InstructionError> {
        text.parse()
    }
}

impl ProfileKey for Instruction {
    const KIND: KeyKind = KeyKind::new("instruction");
    const TITLE: &'static str = "instruction";

    fn frames(&self, symbol: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
        let own = self.to_string();
        symbol(self.pc).into_iter().chain([own]).collect()
    }

    fn label(&self, symbol: &dyn Fn(u64) -> Option<String>) -> String {
        name_at(self.pc, self, symbol)
    }

    fn relocated(&self, place: &dyn Fn(u64) -> u64) -> Self {
        Instruction {
            pc: place(self.pc),
            ..*self
        }
    }
}
