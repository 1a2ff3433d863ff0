//! The numbers of a machine, in the form in which both cores use them.

use hps_isa::hart::GuestCounters;
use hps_system::process::Process;

use super::kind;
use crate::config::{AddressGeneration, MachineConfig, Stages};

/// A core that commits nothing for this many cycles is stuck, and says so.
pub(crate) const DEADLOCK_CYCLES: u64 = 1_000_000;
/// Instructions between two looks at the clock, in a run whose time has a limit.
pub(crate) const TIME_SLICE: u64 = 1 << 18;

/// The numbers of a [`MachineConfig`] that the stages use, in the form in which they use them.
#[derive(Clone)]
pub(crate) struct Params {
    pub fetch_width: usize,
    pub fetch_buffer: usize,
    /// The bits of an address inside its fetch block.
    pub fetch_block_mask: u64,
    pub taken_branches_per_cycle: u32,
    pub fetch_to_decode: u64,
    /// From the fetch of a taken transfer whose target decode computes to that of the target.
    pub target_in_decode: u64,
    pub decode_width: usize,
    pub decode_buffer: usize,
    pub decode_to_dispatch: u64,
    pub dispatch_width: usize,
    pub rob_entries: u64,
    pub reservation_stations: u32,
    /// Zero: floating-point instructions have no queue of their own.
    pub fp_queue: u32,
    /// Places that an instruction takes in the queue of floating-point instructions: 1, or 0 without one.
    pub fp_queue_place: u32,
    /// Kinds of instructions that something beside reorder buffer and stations may keep out.
    pub limited_kinds: u8,
    /// Kinds of instructions that execute alone.
    pub alone_kinds: u8,
    /// Other contexts share the memory of the program.
    pub has_peers: bool,
    pub load_queue: u32,
    /// Loads and stores together; a number that is never reached where each has a queue of its own.
    pub memory_queue: u32,
    /// Kinds of instructions that share one queue.
    pub shared_kinds: u8,
    /// Kinds of instructions that dispatch looks at once more when they have executed.
    pub watched_kinds: u8,
    /// Addresses are computed by operations of their own.
    pub separate_addresses: bool,
    /// Prefetches of the program access the cache.
    pub performs_prefetches: bool,
    /// Some loads are timed in a way of their own: addresses apart, or prefetches.
    pub peculiar_loads: bool,
    /// Some accesses of loads go otherwise: beside other contexts, or for prefetches.
    pub peculiar_accesses: bool,
    /// A cache learns from the instructions that access it.
    pub tells_instructions: bool,
    /// Cycles that fetch waits after a misprediction.
    pub mispredict_extra: u64,
    pub commit_width: u64,
    pub complete_to_commit: u64,
    pub issue_width: usize,
    pub dispatch_to_issue: u64,
    pub issue_to_execute: u64,
    pub store_forward: u64,
    pub fp_load_extra: u64,
    pub l1i_hit: u64,
    /// log2 of the bytes in a line of the instruction cache.
    pub line_shift: u32,
    pub clock_mhz: u64,
    /// When this clock was set: the cycle, and nanoseconds of the machine.
    clock_since: (u64, u64),
    pub counters_wait_for_stores: bool,
    /// Cycles of an observer's read of a signal; 0: as of any read.
    pub quiet_read: u64,
}

hps_isa::save_state! {
    Params {
        fetch_width: skip, fetch_buffer, fetch_block_mask: skip, taken_branches_per_cycle: skip,
        fetch_to_decode: skip, target_in_decode: skip, decode_width, decode_buffer: skip, decode_to_dispatch: skip,
        dispatch_width, rob_entries, reservation_stations, fp_queue, fp_queue_place: skip,
        limited_kinds: skip, alone_kinds: skip, has_peers: skip, load_queue, memory_queue: skip,
        shared_kinds: skip, watched_kinds: skip, separate_addresses: skip,
        performs_prefetches: skip, peculiar_loads: skip, peculiar_accesses: skip,
        tells_instructions: skip, mispredict_extra: skip, commit_width, complete_to_commit: skip,
        issue_width, dispatch_to_issue: skip, issue_to_execute: skip, store_forward: skip,
        fp_load_extra: skip, l1i_hit: skip, line_shift: skip, clock_mhz, clock_since,
        counters_wait_for_stores: skip, quiet_read: skip,
    }
}

impl Params {
    /// Counters as a program reads them in a cycle, behind `instret` of its instructions: cycles, and nanoseconds by
    /// the clock of the machine.
    pub fn guest_counters(&self, process: &Process, cycle: u64, instret: u64) -> GuestCounters {
        let counters = GuestCounters {
            cycle,
            time_ns: self.time_ns(cycle),
            instret,
        };
        counters
            .plus(process.counters_before)
            .after_idle(process.os.idle_ns())
    }

    /// The time of the machine in a cycle since its clock was set, in nanoseconds.
    fn time_ns(&self, cycle: u64) -> u64 {
        let (since_cycle, since_ns) = self.clock_since;
        let cycles = cycle.saturating_sub(since_cycle);
        since_ns + cycles.saturating_mul(1000) / self.clock_mhz.max(1)
    }

