//! The instruction-driven core: the machine of [`Chip`](crate::core::Chip), an instruction at a time instead of
//! a cycle at a time.
//!
//! Instructions come in program order of the predicted path, wrong paths included, and each one is
//! given at once the cycles in which it is fetched, decoded, dispatched, issued, complete and committed.
//! Everything that delays an instruction is known by then: older instructions have their cycles, and
//! younger ones never delay it (queues are in order, and the oldest ready instruction issues first).
//! A mispredicted branch says at once when it resolves, so the wrong path behind it is followed until
//! fetch gets to that cycle, and taken back.
//!
//! The rules are those of the cycle-driven core, which is the oracle for this one (`tests/driven.rs`): where all
//! accesses hit, the cycles are the same, each of them. What differs:
//!
//! - **Accesses to caches, TLBs and buses come in program order** instead of in order of time, each with
//!   its own cycle. Stores and fetches do come in order of time, but for loads between them.
//! - **Units that are held** for several cycles (division) are taken by the older of two instructions, also
//!   if the younger one could have had them first.
//! - A store of which the cache wants another try may find that its port is another's.
//!
//! There is no order of issue here but out of order, no perfect predictor, and no pipeline log. There is one context
//! on one core: the core writes memory when it executes a store, before a store of another context could come
//! first.

mod access;
mod accesses;
mod attend;
mod blocks;
mod calendar;
mod commit;
mod duplicate;
mod edit;
mod execute;
mod fetch;
mod insts;
mod interrupts;
mod issue;
mod loads;
mod not_driven;
mod path;
mod sequence;
mod serializing;
mod stages;
mod stamps;
mod state;
mod stores;
mod transfers;
mod undispatched;
mod work;
mod wrong_path;

use hps_isa::editor::{DecodeEditor, NoEditor};
use hps_isa::hart::GuestCounters;
use hps_isa::inst::{ALL_CLASSES, Op, OpClass, reg};
use hps_isa::likely::{often, seldom};
use hps_isa::probe::NoProbe;
use hps_sim_core::machine::{RetiredCounts, Stop};
use hps_system::process::Process;
use serde::{Deserialize, Serialize};

use crate::config::{HistoryUpdate, L1dWrite, MachineConfig, Predictor, Scheduling, UnitTable};
use crate::interrupts::Lines;
use crate::memsys::MemorySystem;
use crate::model::{
    Cause, CoreStats, CpiStack, MemoryDependence, Params, PipelineProbe, Ring, Walk, kind,
};
use crate::predict::{BranchUnit, Checkpoint, FoldedBasis};
use path::{RightPath, WrongPath};

pub use not_driven::NotDriven;

use calendar::{Calendar, Demand, Widths};
use commit::Commits;
use edit::Edit;
use fetch::{Fetch, Lesson};
use insts::{Code, StaticInst};
use stamps::{AT_ONCE, Stamps};
use stores::Stores;
use wrong_path::{Episode, WrongPathStore};

/// Registers that have a name: those up to [`reg::SINK`].
const REGISTERS: usize = reg::SINK as usize + 1;
/// Registers for integers and floating point, and of them those for integers.
const PROGRAM_REGISTERS: usize = reg::DISE as usize;
const INTEGER_REGISTERS: usize = reg::FP as usize;
/// One place for each value of a register number, so that no access needs a check.
const PLACES: usize = reg::COUNT;

/// A cycle that does not come: later than every squash, and nothing overflows that adds to it.
const NEVER: u64 = u64::MAX / 4;

/// The calendar of issue and the cycles of a core.
fn structures(
    config: &MachineConfig,
    params: &Params,
    table: &UnitTable,
) -> Result<(Calendar, Stamps), NotDriven> {
    if config.issue.scheduling != Scheduling::OutOfOrder {
        return Err(NotDriven::InOrder);
    }
    if config.chip.has_peers() {
        return Err(NotDriven::Cores);
    }
    if !config.counters.is_default() {
        return Err(NotDriven::Counters);
    }
    if config.memory.learns_by_instruction() {
        return Err(NotDriven::Replacement);
    }
    if config.branch.predictor == Predictor::Perfect {
        return Err(NotDriven::Perfect);
    }
    if config.branch.history_update != HistoryUpdate::Speculative {
        return Err(NotDriven::LateHistory);
    }
    if config.memory.l1d_write != L1dWrite::WriteBack {
        return Err(NotDriven::WriteThrough);
    }
    let widths = Widths {
        issue: params.issue_width,
        ports: config.memory.l1d.ports,
        fp_queue: params.fp_queue > 0,
    };
    let calendar = Calendar::new(table, widths).ok_or(NotDriven::Pools)?;
    // A wrong path does not run into what is asked for behind its squash.
    let group = params.fetch_width;
    let stamps = Stamps::new(
        params.in_flight() + group.max(AT_ONCE) + params.look_back(),
        group,
    );
    let stamps = stamps.ok_or(NotDriven::Window)?;
    Ok((calendar, stamps))
}

