//! Zba, Zbb, Zbs, Zbc, Zbkb and Zicond: address generation, bit manipulation, conditional zero.

use super::{immediate_ops, register_ops, rs1, rs2, sext32, unary_ops, write};
use crate::exec::Outcome;
use crate::hart::Hart;
use crate::inst::Inst;

/// The low 32 bits, zero-extended.
#[inline(always)]
fn zext32(value: u64) -> u64 {
    u64::from(value as u32)
}

/// A rotated word, sign-extended.
#[inline(always)]
fn rotate_right_word(value: u64, by: u64) -> u64 {
    sext32(u64::from((value as u32).rotate_right((by & 31) as u32)))
}

/// Every byte that is not zero becomes 0xff.
#[inline(always)]
fn or_combine_bytes(value: u64) -> u64 {
    const LOW_BITS: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // Bit 7 of each byte: set if any of its bits is.
    let top = (((value & LOW_BITS) + LOW_BITS) | value) & !LOW_BITS;
    (top >> 7) * 0xff
}

/// The product of two polynomials whose coefficients are bits.
#[inline(always)]
fn carryless(a: u64, b: u64) -> u128 {
    let (a, mut b) = (u128::from(a), b);
    let mut product = 0;
    while b != 0 {
        product ^= a << b.trailing_zeros();
        b &= b - 1;
    }
    product
}

register_ops! {
    clmul(a, b) = carryless(a, b) as u64;
    clmulr(a, b) = (carryless(a, b) >> 63) as u64;
    clmulh(a, b) = (carryless(a, b) >> 64) as u64;
    pack(a, b) = zext32(a) | b << 32;
    packh(a, b) = a & 0xff | (b & 0xff) << 8;
    packw(a, b) = sext32(a & 0xffff | (b & 0xffff) << 16);
    czero_eqz(a, b) = if b == 0 { 0 } else { a };
    czero_nez(a, b) = if b == 0 { a } else { 0 };
    add_uw(a, b) = zext32(a).wrapping_add(b);
    sh1add(a, b) = (a << 1).wrapping_add(b);
    sh1add_uw(a, b) = (zext32(a) << 1).wrapping_add(b);
    sh2add(a, b) = (a << 2).wrapping_add(b);
    sh2add_uw(a, b) = (zext32(a) << 2).wrapping_add(b);
    sh3add(a, b) = (a << 3).wrapping_add(b);
    sh3add_uw(a, b) = (zext32(a) << 3).wrapping_add(b);
    andn(a, b) = a & !b;
    orn(a, b) = a | !b;
    xnor(a, b) = !(a ^ b);
    max(a, b) = (a as i64).max(b as i64) as u64;
    maxu(a, b) = a.max(b);
    min(a, b) = (a as i64).min(b as i64) as u64;
    minu(a, b) = a.min(b);
    rol(a, b) = a.rotate_left((b & 63) as u32);
    rolw(a, b) = sext32(u64::from((a as u32).rotate_left((b & 31) as u32)));
    ror(a, b) = a.rotate_right((b & 63) as u32);
    rorw(a, b) = rotate_right_word(a, b);
    bclr(a, b) = a & !(1 << (b & 63));
    bext(a, b) = a >> (b & 63) & 1;
    binv(a, b) = a ^ (1 << (b & 63));
    bset(a, b) = a | (1 << (b & 63));
}

immediate_ops! {
    slli_uw(a, imm) = zext32(a) << (imm & 63);
    rori(a, imm) = a.rotate_right((imm & 63) as u32);
    roriw(a, imm) = rotate_right_word(a, imm);
    bclri(a, imm) = a & !(1 << (imm & 63));
    bexti(a, imm) = a >> (imm & 63) & 1;
    binvi(a, imm) = a ^ (1 << (imm & 63));
    bseti(a, imm) = a | (1 << (imm & 63));
}

unary_ops! {
    clz(a) = u64::from(a.leading_zeros());
    clzw(a) = u64::from((a as u32).leading_zeros());
    ctz(a) = u64::from(a.trailing_zeros());
    ctzw(a) = u64::from((a as u32).trailing_zeros());
    cpop(a) = u64::from(a.count_ones());
    cpopw(a) = u64::from((a as u32).count_ones());
    sext_b(a) = a as i8 as i64 as u64;
    sext_h(a) = a as i16 as i64 as u64;
    zext_h(a) = u64::from(a as u16);
    orc_b(a) = or_combine_bytes(a);
    rev8(a) = a.swap_bytes();
    brev8(a) = a.reverse_bits().swap_bytes();
}
