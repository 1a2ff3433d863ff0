use std::collections::BTreeMap;
use std::path::Path;

use crate::Session;
use crate::protocol::*;

fn assembly(text: &str) -> Setup {
    Setup {
        program: ProgramChoice::Assembly {
            isa: "riscv64".to_owned(),
            text: text.to_owned(),
            c: None,
        },
        arguments: Vec::new(),
        input: String::new(),
        machine: "hps-4wide".to_owned(),
        keys: BTreeMap::new(),
        productions: Vec::new(),
        params: BTreeMap::new(),
        limit: 100_000,
        edits: Vec::new(),
    }
}

fn started(setup: Setup) -> (Session, Summary) {
    let mut session = Session::new();
    match session.answer(Request::Run { setup }) {
        Answer::Run(summary) => (session, summary),
        other => panic!("{other:?}"),
    }
}

macro_rules! ask {
    ($session:expr, $request:expr, $answer:path) => {
        match $session.answer($request) {
            $answer(answer) => answer,
            other => panic!("{other:?}"),
        }
    };
}

mod c_programs;
mod coherence;
mod edits;
mod input;
mod lessons;
mod timeline;

/// A loop of 100 iterations with four instructions each.
const LOOP: &str = "
_start: li t0, 100
        la t1, cell
loop:   ld t2, 0(t1)
        add t3, t3, t2
        addi t0, t0, -1
        bnez t0, loop
        li a7, 93
        li a0, 3
        ecall
        .data
cell:   .dword 5
";

#[test]
fn typescript_has_the_same_types() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("web/src/types.ts");
    let wanted = typescript();
    if std::env::var_os("UPDATE_TYPES").is_some() {
        std::fs::write(&file, &wanted).expect("the file can be written");
    }
    let found = std::fs::read_to_string(&file).expect("the file is there");
    assert!(
        found == wanted,
        "run the tests of hps-teach with UPDATE_TYPES=1"
    );
}

#[test]
fn rows_and_cycles_tell_the_same_story() {
    let (mut session, summary) = started(assembly(LOOP));
    // 3 instructions in front of the loop, 4 in each round, 3 behind it.
    assert_eq!((summary.instructions, summary.end.as_str()), (406, "exit"));
    assert_eq!(summary.said, "exit code 3");
    let slots: u64 = summary.cpi_stack.iter().map(|s| s.slots).sum();
    assert_eq!(slots, summary.commit_width * summary.cycles);
    let request = Request::Rows {
        first: 0,
        count: summary.rows,
        only_committed: false,
    };
    let rows = match session.answer(request) {
        Answer::Rows { rows } => rows,
        other => panic!("{other:?}"),
    };
    assert_eq!(rows.iter().filter(|r| !r.squashed).count(), 406);
    for cycle in (0..summary.cycles).step_by(7) {
        let view = ask!(session, Request::Cycle { cycle, context: 0 }, Answer::Cycle);
        let in_rob = |r: &&Row| r.dispatch.is_some_and(|d| d <= cycle) && r.end > cycle;
        let expected: Vec<u64> = rows.iter().filter(in_rob).map(|r| r.index).collect();
        let mut found: Vec<u64> = view.rob.iter().map(|s| s.row.index).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "cycle {cycle}");
        assert!(view.rob.len() as u64 <= summary.sizes.rob);
        let until = rows.iter().filter(|r| !r.squashed && r.end <= cycle);
        assert_eq!(view.commits_so_far, until.count() as u64);
        assert_eq!(view.state == "computing", !view.committed.is_empty());
    }
}

