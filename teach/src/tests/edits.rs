//! Edits of registers and memory: other ways to the same state, and views that agree.

use hps_isa::asm::program;
use hps_isa::isa::Isa;
use hps_lab::debug::Edit as Change;
use hps_lab::{Lab, Program};
use hps_pipeline::config::MachineConfig;
use hps_system::image::ProgramImage;

use super::*;

/// Adds numbers of a table, prints nothing, and ends with the sum: 1 + 2 + ... + 40.
const SUM: &str = "
_start: la s0, table
        li s1, 40
        li a0, 0
loop:   ld t0, 0(s0)
        add a0, a0, t0
        sd a0, 320(s0)
        addi s0, s0, 8
        addi s1, s1, -1
        bnez s1, loop
        li a7, 93
        andi a0, a0, 255
        ecall
        .data
        .balign 8
table:
        .rept 40
        .dword 3
        .endr
sums:   .zero 320
";

fn register(name: &str, instructions: u64, value: u64) -> Edit {
    Edit {
        instructions,
        context: 0,
        place: name.to_owned(),
        bytes: value
            .to_le_bytes()
            .map(|byte| format!("{byte:02x}"))
            .concat(),
    }
}

fn memory(address: u64, instructions: u64, value: u64) -> Edit {
    Edit {
        place: hex(address),
        ..register("", instructions, value)
    }
}

fn with(edits: &[Edit], machine: &str) -> Setup {
    let mut setup = example(SUM, machine);
    setup.edits = edits.to_vec();
    setup
}

fn value_of(state: &StateView, name: &str) -> u64 {
    let found = state.registers.iter().find(|one| one.name == name);
    address_of(&found.expect("a register").value).expect("a number")
}

const MACHINES: [&str; 5] = [
    "hps-4wide",
    "ev5",
    "tiny-2wide",
    "five-stage",
    "single-cycle",
];

#[test]
fn an_edit_does_what_the_program_s_own_value_does() {
    for machine in MACHINES {
        let (_, plain) = started(with(&[], machine));
        assert_eq!(plain.said, "exit code 120", "{machine}");
        // The table's element 20 is read behind 4 + 20 * 6 instructions (`la` is two): 40 * 3 + 97.
        let changed = SUM
            .replace(".rept 40", ".rept 20")
            .replace("sums:", ".dword 100\n.rept 19\n.dword 3\n.endr\nsums:");
        let (_, own) = started(example(&changed, machine));
        assert_eq!(own.said, "exit code 217", "{machine}");
        let (_, edited) = started(with(&[memory(0x100_0000 + 160, 60, 100)], machine));
        assert_eq!(
            (&edited.said, edited.instructions),
            (&own.said, own.instructions),
            "{machine}"
        );
        // One round less: the counter is taken down by one.
        let (mut session, edited) = started(with(&[register("s1", 4 + 6 * 10, 29)], machine));
        assert_eq!(edited.said, "exit code 117", "{machine}");
        assert_eq!(edited.instructions, plain.instructions - 6, "{machine}");
        let cycle = edited.edited[0].expect("a cycle");
        let state = ask!(session, Request::State { cycle, context: 0 }, Answer::State);
        assert_eq!(
            (state.instructions, value_of(&state, "s1")),
            (64, 29),
            "{machine}"
        );
    }
}

#[test]
fn an_edit_to_the_value_that_is_there_changes_no_result() {
    for machine in MACHINES {
        let (mut session, plain) = started(with(&[], machine));
        let cycle = plain.cycles / 2;
        let state = ask!(session, Request::State { cycle, context: 0 }, Answer::State);
        let edits: Vec<Edit> = state.registers[1..32]
            .iter()
            .map(|one| register(&one.name, state.instructions, value_of(&state, &one.name)))
            .collect();
        let (_, edited) = started(with(&edits, machine));
        assert_eq!(
            (edited.said, edited.instructions),
            (plain.said, plain.instructions),
            "{machine}"
        );
        assert!(edited.cycles >= plain.cycles, "{machine}");
        assert_eq!(edited.edited.len(), 31);
        assert!(
            edited
                .edited
                .iter()
                .all(|at| *at == edited.edited[0] && at.is_some_and(|at| at <= cycle))
        );
    }
}

