//! Functions that an interpreter executes, beside what a program that plays one is known to do.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::build::{Isa, build};
use super::support::Hps;

const FLAGS: [&str; 2] = ["-O2", "-pthread"];

/// The folder with the profile as JSON, and what is printed.
fn profile(isa: Isa, flags: &[&str], options: &[&str], arguments: &[&str]) -> (Hps, String) {
    let program = build(isa, "interpreter.c", &[&FLAGS, flags].concat());
    let hps = Hps::new();
    let all = ["profile", "--top", "1000", "--json=p.json"];
    let run = hps.run(&[&all[..], options, &["--", &program], arguments].concat());
    let printed = run.expect_code(0);
    (hps, printed)
}

fn document(hps: &Hps) -> Value {
    let text = fs::read(hps.path("p.json")).expect("a profile");
    serde_json::from_slice(&text).expect("JSON")
}

/// A number of each member of a list, by the words of its keys.
fn numbers(list: &Value, keys: &[&str], number: &str) -> BTreeMap<String, u64> {
    let of = |member: &Value| {
        let words = keys.iter().map(|key| match &member[key] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let name = words.collect::<Vec<_>>().join(":");
        (name, member[number].as_u64().expect("a number"))
    };
    let members = list.as_array().expect("a list").iter();
    members.map(of).collect()
}

/// Turns of the loop that each function spins, by the source of the program.
const TURNS: [(&str, u64, u64); 4] = [
    ("<module>", 1, 5 + 500),
    ("few", 3, 3 * 1000),
    ("Class.many", 1, 3000 + 2000),
    ("back", 1, 700),
];

#[test]
fn instructions_belong_to_the_functions_and_lines_that_spend_them() {
    for isa in Isa::BOTH {
        for core in ["cycle", "instruction"] {
            let (hps, _) = profile(isa, &[], &["--core", core], &[]);
            let document = document(&hps);
            let interpreted = &document["interpreted"];
            assert_eq!(interpreted["interpreters"][0], "CPython 3.13.5");
            let native = numbers(&document["functions"], &["name"], "instructions");
            let all: u64 = TURNS.iter().map(|(.., turns)| turns).sum();
            let each = native["spin"] / all;
            let calls = numbers(&interpreted["functions"], &["name"], "calls");
            let found = numbers(&interpreted["functions"], &["name"], "instructions");
            assert_eq!(found.len(), TURNS.len(), "{found:?}");
            for (name, entered, turns) in TURNS {
                assert_eq!(calls[name], entered, "{name}");
                // Beside the turns there is the loop of the interpreter.
                let (least, found) = (each * turns, found[name]);
                assert!(
                    (least..least + 400).contains(&found),
                    "{isa:?} {core} {name}: {found}"
                );
            }
            let lines = numbers(&interpreted["lines"], &["file", "line"], "instructions");
            for (line, turns) in [(20, 3000), (30, 3000), (31, 2000), (41, 700), (12, 505)] {
                let (least, found) = (each * turns, lines[&format!("script.py:{line}")]);
                assert!(
                    (least..least + 300).contains(&found),
                    "{isa:?} {core} line {line}: {found}"
                );
            }
            // Cycles of functions and lines are shares of the run.
            let units = |key: &str| -> u64 {
                let all = numbers(
                    &interpreted[key],
                    &["function", "name", "line"],
                    "own_units",
                );
                all.values().sum()
            };
            assert_eq!(units("functions"), units("lines"));
        }
    }
}

/// Cycles by folded stack, without the native code around the loop.
fn folded(hps: &Hps, from: &str) -> BTreeMap<String, u64> {
    let text = fs::read_to_string(hps.path("p.folded")).expect("stacks");
    let mut stacks = BTreeMap::new();
    for line in text.lines() {
        let (stack, cycles) = line.rsplit_once(' ').expect("a number");
        if let Some(at) = stack.find(from) {
            let cycles: u64 = cycles.parse().expect("a number");
            *stacks.entry(stack[at..].to_owned()).or_default() += cycles;
        }
    }
    stacks
}

#[test]
fn stacks_hold_interpreted_functions_between_native_ones() {
    let (hps, _) = profile(Isa::Riscv64, &[], &["--export", "p.folded"], &[]);
    let nested = folded(&hps, "main;<module>");
    for stack in [
        "main;<module>;few;run;spin",
        "main;<module>;Class.many;run;spin",
        "main;<module>;Class.many;few;run;spin",
        "main;<module>;run;native;spin",
        "main;<module>;run;native;back;run;spin",
        "main;<module>;run;native;back;few;run;spin",
    ] {
        assert!(nested.contains_key(stack), "{stack}: {nested:?}");
    }
    let options = ["--export", "p.folded", "--frames", "interpreted"];
    let (hps, _) = profile(Isa::Riscv64, &[], &options, &[]);
    let alone = folded(&hps, "<module>");
    let names: Vec<&str> = alone.keys().map(String::as_str).collect();
    let expected = [
        "<module>",
        "<module>;Class.many",
        "<module>;Class.many;few",
        "<module>;back",
        "<module>;back;few",
        "<module>;few",
    ];
    assert_eq!(names, expected);
    assert!(!folded(&hps, "(not interpreted)").is_empty());
    let (hps, printed) = profile(Isa::Riscv64, &[], &["--frames", "native"], &[]);
    assert_eq!(document(&hps)["interpreted"], Value::Null);
    assert!(!printed.contains("interpreted"));
}

#[test]
fn each_thread_runs_its_own_functions() {
    for machine in ["hps-4wide", "smt-2", "cmp-4"] {
        let options = [
            "--machine",
            machine,
            "--export",
            "p.folded",
            "--frames",
            "interpreted",
        ];
        let (hps, _) = profile(Isa::Riscv64, &[], &options, &["threads"]);
        let document = document(&hps);
        let calls = numbers(&document["interpreted"]["functions"], &["name"], "calls");
        let expected = [
            ("<module>", 1),
            ("Class.many", 1),
            ("back", 1),
            ("deep", 1),
            ("few", 4),
        ];
        let found: Vec<(&str, u64)> = calls.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        assert_eq!(found, expected, "{machine}");
        let stacks = folded(&hps, "deep");
        assert!(stacks.contains_key("deep;few"), "{machine}: {stacks:?}");
        let mixed = stacks
            .keys()
            .chain(folded(&hps, "<module>").keys())
            .any(|stack| stack.contains("<module>") && stack.contains("deep"));
        assert!(!mixed, "{machine}");
    }
}

#[test]
fn each_process_runs_its_own_functions() {
    for (isa, machine) in [
        (Isa::Riscv64, "hps-4wide"),
        (Isa::Riscv64, "cmp-4"),
        (Isa::Alpha, "hps-4wide"),
    ] {
        let profile = |process: &str| {
            let options = ["--machine", machine, "--process", process];
            let (hps, printed) = profile(isa, &[], &options, &["processes"]);
            (document(&hps), printed)
        };
        let (all, printed) = profile("all");
        let programs = all["programs"].as_array().expect("a list");
        // The parent; the child, which goes on within the frames of the parent, each entered where it begins; and what the
        // child executes.
        let spun = [2000, 1000, TURNS.iter().map(|(.., turns)| turns).sum()];
        let entered: [&[(&str, u64, u64)]; 3] = [
            &[("few", 2, 2000), ("forks", 1, 0)],
            &[("few", 1, 1000), ("forks", 1, 0)],
            &TURNS,
        ];
        assert_eq!(programs.len(), entered.len());
        for (number, ((program, turns), entered)) in
            (1..).zip(programs.iter().zip(spun).zip(entered))
        {
            let of_program = &program["profile"];
            let native = numbers(&of_program["functions"], &["name"], "instructions");
            let each = native["spin"] / turns;
            let functions = &of_program["interpreted"]["functions"];
            let calls = numbers(functions, &["name"], "calls");
            let found = numbers(functions, &["name"], "instructions");
            assert_eq!(found.len(), entered.len(), "{number}: {found:?}");
            for (name, times, turns) in entered {
                assert_eq!(calls[*name], *times, "{number} {name}");
                // Beside the turns there is the loop of the interpreter, and in `forks` the C library's fork.
                let (least, most) = (each * turns, if *name == "forks" { 100_000 } else { 400 });
                assert!(
                    (least..least + most).contains(&found[*name]),
                    "{isa:?} {machine} {number} {name}: {found:?}"
                );
            }
            let (alone, _) = profile(&number.to_string());
            assert_eq!(alone["interpreted"], of_program["interpreted"], "{number}");
        }
        // `few` of all processes together: two calls, one, and three.
        let together = numbers(&all["interpreted_functions"], &["name"], "calls");
        assert_eq!(together["few"], 6, "{together:?}");
        assert!(printed.contains("interpreted functions of all programs"));
    }
}

#[test]
fn an_interpreter_that_cannot_be_read_is_named_once() {
    let (hps, printed) = profile(Isa::Riscv64, &["-DVERSION=0x030e00f0"], &[], &[]);
    let note = "the state of CPython 3.14.0 is not known here";
    assert_eq!(printed.matches(note).count(), 1, "{printed}");
    assert!(printed.contains("run the script with CPython 3.13"));
    assert_eq!(
        document(&hps)["interpreted"]["functions"],
        Value::Array(Vec::new())
    );
}

#[test]
fn reading_an_interpreter_changes_no_cycle() {
    let cycles = |frames: &str| {
        let (hps, _) = profile(Isa::Riscv64, &[], &["--frames", frames], &[]);
        document(&hps)["cycles"].as_u64().expect("a number")
    };
    assert_eq!(cycles("nested"), cycles("native"));
}
