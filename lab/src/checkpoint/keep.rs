//! State of editors and probes in checkpoints.

use hps_sim_core::editor::NoEditor;
use hps_sim_core::probe::NoProbe;

/// An editor or a probe whose state a checkpoint keeps.
pub trait Keep {
    /// The state as bytes.
    fn save(&self) -> Vec<u8>;

    /// Takes over a state. The editor or probe is one as at the beginning of the run.
    ///
    /// # Errors
    /// Why the bytes are no state of it.
    fn restore(&mut self, bytes: &[u8]) -> Result<(), String>;
}

macro_rules! stateless {
    ($($name:ty),*) => {
        $(impl Keep for $name {
            fn save(&self) -> Vec<u8> {
                Vec::new()
            }

            fn restore(&mut self, bytes: &[u8]) -> Result<(), String> {
                match bytes.is_empty() {
                    true => Ok(()),
                    false => Err("the run had productions or a probe".to_owned()),
                }
            }
        })*
    };
}

stateless!(NoEditor, NoProbe);
