#![doc = include_str!("../README.md")]

mod answer;
mod axis;
mod bitmap;
mod callgraphs2015;
mod canvas;
mod chapter;
mod dataset;
mod dcpi;
mod error;
mod figure;
pub mod figures;
mod html;
mod isas;
mod leaderboard;
mod measured;
mod page;
mod remarks;
mod report;
mod reproduction;
mod shadow;
mod shim2015;
mod style;
mod table;
mod tip;

pub use callgraphs2015::write_callgraphs2015;
pub use chapter::{Chapter, ChapterTable};
pub use dcpi::write_dcpi;
pub use error::PlotError;
pub use figure::Figure;
pub use figures::{
    ShimFigure, cpi_stack_figure, lines, shim_figures, stacked_bars, write_shim_report,
    write_validation_report,
};
pub use html::ReportInfo;
pub use isas::isa_table;
pub use leaderboard::write_leaderboard;
pub use report::{ReportFiles, write_report};
pub use reproduction::{text_of, write_reproduction};
pub use shadow::write_shadow;
pub use shim2015::write_shim2015;
pub use table::summary_table;
pub use tip::write_tip;
