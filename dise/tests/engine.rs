//! Decisions, instantiation, table misses, costs.

use std::sync::{Arc, Mutex};

use crate::common::*;
use hps_dise::flags::FlagCondition;
use hps_dise::pattern::{PatternEntry, StaticPattern};
use hps_dise::tables::{Micro, Production, Sequence, Tables, Template};
use hps_dise::{DiseConfig, DiseEngine, DiseError, ExpansionCost};
use hps_isa::editor::DecodeEditor;
use hps_isa::inst::{Inst, Op, OpClass, reg};

fn decide(engine: &mut DiseEngine, inst: &Inst, regs: &[u64; reg::COUNT]) -> (Option<u8>, u32) {
    let mask = engine.static_mask(PC, inst);
    let decision = engine.decide(1, mask, PC, inst, regs);
    (decision.production, decision.stall_cycles)
}

#[test]
fn most_specific_wins_and_losers_run_nothing() {
    let set = parse(
        "Any: T.OPCLASS == any => { T.INSN }, inc_0
         Mem: T.OPCLASS == mem_op => { T.INSN }, inc_1
         Load: T.OPCLASS == load => { T.INSN }, inc_2
         Sp: T.OPCLASS == load && T.RS == sp => { T.INSN }, inc_3
         Tie: T.OPCLASS == load && T.RS == sp => { nop ; T.INSN }, inc_3
         Null: T.OPCLASS == any => null, inc_0",
    );
    let (mut engine, regs) = engine(&set, &DiseConfig::default());
    let other_load = Inst { rs1: 11, ..load() };
    let cases = [(load(), 3), (other_load, 2), (store(), 1), (add(), 0)];
    for (inst, winner) in cases {
        assert_eq!(
            decide(&mut engine, &inst, &regs).0,
            Some(winner),
            "{inst:?}"
        );
    }
    // `Any` ran once, `Null` four times.
    assert_eq!(engine.counters(), [5, 1, 1, 1]);
    let stats = engine.stats();
    assert_eq!(
        (
            stats.expansion_events,
            stats.null_match_events,
            stats.inserted_instructions
        ),
        (4, 4, 0)
    );
    assert_eq!(stats.productions[4].match_events, 1);
    assert_eq!(stats.productions[4].control_events, 0);
    assert_eq!(stats.productions[5].match_events, 4);
}

#[test]
fn conditionals_see_the_flags_before_any_microinstruction() {
    // Both match only if evaluated together: A alone would clear zero_0 for B.
    let set = parse(
        "A: T.OPCLASS == load && zero_0 => null, inc_0
         B: T.OPCLASS == load && zero_0 => null, inc_1
         C: T.OPCLASS == load && !zero_0 => null, inc_2",
    );
    let (mut engine, regs) = engine(&set, &DiseConfig::default());
    step(&mut engine, 1, &load(), &regs);
    assert_eq!(engine.counters(), [1, 1, 0, 0]);
    step(&mut engine, 2, &load(), &regs);
    assert_eq!(engine.counters(), [1, 1, 1, 0]);
}

#[test]
fn flags_make_a_pattern_more_specific() {
    let set = parse(
        "Plain: T.OPCLASS == load => { T.INSN }
         Flag: T.OPCLASS == load && zero_0 => { T.INSN }, inc_0",
    );
    let (mut engine, regs) = engine(&set, &DiseConfig::default());
    assert_eq!(step(&mut engine, 1, &load(), &regs), Some(1));
    assert_eq!(step(&mut engine, 2, &load(), &regs), Some(0));
}

#[test]
fn a_production_with_several_entries_runs_once() {
    let set = parse("A: T.OPCLASS == load || T.RD == a2 || T.IMM == 8 => null, inc_0");
    assert_eq!(set.tables().productions[0].entries.len(), 3);
    let (mut engine, regs) = engine(&set, &DiseConfig::default());
    step(&mut engine, 1, &load(), &regs);
    assert_eq!(engine.counters()[0], 1);
}

