//! Software bursty tracing by code duplication: what HPS is compared with.
//!
//! The program's code is laid out anew when the program is loaded, as a rewriter of binaries does it
//! (Arnold and Ryder 2001; Hirzel and Chilimbi 2001). There are two copies of the code, one that only
//! checks and one that checks and collects. Checks stand at method entries and back-edges:
//!
//! ```text
//! checking:      if --nCheck == 0 { nInstr = burst;    go on in the instrumented copy }
//! instrumented:  if --nInstr == 0 { nCheck = sparsity; go on in the checking copy }
//! ```
//!
//! Inserted instructions are ordinary ones: they are fetched from the copies' addresses, and both copies
//! compete for the instruction cache, the TLB and the predictors. The counters lie in memory. A check
//! takes four instructions (load, subtract, store, branch), and two more where no register is free.
//!
//! # What the program sees
//!
//! The program sees its own addresses. Calls leave the original return address, the program counter that it computes
//! with is the original one, and so are those in signal frames; pointers to code are what they always were. A computed
//! jump, call or return goes to the place of its target in the copy that is running, at no cost: a rewriter with
//! relocations would have made pointers point into a copy. Therefore a sample ends exactly at a check, and a return
//! finds itself in the copy that runs *now*; where that is not the copy that called, the return address stack predicted
//! the other one, and the machine pays for a misprediction, a few for each burst.
//!
//! # Events
//!
//! With [`Checks::CallSites`] a check stands in front of each call and each back-edge, behind its
//! instrumentation. Those are HPS's events, and profiles are HPS's, count for count. With
//! [`Checks::Entries`], the published placement, these differ:
//! - a method that is jumped to (a tail call) or run into counts as an entry; HPS counts neither. (A
//!   *backward* jump to a method is a back-edge for both, and counts once.)
//! - a call that leads to no known entry (through a pointer to code without a symbol) has no check.
//! - the program's first method counts, though nothing calls it; so does a signal handler.
//!
//! # What is collected
//!
//! In the instrumented copy each instruction of interest gets HPS's own work, made from the same
//! production and handler files (`work.rs`). So a difference in cost is one of the scheme.
//!
//! # Simplifications
//!
//! - A fault whose handler resumes at the faulting instruction runs what is inserted in front of it once
//!   more.
//! - Code that is made at run time, or that nothing names, runs as it is (`code.rs`). A branch that has
//!   become too long counts as one instruction, and where a compiler aligned the heads of loops, copies
//!   with checks are not aligned again (`copies.rs`): on machines that fetch aligned blocks the cost also
//!   depends on where code falls.
//! - Registers that only a signal handler could see count as dead, and a load that faults and is skipped
//!   by its handler counts as having written its register (`liveness.rs`).
//! - Counters lie where one instruction reaches them, as if thread-pointer-relative (`slots.rs`).
//! - Probes of a machine see the copies' addresses; [`SoftwareEditor::original_address`] translates.

mod code;
mod copies;
mod editor;
mod liveness;
mod sites;
mod slots;
mod work;

use std::sync::{Arc, Mutex, PoisonError};

use hps_dise::DiseEngine;
use hps_isa::inst::reg;
use hps_isa::layout;
use hps_isa::memory::{Memory, MemoryError, PAGE_SIZE, Perm};
use hps_profile::{ProfileKind, StreamConfig};
use hps_system::process::Process;

use crate::collector::{CollectedProfile, Collector, CollectorError, CollectorOptions};
use crate::point::{SamplePoint, SamplePointError};
use code::Code;
use copies::{BASE, CHECKING, INSTRUMENTED, Layouter};
use editor::Layout;
pub use editor::SoftwareEditor;
use sites::Sites;
use work::Work;

