//! Every program of the project prints the same and ends the same under QEMU, on the functional
//! machine and on the pipeline: what its expected file says.

mod guest;

use guest::{Outcome, find, machine, outcome, outcome_of_core, qemu, workload, write_executable};
use hps_pipeline::core::Core;
use hps_sim_core::machine::Machine;
use hps_workloads::Size;

/// One module with three tests for each program, so that they run side by side.
macro_rules! programs {
    ($($name:ident)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(mod $name {
            #[test]
            fn under_qemu() {
                super::under_qemu(stringify!($name));
            }
            #[test]
            fn on_the_functional_machine() {
                super::on_the_functional_machine(stringify!($name), super::Size::Small);
            }
            #[test]
            fn on_the_pipeline() {
                super::on_the_pipeline(stringify!($name));
            }
        })*
    };
}

programs! { bwt lz chess ray interp minicc netsimplex objstore parse place }

fn expected(name: &str, size: Size) -> Outcome {
    Outcome {
        code: 0,
        stdout: find(name).expected(size).as_bytes().to_vec(),
    }
}

fn under_qemu(name: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(name);
    write_executable(&file, find(name).image_riscv64);
    let run = qemu(&file, &find(name).args(Size::Small), folder.path(), b"");
    assert_eq!(run, expected(name, Size::Small));
}

fn on_the_functional_machine(name: &str, size: Size) {
    let mut machine = Machine::new(workload(name, size));
    let stop = machine.run_to_end();
    assert_eq!(outcome(stop, &machine.process), expected(name, size));
}

fn on_the_pipeline(name: &str) {
    let mut core = Core::new(&machine(), workload(name, Size::Small));
    assert_eq!(outcome_of_core(&mut core), expected(name, Size::Small));
    // Every commit slot of every cycle has exactly one owner.
    let width = u64::from(machine().window.commit_width);
    assert_eq!(core.cpi.total(), width * core.stats.cycles);
    let s = &core.stats;
    assert!(s.commit_program_instructions <= width * s.cycles);
    assert_eq!(
        (
            s.commit_inserted_instructions,
            s.commit_handler_instructions
        ),
        (0, 0)
    );
    // The functional machine retires the same number of instructions.
    let mut functional = Machine::new(workload(name, Size::Small));
    functional.run_to_end();
    assert_eq!(s.commit_program_instructions, functional.retired.program);
}

#[test]
fn no_program_is_forgotten() {
    let mut all: Vec<&str> = hps_workloads::all().iter().map(|w| w.name).collect();
    let mut tested = NAMES.to_vec();
    all.sort_unstable();
    tested.sort_unstable();
    assert_eq!(tested, all);
}

#[test]
fn a_large_integer_program() {
    on_the_functional_machine("netsimplex", Size::Large);
}

#[test]
fn a_large_floating_point_program() {
    on_the_functional_machine("ray", Size::Large);
}
