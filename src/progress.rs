//! Progress of long work: a bar on a terminal, elsewhere a line each ten seconds; and the message of work that Ctrl-C
//! ends.

use std::io::IsTerminal;
use std::time::Duration;

use hps_experiments::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, WeakProgressBar};

/// Time between two lines, where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// A bar over `length` units of work. Where standard error is no terminal, nothing is drawn, and a line says each
/// ten seconds how far the work is.
pub fn bar(length: u64, what: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(
        "{prefix} [{bar:30}] {pos}/{len} · {elapsed} elapsed, {eta} left · {wide_msg}",
    )
    .unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("=> "));
    bar.set_prefix(what.to_string());
    if !std::io::stderr().is_terminal() {
        say_from_time_to_time(bar.downgrade());
    }
    bar
}

/// Says how far a bar is until it is gone.
fn say_from_time_to_time(bar: WeakProgressBar) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(BETWEEN_LINES);
            let Some(bar) = bar.upgrade().filter(|bar| !bar.is_finished()) else {
                return;
            };
            let seconds = bar.elapsed().as_secs();
            let (done, all) = (bar.position(), bar.length().unwrap_or(0));
            let last = match bar.message() {
                message if message.is_empty() => String::new(),
                message => format!(", last {message}"),
            };
            // Without a unit that is done nothing is known of the others.
            let left = match (done, bar.eta().as_secs()) {
                (0, _) | (_, 0) => String::new(),
                (_, left) => format!(", about {left} s left"),
            };
            say!(
                "hps: {}: {done} of {all} done in {seconds} s{left}{last}",
                bar.prefix()
            );
        }
    });
}

/// Prints `text` when Ctrl-C interrupts the work, which then ends with exit code 130.
pub fn when_interrupted(text: String) {
    // Setting a handler fails if there is one already, or if the host has none; the work then just ends.
    let _ = ctrlc::set_handler(move || {
        say!("\nhps: {text}");
        std::process::exit(INTERRUPTED);
    });
}

/// 128 and the number of SIGINT.
const INTERRUPTED: i32 = 130;

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
