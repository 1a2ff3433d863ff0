//! Which pieces of work a run does, and who hears of those that there are.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cluster::agenda::Agenda;

/// Which pieces of work a run does, of those that its store does not hold.
#[derive(Clone, Debug, Default)]
pub enum Scope {
    /// All of them.
    #[default]
    All,
    /// None: the run only says what there is to do, and what there is already. The agenda hears of each piece.
    Nothing(Arc<Mutex<Agenda>>),
    /// Pieces with these ids. `failed_too`: also those that failed before.
    Only {
        /// Ids of pieces.
        ids: Arc<HashSet<String>>,
        /// Whether failed pieces run again.
        failed_too: bool,
    },
}

impl Scope {
    /// A scope without work, and the agenda that is filled.
    #[must_use]
    pub fn nothing() -> (Scope, Arc<Mutex<Agenda>>) {
        let agenda = Arc::new(Mutex::new(Agenda::default()));
        (Scope::Nothing(Arc::clone(&agenda)), agenda)
    }

    /// Whether a piece is run that the store does not hold, or holds as failed.
    pub(super) fn has(&self, id: &str, has_failed: bool) -> bool {
        match self {
            Scope::All => true,
            Scope::Nothing(_) => false,
            Scope::Only { ids, failed_too } => (*failed_too || !has_failed) && ids.contains(id),
        }
    }

    /// The agenda that hears of each piece of work, if there is one.
    pub(crate) fn agenda(&self) -> Option<MutexGuard<'_, Agenda>> {
        match self {
            Scope::Nothing(agenda) => Some(agenda.lock().unwrap_or_else(PoisonError::into_inner)),
            _ => None,
        }
    }
}
