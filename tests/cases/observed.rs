//! Programs that end, crash, and have threads until there can be no more, while an observer reads what they do: they compute
//! what they compute alone, they end as they end alone, and what was sampled of them is there.

use super::build::{Isa, build};
use super::support::Hps;

/// The ways of `guest/observed.c`.
const WAYS: [&str; 7] = [
    "compute", "threads", "many", "crash", "abort", "kill", "seven",
];
/// Those that a run with productions refuses, and says so: the tags know the code of one program.
const REFUSED: [&str; 3] = ["child", "exec", "exec-child"];

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
    for isa in Isa::BOTH {
        let program = build(isa, "observed.c", &["-O1", "-pthread"]);
        for way in WAYS {
            let hps = Hps::new();
            let options = ["--max-threads", "20"];
            let alone = hps.run(&[&["run"], &options[..], &["--", &program, way]].concat());
            let printed = String::from_utf8_lossy(&alone.stdout).into_owned();
            assert!(printed.contains("computed "), "{isa:?} {way}: {printed}");
            for placement in ["smt", "cmp"] {
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
}

#[test]
fn children_of_an_observed_program_are_refused_with_a_warning() {
    let program = build(Isa::Riscv64, "observed.c", &["-O1", "-pthread"]);
    for way in REFUSED {
        let hps = Hps::new();
        let run = hps.run(&["shim", "simulate", "--wait", "50", "--", &program, way]);
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        assert_eq!(run.code, 0, "{way}: {text}");
        assert!(text.contains("computed "), "{way}: {text}");
        assert!(
            run.stderr.contains("refused (ENOSYS)"),
            "{way}: {}",
            run.stderr
        );
        assert!(row(&text, "samples") > Some(100.0), "{way}: {text}");
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
