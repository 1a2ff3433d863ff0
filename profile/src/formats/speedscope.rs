//! Speedscope's file format (<https://www.speedscope.app/file-format-schema.json>).
//!
//! A profile for each column over all threads, the main one first, and the main column of each
//! thread where threads are told apart. Frames are functions; speedscope has no place for the line
//! of a call.
//!
//! Profiles are of opened and closed frames: each stack of functions is open once, for its own value
//! and those of its callees behind it. So a file grows with the number of stacks and not with their
//! depth.

use std::io::{self, Write};

use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::{Value, json};

use super::stack::{Identity, UNKNOWN, active};
use crate::symbolized::{Sample, SymbolizedProfile};

/// Writes the profile.
pub(super) fn write(profile: &SymbolizedProfile, output: &mut dyn Write) -> io::Result<()> {
    let mut frames = Frames::default();
    let mut tree = Tree::default();
    let stacks = profile.samples().iter();
    let stacks: Vec<usize> = stacks
        .map(|sample| tree.place(&frames.stack(profile, sample)))
        .collect();
    let rounded = profile.rounded();
    let columns = profile.columns().iter().enumerate();
    let mut profiles: Vec<Evented> = columns
        .map(|(place, column)| {
            let all = stacks.iter().zip(rounded.column(place).iter().copied());
            tree.evented(&column.name, &column.unit, all)
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
            profiles.push(tree.evented(&name, &profile.main_column().unit, own));
        }
    }
    let header = profile.header();
    let command = match header.command.is_empty() {
        true => &header.program,
        false => &header.command,
    };
    let notes = profile.notes().iter().map(|note| format!(" ({note})"));
    let document = Document {
        schema: "https://www.speedscope.app/file-format-schema.json",
        name: std::iter::once(command.clone()).chain(notes).collect(),
        exporter: format!("hps {}", header.version),
        active_profile_index: 0,
        shared: Shared { frames: frames.all },
        profiles,
    };
    serde_json::to_writer(&mut *output, &document)?;
    writeln!(output)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    #[serde(rename = "$schema")]
    schema: &'static str,
    name: String,
    exporter: String,
    active_profile_index: usize,
    shared: Shared,
    profiles: Vec<Evented>,
}

#[derive(Serialize)]
struct Shared {
    frames: Vec<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Evented {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    events: Vec<Event>,
}

/// A frame is opened or closed.
#[derive(Serialize)]
struct Event {
    #[serde(rename = "type")]
    kind: &'static str,
    frame: usize,
    at: u64,
}

/// The stacks of functions, each once. Callers come before what they call.
#[derive(Default)]
struct Tree {
    /// Caller and frame.
    stacks: Vec<(Option<usize>, usize)>,
    places: FxHashMap<(Option<usize>, usize), usize>,
}

impl Tree {
    /// The place of a stack of frames, outermost first.
    fn place(&mut self, frames: &[usize]) -> usize {
        let mut caller = None;
        for &frame in frames {
            let stacks = &mut self.stacks;
            caller = Some(*self.places.entry((caller, frame)).or_insert_with(|| {
                stacks.push((caller, frame));
                stacks.len() - 1
            }));
        }
        caller.unwrap_or_default()
    }

    /// The profile of values by stack.
    fn evented<'a>(
        &self,
        name: &str,
        unit: &str,
        values: impl Iterator<Item = (&'a usize, u64)>,
    ) -> Evented {
        let mut own = vec![0_u64; self.stacks.len()];
        for (&stack, value) in values {
            own[stack] = own[stack].saturating_add(value);
        }
        let mut whole = own.clone();
        let mut callees: Vec<Vec<usize>> = vec![Vec::new(); self.stacks.len()];
        let mut open: Vec<usize> = Vec::new();
        for (at, &(caller, _)) in self.stacks.iter().enumerate().rev() {
            if whole[at] == 0 {
                continue;
            }
            match caller {
                Some(caller) => {
                    whole[caller] = whole[caller].saturating_add(whole[at]);
                    callees[caller].push(at);
                }
                None => open.push(at),
            }
        }
        // Lists have their last stack first. A number behind the last one closes a stack.
        let close = self.stacks.len();
        let (mut events, mut at) = (Vec::new(), 0_u64);
        while let Some(next) = open.pop() {
            let (stack, is_end) = (next % close, next >= close);
            events.push(Event {
                kind: if is_end { "C" } else { "O" },
                frame: self.stacks[stack].1,
                at,
            });
            if !is_end {
                at = at.saturating_add(own[stack]);
                open.push(stack + close);
                open.append(&mut callees[stack]);
            }
        }
        Evented {
            kind: "evented",
            name: name.to_owned(),
            // Speedscope shows units that it does not know as plain numbers.
            unit: match unit {
                "nanoseconds" => "nanoseconds",
                "microseconds" => "microseconds",
                "milliseconds" => "milliseconds",
                "seconds" => "seconds",
                "bytes" => "bytes",
                _ => "none",
            },
            start_value: 0,
            end_value: at,
            events,
        }
    }
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