/// Why a program's code cannot be laid out anew.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SoftwareError {
    /// The profile type's productions, tables or buffers.
    #[error(transparent)]
    Collector(#[from] CollectorError),
    /// An impossible sampling point.
    #[error(transparent)]
    Point(#[from] SamplePointError),
    /// A production that cannot become inserted code.
    #[error(
        "{production} cannot be inserted into the code: {problem}; \
         sequences may compute DISE registers, call a handler and end with T.INSN"
    )]
    Sequence {
        /// The production.
        production: String,
        /// Part of the production that cannot be inserted.
        problem: &'static str,
    },
    /// A production calls something that is no handler.
    #[error("a production calls a handler at {addr:#x}, where none begins")]
    Handler {
        /// The address.
        addr: u64,
    },
    /// The copies do not fit.
    #[error(
        "the copies of the code end at {end:#x}, behind the region reserved for profilers ({:#x})",
        layout::HANDLER_END
    )]
    TooLarge {
        /// The address behind them.
        end: u64,
    },
    /// Memory for the copies cannot be mapped.
    #[error("cannot map memory for the copies of the code at {addr:#x}: {source}")]
    Map {
        /// Where.
        addr: u64,
        /// Error of the memory.
        source: MemoryError,
    },
    /// The process has no such memory.
    #[error("guest memory at {addr:#x} cannot be read: the code of this process was not laid out")]
    NotInstalled {
        /// The address.
        addr: u64,
    },
}

/// Where checks stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checks {
    /// Nowhere: the code is only duplicated, and the copy in which it starts is never left. That is the
    /// instrumented one if the sparsity is 0.
    None,
    /// At method entries and back-edges, as published.
    #[default]
    Entries,
    /// At calls and back-edges: exactly HPS's events.
    CallSites,
}

/// Where checks stand, and sizes of tables.
#[derive(Clone, Debug)]
pub struct SoftwareOptions {
    /// Where checks stand.
    pub checks: Checks,
    /// The published reductions of checks: entries that no cycle of calls needs, and boring loops.
    /// With [`Checks::CallSites`] only the latter.
    pub reduced_checks: bool,
    /// A loop with at most this many instructions of interest may be boring.
    pub boring: u32,
    /// See [`CollectorOptions::method_slots`].
    pub method_slots: u64,
    /// See [`CollectorOptions::pair_slots`].
    pub pair_slots: u64,
    /// See [`CollectorOptions::buffer_entries`].
    pub buffer_entries: u64,
    /// See [`CollectorOptions::streams`].
    pub streams: Option<StreamConfig>,
}

impl Default for SoftwareOptions {
    fn default() -> Self {
        let collector = CollectorOptions::default();
        SoftwareOptions {
            checks: Checks::default(),
            reduced_checks: false,
            boring: 4,
            method_slots: collector.method_slots,
            pair_slots: collector.pair_slots,
            buffer_entries: collector.buffer_entries,
            streams: collector.streams,
        }
    }
}

impl SoftwareOptions {
    /// The copies of the code without any check: what duplication costs by itself.
    #[must_use]
    pub fn layout_only() -> Self {
        SoftwareOptions {
            checks: Checks::None,
            ..SoftwareOptions::default()
        }
    }

    fn collector(&self) -> CollectorOptions {
        CollectorOptions {
            method_slots: self.method_slots,
            pair_slots: self.pair_slots,
            buffer_entries: self.buffer_entries,
            streams: self.streams.clone(),
            ..CollectorOptions::default()
        }
    }
}

/// Contents of a layout. Static counts: of instructions in the code, not of executions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LayoutStatistics {
    /// Instructions of the program that were found.
    pub program_instructions: u64,
    /// Size of these instructions in bytes.
    pub program_bytes: u64,
    /// Method entries with a check.
    pub entry_checks: u64,
    /// Back-edges with a check.
    pub back_edge_checks: u64,
    /// Calls with a check.
    pub call_checks: u64,
    /// Back-edges without a check since their loop is boring.
    pub boring_back_edges: u64,
    /// Checks that found no free register and take two instructions more.
    pub spilled_checks: u64,
    /// Instructions of the program that are instrumented.
    pub instrumented_instructions: u64,
    /// Instructions inserted into the checking and the instrumented copy, stubs included.
    pub inserted_instructions: [u64; 2],
    /// Size of the checking and of the instrumented copy in bytes.
    pub copy_bytes: [u64; 2],
    /// Size of the handlers in bytes.
    pub routine_bytes: u64,
}

