//! The written list of what an EV6 under Linux does, and this crate with it, and QEMU 7.2 does not.

use hps_isa::alpha::{disassemble, fpcr};
use hps_isa::exec::{Outcome, execute};
use hps_isa::fp::flag::{NV, NX, UF};
use hps_isa::fp::{Binary32, Binary64, Format};
use hps_isa::hart::Hart;
use hps_isa::inst::{Inst, Op, reg};
use hps_isa::trap::TrapCause;

use super::qemu::{
    self, Effect, FLAGS, IOV, NoMemory, Qualifiers, SIGN, from_single, is_denormal, is_nan,
    operands, to_single,
};

/// A difference from QEMU. The references are to the Architecture Handbook, version 4 (AH), the
/// 21264's Hardware Reference Manual (HRM), and Linux's `arch/alpha/math-emu/math.c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// The NaN of an invalid operation on numbers is negative (AH 4.7.4; Linux: `_FP_NANSIGN_D`);
    /// QEMU's is positive.
    CanonicalNan,
    /// Of two NaNs that of the second operand is propagated (AH 4.7.10.4). QEMU chooses as the 8087
    /// does.
    NanOfSecondOperand,
    /// Inexact results accrue whether or not the instruction has `/I` (HRM A.8). QEMU drops them with
    /// `/S` and without `/I`, and of conversions from integers always without `/I`.
    InexactAccrues,
    /// An integer overflow with `/SV` is completed by the kernel, which calls it an invalid operation,
    /// and not inexact: it signals and accrues that, on top of what the hardware accrues. QEMU knows only
    /// the hardware's exceptions.
    OverflowIsInvalid,
    /// A denormal operand with `/S` is completed by the kernel, which accrues that in its control word,
    /// and so in FPCR<57>.
    DenormalAccrues,
    /// A tiny result that is not to be denormal (no `/U`; UNFD and UNDZ) is a true zero, positive, and
    /// accrues underflow and inexact (AH 4.7.7.7, HRM A.8). QEMU gives a zero with its sign and
    /// accrues nothing.
    TrueZero,
    /// A result is tiny if it is below the least normal number after rounding (AH 4.7.7.7). QEMU judges
    /// before rounding where it makes zeros.
    TinyAfterRounding,
    /// `/U` without `/S` traps for every tiny result (AH 4.7.7.7), also an exact one, and FPCR has no
    /// say. QEMU traps only for inexact ones, and obeys UNFD and UNDZ.
    UnderflowTraps,
    /// The kernel's completion detects tininess before rounding (`_FP_PACK_CANONICAL`), which shows if
    /// a denormal operand brought it there and the result is the least normal number.
    TinyBeforeRounding,
    /// The kernel makes zero only of results that underflow, that is of inexact ones: an exact denormal
    /// result stays, even with the control word's `IEEE_MAP_UMZ`, if the hardware has left it to the
    /// kernel for a denormal operand or an enabled inexact exception.
    ExactDenormalStays,
    /// The kernel's completion signals enabled exceptions whatever the qualifiers are, and also of a
    /// result that it maps to zero: an inexact one without `/I`, an underflow.
    CompletionSignals,
    /// The kernel does not signal an invalid operation for the conversion of a quiet NaN to an
    /// integer.
    QuietNanToInteger,
}

impl Difference {
    pub const ALL: &[Difference] = &[
        Self::CanonicalNan,
        Self::NanOfSecondOperand,
        Self::InexactAccrues,
        Self::OverflowIsInvalid,
        Self::DenormalAccrues,
        Self::TrueZero,
        Self::TinyAfterRounding,
        Self::UnderflowTraps,
        Self::TinyBeforeRounding,
        Self::ExactDenormalStays,
        Self::CompletionSignals,
        Self::QuietNanToInteger,
    ];
}

