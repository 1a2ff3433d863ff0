//! Counters of a timed run. Names are those under which the counters are reported.

use hps_isa::inst::OpClass;
use hps_isa::likely::{often, seldom};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Origin;

/// Declares the counters: the struct, and the list of their names.
macro_rules! counters {
    ($(#[$attribute:meta])* $name:ident { $($(#[$doc:meta])* $field:ident,)+ }) => {
        $(#[$attribute])*
        pub struct $name {
            $($(#[$doc])* pub $field: u64,)+
        }

        impl $name {
            /// Every counter by the name under which it is reported, and how it is read.
            pub const COUNTERS: &'static [(&'static str, fn(&$name) -> u64)] =
                &[$((stringify!($field), |stats| stats.$field),)+];

            /// Adds the counters of another core of the same chip, which has run for as many cycles.
            pub fn add_core(&mut self, other: &$name) {
                let cycles = self.cycles.max(other.cycles);
                $(self.$field += other.$field;)+
                self.cycles = cycles;
            }

            /// Adds the counters of another part of the run.
            pub fn add(&mut self, other: &$name) {
                $(self.$field += other.$field;)+
            }

            /// The counters of a part of a run that stands for so many times as much.
            #[must_use]
            pub fn scaled(&self, factor: f64) -> $name {
                $name { $($field: (self.$field as f64 * factor).round() as u64,)+ }
            }

            /// Counts since an earlier state of these counters.
            #[must_use]
            pub fn since(&self, earlier: &$name) -> $name {
                $name { $($field: self.$field - earlier.$field,)+ }
            }
        }
    };
}

hps_isa::save_values!(CoreStats);

counters! {
    /// Counters of the core. `_cycles` count cycles, `_events` occurrences.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    CoreStats {
        /// Cycles of the run.
        cycles,
        /// Instructions that reached fetch, wrong paths included.
        fetch_instructions,
        /// Instructions that reached decode, wrong paths included.
        decode_instructions,
        /// Instructions that reached dispatch, wrong paths included.
        dispatch_instructions,
        /// Committed instructions of the program.
        commit_program_instructions,
        /// Committed instructions of replacement sequences, triggers excluded.
        commit_inserted_instructions,
        /// Committed instructions of handlers.
        commit_handler_instructions,
        /// Instructions that a squash removed in front of commit.
        squash_instructions,
        /// Committed branches, jumps, calls and returns.
        branch_committed_events,
        /// Committed conditional branches.
        branch_conditional_events,
        /// Committed control transfers that were mispredicted.
        branch_mispredicted_events,
        /// Committed conditional branches that were mispredicted.
        branch_conditional_mispredicted_events,
        /// Committed jumps and calls that were mispredicted.
        branch_indirect_mispredicted_events,
        /// Committed returns that were mispredicted.
        branch_return_mispredicted_events,
        /// Taken branches whose target the branch target buffer did not know.
        btb_misfetch_events,
        /// Committed loads.
        load_committed_events,
        /// Committed stores.
        store_committed_events,
        /// Committed atomics.
        atomic_committed_events,
        /// System calls.
        syscall_events,
        /// Loads that took their value from an older store in the store queue.
        store_forward_events,
        /// Waits of a load in its queue for an older store.
        load_parked_events,
        /// Loads that passed an older store to the same bytes and ran again.
        memory_violation_events,
        /// Cycles in which dispatch waited for an entry of the reorder buffer.
        rename_rob_full_cycles,
        /// Cycles in which dispatch waited for a reservation station.
        rename_reservation_stations_full_cycles,
        /// Cycles in which dispatch waited for an entry of the load queue.
        rename_load_queue_full_cycles,
        /// Cycles in which dispatch waited for an entry of the store queue.
        rename_store_queue_full_cycles,
        /// Cycles in which dispatch waited for older instructions, since the next one executes alone.
        serialize_cycles,
        /// Cycles in which DISE stopped decode.
        dise_stall_cycles,
        /// Instructions that DISE replaced.
        dise_expansion_events,
        /// Turns of fetch to a handler, back, or behind a trigger that was not sent on.
        dise_redirect_events,
        /// Cycles that the simulator passed over, since nothing could happen in them; they are part of `cycles`.
        idle_skipped_cycles,
        /// Cycles in which dispatch waited for an entry of the queue of floating-point instructions.
        rename_fp_queue_full_cycles,
        /// Cycles in which no instruction issued. This and the following counters are those of cores that issue in order.
        issue_none_cycles,
        /// Cycles in which one instruction issued.
        issue_single_cycles,
        /// Cycles in which two instructions issued.
        issue_dual_cycles,
        /// Cycles in which three instructions issued.
        issue_triple_cycles,
        /// Cycles in which four instructions or more issued.
        issue_quad_or_more_cycles,
        /// Cycles without an issue, since nothing had been decoded.
        issue_frontend_stall_cycles,
        /// Cycles without an issue: the oldest instruction waited for an operand.
        issue_operand_stall_cycles,
        /// Cycles without an issue: the oldest instruction waited for a unit.
        issue_unit_stall_cycles,
        /// Cycles without an issue: the oldest instruction waited for the memory system.
        issue_memory_stall_cycles,
        /// Cycles without an issue: the oldest instruction waited for the write buffer.
        issue_write_buffer_stall_cycles,
        /// Cycles in which no pipe was left for the next instruction.
        issue_slot_limited_cycles,
        /// Cycles in which the next instruction lay in another aligned block.
        issue_block_limited_cycles,
    }
}

impl CoreStats {
    /// Counts a committed instruction.
    #[inline(always)]
    pub(crate) fn count_commit(&mut self, origin: Origin) {
        match origin {
            Origin::Program => self.commit_program_instructions += 1,
            Origin::Inserted => self.commit_inserted_instructions += 1,
            Origin::Handler => self.commit_handler_instructions += 1,
        }
    }

    /// A control transfer commits, which was mispredicted or not.
    #[inline(always)]
    pub(crate) fn count_branch(&mut self, class: OpClass, mispredicted: bool) {
        self.branch_committed_events += 1;
        if often(class == OpClass::Branch) {
            self.branch_conditional_events += 1;
        }
        if seldom(mispredicted) {
            self.branch_mispredicted_events += 1;
            match class {
                OpClass::Branch => self.branch_conditional_mispredicted_events += 1,
                OpClass::Return => self.branch_return_mispredicted_events += 1,
                _ => self.branch_indirect_mispredicted_events += 1,
            }
        }
    }
}
