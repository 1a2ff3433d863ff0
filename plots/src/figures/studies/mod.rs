//! Chapters about what the paper left open: one for each study that has results.

mod adaptive;
mod bias;
mod chart;
mod choices;
mod coverage;
mod data;
mod merged;
mod progress;
mod set_ups;
mod tables;
#[cfg(test)]
mod tests;
mod wrong_path;

use hps_experiments::UnitRecord;

use crate::PlotError;
use crate::chapter::Chapter;

/// The chapters of all studies that have results, in the order of
/// [`hps_experiments::studies::NAMES`]. What is said in them is computed from the records.
///
/// # Errors
/// A picture that cannot be drawn.
pub fn study_chapters(records: &[UnitRecord]) -> Result<Vec<Chapter>, PlotError> {
    let studies = [
        wrong_path::chapter,
        bias::chapter,
        merged::chapter,
        adaptive::chapter,
        tables::chapter,
        progress::chapter,
        set_ups::chapter,
        set_ups::order_chapter,
        set_ups::phase_chapter,
        choices::chapter,
        coverage::chapter,
    ];
    let mut chapters = Vec::new();
    for chapter in studies {
        chapters.extend(chapter(records)?);
    }
    Ok(chapters)
}
