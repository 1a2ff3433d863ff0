//! Motion video (Architecture Reference Manual, 4.13): lanes of bytes and words.

use super::{first, operate_ops, second, second_ops, write};
use crate::exec::Outcome;
use crate::hart::Hart;
use crate::inst::Inst;

/// `pick` of each pair of bytes.
#[inline(always)]
fn bytes(a: u64, b: u64, pick: impl Fn(u8, u8) -> u8) -> u64 {
    let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
    u64::from_le_bytes(std::array::from_fn(|i| pick(a[i], b[i])))
}

/// `pick` of each pair of words.
#[inline(always)]
fn words(a: u64, b: u64, pick: impl Fn(u16, u16) -> u16) -> u64 {
    let lane = |value: u64, i: usize| (value >> (16 * i)) as u16;
    (0..4).fold(0, |lanes, i| {
        lanes | u64::from(pick(lane(a, i), lane(b, i))) << (16 * i)
    })
}

operate_ops! {
    perr(a, b) = a
        .to_le_bytes()
        .iter()
        .zip(b.to_le_bytes())
        .map(|(&a, b)| u64::from(a.abs_diff(b)))
        .sum();
    minsb8(a, b) = bytes(a, b, |a, b| (a as i8).min(b as i8) as u8);
    minsw4(a, b) = words(a, b, |a, b| (a as i16).min(b as i16) as u16);
    minub8(a, b) = bytes(a, b, u8::min);
    minuw4(a, b) = words(a, b, u16::min);
    maxub8(a, b) = bytes(a, b, u8::max);
    maxuw4(a, b) = words(a, b, u16::max);
    maxsb8(a, b) = bytes(a, b, |a, b| (a as i8).max(b as i8) as u8);
    maxsw4(a, b) = words(a, b, |a, b| (a as i16).max(b as i16) as u16);
}

second_ops! {
    unpkbw(b) = b & 0xff | (b & 0xff00) << 8 | (b & 0xff_0000) << 16 | (b & 0xff00_0000) << 24;
    unpkbl(b) = b & 0xff | (b & 0xff00) << 24;
    pkwb(b) = b & 0xff | b >> 8 & 0xff00 | b >> 16 & 0xff_0000 | b >> 24 & 0xff00_0000;
    pklb(b) = b & 0xff | b >> 24 & 0xff00;
}
