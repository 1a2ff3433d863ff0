//! `hps results convert`.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use hps_experiments::{AnyStore, VERSION, figure7, frames, leaderboard, read_store};
use hps_frames::{Format, Frame};
use hps_system::host;

use super::profiles;
use crate::cli::groups::table_format;
use crate::cli::{ConvertArgs, ResultsCommand};
use crate::text::print;

/// Bytes that a profile may have.
const MOST_BYTES: u64 = 4 << 30;

/// Stores that a folder of results may hold.
const STORES: [&str; 2] = ["results.jsonl", "units.jsonl"];

/// Runs the command; the exit code is 0.
pub fn results(command: &ResultsCommand) -> anyhow::Result<u8> {
    let ResultsCommand::Convert(args) = command;
    let format = format(args)?;
    let file = file(&args.results)?;
    let frames = frames_of(&file)?;
    let frame = chosen(&frames, args.rows.as_deref(), &file)?;
    let bytes = frame.to_bytes(format, VERSION)?;
    match args.out.as_deref() {
        Some(out) => std::fs::write(out, bytes).with_context(|| {
            format!("{}: cannot be written; choose another file", out.display())
        })?,
        None => print(&String::from_utf8_lossy(&bytes))?,
    }
    Ok(0)
}

/// The format that is asked for.
fn format(args: &ConvertArgs) -> anyhow::Result<Format> {
    let format = match (args.to, args.out.as_deref()) {
        (Some(format), _) => format.into(),
        (None, Some(out)) => table_format(out)?,
        (None, None) => Format::Csv,
    };
    if format == Format::Parquet && args.out.is_none() {
        bail!("Parquet is no text; name a file with --out FILE.parquet");
    }
    Ok(format)
}

/// The file of results: the one that is named, or the store in the folder that is named.
fn file(path: &Path) -> anyhow::Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let stores = STORES.map(|name| path.join(name));
    let mut there = stores.into_iter().filter(|store| store.is_file());
    match (there.next(), there.next()) {
        (Some(store), None) => Ok(store),
        (Some(_), Some(_)) => bail!(
            "{}: holds {} and {}; name one of them",
            path.display(),
            STORES[0],
            STORES[1]
        ),
        (None, _) => bail!(
            "{}: holds neither {} nor {}; name a file of results",
            path.display(),
            STORES[0],
            STORES[1]
        ),
    }
}

/// All tables that can be made of a file, the usual one first.
fn frames_of(file: &Path) -> anyhow::Result<Vec<Frame>> {
    if !is_store(file)? {
        let bytes = host::read_file(file, MOST_BYTES)
            .with_context(|| format!("{}: cannot be read", file.display()))?;
        return profiles::frames(&bytes).with_context(|| file.display().to_string());
    }
    let (frames, warnings) = match read_store(file)? {
        AnyStore::Points(store) => {
            let rows = &store.records;
            let frames = vec![frames::points(rows), frames::machines(rows)];
            (frames, store.warnings)
        }
        AnyStore::Units(store) => {
            let bars = figure7::bars(&store.records);
            let boards = leaderboard::board(&store.records, &[]);
            let frames = vec![
                frames::measurements(&store.records),
                frames::bars(&bars),
                frames::board(&boards),
            ];
            (frames, store.warnings)
        }
    };
    for warning in warnings {
        say!("hps: warning: {warning}");
    }
    Ok(frames)
}

/// Whether a file holds a record in each line, as stores do, and not one JSON document.
fn is_store(file: &Path) -> anyhow::Result<bool> {
    const BEGINNING: &[u8] = b"{\"id\":";
    let mut beginning = Vec::new();
    File::open(file)
        .and_then(|file| {
            file.take(BEGINNING.len() as u64)
                .read_to_end(&mut beginning)
        })
        .with_context(|| format!("{}: cannot be read", file.display()))?;
    Ok(beginning == BEGINNING || file.extension().is_some_and(|end| end == "jsonl"))
}

/// The table whose rows are asked for.
fn chosen<'a>(frames: &'a [Frame], rows: Option<&str>, file: &Path) -> anyhow::Result<&'a Frame> {
    let name = |frame: &Frame| {
        let name = frame.schema().name;
        name.rsplit('-').next().unwrap_or(name)
    };
    let found = match rows {
        Some(rows) => frames.iter().find(|frame| name(frame) == rows),
        None => frames.first(),
    };
    let names: Vec<&str> = frames.iter().map(name).collect();
    found.with_context(|| {
        format!(
            "{}: has no {}; --rows takes one of {}",
            file.display(),
            rows.unwrap_or("table"),
            names.join(", ")
        )
    })
}
