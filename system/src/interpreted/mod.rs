//! Functions of interpreters: the frames that an interpreter has open, read from guest memory while a program runs.
//!
//! An interpreter executes many functions by one loop of native code. A [`Reader`] is told of each store that a program
//! commits. It watches the few words by which the interpreter says what it executes: which frame runs, and at which
//! instruction of the frame. A store to such a word is a [`Turn`] to another path of interpreted functions.
//!
//! An interpreter can be read if it exports a root of its state and describes the layout of what hangs there. [`KINDS`]
//! has one row for each.
//!
//! | interpreter | root | layout |
//! | --- | --- | --- |
//! | CPython 3.13 | `_PyRuntime` | `_Py_DebugOffsets` at its start |
//!
//! The guest is hostile: each pointer is read as any data of the guest, lengths are bounded, and a chain of frames that
//! does not end stops the reader with a note.

mod names;
mod python;
#[cfg(test)]
mod tests;

pub use names::{Function, Names, PathId, Place};

use hps_isa::memory::Memory;
use hps_isa::state::{SaveState, Saved, StateError, save_value};
use serde::{Deserialize, Serialize};

use crate::image::ProgramImage;
use crate::symbols::CodeWatch;

/// Stores between two looks at a root whose memory does not hold its data yet.
const STORES_BETWEEN_LOOKS: u32 = 4096;

/// A thread executes another interpreted function, or another line of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Address on the native stack inside the frame of the interpreter's loop that executes the function; 0 if it is not
    /// known.
    pub anchor: u64,
    /// Path of the functions around that activation of the loop.
    pub base: PathId,
    /// Path of all functions: `base`, and the functions that this activation executes.
    pub path: PathId,
}

/// A store of the program.
#[derive(Clone, Copy, Debug)]
pub struct Store {
    /// Address.
    pub addr: u64,
    /// Bytes.
    pub size: u8,
    /// Stored value, in as many low bytes.
    pub value: u64,
}

/// State of one interpreter of a program.
trait Interpreter: SaveState + std::fmt::Debug + Send + Sync {
    /// Place of its kind in [`KINDS`].
    fn kind(&self) -> usize;

    /// Name and version.
    fn name(&self) -> String;

    /// A store has reached `memory`. `Err` has the reason for which the interpreter is not read any more.
    fn stored(
        &mut self,
        store: Store,
        memory: &Memory,
        names: &mut Names,
    ) -> Result<Option<Turn>, String>;

    fn boxed_clone(&self) -> Box<dyn Interpreter>;
}

impl Clone for Box<dyn Interpreter> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

/// State of an interpreter where its root has been found.
enum Opened {
    /// The memory of the root is not there yet.
    Absent,
    /// The root is that of a version that cannot be read, for this reason.
    Refused(String),
    Read(Box<dyn Interpreter>),
}

/// A kind of interpreter.
struct Kind {
    /// Exported name of the root.
    root: &'static str,
    open: fn(u64, &Memory) -> Opened,
    /// An interpreter that takes its state from bytes next.
    blank: fn() -> Box<dyn Interpreter>,
}

/// All kinds of interpreters.
const KINDS: [Kind; 1] = [Kind {
    root: "_PyRuntime",
    open: python::open,
    blank: python::blank,
}];

/// Whether a program may run an interpreter that can be read. A program without a loader has all of its code in its file.
#[must_use]
pub fn may_be_read(image: &ProgramImage) -> bool {
    let mut roots = KINDS.iter().map(|kind| kind.root);
    image.interpreter.is_some() || roots.any(|root| image.symbols.address_of(root).is_some())
}

/// Reads the interpreters of one program.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    /// Tells of the code of the program; `None` if nothing is read.
    code: Option<CodeWatch>,
    /// Places in [`KINDS`] and addresses of roots that were found and not opened.
    found: Vec<(usize, u64)>,
    /// Addresses of roots that were opened or refused.
    opened: Vec<u64>,
    interpreters: Vec<Box<dyn Interpreter>>,
    stores: u32,
    read: Interpreted,
}

