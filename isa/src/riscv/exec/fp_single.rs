//! F: single-precision arithmetic on NaN-boxed values.

use super::{
    boxed, flag_ops, illegal, register_ops, rounding, rounding_ops, rs1, rs2, rs3, unary_ops,
    unbox, write,
};
use crate::exec::Outcome;
use crate::fp;
use crate::hart::Hart;
use crate::inst::Inst;

const SIGN: u32 = 1 << 31;

rounding_ops! { unbox, boxed;
    fadd_s(a: rs1, b: rs2) = |rm, flags| fp::f32_add(a, b, rm, flags);
    fsub_s(a: rs1, b: rs2) = |rm, flags| fp::f32_sub(a, b, rm, flags);
    fmul_s(a: rs1, b: rs2) = |rm, flags| fp::f32_mul(a, b, rm, flags);
    fdiv_s(a: rs1, b: rs2) = |rm, flags| fp::f32_div(a, b, rm, flags);
    fsqrt_s(a: rs1) = |rm, flags| fp::f32_sqrt(a, rm, flags);
    fmadd_s(a: rs1, b: rs2, c: rs3) = |rm, flags| fp::f32_mul_add(a, b, c, rm, flags);
    fmsub_s(a: rs1, b: rs2, c: rs3) = |rm, flags| fp::f32_mul_add(a, b, c ^ SIGN, rm, flags);
    fnmsub_s(a: rs1, b: rs2, c: rs3) = |rm, flags| fp::f32_mul_add(a ^ SIGN, b, c, rm, flags);
    fnmadd_s(a: rs1, b: rs2, c: rs3) = |rm, flags| fp::f32_mul_add(a ^ SIGN, b, c ^ SIGN, rm, flags);
}

flag_ops! { unbox, boxed;
    fmin_s(a: rs1, b: rs2) = |flags| fp::f32_min(a, b, flags);
    fmax_s(a: rs1, b: rs2) = |flags| fp::f32_max(a, b, flags);
}

flag_ops! { unbox, u64::from;
    feq_s(a: rs1, b: rs2) = |flags| fp::f32_eq(a, b, flags);
    flt_s(a: rs1, b: rs2) = |flags| fp::f32_lt(a, b, flags);
    fle_s(a: rs1, b: rs2) = |flags| fp::f32_le(a, b, flags);
}

register_ops! {
    fsgnj_s(a, b) = boxed(unbox(a) & !SIGN | unbox(b) & SIGN);
    fsgnjn_s(a, b) = boxed(unbox(a) & !SIGN | !unbox(b) & SIGN);
    fsgnjx_s(a, b) = boxed(unbox(a) ^ unbox(b) & SIGN);
}

unary_ops! {
    fclass_s(a) = u64::from(fp::f32_classify(unbox(a)));
}
