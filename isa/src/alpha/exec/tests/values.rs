//! Results of operations, and those on bytes against a version that goes byte by byte.

use super::{A, C, Guest, memory, result};
use crate::inst::Op;

const VALUES: [u64; 8] = [
    0,
    u64::MAX,
    0x8877_6655_4433_2211,
    0x00ff_807f_0100_fe7f,
    1,
    i64::MIN as u64,
    0x0123_4567_89ab_cdef,
    0x7fff_ffff_8000_0000,
];

#[test]
fn arithmetic_by_value() {
    let minus = |n: i64| -n as u64;
    let cases = [
        (Op::AlphaAddl, 0x7fff_ffff, 1, minus(0x8000_0000)),
        (Op::AlphaAddl, 0xffff_ffff_0000_0001, 1, 2),
        (Op::AlphaSubl, 0, 1, u64::MAX),
        (Op::AlphaS4addl, 0x2000_0000, 3, minus(0x8000_0000 - 3)),
        (Op::AlphaS8addl, 5, 2, 42),
        (Op::AlphaS4subl, 5, 2, 18),
        (Op::AlphaS8subl, 0x1000_0000, 1, 0x7fff_ffff),
        (Op::AlphaAddq, u64::MAX, 2, 1),
        (Op::AlphaSubq, 1, 2, u64::MAX),
        (Op::AlphaS4addq, 1 << 62, 9, 9),
        (Op::AlphaS8addq, 5, 2, 42),
        (Op::AlphaS4subq, 5, 2, 18),
        (Op::AlphaS8subq, 0, 1, u64::MAX),
        (Op::AlphaMull, 0x1_0000_0003, 5, 15),
        (Op::AlphaMull, 0x8000_0000, 1, minus(0x8000_0000)),
        (Op::AlphaMulq, 1 << 63, 3, 1 << 63),
        (Op::AlphaUmulh, u64::MAX, u64::MAX, u64::MAX - 1),
        (Op::AlphaCmpeq, 7, 7, 1),
        (Op::AlphaCmplt, u64::MAX, 0, 1),
        (Op::AlphaCmple, 0, u64::MAX, 0),
        (Op::AlphaCmple, 5, 5, 1),
        (Op::AlphaCmpult, u64::MAX, 0, 0),
        (Op::AlphaCmpule, 0, u64::MAX, 1),
        (Op::AlphaAnd, 0xff0, 0xf8, 0xf0),
        (Op::AlphaBic, 0xff0, 0xf8, 0xf00),
        (Op::AlphaBis, 0xf00, 0xf, 0xf0f),
        (Op::AlphaOrnot, 0, 0xff, !0xff),
        (Op::AlphaXor, 0xff, 0xf, 0xf0),
        (Op::AlphaEqv, 0xff, 0xf, !0xf0),
        (Op::AlphaSrl, 1 << 63, 127, 1),
        (Op::AlphaSll, 1, 64 + 3, 8),
        (Op::AlphaSra, 1 << 63, 255, u64::MAX),
        (Op::AlphaAmask, 0, u64::MAX, !0x1307),
        (Op::AlphaAmask, 0, 0xff, 0xf8),
        (Op::AlphaImplver, 0, 0, 2),
        (Op::AlphaSextb, 0, 0x80, minus(0x80)),
        (Op::AlphaSextw, 0, 0x1_8000, minus(0x8000)),
        (Op::AlphaCtpop, 0, 0xff, 8),
        (Op::AlphaCtlz, 0, 0, 64),
        (Op::AlphaCtlz, 0, 1 << 40, 23),
        (Op::AlphaCttz, 0, 0, 64),
        (Op::AlphaCttz, 0, 8, 3),
        (Op::AlphaUnpkbw, 0, 0xee_8877_6655, 0x0088_0077_0066_0055),
        (Op::AlphaUnpkbl, 0, 0xee_8877_6655, 0x66_0000_0055),
        (Op::AlphaPkwb, 0, 0xff11_ff22_ff33_ff44, 0x1122_3344),
        (Op::AlphaPklb, 0, 0xffff_ff11_ffff_ff22, 0x1122),
        (Op::AlphaPerr, 0xff00, 0xff, 2 * 255),
        (Op::AlphaPerr, u64::MAX, 0, 8 * 255),
    ];
    for (op, a, b, expected) in cases {
        assert_eq!(result(op, a, b), expected, "{op:?} {a:#x} {b:#x}");
    }
    let mut guest = Guest::new();
    for op in [Op::AlphaLda, Op::AlphaLdah] {
        guest.set(A, 5).run(&memory(op, -6));
        assert_eq!(guest.get(C), u64::MAX);
    }
}

