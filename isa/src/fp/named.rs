//! The operations under concrete names: `f16_*` on `u16` bits, `f32_*` on `u32` bits, `f64_*` on `u64`
//! bits.

use super::{Binary16, Binary32, Binary64, Round, arith, compare, convert, integral};

macro_rules! arithmetic {
    ($format:ident $bits:ident: $($name:ident = $generic:ident($($arg:ident)*), $doc:literal;)*) => {$(
        #[doc = concat!($doc, " See [`", stringify!($generic), "`](super::", stringify!($generic), ").")]
        #[inline]
        pub fn $name($($arg: $bits,)* rm: Round, flags: &mut u8) -> $bits {
            arith::$generic::<$format>($($arg,)* rm, flags)
        }
    )*};
}

macro_rules! comparison {
    ($format:ident $bits:ident: $($name:ident = $generic:ident -> $out:ty, $doc:literal;)*) => {$(
        #[doc = concat!($doc, " See [`", stringify!($generic), "`](super::", stringify!($generic), ").")]
        #[inline]
        pub fn $name(a: $bits, b: $bits, flags: &mut u8) -> $out {
            compare::$generic::<$format>(a, b, flags)
        }
    )*};
}

macro_rules! integral {
    ($($format:ident $bits:ident $width:literal: $round:ident $inexact:ident;)*) => {$(
        #[doc = concat!("A binary", $width, " number rounded to an integer, no flag for an inexact one. See [`round_to_integral`](super::round_to_integral).")]
        #[inline]
        pub fn $round(a: $bits, rm: Round, flags: &mut u8) -> $bits {
            integral::round_to_integral::<$format>(a, rm, false, flags)
        }

        #[doc = concat!("A binary", $width, " number rounded to an integer, `NX` for an inexact one. See [`round_to_integral`](super::round_to_integral).")]
        #[inline]
        pub fn $inexact(a: $bits, rm: Round, flags: &mut u8) -> $bits {
            integral::round_to_integral::<$format>(a, rm, true, flags)
        }
    )*};
}

macro_rules! integers {
    ($format:ident $bits:ident $width:literal: $($to:ident $from:ident $int:ident;)*) => {$(
        #[doc = concat!("A binary", $width, " number rounded to `", stringify!($int), "`. See [`to_int`](super::to_int).")]
        #[inline]
        pub fn $to(a: $bits, rm: Round, flags: &mut u8) -> $int {
            convert::to_int::<$format, $int>(a, rm, flags)
        }

        #[doc = concat!("A `", stringify!($int), "` rounded to binary", $width, ". See [`from_int`](super::from_int).")]
        #[inline]
        pub fn $from(x: $int, rm: Round, flags: &mut u8) -> $bits {
            convert::from_int::<$format, $int>(x, rm, flags)
        }
    )*};
}

arithmetic! { Binary16 u16:
    f16_add = add(a b), "`a + b` in binary16.";
    f16_sub = sub(a b), "`a - b` in binary16.";
    f16_mul = mul(a b), "`a * b` in binary16.";
    f16_div = div(a b), "`a / b` in binary16.";
    f16_sqrt = sqrt(a), "The square root in binary16.";
    f16_mul_add = mul_add(a b c), "`a * b + c`, rounded once, in binary16.";
}

arithmetic! { Binary32 u32:
    f32_add = add(a b), "`a + b` in binary32.";
    f32_sub = sub(a b), "`a - b` in binary32.";
    f32_mul = mul(a b), "`a * b` in binary32.";
    f32_div = div(a b), "`a / b` in binary32.";
    f32_sqrt = sqrt(a), "The square root in binary32.";
    f32_mul_add = mul_add(a b c), "`a * b + c`, rounded once, in binary32.";
}

arithmetic! { Binary64 u64:
    f64_add = add(a b), "`a + b` in binary64.";
    f64_sub = sub(a b), "`a - b` in binary64.";
    f64_mul = mul(a b), "`a * b` in binary64.";
    f64_div = div(a b), "`a / b` in binary64.";
    f64_sqrt = sqrt(a), "The square root in binary64.";
    f64_mul_add = mul_add(a b c), "`a * b + c`, rounded once, in binary64.";
}

comparison! { Binary16 u16:
    f16_min = min -> u16, "The lesser of two binary16 numbers.";
    f16_max = max -> u16, "The greater of two binary16 numbers.";
    f16_min_or_nan = min_or_nan -> u16, "The lesser of two binary16 numbers, or NaN.";
    f16_max_or_nan = max_or_nan -> u16, "The greater of two binary16 numbers, or NaN.";
    f16_eq = eq -> bool, "`a == b` in binary16, quiet.";
    f16_lt = lt -> bool, "`a < b` in binary16, signaling.";
    f16_le = le -> bool, "`a <= b` in binary16, signaling.";
    f16_lt_quiet = lt_quiet -> bool, "`a < b` in binary16, quiet.";
    f16_le_quiet = le_quiet -> bool, "`a <= b` in binary16, quiet.";
}

