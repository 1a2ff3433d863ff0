//! Operands, results and traps of arithmetic, in two levels.
//!
//! **Hardware.** Without `/S` an operand that is not finite, or denormal, is an invalid operation, and every exception
//! that the qualifiers do not leave out traps. With `/S`, FPCR can disable the traps; denormal operands trap unless DNZ
//! makes them zero, and tiny results trap unless UNFD and UNDZ make them zero: the 21264 computes neither. Exceptions
//! that do not trap accrue in FPCR, also those that the qualifiers leave out (Hardware Reference Manual, A.8); a tiny
//! result that does not trap is a true zero.
//!
//! **Completion.** A trap with `/S` goes to the kernel, which computes the IEEE result with denormals,
//! accrues the exceptions, and sends a signal only for those that the program has enabled in its software
//! control word. Denormal operands are an exception there, which accrues in the bit of integer overflow.
//!
//! Two things that the kernel does are not done here, since an operation may change only its destination
//! and the accrued exceptions: on each completion it sets FPCR's trap disables by the control word (a
//! difference only to a program that writes them by `mt_fpcr`), and a result that comes with a signal is
//! written (`alpha::fpcr::complete_trapped` does that when the signal is delivered).

use super::write;
use crate::alpha::exec::mem::{register_to_s, s_to_register};
use crate::alpha::fpcr::{self, IOV};
use crate::exec::Outcome;
use crate::fp::flag::{DZ, NV, NX, OF, UF};
use crate::fp::{Binary32, Binary64, Format, Round};
use crate::hart::Hart;
use crate::inst::Inst;
use crate::trap::TrapCause;

/// The NaN of an invalid operation on numbers (4.7.4): negative, quiet, the rest of the fraction zero.
pub(super) const CANONICAL_NAN: u64 = 0xfff8 << 48;

/// Trap and rounding qualifiers, bits 15..11 of the instruction.
#[derive(Clone, Copy)]
pub(super) struct Qualifiers(u8);

impl Qualifiers {
    const ROUNDING: u8 = 3;
    const DYNAMIC: u8 = 3;

    #[inline(always)]
    pub(super) fn of(inst: &Inst) -> Self {
        Qualifiers(inst.imm as u8)
    }

    /// `/U`, or `/V` of an operation with an integer result.
    #[inline(always)]
    pub(super) fn underflow_or_overflow(self) -> bool {
        self.0 & 4 != 0
    }

    /// `/I`.
    #[inline(always)]
    pub(super) fn inexact(self) -> bool {
        self.0 & 8 != 0
    }

    /// `/S`.
    #[inline(always)]
    pub(super) fn completion(self) -> bool {
        self.0 & fpcr::COMPLETION as u8 != 0
    }

    /// The rounding direction.
    #[inline(always)]
    pub(super) fn rounding(self, hart: &Hart) -> Round {
        let mode = match self.0 & Self::ROUNDING {
            Self::DYNAMIC => hart.fcsr >> fpcr::ROUNDING_SHIFT,
            mode => mode,
        };
        match mode {
            0 => Round::TowardZero,
            1 => Round::Down,
            2 => Round::NearestEven,
            _ => Round::Up,
        }
    }

    /// The exceptions that trap in hardware; underflow is judged apart.
    fn traps(self, hart: &Hart) -> u8 {
        let inexact = if self.inexact() { NX } else { 0 };
        let overflow = if self.underflow_or_overflow() { IOV } else { 0 };
        let disabled = if self.completion() {
            fpcr::disabled(hart)
        } else {
            0
        };
        (NV | DZ | OF | inexact | overflow) & !disabled
    }
}

/// A format as registers hold it.
pub(super) trait Floating: Format {
    fn from_register(register: u64) -> u64;
    fn to_register(bits: u64) -> u64;
}

impl Floating for Binary32 {
    #[inline(always)]
    fn from_register(register: u64) -> u64 {
        u64::from(register_to_s(register))
    }

    #[inline(always)]
    fn to_register(bits: u64) -> u64 {
        s_to_register(bits as u32)
    }
}

impl Floating for Binary64 {
    #[inline(always)]
    fn from_register(register: u64) -> u64 {
        register
    }

    #[inline(always)]
    fn to_register(bits: u64) -> u64 {
        bits
    }
}

#[inline(always)]
pub(super) fn is_denormal<F: Format>(bits: u64) -> bool {
    // Zero wraps around.
    (bits & !F::SIGN).wrapping_sub(1) < F::IMPLICIT - 1
}

#[inline(always)]
pub(super) fn is_nan<F: Format>(bits: u64) -> bool {
    bits & !F::SIGN > F::INFINITY
}

pub(super) fn is_signaling<F: Format>(bits: u64) -> bool {
    is_nan::<F>(bits) && bits & F::QUIET == 0
}

/// A denormal number becomes zero of its sign.
pub(super) fn flush<F: Format>(bits: u64) -> u64 {
    if is_denormal::<F>(bits) {
        bits & F::SIGN
    } else {
        bits
    }
}

/// Hardware takes the register as an operand without `/S`.
#[inline(always)]
fn is_usable(register: u64) -> bool {
    let finite = register & Binary64::INFINITY != Binary64::INFINITY;
    finite && !is_denormal::<Binary64>(register)
}

/// The arithmetic trap for these flags. Nothing was changed.
pub(super) fn trap(flags: u8) -> Outcome {
    Outcome::Trap(TrapCause::Arithmetic {
        exceptions: fpcr::exceptions_of(flags),
    })
}

