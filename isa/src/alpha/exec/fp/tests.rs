//! Values, traps and accrued exceptions: by hand, and against the host.

#![allow(clippy::unusual_byte_groupings)] // the groups are the fields: traps, rounding
#![allow(clippy::type_complexity)] // tables of an operation, its oracle and a mask, used once each

use super::ieee::CANONICAL_NAN;
use crate::alpha::fpcr::{self, IOV};
use crate::bus::NoMemory;
use crate::exec::{Outcome, execute};
use crate::fp::flag::{DZ, NV, NX, OF, UF};
use crate::hart::Hart;
use crate::inst::{Inst, Op, reg};
use crate::trap::TrapCause;

const A: u8 = reg::FP + 1;
const B: u8 = reg::FP + 2;
const C: u8 = reg::FP + 3;

// Qualifiers with normal rounding.
const NONE: i64 = 0b000_10;
const U: i64 = 0b001_10;
const SU: i64 = 0b101_10;
const SUI: i64 = 0b111_10;
/// `/S` of `cvtst`.
const S_WIDEN: i64 = 0b110_10;
// Rounding, to be combined with traps by replacing the low two bits.
const CHOPPED: i64 = 0b00;
const MINUS: i64 = 0b01;
const DYNAMIC: i64 = 0b11;

const ONE: u64 = 0x3ff0 << 48;
const INFINITY: u64 = 0x7ff0 << 48;
const LEAST_NORMAL: u64 = 0x0010 << 48;
const DENORMAL: u64 = 0x0008 << 48;
const SIGN: u64 = 1 << 63;
const GREATEST: u64 = INFINITY - 1;

/// The trap enables of the software control word.
const ENABLE_INV: u64 = 1 << 1;
const ENABLE_DZE: u64 = 1 << 2;
const ENABLE_OVF: u64 = 1 << 3;
const ENABLE_UNF: u64 = 1 << 4;
const ENABLE_INE: u64 = 1 << 5;
const ENABLE_DNO: u64 = 1 << 6;
const MAP_DMZ: u64 = 1 << 12;
const MAP_UMZ: u64 = 1 << 13;

fn rounded(traps: i64, rounding: i64) -> i64 {
    traps & !3 | rounding
}

/// A machine as Linux starts it, with this control word.
fn machine(control: u64) -> Hart {
    let mut hart = Hart::default();
    fpcr::reset(&mut hart);
    fpcr::set_ieee_fp_control(&mut hart, control);
    hart
}

fn inst(op: Op, qualifiers: i64) -> Inst {
    Inst {
        op,
        class: op.class(),
        rs1: A,
        rs2: B,
        rd: C,
        imm: qualifiers,
        ..Inst::illegal(4)
    }
}

/// Effect of an instruction on a machine: its result and all that is accrued, or the trap's exceptions.
fn on(hart: &mut Hart, op: Op, qualifiers: i64, a: u64, b: u64) -> Result<(u64, u8), u8> {
    hart.r[A as usize] = a;
    hart.r[B as usize] = b;
    let before = hart.clone();
    match execute(hart, &mut NoMemory, &inst(op, qualifiers), 0) {
        Outcome::Next => Ok((hart.r[C as usize], hart.fcsr & fpcr::ACCRUED)),
        Outcome::Trap(TrapCause::Arithmetic { exceptions }) => {
            assert_eq!(*hart, before, "what traps changes nothing");
            Err(exceptions)
        }
        outcome => panic!("{outcome:?}"),
    }
}

fn run(control: u64, op: Op, qualifiers: i64, a: u64, b: u64) -> Result<(u64, u8), u8> {
    on(&mut machine(control), op, qualifiers, a, b)
}

// Exceptions in the order of the exception summary.
const INV: u8 = 1 << 1;
const DZE: u8 = 1 << 2;
const OVF: u8 = 1 << 3;
const UNF: u8 = 1 << 4;
const INE: u8 = 1 << 5;
const INT: u8 = 1 << 6;

