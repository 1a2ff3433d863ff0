//! Programs that end, crash, have children, execute others, and have threads until there can be no more, while an observer
//! reads what they do: they compute what they compute alone, they end as they end alone, and what was sampled of them is
//! there.

use super::build::{Isa, build};
use super::support::{Hps, is_night};

/// The ways of `guest/observed.c`.
const WAYS: [&str; 14] = [
    "compute",
    "threads",
    "many",
    "crash",
    "abort",
    "kill",
    "seven",
    "child",
    "exec",
    "exec-child",
    "vfork",
    "spawn",
    "pipes",
    "outlive",
];

/// Whether a way is observed on an instruction set: each night on both, by day on one of them.
fn is_turn(isa: usize, way: usize) -> bool {
    is_night() || (isa + way).is_multiple_of(2)
}

/// A number in a row of the summary.
fn row(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace()
        .last()?
        .replace(',', "")
        .parse()
        .ok()
}

#[test]
fn programs_end_under_observation_as_they_end_alone() {
    for (at, isa) in Isa::BOTH.into_iter().enumerate() {
        let program = build(isa, "observed.c", &["-O1", "-pthread"]);
        for (number, way) in WAYS.into_iter().enumerate() {
            if !is_turn(at, number) {
                continue;
            }
            let hps = Hps::new();
            let options = ["--max-threads", "20"];
            let alone = hps.run(&[&["run"], &options[..], &["--", &program, way]].concat());
            let printed = String::from_utf8_lossy(&alone.stdout).into_owned();
            assert!(printed.contains("computed "), "{isa:?} {way}: {printed}");
            // In both places in turns.
            let placement = ["smt", "cmp"][(at + number / 2) % 2];
            let seat = ["shim", "simulate", "--placement", placement, "--wait", "50"];
            let run = hps.run(&[&seat[..], &options, &["--", &program, way]].concat());
            let what = format!("{isa:?} {way} {placement}: {}", run.stderr);
            let text = String::from_utf8_lossy(&run.stdout).into_owned();
            assert!(
                text.starts_with(&printed),
                "{what}\n{text}\nalone:\n{printed}"
            );
            assert_eq!(run.code, alone.code, "{what}");
            assert!(row(&text, "samples") > Some(100.0), "{what}\n{text}");
        }
    }
}

#[test]
fn calls_of_programs_with_children_are_their_own() {
    for (at, isa) in Isa::BOTH.into_iter().enumerate() {
        let program = build(isa, "observed.c", &["-O1", "-pthread"]);
        let ways = [
            ("vfork", "stack-full"),
            ("pipes", "pairs-8k"),
            ("exec", "sequence-8k"),
        ];
        for (number, (way, collector)) in ways.into_iter().enumerate() {
            if !is_turn(at, number) {
                continue;
            }
            let hps = Hps::new();
            let alone = hps.run(&["run", "--", &program, way]);
            let printed = String::from_utf8_lossy(&alone.stdout).into_owned();
            let calls = ["shim", "simulate", "--calls", collector, "--"];
            let run = hps.run(&[&calls[..], &[&program, way]].concat());
            let what = format!("{isa:?} {way} {collector}: {}", run.stderr);
            let text = String::from_utf8_lossy(&run.stdout).into_owned();
            assert!(
                text.starts_with(&printed),
                "{what}\n{text}\nalone:\n{printed}"
            );
            assert_eq!(run.code, alone.code, "{what}");
            assert!(row(&text, "calls found") > Some(100.0), "{what}\n{text}");
        }
    }
}

/// On one context for the program, so that each child runs where the observer looks.
#[test]
fn samples_beside_other_processes_are_told_apart() {
    for (at, isa) in Isa::BOTH.into_iter().enumerate() {
        let program = build(isa, "observed.c", &["-O1", "-pthread"]);
        let hps = Hps::new();
        let ways = [
            "compute", "exec", "pipes", "child", "vfork", "spawn", "outlive",
        ];
        for (number, way) in ways.into_iter().enumerate() {
            if !is_turn(at, number) {
                continue;
            }
            let options = ["--machine=smt-2", "--wait=50", "--time-slice=10000"];
            let run =
                hps.run(&[&["shim", "simulate"], &options[..], &["--", &program, way]].concat());
            let what = format!("{isa:?} {way}: {}", run.stderr);
            let text = String::from_utf8_lossy(&run.stdout).into_owned();
            let of = |name: &str| row(&text, name);
            let others = of("instructions of other processes and programs");
            if way == "compute" {
                assert_eq!(others, None, "{what}\n{text}");
                continue;
            }
            // Each does the work of 20,000 steps somewhere else, in six instructions or so a step, or more.
            let others = others.unwrap_or_else(|| panic!("{what}\n{text}"));
            assert!(others > 30_000.0, "{what}\n{text}");
            let sampled = |name: &str| of(name).unwrap_or_else(|| panic!("{name}: {what}\n{text}"));
            let (samples, apart) = (
                sampled("samples"),
                sampled("samples beside another process"),
            );
            let ended = sampled("cycles to the end of the observed program");
            let cycles = sampled("cycles, observed");
            match way {
                // Nobody has the memory any more that was observed.
                "exec" | "outlive" => assert!(ended < 0.9 * cycles, "{what}\n{text}"),
                _ => assert_eq!(ended, cycles, "{what}\n{text}"),
            }
            match way {
                "exec" | "outlive" => assert!(apart < 0.1 * samples, "{what}\n{text}"),
                _ => assert!(apart > 0.1 * samples, "{what}\n{text}"),
            }
            assert!(
                sampled("of all samples, told early") < 0.01 * samples,
                "{what}\n{text}"
            );
        }
    }
}

#[test]
fn an_observer_knows_which_thread_is_on_the_programs_processor() {
    let program = build(Isa::Riscv64, "observed.c", &["-O1", "-pthread"]);
    let hps = Hps::new();
    let observe = |way: &str| {
        // One context is left for the program.
        let options = ["--machine=smt-2", "--wait=50", "--time-slice=10000"];
        let run = hps.run(&[&["shim", "simulate"], &options[..], &["--", &program, way]].concat());
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        let of = |name: &str| row(&text, name).unwrap_or_else(|| panic!("no {name}: {text}"));
        (of("threads seen"), of("samples across a switch of threads"))
    };
    assert_eq!(observe("compute"), (1.0, 0.0));
    let (threads, switches) = observe("threads");
    assert_eq!(threads, 3.0);
    // Two threads of 240,000 instructions or so each, in slices of ten thousand.
    assert!((10.0..200.0).contains(&switches), "{switches}");
}
