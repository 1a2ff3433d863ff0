//! Alpha in threaded code: what it translates in ways of its own.

use std::sync::Arc;

use hps_isa::alpha::asm::{NoHook, assemble};
use hps_isa::inst::Op;
use hps_isa::isa::Isa;
use hps_isa::ops::Format;
use hps_isa::trap::TrapCause;
use hps_sim_core::machine::Stop;
use hps_system::image::ProgramImage;

use super::pair::{self, CODE, DATA, Pair};

fn program(text: &str) -> Arc<ProgramImage> {
    pair::program(Isa::Alpha, text)
}

/// Three times around a loop: constants, copies, instructions without effect, links, table misses,
/// accesses of every kind, counters, floating-point moves and branches, locked pairs, system calls.
const MIXTURE: &str = "
    ldah s0, 8(zero)
    lda s1, 3(zero)
loop:
    nop
    unop
    ldah t0, 0x1234(zero)
    lda t0, 0x5678(t0)
    lda t1, 100(t0)
    lda t1, 28(t1)
    lda t1, -8(t1)
    addl t0, 1, t0
    mov t0, t2
    bis t0, t0, t3
    bis zero, 200, t4
    addq t0, zero, t5
    addq t0, 1, zero
    br over
    lda s2, 100(s2)
over:
    stq t0, 0(s0)
    stq t1, 8(s0)
    ldq t6, 3(s0)
    stl t6, 4094(s0)
    ldq_u t7, 5(s0)
    stq_u t7, 17(s0)
    ldbu t8, 1(s0)
    ldwu t9, 7(s0)
    stb t0, 33(s0)
    stw t0, 35(s0)
    rpcc t10
    addq s3, t10, s3
    bsr ra, callee
    bsr t11, other
    br gp, next
next:
    lda gp, 16(gp)
    jsr t12, (gp)
    lda s4, 1(s4)
    lda s4, 2(s4)
    cmoveq zero, t0, t1
    cmovlt t0, 7, t2
    itoft s1, $f1
    cvtqt $f1, $f2
    fmov $f2, $f3
    fneg $f3, $f4
    fbeq $f2, never
    fblt $f2, never
    fbge $f4, never
    fbgt $f4, never
    fbne $f31, never
    fble $f2, never
    ftoit $f4, t0
    mf_fpcr $f5
    stt $f4, 40(s0)
    sts $f4, 51(s0)
    lds $f6, 51(s0)
    rs t0
    rc t1
    ldq_l t3, 0(s0)
    stq_c t3, 0(s0)
    stl_c t4, 4(s0)
    wruniq
    mb
    trapb
    lda v0, 20(zero)
    callsys
    rduniq
    subq s1, 1, s1
    bgt s1, loop
    mov s2, a0
    lda v0, 1(zero)
    callsys
callee:
    lda s2, 1(s2)
    beq s2, never
    blt s2, never
    ble s2, never
    blbs zero, never
    ret
other:
    lda s2, 2(s2)
    ret zero, (t11)
never:
    bpt
";

#[test]
fn every_piece_size_gives_the_same_states() {
    let image = program(MIXTURE);
    for piece in (1..=140).chain([1 << 10, u64::MAX >> 1]) {
        let mut pair = Pair::new(&image, &[]);
        let stop = pair.run_in_pieces(std::iter::repeat(piece));
        assert_eq!(stop, Stop::Exit(9), "pieces of {piece}");
    }
}

/// Runs lines that leave their results in `t1`, on different values of `t0` and `t2`, and mixes the
/// results into one register, which the pair compares.
fn mixes(lines: &[String]) {
    let mut text =
        "lda s0, 3(zero)\nlda t0, 0x7ff7(zero)\nlda t2, -0x1235(zero)\nloop:\n".to_owned();
    for line in lines {
        text += &format!("{line}\ns4addq s1, t1, s1\nsrl s1, 61, t3\nxor s1, t3, s1\n");
    }
    text += "mulq t0, t2, t0\nsra t2, 3, t2\nsubq s0, 1, s0\nbeq s0, end\nbr loop\nend:\n\
             lda v0, 1(zero)\nlda a0, 0(zero)\ncallsys";
    let mut pair = Pair::new(&program(&text), &[]);
    let stop = pair.run_in_pieces(std::iter::repeat(997));
    assert_eq!(stop, Stop::Exit(0));
}

/// Every operation on integers that cannot trap.
fn operations() -> impl Iterator<Item = Op> {
    Op::ALL.iter().copied().filter(|op| {
        let operate = matches!(
            op.format(),
            Format::AlphaOperate | Format::AlphaOperateB | Format::AlphaConditionalMove
        );
        operate && !op.mnemonic().ends_with("/v")
    })
}

fn instruction(op: Op, a: &str, b: &str) -> String {
    let name = op.mnemonic();
    match op.format() {
        Format::AlphaOperateB => format!("{name} {b}, t1"),
        _ => format!("{name} {a}, {b}, t1"),
    }
}

