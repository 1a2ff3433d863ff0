//! DISE in the pipeline: what productions insert, restarts in the middle of a sequence, handlers,
//! and the pipeline log that shows them.

use crate::common::compare::{ALL_REGISTERS, Outcome, PROGRAM_REGISTERS, Stream, counts};
use crate::common::random::{self, Mix};
use crate::common::{Program, machine, repeat};
use hps_dise::{DiseConfig, DiseEngine, ExpansionCost, LoadOptions, ProductionSet};
use hps_isa::isa::Isa;
use hps_isa::layout;
use hps_isa::memory::{Perm, page_align_up};
use hps_pipeline::config::{self, MachineConfig, MemDep, Predictor, Scheduling, StoreSetsConfig};
use hps_pipeline::core::{Chip, CoreStats, StagesProbe};
use hps_pipeline::kanata::KanataLog;
use hps_system::process::Process;

const LIMIT: u64 = 200_000;
const HANDLERS: std::ops::Range<u64> = layout::HANDLER_BASE..layout::HANDLER_END;

const IDENTITY: &str = "
    I1: T.OPCLASS == mem_op    => { T.INSN }
    I2: T.OPCLASS == proc_call => { T.INSN }
    I3: T.OPCLASS == branch    => { T.INSN }
    I4: T.OPCLASS == return    => { T.INSN }
";

/// Everything that can be restarted: triggers in the middle and at the end, branches within
/// sequences that the data decide, loads behind stores of the same place, handlers that read what
/// they have just written.
pub const RESTARTS: &str = "
    data counts 4096 64;
    init dr14 = counts;

    A: T.OPCLASS == load => {
        addi dr2, T.RS, T.IMM
        andi dr3, dr2, 8
        d_beq dr3, zero, skip
        call(Count)
        skip: T.INSN
        addi dr10, dr10, 1
    }
    B: T.OPCLASS == cond_branch => {
        addi dr4, dr4, 1
        T.INSN
        addi dr5, dr5, 1
    }
    C: T.OPCLASS == proc_call => {
        li dr2, T.PC
        d_ccall dr2, Count
        T.INSN
    }
    D: T.OPCLASS == store => {
        T.INSN
        lb dr6, T.IMM(T.RS)
        add dr7, dr7, dr6
        call(Count)
    }
    E: T.OPCLASS == return => { addi dr11, dr11, 1 ; T.INSN }

    # Counts addresses by a hash of them.
    handler Count {
        d_mtdr dr8, t0
        d_mtdr dr9, t1
        d_mtdr dr12, t2
        d_mfdr t0, dr2
        d_mfdr t1, dr14
        andi   t0, t0, 56
        add    t1, t1, t0
        ld     t2, 0(t1)
        addi   t2, t2, 1
        sd     t2, 0(t1)
        andi   t2, t2, 4
        beqz   t2, done
        lw     t2, 4(t1)
        addi   t2, t2, 1
        sw     t2, 4(t1)
    done:
        d_mfdr t0, dr8
        d_mfdr t1, dr9
        d_mfdr t2, dr12
        d_ret
    }
";

pub fn set(text: &str) -> ProductionSet {
    ProductionSet::parse(text, "test.dise", &LoadOptions::default())
        .unwrap_or_else(|e| panic!("{e}"))
}

/// Maps handlers and data, sets the DISE registers, and gives the engine.
pub fn install(set: &ProductionSet, config: &DiseConfig, process: &mut Process) -> DiseEngine {
    let mut start = layout::HANDLER_BASE;
    for (base, code) in set.handler_image() {
        let end = page_align_up(base + code.len() as u64).expect("an address");
        process
            .mem
            .map(base, end - base, Perm::RX)
            .expect("room for handlers");
        process
            .mem
            .write_bytes_forced(base, &code)
            .expect("mapped above");
        start = end;
    }
    for area in set.data_areas() {
        let end = page_align_up(area.address + area.size).expect("an address");
        if end > start {
            process
                .mem
                .map(start, end - start, Perm::RW)
                .expect("room for data");
            start = end;
        }
    }
    set.init_registers(&mut process.thread.hart.r);
    let mut engine = set.engine(config).expect("the set fits");
    engine.reset(&process.thread.hart.r);
    engine
}

pub fn costs() -> [DiseConfig; 4] {
    let with = |cost| DiseConfig {
        expansion_cost: cost,
        ..DiseConfig::default()
    };
    [
        with(ExpansionCost::Stall),
        with(ExpansionCost::Free),
        with(ExpansionCost::ExtraStage),
        // Tables too small: misses in between.
        DiseConfig {
            pt_entries: 2,
            rt_entries: 16,
            ..DiseConfig::default()
        },
    ]
}

