//! The timed cores: code that changes, limits, attribution.

use super::build::{Isa, build, prints};
use super::support::Hps;

/// Presets, and whether they have an instruction-driven core.
const PRESETS: [(&str, bool); 7] = [
    ("hps-4wide", true),
    ("simplescalar-4wide", true),
    ("tiny-2wide", true),
    ("wide-8", true),
    ("ev5", false),
    ("alphastation-500", false),
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

/// `total_slots`, commit width and cycles of a run that ends behind `limit` instructions.
fn slots_at_limit(program: &str, mode: &[&str], limit: u64) -> (u64, u64, u64) {
    let hps = Hps::new();
    let (path, limit) = (hps.path("statistics.json"), limit.to_string());
    let order = [
        "--max-instructions",
        &limit,
        &format!("--json={path}"),
        "--by-function",
    ];
    let run = hps.run(&[&["run"], mode, &order, &["--", program]].concat());
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{e}: {}", run.stderr));
    let all: serde_json::Value = serde_json::from_str(&text).expect("statistics are JSON");
    assert_eq!(all["instructions"], limit.parse::<u64>().unwrap());
    let number = |value: &serde_json::Value| value.as_u64().expect("a number");
    let stack = &all["cpi_stack"];
    let slots = number(&stack["total_slots"]);
    let functions = all["by_function"].as_array().expect("stacks by function");
    let by_function = functions.iter().map(|f| number(&f["stack"]["total_slots"]));
    assert_eq!(by_function.sum::<u64>(), slots, "{mode:?}");
    (
        slots,
        number(&stack["commit_width"]),
        number(&all["cycles"]),
    )
}

#[test]
fn slots_are_width_times_cycles_at_every_limit() {
    for isa in Isa::BOTH {
        let program = build(isa, "limit_mid_cycle.c", &["-O1"]);
        for (machine, has_driven) in PRESETS {
            for core in ["cycle", "instruction"]
                .into_iter()
                .take(1 + usize::from(has_driven))
            {
                let mode = ["--machine", machine, "--core", core];
                for limit in 2000..2006 {
                    let (slots, width, cycles) = slots_at_limit(&program, &mode, limit);
                    assert_eq!(
                        slots,
                        width * cycles,
                        "{isa:?} {mode:?}, {limit} instructions"
                    );
                }
            }
        }
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