impl Params {
    /// See [`DrivenCore::groups_fit`].
    fn groups_fit(&self) -> bool {
        let places = [
            self.fetch_buffer,
            self.decode_width,
            self.decode_buffer,
            self.dispatch_width,
            self.rob_entries as usize,
            self.load_queue as usize,
        ];
        places.into_iter().all(|places| places >= self.fetch_width)
    }

    /// See [`DrivenCore::groups_flow`]. There is one group in a cycle.
    fn groups_flow(&self) -> bool {
        // Cycles between a group and what has to leave a queue for its last instruction.
        let between = |queue: usize| (queue + 1 - self.fetch_width).div_ceil(self.fetch_width);
        between(self.fetch_buffer) as u64 >= self.fetch_to_decode
            && between(self.decode_buffer) as u64 >= self.decode_to_dispatch
    }

    /// How far fetch, decode and dispatch ask back for the cycles of older instructions, the window aside.
    fn look_back(&self) -> usize {
        let queues = self.fetch_buffer.max(self.decode_buffer);
        queues.max(self.decode_width).max(self.dispatch_width)
    }
}

/// The cycle in which a stage takes an instruction that may come from `from` on, if it took the one
/// before it in `last` and the one that is its width before it in `width_ago`.
#[inline(always)]
fn in_order(from: u64, last: u64, width_ago: u64) -> u64 {
    from.max(last).max(width_ago + 1)
}

/// When an instruction issues and has its result.
#[derive(Clone, Copy, Debug, Default)]
struct When {
    /// From this cycle on what reads the result may issue.
    result: u64,
    issue: u64,
}

/// The last instruction that found the store queue full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Full {
    position: u64,
    /// The cycle in which there was room.
    until: u64,
}

hps_isa::save_values!(Full);

impl Full {
    /// None has.
    const NEVER: Full = Full {
        position: u64::MAX,
        until: 0,
    };
}

/// An instruction that has been dispatched, the last one, in [`DrivenCore::dispatched`].
#[derive(Clone, Copy)]
struct Passing<'a> {
    inst: &'a StaticInst,
    /// Where fetch went behind it.
    predicted_next: u64,
}

