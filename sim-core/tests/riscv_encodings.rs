//! The decoder, the encoder, the disassembler and the assembler against each other, and against
//! Capstone.

use capstone::prelude::*;
use hps_isa::inst::{Inst, Op, OpClass, reg};
use hps_isa::isa::Isa;
use hps_isa::ops::Format;
use hps_isa::riscv::asm::{NoHook, assemble};
use hps_isa::riscv::{decode, disassemble, encode};

const PC: u64 = 0x4000_0000;

/// A small deterministic generator (splitmix64).
struct Random(u64);

impl Random {
    fn word(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as u32
    }
}

/// Random words of one operation: the bits that all its encodings share, and noise elsewhere.
/// Finds those bits from the outside, by decoding.
fn words_of(op: Op, seed: u32, random: &mut Random, count: usize) -> Vec<u32> {
    let fixed: u32 = (0..32)
        .map(|bit| 1 << bit)
        .filter(|bit| !is_full(seed ^ bit, op))
        .fold(0, |fixed, bit| fixed | bit);
    let candidates = std::iter::repeat_with(|| seed & fixed | random.word() & !fixed);
    candidates
        .filter(|&word| is_full(word, op))
        .take(count)
        .collect()
}

/// The operations of RISC-V, of DISE, and the illegal one.
fn operations_of_riscv() -> impl Iterator<Item = Op> {
    let all = Op::ALL.iter().copied();
    all.filter(|op| op.isa() != Some(Isa::Alpha))
}

/// The word is a 32-bit encoding of the operation.
fn is_full(word: u32, op: Op) -> bool {
    let inst = decode(word);
    inst.op == op && inst.len == 4
}

/// An encoding of the operation with plain operands; none for those of replacement sequences.
fn sample(op: Op) -> Option<u32> {
    let operand = |format: Format| -> Inst {
        let fp = |yes: bool, n: u8| if yes { reg::FP + n } else { n };
        let all = matches!(
            format,
            Format::FpRegister
                | Format::FpRounded
                | Format::FpFused
                | Format::FpUnaryRounded
                | Format::FpUnaryExact
        );
        let destination = all
            || matches!(
                format,
                Format::FpLoad
                    | Format::FpConstant
                    | Format::IntToFp
                    | Format::IntToFpRounded
                    | Format::IntToFpExact
            );
        let sources = all
            || matches!(
                format,
                Format::FpCompare
                    | Format::FpToInt
                    | Format::FpToIntRounded
                    | Format::FpToIntTruncated
            );
        Inst {
            op,
            rd: fp(destination, 1),
            rs1: fp(sources, 2),
            rs2: fp(sources || format == Format::FpStore, 3),
            rs3: match format {
                Format::AtomicCas => 1,
                _ => fp(all, 4),
            },
            ..Inst::illegal(4)
        }
    };
    if op == Op::DiseMove {
        return encode(&Inst {
            rs1: reg::DISE,
            ..operand(Format::DiseMove)
        });
    }
    encode(&operand(op.format()))
}

/// The bits that the decoder drops by design (see its documentation).
fn dropped(op: Op) -> u32 {
    match op.format() {
        Format::Atomic | Format::AtomicCas | Format::LoadReserved => 3 << 25,
        Format::Fence => 0xf00f_8f80,
        Format::None if op == Op::FenceI => 0xffff_8f80,
        _ => 0,
    }
}

#[test]
fn every_operation_survives_decoding_and_encoding() {
    let mut random = Random(1);
    let mut operations = 0;
    for op in operations_of_riscv() {
        let Some(seed) = sample(op) else {
            let name = op.mnemonic();
            assert!(
                matches!(op, Op::Illegal | Op::Touch) || name.starts_with("d_"),
                "{name} has no encoding"
            );
            continue;
        };
        operations += 1;
        for word in words_of(op, seed, &mut random, 2000) {
            let inst = decode(word);
            assert_ne!(inst.rd, reg::ZERO, "{word:#010x}");
            let again = encode(&inst).unwrap_or_else(|| panic!("{word:#010x}: {inst:?}"));
            assert_eq!(
                again & !dropped(op),
                word & !dropped(op),
                "{}: {inst:?}",
                op.mnemonic()
            );
            assert_eq!(decode(again), inst, "{word:#010x}");
        }
    }
    assert_eq!(operations, operations_of_riscv().count() - 11);
}

