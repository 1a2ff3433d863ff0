//! Production files for Alpha: sections, sequences, handlers.

use hps_dise::{DiseConfig, DiseError, HANDLER_BASE, LoadOptions, ProductionSet, explain_classes};
use hps_isa::alpha;
use hps_isa::editor::DecodeEditor;
use hps_isa::inst::{Inst, OpClass, reg};
use hps_isa::isa::Isa;

fn load(text: &str, isa: Isa) -> Result<ProductionSet, DiseError> {
    ProductionSet::parse(text, "t.dise", &LoadOptions::default().for_isa(isa))
}

fn set(text: &str, isa: Isa) -> ProductionSet {
    load(text, isa).unwrap_or_else(|e| panic!("{isa}: {e}"))
}

fn error(text: &str, isa: Isa) -> String {
    load(text, isa).expect_err(text).to_string()
}

/// The lines of the handlers' code.
fn listing(set: &ProductionSet) -> Vec<String> {
    let (base, code) = set.handler_image().remove(0);
    code.chunks_exact(4)
        .enumerate()
        .map(|(i, bytes)| {
            let word = u32::from_le_bytes(bytes.try_into().unwrap());
            set.isa()
                .disassemble(&set.isa().decode(word), base + 4 * i as u64)
        })
        .collect()
}

/// The sequence of the first production, instantiated for a trigger at 0x1000.
fn sequence(set: &ProductionSet, trigger: &Inst) -> Vec<Inst> {
    let production = &set.tables().productions[0];
    let sequence = production.replacement.as_ref().expect("a replacement");
    (0..sequence.templates.len())
        .map(|i| {
            sequence
                .instantiate(i as u8, 0x1000, trigger, &[0, 0, 0, 7])
                .unwrap()
                .inst
        })
        .collect()
}

fn texts(set: &ProductionSet, trigger: &Inst) -> Vec<String> {
    let text = |inst: &Inst| set.isa().disassemble(inst, 0x1000);
    sequence(set, trigger).iter().map(text).collect()
}

fn instruction(text: &str) -> Inst {
    alpha::asm::assemble(text, 0x1000, &alpha::asm::NoHook).unwrap_or_else(|e| panic!("{e}"))
}

const BOTH: &str = "
    register where = dr2;
    L: T.OPCLASS == load => { li where, T.PC ; mv dr4, where ; call(H) ; T.INSN }
    isa riscv64;
    S: T.OPCODE == sd => { addi where, T.RS, T.IMM ; T.INSN }
    handler H { addi t0, t0, 1 ; d_ret }
    isa alpha;
    S: T.OPCODE == stq => { lda where, T.IMM(T.RS) ; T.INSN }
    handler H { addq t0, 1, t0 ; d_ret }
    isa any;
    C: T.OPCLASS == proc_call => null, inc_1
";

#[test]
fn sections_are_for_one_instruction_set() {
    for isa in Isa::ALL {
        let set = set(BOTH, isa);
        assert_eq!(set.isa(), isa);
        assert!(set.warnings().is_empty(), "{:?}", set.warnings());
        let names: Vec<&str> = set
            .tables()
            .productions
            .iter()
            .map(|p| p.name.as_str())
            .collect();
        assert_eq!(names, ["L", "S", "C"]);
        let add = match isa {
            Isa::Riscv64 => "addi t0, t0, 1",
            Isa::Alpha => "addq t0,0x1,t0",
        };
        assert_eq!(listing(&set), [add, "d_ret"]);
    }
    let mips = error("isa mips;", Isa::Alpha);
    assert!(
        mips.contains("mips") && mips.contains("riscv64, alpha or any"),
        "{mips}"
    );
    // Skipped text must still be well-formed, but need not make sense.
    assert!(load("isa riscv64;\nhandler H { nonsense }", Isa::Alpha).is_ok());
    assert!(load("isa riscv64;\nhandler H { nonsense }", Isa::Riscv64).is_err());
    assert!(load("isa riscv64;\nhandler { }", Isa::Alpha).is_err());
}

#[test]
fn sets_for_different_instruction_sets_are_not_merged() {
    let merged = ProductionSet::merge(Isa::ALL.map(|isa| set(BOTH, isa)));
    assert_eq!(
        merged.map(|_| ()),
        Err(DiseError::MergedIsa {
            first: Isa::Riscv64,
            second: Isa::Alpha
        })
    );
}

