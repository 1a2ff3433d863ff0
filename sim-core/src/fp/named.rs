//! The operations under concrete names, `f32_*` on `u32` bits and `f64_*` on `u64` bits.

use super::{Binary32, Binary64, Round, arith, compare, convert};

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

comparison! { Binary32 u32:
    f32_min = min -> u32, "The lesser of two binary32 numbers.";
    f32_max = max -> u32, "The greater of two binary32 numbers.";
    f32_eq = eq -> bool, "`a == b` in binary32, quiet.";
    f32_lt = lt -> bool, "`a < b` in binary32, signaling.";
    f32_le = le -> bool, "`a <= b` in binary32, signaling.";
}

comparison! { Binary64 u64:
    f64_min = min -> u64, "The lesser of two binary64 numbers.";
    f64_max = max -> u64, "The greater of two binary64 numbers.";
    f64_eq = eq -> bool, "`a == b` in binary64, quiet.";
    f64_lt = lt -> bool, "`a < b` in binary64, signaling.";
    f64_le = le -> bool, "`a <= b` in binary64, signaling.";
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
