//! Branches, paths and values that productions count all the time: what guest memory holds is what a second implementation
//! sees in the program alone, on the functional machine and on both cores.

use std::collections::BTreeMap;

use hps_isa::inst::{Inst, OpClass};
use hps_isa::probe::Probe;
use hps_lab::{CoreKind, Isa, Lab, Productions, Program, TimedMachine};
use hps_productions::{counted_pairs, counted_values};
use hps_shadow::values::{TableShape, ValueProfiler};
use hps_sim_core::machine::Machine;
use hps_system::process::Process;
use hps_workloads::Size;

/// Instructions of a run, about.
const ABOUT: u64 = 150_000;

/// The truth, from a run of the program alone.
#[derive(Default)]
struct Seen {
    /// Outcomes of conditional branches, but for the last one.
    branches: BTreeMap<(u64, u64), u64>,
    last: Option<(u64, u64)>,
    /// Paths that have ended, by where they begin and by their hash.
    paths: BTreeMap<(u64, u64), u64>,
    path: (u64, u64),
    values: ValueProfiler,
    computed: u64,
}

impl Seen {
    /// The beginning of a run, and its instructions. The last one computes no value: what is counted behind it would come
    /// too late.
    fn of(program: &Program) -> (Seen, u64) {
        let mut seen = Seen {
            path: (1, 0),
            values: ValueProfiler::new(TableShape::default()),
            ..Seen::default()
        };
        let mut machine = Machine::new(program.start().expect("a process"));
        machine.run(&mut seen, ABOUT);
        loop {
            let before = seen.computed;
            machine.run(&mut seen, 1);
            if seen.computed == before {
                return (seen, machine.retired.program);
            }
        }
    }

    fn end_path(&mut self, pc: u64, hash: u64) {
        *self.paths.entry(self.path).or_default() += 1;
        self.path = (pc, hash);
    }
}

impl Probe for Seen {
    const WANTS_CONTROL: bool = true;
    const WANTS_VALUES: bool = true;

    fn value(&mut self, pc: u64, inst: &Inst, value: u64) {
        use OpClass as C;
        let is_counted = matches!(
            inst.class,
            C::IntAlu
                | C::IntMul
                | C::IntDiv
                | C::Load
                | C::FpAdd
                | C::FpMul
                | C::FpFma
                | C::FpDiv
                | C::FpSqrt
                | C::FpCvt
        );
        if is_counted {
            self.values.add(pc, value);
            self.computed += 1;
        }
    }

    fn control(&mut self, pc: u64, inst: &Inst, target: u64, taken: bool) {
        let is_backward = match inst.class {
            // The target of a branch is in the instruction, whether the branch is taken or not.
            OpClass::Branch => inst.direct_target(pc) <= pc,
            _ => target <= pc,
        };
        let mut go_on = |by: u64| self.path.1 = self.path.1.wrapping_mul(33).wrapping_add(by);
        match inst.class {
            OpClass::Branch if is_backward => self.end_path(pc, u64::from(taken)),
            OpClass::Jump if is_backward => self.end_path(pc, 0),
            OpClass::Branch => go_on(u64::from(taken)),
            OpClass::JumpIndirect | OpClass::CallIndirect | OpClass::Return => go_on(target),
            _ => {}
        }
        if inst.class == OpClass::Branch
            && let Some(last) = self.last.replace((pc, u64::from(taken)))
        {
            *self.branches.entry(last).or_default() += 1;
        }
    }
}

/// Runs a program under a production file: functionally, and on both cores. Gives the processes as they ended.
fn run(program: &Program, file: &str, limit: u64) -> (Productions, Vec<Process>) {
    let isa = program.image.isa;
    let load = || Productions::load(isa, &[file.to_string()], Default::default()).expect("a file");
    let functional = Lab::of(program)
        .edited_by(&load())
        .limit(limit)
        .run()
        .expect("a run");
    let mut ended = vec![functional.process];
    for core in [CoreKind::Instruction, CoreKind::Cycle] {
        let machine = TimedMachine::load("hps-4wide", core).expect("a machine");
        let productions = load().on(&machine.config).expect("room");
        let lab = Lab::of(program).timed_by(&machine).edited_by(&productions);
        ended.push(lab.limit(limit).run().expect("a run").process);
    }
    (load(), ended)
}

fn programs() -> Vec<Program> {
    let of = |isa, name| {
        let workload = hps_workloads::find(name).expect("comes with the project");
        Program::workload(workload, isa, Size::Small).expect("an image")
    };
    let all = Isa::ALL.into_iter();
    all.flat_map(|isa| ["objstore", "ray"].map(|name| of(isa, name)))
        .collect()
}

#[test]
fn branches_and_paths_are_counted_as_they_are_run() {
    for program in programs() {
        let (seen, limit) = Seen::of(&program);
        assert!(
            seen.branches.len() > 10 && seen.paths.len() > 10,
            "{}",
            program.name
        );
        for (file, expected) in [("branches", &seen.branches), ("paths", &seen.paths)] {
            let (productions, ended) = run(&program, file, limit);
            for process in ended {
                let (found, lost) = counted_pairs(&productions.set, &process).expect("a table");
                assert_eq!(lost, 0);
                assert_eq!(
                    &found, expected,
                    "{file} of {} ({})",
                    program.name, program.image.isa
                );
            }
        }
    }
}

#[test]
fn values_are_counted_as_they_are_computed() {
    let mut flushed = 0;
    for program in programs() {
        let (seen, limit) = Seen::of(&program);
        let (productions, ended) = run(&program, "values", limit);
        for process in ended {
            let (found, lost) = counted_values(&productions.set, &process).expect("a table");
            assert_eq!(lost, 0);
            assert_eq!(found.len(), seen.values.tables().len(), "{}", program.name);
            for one in found {
                let table = seen.values.table(one.pc).expect("the instruction");
                assert_eq!(one.executions, table.executions);
                let sorted = |values: &[(u64, u64)]| {
                    let mut values = values.to_vec();
                    values.sort_unstable();
                    values
                };
                // A flush may throw away either of two equally frequent values.
                if one.executions < 2000 {
                    assert_eq!(sorted(&one.values), sorted(&table.values), "{:#x}", one.pc);
                } else {
                    flushed += 1;
                    assert_eq!(
                        one.values[0].1,
                        table.top().map_or(0, |top| top.1),
                        "{:#x}",
                        one.pc
                    );
                }
            }
        }
    }
    assert!(flushed > 0);
}

#[test]
fn a_table_without_room_says_how_much_it_lost() {
    let program = &programs()[0];
    let (seen, limit) = Seen::of(program);
    let params = [("value_rows".to_string(), 1)].into_iter().collect();
    let productions = Productions::load(program.image.isa, &["values".to_string()], params);
    let productions = productions.expect("a file");
    let ran = Lab::of(program)
        .edited_by(&productions)
        .limit(limit)
        .run()
        .expect("a run");
    let (found, lost) = counted_values(&productions.set, &ran.process).expect("a table");
    assert_eq!(found.len(), 7);
    assert_eq!(
        found.iter().map(|one| one.executions).sum::<u64>() + lost,
        seen.computed
    );
}