#[test]
fn sequences_take_every_kind_of_operand() {
    let text = "
        register where = dr2;
        const FAR = 0x123456789abcdef0;
        P: T.OPCLASS == store => {
            lda   where, T.IMM(T.RS)
            lda   dr3, T.PC + 4
            ldah  dr3, 2(dr3)
            li    dr4, FAR
            li    dr5, T.COUNT_3
            addq  T.RT, 255, dr6
            cmpeq dr6, T.RS, dr7
            cmoveq dr7, dr6, dr8
            addt/su $f1, $f2, $f3
            stq   T.RT, 8(where)
            mv    dr9, zero
            nop
            beqz  dr7, 0x2000
            d_bne dr7, zero, end
            T.INSN
        end: T.INSN
        }
    ";
    let set = set(text, Isa::Alpha);
    let trigger = instruction("stq t3,-16(sp)");
    assert_eq!(
        texts(&set, &trigger),
        [
            "lda dr2,-16(sp)",
            "lda dr3,4100",
            "ldah dr3,2(dr3)",
            "lda dr4,1311768467463790320",
            "lda dr5,7",
            "addq t3,0xff,dr6",
            "cmpeq dr6,sp,dr7",
            "cmoveq dr7,dr6,dr8",
            "addt/su $f1,$f2,$f3",
            "stq t3,8(dr2)",
            "clr dr9",
            "nop",
            "beq dr7,0x2000",
            "d_bne dr7,zero,15",
            "stq t3,-16(sp)",
            "stq t3,-16(sp)",
        ]
    );
    let all = sequence(&set, &trigger);
    assert_eq!(all[2].imm, 0x2_0000);
    assert_eq!((all[7].rs3, all[7].rd), (reg::DISE + 8, reg::DISE + 8));
    assert_eq!(all[8].imm, 0x16);
    assert_eq!(all[13].class, OpClass::DiseBranch);
}

#[test]
fn handlers_load_constants_and_addresses() {
    let set = set(
        "data area 64 64;
         const BIG = 0x123456789;
         P: T.OPCLASS == load => { call(H) ; T.INSN }
         handler G { d_ret }
         handler H {
            li t0, 5
            li t1, BIG
            la t2, area
        again: ldq t3, 0(t2)
            bne t3, again
            br out
            d_drain
        out: d_mtdr dr3, t3
            d_mfdr t3, dr4
            d_ret
         }",
        Isa::Alpha,
    );
    let base = HANDLER_BASE + 16;
    let area = set.symbols()["area"];
    assert_eq!(set.symbols()["H"], base);
    assert_eq!(area & 0xffff_ffff, 0x1000);
    assert_eq!(
        listing(&set),
        [
            "d_ret".to_owned(),
            "nop".to_owned(),
            "nop".to_owned(),
            "nop".to_owned(),
            "lda t0,5".to_owned(),
            "lda t1,1".to_owned(),
            "sll t1,0x20,t1".to_owned(),
            "ldah t1,9029(t1)".to_owned(),
            "lda t1,26505(t1)".to_owned(),
            "lda t2,2".to_owned(),
            "sll t2,0x20,t2".to_owned(),
            "ldah t2,0(t2)".to_owned(),
            "lda t2,4096(t2)".to_owned(),
            "ldq t3,0(t2)".to_owned(),
            format!("bne t3,{:#x}", base + 36),
            format!("br {:#x}", base + 52),
            "d_drain".to_owned(),
            "d_mtdr dr3,t3".to_owned(),
            "d_mfdr t3,dr4".to_owned(),
            "d_ret".to_owned(),
        ]
    );
}

