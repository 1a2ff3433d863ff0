//! Operations by value ([`values`]), and what the lockstep test against QEMU cannot show: traps,
//! reservations, counters.

mod values;

use crate::exec::ram::Ram;
use crate::exec::{Outcome, execute};
use crate::hart::{Hart, NO_RESERVATION};
use crate::inst::{Inst, Op, reg};
use crate::trap::TrapCause;

const PC: u64 = 0x1000;
const A: u8 = 1;
const B: u8 = 2;
const C: u8 = 3;
const LITERAL: i64 = 0x100;

struct Guest {
    hart: Hart,
    ram: Ram,
}

impl Guest {
    fn new() -> Self {
        Guest {
            hart: Hart::default(),
            ram: Ram(std::array::from_fn(|i| (i as u8).wrapping_mul(7))),
        }
    }
    fn set(&mut self, register: u8, value: u64) -> &mut Self {
        self.hart.r[register as usize] = value;
        self
    }
    fn get(&self, register: u8) -> u64 {
        self.hart.r[register as usize]
    }
    fn run(&mut self, inst: &Inst) -> Outcome {
        execute(&mut self.hart, &mut self.ram, inst, PC)
    }
    /// Runs an instruction that must trap and must not change anything.
    fn trap(&mut self, inst: &Inst) -> TrapCause {
        let (hart, ram) = (self.hart.clone(), self.ram.0);
        let outcome = self.run(inst);
        assert_eq!((&self.hart, self.ram.0), (&hart, ram), "{inst:?}");
        match outcome {
            Outcome::Trap(cause) => cause,
            other => panic!("{inst:?}: {other:?}"),
        }
    }
}

fn build(op: Op) -> Inst {
    Inst {
        op,
        class: op.class(),
        ..Inst::illegal(4)
    }
}

/// `op A, B, C`.
fn registers(op: Op) -> Inst {
    Inst {
        rd: C,
        rs1: A,
        rs2: B,
        ..build(op)
    }
}

/// `op A, literal, C`.
fn literal(op: Op, value: u8) -> Inst {
    Inst {
        rd: C,
        rs1: A,
        imm: LITERAL | i64::from(value),
        ..build(op)
    }
}

/// `op C, disp(A)`, the data of a store in B.
fn memory(op: Op, disp: i64) -> Inst {
    Inst {
        imm: disp,
        ..registers(op)
    }
}

/// The result of an operation on two registers; and on a literal, where the value fits.
fn result(op: Op, a: u64, b: u64) -> u64 {
    let mut guest = Guest::new();
    assert_eq!(
        guest.set(A, a).set(B, b).run(&registers(op)),
        Outcome::Next,
        "{op:?}"
    );
    let value = guest.get(C);
    if let Ok(short) = u8::try_from(b) {
        guest.set(C, !value);
        assert_eq!(guest.run(&literal(op, short)), Outcome::Next, "{op:?}");
        assert_eq!(guest.get(C), value, "{op:?} with a literal");
    }
    value
}

#[test]
fn overflow_traps_and_writes_nothing() {
    const EDGE: u64 = i64::MAX as u64;
    let overflow = TrapCause::Arithmetic { exceptions: 1 << 6 };
    let cases = [
        (Op::AlphaAddlV, 0x7fff_ffff, 1, None),
        (Op::AlphaAddlV, 0xffff_ffff_7fff_fffe, 1, Some(0x7fff_ffff)),
        (Op::AlphaSublV, 0x8000_0000, 1, None),
        (Op::AlphaSublV, 3, 5, Some(-2)),
        (Op::AlphaMullV, 0x1_0000, 0x8000, None),
        (Op::AlphaMullV, 0x1_0000, 0x7fff, Some(0x7fff_0000)),
        (Op::AlphaAddqV, EDGE, 1, None),
        (Op::AlphaAddqV, EDGE - 1, 1, Some(i64::MAX)),
        (Op::AlphaSubqV, 1 << 63, 1, None),
        (Op::AlphaSubqV, 0, 1, Some(-1)),
        (Op::AlphaMulqV, 1 << 62, 2, None),
        (Op::AlphaMulqV, 1 << 61, 2, Some(1 << 62)),
    ];
    for (op, a, b, expected) in cases {
        match expected {
            Some(value) => assert_eq!(result(op, a, b), value as u64, "{op:?}"),
            None => {
                let mut guest = Guest::new();
                let cause = guest.set(A, a).set(B, b).trap(&registers(op));
                assert_eq!(cause, overflow, "{op:?}");
                // An operation with register 31 as its destination traps, too.
                let nowhere = Inst {
                    rd: reg::SINK,
                    ..registers(op)
                };
                assert_eq!(guest.trap(&nowhere), overflow, "{op:?}");
            }
        }
    }
}

