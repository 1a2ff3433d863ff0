//! Collecting a profile with DISE: productions in, profile out.

mod read;
mod tables;
mod take_over;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use hps_dise::{DiseConfig, DiseEngine, DiseError, LoadOptions, ProductionSet};
use hps_isa::inst::reg;
use hps_isa::isa::Isa;
use hps_isa::layout;
use hps_isa::memory::{Memory, MemoryError, PAGE_SIZE, Perm, page_align_up};
use hps_profile::{CallPair, Profile, ProfileKind, StreamConfig, StreamConfigError};
use hps_system::process::Process;
use hps_system::symbols::Entries;

use crate::counts::AddressCounts;
use crate::files;
use crate::point::{SamplePoint, SamplePointError};
use crate::random;
use crate::scheme::Scheme;
use crate::stream::StreamRecorder;
use read::Accumulator;
pub(crate) use read::call_pairs;
pub use tables::{Tables, TablesOf};

/// Why nothing can be collected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CollectorError {
    /// The productions cannot be loaded.
    #[error(transparent)]
    Dise(#[from] DiseError),
    /// An impossible sampling point.
    #[error(transparent)]
    Point(#[from] SamplePointError),
    /// Impossible settings of the analysis of data streams.
    #[error(transparent)]
    Streams(#[from] StreamConfigError),
    /// A table size that the handlers cannot use.
    #[error("{option} is {value}, but must be {allowed}")]
    Size {
        /// The name of the option.
        option: &'static str,
        /// Value of the option.
        value: u64,
        /// Allowed values.
        allowed: &'static str,
    },
    /// The handlers' memory cannot be mapped.
    #[error("cannot map the handlers' memory at {base:#x}: {source}")]
    Map {
        /// Where the handlers begin.
        base: u64,
        /// Error of the memory.
        source: MemoryError,
    },
    /// The handlers or their data would lie where the program may map memory.
    #[error(
        "handlers and data take {start:#x} to {end:#x}, outside the region reserved for them ({:#x} to {:#x}); \
         use the default base and smaller tables",
        layout::HANDLER_BASE,
        layout::HANDLER_END
    )]
    Region {
        /// First address of handlers and data.
        start: u64,
        /// The address behind them.
        end: u64,
    },
    /// Tail calls are counted for one profile, and not by every scheme.
    #[error(
        "tail calls cannot be counted here: only HPS counts them, with a fixed or a random period, and only for hot \
         methods alone or for hot call pairs alone"
    )]
    TailCalls,
    /// Data streams are recorded in one buffer.
    #[error(
        "data streams are recorded in one buffer, in the order of one hardware context: they cannot be collected on a \
         machine with several, nor by thread; use a machine with one core and one context"
    )]
    OneBuffer,
    /// A change of sampling that the trace cannot show.
    #[error(
        "a trace that is sampled cannot become an exhaustive one, nor the other way round, while the program \
         runs: the sparsity was {from} at the beginning and would be {to}"
    )]
    Change {
        /// The sparsity that the run started with.
        from: u64,
        /// The sparsity that was asked for.
        to: u64,
    },
    /// The process has no such memory, or the wrong one.
    #[error(
        "guest memory at {addr:#x} cannot be read: the collector is not installed in this process"
    )]
    NotInstalled {
        /// The address.
        addr: u64,
    },
}

/// Sizes of tables, costs of the engine, settings of the analysis.
#[derive(Clone, Debug)]
pub struct CollectorOptions {
    /// Sizes and costs of the engine.
    pub dise: DiseConfig,
    /// Slots of the hot method table, a power of two. 16 bytes each.
    pub method_slots: u64,
    /// Slots of the call pair table, a power of two. 32 bytes each.
    pub pair_slots: u64,
    /// References in the data stream buffer. 8 bytes each.
    pub buffer_entries: u64,
    /// How data streams are analyzed; `None` to keep only the number of references and the digest of
    /// their sequence.
    pub streams: Option<StreamConfig>,
    /// Seed with which randomized sampling periods are drawn ([`Scheme::Randomized`]).
    pub seed: u64,
    /// The functions of the program, if its tail calls are to be counted as well: a jump to the entry of a function is
    /// an entry of a method, or a call pair. `None` is the HPS report's definition: calls and back-edges.
    pub tail_calls: Option<Arc<Entries>>,
    /// Whose tables the handlers write.
    pub tables: Tables,
}