fn machine_for(seed: u64) -> MachineConfig {
    let presets = crate::common::single_core_presets();
    machine(presets[seed as usize % presets.len()], |m| {
        m.speculation.memory_dependence = match seed / 4 % 3 {
            0 => MemDep::Aggressive,
            1 => MemDep::Conservative,
            _ => MemDep::StoreSets(StoreSetsConfig {
                clear_interval_cycles: 3000,
                ..StoreSetsConfig::default()
            }),
        };
        match seed % 7 {
            1 => m.branch.predictor = Predictor::AlwaysNotTaken,
            2 => m.branch.predictor = Predictor::AlwaysTaken,
            3 => m.branch.predictor = Predictor::Gshare(config::GshareConfig::default()),
            4 => m.branch.predictor = Predictor::Perfect,
            // Stages in step have a depth of their own.
            5 if m.issue.stages().are_free() => m.window.complete_to_commit_cycles = 0,
            _ => {}
        }
    })
}

/// Runs a random program with productions.
fn check(text: &str, seed: u64) -> (Outcome, CoreStats) {
    let program = random::program(
        seed,
        Mix {
            iterations: 8,
            csr: seed.is_multiple_of(5),
            ..Mix::default()
        },
    );
    check_program(
        text,
        &program,
        &machine_for(seed),
        &costs()[seed as usize % 4],
        &format!("seed {seed}"),
    )
}

/// Runs a program with productions in both machines, and without in the functional one.
fn check_program(
    text: &str,
    program: &Program,
    m: &MachineConfig,
    dise: &DiseConfig,
    what: &str,
) -> (Outcome, CoreStats) {
    let set = set(text);
    let plain = Outcome::plain(program.process(), LIMIT);
    let mut process = program.process();
    let engine = install(&set, dise, &mut process);
    let functional = Outcome::functional(process, engine, LIMIT);
    functional.assert_equal(&plain, PROGRAM_REGISTERS, &format!("{what}, functional"));
    functional.assert_same_memory(&plain, HANDLERS, &format!("{what}, functional"));

    let mut process = program.process();
    let engine = install(&set, dise, &mut process);
    let mut core = Chip::with(m, process, engine, Stream::default());
    let stop = core.run(LIMIT);
    let stats = *core.stats();
    let retired = counts(&stats);
    let timed = Outcome::of_core(&mut core, stop);
    let what = format!(
        "{what}, {}, {:?}, {:?}",
        m.name, m.branch.predictor, m.speculation.memory_dependence
    );
    functional.assert_equal(&timed, ALL_REGISTERS, &what);
    functional.assert_same_memory(&timed, 0..0, &what);
    assert_eq!(retired, functional.retired, "{what}: retired by origin");

    let mut process = program.process();
    let engine = install(&set, dise, &mut process);
    if let Some(driven) = Outcome::driven(m, process, engine, LIMIT) {
        let what = format!("{what}, an instruction at a time");
        functional.assert_equal(&driven, ALL_REGISTERS, &what);
        functional.assert_same_memory(&driven, 0..0, &what);
        assert_eq!(driven.retired, functional.retired, "{what}");
    }
    (functional, stats)
}

#[test]
fn identity_productions_change_nothing_but_the_count_of_expansions() {
    for seed in 3000..3040 {
        let (outcome, _) = check(IDENTITY, seed);
        assert_eq!(outcome.retired.inserted, 0);
        assert_eq!(outcome.retired.handler, 0);
    }
}

#[test]
fn sequences_restart_in_the_middle_after_mispredictions_and_violations() {
    let (mut mispredicted, mut handlers) = (0, 0);
    for seed in 4000..4084 {
        let (outcome, stats) = check(RESTARTS, seed);
        mispredicted += stats.branch_mispredicted_events;
        handlers += outcome.retired.handler;
        assert!(outcome.retired.inserted > 1000, "seed {seed}");
    }
    assert!(
        mispredicted > 1000 && handlers > 10_000,
        "{mispredicted} {handlers}"
    );
}

