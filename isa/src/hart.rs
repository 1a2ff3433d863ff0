//! Architectural state of one hardware context.

use serde::{Deserialize, Serialize};

use crate::ids::DisePc;
use crate::inst::reg;

/// No load reservation is held.
pub const NO_RESERVATION: u64 = u64::MAX;

/// Values of the counter CSRs. The machine sets them before a CSR instruction executes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestCounters {
    /// `cycle`: simulated cycles (in a functional run: retired instructions).
    pub cycle: u64,
    /// `time`: simulated nanoseconds.
    pub time_ns: u64,
    /// `instret`: retired instructions.
    pub instret: u64,
}

impl GuestCounters {
    /// Each counter plus the other's, modulo 2^64.
    #[must_use]
    pub const fn plus(self, other: GuestCounters) -> GuestCounters {
        GuestCounters {
            cycle: self.cycle.wrapping_add(other.cycle),
            time_ns: self.time_ns.wrapping_add(other.time_ns),
            instret: self.instret.wrapping_add(other.instret),
        }
    }

    /// Each counter minus the other's, modulo 2^64.
    #[must_use]
    pub const fn since(self, other: GuestCounters) -> GuestCounters {
        GuestCounters {
            cycle: self.cycle.wrapping_sub(other.cycle),
            time_ns: self.time_ns.wrapping_sub(other.time_ns),
            instret: self.instret.wrapping_sub(other.instret),
        }
    }

    /// The counters after a wait of `idle_ns` nanoseconds, in which no cycle of the program passes.
    #[must_use]
    pub const fn after_idle(self, idle_ns: u64) -> GuestCounters {
        GuestCounters {
            time_ns: self.time_ns.wrapping_add(idle_ns),
            ..self
        }
    }

    /// Each counter minus the other's, modulo 2^64.
    #[must_use]
    pub const fn minus(self, other: GuestCounters) -> GuestCounters {
        GuestCounters {
            cycle: self.cycle.wrapping_sub(other.cycle),
            time_ns: self.time_ns.wrapping_sub(other.time_ns),
            instret: self.instret.wrapping_sub(other.instret),
        }
    }
}

/// Registers and control state of one hardware context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hart {
    /// Integer, floating-point and DISE registers, numbered as in [`reg`].
    /// `r[reg::ZERO]` is always zero; `r[reg::SINK]` is never read.
    #[serde(with = "crate::state::array")]
    pub r: [u64; reg::COUNT],
    /// The next instruction.
    pub pc: u64,
    /// Where inside the expansion of the instruction at `pc` execution goes on. Together with
    /// `pc` it is the precise state that a signal frame has to save and restore.
    pub disepc: DisePc,
    /// RISC-V `fcsr`: rounding mode in bits 7..5, accrued flags in bits 4..0.
    pub fcsr: u8,
    /// Address of the load reservation, or [`NO_RESERVATION`].
    pub reservation: u64,
    /// Values of the counter CSRs.
    pub counters: GuestCounters,
    /// Value of the `hpmcounter` CSR that is read next; `None` if the machine does not have this CSR. The machine sets
    /// it when it sets `counters`.
    pub selected: Option<u64>,
}

impl Default for Hart {
    fn default() -> Self {
        Hart {
            r: [0; reg::COUNT],
            pc: 0,
            disepc: DisePc::NONE,
            fcsr: 0,
            reservation: NO_RESERVATION,
            counters: GuestCounters::default(),
            selected: None,
        }
    }
}
