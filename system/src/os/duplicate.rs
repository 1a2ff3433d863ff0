//! A second operating system in the same state, so that a run can go on in two ways.

use std::cell::RefCell;
use std::convert::Infallible;

use super::Linux;
use super::descriptors::{Descriptors, Kind, OpenFile};
use super::memory::AddressSpace;
use super::processes::{Family, ProcessState};
use super::procfs::Device;
use super::roots::Tree;
use super::streams::{Output, Stdin, Streams};

/// Why a process cannot be duplicated: both copies would change one thing outside of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DuplicateError {
    /// The host's own standard stream.
    #[error(
        "the program uses the lab's own standard streams; give it an input of its own and capture what it prints"
    )]
    Stream,
    /// Files that the program may change.
    #[error("the program may change files; run it without --writable")]
    Writable,
    /// A pipe or a socket inside the program.
    #[error("the program has a pipe or a socket open")]
    Pipe,
    /// Other processes.
    #[error("the program has child processes")]
    Processes,
    /// Memory that is written to a file.
    #[error("the program shares memory with a file")]
    SharedMapping,
    /// An open file that cannot be opened once more.
    #[error("a file that the program has open cannot be opened once more: {cause}")]
    File {
        /// The host's own words.
        cause: String,
    },
    /// No memory for it.
    #[error(transparent)]
    Memory(#[from] hps_isa::memory::MemoryError),
}

impl Linux {
    /// A copy for another run. Its warnings are kept for [`Linux::warnings`] and not reported at once.
    ///
    /// # Errors
    /// If both would share something of the host that one of them can change.
    pub fn duplicate(&self) -> Result<Linux, DuplicateError> {
        if self.tree.writable {
            return Err(DuplicateError::Writable);
        }
        if self.family.has_others() {
            return Err(DuplicateError::Processes);
        }
        if !self.space.mappings.writers().is_empty() {
            return Err(DuplicateError::SharedMapping);
        }
        let files = self.files.try_clone(duplicate_file)?;
        Ok(self.over(files, duplicate_streams(&self.run.streams)?))
    }

    /// A copy for a run without effects: what it prints goes nowhere, the lab's own
    /// standard input is at its end, files cannot be changed, and pipes are closed.
    #[must_use]
    pub fn shadow(&self) -> Linux {
        let file = |file: &OpenFile| {
            let copy = duplicate_file(file).unwrap_or_else(|_| OpenFile {
                kind: Kind::Device(Device::Null),
                flags: file.flags,
                path: file.path.clone(),
                number: file.number,
            });
            Ok::<_, Infallible>(copy)
        };
        let files = match self.files.try_clone(file) {
            Ok(files) => files,
            Err(never) => match never {},
        };
        self.over(files, self.run.streams.shadow())
    }

    /// A copy as [`Linux::shadow`], in which pipes stay open: each holds what it held, and both its ends are
    /// inside the copy.
    #[must_use]
    pub fn forked(&self) -> Linux {
        let pipes = RefCell::default();
        let file = |file: &OpenFile| {
            let pipe = match &file.kind {
                Kind::Pipe(end) => Some(Kind::Pipe(end.copy(&pipes))),
                _ => None,
            };
            let kind = pipe.or_else(|| duplicate_file(file).ok().map(|copy| copy.kind));
            Ok::<_, Infallible>(OpenFile {
                kind: kind.unwrap_or(Kind::Device(Device::Null)),
                flags: file.flags,
                path: file.path.clone(),
                number: file.number,
            })
        };
        let files = match self.files.try_clone(file) {
            Ok(files) => files,
            Err(never) => match never {},
        };
        self.over(files, self.run.streams.shadow())
    }

    /// A copy with other files and streams, which cannot be changed.
    pub(super) fn over(&self, files: Descriptors, streams: Streams) -> Linux {
        Linux {
            abi: self.abi,
            pid: self.pid,
            state: ProcessState {
                children_ns: self.state.children_ns,
                ..ProcessState::default()
            },
            program: self.program.clone(),
            family: Family::new(self.pid, self.credentials.uid()),
            run: self.run.over(streams),
            time: self.time,
            call: self.call,
            files,
            tree: Tree {
                writable: false,
                ..self.tree.clone()
            },
            credentials: self.credentials.clone(),
            attributes: self.attributes.clone(),
            limits: self.limits.clone(),
            space: AddressSpace {
                place: self.space.place,
                heap: self.space.heap,
                mappings: self.space.mappings.detached(),
                locks: self.space.locks.clone(),
            },
            signals: self.signals.clone(),
            threads: self.threads.clone(),
            timers: self.timers.clone(),
            // Events of threads go on elsewhere.
            samplers: self.samplers.of_copy(),
            gate: None,
        }
    }
}

fn duplicate_streams(streams: &Streams) -> Result<Streams, DuplicateError> {
    if streams.input == Stdin::Inherit || streams.modes.contains(&Output::Inherit) {
        return Err(DuplicateError::Stream);
    }
    Ok(streams.clone())
}

fn duplicate_file(file: &OpenFile) -> Result<OpenFile, DuplicateError> {
    Ok(OpenFile {
        kind: file.kind.duplicate(file.path.is_some())?,
        flags: file.flags,
        path: file.path.clone(),
        number: file.number,
    })
}

impl Descriptors {
    /// The descriptor table over copies of the files. Descriptors that share a file share its copy.
    fn try_clone<E>(
        &self,
        copy: impl Fn(&OpenFile) -> Result<OpenFile, E>,
    ) -> Result<Descriptors, E> {
        let file = |slot: &Option<(OpenFile, u32)>| match slot {
            Some((file, count)) => Ok(Some((copy(file)?, *count))),
            None => Ok(None),
        };
        Ok(Descriptors {
            owner: self.owner,
            has_timers: self.has_timers,
            has_signals: self.has_signals,
            watching: self.watching.clone(),
            descriptors: self.descriptors.clone(),
            numbers: self.numbers,
            locks: self.locks.clone(),
            files: self.files.iter().map(file).collect::<Result<_, E>>()?,
        })
    }
}