#[test]
fn mistakes_are_told_in_the_words_of_the_instruction_set() {
    let sequence = |line: &str| {
        error(
            &format!("P: T.OPCLASS == load => {{ {line} ; T.INSN }}"),
            Isa::Alpha,
        )
    };
    for (line, expected) in [
        ("addi dr2, T.RS, 1", "unknown instruction `addi`"),
        ("addq dr2, 256, dr2", "256 is not between 0 and 255"),
        ("addq dr2, $f1, dr2", "cannot stand here"),
        ("addt dr2, $f1, $f2", "cannot stand here"),
        ("cmovne dr2, dr3, T.RD", "cannot be a directive"),
        ("ldah dr2, T.IMM(zero)", "a directive cannot stand here"),
        ("callsys", "cannot stand in a replacement sequence"),
        ("rduniq", "cannot stand in a replacement sequence"),
        ("jsr ra, (t12)", "cannot stand in a replacement sequence"),
        ("ret", "cannot stand in a replacement sequence"),
        ("lda x5, 1", "x5"),
    ] {
        let message = sequence(line);
        assert!(message.contains(expected), "{line}: {message}");
    }
    let handler = |line: &str| error(&format!("handler H {{ {line} ; d_ret }}"), Isa::Alpha);
    for (line, expected) in [
        ("ld t0, 0(t1)", "unknown instruction `ld`"),
        ("ldq t0, 40000(t1)", "takes -32768 to 32767"),
        ("addq t0, 1", "takes 3 operands"),
        ("li x5, 1", "x5"),
        ("call H", "call"),
    ] {
        let message = handler(line);
        assert!(message.contains(expected), "{line}: {message}");
    }
    let pattern = |pattern: &str| error(&format!("P: {pattern} => null"), Isa::Alpha);
    assert!(pattern("T.OPCODE == addi").contains("addi"));
    assert!(pattern("T.RS == accumulator").contains("$0 to $31"));
    assert!(error("const t12 = 1;", Isa::Alpha).contains("means something else"));
    assert!(load("const t12 = 1;", Isa::Riscv64).is_ok());
}

#[test]
fn patterns_name_registers_as_the_instruction_set_does() {
    let text = "A: T.RS == v0 => null\nB: T.RS == 31 => null\nC: T.RD == $f31 || T.RS == 0 => null";
    let set = set(text, Isa::Alpha);
    let entries: Vec<String> = set
        .tables()
        .productions
        .iter()
        .flat_map(|p| p.entries.iter().map(ToString::to_string))
        .collect();
    assert!(entries[0].contains("T.RS == v0"), "{entries:?}");
    assert!(entries[1].contains("T.RS == zero"), "{entries:?}");
    let matches = |production: usize, text: &str| {
        let inst = instruction(text);
        let entries = &set.tables().productions[production].entries;
        entries.iter().any(|e| e.pattern.matches(0x1000, &inst))
    };
    assert!(matches(0, "ldq t0,0(v0)") && !matches(0, "ldq t0,0(zero)"));
    assert!(matches(1, "ldq t0,0(zero)") && !matches(1, "ldq t0,0(v0)"));
    assert!(matches(2, "addt $f1,$f2,$f31") && matches(2, "ldq t0,0(v0)"));
}

#[test]
fn classes_of_alpha_are_explained() {
    let set = set(BOTH, Isa::Alpha);
    let explanation = explain_classes(&set);
    let classes: Vec<&str> = explanation
        .groups
        .iter()
        .flat_map(|group| group.classes.iter().map(|(name, _)| name.as_str()))
        .collect();
    for class in ["load", "direct_call", "indirect_call"] {
        assert!(classes.contains(&class), "{class}: {classes:?}");
    }
}

#[test]
fn calls_and_back_edges_are_triggers() {
    let text = "
        C: T.OPCLASS == proc_call => null, inc_1
        B: T.OPCLASS == branch && T.Target <= T.PC => null, inc_2
    ";
    let set = set(text, Isa::Alpha);
    let (mut engine, regs) = crate::common::engine(&set, &DiseConfig::default());
    for (text, call, back) in [
        ("bsr ra,0x2000", 1, 0),
        ("jsr ra,(t12)", 1, 0),
        ("jcr ra,(t12)", 1, 0),
        ("jmp (t12)", 0, 0),
        ("ret", 0, 0),
        ("br 0x1004", 0, 0),
        ("br 0x1000", 0, 1),
        ("br ra,0x800", 0, 1),
        ("beq t0,0x1000", 0, 1),
        ("fbgt $f1,0xffc", 0, 1),
        ("bne t0,0x1008", 0, 0),
        ("unop", 0, 0),
    ] {
        let before = [engine.counters()[1], engine.counters()[2]];
        let inst = instruction(text);
        let mask = engine.static_mask(0x1000, &inst);
        if mask != 0 {
            let decision = engine.decide(0, mask, 0x1000, &inst, &regs);
            assert_eq!(decision.production, None, "{text}");
        }
        let counted = [
            engine.counters()[1] - before[0],
            engine.counters()[2] - before[1],
        ];
        assert_eq!(counted, [call, back], "{text}");
    }
}