impl LayoutStatistics {
    /// Checks of one copy.
    #[must_use]
    pub fn checks(&self) -> u64 {
        self.entry_checks + self.back_edge_checks + self.call_checks
    }
}

/// A profile type to be collected by duplicated code.
///
/// ```text
/// let collector = SoftwareCollector::new(Some(ProfileKind::Method), point, &options)?;
/// let editor = collector.install(&mut process)?;         // both copies, counters, tables
/// let mut machine = Machine::with_editor(process, editor);
/// machine.run_to_end();
/// let profile = collector.read(&machine.process)?;
/// ```
///
/// One collector serves one run.
#[derive(Clone, Debug)]
pub struct SoftwareCollector {
    point: SamplePoint,
    options: SoftwareOptions,
    /// Handlers, tables and the reader of the profile; `None` if nothing is collected.
    collector: Option<Collector>,
    statistics: Arc<Mutex<LayoutStatistics>>,
}

impl SoftwareCollector {
    /// Loads the productions of a profile type. `None` gives code with checks that collects nothing, whose
    /// cost is the basic overhead.
    ///
    /// # Errors
    /// An impossible point or table size.
    pub fn new(
        kind: Option<ProfileKind>,
        point: SamplePoint,
        options: &SoftwareOptions,
    ) -> Result<Self, SoftwareError> {
        point.validate()?;
        let load = |kind| Collector::new(kind, point, &options.collector());
        Ok(SoftwareCollector {
            point,
            options: options.clone(),
            collector: kind.map(load).transpose()?,
            statistics: Arc::default(),
        })
    }

    /// Kind of profile that is collected.
    #[must_use]
    pub fn kind(&self) -> Option<ProfileKind> {
        self.collector.as_ref().and_then(Collector::kind)
    }

    /// The sampling point.
    #[must_use]
    pub fn point(&self) -> SamplePoint {
        self.point
    }

    /// Lays out the code of a process that has not run yet, maps copies, counters and tables, and puts
    /// the program counter into the copy that comes first. The editor is for the machine that runs it.
    ///
    /// # Errors
    /// If the memory cannot be mapped, for example because something is installed already, or the
    /// copies do not fit.
    pub fn install(&self, process: &mut Process) -> Result<SoftwareEditor, SoftwareError> {
        let code = Code::find(process);
        let engine = match &self.collector {
            Some(collector) => Some(install_collector(collector, process)?),
            None => None,
        };
        let layout = self.lay_out(code, process, engine.as_ref())?;
        self.map(&layout, process)?;
        process.thread.hart.pc = layout.place(process.thread.hart.pc, process.thread.hart.pc);
        *self
            .statistics
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = layout.copies.statistics;
        Ok(SoftwareEditor {
            layout: Arc::new(layout),
            consumer: engine,
        })
    }

    fn lay_out(
        &self,
        code: Code,
        process: &Process,
        engine: Option<&DiseEngine>,
    ) -> Result<Layout, SoftwareError> {
        let set = self.collector.as_ref().map(|c| c.productions(code.isa));
        let work = set.zip(engine).map(|(set, engine)| Work::new(set, engine));
        let interest = |at: usize| match &work {
            Some(work) => work.is_interesting(&code.list[at]),
            None => code.list[at].inst.class.is_memory(),
        };
        let is_pie = process.image.is_pie;
        let sites = Sites::choose(&code, &process.mem, is_pie, &self.options, &interest);
        let live = liveness::live(&code);
        let is_exhaustive = self.point.sparsity == 0;
        let counts_bursts = self.kind() == Some(ProfileKind::DataStream);
        let layouter = Layouter::new(
            &code,
            &live,
            &sites,
            work.as_ref(),
            is_exhaustive,
            counts_bursts,
        );
        let copies = layouter.finish()?;
        let first = if is_exhaustive {
            INSTRUMENTED
        } else {
            CHECKING
        };
        Ok(Layout::new(code, copies, first))
    }

