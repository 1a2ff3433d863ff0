//! The guest program that QEMU runs: a static ELF image that runs each block on every register set and
//! writes the registers to standard output.
//!
//! Memory, from `BASE`: code; a page of data; the register sets; room for the dumps of one block.

use std::io::Read;
use std::process::{Command, Stdio};

use hps_isa::alpha::encode;

use super::generate::{Block, Set};
use super::{AFTER_TRAP, RECORD};

const BASE: u64 = 0x1_2000_0000;
const PAGE: usize = 0x2000;
/// The ELF header and one program header.
const HEADER: usize = 64 + 56;
/// A set: control word, FPCR, `f0` to `f30`.
const SET: usize = 33 * 8;

// Registers: addresses of the set, of the dump, counter of sets, digest of traps, address of the data.
const AT_SET: u32 = 9;
const AT_DUMP: u32 = 10;
const COUNT: u32 = 11;
const DIGEST: u32 = 13;
const DATA: u32 = 14;
const V0: u32 = 0;
const T0: u32 = 1;
const T1: u32 = 2;
const T2: u32 = 3;
const A0: u32 = 16;
const A1: u32 = 17;
const A2: u32 = 18;
const A3: u32 = 19;
const ZERO: u32 = 31;

// Offsets in the data page.
const HANDLER: u32 = 0; // and flags and mask: a `sigaction`
const SETS_ADDRESS: u32 = 24;
const DUMP_ADDRESS: u32 = 32;
const DUMP_LENGTH: u32 = 40;
const CONSTANT: u32 = 48;
const STATUS_MASK: u32 = 56;

/// Signal handlers get the context as third argument.
const SA_SIGINFO: u64 = 0x40;
// Offsets in the context of a signal.
const SC_PC: u32 = 48 + 16;
const SC_REGS: u32 = 48 + 32;
const SC_FPREGS: u32 = SC_REGS + 32 * 8 + 8;
const SC_FPCR: u32 = SC_FPREGS + 32 * 8;

fn memory(opcode: u32, ra: u32, rb: u32, disp: u32) -> u32 {
    opcode << 26 | ra << 21 | rb << 16 | disp & 0xffff
}

fn lda(ra: u32, rb: u32, disp: u32) -> u32 {
    memory(0x08, ra, rb, disp)
}

fn ldq(ra: u32, rb: u32, disp: u32) -> u32 {
    memory(0x29, ra, rb, disp)
}

fn stq(ra: u32, rb: u32, disp: u32) -> u32 {
    memory(0x2d, ra, rb, disp)
}

fn ldt(fa: u32, rb: u32, disp: u32) -> u32 {
    memory(0x23, fa, rb, disp)
}

fn stt(fa: u32, rb: u32, disp: u32) -> u32 {
    memory(0x27, fa, rb, disp)
}

/// An operate instruction of registers.
fn operate(opcode: u32, function: u32, ra: u32, rb: u32, rc: u32) -> u32 {
    opcode << 26 | ra << 21 | rb << 16 | function << 5 | rc
}

/// An operate instruction with a literal.
fn literal(opcode: u32, function: u32, ra: u32, value: u32, rc: u32) -> u32 {
    opcode << 26 | ra << 21 | value << 13 | 1 << 12 | function << 5 | rc
}

const MT_FPCR: u32 = 0x5c00_0480;
const MF_FPCR: u32 = 0x5c00_04a0;
const CALLSYS: u32 = 0x83;
const RET: u32 = 0x6bfa_8001;

fn system_call(code: &mut Vec<u32>, number: u32) {
    code.extend([lda(V0, ZERO, number), CALLSYS]);
}

