//! Compressed instructions: every 16-bit encoding of RV64DC, Zcb and Zcmop expands to an [`Inst`] of length 2.
//!
//! Reserved encodings are illegal, hints execute as the instruction they encode (whose destination
//! is the zero register or whose effect is nothing). Follows the "C" chapter of the unprivileged
//! specification, tables of quadrants 0 to 2.

use super::decode::{build, class_of, destination};
use crate::inst::{Inst, Op, reg};

const RA: u8 = 1;
const SP: u8 = 2;

/// The fields of a 16-bit encoding.
#[derive(Clone, Copy)]
struct Half(u32);

impl Half {
    /// Bits `low..low + count`, moved to bit `to` of an immediate.
    const fn bits(self, low: u32, count: u32, to: u32) -> u32 {
        (self.0 >> low & ((1 << count) - 1)) << to
    }
    /// Full register field in bits 11..7.
    const fn rd(self) -> u8 {
        self.bits(7, 5, 0) as u8
    }
    /// Full register field in bits 6..2.
    const fn rs2(self) -> u8 {
        self.bits(2, 5, 0) as u8
    }
    /// Register `x8` to `x15` in bits 9..7.
    const fn rd_short(self) -> u8 {
        8 + self.bits(7, 3, 0) as u8
    }
    /// Register `x8` to `x15` in bits 4..2.
    const fn rs2_short(self) -> u8 {
        8 + self.bits(2, 3, 0) as u8
    }
    /// Unsigned 6-bit immediate (shift amount).
    const fn shamt(self) -> i64 {
        (self.bits(2, 5, 0) | self.bits(12, 1, 5)) as i64
    }
    /// Signed 6-bit immediate.
    const fn imm6(self) -> i64 {
        sign_extend(self.bits(2, 5, 0) | self.bits(12, 1, 5), 6)
    }
    /// Offset of `c.lw` and `c.sw`.
    const fn word_offset(self) -> i64 {
        (self.bits(6, 1, 2) | self.bits(10, 3, 3) | self.bits(5, 1, 6)) as i64
    }
    /// Offset of `c.ld`, `c.sd`, `c.fld` and `c.fsd`.
    const fn double_offset(self) -> i64 {
        (self.bits(10, 3, 3) | self.bits(5, 2, 6)) as i64
    }
    /// Offset of `c.lwsp`.
    const fn sp_word_load(self) -> i64 {
        (self.bits(4, 3, 2) | self.bits(12, 1, 5) | self.bits(2, 2, 6)) as i64
    }
    /// Offset of `c.ldsp` and `c.fldsp`.
    const fn sp_double_load(self) -> i64 {
        (self.bits(5, 2, 3) | self.bits(12, 1, 5) | self.bits(2, 3, 6)) as i64
    }
    /// Offset of `c.swsp`.
    const fn sp_word_store(self) -> i64 {
        (self.bits(9, 4, 2) | self.bits(7, 2, 6)) as i64
    }
    /// Offset of `c.sdsp` and `c.fsdsp`.
    const fn sp_double_store(self) -> i64 {
        (self.bits(10, 3, 3) | self.bits(7, 3, 6)) as i64
    }
    /// Offset of `c.j`.
    const fn jump_offset(self) -> i64 {
        let low =
            self.bits(3, 3, 1) | self.bits(11, 1, 4) | self.bits(2, 1, 5) | self.bits(7, 1, 6);
        let high =
            self.bits(6, 1, 7) | self.bits(9, 2, 8) | self.bits(8, 1, 10) | self.bits(12, 1, 11);
        sign_extend(low | high, 12)
    }
    /// Offset of `c.beqz` and `c.bnez`.
    const fn branch_offset(self) -> i64 {
        let low = self.bits(3, 2, 1) | self.bits(10, 2, 3) | self.bits(2, 1, 5);
        sign_extend(low | self.bits(5, 2, 6) | self.bits(12, 1, 8), 9)
    }
}

const fn sign_extend(value: u32, bits: u32) -> i64 {
    (((value << (32 - bits)) as i32) >> (32 - bits)) as i64
}

