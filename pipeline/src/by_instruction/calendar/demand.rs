//! Demands of instructions on the calendar when they issue.

use hps_isa::inst::OpClass;

use super::Lanes;

/// Issue class and latency of an instruction. Looked up on first use, since most instructions find room at once.
pub trait Issues {
    /// See [`Calendar::full`].
    fn full(&self) -> Lanes;
    /// Class as which the instruction issues.
    fn class(&self) -> OpClass;
    /// From issue to result.
    fn latency_cycles(&self) -> u64;
}

/// Issue class and latency of an instruction that issues as another class than its own.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// See [`Calendar::full`].
    pub full: Lanes,
    pub class: OpClass,
    /// From issue to result.
    pub latency_cycles: u64,
}

impl Issues for Demand {
    #[inline(always)]
    fn full(&self) -> Lanes {
        self.full
    }

    #[inline(always)]
    fn class(&self) -> OpClass {
        self.class
    }

    #[inline(always)]
    fn latency_cycles(&self) -> u64 {
        self.latency_cycles
    }
}