comparison! { Binary32 u32:
    f32_min = min -> u32, "The lesser of two binary32 numbers.";
    f32_max = max -> u32, "The greater of two binary32 numbers.";
    f32_min_or_nan = min_or_nan -> u32, "The lesser of two binary32 numbers, or NaN.";
    f32_max_or_nan = max_or_nan -> u32, "The greater of two binary32 numbers, or NaN.";
    f32_eq = eq -> bool, "`a == b` in binary32, quiet.";
    f32_lt = lt -> bool, "`a < b` in binary32, signaling.";
    f32_le = le -> bool, "`a <= b` in binary32, signaling.";
    f32_lt_quiet = lt_quiet -> bool, "`a < b` in binary32, quiet.";
    f32_le_quiet = le_quiet -> bool, "`a <= b` in binary32, quiet.";
}

comparison! { Binary64 u64:
    f64_min = min -> u64, "The lesser of two binary64 numbers.";
    f64_max = max -> u64, "The greater of two binary64 numbers.";
    f64_min_or_nan = min_or_nan -> u64, "The lesser of two binary64 numbers, or NaN.";
    f64_max_or_nan = max_or_nan -> u64, "The greater of two binary64 numbers, or NaN.";
    f64_eq = eq -> bool, "`a == b` in binary64, quiet.";
    f64_lt = lt -> bool, "`a < b` in binary64, signaling.";
    f64_le = le -> bool, "`a <= b` in binary64, signaling.";
    f64_lt_quiet = lt_quiet -> bool, "`a < b` in binary64, quiet.";
    f64_le_quiet = le_quiet -> bool, "`a <= b` in binary64, quiet.";
}

integral! {
    Binary16 u16 "16": f16_round f16_round_inexact;
    Binary32 u32 "32": f32_round f32_round_inexact;
    Binary64 u64 "64": f64_round f64_round_inexact;
}

integers! { Binary16 u16 "16":
    f16_to_i32 f16_from_i32 i32;
    f16_to_u32 f16_from_u32 u32;
    f16_to_i64 f16_from_i64 i64;
    f16_to_u64 f16_from_u64 u64;
}

integers! { Binary32 u32 "32":
    f32_to_i32 f32_from_i32 i32;
    f32_to_u32 f32_from_u32 u32;
    f32_to_i64 f32_from_i64 i64;
    f32_to_u64 f32_from_u64 u64;
}

integers! { Binary64 u64 "64":
    f64_to_i32 f64_from_i32 i32;
    f64_to_u32 f64_from_u32 u32;
    f64_to_i64 f64_from_i64 i64;
    f64_to_u64 f64_from_u64 u64;
}

/// The `fclass.h` mask of a binary16 number. See [`classify`](super::classify).
#[inline]
pub fn f16_classify(a: u16) -> u32 {
    compare::classify::<Binary16>(a)
}

/// The `fclass.s` mask of a binary32 number. See [`classify`](super::classify).
#[inline]
pub fn f32_classify(a: u32) -> u32 {
    compare::classify::<Binary32>(a)
}

/// The `fclass.d` mask of a binary64 number. See [`classify`](super::classify).
#[inline]
pub fn f64_classify(a: u64) -> u32 {
    compare::classify::<Binary64>(a)
}

/// A binary32 number as binary64: always exact, so no rounding direction; a signaling NaN raises
/// `NV`.
#[inline]
pub fn f32_to_f64(a: u32, flags: &mut u8) -> u64 {
    convert::resize::<Binary32, Binary64>(a, Round::NearestEven, flags)
}

/// A binary64 number rounded to binary32. See [`resize`](super::resize).
#[inline]
pub fn f64_to_f32(a: u64, rm: Round, flags: &mut u8) -> u32 {
    convert::resize::<Binary64, Binary32>(a, rm, flags)
}

/// A binary16 number as binary32: always exact; a signaling NaN raises `NV`.
#[inline]
pub fn f16_to_f32(a: u16, flags: &mut u8) -> u32 {
    convert::resize::<Binary16, Binary32>(a, Round::NearestEven, flags)
}

/// A binary16 number as binary64: always exact; a signaling NaN raises `NV`.
#[inline]
pub fn f16_to_f64(a: u16, flags: &mut u8) -> u64 {
    convert::resize::<Binary16, Binary64>(a, Round::NearestEven, flags)
}

/// A binary32 number rounded to binary16. See [`resize`](super::resize).
#[inline]
pub fn f32_to_f16(a: u32, rm: Round, flags: &mut u8) -> u16 {
    convert::resize::<Binary32, Binary16>(a, rm, flags)
}

/// A binary64 number rounded to binary16. See [`resize`](super::resize).
#[inline]
pub fn f64_to_f16(a: u64, rm: Round, flags: &mut u8) -> u16 {
    convert::resize::<Binary64, Binary16>(a, rm, flags)
}