/// Expands a 16-bit encoding (low two bits not both set).
pub(super) fn decode(half: u16) -> Inst {
    let h = Half(u32::from(half));
    let funct3 = half >> 13;
    let expanded = match half & 3 {
        0 => quadrant0(h, funct3),
        1 => quadrant1(h, funct3),
        _ => quadrant2(h, funct3),
    };
    expanded.unwrap_or(Inst::illegal(2))
}

fn quadrant0(h: Half, funct3: u16) -> Option<Inst> {
    let base = h.rd_short();
    let data = h.rs2_short();
    Some(match funct3 {
        0 => {
            // c.addi4spn; an immediate of zero is reserved (all zero bits: never an instruction).
            let imm = h.bits(6, 1, 2) | h.bits(5, 1, 3) | h.bits(11, 2, 4) | h.bits(7, 4, 6);
            immediate(Op::Addi, data, SP, nonzero(i64::from(imm))?)
        }
        1 => load(Op::Fld, reg::FP + data, base, h.double_offset()),
        2 => load(Op::Lw, data, base, h.word_offset()),
        3 => load(Op::Ld, data, base, h.double_offset()),
        4 => bytes_and_halves(h)?,
        5 => store(Op::Fsd, reg::FP + data, base, h.double_offset()),
        6 => store(Op::Sw, data, base, h.word_offset()),
        7 => store(Op::Sd, data, base, h.double_offset()),
        _ => return None,
    })
}

/// Quadrant 0, `funct3` 4 (Zcb): loads and stores of bytes and halfwords.
fn bytes_and_halves(h: Half) -> Option<Inst> {
    let (base, data) = (h.rd_short(), h.rs2_short());
    let byte_offset = i64::from(h.bits(6, 1, 0) | h.bits(5, 1, 1));
    let half_offset = i64::from(h.bits(5, 1, 1));
    Some(match (h.bits(10, 3, 0), h.bits(6, 1, 0)) {
        (0, _) => load(Op::Lbu, data, base, byte_offset),
        (1, 0) => load(Op::Lhu, data, base, half_offset),
        (1, _) => load(Op::Lh, data, base, half_offset),
        (2, _) => store(Op::Sb, data, base, byte_offset),
        (3, 0) => store(Op::Sh, data, base, half_offset),
        _ => return None,
    })
}

fn quadrant1(h: Half, funct3: u16) -> Option<Inst> {
    let rd = h.rd();
    Some(match funct3 {
        0 => immediate(Op::Addi, rd, rd, h.imm6()),
        1 if rd != reg::ZERO => immediate(Op::Addiw, rd, rd, h.imm6()),
        2 => immediate(Op::Addi, rd, reg::ZERO, h.imm6()),
        3 if rd == SP => {
            let low = h.bits(6, 1, 4) | h.bits(2, 1, 5) | h.bits(5, 1, 6);
            let imm = sign_extend(low | h.bits(3, 2, 7) | h.bits(12, 1, 9), 10);
            immediate(Op::Addi, SP, SP, nonzero(imm)?)
        }
        // c.mop.1, c.mop.3 to c.mop.15 (Zcmop): they write nothing.
        3 if h.imm6() == 0 && rd & 0x11 == 1 => immediate(Op::Addi, reg::ZERO, reg::ZERO, 0),
        3 => {
            let imm = nonzero(h.imm6())? << 12;
            Inst {
                rd: destination(rd),
                imm,
                ..build(Op::Lui, 2)
            }
        }
        4 => arithmetic(h)?,
        5 => jump(Op::Jal, reg::ZERO, h.jump_offset()),
        6 => branch(Op::Beq, h),
        7 => branch(Op::Bne, h),
        _ => return None,
    })
}