#[test]
fn the_debugger_s_machine_comes_to_the_same_cycles_and_registers() {
    let assembled = program::assemble(Isa::Riscv64, SUM).expect("a program");
    let image = ProgramImage::parse(&assembled.file, "assembly").expect("an image");
    let program = Program::of_image("assembly", std::sync::Arc::new(image));
    for machine in ["hps-4wide", "ev5", "five-stage"] {
        let edits = [
            register("a0", 50, 7),
            memory(0x100_0000 + 200, 100, 11),
            register("t3", 0, 5),
        ];
        let (mut session, edited) = started(with(&edits, machine));
        let config = MachineConfig::preset(machine).expect("a machine");
        let mut debugger = Lab::of(&program)
            .on_machine(&config)
            .debugged(|_| {})
            .expect("a debugger");
        let mut hart = debugger.hart();
        hart.r[usize::from(Isa::Riscv64.parse_register("t3").expect("a register"))] = 5;
        assert!(debugger.edit(Change::Registers(Box::new(hart))));
        debugger.go_to(50).expect("the way");
        let mut hart = debugger.hart();
        hart.r[10] = 7;
        assert!(debugger.edit(Change::Registers(Box::new(hart))));
        debugger.go_to(100).expect("the way");
        let tid = Some(debugger.process().thread.tid);
        let bytes = 11u64.to_le_bytes().to_vec();
        assert!(debugger.edit(Change::Memory {
            tid,
            addr: 0x100_0000 + 200,
            bytes
        }));
        for position in [100, 150, 240] {
            debugger.go_to(position).expect("the way");
            let request = Request::Find {
                cycle: 0,
                backwards: false,
                what: Wanted::Commit,
            };
            assert!(matches!(
                session.answer(request),
                Answer::Found { cycle: Some(_) }
            ));
            let recorded = session.recorded().expect("a run");
            let cycle = recorded.cycle_of_edit(position).expect("a cycle");
            let state = ask!(session, Request::State { cycle, context: 0 }, Answer::State);
            // Several instructions may commit in the cycle.
            debugger.go_to(state.instructions).expect("the way");
            let hart = debugger.hart();
            for one in &state.registers {
                let number = Isa::Riscv64.parse_register(&one.name).expect("a register");
                assert_eq!(
                    value_of(&state, &one.name),
                    hart.r[usize::from(number)],
                    "{machine}: {}",
                    one.name
                );
            }
        }
        let last = edited.instructions - 1;
        debugger.go_to(last).expect("the way");
        let at = session.recorded().expect("a run").cycle_of_edit(last);
        assert_eq!(at, debugger.cycles(), "{machine}");
    }
}

#[test]
fn all_views_of_an_edited_run_agree() {
    let edits = [
        memory(0x100_0000 + 160, 60, 100),
        register("s1", 64, 29),
        register("a0", 64, 1),
    ];
    for machine in ["hps-4wide", "ev5", "tiny-2wide"] {
        let (mut session, summary) = started(with(&edits, machine));
        let at = summary.edited[1].expect("a cycle");
        // Stores in flight hold the values that the functional run has written behind them, whichever way the second run
        // came to the cycle.
        let mut checked = 0;
        let near = at.saturating_sub(4)..at + 40;
        for cycle in near.clone().chain(near.rev()) {
            let view = ask!(session, Request::Cycle { cycle, context: 0 }, Answer::Cycle);
            let found = inside(&mut session, cycle, 0, None);
            let slots = view.rob.iter().filter(|slot| !slot.queue.is_empty());
            let wanted: Vec<u64> = slots.map(|slot| slot.row.index).collect();
            let rows: Vec<u64> = found.memory.iter().filter_map(|op| op.row).collect();
            assert_eq!(rows, wanted, "{machine}, cycle {cycle}");
            for op in found.memory.iter().filter(|op| op.is_store && !op.waits) {
                let row = op
                    .row
                    .and_then(|row| session.recorded().ok()?.rows.get(row as usize).cloned());
                let (Some(value), Some(address)) = (&op.value, &op.address) else {
                    continue;
                };
                let Some(row) = row.filter(|row| !row.squashed) else {
                    continue;
                };
                let request = Request::Memory {
                    cycle: row.end,
                    context: 0,
                    address: address.clone(),
                    bytes: 8,
                };
                let Answer::Memory { bytes, .. } = session.answer(request) else {
                    panic!("memory")
                };
                let bytes =
                    u64::from_str_radix(&bytes.iter().rev().cloned().collect::<String>(), 16);
                assert_eq!(
                    hex(bytes.expect("bytes")),
                    *value,
                    "{machine}, cycle {cycle}"
                );
                checked += 1;
            }
        }
        assert!(checked > 10, "{machine}: {checked}");
        // Profiles are of the edited run.
        let order = ProfileOrder {
            level: "instruction".to_owned(),
            profilers: Vec::new(),
            hps: None,
            top: 10,
        };
        let profiles = ask!(session, Request::Profiles { order }, Answer::Profiles);
        assert_eq!(profiles.cycles, summary.cycles, "{machine}");
    }
}

