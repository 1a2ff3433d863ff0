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
        let state = ask!(session, Request::State { cycle }, Answer::State);
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
        let state = ask!(session, Request::State { cycle }, Answer::State);
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
            let state = ask!(session, Request::State { cycle }, Answer::State);
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
    assert!(problem(register("a0", 5, 1), "cmp-4").contains("machines with one context"));
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