/// The core.
pub struct DrivenCore<E: DecodeEditor = NoEditor, P: PipelineProbe = NoProbe> {
    process: Process,
    editor: E,
    probe: P,
    stats: CoreStats,
    cpi: CpiStack,
    params: Params,
    memory: MemorySystem,
    branches: BranchUnit,
    memdep: MemoryDependence,
    /// A load may have to wait for the addresses of all older stores.
    waits_for_any: bool,
    /// Not here while the core runs.
    code: Option<Code>,
    /// Latency of each operation, in cycles from issue to result.
    latencies: [u16; Op::ALL.len()],
    /// Bits of each class that dispatch asks for (see [`kind`]); [`kind::FLOAT`] only where there is a queue for it.
    kinds: [u8; OpClass::COUNT],
    /// See [`DrivenCore::take_each_alone`].
    each_alone: bool,
    /// No stage is narrower, and no queue smaller, than a fetch group.
    groups_fit: bool,
    /// Groups that come through all stages without waiting never fill the queues between them.
    groups_flow: bool,
    /// Groups that are fetched from this cycle on [flow](DrivenCore::flows): it lies as far behind the last instruction
    /// that has waited for decode or dispatch.
    flows_from: u64,
    /// Cycles from result to commit.
    result_to_commit: u64,
    /// Cycles from dispatch to commit of what waits for nothing.
    fill: u64,
    calendar: Calendar,
    fetch: Fetch,
    edit: Edit,
    /// The state of the predictors before the last prediction.
    predicted_at: Checkpoint,
    /// Commits that have yet to train the predictors.
    lessons: Ring<Lesson>,
    /// Folded histories of the lessons; one place if there are none.
    folded: Ring<FoldedBasis>,
    lessons_head: usize,
    lessons_tail: usize,
    /// The commit of the first of them, if there is any.
    lesson_due: u64,
    stamps: Stamps,
    /// Cycle of the last dispatch.
    dispatched: u64,
    /// The last dispatch that a probe sees: without instructions that wait for a place in a queue until their squash.
    told_dispatch: u64,
    /// Position of the next instruction in program order of the predicted path.
    position: u64,
    /// Loads and atomics before it.
    loads: u64,
    /// Commits of loads, by position.
    loads_committed: Ring<u64>,
    commits: Commits,
    /// When each register has its value: from `results` on what reads it may issue; its producer issued
    /// in `issues`.
    results: [u64; PLACES],
    issues: [u64; PLACES],
    /// How many of them, from the first on, the code that has been decoded may write, [`reg::SINK`] aside.
    registers: usize,
    /// Dispatched instructions that have not issued by the cycle of the last dispatch: in the reservation
    /// stations, and in the queue for floating point if there is one.
    waiting: u32,
    fp_waiting: u32,
    full: Full,
    stores: Stores,
    /// Stretches of cycles in which the last load was parked.
    parked: Vec<(u64, u64)>,
    /// The walk of the last load that has missed the TLB.
    walk: Walk,
    /// Wrong paths (and paths that will run again), the outermost first.
    episodes: Vec<Episode>,
    /// How many of them are followed.
    depth: usize,
    /// Instructions of the innermost of them that are still in their stations when they are squashed.
    stay: u32,
    fp_stay: u32,
    /// Squash of the innermost of them.
    limit: u64,
    /// The first position of the outermost of them that finds no place in the window before the squash.
    window_end: u64,
    /// The first load there that finds no place in its queue before the squash.
    loads_end: u64,
    /// Where one queue holds loads and stores: all loads before this one have committed.
    memory_left: u64,
    /// Demand of the separate operation that computes an address.
    address_operation: Demand,
    wrong_path_stores: Vec<WrongPathStore>,
    /// Bytes that the last instruction stored.
    stored: u8,
    halted: Option<i32>,
    /// Whether executable code may have changed.
    code_changes: bool,
    /// Instructions behind which the operating system is asked next; 0 where a run begins, 1 behind a call that may have
    /// changed what is due.
    attend_at: u64,
    /// Why the run ends, if it does.
    stop: Option<Stop>,
    lines: Lines,
}

impl DrivenCore {
    /// Whether a machine has such a core, with any editor.
    ///
    /// # Errors
    /// The feature of the machine that this core lacks.
    pub fn check(config: &MachineConfig) -> Result<(), NotDriven> {
        let params = Params::new(config, 1);
        structures(config, &params, &UnitTable::new(&config.units)).map(|_| ())
    }

