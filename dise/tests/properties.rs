//! Properties that hold for random inputs.

use crate::common::*;
use hps_dise::{DiseConfig, LoadOptions, ProductionSet};
use hps_isa::editor::DecodeEditor;
use hps_isa::inst::{Inst, Op, OpClass, reg};
use proptest::prelude::*;

const COUNTING: &str = "
    A: T.OPCLASS == load && !overflow_1 => null, inc_1, dec_0
    B: T.OPCLASS == load && overflow_1 => { li dr2, T.COUNT_2 ; T.INSN }, set_1(dr0), inc_2
    C: T.OPCLASS == store && zero_0 => null, set_0(dr1)
    D: T.OPCLASS == store && !zero_0 => { li dr2, T.COUNT_0 ; T.INSN }, dec_0
    E: T.OPCLASS == mem_op => null, inc_3
    F: T.OPCLASS == proc_call && (overflow_1 || zero_0) => null, dec_2, set_3(dr1)";

#[derive(Clone, Copy, Debug)]
enum Action {
    /// Decides for one instruction, with values for `dr0` and `dr1`.
    Decide(u8, u32, u32),
    /// Squashes this many of the youngest.
    Squash(u8),
    /// Commits this many of the oldest.
    Commit(u8),
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => (0..4_u8, 0..4_u32, 0..4_u32).prop_map(|(i, a, b)| Action::Decide(i, u32::MAX - a, b)),
        1 => (0..12_u8).prop_map(Action::Squash),
        1 => (0..6_u8).prop_map(Action::Commit),
    ]
}

fn trigger(i: u8) -> Inst {
    [load(), store(), call(), add()][usize::from(i)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// A repaired engine is as if squashed decisions had never been.
    #[test]
    fn repair_leaves_only_survivors(actions in prop::collection::vec(action(), 1..120)) {
        let set = parse(COUNTING);
        let (mut repaired, mut regs) = engine(&set, &DiseConfig::default());
        let mut surviving: Vec<(u64, u8, u32, u32)> = Vec::new();
        let mut committed = 0;
        for (seq, action) in actions.iter().enumerate() {
            let seq = seq as u64 + 1;
            match *action {
                Action::Decide(i, a, b) => {
                    (regs[64], regs[65]) = (u64::from(a), u64::from(b));
                    step(&mut repaired, seq, &trigger(i), &regs);
                    surviving.push((seq, i, a, b));
                }
                Action::Squash(n) => {
                    let keep = surviving.len().saturating_sub(usize::from(n)).max(committed);
                    if let Some((oldest, ..)) = surviving.get(keep) {
                        repaired.squash(*oldest);
                        surviving.truncate(keep);
                    }
                }
                Action::Commit(n) => {
                    committed = (committed + usize::from(n)).min(surviving.len());
                    if committed > 0 {
                        repaired.commit(surviving[committed - 1].0);
                    }
                }
            }
        }
        let (mut fresh, mut regs) = engine(&set, &DiseConfig::default());
        for (seq, i, a, b) in &surviving {
            (regs[64], regs[65]) = (u64::from(*a), u64::from(*b));
            step(&mut fresh, *seq, &trigger(*i), &regs);
        }
        prop_assert_eq!(repaired.counters(), fresh.counters());
        for production in [1, 3] {
            let latch = |e: &hps_dise::DiseEngine| e.replacement(production, 0, PC, &load()).unwrap().inst.imm;
            prop_assert_eq!(latch(&repaired), latch(&fresh));
        }
    }

    /// Entries and masks say the same as the pattern's text.
    #[test]
    fn compiled_patterns_mean_what_they_say(
        pattern in pattern(),
        insts in prop::collection::vec(instruction(), 1..12),
    ) {
        let text = format!("P: {} => {{ T.INSN }}", pattern.text());
        let Ok(set) = ProductionSet::parse(&text, "p", &LoadOptions::default()) else {
            // More alternatives than a table has entries.
            return Ok(());
        };
        let engine = hps_dise::DiseEngine::new(&set, &DiseConfig::default()).unwrap();
        let entries = set.tables().priority_entries();
        for (pc, inst) in insts {
            let mask = engine.static_mask(pc, &inst);
            // Counters 0 and 1: below, at zero, at the maximum.
            for state in 0..9 {
                let flags = [0_u32, 2, 1][state % 3] | [0_u32, 2, 1][state / 3] << 2;
                let compiled = entries.iter().enumerate().any(|(bit, e)| {
                    assert_eq!(mask >> bit & 1 != 0, e.pattern.pattern.matches(pc, &inst));
                    mask >> bit & 1 != 0 && e.pattern.condition.holds(flags)
                });
                prop_assert_eq!(compiled, pattern.eval(pc, &inst, flags), "{} on {:?} flags {:b}", text, inst, flags);
            }
        }
    }

    /// Whatever the text, the parser answers.
    #[test]
    fn parser_survives_mutations(
        corpus in 0..6_usize,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..4_u8, any::<prop::sample::Index>()), 1..12),
    ) {
        let base = [FIGURE3, FIGURE4, FIGURE5, CORRECTED, REGISTERS, HANDLERS][corpus];
        let mut text: Vec<char> = format!("{REGISTERS}{base}").chars().collect();
        let pieces = ["{", "}", "(", ")", "=>", "&&", "||", "!", "\n", ";", ":", "T.", "T.IMM", "0x", "99999999999", "-", "#", "⇒", "é", "R1", "null", "call(", "*", "\t"];
        for (place, kind, other) in edits {
            if text.is_empty() {
                break;
            }
            let at = place.index(text.len());
            match kind {
                0 => { text.remove(at); }
                1 => { let c = text[other.index(text.len())]; text[at] = c; }
                2 => { text.splice(at..at, pieces[other.index(pieces.len())].chars()); }
                _ => { let end = (at + 1 + other.index(40)).min(text.len()); text.drain(at..end); }
            }
        }
        let text: String = text.into_iter().collect();
        if let Ok(set) = ProductionSet::parse(&text, "fuzz", &LoadOptions::default()) {
            let _ = hps_dise::check(&set).to_string();
            let _ = hps_dise::explain_classes(&set).to_string();
            let _ = set.engine(&DiseConfig { counters: 16, ..DiseConfig::default() });
        }
    }

    #[test]
    fn parser_survives_noise(text in "[ -~\n⇒é]{0,200}", soup in prop::collection::vec(0..24_usize, 0..60)) {
        refused_with_a_place_or_taken(&text);
        let words = ["P1", ":", "T.OPCLASS", "==", "load", "&&", "||", "!", "(", ")", "overflow_1", "=>", "null", ",", "inc_1", ";", "{", "}", "T.INSN", "const", "=", "5", "handler", "\n"];
        let soup: Vec<&str> = soup.into_iter().map(|i| words[i]).collect();
        refused_with_a_place_or_taken(&soup.join(" "));
    }
}

