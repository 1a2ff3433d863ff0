//! Random blocks over every operation of the table and every compressed encoding.
//!
//! Memory accesses go to the block's window by construction: loads anywhere in it, stores and
//! atomics only above `STORES`, so that the lower part keeps its special values, and below
//! `DUMP`. Branches and jumps go forward, over a few items.

use hps_isa::inst::{Inst, Op, OpClass, reg};
use hps_isa::isa::Isa;
use hps_isa::ops::{Format, Operand};
use hps_isa::riscv::decode;

use super::image::{addi, operation, word};
use crate::lockstep_support::image::{Block, DUMP};
use crate::lockstep_support::random::Random;

/// The lowest offset from the middle of the window that is written.
const STORES: i64 = -512;
/// A data-dependent offset is at most this mask plus 8.
const INDEX_MASK: i64 = 0x1ff;
/// `fflags`, `frm`, `fcsr`: the only CSRs whose values both machines must agree on.
const CSRS: [i64; 3] = [1, 2, 3];

pub struct Generator {
    pub random: Random,
    base: u8,
    /// Nesting of branches.
    depth: u32,
}

/// Random code of about `items` pieces.
pub fn block(random: Random, items: usize) -> (Block, Random) {
    let mut random = random;
    // Often a register that compressed loads and stores can use.
    let base = match random.below(10) {
        0..4 => 8 + random.below(8) as u8,
        4..6 => 2,
        _ => 1 + random.below(31) as u8,
    };
    let mut generator = Generator {
        random,
        base,
        depth: 0,
    };
    let items = (0..items).map(|_| generator.item()).collect();
    (Block { base, items }, generator.random)
}

impl Generator {
    /// One piece of code: an instruction and what it needs to be safe.
    fn item(&mut self) -> Vec<u8> {
        if self.random.chance(30) {
            return self.compressed();
        }
        loop {
            let op = self.random.pick(Op::ALL);
            if op.isa() == Some(Isa::Riscv64)
                && qemu_knows(op)
                && let Some(code) = self.full(op)
            {
                return code;
            }
        }
    }

    /// A 32-bit instruction; none for operations that cannot be compared.
    fn full(&mut self, op: Op) -> Option<Vec<u8>> {
        Some(match op.format() {
            Format::DiseBranch
            | Format::DiseJump
            | Format::DiseCall
            | Format::DiseCallIf
            | Format::DiseMove
            | Format::Touch => {
                return None;
            }
            // The system call is in every block's end; a breakpoint ends the run.
            Format::None if op != Op::FenceI => return None,
            Format::Load | Format::FpLoad | Format::Store | Format::FpStore => self.memory(op),
            Format::Atomic | Format::LoadReserved => self.atomic(op),
            Format::Branch | Format::Jump => {
                let skipped = self.skipped();
                let inst = Inst {
                    imm: 4 + skipped.len() as i64,
                    ..self.operands(op)
                };
                [bytes(&[inst]), skipped].concat()
            }
            Format::JumpRegister => self.jump_register(),
            Format::Csr | Format::CsrImmediate => self.csr(op),
            _ if op == Op::Ctzw => self.ctzw(),
            _ => bytes(&[self.operands(op)]),
        })
    }

    /// Code that a branch may skip.
    fn skipped(&mut self) -> Vec<u8> {
        if self.depth == 2 {
            return bytes(&[self.plain()]);
        }
        self.depth += 1;
        let count = self.random.below(4);
        let code = (0..count).flat_map(|_| self.item()).collect();
        self.depth -= 1;
        code
    }

    /// A destination: any register but the base, the zero register included.
    fn destination(&mut self) -> u8 {
        loop {
            let rd = self.random.below(32) as u8;
            if rd != self.base {
                return if rd == 0 { reg::SINK } else { rd };
            }
        }
    }

    /// A register to compute an address in.
    fn scratch(&mut self) -> u8 {
        loop {
            let rd = self.destination();
            if rd != reg::SINK {
                return rd;
            }
        }
    }

    fn source(&mut self) -> u8 {
        self.random.below(32) as u8
    }

    fn float(&mut self) -> u8 {
        reg::FP + self.random.below(32) as u8
    }

