//! The contexts of one core (hardware threads): who comes first in a cycle, and what each gets.
//!
//! Contexts of a core run one behind the other in each cycle, each on what those before it have left: places of fetch,
//! decode, dispatch, issue and commit, units, and ports of the caches. One context fetches in a cycle. Reorder buffer,
//! stations and load and store queues are divided or shared ([`SmtQueues`]) among contexts that have a thread; a context
//! without one takes nothing. Caches, TLBs, predictor tables and units are one set, which the contexts lend each other.
//!
//! A context's account is its own: its slots are width × cycles, those that another context has used before it
//! ([`Cause::Sibling`]) among them.

use std::ops::ControlFlow;

use hps_isa::editor::DecodeEditor;
use hps_sim_core::machine::Stop;
use serde::{Deserialize, Serialize};

use super::super::{Context, Processor, Resources};
use super::Chip;
use crate::config::{ChipConfig, MachineConfig, SmtPolicy, SmtQueues};
use crate::model::{CoreStats, Params, PipelineProbe};

/// Use of a core by its contexts in a cycle.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Used {
    cycle: u64,
    decoded: usize,
    dispatched: usize,
    issued: usize,
    committed: u64,
    has_fetched: bool,
}

hps_isa::save_values!(Used);

/// How the contexts of the cores of a chip share them.
#[derive(Clone)]
pub(super) struct HardwareThreads {
    config: ChipConfig,
    /// All of a core, as its description has it.
    whole: Params,
    store_queue: u64,
    /// By core: what has been used of it in its last cycle.
    used: Vec<Used>,
    /// By core: the processor that has what is the core's.
    holders: Vec<usize>,
}

hps_isa::save_state! {
    HardwareThreads {
        config: skip, whole: skip, store_queue: skip, used: each, holders: each,
    }
}

impl HardwareThreads {
    /// Of a machine whose cores have several contexts.
    pub fn new(config: &MachineConfig, whole: Params) -> Option<Box<HardwareThreads>> {
        let cores = config.chip.cores as usize;
        (config.chip.contexts > 1).then(|| {
            Box::new(HardwareThreads {
                config: config.chip.clone(),
                whole,
                store_queue: u64::from(config.window.store_queue_entries),
                used: vec![Used::default(); cores],
                holders: (0..cores).collect(),
            })
        })
    }

    fn core_of(&self, processor: usize) -> usize {
        processor % self.config.cores as usize
    }

    fn context_of(&self, processor: usize) -> usize {
        processor / self.config.cores as usize
    }

    /// When a processor comes among all others of the chip in a cycle: by core, then by policy.
    pub fn order(&self, processor: usize, cycle: u64) -> usize {
        let contexts = self.config.contexts as usize;
        let context = self.context_of(processor);
        let rank = match self.config.smt_policy {
            SmtPolicy::RoundRobin | SmtPolicy::Icount => {
                (context + contexts - (cycle % contexts as u64) as usize) % contexts
            }
            SmtPolicy::Priority | SmtPolicy::Background => context,
        };
        self.core_of(processor) * contexts + rank
    }

    /// The other processors of a core.
    fn beside(&self, processor: usize) -> impl Iterator<Item = usize> + use<> {
        let (cores, contexts) = (self.config.cores as usize, self.config.contexts as usize);
        let core = self.core_of(processor);
        (0..contexts)
            .map(move |context| core + context * cores)
            .filter(move |&other| other != processor)
    }
}

/// Instructions that a context has fetched, decoded and dispatched.
fn brought(stats: &CoreStats) -> [u64; 3] {
    [
        stats.fetch_instructions,
        stats.decode_instructions,
        stats.dispatch_instructions,
    ]
}

impl<E: DecodeEditor, P: PipelineProbe> Chip<E, P> {
    /// Lends the shared resources of a core to one of its contexts.
    pub(super) fn lend_core_to(&mut self, processor: usize) {
        let Some(hardware_threads) = &mut self.hardware_threads else {
            return;
        };
        let core = hardware_threads.core_of(processor);
        let holder = hardware_threads.holders[core];
        if let Ok([from, to]) = self.processors.get_disjoint_mut([holder, processor]) {
            from.resources.lend(&mut to.resources);
            to.resources.memory.set_address_space(&to.context.addresses);
            hardware_threads.holders[core] = processor;
        }
    }

    /// Lets a context that has its core go on for one cycle, and over those behind it, up to `until`, in which nothing
    /// happens.
    pub(super) fn advance_beside_siblings(
        &mut self,
        number: usize,
        until: u64,
        end: u64,
    ) -> ControlFlow<Stop> {
        let processor = &mut self.processors[number];
        processor.skip_to(processor.next_cycle - 1);
        let goes_on = processor.resources.paused;
        let cycle = processor.resources.now + u64::from(!goes_on);
        let used = self.share(number, cycle);
        let processor = &mut self.processors[number];
        let (context, resources) = (&mut processor.context, &mut processor.resources);
        if used.committed > 0 && !goes_on {
            context.lose_slots_to_sibling(resources, cycle, used.committed);
        }
        let before = brought(&resources.stats);
        let issue_width = resources.params.issue_width;
        resources.issue_left = issue_width;
        let advanced = processor.advance(&mut self.shared, cycle, end);
        let resources = &mut processor.resources;
        let after = brought(&resources.stats);
        let [fetched, decoded, dispatched] = std::array::from_fn(|of| after[of] - before[of]);
        let now = Used {
            cycle,
            decoded: used.decoded + decoded as usize,
            dispatched: used.dispatched + dispatched as usize,
            issued: used.issued + (issue_width - resources.issue_left),
            committed: used.committed + resources.committed_in_cycle,
            has_fetched: used.has_fetched || fetched > 0,
        };
        if let Some(hardware_threads) = &mut self.hardware_threads {
            let core = hardware_threads.core_of(number);
            // A run that has stopped behind a commit goes on in this cycle, or accounts for the rest of it.
            if !resources.paused {
                resources.params.take_widths_of(&hardware_threads.whole);
                hardware_threads.used[core] = now;
            }
        }
        let next = advanced?;
        processor.skip_to((next - 1).min(until));
        ControlFlow::Continue(())
    }