/// Executes the instruction on the state, and once more with nothing accrued, and puts the state back.
fn ours(hart: &Hart, inst: &Inst) -> Effect {
    let run = |fcsr: u8| {
        let mut after = hart.clone();
        after.fcsr = fcsr;
        let outcome = execute(&mut after, &mut NoMemory, inst, 0);
        (outcome, after)
    };
    let (outcome, after) = run(hart.fcsr & !FLAGS);
    // The common case of a machine with inexact results accrued has a path of its own.
    for accrued in [hart.fcsr, hart.fcsr | NX] {
        let (same, then) = run(accrued);
        assert_eq!(outcome, same, "{inst:?} with {accrued:#x} accrued");
        if outcome == Outcome::Next {
            assert_eq!(after.r, then.r, "{inst:?} with {accrued:#x} accrued");
            assert_eq!(after.fcsr | accrued, then.fcsr, "{inst:?}");
        } else {
            assert_eq!(then.fcsr, accrued, "{inst:?} trapped and accrued");
            assert_eq!(then.r, hart.r, "{inst:?} trapped and wrote");
        }
    }
    match outcome {
        Outcome::Next => Effect::Result {
            value: after.r[inst.rd as usize],
            raised: after.fcsr & FLAGS,
        },
        Outcome::Trap(TrapCause::Arithmetic { exceptions }) => {
            assert_ne!(exceptions & 0x7e, 0, "{inst:?} traps for nothing");
            Effect::Trap
        }
        outcome => panic!("{inst:?}: {outcome:?}"),
    }
}

/// Facts about an instruction and its operands.
struct Facts {
    qualifiers: Qualifiers,
    denormal_operand: bool,
    tiny: bool,
    /// Tiny results are to be zeros.
    flushes: bool,
    inexact: bool,
    to_integer: bool,
    /// Both operands are NaNs, and this is the fraction of the second one, quiet.
    second_nan: Option<u64>,
}

impl Facts {
    fn new(hart: &Hart, inst: &Inst) -> Self {
        let qualifiers = Qualifiers(inst.imm);
        let single = matches!(
            inst.op,
            Op::AlphaAdds
                | Op::AlphaSubs
                | Op::AlphaMuls
                | Op::AlphaDivs
                | Op::AlphaSqrts
                | Op::AlphaCvtst
        );
        let integer = matches!(inst.op, Op::AlphaCvtqs | Op::AlphaCvtqt | Op::AlphaCvtql);
        let denormal = |operand: u64| {
            if single {
                is_denormal::<Binary32>(u64::from(to_single(operand)))
            } else {
                !integer && is_denormal::<Binary64>(operand)
            }
        };
        let tiny = qemu::arithmetic(hart, inst).is_some_and(|number| number.tiny);
        let canonical = |operand: u64| {
            if single {
                from_single(to_single(operand))
            } else {
                operand
            }
        };
        let nans = operands(hart, inst).map(canonical);
        let second_nan = nans
            .into_iter()
            .all(is_nan::<Binary64>)
            .then(|| nans[1] | Binary64::QUIET);
        Facts {
            qualifiers,
            denormal_operand: operands(hart, inst).into_iter().any(denormal),
            tiny,
            flushes: !qualifiers.underflow_or_overflow() || qemu::flushes_results(hart),
            inexact: qemu::flags(hart, inst) & NX != 0,
            to_integer: matches!(inst.op, Op::AlphaCvttq | Op::AlphaCvtql),
            second_nan,
        }
    }

    /// The kernel completes the instruction because of an operand.
    fn completed(&self, hart: &Hart) -> bool {
        self.qualifiers.completion() && self.denormal_operand && !qemu::flushes_inputs(hart)
    }
}

/// The differences between this crate and QEMU in this instruction; an error for one that is not in the
/// list.
pub fn between(hart: &Hart, inst: &Inst, qemu: &Effect) -> Result<Vec<Difference>, String> {
    if *qemu == Effect::Other {
        return Ok(Vec::new());
    }
    let ours = ours(hart, inst);
    if ours == *qemu {
        return Ok(Vec::new());
    }
    let facts = Facts::new(hart, inst);
    let found = match (*qemu, ours) {
        (
            Effect::Result { value, raised },
            Effect::Result {
                value: our_value,
                raised: our_raised,
            },
        ) => {
            let mut found = Vec::new();
            let mut explained = true;
            if inst.rd != reg::SINK {
                let completed =
                    facts.completed(hart) || facts.qualifiers.inexact() && enables(hart, INEXACT);
                explained = value_difference(value, our_value, &facts, completed, &mut found);
            }
            explained &= flag_difference(hart, raised, our_raised, our_value, &facts, &mut found);
            explained.then_some(found)
        }
        (Effect::Trap, Effect::Result { .. }) => {
            let nan = is_nan::<Binary64>(operands(hart, inst)[1]);
            if inst.op == Op::AlphaCvttq && nan {
                Some(vec![Difference::QuietNanToInteger])
            } else if facts.to_integer && facts.qualifiers.completion() && facts.inexact {
                Some(vec![Difference::OverflowIsInvalid])
            } else {
                None
            }
        }
        (Effect::Result { .. }, Effect::Trap) => trap_difference(hart, &facts),
        _ => None,
    };
    found.ok_or_else(|| {
        let [a, b] = operands(hart, inst);
        format!(
            "{}, operands {a:#x} {b:#x}, fcsr {:#x}, control {:#x}: QEMU {qemu:x?}, ours {ours:x?}",
            disassemble(inst, 0),
            hart.fcsr,
            fpcr::ieee_fp_control(hart),
        )
    })
}