impl Default for CollectorOptions {
    fn default() -> Self {
        CollectorOptions {
            dise: DiseConfig::default(),
            method_slots: 4096,
            pair_slots: 16384,
            buffer_entries: 8192,
            streams: Some(StreamConfig::default()),
            seed: 1,
            tail_calls: None,
            tables: Tables::default(),
        }
    }
}

impl CollectorOptions {
    fn validate(&self) -> Result<(), CollectorError> {
        for (option, value) in [
            ("method_slots", self.method_slots),
            ("pair_slots", self.pair_slots),
        ] {
            if !value.is_power_of_two() || value > 1 << 22 {
                let allowed = "a power of two up to 4194304";
                return Err(CollectorError::Size {
                    option,
                    value,
                    allowed,
                });
            }
        }
        if self.buffer_entries == 0 || self.buffer_entries > 1 << 24 {
            let allowed = "between 1 and 16777216";
            return Err(CollectorError::Size {
                option: "buffer_entries",
                value: self.buffer_entries,
                allowed,
            });
        }
        Ok(())
    }

    /// The parameter of a profile type's handler.
    fn param(&self, kind: ProfileKind) -> (&'static str, i64) {
        match kind {
            ProfileKind::Method => ("method_slots", self.method_slots as i64),
            ProfileKind::CallPair => ("pair_slots", self.pair_slots as i64),
            ProfileKind::DataStream => ("buffer_entries", self.buffer_entries as i64),
        }
    }
}

/// A sampling framework and profile types, ready to be installed.
///
/// ```text
/// let collector = Collector::new(ProfileKind::Method, point, &options)?;
/// let engine = collector.install(&mut process)?;         // handlers, tables, DISE registers
/// let mut machine = Machine::with_editor(process, engine);
/// machine.run_to_end();
/// let profile = collector.read(&machine.process)?;
/// ```
///
/// One collector serves one run: a second installation starts its profile anew. The process says which
/// instruction set's handlers are installed.
#[derive(Clone, Debug)]
pub struct Collector {
    scheme: Scheme,
    kinds: Vec<ProfileKind>,
    point: SamplePoint,
    dise: DiseConfig,
    streams: Option<StreamConfig>,
    /// The productions for each instruction set, in the order of [`Isa::ALL`].
    sets: [ProductionSet; 2],
    /// The program's functions, if tail calls are counted.
    tail_calls: Option<Arc<Entries>>,
    tables: Tables,
    accumulator: Arc<Mutex<Accumulator>>,
}

/// Collected profile, in the types of [`PointProfiles`](crate::PointProfiles).
#[derive(Clone, Debug)]
pub enum CollectedProfile {
    /// Only the framework ran: there is no profile.
    Nothing,
    /// Hot methods.
    Method {
        /// Events by address.
        addresses: AddressCounts,
        /// Events that found no room in the table. If this is not 0, use more `method_slots`.
        lost: u64,
    },
    /// Hot call pairs.
    CallPair {
        /// Calls by call site and target.
        call_pairs: Profile<CallPair>,
        /// Calls that found no room in the table. If this is not 0, use more `pair_slots`.
        lost: u64,
    },
    /// Hot data streams: the trace as recorded.
    DataStream(Box<StreamRecorder>),
}

impl Collector {
    /// Loads the framework of HPS with the productions of a profile type.
    ///
    /// # Errors
    /// An impossible point, table size or engine.
    pub fn new(
        kind: ProfileKind,
        point: SamplePoint,
        options: &CollectorOptions,
    ) -> Result<Self, CollectorError> {
        Self::of(Scheme::Hps, &[kind], point, options)
    }

