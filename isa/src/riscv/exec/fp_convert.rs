//! F and D: conversions and moves between register files and precisions.

use super::{boxed, illegal, rounding, rounding_ops, rs1, sext32, unary_ops, unbox, write};
use crate::exec::Outcome;
use crate::fp;
use crate::hart::Hart;
use crate::inst::Inst;

// To integers. 32-bit results, also unsigned ones, are sign-extended.
rounding_ops! { unbox, u64::from;
    fcvt_w_s(a: rs1) = |rm, flags| fp::f32_to_i32(a, rm, flags) as u64;
    fcvt_wu_s(a: rs1) = |rm, flags| sext32(u64::from(fp::f32_to_u32(a, rm, flags)));
    fcvt_l_s(a: rs1) = |rm, flags| fp::f32_to_i64(a, rm, flags) as u64;
    fcvt_lu_s(a: rs1) = |rm, flags| fp::f32_to_u64(a, rm, flags);
}

rounding_ops! { u64::from, u64::from;
    fcvt_w_d(a: rs1) = |rm, flags| fp::f64_to_i32(a, rm, flags) as u64;
    fcvt_wu_d(a: rs1) = |rm, flags| sext32(u64::from(fp::f64_to_u32(a, rm, flags)));
    fcvt_l_d(a: rs1) = |rm, flags| fp::f64_to_i64(a, rm, flags) as u64;
    fcvt_lu_d(a: rs1) = |rm, flags| fp::f64_to_u64(a, rm, flags);
}

// From integers, and to single precision.
rounding_ops! { u64::from, boxed;
    fcvt_s_w(a: rs1) = |rm, flags| fp::f32_from_i32(a as i32, rm, flags);
    fcvt_s_wu(a: rs1) = |rm, flags| fp::f32_from_u32(a as u32, rm, flags);
    fcvt_s_l(a: rs1) = |rm, flags| fp::f32_from_i64(a as i64, rm, flags);
    fcvt_s_lu(a: rs1) = |rm, flags| fp::f32_from_u64(a, rm, flags);
    fcvt_s_d(a: rs1) = |rm, flags| fp::f64_to_f32(a, rm, flags);
}

rounding_ops! { u64::from, u64::from;
    fcvt_d_w(a: rs1) = |rm, flags| fp::f64_from_i32(a as i32, rm, flags);
    fcvt_d_wu(a: rs1) = |rm, flags| fp::f64_from_u32(a as u32, rm, flags);
    fcvt_d_l(a: rs1) = |rm, flags| fp::f64_from_i64(a as i64, rm, flags);
    fcvt_d_lu(a: rs1) = |rm, flags| fp::f64_from_u64(a, rm, flags);
}

rounding_ops! { unbox, u64::from;
    fcvt_d_s(a: rs1) = |_rm, flags| fp::f32_to_f64(a, flags);
}

// Moves take the bits as they are, boxed or not.
unary_ops! {
    fmv_x_w(a) = sext32(a);
    fmv_w_x(a) = boxed(a as u32);
    fmv_x_d(a) = a;
    fmv_d_x(a) = a;
}
