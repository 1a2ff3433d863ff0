//! Zfa: constants, minima and maxima that keep NaNs, rounding to integers, quiet comparisons, and the
//! modular conversion.

use super::fp_half::{boxed_half, unbox_half};
use super::{boxed, flag_ops, illegal, rounding, rounding_ops, rs1, rs2, unbox, write};
use crate::exec::Outcome;
use crate::fp;
use crate::hart::Hart;
use crate::inst::Inst;
use crate::riscv::constants::{DOUBLES, HALVES, SINGLES};

/// Functions that load one of the constants: `name = constants, how a register holds one;`.
macro_rules! constants {
    ($($name:ident = $constants:ident, $write:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
            write(hart, inst, $write($constants[inst.imm as usize & 31]))
        }
    )*};
}

constants! {
    fli_h = HALVES, boxed_half;
    fli_s = SINGLES, boxed;
    fli_d = DOUBLES, u64::from;
}

flag_ops! { unbox_half, boxed_half;
    fminm_h(a: rs1, b: rs2) = |flags| fp::f16_min_or_nan(a, b, flags);
    fmaxm_h(a: rs1, b: rs2) = |flags| fp::f16_max_or_nan(a, b, flags);
}

flag_ops! { unbox, boxed;
    fminm_s(a: rs1, b: rs2) = |flags| fp::f32_min_or_nan(a, b, flags);
    fmaxm_s(a: rs1, b: rs2) = |flags| fp::f32_max_or_nan(a, b, flags);
}

flag_ops! { u64::from, u64::from;
    fminm_d(a: rs1, b: rs2) = |flags| fp::f64_min_or_nan(a, b, flags);
    fmaxm_d(a: rs1, b: rs2) = |flags| fp::f64_max_or_nan(a, b, flags);
    fleq_d(a: rs1, b: rs2) = |flags| fp::f64_le_quiet(a, b, flags);
    fltq_d(a: rs1, b: rs2) = |flags| fp::f64_lt_quiet(a, b, flags);
    fcvtmod_w_d(a: rs1) = |flags| fp::f64_to_i32_modular(a, flags) as u64;
}

flag_ops! { unbox_half, u64::from;
    fleq_h(a: rs1, b: rs2) = |flags| fp::f16_le_quiet(a, b, flags);
    fltq_h(a: rs1, b: rs2) = |flags| fp::f16_lt_quiet(a, b, flags);
}

flag_ops! { unbox, u64::from;
    fleq_s(a: rs1, b: rs2) = |flags| fp::f32_le_quiet(a, b, flags);
    fltq_s(a: rs1, b: rs2) = |flags| fp::f32_lt_quiet(a, b, flags);
}

rounding_ops! { unbox_half, boxed_half;
    fround_h(a: rs1) = |rm, flags| fp::f16_round(a, rm, flags);
    froundnx_h(a: rs1) = |rm, flags| fp::f16_round_inexact(a, rm, flags);
}

rounding_ops! { unbox, boxed;
    fround_s(a: rs1) = |rm, flags| fp::f32_round(a, rm, flags);
    froundnx_s(a: rs1) = |rm, flags| fp::f32_round_inexact(a, rm, flags);
}

rounding_ops! { u64::from, u64::from;
    fround_d(a: rs1) = |rm, flags| fp::f64_round(a, rm, flags);
    froundnx_d(a: rs1) = |rm, flags| fp::f64_round_inexact(a, rm, flags);
}
