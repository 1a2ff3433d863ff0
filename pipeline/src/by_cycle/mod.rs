//! The core, out of order or in order: stages over shared queues, one file a stage.
//!
//! An instruction executes functionally when it is dispatched, in program order of the predicted
//! path; everything behind that is time. A mispredicted path is really executed: registers are
//! brought back by the old values in the ROB, memory never sees a store before it commits.
//!
//! A cycle runs the stages from back to front, so that what a stage frees is seen by the stage
//! before it in the next cycle only where hardware would see it then. Cycles in which nothing can
//! happen are skipped: the core goes to the next cycle for which something is scheduled.

mod commit;
mod decode;
mod dispatch;
mod duplicate;
mod events;
mod fetch;
mod front_queue;
mod in_order;
mod interrupts;
mod issue;
mod lsu;
mod oracle;
mod rob;
mod scheduler;
mod slotting;
mod squash;
mod store_queue;
mod units;
mod uop;
mod warming;

pub(crate) use warming::WarmEdited;
pub use warming::{Learned, WARM_EVENTS, Warm, WarmEvents};

use hps_sim_core::code::{CodeCache, HandlerLink};
use hps_sim_core::editor::{DecodeEditor, NoEditor};
use hps_sim_core::ids::DisePc;
use hps_sim_core::inst::reg;
use hps_sim_core::likely::seldom;
use hps_sim_core::machine::Stop;
use hps_sim_core::probe::NoProbe;
use hps_sim_core::process::Process;
use hps_sim_core::trap::{Trap, TrapCause};

use crate::config::{MachineConfig, UnitTable};
use crate::interrupts::Lines;
use crate::memsys::MemorySystem;
use crate::model::{
    Cause, CoreStats, CpiStack, DEADLOCK_CYCLES, EventSet, MemoryDependence, Params, PipelineProbe,
    Ring, TIME_SLICE,
};
use crate::predict::{BranchUnit, Checkpoint};

use decode::Expansion;
use events::Events;
use fetch::{CodePage, FetchState};
use front_queue::FrontQueue;
use in_order::InOrder;
use oracle::Oracle;
use rob::Rob;
use scheduler::Scheduler;
use store_queue::StoreQueue;
use units::Units;
use uop::{Inserted, NO_PRODUCER, StageCycles};

/// One core with one hardware context.
///
/// Context state is in `process`, the front-end and the window; core state in the units and
/// predictors; chip state in `memory`.
pub struct Core<E: DecodeEditor = NoEditor, P: PipelineProbe = NoProbe> {
    /// The program: registers as of dispatch, memory as of commit, system calls.
    pub process: Process,
    /// The decode-stage editor.
    pub editor: E,
    /// The probe.
    pub probe: P,
    /// Counters of the core.
    pub stats: CoreStats,
    /// Commit slots by owner.
    pub cpi: CpiStack,
    pub(crate) params: Params,
    memory: MemorySystem,
    branches: BranchUnit,
    /// The oracle of a perfect predictor.
    oracle: Option<Box<Oracle>>,
    code: CodeCache,
    code_page: CodePage,
    now: u64,
    // Front-end.
    fetch: FetchState,
    front: FrontQueue,
    /// State of the predictors in front of each branch in flight.
    checkpoints: Ring<Checkpoint>,
    /// Where fetch went behind each branch, by the index of the checkpoint.
    predicted_next: Ring<u64>,
    checkpoint_tail: u16,
    /// What DISE added to an instruction, by its position.
    inserted: Ring<Inserted>,
    /// By position too, if the probe wants them.
    stage_cycles: Ring<StageCycles>,
    expansion: Option<Expansion>,
    /// The handler that decode is in.
    link: Option<HandlerLink>,
    /// Decode goes on in the middle of the expansion of the next instruction.
    resume: DisePc,
    decode_stall_until: u64,
    decode_gap: Option<Cause>,
    /// Decode waits until this instruction has been dispatched (it writes what microinstructions
    /// read).
    decode_waits_for: u64,
    // Window.
    rob: Rob,
    producers: [u64; reg::COUNT],
    scheduler: Scheduler,
    /// State of a core that issues in order.
    in_order: Option<Box<InOrder>>,
    events: Events,
    reservations_used: u32,
    /// Number of them in the queue of floating-point instructions.
    fp_queue_used: u32,
    loads_used: u32,
    stores: StoreQueue,
    memdep: MemoryDependence,
    units: Units,
    /// Cause of each trap, by ROB slot.
    traps: Ring<TrapCause>,
    /// Load reservation before an atomic, by ROB slot.
    reservations_before: Ring<u64>,
    /// What has happened to each load and atomic, by ROB slot, if the probe wants it.
    load_events: Ring<EventSet>,
    /// When the last committed instruction was dispatched, if the probe wants it.
    last_commit_dispatch: u64,
    drain_retry: u64,
    last_commit: u64,
    /// The program has ended with this exit code; what is in flight still commits.
    halted: Option<i32>,
    /// Something happened in this cycle.
    progressed: bool,
    /// The last run stopped at its limit in the middle of a cycle.
    paused: bool,
    /// Commit slots used in this cycle.
    committed_in_cycle: u64,
    lines: Lines,
}

