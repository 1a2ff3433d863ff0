//! Counters of a timed run. Names are those under which the counters are reported.

use hps_sim_core::inst::OpClass;
use hps_sim_core::likely::{often, seldom};
use serde::{Deserialize, Serialize};

use super::Origin;

/// Declares the counters: the struct, and the list of their names.
macro_rules! counters {
    ($(#[$attribute:meta])* $name:ident { $($field:ident,)+ }) => {
        $(#[$attribute])*
        pub struct $name {
            $(pub $field: u64,)+
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

hps_sim_core::save_values!(CoreStats);

counters! {
    /// Counters of the core. `_cycles` count cycles, `_events` occurrences.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[allow(missing_docs)] // the names say it; units are their suffixes
    CoreStats {
        cycles,
        fetch_instructions,
        decode_instructions,
        dispatch_instructions,
        commit_program_instructions,
        commit_inserted_instructions,
        commit_handler_instructions,
        squash_instructions,
        branch_committed_events,
        branch_conditional_events,
        branch_mispredicted_events,
        branch_conditional_mispredicted_events,
        branch_indirect_mispredicted_events,
        branch_return_mispredicted_events,
        btb_misfetch_events,
        load_committed_events,
        store_committed_events,
        atomic_committed_events,
        syscall_events,
        store_forward_events,
        load_parked_events,
        memory_violation_events,
        rename_rob_full_cycles,
        rename_reservation_stations_full_cycles,
        rename_load_queue_full_cycles,
        rename_store_queue_full_cycles,
        serialize_cycles,
        dise_stall_cycles,
        dise_expansion_events,
        dise_redirect_events,
        idle_skipped_cycles,
        // A queue of floating-point instructions, where there is one.
        rename_fp_queue_full_cycles,
        // In-order cores: cycles by how many instructions issued; those in which none did by what the
        // oldest waited for; those that issued some by what the next one lacked.
        issue_none_cycles,
        issue_single_cycles,
        issue_dual_cycles,
        issue_triple_cycles,
        issue_quad_or_more_cycles,
        issue_frontend_stall_cycles,
        issue_operand_stall_cycles,
        issue_unit_stall_cycles,
        issue_memory_stall_cycles,
        issue_write_buffer_stall_cycles,
        issue_slot_limited_cycles,
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
