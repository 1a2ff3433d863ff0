//! Threaded code does what the plain loop does: the same states at the same instructions.

mod alpha;
mod pair;
mod programs;

use hps_isa::isa::Isa;
use hps_isa::riscv::asm::{NoHook, assemble};
use hps_isa::riscv::encode;
use hps_isa::trap::TrapCause;
use hps_sim_core::machine::Stop;
use hps_system::image::ProgramImage;
use pair::{CODE, DATA, Pair};
use std::sync::Arc;

fn program(text: &str) -> Arc<ProgramImage> {
    pair::program(Isa::Riscv64, text)
}

/// Everything that threaded code treats in a way of its own, three times around a loop: constants,
/// copies, instructions without effect, links, table misses, accesses of every kind, counters,
/// floating point before and after the first inexact result, atomics, system calls.
const MIXTURE: &str = "
    lui s0, 0x80
    li s1, 3
loop:
    nop
    lui a0, 0x12345
    addi a0, a0, 0x678
    addiw a0, a0, 1
    auipc a1, 1
    addi a1, a1, 16
    mv a2, a0
    add a3, zero, a1
    addi zero, a0, 1
    j over
    addi s2, s2, 100
over:
    sd a0, 0(s0)
    sd a1, 8(s0)
    ld a4, 3(s0)
    sw a4, 2043(s0)
    addi s4, s0, 2047
    addi s4, s4, 2047
    sd a1, 0(s4)
    ld a5, 0(s4)
    lbu a6, 1(s4)
    rdinstret t0
    rdcycle t1
    rdtime t2
    add s5, s5, t0
    jal ra, callee
    jal t0, other
    auipc t3, 0
    addi t3, t3, 16
    jalr t4, 0(t3)
    addi s6, s6, 1
    addi s6, s6, 2
    fcvt.d.w fa0, s1
    fcvt.d.w fa1, s6
    fadd.d fa2, fa0, fa1
    fdiv.d fa3, fa0, fa1
    fmul.d fa4, fa3, fa3
    fsub.d fa5, fa3, fa4
    fsqrt.d fa6, fa5
    fadd.d fa7, fa3, fa4, rup
    fdiv.d ft0, fa0, ft1
    frflags s7
    lr.d t5, (s0)
    sc.d t6, s1, (s0)
    amoadd.d s8, s1, (s0)
    fence
    li a7, 172
    ecall
    addi s1, s1, -1
    bne s1, zero, loop
    fsrmi 2
    fadd.d fa7, fa3, fa4
    mv a0, s6
    li a7, 93
    ecall
callee:
    addi s2, s2, 1
    beq s2, zero, never
    blt s2, zero, never
    bgeu zero, s2, never
    ret
other:
    addi s2, s2, 2
    jr t0
never:
    ebreak
";

#[test]
fn every_piece_size_gives_the_same_states() {
    let image = program(MIXTURE);
    for piece in (1..=140).chain([1 << 10, u64::MAX >> 1]) {
        let mut pair = Pair::new(&image, &[]);
        // The single steps end with the program.
        let stop = pair.run_in_pieces(std::iter::repeat(piece));
        assert_eq!(stop, Stop::Exit(6), "pieces of {piece}");
    }
}

#[test]
fn endless_loops_stop_at_the_limit() {
    for text in [
        "here:\nj here",
        "a:\nj b\nb:\nj a",
        "a:\nnop\nbeq zero, zero, a",
    ] {
        let mut pair = Pair::new(&program(text), &[]);
        for piece in [32, 33, 64, 127, 1000, 1056, 5001] {
            assert_eq!(pair.run(piece), Stop::Limit);
        }
    }
}

/// A program that works for a while, warm enough that all is linked, and then does `last`.
fn ends_with(last: &str) -> String {
    format!(
        "li s0, 200
        lui s1, 0x80
        lui s2, 0x40000
        slli s3, s2, 24
    loop:
        addi s0, s0, -1
        sd s0, 0(s1)
        bne s0, zero, loop
        addi a0, s0, 1
        addi a1, a0, 1
        {last}
        addi a0, a0, 5
        j loop"
    )
}

#[test]
fn faults_are_precise() {
    let at = |steps: u64| CODE + 4 * steps;
    let last = at(9);
    let cases = [
        ("ld a0, 8(zero)", last, TrapCause::LoadFault { addr: 8 }),
        ("sd a0, 8(zero)", last, TrapCause::StoreFault { addr: 8 }),
        (
            "ld a0, 0(s3)",
            last,
            TrapCause::LoadFault {
                addr: 0x4000_0000 << 24,
            },
        ),
        (
            "sd a0, -1(zero)",
            last,
            TrapCause::StoreFault { addr: u64::MAX },
        ),
        (
            "amoadd.w a0, a1, (a0)",
            last,
            TrapCause::MisalignedAtomic { addr: 1 },
        ),
        ("ebreak", last, TrapCause::Breakpoint),
        (".word 0", last, TrapCause::IllegalInstruction),
        ("csrrw a0, cycle, a1", last, TrapCause::IllegalInstruction),
        ("jr s2", 0x4000_0000, TrapCause::FetchFault),
        ("jr s3", 0x4000_0000 << 24, TrapCause::FetchFault),
        ("jr s1", DATA, TrapCause::FetchFault),
    ];
    for (text, pc, cause) in cases {
        let mut pair = Pair::new(&program(&ends_with(text)), &[]);
        let Stop::Fault(trap) = pair.run(u64::MAX >> 1) else {
            panic!("{text} does not fault");
        };
        assert_eq!((trap.pc, trap.cause), (pc, cause), "{text}");
    }
}

