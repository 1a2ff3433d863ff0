//! `hps results`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::examples;
use crate::output::OutFile;

/// `hps results`.
#[derive(Debug, Subcommand)]
#[command(after_long_help = examples::RESULTS)]
pub enum ResultsCommand {
    /// Make a table of results that are stored: Parquet, CSV or JSON
    Convert(ConvertArgs),
}

/// `hps results convert`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::RESULTS)]
pub struct ConvertArgs {
    /// The results: a store (results.jsonl, units.jsonl) or the folder that holds it, an exact profile (hps profile
    /// --json=FILE), a profile file (hps profile --out DIR)
    #[arg(value_name = "FILE|DIR")]
    pub results: PathBuf,
    /// Format [default: the end of the name of --out, or csv]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Option<TableFormat>,
    /// Write the table to this file; without it, to standard output
    #[arg(long, value_name = "FILE.parquet")]
    pub out: Option<OutFile>,
    /// What a row is: of results.jsonl points or machines, of units.jsonl measurements, figure7 or board, of an exact
    /// profile
    /// functions or instructions, of a profile file members [default: the first of them]
    #[arg(long, value_name = "NAME")]
    pub rows: Option<String>,
}

/// Formats of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// Comma-separated values
    Csv,
    /// Apache Parquet
    Parquet,
    /// One JSON object with a list of rows
    Json,
}

impl From<TableFormat> for hps_frames::Format {
    fn from(format: TableFormat) -> Self {
        match format {
            TableFormat::Csv => hps_frames::Format::Csv,
            TableFormat::Parquet => hps_frames::Format::Parquet,
            TableFormat::Json => hps_frames::Format::Json,
        }
    }
}
