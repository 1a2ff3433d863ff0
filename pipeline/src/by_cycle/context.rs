//! A hardware context: one thread of instructions, from fetch to commit.

use hps_isa::code::{CodeCache, HandlerLink};
use hps_isa::editor::DecodeEditor;
use hps_isa::ids::DisePc;
use hps_isa::inst::reg;
use hps_isa::trap::TrapCause;
use hps_system::os::DuplicateError;
use hps_system::process::Process;
use serde::{Deserialize, Serialize};

use crate::config::MachineConfig;
use crate::interrupts::Lines;
use crate::memsys::AddressSpace;
use crate::model::{
    Cause, ContextId, EventSet, MemoryDependence, Params, PipelineProbe, Ring, Walk,
};
use crate::predict::{Checkpoint, PredictedPath};

use super::decode::Expansion;
use super::events::Events;
use super::fetch::{CodePage, FetchState};
use super::front_queue::FrontQueue;
use super::in_order::InOrder;
use super::oracle::Oracle;
use super::rob::Rob;
use super::scheduler::Scheduler;
use super::store_queue::StoreQueue;
use super::uop::{Inserted, NO_PRODUCER, StageCycles};

/// Why a context stops behind a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Halt {
    /// The program has ended with this exit code.
    Exit(i32),
    /// No thread is left for the context.
    Idle,
    /// An observer sleeps.
    Sleeps,
}

hps_isa::save_values!(Halt);

/// A hardware context: a program with its decode-stage editor and its probe, and everything that is in flight of it.
/// ROB slots, positions and checkpoints name things of this context alone.
pub(crate) struct Context<E, P> {
    /// Which core of the chip this is, and which of its contexts.
    pub id: ContextId,
    /// The program: registers as of dispatch, memory as of commit, system calls.
    pub process: Process,
    /// The decode-stage editor.
    pub editor: E,
    /// The probe.
    pub probe: P,
    /// The oracle of a perfect predictor.
    pub oracle: Option<Box<Oracle>>,
    pub code: CodeCache,
    pub code_page: CodePage,
    // Front-end.
    pub fetch: FetchState,
    /// Histories and return address stack.
    pub path: PredictedPath,
    pub front: FrontQueue,
    /// State of the predictors in front of each branch in flight.
    pub checkpoints: Ring<Checkpoint>,
    /// Where fetch went behind each branch, by the index of the checkpoint.
    pub predicted_next: Ring<u64>,
    pub checkpoint_tail: u16,
    /// Additions of DISE to an instruction, by its position.
    pub inserted: Ring<Inserted>,
    /// By position too, if the probe wants them.
    pub stage_cycles: Ring<StageCycles>,
    pub expansion: Option<Expansion>,
    /// The handler that decode is in.
    pub link: Option<HandlerLink>,
    /// Decode goes on in the middle of the expansion of the next instruction.
    pub resume: DisePc,
    pub decode_stall_until: u64,
    pub decode_gap: Option<Cause>,
    /// Decode waits until this instruction has been dispatched (it writes what microinstructions
    /// read).
    pub decode_waits_for: u64,
    // Window.
    pub rob: Rob,
    pub producers: [u64; reg::COUNT],
    /// Who may issue when, as sets of slots of this ROB.
    pub scheduler: Scheduler,
    /// State of a core that issues in order.
    pub in_order: Option<Box<InOrder>>,
    pub events: Events,
    pub loads_used: u32,
    pub stores: StoreQueue,
    /// Which stores a load waits for, as positions in this store queue.
    pub memdep: MemoryDependence,
    /// Cause of each trap, by ROB slot.
    pub traps: Ring<TrapCause>,
    /// Load reservation before an atomic, by ROB slot.
    pub reservations_before: Ring<u64>,
    /// Events of each load and atomic, by ROB slot, if the probe wants them.
    pub load_events: Ring<EventSet>,
    /// By slot: the walk of a load that has missed the TLB.
    pub walks: Ring<Walk>,
    /// When the last committed instruction was dispatched, if the probe wants it.
    pub last_commit_dispatch: u64,
    pub drain_retry: u64,
    pub last_commit: u64,
    /// The address space that translations are of.
    pub space: u64,
    /// Where the addresses of the process lie in the caches.
    pub addresses: AddressSpace,
    /// The cycle in which the operating system has something to do.
    pub attend_at: u64,
    /// Nothing behind the system call in flight is dispatched any more, for this reason.
    pub halted: Option<Halt>,
    /// The pipeline is empty, and no thread is there to fill it.
    pub rests: bool,
    pub lines: Lines,
}

hps_isa::save_state! {
    impl[E, P] Context<E, P> {
        id: skip, process: skip, editor: skip, probe: skip, oracle, code, code_page, fetch, path,
        front, checkpoints, predicted_next, checkpoint_tail, inserted, stage_cycles, expansion,
        link, resume, decode_stall_until, decode_gap, decode_waits_for, rob, producers, scheduler,
        in_order, events, loads_used, stores, memdep, traps, reservations_before, load_events,
        walks, last_commit_dispatch, drain_retry, last_commit, space, addresses, attend_at, halted,
        rests, lines,
    }
}

