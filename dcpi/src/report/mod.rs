//! Output of the tools: plain text in the form of the paper's figures; graphs and pages.

mod calc;
mod drawing;
mod graph;
mod page;
mod prof;
mod stats;
#[cfg(test)]
mod tests;

pub use calc::{calc, summary};
pub use drawing::drawing;
pub use graph::dot;
pub use page::Page;
pub use prof::{Line, by_image, by_line, by_procedure, prof};
pub use stats::{Spread, difference, spreads, stats};

/// Part of a whole in percent; zero of nothing.
fn percent(part: f64, whole: f64) -> f64 {
    if whole == 0.0 {
        0.0
    } else {
        100.0 * part / whole
    }
}
