//! Effects that the lockstep test against QEMU cannot show: traps, reservations, counters, DISE.

use crate::exec::ram::Ram;
use crate::exec::{Outcome, execute};
use crate::hart::{GuestCounters, Hart, NO_RESERVATION};
use crate::inst::{Inst, Op, reg};
use crate::riscv::asm::{NoHook, assemble};
use crate::trap::TrapCause;

const PC: u64 = 0x1000;
const A0: usize = 10;
const A1: usize = 11;
const A2: usize = 12;

struct Guest {
    hart: Hart,
    ram: Ram,
}

impl Guest {
    fn new() -> Self {
        Guest {
            hart: Hart::default(),
            ram: Ram([0; 64]),
        }
    }
    fn run(&mut self, text: &str) -> Outcome {
        let inst = assemble(text, PC, &NoHook).unwrap_or_else(|e| panic!("{text}: {e}"));
        execute(&mut self.hart, &mut self.ram, &inst, PC)
    }
    /// Runs an instruction that must trap and must not change anything.
    fn trap(&mut self, text: &str) -> TrapCause {
        let (hart, ram) = (self.hart.clone(), self.ram.0);
        let outcome = self.run(text);
        assert_eq!(
            (&self.hart, self.ram.0),
            (&hart, ram),
            "{text} trapped and changed something"
        );
        match outcome {
            Outcome::Trap(cause) => cause,
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn store_conditional_needs_the_reservation_on_its_address() {
    let mut g = Guest::new();
    g.hart.r[A1] = 8;
    g.hart.r[A2] = 7;
    g.run("sc.w a0, a2, (a1)");
    assert_eq!((g.hart.r[A0], g.ram.0[8]), (1, 0));
    g.run("lr.w a0, (a1)");
    assert_eq!(g.hart.reservation, 8);
    // A store of the same hart in between does not break the reservation.
    g.run("sw a2, 0(a1)");
    g.run("sc.w a0, a1, (a1)");
    assert_eq!(
        (g.hart.r[A0], g.ram.0[8], g.hart.reservation),
        (0, 8, NO_RESERVATION)
    );
    g.run("lr.d a0, (a1)");
    g.hart.r[A1] = 16;
    g.run("sc.d a0, a2, (a1)");
    assert_eq!(
        (g.hart.r[A0], g.ram.0[16], g.hart.reservation),
        (1, 0, NO_RESERVATION)
    );
}

#[test]
fn atomics_trap_where_they_must() {
    let mut g = Guest::new();
    g.hart.r[A1] = 4;
    for text in [
        "amoadd.d a0, a2, (a1)",
        "lr.d a0, (a1)",
        "sc.d a0, a2, (a1)",
    ] {
        assert_eq!(
            g.trap(text),
            TrapCause::MisalignedAtomic { addr: 4 },
            "{text}"
        );
    }
    g.hart.r[A1] = 32;
    assert_eq!(
        g.trap("amoadd.d a0, a2, (a1)"),
        TrapCause::StoreFault { addr: 32 }
    );
    g.run("lr.d a0, (a1)");
    assert_eq!(
        g.trap("sc.d a0, a2, (a1)"),
        TrapCause::StoreFault { addr: 32 }
    );
    g.hart.r[A1] = 64;
    assert_eq!(
        g.trap("amoadd.d a0, a2, (a1)"),
        TrapCause::StoreFault { addr: 64 }
    );
    assert_eq!(g.trap("lr.d a0, (a1)"), TrapCause::LoadFault { addr: 64 });
}

#[test]
fn loads_and_stores_trap_without_effect() {
    let mut g = Guest::new();
    g.hart.r[A1] = 60;
    assert_eq!(g.trap("ld a0, 0(a1)"), TrapCause::LoadFault { addr: 60 });
    assert_eq!(g.trap("flw fa0, 8(a1)"), TrapCause::LoadFault { addr: 68 });
    assert_eq!(g.trap("fsd fa0, 0(a1)"), TrapCause::StoreFault { addr: 60 });
    assert_eq!(g.trap("sb a0, -28(a1)"), TrapCause::StoreFault { addr: 32 });
}

#[test]
fn only_the_documented_csrs_exist() {
    let mut g = Guest::new();
    g.hart.counters = GuestCounters {
        cycle: 11,
        time_ns: 22,
        instret: 33,
    };
    for (text, value) in [("rdcycle a0", 11), ("rdtime a0", 22), ("rdinstret a0", 33)] {
        assert_eq!(g.run(text), Outcome::Next);
        assert_eq!(g.hart.r[A0], value, "{text}");
    }
    g.hart.r[A1] = 0x1ff;
    for text in [
        "csrw cycle, a1",
        "csrw cycle, zero",
        "csrs time, a1",
        "csrci instret, 1",
        "csrr a0, 0x300",
        "csrr a0, 0xc03",
        "csrw 0x8, a1",
    ] {
        assert_eq!(g.trap(text), TrapCause::IllegalInstruction, "{text}");
    }
    g.run("csrrw a0, fcsr, a1");
    assert_eq!(g.hart.fcsr, 0xff);
    g.run("fsflagsi a0, 2");
    assert_eq!((g.hart.r[A0], g.hart.fcsr), (0x1f, 0xe2));
    g.run("fsrm a0, zero");
    assert_eq!((g.hart.r[A0], g.hart.fcsr), (7, 2));
    g.run("csrrc a0, fcsr, a1");
    assert_eq!((g.hart.r[A0], g.hart.fcsr), (2, 0));
}

#[test]
fn a_reserved_dynamic_rounding_mode_is_illegal_where_it_is_used() {
    let mut g = Guest::new();
    for frm in 5..8 {
        g.run(&format!("fsrmi {frm}"));
        for text in [
            "fadd.s fa0, fa0, fa0",
            "fsqrt.d fa0, fa0",
            "fcvt.d.w fa0, a0, dyn",
            "fcvt.lu.s a0, fa0",
        ] {
            assert_eq!(
                g.trap(text),
                TrapCause::IllegalInstruction,
                "{text} with frm {frm}"
            );
        }
        assert_eq!(g.run("fadd.s fa0, fa0, fa0, rtz"), Outcome::Next);
        assert_eq!(g.run("fcvt.d.w fa0, a0"), Outcome::Next);
        assert_eq!(g.run("fmin.d fa0, fa0, fa0"), Outcome::Next);
    }
}

#[test]
fn single_precision_values_are_boxed() {
    let mut g = Guest::new();
    let fa = |n: usize| 32 + 10 + n;
    g.hart.r[fa(1)] = 0x1234_5678_3f80_0000; // 1.0, badly boxed
    g.hart.r[fa(2)] = 0xffff_ffff_bf80_0000; // -1.0
    g.run("fadd.s fa0, fa1, fa2");
    assert_eq!(g.hart.r[fa(0)], 0xffff_ffff_7fc0_0000);
    g.run("fsgnj.s fa0, fa1, fa2");
    assert_eq!(g.hart.r[fa(0)], 0xffff_ffff_ffc0_0000);
    g.run("fclass.s a0, fa1");
    assert_eq!(g.hart.r[A0], 1 << 9);
    g.run("fmv.x.w a0, fa1");
    assert_eq!(g.hart.r[A0], 0x3f80_0000);
    g.run("fmv.x.w a0, fa2");
    assert_eq!(g.hart.r[A0], 0xffff_ffff_bf80_0000);
    g.run("fsw fa1, 0(zero)");
    assert_eq!(g.ram.0[..4], [0, 0, 0x80, 0x3f]);
    assert_eq!(g.hart.fcsr, 0);
}

#[test]
fn jumps_link_behind_themselves_and_read_before_they_write() {
    let mut g = Guest::new();
    g.hart.r[A1] = 0x2001;
    assert_eq!(g.run("jalr a1, 4(a1)"), Outcome::Taken(0x2004));
    assert_eq!(g.hart.r[A1], PC + 4);
    let short = Inst {
        len: 2,
        ..assemble("jal ra, 0x1800", PC, &NoHook).unwrap()
    };
    assert_eq!(
        execute(&mut g.hart, &mut g.ram, &short, PC),
        Outcome::Taken(0x1800)
    );
    assert_eq!(g.hart.r[1], PC + 2);
    assert_eq!(g.run("bltu zero, zero, 0x1010"), Outcome::Next);
    assert_eq!(g.run("bgeu zero, zero, 0x0ff0"), Outcome::Taken(0xff0));
}

#[test]
fn words_that_qemu_miscounts() {
    // The word is zero and the upper half of its register is not: see the lockstep test.
    let mut g = Guest::new();
    g.hart.r[A1] = 1 << 33;
    g.run("ctzw a0, a1");
    assert_eq!(g.hart.r[A0], 32);
}

#[test]
fn system_instructions_say_what_they_are() {
    let mut g = Guest::new();
    assert_eq!(g.run("ecall"), Outcome::Syscall);
    assert_eq!(g.run("fence.i"), Outcome::FenceI);
    assert_eq!(g.run("fence"), Outcome::Next);
    assert_eq!(g.trap("ebreak"), TrapCause::Breakpoint);
    let illegal = execute(&mut g.hart, &mut g.ram, &Inst::illegal(4), PC);
    assert_eq!(illegal, Outcome::Trap(TrapCause::IllegalInstruction));
}

#[test]
fn writes_to_the_zero_register_vanish() {
    let mut g = Guest::new();
    g.hart.r[A1] = 5;
    for text in [
        "add zero, a1, a1",
        "lb zero, 0(a1)",
        "jal zero, 0x1000",
        "csrr zero, fcsr",
        "fmv.x.d zero, fa0",
    ] {
        g.run(text);
        assert_eq!(g.hart.r[reg::ZERO as usize], 0, "{text}");
    }
}

#[test]
fn dise_operations() {
    let mut g = Guest::new();
    g.hart.r[reg::DISE as usize] = 3;
    assert_eq!(g.run("d_beq dr0, zero, 4"), Outcome::Next);
    assert_eq!(g.run("d_bne dr0, zero, 4"), Outcome::DiseTaken(4));
    assert_eq!(g.run("d_blt zero, dr0, 2"), Outcome::DiseTaken(2));
    assert_eq!(g.run("d_bge zero, dr0, 2"), Outcome::Next);
    assert_eq!(g.run("d_bltu dr0, zero, 2"), Outcome::Next);
    assert_eq!(g.run("d_bgeu dr0, zero, 2"), Outcome::DiseTaken(2));
    assert_eq!(g.run("d_br 255"), Outcome::DiseTaken(255));
    assert_eq!(g.run("d_call 0x7000"), Outcome::DiseCall(0x7000));
    assert_eq!(g.run("d_ccall dr0, 0x7000"), Outcome::DiseCall(0x7000));
    assert_eq!(g.run("d_ccall dr1, 0x7000"), Outcome::Next);
    assert_eq!(g.run("d_ret"), Outcome::DiseReturn);
    assert_eq!(g.run("d_drain"), Outcome::DiseDrain);
    assert_eq!(g.run("d_mfdr a0, dr0"), Outcome::Next);
    assert_eq!(g.hart.r[A0], 3);
    assert_eq!(g.run("addi dr1, dr0, 1"), Outcome::Next);
    assert_eq!(g.run("d_move dr2, dr1"), Outcome::Next);
    assert_eq!(g.hart.r[reg::DISE as usize + 2], 4);
    assert_eq!(
        Op::from_mnemonic(crate::isa::Isa::Riscv64, "d_mtdr"),
        Some(Op::DiseMove)
    );
}
