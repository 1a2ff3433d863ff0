//! The decoder, the encoder, the disassembler and the assembler of Alpha against each other.

use hps_isa::alpha::asm::{NoHook, assemble};
use hps_isa::alpha::registers::{A0, PV, RA, SP, V0};
use hps_isa::alpha::{decode, disassemble, encode};
use hps_isa::inst::{Inst, Op, OpClass, reg};
use hps_isa::isa::Isa;
use hps_isa::ops::Format;

const PC: u64 = 0x1_2000_0000;

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

/// Text of one instruction of each operation, from which random words are made.
fn sample(op: Op) -> Option<u32> {
    let name = op.mnemonic();
    let operands = match op.format() {
        Format::AlphaLoad
        | Format::AlphaLoadHigh
        | Format::AlphaStore
        | Format::AlphaStoreConditional => "t0,16(t1)",
        Format::AlphaFpLoad | Format::AlphaFpStore => "$f1,16(t1)",
        Format::AlphaBranch | Format::AlphaJump => "t0,0x120000010",
        Format::AlphaFpBranch => "$f1,0x120000010",
        Format::AlphaJumpRegister => "t0,(t1)",
        Format::AlphaOperate | Format::AlphaConditionalMove => "t0,t1,t2",
        Format::AlphaOperateB => "t1,t2",
        Format::AlphaOperateC => "t2",
        Format::AlphaFpRounded
        | Format::AlphaFpCompare
        | Format::AlphaFpPlain
        | Format::AlphaFpConditionalMove => "$f1,$f2,$f3",
        Format::AlphaFpUnary
        | Format::AlphaFpWiden
        | Format::AlphaFpToQuad
        | Format::AlphaQuadToFp
        | Format::AlphaQuadToLong
        | Format::AlphaFpPlainUnary => "$f2,$f3",
        Format::AlphaFpToInt => "$f1,t2",
        Format::AlphaIntToFp => "t0,$f3",
        Format::AlphaFpcrWrite | Format::AlphaFpcrRead => "$f1",
        Format::AlphaAddress => "(t1)",
        Format::AlphaCounter => "t0",
        Format::None | Format::AlphaPal => "",
        Format::AlphaPrefetch => return encode(&assemble("ldl zero,16(t1)", PC, &NoHook).ok()?),
        Format::DiseMove => return encode(&assemble("d_mfdr t0,dr1", PC, &NoHook).ok()?),
        _ => return None,
    };
    encode(&assemble(&format!("{name} {operands}"), PC, &NoHook).ok()?)
}

/// The operations of the table, with an encoding of each.
fn encoded() -> impl Iterator<Item = (Op, u32)> {
    Op::ALL
        .iter()
        .filter(|op| op.isa() != Some(Isa::Riscv64))
        .filter_map(|&op| sample(op).map(|word| (op, word)))
}

/// Random words of one operation: the bits that all its encodings share, and noise elsewhere.
/// Finds those bits from the outside, by decoding.
fn words_of(op: Op, seed: u32, random: &mut Random, count: usize) -> Vec<u32> {
    let is = |word| decode(word).op == op;
    let fixed: u32 = (0..32)
        .map(|bit| 1 << bit)
        .filter(|bit| !is(seed ^ bit))
        .fold(0, |fixed, bit| fixed | bit);
    std::iter::repeat_with(|| seed & fixed | random.word() & !fixed)
        .take(count * 40)
        .chain([seed])
        .filter(|&word| is(word))
        .take(count)
        .collect()
}

/// The bits that the decoder drops by design (see its documentation).
fn dropped(op: Op, word: u32) -> u32 {
    match op.format() {
        Format::None if op.isa() == Some(Isa::Alpha) => 0x03ff_0000,
        Format::AlphaOperate | Format::AlphaOperateB | Format::AlphaConditionalMove
            if word & 1 << 12 == 0 =>
        {
            0xe000
        }
        Format::AlphaCounter if op != Op::AlphaRpcc => 0x001f_0000,
        _ => 0,
    }
}