#[test]
fn results_round_as_the_qualifiers_say() {
    let tiny = 0x3c90_0000_0000_0001; // just above 2^-54
    let add = |qualifiers, a| run(0, Op::AlphaAddt, qualifiers, a, tiny);
    assert_eq!(add(NONE, ONE), Ok((ONE, NX)));
    assert_eq!(
        add(rounded(SU, CHOPPED), ONE | SIGN),
        Ok(((ONE | SIGN) - 1, NX))
    );
    assert_eq!(add(rounded(SU, MINUS), ONE), Ok((ONE, NX)));
    assert_eq!(add(rounded(SU, DYNAMIC), ONE), Ok((ONE, NX)));
    for (mode, want) in [(0, ONE), (1, ONE), (2, ONE), (3, ONE + 1)] {
        let mut hart = machine(0);
        let value = fpcr::read(&hart) & !(3 << 58) | mode << 58;
        fpcr::write(&mut hart, value);
        let got = on(&mut hart, Op::AlphaAddt, rounded(SU, DYNAMIC), ONE, tiny);
        assert_eq!(got, Ok((want, NX)), "dynamic mode {mode}");
    }
    // To single: the register holds the rounded value in the T layout.
    let third = (1.0f64 / 3.0).to_bits();
    let single = f64::from(1.0f32 / 3.0).to_bits();
    assert_eq!(run(0, Op::AlphaCvtts, NONE, 0, third), Ok((single, NX)));
    assert_eq!(
        run(0, Op::AlphaDivs, NONE, ONE, 3.0f64.to_bits()),
        Ok((single, NX))
    );
    assert_eq!(
        run(0, Op::AlphaSqrtt, NONE, 0, 9.0f64.to_bits()),
        Ok((3.0f64.to_bits(), 0))
    );
}

#[test]
fn without_completion_operands_must_be_finite_and_normal() {
    for operand in [
        INFINITY,
        INFINITY | SIGN,
        CANONICAL_NAN,
        INFINITY + 1,
        1,
        DENORMAL,
    ] {
        for control in [0, MAP_DMZ] {
            let one = run(control, Op::AlphaAddt, NONE, ONE, operand);
            assert_eq!(one, Err(INV), "{operand:#x}");
            assert_eq!(run(control, Op::AlphaMuls, U, operand, ONE), Err(INV));
            assert_eq!(run(control, Op::AlphaSqrtt, NONE, 0, operand), Err(INV));
            assert_eq!(run(control, Op::AlphaCvttq, NONE, 0, operand), Err(INV));
        }
    }
    // Comparisons take infinities. Moves, conversions from integers and what FCMOV tests take anything.
    assert_eq!(
        run(0, Op::AlphaCmptlt, NONE, ONE, INFINITY),
        Ok((0x4000 << 48, 0))
    );
    assert_eq!(run(0, Op::AlphaCmpteq, NONE, ONE, CANONICAL_NAN), Err(INV));
    assert_eq!(run(0, Op::AlphaCmpteq, NONE, ONE, 1), Err(INV));
    assert_eq!(
        run(0, Op::AlphaCpys, 0, SIGN, INFINITY + 1),
        Ok(((INFINITY + 1) | SIGN, 0))
    );
    assert_eq!(run(0, Op::AlphaCvtqt, NONE, 0, 1), Ok((ONE, 0)));
}

#[test]
fn without_completion_exceptions_trap() {
    let zero = 0;
    assert_eq!(run(0, Op::AlphaDivt, NONE, ONE, zero), Err(DZE));
    assert_eq!(run(0, Op::AlphaDivt, NONE, zero, zero), Err(INV));
    assert_eq!(run(0, Op::AlphaSqrtt, NONE, 0, ONE | SIGN), Err(INV));
    assert_eq!(run(0, Op::AlphaMult, NONE, GREATEST, GREATEST), Err(OVF));
    assert_eq!(run(0, Op::AlphaSqrtt, NONE, 0, SIGN), Ok((SIGN, 0)));
    // Underflow traps with /U only, else it is a true zero.
    for (a, exact) in [(LEAST_NORMAL, true), (LEAST_NORMAL | 1, false)] {
        for b in [0x3fe0 << 48, 0xbfe0 << 48] {
            let got = run(0, Op::AlphaMult, NONE, a, b);
            assert_eq!(got, Ok((0, UF | NX)), "exact: {exact}");
            assert_eq!(run(0, Op::AlphaMult, U, a, b), Err(UNF));
            assert_eq!(run(MAP_UMZ, Op::AlphaMult, U, a, b), Err(UNF));
        }
    }
}

