//! The record of the files that programs have mapped to run code from.
//!
//! A run pays for a mapping when it is made, and for no name: files are held open and read when somebody asks for
//! [symbols](CodeLog::symbols).

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Object, Symbols};
use crate::checkpoint::base_log;
use crate::host;
use crate::image::{DebugFiles, FileReader, MAX_FILE_BYTES, ProgramImage};
use crate::process::Loaded;

/// Mappings that are recorded of a program.
const MOST_MAPPINGS: usize = 1 << 12;
/// Files that are held open.
const MOST_FILES: usize = 256;

/// Record of the files that programs of a run have mapped as code. Clones share one record.
#[derive(Clone, Debug, Default)]
pub struct CodeLog(Arc<Shared>);

impl PartialEq for CodeLog {
    /// Whether both are one record.
    fn eq(&self, other: &CodeLog) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for CodeLog {}

#[derive(Debug, Default)]
struct Shared {
    /// Counts changes, so that watchers need not look.
    changes: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    programs: BTreeMap<u32, ProgramCode>,
    #[serde(with = "crate::checkpoint::kept")]
    files: Vec<Arc<CodeFile>>,
    /// Reads files as the programs see them.
    #[serde(skip)]
    root: Option<FileReader>,
}

/// The code of a program.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ProgramCode {
    /// The change with which it came to be as it is.
    change: u64,
    pid: u32,
    #[serde(with = "crate::checkpoint::kept")]
    image: Arc<ProgramImage>,
    /// Path of the program's file, as the program sees it.
    path: Vec<u8>,
    /// Files that the kernel has put beside it.
    loaded: Vec<Loaded>,
    /// In the order in which they were made.
    #[serde(with = "crate::checkpoint::kept")]
    mappings: Arc<Vec<CodeMapping>>,
    /// There were more mappings than are recorded.
    is_cut: bool,
    /// Objects of the program and of the files beside it, once they were asked for.
    #[serde(skip)]
    own: Vec<Arc<Object>>,
    #[serde(skip)]
    symbols: Option<(u64, Arc<Symbols>)>,
}

/// A part of a file that has lain in memory as code.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct CodeMapping {
    range: Range<u64>,
    /// Offset of the mapping in the file, in bytes.
    offset: u64,
    #[serde(with = "crate::checkpoint::kept")]
    file: Arc<CodeFile>,
}

/// A file with code.
#[derive(Debug, Serialize, Deserialize)]
struct CodeFile {
    /// Device and number.
    #[serde(with = "crate::checkpoint::identity")]
    identity: (u64, u64),
    /// Path, as the program sees it.
    path: Vec<u8>,
    /// `None` beyond [`MOST_FILES`].
    #[serde(with = "crate::checkpoint::kept")]
    file: Option<File>,
    /// Objects read from the file so far.
    #[serde(skip)]
    objects: Mutex<Vec<Part>>,
}

/// Start address, file offset, and the object there; `None` if the file is no ELF file with code at that offset.
type Part = ((u64, u64), Option<Arc<Object>>);

/// The record as checkpoints keep it.
impl Serialize for CodeLog {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let changes = self.0.changes.load(Ordering::Acquire);
        (changes, &*self.state()).serialize(serializer)
    }
}

/// Reads into the record that the run's observers watch.
impl<'de> Deserialize<'de> for CodeLog {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (changes, state) = <(u64, State)>::deserialize(deserializer)?;
        let log = base_log().ok_or_else(|| D::Error::custom("no checkpoint is being read"))?;
        log.0.changes.store(changes, Ordering::Release);
        let root = log.state().root.take();
        *log.state() = State { root, ..state };
        Ok(log)
    }
}

impl CodeLog {
    fn state(&self) -> MutexGuard<'_, State> {
        // No holder leaves a state half changed.
        let state = self.0.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> u64 {
        self.0.changes.fetch_add(1, Ordering::Release) + 1
    }

    /// Sets the reader for files of the programs.
    pub(crate) fn set_root(&self, reader: FileReader) {
        self.state().root = Some(reader);
    }

    /// A process begins a program: its file at `path`, and those that the kernel has put beside it.
    pub(crate) fn begin(
        &self,
        (program, pid): (u32, u32),
        (image, path): (&Arc<ProgramImage>, &[u8]),
        loaded: &[Loaded],
    ) {
        let mut state = self.state();
        let code = ProgramCode {
            change: self.change(),
            pid,
            image: Arc::clone(image),
            path: path.to_vec(),
            loaded: loaded.to_vec(),
            mappings: Arc::default(),
            is_cut: false,
            own: Vec::new(),
            symbols: None,
        };
        state.programs.insert(program, code);
    }

