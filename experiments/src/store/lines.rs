//! The whole lines of a store, one after the other.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Take};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::line::LineError;
use super::{StoreError, line};

/// The longest line that a store may have. A record takes some kilobytes.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// Reads the lines that a file has when it is opened. A part of a line at its end, which a kill leaves, is none.
pub(crate) struct Lines {
    reader: BufReader<Take<File>>,
    path: PathBuf,
    line: Vec<u8>,
    number: usize,
    end: u64,
}

impl Lines {
    /// The lines of the file at `path`.
    pub(crate) fn open(path: &Path) -> Result<Lines, StoreError> {
        let io = |source| StoreError::Io {
            path: path.to_path_buf(),
            source,
        };
        let file = File::open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        Ok(Lines {
            reader: BufReader::with_capacity(1 << 16, file.take(length)),
            path: path.to_path_buf(),
            line: Vec::new(),
            number: 0,
            end: 0,
        })
    }

    /// The bytes of the next line with its end; `None` behind the last whole one.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, StoreError> {
        let io = |source| StoreError::Io {
            path: self.path.clone(),
            source,
        };
        self.line.clear();
        let mut limited = self.reader.by_ref().take(MAX_LINE_BYTES);
        let bytes = limited.read_until(b'\n', &mut self.line).map_err(io)?;
        // A kill leaves a line without its end, and only as the last one.
        let is_whole = self.line.ends_with(b"\n");
        if !is_whole && self.reader.fill_buf().map_err(io)?.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        self.end += bytes as u64;
        Ok(Some(&self.line))
    }

    /// Record in the line that was read last.
    pub(crate) fn decode<R: DeserializeOwned>(&self) -> Result<R, StoreError> {
        line::decode(&self.line).map_err(|cause| self.damaged(&cause))
    }

    /// Record in the line that was read last, and whether the line has a checksum: those of early versions have none.
    pub(crate) fn decode_old<R: DeserializeOwned>(&self) -> Result<(R, bool), StoreError> {
        let read = match line::decode(&self.line) {
            Ok(record) => Ok((record, true)),
            Err(LineError::NoChecksum) => serde_json::from_slice(&self.line)
                .map(|record| (record, false))
                .map_err(LineError::Json),
            Err(cause) => Err(cause),
        };
        read.map_err(|cause| self.damaged(&cause))
    }

    fn damaged(&self, cause: &LineError) -> StoreError {
        StoreError::Damaged {
            path: self.path.clone(),
            line: self.number,
            message: cause.to_string(),
        }
    }

    /// Whether nothing stands in the line that was read last, or behind the last whole one.
    pub(crate) fn is_blank(&self) -> bool {
        self.line.iter().all(u8::is_ascii_whitespace)
    }

    /// Number of the line that was read last, from 1.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Bytes up to the end of the line that was read last.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }
}
