//! Samples that a handler counts in guest memory, by object.
//!
//! The handler's table has no times. So it is read before the code of the program changes, and what it has counted since
//! the last change is resolved by the map up to then. Reading costs the run nothing.

use hps_isa::layout;
use hps_isa::memory::Memory;
use hps_isa::probe::Probe;
use hps_pipeline::core::{PipelineProbe, Stored};
use hps_system::symbols::CodeLog;
use rustc_hash::FxHashMap;

use super::image_map::{ImageMap, ObjectSamples};
use crate::samples::{Counts, Range};

/// Reads a table: tells the number of the counter, the address and the count of each entry.
pub type ReadTable = Box<dyn Fn(&Memory, &mut dyn FnMut(u8, u64, u64)) + Send + Sync>;

/// A probe of a run whose samples a handler counts in a table.
pub struct TableObserver {
    map: ImageMap,
    read: ReadTable,
    /// Whole periods of the counters, by their numbers.
    periods: Vec<Range>,
    /// Samples that are resolved, by counter and address.
    resolved: FxHashMap<(u8, u64), u64>,
}

impl TableObserver {
    /// An observer of counters with these whole periods, whose table `read` reads. The programs of the run record their
    /// code in `log`.
    #[must_use]
    pub fn new(log: CodeLog, periods: Vec<Range>, read: ReadTable) -> TableObserver {
        TableObserver {
            map: ImageMap::new(log),
            read,
            periods,
            resolved: FxHashMap::default(),
        }
    }

    /// The samples of a run that has left this memory, in the order of the counters.
    #[must_use]
    pub fn finish(mut self, memory: &Memory) -> Vec<ObjectSamples> {
        let counts = self.taken(memory);
        self.map.resolve(&counts.iter().collect::<Vec<_>>());
        self.map.take()
    }

    /// Samples that were taken since the last call.
    fn taken(&mut self, memory: &Memory) -> Vec<Counts> {
        let mut all: FxHashMap<(u8, u64), u64> = FxHashMap::default();
        (self.read)(memory, &mut |counter, pc, count| {
            *all.entry((counter, pc)).or_default() += count;
        });
        let mut counts: Vec<Counts> = self.periods.iter().map(|&p| Counts::new(p)).collect();
        for (key, count) in all {
            let resolved = self.resolved.entry(key).or_default();
            // Counts become fewer where the daemon drops entries.
            let Some(new @ 1..) = count.checked_sub(*resolved) else {
                continue;
            };
            *resolved = count;
            if let Some(counts) = counts.get_mut(usize::from(key.0)) {
                counts.by_pc.insert(key.1, new);
            }
        }
        counts
    }
}

impl Probe for TableObserver {}

impl PipelineProbe for TableObserver {
    const WANTS_STORES: bool = true;

    #[inline]
    fn stored(&mut self, stored: &Stored, memory: &Memory) {
        // Between two stores of the program the handler is not in the middle of its work, and new code has not run yet:
        // the loader stores what it has mapped.
        if self.map.is_changed(stored.program) && !layout::is_for_handlers(stored.addr) {
            let counts = match self.map.is_empty() {
                true => Vec::new(),
                false => self.taken(memory),
            };
            let counts: Vec<&Counts> = counts.iter().collect();
            self.map.turn_to(stored.program, &counts);
        }
    }
}
