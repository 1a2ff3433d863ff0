//! Programs of many lines with `.rept` and macros against the GNU assembler and linker: code and data have the same
//! bytes.

use std::path::Path;
use std::process::Command;

use hps_isa::asm::program::{CODE, DATA, assemble};
use hps_isa::isa::Isa;
use object::{Object, ObjectSection};

/// A tool of Debian's cross compiler runs.
fn run(program: &str, arguments: &[&str], folder: &Path) {
    let result = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output();
    let result = result.unwrap_or_else(|error| {
        panic!("{program} does not run ({error}); install Debian's binutils-riscv64-linux-gnu")
    });
    let message = String::from_utf8_lossy(&result.stderr);
    assert!(result.status.success(), "{program}: {message}");
}

/// The bytes of code and of data in a file.
fn sections(file: &[u8]) -> [Vec<u8>; 2] {
    let file = object::File::parse(file).expect("an executable");
    [".text", ".data"].map(|name| {
        let section = file.section_by_name(name).expect(name);
        section.data().expect("its bytes").to_vec()
    })
}

/// Sections that the GNU tools make of a text, at the addresses that ours has.
fn of_gnu(text: &str) -> [Vec<u8>; 2] {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("text.s"), text).expect("the text");
    let assembled = ["-march=rv64g", "-mno-relax", "-o", "text.o", "text.s"];
    run("riscv64-linux-gnu-as", &assembled, folder.path());
    let (code, data) = (format!("-Ttext={CODE:#x}"), format!("-Tdata={DATA:#x}"));
    let linked = ["--no-relax", &code, &data, "-o", "program", "text.o"];
    run("riscv64-linux-gnu-ld", &linked, folder.path());
    sections(&std::fs::read(folder.path().join("program")).expect("the program"))
}

/// A loop whose body is written several times.
const LOOP: &str = "
        .equ UNROLLED, 4
        .data
values: .rept 3
        .dword 1, 2
        .byte 3
        .endr
        .text
        .globl _start
_start: li a0, 0
        li a2, 100
again:  .rept UNROLLED + 0
        ld t0, 0(a1)
        add a0, a0, t0          # one value
        addi a1, a1, 8
        .endr
        addi a2, a2, -1
        bnez a2, again
        .rept 0
        nonsense
        .endr
        ret
";

/// `.rept` in `.rept`, with labels and other directives in them.
const NESTED: &str = "
        .data
table:  .rept 3
        .rept 2
        .word 7
        .rept 2
        .byte 1
        .endr
        .endr
        .balign 8
        .endr
end:    .dword table, end
        .text
        .globl _start
_start: .rept 2
        nop
        .rept 3
        xor a0, a0, a1
        .rept 2
        slli a0, a0, 3
        .endr
        .endr
        .balign 16
        .endr
last:   j last
        .rept 1
        nop
once:   .endr
        j once
        nop                     # GNU code ends at its alignment
";

/// Arguments and defaults.
const ARGUMENTS: &str = "
        .macro step register, by=1, times=2
        .rept \\times
        addi \\register, \\register, \\by
        .endr
        .endm
        .macro store from, to base=sp offset=8
        sd \\from, \\offset(\\base)
        mv \\to, \\from
        .endm
        .macro text first, second=\"x, y\"
        .data
        .asciz \"\\first\\()-\\second\\n\"
        .byte \\@
        .text
        .endm
        .macro numbers first, second
        .data
        .half \\first, \\second
        .text
        .endm
        .globl _start
_start: step a0
        step a1, 5
        step a2, -7 3
        step times=1, register=a3
        step a4,, 4
        STEP a5, by=5
        store a0, a1
        store a2 a3 s0
        store a4, a5, offset = 16
        store a6, a7, s1, 16
        numbers 2 + 3 - 1 7
        numbers 5, 'x'
        text a
        text \"b c\", 8 (sp)
        text ,
        .data
        .dword _start
        .text
        ret
";

/// Labels that each use of a macro has of its own.
const LABELS: &str = "
        .macro wait register
        j test\\@
loop\\@: addi \\register, \\register, -1
test\\@: bnez \\register, loop\\@
        .endm
        .macro both first, second
begin\\@:
        wait \\first
        wait \\second
        bnez \\first, begin\\@
        .data
        .byte \\@
        .text
        .endm
        .globl _start
_start: .rept 2
        wait a0
        both a1, a2
        .endr
here:   both a3, a4
        j here
        j begin8
        .data
        .dword loop0, test0, here
";

/// Macros that define macros, and end by a count of 0.
const MACROS: &str = "
        .macro define name, value
        .macro load_\\name register, more=0
        li \\register, \\value + \\more
        .data
        .half \\value, \\@
        .text
        .endm
        .endm
        define small, 5
        define large, 2000
        .macro down n
        li a0, \\n
        .rept \\n
        down \\n-1
        .endr
        .endm
        .globl _start
_start: load_small a0
        load_small a1, 7
        load_large a3
        load_large a4, 96
        down 2
        load_small a2 more=1
        down 3
        ret
";

#[test]
fn repeats_and_macros_are_those_of_the_gnu_assembler() {
    for (name, text) in [
        ("LOOP", LOOP),
        ("NESTED", NESTED),
        ("ARGUMENTS", ARGUMENTS),
        ("LABELS", LABELS),
        ("MACROS", MACROS),
    ] {
        let ours = assemble(Isa::Riscv64, text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (ours, gnu) = (sections(&ours.file), of_gnu(text));
        assert!(gnu[0].len() >= 16 * 4 && !gnu[1].is_empty(), "{name}");
        assert_eq!(ours, gnu, "{name}");
    }
}