/// Writes a result that hardware gives.
pub(super) fn finish(hart: &mut Hart, inst: &Inst, value: u64, flags: u8) -> Outcome {
    hart.fcsr |= flags;
    write(hart, inst, value)
}

/// The end of a completion: the signals that the program wants for `exceptions`, or the result. Exceptions that the
/// hardware has accrued stay.
pub(super) fn complete(
    hart: &mut Hart,
    inst: &Inst,
    value: u64,
    hardware: u8,
    exceptions: u8,
) -> Outcome {
    let signals = exceptions & fpcr::signals(hart);
    if signals == 0 {
        return finish(hart, inst, value, hardware | exceptions);
    }
    // A denormal operand is signalled as underflow.
    let denormal = if signals & IOV == 0 { 0 } else { UF };
    trap(signals & !IOV | denormal)
}

/// Finishes an instruction whose result did not underflow, or traps, as its flags and qualifiers demand of hardware.
/// `completed` gives the value and the exceptions that the kernel computes.
pub(super) fn conclude(
    hart: &mut Hart,
    inst: &Inst,
    value: u64,
    flags: u8,
    completed: impl FnOnce(&Hart) -> (u64, u8),
) -> Outcome {
    let qualifiers = Qualifiers::of(inst);
    let traps = flags & qualifiers.traps(hart);
    if traps == 0 {
        finish(hart, inst, value, flags)
    } else if qualifiers.completion() {
        let (value, exceptions) = completed(hart);
        complete(hart, inst, value, flags, exceptions)
    } else {
        trap(traps)
    }
}

/// An operation on numbers of format `I`, right-aligned bits, with a result of format `O`.
struct Operation<I, O, C> {
    x: u64,
    y: u64,
    rounding: Round,
    compute: C,
    formats: std::marker::PhantomData<(I, O)>,
}

impl<I: Floating, O: Floating, C: Fn(u64, u64, Round, &mut u8) -> u64> Operation<I, O, C> {
    /// The IEEE result as bits of its format, and as a register. Of two NaN operands the second one gives the result
    /// (4.7.10.4).
    fn result(&self, rounding: Round, flags: &mut u8) -> (u64, u64) {
        for nan in [self.y, self.x] {
            if is_nan::<I>(nan) {
                if is_signaling::<I>(self.x) || is_signaling::<I>(self.y) {
                    *flags |= NV;
                }
                let quiet = I::to_register(nan) | Binary64::QUIET;
                let bits = O::from_register(quiet);
                return (bits, O::to_register(bits));
            }
        }
        let bits = (self.compute)(self.x, self.y, rounding, flags);
        let register = if is_nan::<O>(bits) {
            CANONICAL_NAN
        } else {
            O::to_register(bits)
        };
        (bits, register)
    }

    fn has_denormal(&self) -> bool {
        is_denormal::<I>(self.x) || is_denormal::<I>(self.y)
    }

    fn flush(&mut self) {
        self.x = flush::<I>(self.x);
        self.y = flush::<I>(self.y);
    }

    /// Register and exceptions as the kernel computes them.
    fn completed(mut self, hart: &Hart) -> (u64, u8) {
        let mut flags = 0;
        if self.has_denormal() {
            flags |= IOV;
            if fpcr::maps_denormals_to_zero(hart) {
                flags |= NX;
                self.flush();
            }
        }
        let (bits, mut register) = self.result(self.rounding, &mut flags);
        // The kernel detects tininess before rounding.
        if flags & (NX | UF) == NX && bits & !O::SIGN == O::IMPLICIT {
            let (truncated, _) = self.result(Round::TowardZero, &mut 0);
            if truncated & !O::SIGN < O::IMPLICIT {
                flags |= UF;
            }
        }
        if flags & UF != 0 && fpcr::maps_underflow_to_zero(hart) {
            register = 0;
        }
        (register, flags)
    }
}

/// An operation on two registers (of one operand: twice the same).
#[inline(always)]
pub(super) fn operate<I: Floating, O: Floating>(
    hart: &mut Hart,
    inst: &Inst,
    [a, b]: [u64; 2],
    compute: impl Fn(u64, u64, Round, &mut u8) -> u64,
) -> Outcome {
    let qualifiers = Qualifiers::of(inst);
    let completion = qualifiers.completion();
    let usable = completion || is_usable(a) && is_usable(b);
    if !usable {
        return trap(NV);
    }
    let mut operation = Operation::<I, O, _> {
        x: I::from_register(a),
        y: I::from_register(b),
        rounding: qualifiers.rounding(hart),
        compute,
        formats: std::marker::PhantomData,
    };
    if operation.has_denormal() {
        if fpcr::flushes_operands(hart) {
            operation.flush();
        } else if completion {
            let (value, exceptions) = operation.completed(hart);
            return complete(hart, inst, value, 0, exceptions);
        }
    }
    let mut flags = 0;
    let (bits, mut register) = operation.result(operation.rounding, &mut flags);
    if is_denormal::<O>(bits) || flags & UF != 0 {
        if completion && !fpcr::flushes_underflow(hart) {
            let (value, exceptions) = operation.completed(hart);
            return complete(hart, inst, value, 0, exceptions);
        }
        flags |= UF | NX;
        if !completion && qualifiers.underflow_or_overflow() {
            return trap(UF);
        }
        register = 0;
    }
    conclude(hart, inst, register, flags, |hart| {
        operation.completed(hart)
    })
}
