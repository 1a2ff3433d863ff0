//! The observers of call graphs in assembly (Olsauskas-Warren, ANU 2015, chapters 3 and 4).

use hps_isa::isa::Isa;

/// Counters and calling context: stamps and counters as in the paper's loop, then the code that runs, from the top of the
/// tag stack downwards, to the end of the sample's place or to the program's beginning.
pub fn context(isa: Isa, counters: usize, depth: usize) -> String {
    let bytes = 8 * depth;
    match isa {
        Isa::Riscv64 => {
            let reads = ["csrr t1, hpmcounter3", "csrr t2, hpmcounter4"];
            format!(
                "start: rdcycle t0\ncounters:\n{}\nend: rdcycle t4\nadd s0, a0, a1\nsd t0, 0(s0)\nsd t1, 8(s0)\n\
                 sd t2, 16(s0)\nsd t4, 24(s0)\ntag: ld t5, 0(a3)\nsd t5, 32(s0)\naddi s4, s0, 40\n\
                 addi s5, s4, {bytes}\nwalk: ld t6, -16(t5)\nsd t6, 0(s4)\naddi s4, s4, 8\naddi t5, t5, -32\n\
                 beqz t6, out\nbltu s4, s5, walk\nout: addi a1, a1, PLACE\nand a1, a1, a2\naddi s1, s1, 1\n\
                 counted: sd s1, 0(a6)",
                reads[..counters.min(reads.len())].join("\n")
            )
        }
        Isa::Alpha => format!(
            "start: rpcc t0\ncounters:\nend: rpcc t4\naddq s0, s1, t7\nstq t0, 0(t7)\nstq t4, 24(t7)\n\
             tag: ldq t5, 0(s3)\nstq t5, 32(t7)\nlda t8, 40(t7)\nlda t9, {bytes}(t8)\nwalk: ldq t6, -16(t5)\n\
             stq t6, 0(t8)\nlda t8, 8(t8)\nlda t5, -32(t5)\nbeq t6, out\ncmpult t8, t9, t10\nbne t10, walk\n\
             out: lda s1, PLACE(s1)\nand s1, s2, s1\naddq v0, 1, v0\ncounted: stq v0, 0(s5)"
        ),
    }
}

/// New elements of the tag stack, from the top downwards: each is marked as seen, and the code that runs below it and
/// itself are a call. The first marked element ends the walk, since no element below it can be new.
pub fn new_calls(isa: Isa) -> &'static str {
    match isa {
        Isa::Riscv64 => {
            "ld t0, 0(a3)\nsub s4, t0, a4\nstart: counters: end: walk: ld t1, -32(t0)\nsrli t2, t1, 62\nbeqz t2, out\n\
             sb zero, -25(t0)\ntag: ld t4, -48(t0)\nadd s0, a0, a1\nsd t4, 0(s0)\nsd t1, 8(s0)\naddi a1, a1, PLACE\nand a1, a1, a2\naddi s1, s1, 1\ncounted: sd s1, 0(a6)\n\
             addi t0, t0, -32\nbltu s4, t0, walk\nout:"
        }
        Isa::Alpha => {
            "ldq t0, 0(s3)\nsubq t0, s4, t7\nstart: counters: end: walk: ldq t1, -32(t0)\nsrl t1, 62, t2\nbeq t2, out\n\
             stb zero, -25(t0)\ntag: ldq t4, -48(t0)\naddq s0, s1, t6\nstq t4, 0(t6)\nstq t1, 8(t6)\nlda s1, PLACE(s1)\nand s1, s2, s1\naddq v0, 1, v0\ncounted: stq v0, 0(s5)\n\
             lda t0, -32(t0)\ncmpult t7, t0, t5\nbne t5, walk\nout:"
        }
    }
}

