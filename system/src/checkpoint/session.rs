//! Data of a checkpoint beside the bytes of its state, while it is written or read.

use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;

use hps_isa::chunks::{self, CHUNK_BYTES, Chunks};
use rustc_hash::FxHashMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::CheckpointError;
use super::files::{Digests, Reopened, SavedFiles, Written};
use crate::os::FileRoot;
use crate::symbols::CodeLog;

/// Values that a resumed run has from its configuration.
pub(crate) struct Base {
    /// The root folder, as the run would begin with it.
    pub root: Option<FileRoot>,
    /// The record of code that the run's observers watch.
    pub log: CodeLog,
}

/// A checkpoint that is being written.
pub(super) struct Saving {
    pub files: SavedFiles,
    /// Numbers of shared values, by their address.
    shared: FxHashMap<usize, u32>,
}

/// A checkpoint that is being read.
pub(super) struct Loading {
    pub base: Base,
    pub files: Reopened,
    shared: Vec<Option<Box<dyn Any>>>,
    /// Texts that live as long as the command.
    texts: FxHashMap<String, &'static str>,
}

enum Session {
    Saving(Saving),
    Loading(Loading),
}

thread_local! {
    static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
    static PROBLEM: RefCell<Option<CheckpointError>> = const { RefCell::new(None) };
}

/// Says why the checkpoint that is being written or read fails. The first reason counts.
pub(crate) fn fail(problem: CheckpointError) {
    PROBLEM.with_borrow_mut(|first| {
        first.get_or_insert(problem);
    });
}

/// Refuses to keep something.
pub(crate) fn refuse(what: impl Into<String>) {
    fail(CheckpointError::NotKept { what: what.into() });
}

/// Works on the checkpoint that is being written. The state of a run is not written elsewhere.
pub(super) fn saving<T>(work: impl FnOnce(&mut Saving) -> Result<T, CheckpointError>) -> Option<T> {
    let done = SESSION.with_borrow_mut(|session| match session {
        Some(Session::Saving(saving)) => Some(work(saving)),
        _ => None,
    });
    settled(done)
}

/// Works on the checkpoint that is being read.
pub(super) fn loading<T>(
    work: impl FnOnce(&mut Loading) -> Result<T, CheckpointError>,
) -> Option<T> {
    let done = SESSION.with_borrow_mut(|session| match session {
        Some(Session::Loading(loading)) => Some(work(loading)),
        _ => None,
    });
    settled(done)
}

/// The root folder of the run that goes on.
pub(crate) fn base_root() -> Option<FileRoot> {
    loading(|loading| Ok(loading.base.root.clone())).flatten()
}

/// The record of code of the run that goes on.
pub(crate) fn base_log() -> Option<CodeLog> {
    loading(|loading| Ok(loading.base.log.clone()))
}

fn settled<T>(done: Option<Result<T, CheckpointError>>) -> Option<T> {
    match done? {
        Ok(value) => Some(value),
        Err(problem) => {
            fail(problem);
            None
        }
    }
}

impl Saving {
    /// The number of a shared value, and whether it has been written before.
    pub fn number_of(&mut self, address: usize) -> (u32, bool) {
        let next = self.shared.len() as u32;
        let mut is_known = true;
        let number = *self.shared.entry(address).or_insert_with(|| {
            is_known = false;
            next
        });
        (number, is_known)
    }

    /// Puts bytes into chunks.
    pub fn put(&mut self, bytes: &[u8]) -> Result<Written, CheckpointError> {
        let numbers = bytes
            .chunks(CHUNK_BYTES)
            .map(|chunk| chunks::with(|chunks| chunks.put(chunk)));
        Ok(Written {
            len: bytes.len() as u64,
            chunks: numbers.collect::<Result<_, _>>()?,
        })
    }
}

impl Loading {
    /// Reads what [`Saving::put`] has written.
    pub fn get(&mut self, written: &Written) -> Result<Vec<u8>, CheckpointError> {
        let mut bytes = Vec::new();
        for &chunk in &written.chunks {
            chunks::with(|chunks| chunks.get(chunk, &mut bytes))?;
        }
        if bytes.len() as u64 != written.len {
            let what = "a content has another length than it had".to_owned();
            return Err(CheckpointError::Damaged { what });
        }
        Ok(bytes)
    }

