//! Orders for a run: do all of it, plan it, do a part, or join what parts have done.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::agenda::{Agenda, State};
use super::keep::Keep;
use super::merge::{Merged, merge};
use super::plan_file::{self, Head, Part, PlanFile};
use super::status::{Status, part_folders, status};
use super::{ClusterError, PARTS};

/// An order for a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Do everything that its folder does not hold.
    #[default]
    Whole,
    /// Write what there is to do, with costs.
    Plan,
    /// Do a part of the plan.
    Part(Part),
    /// Join what parts have done.
    Merge,
    /// Say how far it is.
    Status,
    /// Join what parts have done, then try failed pieces again: those whose names begin with one of these texts, or
    /// whose ids do.
    Retry(Vec<String>),
}

/// Outcome of an order.
#[derive(Clone, Debug)]
pub enum Came<T> {
    /// All results: nothing is missing.
    Results(T),
    /// The plan, and the file that it is in.
    Plan(Head, PathBuf),
    /// A part has been done.
    Part(PartDone),
    /// How far the run is: asked for, or because something is missing.
    Status(Status),
}

/// A part that has been done.
#[derive(Clone, Debug)]
pub struct PartDone {
    /// Which.
    pub part: Part,
    /// Folder of the part.
    pub folder: PathBuf,
    /// Pieces that it has.
    pub pieces: usize,
    /// Pieces that failed.
    pub failed: usize,
}

impl Order {
    /// Does it with the run that keeps its results in `folder`. `run` does what a [`Keep`] asks for, and gives the
    /// results that are there then.
    ///
    /// # Errors
    /// The errors of the run, and [`ClusterError`].
    pub fn carry_out<T, E: From<ClusterError>>(
        &self,
        folder: &Path,
        run: impl Fn(&Keep) -> Result<T, E>,
    ) -> Result<Came<T>, E> {
        match self {
            Order::Whole => run(&Keep::all(folder)).map(Came::Results),
            Order::Plan => {
                let (agenda, _) = agenda(folder, &run)?;
                let path = folder.join(plan_file::FILE);
                let head = plan_file::write(&agenda, &path)?;
                Ok(Came::Plan(head, path))
            }
            Order::Part(part) => self::part(*part, folder, &run).map(Came::Part),
            Order::Status => {
                let (agenda, _) = agenda(folder, &run)?;
                Ok(Came::Status(status(&agenda, folder)?))
            }
            Order::Merge => {
                merge_parts(folder)?;
                results(folder, &run)
            }
            Order::Retry(names) => {
                merge_parts(folder)?;
                let (agenda, _) = agenda(folder, &run)?;
                run(&Keep::again(folder, failed(&agenda, names)?))?;
                results(folder, &run)
            }
        }
    }
}

/// Joins what the parts of a run have done into its folder.
///
/// # Errors
/// Like [`merge`].
pub fn merge_parts(folder: &Path) -> Result<Merged, ClusterError> {
    merge(folder, &part_folders(folder)?)
}

/// The work of a run, what of it is done, and the results that are there.
fn agenda<T, E: From<ClusterError>>(
    folder: &Path,
    run: &impl Fn(&Keep) -> Result<T, E>,
) -> Result<(Agenda, T), E> {
    let (keep, agenda) = Keep::nothing(folder);
    let results = run(&keep)?;
    drop(keep);
    let agenda = Arc::try_unwrap(agenda).unwrap_or_else(|shared| {
        let agenda = shared.lock().unwrap_or_else(PoisonError::into_inner);
        Mutex::new(agenda.clone())
    });
    let agenda = agenda.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((agenda, results))
}

/// The results of the whole run, or what is missing.
fn results<T, E: From<ClusterError>>(
    folder: &Path,
    run: &impl Fn(&Keep) -> Result<T, E>,
) -> Result<Came<T>, E> {
    let (agenda, results) = agenda(folder, run)?;
    match agenda.is_whole() {
        true => Ok(Came::Results(results)),
        false => Ok(Came::Status(status(&agenda, folder)?)),
    }
}

fn part<T, E: From<ClusterError>>(
    part: Part,
    folder: &Path,
    run: &impl Fn(&Keep) -> Result<T, E>,
) -> Result<PartDone, E> {
    let path = folder.join(plan_file::FILE);
    let plan = PlanFile::read(&path)?;
    let (agenda, _) = agenda(folder, run)?;
    plan.check(&agenda, &path)?;
    drop(agenda);
    let ids = &plan.ids[plan.part(part)];
    let ids: HashSet<String> = ids.iter().map(|id| id.to_string()).collect();
    let own = folder.join(PARTS).join(part.folder(&plan.head.plan));
    let pieces = ids.len();
    drop(plan);
    run(&Keep::part(&own, folder, ids.clone()))?;
    let (agenda, _) = self::agenda(&own, run)?;
    let failed =
        |p: &&super::agenda::Piece| matches!(p.state, State::Failed(_)) && ids.contains(&*p.id);
    Ok(PartDone {
        part,
        folder: own,
        pieces,
        failed: agenda.pieces.iter().filter(failed).count(),
    })
}

/// Ids of failed pieces that are named.
fn failed(agenda: &Agenda, names: &[String]) -> Result<HashSet<String>, ClusterError> {
    let failed = agenda
        .pieces
        .iter()
        .filter(|p| matches!(p.state, State::Failed(_)));
    let failed: Vec<_> = failed.collect();
    let mut ids = HashSet::new();
    for name in names {
        let named =
            |p: &&&super::agenda::Piece| p.name.starts_with(&**name) || p.id.starts_with(&**name);
        let before = ids.len();
        ids.extend(failed.iter().filter(named).map(|p| p.id.to_string()));
        if ids.len() == before {
            let all = failed.iter().map(|p| p.name.to_string());
            return Err(ClusterError::NotFailed {
                name: name.clone(),
                failed: all.take(10).collect::<Vec<_>>().join("; "),
            });
        }
    }
    Ok(ids)
}
