//! Instructions as compilers emit them now.

use super::build::{Isa, build, prints, run_in_all_modes};
use super::support::Hps;

/// 0..51 twice but for the last four: 1326 + 1128, and so on; see the source.
const RESULT: &str = "sel 4950 bytes 2454 half 1.5 sum 58 max 99\n";

#[test]
fn plain_c_gives_its_results_on_both_instruction_sets() {
    prints("rva23.c", &["-O2"], &[], RESULT);
}

#[test]
fn plain_c_gives_its_results_with_the_extensions_that_the_compiler_knows() {
    for march in [
        "-march=rv64gc_zba_zbb_zbs_zbc_zbkb",
        "-march=rv64gc_zba_zbb_zbs_zfh",
        "-march=rv64gc_zfhmin_zicbom_zicboz_zicbop_zawrs",
    ] {
        let program = build(Isa::Riscv64, "rva23.c", &["-O2", march]);
        run_in_all_modes(&[], &[&program], |mode, run| {
            let text = String::from_utf8_lossy(&run.stdout).into_owned();
            assert_eq!(
                (text.as_str(), run.code),
                (RESULT, 0),
                "{march} {mode}: {}",
                run.stderr
            );
        });
    }
}

/// Instructions that the assembler does not know, as words: the exit code says how many of the results are right.
#[test]
fn operations_newer_than_the_assembler_run_in_all_modes() {
    let hps = Hps::new();
    let code = [
        0x0070_0513,            // li a0, 7
        0x0000_0593,            // li a1, 0
        0x0eb5_5633,            // czero.eqz a2, a0, a1: 0
        0x0eb5_76b3,            // czero.nez a3, a0, a1: 7
        0x00d6_0633,            // add a2, a2, a3: 7
        0xff01_0113,            // addi sp, sp, -16
        0x00a1_3023,            // sd a0, 0(sp)
        0x0051_3423,            // sd t0, 8(sp)
        0x0090_0713,            // li a4, 9
        0x0070_0793,            // li a5, 7
        0x28e1_37af,            // amocas.d a5, a4, (sp): a5 = 7, memory = 9
        0x00f6_0633,            // add a2, a2, a5: 14
        0x0001_3783,            // ld a5, 0(sp): 9
        0x00f6_0633,            // add a2, a2, a5: 23
        0x00e1_07af,            // amoadd.b a5, a4, (sp): a5 = 9, memory = 18
        0x00f6_0633,            // add a2, a2, a5
        0xf210_0553 | 20 << 15, // fli.d fa0, 2.0
        0xc225_17d3,            // fcvt.l.d a5, fa0, rtz
        0x00f6_0633,            // add a2, a2, a5
        0x81c0_46f3,            // mop.r.0 a3, zero
        0x0006_0513,            // mv a0, a2
        0x05d0_0893,            // li a7, 93
        0x0000_0073,            // ecall
    ];
    let program = hps.program("words", &code);
    // 23 + 9 + 2.
    run_in_all_modes(&[], &[&program], |mode, run| {
        assert_eq!(run.code, 34, "{mode}: {}", run.stderr);
    });
}

#[test]
fn a_vector_instruction_is_named_where_it_is_missing() {
    let hps = Hps::new();
    // vsetvli t0, a0, e8, m1
    let program = hps.program("vector", &[0x0005_72d7]);
    run_in_all_modes(&[], &[&program], |mode, run| {
        assert_ne!(run.code, 0, "{mode}");
        let said = "\n  it is one of the vector extension (V), which is missing here: build with -march=rv64gc";
        assert!(run.stderr.contains(said), "{mode}: {}", run.stderr);
    });
}

/// Wider than a register: a block of zeros and pairs of registers. The exit code says how many results are right.
#[test]
fn blocks_are_zeroed_and_pairs_are_swapped_in_all_modes() {
    let hps = Hps::new();
    let code = [
        0xf801_0113, // addi sp, sp, -128
        0xfc01_7413, // andi s0, sp, -64
        0xfff0_0593, // li a1, -1
        0x00b4_3023, // sd a1, 0(s0)
        0x02b4_3c23, // sd a1, 56(s0)
        0x0044_200f, // cbo.zero (s0)
        0x0004_3603, // ld a2, 0(s0)
        0x0384_3683, // ld a3, 56(s0)
        0x00d6_6633, // or a2, a2, a3
        0x0016_3513, // seqz a0, a2: 1
        0x0000_0613, // li a2, 0
        0x0000_0693, // li a3, 0
        0x0050_0713, // li a4, 5
        0x0060_0793, // li a5, 6
        0x28e4_462f, // amocas.q a2, a4, (s0): 0, 0, and 5, 6 in memory
        0x0004_3883, // ld a7, 0(s0): 5
        0x0115_0533, // add a0, a0, a7: 6
        0x0084_3883, // ld a7, 8(s0): 6
        0x0115_0533, // add a0, a0, a7: 12
        0x28e4_462f, // amocas.q a2, a4, (s0): 5, 6, and memory as it is
        0x00c5_0533, // add a0, a0, a2: 17
        0x00d5_0533, // add a0, a0, a3: 23
        0x05d0_0893, // li a7, 93
        0x0000_0073, // ecall
    ];
    let program = hps.program("wide", &code);
    run_in_all_modes(&[], &[&program], |mode, run| {
        assert_eq!(run.code, 23, "{mode}: {}", run.stderr);
    });
}

#[test]
fn a_program_that_dies_of_a_missing_extension_is_told_what_would_do() {
    let flags = ["-nostdlib", "-march=rv64gc_zba", "-Wa,-march=rv64gcv_zba"];
    let program = build(Isa::Riscv64, "needs_vector.S", &flags);
    run_in_all_modes(&[], &[&program], |mode, run| {
        assert_eq!(run.code, 132, "{mode}: {}", run.stderr);
        let said = "missing here (v); build it with -march=rv64gc_zba";
        assert!(run.stderr.contains(said), "{mode}: {}", run.stderr);
    });
}

#[test]
fn a_program_runs_that_only_contains_code_for_an_extension_that_is_missing() {
    const VECTOR: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/cases/guest/squares_by_vector.S"
    );
    let flags = ["-O2", "-Wa,-march=rv64gcv", VECTOR];
    let program = build(Isa::Riscv64, "may_use_vector.c", &flags);
    run_in_all_modes(&[], &[&program], |mode, run| {
        assert_eq!(
            String::from_utf8_lossy(&run.stdout),
            "scalar 285\n",
            "{mode}"
        );
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{mode}");
    });
}
