//! The guest program's code: it runs each block many times on different registers and writes all
//! registers to standard output after each time.

use std::ops::Range;

use hps_isa::alpha::encode;
use hps_isa::inst::{Inst, Op, reg};

use crate::lockstep_support::image::{BASE, Block, DUMP, Layout, RECORD};

/// `$0` in the numbering of `Inst`: number of a system call, and its result.
pub const V0: u8 = 31;
const ZERO: u8 = reg::ZERO;
const A0: u8 = 16;
const A1: u8 = 17;
const A2: u8 = 18;
/// Numbers of system calls.
pub const WRITE: u64 = 4;
pub const EXIT: u64 = 1;
/// Bit 8 of `imm`: the second operand is a literal.
const LITERAL: i64 = 0x100;

/// An operation without operands.
pub fn operation(op: Op) -> Inst {
    Inst {
        op,
        class: op.class(),
        ..Inst::illegal(4)
    }
}

pub fn word(inst: &Inst) -> u32 {
    encode(inst).unwrap_or_else(|| panic!("no encoding: {inst:?}"))
}

pub fn bytes(code: &[Inst]) -> Vec<u8> {
    code.iter()
        .flat_map(|inst| word(inst).to_le_bytes())
        .collect()
}

/// `op rd, disp(base)`.
pub fn load(op: Op, rd: u8, base: u8, disp: i64) -> Inst {
    Inst {
        rd,
        rs1: base,
        imm: disp,
        ..operation(op)
    }
}

/// `op data, disp(base)`.
fn store(op: Op, data: u8, base: u8, disp: i64) -> Inst {
    Inst {
        rs1: base,
        rs2: data,
        imm: disp,
        ..operation(op)
    }
}

/// `op rs1, literal, rd`.
pub fn literal(op: Op, rs1: u8, value: i64, rd: u8) -> Inst {
    Inst {
        rd,
        rs1,
        imm: LITERAL | value,
        ..operation(op)
    }
}

/// `op rs1, rs2, rd`.
pub fn register(op: Op, rs1: u8, rs2: u8, rd: u8) -> Inst {
    Inst {
        rd,
        rs1,
        rs2,
        ..operation(op)
    }
}

/// A branch on `rs1` or a jump, over `skipped` instructions (behind it; or back).
fn branch(op: Op, rs1: u8, skipped: i64) -> Inst {
    Inst {
        rs1,
        imm: 4 + 4 * skipped,
        ..operation(op)
    }
}

/// An address below 2 GiB, in two instructions.
fn address(rd: u8, value: u64) -> [Inst; 2] {
    let value = value as i64;
    let upper = (value + 0x8000) & !0xffff;
    [
        load(Op::AlphaLdah, rd, ZERO, upper),
        load(Op::AlphaLda, rd, rd, value - upper),
    ]
}

fn call(number: u64) -> [Inst; 2] {
    [
        load(Op::AlphaLda, V0, ZERO, number as i64),
        operation(Op::AlphaCallsys),
    ]
}

/// The whole program's code: each block between loads and stores of all registers.
pub fn emit(blocks: &[Block], iterations: u64, layout: Layout) -> (Vec<u8>, Vec<Range<u64>>) {
    let mut code = Vec::new();
    let mut bodies = Vec::new();
    for (i, block) in blocks.iter().enumerate() {
        let start = code.len();
        code.extend(bytes(&prologue(block.base, layout.window(i), layout)));
        let body = BASE + code.len() as u64;
        block.items.iter().for_each(|item| code.extend(item));
        bodies.push(body..BASE + code.len() as u64);
        let back = (code.len() - start) / 4;
        code.extend(bytes(&epilogue(block.base, back, iterations, layout)));
    }
    // The windows as the blocks left them, then exit.
    let mut end = vec![load(Op::AlphaLda, A0, ZERO, 1)];
    end.extend(address(A1, layout.windows));
    end.extend(address(A2, layout.sets - layout.windows));
    end.extend(call(WRITE));
    end.push(load(Op::AlphaLda, A0, ZERO, 0));
    end.extend(call(EXIT));
    code.extend(bytes(&end));
    (code, bodies)
}

