//! Tables to figures and one self-contained HTML report. Reads result rows only: nothing here runs
//! a program.
//!
//! [`read_results`] reads a sweep's rows, [`summary_table`] prints them, [`isa_table`] puts
//! instruction sets side by side, [`to_csv`] exports them and
//! [`write_report`] draws them as the HPS paper does (its Figures 8 to 10, and burst × frequency
//! maps). [`write_reproduction`] writes the paper's whole evaluation, chapter by chapter.
//! [`figures`] has diagrams for other callers, such as CPI stacks.
//!
//! A picture is drawn once, with plotters, as SVG; its PNG is that SVG rendered by resvg, so the two
//! cannot differ. Both measure and render text in an embedded DejaVu Sans and need no installed
//! fonts; the SVG names only the generic family `sans-serif`.

mod axis;
mod canvas;
mod chapter;
mod csv;
mod dataset;
mod error;
mod figure;
pub mod figures;
mod html;
mod isas;
mod read;
mod report;
mod reproduction;
mod style;
mod table;

pub use chapter::{Chapter, ChapterTable};
pub use csv::to_csv;
pub use error::PlotError;
pub use figure::Figure;
pub use figures::{
    ShimFigure, cpi_stack_figure, lines, shim_figures, stacked_bars, write_shim_report,
};
pub use html::ReportInfo;
pub use isas::isa_table;
pub use read::{ResultsFile, read_results, read_rows};
pub use report::{ReportFiles, write_report};
pub use reproduction::{claims_text, write_reproduction};
pub use table::summary_table;