#[test]
fn identity_production_passes_the_trigger() {
    let set = parse("Id: T.OPCLASS == any => { T.INSN }");
    let (mut engine, regs) = engine(&set, &DiseConfig::default());
    for inst in [load(), store(), call(), back_edge(), add()] {
        let production = step(&mut engine, 1, &inst, &regs).unwrap();
        let only = engine.replacement(production, 0, PC, &inst).unwrap();
        assert_eq!(
            (only.inst, only.is_trigger, only.is_last),
            (inst, true, true)
        );
        assert_eq!(engine.replacement(production, 1, PC, &inst), None);
    }
    assert_eq!(engine.replacement(7, 0, PC, &add()), None);
}

#[test]
fn directives_are_filled_in() {
    let set = parse(
        "register mine = dr2;
         const BIG = 0x1234_5678_9abc;
         A: T.OPCLASS == mem_op && overflow_1 => R
         B: T.OPCLASS == direct_call => { li dr3, T.Target ; beqz dr3, BIG ; T.INSN }
         R: {   addi mine, T.RS, T.IMM
                mv   dr3, T.RT        # the data of a store
                li   dr4, T.PC + 4
                li   dr5, BIG
                add  T.RD, T.RS, T.RD
                li   dr6, T.COUNT_1 - 1
                d_beq dr2, dr3, last
                call(H)
                d_ccall dr2, H
         last:  T.INST }
         handler H { d_ret }",
    );
    let (mut engine, mut regs) = engine(&set, &DiseConfig::default());
    assert_eq!(decide(&mut engine, &store(), &regs).0, None);
    regs[64] = u64::from(u32::MAX);
    let h = set.symbols()["H"];
    let mut tables = set.tables().clone();
    tables.initial = vec![(1, 64)];
    let mut engine = DiseEngine::from_tables(&tables, &DiseConfig::default()).unwrap();
    engine.reset(&regs);
    assert_eq!(decide(&mut engine, &store(), &regs), (Some(0), 1));
    let at = |index| engine.replacement(0, index, PC, &store()).unwrap();
    let fields = |index| {
        let i = at(index).inst;
        assert_eq!(i.len, 2, "the length is the trigger's");
        (i.op, i.rd, i.rs1, i.rs2, i.imm)
    };
    assert_eq!(fields(0), (Op::Addi, 66, 2, 0, -8));
    assert_eq!(fields(1), (Op::Addi, 67, 13, 0, 0));
    assert_eq!(fields(2), (Op::Addi, 68, 0, 0, PC as i64 + 4));
    assert_eq!(fields(3), (Op::Addi, 69, 0, 0, 0x1234_5678_9abc));
    // A store has no destination: as a source it is the zero register.
    assert_eq!(fields(4), (Op::Add, reg::SINK, 2, 0, 0));
    assert_eq!(fields(5), (Op::Addi, 70, 0, 0, i64::from(u32::MAX) - 1));
    assert_eq!(fields(6), (Op::DiseBeq, reg::SINK, 66, 67, 9));
    assert_eq!(fields(7), (Op::DiseCall, reg::SINK, 0, 0, h as i64));
    assert_eq!(fields(8), (Op::DiseCcall, reg::SINK, 66, 0, h as i64));
    assert!(at(9).is_trigger && at(9).is_last && !at(8).is_last);
    let target = engine.replacement(1, 0, PC, &call()).unwrap().inst;
    assert_eq!(target.imm as u64, call().direct_target(PC));
    let branch = engine.replacement(1, 1, PC, &call()).unwrap().inst;
    assert_eq!(
        (branch.class, branch.direct_target(PC)),
        (OpClass::Branch, 0x1234_5678_9abc)
    );
}

#[test]
fn latched_counts_survive_a_restart_in_the_middle() {
    let set = parse("A: T.OPCLASS == load => { li dr1, T.COUNT_0 ; T.INSN }, inc_0");
    let (mut engine, regs) = engine(&set, &DiseConfig::default());
    let count = |e: &DiseEngine| e.replacement(0, 0, PC, &load()).unwrap().inst.imm;
    for seq in 1..=3 {
        step(&mut engine, seq, &load(), &regs);
        assert_eq!(count(&engine), seq as i64 - 1);
    }
    engine.squash(2);
    assert_eq!(
        count(&engine),
        0,
        "the sequence of 1 is instantiated as it was decided"
    );
    step(&mut engine, 4, &load(), &regs);
    assert_eq!(count(&engine), 1);
}

