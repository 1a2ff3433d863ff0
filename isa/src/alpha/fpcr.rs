//! The floating-point control register, and Linux's software control word beside it.
//!
//! FPCR (Architecture Reference Manual 4.7.8) is kept in two places. The accrued exceptions and the
//! dynamic rounding mode lie in [`Hart::fcsr`], because operations change the former; the trap disables
//! and the denormal controls lie in register [`reg::FPCR`]. The summary bit is derived.
//!
//! The software control word (`ieee_state` in the kernel, FP_C in the Architecture Handbook, B.2.1) lies
//! in register [`reg::IEEE_CONTROL`], without its status bits: those of an EV6 are FPCR's. Layouts and
//! mappings are those of Linux's `arch/alpha/include/uapi/asm/fpu.h`.

use crate::bus::NoMemory;
use crate::exec::{Outcome, execute};
use crate::fp::flag::{DZ, NV, NX, OF, UF};
use crate::hart::Hart;
use crate::inst::{Inst, OpClass, reg};

/// Accrued integer overflow, in [`Hart::fcsr`] beside the flags of [`crate::fp::flag`]. Linux keeps the
/// status of denormal operands in the same bit of FPCR.
pub const IOV: u8 = 1 << 5;
/// All accrued exceptions in [`Hart::fcsr`].
pub(crate) const ACCRUED: u8 = NX | UF | OF | DZ | NV | IOV;
/// Position of the dynamic rounding mode in [`Hart::fcsr`]: 0 chopped, 1 to minus infinity, 2 normal, 3 to plus
/// infinity.
pub(crate) const ROUNDING_SHIFT: u32 = 6;
/// The qualifier `/S` in the immediate of an instruction.
pub(crate) const COMPLETION: i64 = 1 << 4;
/// Normal rounding.
pub(crate) const NORMAL: u8 = 2;

/// Denormal operands count as zero.
pub(crate) const DNZ: u64 = 1 << 48;
/// Invalid operation does not trap.
pub(crate) const INVD: u64 = 1 << 49;
/// Division by zero does not trap.
pub(crate) const DZED: u64 = 1 << 50;
/// Overflow does not trap.
pub(crate) const OVFD: u64 = 1 << 51;
/// Underflow gives zero, where it does not trap.
pub(crate) const UNDZ: u64 = 1 << 60;
/// Underflow does not trap.
pub(crate) const UNFD: u64 = 1 << 61;
/// An inexact result does not trap.
pub(crate) const INED: u64 = 1 << 62;
const DNOD: u64 = 1 << 47;
const SUM: u64 = 1 << 63;
const DYNAMIC: u64 = 3 << DYNAMIC_SHIFT;
const DYNAMIC_SHIFT: u32 = 58;
/// The bits that lie in register [`reg::FPCR`].
const CONTROL: u64 = DNOD | DNZ | INVD | DZED | OVFD | UNDZ | UNFD | INED;
/// From exceptions as in the exception summary to the status bits of FPCR.
const STATUS_SHIFT: u32 = 51;

/// Trap enables of the software control word, in the order of the exception summary, with denormal
/// operands in place of integer overflow.
const ENABLES: u64 = 0x7e;
const MAP_DMZ: u64 = 1 << 12;
const MAP_UMZ: u64 = 1 << 13;
/// Status bits of the software control word.
const STATUS: u64 = ENABLES << 16;

/// Flags as in [`Hart::fcsr`] in the order of the exception summary (see
/// [`TrapCause::Arithmetic`](crate::trap::TrapCause::Arithmetic)).
#[inline]
pub(crate) const fn exceptions_of(flags: u8) -> u8 {
    (flags & (ACCRUED ^ IOV)).reverse_bits() >> 2 | (flags & IOV) << 1
}

/// The inverse of [`exceptions_of`].
#[inline]
pub(crate) const fn flags_of(exceptions: u8) -> u8 {
    (exceptions << 2).reverse_bits() & (ACCRUED ^ IOV) | exceptions >> 1 & IOV
}

/// The value that `mf_fpcr` reads.
#[must_use]
pub fn read(hart: &Hart) -> u64 {
    let status = u64::from(exceptions_of(hart.fcsr)) << STATUS_SHIFT;
    let rounding = u64::from(hart.fcsr >> ROUNDING_SHIFT) << DYNAMIC_SHIFT;
    let summary = if status == 0 { 0 } else { SUM };
    summary | status | rounding | hart.r[reg::FPCR as usize]
}

/// Writes FPCR, as `mt_fpcr` does: bits 46..0 are ignored, the summary bit follows the status bits.
pub fn write(hart: &mut Hart, value: u64) {
    let rounding = (value >> DYNAMIC_SHIFT & 3) as u8;
    hart.fcsr =
        rounding << ROUNDING_SHIFT | flags_of((value >> STATUS_SHIFT) as u8 & ENABLES as u8);
    hart.r[reg::FPCR as usize] = value & CONTROL;
}

/// The control bits that a software control word asks for (`ieee_swcr_to_fpcr`), status included.
fn from_control_word(word: u64) -> u64 {
    const FIRST: u64 = 0b0_1110;
    const SECOND: u64 = 0b11_0000;
    const THIRD: u64 = 0b100_0000;
    let underflow = if word & MAP_UMZ == 0 { 0 } else { UNDZ | UNFD };
    (word & STATUS) << 35
        | (word & MAP_DMZ) << 36
        | (!word & FIRST) << 48
        | (!word & SECOND) << 57
        | (!word & THIRD) << 41
        | underflow
}

