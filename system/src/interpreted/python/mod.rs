//! CPython: threads, their frames, and the instruction that each frame executes.
//!
//! The state of a thread has a word that names the frame which runs. The frame names the frame around it, its code object,
//! and the instruction that it executes; the loop of the interpreter stores the last one at each instruction of bytecode.
//! The reader watches these two words of each thread. A return is known when the first word is stored. A new frame is not
//! complete at that time (compilers reorder the stores), so that it is read when it stores its first instruction.
//!
//! The loop puts a frame of its own on the native stack for each activation, of which the outermost interpreted frame is
//! the callee. It says which native frame belongs to which interpreted ones.

mod objects;
mod offsets;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use self::objects::Codes;
#[cfg(test)]
pub(super) use self::objects::lines_of;
use hps_isa::memory::Memory;

use self::offsets::{Offsets, Unusable};
use super::names::{Names, PathId, Place};
use super::{Interpreter, Opened, Store, Turn};

/// `owner` of a frame that the loop has put on the native stack.
const OWNED_BY_NATIVE_STACK: u64 = 3;
/// Interpreters and threads that are read.
const MOST_THREADS: usize = 4096;
/// Frames of a thread that are told apart. Deeper ones belong to the function at that depth.
const MOST_FRAMES: usize = 1 << 18;
/// Frames that a call adds: its own and that of the loop.
const FEW_STEPS: usize = 2;
/// Frames that are read in a run beyond those that calls add. A chain without end takes all of them.
const MOST_STEPS: u64 = 1 << 26;

/// Opens the interpreter whose runtime state lies at an address.
pub(super) fn open(runtime: u64, memory: &Memory) -> Opened {
    let hint = "run the script with CPython 3.13";
    match Offsets::read(runtime, memory) {
        Ok(offsets) => Opened::Read(Box::new(Python::new(runtime, offsets, memory))),
        Err(Unusable::Absent) => Opened::Absent,
        Err(Unusable::Missing) => Opened::Refused(format!(
            "the program's CPython describes its state in no table, as 3.13 is the first to do: its functions have no \
             names; {hint}"
        )),
        Err(Unusable::Version(version)) => Opened::Refused(format!(
            "the state of CPython {} is not known here: its functions have no names; {hint}",
            version_name(version)
        )),
        Err(Unusable::FreeThreaded) => Opened::Refused(format!(
            "the program's CPython runs without its global lock: its functions have no names; {hint} as it is built by \
             default"
        )),
        Err(Unusable::Damaged) => Opened::Refused(
            "the table of offsets of the program's CPython is damaged: its functions have no names"
                .to_owned(),
        ),
    }
}

/// An interpreter without a state.
pub(super) fn blank() -> Box<dyn Interpreter> {
    Box::new(Python::default())
}

/// `PY_VERSION_HEX` as text.
fn version_name(version: u64) -> String {
    let byte = |shift: u32| version >> shift & 0xff;
    format!("{}.{}.{}", byte(24), byte(16), byte(8))
}

/// A word that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Word {
    /// A link of the lists of interpreters and threads.
    Link,
    /// The frame that the thread at this place runs.
    Frame(usize),
    /// The instruction of that frame.
    Instruction(usize),
}

/// A frame that has not ended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Frame {
    addr: u64,
    /// Code object, or what stands for it in a frame of the loop.
    executable: u64,
    /// Path of the functions up to this frame, and that of the frames around it.
    path: PathId,
    around: PathId,
    /// The frame of the loop that is nearest, and the path around that one.
    anchor: u64,
    base: PathId,
}

impl Frame {
    /// Stands for the frame around the outermost one.
    const NONE: Frame = Frame {
        addr: 0,
        executable: 0,
        path: PathId::EMPTY,
        around: PathId::EMPTY,
        anchor: 0,
        base: PathId::EMPTY,
    };

    fn turn(&self) -> Turn {
        Turn {
            anchor: self.anchor,
            base: self.base,
            path: self.path,
        }
    }
}

/// A thread of an interpreter.
#[derive(Clone, Debug, Default)]
struct Thread {
    /// The outermost frame first.
    frames: Vec<Frame>,
    /// The place of each in `frames`.
    places: FxHashMap<u64, usize>,
    /// The frame that runs, until its first instruction shows that it is complete.
    begun: Option<u64>,
    /// The word of its instruction that is watched; 0: none.
    watched: u64,
}

