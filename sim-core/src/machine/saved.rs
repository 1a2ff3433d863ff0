//! The functional machine in checkpoints.

use super::{Machine, RetiredCounts};
use crate::checkpoint::CheckpointError;
use crate::code::HandlerLink;
use crate::editor::DecodeEditor;

/// State of a machine beside its process and its editor. Decoded code is made anew.
type State = (RetiredCounts, Option<HandlerLink>, u64);

impl<E: DecodeEditor> Machine<E> {
    /// The state of the machine beside its process and its editor, as bytes.
    #[must_use]
    pub fn save_state(&self) -> Vec<u8> {
        let state: State = (self.retired, self.link, self.seq);
        // Plain numbers can always be written.
        postcard::to_extend(&state, Vec::new()).unwrap_or_default()
    }

    /// Takes over what [`save_state`](Self::save_state) has given.
    ///
    /// # Errors
    /// [`CheckpointError::Damaged`].
    pub fn restore_state(&mut self, bytes: &[u8]) -> Result<(), CheckpointError> {
        let state: State =
            postcard::from_bytes(bytes).map_err(|cause| CheckpointError::Damaged {
                what: format!("the functional machine: {cause}"),
            })?;
        (self.retired, self.link, self.seq) = state;
        Ok(())
    }
}