/// The signal handler: sets the destination of the instruction that trapped, clears the accrued
/// exceptions, and adds to the digest.
fn handler(code: &mut Vec<u32>) {
    const S8ADDQ: u32 = 0x32;
    const S4ADDQ: u32 = 0x22;
    code.extend([
        ldq(T0, A2, SC_PC),
        memory(0x28, T1, T0, 0xfffc), // ldl
        literal(0x11, 0x00, T1, 31, T1),
        operate(0x10, S8ADDQ, T1, A2, T1),
        ldq(T2, DATA, CONSTANT),
        stq(T2, T1, SC_FPREGS),
        ldq(T1, A2, SC_FPCR),
        ldq(T2, DATA, STATUS_MASK),
        operate(0x11, 0x08, T1, T2, T1), // bic
        stq(T1, A2, SC_FPCR),
        ldq(T1, A2, SC_REGS + DIGEST * 8),
        operate(0x10, S4ADDQ, T1, T0, T1),
        stq(T1, A2, SC_REGS + DIGEST * 8),
        RET,
    ]);
}

/// Code of the start: the address of the data, and the handler.
fn start(code: &mut Vec<u32>, data: u64) {
    // The distance from `BASE` is a multiple of 64 KiB.
    code.extend([
        lda(DATA, ZERO, (BASE >> 28) as u32),
        literal(0x12, 0x39, DATA, 28, DATA), // sll
        memory(0x09, DATA, DATA, ((data - BASE) >> 16) as u32), // ldah
        lda(A0, ZERO, 8),
        lda(A1, DATA, HANDLER),
        lda(A2, ZERO, 0),
        lda(A3, ZERO, 8),
    ]);
    system_call(code, 352); // rt_sigaction
}

/// A block and what is around it; returns where its body begins in the code.
fn block(code: &mut Vec<u32>, block: &Block, sets: usize) -> usize {
    code.extend([
        ldq(AT_SET, DATA, SETS_ADDRESS),
        ldq(AT_DUMP, DATA, DUMP_ADDRESS),
        lda(COUNT, ZERO, sets as u32),
    ]);
    let repeat = code.len();
    code.extend([
        lda(A0, ZERO, 14), // SSI_IEEE_FP_CONTROL
        lda(A1, AT_SET, 0),
        lda(A2, ZERO, 0),
    ]);
    system_call(code, 257); // osf_setsysinfo
    code.extend([ldt(0, AT_SET, 8), MT_FPCR, lda(DIGEST, ZERO, 0)]);
    code.extend((0..31).map(|i| ldt(i, AT_SET, 16 + i * 8)));
    let body = code.len();
    code.extend(
        block
            .iter()
            .map(|inst| encode(inst).unwrap_or_else(|| panic!("no encoding: {inst:?}"))),
    );
    code.extend((0..31).map(|i| stt(i, AT_DUMP, i * 8)));
    code.extend([
        MF_FPCR,
        stt(0, AT_DUMP, 31 * 8),
        stq(DIGEST, AT_DUMP, 32 * 8),
        lda(AT_DUMP, AT_DUMP, RECORD as u32 * 8),
        lda(AT_SET, AT_SET, SET as u32),
        literal(0x10, 0x29, COUNT, 1, COUNT), // subq
    ]);
    let back = repeat as i64 - (code.len() as i64 + 1);
    code.push(0x3d << 26 | COUNT << 21 | back as u32 & 0x1f_ffff); // bne
    code.extend([
        lda(A0, ZERO, 1),
        ldq(A1, DATA, DUMP_ADDRESS),
        ldq(A2, DATA, DUMP_LENGTH),
    ]);
    system_call(code, 4); // write
    body
}

/// The code, where the handler is, and where the bodies are.
fn code(blocks: &[Block], sets: usize, data: u64) -> (Vec<u32>, Vec<usize>, usize) {
    let mut code = Vec::new();
    start(&mut code, data);
    let bodies = blocks.iter().map(|b| block(&mut code, b, sets)).collect();
    code.push(lda(A0, ZERO, 0));
    system_call(&mut code, 405); // exit_group
    let at = code.len();
    handler(&mut code);
    (code, bodies, at)
}

fn address(index: usize) -> u64 {
    BASE + HEADER as u64 + index as u64 * 4
}