    /// The account of a context's last cycle has been settled: it has all of its core again.
    pub(super) fn end_share(&mut self, number: usize) {
        if let Some(hardware_threads) = &self.hardware_threads {
            let params = &mut self.processors[number].resources.params;
            params.take_widths_of(&hardware_threads.whole);
        }
    }

    /// Gives a context its share of its core for a cycle, and says what others have used of it.
    fn share(&mut self, number: usize, cycle: u64) -> Used {
        let Some(hardware_threads) = &self.hardware_threads else {
            return Used::default();
        };
        let core = hardware_threads.core_of(number);
        let used = match hardware_threads.used[core] {
            used if used.cycle == cycle => used,
            _ => Used::default(),
        };
        let whole = &hardware_threads.whole;
        let (mut awake, mut others) = (1, InFlight::default());
        let mut may_fetch = !used.has_fetched;
        let mut leads_are_ready = false;
        let mine = self.processors[number]
            .context
            .in_front_of_issue(&self.processors[number].resources);
        for other in hardware_threads.beside(number) {
            let Processor {
                context, resources, ..
            } = &self.processors[other];
            others.add(context, resources);
            if context.rests || context.is_asleep(cycle) {
                continue;
            }
            awake += 1;
            // One that has not had this cycle yet goes first if it has less in front of issue.
            if hardware_threads.config.smt_policy == SmtPolicy::Icount
                && resources.now < cycle
                && context.in_front_of_issue(resources) < mine
                && context.could_fetch(cycle, whole.fetch_buffer)
            {
                may_fetch = false;
            }
            leads_are_ready |= hardware_threads.context_of(other) == 0 && context.has_ready();
        }
        let is_background = hardware_threads.config.smt_policy == SmtPolicy::Background
            && hardware_threads.context_of(number) > 0;
        let issue_width = match is_background {
            true => usize::from(!leads_are_ready && used.issued == 0),
            false => whole.issue_width - used.issued,
        };
        let limit = |all: u64, others: u64| {
            let left = all.saturating_sub(others);
            match hardware_threads.config.smt_queues {
                SmtQueues::Partitioned => left.min(all / awake),
                SmtQueues::Shared => left,
            }
        };
        let stores = limit(hardware_threads.store_queue, others.stores);
        let Processor {
            context, resources, ..
        } = &mut self.processors[number];
        context.stores.limit(stores);
        resources.shares = awake > 1 || issue_width < whole.issue_width;
        let params = &mut resources.params;
        params.rob_entries = limit(whole.rob_entries, others.rob);
        let stations = u64::from(whole.reservation_stations);
        params.reservation_stations = limit(stations, others.stations) as u32;
        params.fp_queue = limit(u64::from(whole.fp_queue), others.fp_queue) as u32;
        params.load_queue = limit(u64::from(whole.load_queue), others.loads) as u32;
        params.decode_width = whole.decode_width - used.decoded;
        params.dispatch_width = whole.dispatch_width - used.dispatched;
        params.issue_width = issue_width;
        params.commit_width = whole.commit_width - used.committed;
        params.fetch_buffer = if may_fetch { whole.fetch_buffer } else { 0 };
        if awake > 1 {
            // The context may have to wait for long where others come first; that is no defect of the model.
            context.last_commit = context.last_commit.max(cycle.saturating_sub(1));
        }
        used
    }
}

/// Places that contexts take in the queues of their core.
#[derive(Default)]
struct InFlight {
    rob: u64,
    stations: u64,
    fp_queue: u64,
    loads: u64,
    stores: u64,
}

impl InFlight {
    fn add<E, P>(&mut self, context: &Context<E, P>, resources: &Resources) {
        self.rob += context.rob.len();
        self.stations += u64::from(resources.reservations_used - resources.fp_queue_used);
        self.fp_queue += u64::from(resources.fp_queue_used);
        self.loads += u64::from(context.loads_used);
        self.stores += context.stores.len();
    }
}

impl<E, P> Context<E, P> {
    /// Instructions that have been fetched and have not issued.
    fn in_front_of_issue(&self, core: &Resources) -> usize {
        self.front.fetched_len() + self.front.decoded_len() + core.reservations_used as usize
    }

    /// Whether it would fetch in a cycle, if it may.
    fn could_fetch(&self, cycle: u64, fetch_buffer: usize) -> bool {
        !self.fetch.waiting
            && self.fetch.stall_until <= cycle
            && self.front.fetched_len() < fetch_buffer
    }

    fn has_ready(&self) -> bool {
        self.scheduler.any_ready()
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Context<E, P> {
    /// Whether a larger share of the core could have let it go on in this cycle, or may do so in the next one.
    pub(in super::super) fn could_use_more(&self, core: &Resources) -> bool {
        let now = core.now;
        let head = self.rob.head();
        self.scheduler.any_ready()
            || head.is_some_and(|u| {
                u.complete_cycle
                    .saturating_add(core.params.complete_to_commit)
                    <= now
            })
            || (self.front.decoded())
                .is_some_and(|d| d.since(now) + core.params.decode_to_dispatch <= now)
            || (self.front.fetched())
                .is_some_and(|f| f.since(now) + core.params.fetch_to_decode <= now)
            || self.expansion.is_some()
            || self.could_fetch(now, usize::MAX)
    }
}
