//! Every operation, compiled alone, does what `execute` does.

use std::collections::BTreeMap;

use hps_isa::exec::{Outcome, execute_seldom};
use hps_isa::hart::Hart;
use hps_isa::inst::{Inst, Op, OpClass, reg};
use hps_isa::isa::Isa;
use hps_isa::memory::{Memory, Perm};
use hps_isa::random::Random;
use hps_isa::translator::{Code, Left, Translator};
use hps_translator::{Settings, translator};

pub const FIRST: u64 = 0x1_0000;
pub const BYTES: u64 = 0x4000;
pub const PC: u64 = 0x8_0000;

/// Code that is a list of instructions.
pub struct Listed(pub BTreeMap<u64, Inst>);

impl Code for Listed {
    fn at(&mut self, pc: u64) -> Option<Inst> {
        self.0.get(&pc).copied()
    }

    fn was_target(&self, pc: u64) -> bool {
        self.0.contains_key(&pc)
    }
}

/// A value of which there are many kinds: small, large, of special form, an address, a double.
pub fn value(random: &mut Random) -> u64 {
    let bits = random.number();
    match random.number() % 12 {
        0 => bits % 4,
        1 => (bits % 4).wrapping_neg(),
        2 => 1 << 63,
        3 => 0x8000_0000,
        4 => bits as u32 as i32 as u64,
        5 => bits | 0xffff_ffff_0000_0000,
        6 => FIRST + bits % BYTES,
        7 | 8 => FIRST + bits % BYTES / 8 * 8,
        9 => (bits as i32 as f64 / 256.0).to_bits(),
        10 => [0, 1 << 63, 0x7ff << 52, 0x7ff8 << 48, 1, 1 << 52][bits as usize % 6],
        _ => bits,
    }
}

pub fn registers(random: &mut Random) -> Hart {
    let mut hart = Hart::default();
    for register in &mut hart.r[1..64] {
        *register = value(random);
    }
    hart.r[usize::from(reg::UNALIGNED)] = random.number() % 2;
    // Mostly the state in which floating point has code of its own.
    hart.fcsr = match random.number() % 4 {
        0 => (random.number() % 0x100) as u8,
        _ => 1 | (random.number() % 32) as u8,
    };
    hart
}

pub fn memory(random: &mut Random) -> Memory {
    let mut memory = Memory::new(1 << 20).unwrap();
    memory.map(FIRST, BYTES, Perm::RW).unwrap();
    let bytes: Vec<u8> = (0..BYTES).map(|_| random.number() as u8).collect();
    memory.write_bytes(FIRST, &bytes).unwrap();
    memory
}

pub fn content(memory: &Memory) -> Vec<u8> {
    memory.readable(FIRST, BYTES).unwrap().to_vec()
}

pub fn compiler(most_instructions: usize) -> Option<Box<dyn Translator>> {
    translator(Settings {
        threshold: 1,
        begins_after: 0,
        most_instructions,
        ..Settings::default()
    })
}

/// An immediate as decoders make them.
fn immediate(op: Op, random: &mut Random) -> i64 {
    let bits = random.number();
    match op.class() {
        OpClass::Branch | OpClass::Jump | OpClass::Call => 64,
        class if class.is_memory() => (bits % 32) as i64 - 16,
        _ if matches!(op, Op::AlphaLda | Op::AlphaLdah) => (bits % 4096) as i64 - 2048,
        OpClass::IntAlu | OpClass::IntMul if op.isa() == Some(Isa::Alpha) => match bits % 2 {
            0 => 0,
            _ => (bits >> 8 & 0xff | 0x100) as i64,
        },
        OpClass::IntAlu | OpClass::IntMul | OpClass::IntDiv => (bits % 4096) as i64 - 2048,
        _ => (bits % 32) as i64,
    }
}

#[test]
fn an_operation_does_what_execution_does() {
    let Some(mut translator) = compiler(100) else {
        return;
    };
    let mut random = Random::new(11);
    let mut memory = memory(&mut random);
    let (mut next, mut taken, mut left_over) = (0, 0, 0);
    for &op in Op::ALL {
        for _ in 0..40 {
            let hart = registers(&mut random);
            let mut number = || (random.number() % 64) as u8;
            let (rd, rs1, rs2, rs3) = (number(), number(), number(), number());
            let imm = immediate(op, &mut random);
            let is_literal = op.isa() == Some(Isa::Alpha) && imm & 0x100 != 0;
            let inst = Inst {
                imm,
                op,
                class: op.class(),
                rd: if rd == 0 { reg::SINK } else { rd },
                rs1,
                rs2: if is_literal { 0 } else { rs2 },
                rs3: if matches!(op.class(), OpClass::FpFma) {
                    rs3
                } else {
                    rd
                },
                len: 4,
            };
            let before = content(&memory);
            let mut expected = hart.clone();
            let outcome = execute_seldom(&mut expected, &mut memory, &inst, PC);
            expected.r[usize::from(reg::SINK)] = 0;
            let stored = content(&memory);
            memory.write_bytes(FIRST, &before).unwrap();

            let behind = Inst {
                class: OpClass::Syscall,
                op: Op::Ecall,
                ..Inst::illegal(4)
            };
            let code = BTreeMap::from([(PC, inst), (PC + 4, behind), (PC + 64, behind)]);
            translator.clear();
            let mut actual = hart.clone();
            let is_compiled = translator.compile(PC, &mut Listed(code));
            if !is_compiled {
                assert!(
                    !matches!(outcome, Outcome::Taken(_)) || op.class().is_control(),
                    "{inst:?}"
                );
                left_over += 1;
                continue;
            }
            let (fuel, left) = translator
                .run(PC, &mut actual, &mut memory, 100)
                .expect("it was compiled");
            actual.r[usize::from(reg::SINK)] = 0;
            let (pc, done) = match outcome {
                Outcome::Next => (PC + 4, 1),
                Outcome::Taken(target) => (target, 1),
                _ => (PC, 0),
            };
            if done == 1
                && left
                    == (Left {
                        pc: PC,
                        at_seldom: true,
                    })
            {
                // The instruction was left to the machine, as nothing had happened.
                assert_eq!(fuel, 100);
                assert!(actual == hart, "{inst:?}");
                assert_eq!(content(&memory), before);
                left_over += 1;
                continue;
            }
            assert_eq!((fuel, left.pc), (100 - done, pc), "{inst:?} {outcome:?}");
            let differing = (0..96).find(|&register| actual.r[register] != expected.r[register]);
            assert_eq!(differing, None, "{inst:?} {hart:?}");
            assert_eq!(actual.fcsr, expected.fcsr, "{inst:?}");
            assert!(actual == expected, "{inst:?}");
            assert_eq!(content(&memory), stored, "{inst:?}");
            match outcome {
                Outcome::Next => next += 1,
                Outcome::Taken(_) => taken += 1,
                _ => assert!(left.at_seldom, "{inst:?}"),
            }
        }
    }
    assert!(next > 8000 && taken > 400, "{next} {taken} {left_over}");
}
