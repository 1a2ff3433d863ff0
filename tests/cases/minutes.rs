//! The command as a new user meets it.

use std::process::Command;

use super::build::{Isa, build, run_in_all_modes};
use super::support::Hps;

/// The names below `Commands:`, or below the first group of commands, in a help text.
fn subcommands(help: &str) -> Vec<String> {
    let is_head = |line: &str| line == "Commands:" || line == "Run and look:";
    let lines = help.lines().skip_while(|line| !is_head(line)).skip(1);
    let names = lines.take_while(|line| !line.is_empty());
    // Descriptions that go on in the next line stand further right.
    let first_words = names.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = first_words.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_subcommand_has_an_example_in_its_help() {
    fn check(path: &[String], seen: &mut u32) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hps"));
        let done = command.args(path).arg("--help").output().expect("hps runs");
        let help = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(help.contains("Example"), "hps {}: {help}", path.join(" "));
        *seen += 1;
        for name in subcommands(&help) {
            check(&[path, &[name]].concat(), seen);
        }
    }
    let mut seen = 0;
    check(&[], &mut seen);
    assert!(seen > 25, "{seen}");
}

/// Instructions that a run counted, and what it said.
fn counted(options: &[&str], program: &str) -> (u64, i32, String) {
    let hps = Hps::new();
    let file = hps.path("stats.json");
    let begin = ["run", &format!("--json={file}")];
    let run = hps.run(&[&begin, options, &["--", program]].concat());
    let text = std::fs::read(&file).unwrap_or_default();
    let statistics: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    let instructions = statistics["instructions"].as_u64().unwrap_or(0);
    (instructions, run.code, run.stderr)
}

/// `work` is a loop of 1,000 rounds of some five to ten instructions, `behind` one of 5,000 rounds.
#[test]
fn a_region_is_counted_alone_on_both_instruction_sets() {
    for isa in Isa::BOTH {
        let program = build(isa, "region.c", &["-O1"]);
        let count = |options: &[&str]| {
            let (instructions, code, said) = counted(options, &program);
            assert_eq!(code, 0, "{isa:?} {options:?}: {said}");
            instructions
        };
        let all = count(&[]);
        assert_eq!(count(&["--skip", "1000"]), all - 1000, "{isa:?}");
        let marked = count(&["--between-markers"]);
        assert!((4_000..15_000).contains(&marked), "{isa:?}: {marked}");
        let between = count(&["--from", "work", "--until", "behind"]);
        assert!(between.abs_diff(marked) < 20, "{isa:?}: {between} {marked}");
        let rest = count(&["--from", "work"]);
        assert!(rest > between + 20_000 && rest < all, "{isa:?}: {rest}");
        let timed = [
            "--machine",
            "hps-4wide",
            "--from",
            "work",
            "--until",
            "behind",
        ];
        assert_eq!(count(&timed), between, "{isa:?}");
        assert_eq!(count(&["--from", "work", "--until", "100"]), 100, "{isa:?}");
        let (_, code, said) = counted(&["--from", "nothing"], &program);
        assert!(code == 2 && said.contains("no function"), "{isa:?}: {said}");
        let (_, code, said) = counted(&["--skip", "99999999"], &program);
        assert!(code == 2 && said.contains("ended after"), "{isa:?}: {said}");
    }
    let program = build(Isa::Riscv64, "region.c", &["-O1"]);
    run_in_all_modes(&["--from", "work"], &[&program], |mode, run| {
        assert_eq!(run.expect_code(0), "done\n", "{mode}");
    });
}
