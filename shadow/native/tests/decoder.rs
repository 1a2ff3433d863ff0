//! The decoder against a disassembler, over the code of this host's libraries.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use capstone::arch::x86::{ArchMode, X86OperandType, X86Reg};
use capstone::arch::{ArchOperand, BuildsCapstone, DetailsArchInsn};
use capstone::{Capstone, InsnDetail};

/// Most bytes of a library's code.
const MOST: usize = 500_000;

/// How an instruction moves control; `enum flow` of `preload/decode.h`.
const NEXT: u8 = 1;
const JCC: u8 = 2;
const LOOP: u8 = 3;
const JMP: u8 = 4;
const CALL: u8 = 5;
const JMP_IND: u8 = 6;
const CALL_IND: u8 = 7;
const RET: u8 = 8;
const SYSCALL: u8 = 9;
const FOREIGN: u8 = 10;

#[derive(Debug, PartialEq)]
struct Seen {
    length: u8,
    flow: u8,
    is_relative: bool,
    /// Target of a direct transfer, from the next instruction.
    distance: i64,
}

fn libraries() -> Vec<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
    let mut all: Vec<PathBuf> = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5))
        .filter(|path| path.contains(".so"))
        .map(PathBuf::from)
        .collect();
    all.dedup();
    all
}

/// The code sections of a file, with their addresses.
fn code_of(path: &Path) -> Vec<u8> {
    let output = Command::new("objcopy")
        .args(["-O", "binary", "--only-section=.text"])
        .arg(path)
        .arg("/dev/stdout")
        .output()
        .expect("objcopy (Debian: binutils)");
    let mut code = output.stdout;
    code.truncate(MOST);
    code
}

fn flow_of(name: &str, detail: &InsnDetail, immediate: bool) -> u8 {
    let arch = detail.arch_detail();
    let operands = arch.operands();
    let uses_gs = operands.iter().any(|operand| match operand {
        ArchOperand::X86Operand(operand) => {
            matches!(operand.op_type, X86OperandType::Mem(mem) if u32::from(mem.segment().0) == X86Reg::X86_REG_GS)
        }
        // Other architectures, where another crate of the build asks for them.
        #[allow(unreachable_patterns)]
        _ => false,
    });
    if uses_gs {
        return FOREIGN;
    }
    let name = name.rsplit(' ').next().unwrap_or(name);
    match name {
        "jmp" if immediate => JMP,
        "jmp" => JMP_IND,
        "call" if immediate => CALL,
        "call" => CALL_IND,
        "ret" => RET,
        "syscall" => SYSCALL,
        "loop" | "loope" | "loopne" | "jrcxz" | "jecxz" => LOOP,
        "int3" | "int" | "int1" | "ud2" | "ud0" | "ud1" | "hlt" | "iretq" | "iretd" | "retf"
        | "retfq" | "ljmp" | "lcall" | "xbegin" | "in" | "sysenter" => FOREIGN,
        "out" => FOREIGN,
        _ if name.starts_with('j') => JCC,
        _ => NEXT,
    }
}

/// Instructions that the disassembler finds in code, by offset.
fn disassembled(code: &[u8]) -> Vec<(u32, Seen, String)> {
    let capstone = Capstone::new()
        .x86()
        .mode(ArchMode::Mode64)
        .detail(true)
        .build()
        .expect("capstone");
    let mut all = Vec::new();
    let mut at = 0;
    while at < code.len() {
        let end = (at + 4096).min(code.len());
        let insns = capstone
            .disasm_all(&code[at..end], at as u64)
            .expect("capstone");
        let before = at;
        for insn in insns.iter() {
            // Instructions at the end of the window may be cut.
            if insn.address() as usize + 16 > end && end < code.len() {
                break;
            }
            let detail = capstone.insn_detail(insn).expect("details");
            let arch = detail.arch_detail();
            let x86 = arch.x86().expect("x86");
            let mut immediate = None;
            let mut is_relative = false;
            for operand in x86.operands() {
                match operand.op_type {
                    X86OperandType::Imm(value) => immediate = Some(value),
                    X86OperandType::Mem(mem) => {
                        is_relative |= u32::from(mem.base().0) == X86Reg::X86_REG_RIP
                    }
                    _ => {}
                }
            }
            let name = insn.mnemonic().unwrap_or_default();
            let flow = flow_of(name, &detail, immediate.is_some());
            let length = insn.bytes().len();
            at = insn.address() as usize + length;
            let distance = match (flow, immediate) {
                (JCC | LOOP | JMP | CALL, Some(target)) => target - at as i64,
                (RET, Some(bytes)) => bytes,
                _ => 0,
            };
            let seen = Seen {
                length: length as u8,
                flow,
                is_relative,
                distance,
            };
            all.push((insn.address() as u32, seen, insn.to_string()));
        }
        if at == before {
            at += 1; // data between functions
        }
    }
    all
}

/// Instructions that the decoder finds at these offsets.
fn decoded(program: &Path, offsets: &[u32], code: &[u8]) -> Vec<Seen> {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut input = (offsets.len() as u32).to_le_bytes().to_vec();
    input.extend(offsets.iter().flat_map(|offset| offset.to_le_bytes()));
    input.extend(code);
    let mut stdin = child.stdin.take().expect("its input");
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("its output");
    writer.join().expect("a writer").expect("it reads all");
    let (records, _) = output.stdout.as_chunks::<8>();
    let seen = records.iter().map(|record| Seen {
        length: record[0],
        flow: record[1],
        is_relative: record[2] != 0,
        distance: i64::from(i32::from_le_bytes([
            record[4], record[5], record[6], record[7],
        ])),
    });
    seen.collect()
}