#[test]
fn edits_that_cannot_be_made_say_why() {
    let problem = |edit: Edit, machine: &str| {
        let setup = with(&[edit], machine);
        ask!(Session::new(), Request::Run { setup }, Answer::Problem).message
    };
    let one = "hps-4wide";
    let elsewhere = |context, edit| Edit { context, ..edit };
    let idle = elsewhere(3, register("a0", 5, 1));
    assert!(problem(idle, "cmp-4").contains("no thread is on the context behind instruction 5"));
    let idle = elsewhere(3, memory(0x100_0000, 5, 1));
    assert!(problem(idle, "cmp-4").contains("no thread is on the context behind instruction 5"));
    let absent = elsewhere(4, register("a0", 5, 1));
    assert!(problem(absent, "cmp-4").contains("a0: the machine has no context 4"));
    assert!(problem(memory(0x10, 5, 1), "cmp-4").contains("behind instruction 5 is not mapped"));
    assert!(problem(register("zero", 5, 1), one).contains("`zero` is no register"));
    assert!(problem(register("nobody", 5, 1), one).contains("`nobody` is no register"));
    assert!(problem(memory(0x10, 5, 1), one).contains("behind instruction 5 is not mapped"));
    let mut short = register("a0", 5, 1);
    short.bytes = "0102".to_owned();
    assert!(problem(short.clone(), one).contains("8 bytes"));
    short.bytes = "xy".to_owned();
    assert!(problem(short, one).contains("hexadecimal"));
    // An edit behind the end is not made.
    let (_, summary) = started(with(&[register("a0", 50_000, 1)], one));
    assert_eq!(
        (summary.edited, summary.said.as_str()),
        (vec![None], "exit code 120")
    );
}

/// Rows of a run.
fn rows_of(session: &mut Session, count: u64) -> Vec<Row> {
    let request = Request::Rows {
        first: 0,
        count,
        only_committed: true,
    };
    match session.answer(request) {
        Answer::Rows { rows } => rows,
        other => panic!("{other:?}"),
    }
}

/// The doubleword at the label of a thread's counter.
fn counter(session: &mut Session, cycle: u64, context: u64, label: &str) -> u64 {
    let request = Request::Memory {
        cycle,
        context,
        address: label.to_owned(),
        bytes: 8,
    };
    match session.answer(request) {
        Answer::Memory { bytes, .. } => {
            let digits: String = bytes.iter().rev().cloned().collect();
            u64::from_str_radix(&digits, 16).expect("bytes")
        }
        other => panic!("{other:?}"),
    }
}

/// Instructions of a context that have committed by a cycle, and begin so.
fn committed(rows: &[Row], cycle: u64, context: u64, text: &str) -> u64 {
    let of = |row: &&Row| row.context == context && row.end <= cycle && row.text.starts_with(text);
    rows.iter().filter(of).count() as u64
}

const COUNTERS: [&str; 2] = ["first_count", "second_count"];