    /// A process is made which goes on with the code of its parent.
    pub(crate) fn fork(&self, parent: u32, (program, pid): (u32, u32)) {
        let mut state = self.state();
        let change = self.change();
        let programs = &mut state.programs;
        if let Some(code) = programs.get(&parent).cloned() {
            programs.insert(
                program,
                ProgramCode {
                    change,
                    pid,
                    ..code
                },
            );
        }
    }

    /// The symbols of a program as far as it has run: its file, its loader, and all files that it has run code from.
    #[must_use]
    pub fn symbols(&self, program: u32) -> Option<Arc<Symbols>> {
        let (mut code, root) = {
            let state = self.state();
            let code = state.programs.get(&program)?;
            if let Some((change, symbols)) = &code.symbols
                && *change == code.change
            {
                return Some(Arc::clone(symbols));
            }
            (code.clone(), state.root.clone())
        };
        // Reading takes long. Programs go on meanwhile.
        let symbols = code.read(root.as_ref());
        code.symbols = Some((code.change, Arc::clone(&symbols)));
        let mut state = self.state();
        let now = state.programs.get_mut(&program)?;
        if now.change == code.change {
            *now = code;
        } else if now.own.is_empty() && Arc::ptr_eq(&now.image, &code.image) {
            now.own = code.own;
        }
        Some(symbols)
    }

    /// The number of the process of a program, and the content of files that it has mapped whose name `is_wanted` says.
    pub(super) fn files(
        &self,
        program: u32,
        is_wanted: impl Fn(&str) -> bool,
    ) -> (Option<u32>, Vec<(String, Vec<u8>)>) {
        let state = self.state();
        let Some(code) = state.programs.get(&program) else {
            return (None, Vec::new());
        };
        let mut files: Vec<(String, Vec<u8>)> = Vec::new();
        for mapping in code.mappings.iter() {
            let name = String::from_utf8_lossy(&mapping.file.path).into_owned();
            if is_wanted(&name)
                && files.iter().all(|(known, _)| *known != name)
                && let Some(bytes) = mapping.file.read()
            {
                files.push((name, bytes));
            }
        }
        (Some(code.pid), files)
    }

    /// A file as the programs see it.
    pub(super) fn read(&self, path: &str) -> Option<Vec<u8>> {
        let root = self.state().root.clone()?;
        root.read(std::path::Path::new(path)).ok()
    }
}

impl ProgramCode {
    fn read(&mut self, root: Option<&FileReader>) -> Arc<Symbols> {
        let image = &self.image;
        let beside = |path: &[u8]| match root {
            Some(root) => DebugFiles::under_root(path, root.clone()),
            None => DebugFiles::default(),
        };
        let is_of_host = image.is_of_host() || root.is_none();
        if self.mappings.is_empty() && self.loaded.is_empty() && is_of_host {
            return Arc::clone(&image.symbols);
        }
        if self.own.is_empty() {
            self.own.push(match is_of_host {
                true => Arc::clone(&image.symbols.objects()[0]),
                false => {
                    let name = String::from_utf8_lossy(&self.path);
                    image.object_at(&name, beside(&self.path))
                }
            });
            self.own.extend(self.loaded.iter().map(|loaded| {
                let name = String::from_utf8_lossy(&loaded.path);
                loaded.image.object_at(&name, beside(&loaded.path))
            }));
        }
        let mut objects = self.own.clone();
        let code = objects.iter().enumerate();
        let mut placed: Vec<(Range<u64>, usize)> = code
            .flat_map(|(at, object)| object.code().iter().map(move |range| (range.clone(), at)))
            .collect();
        for mapping in self.mappings.iter() {
            let place = (mapping.range.start, mapping.offset);
            let Some(object) = mapping.file.object(place, || beside(&mapping.file.path)) else {
                continue;
            };
            let known = objects.iter().position(|known| Arc::ptr_eq(known, &object));
            let at = known.unwrap_or_else(|| {
                objects.push(object);
                objects.len() - 1
            });
            placed.push((mapping.range.clone(), at));
        }
        let symbols = Symbols::of(objects, placed);
        Arc::new(match self.is_cut {
            true => symbols.with_note(format!(
                "the program has mapped code more than {MOST_MAPPINGS} times: what came then has no names"
            )),
            false => symbols,
        })
    }
}

impl CodeFile {
    fn read(&self) -> Option<Vec<u8>> {
        let file = self.file.as_ref()?;
        host::read_open(file, MAX_FILE_BYTES).ok()
    }

