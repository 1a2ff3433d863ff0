//! A second core in the same state.

use hps_sim_core::editor::DecodeEditor;
use hps_sim_core::os::DuplicateError;

use super::Core;
use crate::model::PipelineProbe;

impl<E: DecodeEditor + Clone, P: PipelineProbe + Clone> Core<E, P> {
    /// A second core in the same state to the cycle, with everything in flight and a program of its
    /// own. Both go on as this one would have alone.
    ///
    /// # Errors
    /// [`DuplicateError`] if both programs would share something of the host that one of them can
    /// change.
    pub fn duplicate(&self) -> Result<Self, DuplicateError> {
        Ok(Core {
            process: self.process.duplicate()?,
            editor: self.editor.clone(),
            probe: self.probe.clone(),
            stats: self.stats,
            cpi: self.cpi,
            params: self.params.clone(),
            memory: self.memory.clone(),
            branches: self.branches.clone(),
            oracle: self.oracle.clone(),
            code: self.code.clone(),
            code_page: self.code_page.clone(),
            now: self.now,
            fetch: self.fetch.clone(),
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
            reservations_used: self.reservations_used,
            fp_queue_used: self.fp_queue_used,
            loads_used: self.loads_used,
            stores: self.stores.clone(),
            memdep: self.memdep.clone(),
            units: self.units.clone(),
            traps: self.traps.clone(),
            reservations_before: self.reservations_before.clone(),
            load_events: self.load_events.clone(),
            last_commit_dispatch: self.last_commit_dispatch,
            drain_retry: self.drain_retry,
            last_commit: self.last_commit,
            halted: self.halted,
            progressed: self.progressed,
            paused: self.paused,
            committed_in_cycle: self.committed_in_cycle,
            lines: self.lines.clone(),
        })
    }
}