#[test]
fn lengths_and_ways_of_moving_control_are_the_disassemblers() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("decode");
    crate::support::compile("decode.c", &program, &["-O2"]);
    let (mut compared, mut wrong) = (0, Vec::new());
    for library in libraries() {
        let code = code_of(&library);
        let expected = disassembled(&code);
        let offsets: Vec<u32> = expected.iter().map(|(offset, ..)| *offset).collect();
        let seen = decoded(&program, &offsets, &code);
        assert_eq!(seen.len(), expected.len());
        for ((offset, expected, text), seen) in expected.iter().zip(&seen) {
            compared += 1;
            if seen != expected && !(expected.flow == FOREIGN && seen.flow == 0) {
                wrong.push(format!(
                    "{} {offset:#x}: {text}: {seen:?}, not {expected:?}",
                    library.display()
                ));
            }
        }
    }
    assert!(compared > 50_000, "only {compared} were compared");
    let first: Vec<&String> = wrong.iter().take(20).collect();
    assert!(
        wrong.is_empty(),
        "{} of {compared}: {first:#?}",
        wrong.len()
    );
}

#[test]
fn rare_forms_have_their_lengths() {
    // Lengths by the manual's tables: prefixes, immediates of 2, 3 and 8 bytes, VEX, EVEX and XOP with and without
    // immediates, and displacements from the next instruction.
    let forms: &[(&[u8], u8, u8, u8)] = &[
        (&[0x66, 0x81, 0xc0, 1, 0], 5, NEXT, 0), // add $1, %ax
        (&[0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8], 10, NEXT, 0), // movabs
        (&[0x48, 0xa1, 1, 2, 3, 4, 5, 6, 7, 8], 10, NEXT, 0), // movabs from memory
        (&[0xc8, 1, 0, 0], 4, NEXT, 0),          // enter
        (&[0xc2, 8, 0], 3, RET, 0),              // ret 8
        (&[0xf3, 0xc3], 2, RET, 0),              // rep ret
        (&[0xf6, 0x05, 1, 0, 0, 0, 7], 7, NEXT, 2), // testb $7, 1(%rip)
        (&[0xf6, 0x15, 1, 0, 0, 0], 6, NEXT, 2), // notb 1(%rip)
        (&[0x48, 0xc7, 0x05, 1, 0, 0, 0, 2, 0, 0, 0], 11, NEXT, 3), // movq $2, 1(%rip)
        (&[0xc5, 0xf8, 0x77], 3, NEXT, 0),       // vzeroupper
        (&[0xc4, 0xe3, 0x7d, 0x39, 0xc1, 1], 6, NEXT, 0), // vextracti128
        (&[0xc4, 0xe2, 0x7d, 0x58, 0x05, 1, 0, 0, 0], 9, NEXT, 5), // vpbroadcastd 1(%rip)
        (
            &[0x62, 0xf1, 0x7c, 0x48, 0x28, 0x05, 1, 0, 0, 0],
            10,
            NEXT,
            6,
        ), // vmovaps 1(%rip), %zmm0
        (&[0x62, 0xf3, 0x7d, 0x48, 0x3a, 0xc1, 1], 7, NEXT, 0), // vinserti32x8
        (&[0x8f, 0xe8, 0x78, 0xc0, 0xc1, 1], 6, NEXT, 0), // vprotb, XOP
        (&[0x3e, 0xff, 0xe0], 3, JMP_IND, 0),    // notrack jmp
        (&[0xff, 0x15, 1, 0, 0, 0], 6, CALL_IND, 2), // call *1(%rip)
        (&[0x64, 0xff, 0x14, 0x25, 8, 0, 0, 0], 8, CALL_IND, 0), // call *%fs:8
        (&[0x65, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0], 9, FOREIGN, 0), // mov %gs:0, %rax
        (&[0xf3, 0x48, 0x0f, 0xae, 0xd8], 5, FOREIGN, 0), // wrgsbase
        (&[0xf3, 0x48, 0x0f, 0xae, 0xd0], 5, NEXT, 0), // wrfsbase
        (&[0xc7, 0xf8, 0, 0, 0, 0], 6, FOREIGN, 0), // xbegin
        (&[0x0f, 0x05], 2, SYSCALL, 0),
        (&[0x67, 0xe3, 5], 3, LOOP, 0), // jecxz
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("decode");
    crate::support::compile("decode.c", &program, &[]);
    let (mut offsets, mut code) = (Vec::new(), Vec::new());
    for (bytes, ..) in forms {
        offsets.push(code.len() as u32);
        code.extend(*bytes);
        code.resize(code.len() + 16 - bytes.len(), 0x90);
    }
    let mut child = Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut input = (offsets.len() as u32).to_le_bytes().to_vec();
    input.extend(offsets.iter().flat_map(|offset| offset.to_le_bytes()));
    input.extend(&code);
    child
        .stdin
        .take()
        .expect("its input")
        .write_all(&input)
        .expect("it reads");
    let output = child.wait_with_output().expect("its output").stdout;
    let (records, _) = output.as_chunks::<8>();
    for ((bytes, length, flow, relative), record) in forms.iter().zip(records) {
        assert_eq!(
            (record[0], record[1], record[2]),
            (*length, *flow, *relative),
            "{bytes:x?}"
        );
    }
}