#[test]
fn every_operation_survives_decoding_and_encoding() {
    let mut random = Random(1);
    let mut operations = 0;
    for (op, seed) in encoded() {
        operations += 1;
        let words = words_of(op, seed, &mut random, 2000);
        assert!(!words.is_empty(), "{}", op.mnemonic());
        for word in words {
            let inst = decode(word);
            assert_ne!(inst.rd, reg::ZERO, "{word:#010x}");
            assert_eq!(inst.len, 4);
            let again = encode(&inst).unwrap_or_else(|| panic!("{word:#010x}: {inst:?}"));
            let dropped = dropped(op, word);
            assert_eq!(
                again & !dropped,
                word & !dropped,
                "{}: {inst:?}",
                op.mnemonic()
            );
            assert_eq!(decode(again), inst, "{word:#010x}");
        }
    }
    // All of Alpha's, and moves, return and drain of DISE.
    let alpha = Op::ALL.iter().filter(|op| op.isa() == Some(Isa::Alpha));
    assert_eq!(operations, alpha.count() + 3);
}

#[test]
fn text_survives_disassembling_and_assembling() {
    let mut random = Random(2);
    let mut aliased = 0;
    for (op, seed) in encoded() {
        for word in words_of(op, seed, &mut random, 100) {
            let inst = decode(word);
            let text = disassemble(&inst, PC);
            let again = assemble(&text, PC, &NoHook);
            // Two words are called alike: `mov a,b` is `bis zero,a,b`, and `unop` forgets its address.
            let moved = op == Op::AlphaBis && text.starts_with("mov");
            if moved || text == "unop" {
                aliased += 1;
                assert_eq!(
                    again.map(|i| (i.op, i.rs2, i.rd)),
                    Ok((op, inst.rs2, inst.rd))
                );
                continue;
            }
            assert_eq!(again, Ok(inst), "{word:#010x}: {text}");
        }
    }
    assert!(aliased < 100, "{aliased}");
}

#[test]
fn any_word_decodes() {
    let mut random = Random(3);
    let mut valid = 0;
    for _ in 0..1_000_000 {
        let word = random.word();
        let inst = decode(word);
        assert_eq!(inst.op == Op::Illegal, inst.class == OpClass::Illegal);
        if inst.op == Op::Illegal {
            assert_eq!(inst, Inst::illegal(4));
            continue;
        }
        valid += 1;
        assert_ne!(inst.op.isa(), Some(Isa::Riscv64));
        let encoded = encode(&inst).unwrap_or_else(|| panic!("{word:#010x}: {inst:?}"));
        assert_eq!(decode(encoded), inst, "{word:#010x}");
    }
    // 36 of 64 major opcodes are valid as a whole, ten in part.
    assert!((560_000..640_000).contains(&valid), "{valid}");
}

#[test]
fn what_no_user_program_may_execute_is_illegal() {
    let mut random = Random(4);
    let mut words: Vec<u32> = (0..0x200).chain([0x3ff_ffff, 0x83 | 1 << 25]).collect();
    let user = [0x80, 0x81, 0x83, 0x86, 0x9e, 0x9f, 0xaa];
    words.retain(|word| !user.contains(word));
    // Reserved, VAX floating point, PALcode's own, VAX loads and stores.
    for opcode in [
        0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x15, 0x19, 0x1b, 0x1d, 0x1e, 0x1f, 0x20, 0x21, 0x24,
        0x25,
    ] {
        words.extend((0..500).map(|_| opcode << 26 | random.word() >> 6));
    }
    words.extend([
        0x53e1_1140_u32 | 0xa << 5, // sqrtf
        0x503f_0280,                // itoff
        0x4422_0c23,                // amask with ra
        0x4420_0d83,                // implver with ra
        0x7022_0603,                // ctpop with ra
        0x73e0_1603,                // ctpop of a literal
        0x7022_0e03,                // ftoit with rb
        0x5822_2003,                // adds, traps 001 and a rounding that compares only have
        0x5822_4003 | 1 << 14,      // adds, traps 010
        0x5822_14a3 & !0x1000,      // cmpteq, rounding c
        0x5be2_8fc3,                // cvtqt, traps 100
        0x5c22_0483,                // mt_fpcr of three different registers
        0x6020_8000,                // fetch with ra
    ]);
    for word in words {
        let inst = decode(word);
        let allowed = word == 0x5822_2003;
        assert_eq!(inst.op == Op::Illegal, !allowed, "{word:#010x}: {inst:?}");
    }
}