/// Quadrant 1, `funct3` 4: shifts, `c.andi` and register-register operations on `x8` to `x15`.
fn arithmetic(h: Half) -> Option<Inst> {
    let rd = h.rd_short();
    Some(match h.bits(10, 2, 0) {
        0 => immediate(Op::Srli, rd, rd, h.shamt()),
        1 => immediate(Op::Srai, rd, rd, h.shamt()),
        2 => immediate(Op::Andi, rd, rd, h.imm6()),
        _ => {
            let op = match h.bits(5, 2, 0) | h.bits(12, 1, 2) {
                0 => Op::Sub,
                1 => Op::Xor,
                2 => Op::Or,
                3 => Op::And,
                4 => Op::Subw,
                5 => Op::Addw,
                6 => Op::Mul,
                _ => return unary(h),
            };
            register(op, rd, rd, h.rs2_short())
        }
    })
}

/// Quadrant 1, `funct3` 4 (Zcb): operations on one of `x8` to `x15`.
fn unary(h: Half) -> Option<Inst> {
    let rd = h.rd_short();
    Some(match h.bits(2, 3, 0) {
        0 => immediate(Op::Andi, rd, rd, 0xff),
        1 => immediate(Op::SextB, rd, rd, 0),
        2 => immediate(Op::ZextH, rd, rd, 0),
        3 => immediate(Op::SextH, rd, rd, 0),
        4 => register(Op::AddUw, rd, rd, reg::ZERO),
        5 => immediate(Op::Xori, rd, rd, -1),
        _ => return None,
    })
}

fn quadrant2(h: Half, funct3: u16) -> Option<Inst> {
    let rd = h.rd();
    let rs2 = h.rs2();
    Some(match funct3 {
        0 => immediate(Op::Slli, rd, rd, h.shamt()),
        1 => load(Op::Fld, reg::FP + rd, SP, h.sp_double_load()),
        2 if rd != reg::ZERO => load(Op::Lw, rd, SP, h.sp_word_load()),
        3 if rd != reg::ZERO => load(Op::Ld, rd, SP, h.sp_double_load()),
        4 => match (h.bits(12, 1, 0), rd, rs2) {
            (0, reg::ZERO, reg::ZERO) => return None,
            (0, _, reg::ZERO) => jump_register(reg::ZERO, rd),
            (0, ..) => register(Op::Add, rd, reg::ZERO, rs2),
            (_, reg::ZERO, reg::ZERO) => build(Op::Ebreak, 2),
            (_, _, reg::ZERO) => jump_register(RA, rd),
            _ => register(Op::Add, rd, rd, rs2),
        },
        5 => store(Op::Fsd, reg::FP + rs2, SP, h.sp_double_store()),
        6 => store(Op::Sw, rs2, SP, h.sp_word_store()),
        7 => store(Op::Sd, rs2, SP, h.sp_double_store()),
        _ => return None,
    })
}

fn nonzero(imm: i64) -> Option<i64> {
    (imm != 0).then_some(imm)
}

fn immediate(op: Op, rd: u8, rs1: u8, imm: i64) -> Inst {
    Inst {
        rd: destination(rd),
        rs1,
        imm,
        ..build(op, 2)
    }
}

fn register(op: Op, rd: u8, rs1: u8, rs2: u8) -> Inst {
    Inst {
        rd: destination(rd),
        rs1,
        rs2,
        ..build(op, 2)
    }
}

fn load(op: Op, rd: u8, rs1: u8, imm: i64) -> Inst {
    Inst {
        rd,
        rs1,
        imm,
        ..build(op, 2)
    }
}

fn store(op: Op, rs2: u8, rs1: u8, imm: i64) -> Inst {
    Inst {
        rs1,
        rs2,
        imm,
        ..build(op, 2)
    }
}

fn branch(op: Op, h: Half) -> Inst {
    Inst {
        rs1: h.rd_short(),
        imm: h.branch_offset(),
        ..build(op, 2)
    }
}

fn jump(op: Op, rd: u8, imm: i64) -> Inst {
    let inst = Inst {
        rd: destination(rd),
        imm,
        ..build(op, 2)
    };
    Inst {
        class: class_of(&inst),
        ..inst
    }
}

fn jump_register(rd: u8, rs1: u8) -> Inst {
    let inst = Inst {
        rd: destination(rd),
        rs1,
        ..build(Op::Jalr, 2)
    };
    Inst {
        class: class_of(&inst),
        ..inst
    }
}
