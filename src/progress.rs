//! Progress bars: on long work, and on a terminal only.

use hps_experiments::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar over `length` units of work. Draws nothing unless standard error is a terminal.
pub fn bar(length: u64, what: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(
        "{prefix} [{bar:30}] {pos}/{len} · {elapsed} elapsed, {eta} left · {wide_msg}",
    )
    .unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("=> "));
    bar.set_prefix(what.to_string());
    bar
}

/// A bar over units of work that are planned in several steps, each apart from the others.
pub struct Units(ProgressBar);

impl Units {
    /// A bar without any unit yet.
    pub fn new(what: &str) -> Units {
        Units(bar(0, what))
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl Observer for Units {
    fn planned(&self, units: u64) {
        self.0.inc_length(units);
    }
    fn done(&self, what: &str) {
        self.0.set_message(what.to_string());
        self.0.inc(1);
    }
}
