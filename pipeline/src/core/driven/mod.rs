//! The instruction-driven core: the machine of [`Core`](super::Core), an instruction at a time instead of
//! a cycle at a time.
//!
//! Instructions come in program order of the predicted path, wrong paths included, and each one is
//! given at once the cycles in which it is fetched, decoded, dispatched, issued, complete and committed.
//! That is enough since everything that delays it is known by then: what is older has its cycles, and
//! what is younger never delays it (queues are in order, and the oldest ready instruction issues first).
//! A mispredicted branch says at once when it resolves, so the wrong path behind it is followed until
//! fetch gets to that cycle, and taken back.
//!
//! The rules are those of `Core`, which is the oracle for this one (`tests/driven.rs`): where all
//! accesses hit, the cycles are the same, each of them. What differs:
//!
//! - **Accesses to caches, TLBs and buses come in program order** instead of in order of time, each with
//!   its own cycle. Stores and fetches do come in order of time, but for loads between them.
//! - **Units that are held** for several cycles (division) are taken by the older of two instructions, also
//!   if the younger one could have had them first.
//! - A store of which the cache wants another try may find that its port is another's.
//!
//! There is no decode-stage editor here, no order of issue but out of order, and no perfect predictor.

mod calendar;
mod commit;
mod execute;
mod fetch;
mod issue;
mod loads;
mod stores;
mod wrong_path;

use hps_sim_core::code::CodeCache;
use hps_sim_core::editor::NoEditor;
use hps_sim_core::hart::GuestCounters;
use hps_sim_core::inst::{Inst, Op, OpClass, reg};
use hps_sim_core::machine::Stop;
use hps_sim_core::probe::NoProbe;
use hps_sim_core::process::Process;

use super::cpi::{Cause, CpiStack};
use super::memdep::MemoryDependence;
use super::ring::Ring;
use super::uop::kind;
use super::{CoreStats, Params, PipelineProbe};
use crate::config::{L1dWrite, MachineConfig, Predictor, Scheduling, UnitTable};
use crate::memsys::{MemoryStats, MemorySystem};
use crate::predict::{BranchUnit, Checkpoint};

use calendar::{Calendar, Widths};
use commit::Commits;
use fetch::{Fetch, Lesson};
use stores::Stores;
use wrong_path::{AstrayStore, Episode};

/// Registers that have a name: those up to [`reg::SINK`].
const REGISTERS: usize = reg::SINK as usize + 1;
/// Places for them, a power of two.
const PLACES: usize = REGISTERS.next_power_of_two();

/// A cycle that does not come: later than every squash, and nothing overflows that adds to it.
const NEVER: u64 = u64::MAX / 4;

/// Cycles for each place of the reorder buffer that the calendar looks ahead.
const CYCLES_AHEAD: u64 = 256;

/// Why a machine has no instruction-driven core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotDriven {
    /// It issues in order.
    #[error("its scheduling is in order (issue.scheduling)")]
    InOrder,
    /// Its predictor is perfect.
    #[error("its branch predictor is perfect (branch.predictor)")]
    Perfect,
    /// Its data cache writes through.
    #[error("its data cache writes through (memory.l1d_write)")]
    WriteThrough,
    /// Its window is too large.
    #[error("its reorder buffer and the queues before it hold more than {STAMPS} instructions")]
    Window,
    /// It has too many pools of units.
    #[error(
        "it has more than 6 pools of pipelined units, or one of more than 127 units (units.pools)"
    )]
    Pools,
}

/// Instructions whose cycles are kept: more than the reorder buffer and the queues in front of it hold.
const STAMPS: usize = 2048;

/// Cycles of an instruction that younger ones ask for.
#[derive(Clone, Copy, Debug, Default)]
struct Stamps {
    decode: u64,
    dispatch: u64,
    /// Of the right path only.
    commit: u64,
}

