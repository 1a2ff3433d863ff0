use super::{AsmError, NoHook, OperandHook, assemble};
use crate::inst::{Inst, Op, OpClass, reg};
use crate::riscv::{decode, disassemble, encode};

const PC: u64 = 0x1_0000;

fn word(text: &str) -> u32 {
    let inst = assemble(text, PC, &NoHook).unwrap_or_else(|e| panic!("{text}: {e}"));
    encode(&inst).unwrap_or_else(|| panic!("{text}: no encoding"))
}

fn error(text: &str) -> AsmError {
    assemble(text, PC, &NoHook).expect_err(text)
}

#[test]
fn words_are_those_of_the_gnu_assembler() {
    // From `riscv64-linux-gnu-as -march=rv64gc_zba_zbb_zbs`, position 0x10000.
    for (text, expected) in [
        ("addi sp, sp, -16", 0xff01_0113),
        ("lui a0, 0x12345", 0x1234_5537),
        ("sd ra, 8(sp)", 0x0011_3423),
        ("beq a0, a1, 0x10010", 0x00b5_0863),
        ("jal ra, 0x0fff0", 0xff1f_f0ef),
        ("jalr zero, 0(ra)", 0x0000_8067),
        ("amoadd.w a0, a1, (a2)", 0x00b6_252f),
        ("lr.d a0, (a1)", 0x1005_b52f),
        ("csrrwi a0, frm, 3", 0x0021_d573),
        ("fmadd.d fa0, fa1, fa2, fa3", 0x6ac5_f543),
        ("fadd.s fa0, fa1, fa2, rtz", 0x00c5_9553),
        ("fcvt.d.w fa0, a1", 0xd205_8553),
        ("fence rw, w", 0x0310_000f),
        ("fence.tso", 0x8330_000f),
        ("rev8 a0, a1", 0x6b85_d513),
        ("rori a0, a1, 63", 0x63f5_d513),
        ("ecall", 0x0000_0073),
    ] {
        assert_eq!(word(text), expected, "{text}");
    }
}

#[test]
fn pseudo_instructions_stand_for_their_expansion() {
    for (pseudo, plain) in [
        ("nop", "addi zero, zero, 0"),
        ("li a0, -7", "addi a0, zero, -7"),
        ("li a0, 0x12345000", "lui a0, 0x12345"),
        ("li a0, -4096", "lui a0, 0xfffff"),
        ("mv a0, a1", "addi a0, a1, 0"),
        ("bgt a0, a1, 0x10008", "blt a1, a0, 0x10008"),
        ("blez a0, 0x10008", "bge zero, a0, 0x10008"),
        ("ret", "jalr zero, 0(ra)"),
        ("jr 8(a0)", "jalr zero, 8(a0)"),
        ("jalr a0", "jalr ra, 0(a0)"),
        ("jalr ra, a0, 4", "jalr ra, 4(a0)"),
        ("call 0x10100", "jal ra, 0x10100"),
        ("fneg.d fa0, fa1", "fsgnjn.d fa0, fa1, fa1"),
        ("fence", "fence iorw, iorw"),
        ("csrr a0, 0xc02", "csrrs a0, instret, zero"),
        ("amoswap.w.aqrl a0, a1, (a2)", "amoswap.w a0, a1, (a2)"),
        ("add a0, a0, -1", "addi a0, a0, -1"),
        ("csrs fflags, 16", "csrrsi zero, fflags, 16"),
        ("sraw a0, a0, 31", "sraiw a0, a0, 31"),
        ("lw a0, (sp)", "lw a0, 0(sp)"),
        ("  add\ta0,a1 , a2  ", "add x10, x11, x12"),
    ] {
        assert_eq!(word(pseudo), word(plain), "{pseudo}");
    }
}

#[test]
fn jumps_know_what_they_are() {
    let class = |text| assemble(text, PC, &NoHook).unwrap().class;
    assert_eq!(class("ret"), OpClass::Return);
    assert_eq!(class("jr t0"), OpClass::Return);
    assert_eq!(class("jr a0"), OpClass::JumpIndirect);
    assert_eq!(class("jalr a0"), OpClass::CallIndirect);
    assert_eq!(class("jal t0, 0x10000"), OpClass::Call);
    assert_eq!(class("jal a0, 0x10000"), OpClass::Jump);
    assert_eq!(class("j 0x10000"), OpClass::Jump);
}

#[test]
fn dise_operations_assemble() {
    assert_eq!(word("d_mfdr a0, dr3"), 0x0001_850b);
    assert_eq!(word("d_mtdr dr15, a0"), 0x0005_178b);
    assert_eq!(word("d_ret"), 0x0000_200b);
    assert_eq!(word("d_drain"), 0x0000_300b);
    let branch = assemble("d_bltu dr0, a0, 3", PC, &NoHook).unwrap();
    assert_eq!(
        (branch.op, branch.rs1, branch.rs2, branch.imm),
        (Op::DiseBltu, reg::DISE, 10, 3)
    );
    assert_eq!(encode(&branch), None);
    let call = assemble("d_ccall dr1, 0x7000", PC, &NoHook).unwrap();
    assert_eq!(
        (call.rs1, call.imm, call.class),
        (reg::DISE + 1, 0x7000, OpClass::DiseCall)
    );
    let add = assemble("addi dr2, dr3, 1", PC, &NoHook).unwrap();
    assert_eq!((add.rd, add.rs1), (reg::DISE + 2, reg::DISE + 3));
    assert_eq!(encode(&add), None);
    let copy = assemble("d_move dr1, dr2", PC, &NoHook).unwrap();
    assert_eq!((copy.rd, copy.rs1), (reg::DISE + 1, reg::DISE + 2));
    assert!(
        error("d_mfdr dr1, a0")
            .message
            .contains("from a DISE register")
    );
    assert!(
        error("d_mtdr a0, dr1")
            .message
            .contains("to a DISE register")
    );
}

