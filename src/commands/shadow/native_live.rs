//! The view of `--live`: shadows, overhead and hot functions while the program runs.
//!
//! On a terminal the view has the last lines for itself: the program's output scrolls above them, as beside apt's progress
//! bar. A bar that is drawn over the cursor's lines would wipe out what the program has written there.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::Mutex;

use hps_shadow_native::found::{Now, by_function};
use hps_shadow_native::{Request, View};

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
struct Live {
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
    fn new(is_on: bool, request: &Request<'_>) -> Live {
        let has_rows = std::io::stderr().is_terminal() && size().0 >= LOWEST;
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
    fn show(&self, now: &mut Now<'_>) {
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
                let (height, width) = size();
                if height >= LOWEST {
                    let lines = lines(now, self.most_overhead, FUNCTIONS);
                    write(&drawing(&lines, (height, width), *set));
                    *set = height;
                }
            }
        }
    }

    /// Takes the view away.
    fn clear(&self) {
        if let Ok(mut state) = self.state.lock() {
            if let State::Rows(set @ 1..) = *state {
                write(&clearing(set));
            }
            *state = State::Off;
        }
    }
}

/// Runs a request, with a view that is taken away behind it if `is_on`.
pub(super) fn watched<T>(
    is_on: bool,
    request: &Request<'_>,
    run: impl FnOnce(Request<'_>) -> T,
) -> T {
    let live = Live::new(is_on, request);
    let view = |now: &mut Now<'_>| live.show(now);
    let ran = run(Request {
        view: View(is_on.then_some(&view)),
        ..request.clone()
    });
    live.clear();
    ran
}

/// Rows and columns of the terminal; none if standard error is none.
fn size() -> (u16, u16) {
    let size = rustix::termios::tcgetwinsize(std::io::stderr());
    size.map_or((0, 0), |size| (size.ws_row, size.ws_col))
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
    let spent = (monitor.spent_ns + monitor.copied_ns) as f64 / 1e6;
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

/// What draws lines into the last rows of a terminal. `set`: its rows when they were set aside.
fn drawing(lines: &[String], (height, width): (u16, u16), set: u16) -> String {
    let mut text = String::new();
    if set != height {
        // Room below the cursor, which then stays above the view, in its column.
        text += &"\x1bD".repeat(LINES.into());
        text += &format!("\x1b[{LINES}A\x1b7\x1b[1;{}r\x1b8", height - LINES);
    }
    text += "\x1b7";
    let first = height - LINES + 1;
    for row in 0..LINES {
        let line = lines.get(usize::from(row)).map_or("", String::as_str);
        let line: String = harmless(line).chars().take(width.into()).collect();
        text += &format!("\x1b[{};1H\x1b[2K{line}", first + row);
    }
    text + "\x1b8"
}

/// What takes the view away.
fn clearing(set: u16) -> String {
    let mut text = "\x1b7\x1b[r".to_owned();
    for row in set - LINES + 1..=set {
        text += &format!("\x1b[{row};1H\x1b[2K");
    }
    text + "\x1b8"
}

/// In one call, so that what the program writes does not come between.
fn write(text: &str) {
    let mut error = std::io::stderr().lock();
    let _ = error.write_all(text.as_bytes());
    let _ = error.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A terminal that knows the sequences of the view, and what has scrolled away at its top.
    struct Terminal {
        rows: Vec<String>,
        gone: Vec<String>,
        bottom: usize,
        at: (usize, usize),
        saved: (usize, usize),
    }

    impl Terminal {
        fn new(height: usize) -> Terminal {
            Terminal {
                rows: vec![String::new(); height],
                gone: Vec::new(),
                bottom: height - 1,
                at: (0, 0),
                saved: (0, 0),
            }
        }

        fn down(&mut self) {
            if self.at.0 == self.bottom {
                self.gone.push(self.rows.remove(0));
                self.rows.insert(self.bottom, String::new());
            } else {
                self.at.0 += 1;
            }
        }

        fn sequence(&mut self, rest: &str) -> usize {
            let end = rest
                .find(|c: char| c.is_ascii_alphabetic())
                .expect("an end");
            let numbers: Vec<usize> = rest[..end]
                .split(';')
                .filter_map(|n| n.parse().ok())
                .collect();
            match &rest[end..=end] {
                "A" => self.at.0 -= numbers[0],
                "H" => self.at = (numbers[0] - 1, numbers[1] - 1),
                "K" => self.rows[self.at.0].clear(),
                "r" => {
                    self.bottom = numbers.get(1).map_or(self.rows.len(), |n| *n) - 1;
                    self.at = (0, 0);
                }
                other => panic!("{other}"),
            }
            end + 1
        }

        fn write(&mut self, text: &str) {
            let mut place = 0;
            while let Some(c) = text[place..].chars().next() {
                place += c.len_utf8();
                match (c, text[place..].chars().next()) {
                    ('\x1b', Some('[')) => place += 1 + self.sequence(&text[place + 1..]),
                    ('\x1b', Some('7')) => (self.saved, place) = (self.at, place + 1),
                    ('\x1b', Some('8')) => (self.at, place) = (self.saved, place + 1),
                    ('\x1b', Some('D')) => {
                        self.down();
                        place += 1;
                    }
                    ('\n', _) => {
                        self.at.1 = 0;
                        self.down();
                    }
                    _ => {
                        let row = &mut self.rows[self.at.0];
                        let mut cells: Vec<char> = row.chars().collect();
                        cells.resize(cells.len().max(self.at.1 + 1), ' ');
                        cells[self.at.1] = c;
                        *row = cells.into_iter().collect();
                        self.at.1 += 1;
                    }
                }
            }
        }
    }

    #[test]
    fn a_view_takes_no_line_of_the_programs_output() {
        for before in [0, 3, 19, 20, 40] {
            let mut terminal = Terminal::new(20);
            let mut written = Vec::new();
            let mut set = 0;
            for line in 0..before + 30 {
                terminal.write(&format!("line {line}: "));
                if line >= before && line % 4 == 0 {
                    let view: Vec<String> =
                        (0..5).map(|row| format!("view {row} of {line}")).collect();
                    terminal.write(&drawing(&view, (20, 40), set));
                    set = 20;
                    assert_eq!(terminal.rows[12], view[0]);
                    assert_eq!(terminal.rows[16], view[4]);
                }
                terminal.write("done\n");
                written.push(format!("line {line}: done"));
            }
            terminal.write(&clearing(20));
            terminal.write("the report");
            written.push("the report".to_owned());
            let mut seen = terminal.gone;
            seen.extend(terminal.rows);
            seen.retain(|line| !line.is_empty());
            assert_eq!(seen, written, "{before}");
        }
    }

    #[test]
    fn a_view_is_no_wider_than_its_terminal() {
        let text = drawing(&["x".repeat(100)], (16, 30), 16);
        assert!(text.contains(&"x".repeat(30)) && !text.contains(&"x".repeat(31)));
    }
}