    /// Loads the framework of HPS alone: it decides when to sample and samples nothing. What it costs is
    /// the basic overhead.
    ///
    /// # Errors
    /// An impossible point or engine.
    pub fn framework_only(point: SamplePoint, dise: &DiseConfig) -> Result<Self, CollectorError> {
        let options = CollectorOptions {
            dise: dise.clone(),
            ..CollectorOptions::default()
        };
        Self::of(Scheme::Hps, &[], point, &options)
    }

    /// Loads the framework of a scheme with the productions of any profile types, merged where they
    /// want the same instructions. Each profile is what it would be if it were collected alone. Without
    /// profile types it is the framework alone; one that is named twice is collected once.
    ///
    /// # Errors
    /// An impossible point, table size or engine.
    pub fn of(
        scheme: Scheme,
        kinds: &[ProfileKind],
        point: SamplePoint,
        options: &CollectorOptions,
    ) -> Result<Self, CollectorError> {
        scheme.validate(point)?;
        options.validate()?;
        let mut distinct: Vec<ProfileKind> = Vec::new();
        for &kind in kinds {
            if !distinct.contains(&kind) {
                distinct.push(kind);
            }
        }
        let kinds = distinct;
        Self::check_tables(&kinds, options.tables)?;
        let mut files = scheme.files(&kinds);
        if options.tail_calls.is_some() {
            files.push(match (scheme, &kinds[..]) {
                (Scheme::PlainDise, _) => return Err(CollectorError::TailCalls),
                (_, [ProfileKind::Method]) => files::TAIL_CALLS,
                (_, [ProfileKind::CallPair]) => files::TAIL_CALL_PAIRS,
                _ => return Err(CollectorError::TailCalls),
            });
        }
        let sampling = [
            ("sparsity", point.sparsity as i64),
            ("burst", point.burst as i64),
        ];
        let seed = (scheme == Scheme::Randomized)
            .then(|| ("seed", random::first_state(options.seed) as i64));
        let params: HashMap<String, i64> = sampling
            .into_iter()
            .chain(seed)
            .chain(kinds.iter().map(|&kind| options.param(kind)))
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        let load = |isa| -> Result<ProductionSet, CollectorError> {
            let load = LoadOptions {
                params: params.clone(),
                isa,
                ..LoadOptions::default()
            };
            let set = files::load(&files, &load)?;
            // Found now rather than at installation.
            set.engine(&options.dise)?;
            Ok(set)
        };
        let sets = [load(Isa::ALL[0])?, load(Isa::ALL[1])?];
        let accumulator = Accumulator::new(options.streams.as_ref(), point)?;
        Ok(Collector {
            scheme,
            kinds,
            point,
            dise: options.dise.clone(),
            streams: options.streams.clone(),
            sets,
            tail_calls: options.tail_calls.clone(),
            tables: options.tables,
            accumulator: Arc::new(Mutex::new(accumulator)),
        })
    }

    /// How it decides what is sampled.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// First profile type that is collected; none for the framework alone.
    #[must_use]
    pub fn kind(&self) -> Option<ProfileKind> {
        self.kinds.first().copied()
    }

    /// Everything that is collected, in the order in which it was asked for.
    #[must_use]
    pub fn kinds(&self) -> &[ProfileKind] {
        &self.kinds
    }

    /// The sampling point that the run starts with.
    #[must_use]
    pub fn point(&self) -> SamplePoint {
        self.point
    }

    /// Changes burst length and sparsity while the program runs. It takes effect at the end of the burst
    /// that runs or comes next ([`Scheme::registers`]).
    ///
    /// `regs` are the registers between two instructions of the program: those of a functional machine
    /// that stopped at a limit (`machine.process.thread.hart.r`), or of a core behind `drain_to_boundary`
    /// (`core.process.thread.hart.r`). At the same instruction the change has the same effect on both.
    ///
    /// # Errors
    /// An impossible point; with data streams also a change between a sparsity of 0, whose trace is one
    /// burst, and any other.
    pub fn set_point(
        &self,
        regs: &mut [u64; reg::COUNT],
        point: SamplePoint,
    ) -> Result<(), CollectorError> {
        self.scheme.validate(point)?;
        let (from, to) = (self.point.sparsity, point.sparsity);
        if self.kinds.contains(&ProfileKind::DataStream) && (from == 0) != (to == 0) {
            return Err(CollectorError::Change { from, to });
        }
        for (register, value) in self.scheme.registers(point) {
            regs[usize::from(register)] = value;
        }
        Ok(())
    }

