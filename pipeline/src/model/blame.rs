//! Who is to blame for a commit slot that is lost.

use hps_sim_core::inst::OpClass;

use super::Cause;

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
