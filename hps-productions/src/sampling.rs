//! Sampling by interrupts: handlers that bring records into guest memory, and the records that they leave there.
//! The handlers' text is `productions/handlers/sample.dise`.

use hps_isa::inst::reg;
use hps_isa::memory::page_align_up;
use hps_system::process::Process;

use crate::collector::CollectorError;
use crate::files;
use crate::interrupt_handlers::{BASE, InterruptHandlers, WORD, read_words, refused};

/// The interrupt registers that hold the next place in the buffer, the next place in the file, and the number of
/// buffers for which the file had no room.
const BUFFER: usize = reg::INTERRUPT as usize + 6;
const FILE: usize = reg::INTERRUPT as usize + 7;
const LOST: usize = reg::INTERRUPT as usize + 8;

/// Sizes of records and buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleOptions {
    /// 64-bit words of a record: a multiple of 4.
    pub record_words: u32,
    /// Records in the buffer. When it is full, the reader is woken and the records are copied to its file.
    pub buffer_records: u32,
    /// Buffers that the file has room for. What comes behind is lost.
    pub file_buffers: u32,
    /// Cost of waking the reader, in turns of a loop that takes a cycle each.
    pub wake_cycles: u32,
}

impl SampleOptions {
    /// Records of so many words, in buffers of 64, which is what fits into a page or a few.
    #[must_use]
    pub fn of_words(record_words: u32) -> Self {
        SampleOptions {
            record_words,
            buffer_records: 64,
            file_buffers: 1024,
            wake_cycles: 0,
        }
    }
}

/// Which handler an interrupt calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleHandler {
    /// The one that stores a record, for an interrupt at each sample.
    Record,
    /// The one that empties the buffer, for an interrupt when the hardware has filled it.
    Drain,
}

impl SampleHandler {
    const fn symbol(self) -> &'static str {
        match self {
            SampleHandler::Record => "Sample_handler",
            SampleHandler::Drain => "Sample_drain",
        }
    }
}

/// A record of an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleRecord {
    /// The interrupted address: that of the instruction with which the program goes on.
    pub pc: u64,
    /// The number of the source.
    pub source: u64,
    /// Count of the source's counter.
    pub count: u64,
    /// The cycle in which the interrupt was taken.
    pub cycle: u64,
}

/// Records that the handlers have left in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleRecords {
    /// The records, in the order in which they were stored.
    pub records: Vec<SampleRecord>,
    /// Records for which the file had no room.
    pub lost: u64,
}

/// The handlers of sampling interrupts with their buffers.
#[derive(Clone, Debug)]
pub struct SampleHandlers {
    options: SampleOptions,
    handlers: InterruptHandlers,
}

impl SampleHandlers {
    /// Handlers for records and buffers of these sizes.
    ///
    /// # Errors
    /// [`CollectorError::Size`] for a size that the handlers cannot use, [`CollectorError::Dise`] for buffers that do
    /// not fit where handlers lie.
    pub fn new(options: SampleOptions) -> Result<Self, CollectorError> {
        if options.record_words == 0 || !options.record_words.is_multiple_of(4) {
            return Err(refused(
                "record_words",
                options.record_words,
                "a multiple of 4",
            ));
        }
        if options.buffer_records == 0 {
            return Err(refused("buffer_records", 0, "at least 1"));
        }
        if options.file_buffers == 0 {
            return Err(refused("file_buffers", 0, "at least 1"));
        }
        let file_records = i64::from(options.file_buffers) * i64::from(options.buffer_records);
        let params = [
            ("record_words", i64::from(options.record_words)),
            ("buffer_records", i64::from(options.buffer_records)),
            ("file_records", file_records),
            ("wake_loops", i64::from(options.wake_cycles)),
        ];
        Ok(SampleHandlers {
            options,
            handlers: InterruptHandlers::load(files::SAMPLE_HANDLER, &params)?,
        })
    }

    /// Maps handlers and buffers into a process, and gives the address of a handler.
    ///
    /// # Errors
    /// [`CollectorError::Map`] if there is no memory for them.
    pub fn install(
        &self,
        process: &mut Process,
        handler: SampleHandler,
    ) -> Result<u64, CollectorError> {
        let areas = ["Sample_buffer", "Sample_file"];
        let address = self.handlers.map(process, areas, handler.symbol())?;
        let [buffer, file] = areas.map(|name| self.handlers.area(name));
        process.thread.hart.r[BUFFER] = buffer.address;
        process.thread.hart.r[FILE] = file.address;
        process.thread.hart.r[LOST] = 0;
        Ok(address)
    }

    /// The records that the handlers have stored so far. Changes nothing.
    ///
    /// # Errors
    /// [`CollectorError::NotInstalled`].
    pub fn read(&self, process: &Process) -> Result<SampleRecords, CollectorError> {
        let mut records = Vec::new();
        for (area, end) in [("Sample_file", FILE), ("Sample_buffer", BUFFER)] {
            let start = self.handlers.area(area).address;
            let filled = process.thread.hart.r[end].saturating_sub(start);
            let words = read_words(&process.mem, start, filled / WORD)?;
            let stored = words.chunks_exact(self.options.record_words as usize);
            // Records have at least four words.
            records.extend(stored.map(|record| SampleRecord {
                pc: record[0],
                source: record[1],
                count: record[2],
                cycle: record[3],
            }));
        }
        Ok(SampleRecords {
            records,
            lost: process.thread.hart.r[LOST] * u64::from(self.options.buffer_records),
        })
    }

    /// Memory of the program's address space that handlers and buffer take, in bytes; the file is the reader's.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let buffer = self.handlers.area("Sample_buffer");
        page_align_up(buffer.address + buffer.size).unwrap_or(u64::MAX) - BASE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_lie_at_the_same_place_for_every_instruction_set() {
        for words in [4, 8, 24, 100] {
            let handlers = SampleHandlers::new(SampleOptions::of_words(words)).expect("it loads");
            let [first, second] = &handlers.handlers.sets;
            assert_eq!(first.data_areas(), second.data_areas());
            assert!(handlers.handlers.area("Sample_file").size > 0);
            let buffer = 64 * u64::from(words) * WORD;
            assert!(handlers.memory_bytes() >= 4096 + buffer);
        }
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        let options = SampleOptions::of_words(4);
        for wrong in [
            SampleOptions::of_words(0),
            SampleOptions::of_words(6),
            SampleOptions {
                buffer_records: 0,
                ..options
            },
            SampleOptions {
                file_buffers: 0,
                ..options
            },
        ] {
            let refused = SampleHandlers::new(wrong).expect_err("it cannot be");
            assert!(matches!(refused, CollectorError::Size { .. }), "{refused}");
        }
        let huge = SampleOptions {
            file_buffers: 1 << 24,
            ..options
        };
        assert!(SampleHandlers::new(huge).is_err());
    }
}
