//! Writes a report: page, pictures and table, each file whole or not at all.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread;

use hps_experiments::{Row, frames};
use hps_frames::Frame;

use crate::PlotError;
use crate::dataset::{DataSet, group};
use crate::figure::Figure;
use crate::figures::{SweepFigure, overview, sweep_figures};
use crate::html::{ReportInfo, Section, page};

/// The files of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportFiles {
    /// The page: `report.html`.
    pub html: PathBuf,
    /// The rows: `results.csv`; `machines.csv` beside it has their machines.
    pub csv: PathBuf,
    /// The pictures: `figures/*.svg` and `figures/*.png`.
    pub figures: Vec<PathBuf>,
}

/// Draws the rows and writes `report.html`, `results.csv`, `machines.csv`, `figures/*.svg` and
/// `figures/*.png` into `dir`, which is created if it is missing. Each file is written beside its place and then
/// renamed, so that an interrupted run leaves no half file; the page comes last.
///
/// # Errors
/// [`PlotError::NoRows`] without rows, [`PlotError::Write`] naming the file or folder that could
/// not be written, and the errors of drawing.
pub fn write_report(dir: &Path, rows: &[Row], info: &ReportInfo) -> Result<ReportFiles, PlotError> {
    if rows.is_empty() {
        return Err(PlotError::NoRows);
    }
    let folder = dir.join("figures");
    fs::create_dir_all(&folder).map_err(|e| PlotError::write(&folder, e))?;
    let csv = dir.join("results.csv");
    write_csv(&csv, &frames::points(rows))?;
    write_csv(&dir.join("machines.csv"), &frames::machines(rows))?;
    let sets = group(rows);
    let sections = draw(&sets)?;
    let overview = overview(&sets)?;
    let picture = overview.as_ref().map(|figure| ("overview", figure));
    let of_kinds = sections
        .iter()
        .flat_map(|s| &s.kinds)
        .flat_map(|(_, figures)| figures)
        .map(|f: &SweepFigure| (f.name.as_str(), &f.figure));
    let drawn: Vec<(&str, &Figure)> = picture.into_iter().chain(of_kinds).collect();
    let figures = write_pictures(&folder, &drawn)?;
    let html = dir.join("report.html");
    write_whole(&html, page(&sections, picture, info).as_bytes())?;
    Ok(ReportFiles { html, csv, figures })
}

fn draw<'a>(sets: &'a [DataSet<'a>]) -> Result<Vec<Section<'a>>, PlotError> {
    let mut sections = Vec::with_capacity(sets.len());
    for (index, set) in sets.iter().enumerate() {
        let prefix = if sets.len() > 1 {
            format!("set{}-", index + 1)
        } else {
            String::new()
        };
        let mut kinds = Vec::new();
        for data in set.kinds() {
            let figures = sweep_figures(set, &data, &prefix)?;
            kinds.push((data, figures));
        }
        sections.push(Section { set, kinds });
    }
    Ok(sections)
}

/// Writes pictures under their names, rendering bitmaps on all processors.
pub(crate) fn write_pictures(
    folder: &Path,
    drawn: &[(&str, &Figure)],
) -> Result<Vec<PathBuf>, PlotError> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = drawn.len().div_ceil(workers).max(1);
    let parts: Vec<Result<Vec<PathBuf>, PlotError>> = thread::scope(|scope| {
        let running: Vec<_> = drawn
            .chunks(share)
            .map(|part| scope.spawn(move || part.iter().map(|f| write_figure(folder, f)).collect()))
            .collect();
        let done = running.into_iter().map(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        done.map(|part: Result<Vec<[PathBuf; 2]>, _>| {
            part.map(|p| p.into_iter().flatten().collect())
        })
        .collect()
    });
    let parts: Result<Vec<Vec<PathBuf>>, PlotError> = parts.into_iter().collect();
    Ok(parts?.into_iter().flatten().collect())
}

fn write_figure(
    folder: &Path,
    (name, figure): &(&str, &Figure),
) -> Result<[PathBuf; 2], PlotError> {
    let svg = folder.join(format!("{name}.svg"));
    let png = folder.join(format!("{name}.png"));
    write_whole(&svg, figure.svg().as_bytes())?;
    write_whole(&png, &figure.png()?)?;
    Ok([svg, png])
}

/// Writes a frame as CSV.
pub(crate) fn write_csv(path: &Path, frame: &Frame) -> Result<(), PlotError> {
    write_whole(path, frame.to_csv().map_err(PlotError::Frame)?.as_bytes())
}

/// Writes a file beside its place and renames it.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), PlotError> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let written = fs::File::create(&part)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&part, path));
    written.map_err(|e| {
        // The part may not exist; the first error is the one to tell.
        let _ = fs::remove_file(&part);
        PlotError::write(path, e)
    })
}
