//! The observer of what a program shows by itself (`hps_shim.h`).

use hps_isa::isa::Isa;

use crate::observer::area::STACK_IN_SAMPLE;
use crate::observer::shown::{COUNTERS_AT, MOST_READ, STACK_AT, own_counters};

/// The slot of the thread on the program's context, out of the table of slots; then the paper's order: start stamp,
/// counters of the hardware and of the slot, end stamp, and the slot's tag. With the tag stack, the word that says how deep
/// it is comes before the tag, its outermost `depth` entries and both words again come behind it, as the native observer
/// reads them.
pub fn sample(isa: Isa, counters: usize, own: u8, depth: usize) -> String {
    let place = |number: usize| COUNTERS_AT + 8 * number as u64;
    let first = match isa {
        Isa::Riscv64 => counters,
        Isa::Alpha => 0,
    };
    let own = own_counters(own).zip(first + 1..=MOST_READ);
    match isa {
        Isa::Riscv64 => {
            let hardware = (1..=counters).map(|n| format!("csrr t{n}, hpmcounter{}\n", n + 2));
            let own = own.map(|(number, n)| format!("ld t{n}, {}(s4)\n", place(number)));
            let reads: String = hardware.chain(own).collect();
            let (word, stack) = riscv_stack(depth);
            format!(
                "ld t5, 0(a4)\nandi t6, t5, 255\nslli t6, t6, 3\nadd t6, t6, a3\nld s4, 0(t6)\nstart: rdcycle t0\n\
                 counters:\n{reads}end: rdcycle t4\n{word}tag: ld t6, 0(s4)\nadd s0, a0, a1\n\
                 sd t0, 0(s0)\nsd t1, 8(s0)\nsd t2, 16(s0)\nsd t3, 24(s0)\nsd t4, 32(s0)\nsd t5, 40(s0)\nsd t6, 48(s0)\n\
                 {stack}addi a1, a1, PLACE\nand a1, a1, a2\naddi s1, s1, 1\ncounted: sd s1, 0(a6)"
            )
        }
        Isa::Alpha => {
            let own = own.map(|(number, n)| format!("ldq t{n}, {}(t9)\n", place(number)));
            let reads: String = own.collect();
            let (word, stack) = alpha_stack(depth);
            format!(
                "ldq t5, 0(s4)\nand t5, 255, t6\nsll t6, 3, t6\naddq t6, s3, t6\nldq t9, 0(t6)\nstart: rpcc t0\n\
                 counters:\n{reads}end: rpcc t4\n{word}tag: ldq t6, 0(t9)\naddq s0, s1, t7\n\
                 stq t0, 0(t7)\nstq t1, 8(t7)\nstq t2, 16(t7)\nstq t3, 24(t7)\nstq t4, 32(t7)\nstq t5, 40(t7)\nstq t6, 48(t7)\n\
                 {stack}lda s1, PLACE(s1)\nand s1, s2, s1\naddq v0, 1, v0\ncounted: stq v0, 0(s5)"
            )
        }
    }
}

/// The code in front of the load of the tag and the code behind it.
fn riscv_stack(depth: usize) -> (String, String) {
    if depth == 0 {
        return ("walk:\n".to_string(), String::new());
    }
    let behind = format!(
        "sd s6, 56(s0)\nslli s6, s6, 32\nsrli s6, s6, 32\naddi s8, zero, {depth}\nbltu s6, s8, few\nmv s6, s8\n\
         few: addi s9, s0, {STACK_IN_SAMPLE}\nmv s10, s4\nnext: beqz s6, out\nld s11, {STACK_AT}(s10)\nsd s11, 0(s9)\n\
         addi s10, s10, 8\naddi s9, s9, 8\naddi s6, s6, -1\nj next\nout: ld s11, 0(s4)\nwalk: ld s2, 8(s4)\n\
         sd s11, 64(s0)\nsd s2, 72(s0)\n"
    );
    ("ld s6, 8(s4)\n".to_string(), behind)
}

fn alpha_stack(depth: usize) -> (String, String) {
    if depth == 0 {
        return ("walk:\n".to_string(), String::new());
    }
    let behind = format!(
        "stq t10, 56(t7)\nzapnot t10, 15, t10\nlda t11, {depth}(zero)\ncmpult t10, t11, a2\nbne a2, few\nmov t11, t10\n\
         few: lda t11, {STACK_IN_SAMPLE}(t7)\nmov t9, t8\nnext: beq t10, out\nldq a2, {STACK_AT}(t8)\nstq a2, 0(t11)\n\
         lda t8, 8(t8)\nlda t11, 8(t11)\nsubq t10, 1, t10\nbr next\nout: ldq a2, 0(t9)\nwalk: ldq a4, 8(t9)\n\
         stq a2, 64(t7)\nstq a4, 72(t7)\n"
    );
    ("ldq t10, 8(t9)\n".to_string(), behind)
}