impl<E, P> Context<E, P> {
    /// Whether restored state names slots of the ROB only, which are not checked when they are used. If not, or if
    /// something else of it `is_wrong`, forgets all slots.
    pub fn keep_slots(&mut self, is_wrong: bool) -> bool {
        let keeps = !is_wrong && {
            let slots = self.rob.slots();
            let named = self.rob.named_slots().chain(self.stores.named_slots());
            let mut named = named.chain(self.scheduler.named_slots());
            named.all(|slot| slot.is_among(slots))
        };
        if !keeps {
            self.rob.clear();
            self.stores.clear();
            self.scheduler.clear_far();
        }
        keeps
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Context<E, P> {
    /// An empty context in front of the first instruction of a process. `code` is code decoded before, which is kept
    /// if it is still valid.
    pub fn new(
        config: &MachineConfig,
        params: &Params,
        (process, editor, probe): (Process, E, P),
        mut code: CodeCache,
        path: PredictedPath,
        memdep: MemoryDependence,
    ) -> Self {
        let rob = Rob::new(params.rob_entries as usize);
        let slots = rob.slots();
        let in_flight = slots + params.fetch_buffer + 2 * params.decode_buffer + 8;
        code.sync(&process.mem, &editor);
        Context {
            id: ContextId::FIRST,
            oracle: Oracle::new(config),
            code,
            code_page: CodePage::NONE,
            fetch: FetchState::at(process.thread.hart.pc),
            path,
            front: FrontQueue::new(params.fetch_buffer, params.decode_buffer),
            checkpoints: Ring::new(in_flight, Checkpoint::default()),
            predicted_next: Ring::new(in_flight, 0),
            checkpoint_tail: 0,
            inserted: Ring::new(if E::ENABLED { in_flight } else { 0 }, Inserted::NOTHING),
            stage_cycles: Ring::new(
                if P::WANTS_STAGES { in_flight } else { 0 },
                StageCycles::default(),
            ),
            expansion: None,
            link: None,
            resume: process.thread.hart.disepc,
            decode_stall_until: 0,
            decode_gap: None,
            decode_waits_for: 0,
            producers: [NO_PRODUCER; reg::COUNT],
            scheduler: Scheduler::new(slots),
            in_order: InOrder::new(config),
            events: Events::new(64),
            loads_used: 0,
            stores: StoreQueue::new(
                config.window.store_queue_entries as usize,
                params.tells_instructions,
            ),
            memdep,
            traps: Ring::new(slots, TrapCause::IllegalInstruction),
            reservations_before: Ring::new(slots, 0),
            load_events: Ring::new(if P::WANTS_CYCLES { slots } else { 0 }, EventSet::NONE),
            walks: Ring::new(slots, Walk::NONE),
            last_commit_dispatch: 0,
            drain_retry: 0,
            last_commit: 0,
            space: process.mem.space(),
            addresses: AddressSpace::default(),
            attend_at: u64::MAX,
            halted: None,
            rests: false,
            lines: Lines::none(),
            rob,
            process,
            editor,
            probe,
        }
    }
}

impl<E: DecodeEditor + Clone, P: PipelineProbe + Clone> Context<E, P> {
    /// A second context in the same state, with everything in flight and a program of its own.
    ///
    /// # Errors
    /// [`DuplicateError`] if both programs would share something of the host that one of them can
    /// change.
    pub fn duplicate(&mut self) -> Result<Self, DuplicateError> {
        Ok(Context {
            id: self.id,
            process: self.process.duplicate()?,
            editor: self.editor.clone(),
            probe: self.probe.clone(),
            oracle: self.oracle.clone(),
            code: self.code.clone(),
            code_page: self.code_page.clone(),
            fetch: self.fetch.clone(),
            path: self.path.clone(),
            front: self.front.clone(),
            checkpoints: self.checkpoints.clone(),
            predicted_next: self.predicted_next.clone(),
            checkpoint_tail: self.checkpoint_tail,
            inserted: self.inserted.clone(),
            stage_cycles: self.stage_cycles.clone(),
            expansion: self.expansion.clone(),
            link: self.link,
            resume: self.resume,
            decode_stall_until: self.decode_stall_until,
            decode_gap: self.decode_gap,
            decode_waits_for: self.decode_waits_for,
            rob: self.rob.clone(),
            producers: self.producers,
            scheduler: self.scheduler.clone(),
            in_order: self.in_order.clone(),
            events: self.events.clone(),
            loads_used: self.loads_used,
            stores: self.stores.clone(),
            memdep: self.memdep.clone(),
            traps: self.traps.clone(),
            reservations_before: self.reservations_before.clone(),
            load_events: self.load_events.clone(),
            walks: self.walks.clone(),
            last_commit_dispatch: self.last_commit_dispatch,
            drain_retry: self.drain_retry,
            last_commit: self.last_commit,
            space: self.space,
            addresses: self.addresses.clone(),
            attend_at: self.attend_at,
            halted: self.halted,
            rests: self.rests,
            lines: self.lines.clone(),
        })
    }
}
