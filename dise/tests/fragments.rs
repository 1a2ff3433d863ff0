//! Fragments of sequences, the shorthand that they are written in, division, and lists of
//! microinstructions that productions share.

use crate::common::*;
use hps_dise::check::check;
use hps_dise::{DiseConfig, DiseEngine, LoadOptions, ProductionSet};
use hps_isa::editor::DecodeEditor;
use hps_isa::isa::Isa;

/// The sequence of the first production, disassembled.
fn sequence(set: &ProductionSet) -> Vec<String> {
    let (engine, _) = engine(set, &DiseConfig::default());
    let at = |index| engine.replacement(0, index, PC, &load());
    (0..)
        .map_while(at)
        .map(|r| set.isa().disassemble(&r.inst, PC))
        .collect()
}

const CHECK: &str = "fragment Check { d_beq dr1, zero, go ; sub dr2, dr2, dr1 }
                     fragment Twice { use Check ; dec dr2 ; skip: use Check }";

#[test]
fn fragments_stand_where_they_are_used() {
    let written = parse(
        "A: T.OPCLASS == load => {
            d_beq dr1, zero, go ; sub dr2, dr2, dr1
            dec dr2
            skip: d_beq dr1, zero, go ; sub dr2, dr2, dr1
            d_bne dr2, zero, skip
            go: T.INSN }",
    );
    let user = "A: T.OPCLASS == load => { use Twice ; d_bne dr2, zero, skip ; go: T.INSN }";
    let same_file = parse(&format!("{CHECK}\n{user}"));
    let other_file = parse_files(&[(user, "user"), (CHECK, "fragments")], &[]);
    assert_eq!(sequence(&same_file), sequence(&written));
    assert_eq!(other_file.tables(), written.tables());
    assert_eq!(same_file.tables(), written.tables());
}

#[test]
fn fragments_belong_to_instruction_sets() {
    let text = "isa riscv64;
                fragment Add { addi dr2, dr2, 8 }
                isa alpha;
                fragment Add { addq dr2, 8, dr2 }
                isa any;
                A: T.OPCLASS == load => { use Add ; T.INSN }";
    for isa in Isa::ALL {
        let set = ProductionSet::parse(text, "f", &LoadOptions::default().for_isa(isa));
        let set = set.unwrap_or_else(|e| panic!("{isa}: {e}"));
        assert_eq!(set.tables().replacement_entries(), 2);
    }
}

#[test]
fn wrong_uses_are_explained() {
    let message = error("fragment Check { nop }\nA: T.OPCLASS == load => { use Chek ; T.INSN }");
    assert!(message.contains("unknown fragment `Chek`"), "{message}");
    assert!(message.contains("did you mean `Check`?"), "{message}");
    let message =
        error("fragment A { use B }\nfragment B { use A }\nP: T.OPCLASS == load => { use A }");
    assert!(message.contains("deeper than 8 levels"), "{message}");
    let message = error("fragment A { nop }\nfragment A { nop }");
    assert!(message.contains("already defined"), "{message}");
    // A mistake in a fragment is shown where it stands, in whichever file.
    let options = LoadOptions::default();
    let files = [
        ("fragment F {\n\n addi dr1, dr1 }", "fragments"),
        ("\nP: T.OPCLASS == load => {\n use F ; T.INSN }", "user"),
    ];
    let message = ProductionSet::parse_files(&files, &options).unwrap_err();
    assert!(
        message.to_string().starts_with("fragments:3:2"),
        "{message}"
    );
}

#[test]
fn shorthand_means_the_same_everywhere() {
    let text = "A: T.OPCLASS == load => { sub dr1, dr2, dr3 ; inc dr4 ; dec dr5 ; snez dr6, dr7 ; T.INSN }";
    for isa in Isa::ALL {
        let set = ProductionSet::parse(text, "s", &LoadOptions::default().for_isa(isa));
        let set = set.unwrap_or_else(|e| panic!("{isa}: {e}"));
        let written = match isa {
            Isa::Riscv64 => {
                "sub dr1, dr2, dr3 ; addi dr4, dr4, 1 ; addi dr5, dr5, -1 ; sltu dr6, zero, dr7"
            }
            Isa::Alpha => {
                "subq dr2, dr3, dr1 ; addq dr4, 1, dr4 ; subq dr5, 1, dr5 ; cmpult zero, dr7, dr6"
            }
        };
        let text = format!("A: T.OPCLASS == load => {{ {written} ; T.INSN }}");
        let written = ProductionSet::parse(&text, "s", &LoadOptions::default().for_isa(isa));
        assert_eq!(
            Ok(set.tables()),
            written.as_ref().map(ProductionSet::tables)
        );
    }
}

#[test]
fn expressions_divide() {
    let set = parse("const a = 7 / 2; const b = -7 / 2 * 2; const c = 1 + 8 / 4;");
    let constants = set.constants();
    assert_eq!((constants["a"], constants["b"], constants["c"]), (3, -6, 3));
    assert!(error("const a = 1 / 0;").contains("division by zero"));
}

#[test]
fn equal_lists_share_the_conditionals_table() {
    let set = parse(
        "register one = dr1; init one = 1;
         A: T.OPCLASS == load => null, Count
         B: T.OPCLASS == store => null, Count
         C: T.OPCLASS == proc_call => null, inc_0, set_1(one)
         D: T.OPCLASS == branch => null
         Count: inc_0, inc_1;",
    );
    assert_eq!(check(&set).ct_entries, 4);
    let config = |ct_entries| DiseConfig {
        ct_entries,
        ..DiseConfig::default()
    };
    let stalls = |ct_entries| {
        let (mut engine, regs) = engine(&set, &config(ct_entries));
        let mut stall = |inst| {
            let mask = engine.static_mask(PC, &inst);
            engine.decide(0, mask, PC, &inst, &regs).stall_cycles
        };
        let stalls = [load(), store(), call(), back_edge(), load(), load()].map(&mut stall);
        let counted = engine.counters()[0];
        let stats = engine.stats().clone();
        engine.reset(&regs);
        assert_eq!(engine.stats().ct_miss_events, 0);
        (
            stalls,
            stats.ct_miss_events,
            stats.miss_stall_cycles,
            counted,
        )
    };
    assert_eq!(stalls(4), ([0; 6], 0, 0, 5));
    // Load and store use one list; that of the call and it push each other out.
    assert_eq!(stalls(3), ([30, 0, 30, 0, 30, 0], 3, 90, 5));
    let message = DiseEngine::new(&set, &config(1)).unwrap_err().to_string();
    assert!(
        message.contains("the conditional control of A has 2 microinstructions"),
        "{message}"
    );
}