#[test]
fn text_survives_disassembling_and_assembling() {
    let mut random = Random(2);
    for op in operations_of_riscv() {
        let Some(seed) = sample(op) else { continue };
        for word in words_of(op, seed, &mut random, 60) {
            let inst = decode(word);
            let text = disassemble(&inst, PC);
            let again = assemble(&text, PC, &NoHook);
            assert_eq!(again, Ok(inst), "{word:#010x}: {text}");
        }
    }
}

#[test]
fn any_word_decodes() {
    let mut random = Random(3);
    let mut valid = 0;
    for _ in 0..1_000_000 {
        let word = random.word();
        let inst = decode(word);
        assert_eq!(inst.len, if word & 3 == 3 { 4 } else { 2 });
        assert_eq!(inst.op == Op::Illegal, inst.class == OpClass::Illegal);
        if inst.op == Op::Illegal {
            assert_eq!(inst, Inst::illegal(inst.len));
            continue;
        }
        valid += 1;
        let encoded = encode(&inst).unwrap_or_else(|| panic!("{word:#010x}: {inst:?}"));
        assert_eq!(
            Inst {
                len: inst.len,
                ..decode(encoded)
            },
            inst,
            "{word:#010x}"
        );
    }
    assert!(valid > 500_000, "{valid}");
}

/// Reserved 16-bit encodings, written down from the listing in the specification ("C" chapter,
/// "RVC Instruction Set Listings", RV64DC).
fn is_reserved(half: u16) -> bool {
    let field = |low: u16, bits: u16| half >> low & ((1 << bits) - 1);
    let rd = field(7, 5);
    let imm6 = field(12, 1) << 5 | field(2, 5);
    match (half & 3, half >> 13) {
        (0, 0) => field(5, 8) == 0, // c.addi4spn, nzuimm = 0
        (0, 4) => field(12, 1) == 1 || field(10, 2) == 3 && field(6, 1) == 1, // Zcb
        (1, 1) => rd == 0,          // c.addiw
        (1, 3) => imm6 == 0 && (rd > 15 || rd % 2 == 0), // c.lui, c.addi16sp, c.mop
        (1, 4) => field(10, 3) == 0b111 && field(5, 2) == 3 && field(2, 3) > 5, // Zcb
        (2, 2) | (2, 3) => rd == 0, // c.lwsp, c.ldsp
        (2, 4) => half == 0b1000_0000_0000_0010, // c.jr x0
        _ => false,
    }
}

#[test]
fn compressed_encodings_are_illegal_exactly_where_reserved() {
    let halves = || (0..=u16::MAX).filter(|half| half & 3 != 3);
    for half in halves() {
        let inst = decode(u32::from(half));
        assert_eq!(
            inst.op == Op::Illegal,
            is_reserved(half),
            "{half:#06x}: {inst:?}"
        );
        // The upper half of the word belongs to the next instruction.
        assert_eq!(decode(0xffff_0000 | u32::from(half)), inst);
    }
    const RESERVED_WITHOUT_ZCB: usize = 2407;
    // c.lbu and c.sb: 64 registers and 4 offsets each; c.lhu, c.lh and c.sh: 2 offsets each; c.mul: 64; six
    // operations on one of 8 registers.
    const ZCB: usize = 2 * 64 * 4 + 3 * 64 * 2 + 64 + 6 * 8;
    const ZCMOP: usize = 8;
    // GNU objdump 2.40 refuses 2407 and calls the all-zero one `c.unimp`; it accepts one reserved
    // encoding, 0x6101, as `c.addi16sp sp, 0`.
    assert_eq!(
        halves()
            .filter(|&half| decode(u32::from(half)).op == Op::Illegal)
            .count(),
        RESERVED_WITHOUT_ZCB - ZCB - ZCMOP + 1 + 1
    );
}

#[test]
fn link_registers_make_calls_and_returns() {
    for (word, class) in [
        (0x8082, OpClass::Return),            // c.jr ra
        (0x8282, OpClass::Return),            // c.jr t0
        (0x8502, OpClass::JumpIndirect),      // c.jr a0
        (0x9502, OpClass::CallIndirect),      // c.jalr a0
        (0xa001, OpClass::Jump),              // c.j
        (0x0000_00ef, OpClass::Call),         // jal ra
        (0x0000_02ef, OpClass::Call),         // jal t0
        (0x0000_056f, OpClass::Jump),         // jal a0
        (0x0000_006f, OpClass::Jump),         // jal zero
        (0x0000_8067, OpClass::Return),       // jalr zero, 0(ra)
        (0x0005_0067, OpClass::JumpIndirect), // jalr zero, 0(a0)
        (0x0005_0567, OpClass::JumpIndirect), // jalr a0, 0(a0)
        (0x0000_80e7, OpClass::CallIndirect), // jalr ra, 0(ra)
    ] {
        assert_eq!(decode(word).class, class, "{word:#x}");
    }
}

