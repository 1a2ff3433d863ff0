//! State that the threads of a process share.

use std::sync::Arc;

use hps_isa::hart::GuestCounters;
use hps_isa::memory::{Memory, MemoryError};
use serde::{Deserialize, Serialize};

use crate::image::{LoadError, ProgramImage};
use crate::os::{DuplicateError, Linux};
use crate::symbols::Symbols;

use super::{ProcessConfig, Reservations};

/// A guest: the state that all threads of a process share.
#[derive(Debug, Serialize, Deserialize)]
pub struct Guest {
    /// Memory of the process.
    pub mem: Memory,
    /// Operating system of the process: descriptors, names of files, actions of signals, limits, output.
    #[serde(with = "crate::os::saved_linux")]
    pub os: Box<Linux>,
    /// The program.
    #[serde(with = "crate::checkpoint::kept")]
    pub image: Arc<ProgramImage>,
    /// Counts that are added to the counters of the machine, modulo 2^64, where the guest reads them: not zero if the
    /// guest has come from another machine.
    pub counters_before: GuestCounters,
    /// Load reservations of contexts, on a machine with several.
    pub reservations: Reservations,
}

impl Guest {
    /// The symbols of all that the process has run so far: of its program, its loader, its libraries, and of code that was
    /// made while it ran as far as it has told of it (`/tmp/perf-PID.map`, `jit-PID.dump`). A program that has no other
    /// objects has those of its file.
    #[must_use]
    pub fn symbols(&self) -> Arc<Symbols> {
        let log = self.os.code_log();
        let symbols = log.symbols_with_made(self.os.program_number());
        let symbols = symbols.unwrap_or_else(|| Arc::clone(&self.image.symbols));
        match symbols.objects().len() {
            0 | 1 => symbols,
            _ => Arc::new((*symbols).clone().with_chosen(&self.mem)),
        }
    }

    /// The symbols of the program of a number ([`Linux::program_number`]), if processes of the run have begun it.
    #[must_use]
    pub fn symbols_of(&self, program: u32) -> Option<Arc<Symbols>> {
        match program == self.os.program_number() {
            true => Some(self.symbols()),
            false => self.os.code_log().symbols_with_made(program),
        }
    }

    /// A stand-in for this guest where the guest is lent to another context: an empty memory, no files.
    pub(super) fn vacant(&self) -> Result<Guest, LoadError> {
        let nothing = ProcessConfig::default();
        Ok(Guest {
            mem: Memory::vacant().map_err(|source| LoadError::Memory {
                file: self.image.name.clone(),
                source,
            })?,
            os: Box::new(Linux::new(self.image.isa, self.image.os, &nothing, "")?),
            image: Arc::clone(&self.image),
            counters_before: GuestCounters::default(),
            reservations: Reservations::default(),
        })
    }

    /// Says how much memory the process may have while others have theirs.
    #[inline]
    pub(super) fn limit_memory(&mut self) {
        self.os.begin_account(&mut self.mem);
    }

    /// A second guest in the same state. Neither sees what the other one does.
    ///
    /// # Errors
    /// [`DuplicateError`] if both would share something of the host that one of them can change:
    /// its standard streams, files of a writable root; or if the host refuses memory.
    pub fn duplicate(&mut self) -> Result<Guest, DuplicateError> {
        let os = Box::new(self.os.duplicate()?);
        Ok(Guest {
            mem: self.mem.duplicate()?,
            os,
            image: self.image.clone(),
            counters_before: self.counters_before,
            reservations: self.reservations.clone(),
        })
    }

    /// A second guest in the same state, for a run without effects on the host: see
    /// [`Linux::shadow`].
    ///
    /// # Errors
    /// If the host refuses memory.
    pub fn shadow(&mut self) -> Result<Guest, MemoryError> {
        let mut mem = self.mem.duplicate()?;
        mem.clear_dirty();
        Ok(Guest {
            mem,
            os: Box::new(self.os.shadow()),
            image: self.image.clone(),
            counters_before: self.counters_before,
            reservations: self.reservations.clone(),
        })
    }

    /// Makes this guest what [`Guest::shadow`] of `source` would be but for its operating system, by copying
    /// these pages of memory.
    ///
    /// # Errors
    /// If the host refuses memory.
    pub(super) fn follow(&mut self, source: &Guest, pages: &[u64]) -> Result<(), MemoryError> {
        self.mem.copy_pages(&source.mem, pages)?;
        self.counters_before = source.counters_before;
        Ok(())
    }
}