#[test]
fn completion_gives_ieee_results_and_accrues() {
    assert_eq!(
        run(0, Op::AlphaDivt, SU, ONE | SIGN, 0),
        Ok((INFINITY | SIGN, DZ))
    );
    assert_eq!(run(0, Op::AlphaDivt, SU, 0, 0), Ok((CANONICAL_NAN, NV)));
    assert_eq!(
        run(0, Op::AlphaSqrts, SU, 0, ONE | SIGN),
        Ok((CANONICAL_NAN, NV))
    );
    assert_eq!(
        run(0, Op::AlphaSubt, SU, INFINITY, INFINITY),
        Ok((CANONICAL_NAN, NV))
    );
    assert_eq!(
        run(0, Op::AlphaMult, SU, GREATEST, GREATEST),
        Ok((INFINITY, OF | NX))
    );
    let chopped = run(0, Op::AlphaMult, rounded(SU, CHOPPED), GREATEST, GREATEST);
    assert_eq!(chopped, Ok((GREATEST, OF | NX)));
    // Denormal results: underflow only if they are inexact.
    let half = 0x3fe0 << 48;
    assert_eq!(
        run(0, Op::AlphaMult, SU, LEAST_NORMAL, half),
        Ok((DENORMAL, 0))
    );
    assert_eq!(
        run(0, Op::AlphaMult, SU, LEAST_NORMAL | 1, half),
        Ok((DENORMAL, UF | NX))
    );
    // Denormal operands.
    assert_eq!(run(0, Op::AlphaAddt, SU, 1, 2), Ok((3, IOV)));
    assert_eq!(run(0, Op::AlphaCmptlt, SU, 1, 2), Ok((0x4000 << 48, IOV)));
    assert_eq!(run(0, Op::AlphaCvttq, SU, 0, 1), Ok((0, IOV | NX)));
    let single = 1u64 << 29; // the least denormal S_floating
    assert_eq!(
        run(0, Op::AlphaCvtst, S_WIDEN, 0, single),
        Ok((f64::from(f32::from_bits(1)).to_bits(), IOV))
    );
    assert_eq!(
        run(0, Op::AlphaAdds, SU, single, single),
        Ok((2 << 29, IOV))
    );
}

#[test]
fn nans_propagate_from_the_second_operand() {
    let (quiet, payload, signaling) = (CANONICAL_NAN, CANONICAL_NAN ^ SIGN | 5, INFINITY + 7);
    let add = |a, b| run(0, Op::AlphaAddt, SU, a, b);
    assert_eq!(add(payload, quiet), Ok((quiet, 0)));
    assert_eq!(add(quiet, payload), Ok((payload, 0)));
    assert_eq!(add(payload, ONE), Ok((payload, 0)));
    assert_eq!(add(payload, INFINITY), Ok((payload, 0)));
    assert_eq!(add(quiet, signaling), Ok((signaling | 1 << 51, NV)));
    assert_eq!(add(signaling, quiet), Ok((quiet, NV)));
    assert_eq!(
        add(signaling | SIGN, 1),
        Ok((signaling | SIGN | 1 << 51, NV | IOV))
    );
    // A payload is cut to S_floating, never to an infinity.
    assert_eq!(
        run(0, Op::AlphaCvtts, SU, 0, signaling),
        Ok((INFINITY | 1 << 51, NV))
    );
    assert_eq!(run(0, Op::AlphaSubt, SU, ONE, payload), Ok((payload, 0)));
}

