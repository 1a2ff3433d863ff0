//! Differences between handlers of one shape: where jumps lead, when branches are taken, the common cases of
//! floating-point operations.

use crate::alpha::exec as alpha;
use crate::alpha::exec::control::condition;
use crate::fp::{self, Binary64};
use crate::hart::Hart;
use crate::inst::{Inst, Op};
use crate::riscv::exec::{rs1, rs2};

/// Whether an indirect jump writes a link register.
pub(super) trait Link {
    const LINKS: bool;
}
pub(super) struct Links;
pub(super) struct Forgets;
impl Link for Links {
    const LINKS: bool = true;
}
impl Link for Forgets {
    const LINKS: bool = false;
}

/// Where an indirect jump of an instruction set leads.
pub(super) trait JumpTarget {
    fn target(hart: &Hart, inst: &Inst) -> u64;
}
pub(super) struct RiscvJump;
pub(super) struct AlphaJump;
impl JumpTarget for RiscvJump {
    #[inline(always)]
    fn target(hart: &Hart, inst: &Inst) -> u64 {
        rs1(hart, inst).wrapping_add(inst.imm as u64) & !1
    }
}
impl JumpTarget for AlphaJump {
    #[inline(always)]
    fn target(hart: &Hart, inst: &Inst) -> u64 {
        alpha::control::jump_target(hart, inst)
    }
}

/// The common case of an operation.
pub(super) trait Common {
    const OP: Op;
    /// The result, in the common case. Nothing else changes.
    fn compute(hart: &Hart, inst: &Inst) -> Option<u64>;
}

macro_rules! common {
    ($($name:ident($hart:ident, $inst:ident) = $value:expr;)*) => {$(
        pub(crate) struct $name;
        impl Common for $name {
            const OP: Op = Op::$name;
            #[inline(always)]
            fn compute($hart: &Hart, $inst: &Inst) -> Option<u64> {
                $value
            }
        }
    )*};
}

/// The operands, if the rounding mode in `fcsr` is to nearest even (zero) and `NX` accrued.
#[inline(always)]
fn accrued(hart: &Hart, inst: &Inst) -> Option<(u64, u64)> {
    const FRM: u8 = 0xe0;
    (hart.fcsr & (FRM | fp::flag::NX) == fp::flag::NX).then(|| (rs1(hart, inst), rs2(hart, inst)))
}

common! {
    FaddD(hart, inst) = accrued(hart, inst).and_then(|(a, b)| fp::accrued::add::<Binary64>(a, b));
    FsubD(hart, inst) = accrued(hart, inst).and_then(|(a, b)| fp::accrued::sub::<Binary64>(a, b));
    FmulD(hart, inst) = accrued(hart, inst).and_then(|(a, b)| fp::accrued::mul::<Binary64>(a, b));
    FdivD(hart, inst) = accrued(hart, inst).and_then(|(a, b)| fp::accrued::div::<Binary64>(a, b));
    FsqrtD(hart, inst) = accrued(hart, inst).and_then(|(a, _)| fp::accrued::sqrt::<Binary64>(a));
    AlphaAdds(hart, inst) = alpha::fp::common_adds(hart, inst);
    AlphaSubs(hart, inst) = alpha::fp::common_subs(hart, inst);
    AlphaMuls(hart, inst) = alpha::fp::common_muls(hart, inst);
    AlphaDivs(hart, inst) = alpha::fp::common_divs(hart, inst);
    AlphaSqrts(hart, inst) = alpha::fp::common_sqrts(hart, inst);
    AlphaAddt(hart, inst) = alpha::fp::common_addt(hart, inst);
    AlphaSubt(hart, inst) = alpha::fp::common_subt(hart, inst);
    AlphaMult(hart, inst) = alpha::fp::common_mult(hart, inst);
    AlphaDivt(hart, inst) = alpha::fp::common_divt(hart, inst);
    AlphaSqrtt(hart, inst) = alpha::fp::common_sqrtt(hart, inst);
    AlphaCvtts(hart, inst) = alpha::fp::common_cvtts(hart, inst);
    AlphaCvtqs(hart, inst) = alpha::fp::common_cvtqs(hart, inst);
    AlphaCvtqt(hart, inst) = alpha::fp::common_cvtqt(hart, inst);
    AlphaCvttq(hart, inst) = alpha::fp::common_cvttq(hart, inst);
    AlphaCvtst(hart, inst) = alpha::fp::common_cvtst(hart, inst);
    AlphaCmptun(hart, inst) = alpha::fp::common_cmptun(hart, inst);
    AlphaCmpteq(hart, inst) = alpha::fp::common_cmpteq(hart, inst);
    AlphaCmptlt(hart, inst) = alpha::fp::common_cmptlt(hart, inst);
    AlphaCmptle(hart, inst) = alpha::fp::common_cmptle(hart, inst);
}

/// When a branch is taken.
pub(super) trait Condition {
    fn holds(hart: &Hart, inst: &Inst) -> bool;
}

/// Conditions on one or two registers.
macro_rules! conditions {
    ($($name:ident($($a:ident: $source:ident),*) = $holds:expr;)*) => {$(
        pub(crate) struct $name;
        impl Condition for $name {
            #[inline(always)]
            fn holds(hart: &Hart, inst: &Inst) -> bool {
                $(let $a = $source(hart, inst);)*
                $holds
            }
        }
    )*};
}

conditions! {
    Eq(a: rs1, b: rs2) = a == b;
    Ne(a: rs1, b: rs2) = a != b;
    Lt(a: rs1, b: rs2) = (a as i64) < b as i64;
    Ge(a: rs1, b: rs2) = a as i64 >= b as i64;
    Ltu(a: rs1, b: rs2) = a < b;
    Geu(a: rs1, b: rs2) = a >= b;
    Even(a: rs1) = condition::is_even(a);
    Odd(a: rs1) = condition::is_odd(a);
    Zero(a: rs1) = condition::is_zero(a);
    NotZero(a: rs1) = condition::is_not_zero(a);
    Negative(a: rs1) = condition::is_negative(a);
    NotPositive(a: rs1) = condition::is_not_positive(a);
    NotNegative(a: rs1) = condition::is_not_negative(a);
    Positive(a: rs1) = condition::is_positive(a);
    FpZero(a: rs1) = condition::is_fp_zero(a);
    FpNotZero(a: rs1) = condition::is_fp_not_zero(a);
    FpNegative(a: rs1) = condition::is_fp_negative(a);
    FpNotNegative(a: rs1) = condition::is_fp_not_negative(a);
}