#[test]
fn conditions_on_integers() {
    // The bits say for which of -1, 0, 1, 2 each holds.
    let cases = [
        (Op::AlphaCmovlbs, Op::AlphaBlbs, 0b0101),
        (Op::AlphaCmovlbc, Op::AlphaBlbc, 0b1010),
        (Op::AlphaCmoveq, Op::AlphaBeq, 0b0010),
        (Op::AlphaCmovne, Op::AlphaBne, 0b1101),
        (Op::AlphaCmovlt, Op::AlphaBlt, 0b0001),
        (Op::AlphaCmovge, Op::AlphaBge, 0b1110),
        (Op::AlphaCmovle, Op::AlphaBle, 0b0011),
        (Op::AlphaCmovgt, Op::AlphaBgt, 0b1100),
    ];
    for (cmov, branch, holds) in cases {
        for (i, a) in [u64::MAX, 0, 1, 2].into_iter().enumerate() {
            let mut guest = Guest::new();
            let inst = Inst {
                rs3: C,
                ..registers(cmov)
            };
            guest.set(A, a).set(B, 7).set(C, 9).run(&inst);
            let taken = holds >> i & 1 != 0;
            assert_eq!(guest.get(C), if taken { 7 } else { 9 }, "{cmov:?} {a:#x}");
            branches(&mut guest, branch, taken);
        }
    }
}

fn branches(guest: &mut Guest, op: Op, taken: bool) {
    let inst = Inst {
        rs1: A,
        imm: -16,
        ..build(op)
    };
    let expected = if taken {
        Outcome::Taken(PC - 16)
    } else {
        Outcome::Next
    };
    assert_eq!(guest.run(&inst), expected, "{op:?} {:#x}", guest.get(A));
}

#[test]
fn conditions_on_floating_point_registers_look_at_bits() {
    // The bits say for which of -NaN, -1, -0, 0, 2^-1074, NaN each holds.
    const VALUES: [u64; 6] = [
        0xfff8_0000_0000_0000,
        0xbff0_0000_0000_0000,
        1 << 63,
        0,
        1,
        0x7ff8_0000_0000_0000,
    ];
    let cases = [
        (Op::AlphaFbeq, 0b001100),
        (Op::AlphaFbne, 0b110011),
        (Op::AlphaFblt, 0b000011),
        (Op::AlphaFbge, 0b111100),
        (Op::AlphaFble, 0b001111),
        (Op::AlphaFbgt, 0b110000),
    ];
    for (op, holds) in cases {
        for (i, a) in VALUES.into_iter().enumerate() {
            branches(Guest::new().set(A, a), op, holds >> i & 1 != 0);
        }
    }
}

#[test]
fn jumps_link_behind_themselves_and_read_before_they_write() {
    for op in [
        Op::AlphaJmp,
        Op::AlphaJsr,
        Op::AlphaRet,
        Op::AlphaJsrCoroutine,
    ] {
        let mut guest = Guest::new();
        let inst = Inst {
            rd: A,
            rs1: A,
            imm: 0x3fff,
            ..build(op)
        };
        let outcome = guest.set(A, 0x2007).run(&inst);
        assert_eq!((outcome, guest.get(A)), (Outcome::Taken(0x2004), PC + 4));
    }
    for op in [Op::AlphaBr, Op::AlphaBsr] {
        let mut guest = Guest::new();
        let inst = Inst {
            rd: A,
            imm: 0x44,
            ..build(op)
        };
        assert_eq!(guest.run(&inst), Outcome::Taken(PC + 0x44));
        assert_eq!(guest.get(A), PC + 4);
    }
}

