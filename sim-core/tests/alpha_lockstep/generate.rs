//! Random blocks over every operation of the table that is not floating-point arithmetic.
//!
//! Memory accesses go to the block's window by construction: loads anywhere in it, stores only above
//! `STORES`, so that the lower part keeps its special values, and below `DUMP`. Branches and jumps go
//! forward, over a few items.

use hps_isa::alpha::{decode, encode};
use hps_isa::format::{AlphaOperand, Format, Operand};
use hps_isa::inst::{Inst, Op, OpClass, reg};
use hps_isa::isa::Isa;

use super::image::{V0, bytes, literal, load, operation, register, wruniq};
use crate::lockstep_support::image::{Block, DUMP};
use crate::lockstep_support::random::Random;

/// The lowest offset from the middle of the window that is written.
const STORES: i64 = -512;
/// A data-dependent offset is at most this mask plus 8.
const INDEX_MASK: i64 = 0xff;

struct Generator {
    random: Random,
    base: u8,
    /// Nesting of branches.
    depth: u32,
}

/// Random code of about `items` pieces.
pub fn block(random: Random, items: usize) -> (Block, Random) {
    let mut random = random;
    let base = 1 + random.below(31) as u8;
    let mut generator = Generator {
        random,
        base,
        depth: 0,
    };
    let items = (0..items).map(|_| generator.item()).collect();
    (Block { base, items }, generator.random)
}

/// Code that overflows: `op` of `1 << shifted` and itself, or of the least number and one.
pub fn overflow(op: Op, shifted: i64) -> Block {
    let (power, other) = (1, 2);
    let subtracts = matches!(op, Op::AlphaSublV | Op::AlphaSubqV);
    let second = if subtracts { other } else { power };
    let code = [
        load(Op::AlphaLda, other, reg::ZERO, 1),
        literal(Op::AlphaSll, other, shifted, power),
        register(op, power, second, other),
    ];
    Block {
        base: 3,
        items: vec![bytes(&code)],
    }
}

impl Generator {
    /// One piece of code: an instruction and what it needs to be safe.
    fn item(&mut self) -> Vec<u8> {
        loop {
            let op = self.random.pick(Op::ALL);
            if op.isa() == Some(Isa::Alpha)
                && let Some(code) = self.instruction(op)
            {
                return code;
            }
        }
    }

    /// An instruction; none for operations that cannot be compared here.
    fn instruction(&mut self, op: Op) -> Option<Vec<u8>> {
        Some(match op.format() {
            Format::AlphaFpRounded
            | Format::AlphaFpUnary
            | Format::AlphaFpCompare
            | Format::AlphaFpWiden
            | Format::AlphaFpToQuad
            | Format::AlphaQuadToFp
            | Format::AlphaQuadToLong
            | Format::AlphaFpcrWrite => return None,
            Format::AlphaPal => return self.pal_call(op),
            Format::AlphaLoad | Format::AlphaStore | Format::AlphaFpLoad | Format::AlphaFpStore
                if op.class() != OpClass::IntAlu =>
            {
                if op.class() == OpClass::Atomic {
                    self.locked_pair(op)
                } else {
                    self.memory(op)
                }
            }
            Format::AlphaStoreConditional => self.lone_conditional(op),
            Format::AlphaBranch | Format::AlphaFpBranch | Format::AlphaJump => self.branch(op),
            Format::AlphaJumpRegister => self.jump_register(op),
            Format::AlphaCounter if op == Op::AlphaRpcc => self.cycle_counter(),
            Format::AlphaOperate if may_overflow(op) => self.checked(op),
            _ if op == Op::AlphaPrefetch => self.prefetch(),
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
                return if rd == reg::ZERO { reg::SINK } else { rd };
            }
        }
    }

    /// A register to compute an address in, other than these.
    fn scratch(&mut self, not: &[u8]) -> u8 {
        loop {
            let rd = self.destination();
            if rd != reg::SINK && !not.contains(&rd) {
                return rd;
            }
        }
    }

    fn source(&mut self) -> u8 {
        self.random.below(32) as u8
    }

    /// A floating-point register; sometimes the one that is zero.
    fn float(&mut self, zero: u8) -> u8 {
        match self.random.below(32) as u8 {
            31 => zero,
            f => reg::FP + f,
        }
    }