/// The state in which Linux starts a program: normal rounding, no trap enabled, nothing accrued.
pub fn reset(hart: &mut Hart) {
    hart.r[reg::IEEE_CONTROL as usize] = 0;
    write(
        hart,
        u64::from(NORMAL) << DYNAMIC_SHIFT | from_control_word(0),
    );
}

/// The software control word with the current status (`osf_getsysinfo(GSI_IEEE_FP_CONTROL)`).
#[must_use]
pub fn ieee_fp_control(hart: &Hart) -> u64 {
    hart.r[reg::IEEE_CONTROL as usize] | read(hart) >> 35 & STATUS
}

/// Sets the software control word, and FPCR accordingly (`osf_setsysinfo(SSI_IEEE_FP_CONTROL)`). The
/// rounding mode stays.
pub fn set_ieee_fp_control(hart: &mut Hart, word: u64) {
    hart.r[reg::IEEE_CONTROL as usize] = word & (ENABLES | MAP_DMZ | MAP_UMZ);
    let rounding = read(hart) & DYNAMIC;
    write(hart, rounding | from_control_word(word));
}

/// Accrues the exceptions of the status bits `word` (`osf_setsysinfo(SSI_IEEE_RAISE_EXCEPTION)`).
/// Returns those that the program has enabled, in the order of the exception summary: if there are any,
/// the kernel sends `SIGFPE` with the code of [`signal_code`].
pub fn raise_ieee_exceptions(hart: &mut Hart, word: u64) -> u8 {
    let exceptions = word & STATUS;
    let control = hart.r[reg::IEEE_CONTROL as usize];
    let value = read(hart) | from_control_word(control | exceptions);
    write(hart, value);
    ((exceptions >> 16) & control & ENABLES) as u8
}

/// Denormal operands count as zero in software completion.
pub(crate) fn maps_denormals_to_zero(hart: &Hart) -> bool {
    hart.r[reg::IEEE_CONTROL as usize] & MAP_DMZ != 0
}

/// Underflow gives zero in software completion.
pub(crate) fn maps_underflow_to_zero(hart: &Hart) -> bool {
    hart.r[reg::IEEE_CONTROL as usize] & MAP_UMZ != 0
}

/// The exceptions for which the program wants a signal, as flags in [`Hart::fcsr`]; [`IOV`] stands for
/// denormal operands.
pub(crate) fn signals(hart: &Hart) -> u8 {
    flags_of((hart.r[reg::IEEE_CONTROL as usize] & ENABLES) as u8)
}

/// The exceptions that FPCR keeps from trapping, as flags in [`Hart::fcsr`]. Underflow is not among
/// them: it needs [`flushes_underflow`].
pub(crate) fn disabled(hart: &Hart) -> u8 {
    let control = hart.r[reg::FPCR as usize];
    let flag = |bit: u64, flag: u8| if control & bit == 0 { 0 } else { flag };
    flag(INVD, NV) | flag(DZED, DZ) | flag(OVFD, OF) | flag(INED, NX)
}

/// FPCR asks for zero instead of a denormal result, and for no trap.
pub(crate) fn flushes_underflow(hart: &Hart) -> bool {
    hart.r[reg::FPCR as usize] & (UNFD | UNDZ) == UNFD | UNDZ
}

/// FPCR asks for zero instead of a denormal operand.
pub(crate) fn flushes_operands(hart: &Hart) -> bool {
    hart.r[reg::FPCR as usize] & DNZ != 0
}

/// Does what hardware and kernel do before the signal for an instruction that trapped with
/// [`TrapCause::Arithmetic`](crate::trap::TrapCause::Arithmetic) is delivered, and returns its `si_code`.
/// The program counter in the signal's context is that of the next instruction.
///
/// With software completion the result is written and all exceptions accrue (`alpha_fp_emul`); without
/// it only `exceptions` accrue, and the code is that of an invalid operation whatever happened
/// (`do_entArith`).
pub fn complete_trapped(hart: &mut Hart, inst: &Inst, exceptions: u8) -> i32 {
    let floating = matches!(
        inst.class,
        OpClass::FpAdd | OpClass::FpMul | OpClass::FpDiv | OpClass::FpSqrt | OpClass::FpCvt
    );
    if !floating {
        return signal_code(0);
    }
    if inst.imm & COMPLETION != 0 {
        let control = hart.r[reg::IEEE_CONTROL as usize];
        hart.r[reg::IEEE_CONTROL as usize] = control & !ENABLES;
        let outcome = execute(hart, &mut NoMemory, inst, 0);
        debug_assert_eq!(outcome, Outcome::Next, "no signal is enabled");
        hart.r[reg::IEEE_CONTROL as usize] = control;
        return signal_code(exceptions);
    }
    hart.fcsr |= flags_of(exceptions);
    signal_code(0)
}

/// The `si_code` of `SIGFPE` for exceptions in the order of the exception summary: that of the gravest,
/// as `alpha_fp_emul` chooses it; for none that of an invalid operation.
#[must_use]
pub fn signal_code(exceptions: u8) -> i32 {
    /// By bit of the summary, gravest first.
    const CODES: [(u8, i32); 5] = [
        (1, 7), // FPE_FLTINV
        (2, 3), // FPE_FLTDIV
        (3, 4), // FPE_FLTOVF
        (4, 5), // FPE_FLTUND
        (5, 6), // FPE_FLTRES
    ];
    CODES
        .iter()
        .find(|(bit, _)| exceptions >> bit & 1 != 0)
        .map_or(7, |&(_, code)| code)
}
