//! The guest program: a static ELF image that runs each block many times on different registers
//! and writes all registers to standard output after each time.
//!
//! Memory, from `BASE`: code; a control page; one window of 4 KiB for each block; the table of
//! register sets. In a block one register, `Block::base`, always points to the middle of its window.

use hps_sim_core::inst::{Inst, Op};
use hps_sim_core::riscv::asm::{NoHook, assemble};
use hps_sim_core::riscv::encode;

use crate::random::Random;

pub const BASE: u64 = 0x10_0000;
/// Bytes of a register dump: `x1` to `x31`, `fcsr`, `f0` to `f31`.
pub const RECORD: usize = 64 * 8;
/// Register sets in the table; prime, so that blocks start at different ones.
pub const SETS: usize = 1021;
const PAGE: usize = 4096;

/// Where in a window, relative to its middle, the registers are dumped.
pub const DUMP: i64 = 2048 - RECORD as i64;

/// Straight code with forward branches.
#[derive(Clone)]
pub struct Block {
    /// The register that points to the middle of the window and is never written.
    pub base: u8,
    /// Pieces of code; control goes from each to the next one.
    pub items: Vec<Vec<u8>>,
}

pub struct Image {
    /// Code and data as they lie in memory from `BASE`.
    pub memory: Vec<u8>,
    /// Length of the code, page-aligned.
    pub text: usize,
    /// Address ranges of the blocks' bodies.
    pub bodies: Vec<std::ops::Range<u64>>,
}

struct Code(Vec<u8>);

impl Code {
    fn pc(&self) -> u64 {
        BASE + self.0.len() as u64
    }
    fn asm(&mut self, text: &str) {
        let inst = assemble(text, self.pc(), &NoHook).unwrap_or_else(|e| panic!("{text}: {e}"));
        self.0.extend(word(&inst).to_le_bytes());
    }
    /// Loads an address below 2 GiB.
    fn address(&mut self, register: u8, value: u64) {
        let upper = (value + 0x800) & !0xfff;
        self.asm(&format!("lui x{register}, {}", upper >> 12));
        self.asm(&format!(
            "addi x{register}, x{register}, {}",
            value as i64 - upper as i64
        ));
    }
}

pub fn word(inst: &Inst) -> u32 {
    encode(inst).unwrap_or_else(|| panic!("no encoding: {inst:?}"))
}

/// Where everything lies; it depends on the length of the code only.
#[derive(Clone, Copy)]
struct Layout {
    control: u64,
    windows: u64,
    sets: u64,
    end: u64,
}

impl Layout {
    fn new(text: usize, blocks: usize) -> Self {
        let control = BASE + text as u64;
        let windows = control + PAGE as u64;
        let sets = windows + (blocks * PAGE) as u64;
        Layout {
            control,
            windows,
            sets,
            end: sets + (SETS * RECORD) as u64,
        }
    }
}

/// Builds the program: every block runs `iterations` times.
pub fn build(blocks: &[Block], iterations: u64, seed: u64) -> Image {
    // A first pass with any layout finds the length of the code.
    let (code, _) = emit(blocks, iterations, Layout::new(PAGE, blocks.len()));
    let text = code.len().next_multiple_of(PAGE);
    let layout = Layout::new(text, blocks.len());
    let (mut memory, bodies) = emit(blocks, iterations, layout);
    memory.resize((layout.end - BASE) as usize, 0);
    let mut put = |address: u64, value: u64| {
        let at = (address - BASE) as usize;
        memory[at..at + 8].copy_from_slice(&value.to_le_bytes());
    };
    put(layout.control, layout.sets);
    put(layout.control + 8, layout.end);
    put(layout.control + 16, iterations);
    let mut random = Random::new(seed ^ 0x5eed);
    for address in (layout.windows..layout.sets).step_by(8) {
        put(
            address,
            if random.chance(50) {
                random.float()
            } else {
                random.integer()
            },
        );
    }
    for set in (layout.sets..layout.end).step_by(RECORD) {
        for slot in 0..64 {
            let value = match slot {
                0..31 => random.integer(),
                31 => random.fcsr(),
                _ => random.float(),
            };
            put(set + slot * 8, value);
        }
    }
    Image {
        memory,
        text,
        bodies,
    }
}