hps_isa::save_state! { Thread { frames, places, begun, watched } }

impl Thread {
    fn last(&self) -> Frame {
        self.frames.last().copied().unwrap_or(Frame::NONE)
    }

    fn truncate(&mut self, count: usize) {
        for frame in self.frames.drain(count..) {
            self.places.remove(&frame.addr);
        }
    }
}

/// The state of CPython in a program.
#[derive(Clone, Debug, Default)]
struct Python {
    of: Offsets,
    runtime: u64,
    words: FxHashMap<u64, Word>,
    threads: Vec<Thread>,
    codes: Codes,
    steps: u64,
}

hps_isa::save_state! { Python { of, runtime, words, threads: list, codes, steps } }

impl Interpreter for Python {
    fn kind(&self) -> usize {
        0
    }

    fn name(&self) -> String {
        format!("CPython {}", version_name(self.of.version))
    }

    #[inline]
    fn stored(
        &mut self,
        store: Store,
        memory: &Memory,
        names: &mut Names,
    ) -> Result<Option<Turn>, String> {
        let Some(&word) = self.words.get(&store.addr) else {
            return Ok(None);
        };
        match word {
            _ if store.size != 8 => Ok(None),
            Word::Link => {
                self.list(memory);
                Ok(None)
            }
            Word::Frame(thread) => Ok(self.turn_to(thread, store.value)),
            Word::Instruction(thread) => self.execute(thread, store.value, memory, names),
        }
    }

    fn boxed_clone(&self) -> Box<dyn Interpreter> {
        Box::new(self.clone())
    }
}

impl Python {
    fn new(runtime: u64, of: Offsets, memory: &Memory) -> Python {
        let mut python = Python {
            of,
            runtime,
            words: FxHashMap::default(),
            threads: Vec::new(),
            codes: Codes::default(),
            steps: 0,
        };
        python.list(memory);
        python
    }

    /// Lists all threads of all interpreters.
    fn list(&mut self, memory: &Memory) {
        let of = self.of;
        let mut before: FxHashMap<u64, Thread> = FxHashMap::default();
        for (&addr, &word) in &self.words {
            if let Word::Frame(at) = word {
                before.insert(addr, std::mem::take(&mut self.threads[at]));
            }
        }
        self.words.clear();
        self.threads.clear();
        let mut seen: FxHashSet<u64> = FxHashSet::default();
        let mut link = self.runtime.wrapping_add(of.runtime_interpreters);
        while let Some(interpreter) = self.follow(link, memory, &mut seen) {
            let mut thread_link = interpreter.wrapping_add(of.interpreter_threads);
            while let Some(thread) = self.follow(thread_link, memory, &mut seen) {
                self.add_thread(thread, &mut before, memory);
                thread_link = thread.wrapping_add(of.thread_next);
            }
            link = interpreter.wrapping_add(of.interpreter_next);
        }
    }

    /// The structure that a link leads to, unless it ends a list.
    fn follow(&mut self, link: u64, memory: &Memory, seen: &mut FxHashSet<u64>) -> Option<u64> {
        self.words.insert(link, Word::Link);
        let next = memory.read::<8>(link).ok().filter(|next| *next != 0)?;
        (seen.len() < MOST_THREADS && seen.insert(next)).then_some(next)
    }

    fn add_thread(&mut self, addr: u64, before: &mut FxHashMap<u64, Thread>, memory: &Memory) {
        let word = addr.wrapping_add(self.of.thread_frame);
        let thread = self.threads.len();
        self.words.insert(word, Word::Frame(thread));
        match before.remove(&word) {
            Some(known) => {
                if known.watched != 0 {
                    self.words.insert(known.watched, Word::Instruction(thread));
                }
                self.threads.push(known);
            }
            None => {
                self.threads.push(Thread::default());
                // The thread may have run before anybody watched.
                if let Ok(frame) = memory.read::<8>(word) {
                    self.turn_to(thread, frame);
                }
            }
        }
    }

