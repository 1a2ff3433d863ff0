//! Every program of the project prints the same and ends the same under QEMU, on the functional
//! machine and on the pipeline: what its expected file says.

use crate::guest::{Outcome, find, image, lab, machine, outcome_of, qemu, write_executable};
use hps_system::image::Isa;
use hps_workloads::Size;

/// One module for each program and instruction set with three tests, so that they run side by side.
macro_rules! programs {
    ($($name:ident)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(mod $name {
            programs!(@isa riscv64 Riscv64 $name);
            programs!(@isa alpha Alpha $name);
        })*
    };
    (@isa $module:ident $isa:ident $name:ident) => {
        mod $module {
            use hps_system::image::Isa;
            #[test]
            fn under_qemu() {
                crate::programs::under_qemu(stringify!($name), Isa::$isa);
            }
            #[test]
            fn on_the_functional_machine() {
                crate::programs::on_the_functional_machine(stringify!($name), Isa::$isa, hps_workloads::Size::Small);
            }
            #[test]
            fn on_the_pipeline() {
                crate::programs::on_the_pipeline(stringify!($name), Isa::$isa);
            }
        }
    };
}

programs! { bwt lz chess ray interp minicc netsimplex objstore parse place }

fn expected(name: &str, size: Size) -> Outcome {
    Outcome {
        code: 0,
        stdout: find(name).expected(size).as_bytes().to_vec(),
    }
}

fn under_qemu(name: &str, isa: Isa) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(name);
    write_executable(&file, image(name, isa));
    let run = qemu(
        isa,
        &file,
        &find(name).args(Size::Small),
        folder.path(),
        b"",
    );
    assert_eq!(run, expected(name, Size::Small));
}

fn on_the_functional_machine(name: &str, isa: Isa, size: Size) {
    let ran = lab(name, isa, size).run().expect("a run");
    assert_eq!(outcome_of(&ran), expected(name, size));
}

fn on_the_pipeline(name: &str, isa: Isa) {
    let lab = lab(name, isa, Size::Small);
    let timed = lab.clone().on_machine(&machine()).run().expect("a run");
    assert_eq!(outcome_of(&timed), expected(name, Size::Small));
    // Every commit slot of every cycle has exactly one owner.
    let width = u64::from(machine().window.commit_width);
    assert_eq!(timed.timing.cpi.total(), width * timed.cycles());
    let s = &timed.timing.core;
    assert!(s.commit_program_instructions <= width * s.cycles);
    assert_eq!(
        (
            s.commit_inserted_instructions,
            s.commit_handler_instructions
        ),
        (0, 0)
    );
    // The functional machine retires the same number of instructions.
    let functional = lab.run().expect("a run");
    assert_eq!(s.commit_program_instructions, functional.instructions());
}

#[test]
fn no_program_is_forgotten() {
    let mut all: Vec<&str> = hps_workloads::all().iter().map(|w| w.name).collect();
    let mut tested = NAMES.to_vec();
    all.sort_unstable();
    tested.sort_unstable();
    assert_eq!(tested, all);
    assert_eq!(Isa::ALL.map(Isa::name), hps_workloads::ISAS);
}

#[test]
fn a_large_integer_program() {
    on_the_functional_machine("netsimplex", Isa::Riscv64, Size::Large);
}

#[test]
fn a_large_floating_point_program() {
    on_the_functional_machine("ray", Isa::Riscv64, Size::Large);
}

#[test]
fn a_large_program_on_alpha() {
    on_the_functional_machine("ray", Isa::Alpha, Size::Large);
}
