//! How far a run is that parts do.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::agenda::{Agenda, State};
use super::merge::{ROWS, UNITS};
use super::plan_file::{self, Part, PlanFile};
use super::{ClusterError, PARTS};
use crate::measurement::UnitRecord;
use crate::row::Row;
use crate::store::{Lines, Record, begun_path, is_written};

/// How far a run is.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// Pieces that are done, here or in a part.
    pub done: usize,
    /// Names of pieces that failed, with the reasons.
    pub failed: Vec<(String, String)>,
    /// Names of pieces that running parts have begun.
    pub running: Vec<String>,
    /// Names of other pieces that are not done.
    pub missing: Vec<String>,
    /// The parts that were begun.
    pub parts: Vec<PartStatus>,
}

/// How far a part is.
#[derive(Clone, Debug)]
pub struct PartStatus {
    /// Name of its folder.
    pub name: String,
    /// A process is writing its results.
    pub is_running: bool,
    /// Pieces that are done.
    pub done: usize,
    /// Pieces that failed.
    pub failed: usize,
    /// Pieces that it has; `None` if they are those of an older plan.
    pub pieces: Option<usize>,
}

impl Status {
    /// Everything is done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_whole() && self.failed.is_empty()
    }

    /// Everything is done or failed.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.running.is_empty() && self.missing.is_empty()
    }
}

/// Folders of the parts of a run, in the order of their names.
pub fn part_folders(folder: &Path) -> Result<Vec<PathBuf>, ClusterError> {
    let parts = folder.join(PARTS);
    if !parts.is_dir() {
        return Ok(Vec::new());
    }
    let io = ClusterError::io(&parts);
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(&parts).map_err(&io)? {
        let path = entry.map_err(&io)?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}

/// How far the run in a folder is.
pub(super) fn status(agenda: &Agenda, folder: &Path) -> Result<Status, ClusterError> {
    let mut seen = Seen::default();
    let mut status = Status::default();
    let plan = folder.join(plan_file::FILE);
    let plan = plan.exists().then(|| PlanFile::read(&plan)).transpose()?;
    for part in part_folders(folder)? {
        status.parts.push(seen.part(&part, plan.as_ref())?);
    }
    for piece in &agenda.pieces {
        let id = &*piece.id;
        let name = piece.name.to_string();
        match &piece.state {
            State::Done => status.done += 1,
            _ if seen.done.contains(id) => status.done += 1,
            _ if seen.running.contains(id) => status.running.push(name),
            State::Failed(why) => status.failed.push((name, why.to_string())),
            State::Missing => match seen.failed.remove(id) {
                Some(why) => status.failed.push((name, why)),
                None => status.missing.push(name),
            },
        }
    }
    Ok(status)
}

/// Pieces seen in the folders of parts, by id.
#[derive(Default)]
struct Seen {
    done: HashSet<String>,
    failed: HashMap<String, String>,
    running: HashSet<String>,
    /// Pieces of each part of the plan, by the number of parts.
    sizes: HashMap<usize, Vec<usize>>,
}

impl Seen {
    fn part(&mut self, folder: &Path, plan: Option<&PlanFile>) -> Result<PartStatus, ClusterError> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let part = Part::of_folder(&name);
        let of_plan = plan.and_then(|plan| {
            let (_, part) = part.filter(|(of, _)| *of == plan.head.plan)?;
            let sizes = self
                .sizes
                .entry(part.of)
                .or_insert_with(|| plan.sizes(part.of));
            sizes.get(part.number - 1).copied()
        });
        let mut status = PartStatus {
            name: name.to_string(),
            is_running: false,
            done: 0,
            failed: 0,
            pieces: of_plan,
        };
        self.store::<Row>(&folder.join(ROWS), &mut status)?;
        self.store::<UnitRecord>(&folder.join(UNITS), &mut status)?;
        Ok(status)
    }

    fn store<R: Record>(
        &mut self,
        path: &Path,
        status: &mut PartStatus,
    ) -> Result<(), ClusterError> {
        if !path.exists() {
            return Ok(());
        }
        let is_running = is_written(path);
        // Read before the results, so that what is begun later is not taken for running and done.
        let begun = std::fs::read_to_string(begun_path(path)).unwrap_or_default();
        let mut begun: HashSet<&str> = begun.lines().collect();
        let (mut done, mut failed) = (HashSet::new(), HashMap::new());
        let mut lines = Lines::open(path)?;
        while lines.next()?.is_some() {
            let record: R = lines.decode()?;
            begun.remove(record.id());
            let id = record.id().to_string();
            match record.failure() {
                Some(why) => drop(failed.insert(id, why.to_string())),
                None => drop(done.insert(id)),
            }
        }
        status.is_running |= is_running;
        status.done += done.len();
        status.failed += failed.len();
        self.done.extend(done);
        self.failed.extend(failed);
        if is_running {
            self.running.extend(begun.into_iter().map(str::to_string));
        }
        Ok(())
    }
}
