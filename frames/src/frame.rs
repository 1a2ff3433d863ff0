//! A table's values, column by column.

use std::path::Path;

use crate::json::Document;
use crate::schema::Schema;
use crate::{csv, parquet};

/// Values of a column; `None` is missing.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Texts.
    Text(Vec<Option<String>>),
    /// Whole numbers that are not negative.
    Count(Vec<Option<u64>>),
    /// Whole numbers.
    Integer(Vec<Option<i64>>),
    /// Numbers in double precision.
    Real(Vec<Option<f64>>),
    /// True or false.
    Flag(Vec<Option<bool>>),
}

/// A table of results.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    schema: Schema,
    columns: Vec<Values>,
    rows: usize,
}

/// Form of a file that holds a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values (RFC 4180) with a header line.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// One JSON object with a list of rows.
    Json,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 3] = [Format::Csv, Format::Parquet, Format::Json];

    /// The name, which is the end of the names of its files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Parquet => "parquet",
            Format::Json => "json",
        }
    }

    /// The format that the end of a file's name says.
    #[must_use]
    pub fn of(file: &Path) -> Option<Format> {
        let end = file.extension()?.to_str()?;
        Format::ALL.into_iter().find(|format| format.name() == end)
    }
}

/// A frame that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The encoder of CSV refuses.
    #[error("the table cannot be written as CSV: {0}")]
    Csv(String),
    /// The encoder of Parquet refuses.
    #[error("the table cannot be written as Parquet: {0}")]
    Parquet(#[from] ::parquet::errors::ParquetError),
    /// The encoder of JSON refuses.
    #[error("the table cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl Frame {
    pub(crate) fn new(schema: Schema, columns: Vec<Values>, rows: usize) -> Self {
        Frame {
            schema,
            columns,
            rows,
        }
    }

    /// The declaration of the table.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Values of all columns, in the order of the schema.
    #[must_use]
    pub fn columns(&self) -> &[Values] {
        &self.columns
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Values of a column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Values> {
        let at = self.schema.columns.iter().position(|c| c.name == name)?;
        self.columns.get(at)
    }

    /// The frame as bytes of a file. `version` is that of the lab.
    ///
    /// # Errors
    /// [`FrameError`] if the encoder of the format refuses.
    pub fn to_bytes(&self, format: Format, version: &str) -> Result<Vec<u8>, FrameError> {
        match format {
            Format::Csv => Ok(csv::text(self)?.into_bytes()),
            Format::Parquet => parquet::bytes(self, version),
            Format::Json => {
                let mut bytes = serde_json::to_vec(&self.document(version))?;
                bytes.push(b'\n');
                Ok(bytes)
            }
        }
    }

    /// The frame as a JSON document. `version` is that of the lab.
    #[must_use]
    pub fn document<'a>(&'a self, version: &'a str) -> Document<'a> {
        Document {
            frame: self,
            version,
        }
    }

    /// The frame as CSV.
    ///
    /// # Errors
    /// [`FrameError::Csv`] if the encoder refuses.
    pub fn to_csv(&self) -> Result<String, FrameError> {
        csv::text(self)
    }
}
