//! The keys whose files can be read without knowing the kind beforehand.

use serde_json::Value;

use super::{
    Block, CallPair, Context, DataStream, Edge, EventStack, Function, Instruction, KeyKind, Line,
    Method, Path, ProfileKey, TimeSlice,
};
use crate::document::{AnyProfileDocument, DocumentError, ProfileDocument, header_of};
use crate::unit::{Cycles, Events, Unit};

/// The kinds of profiles that [`AnyProfileDocument`] can hold.
///
/// ```
/// use hps_profile::KeyRegistry;
/// let kinds = KeyRegistry::builtin();
/// assert!(kinds.kinds().any(|(kind, _)| kind.name() == "instruction"));
/// ```
#[derive(Debug, Clone)]
pub struct KeyRegistry {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    kind: KeyKind,
    title: &'static str,
    read: fn(Value) -> Result<AnyProfileDocument, DocumentError>,
}

/// Reads a document of this kind in the unit that its header names.
fn read_in_its_unit<K: ProfileKey>(value: Value) -> Result<AnyProfileDocument, DocumentError> {
    if header_of(&value)?.unit == Cycles::NAME {
        return Ok(ProfileDocument::<K, Cycles>::from_value(value)?.into());
    }
    Ok(ProfileDocument::<K, Events>::from_value(value)?.into())
}

impl KeyRegistry {
    /// The keys of this crate.
    #[must_use]
    pub fn builtin() -> Self {
        Self {
            entries: Vec::new(),
        }
        .with::<Method>()
        .with::<CallPair>()
        .with::<DataStream>()
        .with::<Instruction>()
        .with::<Block>()
        .with::<Edge>()
        .with::<Line>()
        .with::<Function>()
        .with::<Context>()
        .with::<Path>()
        .with::<super::Value>()
        .with::<EventStack>()
        .with::<TimeSlice>()
    }

    /// This registry with `K`, which replaces a key of the same kind.
    #[must_use]
    pub fn with<K: ProfileKey>(mut self) -> Self {
        self.entries.retain(|entry| entry.kind != K::KIND);
        self.entries.push(Entry {
            kind: K::KIND,
            title: K::TITLE,
            read: read_in_its_unit::<K>,
        });
        self
    }

    /// The kinds and their titles, in the order of registration.
    pub fn kinds(&self) -> impl Iterator<Item = (&KeyKind, &'static str)> {
        self.entries.iter().map(|entry| (&entry.kind, entry.title))
    }

    /// Reads a document of whatever registered kind its header names.
    ///
    /// # Errors
    /// When no registered key is of this kind, or as [`ProfileDocument::read`].
    pub fn read(&self, input: impl std::io::Read) -> Result<AnyProfileDocument, DocumentError> {
        let value = crate::document::read_value(input)?;
        let kind = crate::document::header_of(&value)?.kind;
        match self.entries.iter().find(|entry| entry.kind == kind) {
            Some(entry) => (entry.read)(value),
            None => Err(DocumentError::UnknownKind {
                known: self
                    .entries
                    .iter()
                    .map(|entry| entry.kind.clone())
                    .collect(),
                found: kind,
            }),
        }
    }
}

impl Default for KeyRegistry {
    fn default() -> Self {
        Self::builtin()
    }
}