/// Where the body of a block lies in the program.
pub fn body_address(blocks: &[Block], index: usize) -> u64 {
    // Every block has the same code around it.
    let (_, first, _) = code(&blocks[..1], 1, BASE);
    let around = {
        let (two, bodies, _) = code(&[Vec::new(), Vec::new()], 1, BASE);
        assert!(two.len() > bodies[1]);
        bodies[1] - bodies[0]
    };
    let before: usize = blocks[..index]
        .iter()
        .map(|block| around + block.len())
        .sum();
    address(first[0] + before)
}

/// The ELF file.
pub fn build(blocks: &[Block], sets: &[Set]) -> Vec<u8> {
    let (length, ..) = code(blocks, sets.len(), BASE);
    let data = (HEADER + length.len() * 4).next_multiple_of(1 << 16);
    let (words, bodies, handler) = code(blocks, sets.len(), BASE + data as u64);
    assert_eq!(
        address(bodies[blocks.len() - 1]),
        body_address(blocks, blocks.len() - 1)
    );
    let sets_at = data + PAGE;
    let dump_at = (sets_at + sets.len() * SET).next_multiple_of(PAGE);
    let dump = sets.len() * RECORD * 8;

    let mut file = header(dump_at, dump_at + dump);
    for word in words {
        file.extend(word.to_le_bytes());
    }
    file.resize(dump_at, 0);
    let mut put = |at: usize, value: u64| file[at..at + 8].copy_from_slice(&value.to_le_bytes());
    let base = |offset: usize| BASE + offset as u64;
    put(data + HANDLER as usize, address(handler));
    put(data + HANDLER as usize + 8, SA_SIGINFO);
    put(data + SETS_ADDRESS as usize, base(sets_at));
    put(data + DUMP_ADDRESS as usize, base(dump_at));
    put(data + DUMP_LENGTH as usize, dump as u64);
    put(data + CONSTANT as usize, AFTER_TRAP);
    put(data + STATUS_MASK as usize, 1 << 63 | 0x3f << 52);
    for (i, set) in sets.iter().enumerate() {
        let at = sets_at + i * SET;
        put(at, set.control);
        put(at + 8, set.fpcr);
        for (i, &value) in set.registers.iter().enumerate() {
            put(at + 16 + i * 8, value);
        }
    }
    file
}

/// ELF header and program header of one segment that holds everything.
fn header(file_size: usize, memory_size: usize) -> Vec<u8> {
    let mut header = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut put = |bytes: &[u8]| header.extend(bytes);
    put(&2u16.to_le_bytes()); // ET_EXEC
    put(&0x9026u16.to_le_bytes()); // EM_ALPHA
    put(&1u32.to_le_bytes());
    put(&address(0).to_le_bytes());
    put(&64u64.to_le_bytes());
    put(&0u64.to_le_bytes());
    put(&0u32.to_le_bytes());
    for half in [64u16, 56, 1, 64, 0, 0] {
        put(&half.to_le_bytes());
    }
    put(&1u32.to_le_bytes()); // PT_LOAD
    put(&7u32.to_le_bytes());
    for word in [0, BASE, BASE, file_size as u64, memory_size as u64, 0x2000] {
        put(&word.to_le_bytes());
    }
    header
}

/// Runs the file under QEMU and returns the words that it writes.
pub fn run(file: &[u8]) -> Vec<u64> {
    let path = std::env::temp_dir().join(format!("hps-alpha-fp-{}", std::process::id()));
    std::fs::write(&path, file).expect("a writable folder for temporary files");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, mode).expect("permissions");
    }
    let mut child = Command::new("qemu-alpha")
        .arg(&path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("qemu-alpha, of the package qemu-user");
    let mut bytes = Vec::new();
    let mut output = child.stdout.take().expect("a pipe");
    output.read_to_end(&mut bytes).expect("its output");
    let status = child.wait().expect("its end");
    std::fs::remove_file(&path).expect("the file is still there");
    assert!(status.success(), "QEMU: {status}");
    bytes
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
        .collect()
}
