//! Constants of any size.

use super::super::decode::{LITERAL, build};
use crate::inst::{Inst, Op, reg};

/// The shortest of the usual sequences (`lda`, `ldah`, `sll`) that puts `value` into the integer
/// register `rd`: one to five instructions.
#[must_use]
pub fn constant(rd: u8, value: i64) -> Vec<Inst> {
    let (upper, code) = halves(rd, value);
    if upper == 0 && !code.is_empty() {
        return from_zero(code);
    }
    if value == 0 {
        return vec![add(Op::AlphaLda, rd, 0, reg::ZERO)];
    }
    // The upper half of 32 bits first; what its own overflow loses is shifted out.
    let (_, upper) = halves(rd, upper);
    let mut all = from_zero(upper);
    all.push(Inst {
        rd,
        rs1: rd,
        imm: LITERAL | 32,
        ..build(Op::AlphaSll)
    });
    all.extend(code);
    all
}

/// The rest of `value`, in units of 2^32, that `ldah` and `lda` leave, and those instructions. Both add sign-extended
/// halves; an instruction that would add zero is left out.
fn halves(rd: u8, value: i64) -> (i64, Vec<Inst>) {
    let low = i64::from(value as i16);
    let rest = value.wrapping_sub(low);
    let high = i64::from((rest >> 16) as i16) << 16;
    let upper = rest.wrapping_sub(high) >> 32;
    let code = [(Op::AlphaLdah, high), (Op::AlphaLda, low)]
        .into_iter()
        .filter(|&(_, part)| part != 0)
        .map(|(op, part)| add(op, rd, part, rd))
        .collect();
    (upper, code)
}

fn add(op: Op, rd: u8, imm: i64, rs1: u8) -> Inst {
    Inst {
        rd,
        rs1,
        imm,
        ..build(op)
    }
}

/// The first instruction starts from nothing.
fn from_zero(mut code: Vec<Inst>) -> Vec<Inst> {
    if let Some(first) = code.first_mut() {
        first.rs1 = reg::ZERO;
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alpha::encode;

    /// Value that the instructions compute.
    fn run(code: &[Inst]) -> i64 {
        let mut value = 0x5a5a_i64;
        for inst in code {
            let from = if inst.rs1 == reg::ZERO { 0 } else { value };
            value = match inst.op {
                Op::AlphaLda | Op::AlphaLdah => from.wrapping_add(inst.imm),
                Op::AlphaSll => from << (inst.imm & 63),
                _ => unreachable!("{inst:?}"),
            };
        }
        value
    }

    #[test]
    fn constants_of_every_size() {
        let edges = [
            0,
            0x7fff,
            0x8000,
            0x7fff_7fff,
            0x7fff_8000,
            0x7fff_ffff,
            0x8000_0000,
        ];
        let mut values: Vec<i64> = edges
            .iter()
            .flat_map(|&v: &i64| [v, -v, !v, v << 32, v << 31])
            .collect();
        values.extend([
            i64::MAX,
            i64::MIN,
            0x1234_5678_9abc_def0,
            0x7fff_8000_7fff_8000,
        ]);
        values.extend(
            (0..64).flat_map(|s| [1_i64 << s, (1_i64 << s).wrapping_sub(1), !(1_i64 << s)]),
        );
        for value in values {
            let code = constant(5, value);
            assert_eq!(run(&code), value, "{value:#x}: {code:?}");
            assert!(
                code.len() <= 5 && code.iter().all(|i| encode(i).is_some()),
                "{value:#x}"
            );
        }
        assert_eq!(constant(5, 0x7fff).len(), 1);
        assert_eq!(constant(5, 0x10000).len(), 1);
        assert_eq!(constant(5, -0x8000_0000).len(), 1);
        assert_eq!(constant(5, 0x12345).len(), 2);
    }
}
