//! Control transfers, as fetch and commit tell them apart.

use hps_isa::inst::OpClass;

use crate::predict::{BranchKind, Predicted};

/// Where fetch went if it could not know: no instruction lies at an odd address.
pub(crate) const UNKNOWN_TARGET: u64 = 1;

/// Kind of a transfer for the branch unit; none for other instructions.
#[inline]
pub(crate) fn branch_kind(class: OpClass) -> Option<BranchKind> {
    Some(match class {
        OpClass::Branch => BranchKind::Conditional,
        OpClass::Jump => BranchKind::Jump,
        OpClass::Call => BranchKind::Call,
        OpClass::JumpIndirect => BranchKind::IndirectJump,
        OpClass::CallIndirect => BranchKind::IndirectCall,
        OpClass::Return => BranchKind::Return,
        _ => return None,
    })
}

/// Whether an instruction may begin or end a frame of the call stack.
pub(crate) fn moves_frames(class: OpClass) -> bool {
    matches!(
        class,
        OpClass::Call | OpClass::CallIndirect | OpClass::Return | OpClass::JumpIndirect
    )
}

/// Where fetch goes behind a transfer with this prediction; `direct` is the target of a direct one.
#[inline(always)]
pub(crate) fn predicted_next(predicted: &Predicted, direct: Option<u64>, fallthrough: u64) -> u64 {
    match (predicted.taken, direct) {
        (false, _) => fallthrough,
        (true, Some(direct)) => direct,
        (true, None) if predicted.target != 0 => predicted.target,
        (true, None) => UNKNOWN_TARGET,
    }
}