    /// The operation with random registers and immediates.
    fn operands(&mut self, op: Op) -> Inst {
        let mut inst = operation(op);
        let mut literal_value = None;
        for operand in op.format().operands() {
            let &Operand::Alpha(operand) = operand else {
                continue;
            };
            match operand {
                AlphaOperand::RaWritten | AlphaOperand::RcWritten => inst.rd = self.destination(),
                AlphaOperand::RaFirst | AlphaOperand::RbAddress => inst.rs1 = self.source(),
                AlphaOperand::RaStored => inst.rs2 = self.source(),
                AlphaOperand::RaStoredWritten => {
                    inst.rd = self.destination();
                    inst.rs2 = inst.rd % reg::SINK;
                }
                AlphaOperand::RbOrLiteral if self.random.chance(50) => {
                    let shift = self.random.below(8);
                    literal_value = Some(self.random.range(0, 255) >> shift);
                }
                AlphaOperand::RbOrLiteral => inst.rs2 = self.source(),
                AlphaOperand::RcKept => {
                    inst.rd = self.destination();
                    inst.rs3 = inst.rd % reg::SINK;
                }
                AlphaOperand::FaWritten | AlphaOperand::FcWritten => {
                    inst.rd = self.float(reg::SINK);
                }
                AlphaOperand::FaFirst => inst.rs1 = self.float(reg::ZERO),
                AlphaOperand::FaStored | AlphaOperand::FbSecond => {
                    inst.rs2 = self.float(reg::ZERO);
                }
                AlphaOperand::FcKept => {
                    inst.rd = self.float(reg::SINK);
                    inst.rs3 = inst.rd % reg::SINK;
                }
                AlphaOperand::MemDisp16 => {
                    inst.rs1 = self.source();
                    inst.imm = self.displacement();
                }
                AlphaOperand::MemDisp16High => {
                    inst.rs1 = self.source();
                    inst.imm = self.displacement() << 16;
                }
                AlphaOperand::JumpHint => inst.imm = self.random.range(0, 0x3fff),
                _ => {}
            }
        }
        // Some operations of one operand have no literal.
        if let Some(value) = literal_value {
            let with_literal = literal(op, inst.rs1, value, inst.rd);
            if encode(&with_literal).is_some() {
                inst.imm = with_literal.imm;
            } else {
                inst.rs2 = self.source();
            }
        }
        inst
    }

    fn displacement(&mut self) -> i64 {
        self.random.range(-0x8000, 0x7fff) >> self.random.below(16)
    }

