//! The view of `--live`: shadows, overhead and hot functions while the program runs.
//!
//! On a terminal the view has the last lines for itself: the program's output scrolls above them, as beside apt's progress
//! bar. A bar that is drawn over the cursor's lines would wipe out what the program has written there.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::Mutex;

use hps_shadow_native::Request;
use hps_shadow_native::found::{Now, by_function};

use crate::text::{grouped, harmless};

/// Lines of the view.
const LINES: u16 = 8;
/// Hot functions that it names.
const FUNCTIONS: usize = LINES as usize - 3;
/// Seconds between two lines where there is no terminal.
const BETWEEN_LINES: u64 = 10;
/// Rows of a terminal that is too low for a view.
const LOWEST: u16 = 2 * LINES;

/// The view.
pub(super) struct Live {
    most_overhead: Option<f64>,
    state: Mutex<State>,
}

/// How it is drawn.
enum State {
    /// Not at all.
    Off,
    /// As lines; when the next one is due, in seconds from the start.
    Lines(u64),
    /// In the last rows of a terminal with these rows, 0 before they are set aside.
    Rows(u16),
}

impl Live {
    /// A view of a session; draws nothing unless `is_on`.
    pub(super) fn new(is_on: bool, request: &Request<'_>) -> Live {
        let has_rows = std::io::stderr().is_terminal() && rows() >= LOWEST;
        let state = match (is_on, has_rows) {
            (false, _) => State::Off,
            (true, true) => State::Rows(0),
            (true, false) => State::Lines(BETWEEN_LINES),
        };
        Live {
            most_overhead: request.most_overhead,
            state: Mutex::new(state),
        }
    }

    /// Draws the session as it is now.
    pub(super) fn show(&self, now: &mut Now<'_>) {
        let Ok(mut state) = self.state.lock() else {
            return;
        };
        match &mut *state {
            State::Off => {}
            State::Lines(due) => {
                if now.elapsed.as_secs() >= *due {
                    *due = now.elapsed.as_secs() + BETWEEN_LINES;
                    let lines = lines(now, self.most_overhead, 1);
                    say!("hps: {}", lines.join("; "));
                }
            }
            State::Rows(set) => {
                let height = rows();
                if height >= LOWEST {
                    draw(&lines(now, self.most_overhead, FUNCTIONS), height, *set);
                    *set = height;
                }
            }
        }
    }

    /// Takes the view away.
    pub(super) fn clear(&self) {
        if let Ok(mut state) = self.state.lock() {
            if let State::Rows(set @ 1..) = *state {
                let mut text = "\x1b7\x1b[r".to_owned();
                for row in set - LINES + 1..=set {
                    text += &format!("\x1b[{row};1H\x1b[2K");
                }
                write(&(text + "\x1b8"));
            }
            *state = State::Off;
        }
    }
}

/// Rows of the terminal; 0 if standard error is none.
fn rows() -> u16 {
    rustix::termios::tcgetwinsize(std::io::stderr()).map_or(0, |size| size.ws_row)
}

/// The view's texts: time and shadows, endings, overhead, and `top` hot functions.
fn lines(now: &mut Now<'_>, most_overhead: Option<f64>, top: usize) -> Vec<String> {
    let monitor = &now.monitor;
    let mut endings = BTreeMap::new();
    for shadow in &now.found.shadows {
        *endings.entry(shadow.end()).or_insert(0_u64) += 1;
    }
    let endings: Vec<String> = endings
        .into_iter()
        .map(|(end, count)| format!("{} {end}", grouped(count)))
        .collect();
    let spent = (monitor.monitor_ns + monitor.copied_ns) as f64 / 1e6;
    let budget = match most_overhead {
        Some(share) => {
            let earned = now.cpu.as_secs_f64() * share * 1e3;
            format!(
                "spent {spent:.1} ms of {earned:.1} ms earned, {} forks left out",
                grouped(monitor.spared)
            )
        }
        None => format!("monitor and forks {spent:.1} ms"),
    };
    let mut lines = vec![
        format!(
            "{} s: {} shadows alive, {} ended",
            now.elapsed.as_secs(),
            now.alive,
            grouped(now.found.shadows.len() as u64)
        ),
        format!(
            "ended: {}",
            if endings.is_empty() {
                "none yet".to_owned()
            } else {
                endings.join(", ")
            }
        ),
        budget,
    ];
    let total = now.found.profiles.instructions().max(1);
    let functions = by_function(&now.found.profiles.blocks, &mut now.found.symbols);
    for (name, instructions) in functions.into_iter().take(top) {
        let share = 100.0 * instructions as f64 / total as f64;
        lines.push(format!("{share:5.1}%  {name}").trim_start().to_owned());
    }
    lines
}

/// Draws lines into the last rows. `set`: the terminal's rows when they were set aside.
fn draw(lines: &[String], height: u16, set: u16) {
    let mut text = String::new();
    if set != height {
        // Room below the cursor, which then stays above the view.
        text += &"\n".repeat(LINES.into());
        text += &format!("\x1b[{LINES}A\x1b7\x1b[1;{}r\x1b8", height - LINES);
    }
    text += "\x1b7";
    let width = rustix::termios::tcgetwinsize(std::io::stderr()).map_or(80, |size| size.ws_col);
    let first = height - LINES + 1;
    for row in 0..LINES {
        let line = lines.get(usize::from(row)).map_or("", String::as_str);
        let line: String = harmless(line).chars().take(width.into()).collect();
        text += &format!("\x1b[{};1H\x1b[2K{line}", first + row);
    }
    write(&(text + "\x1b8"));
}

/// In one call, so that what the program writes does not come between.
fn write(text: &str) {
    let mut error = std::io::stderr().lock();
    let _ = error.write_all(text.as_bytes());
    let _ = error.flush();
}
