//! Model of a floating-point instruction in QEMU 7.2's user mode, found by experiments, on the arithmetic of
//! `hps_isa::fp`.

use hps_isa::alpha::fpcr;
use hps_isa::bus::{Bus, MemFault};
use hps_isa::exec::{Outcome, execute};
use hps_isa::fp::flag::{DZ, NV, NX, OF, UF};
use hps_isa::fp::{self, Binary32, Binary64, Format, Round};
use hps_isa::hart::Hart;
use hps_isa::inst::{Inst, Op};

pub const IOV: u8 = fpcr::IOV;
/// All accrued exceptions in `Hart::fcsr`.
pub const FLAGS: u8 = NX | UF | OF | DZ | NV | IOV;
pub const SIGN: u64 = 1 << 63;

/// Effect of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The instruction is no arithmetic: there is nothing that could differ.
    Other,
    /// The instruction writes this value and accrues these exceptions.
    Result { value: u64, raised: u8 },
    /// The instruction raises `SIGFPE`.
    Trap,
}

/// Qualifiers, as the immediate holds them.
#[derive(Clone, Copy)]
pub struct Qualifiers(pub i64);

impl Qualifiers {
    pub fn underflow_or_overflow(self) -> bool {
        self.0 & 4 != 0
    }

    pub fn inexact(self) -> bool {
        self.0 & 8 != 0
    }

    pub fn completion(self) -> bool {
        self.0 & 16 != 0
    }

    pub fn rounding(self, hart: &Hart) -> Round {
        let mode = match self.0 & 3 {
            3 => i64::from(hart.fcsr >> 6),
            mode => mode,
        };
        [
            Round::TowardZero,
            Round::Down,
            Round::NearestEven,
            Round::Up,
        ][mode as usize]
    }
}

/// The operations of floating point, without those on FPCR and those that touch integer registers.
pub fn is_floating(op: Op) -> bool {
    is_arithmetic(op)
        || matches!(
            op,
            Op::AlphaCpys
                | Op::AlphaCpysn
                | Op::AlphaCpyse
                | Op::AlphaCvtlq
                | Op::AlphaFcmoveq
                | Op::AlphaFcmovne
                | Op::AlphaFcmovlt
                | Op::AlphaFcmovge
                | Op::AlphaFcmovle
                | Op::AlphaFcmovgt
        )
}

/// The operations with qualifiers.
pub fn is_arithmetic(op: Op) -> bool {
    is_comparison(op)
        || matches!(
            op,
            Op::AlphaAdds
                | Op::AlphaSubs
                | Op::AlphaMuls
                | Op::AlphaDivs
                | Op::AlphaSqrts
                | Op::AlphaAddt
                | Op::AlphaSubt
                | Op::AlphaMult
                | Op::AlphaDivt
                | Op::AlphaSqrtt
                | Op::AlphaCvtts
                | Op::AlphaCvtst
                | Op::AlphaCvttq
                | Op::AlphaCvtqs
                | Op::AlphaCvtqt
                | Op::AlphaCvtql
        )
}

pub fn is_comparison(op: Op) -> bool {
    matches!(
        op,
        Op::AlphaCmptun | Op::AlphaCmpteq | Op::AlphaCmptlt | Op::AlphaCmptle
    )
}

pub fn is_denormal<F: Format>(bits: u64) -> bool {
    bits & F::INFINITY == 0 && bits & !F::SIGN != 0
}

pub fn is_nan<F: Format>(bits: u64) -> bool {
    bits & !F::SIGN > F::INFINITY
}

pub fn to_single(register: u64) -> u32 {
    (register >> 32) as u32 & 0xc000_0000 | (register >> 29) as u32 & 0x3fff_ffff
}

pub fn from_single(bits: u32) -> u64 {
    let rest = u64::from(bits & 0x7f_ffff) << 29;
    let exponent = match u64::from(bits >> 23 & 0xff) {
        0 => 0,
        0xff => 0x7ff,
        e => e + 1023 - 127,
    };
    u64::from(bits >> 31) << 63 | exponent << 52 | rest
}