#[test]
fn qualifiers_of_each_operation_are_those_of_the_manual() {
    let valid = |op: &str, operands: &str| {
        let inst = assemble(&format!("{op} {operands}"), PC, &NoHook).expect(op);
        let word = encode(&inst).expect(op) & !0xf800;
        (0..32)
            .filter(|q| decode(word | q << 11).op == inst.op)
            .collect::<Vec<u32>>()
    };
    let traps = |list: &[u32]| -> Vec<u32> {
        list.iter()
            .flat_map(|t| (0..4).map(move |r| t << 2 | r))
            .collect()
    };
    for op in [
        "adds", "subs", "muls", "divs", "addt", "subt", "mult", "divt",
    ] {
        assert_eq!(valid(op, "$f1,$f2,$f3"), traps(&[0, 1, 5, 7]), "{op}");
    }
    for op in ["sqrts", "sqrtt", "cvtts", "cvttq"] {
        assert_eq!(valid(op, "$f2,$f3"), traps(&[0, 1, 5, 7]), "{op}");
    }
    for op in ["cvtqs", "cvtqt"] {
        assert_eq!(valid(op, "$f2,$f3"), traps(&[0, 7]), "{op}");
    }
    for op in ["cmptun", "cmpteq", "cmptlt", "cmptle"] {
        assert_eq!(valid(op, "$f1,$f2,$f3"), [2, 0x16], "{op}");
    }
    assert_eq!(valid("cvtst", "$f2,$f3"), [0x0a, 0x1a]);
    assert_eq!(valid("cvtql", "$f2,$f3"), [0, 4, 0x14]);
    assert_eq!(valid("cpys", "$f1,$f2,$f3"), [0]);
}

#[test]
fn operands_are_where_the_convention_says() {
    let of = |text: &str| assemble(text, PC, &NoHook).unwrap_or_else(|e| panic!("{text}: {e}"));
    let check = |word: u32, text: &str, (rd, rs1, rs2, rs3, imm): (u8, u8, u8, u8, i64)| {
        let inst = decode(word);
        assert_eq!(inst, of(text), "{text}");
        assert_eq!(encode(&inst), Some(word), "{text}");
        assert_eq!(
            (inst.rd, inst.rs1, inst.rs2, inst.rs3),
            (rd, rs1, rs2, rs3),
            "{text}"
        );
        assert_eq!(inst.imm, imm, "{text}");
    };
    let z = reg::ZERO;
    // From `alpha-linux-gnu-as -mev6`.
    check(0x2002_fffc, "lda v0,-4(t1)", (V0, 2, z, z, -4));
    check(0x27bb_0002, "ldah gp,2(pv)", (29, PV, z, z, 0x2_0000));
    check(0xb7fe_0010, "stq zero,16(sp)", (reg::SINK, SP, z, z, 16));
    check(
        0x9c3e_0008,
        "stt $f1,8(sp)",
        (reg::SINK, SP, reg::FP + 1, z, 8),
    );
    check(0xbc22_0000, "stq_c t0,0(t1)", (1, 2, 1, z, 0));
    check(0xd35f_ffff, "bsr ra,0x120000000", (RA, z, z, z, 0));
    check(0xc3e0_0001, "br 0x120000008", (reg::SINK, z, z, z, 8));
    check(0xf400_0000, "bne v0,0x120000004", (reg::SINK, V0, z, z, 4));
    check(0x6b5b_4000, "jsr ra,(pv),0x120000004", (RA, PV, z, z, 0));
    check(0x6bfa_8001, "ret", (reg::SINK, RA, z, z, 1));
    check(0x4022_0403, "addq t0,t1,t2", (3, 1, 2, z, 0));
    check(0x4020_b523, "subq t0,#5,t2", (3, 1, z, z, 0x105));
    check(0x4422_0483, "cmoveq t0,t1,t2", (3, 1, 2, 3, 0));
    check(0x5822_b403, "addt/su $f1,$f2,$f3", (35, 33, 34, z, 0x16));
    check(0x5c22_0543, "fcmoveq $f1,$f2,$f3", (35, 33, 34, 35, 0));
    check(0x5fff_041f, "fnop", (reg::SINK, z, z, z, 0));
    check(0x0000_009e, "rduniq", (V0, reg::UNIQUE, z, z, 0));
    check(0x0000_009f, "wruniq", (reg::UNIQUE, A0, z, z, 0));
    check(0x0000_00aa, "gentrap", (reg::SINK, A0, z, z, 0));
    check(0x5c21_0481, "mt_fpcr $f1", (reg::SINK, 33, z, z, 0));
    check(0x5c21_04a1, "mf_fpcr $f1", (33, z, z, z, 0));
    check(0x601f_c000, "rpcc v0", (V0, z, z, z, 0));
    check(0x63e2_f800, "wh64 (t1)", (reg::SINK, 2, z, z, 0));
}