    /// A core without editor and probe.
    ///
    /// # Errors
    /// The feature of the machine that this core lacks.
    pub fn new(config: &MachineConfig, process: Process) -> Result<Self, NotDriven> {
        DrivenCore::with(config, process, NoEditor, NoProbe)
    }
}

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// No editor puts in instructions of its own.
    const ALL_OF_PROGRAM: bool = !E::ENABLED && !E::RELAYOUT;

    /// A core with a decode-stage editor and a probe.
    ///
    /// # Errors
    /// The feature of the machine that this core lacks, or a probe that asks for stages.
    pub fn with(
        config: &MachineConfig,
        process: Process,
        editor: E,
        probe: P,
    ) -> Result<Self, NotDriven> {
        if probe.wants_stages() {
            return Err(NotDriven::Log);
        }
        let params = Params::new(config, editor.extra_decode_stages());
        let table = UnitTable::new(&config.units);
        let (calendar, stamps) = structures(config, &params, &table)?;
        let address_operation = Demand {
            full: calendar.full(OpClass::IntAlu),
            class: OpClass::IntAlu,
            latency_cycles: u64::from(table.timing(OpClass::IntAlu).latency_cycles),
        };
        let memdep = MemoryDependence::new(&config.speculation.memory_dependence);
        let mut code = Code::new(process.image.isa, params.performs_prefetches);
        code.sync(&process.mem, &editor);
        let in_flight = params.in_flight();
        let branches = BranchUnit::new(&config.branch);
        let folded_in_flight = if branches.is_folded() { in_flight } else { 1 };
        let mut core = DrivenCore {
            edit: Edit::new::<E>(in_flight, process.thread.hart.disepc),
            editor,
            probe,
            stats: CoreStats::default(),
            cpi: CpiStack::default(),
            memory: MemorySystem::out_of_order(&config.memory),
            branches,
            waits_for_any: memdep.waits_for_any(),
            memdep,
            code: Some(code),
            latencies: std::array::from_fn(|op| {
                // None that a configuration may have is longer.
                u16::try_from(table.latency_cycles(Op::ALL[op])).unwrap_or(u16::MAX)
            }),
            kinds: ALL_CLASSES.map(|class| match kind::of(class) {
                kind if params.fp_queue > 0 => kind,
                kind => kind & !kind::FLOAT,
            }),
            fill: params.fill_cycles(),
            each_alone: false,
            groups_fit: params.groups_fit(),
            groups_flow: !E::ENABLED && params.groups_fit() && params.groups_flow(),
            flows_from: 0,
            result_to_commit: params.issue_to_execute + params.complete_to_commit,
            calendar,
            fetch: Fetch::at(process.thread.hart.pc),
            predicted_at: Checkpoint::default(),
            lessons: Ring::new(in_flight, Lesson::empty()),
            folded: Ring::new(folded_in_flight, FoldedBasis::default()),
            lessons_head: 0,
            lessons_tail: 0,
            lesson_due: NEVER,
            stamps,
            dispatched: 0,
            told_dispatch: 0,
            position: 0,
            loads: 0,
            loads_committed: Ring::new(params.load_queue as usize, 0),
            // There is no cycle 0.
            commits: Commits::full(0, params.commit_width),
            results: [0; PLACES],
            issues: [0; PLACES],
            registers: if E::ENABLED {
                REGISTERS
            } else {
                INTEGER_REGISTERS
            },
            waiting: 0,
            fp_waiting: 0,
            full: Full::NEVER,
            stores: Stores::new(config.window.store_queue_entries as usize),
            parked: Vec::new(),
            walk: Walk::NONE,
            episodes: Vec::new(),
            depth: 0,
            stay: 0,
            fp_stay: 0,
            limit: u64::MAX,
            window_end: u64::MAX,
            loads_end: u64::MAX,
            memory_left: 0,
            address_operation,
            wrong_path_stores: Vec::new(),
            stored: 0,
            halted: None,
            code_changes: false,
            attend_at: 0,
            stop: None,
            lines: Lines::none(),
            params,
            process,
        };
        core.flows_from = core.flows_at_first();
        Ok(core)
    }

    /// A core whose memory system, [out of order](MemorySystem::out_of_order), and predictors earlier instructions have
    /// used, of which none is in flight any more.
    ///
    /// # Errors
    /// The errors of [`with`](Self::with).
    pub(crate) fn with_past(
        config: &MachineConfig,
        (process, editor, probe): (Process, E, P),
        (memory, branches, memdep): (MemorySystem, BranchUnit, MemoryDependence),
    ) -> Result<Self, NotDriven> {
        let mut core = DrivenCore::with(config, process, editor, probe)?;
        (core.memory, core.branches, core.memdep) = (memory, branches, memdep);
        Ok(core)
    }

    /// Takes every instruction by itself from now on, as if groups never fitted into a stage. This is slower and has
    /// equal results: the oracle of the work on whole blocks.
    pub fn take_each_alone(&mut self) {
        self.each_alone = true;
        self.groups_fit = false;
        self.groups_flow = false;
        self.flows_from = self.flows_at_first();
    }

    pub(super) fn run_until(&mut self, end: u64) -> Stop {
        let begin = self.committed();
        if E::INTERRUPTIBLE {
            self.lines.committed_before = begin.total();
        }
        self.stop = None;
        let (isa, performs_prefetches) = (self.process.image.isa, self.params.performs_prefetches);
        let new = || Code::new(isa, performs_prefetches);
        let mut code = self.code.take().unwrap_or_else(new);
        while self.stop.is_none() {
            self.run_right_path(&mut code, end);
            self.run_wrong_path(&mut code);
        }
        self.code = Some(code);
        let stop = self.stop.unwrap_or(Stop::Limit);
        // Counted once for all: what commits has passed every stage and owns a slot. Only a decode-stage
        // editor makes it others than those that were fetched.
        let committed = self.committed();
        if !E::ENABLED {
            self.stats.commit_program_instructions = committed.program;
            self.stats.fetch_instructions += committed.total() - begin.total();
            self.stats.decode_instructions += committed.total() - begin.total();
        }
        self.stats.dispatch_instructions += committed.total() - begin.total();
        self.cpi.add(Cause::Base, committed.program - begin.program);
        let edited = committed.inserted + committed.handler;
        self.cpi
            .add(Cause::DiseInserted, edited - begin.inserted - begin.handler);
        self.stats.cycles = self.last_commit();
        stop
    }

    /// Instructions of the program that have committed, asked on the right path or where a wrong one begins. Where there
    /// are no others each one there has a position of its own, which nothing but its commit gets it past.
    #[inline(always)]
    fn committed_of_program(&self) -> u64 {
        if Self::ALL_OF_PROGRAM {
            self.position
        } else {
            self.stats.commit_program_instructions
        }
    }

    /// Instructions that have committed, by origin.
    fn committed(&self) -> RetiredCounts {
        RetiredCounts {
            program: self.committed_of_program(),
            inserted: self.stats.commit_inserted_instructions,
            handler: self.stats.commit_handler_instructions,
        }
    }

    /// An instruction does not commit, but has passed the stages up to dispatch. On a wrong path it has been
    /// counted there.
    #[cold]
    fn count_without_commit(&mut self) {
        if self.depth > 0 {
            return;
        }
        if !E::ENABLED {
            self.stats.fetch_instructions += u64::from(!self.fetch.is_waiting());
            self.stats.decode_instructions += 1;
        }
        self.stats.dispatch_instructions += 1;
    }

    /// Follows the right path until a wrong one begins or the run ends.
    #[inline(never)]
    fn run_right_path(&mut self, code: &mut Code, end: u64) {
        while self.depth == 0 && self.stop.is_none() {
            if self.committed_of_program() >= end {
                let restart = self.next_restart();
                self.process.thread.hart.pc = restart.pc;
                self.process.thread.hart.disepc = restart.disepc;
                self.stop = Some(Stop::Limit);
                return;
            }
            if E::INTERRUPTIBLE && self.lines.interrupts.is_some() {
                self.step_interruptibly(code);
                self.sync_code(code);
                continue;
            }
            // No block has more instructions than a group.
            let blocks_end = end.saturating_sub(self.params.fetch_width as u64 - 1);
            if seldom(self.committed_of_program() >= blocks_end) {
                self.step_alone::<RightPath>(code);
            }
            while often(self.committed_of_program() < blocks_end) {
                if seldom(!self.step_block::<RightPath>(code)) {
                    break;
                }
            }
            self.sync_code(code);
        }
    }

    /// Follows a change of code.
    #[inline(always)]
    fn sync_code(&mut self, code: &mut Code) {
        if std::mem::take(&mut self.code_changes) {
            code.sync(&self.process.mem, &self.editor);
            self.fetch.forget_code();
        }
    }

    /// Follows wrong paths to their ends.
    #[inline(never)]
    fn run_wrong_path(&mut self, code: &mut Code) {
        let begin = code.insts.last();
        while self.depth > 0 {
            self.step_block::<WrongPath>(code);
        }
        // Fetch continues behind the mispredicted instruction.
        code.insts.go_back_to(begin);
    }

    /// Counters that the program reads in a cycle.
    fn guest_counters(&self, now: u64) -> GuestCounters {
        // Not the one that asks, which has its position already; there is none where a run begins.
        let asks = u64::from(Self::ALL_OF_PROGRAM);
        let committed = self.committed_of_program().saturating_sub(asks);
        self.params.guest_counters(&self.process, now, committed)
    }

    /// The state of histories and return addresses as it is, but for what was predicted of an instruction
    /// that has not been sent on yet.
    fn checkpoint(&self) -> Checkpoint {
        if E::ENABLED
            && let Some(before) = self.edit.trigger_checkpoint()
        {
            return *before;
        }
        let mut checkpoint = Checkpoint::default();
        self.branches.checkpoint(&mut checkpoint);
        checkpoint
    }
}