#[test]
fn fpcr_maps_denormals_and_underflow_to_zero() {
    let half = 0x3fe0 << 48;
    // Hardware: operands keep their sign, results are true zeros.
    let add = run(MAP_DMZ, Op::AlphaAddt, SU, 1 | SIGN, SIGN);
    assert_eq!(add, Ok((SIGN, 0)));
    let product = run(MAP_UMZ, Op::AlphaMult, SU, LEAST_NORMAL | SIGN, half);
    assert_eq!(product, Ok((0, UF | NX)));
    assert_eq!(
        run(MAP_DMZ, Op::AlphaCmpteq, SU, 1, 2),
        Ok((0x4000 << 48, 0))
    );
    assert_eq!(
        run(MAP_DMZ, Op::AlphaCvttq, rounded(SU, MINUS), 0, 1 | SIGN),
        Ok((0, 0))
    );
    // Software, which the hardware calls for a denormal operand: exact results stay.
    assert_eq!(run(MAP_UMZ, Op::AlphaAddt, SU, 1, 2), Ok((3, IOV)));
    let halved = run(MAP_UMZ, Op::AlphaMult, SU, 1, half);
    assert_eq!(halved, Ok((0, IOV | UF | NX)));
    // Software maps operands, if FPCR does not.
    let mut hart = machine(MAP_DMZ);
    let value = fpcr::read(&hart) & !fpcr::DNZ;
    fpcr::write(&mut hart, value);
    assert_eq!(on(&mut hart, Op::AlphaAddt, SU, 1, 2), Ok((0, IOV | NX)));
}

#[test]
fn the_program_gets_the_signals_that_it_enables() {
    let all = ENABLE_INV | ENABLE_DZE | ENABLE_OVF | ENABLE_UNF | ENABLE_INE | ENABLE_DNO;
    let half = 0x3fe0 << 48;
    let cases = [
        (ENABLE_INV, Op::AlphaDivt, SU, 0, 0, INV),
        (ENABLE_INV, Op::AlphaCmptlt, SU, ONE, CANONICAL_NAN, INV),
        (ENABLE_INV, Op::AlphaCvttq, SU, 0, 0x43e0 << 48, INV),
        (ENABLE_INV, Op::AlphaCvttq, SU, 0, INFINITY, INV),
        (ENABLE_DZE, Op::AlphaDivt, SU, ONE, 0, DZE),
        (ENABLE_OVF, Op::AlphaMult, SU, GREATEST, GREATEST, OVF),
        (ENABLE_UNF, Op::AlphaMult, SU, LEAST_NORMAL | 1, half, UNF),
        (ENABLE_INE, Op::AlphaDivt, SUI, ONE, 3.0f64.to_bits(), INE),
        (ENABLE_INE, Op::AlphaCvtqt, SUI, 0, i64::MAX as u64, INE),
        // Denormal operands are signalled as underflow.
        (ENABLE_DNO, Op::AlphaAddt, SU, 1, ONE, UNF),
        // Completion does not ask for /I.
        (ENABLE_INE, Op::AlphaAddt, SU, 1, ONE, INE),
    ];
    for (enable, op, qualifiers, a, b, exception) in cases {
        assert_eq!(
            run(enable, op, qualifiers, a, b),
            Err(exception),
            "{op:?} {a:#x}"
        );
        let others = run(all & !enable, op, qualifiers, a, b);
        assert_ne!(others, Err(exception), "{op:?} {a:#x}");
    }
    // Without /I an inexact result does not trap, and an exact denormal result is no underflow.
    assert_eq!(
        run(all, Op::AlphaDivt, SU, ONE, 3.0f64.to_bits()).map(|r| r.1),
        Ok(NX)
    );
    assert_eq!(
        run(all, Op::AlphaMult, SU, LEAST_NORMAL, half),
        Ok((DENORMAL, 0))
    );
    // A quiet NaN is no invalid operation to the kernel.
    assert_eq!(run(all, Op::AlphaCvttq, SU, 0, CANONICAL_NAN), Ok((0, NV)));
    // The kernel signals by its own word, whatever a program writes to FPCR.
    let mut hart = machine(0);
    fpcr::write(&mut hart, 2 << 58);
    assert_eq!(
        on(&mut hart, Op::AlphaDivt, SUI, ONE, 0),
        Ok((INFINITY, DZ))
    );
    let mut hart = machine(all);
    let value = fpcr::read(&hart) | fpcr::DZED;
    fpcr::write(&mut hart, value);
    assert_eq!(on(&mut hart, Op::AlphaDivt, SU, ONE, 0), Ok((INFINITY, DZ)));
}