#[test]
fn the_hook_is_asked_first() {
    struct Trigger;
    impl OperandHook for Trigger {
        fn register(&self, token: &str) -> Option<u8> {
            (token == "T.RS").then_some(7)
        }
        fn immediate(&self, token: &str) -> Option<i64> {
            match token {
                "T.IMM" => Some(-8),
                "loop" => Some(PC as i64 - 20),
                _ => None,
            }
        }
    }
    let load = assemble("ld dr0, T.IMM(T.RS)", PC, &Trigger).unwrap();
    assert_eq!((load.rd, load.rs1, load.imm), (reg::DISE, 7, -8));
    assert_eq!(assemble("bnez T.RS, loop", PC, &Trigger).unwrap().imm, -20);
}

#[test]
fn errors_name_the_place_and_the_remedy() {
    for (text, column, message) in [
        ("", 0, "an instruction is missing"),
        (
            "adi a0, a0, 1",
            0,
            "unknown instruction `adi`; did you mean `addi`?",
        ),
        ("frobnicate a0", 0, "unknown instruction `frobnicate`"),
        (
            "  add a0, a1",
            2,
            "`add` takes 3 operands (rd, rs1, rs2), not 2",
        ),
        ("mv a0", 0, "`mv` takes 2 operands, not 1"),
        ("ecall a0", 0, "`ecall` takes no operands, not 1"),
        ("add a0,, a1", 7, "an operand is missing"),
        (
            "addi a0, a0, 2048",
            13,
            "2048 is out of range: `addi` takes -2048 to 2047 here",
        ),
        (
            "slliw a0, a0, 32",
            14,
            "32 is out of range: `slliw` takes 0 to 31 here",
        ),
        ("add a0, q1, a2", 8, "`q1` is not a register"),
        (
            "add a0, a1, fa2",
            12,
            "`add` takes an integer register here, not `fa2`",
        ),
        (
            "fadd.s fa0, fa1, a2",
            17,
            "`fadd.s` takes a floating-point register here, not `a2`",
        ),
        (
            "lw a0, a1",
            7,
            "`a1` is not a memory operand: write `offset(register)`",
        ),
        (
            "lw a0, 4096(a1)",
            7,
            "4096 is out of range: `lw` takes -2048 to 2047 here",
        ),
        ("lw a0, 4( q1)", 10, "`q1` is not a register"),
        (
            "lr.w a0, 4(a1)",
            9,
            "`lr.w` takes no offset: write `(register)`",
        ),
        (
            "j 0x200000",
            2,
            "the target is 2031616 bytes away: `j` reaches -1048576 to 1048574",
        ),
        (
            "beqz a0, 0x10001",
            9,
            "the target `0x10001` is not at an even distance",
        ),
        (
            "j nowhere",
            2,
            "`nowhere` is neither a number nor a known name",
        ),
        (
            "fadd.s fa0, fa1, fa2, up",
            22,
            "`up` is no rounding mode: use rne, rtz, rdn, rup, rmm or dyn",
        ),
        (
            "li a0, 0x12345678",
            7,
            "305419896 takes more than one instruction: `li` takes -2048 to 2047 here, or 32 bits whose lower 12 are zero",
        ),
    ] {
        assert_eq!(
            (error(text).column, &*error(text).message),
            (column, message),
            "{text}"
        );
    }
}

#[test]
fn hostile_text_is_an_error_and_no_panic() {
    for text in [
        "é",
        "add é,é,é",
        "lw a0, (",
        "lw a0, )",
        "lw a0, )(",
        "lw a0, ()",
        "add ,",
        ",",
        "li",
        "jalr ,,,",
        "add.aq a0, a1, a2",
    ] {
        assert!(assemble(text, PC, &NoHook).is_err(), "{text}");
    }
    assert!(assemble("j 0x8000000000000000", PC, &NoHook).is_err());
}

#[test]
fn text_of_every_operation_reads_back() {
    let mut seen = 0;
    for &op in Op::ALL {
        let info = op.info();
        if info.mask == 0 || op.isa() == Some(crate::isa::Isa::Alpha) {
            continue;
        }
        // Two patterns in the operand bits; rounding mode bits get valid values in both.
        for bits in [0x1234_4abcu32, 0x6db6_9249, 0] {
            let inst = decode(info.match_bits | bits & !info.mask);
            if inst.op == Op::Illegal {
                continue;
            }
            seen += 1;
            let text = disassemble(&inst, PC);
            let back = assemble(&text, PC, &NoHook).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(back, inst, "{text}");
        }
    }
    assert!(seen > 550, "{seen}");
    for op in [Op::DiseBeq, Op::DiseBr, Op::DiseCall, Op::DiseCcall] {
        let mut inst = Inst {
            op,
            class: op.class(),
            imm: 5,
            ..Inst::illegal(4)
        };
        if op == Op::DiseBeq || op == Op::DiseCcall {
            inst.rs1 = reg::DISE;
        }
        assert_eq!(assemble(&disassemble(&inst, PC), PC, &NoHook), Ok(inst));
    }
}
