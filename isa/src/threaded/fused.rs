//! Pairs that one handler executes: an operation, and the branch on whether its result is zero.
//!
//! Alpha has no branches on two registers, so that most of its conditional branches stand behind the
//! comparison that they test. Executed apart, the branch would wait until the result has been through
//! memory, where the guest's registers are.

use super::handlers::turn;
use super::{Context, Handler, MicroOp};
use crate::alpha::LITERAL;
use crate::hart::Hart;
use crate::inst::{Inst, Op, reg};
use crate::memory::{Bytes, Pages};
use crate::probe::{NoProbe, Probe};
use crate::riscv::exec::{rs1, rs2, sext32};

/// An operation on registers alone, which always continues with the next instruction.
trait Computation {
    /// Result of the operation.
    fn result(hart: &Hart, inst: &Inst) -> u64;
}

macro_rules! computations {
    ($($op:ident $(if $condition:ident)? => $name:ident($hart:ident, $inst:ident) = $value:expr;)*) => {
        $(
            struct $name;
            impl Computation for $name {
                #[inline(always)]
                fn result($hart: &Hart, $inst: &Inst) -> u64 {
                    $value
                }
            }
        )*

        /// The handler of `first` and a branch that tests its result, for probes of type `P`.
        fn pair_for<P: Probe>(first: &Inst, test: Test) -> Option<Handler> {
            Some(match (first.op, test) {
                $(
                    (Op::$op, Test::Zero) $(if $condition(first))? => pair::<P, $name, true>,
                    (Op::$op, Test::NotZero) $(if $condition(first))? => pair::<P, $name, false>,
                )*
                _ => return None,
            })
        }
    };
}

/// The handler of `first` and a branch that tests its result, if there is one.
pub(super) fn handler<P: Probe>(first: &Inst, test: Test) -> Option<Handler> {
    if P::WANTS_CONTROL {
        pair_for::<P>(first, test)
    } else {
        unobserved(first, test)
    }
}

/// The handler of a pair of which no probe wants to know: compiled once for all probes.
#[inline(never)]
fn unobserved(first: &Inst, test: Test) -> Option<Handler> {
    pair_for::<NoProbe>(first, test)
}

/// The second operand of an Alpha comparison is a literal.
fn has_literal(inst: &Inst) -> bool {
    inst.imm & LITERAL != 0
}

computations! {
    Addi => Addi(hart, inst) = rs1(hart, inst).wrapping_add(inst.imm as u64);
    Addiw => Addiw(hart, inst) = sext32(rs1(hart, inst).wrapping_add(inst.imm as u64));
    Sub => Sub(hart, inst) = rs1(hart, inst).wrapping_sub(rs2(hart, inst));
    Subw => Subw(hart, inst) = sext32(rs1(hart, inst).wrapping_sub(rs2(hart, inst)));
    And => And(hart, inst) = rs1(hart, inst) & rs2(hart, inst);
    Andi => Andi(hart, inst) = rs1(hart, inst) & inst.imm as u64;
    Slt => Slt(hart, inst) = u64::from((rs1(hart, inst) as i64) < rs2(hart, inst) as i64);
    Slti => Slti(hart, inst) = u64::from((rs1(hart, inst) as i64) < inst.imm);
    Sltu => Sltu(hart, inst) = u64::from(rs1(hart, inst) < rs2(hart, inst));
    Sltiu => Sltiu(hart, inst) = u64::from(rs1(hart, inst) < inst.imm as u64);
    AlphaCmpeq if has_literal => EqualLiteral(hart, inst) = u64::from(rs1(hart, inst) == inst.imm as u64 & 0xff);
    AlphaCmpeq => Equal(hart, inst) = u64::from(rs1(hart, inst) == rs2(hart, inst));
    AlphaCmple => NotGreater(hart, inst) = u64::from(rs1(hart, inst) as i64 <= rs2(hart, inst) as i64);
    AlphaCmpule => NotAbove(hart, inst) = u64::from(rs1(hart, inst) <= rs2(hart, inst));
}

/// When a branch on one register is taken.
#[derive(Clone, Copy)]
pub(super) enum Test {
    Zero,
    NotZero,
}

/// The register that a branch compares with zero, and when it is taken; none for all other branches.
pub(super) fn tested(branch: &Inst) -> Option<(u8, Test)> {
    let riscv = |test| match (branch.rs1, branch.rs2) {
        (register, reg::ZERO) | (reg::ZERO, register) => Some((register, test)),
        _ => None,
    };
    match branch.op {
        Op::Beq => riscv(Test::Zero),
        Op::Bne => riscv(Test::NotZero),
        Op::AlphaBeq => Some((branch.rs1, Test::Zero)),
        Op::AlphaBne => Some((branch.rs1, Test::NotZero)),
        _ => None,
    }
}

/// An operation and the branch behind it. Behind that lies its link, and behind that the block goes on.
///
/// # Safety
/// See [`Handler`].
unsafe fn pair<P: Probe, C: Computation, const IF_ZERO: bool>(
    at: *const MicroOp,
    hart: &mut Hart,
    bytes: &mut Bytes,
    context: &mut Context,
    pages: &Pages,
    fuel: i64,
) -> i64 {
    // SAFETY: the caller promises a live micro-operation.
    let first = unsafe { &(*at).inst };
    let result = C::result(hart, first);
    hart.r[first.rd as usize] = result;
    let taken = (result == 0) == IF_ZERO;
    // SAFETY: the translator puts the branch behind it.
    unsafe { turn::<P>(at.add(1), taken, hart, bytes, context, pages, fuel) }
}