/// Where the cycles of the instruction stand that is `back` positions before another one.
#[inline(always)]
fn at(position: u64, back: u64) -> usize {
    position.wrapping_sub(back) as usize % STAMPS
}

/// When a register has its value.
#[derive(Clone, Copy, Debug, Default)]
struct When {
    /// From this cycle on what reads it may issue.
    result: u64,
    /// Its producer issued in this cycle.
    issue: u64,
}

/// A stage that takes so many instructions in a cycle, in order.
#[derive(Clone, Copy, Debug, Default)]
struct Stage {
    cycle: u64,
    count: u32,
}

impl Stage {
    /// The first cycle from `from` on in which it takes another one.
    #[inline(always)]
    fn next(&self, from: u64, width: u32) -> u64 {
        from.max(self.cycle + u64::from(self.count >= width))
    }

    /// It takes none before this cycle.
    fn wait_until(&mut self, cycle: u64) {
        *self = Stage { cycle, count: 0 };
    }

    /// It takes one in a cycle that [`next`](Self::next) gave.
    #[inline(always)]
    fn take(&mut self, cycle: u64) {
        self.count = if cycle == self.cycle {
            self.count + 1
        } else {
            1
        };
        self.cycle = cycle;
    }
}

/// An instruction on its way through the stages.
#[derive(Clone, Copy)]
struct Passing {
    inst: Inst,
    pc: u64,
    /// The address behind it, and where fetch went.
    next: u64,
    predicted_next: u64,
    fetch: u64,
    decode: u64,
    dispatch: u64,
    /// Why there was a gap in front of it, and since when fetch knew.
    gap: Cause,
    gap_since: u64,
    /// Until then the store queue was full.
    full_until: u64,
}

/// The core.
pub struct DrivenCore<P: PipelineProbe = NoProbe> {
    /// The program. Between two runs its state is that behind the last committed instruction.
    pub process: Process,
    /// The probe.
    pub probe: P,
    /// Counters of the core.
    pub stats: CoreStats,
    /// Commit slots by owner.
    pub cpi: CpiStack,
    params: Params,
    memory: MemorySystem,
    branches: BranchUnit,
    memdep: MemoryDependence,
    code: CodeCache,
    /// Cycles from issue to result, by operation.
    latencies: Box<[u64]>,
    calendar: Calendar,
    fetch: Fetch,
    /// What commits have yet to teach the predictors.
    lessons: Ring<Lesson>,
    lessons_head: usize,
    lessons_tail: usize,
    decode: Stage,
    dispatch: Stage,
    /// Cycles of the youngest instructions, by position.
    stamps: Box<[Stamps; STAMPS]>,
    /// Position of the next instruction in program order of the predicted path.
    position: u64,
    /// Loads and atomics before it.
    loads: u64,
    /// Commits of loads, by position.
    loads_committed: Ring<u64>,
    commits: Commits,
    when: [When; PLACES],
    /// Dispatched instructions that have not issued by the cycle of the last dispatch.
    waiting: u32,
    /// Of those, in the queue for floating point.
    fp_waiting: u32,
    stores: Stores,
    /// Stretches of cycles in which the last load was parked.
    parked: Vec<(u64, u64)>,
    /// Wrong paths (and paths that will run again), the outermost first.
    episodes: Vec<Episode>,
    /// How many of them are followed.
    depth: usize,
    /// Squash of the innermost of them.
    limit: u64,
    /// The first position of the outermost of them, and the first load and store there.
    first_astray: u64,
    first_astray_load: u64,
    astray_stores: Vec<AstrayStore>,
    /// Bytes that the last instruction stored.
    stored: u8,
    halted: Option<i32>,
}

impl DrivenCore<NoProbe> {
    /// A core without a probe.
    ///
    /// # Errors
    /// What the machine has that this core does not.
    pub fn new(config: &MachineConfig, process: Process) -> Result<Self, NotDriven> {
        DrivenCore::with(config, process, NoProbe)
    }
}

