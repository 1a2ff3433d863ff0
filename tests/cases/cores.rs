//! The timed cores: code that changes, limits, attribution.

use super::build::{Isa, build, prints};
use super::support::Hps;

/// Presets, and whether they have an instruction-driven core.
const PRESETS: [(&str, bool); 6] = [
    ("hps-4wide", true),
    ("simplescalar-4wide", true),
    ("tiny-2wide", true),
    ("wide-8", true),
    ("ev5", false),
    ("ev6", true),
];

/// Runs a program functionally, and on every preset's cores: exactly this output and exit code.
#[track_caller]
fn ends_on_every_core(program: &str, expected: &str, code: i32) {
    let mut modes = vec![Vec::new()];
    for (machine, has_driven) in PRESETS {
        modes.push(vec!["--machine", machine, "--core", "cycle"]);
        if has_driven {
            modes.push(vec!["--machine", machine, "--core", "instruction"]);
        }
    }
    for mode in modes {
        let run = Hps::new().run(&[&["run"], &mode[..], &["--", program]].concat());
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        assert_eq!(text, expected, "{mode:?}: {}", run.stderr);
        assert_eq!(run.code, code, "{mode:?}: {}", run.stderr);
    }
}

#[test]
fn ten_equal_functions_run_to_their_end() {
    prints("prof_alias.c", &["-O2"], &[], "done\n");
}

#[test]
fn a_length_that_changes_behind_a_fence_is_fetched_again() {
    let flags = ["-march=rv64gc", "-nostdlib", "-Wl,-Ttext-segment=0x10000"];
    let program = build(Isa::Riscv64, "smc_length.S", &flags);
    ends_on_every_core(&program, "", 5);
}

#[test]
fn a_jit_that_changes_lengths_runs_on_every_core() {
    let program = build(Isa::Riscv64, "jit_lengths.c", &["-O1"]);
    ends_on_every_core(&program, "2993\n", 0);
}

#[test]
fn random_code_that_changes_itself_runs_on_every_core() {
    for isa in Isa::BOTH {
        let program = build(isa, "smc_random.c", &["-O1"]);
        ends_on_every_core(&program, "600 rounds agree\n", 0);
    }
}
