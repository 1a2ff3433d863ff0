//! The figures of a sweep, and diagrams other callers can use.

mod bars;
mod breakdown;
mod heatmap;
pub(crate) mod layout;
mod lines;
mod overview;
mod scatter;
mod shim;
mod shim_chart;
mod shim_data;
mod shim_measured;
mod shim_observed;
mod shim_stacks;
mod slug;
mod spread;
mod stack;
mod studies;
mod sweep;
mod validation;

pub use crate::axis::Axis;
pub(crate) use bars::{BarChart, BarPanel, Whiskers, grouped_bars, grouped_bars_with};
pub(crate) use breakdown::breakdown;
pub(crate) use heatmap::{HeatMap, heat_map};
pub use lines::{LineChart, Panel, Series, lines};
pub(crate) use overview::overview;
pub(crate) use scatter::{Curve, Scatter, place_names, scatter, trace};
pub use shim::{ShimFigure, shim_figures, write_shim_report};
pub use stack::{cpi_stack_figure, stacked_bars};
pub use studies::study_chapters;
pub(crate) use sweep::{SweepFigure, paper_figure, sweep_figures};
pub use validation::write_validation_report;