    /// Computation without side effects.
    fn plain(&mut self) -> Inst {
        loop {
            let op = self.random.pick(Op::ALL);
            let computes = matches!(
                op.format(),
                Format::AlphaOperate
                    | Format::AlphaOperateB
                    | Format::AlphaConditionalMove
                    | Format::AlphaFpPlain
                    | Format::AlphaFpToInt
                    | Format::AlphaIntToFp
            );
            if computes && !may_overflow(op) {
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
        let mut inst = self.operands(op);
        if inst.class == OpClass::Load && inst.rd == reg::SINK {
            return self.prefetch();
        }
        inst.rs1 = self.base;
        inst.imm = self.random.range(low, high);
        if self.random.chance(60) {
            return bytes(&[inst]);
        }
        let pointer = self.scratch(&[]);
        let mut code = self.index(pointer);
        inst.rs1 = pointer;
        inst.imm = self.random.range(low, high - INDEX_MASK);
        code.push(inst);
        bytes(&code)
    }

    /// `pointer = base + (something & mask)`.
    fn index(&mut self, pointer: u8) -> Vec<Inst> {
        let source = self.source();
        vec![
            literal(Op::AlphaAnd, source, INDEX_MASK, pointer),
            register(Op::AlphaAddq, self.base, pointer, pointer),
        ]
    }

    /// A load into register 31, of any address.
    fn prefetch(&mut self) -> Vec<u8> {
        const LOADS: [u32; 7] = [0x0a, 0x0b, 0x0c, 0x22, 0x23, 0x28, 0x29];
        let low = self.random.next() as u32 & 0x1f_ffff;
        let word = self.random.pick(&LOADS) << 26 | 31 << 21 | low;
        assert_eq!(decode(word).op, Op::AlphaPrefetch, "{word:#x}");
        word.to_le_bytes().to_vec()
    }

    /// A locked load and its store-conditional, so that no reservation outlives its item: QEMU compares
    /// the locked value too (see `alpha::exec::mem`).
    fn locked_pair(&mut self, op: Op) -> Vec<u8> {
        let (conditional, align) = match op {
            Op::AlphaLdlL => (Op::AlphaStlC, 4),
            _ => (Op::AlphaStqC, 8),
        };
        let pointer = self.scratch(&[]);
        let slots = (DUMP - 8 - 64 - STORES) / align;
        let offset = STORES + align * self.random.range(0, slots);
        let disp = align * self.random.range(0, 64 / align);
        let loaded = self.scratch(&[pointer]);
        let mut code = vec![
            load(Op::AlphaLda, pointer, self.base, offset),
            load(op, loaded, pointer, disp),
        ];
        for _ in 0..self.random.below(3) {
            let between = self.plain();
            if between.rd != pointer {
                code.push(between);
            }
        }
        // Sometimes elsewhere, where it fails; sometimes twice, the second of which fails.
        let disp = if self.random.chance(15) {
            align * self.random.range(0, 64 / align)
        } else {
            disp
        };
        for _ in 0..self.random.range(1, 2) {
            let inst = self.operands(conditional);
            if inst.rd != pointer {
                code.push(Inst {
                    rs1: pointer,
                    imm: disp,
                    ..inst
                });
            }
        }
        if code.last().is_none_or(|last| last.op != conditional) {
            code.push(Inst {
                rs1: pointer,
                imm: disp,
                rd: reg::SINK,
                ..operation(conditional)
            });
        }
        bytes(&code)
    }

    /// A store-conditional without a reservation.
    fn lone_conditional(&mut self, op: Op) -> Vec<u8> {
        let inst = self.operands(op);
        bytes(&[Inst {
            rs1: self.base,
            imm: 8 * self.random.range(STORES / 8, DUMP / 8 - 1),
            ..inst
        }])
    }

    /// A branch, jump or call over a few items.
    fn branch(&mut self, op: Op) -> Vec<u8> {
        let skipped = self.skipped();
        let inst = Inst {
            imm: 4 + skipped.len() as i64,
            ..self.operands(op)
        };
        [bytes(&[inst]), skipped].concat()
    }

    /// An indirect jump over a few items, sometimes with the low bits of the target set.
    fn jump_register(&mut self, op: Op) -> Vec<u8> {
        let pointer = self.scratch(&[]);
        let skipped = self.skipped();
        // The address behind the first of these three.
        let here = Inst {
            rd: pointer,
            imm: 4,
            ..operation(Op::AlphaBr)
        };
        let ahead = 8 + skipped.len() as i64 + self.random.range(0, 3);
        let jump = Inst {
            rs1: pointer,
            ..self.operands(op)
        };
        let code = [here, load(Op::AlphaLda, pointer, pointer, ahead), jump];
        [bytes(&code), skipped].concat()
    }

    /// Reads the upper half of `rpcc`, on which the two must agree: the counter has 32 bits.
    fn cycle_counter(&mut self) -> Vec<u8> {
        let rd = self.scratch(&[]);
        let read = Inst {
            rd,
            ..operation(Op::AlphaRpcc)
        };
        bytes(&[read, literal(Op::AlphaSrl, rd, 32, rd)])
    }

    fn pal_call(&mut self, op: Op) -> Option<Vec<u8>> {
        let inst = match op {
            Op::AlphaImb => operation(op),
            Op::AlphaWruniq => wruniq(),
            Op::AlphaRduniq if self.base != V0 => Inst {
                rd: V0,
                rs1: reg::UNIQUE,
                ..operation(op)
            },
            _ => return None,
        };
        Some(bytes(&[inst]))
    }

    /// An operation that traps on overflow, on operands too short for one.
    fn checked(&mut self, op: Op) -> Vec<u8> {
        let shift = match op {
            Op::AlphaMullV => 49,
            Op::AlphaAddlV | Op::AlphaSublV | Op::AlphaMulqV => 33,
            _ => 1,
        };
        let first = self.scratch(&[]);
        let second = self.scratch(&[first]);
        let (a, b) = (self.source(), self.source());
        let mut inst = self.operands(op);
        inst.rs1 = first;
        if inst.imm == 0 {
            inst.rs2 = second;
        }
        bytes(&[
            literal(Op::AlphaSra, a, shift, first),
            literal(Op::AlphaSra, b, shift, second),
            inst,
        ])
    }
}

/// Whether an operation traps if its result does not fit.
fn may_overflow(op: Op) -> bool {
    matches!(
        op,
        Op::AlphaAddlV
            | Op::AlphaSublV
            | Op::AlphaMullV
            | Op::AlphaAddqV
            | Op::AlphaSubqV
            | Op::AlphaMulqV
    )
}