#[test]
fn tininess_is_judged_after_rounding_by_hardware_and_before_by_the_kernel() {
    // (1 + 2^-52)(1 - 2^-52) of the least normal number rounds to that.
    let (a, b) = (LEAST_NORMAL | 1, 0x3fef_ffff_ffff_fffe);
    for control in [0, MAP_UMZ] {
        assert_eq!(
            run(control, Op::AlphaMult, SU, a, b),
            Ok((LEAST_NORMAL, NX))
        );
    }
    assert_eq!(run(0, Op::AlphaMult, NONE, a, b), Ok((LEAST_NORMAL, NX)));
    // A denormal factor gives an equal product.
    let (a, b) = (0x000f_ffff_ffff_ffff, 0x3ff0_0000_0000_0001);
    assert_eq!(
        run(0, Op::AlphaMult, SU, a, b),
        Ok((LEAST_NORMAL, NX | UF | IOV))
    );
}

#[test]
fn integers_convert_with_their_overflows() {
    let two_63 = 0x43e0 << 48;
    let quad = |qualifiers, b| run(0, Op::AlphaCvttq, qualifiers, 0, b);
    assert_eq!(quad(NONE, two_63), Ok((1 << 63, IOV | NX)));
    assert_eq!(quad(U, two_63), Err(INT));
    assert_eq!(quad(SU, two_63), Ok((1 << 63, IOV | NX | NV)));
    assert_eq!(quad(U, two_63 | SIGN), Ok((1 << 63, 0)));
    assert_eq!(
        quad(NONE, 0x43f8_0000_0000_0001),
        Ok((0x8000_0000_0000_1000, IOV | NX))
    );
    assert_eq!(quad(NONE, 0x7fe0 << 48), Ok((0, IOV | NX)));
    assert_eq!(quad(SU, INFINITY), Ok((0, NV)));
    let half = |qualifiers, x: f64| quad(qualifiers, x.to_bits()).map(|r| r.0 as i64);
    assert_eq!(half(NONE, 2.5), Ok(2));
    assert_eq!(half(NONE, 3.5), Ok(4));
    assert_eq!(half(rounded(NONE, CHOPPED), -3.5), Ok(-3));
    assert_eq!(half(rounded(NONE, MINUS), -3.5), Ok(-4));

    let long = |qualifiers, b| run(0, Op::AlphaCvtql, qualifiers, 0, b);
    assert_eq!(long(0, (-2i64) as u64), Ok((0xc7ff_ffff_c000_0000, 0)));
    assert_eq!(long(0, 1 << 31), Ok((1 << 63, IOV | NX)));
    assert_eq!(long(0b001_00, 1 << 31), Err(INT));
    assert_eq!(long(0b101_00, 1 << 31), Ok((1 << 63, IOV | NX | NV)));
    let back = |a| run(0, Op::AlphaCvtlq, 0, 0, a).map(|r| r.0 as i64);
    assert_eq!(back(0xc7ff_ffff_c000_0000), Ok(-2));
    assert_eq!(back(1 << 63), Ok(i64::from(i32::MIN)));
    // Bits 61..59 of the register do not matter.
    assert_eq!(back(0x38 << 56 | 5 << 29), Ok(5));
}

