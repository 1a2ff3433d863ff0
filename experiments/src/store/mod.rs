//! The result store: one JSON object a line, appended record by record.
//!
//! - **One writer.** An open store holds a lock ([`lock`]); a second process that opens it is told so. Only who
//!   holds the lock changes the file.
//! - **Each line carries a checksum** ([`line`]), so that damage is found and not taken for a result.
//! - **A killed sweep leaves at most one unfinished line**, the last. It is cut off when the store is opened
//!   again, and the point that it belonged to runs again.
//! - **Tidy stores have one form** ([`tidy`]): the order of lines does not depend on who did what when, and nothing
//!   in them is a time of the host.

pub mod line;
mod lines;
mod lock;
mod scope;
mod stored;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use self::lines::Lines;
pub(crate) use self::lock::Lock;
use self::lock::LockError;
pub use self::scope::Scope;
pub use self::stored::{AnyStore, Stored, read_store};
use crate::cluster::tidy;
use crate::row::Row;

/// A record: one line of a store.
pub trait Record: Clone + Serialize + DeserializeOwned {
    /// Key of the record, made from everything that determines it.
    fn id(&self) -> &str;

    /// Why it failed, if it did. What failed runs again next time.
    fn failure(&self) -> Option<&str>;

    /// Whether the record says why something failed.
    fn failed(&self) -> bool {
        self.failure().is_some()
    }

    /// Where it came from.
    fn origin(&self) -> Origin<'_>;

    /// Place among the records of the same origin in a tidy store: what the record is of, and two numbers.
    fn place(&self) -> (&str, u64, u64);
}

/// Where a record came from. Two records belong together if they name one version, one description for each machine
/// and one image for each program with its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// Version of the lab that made it.
    pub version: &'a str,
    /// Program.
    pub program: &'a str,
    /// Instruction set.
    pub isa: &'a str,
    /// The program's input.
    pub input: &'a str,
    /// SHA-256 of the program's image.
    pub program_hash: &'a str,
    /// Machine.
    pub machine: &'a str,
    /// Description of the machine in RON, without its name.
    pub machine_text: &'a str,
}

impl Record for Row {
    fn id(&self) -> &str {
        &self.id
    }

    fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    fn origin(&self) -> Origin<'_> {
        Origin {
            version: &self.version,
            program: &self.program,
            isa: &self.isa,
            input: &self.input,
            program_hash: &self.program_hash,
            machine: &self.machine,
            machine_text: &self.machine_fingerprint,
        }
    }

    fn place(&self) -> (&str, u64, u64) {
        (self.profile.name(), self.burst, self.one_in)
    }
}

/// A store that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be opened, read or written.
    #[error("{path}: {source}; choose a folder that can be written with --out")]
    Io {
        /// File.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Another run writes it.
    #[error(
        "{path}: {} is writing results there; wait until it is done, or choose another folder with --out",
        holder(*process)
    )]
    Locked {
        /// File.
        path: PathBuf,
        /// Number of the other run's process, if it is known.
        process: Option<u32>,
    },
    /// The file cannot be locked.
    #[error(
        "{path}: cannot be locked against a second run ({source}); choose a folder with --out that can be written, \
         on a file system with locks"
    )]
    NoLock {
        /// File.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line is not a record as it was written.
    #[error(
        "{path}:{line}: not a result row ({message}); remove the line, then its point runs again, or choose another \
         folder with --out"
    )]
    Damaged {
        /// File.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Why the line is refused.
        message: String,
    },
    /// The file holds no record.
    #[error(
        "{path}: holds no result; name results.jsonl or units.jsonl of a run that has measured something"
    )]
    Empty {
        /// File.
        path: PathBuf,
    },
}

fn holder(process: Option<u32>) -> String {
    match process {
        Some(number) => format!("another run (process {number})"),
        None => "another run".into(),
    }
}

/// An open store of the points of sweeps.
pub type Store = Records<Row>;

/// An open store, locked for this process until it is dropped unless it is only looked at.
#[derive(Debug)]
pub struct Records<R> {
    path: PathBuf,
    writer: Option<Writer>,
    records: HashMap<String, R>,
    failures: HashMap<String, R>,
    scope: Scope,
    /// Where pieces that were begun are named.
    begun: Option<File>,
}

#[derive(Debug)]
struct Writer {
    file: File,
    /// Bytes of whole lines in the file.
    length: u64,
    _lock: Lock,
}

