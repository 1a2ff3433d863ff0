//! A second core in the same state.

use hps_system::os::DuplicateError;

use super::{DecodeEditor, DrivenCore};
use crate::model::PipelineProbe;

impl<E: DecodeEditor + Clone, P: PipelineProbe + Clone> DrivenCore<E, P> {
    /// A second core in the same state to the cycle, with everything in flight and a program of its own. Both
    /// go on as this one would have alone.
    ///
    /// # Errors
    /// [`DuplicateError`] if both programs would share something of the host that one of them can change.
    pub fn duplicate(&mut self) -> Result<Self, DuplicateError> {
        Ok(DrivenCore {
            process: self.process.duplicate()?,
            editor: self.editor.clone(),
            probe: self.probe.clone(),
            stats: self.stats,
            cpi: self.cpi,
            params: self.params.clone(),
            memory: self.memory.clone(),
            branches: self.branches.clone(),
            memdep: self.memdep.clone(),
            waits_for_any: self.waits_for_any,
            code: self.code.clone(),
            latencies: self.latencies,
            kinds: self.kinds,
            each_alone: self.each_alone,
            groups_fit: self.groups_fit,
            groups_flow: self.groups_flow,
            flows_from: self.flows_from,
            result_to_commit: self.result_to_commit,
            fill: self.fill,
            calendar: self.calendar.clone(),
            fetch: self.fetch.clone(),
            edit: self.edit.clone(),
            predicted_at: self.predicted_at,
            lessons: self.lessons.clone(),
            folded: self.folded.clone(),
            lessons_head: self.lessons_head,
            lessons_tail: self.lessons_tail,
            lesson_due: self.lesson_due,
            stamps: self.stamps.clone(),
            dispatched: self.dispatched,
            told_dispatch: self.told_dispatch,
            position: self.position,
            loads: self.loads,
            loads_committed: self.loads_committed.clone(),
            commits: self.commits,
            results: self.results,
            issues: self.issues,
            registers: self.registers,
            waiting: self.waiting,
            fp_waiting: self.fp_waiting,
            full: self.full,
            stores: self.stores.clone(),
            parked: self.parked.clone(),
            walk: self.walk,
            episodes: self.episodes.clone(),
            depth: self.depth,
            stay: self.stay,
            fp_stay: self.fp_stay,
            limit: self.limit,
            window_end: self.window_end,
            loads_end: self.loads_end,
            memory_left: self.memory_left,
            address_operation: self.address_operation,
            wrong_path_stores: self.wrong_path_stores.clone(),
            stored: self.stored,
            halted: self.halted,
            code_changes: self.code_changes,
            attend_at: self.attend_at,
            stop: self.stop,
            lines: self.lines.clone(),
        })
    }
}
