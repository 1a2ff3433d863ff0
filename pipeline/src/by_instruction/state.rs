//! The state of the core as bytes.

use hps_isa::state::{StateError, from_bytes, to_bytes};
use hps_system::process::Process;

use super::{DecodeEditor, DrivenCore};
use crate::model::PipelineProbe;

/// Name of the state of a core.
const KIND: &str = "a core that is simulated by the instruction";

hps_isa::save_state! {
    impl[E: DecodeEditor, P: PipelineProbe] DrivenCore<E, P> {
        process: skip, editor: skip, probe: skip, stats, cpi, params, memory, branches, memdep,
        waits_for_any: skip, code, latencies: skip, kinds: skip, each_alone: skip, groups_fit: skip,
        groups_flow: skip, flows_from, result_to_commit: skip, fill: skip, calendar, fetch, edit,
        predicted_at, lessons, folded, lessons_head, lessons_tail, lesson_due, stamps, dispatched,
        told_dispatch, position, loads, loads_committed, commits, results, issues, registers,
        waiting, fp_waiting, full, stores, parked, walk, episodes: list, depth, stay, fp_stay,
        limit, window_end, loads_end, memory_left, address_operation: skip, wrong_path_stores,
        stored, halted, code_changes, attend_at, stop, lines,
    }
}

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// Everything between two runs but process, editor and probe, as bytes.
    #[must_use]
    pub fn save_state(&self) -> Vec<u8> {
        to_bytes(KIND, self)
    }

    /// Takes over what [`save_state`](Self::save_state) gave of a core of the same machine that was set up in the same way:
    /// with editor and probe of the same types, and the same interrupts attached. Process, editor and probe have to be
    /// [restored](Self::contexts_mut), too, before it runs.
    ///
    /// # Errors
    /// [`StateError`]; the core is of no use then.
    pub fn restore_state(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let restored = from_bytes(KIND, self, bytes);
        self.fetch.forget_code();
        restored
    }

    /// Process, editor and probe of its only context, to be saved or restored between two runs.
    pub fn contexts_mut(&mut self) -> Vec<(&mut Process, &mut E, &mut P)> {
        vec![(&mut self.process, &mut self.editor, &mut self.probe)]
    }
}