impl<P: PipelineProbe> DrivenCore<P> {
    /// A core with a probe.
    ///
    /// # Errors
    /// What the machine has that this core does not.
    pub fn with(config: &MachineConfig, process: Process, probe: P) -> Result<Self, NotDriven> {
        const {
            assert!(
                !P::WANTS_STAGES,
                "the pipeline log is the cycle-driven core's"
            )
        };
        if config.issue.scheduling != Scheduling::OutOfOrder {
            return Err(NotDriven::InOrder);
        }
        if config.branch.predictor == Predictor::Perfect {
            return Err(NotDriven::Perfect);
        }
        if config.memory.l1d_write != L1dWrite::WriteBack {
            return Err(NotDriven::WriteThrough);
        }
        let params = Params::new(config, 0);
        let table = UnitTable::new(&config.units);
        let widths = Widths {
            issue: params.issue_width,
            ports: config.memory.l1d.ports,
            fp_queue: params.fp_queue > 0,
            window_cycles: params.rob_entries * CYCLES_AHEAD,
        };
        let calendar = Calendar::new(&table, widths).ok_or(NotDriven::Pools)?;
        let mut code = CodeCache::new(process.image.isa);
        code.sync(&process.mem, &NoEditor);
        let in_flight = params.rob_entries as usize + params.fetch_buffer + params.decode_buffer;
        if in_flight > STAMPS {
            return Err(NotDriven::Window);
        }
        Ok(DrivenCore {
            probe,
            stats: CoreStats::default(),
            cpi: CpiStack::default(),
            memory: MemorySystem::new(&config.memory),
            branches: BranchUnit::new(&config.branch),
            memdep: MemoryDependence::new(&config.speculation.memory_dependence),
            code,
            latencies: Op::ALL
                .iter()
                .map(|op| u64::from(table.latency_cycles(*op)))
                .collect(),
            calendar,
            fetch: Fetch::at(process.hart.pc),
            lessons: Ring::new(2 * in_flight, Lesson::default()),
            lessons_head: 0,
            lessons_tail: 0,
            decode: Stage::default(),
            dispatch: Stage::default(),
            stamps: Box::new([Stamps::default(); STAMPS]),
            position: 0,
            loads: 0,
            loads_committed: Ring::new(params.load_queue as usize, 0),
            commits: Commits::default(),
            when: [When::default(); PLACES],
            waiting: 0,
            fp_waiting: 0,
            stores: Stores::new(config.window.store_queue_entries as usize),
            parked: Vec::new(),
            episodes: Vec::new(),
            depth: 0,
            limit: u64::MAX,
            first_astray: u64::MAX,
            first_astray_load: u64::MAX,
            astray_stores: Vec::new(),
            stored: 0,
            halted: None,
            params,
            process,
        })
    }

    /// Runs to the end of the program.
    pub fn run_to_end(&mut self) -> Stop {
        self.run(u64::MAX)
    }

    /// Runs until `limit` further instructions of the program have committed, or until it ends.
    pub fn run(&mut self, limit: u64) -> Stop {
        let begin = self.stats.commit_program_instructions;
        let end = begin.saturating_add(limit);
        if limit == 0 {
            return Stop::Limit;
        }
        let stop = loop {
            let stop = if self.depth == 0 {
                if self.stats.commit_program_instructions >= end {
                    self.process.hart.pc = self.fetch.pc;
                    break Stop::Limit;
                }
                self.step::<false>()
            } else {
                self.step::<true>()
            };
            if let Some(stop) = stop {
                break stop;
            }
        };
        // Counted once for all: what commits has passed every stage and owns a slot.
        let committed = self.stats.commit_program_instructions - begin;
        self.stats.fetch_instructions += committed;
        self.stats.decode_instructions += committed;
        self.stats.dispatch_instructions += committed;
        self.cpi.add(Cause::Base, committed);
        self.stats.cycles = self.commits.cycle;
        stop
    }