/// The interpreters of a run, and the functions that they have executed.
#[derive(Clone, Debug, Default)]
pub struct Interpreted {
    /// Names and versions of the interpreters.
    pub interpreters: Vec<String>,
    /// Functions, places in them, and paths.
    pub names: Names,
    /// Sentences on interpreters that could not be read.
    pub notes: Vec<String>,
}

hps_isa::save_state! { Interpreted { interpreters, names, notes } }

impl SaveState for Reader {
    fn save_to(&self, to: &mut Vec<u8>) {
        let Reader {
            code,
            found,
            opened,
            interpreters,
            stores,
            read,
        } = self;
        code.save_to(to);
        save_value(&(found, opened, stores), to);
        read.save_to(to);
        save_value(&interpreters.len(), to);
        for interpreter in interpreters {
            save_value(&interpreter.kind(), to);
            interpreter.save_to(to);
        }
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        self.code.restore_from(from)?;
        (self.found, self.opened, self.stores) = from.value()?;
        self.read.restore_from(from)?;
        self.interpreters.clear();
        for _ in 0..from.value::<usize>()? {
            let kind = KINDS.get(from.value::<usize>()?);
            let mut interpreter = (kind.ok_or(StateError::Malformed)?.blank)();
            interpreter.restore_from(from)?;
            self.interpreters.push(interpreter);
        }
        Ok(())
    }
}

impl Reader {
    /// A reader for the program whose code `code` tells of.
    #[must_use]
    pub fn new(code: CodeWatch) -> Reader {
        Reader {
            code: Some(code),
            ..Reader::default()
        }
    }

    /// Whether the reader is of a program, and so wants its stores.
    #[must_use]
    pub fn is_reading(&self) -> bool {
        self.code.is_some()
    }

    /// The names that turns speak of.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.read.names
    }

    /// The interpreters of a run that is over.
    #[must_use]
    pub fn finish(self) -> Interpreted {
        self.read
    }

    /// A store of the program has reached its memory.
    #[inline]
    pub fn stored(&mut self, store: Store, memory: &Memory) -> Option<Turn> {
        let code = self.code.as_ref()?;
        if code.is_changed() || !self.found.is_empty() {
            self.look(memory);
        }
        if self.interpreters.is_empty() {
            return None;
        }
        self.pass_on(store, memory)
    }

    fn pass_on(&mut self, store: Store, memory: &Memory) -> Option<Turn> {
        let mut turned = None;
        let Interpreted { names, notes, .. } = &mut self.read;
        self.interpreters.retain_mut(|interpreter| {
            match interpreter.stored(store, memory, names) {
                Ok(turn) => {
                    turned = turn.or(turned);
                    true
                }
                Err(reason) => {
                    notes.push(format!("{}: {reason}", interpreter.name()));
                    false
                }
            }
        });
        turned
    }

    /// Looks for roots in code that is new, and at roots that were found.
    #[cold]
    #[inline(never)]
    fn look(&mut self, memory: &Memory) {
        self.stores += 1;
        let news = self.code.as_mut().and_then(CodeWatch::news);
        if let Some(symbols) = &news {
            for (kind, root) in KINDS.iter().map(|kind| kind.root).enumerate() {
                let Some(addr) = symbols.address_of(root) else {
                    continue;
                };
                let known = self.found.iter().map(|(_, addr)| addr);
                if known.chain(&self.opened).all(|known| *known != addr) {
                    self.found.push((kind, addr));
                }
            }
        }
        if news.is_some() || self.stores.is_multiple_of(STORES_BETWEEN_LOOKS) {
            self.open_found(memory);
        }
    }

    fn open_found(&mut self, memory: &Memory) {
        for (kind, addr) in std::mem::take(&mut self.found) {
            match (KINDS[kind].open)(addr, memory) {
                Opened::Absent => {
                    self.found.push((kind, addr));
                    continue;
                }
                Opened::Refused(reason) => self.read.notes.push(reason),
                Opened::Read(interpreter) => {
                    self.read.interpreters.push(interpreter.name());
                    self.interpreters.push(interpreter);
                }
            }
            self.opened.push(addr);
        }
    }
}
