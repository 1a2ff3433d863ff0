//! The figures of a sweep, and diagrams other callers can use.

mod bars;
mod heatmap;
mod layout;
mod lines;
mod scatter;
mod stack;
mod sweep;

pub use crate::axis::Axis;
pub use lines::{LineChart, Panel, Series, lines};
pub use stack::{cpi_stack_figure, stacked_bars};
pub(crate) use sweep::{SweepFigure, sweep_figures};