    /// The operation with random registers, immediates and rounding modes.
    fn operands(&mut self, op: Op) -> Inst {
        let mut inst = operation(op);
        for operand in op.format().operands() {
            match operand {
                Operand::Rd => inst.rd = self.destination(),
                Operand::Rs1 => inst.rs1 = self.source(),
                Operand::Rs2 => inst.rs2 = self.source(),
                Operand::Fd => inst.rd = self.float(),
                Operand::Fs1 => inst.rs1 = self.float(),
                Operand::Fs2 => inst.rs2 = self.float(),
                Operand::Fs3 => inst.rs3 = self.float(),
                Operand::Imm12 => {
                    inst.imm = self.random.range(-2048, 2047) >> self.random.below(12)
                }
                Operand::Shamt6 => inst.imm = self.random.range(0, 63),
                Operand::Shamt5 => inst.imm = self.random.range(0, 31),
                Operand::Imm20 => inst.imm = i64::from((self.random.next() as i32) & !0xfff),
                Operand::RoundingMode | Operand::RoundingModeExact => {
                    inst.imm = self.random.pick(&[0, 1, 2, 3, 4, 7, 7, 7]);
                }
                Operand::FenceSets => inst.imm = self.random.range(0, 255),
                Operand::Zimm => inst.imm |= self.random.range(0, 31) << 12,
                Operand::Csr => inst.imm |= self.random.pick(&CSRS),
                _ => {}
            }
        }
        inst
    }

    /// Integer or floating-point computation without side effects.
    fn plain(&mut self) -> Inst {
        loop {
            let op = self.random.pick(Op::ALL);
            let computes = matches!(
                op.format(),
                Format::Register
                    | Format::Immediate
                    | Format::Unary
                    | Format::FpRounded
                    | Format::FpRegister
            );
            if computes && qemu_knows(op) && op != Op::Ctzw {
                return self.operands(op);
            }
        }
    }

    /// A load or store, at a fixed or at a computed offset, of any alignment.
    fn memory(&mut self, op: Op) -> Vec<u8> {
        let (low, high) = match op.class() {
            OpClass::Load => (-2048, 2047 - 8),
            _ => (STORES, DUMP - 8),
        };
        let inst = self.operands(op);
        if self.random.chance(60) {
            let imm = self.random.range(low, high);
            return bytes(&[Inst {
                rs1: self.base,
                imm,
                ..inst
            }]);
        }
        let pointer = self.scratch();
        let imm = self.random.range(low, high - INDEX_MASK);
        let mut code = self.index(pointer, INDEX_MASK);
        code.push(Inst {
            rs1: pointer,
            imm,
            ..inst
        });
        bytes(&code)
    }

    /// `pointer = base + (something & mask)`.
    fn index(&mut self, pointer: u8, mask: i64) -> Vec<Inst> {
        let rs1 = self.source();
        vec![
            Inst {
                rd: pointer,
                rs1,
                imm: mask,
                ..operation(Op::Andi)
            },
            Inst {
                rd: pointer,
                rs1: pointer,
                rs2: self.base,
                ..operation(Op::Add)
            },
        ]
    }

    /// An atomic on an aligned address. A load-reserved comes with its store-conditional, so that
    /// no reservation outlives its item: QEMU compares the reserved value too (see `exec::atomic`).
    fn atomic(&mut self, op: Op) -> Vec<u8> {
        let pointer = self.scratch();
        let double = op.mnemonic().ends_with(".d");
        let align: i64 = if double { 8 } else { 4 };
        let mut code = if self.random.chance(50) {
            self.index(pointer, INDEX_MASK & -align)
        } else {
            let slots = (DUMP - 8 - STORES) / align;
            vec![addi(
                pointer,
                self.base,
                STORES + align * self.random.range(0, slots),
            )]
        };
        let inst = Inst {
            rs1: pointer,
            ..self.operands(op)
        };
        if op.format() != Format::LoadReserved {
            code.push(inst);
            return bytes(&code);
        }
        while code
            .last()
            .is_some_and(|last| last.op != Op::LrW && last.op != Op::LrD)
        {
            let rd = self.destination();
            if rd != pointer {
                code.push(Inst { rd, ..inst });
            }
        }
        for _ in 0..self.random.below(3) {
            let between = self.plain();
            if between.rd != pointer {
                code.push(between);
            }
        }
        let conditional = if double { Op::ScD } else { Op::ScW };
        let sc = Inst {
            rs1: pointer,
            ..self.operands(conditional)
        };
        code.push(sc);
        if self.random.chance(20) && sc.rd != pointer {
            // The reservation is gone: this one fails.
            code.push(Inst {
                rs1: pointer,
                ..self.operands(conditional)
            });
        }
        bytes(&code)
    }

    /// `auipc` and `jalr` over a few items, sometimes with bit 0 of the target set.
    fn jump_register(&mut self) -> Vec<u8> {
        let pointer = self.scratch();
        let skipped = self.skipped();
        let odd = self.random.range(0, 1);
        let jump = Inst {
            rd: self.destination(),
            rs1: pointer,
            imm: 8 + skipped.len() as i64 + odd,
            ..operation(Op::Jalr)
        };
        [bytes(&[auipc(pointer), jump]), skipped].concat()
    }

