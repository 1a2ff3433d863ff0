//! The result store: one JSON object a line, appended record by record.
//!
//! A killed sweep leaves at most one damaged line, the last; it is cut off when the file is opened
//! again, and the point it belonged to runs again.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::row::Row;

/// What a store keeps one of in each line.
pub trait Record: Clone + Serialize + DeserializeOwned {
    /// Made from everything that determines the record.
    fn id(&self) -> &str;

    /// It says why something failed; that runs again next time.
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
    /// A line in the middle of the file is not a row.
    #[error(
        "{path}:{line}: not a result row ({message}); remove the line, or choose another folder with --out"
    )]
    Damaged {
        /// File.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
}

/// An open store of the points of sweeps.
pub type Store = Records<Row>;

/// An open store.
#[derive(Debug)]
pub struct Records<R> {
    path: PathBuf,
    file: File,
    records: HashMap<String, R>,
}

impl<R: Record> Records<R> {
    /// Opens a store, or makes it together with its folder.
    ///
    /// # Errors
    /// [`StoreError`] with the file and the line.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let io = |source| StoreError::Io {
            path: path.to_path_buf(),
            source,
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(io)?;
        }
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(io)?;
        let (records, good) = read(&mut file, path)?;
        let length = file.metadata().map_err(io)?.len();
        if good < length {
            file.set_len(good).map_err(io)?;
        }
        Ok(Records {
            path: path.to_path_buf(),
            file,
            records,
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
    /// [`StoreError::Io`], for instance on a full disk; records stored before stay.
    pub fn append(&mut self, record: &R) -> Result<(), StoreError> {
        let io = |source| StoreError::Io {
            path: self.path.clone(),
            source,
        };
        let mut line = serde_json::to_string(record).map_err(|e| io(e.into()))?;
        line.push('\n');
        // One write, so that a kill cannot interleave two records.
        self.file.write_all(line.as_bytes()).map_err(io)?;
        self.file.flush().map_err(io)?;
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
    let mut damaged: Option<(usize, String)> = None;
    loop {
        let mut line = Vec::new();
        let n = reader.read_until(b'\n', &mut line).map_err(io)?;
        if n == 0 {
            break;
        }
        if let Some((line, message)) = damaged.take() {
            // Not the last line: no kill leaves that behind.
            return Err(StoreError::Damaged {
                path: path.to_path_buf(),
                line,
                message,
            });
        }
        number += 1;
        let whole = line.ends_with(b"\n");
        match serde_json::from_slice::<R>(&line) {
            Ok(record) if whole => {
                good += n as u64;
                if !record.failed() {
                    records.insert(record.id().to_string(), record);
                }
            }
            Ok(_) => damaged = Some((number, "incomplete line".to_string())),
            Err(e) => damaged = Some((number, e.to_string())),
        }
    }
    Ok((records, good))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hps_profile::ProfileKind;

    fn row(id: &str) -> Row {
        Row {
            id: id.to_string(),
            version: "0".into(),
            program: "p".into(),
            program_hash: String::new(),
            input: "small".into(),
            isa: "riscv64".into(),
            profile: ProfileKind::Method,
            burst: 1,
            sparsity: 99,
            one_in: 100,
            machine: "m".into(),
            machine_fingerprint: String::new(),
            accuracy: None,
            timing: None,
            failure: None,
        }
    }

    #[test]
    fn a_killed_write_loses_only_its_own_row() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let path = dir.path().join("rows.jsonl");
        let mut store = Store::open(&path).expect("new store");
        store.append(&row("a")).expect("append");
        store.append(&row("b")).expect("append");
        drop(store);
        let text = std::fs::read(&path).expect("read");
        std::fs::write(&path, &text[..text.len() - 7]).expect("cut");
        let mut store = Store::open(&path).expect("reopened");
        assert!(store.get("a").is_some() && store.get("b").is_none());
        store.append(&row("c")).expect("append");
        drop(store);
        assert_eq!(Store::open(&path).expect("again").len(), 2);
    }

    #[test]
    fn damage_in_the_middle_is_refused_with_its_line() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let path = dir.path().join("rows.jsonl");
        std::fs::write(&path, "{\"nonsense\": 1}\n{}\n").expect("write");
        let e = Store::open(&path).expect_err("damaged");
        assert!(e.to_string().contains("rows.jsonl:1"), "{e}");
    }

    #[test]
    fn failed_points_run_again() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let path = dir.path().join("rows.jsonl");
        let mut store = Store::open(&path).expect("new store");
        let mut failed = row("a");
        failed.failure = Some("why".into());
        store.append(&failed).expect("append");
        drop(store);
        assert!(Store::open(&path).expect("again").get("a").is_none());
    }
}