#[test]
fn every_literal_means_what_it_says() {
    let all: Vec<Op> = operations().collect();
    assert!(all.len() >= 80, "{} operations", all.len());
    for ops in all.chunks(8) {
        let mut lines = Vec::new();
        for &op in ops {
            for value in 0..256 {
                let line = instruction(op, "t0", &value.to_string());
                // Some operations have none.
                if assemble(&line, CODE, &NoHook).is_ok() {
                    lines.push(line);
                }
            }
            lines.push(instruction(op, "zero", "t0"));
        }
        mixes(&lines);
    }
}

#[test]
fn registers_that_are_equal_or_zero() {
    let mut lines = Vec::new();
    for op in operations() {
        for (a, b) in [
            ("t0", "t2"),
            ("zero", "t2"),
            ("t0", "zero"),
            ("t0", "t0"),
            ("zero", "zero"),
            ("t1", "t2"),
            ("t0", "t1"),
        ] {
            lines.push(instruction(op, a, b));
        }
    }
    mixes(&lines);
}

#[test]
fn endless_loops_stop_at_the_limit() {
    for text in [
        "here:\nbr here",
        "a:\nbr b\nb:\nbr a",
        "a:\nnop\nbeq zero, a",
    ] {
        let mut pair = Pair::new(&program(text), &[]);
        for piece in [32, 33, 64, 127, 1000, 1056, 5001] {
            assert_eq!(pair.run(piece), Stop::Limit);
        }
    }
}

#[test]
fn faults_are_precise() {
    let last = CODE + 4 * 9;
    let overflow = TrapCause::Arithmetic { exceptions: 1 << 6 };
    let cases = [
        ("ldq a0, 8(zero)", last, TrapCause::LoadFault { addr: 8 }),
        ("stq a0, 8(zero)", last, TrapCause::StoreFault { addr: 8 }),
        (
            "ldq_u a0, 7(s3)",
            last,
            TrapCause::LoadFault {
                addr: 0x4000_0000 << 24,
            },
        ),
        (
            "stl a0, -1(zero)",
            last,
            TrapCause::StoreFault { addr: u64::MAX },
        ),
        (
            "ldl_l a1, 0(a0)",
            last,
            TrapCause::MisalignedAtomic { addr: 1 },
        ),
        ("bpt", last, TrapCause::Breakpoint),
        ("gentrap", last, TrapCause::Raised { code: 1 }),
        (".word 0", last, TrapCause::IllegalInstruction),
        (".word 50000000", last, TrapCause::IllegalInstruction),
        // A result that goes nowhere still overflows.
        ("addl/v s2, s2, zero", last, overflow),
        ("mulq/v s2, s3, a1", last, overflow),
        ("jmp (s2)", 0x4000_0000, TrapCause::FetchFault),
        ("jmp (s3)", 0x4000_0000 << 24, TrapCause::FetchFault),
        ("ret zero, (s1)", DATA, TrapCause::FetchFault),
    ];
    for (text, pc, cause) in cases {
        let text = &format!(
            "lda s0, 200(zero)
            ldah s1, 8(zero)
            ldah s2, 0x4000(zero)
            sll s2, 24, s3
        loop:
            subq s0, 1, s0
            stq s0, 0(s1)
            bne s0, loop
            addq s0, 1, a0
            addq a0, 1, a1
            {text}
            addq a0, 5, a0
            br loop"
        );
        let mut pair = Pair::new(&program(text), &[]);
        let Stop::Fault(trap) = pair.run(u64::MAX >> 1) else {
            panic!("{text} does not fault");
        };
        assert_eq!((trap.pc, trap.cause), (pc, cause), "{text}");
    }
}

#[test]
fn encodings_are_four_bytes_whatever_they_hold() {
    // The low two bits of an instruction say nothing about its length.
    let mut pair = Pair::new(&program("lda a0, 4(zero)\n.word 07ffaaa0"), &[]);
    let Stop::Fault(trap) = pair.run(u64::MAX >> 1) else {
        panic!("no fault");
    };
    assert_eq!((trap.pc, trap.encoding), (CODE + 4, 0x07ff_aaa0));
}

#[test]
fn code_that_rewrites_itself() {
    // Each turn adds one to the displacement at `patch`, before a barrier.
    let text = "
        lda s0, 100(zero)
        br s1, next
    next:
        lda s1, 12(s1)
        br patch
    loop:
        nop
    patch:
        lda a0, 0(a0)
        ldl t0, 0(s1)
        addl t0, 1, t0
        stl t0, 0(s1)
        imb
        subq s0, 1, s0
        bne s0, loop
        lda v0, 1(zero)
        callsys";
    let mut pair = Pair::new(&program(text), &[]);
    assert_eq!(
        pair.run(u64::MAX >> 1),
        Stop::Exit((0..100).sum::<i32>() & 0xff)
    );
}
