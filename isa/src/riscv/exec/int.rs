//! RV64I: integer arithmetic and logic.

use super::{immediate_ops, register_ops, rs1, rs2, sext32, write};
use crate::exec::Outcome;
use crate::hart::Hart;
use crate::inst::Inst;

#[inline(always)]
pub(crate) fn lui<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    write(hart, inst, inst.imm as u64)
}

#[inline(always)]
pub(crate) fn auipc<B>(hart: &mut Hart, _: &mut B, inst: &Inst, pc: u64) -> Outcome {
    write(hart, inst, pc.wrapping_add(inst.imm as u64))
}

/// A may-be-operation (Zimop): it writes zero.
#[inline(always)]
pub(crate) fn mop<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    write(hart, inst, 0)
}

immediate_ops! {
    addi(a, imm) = a.wrapping_add(imm);
    slti(a, imm) = u64::from((a as i64) < imm as i64);
    sltiu(a, imm) = u64::from(a < imm);
    xori(a, imm) = a ^ imm;
    ori(a, imm) = a | imm;
    andi(a, imm) = a & imm;
    slli(a, imm) = a << (imm & 63);
    srli(a, imm) = a >> (imm & 63);
    srai(a, imm) = ((a as i64) >> (imm & 63)) as u64;
    addiw(a, imm) = sext32(a.wrapping_add(imm));
    slliw(a, imm) = sext32(a << (imm & 31));
    srliw(a, imm) = sext32(u64::from(a as u32 >> (imm & 31)));
    sraiw(a, imm) = ((a as i32) >> (imm & 31)) as i64 as u64;
}

register_ops! {
    add(a, b) = a.wrapping_add(b);
    sub(a, b) = a.wrapping_sub(b);
    sll(a, b) = a << (b & 63);
    slt(a, b) = u64::from((a as i64) < b as i64);
    sltu(a, b) = u64::from(a < b);
    xor(a, b) = a ^ b;
    srl(a, b) = a >> (b & 63);
    sra(a, b) = ((a as i64) >> (b & 63)) as u64;
    or(a, b) = a | b;
    and(a, b) = a & b;
    addw(a, b) = sext32(a.wrapping_add(b));
    subw(a, b) = sext32(a.wrapping_sub(b));
    sllw(a, b) = sext32(a << (b & 31));
    srlw(a, b) = sext32(u64::from(a as u32 >> (b & 31)));
    sraw(a, b) = ((a as i32) >> (b & 31)) as i64 as u64;
}