/// The number of the integer register in slot `i` of a dump.
fn in_slot(i: i64) -> u8 {
    if i == 0 { V0 } else { i as u8 }
}

/// Loads all registers from the current set, drops any reservation, and clears the interrupt flag.
fn prologue(base: u8, window: u64, layout: Layout) -> Vec<Inst> {
    const AT: u8 = 28;
    const FPCR: u8 = reg::FP;
    let mut code = address(AT, layout.control).to_vec();
    code.push(Inst {
        rd: reg::SINK,
        ..store(Op::AlphaStqC, ZERO, AT, 0)
    });
    code.push(operation(Op::AlphaRc));
    code.push(load(Op::AlphaLdq, AT, AT, 0));
    code.push(load(Op::AlphaLdq, A0, AT, 0));
    code.push(wruniq());
    code.push(load(Op::AlphaLdt, FPCR, AT, 248));
    code.push(Inst {
        rs1: FPCR,
        ..operation(Op::AlphaMtFpcr)
    });
    code.extend((0..31).map(|f| load(Op::AlphaLdt, reg::FP + f as u8, AT, 256 + 8 * f)));
    let others = (0..31).filter(|&i| in_slot(i) != AT);
    code.extend(others.map(|i| load(Op::AlphaLdq, in_slot(i), AT, 8 * i)));
    code.push(load(Op::AlphaLdq, AT, AT, 8 * i64::from(AT)));
    code.extend(address(base, window));
    code
}

/// `wruniq`, with the operands that it has without naming them.
pub fn wruniq() -> Inst {
    Inst {
        rd: reg::UNIQUE,
        rs1: A0,
        ..operation(Op::AlphaWruniq)
    }
}

/// Dumps all registers, takes the next set, and repeats the block, which began `back` instructions
/// before.
fn epilogue(base: u8, back: usize, iterations: u64, layout: Layout) -> Vec<Inst> {
    let mut code: Vec<Inst> = (0..31)
        .map(|i| store(Op::AlphaStq, in_slot(i), base, DUMP + 8 * i))
        .collect();
    code.extend((0..31).map(|f| {
        let register = reg::FP + f as u8;
        store(Op::AlphaStt, register, base, DUMP + 256 + 8 * f)
    }));
    code.push(Inst {
        rd: reg::FP,
        ..operation(Op::AlphaMfFpcr)
    });
    code.push(store(Op::AlphaStt, reg::FP, base, DUMP + 248));
    code.push(load(Op::AlphaLda, A1, base, DUMP));
    code.push(load(Op::AlphaLda, A0, ZERO, 1));
    code.push(load(Op::AlphaLda, A2, ZERO, RECORD as i64));
    code.extend(call(WRITE));
    const CONTROL: u8 = 5;
    const SET: u8 = 6;
    const LEFT: u8 = 7;
    code.extend(address(CONTROL, layout.control));
    code.push(load(Op::AlphaLdq, SET, CONTROL, 0));
    code.push(load(Op::AlphaLda, SET, SET, RECORD as i64));
    code.push(load(Op::AlphaLdq, LEFT, CONTROL, 8));
    code.push(register(Op::AlphaCmpeq, SET, LEFT, LEFT));
    code.push(branch(Op::AlphaBeq, LEFT, 2));
    code.extend(address(SET, layout.sets));
    code.push(store(Op::AlphaStq, SET, CONTROL, 0));
    code.push(load(Op::AlphaLdq, LEFT, CONTROL, 16));
    code.push(literal(Op::AlphaSubq, LEFT, 1, LEFT));
    code.push(store(Op::AlphaStq, LEFT, CONTROL, 16));
    code.push(branch(Op::AlphaBeq, LEFT, 1));
    let behind = code.len() + 1;
    code.push(branch(Op::AlphaBr, ZERO, -((back + behind) as i64)));
    code.push(load(Op::AlphaLda, LEFT, ZERO, iterations as i64));
    code.push(store(Op::AlphaStq, LEFT, CONTROL, 16));
    code
}
