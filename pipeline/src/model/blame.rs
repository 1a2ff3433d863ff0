//! Who is to blame for a commit slot that is lost.

use hps_sim_core::inst::OpClass;

use super::Cause;
use crate::memsys::Level;

/// Why the head of the window does not commit, by its class alone.
#[inline(always)]
pub(crate) fn cause_of(class: OpClass) -> Cause {
    match class {
        OpClass::IntMul
        | OpClass::IntDiv
        | OpClass::FpAdd
        | OpClass::FpMul
        | OpClass::FpFma
        | OpClass::FpDiv
        | OpClass::FpSqrt
        | OpClass::FpCvt => Cause::LongLatency,
        OpClass::Atomic | OpClass::Syscall | OpClass::FenceI | OpClass::Csr => Cause::Serialize,
        _ => Cause::Execute,
    }
}

/// What the wait for a load is charged to, by the level that serves it.
#[inline]
pub(crate) fn cause_of_load(level: Level, tlb_miss: bool) -> Cause {
    match level {
        _ if tlb_miss => Cause::DTlb,
        Level::L1 => Cause::LoadL1,
        Level::L2 => Cause::LoadL2,
        Level::L3 => Cause::LoadL3,
        Level::Memory => Cause::LoadMemory,
    }
}