/// A value byte by byte.
fn by_byte(byte: impl Fn(usize) -> Option<u8>) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| byte(i).unwrap_or(0)))
}

#[test]
fn fields_are_extracted_inserted_and_masked() {
    use Op::*;
    let sizes = [
        (1, [AlphaExtbl, AlphaInsbl, AlphaMskbl], None),
        (
            2,
            [AlphaExtwl, AlphaInswl, AlphaMskwl],
            Some([AlphaExtwh, AlphaInswh, AlphaMskwh]),
        ),
        (
            4,
            [AlphaExtll, AlphaInsll, AlphaMskll],
            Some([AlphaExtlh, AlphaInslh, AlphaMsklh]),
        ),
        (
            8,
            [AlphaExtql, AlphaInsql, AlphaMskql],
            Some([AlphaExtqh, AlphaInsqh, AlphaMskqh]),
        ),
    ];
    for a in VALUES {
        let bytes = a.to_le_bytes();
        for (size, low, high) in sizes {
            for b in 0..16u64 {
                let k = b as usize % 8;
                // Byte `at` of the field that begins at byte k of the low quadword.
                let in_field = |i: usize| (k..k + size).contains(&i);
                let expected = [
                    by_byte(|i| (i < size).then(|| bytes.get(i + k).copied()).flatten()),
                    by_byte(|i| in_field(i).then(|| bytes[i - k])),
                    by_byte(|i| (!in_field(i)).then_some(bytes[i])),
                ];
                for (op, expected) in low.into_iter().zip(expected) {
                    assert_eq!(result(op, a, b), expected, "{op:?} {a:#x} {b}");
                }
                let expected = [
                    by_byte(|i| {
                        let from = if k == 0 {
                            Some(i)
                        } else {
                            (i + k).checked_sub(8)
                        };
                        from.filter(|_| i < size).map(|from| bytes[from])
                    }),
                    by_byte(|i| in_field(i + 8).then(|| bytes[i + 8 - k])),
                    by_byte(|i| (!in_field(i + 8)).then_some(bytes[i])),
                ];
                for (op, expected) in high.into_iter().flatten().zip(expected) {
                    assert_eq!(result(op, a, b), expected, "{op:?} {a:#x} {b}");
                }
            }
        }
    }
}

#[test]
fn bytes_are_zapped_and_compared() {
    for a in VALUES {
        let bytes = a.to_le_bytes();
        for mask in 0..0x200 {
            let kept = |bit: u64| by_byte(|i| (mask >> i & 1 == bit).then_some(bytes[i]));
            assert_eq!(result(Op::AlphaZap, a, mask), kept(0), "{a:#x} {mask:#x}");
            assert_eq!(
                result(Op::AlphaZapnot, a, mask),
                kept(1),
                "{a:#x} {mask:#x}"
            );
        }
        for b in VALUES.into_iter().chain([0x7f, 0x80]) {
            let pairs = || bytes.into_iter().zip(b.to_le_bytes()).enumerate();
            let each = |pick: fn(u8, u8) -> u8| {
                let picked: Vec<u8> = pairs().map(|(_, (a, b))| pick(a, b)).collect();
                by_byte(|i| Some(picked[i]))
            };
            let below = pairs().fold(0, |bits, (i, (a, b))| bits | u64::from(a >= b) << i);
            let distance = pairs().map(|(_, (a, b))| u64::from(a.abs_diff(b))).sum();
            for (op, expected) in [
                (Op::AlphaCmpbge, below),
                (Op::AlphaPerr, distance),
                (Op::AlphaMinub8, each(u8::min)),
                (Op::AlphaMaxub8, each(u8::max)),
                (
                    Op::AlphaMinsb8,
                    each(|a, b| if (a as i8) < b as i8 { a } else { b }),
                ),
                (
                    Op::AlphaMaxsb8,
                    each(|a, b| if (a as i8) < b as i8 { b } else { a }),
                ),
            ] {
                assert_eq!(result(op, a, b), expected, "{op:?} {a:#x} {b:#x}");
            }
        }
    }
    let (a, b) = (0x8000_7fff_0001_ffff, 0x7fff_8000_ffff_0001);
    assert_eq!(result(Op::AlphaMinsw4, a, b), 0x8000_8000_ffff_ffff);
    assert_eq!(result(Op::AlphaMaxsw4, a, b), 0x7fff_7fff_0001_0001);
    assert_eq!(result(Op::AlphaMinuw4, a, b), 0x7fff_7fff_0001_0001);
    assert_eq!(result(Op::AlphaMaxuw4, a, b), 0x8000_8000_ffff_ffff);
}
