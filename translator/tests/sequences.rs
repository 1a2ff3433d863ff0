//! Random code with loops, faults and limits runs as it does when it is interpreted.

use std::collections::BTreeMap;

use hps_isa::exec::{Outcome, execute_seldom};
use hps_isa::hart::Hart;
use hps_isa::inst::{Inst, Op, OpClass, reg};
use hps_isa::isa::Isa;
use hps_isa::memory::Memory;
use hps_isa::random::Random;

use crate::operations::{FIRST, Listed, PC, compiler, content, memory, registers};

/// The register that holds an address of data.
const BASE: u8 = 1;

/// Registers that the code uses: few, so that results are used.
const USED: u64 = 8;

fn code(isa: Isa, random: &mut Random) -> BTreeMap<u64, Inst> {
    let length = 8 + random.number() % 40;
    let is_wanted = |op: &&Op| {
        let class = op.class();
        op.isa() == Some(isa)
            && (class.is_direct()
                || class.is_memory()
                || matches!(
                    class,
                    OpClass::IntAlu
                        | OpClass::IntMul
                        | OpClass::IntDiv
                        | OpClass::FpAdd
                        | OpClass::FpMul
                ))
    };
    let ops: Vec<Op> = Op::ALL.iter().filter(is_wanted).copied().collect();
    let mut at = |place: u64| {
        let op = ops[random.number() as usize % ops.len()];
        let mut register = || match random.number() % (USED + 1) {
            0 => reg::ZERO,
            number => number as u8,
        };
        let (mut rd, mut rs1, rs2) = (register(), register(), register());
        // One register holds an address.
        if rd == BASE {
            rd = reg::ZERO;
        }
        if op.class().is_memory() && !random.number().is_multiple_of(16) {
            rs1 = BASE;
        }
        let imm = match op.class() {
            class if class.is_direct() => {
                let target = random.number() % length;
                4 * (target as i64 - place as i64)
            }
            class if class.is_memory() => (random.number() % 8 * 8) as i64,
            // Alpha's second operand is a register or a literal.
            _ if isa == Isa::Alpha => match random.number() % 2 {
                0 => 0,
                _ => (random.number() % 256) as i64 | 0x100,
            },
            _ => (random.number() % 256) as i64,
        };
        let is_literal = isa == Isa::Alpha && imm & 0x100 != 0;
        Inst {
            imm,
            op,
            class: op.class(),
            rd: if rd == 0 { reg::SINK } else { rd },
            rs1,
            rs2: if is_literal { 0 } else { rs2 },
            rs3: rd,
            len: 4,
        }
    };
    let mut code: BTreeMap<_, _> = (0..length)
        .map(|place| (PC + 4 * place, at(place)))
        .collect();
    let end = Inst {
        op: Op::Ecall,
        class: OpClass::Syscall,
        ..Inst::illegal(4)
    };
    code.insert(PC + 4 * length, end);
    code
}

/// Interprets up to `count` instructions; how many were executed, and where it stopped.
fn interpret(
    code: &BTreeMap<u64, Inst>,
    hart: &mut Hart,
    memory: &mut Memory,
    count: u64,
) -> (u64, u64) {
    let mut pc = PC;
    for done in 0..count {
        let inst = code[&pc];
        pc = match execute_seldom(hart, memory, &inst, pc) {
            Outcome::Next => pc + 4,
            Outcome::Taken(target) => target,
            _ => return (done, pc),
        };
    }
    (count, pc)
}

fn run_like_the_interpreter(isa: Isa) {
    const MOST: usize = 30;
    let Some(mut translator) = compiler(MOST) else {
        return;
    };
    let mut random = Random::new(5 + isa as u64);
    let (mut long, mut stopped) = (0, 0);
    for _ in 0..600 {
        let code = code(isa, &mut random);
        let mut hart = registers(&mut random);
        hart.r[usize::from(reg::UNALIGNED)] = 0;
        hart.r[usize::from(BASE)] = FIRST + 8 * (random.number() % 64);
        let mut mem = memory(&mut random);
        let before = content(&mem);
        translator.clear();
        let mut listed = Listed(code.clone());
        // Several units, which lead to each other.
        for place in code.keys().step_by(3) {
            translator.compile(*place, &mut listed);
        }
        if !translator.has(PC) {
            continue;
        }
        let mut actual = hart.clone();
        let budget = (random.number() % 300) as i64;
        let (mut fuel, mut pc) = (budget, PC);
        let mut alone = 0;
        // The machine does the same: compiled code where there is some, and single instructions elsewhere.
        while fuel >= 0 {
            let mut is_alone = true;
            if let Some((rest, left)) = translator.run(pc, &mut actual, &mut mem, fuel) {
                assert!(rest > -(MOST as i64) - 1 && rest <= fuel);
                (fuel, pc, is_alone) = (rest, left.pc, left.at_seldom);
            }
            if is_alone {
                let inst = code[&pc];
                pc = match execute_seldom(&mut actual, &mut mem, &inst, pc) {
                    Outcome::Next => pc + 4,
                    Outcome::Taken(target) => target,
                    _ => break,
                };
                fuel -= 1;
                alone += 1;
            }
        }
        let after = content(&mem);
        mem.write_bytes(FIRST, &before).unwrap();
        let executed = (budget - fuel) as u64;
        let (done, end) = interpret(&code, &mut hart, &mut mem, executed);
        assert_eq!((executed, pc), (done, end), "{code:?}");
        (actual.r[95], hart.r[95]) = (0, 0);
        assert!(actual == hart, "{code:#?}\n{actual:?}\n{hart:?}");
        assert_eq!(after, content(&mem), "{code:?}");
        long += u32::from(executed > 100);
        stopped += u32::from(alone > 0);
    }
    assert!(long > 20 && stopped > 5, "{long} {stopped}");
}

#[test]
fn riscv_code_runs_like_the_interpreter() {
    run_like_the_interpreter(Isa::Riscv64);
}

#[test]
fn alpha_code_runs_like_the_interpreter() {
    run_like_the_interpreter(Isa::Alpha);
}