#[test]
fn moves_and_conditional_moves() {
    let minus_one = ONE | SIGN;
    let run = |op, a, b| run(0, op, 0, a, b).map(|r| r.0);
    assert_eq!(run(Op::AlphaCpysn, ONE, ONE), Ok(minus_one));
    assert_eq!(run(Op::AlphaCpyse, minus_one, 5), Ok(minus_one | 5));
    assert_eq!(run(Op::AlphaFtoit, minus_one, 0), Ok(minus_one));
    assert_eq!(run(Op::AlphaFtois, minus_one, 0), Ok(0xffff_ffff_bf80_0000));
    assert_eq!(run(Op::AlphaItofs, 0xbf80_0000, 0), Ok(minus_one));
    let cases = [
        // Operation, and whether it moves for -1, -0, +0, 1, a negative NaN.
        (Op::AlphaFcmoveq, [false, true, true, false, false]),
        (Op::AlphaFcmovne, [true, false, false, true, true]),
        (Op::AlphaFcmovlt, [true, false, false, false, true]),
        (Op::AlphaFcmovge, [false, true, true, true, false]),
        (Op::AlphaFcmovle, [true, true, true, false, true]),
        (Op::AlphaFcmovgt, [false, false, false, true, false]),
    ];
    for (op, moves) in cases {
        for (a, moved) in [minus_one, SIGN, 0, ONE, CANONICAL_NAN]
            .into_iter()
            .zip(moves)
        {
            let mut hart = machine(0);
            hart.r[C as usize] = 77;
            hart.r[A as usize] = a;
            hart.r[B as usize] = 99;
            let inst = Inst {
                rs3: C,
                ..inst(op, 0)
            };
            assert_eq!(execute(&mut hart, &mut NoMemory, &inst, 0), Outcome::Next);
            assert_eq!(
                hart.r[C as usize],
                if moved { 99 } else { 77 },
                "{op:?} {a:#x}"
            );
        }
    }
}

#[test]
fn fpcr_reads_what_was_written() {
    let mut hart = machine(0);
    assert_eq!(fpcr::read(&hart), 0x680e_8000_0000_0000);
    assert_eq!(fpcr::ieee_fp_control(&hart), 0);
    hart.r[A as usize] = u64::MAX;
    let write = inst(Op::AlphaMtFpcr, 0);
    assert_eq!(execute(&mut hart, &mut NoMemory, &write, 0), Outcome::Next);
    let read = inst(Op::AlphaMfFpcr, 0);
    assert_eq!(execute(&mut hart, &mut NoMemory, &read, 0), Outcome::Next);
    assert_eq!(hart.r[C as usize], 0xffff_8000_0000_0000);
    for bit in 47..63 {
        fpcr::write(&mut hart, 1 << bit);
        let summary = if (52..58).contains(&bit) { 1 << 63 } else { 0 };
        assert_eq!(fpcr::read(&hart), 1 << bit | summary, "bit {bit}");
    }
    // A summary bit alone does not stay.
    fpcr::write(&mut hart, 1 << 63);
    assert_eq!(fpcr::read(&hart), 0);
}

#[test]
fn the_control_word_and_fpcr_follow_each_other() {
    let mut hart = machine(0);
    let value = fpcr::read(&hart) | 3 << 58;
    fpcr::write(&mut hart, value);
    fpcr::set_ieee_fp_control(&mut hart, ENABLE_INV | ENABLE_INE | MAP_UMZ | 1 << 18);
    // DNOD, DZED, OVFD; UNFD and UNDZ for the mapping; INED is off; accrued DZE; the rounding mode stays.
    assert_eq!(fpcr::read(&hart), 0xbc2c_8000_0000_0000);
    let word = ENABLE_INV | ENABLE_INE | MAP_UMZ | 1 << 18;
    assert_eq!(fpcr::ieee_fp_control(&hart), word);
    assert_eq!(
        on(&mut hart, Op::AlphaDivt, SU, ONE, 3.0f64.to_bits()).map(|r| r.1),
        Ok(DZ | NX)
    );
    assert_eq!(fpcr::ieee_fp_control(&hart), word | 1 << 21);
    // Raising exceptions signals those that are enabled.
    assert_eq!(
        fpcr::raise_ieee_exceptions(&mut hart, 1 << 17 | 1 << 19),
        INV
    );
    assert_eq!(
        fpcr::ieee_fp_control(&hart),
        word | 1 << 21 | 1 << 17 | 1 << 19
    );
    assert_eq!(fpcr::signal_code(INV | INE), 7);
    assert_eq!(fpcr::signal_code(INE), 6);
    assert_eq!(fpcr::signal_code(UNF | INE), 5);
}

