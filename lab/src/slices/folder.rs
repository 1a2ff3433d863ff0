//! The folder of a run in slices: checkpoints of the pass, and a file with the results of each slice.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Slicing;
use super::slice::SliceResult;
use crate::checkpoint::{CheckpointFile, CheckpointsError, file, run};
use crate::lab::Lab;
use crate::mode::Timed;

/// Beginning of the names of folders that are removed in the end.
const TEMPORARY: &str = "hps-slices-";
/// The end of the names of results.
const SUFFIX: &str = "slice";
/// The section of a file that has the results.
const SECTION: &str = "result";

pub(super) struct Folder {
    results: PathBuf,
    /// Where the pass keeps its checkpoints.
    pub checkpoints: PathBuf,
    is_temporary: bool,
    /// The settings that determine all results.
    pub settings: Value,
}

impl Folder {
    /// The folder that was asked for, or a new one.
    pub fn open<I, P>(
        slicing: &Slicing,
        lab: &Lab<'_, Timed<'_>, I, P>,
        watch: &str,
    ) -> Result<Folder, CheckpointsError> {
        let mut settings = run::settings(&lab.provenance(), &lab.program.process);
        settings["slices"] = json!([slicing.length, slicing.warm, slicing.run_in]);
        settings["region"] = json!(format!("{:?}", lab.program.region));
        settings["instructions at most"] = json!(lab.limit);
        settings["watched by"] = json!(watch);
        let is_temporary = slicing.folder.is_none();
        let results = slicing.folder.clone().unwrap_or_else(|| {
            remove_abandoned();
            temporary()
        });
        // Parts run side by side, on several machines perhaps: each has a pass and checkpoints of its own.
        let checkpoints = match slicing.part {
            Some((part, of)) => results.join(format!("part-{part}-of-{of}")),
            None => results.clone(),
        };
        fs::create_dir_all(&checkpoints).map_err(|cause| CheckpointsError::Host {
            path: checkpoints.clone(),
            cause,
        })?;
        Ok(Folder {
            results,
            checkpoints,
            is_temporary,
            settings,
        })
    }

    fn path(&self, slice: u64) -> PathBuf {
        self.results.join(format!("{slice:06}.{SUFFIX}"))
    }

    /// Whether an earlier command has left the results of a slice.
    pub fn has(&self, slice: u64) -> bool {
        self.path(slice).exists()
    }

    /// The results of a slice, if an earlier command has left them. Damaged ones are found anew.
    pub fn read<F: DeserializeOwned>(
        &self,
        slice: u64,
    ) -> Result<Option<SliceResult<F>>, CheckpointsError> {
        let path = self.path(slice);
        if !path.exists() {
            return Ok(None);
        }
        let Ok(found) = CheckpointFile::open(&path) else {
            return Ok(None);
        };
        found.check_run(&self.settings)?;
        let bytes = found.section(SECTION).ok();
        Ok(bytes.and_then(|bytes| postcard::from_bytes(&bytes).ok()))
    }

    /// Keeps the results of a slice, if the folder stays.
    pub fn write<F: Serialize>(
        &self,
        slice: u64,
        result: &SliceResult<F>,
    ) -> Result<(), CheckpointsError> {
        if self.is_temporary {
            return Ok(());
        }
        let path = self.path(slice);
        let bytes = postcard::to_extend(result, Vec::new()).map_err(|cause| {
            CheckpointsError::Unusable {
                path: path.clone(),
                problem: format!("the results of a slice cannot be written: {cause}"),
            }
        })?;
        let (instructions, cycles) = (result.begin + result.instructions(), result.cycles());
        let header = file::Header::new(instructions, Some(cycles), &self.settings, &Value::Null);
        file::write(path, header, &[(SECTION, bytes)])?;
        Ok(())
    }

    /// The file of the checkpoint behind so many instructions.
    pub fn checkpoint(&self, instructions: u64) -> PathBuf {
        self.checkpoints.join(file::name_of(instructions))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_temporary {
            // Nobody is left to be told of an error.
            let _ = fs::remove_dir_all(&self.results);
        }
    }
}

/// A name that no other run has.
fn temporary() -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("{TEMPORARY}{}-{number}", std::process::id());
    std::env::temp_dir().join(name)
}

/// Removes folders of commands that were killed: those whose lock no command has.
fn remove_abandoned() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for entry in entries.flatten() {
        let is_one = entry.file_name().to_string_lossy().starts_with(TEMPORARY);
        if is_one && is_abandoned(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_abandoned(folder: &Path) -> bool {
    let lock = fs::File::open(folder.join(crate::checkpoint::LOCK));
    lock.is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok())
}
