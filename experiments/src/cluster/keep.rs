//! The folder in which a run keeps what it has done, and what the run is to do now.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::agenda::Agenda;
use super::merge::{ROWS, UNITS};
use crate::measurement::UnitRecord;
use crate::store::{Record, Records, Scope, Store, StoreError};

/// Where a run that can be resumed keeps its pieces of work, and which of them it does. Every such run does all its
/// work through the stores that a `Keep` opens, so that all can be planned, cut into parts, and joined.
#[derive(Clone, Debug)]
pub struct Keep {
    folder: PathBuf,
    /// The folder of the whole run, of which this one has a part.
    whole: Option<PathBuf>,
    scope: Scope,
}

impl Keep {
    /// Does everything that the folder does not hold.
    #[must_use]
    pub fn all(folder: &Path) -> Keep {
        Keep {
            folder: folder.to_path_buf(),
            whole: None,
            scope: Scope::All,
        }
    }

    /// Does nothing; the agenda hears of everything that there is to do, and the run gives what the folder holds.
    #[must_use]
    pub fn nothing(folder: &Path) -> (Keep, Arc<Mutex<Agenda>>) {
        let (scope, agenda) = Scope::nothing();
        let keep = Keep {
            scope,
            ..Keep::all(folder)
        };
        (keep, agenda)
    }

    /// Does these pieces, also if they have failed before.
    #[must_use]
    pub fn again(folder: &Path, ids: HashSet<String>) -> Keep {
        Keep {
            scope: Scope::Only {
                ids: Arc::new(ids),
                failed_too: true,
            },
            ..Keep::all(folder)
        }
    }

    /// Does these pieces of the run in the folder `whole`, and keeps them in a folder of their own. What has failed
    /// there is not tried again.
    #[must_use]
    pub fn part(folder: &Path, whole: &Path, ids: HashSet<String>) -> Keep {
        Keep {
            folder: folder.to_path_buf(),
            whole: Some(whole.to_path_buf()),
            scope: Scope::Only {
                ids: Arc::new(ids),
                failed_too: false,
            },
        }
    }

    /// Opens the store of a sweep's points.
    ///
    /// # Errors
    /// [`StoreError`]: it cannot be had.
    pub fn rows(&self) -> Result<Mutex<Store>, StoreError> {
        self.open(ROWS)
    }

    /// Opens the store of other units of work.
    ///
    /// # Errors
    /// [`StoreError`]: it cannot be had.
    pub fn units(&self) -> Result<Mutex<Records<UnitRecord>>, StoreError> {
        self.open(UNITS)
    }

    fn open<R: Record>(&self, name: &str) -> Result<Mutex<Records<R>>, StoreError> {
        let path = self.folder.join(name);
        let scope = self.scope.clone();
        let store = match (&self.scope, &self.whole) {
            (Scope::Nothing(_), _) => Records::look(&path)?.within(scope),
            (_, Some(whole)) => {
                let store = Records::open(&path)?.within(scope);
                store.over(&whole.join(name))?.telling()?
            }
            (_, None) => Records::open(&path)?.within(scope),
        };
        Ok(Mutex::new(store))
    }

    /// Puts a store into its form at the end of a run, unless it has a part of the run.
    ///
    /// # Errors
    /// [`StoreError`]: it cannot be written.
    pub fn tidy<R: Record>(&self, store: Mutex<Records<R>>) -> Result<(), StoreError> {
        match self.whole {
            Some(_) => Ok(()),
            None => store
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner)
                .tidy(),
        }
    }
}
