//! Handlers of interrupts in guest memory, with their data: what all that sample share.

use std::collections::HashMap;

use hps_dise::{DataArea, LoadOptions, ProductionSet};
use hps_isa::isa::Isa;
use hps_isa::layout;
use hps_isa::memory::{Memory, MemoryError, Perm, page_align_up};
use hps_system::process::Process;

use crate::collector::CollectorError;
use crate::files::{self, ProductionFile};

/// Where these handlers lie: behind everything that productions take. One file of them is installed at a time.
pub(crate) const BASE: u64 = layout::HANDLER_BASE + 0x3000_0000;
/// Bytes of a word.
pub(crate) const WORD: u64 = 8;

/// A file of handlers, loaded for each instruction set. Its data lie at the same place for all of them, since the code
/// takes one page.
#[derive(Clone, Debug)]
pub(crate) struct InterruptHandlers {
    /// By [`Isa`].
    pub sets: [ProductionSet; Isa::ALL.len()],
}

impl InterruptHandlers {
    /// Loads a file with these parameters.
    ///
    /// # Errors
    /// [`CollectorError::Dise`] for data that do not fit where handlers lie.
    pub fn load(file: ProductionFile, params: &[(&str, i64)]) -> Result<Self, CollectorError> {
        let named = params
            .iter()
            .map(|(name, value)| ((*name).to_string(), *value));
        let load = |isa| {
            let options = LoadOptions {
                handler_base: BASE,
                params: HashMap::from_iter(named.clone()),
                ..LoadOptions::default().for_isa(isa)
            };
            files::load(&[file], &options)
        };
        let [first, second] = Isa::ALL;
        Ok(InterruptHandlers {
            sets: [load(first)?, load(second)?],
        })
    }

    /// Maps the code, and the data from one area to the end of another, into a process. Gives the address of a handler.
    ///
    /// # Errors
    /// [`CollectorError::Map`] if there is no memory for them.
    pub fn map(
        &self,
        process: &mut Process,
        [first, last]: [&str; 2],
        handler: &str,
    ) -> Result<u64, CollectorError> {
        let address = self.map_code(process, handler)?;
        let [first, last] = [self.area(first), self.area(last)];
        let end = page_align_up(last.address + last.size).unwrap_or(u64::MAX);
        let size = end - first.address;
        (process.mem.map(first.address, size, Perm::RW)).map_err(not_mapped)?;
        Ok(address)
    }

    /// Maps the code into a process. Gives the address of a handler.
    ///
    /// # Errors
    /// [`CollectorError::Map`] if there is no memory for it.
    pub fn map_code(&self, process: &mut Process, handler: &str) -> Result<u64, CollectorError> {
        let set = &self.sets[usize::from(process.image.isa != Isa::ALL[0])];
        for (base, code) in set.handler_image() {
            let size = page_align_up(code.len() as u64).unwrap_or(u64::MAX);
            process.mem.map(base, size, Perm::RX).map_err(not_mapped)?;
            (process.mem.write_bytes_forced(base, &code))
                .map_err(|fault| CollectorError::NotInstalled { addr: fault.addr })?;
        }
        Ok(set.symbols()[handler])
    }

    /// A data area.
    pub fn area(&self, name: &str) -> DataArea {
        let areas = self.sets[0].data_areas();
        let found = areas.iter().find(|area| area.name == name);
        found.cloned().unwrap_or_else(|| DataArea {
            name: name.to_string(),
            address: BASE,
            size: 0,
        })
    }
}

fn not_mapped(source: MemoryError) -> CollectorError {
    CollectorError::Map { base: BASE, source }
}

/// Reads words of guest memory.
///
/// # Errors
/// [`CollectorError::NotInstalled`] if there is nothing.
pub(crate) fn read_words(
    memory: &Memory,
    from: u64,
    count: u64,
) -> Result<Vec<u64>, CollectorError> {
    let mut bytes = vec![0; (WORD * count) as usize];
    (memory.read_bytes(from, &mut bytes))
        .map_err(|fault| CollectorError::NotInstalled { addr: fault.addr })?;
    let words = bytes.chunks_exact(WORD as usize).map(|word| {
        let word = word.try_into().unwrap_or_default();
        u64::from_le_bytes(word)
    });
    Ok(words.collect())
}

/// The error for a size that a handler cannot use.
pub(crate) fn refused(option: &'static str, value: u32, allowed: &'static str) -> CollectorError {
    CollectorError::Size {
        option,
        value: u64::from(value),
        allowed,
    }
}
