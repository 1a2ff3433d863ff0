//! The state of a chip as bytes.

use hps_isa::editor::DecodeEditor;
use hps_isa::state::{StateError, from_bytes, to_bytes};
use hps_system::process::Process;

use super::Chip;
use crate::model::PipelineProbe;

/// Name of the state of a chip.
const KIND: &str = "a chip that is simulated by the cycle";

hps_isa::save_state! {
    impl[E: DecodeEditor, P: PipelineProbe] Chip<E, P> {
        processors: each, shared, turn: same, hardware_threads, selected: skip, copies,
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Chip<E, P> {
    /// Everything between two runs but processes, editors, probes and copies of processes that run, as bytes.
    #[must_use]
    pub fn save_state(&self) -> Vec<u8> {
        to_bytes(KIND, self)
    }

    /// Takes over what [`save_state`](Self::save_state) gave of a chip of the same machine that was set up in the same way:
    /// with editors and probes of the same types, the same interrupts attached, and contention recorded or not.
    /// Processes, editors and probes of [all contexts](Self::contexts_mut) have to be restored, too, before it runs.
    ///
    /// # Errors
    /// [`StateError`]; the chip is of no use then.
    pub fn restore_state(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let mut restored = from_bytes(KIND, self, bytes);
        for one in &mut self.processors {
            if !one.context.keep_slots(restored.is_err()) {
                restored = restored.and(Err(StateError::Malformed));
            }
        }
        restored
    }

    /// Process, editor and probe of each context, to be saved or restored between two runs. The first process has the
    /// guest.
    pub fn contexts_mut(&mut self) -> Vec<(&mut Process, &mut E, &mut P)> {
        let contexts = self.processors.iter_mut().map(|one| {
            let context = &mut one.context;
            (
                &mut context.process,
                &mut context.editor,
                &mut context.probe,
            )
        });
        contexts.collect()
    }
}