#[test]
fn state_follows_the_commits_both_ways() {
    let (mut session, summary) = started(assembly(LOOP));
    let find = |session: &mut Session, cycle, backwards, what| {
        let request = Request::Find {
            cycle,
            backwards,
            what,
        };
        match session.answer(request) {
            Answer::Found { cycle } => cycle,
            other => panic!("{other:?}"),
        }
    };
    let last = find(&mut session, summary.cycles, true, Wanted::Instruction).expect("a commit");
    let register = |state: &StateView, name: &str| {
        let all = state.registers.iter();
        all.filter(|r| r.name == name)
            .map(|r| r.value.clone())
            .next()
            .expect("a register")
    };
    let state = ask!(
        session,
        Request::State {
            cycle: last,
            context: 0
        },
        Answer::State
    );
    // 100 times 5.
    assert_eq!(register(&state, "t3"), "0x1f4");
    let first = find(&mut session, 0, false, Wanted::Commit).expect("a commit");
    let state = ask!(
        session,
        Request::State {
            cycle: first,
            context: 0
        },
        Answer::State
    );
    assert_eq!(register(&state, "t3"), "0x0");
    assert_eq!(register(&state, "t0"), "0x64");
    // The branch back is taken 99 times.
    let loops = Wanted::Address {
        any_of: vec!["0x1000c".to_owned()],
    };
    let mut at = 0;
    let mut times = 0;
    while let Some(next) = find(&mut session, at, false, loops.clone()) {
        (at, times) = (next, times + 1);
    }
    assert!((50..=100).contains(&times), "{times} cycles");
    let request = Request::Memory {
        cycle: last,
        context: 0,
        address: "0x1000000".to_owned(),
        bytes: 2,
    };
    let expected = Answer::Memory {
        address: "0x1000000".to_owned(),
        bytes: vec!["05".to_owned(), "00".to_owned()],
    };
    assert_eq!(session.answer(request), expected);
}

#[test]
fn profiles_sum_to_the_run_and_tip_is_nearer_than_lci() {
    let mut setup = assembly("");
    setup.program = ProgramChoice::BuiltIn {
        name: "bwt".to_owned(),
        isa: "riscv64".to_owned(),
        size: "small".to_owned(),
    };
    let (mut session, summary) = started(setup);
    let profiler = |name: &str| ProfilerOrder {
        name: name.to_owned(),
        period: 101,
        seed: 1,
        random_percent: 0,
    };
    let order = ProfileOrder {
        level: "instruction".to_owned(),
        profilers: vec![profiler("lci"), profiler("tip")],
        hps: Some(HpsOrder {
            kind: "method".to_owned(),
            burst: 10,
            sparsity: 90,
            random_period: false,
        }),
        top: 1000,
    };
    let profiles = ask!(session, Request::Profiles { order }, Answer::Profiles);
    assert_eq!(profiles.cycles, summary.cycles);
    let shares: f64 = profiles.truth.iter().map(|m| m.share).sum();
    assert!(shares > 0.99 && shares < 1.0 + 1e-9, "{shares}");
    let [lci, tip] = &profiles.opinions[..] else {
        panic!("two profilers");
    };
    assert!(tip.error < lci.error, "{} {}", tip.error, lci.error);
    assert_eq!(tip.samples, summary.cycles / 101);
    assert_eq!(tip.marks[0].cycle, 101);
    let hps = profiles.hps.expect("it was asked for");
    assert!(hps.cycles >= summary.cycles && hps.overhead < 1.0);
    assert!(hps.accuracy > 0.5 && hps.sampled_events < hps.exact_events);
}

#[test]
fn productions_run_and_say_which_pattern_wins() {
    let mut setup = assembly(LOOP);
    let text = "register seen = dr2;\n\
        Load: T.OPCLASS == load => { addi seen, seen, 1 ; T.INSN }\n";
    setup.productions = vec![TextFile {
        name: "mine.dise".to_owned(),
        text: text.to_owned(),
    }];
    let (mut session, summary) = started(setup.clone());
    assert_eq!((summary.instructions, summary.inserted), (406, 100));
    let request = Request::Find {
        cycle: 0,
        backwards: false,
        what: Wanted::Inserted,
    };
    assert!(matches!(
        session.answer(request),
        Answer::Found { cycle: Some(_) }
    ));
    // Inserted instructions have rows of their own, in the truth and in profiles.
    let order = ProfileOrder {
        level: "instruction".to_owned(),
        profilers: vec![ProfilerOrder {
            name: "tip".to_owned(),
            period: 1,
            seed: 1,
            random_percent: 0,
        }],
        hps: None,
        top: 100,
    };
    let profiles = ask!(session, Request::Profiles { order }, Answer::Profiles);
    assert!(profiles.truth.iter().any(|m| m.name.contains("[Load 0]")));
    assert!(
        profiles.opinions[0].error < 0.01,
        "{:?}",
        profiles.opinions[0]
    );
    let cycle = summary.cycles;
    let state = ask!(session, Request::State { cycle, context: 0 }, Answer::State);
    assert_eq!(state.dise_registers[2].name, "dr2 seen");
    assert_eq!(state.dise_registers[2].value, "0x64");
    setup.productions[0].text = "Load: T.OPCLASS == lode => null\n".to_owned();
    let problem = ask!(session, Request::Run { setup }, Answer::Problem);
    assert_eq!(problem.place.as_deref(), Some("mine.dise"));
    assert_eq!(problem.line, Some(1));
    // The run before the failed one is gone.
    let problem = ask!(
        session,
        Request::Cycle {
            cycle: 0,
            context: 0
        },
        Answer::Problem
    );
    assert!(problem.message.contains("nothing has run"));
}

