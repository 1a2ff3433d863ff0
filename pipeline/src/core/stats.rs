//! What a timed run counts. Names are those under which the counters are reported.

use serde::Serialize;

/// Counters of the core. `_cycles` count cycles, `_events` occurrences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)] // the names say it; units are their suffixes
pub struct CoreStats {
    pub cycles: u64,
    pub fetch_instructions: u64,
    pub decode_instructions: u64,
    pub dispatch_instructions: u64,
    pub commit_program_instructions: u64,
    pub commit_inserted_instructions: u64,
    pub commit_handler_instructions: u64,
    pub squash_instructions: u64,
    pub branch_committed_events: u64,
    pub branch_conditional_events: u64,
    pub branch_mispredicted_events: u64,
    pub branch_conditional_mispredicted_events: u64,
    pub branch_indirect_mispredicted_events: u64,
    pub branch_return_mispredicted_events: u64,
    pub btb_misfetch_events: u64,
    pub load_committed_events: u64,
    pub store_committed_events: u64,
    pub atomic_committed_events: u64,
    pub syscall_events: u64,
    pub store_forward_events: u64,
    pub load_parked_events: u64,
    pub memory_violation_events: u64,
    pub rename_rob_full_cycles: u64,
    pub rename_reservation_stations_full_cycles: u64,
    pub rename_load_queue_full_cycles: u64,
    pub rename_store_queue_full_cycles: u64,
    pub serialize_cycles: u64,
    pub dise_stall_cycles: u64,
    pub dise_expansion_events: u64,
    pub dise_redirect_events: u64,
    pub idle_skipped_cycles: u64,
    // A queue of floating-point instructions, where there is one.
    pub rename_fp_queue_full_cycles: u64,
    // In-order cores: cycles by how many instructions issued; those in which none did by what the
    // oldest waited for; those that issued some by what the next one lacked.
    pub issue_none_cycles: u64,
    pub issue_single_cycles: u64,
    pub issue_dual_cycles: u64,
    pub issue_triple_cycles: u64,
    pub issue_quad_or_more_cycles: u64,
    pub issue_frontend_stall_cycles: u64,
    pub issue_operand_stall_cycles: u64,
    pub issue_unit_stall_cycles: u64,
    pub issue_memory_stall_cycles: u64,
    pub issue_write_buffer_stall_cycles: u64,
    pub issue_slot_limited_cycles: u64,
    pub issue_block_limited_cycles: u64,
}