/// Denormal operands are zero.
pub fn flushes_inputs(hart: &Hart) -> bool {
    fpcr::read(hart) & 1 << 48 != 0 || fpcr::ieee_fp_control(hart) & 1 << 12 != 0
}

/// Denormal results of an instruction with `/U` are zero.
pub fn flushes_results(hart: &Hart) -> bool {
    fpcr::read(hart) >> 60 & 3 == 3 || fpcr::ieee_fp_control(hart) & 1 << 13 != 0
}

/// The exceptions that trap in an instruction with `/S`.
fn enabled(hart: &Hart) -> u8 {
    let disabled = fpcr::read(hart);
    let flag = |bit: u32, flag: u8| if disabled >> bit & 1 == 0 { flag } else { 0 };
    let overflow = if fpcr::ieee_fp_control(hart) & 2 == 0 {
        0
    } else {
        IOV
    };
    flag(49, NV) | flag(50, DZ) | flag(51, OF) | flag(61, UF) | flag(62, NX) | overflow
}

/// The IEEE result of an operation that computes numbers of one format from such of the other or the
/// same: right-aligned bits of the result, and flags. A NaN is positive.
fn ieee(op: Op, x: u64, y: u64, rm: Round, flags: &mut u8) -> u64 {
    let (s, t) = (x as u32, y as u32);
    match op {
        Op::AlphaAdds => u64::from(fp::f32_add(s, t, rm, flags)),
        Op::AlphaSubs => u64::from(fp::f32_sub(s, t, rm, flags)),
        Op::AlphaMuls => u64::from(fp::f32_mul(s, t, rm, flags)),
        Op::AlphaDivs => u64::from(fp::f32_div(s, t, rm, flags)),
        Op::AlphaSqrts => u64::from(fp::f32_sqrt(t, rm, flags)),
        Op::AlphaAddt => fp::f64_add(x, y, rm, flags),
        Op::AlphaSubt => fp::f64_sub(x, y, rm, flags),
        Op::AlphaMult => fp::f64_mul(x, y, rm, flags),
        Op::AlphaDivt => fp::f64_div(x, y, rm, flags),
        Op::AlphaSqrtt => fp::f64_sqrt(y, rm, flags),
        Op::AlphaCvtts => u64::from(fp::f64_to_f32(y, rm, flags)),
        Op::AlphaCvtst => fp::f32_to_f64(t, flags),
        op => panic!("{op:?} does not compute a number"),
    }
}

/// An operation on numbers of format `I` with a result of format `O`: registers in, register out.
pub struct Number {
    pub value: u64,
    pub flags: u8,
    /// Below the least normal number before rounding, and not zero.
    pub tiny: bool,
    /// Result of rounding toward zero, for its sign.
    truncated: u64,
}

pub fn number<I: Format, O: Format>(hart: &Hart, inst: &Inst) -> Number {
    let wide = |register: u64| {
        if I::PRECISION == Binary32::PRECISION {
            u64::from(to_single(register))
        } else {
            register
        }
    };
    let register = |bits: u64| {
        if O::PRECISION == Binary32::PRECISION {
            from_single(bits as u32)
        } else {
            bits
        }
    };
    let mut operands = operands(hart, inst).map(wide);
    if flushes_inputs(hart) {
        for operand in &mut operands {
            if is_denormal::<I>(*operand) {
                *operand &= I::SIGN;
            }
        }
    }
    let [x, y] = operands;
    if let Some(nan) = chosen_nan::<I>(x, y) {
        let signaling = |v| is_nan::<I>(v) && v & I::QUIET == 0;
        let nan = if I::PRECISION == Binary32::PRECISION {
            from_single(nan as u32)
        } else {
            nan
        };
        let quiet = nan | Binary64::QUIET;
        return Number {
            value: if O::PRECISION == Binary32::PRECISION {
                from_single(to_single(quiet))
            } else {
                quiet
            },
            flags: if signaling(x) || signaling(y) { NV } else { 0 },
            tiny: false,
            truncated: 0,
        };
    }
    let (mut flags, mut truncating) = (0, 0);
    let bits = ieee(
        inst.op,
        x,
        y,
        Qualifiers(inst.imm).rounding(hart),
        &mut flags,
    );
    let truncated = ieee(inst.op, x, y, Round::TowardZero, &mut truncating);
    let magnitude = truncated & !O::SIGN;
    Number {
        value: register(bits),
        flags,
        tiny: magnitude < O::IMPLICIT && (magnitude != 0 || truncating & NX != 0),
        truncated: register(truncated),
    }
}