#[test]
fn code_that_ends_with_its_page_faults_behind_it() {
    // Only a page's worth of instructions is mapped, and the last one does not jump.
    let text = "addi a0, a0, 1\n".repeat(1024);
    let mut pair = Pair::new(&program(&text), &[]);
    let Stop::Fault(trap) = pair.run(u64::MAX >> 1) else {
        panic!("no fault");
    };
    assert_eq!((trap.pc, trap.cause), (CODE + 4096, TrapCause::FetchFault));
    assert_eq!(pair.threaded.retired.program, 1024);
}

#[test]
fn a_signal_handler_sees_the_instruction_at_fault() {
    // rt_sigaction(SIGSEGV, {handler}), then a fault in the middle of a block; the handler ends the
    // program with what it was interrupted in.
    let text = ends_with(
        "lui a1, 0x80\nauipc a2, 0\naddi a2, a2, 60\nsd a2, 0(a1)\nsd zero, 8(a1)\nsd zero, 16(a1)\n\
         li a0, 11\nli a2, 0\nli a3, 8\nli a7, 134\necall\nli s5, 40\nli s6, 2\nld s7, 0(zero)\n\
         add a0, s5, s6\nj exit\nadd a0, s5, s6\nexit:\nli a7, 93\necall",
    );
    let mut pair = Pair::new(&program(&text), &[]);
    assert_eq!(pair.run(u64::MAX >> 1), Stop::Exit(42));
}

fn word(text: &str) -> u32 {
    encode(&assemble(text, 0, &NoHook).expect("an instruction")).expect("an encoding")
}

#[test]
fn code_that_rewrites_itself() {
    // Each turn adds one to the immediate of the instruction at `patch`, behind a FENCE.I.
    let text = "
        li s0, 100
        auipc s1, 0
        addi s1, s1, 16
        j patch
    loop:
        nop
    patch:
        addi a0, a0, 0
        lw a1, 0(s1)
        lui a2, 0x100
        add a1, a1, a2
        sw a1, 0(s1)
        fence.i
        addi s0, s0, -1
        bne s0, zero, loop
        li a7, 93
        ecall";
    let mut pair = Pair::new(&program(text), &[]);
    assert_eq!(
        pair.run(u64::MAX >> 1),
        Stop::Exit((0..100).sum::<i32>() & 0xff)
    );
}

#[test]
fn code_that_is_protected_and_written_again() {
    // Two versions of a function in a page of its own; mprotect alone tells that it has changed.
    let store = |imm: i64| {
        let body = u64::from(word(&format!("addi a0, a0, {imm}"))) | u64::from(word("ret")) << 32;
        let protect = |bits| {
            format!(
                "mv s5, a0\nmv a0, s1\nlui a1, 1\nli a2, {bits}\nli a7, 226\necall\nmv a0, s5\n"
            )
        };
        let mut text = protect(3);
        for (at, part) in [(0, body as u32), (4, (body >> 32) as u32)] {
            let upper = part.wrapping_add(0x800) >> 12;
            let lower = (part as i32) << 20 >> 20;
            text += &format!("lui t0, {upper:#x}\naddiw t0, t0, {lower}\nsw t0, {at}(s1)\n");
        }
        text + &protect(5) + "jalr ra, 0(s1)\njalr ra, 0(s1)\n"
    };
    let text = format!(
        "lui s1, 0x80\nli a0, 0\n{}{}{}li a7, 93\necall",
        store(1),
        store(10),
        store(7)
    );
    let mut pair = Pair::new(&program(&text), &[]);
    assert_eq!(pair.run(u64::MAX >> 1), Stop::Exit(36));
}

#[test]
fn code_that_is_changed_from_outside() {
    let text = "loop:\naddi a0, a0, 1\nj loop";
    let mut pair = Pair::new(&program(text), &[]);
    pair.run(2000);
    for machine in [&mut pair.threaded, &mut pair.single] {
        let mem = &mut machine.process.mem;
        let changed = word("addi a0, a0, -1").to_le_bytes();
        mem.write_bytes_forced(CODE, &changed).expect("mapped code");
        mem.invalidate_code();
    }
    pair.run(2000);
    assert_eq!(pair.threaded.process.thread.hart.r[10], 0);
}

#[test]
fn more_code_than_is_kept() {
    // Calls into every instruction of functions of 64: each call is another block, and together they
    // exceed what is kept.
    const INSTRUCTIONS: u64 = 1 << 16;
    let function = format!("{}ret\n", "addi a0, a0, 1\n".repeat(63));
    let text = format!(
        "lui s0, {:#x}
        auipc s1, 0
        addi s1, s1, 36
        mv s2, s1
    loop:
        jalr ra, 0(s1)
        addi s1, s1, 4
        addi s0, s0, -1
        bne s0, zero, loop
        li a7, 93
        ecall
        {}",
        INSTRUCTIONS >> 12,
        function.repeat(INSTRUCTIONS as usize / 64)
    );
    let mut machine = pair::machine(&program(&text), &[]);
    machine.run_to_end();
    let sum_of_each = (0..64).sum::<u64>();
    assert_eq!(
        machine.process.thread.hart.r[10],
        INSTRUCTIONS / 64 * sum_of_each
    );
}