#[test]
fn costs_of_an_expansion() {
    let set =
        parse("A: T.OPCLASS == load => { nop ; T.INSN }\nB: T.OPCLASS == store => null, inc_0");
    for (cost, stall, stages) in [
        (ExpansionCost::Free, 0, 0),
        (ExpansionCost::Stall, 1, 0),
        (ExpansionCost::ExtraStage, 0, 1),
    ] {
        let (mut engine, regs) = engine(
            &set,
            &DiseConfig {
                expansion_cost: cost,
                ..DiseConfig::default()
            },
        );
        assert_eq!(decide(&mut engine, &load(), &regs), (Some(0), stall));
        assert_eq!(
            decide(&mut engine, &store(), &regs),
            (None, 0),
            "a null replacement is free"
        );
        assert_eq!(engine.extra_decode_stages(), stages);
        assert_eq!(engine.stats().expansion_stall_cycles, u64::from(stall));
        assert_eq!(engine.stats().inserted_instructions, 1);
    }
}

#[test]
fn replacement_table_misses() {
    let text = "A: T.OPCLASS == load => R1
                B: T.OPCLASS == store => R2
                C: T.OPCLASS == proc_call => compose(R1, R2)
                R1: { nop ; nop ; T.INSN }
                R2: { nop ; T.INSN }";
    let set = parse(text);
    assert_eq!(set.tables().replacement_entries(), 3 + 2 + 4);
    let config = DiseConfig {
        rt_entries: 5,
        ..DiseConfig::default()
    };
    let (mut engine, regs) = engine(&set, &config);
    let mut stall = |inst| decide(&mut engine, &inst, &regs).1;
    assert_eq!(
        [stall(load()), stall(store()), stall(load()), stall(store())],
        [31, 31, 1, 1]
    );
    assert_eq!(
        stall(call()),
        151,
        "a composed sequence is dearer, and pushes out both"
    );
    assert_eq!([stall(call()), stall(load()), stall(store())], [1, 31, 31]);
    assert_eq!(
        (
            engine.stats().rt_miss_events,
            engine.stats().miss_stall_cycles
        ),
        (5, 4 * 30 + 150)
    );
    let (mut large, regs) = crate::common::engine(
        &set,
        &DiseConfig {
            rt_entries: 9,
            ..DiseConfig::default()
        },
    );
    assert_eq!(decide(&mut large, &call(), &regs).1, 1, "everything fits");
    let error = DiseEngine::new(
        &set,
        &DiseConfig {
            rt_entries: 3,
            ..DiseConfig::default()
        },
    )
    .unwrap_err();
    assert!(
        matches!(
            error,
            DiseError::SequenceLength {
                len: 4,
                most: 3,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn composed_sequences_keep_one_trigger_and_their_branches() {
    let set = parse(
        "C: T.OPCLASS == load => compose(R1, R2)
         R1: { d_beq dr1, zero, t ; nop ; t: T.INSN ; nop ; d_br t }
         R2: { d_bne dr1, zero, end ; end: T.INSN }",
    );
    let sequence = set.tables().productions[0].replacement.clone().unwrap();
    let targets: Vec<Option<i64>> = sequence
        .templates
        .iter()
        .map(|t| match t {
            Template::Trigger => None,
            Template::Inst { inst, .. } => Some(inst.imm),
        })
        .collect();
    assert_eq!(targets, [Some(2), Some(0), Some(0), Some(2), Some(5), None]);
    assert!(sequence.composed);
}

#[test]
fn pattern_table_misses() {
    let set = parse(
        "A: T.OPCLASS == load => null, inc_0
         B: T.OPCLASS == store => null, inc_0
         C: T.OPCLASS == mem_op && overflow_3 => { T.INSN }",
    );
    let config = DiseConfig {
        pt_entries: 2,
        ..DiseConfig::default()
    };
    let (mut engine, regs) = engine(&set, &config);
    let mut stall = |inst| decide(&mut engine, &inst, &regs).1;
    // A load needs A and C, a store B and C.
    assert_eq!(
        [
            stall(load()),
            stall(load()),
            stall(store()),
            stall(store()),
            stall(load())
        ],
        [30, 0, 30, 0, 30]
    );
    assert_eq!(
        (
            engine.stats().pt_miss_events,
            engine.stats().miss_stall_cycles
        ),
        (3, 90)
    );
    assert_eq!(
        engine.counters()[0],
        5,
        "misses cost time and change nothing else"
    );
    engine.reset(&regs);
    assert_eq!(engine.stats().pt_miss_events, 0);
    assert_eq!(engine.stats().productions[0].name, "A");
}

#[test]
fn registers_that_decode_waits_for() {
    let set = parse("register r = dr4;\nA: T.OPCLASS == load => null, set_1(r), set_2(dr9)");
    let (engine, _) = engine(&set, &DiseConfig::default());
    let read: Vec<u8> = (0..=u8::MAX)
        .filter(|r| engine.reads_register(*r))
        .collect();
    assert_eq!(read, [68, 73]);
}

#[test]
fn unrepaired_counters_keep_wrong_paths() {
    let set = parse("A: T.OPCLASS == load => null, inc_0");
    for (repair, expected) in [(true, 2), (false, 5)] {
        let config = DiseConfig {
            repair_counters: repair,
            ..DiseConfig::default()
        };
        let (mut engine, regs) = engine(&set, &config);
        for seq in 1..=5 {
            step(&mut engine, seq, &load(), &regs);
        }
        engine.squash(3);
        assert_eq!(engine.counters()[0], expected);
    }
}

#[test]
fn drain_calls_the_consumer() {
    let set = parse("A: T.OPCLASS == load => { T.INSN }");
    let (mut engine, _) = engine(&set, &DiseConfig::default());
    engine.drain(&mut |_, _| panic!("nobody reads without a consumer"));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    engine.set_drain(Box::new(move |read| {
        let mut buffer = [0; 4];
        assert!(read(0x100, &mut buffer));
        sink.lock().expect("one thread").push(buffer);
    }));
    engine.drain(&mut |addr, buffer| {
        buffer.fill(addr.to_le_bytes()[1]);
        true
    });
    assert_eq!(*seen.lock().expect("one thread"), [[1; 4]]);
}

#[test]
fn tables_that_do_not_fit_are_refused() {
    let production = |entries: usize| Production {
        name: "A".into(),
        entries: vec![
            PatternEntry {
                pattern: StaticPattern::default(),
                condition: FlagCondition::default()
            };
            entries
        ],
        replacement: None,
        control: vec![Micro::Inc(0)],
    };
    let new = |p: Production| {
        let tables = Tables {
            productions: vec![p],
            initial: Vec::new(),
        };
        DiseEngine::from_tables(&tables, &DiseConfig::default()).map(|_| ())
    };
    assert_eq!(new(production(32)), Ok(()));
    assert_eq!(
        new(production(33)),
        Err(DiseError::TooManyPatterns {
            needed: 33,
            most: 32
        })
    );
    let wrong = Production {
        control: vec![Micro::Inc(4)],
        ..production(1)
    };
    assert!(
        new(wrong)
            .unwrap_err()
            .to_string()
            .contains("A uses counter 4, but the engine has 4")
    );
    let wrong = Production {
        control: vec![Micro::Set {
            counter: 0,
            register: 5,
        }],
        ..production(1)
    };
    assert_eq!(
        new(wrong),
        Err(DiseError::NotADiseRegister {
            place: "A".into(),
            register: 5
        })
    );
    let branch = Template::literal(Inst {
        op: Op::DiseBr,
        class: OpClass::DiseBranch,
        imm: 1,
        ..Inst::illegal(4)
    });
    let wrong = Production {
        replacement: Some(Sequence::new(vec![branch])),
        ..production(1)
    };
    assert!(matches!(
        new(wrong),
        Err(DiseError::BranchTarget {
            target: 1,
            len: 1,
            ..
        })
    ));
    let wrong = Production {
        replacement: Some(Sequence::default()),
        ..production(1)
    };
    assert!(matches!(
        new(wrong),
        Err(DiseError::SequenceLength { len: 0, .. })
    ));
}

#[test]
fn configurations_are_read_and_written() {
    let config = DiseConfig {
        expansion_cost: ExpansionCost::ExtraStage,
        ..DiseConfig::default()
    };
    let text = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<DiseConfig>(&text).unwrap(), config);
    assert_eq!(
        serde_json::from_str::<DiseConfig>("{}").unwrap(),
        DiseConfig::default()
    );
    assert!(serde_json::from_str::<DiseConfig>("{\"pt_entrys\": 3}").is_err());
}