/// The NaN that QEMU propagates, by the rule of the 8087: a quiet one before a signaling one, else the
/// larger fraction, else the positive one, else the second.
fn chosen_nan<F: Format>(x: u64, y: u64) -> Option<u64> {
    let (first, second) = (is_nan::<F>(x), is_nan::<F>(y));
    if !(first && second) {
        return [x, y].into_iter().find(|&v| is_nan::<F>(v));
    }
    let rank = |v: u64| (v & F::QUIET, v & !F::SIGN, v & F::SIGN == 0);
    Some(if rank(x) > rank(y) { x } else { y })
}

/// The operands; of an operation with one, that one twice.
pub fn operands(hart: &Hart, inst: &Inst) -> [u64; 2] {
    let one = matches!(
        inst.op,
        Op::AlphaSqrts
            | Op::AlphaSqrtt
            | Op::AlphaCvtts
            | Op::AlphaCvtst
            | Op::AlphaCvttq
            | Op::AlphaCvtqs
            | Op::AlphaCvtqt
            | Op::AlphaCvtql
    );
    let first = if one { inst.rs2 } else { inst.rs1 };
    [first, inst.rs2].map(|register| hart.r[register as usize])
}

/// The number of an arithmetic operation; none of comparisons and conversions from and to integers.
pub fn arithmetic(hart: &Hart, inst: &Inst) -> Option<Number> {
    Some(match inst.op {
        Op::AlphaAdds | Op::AlphaSubs | Op::AlphaMuls | Op::AlphaDivs | Op::AlphaSqrts => {
            number::<Binary32, Binary32>(hart, inst)
        }
        Op::AlphaAddt | Op::AlphaSubt | Op::AlphaMult | Op::AlphaDivt | Op::AlphaSqrtt => {
            number::<Binary64, Binary64>(hart, inst)
        }
        Op::AlphaCvtts => number::<Binary64, Binary32>(hart, inst),
        Op::AlphaCvtst => number::<Binary32, Binary64>(hart, inst),
        _ => return None,
    })
}

/// The IEEE flags of an arithmetic instruction, an integer overflow counting as inexact.
pub fn flags(hart: &Hart, inst: &Inst) -> u8 {
    arithmetic(hart, inst).map_or_else(
        || converted_or_compared(hart, inst).1,
        |number| number.flags,
    )
}

/// Effect of an instruction in QEMU.
pub fn effect(hart: &Hart, inst: &Inst) -> Effect {
    if !is_arithmetic(inst.op) {
        return Effect::Other;
    }
    let qualifiers = Qualifiers(inst.imm);
    let from_integer = matches!(inst.op, Op::AlphaCvtqs | Op::AlphaCvtqt | Op::AlphaCvtql);
    if !qualifiers.completion() && !from_integer {
        let refused = operands(hart, inst).into_iter().any(|operand| {
            is_denormal::<Binary64>(operand)
                || operand & Binary64::INFINITY == Binary64::INFINITY
                    && (!is_comparison(inst.op) || is_nan::<Binary64>(operand))
        });
        if refused {
            return Effect::Trap;
        }
    }
    let (value, mut flags) = match arithmetic(hart, inst) {
        Some(number) => {
            let flushes = !qualifiers.underflow_or_overflow() || flushes_results(hart);
            if number.tiny && flushes {
                (number.truncated & SIGN, 0)
            } else {
                (number.value, number.flags)
            }
        }
        None => converted_or_compared(hart, inst),
    };
    let mut ignored = 0;
    if !qualifiers.underflow_or_overflow() {
        ignored |= UF | IOV;
    }
    if !qualifiers.inexact() {
        ignored |= NX;
    }
    if qualifiers.completion() {
        flags &= !ignored;
        if flags & enabled(hart) != 0 {
            return Effect::Trap;
        }
    } else if flags & !ignored != 0 {
        return Effect::Trap;
    }
    Effect::Result {
        value,
        raised: flags,
    }
}

