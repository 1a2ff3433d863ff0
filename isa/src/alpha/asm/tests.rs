use super::{AsmError, NoHook, OperandHook, assemble};
use crate::alpha::{decode, disassemble, encode};
use crate::inst::{Inst, Op, OpClass, reg};

const PC: u64 = 0x1_0000;

fn word(text: &str) -> u32 {
    let inst = assemble(text, PC, &NoHook).unwrap_or_else(|e| panic!("{text}: {e}"));
    encode(&inst).unwrap_or_else(|| panic!("{text}: no encoding"))
}

fn error(text: &str) -> AsmError {
    assemble(text, PC, &NoHook).expect_err(text)
}

#[test]
fn aliases_stand_for_their_expansion() {
    for (alias, plain) in [
        ("nop", "bis $31,$31,$31"),
        ("clr t0", "bis zero,zero,t0"),
        ("mov t0,t1", "bis zero,t0,t1"),
        ("mov 0x10,t1", "bis zero,16,t1"),
        ("or t0,t1,t2", "bis t0,t1,t2"),
        ("andnot t0,0xff,t2", "bic $1,#255,$3"),
        ("not t0,t1", "ornot zero,t0,t1"),
        ("negq t0,t1", "subq zero,t0,t1"),
        ("negl/v t0,t1", "subl/v zero,t0,t1"),
        ("sextl t0,t1", "addl zero,t0,t1"),
        ("fmov $f1,$f2", "cpys f1,f1,f2"),
        ("fneg $f1,$f2", "cpysn $f1,$f1,$f2"),
        ("negt/su $f1,$f2", "subt/su $f31,$f1,$f2"),
        ("br 0x10010", "br zero,0x10010"),
        ("bsr 0x10010", "bsr ra,0x10010"),
        ("jmp (t0)", "jmp zero,(t0)"),
        ("jsr (t12)", "jsr ra,(pv),0x10004"),
        ("ret", "ret zero,(ra),1"),
        ("ret (t9)", "ret zero,(t9),0x1"),
        ("ldiq t0,-5", "lda t0,-5"),
        ("ldiq t0,0x30000", "ldah t0,3"),
        ("lda t0,5", "lda t0,5(zero)"),
        ("ldq t0,(sp)", "ldq t0,0(sp)"),
        ("call_pal 0x83", "callsys"),
        ("  addq\tt0,t1 , t2  ", "addq $1, $2, $3"),
    ] {
        assert_eq!(word(alias), word(plain), "{alias}");
    }
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    for (text, column, message) in [
        ("", 0, "an instruction is missing"),
        ("adddq t0,t1,t2", 0, "did you mean `addq`?"),
        ("addi t0,t1,t2", 0, "unknown instruction `addi`"),
        (
            "addq t0,t1",
            0,
            "takes 3 operands (ra, register or literal, rc), not 2",
        ),
        (
            "addq t0,256,t2",
            8,
            "256 is out of range: `addq` takes 0 to 255",
        ),
        (
            "addq t0,$f1,t2",
            8,
            "takes an integer register here, not `$f1`",
        ),
        (
            "addq $f31,t1,t2",
            5,
            "takes an integer register here, not `$f31`",
        ),
        (
            "addt t0,$f1,$f2",
            5,
            "takes a floating-point register here, not `t0`",
        ),
        (
            "addt zero,$f1,$f2",
            5,
            "takes a floating-point register here, not `zero`",
        ),
        ("addt/v $f0,$f1,$f2", 0, "has no qualifier `/v`"),
        ("cpys/su $f0,$f1,$f2", 0, "it has none"),
        ("cmpteq/sui $f0,$f1,$f2", 0, "it has /su"),
        ("ldq t0,32768(sp)", 7, "takes -32768 to 32767"),
        (
            "ldq t0,x(sp)",
            7,
            "`x` is neither a number nor a known name",
        ),
        ("br 0x10002", 3, "not at a multiple of 4"),
        ("br 0x410008", 3, "reaches -4194304 to 4194300"),
        ("ctpop 5,t0", 0, "`ctpop` takes no literal"),
        ("ldiq t0,0x12345", 8, "takes more than one instruction"),
        ("call_pal 1", 9, "no PALcode call of user mode"),
        ("fetch 8(t0)", 6, "takes no offset"),
        ("d_mfdr t0,t1", 0, "moves from a DISE register"),
        ("addq t0,,t2", 8, "an operand is missing"),
    ] {
        let found = error(text);
        assert!(found.message.contains(message), "{text}: {}", found.message);
        assert_eq!(found.column, column, "{text}: {}", found.message);
    }
}

struct Names;

impl OperandHook for Names {
    fn register(&self, token: &str) -> Option<u8> {
        (token == "counter").then_some(reg::DISE + 2)
    }
    fn immediate(&self, token: &str) -> Option<i64> {
        (token == "loop").then_some(0x1_0010)
    }
}

#[test]
fn callers_name_registers_and_addresses() {
    let inst = assemble("beq counter,loop", PC, &Names);
    let expected = Inst {
        rs1: reg::DISE + 2,
        imm: 0x10,
        ..super::build(Op::AlphaBeq)
    };
    assert_eq!(inst, Ok(expected));
    assert_eq!(
        assemble("d_beq counter,zero,3", PC, &Names).map(|i| i.class),
        Ok(OpClass::DiseBranch)
    );
    let text = disassemble(&expected, PC);
    assert_eq!(text, "beq dr2,0x10010");
    assert_eq!(decode(word("nop")).class, OpClass::IntAlu);
}
