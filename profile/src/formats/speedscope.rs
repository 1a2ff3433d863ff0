//! Speedscope's file format (<https://www.speedscope.app/file-format-schema.json>).
//!
//! A profile for each column over all threads, the main one first, and the main column of each
//! thread where threads are told apart. Frames are functions; speedscope has no place for the line
//! of a call.

use std::io::{self, Write};

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::stack::{Identity, UNKNOWN, active};
use crate::symbolized::{Sample, SymbolizedProfile};

/// Writes the profile.
pub(super) fn write(profile: &SymbolizedProfile, output: &mut dyn Write) -> io::Result<()> {
    let mut frames = Frames::default();
    let stacks = profile.samples().iter();
    let stacks: Vec<Vec<usize>> = stacks.map(|sample| frames.stack(profile, sample)).collect();
    let rounded = profile.rounded();
    let columns = profile.columns().iter().enumerate();
    let mut profiles: Vec<Value> = columns
        .map(|(place, column)| {
            let all = stacks.iter().zip(rounded.column(place).iter().copied());
            sampled(&column.name, &column.unit, all)
        })
        .collect();
    if profile.threads().len() > 1 {
        let of_threads = stacks.iter().zip(rounded.column(0)).zip(profile.samples());
        for (place, thread) in profile.threads().iter().enumerate() {
            let own = of_threads
                .clone()
                .filter(|(_, sample)| sample.thread.is_some_and(|id| id.index() == place))
                .map(|((stack, &value), _)| (stack, value));
            let name = format!("{} ({})", thread.name, thread.id);
            profiles.push(sampled(&name, &profile.main_column().unit, own));
        }
    }
    let header = profile.header();
    let document = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": if header.command.is_empty() { &header.program } else { &header.command },
        "exporter": format!("hps {}", header.version),
        "activeProfileIndex": 0,
        "shared": { "frames": frames.all },
        "profiles": profiles,
    });
    serde_json::to_writer(&mut *output, &document)?;
    writeln!(output)
}

#[derive(Default)]
struct Frames {
    all: Vec<Value>,
    places: FxHashMap<Option<Identity>, usize>,
}

impl Frames {
    /// The places of a sample's frames, outermost first, as speedscope wants them.
    fn stack(&mut self, profile: &SymbolizedProfile, sample: &Sample) -> Vec<usize> {
        let mut stack: Vec<usize> = active(profile, sample)
            .rev()
            .map(|active| self.place(profile, Some(active.identity())))
            .collect();
        if stack.is_empty() {
            stack.push(self.place(profile, None));
        }
        stack
    }

    fn place(&mut self, profile: &SymbolizedProfile, identity: Option<Identity>) -> usize {
        let all = &mut self.all;
        *self.places.entry(identity).or_insert_with(|| {
            all.push(match identity {
                Some(identity) => frame(profile, identity),
                None => json!({ "name": UNKNOWN }),
            });
            all.len() - 1
        })
    }
}

fn frame(profile: &SymbolizedProfile, identity: Identity) -> Value {
    let mut frame = json!({ "name": identity.name(profile) });
    let file = identity.file(profile);
    let file = if file.is_empty() {
        identity.module(profile)
    } else {
        file
    };
    if !file.is_empty() {
        frame["file"] = json!(file);
    }
    let (_, line) = identity.start(profile);
    if line > 0 {
        frame["line"] = json!(line);
    }
    frame
}

fn sampled<'a>(name: &str, unit: &str, all: impl Iterator<Item = (&'a Vec<usize>, u64)>) -> Value {
    let (stacks, weights): (Vec<_>, Vec<u64>) = all.filter(|&(_, value)| value > 0).unzip();
    // What speedscope does not know it shows as plain numbers.
    let unit = match unit {
        "nanoseconds" | "microseconds" | "milliseconds" | "seconds" | "bytes" => unit,
        _ => "none",
    };
    let total: u128 = weights.iter().copied().map(u128::from).sum();
    json!({
        "type": "sampled",
        "name": name,
        "unit": unit,
        "startValue": 0,
        // A JSON number for serde as well, whose integers end at 64 bits.
        "endValue": u64::try_from(total).unwrap_or(u64::MAX),
        "samples": stacks,
        "weights": weights,
    })
}