#[test]
fn jumps_know_what_they_are() {
    for (text, class) in [
        ("br 0x120000010", OpClass::Jump),
        ("br ra,0x120000010", OpClass::Jump),
        ("bsr ra,0x120000010", OpClass::Call),
        ("jmp (t0)", OpClass::JumpIndirect),
        ("jsr ra,(pv)", OpClass::CallIndirect),
        ("jcr ra,(pv)", OpClass::CallIndirect),
        ("ret", OpClass::Return),
        ("beq t0,0x120000010", OpClass::Branch),
        ("callsys", OpClass::Syscall),
        ("ldq_l t0,0(t1)", OpClass::Atomic),
    ] {
        let inst = assemble(text, PC, &NoHook).expect(text);
        assert_eq!(inst.class, class, "{text}");
        assert_eq!(decode(encode(&inst).expect(text)), inst, "{text}");
    }
}

#[test]
fn loads_into_register_31_do_not_access_memory() {
    for text in [
        "ldl zero,16(t1)",
        "ldq zero,0(zero)",
        "ldbu zero,1(t1)",
        "ldwu zero,2(t1)",
        "ldl_l zero,0(t1)",
        "lds $f31,4(t1)",
        "ldt $f31,8(t1)",
        "unop",
    ] {
        let inst = assemble(text, PC, &NoHook).expect(text);
        assert_eq!(
            (inst.op, inst.class),
            (Op::AlphaPrefetch, OpClass::IntAlu),
            "{text}"
        );
        assert_eq!(decode(encode(&inst).expect(text)), inst, "{text}");
        assert_eq!(disassemble(&inst, PC), text);
    }
    let touched = |text: &str| {
        let touch = assemble(text, PC, &NoHook).expect(text).as_touch()?;
        let is_load = (touch.op, touch.class, touch.rd) == (Op::Touch, OpClass::Load, reg::SINK);
        is_load.then(|| touch.data_address(0x1000))
    };
    assert_eq!(touched("ldl zero,16(t1)"), Some(0x1010));
    assert_eq!(touched("ldt $f31,-8(t1)"), Some(0xff8));
    assert_eq!(touched("unop"), None);
    assert_eq!(touched("ldl t0,16(t1)"), None);
    assert_eq!(decode(0x2ffe_0000).rs1, reg::ZERO, "unop waits for nothing");
    assert_eq!(
        assemble("lda zero,1(t1)", PC, &NoHook).map(|i| i.op),
        Ok(Op::AlphaLda)
    );
}

#[test]
fn dise_operations_have_the_reserved_opcode() {
    let mut random = Random(5);
    for _ in 0..200_000 {
        let word = random.word() >> 6 & 0x03ff_0007 | 0x0400_0000;
        let (ra, rb) = (word >> 21 & 31, word >> 16 & 31);
        let expected = match word & 0xffff {
            // Sixteen DISE registers, and ten of interrupts.
            0 | 1 => rb < 26,
            2 | 3 => ra == 0 && rb == 0,
            _ => false,
        };
        let inst = decode(word);
        assert_eq!(inst.op != Op::Illegal, expected, "{word:#010x}");
        assert!(!expected || encode(&inst) == Some(word), "{word:#010x}");
    }
    for (text, word) in [
        ("d_mfdr t0,dr3", 0x0423_0000),
        ("d_mfdr v0,dr0", 0x0400_0000),
        ("d_mtdr dr15,zero", 0x07ef_0001),
        ("d_mfdr t0,ir0", 0x0430_0000),
        ("d_ret", 0x0400_0002),
        ("d_drain", 0x0400_0003),
    ] {
        let inst = assemble(text, PC, &NoHook).expect(text);
        assert_eq!(encode(&inst), Some(word), "{text}");
        assert_eq!(decode(word), inst, "{text}");
        assert_eq!(disassemble(&inst, PC), text);
    }
}
