//! Mappings, executable stacks and where programs may lie.

use super::build::{Isa, MODES, build, prints, run_in_all_modes};
use super::support::Hps;

const FREESTANDING: [&str; 1] = ["-nostdlib"];

#[test]
fn a_stack_is_executable_where_the_program_asks_for_it() {
    prints("exec_stack_trampoline.c", &[], &[], "");
}

#[test]
fn a_fetch_across_pages_faults_at_the_page_that_cannot_be_executed() {
    let program = build(Isa::Riscv64, "fetch_crosses.c", &[]);
    run_in_all_modes(&[], &[&program], |mode, run| {
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        assert_eq!(text, "second page 1, code 2\n", "{mode}: {}", run.stderr);
    });
}

#[test]
fn a_fault_below_zero_names_all_64_bits_of_its_address() {
    let program = build(Isa::Riscv64, "jump_below_zero.S", &FREESTANDING);
    run_in_all_modes(&[], &[&program], |mode, run| {
        assert_eq!(run.code, 139, "{mode}: {}", run.stderr);
        assert!(
            run.stderr.contains("at pc 0xffffffffff"),
            "{mode}: {}",
            run.stderr
        );
    });
}

#[test]
fn a_program_that_the_linker_relaxed_wrongly_is_told_so() {
    let program = build(Isa::Alpha, "ctype_init.S", &FREESTANDING);
    run_in_all_modes(&[], &[&program], |mode, run| {
        assert!(
            run.stderr.contains("\n  the linker has relaxed")
                && run.stderr.contains("-Wl,--no-relax"),
            "{mode}: {}",
            run.stderr
        );
    });
}

/// What the program prints in each mode, with a root that it may write to.
fn prints_in_a_root(source: &str, expected: &str) {
    for isa in Isa::BOTH {
        let program = build(isa, source, &["-O2"]);
        for mode in MODES {
            let root = tempfile::tempdir().expect("a folder");
            let folder = root.path().display().to_string();
            let options = ["--root", &folder, "--writable", "--", &program];
            let run = Hps::new().run(&[&["run"], mode, &options].concat());
            let printed = String::from_utf8_lossy(&run.stdout).into_owned();
            assert_eq!(printed, expected, "{isa:?} {mode:?}: {}", run.stderr);
        }
    }
}

#[test]
fn pages_of_a_private_mapping_have_the_content_of_the_file_again() {
    prints_in_a_root("madvise_private_file.c", "0 42, 0 0\n");
}

#[test]
fn calls_on_memory_refuse_what_linux_refuses() {
    prints_in_a_root("memory_errnos.c", include_str!("guest/memory_errnos.txt"));
}