    /// An instruction of the right path does not commit, but has passed the stages up to dispatch.
    #[cold]
    fn count_without_commit(&mut self) {
        self.stats.fetch_instructions += u64::from(!self.fetch.waiting);
        self.stats.decode_instructions += 1;
        self.stats.dispatch_instructions += 1;
    }

    /// Statistics of the memory hierarchy.
    #[must_use]
    pub fn memory_stats(&self) -> MemoryStats {
        self.memory.stats()
    }

    /// The next instruction of the predicted path, through all stages; or the end of a wrong path.
    #[inline(always)]
    fn step<const ASTRAY: bool>(&mut self) -> Option<Stop> {
        let position = self.position;
        let room = self.stamps[at(position, self.params.fetch_buffer as u64)].decode;
        let f = &self.fetch;
        if (f.left == 0 || f.pc >= f.block_end || room > f.cycle)
            && !self.begin_group::<ASTRAY>(room)
        {
            return self.squash();
        }
        let pc = self.fetch.pc;
        let inst = match self.slot_at(pc) {
            Ok(slot) => slot.inst,
            Err(_) => Inst::illegal(0),
        };
        let kind = kind::of(inst.class);
        let f = &mut self.fetch;
        f.left -= 1;
        let mut i = Passing {
            inst,
            pc,
            next: pc.wrapping_add(u64::from(inst.len)),
            predicted_next: 0,
            fetch: f.cycle,
            decode: 0,
            dispatch: 0,
            gap: f.gap,
            gap_since: f.gap_since,
            full_until: 0,
        };
        f.gap = Cause::Frontend;
        i.predicted_next = i.next;
        if kind & kind::TRANSFERS != 0 {
            i.predicted_next = self.predict(pc, &inst, i.next);
        } else {
            f.pc = i.next;
            if kind & kind::TURNS_FETCH != 0 {
                i.predicted_next = self.fetch_nothing(inst.len, i.next);
            }
        }
        if ASTRAY {
            self.stats.fetch_instructions += 1;
        }
        let room = self.stamps[at(position, self.params.decode_buffer as u64)].dispatch;
        let ripe = i.fetch + self.params.fetch_to_decode;
        i.decode = self
            .decode
            .next(ripe.max(room), self.params.decode_width as u32);
        self.position = position + 1;
        self.stamps[at(position, 0)].decode = i.decode;
        if ASTRAY {
            if i.decode >= self.limit {
                // Nothing behind it is decoded before the squash either.
                self.decode.wait_until(self.limit);
                self.stamps[at(position, 0)].dispatch = i.decode;
                return None;
            }
            self.stats.decode_instructions += 1;
        }
        self.decode.take(i.decode);
        i.dispatch = self.dispatch_cycle::<ASTRAY>(position, &mut i.full_until, i.decode, kind);
        self.stamps[at(position, 0)].dispatch = i.dispatch;
        if ASTRAY {
            if i.dispatch >= self.limit {
                // Nothing behind it is dispatched before the squash either.
                self.dispatch.wait_until(self.limit);
                return None;
            }
            self.stats.dispatch_instructions += 1;
        }
        self.dispatch.take(i.dispatch);
        self.execute::<ASTRAY>(i, kind)
    }

    /// Guest time: cycles, and nanoseconds by the clock of the machine.
    fn guest_counters(&self, now: u64) -> GuestCounters {
        let counters = GuestCounters {
            cycle: now,
            time_ns: now.saturating_mul(1000) / self.params.clock_mhz.max(1),
            instret: self.stats.commit_program_instructions,
        };
        counters.plus(self.process.counters_before)
    }

    /// The state of histories and return addresses as it is.
    fn checkpoint(&self) -> Checkpoint {
        let mut checkpoint = Checkpoint::default();
        self.branches.checkpoint(&mut checkpoint);
        checkpoint
    }
}

/// The class of what executes like one but faults.
const FAULTS_AS: OpClass = OpClass::IntAlu;
