//! Tables of handlers on machines with several hardware contexts, and of programs with several threads.
//!
//! Handlers find their tables by DISE registers, so that one code serves any number of tables. The tables of a profile lie
//! behind each other, a stride apart.

use hps_dise::{ContextTables, DiseEngine};
use hps_isa::inst::reg;
use hps_isa::memory::{Memory, PAGE_SIZE, page_align_up};
use hps_profile::ProfileKind;
use hps_system::os::ThreadTables;
use hps_system::process::Process;

use super::{CollectedProfile, Collector, CollectorError, read};

/// Who has tables of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TablesOf {
    /// Nobody: all contexts write the same tables. Two that count in one slot at once may lose an event.
    #[default]
    All,
    /// Each hardware context.
    Context,
    /// Each thread of the program: the kernel switches the registers that hold the tables' addresses.
    Thread,
}

/// The tables of a collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Who has tables of its own.
    pub of: TablesOf,
    /// Hardware contexts of the machine.
    pub contexts: usize,
    /// Threads that have tables of their own, if threads do: all behind the last one share its tables.
    pub threads: usize,
}

impl Default for Tables {
    /// One context.
    fn default() -> Self {
        Tables {
            of: TablesOf::All,
            contexts: 1,
            threads: 64,
        }
    }
}

impl Tables {
    /// How many tables there are of a profile type.
    fn count(self) -> usize {
        match self.of {
            TablesOf::All => 1,
            TablesOf::Context => self.contexts.max(1),
            TablesOf::Thread => self.threads.max(1),
        }
    }

    fn is_default(self) -> bool {
        self.of == TablesOf::All && self.contexts <= 1
    }
}

impl Collector {
    /// Refuses what has a place for one context in its handlers' code.
    pub(super) fn check_tables(
        kinds: &[ProfileKind],
        tables: Tables,
    ) -> Result<(), CollectorError> {
        match kinds.contains(&ProfileKind::DataStream) && !tables.is_default() {
            true => Err(CollectorError::OneBuffer),
            false => Ok(()),
        }
    }

    /// Whose tables the handlers write.
    #[must_use]
    pub fn tables(&self) -> Tables {
        self.tables
    }

    /// Guest addresses of the data areas of one set of tables.
    fn data_range(&self) -> std::ops::Range<u64> {
        let areas = self.sets.iter().flat_map(|set| set.data_areas());
        let (mut start, mut end) = (u64::MAX, 0);
        for area in areas {
            start = start.min(area.address);
            end = end.max(area.address + area.size);
        }
        start.min(end)..end
    }

    /// How far apart the tables lie, in bytes.
    fn stride(&self) -> u64 {
        let data = self.data_range();
        let start = data.start / PAGE_SIZE * PAGE_SIZE;
        page_align_up(data.end - start).unwrap_or(0)
    }

    /// Bytes of all tables but the first.
    pub(super) fn further_bytes(&self) -> u64 {
        (self.tables.count() as u64 - 1) * self.stride()
    }

    /// DISE registers that hold addresses of tables, once they have their first values.
    fn table_registers(&self, regs: &[u64; reg::COUNT]) -> Vec<u8> {
        let data = self.data_range();
        let dise = reg::DISE..reg::DISE + reg::DISE_COUNT;
        let points = |r: &u8| data.contains(&regs[usize::from(*r)]);
        dise.filter(points).collect()
    }

    /// Tells the engine and the kernel of the process whose tables lie where.
    pub(super) fn share_out(&self, process: &mut Process, engine: &mut DiseEngine) {
        if self.tables.is_default() {
            return;
        }
        let registers = self.table_registers(&process.thread.hart.r);
        let stride_bytes = match self.tables.of {
            TablesOf::Context => self.stride(),
            TablesOf::All | TablesOf::Thread => 0,
        };
        engine.set_context_tables(ContextTables {
            registers: registers.clone(),
            stride_bytes,
            contexts: self.tables.contexts,
        });
        if self.tables.of == TablesOf::Thread {
            let tables = ThreadTables {
                registers,
                stride_bytes: self.stride(),
                count: self.tables.count(),
            };
            let (tid, hart) = (process.thread.tid, process.thread.hart.clone());
            process.os.set_thread_tables(tables, tid, &hart);
        }
    }

    /// Profiles of the first profile type collected so far, by table: of contexts in the order of their numbers, of
    /// threads in the order of [`Linux::thread_table_owners`](hps_system::os::Linux::thread_table_owners); one table
    /// if all share it.
    ///
    /// # Errors
    /// If the collector is not installed in this memory.
    pub fn read_tables(&self, mem: &Memory) -> Result<Vec<CollectedProfile>, CollectorError> {
        let Some(kind) = self.kind() else {
            return Ok(Vec::new());
        };
        let offsets = self.offsets();
        offsets
            .map(|offset| self.read_table(kind, mem, offset))
            .collect()
    }

    /// How much further on than the first one each table lies.
    fn offsets(&self) -> impl Iterator<Item = u64> {
        let stride = self.stride();
        (0..self.tables.count() as u64).map(move |number| number * stride)
    }

    /// The table of methods or call pairs that lies so much further on than the first one.
    fn read_table(
        &self,
        kind: ProfileKind,
        mem: &Memory,
        offset: u64,
    ) -> Result<CollectedProfile, CollectorError> {
        let entries = self.tail_calls.as_deref();
        Ok(match kind {
            ProfileKind::Method => {
                let table = self.area_bytes("HotMethod_table", offset, mem)?;
                let (addresses, lost) = read::methods(&table, entries);
                CollectedProfile::Method { addresses, lost }
            }
            ProfileKind::CallPair => {
                let table = self.area_bytes("CallPair_table", offset, mem)?;
                let (call_pairs, lost) = read::call_pairs(&table, entries);
                CollectedProfile::CallPair { call_pairs, lost }
            }
            ProfileKind::DataStream => CollectedProfile::Nothing,
        })
    }

    /// All tables of methods or call pairs together.
    pub(super) fn read_merged(
        &self,
        kind: ProfileKind,
        mem: &Memory,
    ) -> Result<CollectedProfile, CollectorError> {
        let mut whole = self.read_table(kind, mem, 0)?;
        for offset in self.offsets().skip(1) {
            whole.add(self.read_table(kind, mem, offset)?);
        }
        Ok(whole)
    }
}

impl CollectedProfile {
    /// Adds a profile of the same kind; data streams, of which there is one recording, stay as they are.
    fn add(&mut self, other: CollectedProfile) {
        match (self, other) {
            (
                CollectedProfile::Method { addresses, lost },
                CollectedProfile::Method {
                    addresses: more,
                    lost: more_lost,
                },
            ) => {
                addresses.merge(&more);
                *lost += more_lost;
            }
            (
                CollectedProfile::CallPair { call_pairs, lost },
                CollectedProfile::CallPair {
                    call_pairs: more,
                    lost: more_lost,
                },
            ) => {
                call_pairs.merge(&more);
                *lost += more_lost;
            }
            _ => {}
        }
    }
}
