//! Processes in checkpoints.

use hps_isa::chunks::Chunks;
use serde::{Deserialize, Serialize};

use super::{Process, ProcessConfig};

use crate::checkpoint::{self, Base, CheckpointError, Digests, Tools};
use crate::os::Linux;
use crate::symbols::CodeLog;

/// All processes of a run that contexts have, and the record of their code.
#[derive(Serialize)]
struct Saved<'a> {
    processes: &'a [&'a Process],
    log: &'a CodeLog,
}

#[derive(Deserialize)]
struct Loaded {
    processes: Vec<Process>,
    #[expect(dead_code, reason = "it is read into the record of the run")]
    log: CodeLog,
}

impl Process {
    /// The state of all processes of a run as bytes: those that the machine's contexts run, with all others behind them.
    /// Pages and contents of files go into `chunks`; `digests` knows hashes of files from one checkpoint to the next.
    /// Both come back in any case.
    ///
    /// # Errors
    /// [`CheckpointError::NotKept`] if they have what no checkpoint keeps; [`CheckpointError::Store`].
    pub fn save(
        processes: &[&Process],
        chunks: Box<dyn Chunks>,
        digests: Digests,
    ) -> (Result<Vec<u8>, CheckpointError>, Tools) {
        let root = processes.iter().find_map(|one| one.guest.os.file_root());
        let log = match processes {
            [first, ..] => first.guest.os.code_log().clone(),
            [] => CodeLog::default(),
        };
        let saved = Saved {
            processes,
            log: &log,
        };
        checkpoint::save(&saved, root, (chunks, digests))
    }

    /// The processes of a checkpoint, which go on as the run has. `config` is that of the run; its root may lie elsewhere.
    ///
    /// # Errors
    /// [`CheckpointError`], if files are other ones than they were or the bytes are damaged.
    pub fn load(
        bytes: &[u8],
        config: &ProcessConfig,
        chunks: Box<dyn Chunks>,
    ) -> Result<Vec<Process>, CheckpointError> {
        let root = Linux::root_of(config).map_err(|cause| CheckpointError::Changed {
            what: cause.to_string(),
        })?;
        let log = config.code.clone().unwrap_or_default();
        if let Some(root) = &root {
            log.set_root(root.reader());
        }
        let base = Base { root, log };
        let loaded: Loaded = checkpoint::load(bytes, base, chunks)?;
        Ok(loaded.processes)
    }
}
