//! The text that `perf script` prints, an event for each stack, its value as the period.
//!
//! The main column alone, or all of them: events then come by column, the main one first, since readers take the first
//! event that they meet. Each event holds its whole stack, so that all columns make the text as many times longer.
//! Time is the sum of the periods so far at the profile's clock. An instruction of DISE has the
//! address of its trigger.

use std::io::{self, Write};

use super::stack::{Active, UNKNOWN, active, cycle_ns, one_line, origin};
use crate::symbolized::{Sample, SymbolizedProfile};

/// Writes the main column of the profile.
pub(super) fn write(profile: &SymbolizedProfile, output: &mut dyn Write) -> io::Result<()> {
    write_columns(profile, 1, output)
}

/// Writes all columns of the profile.
pub(super) fn write_all(profile: &SymbolizedProfile, output: &mut dyn Write) -> io::Result<()> {
    write_columns(profile, profile.columns().len(), output)
}

fn write_columns(
    profile: &SymbolizedProfile,
    count: usize,
    output: &mut dyn Write,
) -> io::Result<()> {
    for line in origin(profile) {
        writeln!(output, "# {line}")?;
    }
    let rounded = profile.rounded();
    for (place, column) in profile.columns().iter().enumerate().take(count) {
        let event = event(&column.name);
        let mut passed = 0_u128;
        for (sample, &value) in profile.samples().iter().zip(rounded.column(place)) {
            if value > 0 {
                let seconds = passed as f64 * cycle_ns(profile) / 1e9;
                let task = task(profile, sample);
                writeln!(output, "{task} {seconds:.9}: {value} {event}: ")?;
                stack(profile, sample, output)?;
                writeln!(output)?;
                passed += u128::from(value);
            }
        }
    }
    Ok(())
}

/// Name, process and thread, as `name 1/2 [000]`.
fn task(profile: &SymbolizedProfile, sample: &Sample) -> String {
    let thread = sample.thread.map(|id| &profile.threads()[id.index()]);
    let name = match thread {
        Some(thread) if !thread.name.is_empty() => &thread.name,
        _ => &profile.header().program,
    };
    // Readers find the numbers behind the first space, and take a line with # for a comment.
    let breaks = |letter: char| letter.is_whitespace() || letter == '#';
    let name: String = one_line(name)
        .chars()
        .map(|letter| if breaks(letter) { '_' } else { letter })
        .collect();
    let name = if name.is_empty() { "program" } else { &name };
    format!("{name} 1/{} [000]", thread.map_or(1, |thread| thread.id))
}

fn event(name: &str) -> String {
    name.chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '_'
            }
        })
        .collect()
}

fn stack(profile: &SymbolizedProfile, sample: &Sample, output: &mut dyn Write) -> io::Result<()> {
    let mut any = false;
    for frame in active(profile, sample) {
        any = true;
        writeln!(output, "{}", line(profile, &frame))?;
    }
    if !any {
        writeln!(output, "\t{:16x} {UNKNOWN} ([unknown])", 0)?;
    }
    Ok(())
}

fn line(profile: &SymbolizedProfile, frame: &Active) -> String {
    let identity = frame.identity();
    let address = profile.location(frame.location).address;
    let module = match one_line(identity.module(profile)) {
        module if module.is_empty() => "[unknown]".to_owned(),
        module => module,
    };
    if frame.frame.is_none() {
        return format!("\t{address:16x} [unknown] ({module})");
    }
    let name = one_line(&identity.name(profile));
    if frame.inlined {
        return format!("\t{address:16x} {name} (inlined)");
    }
    let (entry, _) = identity.start(profile);
    match address.checked_sub(entry) {
        Some(offset) if entry > 0 => format!("\t{address:16x} {name}+{offset:#x} ({module})"),
        _ => format!("\t{address:16x} {name} ({module})"),
    }
}
