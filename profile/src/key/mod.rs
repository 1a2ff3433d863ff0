//! The members of profiles. Each kind of key is a file of this folder.
//!
//! | key | counts by |
//! | --- | --- |
//! | [`Method`], [`CallPair`], [`DataStream`] | what HPS's productions collect |
//! | [`Instruction`] | instruction, `(pc, disepc)` |
//! | [`Block`] | basic block, by its first address |
//! | [`Edge`] | transfer of control from one address to another |
//! | [`Line`] | source line |
//! | [`Function`] | function, by its entry |
//! | [`Context`] | calling context |
//! | [`Path`] | path through the flow graph of a function, or across functions |
//! | [`Value`] | value that an instruction computed |
//! | [`EventStack`] | instruction and the events that it met |
//! | [`TimeSlice`] | stretch of time and function: a time series |
//!
//! **To add a key**, write a file with the type and its [`ProfileKey`], and name the type in
//! [`KeyRegistry::builtin`]. A key of another crate implements [`ProfileKey`] too and is named in
//! [`KeyRegistry::with`] by whoever reads files of it.

mod address;
mod block;
mod call_pair;
mod context;
mod data_stream;
mod edge;
mod event_stack;
mod function;
mod instruction;
mod kind;
mod line;
mod method;
mod path;
mod registry;
mod time_slice;
mod value;

use std::fmt::Debug;
use std::hash::Hash;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use address::hex;
pub use block::Block;
pub use call_pair::CallPair;
pub use context::Context;
pub use data_stream::DataStream;
pub use edge::Edge;
pub use event_stack::EventStack;
pub use function::Function;
pub use instruction::{Instruction, InstructionError};
pub use kind::{KeyKind, ProfileKind};
pub use line::Line;
pub use method::Method;
pub use path::Path;
pub use registry::KeyRegistry;
pub use time_slice::TimeSlice;
pub use value::Value;

/// A type that can be a member of a profile file.
pub trait ProfileKey:
    Debug + Ord + Hash + Clone + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// The kind of profile whose members are of this type. No two keys share a kind.
    const KIND: KeyKind;

    /// The kind's name in titles, such as `hot method`.
    const TITLE: &'static str;

    /// The member as the frames of a stack, outermost first. `symbol` names the function that
    /// holds an address; without a name the address is written in hexadecimal.
    fn frames(&self, symbol: &dyn Fn(u64) -> Option<String>) -> Vec<String>;

    /// The member in one line for people, with the addresses that [`Self::frames`] leaves out.
    fn label(&self, symbol: &dyn Fn(u64) -> Option<String>) -> String;

    /// The member of a run whose code lay elsewhere: `place` gives the address there of each address of code here. The
    /// default is that of a key without addresses of code.
    #[must_use]
    fn relocated(&self, place: &dyn Fn(u64) -> u64) -> Self {
        let _ = place;
        self.clone()
    }
}

#[cfg(test)]
mod tests;