    /// An access to a floating-point CSR, a look at the result, and a valid rounding mode again.
    fn csr(&mut self, op: Op) -> Vec<u8> {
        let access = self.operands(op);
        let look = Inst {
            rd: self.destination(),
            imm: 3,
            ..operation(Op::Csrrs)
        };
        let mode = self.random.range(0, 4);
        let repair = Inst {
            imm: 2 | mode << 12,
            ..operation(Op::Csrrwi)
        };
        bytes(&[access, look, repair])
    }

    /// QEMU before 8.0 counts the trailing zeros of all 64 bits ("target/riscv: Fix ctzw
    /// behavior"), which shows if only the upper half is not zero: so the lower half gets a bit, or
    /// the upper half is cleared. The case left out is in the unit tests.
    fn ctzw(&mut self) -> Vec<u8> {
        let operand = self.scratch();
        let prepare = if self.random.chance(50) {
            Inst {
                imm: self.random.range(0, 31),
                ..operation(Op::Bseti)
            }
        } else {
            operation(Op::AddUw)
        };
        let prepare = Inst {
            rd: operand,
            rs1: self.source(),
            ..prepare
        };
        bytes(&[
            prepare,
            Inst {
                rs1: operand,
                ..self.operands(Op::Ctzw)
            },
        ])
    }

    /// A random 16-bit encoding and what it needs to be safe.
    fn compressed(&mut self) -> Vec<u8> {
        loop {
            let half = self.random.next() as u16;
            if half & 3 == 3 || !qemu_knows_compressed(half) {
                continue;
            }
            let inst = decode(u32::from(half));
            if inst.rd == self.base {
                continue;
            }
            let encoding = half.to_le_bytes().to_vec();
            match inst.class {
                OpClass::IntAlu => return encoding,
                OpClass::Load | OpClass::Store if inst.rs1 == self.base => return encoding,
                OpClass::Load | OpClass::Store => {
                    let offset = self.random.range(0, 500);
                    return [bytes(&[addi(inst.rs1, self.base, offset)]), encoding].concat();
                }
                OpClass::Branch | OpClass::Jump => {
                    let skipped = self.skipped();
                    let offset = 2 + skipped.len() as u16;
                    if let Some(half) = with_offset(half, &inst, offset) {
                        return [half.to_le_bytes().to_vec(), skipped].concat();
                    }
                }
                OpClass::JumpIndirect | OpClass::CallIndirect | OpClass::Return
                    if inst.rs1 != self.base =>
                {
                    let skipped = self.skipped();
                    let target = 10 + skipped.len() as i64;
                    let code = [auipc(inst.rs1), addi(inst.rs1, inst.rs1, target)];
                    return [bytes(&code), encoding, skipped].concat();
                }
                _ => {}
            }
        }
    }
}

/// QEMU 7.2, the oldest that has to do, knows the operation. For the others there is a second model in
/// `riscv_model.rs`.
fn qemu_knows(op: Op) -> bool {
    let unknown = [
        Op::CzeroEqz..=Op::MopRr,
        Op::AmoswapB..=Op::CboFlush,
        Op::FliS..=Op::FcvtmodWD,
    ];
    !unknown.iter().any(|range| range.contains(&op))
}

/// Whether QEMU knows a compressed encoding: not those of Zcb and Zcmop.
fn qemu_knows_compressed(half: u16) -> bool {
    let zcb = half & 0xe003 == 0x8000 || half & 0xfc43 == 0x9c41;
    let zcmop = half & 0xf8ff == 0x6081;
    !zcb && !zcmop
}

fn auipc(rd: u8) -> Inst {
    Inst {
        rd,
        ..operation(Op::Auipc)
    }
}

/// A compressed branch or jump with another offset, if it reaches.
fn with_offset(half: u16, inst: &Inst, offset: u16) -> Option<u16> {
    let bit = |from: u16, to: u16| (offset >> from & 1) << to;
    if inst.class == OpClass::Jump {
        let scattered = [
            (11, 12),
            (4, 11),
            (9, 10),
            (8, 9),
            (10, 8),
            (6, 7),
            (7, 6),
            (3, 5),
            (2, 4),
            (1, 3),
            (5, 2),
        ];
        let bits = scattered
            .iter()
            .fold(0, |bits, &(from, to)| bits | bit(from, to));
        (offset < 2048).then_some(half & 0xe003 | bits)
    } else {
        let scattered = [
            (8, 12),
            (4, 11),
            (3, 10),
            (7, 6),
            (6, 5),
            (2, 4),
            (1, 3),
            (5, 2),
        ];
        let bits = scattered
            .iter()
            .fold(0, |bits, &(from, to)| bits | bit(from, to));
        (offset < 256).then_some(half & 0xe383 | bits)
    }
}

fn bytes(code: &[Inst]) -> Vec<u8> {
    code.iter()
        .flat_map(|inst| word(inst).to_le_bytes())
        .collect()
}