    /// The productions for programs of an instruction set.
    #[must_use]
    pub fn productions(&self, isa: Isa) -> &ProductionSet {
        &self.sets[usize::from(Isa::ALL[1] == isa)]
    }

    /// Guest addresses of the handlers and their data, in a process of whatever instruction set.
    /// Nothing outside it is written by a handler.
    #[must_use]
    pub fn guest_range(&self) -> Range<u64> {
        let end = |set: &ProductionSet| {
            let code = set.handler_image();
            let code_end = code.iter().map(|(base, bytes)| base + bytes.len() as u64);
            let data_end = set.data_areas().iter().map(|area| area.address + area.size);
            code_end.chain(data_end).max()
        };
        let start = layout::HANDLER_BASE;
        let end = self.sets.iter().filter_map(end).max().unwrap_or(start);
        start..page_align_up(end).unwrap_or(end) + self.further_bytes()
    }

    /// Maps handlers and tables into a process, sets the DISE registers, and gives the engine for
    /// the decode stage. The program's own registers and memory are left as they are.
    ///
    /// # Errors
    /// If the memory cannot be mapped, for example because a collector is installed already.
    pub fn install(&self, process: &mut Process) -> Result<DiseEngine, CollectorError> {
        let set = self.productions(process.image.isa);
        self.map(set, &mut process.mem)?;
        set.init_registers(&mut process.thread.hart.r);
        *self.lock() = Accumulator::new(self.streams.as_ref(), self.point)?;
        let mut engine = set.engine(&self.dise)?;
        if let Some(entries) = &self.tail_calls {
            engine.set_entries(Arc::clone(entries));
        }
        engine.reset(&process.thread.hart.r);
        self.attach(&mut engine);
        self.share_out(process, &mut engine);
        Ok(engine)
    }

    /// Makes this collector the consumer of the data that the engine drains.
    fn attach(&self, engine: &mut DiseEngine) {
        if let Some(area) = self.data_area("DataStream_buffer") {
            let accumulator = Arc::clone(&self.accumulator);
            engine.set_drain(Box::new(move |read| {
                let mut bytes = vec![0; area.size as usize];
                if read(area.address, &mut bytes) {
                    accumulator
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .take(&bytes);
                }
            }));
        }
    }

    fn map(&self, set: &ProductionSet, mem: &mut Memory) -> Result<(), CollectorError> {
        let range = self.guest_range();
        if range.start < layout::HANDLER_BASE || range.end > layout::HANDLER_END {
            return Err(CollectorError::Region {
                start: range.start,
                end: range.end,
            });
        }
        let map_error = |source| CollectorError::Map {
            base: range.start,
            source,
        };
        let mut data_start = range.start;
        for (base, code) in set.handler_image() {
            let end = page_align_up(base + code.len() as u64).unwrap_or(range.end);
            if !mem.is_free(base, end - base) {
                return Err(map_error(MemoryError::BadRange {
                    addr: base,
                    len: end - base,
                }));
            }
            mem.map(base, end - base, Perm::RX).map_err(map_error)?;
            mem.write_bytes_forced(base, &code)
                .map_err(|fault| map_error(MemoryError::NotMapped { addr: fault.addr }))?;
            data_start = end;
        }
        if data_start < range.end {
            debug_assert!(data_start.is_multiple_of(PAGE_SIZE));
            mem.map(data_start, range.end - data_start, Perm::RW)
                .map_err(map_error)?;
        }
        Ok(())
    }

