//! Documents whose kind is only known from the file.

use std::any::Any;
use std::fmt::Debug;
use std::io::{self, Read, Write};

use super::{DocumentError, ProfileDocument, ProfileHeader};
use crate::accuracy::overlap_without_cut;
use crate::key::{KeyRegistry, ProfileKey};
use crate::text::{write_flat, write_folded};
use crate::unit::Unit;

/// A document of any kind, for commands that learn the kind from the file.
///
/// Operations that make sense for every kind are methods; [`Self::downcast_ref`] gives the document of one kind and
/// unit.
#[derive(Debug)]
pub struct AnyProfileDocument(Box<dyn Document>);

/// [`ProfileDocument`] without its type parameters.
trait Document: Any + Debug + Send + Sync {
    fn header(&self) -> &ProfileHeader;
    fn len(&self) -> usize;
    fn write(&self, output: &mut dyn Write) -> Result<(), DocumentError>;
    fn write_flat(&self, output: &mut dyn Write, symbol: Symbol<'_>) -> io::Result<()>;
    fn write_folded(&self, output: &mut dyn Write, symbol: Symbol<'_>) -> io::Result<()>;
    fn overlap(&self, other: &AnyProfileDocument) -> Option<f64>;
    fn equals(&self, other: &AnyProfileDocument) -> bool;
    fn copy(&self) -> Box<dyn Document>;
}

type Symbol<'a> = &'a dyn Fn(u64) -> Option<String>;

impl<K: ProfileKey, U: Unit> Document for ProfileDocument<K, U> {
    fn header(&self) -> &ProfileHeader {
        &self.header
    }

    fn len(&self) -> usize {
        self.profile.len()
    }

    fn write(&self, output: &mut dyn Write) -> Result<(), DocumentError> {
        ProfileDocument::write(self, output)
    }

    fn write_flat(&self, output: &mut dyn Write, symbol: Symbol<'_>) -> io::Result<()> {
        write_flat(output, &self.profile, symbol)
    }

    fn write_folded(&self, output: &mut dyn Write, symbol: Symbol<'_>) -> io::Result<()> {
        write_folded(output, &self.profile, symbol)
    }

    fn overlap(&self, other: &AnyProfileDocument) -> Option<f64> {
        let other = other.downcast_ref::<Self>()?;
        Some(overlap_without_cut(
            &self.profile,
            &other.relocated_to(&self.header),
        ))
    }

    fn equals(&self, other: &AnyProfileDocument) -> bool {
        other.downcast_ref() == Some(self)
    }

    fn copy(&self) -> Box<dyn Document> {
        Box::new(self.clone())
    }
}

impl AnyProfileDocument {
    /// Reads a document of whatever kind its header names, among the kinds of this crate. For
    /// others, see [`KeyRegistry::with`].
    ///
    /// # Errors
    /// Like [`KeyRegistry::read`].
    pub fn read(input: impl Read) -> Result<Self, DocumentError> {
        KeyRegistry::builtin().read(input)
    }

    /// Where the profile comes from.
    #[must_use]
    pub fn header(&self) -> &ProfileHeader {
        self.0.header()
    }

    /// The number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The [`ProfileDocument`] of this kind and unit; `None` if it is another one.
    #[must_use]
    pub fn downcast_ref<D: 'static>(&self) -> Option<&D> {
        let document: &dyn Any = &*self.0;
        document.downcast_ref()
    }

    /// Writes the document as [`ProfileDocument::write`] does.
    ///
    /// # Errors
    /// When the output fails.
    pub fn write(&self, mut output: impl Write) -> Result<(), DocumentError> {
        self.0.write(&mut output)
    }

    /// Writes the members as [`write_flat`] does.
    ///
    /// # Errors
    /// When the output fails.
    pub fn write_flat(&self, mut output: impl Write, symbol: Symbol<'_>) -> io::Result<()> {
        self.0.write_flat(&mut output, symbol)
    }

    /// Writes the members as [`write_folded`] does.
    ///
    /// # Errors
    /// When the output fails.
    pub fn write_folded(&self, mut output: impl Write, symbol: Symbol<'_>) -> io::Result<()> {
        self.0.write_folded(&mut output, symbol)
    }

    /// [`overlap_without_cut`] with another document, whose members are taken to where their objects lie here
    /// ([`ProfileDocument::relocated_to`]); `None` if that one is of another kind or unit.
    #[must_use]
    pub fn overlap_without_cut(&self, other: &Self) -> Option<f64> {
        self.0.overlap(other)
    }
}

impl<K: ProfileKey, U: Unit> From<ProfileDocument<K, U>> for AnyProfileDocument {
    fn from(document: ProfileDocument<K, U>) -> Self {
        Self(Box::new(document))
    }
}

impl Clone for AnyProfileDocument {
    fn clone(&self) -> Self {
        Self(self.0.copy())
    }
}

impl PartialEq for AnyProfileDocument {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(other)
    }
}