/// An error names the file and a line of the text that there is.
#[track_caller]
fn refused_with_a_place_or_taken(text: &str) {
    let Err(error) = ProductionSet::parse(text, "noise", &LoadOptions::default()) else {
        return;
    };
    let message = error.to_string();
    let line = message
        .strip_prefix("noise:")
        .and_then(|rest| rest.split(':').next()?.parse::<usize>().ok());
    let lines = text.split('\n').count();
    assert!(
        line.is_some_and(|line| (1..=lines).contains(&line)),
        "{text:?}: {message}"
    );
}

#[test]
fn deep_nesting_is_an_error() {
    let long = "1+".repeat(30_000);
    assert!(error(&format!("const a = {long}1;")).contains("1000 operators"));
    let wide = format!("({}1)", "1*".repeat(50));
    let sum = vec![wide; 25].join("+");
    assert!(error(&format!("const a = {sum};")).contains("1000 operators"));
    let deep = "(".repeat(100_000);
    assert!(error(&format!("P: {deep}")).contains("nested deeper"));
    assert!(error(&format!("P: {}", "!".repeat(100_000))).contains("nested deeper"));
    assert!(error(&format!("const a = {}1;", "-".repeat(100_000))).contains("nested deeper"));
    let wide = (0..200)
        .map(|i| format!("(T.IMM == {i} || T.PC == {i})"))
        .collect::<Vec<_>>()
        .join(" && ");
    assert!(
        ProductionSet::parse(&format!("P: {wide} => null"), "w", &LoadOptions::default())
            .is_ok_and(|s| s.warnings().len() == 1)
    );
    let wide = (0..40)
        .map(|i| format!("T.IMM == {i}"))
        .collect::<Vec<_>>()
        .join(" || ");
    assert!(error(&format!("P: {wide} => null")).contains("needs 40 entries"));
    let wide = (0..12)
        .map(|i| format!("(T.RS == {} || T.RT == {} || T.RD == {i})", i % 5, i % 7))
        .collect::<Vec<_>>()
        .join(" && ");
    let _ = ProductionSet::parse(&format!("P: {wide} => null"), "w", &LoadOptions::default());
}

