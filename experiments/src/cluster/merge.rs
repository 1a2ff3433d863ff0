//! Stores joined into one, in any order, with overlaps and gaps.

use std::path::{Path, PathBuf};

use super::ClusterError;
use super::belongs::Belongs;
use super::tidy::{self, Joined};
use crate::measurement::UnitRecord;
use crate::row::Row;
use crate::store::{Lock, Record, lock};

/// Name of the store of a sweep's points in the folder of a run.
pub const ROWS: &str = "results.jsonl";
/// Name of the store of other units of work.
pub const UNITS: &str = "units.jsonl";

/// Counts of a merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Stores that were read.
    pub stores: usize,
    /// Pieces that are done.
    pub done: usize,
    /// Pieces that failed and that no store has done.
    pub failed: usize,
}

/// Joins the stores of the folders `from` with what lies in `into`, and writes the result there: the bytes of a run
/// on one machine, if everything is there. The order of the folders does not matter.
///
/// # Errors
/// [`ClusterError`]: a store cannot be read or is being written in `into`, or stores do not belong together. `into` is
/// then as it was.
pub fn merge(into: &Path, from: &[PathBuf]) -> Result<Merged, ClusterError> {
    let mut belongs = Belongs::default();
    let mut merged = Merged::default();
    if let Some(missing) = from.iter().find(|folder| !folder.is_dir()) {
        return Err(ClusterError::NoFolder {
            path: missing.clone(),
        });
    }
    let rows = join::<Row>(into, from, ROWS, &mut belongs)?;
    let units = join::<UnitRecord>(into, from, UNITS, &mut belongs)?;
    for (name, joined) in [(ROWS, &rows), (UNITS, &units)] {
        if let Some((_lock, stores, joined)) = joined {
            joined.write(&into.join(name))?;
            merged.stores += stores;
            merged.done += joined.done();
            merged.failed += joined.failed;
        }
    }
    Ok(merged)
}

/// The stores of that name joined, and their number; `None` if there are none.
fn join<R: Record>(
    into: &Path,
    from: &[PathBuf],
    name: &str,
    belongs: &mut Belongs,
) -> Result<Option<(Lock, usize, Joined)>, ClusterError> {
    let store = into.join(name);
    let folders = from.iter().map(PathBuf::as_path);
    let stores: Vec<PathBuf> = std::iter::once(into)
        .chain(folders)
        .map(|folder| folder.join(name))
        .filter(|path| path.is_file())
        .collect();
    if stores.is_empty() {
        return Ok(None);
    }
    let lock = lock(&store)?;
    let joined = tidy::join::<R>(&stores, belongs)?;
    Ok(Some((lock, stores.len(), joined)))
}