#[test]
fn loops_are_limited_by_what_they_are_made_for() {
    let of = |body: &str| {
        let text = format!(
            "_start: li t0, 400\nloop:\n{body}\naddi t0, t0, -1\nbnez t0, loop\nli a7, 93\necall\n"
        );
        let (mut session, _) = started(assembly(&text));
        ask!(session, Request::Analyze, Answer::Analysis)
    };
    // Three multiplications of three cycles each, one behind the other: nine cycles.
    let chain = of("mul t1, t1, t2\nmul t1, t1, t2\nmul t1, t1, t2");
    assert_eq!(chain.limited_by, ["chain of results"]);
    assert!((chain.cycles - 9.0).abs() < 0.1, "{}", chain.cycles);
    let on_chain: Vec<bool> = chain.lines.iter().map(|l| l.on_chain).collect();
    assert_eq!(on_chain, [true, true, true, false, false]);
    // Five independent ones share one multiplier: five cycles.
    let units =
        of("mul t1, t2, t2\nmul t3, t2, t2\nmul t4, t2, t2\nmul t5, t2, t2\nmul t6, t2, t2");
    assert_eq!(units.limited_by, ["units int_mul_div"]);
    assert!((units.cycles - 5.0).abs() < 0.1, "{}", units.cycles);
    // A value goes through memory: one cycle from the store to the load, one for the addition.
    let memory = of("sd t1, 0(sp)\nld t1, 0(sp)\naddi t1, t1, 1");
    assert!((memory.cycles - 2.0).abs() < 0.1, "{}", memory.cycles);
    let chain = &memory.bounds[0];
    assert!(chain.name.starts_with("chain of results") && (chain.cycles - 2.0).abs() < 0.1);
    // Eight instructions behind one at the beginning of a block of eight: the loop lies in two blocks. The first
    // holds seven of them, in two groups of four at most, and the second one.
    let groups = of(&"add t1, t2, t2\n".repeat(6));
    assert_eq!(groups.limited_by, ["fetch groups"]);
    assert!((groups.cycles - 3.0).abs() < 0.1, "{}", groups.cycles);
}

