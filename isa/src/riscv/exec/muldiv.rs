//! M: multiplication and division. Division by zero and overflow do not trap; their results are
//! those of the "M" chapter, table "Semantics for division by zero and division overflow".

use super::{register_ops, rs1, rs2, sext32, write};
use crate::exec::Outcome;
use crate::hart::Hart;
use crate::inst::Inst;

register_ops! {
    mul(a, b) = a.wrapping_mul(b);
    mulh(a, b) = ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64;
    mulhsu(a, b) = ((i128::from(a as i64) * i128::from(b)) >> 64) as u64;
    mulhu(a, b) = ((u128::from(a) * u128::from(b)) >> 64) as u64;
    div(a, b) = if b == 0 { u64::MAX } else { (a as i64).wrapping_div(b as i64) as u64 };
    divu(a, b) = a.checked_div(b).unwrap_or(u64::MAX);
    rem(a, b) = if b == 0 { a } else { (a as i64).wrapping_rem(b as i64) as u64 };
    remu(a, b) = a.checked_rem(b).unwrap_or(a);
    mulw(a, b) = sext32(a.wrapping_mul(b));
    divw(a, b) = sext32(match b as i32 {
        0 => u64::MAX,
        b => (a as i32).wrapping_div(b) as u64,
    });
    divuw(a, b) = sext32(u64::from((a as u32).checked_div(b as u32).unwrap_or(u32::MAX)));
    remw(a, b) = sext32(match b as i32 {
        0 => a,
        b => (a as i32).wrapping_rem(b) as u64,
    });
    remuw(a, b) = sext32(u64::from((a as u32).checked_rem(b as u32).unwrap_or(a as u32)));
}
