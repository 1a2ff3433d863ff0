//! The result store: one JSON object a line, appended record by record.
//!
//! - **One writer.** An open store holds a lock ([`lock`]); a second process that opens it is told so. Only who
//!   holds the lock changes the file.
//! - **Each line carries a checksum** ([`line`]), so that damage is found and not taken for a result.
//! - **A killed sweep leaves at most one unfinished line**, the last. It is cut off when the store is opened
//!   again, and the point that it belonged to runs again.

pub mod line;
mod lock;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read as _, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use self::lock::{Lock, LockError};
use crate::row::Row;

/// A record: one line of a store.
pub trait Record: Clone + Serialize + DeserializeOwned {
    /// Key of the record, made from everything that determines it.
    fn id(&self) -> &str;

    /// Whether the record says why something failed. What failed runs again next time.
    fn failed(&self) -> bool;
}

impl Record for Row {
    fn id(&self) -> &str {
        &self.id
    }

    fn failed(&self) -> bool {
        self.failure.is_some()
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
}

fn holder(process: Option<u32>) -> String {
    match process {
        Some(number) => format!("another run (process {number})"),
        None => "another run".into(),
    }
}

/// The longest line that a store may have. A record takes some kilobytes.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// An open store of the points of sweeps.
pub type Store = Records<Row>;

/// An open store, locked for this process until it is dropped.
#[derive(Debug)]
pub struct Records<R> {
    path: PathBuf,
    file: File,
    /// Bytes of whole lines in the file.
    length: u64,
    records: HashMap<String, R>,
    _lock: Lock,
}

impl<R: Record> Records<R> {
    /// Opens a store, or makes it together with its folder.
    ///
    /// # Errors
    /// [`StoreError`]: the file cannot be had, another run writes it, or a line is damaged.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let io = |source| StoreError::Io {
            path: path.to_path_buf(),
            source,
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(io)?;
        }
        let lock = Lock::take(path).map_err(|cause| match cause {
            LockError::Held { process } => StoreError::Locked {
                path: path.to_path_buf(),
                process,
            },
            LockError::Io(source) => StoreError::NoLock {
                path: path.to_path_buf(),
                source,
            },
        })?;
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(io)?;
        let (records, length) = read(&mut file, path)?;
        if length < file.metadata().map_err(io)?.len() {
            file.set_len(length).map_err(io)?;
        }
        Ok(Records {
            path: path.to_path_buf(),
            file,
            length,
            records,
            _lock: lock,
        })
    }

    /// The record with an id, if it has been stored and did not fail.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&R> {
        self.records.get(id)
    }

    /// Number of records stored.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Nothing is stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
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
        let line = line::encode(record).map_err(|e| io(e.into()))?;
        if let Err(cause) = self.file.write_all(line.as_bytes()) {
            // A full disk takes a part of the line: what comes next must not stand behind that part. If this
            // fails too, the next open finds the part.
            let _ = self.file.set_len(self.length);
            return Err(io(cause));
        }
        self.length += line.len() as u64;
        let id = record.id().to_string();
        self.records.insert(id, record.clone());
        Ok(())
    }
}

/// What lies in a store, by id, and the number of bytes up to the end of the last good line.
type Read<R> = (HashMap<String, R>, u64);

/// Reads all records.
fn read<R: Record>(file: &mut File, path: &Path) -> Result<Read<R>, StoreError> {
    let io = |source| StoreError::Io {
        path: path.to_path_buf(),
        source,
    };
    let mut records = HashMap::new();
    let mut reader = BufReader::new(file);
    let mut good = 0u64;
    let mut number = 0;
    loop {
        let mut line = Vec::new();
        let n = reader
            .by_ref()
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut line)
            .map_err(io)?;
        // A kill leaves a line without its end, and only as the last one.
        let is_whole = line.ends_with(b"\n");
        if !is_whole && reader.fill_buf().map_err(io)?.is_empty() {
            break;
        }
        number += 1;
        let record: R = line::decode(&line).map_err(|cause| StoreError::Damaged {
            path: path.to_path_buf(),
            line: number,
            message: cause.to_string(),
        })?;
        good += n as u64;
        if !record.failed() {
            records.insert(record.id().to_string(), record);
        }
    }
    Ok((records, good))
}