/// A pattern as text, and its meaning evaluated directly.
#[derive(Clone, Debug)]
enum Model {
    Flag(bool, u8),
    Class(&'static str, &'static [OpClass], bool),
    Rs(u8, bool),
    Rd(u8, bool),
    Same(bool),
    Imm(&'static str, i64),
    Pc(&'static str, i64),
    Target(&'static str),
    Not(Box<Model>),
    And(Box<Model>, Box<Model>),
    Or(Box<Model>, Box<Model>),
}

fn relation(op: &str, a: i128, b: i128) -> bool {
    match op {
        "==" => a == b,
        "!=" => a != b,
        "<" => a < b,
        "<=" => a <= b,
        ">" => a > b,
        _ => a >= b,
    }
}

impl Model {
    fn text(&self) -> String {
        let eq = |yes: &bool| if *yes { "==" } else { "!=" };
        match self {
            Model::Flag(overflow, n) => {
                format!("{}_{n}", if *overflow { "overflow" } else { "zero" })
            }
            Model::Class(name, _, yes) => format!("T.OPCLASS {} {name}", eq(yes)),
            Model::Rs(r, yes) => format!("T.RS {} x{r}", eq(yes)),
            Model::Rd(r, yes) => format!("T.RD {} x{r}", eq(yes)),
            Model::Same(yes) => format!("T.RS {} T.RT", eq(yes)),
            Model::Imm(op, value) => format!("T.IMM {op} {value}"),
            Model::Pc(op, value) => format!("{value} {op} T.PC"),
            Model::Target(op) => format!("T.Target {op} T.PC"),
            Model::Not(inner) => format!("!({})", inner.text()),
            Model::And(a, b) => format!("({} && {})", a.text(), b.text()),
            Model::Or(a, b) => format!("({} || {})", a.text(), b.text()),
        }
    }

    fn eval(&self, pc: u64, inst: &Inst, flags: u32) -> bool {
        let rd = if inst.rd == reg::SINK { 0 } else { inst.rd };
        match self {
            Model::Flag(overflow, n) => flags >> (2 * n + u8::from(!overflow)) & 1 != 0,
            Model::Class(_, classes, yes) => classes.contains(&inst.class) == *yes,
            Model::Rs(r, yes) => (inst.rs1 == *r) == *yes,
            Model::Rd(r, yes) => (rd == *r) == *yes,
            Model::Same(yes) => (inst.rs1 == inst.rs2) == *yes,
            Model::Imm(op, value) => relation(op, inst.imm.into(), (*value).into()),
            Model::Pc(op, value) => relation(op, (*value).into(), pc.into()),
            Model::Target(op) => {
                inst.class.is_direct() && relation(op, inst.direct_target(pc).into(), pc.into())
            }
            Model::Not(inner) => !inner.eval(pc, inst, flags),
            Model::And(a, b) => a.eval(pc, inst, flags) && b.eval(pc, inst, flags),
            Model::Or(a, b) => a.eval(pc, inst, flags) || b.eval(pc, inst, flags),
        }
    }
}

const OPS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];
const CLASSES: [(&str, &[OpClass]); 5] = [
    ("mem_op", &[OpClass::Load, OpClass::Store, OpClass::Atomic]),
    ("branch", &[OpClass::Branch, OpClass::Jump]),
    ("proc_call", &[OpClass::Call, OpClass::CallIndirect]),
    ("load", &[OpClass::Load]),
    ("int", &[OpClass::IntAlu, OpClass::IntMul, OpClass::IntDiv]),
];

fn pattern() -> impl Strategy<Value = Model> {
    let leaf = prop_oneof![
        (any::<bool>(), 0..2_u8).prop_map(|(o, n)| Model::Flag(o, n)),
        (0..CLASSES.len(), any::<bool>()).prop_map(|(i, yes)| Model::Class(
            CLASSES[i].0,
            CLASSES[i].1,
            yes
        )),
        (0..3_u8, any::<bool>()).prop_map(|(r, yes)| Model::Rs(r, yes)),
        (0..3_u8, any::<bool>()).prop_map(|(r, yes)| Model::Rd(r, yes)),
        any::<bool>().prop_map(Model::Same),
        (0..6_usize, -2..3_i64).prop_map(|(op, v)| Model::Imm(OPS[op], v)),
        (0..6_usize, 0..4_i64).prop_map(|(op, v)| Model::Pc(OPS[op], v)),
        (0..6_usize).prop_map(|op| Model::Target(OPS[op])),
    ];
    leaf.prop_recursive(4, 16, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|p| Model::Not(Box::new(p))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Model::And(Box::new(a), Box::new(b))),
            (inner.clone(), inner).prop_map(|(a, b)| Model::Or(Box::new(a), Box::new(b))),
        ]
    })
}

fn instruction() -> impl Strategy<Value = (u64, Inst)> {
    let class = prop::sample::select(vec![
        OpClass::Load,
        OpClass::Store,
        OpClass::Atomic,
        OpClass::Branch,
        OpClass::Jump,
        OpClass::Call,
        OpClass::CallIndirect,
        OpClass::Return,
        OpClass::IntAlu,
        OpClass::IntMul,
        OpClass::FpAdd,
        OpClass::Illegal,
    ]);
    let rd = prop_oneof![1..3_u8, Just(reg::SINK)];
    (0..5_u64, class, rd, 0..3_u8, 0..3_u8, -3..4_i64).prop_map(|(pc, class, rd, rs1, rs2, imm)| {
        (
            pc,
            Inst {
                op: Op::Addi,
                class,
                rd,
                rs1,
                rs2,
                imm,
                ..Inst::illegal(4)
            },
        )
    })
}
