//! The constants of `fli` (Zfa), in each precision and by their names in assembly language.

/// Exponent and quarters above one of the constants 2 to 29: a number is `(1 + quarters / 4) * 2^exponent`.
const NUMBERS: [(i32, u64); 28] = [
    (-16, 0),
    (-15, 0),
    (-8, 0),
    (-7, 0),
    (-4, 0),
    (-3, 0),
    (-2, 0),
    (-2, 1),
    (-2, 2),
    (-2, 3),
    (-1, 0),
    (-1, 1),
    (-1, 2),
    (-1, 3),
    (0, 0),
    (0, 1),
    (0, 2),
    (0, 3),
    (1, 0),
    (1, 1),
    (1, 2),
    (2, 0),
    (3, 0),
    (4, 0),
    (7, 0),
    (8, 0),
    (15, 0),
    (16, 0),
];

/// The constants in assembly language. `fli.h` makes infinity of 65536.
pub(crate) const NAMES: [&str; 32] = [
    "-1.0",
    "min",
    "1.52587890625e-05",
    "3.0517578125e-05",
    "0.00390625",
    "0.0078125",
    "0.0625",
    "0.125",
    "0.25",
    "0.3125",
    "0.375",
    "0.4375",
    "0.5",
    "0.625",
    "0.75",
    "0.875",
    "1.0",
    "1.25",
    "1.5",
    "1.75",
    "2.0",
    "2.5",
    "3.0",
    "4.0",
    "8.0",
    "16.0",
    "128.0",
    "256.0",
    "32768.0",
    "65536.0",
    "inf",
    "nan",
];

/// The constants in a format with `fraction` and `exponent` bits, right-aligned.
const fn table(fraction: u32, exponent: u32) -> [u64; 32] {
    let bias = (1 << (exponent - 1)) - 1;
    let infinity = ((1 << exponent) - 1) << fraction;
    let one = (bias as u64) << fraction;
    let mut table = [0; 32];
    table[0] = one | 1 << (fraction + exponent);
    // The least normal number.
    table[1] = 1 << fraction;
    let mut i = 0;
    while i < NUMBERS.len() {
        let (power, quarters) = NUMBERS[i];
        let field = power + bias;
        table[i + 2] = if field <= 0 {
            // Subnormal: only the implicit bit, shifted.
            1 << (fraction as i32 - 1 + field)
        } else if field > 2 * bias {
            infinity
        } else {
            (field as u64) << fraction | quarters << (fraction - 2)
        };
        i += 1;
    }
    table[30] = infinity;
    table[31] = infinity | 1 << (fraction - 1);
    table
}

/// In half precision.
pub(crate) const HALVES: [u16; 32] = {
    let wide = table(10, 5);
    let mut table = [0; 32];
    let mut i = 0;
    while i < 32 {
        table[i] = wide[i] as u16;
        i += 1;
    }
    table
};

/// In single precision.
pub(crate) const SINGLES: [u32; 32] = {
    let wide = table(23, 8);
    let mut table = [0; 32];
    let mut i = 0;
    while i < 32 {
        table[i] = wide[i] as u32;
        i += 1;
    }
    table
};

/// In double precision.
pub(crate) const DOUBLES: [u64; 32] = table(52, 11);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fp::{self, Round};

    #[test]
    fn the_constants_are_what_their_names_say() {
        for (i, name) in NAMES.iter().enumerate() {
            let value: f64 = match *name {
                "min" => {
                    assert_eq!(SINGLES[i], f32::MIN_POSITIVE.to_bits());
                    assert_eq!(DOUBLES[i], f64::MIN_POSITIVE.to_bits());
                    // 2^-14.
                    assert_eq!(HALVES[i], 0x0400);
                    continue;
                }
                name => name.parse().unwrap(),
            };
            assert_eq!(DOUBLES[i], value.to_bits(), "{name}");
            assert_eq!(SINGLES[i], (value as f32).to_bits(), "{name}");
            let half = fp::f64_to_f16(value.to_bits(), Round::NearestEven, &mut 0);
            assert_eq!(HALVES[i], half, "{name}");
        }
    }
}