    /// From this cycle on the clock is another one.
    pub fn set_clock(&mut self, cycle: u64, clock_mhz: u32) {
        self.clock_since = (cycle, self.time_ns(cycle));
        self.clock_mhz = u64::from(clock_mhz);
    }

    /// Cycles from dispatch to commit of an instruction that waits for nothing: the stages of the window.
    #[inline]
    pub fn fill_cycles(&self) -> u64 {
        self.dispatch_to_issue + self.issue_to_execute + 1 + self.complete_to_commit
    }

    /// Instructions from fetch to commit, at most, and but for those of a sequence under way.
    pub fn in_flight(&self) -> usize {
        self.rob_entries as usize + self.fetch_buffer + self.decode_buffer
    }

    /// Takes as much of the core in each cycle as these do.
    pub fn take_widths_of(&mut self, whole: &Params) {
        self.fetch_buffer = whole.fetch_buffer;
        self.decode_width = whole.decode_width;
        self.dispatch_width = whole.dispatch_width;
        self.issue_width = whole.issue_width;
        self.commit_width = whole.commit_width;
    }

    pub fn new(config: &MachineConfig, extra_decode_stages: u32) -> Self {
        let decode_to_dispatch =
            u64::from(config.decode.decode_to_dispatch_cycles) + u64::from(extra_decode_stages);
        let decode_width = config.decode.decode_width as usize;
        let stages = config.issue.stages();
        let separate_addresses = config.issue.address_generation == AddressGeneration::Separate;
        Params {
            fetch_width: config.fetch.fetch_width_insts as usize,
            fetch_buffer: config.fetch.fetch_buffer_insts as usize,
            fetch_block_mask: u64::from(config.fetch.fetch_block_bytes) - 1,
            taken_branches_per_cycle: config.fetch.taken_branches_per_cycle,
            fetch_to_decode: u64::from(config.fetch.fetch_to_decode_cycles),
            target_in_decode: u64::from(config.fetch.fetch_to_decode_cycles)
                + u64::from(matches!(stages, Stages::InStep(_))),
            decode_width,
            decode_buffer: decode_width * (decode_to_dispatch as usize + 1),
            decode_to_dispatch,
            dispatch_width: config.window.dispatch_width as usize,
            rob_entries: u64::from(config.window.rob_entries),
            reservation_stations: config.window.reservation_stations,
            fp_queue: config.window.fp_queue_entries,
            fp_queue_place: u32::from(config.window.fp_queue_entries > 0),
            limited_kinds: kind::limited(
                config.window.fp_queue_entries > 0,
                config.chip.has_peers(),
            ),
            alone_kinds: kind::alone(config.chip.has_peers()),
            has_peers: config.chip.has_peers(),
            load_queue: config.window.load_queue_entries,
            memory_queue: match config.window.memory_queue_entries {
                0 => u32::MAX,
                entries => entries,
            },
            shared_kinds: match config.window.memory_queue_entries {
                0 => 0,
                _ => kind::LOADS | kind::STORES,
            },
            watched_kinds: kind::watched(config.chip.has_peers(), separate_addresses),
            separate_addresses,
            performs_prefetches: config.memory.performs_prefetches(),
            peculiar_loads: separate_addresses || config.memory.performs_prefetches(),
            peculiar_accesses: config.chip.has_peers()
                || config.memory.performs_prefetches()
                || config.memory.learns_by_instruction(),
            tells_instructions: config.memory.learns_by_instruction(),
            mispredict_extra: u64::from(config.branch.mispredict_extra_cycles),
            commit_width: u64::from(config.window.commit_width),
            complete_to_commit: u64::from(config.window.complete_to_commit_cycles),
            issue_width: config.issue.issue_width as usize,
            dispatch_to_issue: u64::from(config.issue.dispatch_to_issue_cycles)
                .max(u64::from(stages.are_free())),
            issue_to_execute: u64::from(config.issue.issue_to_execute_cycles),
            store_forward: u64::from(config.speculation.store_forward_latency_cycles).max(1),
            fp_load_extra: u64::from(config.units.fp_load_extra_cycles),
            l1i_hit: u64::from(config.memory.l1i.hit_cycles),
            line_shift: config.memory.l1i.line_bytes.trailing_zeros(),
            clock_mhz: u64::from(config.clock_mhz),
            clock_since: (0, 0),
            counters_wait_for_stores: config.counters.waits_for_stores,
            quiet_read: u64::from(config.chip.quiet_read_cycles),
        }
    }
}

/// Cycles that pass in `ns` nanoseconds, rounded up, at a clock of `clock_mhz`.
pub(crate) fn cycles_of_ns(ns: u64, clock_mhz: u64) -> u64 {
    let cycles = (u128::from(ns) * u128::from(clock_mhz)).div_ceil(1000);
    u64::try_from(cycles).unwrap_or(u64::MAX)
}