fn emit(blocks: &[Block], iterations: u64, layout: Layout) -> (Vec<u8>, Vec<std::ops::Range<u64>>) {
    let mut code = Code(Vec::new());
    let mut bodies = Vec::new();
    for (i, block) in blocks.iter().enumerate() {
        let start = code.pc();
        let window = layout.windows + (i * PAGE) as u64 + 2048;
        prologue(&mut code, block, window, layout);
        let body = code.pc();
        block.items.iter().for_each(|item| code.0.extend(item));
        bodies.push(body..code.pc());
        epilogue(&mut code, block, start, iterations, layout);
    }
    // The windows as the blocks left them, then exit.
    code.asm("li a0, 1");
    code.address(11, layout.windows);
    code.address(12, layout.sets - layout.windows);
    code.asm("li a7, 64");
    code.asm("ecall");
    code.asm("li a0, 0");
    code.asm("li a7, 93");
    code.asm("ecall");
    (code.0, bodies)
}

/// Loads all registers from the current set, and drops any reservation.
fn prologue(code: &mut Code, block: &Block, window: u64, layout: Layout) {
    code.address(31, layout.control);
    code.asm("sc.d x30, x30, (x31)");
    code.asm("ld x31, 0(x31)");
    code.asm("ld x1, 248(x31)");
    code.asm("csrrw x0, fcsr, x1");
    for f in 0..32 {
        code.asm(&format!("fld f{f}, {}(x31)", 256 + 8 * f));
    }
    for x in 1..=31 {
        code.asm(&format!("ld x{x}, {}(x31)", 8 * (x - 1)));
    }
    code.address(block.base, window);
}

/// Dumps all registers, takes the next set, and repeats the block.
fn epilogue(code: &mut Code, block: &Block, start: u64, iterations: u64, layout: Layout) {
    let base = block.base;
    for x in 1..=31 {
        code.asm(&format!("sd x{x}, {}(x{base})", DUMP + 8 * (x - 1)));
    }
    let scratch = if base == 1 { 2 } else { 1 };
    code.asm(&format!("csrrs x{scratch}, fcsr, x0"));
    code.asm(&format!("sd x{scratch}, {}(x{base})", DUMP + 248));
    for f in 0..32 {
        code.asm(&format!("fsd f{f}, {}(x{base})", DUMP + 256 + 8 * f));
    }
    code.asm(&format!("addi a1, x{base}, {DUMP}"));
    code.asm("li a0, 1");
    code.asm(&format!("li a2, {RECORD}"));
    code.asm("li a7, 64");
    code.asm("ecall");
    code.address(5, layout.control);
    code.asm("ld x6, 0(x5)");
    code.asm(&format!("addi x6, x6, {RECORD}"));
    code.asm("ld x7, 8(x5)");
    code.asm(&format!("bne x6, x7, {}", code.pc() + 12));
    code.address(6, layout.sets);
    code.asm("sd x6, 0(x5)");
    code.asm("ld x8, 16(x5)");
    code.asm("addi x8, x8, -1");
    code.asm("sd x8, 16(x5)");
    code.asm(&format!("beq x8, x0, {}", code.pc() + 8));
    code.asm(&format!("jal x0, {start}"));
    code.asm(&format!("li x8, {iterations}"));
    code.asm("sd x8, 16(x5)");
}

/// The image as a static RISC-V ELF file with one executable and one writable segment.
pub fn elf(image: &Image) -> Vec<u8> {
    const HEADERS: usize = PAGE;
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let half = |file: &mut Vec<u8>, v: u16| file.extend(v.to_le_bytes());
    let word = |file: &mut Vec<u8>, v: u32| file.extend(v.to_le_bytes());
    let double = |file: &mut Vec<u8>, v: u64| file.extend(v.to_le_bytes());
    half(&mut file, 2); // executable
    half(&mut file, 243); // RISC-V
    word(&mut file, 1);
    double(&mut file, BASE);
    double(&mut file, 64); // program headers
    double(&mut file, 0);
    word(&mut file, 5); // compressed code, double-precision calling convention
    for v in [64, 56, 2, 64, 0, 0] {
        half(&mut file, v);
    }
    let segments = [
        (5, 0, image.text),
        (6, image.text, image.memory.len() - image.text),
    ];
    for (flags, offset, size) in segments {
        word(&mut file, 1);
        word(&mut file, flags);
        double(&mut file, (HEADERS + offset) as u64);
        double(&mut file, BASE + offset as u64);
        double(&mut file, BASE + offset as u64);
        double(&mut file, size as u64);
        double(&mut file, size as u64);
        double(&mut file, PAGE as u64);
    }
    file.resize(HEADERS, 0);
    file.extend(&image.memory);
    file
}

/// `addi rd, rs1, imm`, which generated code needs everywhere.
pub fn addi(rd: u8, rs1: u8, imm: i64) -> Inst {
    Inst {
        rd,
        rs1,
        imm,
        ..operation(Op::Addi)
    }
}

/// An operation without operands.
pub fn operation(op: Op) -> Inst {
    Inst {
        op,
        class: op.class(),
        ..Inst::illegal(4)
    }
}