#[test]
fn loads_extend_and_stores_cut() {
    let mut guest = Guest::new();
    guest.ram.0[8..16].copy_from_slice(&0x8877_6655_c433_82f1_u64.to_le_bytes());
    guest.set(A, 16);
    for (op, disp, expected) in [
        (Op::AlphaLdbu, -8, 0xf1),
        (Op::AlphaLdwu, -8, 0x82f1),
        (Op::AlphaLdwu, -7, 0x3382),
        (Op::AlphaLdl, -8, 0xffff_ffff_c433_82f1),
        (Op::AlphaLdl, -6, 0x6655_c433),
        (Op::AlphaLdq, -8, 0x8877_6655_c433_82f1),
        (Op::AlphaLdqU, -1, 0x8877_6655_c433_82f1),
        (Op::AlphaLdt, -8, 0x8877_6655_c433_82f1),
        (Op::AlphaLds, -8, 0xc086_705e_2000_0000),
    ] {
        assert_eq!(guest.run(&memory(op, disp)), Outcome::Next);
        assert_eq!(guest.get(C), expected, "{op:?} {disp}");
    }
    guest.set(B, 0xc086_705e_2000_0000);
    for (op, disp, expected) in [
        (Op::AlphaStb, 8, 0xffff_ffff_ffff_ff00_u64),
        (Op::AlphaStw, 9, 0xffff_ffff_ff00_00ff),
        (Op::AlphaStl, 10, 0xffff_2000_0000_ffff),
        (Op::AlphaStqU, 15, 0xc086_705e_2000_0000),
        (Op::AlphaStq, 8, 0xc086_705e_2000_0000),
        (Op::AlphaStt, 8, 0xc086_705e_2000_0000),
        (Op::AlphaSts, 8, 0xffff_ffff_c433_82f1),
    ] {
        guest.ram.0[8..16].fill(0xff);
        guest.set(A, 0);
        assert_eq!(guest.run(&memory(op, disp)), Outcome::Next);
        assert_eq!(guest.ram.0[8..16], expected.to_le_bytes(), "{op:?} {disp}");
    }
}

#[test]
fn s_floating_is_widened_and_narrowed() {
    use super::mem::{register_to_s, s_to_register};
    for (single, register) in [
        (0, 0),
        (0x8000_0000, 1 << 63),
        (0x3f80_0000, 0x3ff0_0000_0000_0000),
        (0xc000_0000, 0xc000_0000_0000_0000),
        (0x7f80_0000, 0x7ff0_0000_0000_0000),
        (0xffc0_0000, 0xfff8_0000_0000_0000),
        (0x7f7f_ffff, 0x47ef_ffff_e000_0000),
        (0x0080_0000, 0x3810_0000_0000_0000),
        // Subnormal values keep their exponent.
        (0x0000_0001, 0x0000_0000_2000_0000),
        (0x807f_ffff, 0x800f_ffff_e000_0000),
    ] {
        assert_eq!(s_to_register(single), register, "{single:#x}");
        assert_eq!(register_to_s(register), single, "{register:#x}");
    }
}

#[test]
fn loads_and_stores_trap_without_effect() {
    let mut guest = Guest::new();
    guest.set(A, 60);
    for (op, disp, cause) in [
        (Op::AlphaLdq, 0, TrapCause::LoadFault { addr: 60 }),
        (Op::AlphaLdqU, 4, TrapCause::LoadFault { addr: 64 }),
        (Op::AlphaLds, 4, TrapCause::LoadFault { addr: 64 }),
        (Op::AlphaStb, -28, TrapCause::StoreFault { addr: 32 }),
        (Op::AlphaStqU, 3, TrapCause::StoreFault { addr: 56 }),
        (Op::AlphaLdqL, 0, TrapCause::MisalignedAtomic { addr: 60 }),
        (Op::AlphaLdlL, 1, TrapCause::MisalignedAtomic { addr: 61 }),
        (Op::AlphaStqC, 0, TrapCause::MisalignedAtomic { addr: 60 }),
        (Op::AlphaStlC, 2, TrapCause::MisalignedAtomic { addr: 62 }),
        (Op::AlphaLdqL, 4, TrapCause::LoadFault { addr: 64 }),
    ] {
        assert_eq!(guest.trap(&memory(op, disp)), cause, "{op:?}");
    }
    // Unaligned accesses are completed unless the process wants the signal.
    guest.set(A, 9);
    assert_eq!(guest.run(&memory(Op::AlphaLdq, 0)), Outcome::Next);
    guest.set(reg::UNALIGNED, 1);
    for op in [Op::AlphaLdq, Op::AlphaStw, Op::AlphaLdt, Op::AlphaSts] {
        let cause = guest.trap(&memory(op, 0));
        assert_eq!(cause, TrapCause::Misaligned { addr: 9 }, "{op:?}");
    }
    for op in [Op::AlphaLdbu, Op::AlphaStb, Op::AlphaLdqU, Op::AlphaStqU] {
        assert_eq!(guest.run(&memory(op, 0)), Outcome::Next, "{op:?}");
    }
    assert_eq!(guest.run(&memory(Op::AlphaLdq, 7)), Outcome::Next);
}

