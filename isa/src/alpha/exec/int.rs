//! Integer arithmetic, logic, conditional moves and shifts (Architecture Reference Manual, 4.4, 4.5).

use super::{first, operate_ops, second, second_ops, sext32, write};
use crate::exec::Outcome;
use crate::hart::Hart;
use crate::inst::Inst;
use crate::trap::TrapCause;

/// Bits of AMASK: the extensions of the EV67, which has all that Linux knows of this family.
pub const EXTENSIONS: u64 = BWX | FIX | CIX | MVI | PRECISE_TRAPS | PREFETCH;
const BWX: u64 = 1;
const FIX: u64 = 1 << 1;
const CIX: u64 = 1 << 2;
const MVI: u64 = 1 << 8;
const PRECISE_TRAPS: u64 = 1 << 9;
const PREFETCH: u64 = 1 << 12;

/// IMPLVER of the 21264 family.
pub(crate) const EV6: u64 = 2;

/// The address format: `rb` plus a displacement, which the decoder has scaled.
#[inline(always)]
pub(crate) fn lda<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    let value = first(hart, inst).wrapping_add(inst.imm as u64);
    write(hart, inst, value)
}

#[inline(always)]
pub(crate) fn ldah<B>(hart: &mut Hart, bus: &mut B, inst: &Inst, pc: u64) -> Outcome {
    lda(hart, bus, inst, pc)
}

operate_ops! {
    addl(a, b) = sext32(a.wrapping_add(b));
    s4addl(a, b) = sext32((a << 2).wrapping_add(b));
    s8addl(a, b) = sext32((a << 3).wrapping_add(b));
    subl(a, b) = sext32(a.wrapping_sub(b));
    s4subl(a, b) = sext32((a << 2).wrapping_sub(b));
    s8subl(a, b) = sext32((a << 3).wrapping_sub(b));
    addq(a, b) = a.wrapping_add(b);
    s4addq(a, b) = (a << 2).wrapping_add(b);
    s8addq(a, b) = (a << 3).wrapping_add(b);
    subq(a, b) = a.wrapping_sub(b);
    s4subq(a, b) = (a << 2).wrapping_sub(b);
    s8subq(a, b) = (a << 3).wrapping_sub(b);

    cmpbge(a, b) = bytes_not_below(a, b);
    cmpeq(a, b) = u64::from(a == b);
    cmplt(a, b) = u64::from((a as i64) < b as i64);
    cmple(a, b) = u64::from(a as i64 <= b as i64);
    cmpult(a, b) = u64::from(a < b);
    cmpule(a, b) = u64::from(a <= b);

    mull(a, b) = sext32(a.wrapping_mul(b));
    mulq(a, b) = a.wrapping_mul(b);
    umulh(a, b) = ((u128::from(a) * u128::from(b)) >> 64) as u64;

    and(a, b) = a & b;
    bic(a, b) = a & !b;
    bis(a, b) = a | b;
    ornot(a, b) = a | !b;
    xor(a, b) = a ^ b;
    eqv(a, b) = a ^ !b;

    srl(a, b) = a >> (b & 63);
    sll(a, b) = a << (b & 63);
    sra(a, b) = ((a as i64) >> (b & 63)) as u64;
}

second_ops! {
    amask(b) = b & !EXTENSIONS;
    implver(_b) = EV6;
}

/// Bit `i` says that byte `i` of `a` is not below that of `b`, both unsigned.
#[inline(always)]
const fn bytes_not_below(a: u64, b: u64) -> u64 {
    const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
    const BORROW: u64 = 0x0100_0100_0100_0100;
    // Bytes at even places in lanes of 16 bits, with a bit above each that a borrow clears.
    const fn lanes(a: u64, b: u64) -> u64 {
        (((a & EVEN) | BORROW) - (b & EVEN)) & BORROW
    }
    // Two bits at the bottom of each lane, which the product gathers in its upper 16 bits.
    let pairs = lanes(a, b) >> 8 | lanes(a >> 8, b >> 8) >> 7;
    pairs.wrapping_mul(1 << 48 | 1 << 34 | 1 << 20 | 1 << 6) >> 48 & 0xff
}

/// Functions of both operands that trap if the result is `None`: `name(a, b) = value;`.
macro_rules! checked_ops {
    ($($name:ident($a:ident, $b:ident) = $value:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
            let ($a, $b) = (first(hart, inst), second(hart, inst));
            match $value {
                Some(value) => write(hart, inst, value as u64),
                None => Outcome::Trap(TrapCause::Arithmetic { exceptions: INTEGER_OVERFLOW }),
            }
        }
    )*};
}

/// The bit of integer overflow in the exception summary.
const INTEGER_OVERFLOW: u8 = 1 << 6;

// Longword operations look at the low halves of their operands alone.
checked_ops! {
    addl_v(a, b) = (a as i32).checked_add(b as i32).map(i64::from);
    subl_v(a, b) = (a as i32).checked_sub(b as i32).map(i64::from);
    mull_v(a, b) = (a as i32).checked_mul(b as i32).map(i64::from);
    addq_v(a, b) = (a as i64).checked_add(b as i64);
    subq_v(a, b) = (a as i64).checked_sub(b as i64);
    mulq_v(a, b) = (a as i64).checked_mul(b as i64);
}

/// Conditional moves: `name(a) = condition;`. The third source is the old value of the destination.
macro_rules! conditional_moves {
    ($($name:ident($a:ident) = $moves:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
            let $a = first(hart, inst);
            let (moved, kept) = (second(hart, inst), hart.r[inst.rs3 as usize]);
            write(hart, inst, if $moves { moved } else { kept })
        }
    )*};
}

conditional_moves! {
    cmovlbs(a) = a & 1 != 0;
    cmovlbc(a) = a & 1 == 0;
    cmoveq(a) = a == 0;
    cmovne(a) = a != 0;
    cmovlt(a) = (a as i64) < 0;
    cmovge(a) = a as i64 >= 0;
    cmovle(a) = a as i64 <= 0;
    cmovgt(a) = a as i64 > 0;
}
