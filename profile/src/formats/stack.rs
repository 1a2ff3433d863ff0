//! Helpers that the writers share: frames of a stack, names, and tables of texts.

use rustc_hash::FxHashMap;

use crate::symbolized::{Frame, FunctionId, LocationId, Sample, SymbolizedProfile};

/// The name of a stack without frames.
pub(super) const UNKNOWN: &str = "(unknown)";

/// A function that is active in a sample, or an address of which no function is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Active {
    /// Where.
    pub location: LocationId,
    /// The function and its line; `None` if the location has no frames.
    pub frame: Option<Frame>,
    /// Whether the function is inlined into the next one.
    pub inlined: bool,
}

/// Identity of a frame's function: the function, or the location if no function is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Identity {
    Function(FunctionId),
    Location(LocationId),
}

impl Active {
    pub fn identity(&self) -> Identity {
        match self.frame {
            Some(frame) => Identity::Function(frame.function),
            None => Identity::Location(self.location),
        }
    }
}

impl Identity {
    /// The name for people: the function's, or an address.
    pub fn name(self, profile: &SymbolizedProfile) -> String {
        match self {
            Self::Function(id) => profile.function(id).label(),
            Self::Location(id) => profile.location(id).label(),
        }
    }

    /// The source file, empty if unknown.
    pub fn file(self, profile: &SymbolizedProfile) -> &str {
        match self {
            Self::Function(id) => &profile.function(id).file,
            Self::Location(_) => "",
        }
    }

    /// The file that holds the code: the function's module, or the program.
    pub fn module(self, profile: &SymbolizedProfile) -> &str {
        match self {
            Self::Function(id) if !profile.function(id).module.is_empty() => {
                &profile.function(id).module
            }
            _ => &profile.header().program,
        }
    }

    /// The address of the first instruction, and the line of the declaration.
    pub fn start(self, profile: &SymbolizedProfile) -> (u64, u32) {
        match self {
            Self::Function(id) => (profile.function(id).entry, profile.function(id).line),
            Self::Location(id) => (profile.location(id).address, 0),
        }
    }
}

/// All frames of a sample, innermost first, inlined ones included.
pub(super) fn active(
    profile: &SymbolizedProfile,
    sample: &Sample,
) -> impl DoubleEndedIterator<Item = Active> {
    let places = sample.stack.iter().copied();
    places.flat_map(|location| frames_of(profile, location))
}

/// The frames of a location, innermost first; one without a function if nothing is known.
pub(super) fn frames_of(profile: &SymbolizedProfile, location: LocationId) -> Vec<Active> {
    let frames = &profile.location(location).frames;
    let last = frames.len().saturating_sub(1);
    if frames.is_empty() {
        return vec![Active {
            location,
            frame: None,
            inlined: false,
        }];
    }
    let of = |(place, frame): (usize, &Frame)| Active {
        location,
        frame: Some(*frame),
        inlined: place < last,
    };
    frames.iter().enumerate().map(of).collect()
}

/// The names of a sample's frames, outermost first; [`UNKNOWN`] for an empty stack.
pub(super) fn names(profile: &SymbolizedProfile, sample: &Sample) -> Vec<String> {
    let mut names: Vec<String> = active(profile, sample)
        .rev()
        .map(|active| one_line(&active.identity().name(profile)))
        .collect();
    if names.is_empty() {
        names.push(UNKNOWN.to_owned());
    }
    names
}

/// The text with whatever would end a line replaced by `?`.
pub(super) fn one_line(text: &str) -> String {
    let breaks = |letter: char| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}');
    text.chars()
        .map(|letter| if breaks(letter) { '?' } else { letter })
        .collect()
}

/// Each text once, by number.
#[derive(Debug, Default)]
pub(super) struct Texts {
    all: Vec<String>,
    places: FxHashMap<String, usize>,
}

impl Texts {
    pub fn place(&mut self, text: &str) -> usize {
        if let Some(&place) = self.places.get(text) {
            return place;
        }
        self.all.push(text.to_owned());
        self.places.insert(text.to_owned(), self.all.len() - 1);
        self.all.len() - 1
    }

    pub fn into_all(self) -> Vec<String> {
        self.all
    }
}

/// Known facts about a profile's origin, `name: value` each.
pub(super) fn origin(profile: &SymbolizedProfile) -> Vec<String> {
    let header = profile.header();
    let mut known: Vec<String> = [
        ("program", &header.program),
        ("program hash", &header.program_hash),
        ("hps version", &header.version),
        ("machine", &header.machine),
        ("core", &header.core),
        ("command", &header.command),
    ]
    .into_iter()
    .filter(|(_, value)| !value.is_empty())
    .map(|(name, value)| format!("{name}: {}", one_line(value)))
    .collect();
    known.extend(header.clock_mhz.map(|clock| format!("clock: {clock} MHz")));
    let notes = profile.notes().iter();
    known.extend(notes.map(|note| format!("note: {}", one_line(note))));
    known
}

/// Nanoseconds of a cycle: 1 if the clock is not known.
pub(super) fn cycle_ns(profile: &SymbolizedProfile) -> f64 {
    match profile.header().clock_mhz {
        Some(clock) if clock.is_finite() && clock > 0.0 => 1e3 / clock,
        _ => 1.0,
    }
}
