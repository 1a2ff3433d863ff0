//! Sampling by interrupts whose handler counts samples in a hash table, as DCPI's driver does: table, overflow buffers
//! and the daemon's file in guest memory. The handler's text is `productions/handlers/dcpi.dise`.

use hps_isa::memory::Memory;
use hps_system::process::Process;

use crate::collector::CollectorError;
use crate::files;
use crate::interrupt_handlers::{BASE, InterruptHandlers, WORD, read_words, refused};

/// Bytes of an entry: a key and a count.
const ENTRY: u64 = 16;
/// Entries of a bucket.
const WAYS: u64 = 4;

/// Places in the handler's state, in words.
mod state {
    pub const EVICTIONS: u64 = 0;
    pub const NEXT: u64 = 1;
    pub const END: u64 = 2;
    pub const START: u64 = 3;
    pub const OTHER: u64 = 4;
    pub const FILE: u64 = 5;
    pub const DROPPED: u64 = 6;
}

/// Sizes and costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableOptions {
    /// Buckets of four entries of 16 bytes, a power of two.
    pub buckets: u32,
    /// Entries of each of the two overflow buffers.
    pub buffer_entries: u32,
    /// Entries that the daemon's file has room for. What comes behind is dropped.
    pub file_entries: u32,
    /// Cost of an entry to the daemon beside its copy, in turns of an empty loop: a cycle each where a branch and the
    /// addition that it tests issue together, two on `ev5`.
    pub daemon_loops: u32,
}

impl Default for TableOptions {
    /// The paper's sizes, and a daemon that is free but for its copy.
    fn default() -> Self {
        TableOptions {
            buckets: 4096,
            buffer_entries: 8192,
            file_entries: 1 << 20,
            daemon_loops: 0,
        }
    }
}

/// Samples that the handler has left in memory: counts by counter and address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableSamples {
    /// Samples in the table.
    pub kept: Vec<TableEntry>,
    /// Samples in overflow buffers and in the daemon's file, one item an eviction.
    pub evicted: Vec<TableEntry>,
    /// Samples for which the file had no room.
    pub dropped: u64,
    /// Samples that did not find their key.
    pub missed: u64,
}

/// An entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableEntry {
    /// The number of the counter.
    pub source: u8,
    /// The sampled address.
    pub pc: u64,
    /// Samples.
    pub count: u64,
}

impl TableEntry {
    fn of_words(key: u64, count: u64) -> TableEntry {
        TableEntry {
            source: (key >> 56) as u8,
            pc: key & ((1 << 56) - 1),
            count,
        }
    }
}

impl TableSamples {
    /// Samples that are in the table, that were evicted, and that were dropped: all that were taken.
    #[must_use]
    pub fn totals(&self) -> [u64; 3] {
        let sum = |entries: &[TableEntry]| entries.iter().map(|e| e.count).sum();
        [sum(&self.kept), sum(&self.evicted), self.dropped]
    }

    /// All entries, kept ones first.
    pub fn entries(&self) -> impl Iterator<Item = &TableEntry> {
        self.kept.iter().chain(&self.evicted)
    }
}

/// The handler with its table and buffers.
#[derive(Clone, Debug)]
pub struct TableHandler {
    handlers: InterruptHandlers,
    options: TableOptions,
}

impl TableHandler {
    /// A handler for a table and buffers of these sizes.
    ///
    /// # Errors
    /// [`CollectorError::Size`] for a size that the handler cannot use, [`CollectorError::Dise`] for data that do not
    /// fit where handlers lie.
    pub fn new(options: TableOptions) -> Result<Self, CollectorError> {
        if !options.buckets.is_power_of_two() {
            return Err(refused("buckets", options.buckets, "a power of two"));
        }
        if options.buffer_entries == 0 {
            return Err(refused("buffer_entries", 0, "at least 1"));
        }
        if options.file_entries == 0 {
            return Err(refused("file_entries", 0, "at least 1"));
        }
        let params = [
            ("buckets", i64::from(options.buckets)),
            ("buffer_entries", i64::from(options.buffer_entries)),
            ("file_entries", i64::from(options.file_entries)),
            ("daemon_loops", i64::from(options.daemon_loops)),
        ];
        Ok(TableHandler {
            handlers: InterruptHandlers::load(files::DCPI_HANDLER, &params)?,
            options,
        })
    }

