//! The state of a run as bytes, from which another command goes on.
//!
//! State types derive [`serde`]'s traits and are written by `postcard`. What a field means outside of its own bytes goes
//! through a session, which lasts for one checkpoint:
//!
//! - values behind an [`Arc`](std::sync::Arc) are written once and shared again ([`kept`]);
//! - pages of memory and contents of files are [chunks](hps_isa::chunks::Chunks) of a store, each kept once however often it occurs;
//! - open files of the host are a table ([`files`]): files of the root by path, offset and hash, others with their content;
//! - numbers of files are those of the host that goes on ([`identity`]).
//!
//! State that cannot be kept is refused with its reason ([`CheckpointError`]): the host's own streams, files that the
//! program changes in place, a gate of an observer.

#[cfg(not(target_family = "wasm"))]
mod files;
#[cfg(target_family = "wasm")]
#[path = "files_absent.rs"]
mod files;
mod image;
mod session;
pub(crate) mod with;

use std::io;

pub use self::files::Digests;
#[cfg(not(target_family = "wasm"))]
pub(crate) use self::files::{FileContent, Written};
pub use self::session::Tools;
pub(crate) use self::session::{Base, load, refuse, save};
pub(crate) use self::session::{base_log, base_root};
pub(crate) use self::with::{
    OfFile, StaticText, device, folder, folder_option, held, identities, identity, identity_list,
    kept, text, to_identities,
};

/// Why there is no checkpoint of a run, or why a run cannot go on from one.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The run has something that no checkpoint can keep.
    #[error("the run cannot be kept in a checkpoint: {what}")]
    NotKept {
        /// State that cannot be kept, and what to do.
        what: String,
    },
    /// A file that the checkpoint refers to is not there any more, or is another one.
    #[error("the checkpoint cannot be used here: {what}")]
    Changed {
        /// Which file, and how it differs.
        what: String,
    },
    /// The bytes do not say a state.
    #[error("the checkpoint is damaged: {what}")]
    Damaged {
        /// Where.
        what: String,
    },
    /// The store cannot be read or written.
    #[error("the store of the checkpoint: {0}")]
    Store(#[from] io::Error),
    /// No memory for the guest.
    #[error(transparent)]
    Memory(#[from] hps_isa::memory::MemoryError),
}
