//! `hps reproduce callgraphs-2015`: observers of calls beside a program of one's own.

use hps_isa::asm::program::assemble;
use hps_isa::isa::Isa;

use crate::support::{Hps, reproduced};

/// A loop that calls three functions, one of them within another and one by a pointer.
const CALLS: &str = ".globl _start\n.globl main\n.globl outer\n.globl inner\n.globl other\n\
    _start: call main\nli a0, 0\nli a7, 93\necall\n\
    main: mv s2, ra\nli s0, 1000\nla s1, other\n\
    again: call outer\njalr ra, 0(s1)\nandi t0, s0, 3\nbnez t0, next\ncall inner\n\
    next: addi s0, s0, -1\nbnez s0, again\nmv ra, s2\nret\n\
    outer: addi sp, sp, -16\nsd ra, 8(sp)\ncall inner\ncall inner\nld ra, 8(sp)\naddi sp, sp, 16\nret\n\
    inner: addi t1, t1, 1\nmul t2, t1, t1\nret\n\
    other: addi t3, t3, 1\nret\n";

#[test]
fn call_graphs_of_a_program_of_ones_own_are_held_against_every_call() {
    let hps = Hps::new();
    let path = hps.path("calls");
    let program = assemble(Isa::Riscv64, CALLS).expect("it is assembled");
    std::fs::write(&path, program.file).expect("an executable");
    let text = reproduced(&hps, &["callgraphs-2015", "--program", &path]);
    for claim in [
        "[differs: 100.0 points] a ring of some 100 KB is 20 points more accurate than bursts of eight at 1 ms",
        "maintaining the tag stack costs nothing",
    ] {
        assert!(text.contains(claim), "{claim}: {text}");
    }
    assert_eq!(text.matches("[not measured]").count(), 0, "{text}");
    let numbers = std::fs::read_to_string(hps.path("out/measurements.csv")).expect("a table");
    // Three functions are called from two, and main; 1,000 rounds have 4.25 calls in the mean.
    for (measure, value) in [("edges", "5"), ("calls", "4251")] {
        let found = numbers
            .lines()
            .any(|line| line.contains("program") && line.contains(&format!("{measure},{value}")));
        assert!(found, "{measure}");
    }
}

#[test]
fn a_machine_without_a_place_for_an_observer_is_refused() {
    let hps = Hps::new();
    let run = hps.run(&["reproduce", "callgraphs-2015", "--machine", "hps-4wide"]);
    assert_ne!(run.code, 0);
    assert!(
        run.stderr.contains("two cores with two contexts"),
        "{}",
        run.stderr
    );
}
