//! Where execution goes on behind something that is taken back.

use hps_isa::code::HandlerLink;
use hps_isa::ids::DisePc;
use serde::{Deserialize, Serialize};

/// Where execution goes on: an address, a position in the expansion there, and the handler that it lies in.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Restart {
    pub pc: u64,
    pub disepc: DisePc,
    pub link: Option<HandlerLink>,
}

hps_isa::save_values!(Restart);