#[test]
fn a_signalled_instruction_is_completed() {
    let mut hart = machine(ENABLE_DZE);
    let control = fpcr::ieee_fp_control(&hart);
    assert_eq!(on(&mut hart, Op::AlphaDivt, SU, ONE, 0), Err(DZE));
    assert_eq!(
        fpcr::complete_trapped(&mut hart, &inst(Op::AlphaDivt, SU), DZE),
        3
    );
    assert_eq!(hart.r[C as usize], INFINITY);
    assert_eq!(fpcr::ieee_fp_control(&hart), control | 1 << 18);
    // Without completion nothing is written, and the code says invalid.
    let mut hart = machine(ENABLE_DZE);
    assert_eq!(on(&mut hart, Op::AlphaDivt, NONE, ONE, 0), Err(DZE));
    assert_eq!(
        fpcr::complete_trapped(&mut hart, &inst(Op::AlphaDivt, NONE), DZE),
        7
    );
    assert_eq!((hart.r[C as usize], hart.fcsr & fpcr::ACCRUED), (0, DZ));
    // An integer overflow accrues nothing.
    let add = Inst {
        imm: 0x1ff,
        ..inst(Op::AlphaAddqV, 0)
    };
    assert_eq!(fpcr::complete_trapped(&mut hart, &add, INT), 7);
    assert_eq!(hart.fcsr & fpcr::ACCRUED, DZ);
}

/// Finite operands with finite, normal results, against the host: the values of the common case and of the
/// full operation, and that the first is taken only where the second agrees.
#[test]
fn common_cases_agree_with_the_host_and_the_full_operation() {
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        seed ^= seed >> 12;
        seed ^= seed << 25;
        seed ^= seed >> 27;
        seed.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    let host: [(Op, fn(f64, f64) -> f64); 5] = [
        (Op::AlphaAddt, |a, b| a + b),
        (Op::AlphaSubt, |a, b| a - b),
        (Op::AlphaMult, |a, b| a * b),
        (Op::AlphaDivt, |a, b| a / b),
        (Op::AlphaSqrtt, |_, b| b.sqrt()),
    ];
    let single: [(Op, fn(f32, f32) -> f32); 5] = [
        (Op::AlphaAdds, |a, b| a + b),
        (Op::AlphaSubs, |a, b| a - b),
        (Op::AlphaMuls, |a, b| a * b),
        (Op::AlphaDivs, |a, b| a / b),
        (Op::AlphaSqrts, |_, b| b.sqrt()),
    ];
    for _ in 0..20_000 {
        // Exponents near 1, so that results are normal, with few bits at times, so that some are exact.
        let mut double = || {
            let bits = next();
            let kept = if bits & 1 == 0 {
                u64::MAX << 40
            } else {
                u64::MAX
            };
            bits & SIGN | (1023 - 16 + (bits >> 52 & 31)) << 52 | next() & kept & ((1 << 52) - 1)
        };
        let (a, b) = (double(), double() & !SIGN);
        for (op, compute) in host {
            let want = compute(f64::from_bits(a), f64::from_bits(b)).to_bits();
            check(op, a, b, want);
        }
        let [a, b] = [a, b].map(|x| f64::from_bits(x) as f32);
        for (op, compute) in single {
            let want = f64::from(compute(a, b)).to_bits();
            check(op, f64::from(a).to_bits(), f64::from(b).to_bits(), want);
        }
    }
}

/// The value must be this, with an inexact result accrued before or not, and what accrues the same.
fn check(op: Op, a: u64, b: u64, want: u64) {
    let (value, flags) = run(0, op, SU, a, b).unwrap_or_else(|e| panic!("{op:?} traps: {e:#x}"));
    assert_eq!(value, want, "{op:?} {a:#x} {b:#x}");
    let mut hart = machine(0);
    hart.fcsr |= NX;
    assert_eq!(on(&mut hart, op, SU, a, b), Ok((want, flags | NX)));
    // Inexact by an independent judge: rounding the other way gives another value.
    let chopped = run(0, op, rounded(SU, CHOPPED), a, b).map(|r| r.0);
    let up = {
        let mut hart = machine(0);
        fpcr::write(&mut hart, fpcr::read(&machine(0)) | 3 << 58);
        let plus = on(&mut hart, op, rounded(SU, DYNAMIC), a, b).map(|r| r.0);
        let minus = run(0, op, rounded(SU, MINUS), a, b).map(|r| r.0);
        if want & SIGN == 0 { plus } else { minus }
    };
    assert_eq!(flags & NX != 0, chopped != up, "{op:?} {a:#x} {b:#x}");
}