/// Explains another value. False: it cannot.
fn value_difference(
    qemu: u64,
    ours: u64,
    facts: &Facts,
    completed: bool,
    found: &mut Vec<Difference>,
) -> bool {
    const CANONICAL: u64 = 0xfff8 << 48;
    const LEAST_NORMAL: [u64; 2] = [0x0010_0000_0000_0000, 0x3810_0000_0000_0000];
    let zeroed = facts.tiny && facts.flushes && qemu & !SIGN == 0;
    if ours == qemu {
        true
    } else if ours == CANONICAL && qemu == CANONICAL ^ SIGN {
        found.push(Difference::CanonicalNan);
        true
    } else if facts.second_nan == Some(ours) {
        found.push(Difference::NanOfSecondOperand);
        true
    } else if zeroed && ours == 0 {
        found.push(Difference::TrueZero);
        true
    } else if zeroed && LEAST_NORMAL.contains(&(ours & !SIGN)) {
        found.push(Difference::TinyAfterRounding);
        true
    } else if zeroed && completed && !facts.inexact && is_denormal::<Binary64>(ours) {
        found.push(Difference::ExactDenormalStays);
        true
    } else {
        false
    }
}

/// Explains other flags. False: it cannot.
fn flag_difference(
    hart: &Hart,
    qemu: u8,
    ours: u8,
    value: u64,
    facts: &Facts,
    found: &mut Vec<Difference>,
) -> bool {
    let (extra, missing) = (ours & !qemu, qemu & !ours);
    let zeroed = facts.tiny && facts.flushes;
    let overflow = facts.to_integer && facts.qualifiers.completion() && ours & IOV != 0;
    let mut explained = 0;
    if extra & NX != 0 && (!facts.qualifiers.inexact() || zeroed) {
        explained |= NX;
        if !zeroed {
            found.push(Difference::InexactAccrues);
        }
    }
    if extra & UF != 0 && zeroed {
        explained |= UF | NX;
        if value & !SIGN == 0 {
            found.push(Difference::TrueZero);
        }
    }
    if extra & UF != 0 && facts.completed(hart) && facts.inexact && facts.tiny {
        explained |= UF;
        found.push(Difference::TinyBeforeRounding);
    }
    if extra & IOV != 0 && facts.completed(hart) {
        explained |= IOV;
        found.push(Difference::DenormalAccrues);
    }
    if extra & NV != 0 && overflow {
        explained |= NV | NX;
        found.push(Difference::OverflowIsInvalid);
    }
    missing == 0 && extra & !explained == 0
}

/// Explains a trap of ours where QEMU has a result.
fn trap_difference(hart: &Hart, facts: &Facts) -> Option<Vec<Difference>> {
    let qualifiers = facts.qualifiers;
    if !qualifiers.completion() && qualifiers.underflow_or_overflow() && facts.tiny {
        return Some(vec![Difference::UnderflowTraps]);
    }
    let kernel = facts.completed(hart) || qualifiers.completion() && facts.tiny;
    let inexact = enables(hart, INEXACT) && (!qualifiers.inexact() || facts.tiny);
    let underflow = enables(hart, UNDERFLOW) && facts.tiny;
    (kernel && (inexact || underflow)).then(|| vec![Difference::CompletionSignals])
}

/// Trap enables of the software control word.
const UNDERFLOW: u64 = 1 << 4;
const INEXACT: u64 = 1 << 5;

fn enables(hart: &Hart, exception: u64) -> bool {
    fpcr::ieee_fp_control(hart) & exception != 0
}