    /// The object whose bytes from `offset` on lie at `start`.
    fn object(
        &self,
        (start, offset): (u64, u64),
        files: impl FnOnce() -> DebugFiles,
    ) -> Option<Arc<Object>> {
        let objects = self.objects.lock();
        let mut objects = objects.unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = objects.iter().find(|(at, _)| *at == (start, offset)) {
            return known.clone();
        }
        let read = || {
            let bytes: Arc<[u8]> = self.read()?.into();
            let name = String::from_utf8_lossy(&self.path);
            Object::mapped(&name, &bytes, (start, offset), files())
        };
        // Another part of the same object needs no reading.
        let mut known = objects.iter().filter_map(|(_, object)| object.as_ref());
        let same = known.find(|object| object.lies_at(start, offset)).cloned();
        let object = same.or_else(|| read().map(Arc::new));
        objects.push(((start, offset), object.clone()));
        object
    }
}

/// Records the code of one program.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    log: CodeLog,
    /// The number of the program.
    program: u32,
}

impl Serialize for Recorder {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.program.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Recorder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let program = u32::deserialize(deserializer)?;
        let log = base_log().ok_or_else(|| D::Error::custom("no checkpoint is being read"))?;
        Ok(Recorder { log, program })
    }
}

impl Default for Recorder {
    /// Records in a log of its own.
    fn default() -> Self {
        Recorder::of(CodeLog::default(), 1)
    }
}

impl Recorder {
    /// Records in a log.
    pub fn of(log: CodeLog, program: u32) -> Recorder {
        Recorder { log, program }
    }

    /// The log.
    pub fn log(&self) -> &CodeLog {
        &self.log
    }

    /// Records for another program from now on.
    pub fn turn_to(&mut self, program: u32) {
        self.program = program;
    }

    /// A part of a file lies at `range` as code.
    pub fn add(
        &self,
        range: Range<u64>,
        offset: u64,
        identity: (u64, u64),
        (path, file): (Vec<u8>, &File),
    ) {
        let state = &mut *self.log.state();
        let Some(code) = state.programs.get_mut(&self.program) else {
            return;
        };
        let overlaps = |m: &&CodeMapping| m.range.start < range.end && range.start < m.range.end;
        let last = code.mappings.iter().rev().find(overlaps);
        if last.is_some_and(|last| {
            (&last.range, last.offset, last.file.identity) == (&range, offset, identity)
        }) {
            // The program has mapped it before, and nothing else since then.
            return;
        }
        if code.mappings.len() >= MOST_MAPPINGS {
            code.is_cut = true;
            return;
        }
        let mut known = state.files.iter();
        let known = known.find(|known| known.identity == identity && known.path == path);
        let file = known.cloned().unwrap_or_else(|| {
            let room = state.files.len() < MOST_FILES;
            let new = Arc::new(CodeFile {
                identity,
                path,
                file: room.then(|| file.try_clone().ok()).flatten(),
                objects: Mutex::default(),
            });
            state.files.push(Arc::clone(&new));
            new
        });
        let mapping = CodeMapping {
            range,
            offset,
            file,
        };
        Arc::make_mut(&mut code.mappings).push(mapping);
        code.change = self.log.change();
    }
}

/// Tells an observer of a run when the program that it follows has new code.
#[derive(Clone, Debug)]
pub struct CodeWatch {
    log: CodeLog,
    program: u32,
    /// Changes of the log that were looked at.
    seen: u64,
    /// The change of the program that was told last.
    told: u64,
}

hps_isa::save_state! { CodeWatch { log: skip, program: skip, seen, told } }

impl CodeWatch {
    /// Watches the code of the program of a number.
    #[must_use]
    pub fn new(log: CodeLog, program: u32) -> CodeWatch {
        CodeWatch {
            log,
            program,
            seen: 0,
            told: 0,
        }
    }

    /// Whether there may be something new.
    #[inline]
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.log.0.changes.load(Ordering::Acquire) != self.seen
    }

    /// The symbols of the program, if it has other code than when this was asked last.
    #[must_use]
    pub fn news(&mut self) -> Option<Arc<Symbols>> {
        let changes = self.log.0.changes.load(Ordering::Acquire);
        if std::mem::replace(&mut self.seen, changes) == changes {
            return None;
        }
        let change = self.log.state().programs.get(&self.program)?.change;
        if std::mem::replace(&mut self.told, change) == change {
            return None;
        }
        self.log.symbols(self.program)
    }
}
