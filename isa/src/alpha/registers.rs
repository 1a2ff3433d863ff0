//! Numbers and names of registers.
//!
//! Register 31 reads as zero on Alpha, number 0 in [`reg`]. So the two change places: register 31 is
//! number 0 and register 0 (`v0`) is number 31; all others keep theirs. Of the floating-point
//! registers, `$f31` is [`reg::ZERO`] as a source, whose bits are +0.0, and [`reg::SINK`] as a
//! destination.

use crate::inst::reg;

/// Number of `v0`: results and numbers of system calls.
pub const V0: u8 = number(0);
/// Number of `a0`, the first of six arguments.
pub const A0: u8 = number(16);
/// Number of `a3`, the error flag of system calls.
pub const A3: u8 = number(19);
/// Number of `a4`, the second result of a few calls.
pub const A4: u8 = number(20);
/// Number of `ra`, the return address.
pub const RA: u8 = number(26);
/// Number of `t12` (`pv`), the address of a procedure when it is called.
pub const PV: u8 = number(27);
/// Number of `gp`.
pub const GP: u8 = number(29);
/// Number of `sp`.
pub const SP: u8 = number(30);

/// The number of integer register `field` of an instruction, as a source.
#[inline(always)]
#[must_use]
pub const fn number(field: u8) -> u8 {
    match field & 31 {
        31 => reg::ZERO,
        0 => 31,
        n => n,
    }
}

/// The number of register `field`, as a destination: register 31 is the sink.
#[inline(always)]
#[must_use]
pub const fn destination(field: u8) -> u8 {
    match number(field) {
        reg::ZERO => reg::SINK,
        n => n,
    }
}

/// The number of floating-point register `field`, as a source.
#[inline(always)]
#[must_use]
pub const fn fp_number(field: u8) -> u8 {
    match field & 31 {
        31 => reg::ZERO,
        n => reg::FP + n,
    }
}

/// The number of floating-point register `field`, as a destination: register 31 is the sink.
#[inline(always)]
#[must_use]
pub const fn fp_destination(field: u8) -> u8 {
    match fp_number(field) {
        reg::ZERO => reg::SINK,
        n => n,
    }
}

const NAMES: [&str; reg::SINK as usize + 1] = [
    "zero",
    "t0",
    "t1",
    "t2",
    "t3",
    "t4",
    "t5",
    "t6",
    "t7",
    "s0",
    "s1",
    "s2",
    "s3",
    "s4",
    "s5",
    "fp",
    "a0",
    "a1",
    "a2",
    "a3",
    "a4",
    "a5",
    "t8",
    "t9",
    "t10",
    "t11",
    "ra",
    "t12",
    "at",
    "gp",
    "sp",
    "v0",
    "$f0",
    "$f1",
    "$f2",
    "$f3",
    "$f4",
    "$f5",
    "$f6",
    "$f7",
    "$f8",
    "$f9",
    "$f10",
    "$f11",
    "$f12",
    "$f13",
    "$f14",
    "$f15",
    "$f16",
    "$f17",
    "$f18",
    "$f19",
    "$f20",
    "$f21",
    "$f22",
    "$f23",
    "$f24",
    "$f25",
    "$f26",
    "$f27",
    "$f28",
    "$f29",
    "$f30",
    "?",
    "dr0",
    "dr1",
    "dr2",
    "dr3",
    "dr4",
    "dr5",
    "dr6",
    "dr7",
    "dr8",
    "dr9",
    "dr10",
    "dr11",
    "dr12",
    "dr13",
    "dr14",
    "dr15",
    "unique",
    "fpcr",
    "ieee_control",
    "interrupt_flag",
    "unaligned",
    "ir0",
    "ir1",
    "ir2",
    "ir3",
    "ir4",
    "ir5",
    "ir6",
    "ir7",
    "ir8",
    "ir9",
    "zero",
];

/// The name of a register in the numbering of [`reg`], as `objdump` writes it; `dr0` to `dr15` for
/// those of DISE, `ir0` to `ir9` for those of interrupts. [`reg::SINK`] is the zero register as a
/// destination; a number that is no register is `?`. Where a zero is a floating-point operand its name is `$f31`, which the caller must know.
#[must_use]
pub fn register_name(register: u8) -> &'static str {
    NAMES.get(register as usize).copied().unwrap_or("?")
}

/// The register of a name: software names, `pv`, `s6`, `$0` to `$31` and `r0` to `r31`, `$f0` to
/// `$f31` and `f0` to `f31`, `dr0` to `dr15`, `ir0` to `ir9`.
#[must_use]
pub fn parse_register(name: &str) -> Option<u8> {
    match name {
        "pv" => return Some(PV),
        "s6" => return Some(number(15)),
        _ => {}
    }
    let is_named = |r: u8| !(reg::UNIQUE..reg::INTERRUPT).contains(&r);
    let register = (0..reg::SINK).find(|&r| is_named(r) && NAMES[r as usize] == name);
    if register.is_some() && name != "?" {
        return register;
    }
    let (float, digits) = if let Some(digits) = name.strip_prefix("$f").or(name.strip_prefix('f')) {
        (true, digits)
    } else {
        (false, name.strip_prefix('$').or(name.strip_prefix('r'))?)
    };
    let canonical =
        digits.bytes().all(|b| b.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    let field: u8 = digits.parse().ok().filter(|&n| canonical && n < 32)?;
    Some(if float {
        fp_number(field)
    } else {
        number(field)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_its_own_register() {
        let interrupts = reg::INTERRUPT..reg::INTERRUPT + reg::INTERRUPT_REGISTERS;
        for r in (0..reg::DISE + reg::DISE_COUNT)
            .filter(|&r| r != reg::FP + 31)
            .chain(interrupts)
        {
            assert_eq!(parse_register(register_name(r)), Some(r));
        }
        assert_eq!(parse_register("$31"), Some(reg::ZERO));
        assert_eq!(parse_register("r0"), Some(V0));
        assert_eq!(parse_register("$f31"), Some(reg::ZERO));
        assert_eq!(register_name(reg::SINK), "zero");
        for bad in [
            "", "$", "$32", "r01", "f32", "$f+1", "dr16", "ir10", "a6", "s7", "?",
        ] {
            assert_eq!(parse_register(bad), None, "{bad}");
        }
    }
}