/// Checks registers and memory of both threads in some cycles against the rows; gives a cycle in the middle in which the
/// thread of the second context begins a round, and its state there.
fn threads_agree(session: &mut Session, summary: &Summary, machine: &str) -> (u64, StateView) {
    let rows = rows_of(session, summary.rows);
    let middle = summary.cycles / 2;
    let cycles = (1..40).map(|at| at * summary.cycles / 40);
    let mut begins = None;
    for cycle in cycles.chain((middle..middle + 60).rev()) {
        for context in 0..2 {
            let state = ask!(session, Request::State { cycle, context }, Answer::State);
            let place = format!("{machine}, cycle {cycle}, context {context}");
            let next = rows
                .iter()
                .find(|row| row.context == context && row.end > cycle);
            let Some(next) = next else {
                assert!(
                    cycle > summary.cycles - 100 || !state.missing.is_empty(),
                    "{place}"
                );
                continue;
            };
            let times = committed(&rows, cycle, context, "addi t0, t0, -1");
            if state.missing.contains("No thread") || times == 0 {
                continue;
            }
            assert_eq!(state.pc, next.pc, "{place}");
            let stores = committed(&rows, cycle, context, "sd t1");
            let label = COUNTERS[context as usize];
            assert_eq!(counter(session, cycle, context, label), stores, "{place}");
            // The loop's end is behind: the first thread waits with another value in the register.
            if times < 400 {
                assert_eq!(value_of(&state, "t0"), 400 - times, "{place}");
            }
            if context == 1 && next.text.starts_with("ld t1") {
                begins = Some((cycle, state));
            }
        }
    }
    begins.expect("a round of the second thread")
}

#[test]
fn threads_have_registers_and_memory_of_their_own_contexts() {
    for machine in ["smt-2", "cmp-4"] {
        let (mut session, summary) = started(example(THREADS, machine));
        threads_agree(&mut session, &summary, machine);
    }
}

#[test]
fn an_edit_on_a_context_concerns_its_thread() {
    for machine in ["smt-2", "cmp-4"] {
        let (mut session, plain) = started(example(THREADS, machine));
        let (cycle, state) = threads_agree(&mut session, &plain, machine);
        let n = state.instructions;
        let on = |context: u64, edit: Edit| Edit { context, ..edit };
        let run = |edits: &[Edit]| {
            let mut setup = example(THREADS, machine);
            setup.edits = edits.to_vec();
            let (mut session, summary) = started(setup);
            assert_eq!(summary.said, "exit code 0", "{machine}");
            let rows = rows_of(&mut session, summary.rows);
            let end = summary.cycles;
            let stores = [0, 1].map(|context| committed(&rows, end, context, "sd t1"));
            let counts = COUNTERS.map(|label| counter(&mut session, end, 0, label));
            (session, summary, stores, counts)
        };
        // The values that are there change no result, whichever context they are of.
        for context in 0..2 {
            let state = ask!(session, Request::State { cycle, context }, Answer::State);
            let edits: Vec<Edit> = state.registers[1..32]
                .iter()
                .map(|one| on(context, register(&one.name, n, value_of(&state, &one.name))))
                .collect();
            let (_, summary, stores, counts) = run(&edits);
            assert_eq!((stores, counts), ([400; 2], [400; 2]), "{machine}");
            let at = summary.edited[0];
            assert!(at.is_some_and(|at| at <= cycle), "{machine}");
            assert_eq!(summary.edited, vec![at; 31], "{machine}");
        }
        // Ten rounds are left of the second thread.
        let left = value_of(&state, "t0");
        let (mut edited, summary, stores, counts) = run(&[on(1, register("t0", n, 10))]);
        let wanted = [400, 400 - left + 10];
        assert_eq!((stores, counts), (wanted, wanted), "{machine}");
        let at = summary.edited[0].expect("a cycle");
        let behind = Request::State {
            cycle: at,
            context: 1,
        };
        let behind = ask!(edited, behind, Answer::State);
        assert_eq!(value_of(&behind, "t0"), 10, "{machine}");
        assert!(behind.registers.iter().any(|one| one.changed), "{machine}");
        // Its counter begins again, changed by way of either thread.
        let address = address_of_label(&mut session, "second_count");
        for context in 0..2 {
            let (mut edited, summary, stores, counts) = run(&[on(context, memory(address, n, 7))]);
            assert_eq!(stores, [400; 2], "{machine}");
            assert_eq!(counts, [400, 7 + left], "{machine}");
            let at = summary.edited[0].expect("a cycle");
            assert_eq!(counter(&mut edited, at, 0, "second_count"), 7, "{machine}");
            assert!(
                counter(&mut edited, at - 1, 0, "second_count") > 7,
                "{machine}"
            );
        }
    }
}

fn address_of_label(session: &mut Session, label: &str) -> u64 {
    let request = Request::Memory {
        cycle: 1,
        context: 0,
        address: label.to_owned(),
        bytes: 1,
    };
    match session.answer(request) {
        Answer::Memory { address, .. } => address_of(&address).expect("a number"),
        other => panic!("{other:?}"),
    }
}
