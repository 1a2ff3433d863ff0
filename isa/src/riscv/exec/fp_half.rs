//! Zfh: half-precision arithmetic on NaN-boxed values, and its conversions and moves.

use super::{
    boxed, flag_ops, illegal, register_ops, rounding, rounding_ops, rs1, rs2, rs3, sext32,
    unary_ops, unbox, write,
};
use crate::exec::Outcome;
use crate::fp;
use crate::hart::Hart;
use crate::inst::Inst;

const SIGN: u16 = 1 << 15;

/// The upper bits of a register that holds a half-precision value.
const BOX: u64 = 0xffff_ffff_ffff_0000;

/// A half-precision operand: a value that is not NaN-boxed is the canonical NaN.
#[inline(always)]
pub(super) fn unbox_half(value: u64) -> u16 {
    const CANONICAL_NAN: u16 = 0x7e00;
    if value >= BOX {
        value as u16
    } else {
        CANONICAL_NAN
    }
}

#[inline(always)]
pub(super) fn boxed_half(value: u16) -> u64 {
    BOX | u64::from(value)
}

rounding_ops! { unbox_half, boxed_half;
    fadd_h(a: rs1, b: rs2) = |rm, flags| fp::f16_add(a, b, rm, flags);
    fsub_h(a: rs1, b: rs2) = |rm, flags| fp::f16_sub(a, b, rm, flags);
    fmul_h(a: rs1, b: rs2) = |rm, flags| fp::f16_mul(a, b, rm, flags);
    fdiv_h(a: rs1, b: rs2) = |rm, flags| fp::f16_div(a, b, rm, flags);
    fsqrt_h(a: rs1) = |rm, flags| fp::f16_sqrt(a, rm, flags);
    fmadd_h(a: rs1, b: rs2, c: rs3) = |rm, flags| fp::f16_mul_add(a, b, c, rm, flags);
    fmsub_h(a: rs1, b: rs2, c: rs3) = |rm, flags| fp::f16_mul_add(a, b, c ^ SIGN, rm, flags);
    fnmsub_h(a: rs1, b: rs2, c: rs3) = |rm, flags| fp::f16_mul_add(a ^ SIGN, b, c, rm, flags);
    fnmadd_h(a: rs1, b: rs2, c: rs3) = |rm, flags| fp::f16_mul_add(a ^ SIGN, b, c ^ SIGN, rm, flags);
}

flag_ops! { unbox_half, boxed_half;
    fmin_h(a: rs1, b: rs2) = |flags| fp::f16_min(a, b, flags);
    fmax_h(a: rs1, b: rs2) = |flags| fp::f16_max(a, b, flags);
}

flag_ops! { unbox_half, u64::from;
    feq_h(a: rs1, b: rs2) = |flags| fp::f16_eq(a, b, flags);
    flt_h(a: rs1, b: rs2) = |flags| fp::f16_lt(a, b, flags);
    fle_h(a: rs1, b: rs2) = |flags| fp::f16_le(a, b, flags);
}

register_ops! {
    fsgnj_h(a, b) = boxed_half(unbox_half(a) & !SIGN | unbox_half(b) & SIGN);
    fsgnjn_h(a, b) = boxed_half(unbox_half(a) & !SIGN | !unbox_half(b) & SIGN);
    fsgnjx_h(a, b) = boxed_half(unbox_half(a) ^ unbox_half(b) & SIGN);
}

unary_ops! {
    fclass_h(a) = u64::from(fp::f16_classify(unbox_half(a)));
    fmv_x_h(a) = a as i16 as i64 as u64;
    fmv_h_x(a) = boxed_half(a as u16);
}

// To integers. 32-bit results, also unsigned ones, are sign-extended.
rounding_ops! { unbox_half, u64::from;
    fcvt_w_h(a: rs1) = |rm, flags| fp::f16_to_i32(a, rm, flags) as u64;
    fcvt_wu_h(a: rs1) = |rm, flags| sext32(u64::from(fp::f16_to_u32(a, rm, flags)));
    fcvt_l_h(a: rs1) = |rm, flags| fp::f16_to_i64(a, rm, flags) as u64;
    fcvt_lu_h(a: rs1) = |rm, flags| fp::f16_to_u64(a, rm, flags);
}

// From integers, and between precisions.
rounding_ops! { u64::from, boxed_half;
    fcvt_h_w(a: rs1) = |rm, flags| fp::f16_from_i32(a as i32, rm, flags);
    fcvt_h_wu(a: rs1) = |rm, flags| fp::f16_from_u32(a as u32, rm, flags);
    fcvt_h_l(a: rs1) = |rm, flags| fp::f16_from_i64(a as i64, rm, flags);
    fcvt_h_lu(a: rs1) = |rm, flags| fp::f16_from_u64(a, rm, flags);
    fcvt_h_d(a: rs1) = |rm, flags| fp::f64_to_f16(a, rm, flags);
}

rounding_ops! { unbox, boxed_half;
    fcvt_h_s(a: rs1) = |rm, flags| fp::f32_to_f16(a, rm, flags);
}

rounding_ops! { unbox_half, boxed;
    fcvt_s_h(a: rs1) = |_rm, flags| fp::f16_to_f32(a, flags);
}

rounding_ops! { unbox_half, u64::from;
    fcvt_d_h(a: rs1) = |_rm, flags| fp::f16_to_f64(a, flags);
}
