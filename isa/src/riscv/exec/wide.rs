//! Operations whose access is wider than a register: `amocas.q` and `cbo.zero`.
//!
//! No queue of a pipeline can hold such an access, so they execute with nothing else in flight
//! (`Alone::Wide` of `hps-system`). Further costs are not modelled.

use super::rs1;
use crate::bus::{Bus, MemFault};
use crate::exec::Outcome;
use crate::hart::{Hart, NO_RESERVATION};
use crate::inst::{CACHE_BLOCK_BYTES, Inst, Op};
use crate::trap::TrapCause;

/// Asks to be executed alone. Registers of `amocas.q` come in pairs, each of which begins with an even one.
#[inline(always)]
pub(crate) fn wide<B>(_: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    if inst.op == Op::AmocasQ && (inst.rs3 | inst.rs2) & 1 != 0 {
        return Outcome::Trap(TrapCause::IllegalInstruction);
    }
    Outcome::Wide
}

/// Executes an operation that asked to be executed alone.
///
/// # Errors
/// The cause of the fault; nothing has changed then.
pub fn execute<B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst) -> Result<(), TrapCause> {
    let refused = |fault: MemFault| TrapCause::StoreFault { addr: fault.addr };
    match inst.op {
        Op::CboZero => {
            let block = rs1(hart, inst) & !(CACHE_BLOCK_BYTES - 1);
            for offset in (0..CACHE_BLOCK_BYTES).step_by(8) {
                // A block lies in one page: its first word is refused, or none is.
                bus.store::<8>(block + offset, 0).map_err(refused)?;
            }
            Ok(())
        }
        Op::AmocasQ => compare_and_swap(hart, bus, inst),
        _ => Err(TrapCause::IllegalInstruction),
    }
}

fn compare_and_swap<B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst) -> Result<(), TrapCause> {
    let addr = rs1(hart, inst);
    if !addr.is_multiple_of(16) {
        return Err(TrapCause::MisalignedAtomic { addr });
    }
    let refused = |fault: MemFault| TrapCause::StoreFault { addr: fault.addr };
    let old = [bus.load::<8>(addr), bus.load::<8>(addr + 8)];
    let [low, high] = old.map(|half| half.map_err(refused));
    let old = [low?, high?];
    if old == pair(hart, inst.rs3) {
        for (offset, half) in (0..).step_by(8).zip(pair(hart, inst.rs2)) {
            bus.store::<8>(addr + offset, half).map_err(refused)?;
        }
    }
    if inst.rs3 != 0 {
        let at = usize::from(inst.rs3);
        hart.r[at..at + 2].copy_from_slice(&old);
    }
    hart.reservation = NO_RESERVATION;
    Ok(())
}

/// The values of a register and the one behind it; the pair of register 0 reads as zero.
fn pair(hart: &Hart, first: u8) -> [u64; 2] {
    match usize::from(first) {
        0 => [0; 2],
        at => [hart.r[at], hart.r[at + 1]],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::ram::Ram;

    fn amocas(rd: u8, rs2: u8) -> Inst {
        Inst {
            op: Op::AmocasQ,
            rd,
            rs1: 10,
            rs2,
            rs3: rd,
            ..Inst::illegal(4)
        }
    }

    #[test]
    fn pairs_are_swapped_if_both_halves_are_expected() {
        for (expected, swaps) in [([1, 2], true), ([1, 3], false), ([0, 2], false)] {
            let mut ram = Ram([0; 64]);
            ram.store::<8>(16, 1).unwrap();
            ram.store::<8>(24, 2).unwrap();
            let mut hart = Hart::default();
            hart.r[10] = 16;
            hart.r[12..14].copy_from_slice(&expected);
            hart.r[14..16].copy_from_slice(&[7, 8]);
            assert_eq!(execute(&mut hart, &mut ram, &amocas(12, 14)), Ok(()));
            assert_eq!(hart.r[12..14], [1, 2]);
            let behind = [ram.load::<8>(16).unwrap(), ram.load::<8>(24).unwrap()];
            assert_eq!(behind, if swaps { [7, 8] } else { [1, 2] });
        }
    }

    #[test]
    fn odd_registers_and_addresses_are_refused() {
        let (mut hart, mut ram) = (Hart::default(), Ram([0; 64]));
        let illegal = Outcome::Trap(TrapCause::IllegalInstruction);
        for (rd, rs2) in [(13, 14), (12, 15)] {
            assert_eq!(wide(&mut hart, &mut ram, &amocas(rd, rs2), 0), illegal);
        }
        hart.r[10] = 8;
        let refused = execute(&mut hart, &mut ram, &amocas(12, 14));
        assert_eq!(refused, Err(TrapCause::MisalignedAtomic { addr: 8 }));
    }
}
