//! Programs of many lines, assembled and run.

use std::sync::Arc;

use hps_isa::asm::program::{CODE, assemble};
use hps_isa::isa::Isa;
use hps_sim_core::machine::{Machine, Stop};
use hps_system::image::ProgramImage;
use hps_system::process::{Process, ProcessConfig};

fn run(isa: Isa, text: &str) -> (Stop, Vec<u8>) {
    let program = assemble(isa, text).unwrap_or_else(|e| panic!("{e}"));
    let image = ProgramImage::parse(&program.file, "test").expect("a program");
    let config = ProcessConfig {
        stdout: hps_system::os::Output::Capture,
        ..ProcessConfig::default()
    };
    let process = Process::new(Arc::new(image), &config).expect("it fits");
    let mut machine = Machine::new(process);
    let stop = machine.run_to_end();
    (stop, machine.process.os.captured_stdout().to_vec())
}

#[test]
fn a_program_with_data_labels_and_loops_runs() {
    // 1 + 2 + 3 + 0x7fff_ffff_0000_0001 - 0x7fff_ffff_0000_0000 = 7, then five bytes of text.
    let text = "
        .equ COUNT, 3
        .data
        text:   .ascii \"sum #\\n\"   # the mark in quotes is text
        .balign 8
        words:  .dword 1, 2, COUNT
        .text
        .globl _start
        _start: la a1, words
                li a2, COUNT
                li a0, 0
        loop:   ld t0, 0(a1)
                add a0, a0, t0
                addi a1, a1, 8
                addi a2, a2, -1
                bnez a2, loop
                li t1, 0x7fffffff00000001
                li t2, 0x7fffffff00000000
                sub t1, t1, t2
                add s0, a0, t1
                li a0, 1
                la a1, text
                li a2, 6
                li a7, 64
                ecall
                mv a0, s0   // the exit code
                li a7, 93
                ecall
    ";
    let (stop, said) = run(Isa::Riscv64, text);
    assert_eq!(stop, Stop::Exit(7));
    assert_eq!(said, b"sum #\n");
}

#[test]
fn escapes_are_those_of_the_gnu_assembler() {
    // Compared with what riscv64-linux-gnu-as 2.40 puts into its section of data.
    let of = |written: &str| {
        let text = format!(
            "_start: li a7, 64\nli a0, 1\nla a1, t\nla a2, e\nla t0, t\nsub a2, a2, t0\necall\nli a0, 0\nli a7, 93\necall\n.data\nt: .ascii \"{written}\"\ne: .byte 0"
        );
        run(Isa::Riscv64, &text).1
    };
    assert_eq!(of(r"a\012b\1\0018\0z"), b"a\nb\x01\x018\0z");
    assert_eq!(of(r"\377\x41\x0a1"), b"\xffA\n1");
    assert_eq!(of(r#"\b\f\n\r\t\"\\"#), b"\x08\x0c\n\r\t\"\\");
    for wrong in [r"\400", r"\x4", r"\xg0", r"\q"] {
        let text = format!("_start: nop\n.data\n.ascii \"{wrong} \"");
        assert!(assemble(Isa::Riscv64, &text).is_err(), "{wrong}");
    }
}

#[test]
fn alpha_takes_values_of_any_size() {
    // 5 + (0x1234_5678_9abc_def0 >> 60) = 6.
    let text = "
        _start: li $16, 5
                li $1, 0x123456789abcdef0
                srl $1, 60, $1
                addq $16, $1, $16
                li $0, 1
                callsys
    ";
    assert_eq!(run(Isa::Alpha, text).0, Stop::Exit(6));
}

#[test]
fn functions_are_symbols_and_lines_are_known() {
    let text = "_start:\n call f\n li a7, 93\n ecall\n.globl f\nf:\n li a0, 0x12345\n ret\n";
    let program = assemble(Isa::Riscv64, text).expect("a program");
    let image = ProgramImage::parse(&program.file, "test").expect("a program");
    let names: Vec<(&str, u64, u64)> = image
        .symbols
        .functions()
        .iter()
        .map(|f| (f.name.as_str(), f.addr - CODE, f.size))
        .collect();
    assert_eq!(names, [("_start", 0, 12), ("f", 12, 12)]);
    let lines: Vec<usize> = program.lines.iter().map(|&(_, line)| line).collect();
    assert_eq!(lines, [2, 3, 4, 7, 7, 8]);
}

#[test]
fn errors_name_line_and_column() {
    let wrong = |text: &str| {
        let error = assemble(Isa::Riscv64, text).expect_err("it is wrong");
        (error.line, error.column, error.message)
    };
    for (text, line, column, says) in [
        ("nop\n  addd a0, a0, a1\n", 2, 3, "addd"),
        ("nop\nl: add a0, a0, q9", 2, 16, "q9"),
        ("a: nop\na: nop", 2, 1, "twice"),
        ("j nowhere", 1, 3, "nowhere"),
        ("# nothing", 1, 1, "no instruction"),
        (".data\nadd a0, a0, a0", 2, 1, "no directive"),
        (".data\n.byte 300\n.text\nnop", 2, 1, "does not fit"),
        ("li a0, many", 1, 8, "many"),
        (".globl f\nnop", 1, 1, "no label"),
    ] {
        let (at_line, at_column, message) = wrong(text);
        assert_eq!((at_line, at_column), (line, column), "{text}: {message}");
        assert!(message.contains(says), "{text}: {message}");
    }
}