    /// Profile collected so far, of the first profile type. Reads guest memory and changes nothing, so that it may be
    /// called in the middle of a run.
    ///
    /// # Errors
    /// If the collector is not installed in this process.
    pub fn read(&self, process: &Process) -> Result<CollectedProfile, CollectorError> {
        self.read_from(&process.mem, &process.thread.hart.r)
    }

    /// Like [`Collector::read`], from memory and architectural registers that a pipeline shows.
    ///
    /// # Errors
    /// If the collector is not installed in this memory.
    pub fn read_from(
        &self,
        mem: &Memory,
        regs: &[u64; reg::COUNT],
    ) -> Result<CollectedProfile, CollectorError> {
        match self.kind() {
            None => Ok(CollectedProfile::Nothing),
            Some(kind) => self.read_kind(kind, mem, regs),
        }
    }

    /// Everything that was collected so far, in the order of [`Collector::kinds`]. Changes nothing.
    ///
    /// # Errors
    /// If the collector is not installed in this process.
    pub fn read_all(&self, process: &Process) -> Result<Vec<CollectedProfile>, CollectorError> {
        self.read_all_from(&process.mem, &process.thread.hart.r)
    }

    /// Like [`Collector::read_all`], from memory and architectural registers that a pipeline shows.
    ///
    /// # Errors
    /// If the collector is not installed in this memory.
    pub fn read_all_from(
        &self,
        mem: &Memory,
        regs: &[u64; reg::COUNT],
    ) -> Result<Vec<CollectedProfile>, CollectorError> {
        let kinds = self.kinds.iter();
        kinds.map(|&kind| self.read_kind(kind, mem, regs)).collect()
    }

    fn read_kind(
        &self,
        kind: ProfileKind,
        mem: &Memory,
        regs: &[u64; reg::COUNT],
    ) -> Result<CollectedProfile, CollectorError> {
        Ok(match kind {
            ProfileKind::Method | ProfileKind::CallPair => self.read_merged(kind, mem)?,
            ProfileKind::DataStream => {
                let mut accumulator = self.lock().clone();
                let bytes = self.area_bytes("DataStream_buffer", 0, mem)?;
                let start = self
                    .data_area("DataStream_buffer")
                    .map_or(0, |area| area.address);
                let filled = regs[usize::from(read::BUFFER_POINTER)].saturating_sub(start) as usize;
                accumulator.take(bytes.get(..filled).unwrap_or(&bytes));
                CollectedProfile::DataStream(Box::new(accumulator.into_recorder()))
            }
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Accumulator> {
        self.accumulator
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// A data area, which lies at the same place for every instruction set: all handlers of a profile
    /// type take one page.
    fn data_area(&self, name: &str) -> Option<hps_dise::DataArea> {
        self.sets[0]
            .data_areas()
            .iter()
            .find(|area| area.name == name)
            .cloned()
    }

    fn area_bytes(&self, name: &str, offset: u64, mem: &Memory) -> Result<Vec<u8>, CollectorError> {
        let Some(area) = self.data_area(name) else {
            return Ok(Vec::new());
        };
        let mut bytes = vec![0; area.size as usize];
        mem.read_bytes(area.address + offset, &mut bytes)
            .map_err(|fault| CollectorError::NotInstalled { addr: fault.addr })?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_registers_are_the_same_for_every_instruction_set() {
        let kinds = [
            ProfileKind::Method,
            ProfileKind::CallPair,
            ProfileKind::DataStream,
        ];
        for scheme in Scheme::ALL {
            for count in [1, 2, 3] {
                let of = &kinds[3 - count..];
                let point = SamplePoint::EXHAUSTIVE;
                let collector = Collector::of(scheme, of, point, &CollectorOptions::default());
                let [first, second] = collector.map(|c| c.sets).unwrap_or_else(|e| panic!("{e}"));
                assert_eq!(first.data_areas(), second.data_areas());
                assert_eq!(first.data_areas().len(), count);
                assert_eq!(first.dise_register_init(), second.dise_register_init());
                assert_ne!(first.handler_image(), second.handler_image());
            }
        }
    }
}
