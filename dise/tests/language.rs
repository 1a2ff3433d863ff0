//! The language: handlers, expressions, messages, check and explain.

use crate::common::*;
use hps_dise::check::{Conflict, check};
use hps_dise::{HANDLER_BASE, LoadOptions, ProductionSet, explain, explain_classes};
use hps_isa::inst::Inst;
use hps_isa::isa::Isa;
use hps_isa::riscv::{decode, disassemble};
use hps_system::symbols::Entries;

fn disassembly(set: &ProductionSet) -> Vec<String> {
    let (base, bytes) = set.handler_image().remove(0);
    let words = bytes
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    words
        .enumerate()
        .map(|(i, word)| disassemble(&decode(word), base + 4 * i as u64))
        .collect()
}

#[test]
fn handlers_become_guest_code() {
    let set = parse_files(&[(HANDLERS, "h")], &[]);
    let handlers = set.handlers();
    assert_eq!(
        (handlers[0].address, handlers[0].size),
        (HANDLER_BASE, 17 * 4)
    );
    assert_eq!(
        handlers[1].address,
        HANDLER_BASE + 80,
        "handlers are aligned to 16 bytes"
    );
    let records = &set.data_areas()[0];
    assert_eq!((records.address, records.size), (HANDLER_BASE + 4096, 4096));
    assert_eq!(set.symbols()["records"], records.address);
    assert_eq!(set.dise_register_init(), [(67, records.address)]);
    let code = disassembly(&set);
    assert_eq!(code.len(), 25);
    assert!(
        code.iter().all(|line| !line.contains("illegal")),
        "{code:?}"
    );
    let ops: Vec<&str> = code
        .iter()
        .map(|line| line.split_whitespace().next().unwrap_or(""))
        .collect();
    assert_eq!(ops[..3], ["d_mtdr", "d_mtdr", "d_mfdr"]);
    assert_eq!(ops[16], "d_ret");
    // `bgeu t0, t1, full` at instruction 5 goes to instruction 10, the drain.
    let bytes = &set.handler_image()[0].1;
    let word = |i: usize| u32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().unwrap());
    assert_eq!(decode(word(5)).imm, 4 * 5);
    assert_eq!(ops[10], "d_drain");
    // `la` computes the address.
    let (upper, lower) = (decode(word(3)), decode(word(4)));
    let pc = HANDLER_BASE as i64 + 12;
    assert_eq!(
        pc + upper.imm + lower.imm,
        records.address as i64 + 4096 - 16
    );
}

#[test]
fn expressions_and_parameters() {
    let text = "param n = 2 + 3 * 4;
                const A = (n - 1) * -2;
                const B = 0xff + 0b11 - A;
                init dr5 = MAX - B;";
    let set = parse(text);
    assert_eq!(
        (
            set.constants()["n"],
            set.constants()["A"],
            set.constants()["B"]
        ),
        (14, -26, 284)
    );
    assert_eq!(set.dise_register_init(), [(69, u64::from(u32::MAX) - 284)]);
    let set = ProductionSet::parse(text, "t", &LoadOptions::with_params([("n", 1)])).unwrap();
    assert_eq!(set.constants()["B"], 258);
    let error = ProductionSet::parse(text, "t", &LoadOptions::with_params([("m", 1)])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no parameter `m`; declared parameters: n"
    );
}