    /// A thread runs another frame.
    fn turn_to(&mut self, at: usize, frame: u64) -> Option<Turn> {
        let of = self.of;
        let thread = &mut self.threads[at];
        let known = thread.places.get(&frame).copied();
        let turn = known.map(|place| {
            thread.truncate(place + 1);
            thread.last().turn()
        });
        if frame == 0 {
            thread.truncate(0);
        }
        thread.begun = Some(frame).filter(|frame| *frame != 0);
        let word = match frame {
            0 => 0,
            _ => frame.wrapping_add(of.frame_instruction),
        };
        let watched = std::mem::replace(&mut thread.watched, word);
        if watched != word {
            if self.words.get(&watched) == Some(&Word::Instruction(at)) {
                self.words.remove(&watched);
            }
            if word != 0 {
                self.words.entry(word).or_insert(Word::Instruction(at));
            }
        }
        turn
    }

    /// The frame that a thread runs executes an instruction.
    fn execute(
        &mut self,
        at: usize,
        instruction: u64,
        memory: &Memory,
        names: &mut Names,
    ) -> Result<Option<Turn>, String> {
        let is_new = match self.threads[at].begun.take() {
            Some(frame) => self.read(at, frame, memory, names)?,
            None => false,
        };
        let thread = &mut self.threads[at];
        let watched = thread.watched;
        let Some(frame) = thread.frames.last_mut() else {
            return Ok(None);
        };
        if frame.addr.wrapping_add(self.of.frame_instruction) != watched {
            // The frame lies too deep to be told apart.
            return Ok(is_new.then(|| frame.turn()));
        }
        let code = self.codes.known(frame.executable);
        let Some((function, line)) = code.map(|code| (code.function, code.line(instruction)))
        else {
            return Ok(is_new.then(|| frame.turn()));
        };
        if is_new {
            names.count_call(function);
        }
        let path = names.path(frame.around, Place { function, line });
        let is_elsewhere = std::mem::replace(&mut frame.path, path) != path;
        Ok((is_new || is_elsewhere).then(|| frame.turn()))
    }

    /// Reads a frame that is complete, and the frames around it that are not known. Returns false if the frame was known.
    fn read(
        &mut self,
        at: usize,
        frame: u64,
        memory: &Memory,
        names: &mut Names,
    ) -> Result<bool, String> {
        let of = self.of;
        let word =
            |addr: u64, offset: u64| memory.read::<8>(addr.wrapping_add(offset)).unwrap_or(0);
        let is_there = |known: &Frame| known.executable == word(known.addr, of.frame_executable);
        let mut fresh = Vec::new();
        let mut next = frame;
        // A chain that comes back to a frame comes back to one whose number is a power of two.
        let mut turning_point = 0;
        let mut known = 0;
        while next != 0 {
            let thread = &self.threads[at];
            if let Some(&place) = thread.places.get(&next)
                && is_there(&thread.frames[place])
            {
                known = place + 1;
                break;
            }
            self.steps += u64::from(fresh.len() >= FEW_STEPS);
            if self.steps > MOST_STEPS || next == turning_point {
                let what = "its frames do not end, or are too many to be read";
                return Err(format!("{what}: functions have no names from there on"));
            }
            if fresh.len().is_power_of_two() {
                turning_point = next;
            }
            if fresh.len() >= MOST_FRAMES {
                break;
            }
            fresh.push(next);
            next = word(next, of.frame_previous);
        }
        self.threads[at].truncate(known);
        let is_new = !fresh.is_empty();
        for addr in fresh.into_iter().rev() {
            self.push(at, addr, memory, names);
        }
        Ok(is_new)
    }

    fn push(&mut self, at: usize, addr: u64, memory: &Memory, names: &mut Names) {
        let of = self.of;
        let word = |offset: u64| memory.read::<8>(addr.wrapping_add(offset)).unwrap_or(0);
        let outer = self.threads[at].last();
        let executable = word(of.frame_executable);
        let owner = memory.read::<1>(addr.wrapping_add(of.frame_owner));
        let mut frame = Frame {
            addr,
            executable,
            path: outer.path,
            around: outer.path,
            anchor: outer.anchor,
            base: outer.base,
        };
        if owner == Ok(OWNED_BY_NATIVE_STACK) {
            frame.anchor = addr;
            frame.base = outer.path;
        } else if let Some(code) = self.codes.at(executable, &of, memory, names) {
            let place = Place {
                function: code.function,
                line: code.line(word(of.frame_instruction)),
            };
            frame.path = names.path(outer.path, place);
        }
        let thread = &mut self.threads[at];
        if thread.frames.len() < MOST_FRAMES {
            thread.places.insert(addr, thread.frames.len());
            thread.frames.push(frame);
        }
    }
}
