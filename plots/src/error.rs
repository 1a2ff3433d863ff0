//! Errors between result rows and a report.

use std::path::{Path, PathBuf};

/// Why rows could not be read or a figure or report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// There is nothing to draw.
    #[error(
        "no result rows: run a sweep first, or name a results file that holds at least one row"
    )]
    NoRows,
    /// A file or folder of the report could not be written.
    #[error(
        "cannot write {path}: {source}; check that its folder exists, is writable and has room"
    )]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A figure cannot draw the values that it was asked to show.
    #[error("figure `{figure}`: {reason}")]
    BadFigure {
        /// Title of the figure.
        figure: String,
        /// Defect of the values.
        reason: String,
    },
    /// A drawing could not be rendered.
    #[error("figure `{figure}` could not be rendered: {reason}")]
    Render {
        /// Title of the figure.
        figure: String,
        /// Message of the renderer.
        reason: String,
    },
    /// A table could not be encoded.
    #[error(transparent)]
    Frame(hps_frames::FrameError),
}

impl PlotError {
    pub(crate) fn write(path: &Path, source: std::io::Error) -> Self {
        Self::Write {
            path: path.to_path_buf(),
            source,
        }
    }

    pub(crate) fn bad(figure: &str, reason: impl Into<String>) -> Self {
        Self::BadFigure {
            figure: figure.to_string(),
            reason: reason.into(),
        }
    }
}