#[test]
fn violations_restart_triggers_replacements_and_handlers() {
    // The store's address comes out of a division, so that the loads behind it, the one in its
    // own sequence and those of handlers among them, run too early.
    let program = Program::new(
        "la s0, data
        li s1, 150
        li s2, 1
        main:
        div a1, s1, s2
        andi a1, a1, 24
        add a1, a1, s0
        sd s1, 0(a1)
        lw a2, 4(s0)
        ld a3, 8(s0)
        add a4, a4, a3
        beqz a3, over
        add a5, a5, a2
        over:
        addi s1, s1, -1
        bnez s1, main
        ebreak",
        4096,
    );
    // The handler's own data lie where the program's are: its loads conflict with the store.
    let inside = RESTARTS.replace("ld     t2, 0(t1)", "ld     t2, 0(s0)\nld     t2, 0(t1)");
    assert_ne!(inside, RESTARTS);
    for (i, name) in crate::common::single_core_presets().into_iter().enumerate() {
        for policy in [
            MemDep::Aggressive,
            MemDep::StoreSets(StoreSetsConfig::default()),
        ] {
            let m = machine(name, |m| {
                m.speculation.memory_dependence = policy.clone();
                // A window for whole handlers, and a store so slow that they run in the meantime.
                m.window.rob_entries = 256;
                m.window.reservation_stations = 128;
                m.window.load_queue_entries = 64;
                m.window.store_queue_entries = 64;
                m.window.memory_queue_entries = 0;
                m.units.int_div.latency_cycles = 400;
                m.units.int_div.interval_cycles = 1;
            });
            for (text, least) in [(IDENTITY, 30), (RESTARTS, 30), (&inside, 60)] {
                let (_, stats) = check_program(
                    text,
                    &program,
                    &m,
                    &costs()[i % 4],
                    &format!("{name}, {policy:?}"),
                );
                let in_order = m.issue.scheduling != Scheduling::OutOfOrder;
                if in_order {
                    assert_eq!(stats.memory_violation_events, 0, "{name}");
                } else if policy == MemDep::Aggressive {
                    let found = stats.memory_violation_events;
                    assert!(found >= least, "{name}: {found} violations, {least} wanted");
                }
            }
        }
    }
}

#[test]
fn an_expansion_costs_its_stall() {
    // Loads alone, each of them replaced by itself: decode sends one of them on and stalls for the
    // next.
    for stall in [0, 1] {
        let m = machine("hps-4wide", |m| m.branch.predictor = Predictor::AlwaysTaken);
        let body = repeat(96, |i| format!("ld a{}, 0(s0)", i % 6));
        let program = Program::new(
            &format!(
                "la s0, data\nli s1, 4\n.align 64\nmain:\n{body}\naddi s1, s1, -1\nbnez s1, main\nebreak"
            ),
            64,
        );
        let mut process = program.process();
        let cost = if stall == 0 {
            ExpansionCost::Free
        } else {
            ExpansionCost::Stall
        };
        let dise = DiseConfig {
            expansion_cost: cost,
            ..DiseConfig::default()
        };
        let set = set("L: T.OPCLASS == load => { T.INSN }");
        let engine = install(&set, &dise, &mut process);
        let run = crate::common::Run::with_editor(&m, &program, process, engine);
        let loads = &run.last_iteration("main")[48..96];
        assert!(run.stats.dise_expansion_events >= 4 * 96);
        for i in 0..48 - 4 {
            // Without a stall two loads a cycle reach the cache, and decode keeps up with that.
            let distance = loads[i + 4].decode_cycle - loads[i].decode_cycle;
            assert_eq!(
                distance,
                if stall == 0 { 2 } else { 4 },
                "stall {stall}, load {i}"
            );
        }
    }
}

#[test]
fn the_pipeline_log_is_well_formed_and_shows_what_dise_did() {
    let set = set(RESTARTS);
    let program = random::program(
        5000,
        Mix {
            iterations: 2,
            ..Mix::default()
        },
    );
    let mut process = program.process();
    let engine = install(&set, &DiseConfig::default(), &mut process);
    let mut core = Chip::with(
        &machine_for(0),
        process,
        engine,
        StagesProbe::new(KanataLog::new(Isa::Riscv64, 0..u64::MAX, usize::MAX)),
    );
    core.run(LIMIT);
    core.drain_to_boundary();
    let mut log = Vec::new();
    core.probe()
        .probe::<KanataLog>()
        .write(&mut log, &|p| format!("P{p}"), &|_| None)
        .expect("a vector can be written to");
    let log = String::from_utf8(log).expect("the log is text");
    let rows = parse(&log);
    assert_eq!(rows.len(), core.probe().probe::<KanataLog>().len());
    let s = core.stats();
    let committed = s.commit_program_instructions
        + s.commit_inserted_instructions
        + s.commit_handler_instructions;
    assert_eq!(
        rows.iter().filter(|r| r.kind == Some(0)).count() as u64,
        committed
    );
    assert_eq!(
        rows.iter().filter(|r| r.kind == Some(1)).count() as u64,
        s.squash_instructions
    );
    let committed_rows = |mark: &str| {
        rows.iter()
            .filter(|r| r.kind == Some(0) && r.label.contains(mark))
            .count() as u64
    };
    assert_eq!(committed_rows("[handler]"), s.commit_handler_instructions);
    let inserted = rows
        .iter()
        .filter(|r| {
            r.kind == Some(0) && r.label.contains("[DISE P") && !r.label.contains(", trigger]")
        })
        .count() as u64;
    assert_eq!(inserted, s.commit_inserted_instructions);
    assert!(committed_rows(", trigger]") > 100);
}

