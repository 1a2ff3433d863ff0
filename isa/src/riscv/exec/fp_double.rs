//! D: double-precision arithmetic.

use super::{
    flag_ops, illegal, register_ops, rounding, rounding_ops, rs1, rs2, rs3, unary_ops, write,
};
use crate::exec::Outcome;
use crate::fp;
use crate::hart::Hart;
use crate::inst::Inst;

const SIGN: u64 = 1 << 63;

rounding_ops! { u64::from, u64::from;
    fadd_d(a: rs1, b: rs2) = |rm, flags| fp::f64_add(a, b, rm, flags);
    fsub_d(a: rs1, b: rs2) = |rm, flags| fp::f64_sub(a, b, rm, flags);
    fmul_d(a: rs1, b: rs2) = |rm, flags| fp::f64_mul(a, b, rm, flags);
    fdiv_d(a: rs1, b: rs2) = |rm, flags| fp::f64_div(a, b, rm, flags);
    fsqrt_d(a: rs1) = |rm, flags| fp::f64_sqrt(a, rm, flags);
    fmadd_d(a: rs1, b: rs2, c: rs3) = |rm, flags| fp::f64_mul_add(a, b, c, rm, flags);
    fmsub_d(a: rs1, b: rs2, c: rs3) = |rm, flags| fp::f64_mul_add(a, b, c ^ SIGN, rm, flags);
    fnmsub_d(a: rs1, b: rs2, c: rs3) = |rm, flags| fp::f64_mul_add(a ^ SIGN, b, c, rm, flags);
    fnmadd_d(a: rs1, b: rs2, c: rs3) = |rm, flags| fp::f64_mul_add(a ^ SIGN, b, c ^ SIGN, rm, flags);
}

flag_ops! { u64::from, u64::from;
    fmin_d(a: rs1, b: rs2) = |flags| fp::f64_min(a, b, flags);
    fmax_d(a: rs1, b: rs2) = |flags| fp::f64_max(a, b, flags);
    feq_d(a: rs1, b: rs2) = |flags| fp::f64_eq(a, b, flags);
    flt_d(a: rs1, b: rs2) = |flags| fp::f64_lt(a, b, flags);
    fle_d(a: rs1, b: rs2) = |flags| fp::f64_le(a, b, flags);
}

register_ops! {
    fsgnj_d(a, b) = a & !SIGN | b & SIGN;
    fsgnjn_d(a, b) = a & !SIGN | !b & SIGN;
    fsgnjx_d(a, b) = a ^ b & SIGN;
}

unary_ops! {
    fclass_d(a) = u64::from(fp::f64_classify(a));
}