#[test]
fn patterns_on_every_field() {
    let set = parse(
        "const HIGH = 0x8000;
         A: T.OPCODE == ld && T.RS == sp && T.RT != x5 && T.RD == a2 && T.IMM >= -4 => null
         B: !(T.PC < HIGH || T.Target == T.PC) && T.OPCODE != addi => null
         C: T.RD == T.RS || 2 * 2 == T.IMM => null
         D: T.OPCLASS != load && T.OPCLASS != store => null",
    );
    let texts: Vec<String> = set
        .tables()
        .productions
        .iter()
        .flat_map(|p| &p.entries)
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        texts[..4],
        [
            "T.OPCODE == ld && T.RS == sp && T.RT != t0 && T.RD == a2 && T.IMM >= -4",
            "!(T.PC < 0x8000) && !(T.PC == T.Target) && T.OPCODE != addi",
            "T.RS == T.RD",
            "T.IMM == 4",
        ]
    );
    let matches = |p: usize, inst| {
        set.tables().productions[p]
            .entries
            .iter()
            .any(|e| e.pattern.matches(PC, &inst))
    };
    assert!(matches(0, load()) && !matches(0, store()));
    assert!(
        matches(1, load())
            && !matches(
                1,
                Inst {
                    imm: 0,
                    ..back_edge()
                }
            )
    );
    assert!(!matches(2, load()) && matches(2, Inst { rd: 11, ..add() }));
    assert!(!matches(3, load()) && matches(3, add()));
    assert_eq!(
        set.tables().productions[0].entries[0].specificity(),
        (16 + 7 + 1 + 7 + 1, 0)
    );
}

#[test]
fn not_of_an_absent_field_is_true() {
    let set = parse(
        "A: T.Target < T.PC => null\nB: !(T.Target < T.PC) => null\nC: T.Target >= T.PC => null",
    );
    let matches = |p: usize, inst| {
        set.tables().productions[p]
            .entries
            .iter()
            .any(|e| e.pattern.matches(PC, &inst))
    };
    assert_eq!(
        [
            matches(0, back_edge()),
            matches(1, back_edge()),
            matches(2, back_edge())
        ],
        [true, false, false]
    );
    assert_eq!(
        [matches(0, call()), matches(1, call()), matches(2, call())],
        [false, true, true]
    );
    assert_eq!(
        [matches(0, add()), matches(1, add()), matches(2, add())],
        [false, true, false]
    );
}