#[test]
fn wrong_questions_are_answered_by_problems() {
    let mut session = Session::new();
    for (question, says) in [
        ("{}", "no question"),
        (
            r#"{"ask":"rows","first":0,"count":5,"only_committed":false}"#,
            "nothing has run",
        ),
        (r#"{"ask":"analyze"}"#, "nothing has run"),
    ] {
        let answer = session.answer_text(question);
        assert!(
            answer.contains("problem") && answer.contains(says),
            "{answer}"
        );
    }
    let problem = |setup: Setup| match Session::new().answer(Request::Run { setup }) {
        Answer::Problem(problem) => problem,
        other => panic!("{other:?}"),
    };
    let wrong = problem(assembly("nop\nbogus a0"));
    assert_eq!(
        (wrong.place.as_deref(), wrong.line),
        (Some("assembly"), Some(2))
    );
    let mut setup = assembly(LOOP);
    setup.keys.insert("window.rob_entries".into(), "0".into());
    assert!(problem(setup.clone()).message.contains("rob_entries"));
    setup.program = ProgramChoice::File {
        name: "damaged".into(),
        hex: "7f454c46".into(),
    };
    assert!(problem(setup).message.contains("damaged"));
}

/// A program of the page.
fn example(text: &str, machine: &str) -> Setup {
    let mut setup = assembly(text);
    setup.machine = machine.to_owned();
    setup
}

const WALK: &str = include_str!("../web/examples/3-walk.s");
const BRANCHES: &str = include_str!("../web/examples/2-branches.s");
const THREADS: &str = include_str!("../web/examples/4-two-threads.s");

fn inside(session: &mut Session, cycle: u64, context: u64, row: Option<u64>) -> InsideView {
    let tables = ["l1d", "l1d_misses", "btb"].map(str::to_owned).to_vec();
    let request = Request::Inside {
        cycle,
        context,
        tables,
        row,
    };
    ask!(session, request, Answer::Inside)
}

#[test]
fn queues_and_tables_agree_with_the_record_in_any_cycle() {
    for machine in ["hps-4wide", "ev5", "tiny-2wide"] {
        let (mut session, summary) = started(example(WALK, machine));
        let mut steps: Vec<u64> = (0..40)
            .map(|at| 1 + at * (summary.cycles - 1) / 39)
            .collect();
        // On, back, and back by single cycles.
        steps.extend((0..40).rev().map(|at| 1 + at * (summary.cycles - 1) / 39));
        steps.extend((2000..2040).rev());
        let mut seen = BTreeMap::new();
        let mut coming = 0;
        for cycle in steps {
            let view = ask!(session, Request::Cycle { cycle, context: 0 }, Answer::Cycle);
            let found = inside(&mut session, cycle, 0, None);
            let slots = view.rob.iter().filter(|slot| !slot.queue.is_empty());
            let wanted: Vec<u64> = slots.map(|slot| slot.row.index).collect();
            let rows: Vec<u64> = found.memory.iter().filter_map(|op| op.row).collect();
            // The last cycle of a run ends behind its last instruction, and the machine's behind the cycle.
            if cycle < summary.cycles {
                assert_eq!(rows, wanted, "{machine}, cycle {cycle}");
            }
            for op in &found.memory {
                let slot = view.rob.iter().find(|slot| Some(slot.row.index) == op.row);
                // A load or store that commits says the same address there.
                if let (Some(address), Some(slot)) = (&op.address, slot)
                    && let Some(known) = &slot.row.address
                {
                    assert_eq!(address, known, "{machine}, cycle {cycle}");
                }
            }
            for table in &found.tables {
                if let Some(letters) = &table.letters {
                    assert_eq!(letters.len() as u64, table.sets * table.ways);
                }
            }
            let table = |name: &str| found.tables.iter().find(|one| one.name == name);
            let moving = table("l1d").and_then(|one| one.letters.as_ref());
            let moving = moving.map_or(0, |letters| letters.matches('m').count()) as u64;
            assert_eq!(Some(moving), table("l1d_misses").map(|one| one.taken));
            coming += moving;
            // The content of a cycle does not depend on the way to it.
            let before = seen.insert(cycle, found.clone());
            assert!(before.is_none_or(|before| before == found), "cycle {cycle}");
        }
        assert!(coming > 10, "{machine}: {coming}");
    }
}

#[test]
fn an_instruction_leads_to_its_sets_and_their_entries() {
    let (mut session, summary) = started(example(WALK, "hps-4wide"));
    let rows = match session.answer(Request::Rows {
        first: 0,
        count: summary.rows,
        only_committed: false,
    }) {
        Answer::Rows { rows } => rows,
        other => panic!("{other:?}"),
    };
    let store = rows.iter().filter(|row| row.text.starts_with("sd"));
    let store = store.filter(|row| !row.squashed).nth(40).expect("a store");
    let cycle = store.end + 1000;
    let found = inside(&mut session, cycle, 0, Some(store.index));
    let l1d = found.tables.iter().find(|one| one.name == "l1d");
    let l1d = l1d.expect("a table");
    let address = address_of(store.address.as_ref().expect("an address")).expect("a number");
    let line = address / l1d.bytes;
    assert_eq!(l1d.set, Some(line % l1d.sets));
    let request = Request::Entries {
        cycle,
        context: 0,
        table: "l1d".to_owned(),
        set: line % l1d.sets,
    };
    let entries = match session.answer(request) {
        Answer::Entries { entries } => entries,
        other => panic!("{other:?}"),
    };
    assert_eq!(entries.len() as u64, l1d.ways);
    let own = entries.iter().find(|one| one.key == hex(line * l1d.bytes));
    assert_eq!(own.expect("its line").letter, "d");
    let request = Request::Entries {
        cycle,
        context: 0,
        table: "l1d".to_owned(),
        set: l1d.sets,
    };
    assert!(matches!(session.answer(request), Answer::Problem(_)));
}

#[test]
fn contexts_have_rows_blocks_and_tables_of_their_own() {
    for (machine, contexts) in [("smt-2", 2), ("cmp-4", 4)] {
        let (mut session, summary) = started(example(THREADS, machine));
        assert_eq!(
            (summary.end.as_str(), summary.contexts.len()),
            ("exit", contexts)
        );
        let rows = match session.answer(Request::Rows {
            first: 0,
            count: summary.rows,
            only_committed: false,
        }) {
            Answer::Rows { rows } => rows,
            other => panic!("{other:?}"),
        };
        let of = |context: u64| rows.iter().filter(move |row| row.context == context);
        for context in 0..2 {
            // Each thread goes round 400 times.
            let stores = of(context).filter(|row| !row.squashed && row.text.starts_with("sd"));
            assert_eq!(stores.count(), 400, "{machine}");
        }
        let cycle = summary.cycles / 2;
        for context in 0..2 {
            let view = ask!(session, Request::Cycle { cycle, context }, Answer::Cycle);
            assert!(view.rob.iter().all(|slot| slot.row.context == context));
            let wanted: Vec<u64> = view
                .rob
                .iter()
                .filter(|slot| !slot.queue.is_empty())
                .map(|slot| slot.row.index)
                .collect();
            let found = inside(&mut session, cycle, context, None);
            let rows: Vec<u64> = found.memory.iter().filter_map(|op| op.row).collect();
            assert_eq!(rows, wanted, "{machine}, context {context}");
        }
        let order = ProfileOrder {
            level: "function".to_owned(),
            profilers: vec![ProfilerOrder {
                name: "tip".to_owned(),
                period: 10,
                seed: 1,
                random_percent: 0,
            }],
            hps: None,
            top: 10,
        };
        let profiles = ask!(session, Request::Profiles { order }, Answer::Profiles);
        assert!(profiles.opinions.is_empty() && !profiles.truth.is_empty());
        assert!(profiles.missing.contains("one context"));
    }
}

#[test]
fn a_served_session_takes_more() {
    let mut setup = assembly(LOOP);
    setup.limit = Limits::PAGE.instructions + 1;
    let problem = ask!(
        Session::new(),
        Request::Run {
            setup: setup.clone()
        },
        Answer::Problem
    );
    assert!(problem.message.contains("--serve"), "{}", problem.message);
    let run = ask!(
        Session::serving(None, crate::c::compile),
        Request::Run {
            setup: setup.clone()
        },
        Answer::Run
    );
    assert_eq!(run.instructions, 406);
    setup.limit = Limits::PAGE.instructions;
    setup.program = ProgramChoice::Served {
        name: "large".into(),
        isa: "riscv64".into(),
    };
    let problem = ask!(Session::new(), Request::Run { setup }, Answer::Problem);
    assert!(problem.message.contains("hps teach --serve large"));
}

#[test]
fn lines_of_the_project_s_programs_have_their_sources() {
    for workload in hps_workloads::all() {
        for isa in ["riscv64", "alpha"] {
            let mut setup = assembly("");
            setup.program = ProgramChoice::BuiltIn {
                name: workload.name.to_owned(),
                isa: isa.to_owned(),
                size: "small".to_owned(),
            };
            setup.limit = 3000;
            let (mut session, summary) = started(setup);
            let state = ask!(
                session,
                Request::State {
                    cycle: summary.cycles,
                    context: 0
                },
                Answer::State
            );
            let line = state.next[0].source.clone().expect("a line");
            let (file, number) = line.rsplit_once(':').expect("a file and a number");
            let request = Request::Source {
                file: file.to_owned(),
            };
            let Answer::Source { text: Some(text) } = session.answer(request) else {
                panic!("{file} is unknown");
            };
            assert!(text.lines().count() >= number.parse().expect("a number"));
        }
    }
}

#[test]
fn labels_of_assembly_text_name_addresses() {
    let (mut session, summary) = started(assembly(LOOP));
    let request = Request::Memory {
        cycle: summary.cycles,
        context: 0,
        address: "cell".to_owned(),
        bytes: 2,
    };
    let bytes = ["05", "00"].map(str::to_owned).to_vec();
    let address = "0x1000000".to_owned();
    assert_eq!(session.answer(request), Answer::Memory { address, bytes });
    let request = Request::Entries {
        cycle: summary.cycles,
        context: 0,
        table: "l1d".to_owned(),
        set: 0,
    };
    let Answer::Entries { entries } = session.answer(request) else {
        panic!("entries");
    };
    assert_eq!(
        (entries[0].key.as_str(), entries[0].place.as_str()),
        ("0x1000000", "cell")
    );
}
