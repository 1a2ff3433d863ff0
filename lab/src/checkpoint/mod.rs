//! Checkpoints of runs in a folder: the whole state from time to time, from which another command goes on.
//!
//! `docs/formats/checkpoints.md` describes the files. A checkpoint is a file of its own ([`CheckpointFile`]) beside a store
//! of pages ([`Store`]), which all checkpoints of the folder share. Files get their names when they are whole: a command
//! that is killed leaves the checkpoints that it had.

pub(crate) mod file;
pub(crate) mod run;
mod store;

use std::path::{Path, PathBuf};

use hps_system::checkpoint::{CheckpointError, Digests};
use hps_system::process::Process;
use serde_json::Value;

pub use self::file::{CheckpointFile, FORMAT};
pub(crate) use self::store::LOCK;
pub use self::store::Store;

/// Why checkpoints cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointsError {
    /// The state of the run.
    #[error(transparent)]
    State(#[from] CheckpointError),
    /// A file or folder of the host.
    #[error("{}: {cause}", path.display())]
    Host {
        /// The file.
        path: PathBuf,
        /// The host's error.
        cause: std::io::Error,
    },
    /// A file is no checkpoint, or a damaged one.
    #[error("{}: {problem}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Damage, or another kind or version.
        problem: String,
    },
    /// A run with these settings has another state than the checkpoint.
    #[error("{}: the checkpoint is of a run with another {what}: {before} then, {now} now", path.display())]
    OtherRun {
        /// The file.
        path: PathBuf,
        /// The setting.
        what: String,
        /// Value in the checkpoint.
        before: String,
        /// Value in this run.
        now: String,
    },
}

/// How a run keeps checkpoints, and from which one it begins.
pub struct Checkpoints {
    store: Store,
    /// Instructions from one checkpoint to the next.
    every: Option<u64>,
    /// Each checkpoint lies so many instructions before a multiple of that distance.
    ahead: u64,
    /// Words of the command, for one that goes on.
    about: Value,
    from: Option<CheckpointFile>,
    digests: Digests,
    /// Checkpoints that were written.
    written: u64,
    /// The run goes on from each checkpoint that it writes.
    is_checked: bool,
    /// Why the last checkpoint that failed was not written.
    last_problem: Option<String>,
}

/// The state of a machine beside its processes.
pub(crate) struct Parts {
    /// Bytes of the machine, and of the editor and the probe of each context.
    pub(crate) core: Vec<u8>,
    editor: Vec<Vec<u8>>,
    probe: Vec<Vec<u8>>,
    /// Cycles of a timed run.
    cycles: Option<u64>,
}

impl Checkpoints {
    /// Keeps a checkpoint each `every` instructions of the program in a folder, which is made if it is not there.
    ///
    /// # Errors
    /// The folder cannot be used, or another command uses it.
    pub fn in_folder(folder: &Path, every: u64, about: Value) -> Result<Self, CheckpointsError> {
        Ok(Checkpoints {
            store: Store::open(folder)?,
            every: Some(every),
            ahead: 0,
            about,
            from: None,
            digests: Digests::default(),
            written: 0,
            is_checked: false,
            last_problem: None,
        })
    }

    /// Goes on from a checkpoint, without keeping others.
    ///
    /// # Errors
    /// The store beside the checkpoint cannot be read.
    pub fn after(from: CheckpointFile) -> Result<Self, CheckpointsError> {
        Ok(Checkpoints {
            store: Store::read(from.folder())?,
            every: None,
            ahead: 0,
            about: Value::Null,
            from: Some(from),
            digests: Digests::default(),
            written: 0,
            is_checked: false,
            last_problem: None,
        })
    }

    /// Goes on from a checkpoint, and keeps others.
    #[must_use]
    pub fn from(self, from: CheckpointFile) -> Self {
        Checkpoints {
            from: Some(from),
            ..self
        }
    }

    /// Keeps each checkpoint so many instructions earlier.
    #[must_use]
    pub(crate) fn ahead(self, instructions: u64) -> Self {
        Checkpoints {
            ahead: instructions,
            ..self
        }
    }

    /// Lets the run go on from each checkpoint as soon as it is written, in place of the state in memory.
    #[must_use]
    pub fn checked(self) -> Self {
        Checkpoints {
            is_checked: true,
            ..self
        }
    }

    /// Checkpoints that this run has written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// How many instructions the run has executed when the next checkpoint is due, behind `now` of them.
    pub(crate) fn next(&self, now: u64) -> u64 {
        match self.every {
            Some(every) => {
                let place = ((now + self.ahead) / every + 1).saturating_mul(every);
                place - self.ahead
            }
            None => u64::MAX,
        }
    }

    /// The checkpoint that the run begins from, if it is one of a run with these settings.
    pub(crate) fn start(
        &mut self,
        run: &Value,
    ) -> Result<Option<CheckpointFile>, CheckpointsError> {
        let Some(from) = self.from.take() else {
            return Ok(None);
        };
        from.check_run(run)?;
        Ok(Some(from))
    }

    /// Refuses a run that has what no checkpoint keeps, before it begins.
    pub(crate) fn try_out(&mut self, processes: &[&Process]) -> Result<(), CheckpointsError> {
        match self.every {
            Some(_) => self.save(processes).map(|_| ()),
            None => Ok(()),
        }
    }

    fn save(&mut self, processes: &[&Process]) -> Result<Vec<u8>, CheckpointsError> {
        let store = std::mem::replace(&mut self.store, Store::nowhere());
        let digests = std::mem::take(&mut self.digests);
        let (saved, (store, digests)) = Process::save(processes, Box::new(store), digests);
        self.digests = digests;
        self.store = Store::back(store);
        Ok(saved?)
    }

    /// Says why a checkpoint has not been written. The run goes on without it.
    pub(crate) fn settled(
        &mut self,
        written: Result<Option<CheckpointFile>, CheckpointsError>,
        warn: Option<fn(&str)>,
    ) -> Option<CheckpointFile> {
        written.unwrap_or_else(|problem| {
            let text = problem.to_string();
            if let Some(warn) = warn.filter(|_| self.last_problem.as_ref() != Some(&text)) {
                warn(&format!(
                    "a checkpoint is not written, and the run goes on: {text}"
                ));
            }
            self.last_problem = Some(text);
            None
        })
    }

    /// Writes a checkpoint. Returns it if the run is to go on from it.
    pub(crate) fn write(
        &mut self,
        run: &Value,
        machine: &mut impl run::Stepped,
    ) -> Result<Option<CheckpointFile>, CheckpointsError> {
        let parts = machine.parts();
        let processes = self.save(&machine.processes())?;
        self.store.finish_pack()?;
        let list = |states: &[Vec<u8>]| postcard::to_extend(states, Vec::new()).unwrap_or_default();
        let sections = [
            ("processes", processes),
            ("core", parts.core),
            ("editor", list(&parts.editor)),
            ("probe", list(&parts.probe)),
        ];
        let header = file::Header::new(machine.instructions(), parts.cycles, run, &self.about);
        let path = self.store.folder().join(file::name_of(header.instructions));
        let path = file::write(path, header, &sections)?;
        self.written += 1;
        self.is_checked
            .then(|| CheckpointFile::open(&path))
            .transpose()
    }
}