#[test]
fn messages_point_at_the_place() {
    let cases = [
        (
            "P1: T.OPCLAS == load => null",
            "1:5: unknown field `T.OPCLAS`",
            "did you mean `T.OPCLASS`?",
        ),
        (
            "P1: T.OPCLASS == lod => null",
            "1:18: unknown class `lod`",
            "did you mean `load`?",
        ),
        (
            "P1: T.OPCODE == adddi => null",
            "1:17: unknown operation `adddi`",
            "did you mean `addi`?",
        ),
        (
            "P1: T.RS == spp => null",
            "1:13: unknown register `spp`",
            "did you mean `sp`?",
        ),
        (
            "P1: T.PC == start => null",
            "1:13: unknown name `start`",
            "define it with `const` or `param`",
        ),
        (
            "P1: T.OPCLASS < load => null",
            "1:5: operations, classes and registers",
            "",
        ),
        (
            "P1: T.OPCLASS == load && overflw_1 => null",
            "1:26: unknown flag or field `overflw_1`",
            "did you mean `overflow_1`?",
        ),
        (
            "P1: overflow_16 => null",
            "1:5: counter 16 does not exist",
            "numbered from 0 to 15",
        ),
        (
            "P1: T.OPCLASS == load\n => R7, null",
            "2:5: unknown replacement sequence `R7`",
            "define it: `R7: { ...; T.INSN }`",
        ),
        (
            "P1: T.OPCLASS == load => null, C1\nCC1: inc_1;",
            "1:32: unknown conditional control `C1`",
            "did you mean `CC1`?",
        ),
        (
            "P1: T.OPCLASS == load => { call(Handle) ; T.INSN }\nhandler Handler { d_ret }",
            "1:33: unknown handler `Handle`",
            "did you mean `Handler`?",
        ),
        (
            "P1: T.OPCLASS == load => { ad dr1, dr1, dr2 }",
            "1:28: unknown instruction `ad`",
            "did you mean `add`?",
        ),
        (
            "P1: T.OPCLASS == load => { add dr1, T.RX, dr2 }",
            "1:37: unknown register `T.RX`",
            "did you mean `T.RD`?",
        ),
        (
            "P1: T.OPCLASS == load => { li dr1, T.PCC }",
            "1:36: unknown directive `T.PCC`",
            "did you mean `T.PC`?",
        ),
        (
            "P1: T.OPCLASS == load => { d_br ende ; end: T.INSN }",
            "1:33: unknown label `ende`",
            "did you mean `end`?",
        ),
        (
            "P1: T.OPCLASS == load => { d_br 2 ; T.INSN }",
            "1:33: branch to instruction 2, but the sequence has 2",
            "",
        ),
        (
            "P1: T.OPCLASS == load => { add dr1, dr2 }",
            "1:28: `add` takes 3 operands",
            "",
        ),
        (
            "P1: T.OPCLASS == load => { }",
            "1:1: this replacement sequence is empty",
            "`null`",
        ),
        (
            "P1: T.OPCLASS == load => { ecall }",
            "1:28: `ecall` cannot stand in a replacement sequence",
            "call a handler",
        ),
        (
            "P1: T.OPCLASS == load => { fadd.d fa0, a0, fa1 }",
            "1:40: `a0` cannot stand here",
            "",
        ),
        (
            "P1: T.OPCLASS == load null",
            "1:23: expected `=>` after the pattern, found `null`",
            "",
        ),
        (
            "P1: T.OPCLASS == load => null\nP1: T.OPCLASS == load => null",
            "2:1: label `P1` is defined twice",
            "",
        ),
        (
            "registr a = dr0;",
            "1:1: expected a definition or a label with `:`, found `registr`",
            "did you mean `register`?",
        ),
        (
            "register a = r0;",
            "1:14: `r0` is not a DISE register",
            "dr0 to dr15",
        ),
        (
            "const a = 1",
            "1:12: expected `;` at the end of the const definition, found the end of the file",
            "",
        ),
        (
            "const a = 9223372036854775807 + 1;",
            "1:31: the value does not fit 64 bits",
            "",
        ),
        (
            "const a = 1; const a = 2;",
            "1:20: `a` is already defined as 1",
            "",
        ),
        ("const t0 = 1;", "1:7: `t0` cannot be defined", ""),
        ("handler h {\n  foo t0\n}", "2:3:", ""),
        (
            "handler h {\n  j lop\nloop: d_ret\n}",
            "2:5:",
            "did you mean `loop`?",
        ),
        (
            "handler h {\n li t0, d\n}\ndata d 8 8;",
            "2:9: `d` is an address",
            "load it with `la`",
        ),
        ("handler h {\n d_br 1\n}", "2:2:", ""),
        (
            "handler h { nop",
            "1:11: this block is never closed",
            "add `}`",
        ),
        (
            "data d 8 3;",
            "1:6: the alignment of `d` is 3",
            "power of two",
        ),
        (
            "P1: T.OPCLASS == load & zero_1 => null",
            "1:23: unexpected character `&`",
            "`&&`",
        ),
        (
            "register r = dr0; init r = -1; counter 0 = r;",
            "1:24: `r` starts at -1, which no counter can hold",
            "",
        ),
        (
            "counter 0 = dr0; counter 0 = dr1;",
            "1:30: counter 0 is already loaded",
            "",
        ),
    ];
    for (text, place, help) in cases {
        let message = error(text);
        assert!(
            message.starts_with(&format!("test.dise:{place}")),
            "for {text:?}:\n{message}"
        );
        assert!(message.contains(help), "for {text:?}:\n{message}");
    }
}

#[test]
fn a_message_in_full() {
    assert_eq!(
        error("# first line\n\tP1: T.OPCLASS == prc_call => null"),
        "test.dise:2:19: unknown class `prc_call`\n  |\n2 | \tP1: T.OPCLASS == prc_call => null\n  | \t                 ^\n  = help: did you mean `proc_call`?"
    );
}