/// A row of the log.
#[derive(Default)]
struct Row {
    label: String,
    /// The stage under way on lane 0, and how many there were.
    open: Option<String>,
    stages: Vec<String>,
    /// 0: retired, 1: flushed.
    kind: Option<u8>,
}

/// Reads a log and checks its structure.
fn parse(log: &str) -> Vec<Row> {
    let mut lines = log.lines();
    assert_eq!(lines.next(), Some("Kanata\t0004"));
    assert!(lines.next().is_some_and(|l| l.starts_with("C=\t")));
    let mut rows: Vec<Row> = Vec::new();
    let mut retired = 0;
    for line in lines {
        let f: Vec<&str> = line.split('\t').collect();
        if f[0] == "C" {
            assert!(
                f[1].parse::<u64>().is_ok_and(|n| n > 0),
                "{line}: time goes on"
            );
            continue;
        }
        let id: usize = f[1]
            .parse()
            .unwrap_or_else(|_| panic!("{line}: an instruction"));
        if f[0] == "I" {
            assert_eq!(id, rows.len(), "{line}: rows are introduced in order");
            rows.push(Row::default());
            continue;
        }
        let row = &mut rows[id];
        assert_eq!(
            row.kind, None,
            "{line}: nothing is said of a row that has ended"
        );
        match f[0] {
            "L" if f[2] == "0" => row.label = f[3].to_string(),
            "L" => {}
            "S" if f[2] == "0" => {
                assert_eq!(row.open, None, "{line}: one stage at a time");
                row.open = Some(f[3].to_string());
                row.stages.push(f[3].to_string());
            }
            "E" if f[2] == "0" => assert_eq!(row.open.take().as_deref(), Some(f[3]), "{line}"),
            "S" | "E" => {}
            // A dependency arrow: it comes from a row that has begun.
            "W" => {
                let producer: usize = f[2].parse().expect("a row");
                assert!(producer < id, "{line}: producers are older");
            }
            "R" => {
                let kind: u8 = f[3].parse().expect("a kind");
                if kind == 0 {
                    assert_eq!(f[2].parse(), Ok(retired), "{line}: retired in order");
                    retired += 1;
                    assert_eq!(row.stages.first().map(String::as_str), Some("F"), "{line}");
                }
                assert_eq!(row.open, None, "{line}: its last stage has ended");
                assert!(
                    "FDQXC".contains(&row.stages.concat()),
                    "{line}: {:?}",
                    row.stages
                );
                row.kind = Some(kind);
            }
            other => panic!("unknown record `{other}`"),
        }
    }
    assert!(rows.iter().all(|r| r.kind.is_some()), "every row ends");
    rows
}

/// Counts calls and back-edges, and never replaces anything that a program of the test does.
pub const COUNTS_ONLY: &str = "
    register from = dr0;
    init from = MAX - 50;
    counter 1 = from;
    P1: T.OPCLASS == proc_call                  && !overflow_1 => null, C1
    P2: T.OPCLASS == branch && T.Target <= T.PC && !overflow_1 => null, C1
    P3: T.OPCLASS == proc_call                  && overflow_1  => null, C2
    P4: T.OPCLASS == branch && T.Target <= T.PC && overflow_1  => null, C2
    C1: inc_1;
    C2: set_1(from), inc_3;
";

#[test]
fn counting_costs_no_cycle_on_any_machine() {
    let set = set(COUNTS_ONLY);
    for name in crate::common::single_core_presets() {
        let m = crate::common::preset(name);
        for seed in 6000..6004 {
            let program = random::program(seed, Mix::default());
            let mut plain = Chip::new(&m, program.process());
            let stop = plain.run(LIMIT);
            let mut process = program.process();
            let engine = install(&set, &DiseConfig::default(), &mut process);
            let mut counted = Chip::with(&m, process, engine, hps_isa::probe::NoProbe);
            let what = format!("{name}, seed {seed}");
            assert_eq!(counted.run(LIMIT), stop, "{what}");
            assert_eq!(counted.stats(), plain.stats(), "{what}");
            assert_eq!(counted.cpi(), plain.cpi(), "{what}");
            assert_eq!(counted.memory_stats(), plain.memory_stats(), "{what}");
        }
    }
}
