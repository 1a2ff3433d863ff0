//! How a run ends.

use hps_isa::isa::Isa;
use hps_isa::trap::Trap;

use serde::{Deserialize, Serialize};

use crate::os;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stop {
    /// The program ended with this exit code.
    Exit(i32),
    /// The instruction limit was reached; the run can go on.
    Limit,
    /// The program faulted and had no handler for it.
    Fault(Trap),
}

impl Stop {
    /// The exit code of the command that ran the program: that of the program, or 128 plus the
    /// number that the signal which would have killed it has on this instruction set.
    #[must_use]
    pub fn exit_code(&self, isa: Isa) -> i32 {
        match self {
            Stop::Exit(code) => *code,
            Stop::Limit => 0,
            Stop::Fault(trap) => os::exit_code_of_fault(isa, trap),
        }
    }
}

hps_isa::save_values!(Stop);