#[test]
fn warnings_are_given() {
    let text = "P1: T.OPCLASS == load => { nop }
                P2: T.OPCLASS == load && T.OPCLASS == store => null
                P3: overflow_1 && zero_1 => null
                P4: T.OPCLASS == load && zero_0 || T.OPCLASS == store => null
                R9: { T.INSN }
                CC9: inc_1;
                handler h { nop }";
    let set = parse(text);
    let messages: Vec<&str> = set.warnings().iter().map(|w| w.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "`&&` and `||` are mixed without parentheses",
            "handler `h` never returns",
            "P1 replaces its trigger: the sequence has no T.INSN",
            "no instruction can match the pattern of P2",
            "no instruction can match the pattern of P3",
            "`R9` is not used",
            "`CC9` is not used",
        ]
    );
    let notes = check(&set).notes;
    assert_eq!(notes, ["counter 0 is tested, but no production changes it"]);
    let notes = check(&parse("A: T.OPCLASS == load => null, set_1(dr3)")).notes;
    assert_eq!(
        notes,
        [
            "counter 1 is changed, but nothing tests or reads it",
            "counters are loaded from dr3, which has no initial value (`init`)"
        ]
    );
}

#[test]
fn conflicts_are_reported() {
    let conflicts = |text: &str| check(&parse(text)).conflicts;
    let same =
        conflicts("A: T.OPCLASS == load => { T.INSN }\nB: T.OPCLASS == load => { nop ; T.INSN }");
    assert_eq!(same.len(), 1);
    assert_eq!(
        same[0].to_string(),
        "B can never win: A wins whenever B matches (T.OPCLASS == load)"
    );
    // The more specific pattern wins although it comes later: no conflict.
    assert!(
        conflicts(
            "A: T.OPCLASS == load => { T.INSN }\nB: T.OPCLASS == load && T.RS == sp => { T.INSN }"
        )
        .is_empty()
    );
    let tie = conflicts(
        "A: T.OPCLASS == load && T.RS == sp => { T.INSN }\nB: T.OPCLASS == load && T.RD == a0 => { T.INSN }",
    );
    assert!(
        matches!(&tie[..], [Conflict::Tie { winner, loser, .. }] if winner == "A" && loser == "B")
    );
    // Disjoint: no instruction can meet both.
    for text in [
        "A: T.RS == sp => { T.INSN }\nB: T.RS == a0 => { T.INSN }",
        "A: T.PC < 10 => { T.INSN }\nB: T.PC > 10 => { T.INSN }",
        "A: T.PC < T.Target => { T.INSN }\nB: T.Target < T.PC => { T.INSN }",
        "A: overflow_1 => { T.INSN }\nB: !overflow_1 => { T.INSN }",
        "A: overflow_1 => { T.INSN }\nB: zero_1 => { T.INSN }",
        "A: T.Target < T.PC => { T.INSN }\nB: T.OPCLASS == load && T.PC > 0 => { T.INSN }",
    ] {
        assert!(conflicts(text).is_empty(), "{text}");
    }
    let race = conflicts(
        "A: T.OPCLASS == load => null, inc_1\nB: T.OPCLASS == mem_op => null, set_1(dr0)",
    );
    assert!(matches!(&race[..], [Conflict::CounterRace { counters, .. }] if counters == &[1]));
    assert!(
        conflicts("A: T.OPCLASS == load => null, inc_1\nB: T.OPCLASS == mem_op => null, inc_1")
            .is_empty()
    );
}

#[test]
fn entries_are_of_functions_that_do_not_hold_the_instruction() {
    let set = parse(
        "A: T.Target == entry => null\nB: T.Target != entry => null\nC: !(T.Target == entry) => null",
    );
    let target = back_edge().direct_target(PC);
    let matches = |functions: &[(u64, u64)], inst: Inst| {
        let entries = Entries::new(functions.iter().copied(), Isa::Riscv64);
        let productions = set.tables().productions.iter();
        let found = productions.map(|p| p.entries[0].pattern.matches_in(&entries, PC, &inst));
        found.collect::<Vec<bool>>()
    };
    let other = [(target, target + 4), (PC, PC + 4)];
    assert_eq!(matches(&other, back_edge()), [true, false, false]);
    assert_eq!(
        matches(&[(target, PC + 4)], back_edge()),
        [false, true, true]
    );
    assert_eq!(matches(&[], back_edge()), [false, true, true]);
    assert_eq!(matches(&other, add()), [false, false, true]);
    let shown: Vec<String> = set
        .tables()
        .productions
        .iter()
        .map(|p| p.entries[0].to_string())
        .collect();
    assert_eq!(
        shown,
        [
            "T.Target == entry",
            "T.Target != entry",
            "!(T.Target == entry)"
        ]
    );
    assert_eq!(set.tables().productions[0].entries[0].specificity(), (1, 0));
}