#[test]
fn store_conditional_needs_the_reservation_on_its_address() {
    let mut guest = Guest::new();
    let conditional = |op| Inst {
        rd: B,
        ..memory(op, 0)
    };
    guest.set(A, 8).set(B, 7);
    guest.run(&conditional(Op::AlphaStlC));
    assert_eq!((guest.get(B), guest.ram.0[8]), (0, 56));
    guest.run(&memory(Op::AlphaLdlL, 0));
    assert_eq!((guest.get(C), guest.hart.reservation), (0x4d46_3f38, 8));
    // A store of the same processor in between does not break the reservation.
    guest.set(B, 9).run(&memory(Op::AlphaStl, 0));
    guest.run(&conditional(Op::AlphaStlC));
    assert_eq!((guest.get(B), guest.ram.0[8]), (1, 9));
    assert_eq!(guest.hart.reservation, NO_RESERVATION);
    guest.run(&memory(Op::AlphaLdqL, 0));
    guest.set(A, 16).set(B, 3).run(&conditional(Op::AlphaStqC));
    assert_eq!((guest.get(B), guest.ram.0[16]), (0, 112));
    assert_eq!(guest.hart.reservation, NO_RESERVATION);
    guest.set(A, 32).run(&memory(Op::AlphaLdqL, 0));
    let cause = guest.trap(&conditional(Op::AlphaStqC));
    assert_eq!(cause, TrapCause::StoreFault { addr: 32 });
}

#[test]
fn counters_flags_and_pal_calls() {
    let mut guest = Guest::new();
    guest.hart.counters.cycle = 0x12_3456_789a;
    let read = |op| Inst { rd: C, ..build(op) };
    guest.run(&read(Op::AlphaRpcc));
    assert_eq!(guest.get(C), 0x3456_789a);
    for (op, before) in [
        (Op::AlphaRs, 0),
        (Op::AlphaRs, 1),
        (Op::AlphaRc, 1),
        (Op::AlphaRc, 0),
    ] {
        assert_eq!(guest.run(&read(op)), Outcome::Next);
        assert_eq!(guest.get(C), before, "{op:?}");
    }
    let moved = |op, rd, rs1| Inst {
        rd,
        rs1,
        ..build(op)
    };
    guest.set(A, 0x7f00);
    guest.run(&moved(Op::AlphaWruniq, reg::UNIQUE, A));
    guest.run(&moved(Op::AlphaRduniq, C, reg::UNIQUE));
    assert_eq!(guest.get(C), 0x7f00);
    assert_eq!(guest.run(&build(Op::AlphaCallsys)), Outcome::Syscall);
    assert_eq!(guest.run(&build(Op::AlphaImb)), Outcome::FenceI);
    for op in [
        Op::AlphaTrapb,
        Op::AlphaExcb,
        Op::AlphaMb,
        Op::AlphaWmb,
        Op::AlphaFetch,
        Op::AlphaFetchM,
        Op::AlphaEcb,
        Op::AlphaWh64,
        Op::AlphaWh64en,
    ] {
        let before = guest.hart.clone();
        assert_eq!(guest.run(&build(op)), Outcome::Next, "{op:?}");
        assert_eq!(guest.hart, before, "{op:?}");
    }
    assert_eq!(guest.trap(&build(Op::AlphaBpt)), TrapCause::Breakpoint);
    let bugcheck = guest.trap(&build(Op::AlphaBugchk));
    assert_eq!(bugcheck, TrapCause::Raised { code: 0 });
    guest.set(A, -2i64 as u64);
    let raised = guest.trap(&moved(Op::AlphaGentrap, reg::SINK, A));
    assert_eq!(raised, TrapCause::Raised { code: -2 });
}