    fn map(&self, layout: &Layout, process: &mut Process) -> Result<(), SoftwareError> {
        let end = layout.copies.end.next_multiple_of(PAGE_SIZE);
        if end > layout::HANDLER_END {
            return Err(SoftwareError::TooLarge { end });
        }
        for (addr, len, perm) in [
            (slots::PAGE, PAGE_SIZE, Perm::RW),
            (BASE, (end - BASE).max(PAGE_SIZE), Perm::RX),
        ] {
            let map_error = |source| SoftwareError::Map { addr, source };
            if !process.mem.is_free(addr, len) {
                return Err(map_error(MemoryError::BadRange { addr, len }));
            }
            process.mem.map(addr, len, perm).map_err(map_error)?;
        }
        let mut words = vec![
            (slots::CHECKS_LEFT, self.point.sparsity),
            (slots::BURST_LEFT, self.point.burst),
            (slots::SPARSITY, self.point.sparsity),
            (slots::BURST, self.point.burst),
        ];
        if let Some(collector) = &self.collector {
            let set = collector.productions(process.image.isa);
            let initial = set.dise_register_init().iter();
            words.extend(initial.map(|&(register, value)| (slots::of_dise(register), value)));
        }
        for (addr, value) in words {
            process
                .mem
                .write_bytes_forced(addr, &value.to_le_bytes())
                .map_err(|fault| SoftwareError::NotInstalled { addr: fault.addr })?;
        }
        Ok(())
    }

    /// Profile collected so far. Reads guest memory and changes nothing.
    ///
    /// # Errors
    /// If the code of this process was not laid out by this collector.
    pub fn read(&self, process: &Process) -> Result<CollectedProfile, SoftwareError> {
        self.read_from(&process.mem, &process.thread.hart.r)
    }

    /// Like [`SoftwareCollector::read`], from memory. Registers hold nothing of the profile.
    ///
    /// # Errors
    /// If the code was not laid out in this memory by this collector.
    pub fn read_from(
        &self,
        mem: &Memory,
        regs: &[u64; reg::COUNT],
    ) -> Result<CollectedProfile, SoftwareError> {
        let Some(collector) = &self.collector else {
            return Ok(CollectedProfile::Nothing);
        };
        // The words that stand for DISE registers say how far the buffer is filled.
        let mut regs = *regs;
        for register in reg::DISE..reg::DISE + reg::DISE_COUNT {
            let mut bytes = [0; 8];
            mem.read_bytes(slots::of_dise(register), &mut bytes)
                .map_err(|fault| SoftwareError::NotInstalled { addr: fault.addr })?;
            regs[usize::from(register)] = u64::from_le_bytes(bytes);
        }
        Ok(collector.read_from(mem, &regs)?)
    }

    /// Statistics of the layout of the last installation.
    #[must_use]
    pub fn statistics(&self) -> LayoutStatistics {
        *self
            .statistics
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Maps handlers and tables; the engine is the consumer of data streams and says what matches. DISE
/// registers are left as they are.
fn install_collector(
    collector: &Collector,
    process: &mut Process,
) -> Result<DiseEngine, SoftwareError> {
    let registers = usize::from(reg::DISE)..usize::from(reg::DISE + reg::DISE_COUNT);
    let before = process.thread.hart.r[registers.clone()].to_vec();
    let engine = collector.install(process)?;
    process.thread.hart.r[registers].copy_from_slice(&before);
    Ok(engine)
}
