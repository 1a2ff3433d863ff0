//! Mappings, executable stacks and where programs may lie.

use super::build::{Isa, MODES, build, prints, prints_in_a_root, run_in_all_modes};
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

#[test]
fn pages_of_a_private_mapping_have_the_content_of_the_file_again() {
    prints_in_a_root("madvise_private_file.c", "0 42, 0 0\n");
}

#[test]
fn pages_behind_the_end_of_a_mapped_file_raise_sigbus() {
    for isa in Isa::BOTH {
        // Older Alphas store a byte by reading what lies around it.
        let flags: &[&str] = match isa {
            Isa::Riscv64 => &["-O2"],
            Isa::Alpha => &["-O2", "-mcpu=ev6"],
        };
        let program = build(isa, "behind_file.c", flags);
        let expected = include_str!("guest/behind_file.txt");
        let (before, children) = expected.split_once("child: ").expect("a child");
        let (_, after) = children.split_once("and back").expect("more");
        let alone = format!("{before}alone: SIGBUS 2\nand back{after}");
        // A child faults, too: the instruction-driven core has one process.
        let modes: [(&[&str], &[&str], &str); 4] = [
            (MODES[0], &[], expected),
            (MODES[1], &[], expected),
            (MODES[2], &["alone"], &alone),
            (&["--machine", "cmp-4"], &[], expected),
        ];
        for (mode, words, expected) in modes {
            let root = tempfile::tempdir().expect("a folder");
            let folder = root.path().display().to_string();
            let options = ["--root", &folder, "--writable", "--", &program];
            let run = Hps::new().run(&[&["run"], mode, &options, words].concat());
            let printed = String::from_utf8_lossy(&run.stdout).into_owned();
            assert_eq!(printed, expected, "{isa:?} {mode:?}: {}", run.stderr);
        }
    }
}

#[test]
fn calls_on_memory_refuse_what_linux_refuses() {
    prints_in_a_root("memory_errnos.c", include_str!("guest/memory_errnos.txt"));
}

#[test]
fn reservations_and_fixed_addresses_anywhere_in_the_address_space_work() {
    let expected = "4 GiB noreserve ok\n12 GiB none ok\n64 GiB none ok\nfixed 0x2000000000 ok\n\
                    hint 0xc000000000 ok\n";
    prints("mem_high.c", &["-O2"], &[], expected);
}

#[test]
fn a_program_that_is_linked_high_runs() {
    let program = build(
        Isa::Riscv64,
        "link_high.S",
        &["-nostdlib", "-Wl,-Ttext-segment=0x4000000000"],
    );
    run_in_all_modes(&[], &[&program], |mode, run| {
        assert_eq!(run.code, 3, "{mode}: {}", run.stderr);
    });
}

#[test]
fn a_heap_of_three_gigabytes_fits_into_the_limit_that_allows_it() {
    for isa in Isa::BOTH {
        let program = build(isa, "large_heap.c", &["-O2"]);
        run_in_all_modes(&["--memory-limit", "4096"], &[&program], |mode, run| {
            assert_eq!(
                run.expect_code(0),
                "3 GiB ok, blocks ok\n",
                "{isa:?} {mode}"
            );
        });
        run_in_all_modes(&[], &[&program], |mode, run| {
            assert_eq!(run.code, 1, "{isa:?} {mode}");
            assert!(
                run.stderr.contains("--memory-limit"),
                "{isa:?} {mode}: {}",
                run.stderr
            );
        });
    }
}

#[test]
fn a_shared_mapping_reaches_its_file() {
    let expected = "shared file ok, ro shared ok, anon shared ok\n";
    prints(
        "map_shared.c",
        &["-O2"],
        &["--root", ".", "--writable"],
        expected,
    );
}

/// Functionally alone: it writes hundreds of megabytes. (It counts in pages of RISC-V.)
#[test]
fn mappings_shrink_grow_and_move_and_a_stack_grows_deep() {
    let program = build(Isa::Riscv64, "mem_remap.c", &["-O2"]);
    let run = Hps::new().run(&["run", "--memory-limit", "4096", &program]);
    let text = run.expect_code(0);
    assert!(text.lines().count() > 8, "{text}");
    assert!(text.lines().all(|line| line.ends_with(" ok")), "{text}");
}
