//! Reads stored result rows: JSON, one object a line.

use std::path::Path;

use hps_experiments::{Row, line};
use hps_sim_core::host;

use crate::PlotError;

/// Bytes that a results file may have, so that a device that never ends is refused.
const MAX_RESULTS_BYTES: u64 = 4 << 30;

/// Rows of a results file, and what had to be left out.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultsFile {
    /// The rows, in the order of the file.
    pub rows: Vec<Row>,
    /// Says which line was dropped, if a killed run left its last line unfinished.
    pub warning: Option<String>,
}

/// Reads a results file, verifies the checksum of each line and says whether its last line was unfinished.
///
/// A line is written in one piece and ends with a newline, so only a last line *without* one can
/// be the trace of a killed run: if it does not parse it is dropped and named in the warning.
///
/// # Errors
/// [`PlotError::Read`] if the file cannot be read, [`PlotError::DamagedLine`] for any other line
/// that is not a row. A file without rows is not an error here.
pub fn read_results(path: &Path) -> Result<ResultsFile, PlotError> {
    let bytes = host::read_file(path, MAX_RESULTS_BYTES).map_err(|e| PlotError::read(path, e))?;
    let mut rows = Vec::new();
    let mut warning = None;
    for (index, line) in bytes.split_inclusive(|&b| b == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match line::decode::<Row>(line) {
            Ok(row) => rows.push(row),
            Err(_) if !line.ends_with(b"\n") => {
                warning = Some(format!(
                    "{}, line {}: unfinished last line of an interrupted run left out",
                    path.display(),
                    index + 1
                ));
            }
            Err(e) => {
                return Err(PlotError::DamagedLine {
                    path: path.to_path_buf(),
                    line: index + 1,
                    reason: e.to_string(),
                });
            }
        }
    }
    Ok(ResultsFile { rows, warning })
}

/// Reads the rows of a results file; an unfinished last line is left out silently
/// (use [`read_results`] to be told).
///
/// # Errors
/// The errors of [`read_results`].
pub fn read_rows(path: &Path) -> Result<Vec<Row>, PlotError> {
    read_results(path).map(|file| file.rows)
}