#[test]
fn explanations_list_every_state() {
    let set = parse_files(
        &[
            (REGISTERS, "r"),
            (CORRECTED, "framework.dise"),
            (HANDLERS, "h"),
            (FIGURE5, "figure5.dise"),
        ],
        &[],
    );
    let insts = [
        call(),
        call(),
        back_edge(),
        forward_branch(),
        load(),
        store(),
        add(),
    ];
    let explanation = explain(
        &set,
        insts.into_iter().map(|inst| (PC, inst)),
        &Entries::default(),
    );
    assert_eq!(explanation.unmatched, 1);
    let calls = explanation
        .groups
        .iter()
        .find(|g| g.classes == [("direct_call".to_owned(), 2)])
        .unwrap();
    let cases: Vec<String> = calls.cases.iter().map(ToString::to_string).collect();
    assert_eq!(
        cases,
        [
            "!overflow_1 !overflow_2: passes; framework:P1 inc_1",
            "overflow_1 !overflow_2: figure5:P2 replaces it (over figure5:P3); framework:P3 inc_2",
            "!overflow_1 overflow_2: passes; framework:P1 inc_1",
            "overflow_1 overflow_2: figure5:P2 replaces it (over figure5:P3); framework:P5 set_1(sampleFreq); framework:P5 set_2(burstLength)",
        ]
    );
    let text = explanation.to_string();
    assert!(text.contains("1 instructions match nothing"), "{text}");
    let all = explain_classes(&set);
    assert!(
        all.groups
            .iter()
            .any(|g| g.classes.iter().any(|(name, _)| name == "indirect_call")),
        "{all}"
    );
}

#[test]
fn the_worked_example_of_the_reference_is_clean() {
    let reference = include_str!("../README.md");
    let start = reference.find("```dise\n").unwrap() + "```dise\n".len();
    let example = &reference[start..start + reference[start..].find("```").unwrap()];
    let set = parse(example);
    let report = check(&set);
    assert!(
        report.conflicts.is_empty() && report.warnings.is_empty() && report.notes.is_empty(),
        "{report}"
    );
    assert_eq!(
        (report.pt_entries, report.rt_entries, report.ct_entries),
        (5, 8, 4)
    );
    let (mut engine, regs) = engine(&set, &hps_dise::DiseConfig::default());
    let mut sampled = Vec::new();
    for n in 1..=250 {
        if step(&mut engine, n, &call(), &regs).is_some() {
            sampled.push(n);
        }
    }
    assert_eq!(sampled, [100, 200]);
}

#[test]
fn registers_with_two_names_are_noted() {
    let set = parse_files(
        &[("register a = dr4;", "x"), ("register b = dr4;", "y")],
        &[],
    );
    assert_eq!(check(&set).notes, ["dr4 has several names: a, b"]);
}

#[test]
fn report_names_sizes() {
    let set = parse_files(
        &[
            (REGISTERS, "r"),
            (CORRECTED, "framework.dise"),
            (HANDLERS, "h"),
            (FIGURE5, "figure5.dise"),
        ],
        &[],
    );
    let report = check(&set);
    assert_eq!(
        (
            report.productions,
            report.pt_entries,
            report.rt_entries,
            report.ct_entries
        ),
        (9, 10, 6, 4)
    );
    assert_eq!((report.handler_bytes, report.data_bytes), (19 * 4, 4096));
    let text = report.to_string();
    assert!(
        text.starts_with("9 productions: 10 PT entries, 6 RT entries, 4 CT entries\n"),
        "{text}"
    );
    assert!(
        text.contains("handler DataStream_handler: 68 bytes at 0x200000000"),
        "{text}"
    );
}
