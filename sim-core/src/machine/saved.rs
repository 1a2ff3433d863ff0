//! The functional machine in checkpoints.

use hps_isa::editor::DecodeEditor;
use hps_isa::state::{StateError, from_bytes, to_bytes};

use super::{Machine, RetiredCounts};

/// Name of the state of a machine.
const KIND: &str = "a functional machine";

hps_isa::save_state! { RetiredCounts { program, inserted, handler } }

hps_isa::save_state! {
    impl[E: DecodeEditor] Machine<E> {
        process: skip, editor: skip, retired, code, threaded: skip, later: skip, spaces, link, seq,
    }
}

impl<E: DecodeEditor> Machine<E> {
    /// The state of the machine beside its process and its editor, as bytes.
    #[must_use]
    pub fn save_state(&self) -> Vec<u8> {
        to_bytes(KIND, self)
    }

    /// Restores what [`save_state`](Self::save_state) has given.
    ///
    /// # Errors
    /// [`StateError`]; the machine is of no use then.
    pub fn restore_state(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        from_bytes(KIND, self, bytes)?;
        self.threaded = self.threaded.fresh();
        self.spaces.translate_as(&self.threaded);
        Ok(())
    }
}