/// Comparisons, and conversions from and to integers.
fn converted_or_compared(hart: &Hart, inst: &Inst) -> (u64, u8) {
    let qualifiers = Qualifiers(inst.imm);
    let rm = qualifiers.rounding(hart);
    let [mut a, mut b] = operands(hart, inst);
    let mut flags = 0;
    let accrued = |value, flags| (value, if qualifiers.inexact() { flags } else { 0 });
    match inst.op {
        Op::AlphaCvtqs => {
            let value = from_single(fp::f32_from_i64(b as i64, rm, &mut flags));
            return accrued(value, flags);
        }
        Op::AlphaCvtqt => {
            let value = fp::f64_from_i64(b as i64, rm, &mut flags);
            return accrued(value, flags);
        }
        Op::AlphaCvtql => {
            let value = (b & 0xc000_0000) << 32 | (b & 0x3fff_ffff) << 29;
            let fits = b as i64 == i64::from(b as i32);
            return (value, if fits { 0 } else { IOV | NX });
        }
        _ => {}
    }
    if flushes_inputs(hart) {
        for operand in [&mut a, &mut b] {
            if is_denormal::<Binary64>(*operand) {
                *operand &= SIGN;
            }
        }
    }
    let truth = |holds: bool| if holds { 0x4000_0000_0000_0000 } else { 0 };
    let value = match inst.op {
        Op::AlphaCmptun => {
            fp::f64_eq(a, b, &mut flags);
            truth(is_nan::<Binary64>(a) || is_nan::<Binary64>(b))
        }
        Op::AlphaCmpteq => truth(fp::f64_eq(a, b, &mut flags)),
        Op::AlphaCmptlt => truth(fp::f64_lt(a, b, &mut flags)),
        Op::AlphaCmptle => truth(fp::f64_le(a, b, &mut flags)),
        _ => return to_quad(b, rm),
    };
    (value, flags)
}

/// `cvttq`: the low 64 bits of the integer.
fn to_quad(b: u64, rm: Round) -> (u64, u8) {
    let x = f64::from_bits(b);
    if !x.is_finite() {
        return (0, NV);
    }
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&x) {
        let mut flags = 0;
        return (fp::f64_to_i64(b, rm, &mut flags) as u64, flags);
    }
    // The remainder of the division by 2^64 is exact.
    let rest = x.abs() % 18_446_744_073_709_551_616.0;
    let magnitude = rest as u64;
    let value = if x < 0.0 {
        magnitude.wrapping_neg()
    } else {
        magnitude
    };
    (value, IOV | NX)
}

/// Executes an instruction that is no arithmetic: nothing can differ.
pub fn execute_other(hart: &mut Hart, inst: &Inst) {
    let outcome = execute(hart, &mut NoMemory, inst, 0);
    assert_eq!(outcome, Outcome::Next, "{inst:?}");
}

/// Floating-point operations access none.
pub struct NoMemory;

impl Bus for NoMemory {
    fn load<const N: usize>(&mut self, addr: u64) -> Result<u64, MemFault> {
        panic!("read of {addr:#x}")
    }

    fn store<const N: usize>(&mut self, addr: u64, _: u64) -> Result<(), MemFault> {
        panic!("write to {addr:#x}")
    }
}