impl<R: Record> Records<R> {
    /// Opens a store, or makes it together with its folder.
    ///
    /// # Errors
    /// [`StoreError`]: the file cannot be had, another run writes it, or a line is damaged.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let lock = lock(path)?;
        let io = |source| StoreError::Io {
            path: path.to_path_buf(),
            source,
        };
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .map_err(io)?;
        let mut store = Records::empty(path);
        let length = store.read(path)?;
        if length < file.metadata().map_err(io)?.len() {
            file.set_len(length).map_err(io)?;
        }
        store.writer = Some(Writer {
            file,
            length,
            _lock: lock,
        });
        Ok(store)
    }

    /// Reads a store that another process may write, or that is not there. Nothing can be appended to it.
    ///
    /// # Errors
    /// [`StoreError`]: the file cannot be read, or a line is damaged.
    pub fn look(path: &Path) -> Result<Self, StoreError> {
        let mut store = Records::empty(path);
        if path.exists() {
            store.read(path)?;
        }
        Ok(store)
    }

    fn empty(path: &Path) -> Self {
        Records {
            path: path.to_path_buf(),
            writer: None,
            records: HashMap::new(),
            failures: HashMap::new(),
            scope: Scope::All,
            begun: None,
        }
    }

    /// Does only what is in a scope.
    #[must_use]
    pub fn within(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Holds what the store at `path` has done, too, without writing it again.
    ///
    /// # Errors
    /// Like [`Records::look`].
    pub fn over(mut self, path: &Path) -> Result<Self, StoreError> {
        let below = Records::look(path)?;
        for (id, record) in below.records {
            self.records.entry(id).or_insert(record);
        }
        Ok(self)
    }

    /// Names pieces that are begun in a file beside the store, for who asks how far it is.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the file cannot be written.
    pub fn telling(mut self) -> Result<Self, StoreError> {
        let path = begun_path(&self.path);
        let file = File::create(&path).map_err(|source| StoreError::Io { path, source })?;
        self.begun = Some(file);
        Ok(self)
    }

    /// Scope that the store is opened for.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The record with an id, if it has been stored and did not fail.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&R> {
        self.records.get(id)
    }

    /// The record with an id, also if it says why something failed.
    #[must_use]
    pub fn outcome(&self, id: &str) -> Option<&R> {
        self.records.get(id).or_else(|| self.failures.get(id))
    }

    /// Whether a piece is to be run: it is in the scope and has not been done.
    #[must_use]
    pub fn wants(&self, id: &str) -> bool {
        !self.records.contains_key(id) && self.scope.has(id, self.failures.contains_key(id))
    }

    /// Number of records stored that did not fail.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Nothing is stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Says that a piece is begun, to whoever asks.
    pub fn begin(&mut self, id: &str) {
        if let Some(file) = &mut self.begun {
            // Nothing depends on it but what is told of a running part.
            let _ = file.write_all(format!("{id}\n").as_bytes());
        }
    }

    /// Appends a record and hands it to the operating system at once.
    ///
    /// # Errors
    /// [`StoreError::Io`], for instance on a full disk; records stored before stay, and nothing of this one.
    pub fn append(&mut self, record: &R) -> Result<(), StoreError> {
        let io = |source| StoreError::Io {
            path: self.path.clone(),
            source,
        };
        let writer = self.writer.as_mut().ok_or_else(|| {
            let problem = "it was opened to be read only";
            io(std::io::Error::other(problem))
        })?;
        let line = line::encode(record).map_err(|e| io(e.into()))?;
        if let Err(cause) = writer.file.write_all(line.as_bytes()) {
            // A full disk takes a part of the line: what comes next must not stand behind that part. If this
            // fails too, the next open finds the part.
            let _ = writer.file.set_len(writer.length);
            return Err(io(cause));
        }
        writer.length += line.len() as u64;
        self.hold(record.clone());
        Ok(())
    }

    /// Waits until the disk has what was appended, if the store is a part of one: a part's host may be lost.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn sync(&mut self) -> Result<(), StoreError> {
        match (&self.writer, &self.begun) {
            (Some(writer), Some(_)) => writer.file.sync_data().map_err(|source| StoreError::Io {
                path: self.path.clone(),
                source,
            }),
            _ => Ok(()),
        }
    }

    /// Puts the file into its one form (see [`tidy`]).
    ///
    /// # Errors
    /// [`StoreError`]; the file is then as it was.
    pub fn tidy(&mut self) -> Result<(), StoreError> {
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        let io = |source| StoreError::Io {
            path: self.path.clone(),
            source,
        };
        if tidy::file::<R>(&self.path)? {
            let file = OpenOptions::new().append(true).open(&self.path);
            writer.file = file.map_err(io)?;
            writer.length = writer.file.metadata().map_err(io)?.len();
        }
        Ok(())
    }

    /// Reads all records; gives the number of bytes up to the end of the last whole line.
    fn read(&mut self, path: &Path) -> Result<u64, StoreError> {
        let mut lines = Lines::open(path)?;
        while lines.next()?.is_some() {
            self.hold(lines.decode()?);
        }
        Ok(lines.end())
    }

    fn hold(&mut self, record: R) {
        let id = record.id().to_string();
        if record.failed() {
            self.failures.insert(id, record);
        } else {
            self.failures.remove(&id);
            self.records.insert(id, record);
        }
    }
}

/// Takes the lock of a store, and makes its folder.
pub(crate) fn lock(path: &Path) -> Result<Lock, StoreError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|source| StoreError::Io {
            path: path.to_path_buf(),
            source,
        })?;
    }
    Lock::take(path).map_err(|cause| match cause {
        LockError::Held { process } => StoreError::Locked {
            path: path.to_path_buf(),
            process,
        },
        LockError::Io(source) => StoreError::NoLock {
            path: path.to_path_buf(),
            source,
        },
    })
}

/// Whether another process writes the store.
pub(crate) fn is_written(path: &Path) -> bool {
    lock::is_held(path)
}

/// Where a store names the pieces that were begun.
pub(crate) fn begun_path(store: &Path) -> PathBuf {
    store.with_extension("begun")
}
