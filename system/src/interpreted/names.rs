//! Functions of interpreters, places in them, and paths of places.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Functions, places and paths that are told apart. Others have the number 0, or the path around them.
const MOST: usize = 1 << 22;

/// A function of a program that an interpreter executes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Function {
    /// Name, with the classes and functions around it.
    pub name: String,
    /// Source file, as the program names it.
    pub file: String,
    /// Line of its definition; 0 if it is not known.
    pub first_line: u32,
}

/// A line of a function.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Place {
    /// Place of the function in [`Names::functions`].
    pub function: u32,
    /// Line; 0 if the interpreter has none for what it executes.
    pub line: u32,
}

/// A path of interpreted functions, the innermost at a line, the others at the line of the call.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct PathId(u32);

impl PathId {
    /// No interpreted function is executed.
    pub const EMPTY: PathId = PathId(0);
}

/// The functions that interpreters of a run have executed, and the paths on which they did.
#[derive(Clone, Debug, Default)]
pub struct Names {
    functions: Vec<Function>,
    calls: Vec<u64>,
    known_functions: FxHashMap<Function, u32>,
    places: Vec<Place>,
    known_places: FxHashMap<Place, u32>,
    /// The path around each path but the empty one, and the number of the place at its end.
    paths: Vec<(PathId, u32)>,
    known_paths: FxHashMap<(PathId, u32), PathId>,
}

hps_isa::save_state! {
    Names {
        functions, calls, known_functions, places, known_places, paths, known_paths,
    }
}

impl Names {
    /// The functions, in the order in which they were executed first.
    #[must_use]
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// How often a function was entered. A generator is entered each time it goes on.
    #[must_use]
    pub fn calls(&self, function: u32) -> u64 {
        self.calls.get(function as usize).copied().unwrap_or(0)
    }

    /// A place by its number.
    ///
    /// # Panics
    /// There is no place of this number.
    #[must_use]
    pub fn place(&self, number: u32) -> Place {
        self.places[number as usize]
    }

    /// Numbers of the places of a path beyond `base`, the outermost first.
    #[must_use]
    pub fn places_behind(&self, base: PathId, path: PathId) -> Vec<u32> {
        let mut places = Vec::new();
        let mut at = path;
        while at != base && at != PathId::EMPTY {
            let (around, place) = self.paths[at.0 as usize - 1];
            places.push(place);
            at = around;
        }
        places.reverse();
        places
    }

    pub(super) fn count_call(&mut self, function: u32) {
        if let Some(calls) = self.calls.get_mut(function as usize) {
            *calls += 1;
        }
    }

    /// The number of a function.
    pub(super) fn function(&mut self, function: Function) -> u32 {
        if let Some(&known) = self.known_functions.get(&function) {
            return known;
        }
        if self.functions.len() >= MOST {
            return 0;
        }
        let number = self.functions.len() as u32;
        self.known_functions.insert(function.clone(), number);
        self.functions.push(function);
        self.calls.push(0);
        number
    }

    /// The path that goes on from `around` to a place.
    pub(super) fn path(&mut self, around: PathId, place: Place) -> PathId {
        let place = self.number_of(place);
        let next = PathId(self.paths.len() as u32 + 1);
        if let Some(&known) = self.known_paths.get(&(around, place)) {
            return known;
        }
        if self.paths.len() >= MOST {
            return around;
        }
        self.known_paths.insert((around, place), next);
        self.paths.push((around, place));
        next
    }

    fn number_of(&mut self, place: Place) -> u32 {
        if let Some(&known) = self.known_places.get(&place) {
            return known;
        }
        if self.places.len() >= MOST {
            return 0;
        }
        let number = self.places.len() as u32;
        self.known_places.insert(place, number);
        self.places.push(place);
        number
    }
}
