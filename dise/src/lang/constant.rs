//! Constants and addresses in handlers: as many instructions as they take.

use hps_isa::alpha;
use hps_isa::inst::{Inst, Op, reg};
use hps_isa::isa::Isa;

/// `rd = value` for an integer register, in as few instructions as the value needs: what `li` is in a
/// handler.
#[must_use]
pub fn load_immediate(isa: Isa, rd: u8, value: i64) -> Vec<Inst> {
    match isa {
        Isa::Riscv64 => riscv_immediate(rd, value),
        Isa::Alpha => {
            let mut code = alpha::asm::constant(rd, value);
            code.iter_mut().for_each(|inst| inst.rd = destination(rd));
            code
        }
    }
}

/// Instructions in [`load_address`], whatever the address.
pub(super) const fn address_instructions(isa: Isa) -> u64 {
    match isa {
        Isa::Riscv64 => 2,
        Isa::Alpha => 4,
    }
}

/// `rd = address` at `pc`, in a number of instructions that does not depend on the address. None if
/// that many do not reach it: 2 GiB away on RISC-V, 2^47 on Alpha, which has no address relative to the
/// program counter but by a jump.
pub(super) fn load_address(isa: Isa, rd: u8, address: u64, pc: u64) -> Option<Vec<Inst>> {
    match isa {
        Isa::Riscv64 => riscv_address(rd, address.wrapping_sub(pc) as i64),
        Isa::Alpha => alpha_address(rd, address),
    }
}

/// One to eight instructions: upper and lower parts, shifted into place from the top.
fn riscv_immediate(rd: u8, value: i64) -> Vec<Inst> {
    let low = value << 52 >> 52;
    if value == low {
        return vec![inst(Op::Addi, rd, reg::ZERO, value)];
    }
    let high = value.wrapping_sub(low);
    if i32::try_from(value).is_ok() {
        let mut out = vec![inst(Op::Lui, rd, reg::ZERO, i64::from(high as i32))];
        if low != 0 {
            out.push(inst(Op::Addiw, rd, rd, low));
        }
        return out;
    }
    let shift = high.trailing_zeros();
    let mut out = riscv_immediate(rd, high >> shift);
    out.push(inst(Op::Slli, rd, rd, i64::from(shift)));
    if low != 0 {
        out.push(inst(Op::Addi, rd, rd, low));
    }
    out
}

fn riscv_address(rd: u8, distance: i64) -> Option<Vec<Inst>> {
    let low = distance << 52 >> 52;
    let high = i32::try_from(distance - low).ok()?;
    Some(vec![
        inst(Op::Auipc, rd, reg::ZERO, i64::from(high)),
        inst(Op::Addi, rd, rd, low),
    ])
}

/// The upper 32 bits in 16, then the lower ones as two signed halves.
fn alpha_address(rd: u8, address: u64) -> Option<Vec<Inst>> {
    let value = i64::try_from(address).ok()?;
    let low = i64::from(value as i16);
    let rest = value - low;
    let high = i64::from((rest >> 16) as i16) << 16;
    let upper = (rest - high) >> 32;
    i16::try_from(upper).ok()?;
    let shift = alpha::LITERAL | 32;
    Some(vec![
        inst(Op::AlphaLda, rd, reg::ZERO, upper),
        inst(Op::AlphaSll, rd, rd, shift),
        inst(Op::AlphaLdah, rd, rd, high),
        inst(Op::AlphaLda, rd, rd, low),
    ])
}

fn inst(op: Op, rd: u8, rs1: u8, imm: i64) -> Inst {
    Inst {
        op,
        class: op.class(),
        rd: destination(rd),
        rs1,
        imm,
        ..Inst::illegal(4)
    }
}

const fn destination(rd: u8) -> u8 {
    if rd == reg::ZERO { reg::SINK } else { rd }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Value that the instructions compute.
    fn run(code: &[Inst]) -> i64 {
        code.iter().fold(0_i64, |value, i| {
            let from = if i.rs1 == reg::ZERO { 0 } else { value };
            match i.op {
                Op::Addi | Op::AlphaLda | Op::AlphaLdah => from.wrapping_add(i.imm),
                Op::Addiw => i64::from(value.wrapping_add(i.imm) as i32),
                Op::Lui => i.imm,
                Op::Slli | Op::AlphaSll => value << (i.imm & 63),
                _ => unreachable!("{:?}", i.op),
            }
        })
    }

    #[test]
    fn immediates_of_every_size() {
        let mut values = vec![
            0,
            1,
            -1,
            2047,
            2048,
            -2048,
            -2049,
            32767,
            32768,
            -32769,
            0x7fff_8000,
            0x7fff_ffff,
            0x8000_0000,
            -0x8000_0000,
        ];
        values.extend([
            0x7fff_f800,
            0xffff_ffff,
            i64::MAX,
            i64::MIN,
            0x2_0000_0000,
            0x1234_5678_9abc_def0,
        ]);
        values.extend(
            (0..64).flat_map(|s| [1_i64 << s, (1_i64 << s).wrapping_sub(1), !(1_i64 << s)]),
        );
        for isa in Isa::ALL {
            for &value in &values {
                let code = load_immediate(isa, 5, value);
                assert_eq!(run(&code), value, "{isa} {value:#x}");
                assert!(
                    code.len() <= 8 && code.iter().all(|i| isa.encode(i).is_some()),
                    "{isa} {value:#x}"
                );
            }
        }
    }

    #[test]
    fn addresses_take_a_fixed_number_of_instructions() {
        for distance in [0, 4, -4, 0x800, 0x7ff, -0x801, 0x7fff_0000] {
            let code = riscv_address(5, distance).unwrap();
            assert_eq!(code[0].imm + code[1].imm, distance);
            assert_eq!(code.len() as u64, address_instructions(Isa::Riscv64));
        }
        assert!(riscv_address(5, 1 << 32).is_none());
        for address in [
            0,
            0x2_0000_0000,
            0x2_0000_8000,
            0x2_7fff_8000,
            0x3_8000_7ff8,
            0x7ffe_ffff_fff8,
        ] {
            let code = load_address(Isa::Alpha, 5, address, 0).unwrap();
            assert_eq!(run(&code) as u64, address, "{address:#x}");
            assert_eq!(code.len() as u64, address_instructions(Isa::Alpha));
            assert!(code.iter().all(|i| alpha::encode(i).is_some()));
        }
        assert!(load_address(Isa::Alpha, 5, 1 << 48, 0).is_none());
    }
}