/// What instructions leave in a core when nothing of them is in flight any more.
struct Past {
    memory: MemorySystem,
    branches: BranchUnit,
    memdep: MemoryDependence,
}

impl Core<NoEditor, NoProbe> {
    /// A core without editor and probe.
    #[must_use]
    pub fn new(config: &MachineConfig, process: Process) -> Self {
        Core::with(config, process, NoEditor, NoProbe)
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Core<E, P> {
    /// A core with a decode-stage editor and a probe.
    #[must_use]
    pub fn with(config: &MachineConfig, process: Process, editor: E, probe: P) -> Self {
        let code = CodeCache::new(process.image.isa);
        let past = Past {
            memory: MemorySystem::new(&config.memory),
            branches: BranchUnit::new(&config.branch),
            memdep: MemoryDependence::new(&config.speculation.memory_dependence),
        };
        Core::with_past(config, process, editor, probe, code, past)
    }

    /// A core with code decoded before, if it is still valid, and with the caches and predictors that earlier
    /// instructions left.
    fn with_past(
        config: &MachineConfig,
        process: Process,
        editor: E,
        probe: P,
        mut code: CodeCache,
        past: Past,
    ) -> Self {
        let Past {
            memory,
            branches,
            memdep,
        } = past;
        let params = Params::new(config, editor.extra_decode_stages());
        let rob = Rob::new(params.rob_entries as usize);
        let slots = rob.slots();
        let in_flight = slots + params.fetch_buffer + 2 * params.decode_buffer + 8;
        let fetch = FetchState::at(process.hart.pc);
        code.sync(&process.mem, &editor);
        Core {
            editor,
            probe,
            stats: CoreStats::default(),
            cpi: CpiStack::default(),
            memory,
            oracle: branches
                .tables
                .is_perfect()
                .then(|| Box::new(Oracle::new())),
            branches,
            code,
            code_page: CodePage::NONE,
            now: 0,
            fetch,
            front: FrontQueue::new(params.fetch_buffer, params.decode_buffer),
            checkpoints: Ring::new(in_flight, Checkpoint::default()),
            predicted_next: Ring::new(in_flight, 0),
            inserted: Ring::new(if E::ENABLED { in_flight } else { 0 }, Inserted::NOTHING),
            stage_cycles: Ring::new(
                if P::WANTS_STAGES { in_flight } else { 0 },
                StageCycles::default(),
            ),
            checkpoint_tail: 0,
            expansion: None,
            link: None,
            resume: process.hart.disepc,
            decode_stall_until: 0,
            decode_gap: None,
            decode_waits_for: 0,
            producers: [NO_PRODUCER; reg::COUNT],
            scheduler: Scheduler::new(slots),
            in_order: InOrder::new(config),
            events: Events::new(64),
            reservations_used: 0,
            fp_queue_used: 0,
            loads_used: 0,
            stores: StoreQueue::new(config.window.store_queue_entries as usize),
            memdep,
            units: Units::new(&UnitTable::new(&config.units)),
            traps: Ring::new(slots, TrapCause::IllegalInstruction),
            reservations_before: Ring::new(slots, 0),
            load_events: Ring::new(if P::WANTS_CYCLES { slots } else { 0 }, EventSet::NONE),
            last_commit_dispatch: 0,
            drain_retry: 0,
            last_commit: 0,
            halted: None,
            progressed: false,
            paused: false,
            committed_in_cycle: 0,
            lines: Lines::none(),
            rob,
            params,
            process,
        }
    }

    /// Runs to the end of the program.
    pub fn run_to_end(&mut self) -> Stop {
        self.run(u64::MAX)
    }

    /// Runs until `limit` further instructions of the program have committed, or until it ends.
    ///
    /// # Panics
    /// If no instruction commits for a million cycles: a defect of the model, reported with the
    /// state of the machine.
    pub fn run(&mut self, limit: u64) -> Stop {
        let end = self.stats.commit_program_instructions.saturating_add(limit);
        if limit == 0 {
            return Stop::Limit;
        }
        loop {
            if self.process.os.is_out_of_time() {
                return Stop::Fault(Trap::stopped(self.process.hart.pc));
            }
            let slice = self.process.os.instructions_in_time(TIME_SLICE);
            let done = self.stats.commit_program_instructions;
            let until = done.saturating_add(slice).min(end);
            match self.run_until(until) {
                Stop::Limit if until < end => {}
                stop => return stop,
            }
        }
    }

    fn run_until(&mut self, end: u64) -> Stop {
        loop {
            if let Some(stop) = self.cycle(end) {
                return stop;
            }
        }
    }

    /// One cycle, and the idle ones behind it.
    #[inline(always)]
    fn cycle(&mut self, end: u64) -> Option<Stop> {
        if seldom(self.paused) {
            // The last run ended in the middle of a cycle, behind a commit; it goes on here.
            self.paused = false;
        } else {
            self.now += 1;
            self.committed_in_cycle = 0;
            self.stats.cycles = self.now;
            self.progressed = false;
            self.drain_store();
            // In front of commit: a branch resolves, and a store finds its violation, before it
            // may leave the ROB in the same cycle.
            self.run_events();
        }
        let stop = self.commit(end);
        if seldom(stop.is_some()) {
            return stop;
        }
        self.issue();
        self.dispatch();
        self.decode();
        self.fetch();
        if E::INTERRUPTIBLE && seldom(self.lines.count) {
            self.count_events(self.now - 1);
        }
        if !self.progressed {
            self.skip_idle_cycles();
        } else if seldom(self.now - self.last_commit > DEADLOCK_CYCLES) {
            self.stuck();
        }
        None
    }

    /// Nothing happened in this cycle: goes to just before the next one in which something can.
    fn skip_idle_cycles(&mut self) {
        let mut next = u64::MAX;
        let now = self.now;
        let mut at = |cycle: u64| {
            if cycle > now {
                next = next.min(cycle);
            }
        };
        at(self.scheduler.next_after(now));
        at(self.events.next());
        if let Some(head) = self.rob.head() {
            at(head
                .complete_cycle
                .saturating_add(self.params.complete_to_commit));
        }
        if let Some(f) = self.front.fetched() {
            at(f.since(now) + self.params.fetch_to_decode);
        }
        if let Some(d) = self.front.decoded() {
            at(d.since(now) + self.params.decode_to_dispatch);
        }
        at(self.decode_stall_until);
        at(self.fetch.stall_until);
        at(self.drain_retry);
        if self.scheduler.any_ready() {
            // Ready but not issued: its unit is busy.
            at(self.units.next_free(now));
        }
        if let Some(order) = &self.in_order {
            at(order.retry);
            at(self.lines.look_from);
        }
        if next == u64::MAX {
            next = now + DEADLOCK_CYCLES + 1;
        }
        if next - self.last_commit > DEADLOCK_CYCLES {
            self.stuck();
        }
        let skipped = next - 1 - now;
        if skipped > 0 {
            self.account_skipped_slots(skipped);
            self.account_dispatch_stall(skipped);
            self.account_issue_stall(skipped);
            self.stats.idle_skipped_cycles += skipped;
            self.now += skipped;
            if E::INTERRUPTIBLE && seldom(self.lines.count) {
                self.count_events(now);
            }
        }
    }

    #[cold]
    fn stuck(&self) -> ! {
        let head = self.rob.head().map_or_else(
            || "ROB empty".to_string(),
            |h| {
                format!(
                    "head pc {:#x} {:?} flags {:#b} complete {}",
                    h.front.pc, h.front.inst, h.flags, h.complete_cycle
                )
            },
        );
        panic!(
            "the pipeline is stuck: cycle {}, last commit in cycle {}, {head}; {} fetched, {} decoded, fetch at {:#x} stalled until {}",
            self.now,
            self.last_commit,
            self.front.fetched_len(),
            self.front.decoded_len(),
            self.fetch.pc,
            self.fetch.stall_until
        )
    }

    /// Statistics of the memory hierarchy.
    pub fn memory_stats(&self) -> crate::memsys::MemoryStats {
        self.memory.stats()
    }
}
