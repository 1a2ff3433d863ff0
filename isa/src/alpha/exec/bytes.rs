//! Byte manipulation (Architecture Reference Manual, 4.6), sign extension (BWX) and counts of bits
//! (CIX).
//!
//! A field of 1, 2, 4 or 8 bytes at byte `b[2:0]` may reach out of a quadword: the low operations see
//! the part inside, the high ones what is in the next quadword.

use super::{first, operate_ops, second, second_ops, write};
use crate::exec::Outcome;
use crate::hart::Hart;
use crate::inst::Inst;

const BYTE: u64 = 0xff;
const WORD: u64 = 0xffff;
const LONGWORD: u64 = 0xffff_ffff;
const QUADWORD: u64 = u64::MAX;

/// Bits before byte `b[2:0]`.
#[inline(always)]
const fn shift(b: u64) -> u64 {
    (b & 7) * 8
}

#[inline(always)]
const fn insert_low(value: u64, b: u64) -> u64 {
    value << shift(b)
}

/// The bytes that [`insert_low`] shifts out.
#[inline(always)]
const fn insert_high(value: u64, b: u64) -> u64 {
    // In two steps, because a shift by zero leaves nothing for the next quadword.
    value >> 1 >> (63 - shift(b))
}

#[inline(always)]
const fn extract_low(a: u64, b: u64) -> u64 {
    a >> shift(b)
}

/// The high part of an extraction. At byte zero the whole quadword is its own low part, and the high part is equal to
/// it.
#[inline(always)]
const fn extract_high(a: u64, b: u64) -> u64 {
    a << (shift(b).wrapping_neg() & 63)
}

/// 0xff in each byte whose bit is set in the low byte of `mask`.
#[inline(always)]
pub(crate) const fn byte_mask(mask: u64) -> u64 {
    const EVERY: u64 = 0x0101_0101_0101_0101;
    // Bit i in byte i; adding 0x7f carries it to bit 7.
    let bits = (mask & 0xff).wrapping_mul(EVERY) & 0x8040_2010_0804_0201;
    ((bits + EVERY * 0x7f) >> 7 & EVERY) * 0xff
}

operate_ops! {
    extbl(a, b) = extract_low(a, b) & BYTE;
    extwl(a, b) = extract_low(a, b) & WORD;
    extll(a, b) = extract_low(a, b) & LONGWORD;
    extql(a, b) = extract_low(a, b);
    extwh(a, b) = extract_high(a, b) & WORD;
    extlh(a, b) = extract_high(a, b) & LONGWORD;
    extqh(a, b) = extract_high(a, b);

    insbl(a, b) = insert_low(a & BYTE, b);
    inswl(a, b) = insert_low(a & WORD, b);
    insll(a, b) = insert_low(a & LONGWORD, b);
    insql(a, b) = insert_low(a, b);
    inswh(a, b) = insert_high(a & WORD, b);
    inslh(a, b) = insert_high(a & LONGWORD, b);
    insqh(a, b) = insert_high(a, b);

    mskbl(a, b) = a & !insert_low(BYTE, b);
    mskwl(a, b) = a & !insert_low(WORD, b);
    mskll(a, b) = a & !insert_low(LONGWORD, b);
    mskql(a, b) = a & !insert_low(QUADWORD, b);
    mskwh(a, b) = a & !insert_high(WORD, b);
    msklh(a, b) = a & !insert_high(LONGWORD, b);
    mskqh(a, b) = a & !insert_high(QUADWORD, b);

    zap(a, b) = a & !byte_mask(b);
    zapnot(a, b) = a & byte_mask(b);
}

second_ops! {
    sextb(b) = b as i8 as i64 as u64;
    sextw(b) = b as i16 as i64 as u64;

    ctpop(b) = u64::from(b.count_ones());
    ctlz(b) = u64::from(b.leading_zeros());
    cttz(b) = u64::from(b.trailing_zeros());
}