#[test]
fn only_four_patterns_of_custom_0_exist() {
    let mut random = Random(4);
    for _ in 0..200_000 {
        let word = random.word() & !0x7f | 0x0b;
        let inst = decode(word);
        let (rd, rs1) = (word >> 7 & 31, word >> 15 & 31);
        let expected = match word & 0xfff0_707f {
            // Sixteen DISE registers, and ten of interrupts.
            0x000b => rs1 < 26,
            0x100b => rd < 26,
            0x200b | 0x300b => rd == 0 && rs1 == 0,
            _ => false,
        };
        assert_eq!(inst.op != Op::Illegal, expected, "{word:#010x}");
    }
    for word in [0x0001_850b, 0x0005_178b, 0x200b, 0x300b] {
        assert_ne!(decode(word).op, Op::Illegal, "{word:#010x}");
    }
}

/// The nearest word that Capstone knows: without reserved fence fields and ordering bits, without
/// the rounding modes of exact conversions, and with a CSR that has a name here.
fn plain(word: u32) -> u32 {
    const CSRS: [i64; 6] = [1, 2, 3, 0xc00, 0xc01, 0xc02];
    let mut inst = decode(word);
    match inst.op.format() {
        Format::FpUnaryExact | Format::IntToFpExact => inst.imm = 0,
        Format::Csr | Format::CsrImmediate => {
            let csr = CSRS[inst.imm as usize % CSRS.len()];
            inst.imm = inst.imm & !0xfff | csr;
        }
        _ => {}
    }
    encode(&inst).unwrap_or_else(|| panic!("{word:#010x}: {inst:?}"))
}

/// Capstone's text, read by our assembler, is the instruction that our decoder sees. RV64GC, which
/// is what Capstone knows.
#[test]
fn capstone_agrees() {
    let capstone = Capstone::new()
        .riscv()
        .mode(arch::riscv::ArchMode::RiscV64)
        .build()
        .expect("Capstone with RISC-V");
    let text_of = |word: u32| -> Option<String> {
        let decoded = capstone.disasm_count(&word.to_le_bytes(), 0, 1).ok()?;
        let first = decoded.iter().next()?;
        // An empty set of a fence is `unknown` there.
        let operands = first.op_str().unwrap_or_default().replace("unknown", "0");
        Some(format!("{} {operands}", first.mnemonic()?))
    };
    let mut random = Random(5);
    let mut compared = 0;
    for op in operations_of_riscv() {
        let unknown = (Op::AddUw..=Op::MopRr).contains(&op)
            || (Op::AmoswapB..=Op::CboFlush).contains(&op)
            || (Op::Flh..=Op::FcvtmodWD).contains(&op)
            || op.mnemonic().starts_with("d_");
        let Some(seed) = sample(op).filter(|_| !unknown) else {
            continue;
        };
        for word in words_of(op, seed, &mut random, 100) {
            let word = plain(word);
            let inst = decode(word);
            let ours = disassemble(&inst, 0);
            let text =
                text_of(word).unwrap_or_else(|| panic!("Capstone refuses {word:#010x}, {ours}"));
            assert_eq!(
                assemble(&text, 0, &NoHook),
                Ok(inst),
                "{word:#010x}: Capstone {text}, ours {ours}"
            );
            compared += 1;
        }
    }
    assert!(compared > 15_000, "{compared}");
}

/// Zicbop: an `ori` into register 0 whose lowest five bits say of which kind it is.
#[test]
fn prefetches_of_data_touch_their_line() {
    let touched = |imm: i64, rd: &str| {
        let text = format!("ori {rd},a0,{imm}");
        let touch = assemble(&text, PC, &NoHook).expect(&text).as_touch()?;
        let is_load = (touch.op, touch.class, touch.rd) == (Op::Touch, OpClass::Load, reg::SINK);
        is_load.then(|| touch.data_address(0x1000))
    };
    assert_eq!(touched(1, "zero"), Some(0x1000));
    assert_eq!(touched(64 | 3, "zero"), Some(0x1040));
    assert_eq!(touched(-32 | 1, "zero"), Some(0xfe0));
    assert_eq!(touched(0, "zero"), None, "prefetch.i");
    assert_eq!(touched(2, "zero"), None);
    assert_eq!(touched(1, "a1"), None);
}
