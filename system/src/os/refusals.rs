//! Paths that a guest was refused, so that the user can be told once, when the program has ended, which option would
//! have allowed it.

use serde::{Deserialize, Serialize};

use super::Linux;
use super::errno::Errno;

/// Why a path was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// The guest has no files at all.
    NoFiles,
    /// The path is absolute, and nothing under the root has it.
    NotUnderRoot,
    /// The guest may not change files.
    ReadOnly,
}

/// The first path that was refused for each reason, to a call that opens or changes it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Refusals(Vec<(Refusal, String)>);

impl Linux {
    /// The first path that was refused for each reason.
    pub fn refusals(&self) -> impl Iterator<Item = (Refusal, &str)> {
        let refusals = self.run.refusals.0.iter();
        refusals.map(|(why, path)| (*why, path.as_str()))
    }

    /// Remembers why a call on a path failed, if an option would have allowed it.
    pub(super) fn note_refusal(&mut self, path: &[u8], errno: Errno) {
        let why = match errno {
            Errno::EROFS => Refusal::ReadOnly,
            Errno::ENOENT if self.tree.root.is_none() && !path.is_empty() => Refusal::NoFiles,
            Errno::ENOENT if path.first() == Some(&b'/') => Refusal::NotUnderRoot,
            _ => return,
        };
        if self.run.refusals.0.iter().all(|(known, _)| *known != why) {
            let path = String::from_utf8_lossy(path).into_owned();
            self.run.refusals.0.push((why, path));
        }
    }
}