    /// Maps handler and data into a process, and gives the address of the handler.
    ///
    /// # Errors
    /// [`CollectorError::Map`] if there is no memory for them.
    pub fn install(&self, process: &mut Process) -> Result<u64, CollectorError> {
        let areas = ["Dcpi_table", "Dcpi_file"];
        let handler = self.handlers.map(process, areas, "Dcpi_handler")?;
        let buffers = self.handlers.area("Dcpi_buffers").address;
        let bytes = u64::from(self.options.buffer_entries) * ENTRY;
        for (at, value) in [
            (state::NEXT, buffers),
            (state::END, buffers + bytes),
            (state::START, buffers),
            (state::OTHER, buffers + bytes),
            (state::FILE, self.handlers.area("Dcpi_file").address),
        ] {
            let place = self.handlers.area("Dcpi_state").address + WORD * at;
            (process.mem.write_bytes(place, &value.to_le_bytes()))
                .map_err(|fault| CollectorError::NotInstalled { addr: fault.addr })?;
        }
        Ok(handler)
    }

    /// Samples that the handler has left so far in the memory of its process. Changes nothing.
    ///
    /// # Errors
    /// [`CollectorError::NotInstalled`].
    pub fn read(&self, memory: &Memory) -> Result<TableSamples, CollectorError> {
        let state = read_words(memory, self.handlers.area("Dcpi_state").address, 8)?;
        let state = |at: u64| state[at as usize];
        let table = self.handlers.area("Dcpi_table").address;
        let entries = u64::from(self.options.buckets) * WAYS;
        let kept = self.entries(memory, table, table + entries * ENTRY)?;
        let file = self.handlers.area("Dcpi_file").address;
        let mut evicted = self.entries(memory, file, state(state::FILE))?;
        evicted.extend(self.entries(memory, state(state::START), state(state::NEXT))?);
        Ok(TableSamples {
            kept,
            evicted,
            dropped: state(state::DROPPED),
            missed: state(state::EVICTIONS),
        })
    }

    /// Memory of the program's address space that handler, table and buffers take, in bytes; the file is the daemon's.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.handlers.area("Dcpi_file").address - BASE
    }

    fn entries(
        &self,
        memory: &Memory,
        from: u64,
        to: u64,
    ) -> Result<Vec<TableEntry>, CollectorError> {
        let words = read_words(memory, from, to.saturating_sub(from) / WORD)?;
        let pairs = words.chunks_exact(2);
        let entries = pairs.map(|pair| TableEntry::of_words(pair[0], pair[1]));
        Ok(entries.filter(|e| e.count > 0).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_and_buffers_have_the_papers_sizes() {
        let handler = TableHandler::new(TableOptions::default()).expect("it loads");
        let [first, second] = &handler.handlers.sets;
        assert_eq!(first.data_areas(), second.data_areas());
        // 16 K entries, a line of state, and two buffers of 8 K entries: 512 KB.
        assert_eq!(handler.handlers.area("Dcpi_table").size, 256 << 10);
        assert_eq!(handler.handlers.area("Dcpi_buffers").size, 256 << 10);
        assert!(
            handler
                .handlers
                .area("Dcpi_table")
                .address
                .is_multiple_of(64)
        );
        assert!(handler.memory_bytes() < (512 << 10) + 3 * 4096);
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        let options = TableOptions::default();
        for wrong in [
            TableOptions {
                buckets: 3,
                ..options
            },
            TableOptions {
                buckets: 0,
                ..options
            },
            TableOptions {
                buffer_entries: 0,
                ..options
            },
            TableOptions {
                file_entries: 0,
                ..options
            },
        ] {
            let refused = TableHandler::new(wrong).expect_err("it cannot be");
            assert!(matches!(refused, CollectorError::Size { .. }), "{refused}");
        }
    }
}
