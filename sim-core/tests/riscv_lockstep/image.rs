//! The guest program's code: it runs each block many times on different registers and writes all
//! registers to standard output after each time.

use std::ops::Range;

use hps_isa::inst::{Inst, Op};
use hps_isa::riscv::asm::{NoHook, assemble};
use hps_isa::riscv::encode;

use crate::lockstep_support::image::{BASE, Block, DUMP, Layout, RECORD};

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

/// The whole program's code: each block between loads and stores of all registers.
pub fn emit(blocks: &[Block], iterations: u64, layout: Layout) -> (Vec<u8>, Vec<Range<u64>>) {
    let mut code = Code(Vec::new());
    let mut bodies = Vec::new();
    for (i, block) in blocks.iter().enumerate() {
        let start = code.pc();
        prologue(&mut code, block, layout.window(i), layout);
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