/// A ring of calls, once it is full: site and target of each, then the limit is moved to the last place that was read.
pub fn call_pairs(isa: Isa) -> &'static str {
    match isa {
        Isa::Riscv64 => {
            "start: counters: end: tag: walk: ld t0, 0(a3)\nbne t0, s7, out\nmv t3, t0\n\
             next: addi t3, t3, 16\nand t3, t3, a7\nor t3, t3, a4\nbeq t3, t0, read\nld t1, 0(t3)\nld t2, 8(t3)\n\
             add s0, a0, a1\nsd t1, 0(s0)\nsd t2, 8(s0)\naddi a1, a1, PLACE\nand a1, a1, a2\naddi s1, s1, 1\n\
             counted: sd s1, 0(a6)\nj next\nread: addi t3, t0, -16\nand t3, t3, a7\nor s7, t3, a4\n\
             sd s7, 256(a3)\nout:"
        }
        Isa::Alpha => {
            "start: counters: end: tag: walk: ldq t0, 0(s3)\ncmpeq t0, a1, t1\nbeq t1, out\nmov t0, t3\n\
             next: lda t3, 16(t3)\nand t3, a3, t3\nbis t3, s4, t3\ncmpeq t3, t0, t1\nbne t1, read\nldq t1, 0(t3)\n\
             ldq t2, 8(t3)\naddq s0, s1, t6\nstq t1, 0(t6)\nstq t2, 8(t6)\nlda s1, PLACE(s1)\nand s1, s2, s1\n\
             addq v0, 1, v0\ncounted: stq v0, 0(s5)\nbr next\nread: lda t3, -16(t0)\nand t3, a3, t3\n\
             bis t3, s4, a1\nstq a1, 256(s3)\nout:"
        }
    }
}

/// A ring of calls and returns, once it is full: a stack of the observer's own tells who has called, then the limit is
/// moved to the last place that was read. A call with nothing on that stack has a caller that the ring does not tell. A
/// jump changes what is on top.
pub fn call_sequence(isa: Isa) -> &'static str {
    match isa {
        Isa::Riscv64 => {
            "start: counters: end: tag: walk: ld t0, 0(a3)\nbne t0, s7, out\nmv t4, t0\nmv s4, s5\n\
             next: addi t4, t4, 8\nand t4, t4, a7\nor t4, t4, a4\nbeq t4, t0, read\nld t1, 0(t4)\nandi t2, t1, 1\n\
             bnez t2, ended\nsrli t2, t1, 62\nbnez t2, jumped\nbeq s4, s5, orphan\nld t3, -8(s4)\nadd s0, a0, a1\n\
             sd t3, 0(s0)\nsd t1, 8(s0)\naddi a1, a1, PLACE\nand a1, a1, a2\naddi s1, s1, 1\n\
             counted: sd s1, 0(a6)\nknown: sd t1, 0(s4)\naddi s4, s4, 8\nj next\n\
             read: addi t4, t0, -8\nand t4, t4, a7\nor s7, t4, a4\nsd s7, 256(a3)\nj out\n\
             orphan: addi s6, s6, 1\nsd s6, 256(a6)\nj known\nended: beq s4, s5, next\naddi s4, s4, -8\nj next\n\
             jumped: beq s4, s5, next\nsd t1, -8(s4)\nj next\nout:"
        }
        Isa::Alpha => {
            "start: counters: end: tag: walk: ldq t0, 0(s3)\ncmpeq t0, a1, t1\nbeq t1, out\nmov t0, t4\nmov a4, t7\n\
             next: lda t4, 8(t4)\nand t4, a3, t4\nbis t4, s4, t4\ncmpeq t4, t0, t1\nbne t1, read\nldq t1, 0(t4)\n\
             blbs t1, ended\nsrl t1, 62, t2\nbne t2, jumped\ncmpeq t7, a4, t2\nbne t2, orphan\nldq t3, -8(t7)\n\
             addq s0, s1, t6\nstq t3, 0(t6)\nstq t1, 8(t6)\nlda s1, PLACE(s1)\nand s1, s2, s1\naddq v0, 1, v0\n\
             counted: stq v0, 0(s5)\nknown: stq t1, 0(t7)\nlda t7, 8(t7)\nbr next\n\
             read: lda t4, -8(t0)\nand t4, a3, t4\nbis t4, s4, a1\nstq a1, 256(s3)\nbr out\n\
             orphan: addq a2, 1, a2\nstq a2, 256(s5)\nbr known\nended: cmpeq t7, a4, t2\nbne t2, next\n\
             lda t7, -8(t7)\nbr next\njumped: cmpeq t7, a4, t2\nbne t2, next\nstq t1, -8(t7)\nbr next\nout:"
        }
    }
}