    /// Makes place for the next shared value. `false` if its number is another one.
    pub fn begin_shared(&mut self, number: u32) -> bool {
        let is_next = number as usize == self.shared.len();
        if is_next {
            self.shared.push(None);
        }
        is_next
    }

    pub fn keep_shared<T: Send + Sync + 'static>(&mut self, number: u32, value: &Arc<T>) {
        self.shared[number as usize] = Some(Box::new(Arc::clone(value)));
    }

    pub fn shared<T: Send + Sync + 'static>(&self, number: u32) -> Option<Arc<T>> {
        let value = self.shared.get(number as usize)?.as_ref()?;
        value.downcast_ref::<Arc<T>>().cloned()
    }

    pub fn text(&mut self, text: String) -> &'static str {
        let known = self.texts.get(&text).copied();
        known.unwrap_or_else(|| {
            let kept: &'static str = Box::leak(text.clone().into_boxed_str());
            self.texts.insert(text, kept);
            kept
        })
    }
}

/// A state, and the files that it refers to.
#[derive(Serialize, Deserialize)]
struct Parts {
    files: Vec<u8>,
    state: Vec<u8>,
}

/// The chunks' store and the known hashes, which last for several checkpoints.
pub type Tools = (Box<dyn Chunks>, Digests);

/// Writes a state. `root` is the root folder of the processes in it, `tools` come back in any case.
pub(crate) fn save<T: Serialize>(
    state: &T,
    root: Option<&FileRoot>,
    (store, digests): Tools,
) -> (Result<Vec<u8>, CheckpointError>, Tools) {
    chunks::lend(store);
    let files = SavedFiles::new(root, digests);
    begin(Session::Saving(Saving {
        files,
        shared: FxHashMap::default(),
    }));
    let written = postcard::to_extend(state, Vec::new());
    let Some(Session::Saving(mut saving)) = end() else {
        unreachable!("the session has begun above")
    };
    let problem = PROBLEM.take();
    let finished = match (problem, written) {
        (Some(problem), _) => Err(problem),
        (None, Err(cause)) => Err(CheckpointError::NotKept {
            what: cause.to_string(),
        }),
        (None, Ok(state)) => finish(&mut saving, state),
    };
    let Some((store, problem)) = chunks::take_back() else {
        unreachable!("the store is lent above")
    };
    let finished = match problem {
        Some(problem) => Err(problem.into()),
        None => finished,
    };
    (finished, (store, saving.files.into_digests()))
}

fn finish(saving: &mut Saving, state: Vec<u8>) -> Result<Vec<u8>, CheckpointError> {
    let files = SavedFiles::finish(saving)?;
    let parts = Parts { files, state };
    postcard::to_extend(&parts, Vec::new()).map_err(|cause| CheckpointError::NotKept {
        what: cause.to_string(),
    })
}

/// Reads a state that [`save`] has written.
pub(crate) fn load<T: DeserializeOwned>(
    bytes: &[u8],
    base: Base,
    store: Box<dyn Chunks>,
) -> Result<T, CheckpointError> {
    chunks::lend(store);
    let read = read(bytes, base);
    match chunks::take_back() {
        Some((_, Some(problem))) => Err(problem.into()),
        _ => read,
    }
}

fn read<T: DeserializeOwned>(bytes: &[u8], base: Base) -> Result<T, CheckpointError> {
    let damaged = |cause: postcard::Error| CheckpointError::Damaged {
        what: cause.to_string(),
    };
    let parts: Parts = postcard::from_bytes(bytes).map_err(damaged)?;
    let mut loading = Loading {
        base,
        files: Reopened::default(),
        shared: Vec::new(),
        texts: FxHashMap::default(),
    };
    Reopened::open(&mut loading, &parts.files)?;
    begin(Session::Loading(loading));
    let read = postcard::take_from_bytes::<T>(&parts.state);
    end();
    if let Some(problem) = PROBLEM.take() {
        return Err(problem);
    }
    match read.map_err(damaged)? {
        (state, []) => Ok(state),
        (_, rest) => Err(CheckpointError::Damaged {
            what: format!("{} bytes too many", rest.len()),
        }),
    }
}

fn begin(session: Session) {
    PROBLEM.take();
    SESSION.set(Some(session));
}

fn end() -> Option<Session> {
    SESSION.take()
}
